# SPDX-License-Identifier: BSD-3-Clause
"""Variables of C text that live as long as the process and can change: globals, static or not, and statics of
functions.

A pointer can change unless it is const itself. Declarations (extern), functions and types are none.
"""

from __future__ import annotations

import re
from typing import Iterator

NO_CODE = re.compile(
    r"""/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|^[ \t]*\#(?:\\\n|[^\n])*
    |__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)|_Alignas\s*\([^()]*\)""",
    re.S | re.M | re.X,
)
DECLARES_NONE = re.compile(r"\s*(typedef|extern|_Static_assert)\b")
TYPE = re.compile(r"\b(struct|union|enum)\b\s*(\w+\s*)?(\{\})?")
FUNCTION_POINTER = re.compile(r"[^(]*\(\s*(\*[^()]*)\)\s*\(")
NAME = re.compile(r"\b(?!(?:const|volatile|restrict)\b)[A-Za-z_]\w*")


def mutable(text: str) -> Iterator[tuple[int, str]]:
    """Line and name of each."""
    code = NO_CODE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    for begin, end, body in _at_file_scope(code):
        if body is None:
            yield from _with_lines(code, begin, end)
            continue
        for match in re.finditer(r"\bstatic\b", code[body:end]):
            yield from _with_lines(code, body + match.start(), _semicolon(code, body + match.start()))


def _with_lines(code: str, begin: int, end: int) -> Iterator[tuple[int, str]]:
    begin += len(code[begin:end]) - len(code[begin:end].lstrip())
    for name in _objects(code[begin:end]):
        yield code.count("\n", 0, begin) + 1, name


def _at_file_scope(code: str) -> Iterator[tuple[int, int, int | None]]:
    """Begin and end of each declaration and function; of a function also the brace of its body."""
    begin = at = 0
    while at < len(code):
        head = code[begin:at]
        if code[at] == ";":
            yield begin, at, None
            begin = at + 1
        elif code[at] == "{" and head.rstrip().endswith(")") and "=" not in head:
            yield begin, _closing(code, at), at
            at = _closing(code, at)
            begin = at + 1
        elif code[at] in "([{":
            at = _closing(code, at)
        at += 1


def _closing(code: str, at: int) -> int:
    """The bracket that closes the one at `at`, or the end."""
    depth = 0
    for here in range(at, len(code)):
        depth += (code[here] in "([{") - (code[here] in ")]}")
        if depth == 0:
            return here
    return len(code)


def _semicolon(code: str, at: int) -> int:
    while at < len(code) and code[at] != ";":
        at = (_closing(code, at) if code[at] in "([{" else at) + 1
    return at


def _objects(declaration: str) -> Iterator[str]:
    """Those that a declaration makes and that can change."""
    if DECLARES_NONE.match(declaration):
        return
    declarators = _declarators(declaration)
    for number, declarator in enumerate(declarators):
        pointer = FUNCTION_POINTER.match(declarator)
        if not pointer and "(" in declarator:
            return
        names = NAME.findall(pointer[1] if pointer else declarator)
        # The first has its type before the name; without a name it only declares the type.
        if len(names) < (1 if number or pointer else 2):
            continue
        qualified = (pointer[1] if pointer else declarator).rpartition("*")
        if "const" not in (qualified[2] if qualified[1] else declarators[0].partition("*")[0]).split():
            yield names[-1]


def _declarators(declaration: str) -> list[str]:
    """Without values, array bounds and bodies of types; the first begins with the type they share."""
    parts, at = [""], 0
    while at < len(declaration):
        if declaration[at] == "=":
            while at < len(declaration) and declaration[at] != ",":
                at = (_closing(declaration, at) if declaration[at] in "([{" else at) + 1
            continue
        if declaration[at] == ",":
            parts.append("")
        elif declaration[at] in "[{(":
            close = _closing(declaration, at)
            parts[-1] += {"[": " ", "{": "{}", "(": declaration[at : close + 1]}[declaration[at]]
            at = close
        else:
            parts[-1] += declaration[at]
        at += 1
    return [TYPE.sub(" type ", re.sub(r"\[[^\]]*\]", " ", part)) for part in parts]
