# SPDX-License-Identifier: BSD-3-Clause
"""Faults put in on purpose, one at a time, and the test that must find each: what the tests are worth after
they were made shorter.

python3 tests/mutants.py [NAME...] copies the sources that git knows, builds them, sees every test pass, puts
in one fault after the other, and prints TAP. A fault is one replacement in one file, so that code which moves
breaks it with a message. `quick` faults are found by a test of ./gpusig test; the others by one of --all.
Minutes; a stage of --lab.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

HOME = Path(__file__).resolve().parent.parent
_LIMIT_S = 900
QUICK, ALL = "quick", "all"


class Mutant(NamedTuple):
    """`found_by`: "unit NAME", "fakes NAME" (on fake drivers), "address NAME", "thread NAME", "python
    MODULE", "make GOAL" or
    "golden"."""

    name: str
    file: str
    old: str
    new: str
    found_by: str

    @property
    def level(self) -> str:
        return ALL if self.found_by.split()[0] in ("address", "thread") else QUICK


MUTANTS = (
    Mutant(
        "a wrong partner in Swing",
        "collectives/schedules/algorithm_table.c",
        "(1 - (sigma % 2 ? power : -power)) / 3",
        "(1 - (sigma % 2 ? -power : power)) / 3",
        "unit schedule_once",
    ),
    Mutant(
        "advice from the wrong side of a point",
        "advise/advise.c",
        "c->share[i] = all * (1 - share);",
        "c->share[i] = all * share;",
        "unit advise",
    ),
    Mutant(
        "a table of advice that may be cut",
        "advise/advise_read.c",
        "\tif (whole)\n\t\treturn 0;",
        "\treturn 0;",
        "unit advise_read",
    ),
    Mutant(
        "a wait left out of a graph",
        "bench/graph/work_graph.c",
        "for (uint32_t i = 0; status == 0 && i < n->waits; i++)",
        "for (uint32_t i = 1; status == 0 && i < n->waits; i++)",
        "unit work_graph",
    ),
    Mutant(
        "a tile one row short",
        "device/host/host_gemm.c",
        ".count = left < DEV_GEMM_TILE ? left : DEV_GEMM_TILE}",
        ".count = left < DEV_GEMM_TILE ? left - 1 : DEV_GEMM_TILE}",
        "unit conformance_textbook",
    ),
    Mutant(
        "a tile of a GPU's kernel at the wrong column",
        "device/gpu/kernels/kernels_tiled.inc",
        "const u32 tiles_across = (n - 1) / TILE + 1;",
        "const u32 tiles_across = n / TILE + 1;",
        "fakes conformance_tiled",
    ),
    Mutant(
        "an order statistic off by one", "lib/stats.c", "*low_p = low - 1;", "*low_p = low;", "unit stats"
    ),
    Mutant(
        "a flag that is not set",
        "bench/sampling/surroundings.c",
        "else if (width > NOISY_ABOVE && !s->converged)",
        "else if (width > NOISY_ABOVE && s->converged)",
        "unit bench",
    ),
    Mutant("a leak", "bench/graph/work_graph.c", "\tfree(g->edges);\n", "", "address work_graph"),
    Mutant(
        "a race",
        "device/host/host_queue.c",
        "\t\thost_queue_progress(0);\n\t}\n\thost_unlock();\n}\n\nint host_op_abandon",
        "\t\thost_unlock();\n\t\thost_queue_progress(0);\n\t\thost_lock();\n\t}\n\thost_unlock();\n}\n\nint "
        "host_op_abandon",
        "thread host_queue",
    ),
    Mutant(
        "an engine that leaves its stream",
        "device/host/host_units.c",
        "while (c && !(c->client && c->client == e->client)) {",
        "while (c && !c->client) {",
        "fakes fakes_engines",
    ),
    Mutant(
        "streams that keep engines in one order alone",
        "micro/copy_engines/sharing.c",
        'return in_order == rotated ? "yes"',
        'return in_order || rotated ? "yes"',
        "unit engine_sharing",
    ),
    Mutant(
        "a page that does not escape",
        "reports/page/template.py",
        "autoescape=True",
        "autoescape=False",
        "python tests/reports/signature/test_report.py",
    ),
    Mutant(
        "a wrong constant of a driver's ABI",
        "device/gpu/cuda/cuda_abi.h",
        "CUDA_NOT_READY = 600",
        "CUDA_NOT_READY = 601",
        "make check-abi",
    ),
    Mutant(
        "a unit of a metric a thousand times too large",
        "reports/records/quantity.py",
        '(1e9, "G"), (1e6, "M")',
        '(1e9, "M"), (1e6, "G")',
        "python tests/reports/signature/test_first_screen.py",
    ),
    Mutant(
        "sides of a comparison in the wrong order",
        "reports/judge/compare/comparison.py",
        "then, now = before.runs, after.runs",
        "then, now = after.runs, before.runs",
        "python tests/reports/judge/compare/test_compare_verdict.py",
    ),
    Mutant(
        "one step of Benjamini and Hochberg",
        "reports/judge/statistics.py",
        "(len(ps) / rank)",
        "(len(ps) / (rank + 1))",
        "python tests/reports/judge/test_compare_statistics.py",
    ),
    Mutant(
        "a share of a link that is not fair",
        "device/sim/time/share.c",
        "d->rate_of_share = flows[i]->weight / d->volume;",
        "d->rate_of_share = flows[i]->weight;",
        "unit sim_share",
    ),
    Mutant(
        "a partial record that stays in the file",
        "lib/record.c",
        "ftruncate(f->fd, before) != 0",
        "ftruncate(f->fd, written) != 0",
        "unit record",
    ),
    Mutant(
        "a case that --resume measures again",
        "suite/run/records.py",
        "[key for key, case in self.cases.items() if case.status in DONE]",
        "[key for key, case in self.cases.items() if case.status not in DONE]",
        "python tests/suite/test_records.py",
    ),
    Mutant(
        "an invalid result that ends with 0",
        "bench/bench.c",
        "ran && !r->cases->count.valid && want_valid ? BENCH_INVALID",
        "ran && !r->cases->count.valid && want_valid ? 0",
        "unit bench",
    ),
    Mutant(
        "the sides of CIL exchanged",
        "micro/contention/concurrent.h",
        '"CIL", BENCH_RATIO, (with), (alone),',
        '"CIL", BENCH_RATIO, (alone), (with),',
        "golden",
    ),
    Mutant(
        "priorities upside down",
        "device/gpu/gpu_queue.c",
        "return d->traits.priority_lowest - priority;",
        "return d->traits.priority_lowest + priority;",
        "fakes conformance_units",
    ),
    Mutant(
        "UTF-8 that is no UTF-8 in a record",
        "lib/json.c",
        "if ((s[i] & 0xc0) != 0x80)",
        "if ((s[i] & 0xc0) == 0xc0)",
        "unit json",
    ),
)


class Copy:
    """A copy of the sources, in which faults are put in and tests are run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=HOME, capture_output=True, check=True).stdout
        for name in filter(None, listed.decode().split("\0")):
            if (HOME / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(HOME / name, folder / name)
        self.folders: dict[str, Path] = {}

    def run(self, *words: str, **environment: str) -> bool:
        with open(self.folder / "last.log", "wb") as log:
            done = subprocess.run(
                words,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                timeout=_LIMIT_S,
                env={**os.environ, **environment},
                check=False,
            )
        return done.returncode == 0

    def make(self, *goals: str) -> bool:
        return self.run("make", "-j2", *goals)

    def built(self, *variant: str) -> Path:
        """Folder in which make builds a variant."""
        if " ".join(variant) not in self.folders:
            said = subprocess.run(
                ["make", "--no-print-directory", *variant, "where"],
                cwd=self.folder,
                capture_output=True,
                text=True,
                check=True,
            )
            self.folders[" ".join(variant)] = self.folder / said.stdout.strip()
        return self.folders[" ".join(variant)]

    def passes(self, found_by: str) -> bool | None:
        """True if a test passes; None if it cannot be built."""
        kind, _, rest = found_by.partition(" ")
        if kind in ("unit", "fakes", "address", "thread"):
            variant = {"address": ["SAN=address,undefined"], "thread": ["SAN=thread"]}.get(kind, [])
            if not self.make(*variant, f"UNITS={rest}", "units", *(["fakes"] if kind == "fakes" else [])):
                return None
            build = self.built(*variant)
            fakes = {"LD_LIBRARY_PATH": str(build / "fakes")} if kind == "fakes" else {}
            devices = ["cuda", "hip:0,1"] if kind == "fakes" else []
            layout = ["setarch", "-R"] if kind == "thread" else []
            found = self.run(
                *layout,
                str(build / "tests" / "unit" / rest),
                *devices,
                LSAN_OPTIONS="suppressions=tests/lint/leaks.txt",
                TSAN_OPTIONS="halt_on_error=1:suppressions=tests/lint/races.txt",
                **fakes,
            )
            return found
        if kind == "make":
            return self.make(*rest.split())
        if kind == "golden" and not self.make("all"):
            return None
        module = Path("tests/golden/test_golden.py" if kind == "golden" else rest)
        return self.run(
            sys.executable,
            "-m",
            "unittest",
            ".".join(module.with_suffix("").parts),
            PYTHONPATH=f"{self.folder}:{self.folder.joinpath(*module.parts[:2])}",
        )

    def last_words(self) -> str:
        return "".join(
            f"\n# {line}"
            for line in (self.folder / "last.log").read_text(errors="replace").splitlines()[-12:]
        )


def try_one(copy: Copy, mutant: Mutant) -> str:
    """Empty where the test finds the fault, else what went wrong."""
    path = copy.folder / mutant.file
    text = path.read_text(encoding="utf-8")
    if text.count(mutant.old) != 1:
        return f"{mutant.file} has the text {text.count(mutant.old)} times"
    path.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
    try:
        found = copy.passes(mutant.found_by)
    finally:
        path.write_text(text, encoding="utf-8")
    return (
        ""
        if found is False
        else "it does not build" + copy.last_words()
        if found is None
        else "nothing found it"
    )


def main(names: list[str]) -> int:
    chosen = [
        mutant for mutant in MUTANTS if not names or any(re.search(name, mutant.name) for name in names)
    ]
    if not chosen:
        print(
            f"no fault is called '{' '.join(names)}'; faults:",
            *(mutant.name for mutant in MUTANTS),
            sep="\n  ",
            file=sys.stderr,
        )
        return 2
    bad = 0
    print(f"1..{len(chosen)}", flush=True)
    with tempfile.TemporaryDirectory(prefix="gpusig-mutants.") as folder:
        copy = Copy(Path(folder))
        sound = {
            found_by: copy.passes(found_by) or copy.last_words()
            for found_by in dict.fromkeys(mutant.found_by for mutant in chosen)
        }
        for number, mutant in enumerate(chosen, 1):
            before = sound[mutant.found_by]
            wrong = try_one(copy, mutant) if before is True else f"without it, too, this fails:{before}"
            bad += bool(wrong)
            print(
                f"{'not ' if wrong else ''}ok {number} {mutant.name}: {mutant.found_by} ({mutant.level})",
                flush=True,
            )
            if wrong:
                print(f"# {wrong}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
