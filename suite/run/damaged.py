# SPDX-License-Identifier: BSD-3-Clause
"""Read JSON that may be damaged: lines of bounded length, and values of the type that they should have, else
ValueError."""

from __future__ import annotations

import json
from typing import Any, BinaryIO, Iterator

MAX_LINE_BYTES = 32 << 20  # reports/ uses no longer line either
_LARGEST = 1e15  # neither seconds nor counts come near, and sums of them are exact enough


def lines(stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """The length and the text of every complete line; of one that is too long the text is empty."""
    while True:
        line = stream.readline(MAX_LINE_BYTES)
        length, piece = len(line), line
        while piece and not piece.endswith(b"\n"):
            line, piece = b"", stream.readline(MAX_LINE_BYTES)
            length += len(piece)
        if not piece:
            return
        yield length, line


def parse(text: bytes | str) -> dict:
    try:
        value = json.loads(text, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return typed(value, dict, "it")


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is no number of JSON")


def typed(value: Any, wanted: type, name: str) -> Any:
    if not isinstance(value, wanted) or isinstance(value, bool) and wanted is not bool:
        raise ValueError(f"{name} is not of the type {wanted.__name__}")
    return value


def text(value: Any, name: str) -> str:
    """One line that can be written to a file."""
    if not typed(value, str, name).isprintable():
        raise ValueError(f"{name} has characters that are not printable")
    return value


def texts(value: Any, name: str) -> list[str]:
    return [text(one, name) for one in typed(value, list, name)]


def number(value: Any, name: str) -> float:
    """Not negative; of seconds or of things."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= _LARGEST:
        raise ValueError(f"{name} is not a number from 0 to {_LARGEST:g}")
    return value


def whole(value: Any, name: str, least: int = 0, most: int = int(_LARGEST)) -> int:
    if not least <= typed(value, int, name) <= most:
        raise ValueError(f"{name} is not a whole number from {least} to {most}")
    return value
