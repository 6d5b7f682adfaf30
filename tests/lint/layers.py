# SPDX-License-Identifier: BSD-3-Clause
"""Rules of layers and of taste. Every breach is one line FILE:LINE: what [rule: why].

layers.py [--root DIR] [--tap | --rules | RULE...]; each rule is a row: which files, which not, and either a pattern
that no line may match or a function.
"""
from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Callable, Iterator

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM_FOLDERS = ("micro", "gemm", "overlap", "collectives", "topology")
PROGRAMS = tuple(f"{folder}/*.c" for folder in PROGRAM_FOLDERS)
IN_PROGRAM_FOLDERS = tuple(f"{folder}/*.[ch]" for folder in PROGRAM_FOLDERS)
C_PRODUCT = ("lib/*.[ch]", "device/*.[ch]", "device/*.cu", *IN_PROGRAM_FOLDERS)
C_ALL = (*C_PRODUCT, "tests/*.[ch]")
PYTHON = ("suite/*.py", "reports/*.py")
SOURCES = (*C_ALL, *PYTHON, "tests/*.[ch]pp", "tests/*.py", "*.sh", "*.bats", "*.bash", "gpusig", "Makefile", ".ci/run")

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


def lines_above(limit: int) -> Callable[[str, str], Iterator[Breach]]:
    def check(_path: str, text: str) -> Iterator[Breach]:
        count = text.count("\n")
        if count > limit:
            yield limit + 1, f"{count} lines, more than {limit}"

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


def python_functions_above(limit: int) -> Callable[[str, str], Iterator[Breach]]:
    def check(_path: str, text: str) -> Iterator[Breach]:
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.end_lineno:
                length = node.end_lineno - node.lineno + 1
                if length > limit:
                    yield node.lineno, f"{node.name} has {length} lines, more than {limit}"

    return check


def python_imports(_path: str, text: str) -> Iterator[Breach]:
    """The driver needs the standard library alone; rich may be missing."""
    allowed = sys.stdlib_module_names | {"suite", "rich"} if hasattr(sys, "stdlib_module_names") else None
    for node in ast.walk(ast.parse(text)):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        for name in names:
            if allowed is not None and name.split(".")[0] not in allowed:
                yield node.lineno, f"imports {name}"


def own_folder_includes(path: str, text: str) -> Iterator[Breach]:
    """A program folder includes lib/, device/ and itself. topology/torus runs the schedules of collectives/."""
    own = path.split("/")[0]
    allowed = {"lib", "device", own} | ({"collectives/schedules"} if own == "topology" else set())
    for number, line in enumerate(text.splitlines(), 1):
        match = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
        if match and not any(match[1].startswith(folder + "/") for folder in allowed):
            yield number, f'includes "{match[1]}"'


def spdx(_path: str, text: str) -> Iterator[Breach]:
    if "SPDX-License-Identifier: BSD-3-Clause" not in "\n".join(text.splitlines()[:3]):
        yield 1, "no SPDX line among the first three"


def file_name(path: str, _text: str) -> Iterator[Breach]:
    if re.search(r"(^|[/_])(common|utils?|shared|misc|helpers?)\.(c|h|py|sh)$", path):
        yield 1, "a file name that says nobody decided what belongs there"


def include_guard(_path: str, text: str) -> Iterator[Breach]:
    if not re.search(r"^#ifndef \w+\n#define \w+|^#pragma once", text, re.M):
        yield 1, "no include guard"


WRITERS = ("lib/out.c", "lib/err.c", "lib/bench*.c")
CONTRACT_HEADERS = r"lib/(err|clock|rng)\.h"

RULES = (
    Rule("lib-below-device", "lib knows no device, but for the harness", ("lib/*.[ch]",), ("lib/bench*",),
         r'#\s*include\s+"(?!lib/)'),
    Rule("device-below-lib", "device takes err, clock and rng of lib, nothing else", ("device/*.[ch]",), (),
         rf'#\s*include\s+"(?!device/|{CONTRACT_HEADERS}")'),
    Rule("programs-apart", "a program folder depends on lib, device and itself", IN_PROGRAM_FOLDERS, (),
         check=own_folder_includes),
    Rule("no-conditionals", "what differs between machines is asked at run time", IN_PROGRAM_FOLDERS, (),
         r"^\s*#\s*(if|ifdef|elif|else)\b"),
    Rule("no-vendors", "capabilities, never vendors, outside device/",
         ("lib/*", "suite/*", *(f"{folder}/*" for folder in PROGRAM_FOLDERS)),
         ("suite/devices.py", "suite/stages.py", "suite/packages.txt", "lib/prov*"),
         r"(?i)(?<![a-z])(cuda|nvidia|nvrtc|cublas|nccl|hip|hiprtc|rocm|rocblas|rccl|amd)(?![a-z0-9])"),
    Rule("three-writers", "out.c writes data, err.c messages, bench*.c leaves", C_PRODUCT, WRITERS,
         r"(?<![\w.>])(v?f?printf|puts|fputs|fputc|putchar|perror|exit|quick_exit|abort)\s*\("),
    Rule("no-unsafe-calls", "unchecked parsing and formatting", C_ALL, (),
         r"(?<![\w.>])(atoi|atol|atoll|atof|strtok|sprintf|vsprintf|gets)\s*\("),
    Rule("no-shell", "a benchmark starts no commands", C_PRODUCT, (), r"(?<![\w.>])(system|popen)\s*\("),
    Rule("no-unseeded-random", "all randomness comes from --seed", C_PRODUCT, (), r"(?<![\w.>])s?rand(om|48)?\s*\("),
    Rule("no-wall-clock-timing", "a clock that can step times nothing", C_PRODUCT,
         ("lib/prov*.c", "lib/clock.c", "lib/bench_output.c"),
         r"(?<![\w.>])(gettimeofday|time|clock)\s*\(|CLOCK_REALTIME"),
    Rule("program-size", "a program is a declaration of about 150 lines", PROGRAMS,
         tuple(f"{folder}/*/*" for folder in PROGRAM_FOLDERS), check=lines_above(250)),
    Rule("file-size", "at most 500 lines a C file", C_ALL, (), check=lines_above(500)),
    Rule("function-size", "at most 60 lines a C function", C_ALL, (), check=c_functions_above(60)),
    Rule("python-file-size", "at most 400 lines a module", PYTHON, (), check=lines_above(400)),
    Rule("python-function-size", "less than 60 lines a Python function", PYTHON, (), check=python_functions_above(59)),
    Rule("driver-needs-nothing", "the driver works with the standard library alone", ("suite/*.py",), (),
         check=python_imports),
    Rule("spdx", "every source says its licence", SOURCES, (), check=spdx),
    Rule("file-names", "no file called common, utils, shared", SOURCES, ("tests/bats/*",), check=file_name),
    Rule("include-guard", "a header may be included twice", C_ALL, ("*.c", "*.cu", "*_body.h", "*.inc.h"), check=include_guard),
    Rule("line-length", "at most 130 columns", (*C_PRODUCT, *PYTHON, "tests/*.py", "*.sh", "gpusig"), (), r"^.{131,}$"),
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


def code_only(path: str, text: str) -> str:
    """C text with comments blanked, lines kept."""
    if not path.endswith((".c", ".h")):
        return text
    blank = lambda match: re.sub(r"[^\n]", " ", match[0]) if match[0].startswith("/") else match[0]  # noqa: E731
    return re.sub(r'"(?:\\.|[^"\\\n])*"|/\*.*?\*/|//[^\n]*', blank, text, flags=re.S)


def breaches(rule: Rule, root: Path, paths: list[str]) -> Iterator[str]:
    for path in paths:
        matches = any(fnmatchcase(path, glob) for glob in rule.files)
        if not matches or any(fnmatchcase(path, glob) for glob in rule.but) or not (root / path).is_file():
            continue
        text = (root / path).read_text(encoding="utf-8", errors="replace")
        for number, what in [*_by_check(rule, path, text), *_by_pattern(rule, path, text)]:
            yield f"{path}:{number}: {what}   [{rule.name}: {rule.why}]"


def _by_check(rule: Rule, path: str, text: str) -> Iterator[Breach]:
    if rule.check:
        yield from rule.check(path, text)


def _by_pattern(rule: Rule, path: str, text: str) -> Iterator[Breach]:
    if not rule.pattern:
        return
    # Widths and blanks count in comments too; everything else concerns code.
    looked_at = text if rule.name in ("line-length", "no-trailing-blanks") else code_only(path, text)
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
        parser.error(f"no rule {unknown[0]}; there are: {' '.join(by_name)}")
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
