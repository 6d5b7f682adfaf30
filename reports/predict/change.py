# SPDX-License-Identifier: BSD-3-Clause
"""Changes of a model as --set and --sweep give them."""

from __future__ import annotations

import difflib
import math
import re
from typing import NamedTuple, Optional, Sequence

from reports.predict import keys
from reports.records.jsonl import Json, Refused, clean, is_number

TOGETHER = "all together"
_POINTS = 7  # of a sweep
_MOST = 64  # changes
_NUMBER = r"([0-9.]+(?:e[+-]?[0-9]+)?)([KMG]?)(x?)"
_SWEEP = re.compile(r"([a-z0-9_]+)=%s:%s\Z" % (_NUMBER, _NUMBER))
_LABEL = re.compile(r"([^=:]+):\s*(.*)\Z", re.DOTALL)
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_LEAST, _MOST_VALUE = 1e-18, 1e18  # of a sweep; a model has no limits beyond
_WORDS = ("links", "lacks", "slow_down")  # keys that are no numbers of the model


class Change(NamedTuple):
    """`parts` are KEY=VALUE or KEY=2x, as a spec has them; none: the model as it is."""

    label: str
    parts: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return ", ".join(self.parts)

    def names(self) -> list[str]:
        return [part.partition("=")[0].strip() for part in self.parts]

    def value(self, name: str) -> Optional[str]:
        found = dict(part.partition("=")[::2] for part in self.parts)
        return found.get(name)


AS_IT_IS = Change("model")


class Sweep(NamedTuple):
    """`first` and `last` are values of the key, from factors or as they were given."""

    name: str
    first: float
    last: float
    factors: bool


def refuse(text: str) -> Refused:
    return Refused("predict: " + text)


def parse(text: str) -> Change:
    """ "KEY=VALUE,KEY=2x", behind "LABEL:" if it has one."""
    labelled = _LABEL.match(text)
    label, body = (labelled[1].strip(), labelled[2]) if labelled else ("", text)
    parts = tuple(re.sub(r"\s*=\s*", "=", part.strip()) for part in body.split(","))
    for part in parts:
        name, equals, value = part.partition("=")
        if not (name and equals and value) or re.search(r"[?&\n]", part):
            raise refuse("--set '%s' is not KEY=VALUE or KEY=2x, several with ',' between" % clean(text)[:80])
        if name in keys.NOT_PREDICTED:
            raise refuse("--set %s: predictions are made without noise, faults and data" % clean(name)[:40])
    change = Change(clean(label)[:40] or clean(",".join(parts))[:80], parts)
    if len(set(change.names())) < len(parts):
        raise refuse("--set '%s' sets a key twice" % clean(text)[:80])
    return change


def alternatives(texts: Sequence[str]) -> list[Change]:
    """Each alone, and then all of them together unless two set one key."""
    found = [parse(text) for text in texts]
    if len(found) > _MOST:
        raise refuse("more than %d changes" % _MOST)
    names = [name for change in found for name in change.names()]
    if len(found) > 1 and len(set(names)) == len(names):
        found.append(Change(TOGETHER, tuple(part for change in found for part in change.parts)))
    return found


def check(change: Change, known: Json) -> None:
    """Refuse a key that the model does not know, and name the nearest."""
    for name in change.names():
        base = name.split(" ")[0]
        if base in known or base in _WORDS:
            continue
        near = difflib.get_close_matches(base, dict.fromkeys([*known, *_WORDS]), 3, 0.5)
        raise refuse(
            "unknown key '%s'%s; all keys: device/sim/model/model.h"
            % (clean(base)[:40], near and "; perhaps " + " ".join(near) or "")
        )


def _value(number: str, unit: str) -> float:
    try:
        return float(number) * _UNITS[unit]
    except ValueError:
        return math.nan


def parse_sweep(text: str) -> Sweep:
    """ "KEY=1x:4x" or "KEY=100e9:800e9"."""
    match = _SWEEP.match(text.strip())
    if match is None or match[4] != match[7]:
        raise refuse("--sweep '%s' is not KEY=1x:4x or KEY=FROM:TO" % clean(text)[:80])
    first, last = _value(match[2], match[3]), _value(match[5], match[6])
    if not all(_LEAST <= end <= _MOST_VALUE for end in (first, last)) or first == last:
        raise refuse(
            "--sweep '%s' needs two different numbers, from %g to %g"
            % (clean(text)[:80], _LEAST, _MOST_VALUE)
        )
    if match[1] in keys.NOT_PREDICTED:
        raise refuse("--sweep %s: predictions are made without noise, faults and data" % match[1])
    return Sweep(match[1], first, last, bool(match[4]))


def points(sweep: Sweep, known: Json) -> list[tuple[float, Change]]:
    """Values of the key, in equal ratios, and the changes to them."""
    check(Change("", (sweep.name + "=",)), known)
    base = known.get(sweep.name)
    if not is_number(base):
        raise refuse("--sweep %s: its values are words, so there is no range" % sweep.name)
    if sweep.factors and not base > 0:
        raise refuse("--sweep %s: it is %g and cannot be multiplied" % (sweep.name, base))
    scale = base if sweep.factors else 1
    ratio = (sweep.last / sweep.first) ** (1 / (_POINTS - 1))
    values = [scale * sweep.first * ratio**i for i in range(_POINTS)]
    if keys.is_whole(sweep.name):
        values = [float(v) for v in dict.fromkeys(max(1, round(v)) for v in values)]
        return [(v, Change("%d" % v, ("%s=%d" % (sweep.name, v),))) for v in values]
    if base > 0:  # a factor holds for single links, too
        return [(v, Change("%.6g" % v, ("%s=%.12gx" % (sweep.name, v / base),))) for v in values]
    return [(v, Change("%.6g" % v, ("%s=%.12g" % (sweep.name, v),))) for v in values]
