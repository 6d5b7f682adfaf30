# SPDX-License-Identifier: BSD-3-Clause
"""The user's own mix: a text file with a piece of work a line. docs/RECORDS.md, "Workloads and prices".

    gemm    4096x11008x4096 bf16 count=64              GEMMs of one device, one after the other
    gemm-ar 4096x11008x4096 bf16 devices=4 count=32    with its communication; also ag-gemm, gemm-rs, a2a-gemm
    memory  triad 12G                                  bytes through memory: read or triad
    copy    up 1G count=8                              up (H2D), down (D2H), local (D2D), peer (P2P); alone
    launch  10000                                      kernels, one behind the other
    message allreduce 64M devices=4 count=32           also all-gather, reduce-scatter, all-to-all

Sizes are in bytes with K, M, G or T, powers of two, as everywhere in gpusig. What follows # is a comment.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Callable, NamedTuple, Sequence

from reports.judge.compare.numbers import BadNumbers
from reports.records.jsonl import clean, open_regular, whole_in

MAX_ITEMS = 1000
MAX_BYTES = 1 << 20  # of a file
FUSED = ("ag-gemm", "gemm-rs", "a2a-gemm", "a2a-gemm-uneven", "gemm-ar")
TYPES = ("f32", "f64", "tf32", "f16", "bf16", "f8")
WAYS = ("up", "down", "local", "peer")
MEMORY = ("read", "triad")
COLLECTIVES = ("allreduce", "all-gather", "reduce-scatter", "all-to-all")
_POWERS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}


class Item(NamedTuple):
    text: str  # the line, without comment and spaces that say nothing
    kind: str  # its first word
    what: str = ""  # type, operation, direction, or collective
    sides: tuple[int, ...] = ()  # M, N, K
    size: int = 0  # bytes, or launches
    devices: int = 1
    count: int = 1


def lines_of(path: Path, name: str) -> list[tuple[int, list[str]]]:
    """Numbers and words of the lines that say something. BadNumbers where the file cannot be read."""
    try:
        with open_regular(path) as stream:
            content = stream.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise BadNumbers("%s is larger than %d bytes" % (name, MAX_BYTES))
        text = content.decode("utf-8")
    except OSError as why:
        raise BadNumbers("%s: %s" % (name, why.strerror)) from None
    except UnicodeDecodeError:
        raise BadNumbers("%s is not UTF-8" % name) from None
    split = [
        (number, clean(line.partition("#")[0]).split()) for number, line in enumerate(text.splitlines(), 1)
    ]
    return [(number, words) for number, words in split if words]


def _whole(text: str, what: str) -> int:
    number = whole_in(text)
    if number is None or not 0 < number < 1 << 32:
        raise ValueError("'%s' is not a %s from 1 to 2^32 - 1" % (text[:40], what))
    return int(number)


def _size(text: str) -> int:
    match = re.fullmatch(r"([0-9]{1,15})([KMGT]?)", text, re.ASCII)
    if not match or not int(match.group(1)) or int(match.group(1)) << _POWERS[match.group(2)] >= 1 << 60:
        raise ValueError("'%s' is not a size, such as 64M or 12G" % text[:40])
    return int(match.group(1)) << _POWERS[match.group(2)]


def _shape(text: str) -> tuple[int, ...]:
    sides = text.split("x")
    if len(sides) != 3:
        raise ValueError("'%s' is not a shape MxNxK, such as 4096x11008x4096" % text[:40])
    return tuple(_whole(side, "side of a shape") for side in sides)


def _word(text: str, known: Sequence[str], what: str) -> str:
    if text not in known:
        raise ValueError("unknown %s '%s'; choices: %s" % (what, text[:40], " ".join(known)))
    return text


class _Kind(NamedTuple):
    """`words`: name and reader of each word that follows. `among`: devices= must be given."""

    usage: str
    words: dict[str, Callable[[str], object]]
    among: bool = False


def _known(words: Sequence[str], what: str) -> Callable[[str], str]:
    return lambda text: _word(text, words, what)


_GEMM = {"sides": _shape, "what": _known(TYPES, "type")}
_KINDS = {
    "gemm": _Kind("MxNxK TYPE", _GEMM),
    **{kind: _Kind("MxNxK TYPE devices=G", _GEMM, True) for kind in FUSED},
    "memory": _Kind("OP SIZE", {"what": _known(MEMORY, "operation"), "size": _size}),
    "copy": _Kind("DIRECTION SIZE", {"what": _known(WAYS, "direction"), "size": _size}),
    "launch": _Kind("COUNT", {"size": lambda text: _whole(text, "number of launches")}),
    "message": _Kind(
        "COLLECTIVE SIZE devices=G", {"what": _known(COLLECTIVES, "collective"), "size": _size}, True
    ),
}


def _item(words: list[str]) -> Item:
    kind = _word(words[0], tuple(_KINDS), "kind of work")
    usage, readers, among = _KINDS[kind]
    plain, options = [w for w in words[1:] if "=" not in w], [w.partition("=") for w in words[1:] if "=" in w]
    if len(plain) != len(readers):
        raise ValueError("%s takes: %s" % (kind, usage))
    found: dict[str, Any] = {name: read(word) for word, (name, read) in zip(plain, readers.items())}
    for name, _, value in options:
        known = ("devices", "count") if among else ("count",)
        if name in found:
            raise ValueError("%s= is given twice" % name)
        found[_word(name, known, "option")] = _whole(value, name)
    if among and found.get("devices", 0) < 2:
        raise ValueError("%s needs devices=, two or more" % kind)
    return Item(" ".join(words), kind, **found)


def read(path: Path, name: str) -> list[Item]:
    """BadNumbers names the line that is wrong: a mix with a piece left out would be another one."""
    items = []
    for number, words in lines_of(path, name):
        try:
            items.append(_item(words))
        except ValueError as why:
            raise BadNumbers("%s, line %d: %s" % (name, number, why)) from None
    if not items:
        raise BadNumbers("%s has no work in it; a line is such as: gemm 4096x4096x4096 bf16 count=10" % name)
    if len(items) > MAX_ITEMS:
        raise BadNumbers("%s has more than %d lines of work" % (name, MAX_ITEMS))
    return items
