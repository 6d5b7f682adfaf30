# SPDX-License-Identifier: BSD-3-Clause
"""An answer of a command, as a list of blocks: lines of a terminal and an HTML page are two ways to show it.

A page is one file that needs no network, no script and no other file. A terminal has 80 columns and takes no
control character.
"""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any, Dict, Iterable, List, Sequence, Tuple, Union

from reports.records.jsonl import clean
from reports.records.quantity import listing
from reports.page import markdown as copied
from reports.page.template import Anchors, hold, page_template, style_of

WIDTH = 80  # the terminal that everyone has
_LONGEST, _UNIT = 1000, 20  # characters of a text, and of a unit, which stands in narrow columns
_REPEATED = 2  # a note that more rows have is a footnote
_MOST_FIT = 0.7  # of the rows, or all are sentences
_NARROWEST = 16  # of a column of names; where there is less space they stand above their rows
_DEEPEST = 8  # folders that stand in front of a name
TERMINAL, PAGE = "terminal", "page"


def plain(text: str, most: int = _LONGEST) -> str:
    """One line of text that neither a terminal nor XML can take for anything else."""
    text = clean(text)
    if not text.isprintable():
        text = "".join(c if c.isprintable() else " " if c.isspace() else "\ufffd" for c in text)
    return text if len(text) <= most else text[:most] + "…"


def plain_texts(value: Any, most: int = _LONGEST) -> Any:
    """JSON of which every text is plain."""
    if isinstance(value, str):
        return plain(value, most)
    if isinstance(value, dict):
        return {
            plain(key): plain_texts(inner, _UNIT if key == "unit" else _LONGEST)
            for key, inner in value.items()
        }
    return [plain_texts(inner) for inner in value] if isinstance(value, list) else value


# ------------------------------------------------------------------ blocks


@dataclass(frozen=True)
class Cell:
    """`below` is smaller. With a `look`, the class of a verdict, it is a badge. `title` and `drawing`: of
    pages."""

    text: str = ""
    below: str = ""
    icon: str = ""
    look: str = ""
    css: str = ""
    title: str = ""
    drawing: Any = ""

    @property
    def line(self) -> str:
        return ("! " if self.icon == "!" else "") + ", ".join(t for t in (self.text, self.below) if t)


@dataclass(frozen=True)
class Column:
    """`css` has "word" where it holds texts. On a page one that is `under` stands small in the cell before
    it. In a terminal one that is `aside` stands right of the row's name, and one that is `drawn` is left
    out."""

    head: str
    css: str = "word"
    drawn: bool = False
    aside: bool = False
    under: bool = False


@dataclass(frozen=True)
class Row:
    cells: Sequence[Cell]
    notes: Sequence[str] = ()
    css: str = ""


def row(*cells: Union[str, Cell], notes: Sequence[str] = (), css: str = "") -> Row:
    return Row([Cell(cell) if isinstance(cell, str) else cell for cell in cells], notes, css)


def columns(*heads: str, css: str = "word") -> List[Column]:
    """Columns of texts, or of numbers if `css` is empty."""
    return [Column(head, css) for head in heads]


@dataclass(frozen=True)
class Head:
    """A heading of the rows below; one of level 1 stands below one of level 0."""

    text: str
    below: str = ""
    level: int = 0
    title: str = ""


@dataclass(frozen=True)
class Text:
    text: str
    css: str = "note"
    lead: str = ""
    alarm: bool = False
    only: str = ""
    kind = "text"


@dataclass(frozen=True)
class Items:
    texts: Sequence[str]
    only: str = ""
    kind = "items"


@dataclass(frozen=True)
class Counts:
    """Number of `name` of each kind."""

    name: str
    counts: Sequence[Tuple[Cell, int]]
    kind = "counts"
    only = ""


@dataclass(frozen=True)
class Terms:
    pairs: Sequence[Tuple[Cell, str]]
    css: str = ""
    kind = "terms"
    only = PAGE


def terms(pairs: Iterable[Tuple[Union[str, Cell], str]], css: str = "") -> Terms:
    return Terms([(Cell(term) if isinstance(term, str) else term, text) for term, text in pairs], css)


@dataclass(frozen=True)
class Drawing:
    """Wider than a page may be."""

    svg: Any
    name: str
    css: str = ""
    kind = "drawing"
    only = PAGE


@dataclass(frozen=True)
class Table:
    """`most`: rows in a terminal, and on a page. `total`: how many there are, where `rows` has not all.
    `titled`: its name is seen. `scrolls`: on a page it keeps its width."""

    name: str
    columns: Sequence[Column]
    rows: Sequence[Union[Row, Head]]
    css: str = ""
    most: Tuple[int, int] = (1000, 1000)
    total: int = 0
    titled: bool = False
    scrolls: bool = True
    only: str = ""
    kind = "table"

    def cut(self, place: int) -> Tuple[Sequence[Union[Row, Head]], int]:
        """The rows that are shown, and how many are not."""
        shown = self.rows[: self.most[place]]
        return shown, max(self.total, len(self.rows)) - len(shown)

    @property
    def heads(self) -> List[Column]:
        return [column for column in self.columns if not column.under]

    def merged(self, row: Row) -> List[Tuple[Column, Cell, List[Cell]]]:
        """Each cell of a page with those that stand under it."""
        found: List[Tuple[Column, Cell, List[Cell]]] = []
        for column, cell in zip(self.columns, row.cells):
            if column.under:
                found[-1][2].append(Cell("%s %s" % (column.head, cell.text), title=cell.title))
            else:
                found.append((column, cell, []))
        return found


@dataclass(frozen=True)
class Group:
    """Blocks under a title. `kind`: a "section", a "part" of one, a "fold" of a page, "columns" side by
    side."""

    kind: str
    title: str
    blocks: Sequence[Any]
    anchor: str = ""
    css: str = ""
    only: str = ""


@dataclass(frozen=True)
class Page:
    """The answer of a command to a question. `about`: what was looked at."""

    command: str
    css: str
    about: Sequence[str]
    question: str
    sentences: Sequence[str]
    reasons: Sequence[str]
    blocks: Sequence[Any]
    footer: str
    badge: Cell = field(default_factory=Cell)

    @property
    def mark(self) -> Cell:
        """The badge in front of the first sentence, without its word where the sentence begins with it."""
        is_said = self.sentences[0].lower().startswith(self.badge.text)
        return replace(self.badge, text="") if is_said else self.badge


def names_of(*paths: str) -> List[str]:
    """The last parts of paths, for a title: as many as tell them apart."""
    for more in range(_DEEPEST):
        folders = r"\S*/(?=(?:[^\s/]+/){%d}[^\s/])" % more
        short = [re.sub(folders, "", path).rstrip("/") or path for path in paths]
        if len(set(short)) == len(set(paths)):
            return short
    return list(paths)


# ------------------------------------------------------------------ terminal


def wrapped(text: str, first: str = "", rest: str = "") -> List[str]:
    """A word longer than a line stays whole, so that it can be copied."""
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=rest or " " * len(first),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _heading(name: str, right: str, indent: str) -> List[str]:
    """The name at the left, and at the right what is said of it, on the last line that has space."""
    lines = wrapped(name, indent, indent + "  ") or [indent]
    if not right:
        return lines
    if len(lines[-1]) + len(right) + 2 <= WIDTH:
        lines[-1] += right.rjust(WIDTH - len(lines[-1]))
        return lines
    return lines + ([right.rjust(WIDTH)] if len(right) <= WIDTH else wrapped(right, indent + "    "))


class _Columns:
    """The layout of a table: side by side, below the name of the row, or as a sentence."""

    def __init__(self, table: Table, rows: Sequence[Row], indent: str) -> None:
        self.table, self.indent = table, indent
        self.aside = [i for i, column in enumerate(table.columns) if column.aside]
        self.places = [i for i, one in enumerate(table.columns) if i and not (one.drawn or one.aside)]
        self.widths = self.widths_of(rows)
        capacity = WIDTH - len(indent) - sum(self.widths.values()) - 2 * len(self.widths)
        names = 0 if self.aside else max(len(row.cells[0].line) for row in rows)
        self.names = min(names, capacity) if capacity >= min(_NARROWEST, names) else 2
        self.numbers = bool(self.aside) or any("word" not in table.columns[i].css for i in self.places)
        self.fits = len(self.places) > 1 and capacity >= 2
        self.fits = self.fits and sum(map(self.holds, rows)) > _MOST_FIT * len(rows)
        notes = Counter(note for row in rows if self.aside for note in row.notes)
        repeated = [note for note, count in notes.items() if count > _REPEATED]
        self.footnotes = {note: number for number, note in enumerate(repeated, 1)}

    def widths_of(self, rows: Sequence[Row]) -> Dict[int, int]:
        """As wide as the most rows need that fit together; the others are sentences."""
        widths = {i: len(self.table.columns[i].head) for i in self.places}
        for row in sorted(rows, key=lambda row: sum(len(row.cells[i].line) for i in self.places)):
            wider = {i: max(width, len(row.cells[i].line)) for i, width in widths.items()}
            if len(self.indent) + 2 + sum(wider.values()) + 2 * len(wider) <= WIDTH:
                widths = wider
        return widths

    def holds(self, row: Row) -> bool:
        """Below a long name, numbers stand in their columns; words read better behind it."""
        named = self.numbers or len(row.cells[0].line) <= self.names
        return named and all(len(row.cells[i].line) <= width for i, width in self.widths.items())

    def line(self, name: str, texts: Dict[int, str]) -> str:
        cells = [
            texts[i].ljust(width) if "word" in self.table.columns[i].css else texts[i].rjust(width)
            for i, width in self.widths.items()
        ]
        return ("%s%-*s  %s" % (self.indent, self.names, name, "  ".join(cells))).rstrip()

    def sentence(self, row: Row) -> List[str]:
        """The row as a sentence, which says once what several columns say."""
        said: Dict[str, List[str]] = {}
        for i in self.places + self.aside:
            said.setdefault(row.cells[i].line, []).append(self.table.columns[i].head)
        texts = [
            "%s %s" % (listing(heads, 8), text) if len(self.places) > 1 else text
            for text, heads in said.items()
            if text
        ]
        named = ": ".join(t for t in (row.cells[0].line, "; ".join(texts)) if t)
        return wrapped(named, self.indent, self.indent + "  ")

    def row(self, row: Row) -> List[str]:
        texts, name = {i: row.cells[i].line for i in self.places}, row.cells[0].line
        right = "".join(row.cells[i].line for i in self.aside)
        right += "".join(" [%d]" % self.footnotes[note] for note in row.notes if note in self.footnotes)
        if not self.fits or not self.holds(row):
            lines = self.sentence(row)
        elif not right and len(name) <= self.names:
            lines = [self.line(name, texts)]
        else:
            lines = _heading(name, right, self.indent) + [self.line("", texts)] * any(texts.values())
        own = [note for note in row.notes if note not in self.footnotes]
        return lines + [line for note in own for line in wrapped(note, self.indent + "    ")]


def _table(table: Table, indent: str) -> List[str]:
    shown, more = table.cut(0)
    rows = [row for row in shown if isinstance(row, Row)]
    if not rows:
        return []
    deep = any(isinstance(row, Head) and row.level for row in shown)
    layout = _Columns(table, rows, indent + "  " * deep)
    lines = wrapped(table.name, indent) if table.titled else []
    lines += [layout.line("", {i: table.columns[i].head for i in layout.places})] * layout.fits
    for row in shown:
        if isinstance(row, Row):
            lines += layout.row(row)
        else:
            said = ", ".join(t for t in (row.text, row.below) if t)
            lines += wrapped(said, indent) if row.level else ["", *wrapped(said, indent[2:])]
    lines += [""] * bool(layout.footnotes)
    lines += [line for note, number in layout.footnotes.items() for line in wrapped(note, "[%d] " % number)]
    return lines + ["%sand %d more" % (indent, more)] * (more > 0)


def _lines(block: Any, indent: str) -> List[str]:
    if block.only == PAGE:
        return []
    if isinstance(block, Table):
        return _table(block, indent)
    if isinstance(block, Text):
        said = " ".join(t for t in (block.lead, block.text) if t)
        return wrapped(said, "! ", "  ") if block.alarm else wrapped(said, indent, indent)
    if isinstance(block, Items):
        return [line for text in block.texts for line in wrapped(text, indent, indent + "  ")]
    if isinstance(block, Counts):
        counts = ["%d %s" % (count, cell.text) for cell, count in block.counts if count]
        return ["", *wrapped("%s: %s" % (block.name, ", ".join(counts)), indent)]
    deeper = indent if block.kind in ("fold", "columns") else indent + "  "
    lines: List[str] = []
    for inner in block.blocks:
        own = _lines(inner, deeper)
        lines += [""] * (bool(lines) and bool(own) and isinstance(inner, Text)) + own
    if not lines or not block.title:
        return lines
    return [""] * (not indent) + wrapped(block.title, indent) + lines


def terminal(page: Page) -> str:
    """Plain text of lines up to 80 columns; only a single longer word makes a longer one."""
    lines = [line for text in page.sentences for line in wrapped(text)]
    lines += [line for text in page.reasons for line in wrapped(text, "  ")] + [""]
    lines += [line for text in page.about for line in wrapped(text, "", "  ")]
    return "\n".join(lines + [line for block in page.blocks for line in _lines(block, "")]) + "\n"


# ------------------------------------------------------------------ page


def markdown(page: Page, line: str = "") -> List[str]:
    """Lines that hold the answer and the tables of a page, to be copied."""
    lines = ["### " + copied.plain(page.question)]
    for text in (*page.sentences, *page.reasons, *page.about):
        lines += ["", copied.plain(text)]
    lines += ["", "`%s`" % line] * bool(line)
    return lines + [line for block in page.blocks for line in _markdown(block)]


def _markdown(block: Any) -> List[str]:
    if block.only == TERMINAL:
        return []
    if isinstance(block, Table):
        return _markdown_table(block)
    if not isinstance(block, Group):
        return []
    lines = [line for inner in block.blocks for line in _markdown(inner)]
    return ["", "#### " + copied.plain(block.title)] * bool(lines and block.title) + lines


def _markdown_table(table: Table) -> List[str]:
    """A row says what the row above it says of the rows below."""
    places = [i for i, column in enumerate(table.columns) if not column.drawn]
    rows, head = [], ""
    for row in table.cut(1)[0]:
        if isinstance(row, Row):
            cells = [row.cells[i].line for i in places]
            rows.append([", ".join(t for t in (head, cells[0]) if t), *cells[1:]])
        else:
            head = row.text if row.level else ""
    words = [k for k, i in enumerate(places) if "word" in table.columns[i].css]
    return ["", *copied.table([table.columns[i].head for i in places], rows, words)] * bool(rows)


def html(page: Page, sheets: Iterable[str], running: str, line: str = "") -> str:
    """`running` stands on every printed page; `line`: the command line, "" where it is not known.
    MissingDependency where jinja2 is not installed."""
    template = page_template("blocks.html")
    style, style_hash = style_of("report.css", *sheets, running=running)
    return (
        template.render(
            page=page,
            line=line,
            style=style,
            style_hash=style_hash,
            hold=_held,
            anchors=Anchors(_anchors(page.blocks)),
            markdown="\n".join(markdown(page, line)),
        )
        + "\n"
    )


def _anchors(blocks: Iterable[Any]) -> List[str]:
    groups = [block for block in blocks if isinstance(block, Group)]
    return [name for one in groups for name in (one.anchor, *_anchors(one.blocks))]


def _held(text: str) -> str:
    """Numbers with their units, and arrows with their names."""
    return hold(text).replace(" ↑", "\u00a0↑").replace(" ↓", "\u00a0↓")
