# SPDX-License-Identifier: BSD-3-Clause
"""A machine's tree, "Package#0[L3(32MB)[Core#0[PU#0] Core#1[PU#1]]]", as nested boxes.

Alike siblings of a large machine are drawn once and counted; a chain of only children shares a box.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Dict, List, Optional, Tuple

from reports.records.quantity import listing, size
from reports.page.svg import Canvas, first_short, shorten, text_width

MAX_DEPTH = 24
MAX_NODES = 20000
MAX_DRAWN_ALIKE = 4  # this many alike siblings are still drawn one by one
LINE, PAD = 15.0, 8.0
MAX_WIDTH = 1080.0

_TOKEN = re.compile(r"([A-Za-z][A-Za-z0-9_ .:-]*?)(#[0-9]+)?(\([^()\[\]]{0,60}\))?(?=[\[\] ]|\Z)")


@dataclass
class Node:
    kind: str
    index: str = ""
    size: str = ""
    children: List["Node"] = field(default_factory=list)
    count: int = 1

    def form(self) -> Tuple[object, ...]:
        """The same for nodes that differ in their numbers only."""
        return (self.kind, self.size, tuple(c.form() for c in self.children))

    def label(self) -> str:
        name = "%s %s" % (self.kind, self.index) if self.index and self.count == 1 else self.kind
        return (
            ("%d × " % self.count if self.count > 1 else "") + name + (" " + self.size if self.size else "")
        )


def _size(text: str) -> str:
    """hwloc's "1024KB" as "1 MiB"; anything else as it is."""
    match = re.match(r"([0-9]{1,9})(KB|MB|GB|TB)\Z", text)
    return (
        size(int(match.group(1)) << {"KB": 10, "MB": 20, "GB": 30, "TB": 40}[match.group(2)])
        if match
        else text
    )


def parse(text: str) -> Optional[Node]:
    """None where the text is not such a tree."""
    root = Node("")
    stack, place, nodes = [root], 0, 0
    while place < len(text):
        letter = text[place]
        if letter == "[":
            if not stack[-1].children or len(stack) > MAX_DEPTH:
                return None
            stack.append(stack[-1].children[-1])
        elif letter == "]":
            if len(stack) == 1:
                return None
            stack.pop()
        elif letter != " ":
            match = _TOKEN.match(text, place)
            nodes += 1
            if not match or nodes > MAX_NODES:
                return None
            kind, index, bytes_text = match.groups()
            stack[-1].children.append(Node(kind.strip(), (index or "")[1:], _size((bytes_text or "")[1:-1])))
            place = match.end()
            continue
        place += 1
    return root.children[0] if len(stack) == 1 and len(root.children) == 1 else None


def _unnumber(node: Node) -> None:
    """One drawing stands for many: their numbers would be wrong for all but one."""
    node.index = ""
    for child in node.children:
        _unnumber(child)


def _fold(node: Node) -> Node:
    """Alike siblings in a row become one with a count, where there are many."""
    folded: List[Node] = []
    children = [_fold(c) for c in node.children]
    forms = [c.form() for c in children]
    for child, form in zip(children, forms):
        if forms.count(form) > MAX_DRAWN_ALIKE and folded and folded[-1].form() == form:
            folded[-1].count += 1
            _unnumber(folded[-1])
        else:
            folded.append(child)
    node.children = folded
    return node


@dataclass
class _Box:
    lines: List[str]
    children: List["_Box"]
    memory: bool
    width: float = 0.0
    height: float = 0.0
    rows: List[List["_Box"]] = field(default_factory=list)


def _box(node: Node, width: float) -> _Box:
    lines, memory = [node.label()], node.kind.lower().startswith("numa")
    while len(node.children) == 1 and node.children[0].count == 1:
        node = node.children[0]
        lines.append(node.label())
    box = _Box(lines, [_box(c, width - 2 * PAD) for c in node.children], memory)
    for child in box.children:
        row = box.rows[-1] if box.rows else None
        if row and not row[0].memory and sum(b.width + PAD for b in row) + child.width + PAD <= width:
            row.append(child)
        else:
            box.rows.append([child])
    inner = max([sum(b.width for b in row) + PAD * (len(row) - 1) for row in box.rows] or [0.0])
    box.width = min(max(inner, max(text_width(line) for line in lines)) + 2 * PAD, width)
    box.height = 2 * PAD + LINE * len(lines) + sum(max(b.height for b in row) + PAD for row in box.rows)
    return box


def _draw(canvas: Canvas, box: _Box, x: float, y: float, depth: int) -> None:
    canvas.rect(x, y, box.width, box.height, "box tint" if (depth % 2 or box.memory) else "box", radius=3)
    for i, line in enumerate(box.lines):
        css = "name" if i == 0 else "tick"
        canvas.text(x + PAD, y + PAD + LINE * (i + 0.75), shorten(line, box.width - PAD), css)
    top = y + PAD + LINE * len(box.lines) + PAD / 2
    for row in box.rows:
        left = x + PAD
        for child in row:
            _draw(canvas, child, left, top, depth + 1)
            left += child.width + PAD
        top += max(b.height for b in row) + PAD


def _label(root: Node) -> str:
    """Numbers of boxes of each kind, from the outside to the inside."""
    counts: Dict[str, int] = {}
    level = [root]
    while level:
        for node in level:
            name = " ".join(t for t in (node.kind, node.size) if t)
            counts[name] = counts.get(name, 0) + 1
        level = [child for node in level for child in node.children]
    kinds = ["%d × %s" % (count, name) if count > 1 else name for name, count in counts.items()]
    head = "The machine as nested boxes, from the outside: "
    return first_short([head + listing(kinds, most) for most in (len(kinds), 8, 4)])


def draw_tree(text: str) -> str:
    """The drawing as SVG; empty where the text is not a tree."""
    root = parse(text)
    if root is None:
        return ""
    label = _label(root)
    box = _box(_fold(root), MAX_WIDTH)
    canvas = Canvas(box.width + 2, box.height + 2, label)
    _draw(canvas, box, 1, 1, 0)
    return canvas.render()
