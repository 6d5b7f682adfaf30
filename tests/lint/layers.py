# SPDX-License-Identifier: BSD-3-Clause
"""Rules of layers and of style. Every breach is one line FILE:LINE: what [rule: why].

layers.py [--root DIR] [--tap | --rules | RULE...]; each rule is a row: files, excepted files, and either a
pattern that no line may match or a check function.
"""

from __future__ import annotations

import argparse
import ast
import io
import itertools
import re
import subprocess
import sys
import tokenize
from collections import Counter
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Callable, Iterator

import variables

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM_FOLDERS = ("micro", "gemm", "overlap", "collectives", "topology")
PROGRAMS = tuple(f"{folder}/*.c" for folder in PROGRAM_FOLDERS)
IN_PROGRAM_FOLDERS = tuple(f"{folder}/*.[ch]" for folder in PROGRAM_FOLDERS)
C_PRODUCT = (
    "lib/*.[ch]",
    "bench/*.[ch]",
    "advise/*.[ch]",
    "device/*.[ch]",
    "device/*.cu",
    *IN_PROGRAM_FOLDERS,
)
C_ALL = (*C_PRODUCT, "tests/*.[ch]")
C_ENDINGS = (".c", ".h", ".inc", ".cu", ".cuh", ".cpp", ".hpp")
PYTHON = ("suite/*.py", "reports/*.py", "packaging/*.py")
SOURCES = (
    *C_ALL,
    *PYTHON,
    "tests/*.[ch]pp",
    "tests/*.py",
    "*.sh",
    "*.bats",
    "*.bash",
    "gpusig",
    "Makefile",
    ".ci/run",
)

Breach = tuple[int, str]


@dataclass(frozen=True)
class Rule:
    """`files` and `but` are globs in which * also matches a slash."""

    name: str
    why: str
    files: tuple[str, ...]
    but: tuple[str, ...] = ()
    pattern: str = ""
    check: Callable[[str, str], Iterator[Breach]] | None = None
    files_in_folder: int = 0  # at most, where not 0


def lines_above(limit: int) -> Callable[[str, str], Iterator[Breach]]:
    def check(_path: str, text: str) -> Iterator[Breach]:
        count = text.count("\n")
        if count > limit:
            yield limit + 1, f"{count} lines, more than {limit}"

    return check


def columns_above(limit: int, tab: int) -> Callable[[str, str], Iterator[Breach]]:
    def check(_path: str, text: str) -> Iterator[Breach]:
        for number, line in enumerate(text.expandtabs(tab).splitlines(), 1):
            if len(line) > limit:
                yield number, line.strip()[:100]

    return check


def c_functions_above(limit: int) -> Callable[[str, str], Iterator[Breach]]:
    """A function's body begins with { and ends with } at the left margin."""

    def check(_path: str, text: str) -> Iterator[Breach]:
        begin = 0
        for number, line in enumerate(text.splitlines(), 1):
            if line == "{":
                begin = number
            elif line == "}" and begin:
                if number - begin - 1 > limit:
                    yield begin, f"a function of {number - begin - 1} lines, more than {limit}"
                begin = 0

    return check


# Functions that a program declares, and names that mathematics and the C library gave.
BARE_NAMES = frozenset(
    """main usage setup body check derive model admit poison restore teardown
                            describe min max gcd clamp""".split()
)
C_FUNCTION = re.compile(r"^static\b(?:(?!__attribute__)[^;={}()])*?\b(\w+)\((?!\*)[^;{}]*\)\s*\{", re.M)


def bare_names(path: str, text: str) -> Iterator[Breach]:
    """A static function is read in a stack trace and a profile: what it does to what takes two words."""
    code = re.sub(r"__attribute__\(\(.*?\)\)\)? *", "", code_only(path, text))
    for match in C_FUNCTION.finditer(code):
        if "_" not in match[1].strip("_") and match[1] not in BARE_NAMES:
            yield code.count("\n", 0, match.start(1)) + 1, f"a function called {match[1]}"


@cache
def glossary() -> dict[str, str]:
    """Words to avoid -> the term, from the table "Words" of CONTRIBUTING.md."""
    section = (
        (ROOT / "CONTRIBUTING.md")
        .read_text(encoding="utf-8")
        .partition("\n## Words\n")[2]
        .partition("\n## ")[0]
    )
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \| ([^|]*) \|$", section, re.M)
    return {word: term for term, words in rows[1:] for word in re.findall(r"\w+", words)}


def include_order(path: str, text: str) -> Iterator[Breach]:
    """The header of the same name, the project's others by name, a blank line, the system's by name."""
    lines = text.splitlines()
    first = next((n for n, line in enumerate(lines) if line.startswith("#include")), len(lines))
    block = "\n".join(
        itertools.takewhile(lambda line: not line or line.startswith("#include"), lines[first:])
    ).rstrip()
    names = [line for line in block.split("\n") if line]
    if not all(re.fullmatch(r'#include ("[^"]+"|<[^>]+>)', name) for name in names):
        return
    own = [
        name
        for name in names
        if path.endswith(".c") and re.search(rf'["/]{re.escape(Path(path).stem)}\.h"$', name)
    ]
    ours = [*own, *sorted({name for name in names if '"' in name} - set(own))]
    system = sorted({name for name in names if "<" in name})
    if block != "\n".join([*ours, *([""] if ours and system else []), *system]):
        yield first + 1, "own header, project's, blank line, system's; each by name"


def banned_words(path: str, text: str) -> Iterator[Breach]:
    """Identifiers and messages; comments may say what they need."""
    words = glossary()
    for number, line in enumerate(code_only(path, text).splitlines(), 1):
        for word in re.findall(r"[a-z]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", line).lower()):
            if word in words:
                yield number, f"{word}: say {words[word]}"


# The index of a variant in an expression, not a member of that name, and constants that are no variant.
VARIANT_INDEX = r"(?<![\w.>])(?:variant|v|arg)\b"
VARIANT_NAME = r"(?!(?:NULL|NAN|INFINITY|\w*VARIANTS(?:_ALL)?)\b)[A-Z][A-Z0-9_]+\b(?!\()"
VARIANT = rf"(?:\d+u?\b|{VARIANT_NAME})"
EQUALITY = r"\s*[=!]=\s*"
# A variant below 0 is none.
COMPARISON = r"\s*(?:[=!]=|(?<![<>-])[<>](?![<>])=?(?!\s*0\b))\s*"
CALLBACK = re.compile(
    r"\(\s*(?:const )?struct bench_case \*\w+,\s*long (\w+)[^;{}]*\)\s*\{(.*?)^\}", re.M | re.S
)


def variant_dispatch(path: str, text: str) -> Iterator[Breach]:
    """Code that asks which variant it is: by its index, by a row's argument, or by the callbacks and members
    of programs whose rows do not carry their work."""
    code = code_only(path, text)
    spots = [(0, code, VARIANT_INDEX, COMPARISON)]
    spots += [
        (each.start(2), each[2], rf"(?<![\w.>]){each[1]}\b", EQUALITY) for each in CALLBACK.finditer(code)
    ]
    found = {match.start() for match in re.finditer(r"\.indexed\b|(?:\.|->)param\b", code)}
    for begin, part, index, compares in spots:
        asked = (
            rf"{index}{compares}{VARIANT}|\b{VARIANT}{compares}{index}"
            rf"|\bswitch\s*\((?:\([\w ]+\)\s*)?{index}\s*\)"
        )
        found |= {begin + match.start() for match in re.finditer(asked, part)}
    lines = code.splitlines()
    for number in sorted({code.count("\n", 0, at) for at in found}):
        yield number + 1, lines[number].strip()[:100]


def python_functions_above(limit: int) -> Callable[[str, str], Iterator[Breach]]:
    def check(_path: str, text: str) -> Iterator[Breach]:
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.end_lineno:
                length = node.end_lineno - node.lineno + 1
                if length > limit:
                    yield node.lineno, f"{node.name} has {length} lines, more than {limit}"

    return check


# Folders that a folder of Python may import besides itself, the standard library and what lies beside its
# folder, such as suite/saying.py: imports point one way.
_MADE_OF_RECORDS = (
    "reports.records",
    "reports.page",
    "reports.model",
    "reports.signature",
    "reports.predict",
    "reports.advice",
    "reports.judge",
)
PYTHON_LAYERS = {
    "reports/records": (),
    "reports/page": _MADE_OF_RECORDS[:1],
    "reports/model": _MADE_OF_RECORDS[:2],
    "reports/signature": _MADE_OF_RECORDS[:3],
    "reports/predict": _MADE_OF_RECORDS[:4],
    "reports/advice": _MADE_OF_RECORDS[:5],
    "reports/judge": _MADE_OF_RECORDS[:6],
    "reports/export": _MADE_OF_RECORDS,
    "suite/setup": ("reports.records",),
    "suite/run": (*_MADE_OF_RECORDS, "suite.setup"),
    "suite/testing": ("reports.records", "suite.setup", "suite.run"),
    "suite/commands": ("reports", "suite"),
}
# Libraries that may be missing and are imported where they are used.
LIBRARIES = {
    "suite/run/progress.py": ("rich",),
    "reports/page/template.py": ("jinja2",),
    "reports/page/glossary.py": ("markupsafe",),
    "reports/page/svg.py": ("markupsafe",),
    "reports/records/validate.py": ("jsonschema",),
}


def python_imports(path: str, text: str) -> Iterator[Breach]:
    folder = "/".join(path.split("/")[:2])
    if folder not in PYTHON_LAYERS:
        return
    own, top = folder.replace("/", "."), folder.partition("/")[0]
    beside = {f"{top}.{each.stem}" for each in (ROOT / top).glob("*.py")}
    for node in ast.walk(ast.parse(text)):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names += [f"{node.module}.{a.name}" for a in node.names]
        for name in names:
            package = name.split(".")[0]
            if package in ("reports", "suite"):
                layers = (own, *PYTHON_LAYERS[folder], *beside)
                allowed = any(f"{name}.".startswith(f"{layer}.") for layer in layers)
            else:
                allowed = package in (*sys.stdlib_module_names, "__future__", *LIBRARIES.get(path, ()))
            if not allowed:
                yield node.lineno, f"imports {name}"


# Folders that a folder may include besides itself. The nearest row above a file counts. "device/*" is what
# lies directly in device/: no folder may include the headers of a backend.
_IN_MACHINE = ("lib/", "device/*", "device/sim/time/*", "device/sim/model/*")
KIT = ("lib/", "device/*", "bench/*")
LAYERS = {
    "lib": (),
    "advise": ("lib/err.h",),
    "device": ("lib/",),
    "device/host": ("lib/", "device/*"),
    # The floors of the simulator, from below. It computes results with the CPU's kernels.
    "device/sim/time": (),
    "device/sim/model": ("lib/", "device/*"),
    "device/sim/machine": (*_IN_MACHINE, "device/host/host_block.h"),
    "device/sim/t3": (*_IN_MACHINE, "device/sim/machine/*"),
    "device/sim/device": (*_IN_MACHINE, "device/sim/machine/*", "device/sim/t3/*"),
    "device/gpu": ("lib/", "device/*"),
    "device/gpu/cuda": ("lib/", "device/*", "device/gpu/*"),
    "device/gpu/hip": ("lib/", "device/*", "device/gpu/*"),
    "device/gpu/kernels": (),
    # The layers of bench/run/run.h, and the kit.
    "bench": ("lib/", "device/*"),
    "bench/run": ("bench/graph/bench_graph.h", *KIT),
    "bench/sampling": ("bench/run/", *KIT),
    "bench/quantities": ("bench/run/", "bench/sampling/", *KIT),
    "bench/cases": ("bench/run/", "bench/quantities/", *KIT),
    "bench/output": ("bench/run/", "bench/sampling/", "bench/quantities/", "bench/cases/", *KIT),
    "bench/graph": KIT,
    "bench/links": ("bench/graph/", *KIT),
    **{folder: ("bench/graph/", "bench/links/", *KIT) for folder in PROGRAM_FOLDERS},
    "collectives/schedules": ("lib/",),
    # Its methods are the collectives among devices that collectives/device_* measure alone.
    "overlap/collective": ("bench/graph/", *KIT, "collectives/devices/"),
    "overlap/sustained": ("bench/graph/", *KIT, "collectives/devices/"),
    "topology": ("bench/links/", *KIT, "collectives/schedules/"),
}


def includes_above(path: str, text: str) -> Iterator[Breach]:
    folder = path.rpartition("/")[0]
    while folder not in LAYERS:
        folder = folder.rpartition("/")[0]
    own = f"{folder}/*" if folder.startswith("device") else f"{folder}/"
    for number, line in enumerate(text.splitlines(), 1):
        match = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
        if match and not any(_may_include(match[1], allowed) for allowed in (own, *LAYERS[folder])):
            yield number, f'includes "{match[1]}"'


def _may_include(header: str, allowed: str) -> bool:
    if allowed.endswith("/*"):
        return header.rpartition("/")[0] == allowed[:-2]
    return header.startswith(allowed) if allowed.endswith("/") else header == allowed


# Variables of bench and the programs that live as long as the process and change. All other state is passed:
# in c->state, c->arg or a parameter.
MAY_CHANGE = {
    "bench/run/run.c:bench_interrupted": "the flag of a signal handler",
    "bench/bench.c:grace": "the timer that a signal handler starts",
    "bench/bench_gate.c:gates": "open gates, which the watchdog's thread looks through",
    "bench/bench_gate.c:lock": "of that list",
    "bench/bench_gate.c:overdue": "how many of them the watchdog opened",
    "bench/bench_gate.c:satisfied": "how many gates' counters it wrote",
    "bench/bench_gate.c:waits_since_ns": "when the host began to wait for streams",
    "bench/bench_gate.c:started": "whether the process has its watchdog",
    "bench/out.c:failure": "the first error of stdout, which is the process's",
    "collectives/ranks/mpi_job.c:mpi_job": "what MPI_Init opened, the ranks of MPI_COMM_WORLD",
    "collectives/ranks/rank_latency.c:pair": "the neighbour of this rank of MPI_COMM_WORLD",
    "collectives/ranks/rank_watch.c:watch": "what a signal handler reads and writes",
}


def mutable_variables(path: str, text: str) -> Iterator[Breach]:
    found = list(variables.mutable(text))
    yield from ((line, f"{name} can change") for line, name in found if f"{path}:{name}" not in MAY_CHANGE)
    listed = {entry.rpartition(":")[2] for entry in MAY_CHANGE if entry.startswith(f"{path}:")}
    yield from (
        (1, f"{name} of MAY_CHANGE is not here") for name in sorted(listed - {name for _, name in found})
    )


# Such a sentence makes the reader wait for its subject. A question, "Which algorithm is fastest?", does not.
OPENING = re.compile(r"(?:What|Of|Where|Which|Who|Whose|Whether|How|Why)\b(?![^.:?]*\?)")
STRING_OR_COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|/\*.*?\*/|(?:^[ \t]*//[^\n]*\n)+|//[^\n]*', re.S | re.M)
HASH_COMMENT = re.compile(r"(?:^[ \t]*#(?!!)[^\n]*\n)+", re.M)


def comments_of(path: str, text: str) -> Iterator[Breach]:
    """Line and words of each comment and docstring, behind its marks and its SPDX line."""
    if path.endswith(".py"):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                if (said := ast.get_docstring(node)) is not None:
                    yield node.body[0].lineno, said
        text = comment_lines(text)
    pattern = STRING_OR_COMMENT if path.endswith(C_ENDINGS) else HASH_COMMENT
    for match in pattern.finditer(text):
        if not match[0].startswith('"'):
            marks = r"(?m)^[ \t]*(/\*|\*/|\*|//|#)+[ \t]*((SPDX|bats ).*)?"
            words = re.sub(marks, "", match[0]).strip()
            begin = text.index(words.partition("\n")[0], match.start())
            yield text.count("\n", 0, begin) + 1, words


def comment_lines(text: str) -> str:
    """Comments with a line of their own, on the same lines, without lines of strings that begin with #."""
    lines = [""] * (text.count("\n") + 1)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and token.line.lstrip().startswith("#"):
            lines[token.start[0] - 1] = token.string
    return "\n".join(lines)


def comment_openings(path: str, text: str) -> Iterator[Breach]:
    for number, words in comments_of(path, text):
        if OPENING.match(words):
            yield number, words.partition("\n")[0][:80]


def spdx(_path: str, text: str) -> Iterator[Breach]:
    if "SPDX-License-Identifier: BSD-3-Clause" not in "\n".join(text.splitlines()[:3]):
        yield 1, "no SPDX line among the first three"


def file_name(path: str, _text: str) -> Iterator[Breach]:
    if re.search(r"(^|[/_])(common|utils?|shared|misc|helpers?)\.(c|h|py|sh)$", path):
        yield 1, "a file name that does not say what the file holds"


def include_guard(_path: str, text: str) -> Iterator[Breach]:
    if not re.search(r"^#ifndef \w+\n#define \w+|^#pragma once", text, re.M):
        yield 1, "no include guard"


def numbers_without_source(_path: str, text: str) -> Iterator[Breach]:
    """Keys of a real machine's model without a comment on their line or on the one above it."""
    above = ""
    for number, line in enumerate(text.splitlines(), 1):
        content, _, comment = line.partition("#")
        if content.strip() and not comment.strip() and not re.match(r"\s*#.*\w", above):
            yield number, f"{content.strip()}: where is this from?"
        above = line


WRITERS = ("bench/out.c", "lib/err.c", "bench/bench*.c")

RULES = (
    Rule(
        "layers",
        "programs depend on bench, bench on device, device on lib; advise on lib/err",
        (*C_PRODUCT, "device/*.inc"),
        check=includes_above,
    ),
    Rule(
        "no-conditionals",
        "what differs between machines is asked at run time",
        IN_PROGRAM_FOLDERS,
        (),
        r"^\s*#\s*(if|ifdef|elif|else)\b",
    ),
    Rule(
        "no-vendors",
        "capabilities, never vendors, outside device/",
        ("lib/*", "bench/*", "advise/*", "suite/*", *(f"{folder}/*" for folder in PROGRAM_FOLDERS)),
        (
            "suite/run/devices.py",
            "suite/run/libraries.py",
            "suite/run/preflight_facts.py",
            "suite/testing/stages.py",
            "suite/setup/packages.txt",
            "suite/help/*",
            "lib/provenance*",
        ),
        r"(?i)(?<![a-z])(cuda|nvidia|nvrtc|cublas|nccl(?!.tests)|hip|hiprtc|rocm|rocblas|rccl|amd)(?![a-z0-9])",
    ),
    Rule(
        "three-writers",
        "out.c writes data, err.c messages, bench*.c leaves",
        C_PRODUCT,
        WRITERS,
        r"(?<![\w.>])(v?f?printf|puts|fputs|fputc|putchar|perror|exit|quick_exit|abort)\s*\(",
    ),
    Rule(
        "no-unsafe-calls",
        "unchecked parsing and formatting",
        C_ALL,
        (),
        r"(?<![\w.>])(atoi|atol|atoll|atof|strtok|sprintf|vsprintf|gets)\s*\(",
    ),
    Rule("no-shell", "a benchmark starts no commands", C_PRODUCT, (), r"(?<![\w.>])(system|popen)\s*\("),
    Rule(
        "no-unseeded-random",
        "all randomness comes from --seed",
        C_PRODUCT,
        (),
        r"(?<![\w.>])s?rand(om|48)?\s*\(",
    ),
    Rule(
        "no-wall-clock-timing",
        "a clock that can step times nothing",
        C_PRODUCT,
        ("lib/provenance*.c", "lib/clock.c", "bench/output/output.c"),
        r"(?<![\w.>])(gettimeofday|time|clock)\s*\(|CLOCK_REALTIME",
    ),
    Rule(
        "one-executor",
        "what runs on several streams or devices is a graph of bench/graph/work_graph.h",
        ("overlap/*.[ch]", "collectives/device*.[ch]"),
        (),
        r"(?<![\w.>])(gate_(open|shut|release)|dev_event_\w+|dev_stream_(open|wait)|dev_(wait|write)_value|"
        r"bench_(stream|event|gate)(_on)?|bench_follow)\s*\(",
    ),
    Rule(
        "no-forged-cases",
        "the kit takes a device; a copied case with another device lies",
        ("bench/*.[ch]", *IN_PROGRAM_FOLDERS),
        ("bench/run/run.h",),
        r"\bstruct bench_case\s+(?!\*)\w+\s*[=;]",
    ),
    Rule(
        "mutable-variables",
        "state is passed; what has to outlive a call is in MAY_CHANGE with its reason",
        ("bench/*.[ch]", *IN_PROGRAM_FOLDERS),
        check=mutable_variables,
    ),
    Rule(
        "no-variant-dispatch",
        "a variant is a row that carries its work; no code asks which one it is",
        IN_PROGRAM_FOLDERS,
        check=variant_dispatch,
    ),
    Rule(
        "program-size",
        "a program is a declaration of about 150 lines",
        PROGRAMS,
        tuple(f"{folder}/*/*" for folder in PROGRAM_FOLDERS),
        check=lines_above(290),
    ),
    Rule("file-size", "at most 700 lines a C file", C_ALL, (), check=lines_above(700)),
    Rule(
        "sim-header-size",
        "at most 150 lines a header of the simulator: nobody sees what is of no concern",
        ("device/sim/*.h",),
        check=lines_above(150),
    ),
    Rule("function-size", "at most 45 lines a C function", C_ALL, (), check=c_functions_above(45)),
    Rule("function-names", "a static function's name says what it does to what", C_ALL, (), check=bare_names),
    Rule(
        "words",
        "one thing has one name, and it is the field's: the glossary of CONTRIBUTING.md",
        (*C_ALL, *PYTHON),
        ("*_abi.h",),
        check=banned_words,
    ),
    Rule(
        "comment-openings",
        "a comment begins with what the thing is or does",
        tuple(f"*{ending}" for ending in (*C_ENDINGS, ".py", ".sh", ".bats", ".bash", "Makefile")),
        check=comment_openings,
    ),
    Rule("python-file-size", "at most 600 lines a module", PYTHON, (), check=lines_above(600)),
    Rule(
        "python-function-size",
        "at most 70 lines a Python function",
        PYTHON,
        (),
        check=python_functions_above(70),
    ),
    Rule(
        "python-layers",
        "imports point one way, and the standard library is enough",
        ("suite/*.py", "reports/*.py"),
        (),
        check=python_imports,
    ),
    Rule("spdx", "every source says its licence", SOURCES, (), check=spdx),
    Rule("file-names", "no file called common, utils, shared", SOURCES, ("tests/bats/*",), check=file_name),
    Rule(
        "include-guard",
        "a header may be included twice",
        C_ALL,
        ("*.c", "*.cu", "*_body.h", "*.inc.h"),
        check=include_guard,
    ),
    Rule(
        "include-order",
        "one order of includes",
        C_ALL,
        ("*_abi.h", "tests/abi/*", "*.cu"),
        check=include_order,
    ),
    Rule("c-line-length", "at most 100 columns, tabs are 8", C_ALL, ("*.cu",), check=columns_above(100, 8)),
    Rule(
        "line-length",
        "at most 130 columns; Python's are ruff's",
        ("*.sh", "gpusig"),
        (),
        check=columns_above(130, 4),
    ),
    Rule(
        "folder-size",
        "at most 50 sources in a folder",
        (*C_ALL, *PYTHON, "tests/*.py", "*.bats"),
        files_in_folder=50,
    ),
    Rule(
        "vendor-folder-size",
        "at most 15 sources for a vendor",
        ("device/gpu/cuda/*.[ch]",),
        (),
        files_in_folder=15,
    ),
    Rule(
        "model-sources",
        "every number of a real machine has its source, or says that it is assumed",
        ("device/sim/model/machines/*",),
        (),
        check=numbers_without_source,
    ),
    Rule(
        "no-root-names",
        "root makes such a folder; below a regular file, as /dev/null/file, nothing can be",
        ("tests/*",),
        ("tests/lint/*",),
        r"(?<![.\w}])/(nonexistent|nowhere)",
    ),
    Rule("no-trailing-blanks", "no blanks at the end of a line", SOURCES, (), r"[ \t]+$"),
)


def sources(root: Path) -> list[str]:
    """Files of the working tree that git knows or would add; all files where there is no git."""
    if (root / ".git").exists():
        command = ["git", "ls-files", "-co", "--exclude-standard"]
        listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
        if listed.returncode == 0:
            return sorted(set(listed.stdout.splitlines()))
    found = (p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_file())
    return sorted(p for p in found if not re.match(r"(build|bin|\.git|gpusig-results[^/]*)/", p))


@cache
def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


@cache
def code_only(path: str, text: str) -> str:
    """C text with comments blanked, lines kept."""
    if not path.endswith((".c", ".h")):
        return text
    blank = lambda match: re.sub(r"[^\n]", " ", match[0]) if match[0].startswith("/") else match[0]
    return re.sub(r'"(?:\\.|[^"\\\n])*"|/\*.*?\*/|//[^\n]*', blank, text, flags=re.S)


def breaches(rule: Rule, root: Path, paths: list[str]) -> Iterator[str]:
    files = [
        path
        for path in paths
        if any(fnmatchcase(path, glob) for glob in rule.files)
        and not any(fnmatchcase(path, glob) for glob in rule.but)
        and (root / path).is_file()
    ]
    for path in files:
        text = _text(root / path)
        for number, what in [*_by_check(rule, path, text), *_by_pattern(rule, path, text)]:
            yield f"{path}:{number}: {what}   [{rule.name}: {rule.why}]"
    for folder, count in Counter(path.rpartition("/")[0] for path in files).items():
        if 0 < rule.files_in_folder < count:
            yield f"{folder}:1: {count} files, more than {rule.files_in_folder}   [{rule.name}: {rule.why}]"


def _by_check(rule: Rule, path: str, text: str) -> Iterator[Breach]:
    if rule.check:
        yield from rule.check(path, text)


def _by_pattern(rule: Rule, path: str, text: str) -> Iterator[Breach]:
    if not rule.pattern:
        return
    # Trailing blanks are checked in comments too; the other rules are about code.
    looked_at = text if rule.name == "no-trailing-blanks" else code_only(path, text)
    for number, line in enumerate(looked_at.expandtabs(4).splitlines(), 1):
        if re.search(rule.pattern, line):
            yield number, line.strip()[:100]


def tap(root: Path, paths: list[str]) -> int:
    failed = 0
    for number, rule in enumerate(RULES, 1):
        found = list(breaches(rule, root, paths))
        failed += bool(found)
        print(f"{'not ' if found else ''}ok {number} {rule.name}: {rule.why}")
        for breach in found:
            print(f"# {breach}")
    print(f"1..{len(RULES)}")
    return 1 if failed else 0


def main() -> int:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--root", type=Path, default=ROOT)
    parser.add_argument("--tap", action="store_true")
    parser.add_argument("--rules", action="store_true")
    by_name = {rule.name: rule for rule in RULES}
    parser.add_argument("names", nargs="*", metavar="RULE", default=[])
    given = parser.parse_args()
    unknown = [name for name in given.names if name not in by_name]
    if unknown:
        parser.error(f"unknown rule '{unknown[0]}'; rules: {', '.join(by_name)}")
    if given.rules:
        print("\n".join(by_name))
        return 0
    paths = sources(given.root)
    if given.tap:
        return tap(given.root, paths)
    found = [line for name in given.names or by_name for line in breaches(by_name[name], given.root, paths)]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
