# SPDX-License-Identifier: BSD-3-Clause
"""Links of documents that lead nowhere: links.py [FILE.md...] prints each, and ends with 1 if there is one.

A relative link, in the documents, must lead to a file and its anchor to a heading; so must the pages of docs/
that a source or a help text names (`docs/method/gemm.md#check`).
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from layers import sources

ROOT = Path(__file__).resolve().parents[2]


def anchors(document: Path) -> set[str]:
    """Anchors that GitHub makes of the headings: lower case, blanks are hyphens, other punctuation goes."""
    text = re.sub(r"^```.*?^```", "", document.read_text(encoding="utf-8"), flags=re.M | re.S)
    heads = re.findall(r"^#+ (.+)$", text, flags=re.M)
    return {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}


def dead(path: Path) -> list[str]:
    text, named = path.read_text(encoding="utf-8", errors="replace"), []
    if path.suffix == ".md":
        named = [(path.parent, link) for link in re.findall(r"\]\(((?![a-z]+:)[^)\s]+)\)", text)]
    elif "tests" not in path.parts:
        named = [(ROOT, link) for link in re.findall(r"\bdocs/[\w/.-]+\.md(?:#[\w-]+)?", text)]
    found = []
    for folder, link in named:
        name, _, anchor = link.partition("#")
        target = folder / name if name else path
        if not target.exists() or anchor and target.suffix == ".md" and anchor not in anchors(target):
            found.append("%s: %s" % (path, link))
    return found


def main(words: list[str]) -> int:
    paths = [Path(word) for word in words] or [ROOT / name for name in sources(ROOT)]
    found = [line for path in paths if path.is_file() for line in dead(path)]
    print("\n".join(found), end="\n" if found else "")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
