# SPDX-License-Identifier: BSD-3-Clause
"""Lines of JSON from a file that may be cut off, damaged or hostile.

Every line comes out as an object of clean text and numbers in a sane range, or as a reason why not.
"""

from __future__ import annotations

import errno
import json
import math
import os
import re
import stat
import sys
import unicodedata
from pathlib import Path
from typing import Any, BinaryIO, Callable, Dict, Iterator, List, Optional, Sequence, Tuple, Union

Json = Dict[str, Any]

MAX_LINE_BYTES = 32 << 20
_BLOCK = 1 << 20
MAX_FILE_BYTES = 64 << 20  # of one object
MAX_TEXT = 20000  # the tree of a machine with some hundred cores fits
MAX_PARTS = 500000  # objects and arrays, each of which takes some hundred bytes of memory
MAX_DEPTH = 32  # objects and arrays in each other
MAX_DIGITS = 20  # of an integer
_BEGINS_OBJECT = re.compile(r"^\s*\{", re.MULTILINE)
LARGEST, SMALLEST = 1e30, 1e-30  # magnitudes outside are no measurement, and would overflow in arithmetic


class Refused(ValueError):
    """A question that cannot be answered: a line that says why, the exit code, and further lines where there
    are several reasons."""

    def __init__(self, text: str, code: int = 2, more: Sequence[str] = ()) -> None:
        super().__init__(text)
        self.code, self.lines = code, [text, *more]


class BadRecord(ValueError):
    """One line cannot be used; the text says why, without quoting the line."""


class CutOff(BadRecord):
    """The last line of a file has no end: nobody finished writing it, or somebody is writing it."""


def clean(text: str) -> str:
    """Text that is safe to encode and show: no surrogates, no control or direction characters, bounded
    length."""
    if len(text) > MAX_TEXT:
        text = text[:MAX_TEXT] + "… (%d characters)" % len(text)
    if text.isprintable():
        return sys.intern(text)
    bad = ("Cc", "Cs", "Cf")
    return "".join(" " if c in "\n\r\t" else "\ufffd" if unicodedata.category(c) in bad else c for c in text)


def _clean_value(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):  # in place: a second long one would double the memory
        for i, inner in enumerate(value):
            value[i] = _clean_value(inner)
    return value


def _object(pairs: List[Tuple[str, Any]]) -> Json:
    result: Json = {}
    for key, value in pairs:
        key = clean(key)
        if key in result:
            raise BadRecord("an object has the same key twice")
        result[key] = _clean_value(value)
    return result


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise BadRecord("a number is too large")
    return value


def _measured(text: str) -> float:
    value = _finite(text)
    if not abs(value) <= LARGEST:
        raise BadRecord("a number is too large")
    if 0 < abs(value) < SMALLEST:
        raise BadRecord("a number is too small")
    return value


def _no_constant(text: str) -> Any:
    raise BadRecord("NaN or Infinity is not JSON")


def _is_deeper(value: Any, levels: int) -> bool:
    """True if a value is nested more deeply than code that recurses could follow."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(levels == 0 or _is_deeper(v, levels - 1) for v in inner if isinstance(v, (dict, list)))


def parse_line(line: bytes, real: Callable[[str], float] = _measured) -> Json:
    def whole(text: str) -> float:
        return int(text) if len(text) <= MAX_DIGITS else real(text)

    if line.count(b"[") + line.count(b"{") > MAX_PARTS:
        raise BadRecord("more than %d objects and arrays" % MAX_PARTS)
    try:
        value = json.loads(
            line.decode("utf-8"),
            object_pairs_hook=_object,
            parse_float=real,
            parse_int=whole,
            parse_constant=_no_constant,
        )
    except BadRecord:
        raise
    except UnicodeDecodeError:
        raise BadRecord("not UTF-8") from None
    except RecursionError:
        raise BadRecord("nested too deeply") from None
    except json.JSONDecodeError as why:
        several = why.msg == "Extra data" and _BEGINS_OBJECT.search(why.doc[why.pos :])
        raise BadRecord("several JSON objects where one belongs" if several else "not JSON") from None
    except ValueError:
        raise BadRecord("not JSON") from None
    if not isinstance(value, dict):
        raise BadRecord("not a JSON object")
    if _is_deeper(value, MAX_DEPTH):
        raise BadRecord("nested too deeply")
    return value


def open_regular(path: Path) -> BinaryIO:
    """OSError also where it is no regular file: a pipe may never end, and opening it may already wait."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "not a regular file")
    return open(handle, "rb")


def read_object(path: Path) -> Json:
    """The one object of a file, such as a signature, whose numbers are results of arithmetic. OSError where
    it cannot be read or is larger than any such file."""
    with open_regular(path) as stream:
        text = stream.read(MAX_FILE_BYTES + 1)
    if len(text) > MAX_FILE_BYTES:
        raise OSError(errno.EFBIG, "larger than %d MiB" % (MAX_FILE_BYTES >> 20))
    return parse_line(text, _finite)


def _line(stream: BinaryIO) -> Optional[Union[bytes, BadRecord]]:
    """The next line, of which no more than a block is held if it is too long; None at the end of the file."""
    blocks: List[bytes] = []
    length = 0
    while True:
        block = stream.readline(_BLOCK)
        length += len(block)
        if length <= MAX_LINE_BYTES:
            blocks.append(block)
        else:
            blocks.clear()
        if block.endswith(b"\n"):
            return b"".join(blocks) if blocks else BadRecord("longer than %d MiB" % (MAX_LINE_BYTES >> 20))
        if not block:
            return CutOff("cut off at the end of the file") if length else None


def read_lines(stream: BinaryIO) -> Iterator[Tuple[int, Union[bytes, BadRecord]]]:
    number = 0
    while True:
        line = _line(stream)
        if line is None:
            return
        number += 1
        if isinstance(line, BadRecord) or line.strip():
            yield number, line


def _kind(value: Any) -> str:
    names = {
        bool: "a boolean",
        int: "a number",
        float: "a number",
        str: "a string",
        list: "an array",
        dict: "an object",
    }
    return "null" if value is None else names.get(type(value), "something else")


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_version(value: Any, major: int) -> bool:
    """True for a version such as "3.2.0" of this major one; "3." is none."""
    return isinstance(value, str) and bool(re.fullmatch(r"%d(\.[0-9]{1,6}){2}" % major, value))


def whole_in(text: str) -> Optional[int]:
    """The number that a text is, as far as any number in a record goes; int() knows other digits and has a
    limit of its own."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS else None


def real_in(text: str) -> Optional[float]:
    """The number that a text is, with a fraction; see whole_in()."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) <= LARGEST else None


class Reader:
    """Typed access to one JSON object. A wrong type makes the whole line bad_records, named by its path."""

    def __init__(self, value: Any, path: str) -> None:
        if not isinstance(value, dict):
            raise BadRecord("%s is %s, not an object" % (path, _kind(value)))
        self.json, self.path = value, path

    def fail(self, key: str, wanted: str) -> BadRecord:
        if key not in self.json:
            return BadRecord("%s.%s is missing" % (self.path, key))
        return BadRecord("%s.%s is %s, not %s" % (self.path, key, _kind(self.json[key]), wanted))

    def text(self, key: str) -> str:
        value = self.json.get(key)
        if not isinstance(value, str):
            raise self.fail(key, "a string")
        return value

    def text_or(self, key: str, default: str = "") -> str:
        return default if self.json.get(key) is None else self.text(key)

    def real(self, key: str) -> Optional[float]:
        value = self.json.get(key)
        if value is None:
            return None
        if not is_number(value):
            raise self.fail(key, "a number")
        return float(value)

    def count(self, key: str) -> int:
        value = self.json.get(key, 0)
        if not is_number(value) or value < 0 or value != int(value):
            raise self.fail(key, "a count")
        return int(value)

    def truth(self, key: str) -> bool:
        value = self.json.get(key)
        if not isinstance(value, bool):
            raise self.fail(key, "a boolean")
        return value

    def items(self, key: str) -> List[Any]:
        value = self.json.get(key, [])
        if value is None:
            return []
        if not isinstance(value, list):
            raise self.fail(key, "an array")
        return value

    def objects(self, key: str) -> List["Reader"]:
        return [Reader(item, "%s.%s[]" % (self.path, key)) for item in self.items(key)]

    def object_or_empty(self, key: str) -> "Reader":
        value = self.json.get(key)
        return Reader({} if value is None else value, "%s.%s" % (self.path, key))

    def scalars(self, key: str, null: bool = False) -> Dict[str, Any]:
        reader = self.object_or_empty(key)
        for name, value in reader.json.items():
            if not (isinstance(value, str) or is_number(value) or (null and value is None)):
                raise reader.fail(name, "a string or a number")
        return dict(reader.json)
