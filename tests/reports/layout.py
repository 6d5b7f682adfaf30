# SPDX-License-Identifier: BSD-3-Clause
"""The layout of the page, held against kept pictures.

A picture is the top of the page in one known font with every digit a 0, reduced to the mean grey of cells of
8x8 px: it shows where things are, and how dark, and no longer what they say. layout.py --update keeps the
layout that the page has now.

The limits come from trials: another word of about the same length changed up to 0.6 % of the cells that hold
something by more than 24 levels; the loss of a table's column, a heading 14 px too low, or letters a pixel
larger changed 1 % to 60 %.
"""

from __future__ import annotations

import argparse
import io
import sys
from pathlib import Path
from typing import Any, Tuple

import page_browser
import workplace

KEPT = Path(__file__).parent / "layout"
NAMES = tuple(
    "%s-%s" % (layout, scheme) for layout in page_browser.LAYOUTS for scheme in page_browser.SCHEMES
)
UPDATE = "python3 tests/reports/layout.py --update"
HEIGHT = 2400  # px
CELL = 8  # px
LEVELS = 24  # of 255
FAINT = 8  # levels from the background: a cell that holds something
MOST = 0.008  # of the cells that hold something before or after


def reduced(picture: bytes) -> Any:
    from PIL import Image

    return Image.open(io.BytesIO(picture)).convert("L").reduce(CELL)


def taken(page: page_browser.Page, name: str, style: str = "", word: Tuple[str, str] = ("", "")) -> Any:
    """The layout `name` of an open page; style and a replaced word are what the tests of the comparison
    change."""
    page.lay_out(*name.split("-"), margins=False, height=HEIGHT)
    if word[0] and not page.rule("replace_word", *word):
        raise ValueError("the page does not say %s" % word[0])
    page.rule("plain", style)
    grid = reduced(page.picture())
    if word[0]:
        page.rule("replace_word", *reversed(word))
    return grid


def changed(before: Any, after: Any) -> float:
    """The share of cells that differ; 1 where even the sizes do."""
    if before.size != after.size:
        return 1.0
    counts = before.histogram()
    paper = counts.index(max(counts))
    held = sum(max(abs(a - paper), abs(b - paper)) > FAINT for a, b in zip(before.tobytes(), after.tobytes()))
    return sum(difference(before, after).histogram()[LEVELS + 1 :]) / max(held, 1)


def difference(before: Any, after: Any) -> Any:
    from PIL import ImageChops

    return ImageChops.difference(before, after)


def breach(name: str, after: Any, scratch: Path) -> str:
    """Reason why the layout is not the kept one, with pictures of it in scratch; empty if it is."""
    from PIL import Image

    kept = KEPT / (name + ".png")
    if not kept.exists():
        return "there is no %s; look at the page, and if it is right: %s" % (kept, UPDATE)
    with Image.open(kept) as image:
        before = image.convert("L")
    share = changed(before, after)
    if share <= MOST:
        return ""
    after.save(scratch / (name + "-actual.png"))
    if before.size == after.size:
        difference(before, after).save(scratch / (name + "-difference.png"))
    return (
        "%s: %.1f %% of its cells changed, more than %.1f %%; see %s/%s-*.png, and if that is right: %s"
        % (name, 100 * share, 100 * MOST, scratch, name, UPDATE)
    )


def update(page: page_browser.Page) -> None:
    KEPT.mkdir(exist_ok=True)
    for name in NAMES:
        taken(page, name).save(KEPT / (name + ".png"), optimize=True)


def main() -> int:
    parser = argparse.ArgumentParser(
        allow_abbrev=False, description="The layout of the page, held against kept pictures."
    )
    parser.add_argument(
        "--update", action="store_true", required=True, help="keep the layout that the page has now"
    )
    parser.parse_args()
    reason = page_browser.why_no_browser() or page_browser.why_no_layout()
    if reason:
        print("layout.py: %s" % reason, file=sys.stderr)
        return 77
    browser = page_browser.Browser()
    try:
        update(browser.open(workplace.example()[0] / "report.html"))
        print("the layout of the page is kept in %s" % KEPT)
    finally:
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
