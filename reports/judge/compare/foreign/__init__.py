# SPDX-License-Identifier: BSD-3-Clause
"""Results of other tools: one file is one run. The format is recognised by what the file holds, never by its
name.

A module reads one format. It raises BadRecord, which becomes one line with the file's name in front. MARK is
a line by which a text is known, wherever a launcher has put something before it (log.py).

A log that says that something failed has no good number, whatever its tables show.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Callable, Pattern

from reports.judge.compare.foreign import google_benchmark, imb, log, metrics_csv, nccl_tests
from reports.judge.compare.foreign import nccl_tests_json, nvbandwidth, nvbandwidth_text, osu, transferbench
from reports.judge.compare.foreign.found import Found
from reports.judge.compare.numbers import BadNumbers, RunNumbers
from reports.records.jsonl import MAX_FILE_BYTES, BadRecord, clean, open_regular, parse_line

FORMATS = (
    "nccl-tests and nvbandwidth (text or JSON), TransferBench, OSU micro-benchmarks, Intel MPI Benchmarks, "
    "Google Benchmark JSON, CSV with the columns metric, unit, better and value"
)
_UNKNOWN = "unknown format; known are " + FORMATS
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

_JSON: tuple[tuple[Callable, Callable], ...] = (
    (nvbandwidth.is_mine, nvbandwidth.read),
    (google_benchmark.is_mine, google_benchmark.read),
    (nccl_tests_json.is_mine, nccl_tests_json.read),
)
_TEXT: tuple[tuple[Pattern[str], str, Callable[[str], Found]], ...] = (
    (nccl_tests.MARK, "nccl-tests", nccl_tests.read),
    (osu.MARK, "OSU", osu.read),
    (imb.MARK, "IMB", imb.read),
    (nvbandwidth_text.MARK, "nvbandwidth", nvbandwidth_text.read),
    (transferbench.MARK, "TransferBench", transferbench.read),
)


def _content(path: Path) -> bytes:
    with open_regular(path) as stream:
        content = stream.read(MAX_FILE_BYTES + 1)
    if len(content) > MAX_FILE_BYTES:
        raise BadRecord("larger than %d MiB" % (MAX_FILE_BYTES >> 20))
    return content


def _of_json(content: str) -> Found:
    # Numbers of any size pass here: one that is too large is missing from its metric, the others are good.
    value = parse_line(google_benchmark.without_constants(content.encode("utf-8")), float)
    readers = [read for is_mine, read in _JSON if is_mine(value)]
    if not readers:
        raise BadRecord(_UNKNOWN)
    return readers[0](value)


def _of_text(text: str) -> Found:
    texts = [(log.lines_of(text, mark, tool), read) for mark, tool, read in _TEXT]
    found = [(tools, read) for tools, read in texts if tools is not None]
    if len(found) > 1:
        raise BadRecord("output of several tools: give each a file")
    if found:
        tools, read = found[0]
        return read(tools)
    if metrics_csv.is_mine(text):
        return metrics_csv.read(text)
    raise BadRecord(_UNKNOWN)


def _found(content: bytes) -> Found:
    content = content[len(_BYTE_ORDER_MARK) :] if content.startswith(_BYTE_ORDER_MARK) else content
    if not content.strip(b" \t\r\n"):
        raise BadRecord("empty")
    try:
        text = log.without_colours(content.decode("utf-8"))
    except UnicodeDecodeError:
        raise BadRecord("not UTF-8") from None
    key = log.collected_by(text)
    if key:
        raise BadRecord("a log collector's JSON, an object a line: take out its text (jq -rj .%s FILE)" % key)
    object_, begins = log.json_of(text), text.lstrip().startswith("{")  # a log may begin with "[host:1234]"
    reader, content_, around = _of_text, text, text
    if object_ and (begins or not any(mark.search(text) for mark, _, _ in _TEXT)):
        reader, (content_, around) = _of_json, object_
    failure = log.failure_in(around)
    try:
        found = reader(content_)
    except BadRecord as why:
        words = _UNKNOWN if object_ and not begins and str(why) == "not JSON" else str(why)
        raise BadRecord("; ".join(text for text in (words, failure) if text)) from None
    if failure:
        found.metrics.invalidate(failure)
    return found


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
        kind=found.device,
        provenance=found.provenance,
    )
