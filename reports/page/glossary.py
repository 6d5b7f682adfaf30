# SPDX-License-Identifier: BSD-3-Clause
"""The words that a reader may not know, from words.txt, and links to them in the texts of a page."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Dict, List, Tuple

from reports.page.svg import markup

WORDS = Path(__file__).resolve().parent / "words.txt"


@dataclass(frozen=True)
class Word:
    term: str
    linked: Tuple[str, ...]  # the spellings that are linked where they occur
    text: str

    @property
    def anchor(self) -> str:
        return "word-" + re.sub(
            r"[^a-z0-9]+", "-", self.term.lower().replace("α", "alpha").replace("β", "beta")
        ).strip("-")


def parse(text: str) -> List[Word]:
    """Words of lines `term, other spelling = explanation`; a spelling in [brackets] is not linked. The first
    one names the word."""
    words = []
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        spellings, _, explanation = line.partition(" = ")
        names = [name.strip() for name in spellings.split(",")]
        words.append(
            Word(names[0].strip("[]"), tuple(n for n in names if not n.startswith("[")), explanation.strip())
        )
    return words


@lru_cache(maxsize=1)
def words() -> Tuple[Word, ...]:
    return tuple(parse(WORDS.read_text(encoding="utf-8")))


def _escape(text: str) -> str:
    from markupsafe import escape

    return str(escape(text))


@lru_cache(maxsize=1)
def _spellings() -> Tuple[re.Pattern, Dict[str, Word]]:
    known = {_escape(spelling): word for word in words() for spelling in word.linked}
    longest_first = sorted(known, key=len, reverse=True)
    return re.compile(r"(?<![\w&#/.-])(%s)(?=s?(?![\w;/-]))" % "|".join(map(re.escape, longest_first))), known


class Linker:
    """Links each word where it occurs first; of a section, of which the reader may have seen no other."""

    def __init__(self) -> None:
        self._seen: set = set()

    def __call__(self, text: str) -> str:
        """`text` as markup, escaped."""
        pattern, known = _spellings()
        return markup(
            pattern.sub(
                lambda found: self._link(found.group(1), known[found.group(1)]) or found.group(1),
                _escape(text),
            )
        )

    def marks(self, text: str) -> str:
        """For a text that is itself a link: a question mark for each word in it, which leads to the word."""
        pattern, known = _spellings()
        return markup(
            "".join(
                self._link(found.group(1), known[found.group(1)], "?", "what %s means")
                for found in pattern.finditer(_escape(text))
            )
        )

    def _link(self, spelling: str, word: Word, shown: str = "", label: str = "") -> str:
        """Empty where the word was linked before."""
        if word.term in self._seen:
            return ""
        self._seen.add(word.term)
        return '<a class="term" href="#%s" title="%s"%s>%s</a>' % (
            word.anchor,
            _escape(word.text),
            ' aria-label="%s"' % (label % spelling) if label else "",
            shown or spelling,
        )
