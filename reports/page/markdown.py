# SPDX-License-Identifier: BSD-3-Clause
"""Tables of Markdown, in which a page can be copied without a script."""

from __future__ import annotations

from typing import Any, List, Sequence


def plain(text: Any) -> str:
    """One line in which no letter is markup."""
    text = " ".join(str(text).split())
    return "".join("\\" + c if c in "\\`*[]<|" else c for c in text)


def table(heads: Sequence[str], rows: Sequence[Sequence[Any]], words: Sequence[int] = (0,)) -> List[str]:
    """The lines of a table; columns other than `words` hold numbers and stand at the right."""
    rules = ["---" if i in words else "---:" for i in range(len(heads))]
    lines = [heads, rules, *rows]
    return ["| %s |" % " | ".join(map(plain, line) if line is not rules else rules) for line in lines]
