# SPDX-License-Identifier: BSD-3-Clause
"""Text of other programs around a tool's output: colours, the prefix that a launcher or log collector puts
before every line, lines before and after JSON, and messages on failures.

No list of launchers: the prefix is what stands before a line by which the format is known, such as
"[1,0]<stdout>:" of mpirun --tag-output, "0: " of srun --label or a time stamp. Numbers, names of days and
months, and stdout or stderr change from line to line; the rest is the same in all.
"""

from __future__ import annotations

import json
import re
from typing import Pattern

from reports.records.jsonl import BadRecord, clean
from reports.records.quantity import bounded

_COLOUR = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])")
_MAX_PREFIX = 200  # characters
_MAX_TRIED = 20  # prefixes
_DAYS_AND_MONTHS = "Mon|Tue|Wed|Thu|Fri|Sat|Sun|Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"
_CHANGES: tuple[tuple[str, str], ...] = (
    (r"[0-9]+", r"[0-9]+"),
    (r"(?<=[0-9])[ \t]+(?=[0-9])", r"[ \t]+"),  # not "*": a line of digits would be tried in all its parts
    (r"[ \t]+", r"[ \t]*"),  # launchers pad numbers
    (r"\b(?:%s)\b" % _DAYS_AND_MONTHS, r"(?:%s)" % _DAYS_AND_MONTHS),
    (r"std(?:out|err)", r"std(?:out|err)"),
)
_PART = re.compile("|".join("(%s)" % part for part, _ in _CHANGES) + "|(.)", re.DOTALL)
_JSON = re.compile(r"\{(?=\s*$|\")")
_COLLECTED = ("log", "message", "MESSAGE", "msg")  # keys of JSON that collectors write for a line
# Texts that are printed only if something went wrong. Not here: "Terminated", which a shell says of a
# background process that a script stops, and warnings of NCCL and UCX from which they go on. Each begins with
# a letter and not with a choice, for re skips to those letters.
_FAILURES = re.compile(
    "|".join(
        (
            # nccl-tests, OSU, nvbandwidth
            r"Test (?:NCCL |CUDA |HIP )?failure |Test timeout \(|DATA VALIDATION ERROR",
            r"MPI call failed with|function call failed with|call '.{1,200}' failed with -?[0-9]",
            r"Invalid value when checking the pattern|expression .{1,300}\(\) : ",
            # CUDA and HIP: what programs print, then texts and names of errors after which a device is lost
            r"CUDA (?:[Ee]rror|ERROR)(?::| at | [0-9])|HIP (?:[Ee]rror|ERROR)(?::| at | [0-9])",
            r"unspecified launch failure|launch timed out and was terminated|illegal memory access",
            r"misaligned address|device-side assert|uncorrectable (?:ECC|NVLink)",
            r"CUDA_ERROR_(?:LAUNCH_[FT]|ILLEGAL|ECC)|rror(?:Launch[FT]|IllegalA|IllegalI|ECC)",
            # ROCr and HIP; the kernel and its drivers
            r"Memory access fault by GPU|HW Exception by GPU|aborting with error : HSA_STATUS",
            r"NVRM: Xid|fallen off the bus|amdgpu.{1,80}(?:GPU reset|page fault)|ut of memory: Kill",
            # NCCL and RCCL, UCX
            r"NCCL WARN NET/.{1,60}(?:Got completion|completed with error|async fatal event)",
            r"retry count exceeded|Caught signal [0-9]",
            # Open MPI, MPICH, Intel MPI, MVAPICH and others that start processes
            r"MPI_ABORT was invoked|An error occurred in MPI_|Fatal error in|exited on signal",
            r"exited with non-zero|non-zero exit code|\*\*\* Process received signal",
            r"was unable to (?:launch|start|find) the specified|lost communication with a remote daemon",
            r"BAD TERMINATION OF ONE OF YOUR|application called MPI_Abort\(|Abort\(-?[0-9]+\) on node [0-9]",
            r"APPLICATION TIMED OUT|APPLICATION TERMINATED WITH THE EXIT STRING|KILLED BY SIGNAL: [0-9]",
            r"terminated with signal [0-9]|died from signal [0-9]",
            # Slurm, PBS, LSF, Kubernetes and whatever tells a code
            r"srun: error: \S+: tasks? [0-9]|srun: Job step aborted|srun: error: Node failure",
            r"slurmstepd\S{0,80}: error: (?:\*\*\*|Detected [0-9]+ oom)",
            r"PBS: job killed|TERM_[A-Z_]{1,40}: job killed|OOMKilled",
            r"xit(?:ed)?(?: with)?[ _](?:[Cc]ode|[Ss]tatus)[ :=]{1,12}-?[1-9]",
            # shells and the C library
            r"Killed\s*$|Aborted\s*$|: line [0-9]+: +[0-9]+ (?:Killed|Aborted)|core dumped",
            r"Segmentation fault|Bus error|Floating point exception|Illegal instruction",
            r"terminate called after|Assertion .{1,300} failed",
        )
    ),
    re.MULTILINE,
)


def without_colours(text: str) -> str:
    return _COLOUR.sub("", text) if "\x1b" in text else text


def failure_in(text: str) -> str:
    """The first line that says that something went wrong; empty where none does."""
    match = _FAILURES.search(text)
    if not match:
        return ""
    begin = text.rfind("\n", 0, match.start()) + 1
    return "the log says: " + bounded(clean(text[begin:].partition("\n")[0]).strip(), 120)


def _pattern(prefix: str) -> Pattern[str]:
    parts = [r"[ \t]*"]
    for match in _PART.finditer(prefix.lstrip()):
        index = (match.lastindex or 0) - 1
        parts.append(re.escape(match.group()) if index == len(_CHANGES) else _CHANGES[index][1])
    return re.compile("".join(parts))


def _prefixes(lines: list[str], mark: Pattern[str]) -> dict[int, str]:
    """Line -> text before the mark, of the first lines that have some."""
    found: dict[int, str] = {}
    for number, line in enumerate(lines):
        match = mark.search(line[: 2 * _MAX_PREFIX])
        if match and line[: match.start()].strip() and match.start() <= _MAX_PREFIX:
            found[number] = line[: match.start()]
            if len(found) == _MAX_TRIED:
                break
    return found


def _matched(lines: list[str], pattern: Pattern[str]) -> int:
    return sum(bool(line.strip() and pattern.match(line)) for line in lines)


def _strip(lines: list[str], mark: Pattern[str]) -> list[str]:
    """The lines without the prefix that stands before the mark, where most of them have it. A launcher's own
    lines may have none. One that is all digits must be everywhere, for a row of a table begins so too."""
    filled = sum(bool(line.strip()) for line in lines)
    for prefix in dict.fromkeys(_prefixes(lines, mark).values()):
        pattern = _pattern(prefix)
        share = 1.0 if not re.search(r"[^\s0-9]", prefix) else 0.5
        if _matched(lines, pattern) >= share * filled:
            return [line[match.end() :] if (match := pattern.match(line)) else line for line in lines]
    return lines


def lines_of(text: str, mark: Pattern[str], tool: str) -> str | None:
    """The text as the tool printed it; None where the tool's mark is on no line."""
    if not mark.search(text):
        return None
    lines = _strip(text.split("\n"), mark)
    bare = any(mark.match(line.lstrip()) for line in lines)
    for number, prefix in _prefixes(lines, mark).items():
        if not bare or _matched(lines, _pattern(prefix)) > 1:
            raise BadRecord(
                "line %d has '%s' before the output of %s, and most lines have not: remove it (cut -c %d- "
                "FILE)" % (number + 1, bounded(clean(prefix.strip()), 60), tool, len(prefix) + 1)
            )
    return "\n".join(lines)


def json_of(text: str) -> tuple[str, str] | None:
    """The object in a text, from the first line that begins with a brace to the last that ends with one, and
    the text around it. None where no line begins one."""
    lines = text.split("\n")
    if not any(line.lstrip().startswith("{") for line in lines):
        first = next((line for line in lines if _JSON.search(line[: 2 * _MAX_PREFIX])), None)
        if first is None:
            return None
        lines = _strip(lines, _JSON)
    begin = next((i for i, line in enumerate(lines) if line.lstrip().startswith("{")), None)
    if begin is None:
        return None
    ends = [i for i in range(begin, len(lines)) if lines[i].rstrip().endswith("}")]
    end = ends[-1] + 1 if ends else len(lines)
    return "\n".join(lines[begin:end]), "\n".join(lines[:begin] + lines[end:])


def collected_by(text: str) -> str:
    """The key that holds the text, where each line is an object of a log collector; empty where it is not."""
    first, _, rest = text.lstrip().partition("\n")
    if not rest.lstrip().startswith("{"):
        return ""
    try:
        entry = json.loads(first[: 1 << 16])
    except (ValueError, RecursionError):
        return ""
    return next(
        (key for key in _COLLECTED if isinstance(entry, dict) and isinstance(entry.get(key), str)), ""
    )
