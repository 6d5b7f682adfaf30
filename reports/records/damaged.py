# SPDX-License-Identifier: BSD-3-Clause
"""Values of JSON that may be damaged, of the type that they should have, else ValueError."""

from __future__ import annotations

from typing import Any

_LARGEST = 1e15  # neither seconds nor counts come near, and sums of them are exact enough


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
