# SPDX-License-Identifier: BSD-3-Clause
"""Results of other tools: one file is one run. The format is recognised by what the file holds, never by its
name.

A module reads one format. It raises BadRecord, which becomes one line with the file's name in front.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Callable, Tuple

from reports.compare.foreign import (
    google_benchmark,
    metrics_csv,
    nccl_tests,
    nccl_tests_json,
    nvbandwidth,
    osu,
)
from reports.compare.foreign.found import Found
from reports.compare.numbers import BadNumbers, RunNumbers
from reports.jsonl import MAX_FILE_BYTES, BadRecord, clean, open_regular, parse_line

FORMATS = (
    "nccl-tests (text or -J), nvbandwidth -j, Google Benchmark JSON, OSU micro-benchmarks, "
    "CSV with the columns metric, unit, better and value"
)
_UNKNOWN = "unknown format; known are " + FORMATS
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

_JSON: Tuple[Tuple[Callable, Callable], ...] = (
    (nvbandwidth.is_mine, nvbandwidth.read),
    (google_benchmark.is_mine, google_benchmark.read),
    (nccl_tests_json.is_mine, nccl_tests_json.read),
)
_TEXT: Tuple[Tuple[Callable, Callable], ...] = (
    (nccl_tests.is_mine, nccl_tests.read),
    (osu.is_mine, osu.read),
    (metrics_csv.is_mine, metrics_csv.read),
)


def _content(path: Path) -> bytes:
    with open_regular(path) as stream:
        content = stream.read(MAX_FILE_BYTES + 1)
    if len(content) > MAX_FILE_BYTES:
        raise BadRecord("larger than %d MiB" % (MAX_FILE_BYTES >> 20))
    return content


def _found(content: bytes) -> Found:
    if content.startswith(_BYTE_ORDER_MARK):
        content = content[len(_BYTE_ORDER_MARK) :]
    content = content.strip(b" \t\r\n") and content
    if not content:
        raise BadRecord("empty")
    if content.lstrip()[:1] == b"{":  # a log may begin with "[host:1234]"
        # Numbers of any size pass here: one that is too large is missing from its metric, and the others are
        # good.
        value = parse_line(google_benchmark.without_constants(content), float)
        readers = [read for is_mine, read in _JSON if is_mine(value)]
    else:
        try:
            value = content.decode("utf-8")
        except UnicodeDecodeError:
            raise BadRecord("not UTF-8") from None
        readers = [read for is_mine, read in _TEXT if is_mine(value)]
    if not readers:
        raise BadRecord(_UNKNOWN)
    return readers[0](value)


def read(path: Path, name: str) -> RunNumbers:
    """`name` is what the user calls the file. BadNumbers where it cannot be used."""
    try:
        content = _content(path)
        found = _found(content)
        numbers = found.metrics.numbers()
        if not numbers:
            raise BadRecord("no number in this output of " + found.source)
    except OSError as error:
        raise BadNumbers("%s: %s" % (clean(name), error.strerror or "cannot be read")) from None
    except ValueError as error:  # BadRecord is one; open() has its own for a path that no system takes
        raise BadNumbers("%s: %s" % (clean(name), error)) from None
    return RunNumbers(
        name,
        found.source,
        numbers,
        identity=hashlib.sha256(content).hexdigest(),
        started=found.started,
        machine=found.machine,
        device=found.device,
        provenance=found.provenance,
    )
