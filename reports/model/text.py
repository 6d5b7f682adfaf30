# SPDX-License-Identifier: BSD-3-Clause
"""A fitted model as a file that --device sim:FILE reads (docs/SIMULATED-MACHINES.md)."""

from __future__ import annotations

import hashlib
import textwrap

from reports.model.fit import NoModel, fit
from reports.model.key import BASE, Key
from reports.records.jsonl import Json, clean
from reports.records.quantity import percent

NAME = "machine.model"  # in the folder of signature.json
_WIDTH = 100
_SOURCE = 300  # characters of a remark behind a key: the simulator reads no longer lines than 511 bytes
_FILE_BYTES = 65536  # that it reads
_WHOLE = "# Whole and as fitted: "  # the last line


def _line(key: Key) -> str:
    value = key.value if isinstance(key.value, (int, str)) else "%.6g" % key.value
    sure = "" if key.error is None else ", ±%s" % percent(key.error)
    return "%s = %s  # %s%s" % (key.name, value, clean(key.source)[:_SOURCE], sure)


def _remark(text: str) -> list[str]:
    return textwrap.wrap(clean(text), _WIDTH, initial_indent="# ", subsequent_indent="# ")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def is_whole(model: str) -> bool:
    """True if of() made this text, and nothing was changed or lost since."""
    body, found, digest = model.rpartition(_WHOLE)
    return bool(found) and digest == _digest(body) + "\n"


def of(signature: Json, name: str) -> str:
    """The model of a signature, whose machine has this name; raises as fit()."""
    fitted = fit(signature)
    lines = _remark("Model of %s, fitted by ./gpusig model to its signature." % name)
    lines += _remark(
        "Behind each key: what it is from, and how far it may be off. All others are as in %s." % BASE
    )
    lines += ["like = %s" % BASE, *map(_line, fitted.keys)]
    for missing in fitted.missing:
        lines += _remark("As in %s: %s: %s" % (BASE, ", ".join(missing.names), missing.reason))
    found = "\n".join(lines) + "\n"
    found += "%s%s\n" % (_WHOLE, _digest(found))
    if len(found.encode("utf-8", "replace")) > _FILE_BYTES:
        raise NoModel("its pairs of devices do not fit into the file of a model")
    return found
