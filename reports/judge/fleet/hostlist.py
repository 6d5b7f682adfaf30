# SPDX-License-Identifier: BSD-3-Clause
"""Names of nodes as Slurm writes them: node[1-3,07-10],login. Read and written as `scontrol show hostnames`
and `hostlist` do."""

from __future__ import annotations

import re
from typing import Iterable, Sequence

from reports.judge.compare.sides import natural

MAX_NAMES = 65536  # of a list
_TEXT = r"[A-Za-z0-9._-]"
_NAME = re.compile(_TEXT + r"+")
_PARTS = re.compile(r"(%s+)|\[([0-9,-]+)\]" % _TEXT)
_RANGE = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18}))?")
_NUMBERED = re.compile(r"(.*?)([0-9]{1,18})")


class BadHostlist(ValueError):
    """A list that Slurm would not take; the text says why."""


def is_name(text: str) -> bool:
    """True if Slurm takes it as the name of a node."""
    return bool(_NAME.fullmatch(text)) and not text.startswith("-")


# ------------------------------------------------------------------ reading


def _numbers(text: str) -> list[str]:
    """ "1-3,07" as 1, 2, 3, 07. The zeros of the first number of a range are those of all."""
    found: list[str] = []
    for part in text.split(","):
        match = _RANGE.fullmatch(part)
        if not match:
            raise BadHostlist("[%s] is not numbers and ranges such as [1-3,7]" % text[:60])
        first, last = match.group(1), match.group(2) or match.group(1)
        if int(last) < int(first):
            raise BadHostlist("the range %s goes down" % part[:40])
        if int(last) - int(first) >= MAX_NAMES:
            raise BadHostlist("the range %s has more than %d names" % (part[:40], MAX_NAMES))
        found += ["%0*d" % (len(first), number) for number in range(int(first), int(last) + 1)]
    return found


def _words(text: str) -> list[str]:
    """Split at commas that are not in brackets."""
    words, depth, start = [], 0, 0
    for place, letter in enumerate(text):
        depth += (letter == "[") - (letter == "]")
        if depth not in (0, 1):
            break
        if letter == "," and not depth:
            words.append(text[start:place])
            start = place + 1
    if depth:
        raise BadHostlist("its brackets do not match")
    return [word for word in (*words, text[start:]) if word]


def _expanded(word: str) -> list[str]:
    names, place = [""], 0
    while place < len(word):
        match = _PARTS.match(word, place)
        if not match:
            raise BadHostlist("'%s' is not a name of nodes" % word[:60])
        place = match.end()
        tails = [match.group(1)] if match.group(1) else _numbers(match.group(2))
        if len(names) * len(tails) > MAX_NAMES:
            raise BadHostlist("'%s' is more than %d names" % (word[:60], MAX_NAMES))
        names = [head + tail for head in names for tail in tails]
    return names


def expand(text: str) -> list[str]:
    """Every name once, in the order of the list. BadHostlist where it is none."""
    found: dict[str, None] = {}
    for word in _words(text.strip()):
        found.update(dict.fromkeys(_expanded(word.strip())))
        if len(found) > MAX_NAMES:
            raise BadHostlist("it has more than %d names" % MAX_NAMES)
    if not found:
        raise BadHostlist("it has no name")
    return list(found)


# ------------------------------------------------------------------ writing


def _ranges(numbers: Iterable[int], width: int) -> str:
    """1, 2, 3, 7 as "1-3,7"; of this width with zeros in front."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][1] + 1 == number:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(
        "%0*d" % (width, first) if first == last else "%0*d-%0*d" % (width, first, width, last)
        for first, last in runs
    )


def compress(names: Sequence[str]) -> str:
    """The names, each once, as one list. Those without a number at the end stand by themselves."""
    numbered: dict[str, list[str]] = {}
    alone: set[str] = set()
    for name in names:
        match = _NUMBERED.fullmatch(name)
        if match and match.group(1):
            numbered.setdefault(match.group(1), []).append(match.group(2))
        else:
            alone.add(name)
    words = {name: name for name in alone}
    for prefix, texts in numbered.items():
        padded = {len(text) for text in texts if text.startswith("0") and len(text) > 1}
        groups: dict[int, set[int]] = {}
        for text in texts:
            groups.setdefault(len(text) if len(text) in padded else 0, set()).add(int(text))
        for width, numbers in groups.items():
            ranges = _ranges(numbers, width)
            first = "%s%0*d" % (prefix, width, min(numbers))
            words[first] = first if len(numbers) == 1 else "%s[%s]" % (prefix, ranges)
    return ",".join(words[key] for key in sorted(words, key=natural))
