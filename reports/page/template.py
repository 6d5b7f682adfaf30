# SPDX-License-Identifier: BSD-3-Clause
"""Templates and style of pages: a page is one file that needs no network, no script and no other file."""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from functools import lru_cache
from pathlib import Path
from typing import Any, Iterable, Tuple

from reports.page.svg import markup

TEMPLATES = Path(__file__).parent / "templates"
_LONGEST_RUNNING = 160  # characters at the foot of a printed page
_LONGEST_ID = 100  # characters


class MissingDependency(RuntimeError):
    """A library that the report needs is not installed; the text names it."""


_QUANTITY = re.compile(r"([0-9]) (%|[kMGT]?(?:B|FLOP)/s|[KMGT]iB|B|[nµm]?s|[MG]Hz|k?W|°C)(?![A-Za-z])")


def hold(text: str) -> str:
    """A number and its unit stay on one line."""
    return _QUANTITY.sub("\\1\u00a0\\2", text)


def slug(*texts: str) -> str:
    """The end of a link to what these texts name: "micro-memory-triad-bandwidth"."""
    return re.sub(r"[^a-z0-9]+", "-", " ".join(texts).lower()).strip("-")[:_LONGEST_ID]


class Anchors:
    """The ids of a page, each given once: a number tells apart what has one name. `taken` stand elsewhere."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._given = Counter(taken)

    def __call__(self, *texts: str) -> str:
        wanted = name = slug(*texts) or "row"
        while self._given[name]:
            self._given[wanted] += 1
            name = "%s-%d" % (wanted, self._given[wanted])
        self._given[name] = 1
        return name


def _css_text(text: str) -> str:
    """A string of CSS; what is not a plain letter or digit is escaped, so nothing ends the string or the
    style."""
    return '"%s"' % "".join(
        c if c.isascii() and c.isalnum() or c == " " else "\\%06x " % ord(c) for c in text[:_LONGEST_RUNNING]
    )


def style_of(*sheets: str, running: str = "") -> Tuple[Any, str]:
    """The style of a page as it stands there, and the hash by which the page's policy lets it in. `running`
    is printed at the foot of every sheet of paper, with the number of the page."""
    style = "".join((TEMPLATES / sheet).read_text(encoding="utf-8") for sheet in sheets)
    style += "@page { @bottom-left { content: %s; } }\n" % _css_text(running)
    return markup(style), "sha256-" + base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()


@lru_cache(maxsize=None)
def page_template(page: str) -> Any:
    """The template of a page such as "report.html". Raises MissingDependency without jinja2."""
    try:
        import jinja2
    except ImportError:
        raise MissingDependency(
            "%s needs the Python package jinja2, which %s does not have" % (page, _python())
        ) from None
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(str(TEMPLATES)), autoescape=True, undefined=jinja2.StrictUndefined
    )
    return environment.get_template(page + ".j2")


def _python() -> str:
    import sys

    return sys.executable or "this Python"
