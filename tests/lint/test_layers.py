# SPDX-License-Identifier: BSD-3-Clause
"""Each rule of layers.py catches what it is for, and allows what is right. layers.bats has the tree
itself."""

from __future__ import annotations

import ast
import re
import tempfile
import unittest
from pathlib import Path

import layers
import variables


def breaches(rule: str, name: str, text: str) -> list[str]:
    """Breaches of one rule, in a tree with this file alone."""
    with tempfile.TemporaryDirectory() as root:
        path = Path(root, name)
        path.parent.mkdir(parents=True)
        path.write_text(text + "\n", encoding="utf-8")
        return list(
            layers.breaches(next(each for each in layers.RULES if each.name == rule), Path(root), [name])
        )


class Rules(unittest.TestCase):
    def catches(self, rule: str, name: str, text: str) -> None:
        """The message names the file and a line."""
        found = breaches(rule, name, text)
        self.assertTrue(found, f"{rule}: {text}")
        self.assertRegex(found[0], rf"^{name}:[0-9]+: .*\[{rule}: ")

    def allows(self, rule: str, name: str, text: str) -> None:
        self.assertEqual(breaches(rule, name, text), [])

    def test_every_rule_catches_something(self) -> None:
        text = Path(__file__).read_text(encoding="utf-8")
        told = {"folder-size", "vendor-folder-size"}  # of tests/lint/layers.bats
        names = [rule.name for rule in layers.RULES if rule.name not in told]
        self.assertEqual([name for name in names if f'catches("{name}"' not in text], [])

    def test_the_folders_of_programs_are_those_of_the_driver(self) -> None:
        text = (layers.ROOT / "suite" / "run" / "programs.py").read_text(encoding="utf-8")
        self.assertEqual(
            ast.literal_eval(re.search(r"^FOLDERS = (.*)$", text, re.M)[1]), layers.PROGRAM_FOLDERS
        )

    def test_dependencies_that_point_up_or_sideways_are_caught(self) -> None:
        self.catches("layers", "lib/stats.c", '#include "device/dev.h"')
        self.catches("layers", "lib/stats.c", '#include "bench/axis.h"')
        self.catches("layers", "advise/advise.c", '#include "lib/json.h"')
        self.catches("layers", "device/dev.c", '#include "device/host/host.h"')
        self.catches("layers", "device/host/host.c", '#include "bench/bench.h"')
        self.catches("layers", "device/host/host.c", '#include "device/gpu/gpu.h"')
        self.catches("layers", "device/gpu/gpu.c", '#include "device/gpu/cuda/cuda_abi.h"')
        self.catches("layers", "device/gpu/cuda/cuda.c", '#include "device/gpu/hip/hip_abi.h"')
        self.catches("layers", "bench/bench.c", '#include "micro/launch/depth.h"')
        self.catches("layers", "bench/run/notes.c", '#include "bench/sampling/samples.h"')
        self.catches("layers", "bench/sampling/rounds.c", '#include "bench/quantities/quantities.h"')
        self.catches("layers", "bench/cases/cliffs.h", '#include "bench/output/output.h"')
        self.catches("layers", "micro/memory.c", '#include "bench/run/run.h"')
        self.catches("layers", "bench/bench.c", '#include "device/sim/model/model.h"')
        self.catches("layers", "micro/a.c", '#include "gemm/b.h"')
        self.catches("layers", "micro/a.c", '#include "device/sim/model/model.h"')
        self.catches("layers", "overlap/ficco/a.c", '#include "tests/x.h"')
        self.catches("layers", "overlap/ficco/a.c", '#include "advise/advise.h"')
        self.catches("layers", "device/gpu/kernels/a.inc", '#include "tests/x.h"')
        self.catches("layers", "topology/a.c", '#include "collectives/mpi.h"')
        self.catches("layers", "collectives/schedules/a.c", '#include "bench/bench.h"')
        self.allows("layers", "bench/run/run.h", '#include "device/dev.h"')
        self.allows(
            "layers",
            "device/host/host.c",
            '#include "lib/err.h"\n#include "device/host/host.h"\n#include <stdio.h>',
        )
        self.allows(
            "layers",
            "device/gpu/cuda/cuda.c",
            '#include "device/gpu/gpu.h"\n#include "device/gpu/cuda/cuda_abi.h"',
        )
        self.allows("layers", "overlap/collective/a.h", '#include "collectives/devices/vectors.h"')
        self.catches("layers", "overlap/collective/a.h", '#include "collectives/ranks/session.h"')
        self.catches("layers", "overlap/pair/a.h", '#include "collectives/devices/vectors.h"')
        self.allows("layers", "topology/torus.c", '#include "collectives/schedules/ring.h"')
        self.allows("layers", "micro/launch/a.c", '#include "micro/launch/b.h"\n#include "bench/bench.h"')
        self.catches("layers", "device/sim/time/a.c", '#include "device/sim/model/model.h"')
        self.catches("layers", "device/sim/model/a.c", '#include "device/sim/machine/op.h"')
        self.catches("layers", "device/sim/machine/a.h", '#include "device/sim/t3/tracker.h"')
        self.catches("layers", "device/sim/t3/a.c", '#include "device/sim/device/calls.h"')
        self.catches("layers", "device/sim/t3/a.c", '#include "device/host/host_block.h"')
        self.allows("layers", "device/sim/t3/a.c", '#include "device/sim/machine/op.h"')
        self.allows("layers", "device/sim/device/a.c", '#include "device/sim/t3/tracker.h"')
        self.catches("python-layers", "suite/run/a.py", "import numpy")
        self.catches("python-layers", "suite/run/a.py", "from suite.commands import run")
        self.catches("python-layers", "reports/records/a.py", "from reports.page import svg")
        self.catches("python-layers", "reports/judge/fleet/a.py", "from suite import saying")
        self.allows(
            "python-layers",
            "suite/run/a.py",
            "import json\nfrom suite import saying",
        )
        self.allows("python-layers", "reports/judge/fleet/a.py", "from reports.judge.compare import noise")

    def test_machine_differences_in_program_folders_are_caught(self) -> None:
        self.catches("no-conditionals", "micro/a.c", "#if HAVE_X")
        self.catches("no-conditionals", "micro/a.c", "#ifdef __linux__")
        self.catches("no-vendors", "lib/a.c", "int cuda_devices;")
        self.catches("no-vendors", "gemm/a.c", '/* text */ const char *x = "NVIDIA";')
        self.allows("no-conditionals", "overlap/ficco/a.h", "#ifndef A_H")
        self.allows("no-vendors", "lib/a.c", "int chips; double ship;")

    def test_code_that_asks_which_variant_it_is_is_caught(self) -> None:
        for text in (
            "\tif (variant == COPY)",
            "\tif (COPY != variant)",
            "\treturn v < KERNEL;",
            "\treturn v >= GRAPH_LAUNCH && on;",
            "\tfor (unsigned v = 0; v < 2; v++)",
            "\tm->bytes = arg == BOTH_WAYS ? 2 : 1;",
            "\tswitch (variant) {",
            "\tswitch ((enum way)arg) {",
            "\t.indexed.body = body,",
            "\twhole.indexed.check = check;",
            "\t{.name = label, .param = 4},",
            "\treturn v->param;",
            "static int copy_bytes(struct bench_case *c, long way)\n{\n\treturn way == UP;\n}",
            "static void model(const struct bench_case *c, long way, struct bench_model *m)\n{\n"
            "\tif (on)\n\t\tswitch (way) {\n\t\t}\n}",
        ):
            self.catches("no-variant-dispatch", "micro/a/b.c", text)
        for text in (
            "\tfor (unsigned v = 0; v < bench_variants(c); v++)",
            "\tfor (unsigned v = 0; v < VARIANTS; v++)",
            "\tif (variant < 0)",
            "\tif (variants[v].once == copy_pieces || variants[v].arg == SPLIT)",
            "\tif (OF_LINK >> v & 1 || 1u << v & ENGINES)",
            "\tif (v == s->fastest || v->first == LAST || v == NULL)",
            "\tbench_ratio(c, name, KERNEL, ENGINE, NULL); /* variant == KERNEL */",
            "static int copy_pieces(struct bench_case *c, long pieces)\n{\n\treturn pieces > MOST;\n}",
            "static int copy_bytes(struct bench_case *c, long unused)\n{\n\treturn f(UP);\n}\n"
            "static bool goes_up(enum way way)\n{\n\treturn way == UP;\n}",
        ):
            self.allows("no-variant-dispatch", "micro/a/b.c", text)
        self.allows("no-variant-dispatch", "bench/a.c", "\tif (variant == ROOFLINE_READ)")

    def test_writing_leaving_unsafe_calls_and_foreign_clocks_are_caught(self) -> None:
        self.catches("three-writers", "lib/stats.c", '\tfprintf(stderr, "x");')
        self.catches("three-writers", "micro/a.c", "\texit(1);")
        self.allows(
            "three-writers", "lib/stats.c", '\tsnprintf(text, sizeof(text), "x"); /* not printf("x") */'
        )
        self.allows("three-writers", "bench/out.c", '\tprintf("x");')
        self.catches("no-unsafe-calls", "lib/a.c", "\tint n = atoi(text);")
        self.catches("no-unsafe-calls", "device/a.c", '\tsprintf(text, "x");')
        self.allows("no-unsafe-calls", "lib/a.c", '\tsnprintf(text, 3, "x");')
        self.catches("no-shell", "micro/a.c", '\tFILE *f = popen("x", "r");')
        self.catches("no-unseeded-random", "micro/a.c", "\tint n = rand();")
        self.catches("no-wall-clock-timing", "micro/a.c", "\tclock_gettime(CLOCK_REALTIME, &t);")

    def test_variables_that_outlive_a_call_and_change_are_caught(self) -> None:
        for text in (
            "static struct x y;",
            "static int a = 0;",
            "static char *p[3];",
            "static const char *p;",
            "int a;",
            "struct x *a = &b;",
            "static int (*f)(void);",
            "static struct {\n\tint a;\n} b;",
            "static atomic_uint a;",
            "static const int a = 1, *b;",
            "static _Thread_local int a;",
            "void f(int a)\n{\n\tstatic int b;\n}",
            'void f(void)\n{\n\tif (a) {\n\t\tstatic const char *b[] = {"c", "d"};\n\t}\n}',
        ):
            self.catches("mutable-variables", "micro/a.c", text)
        for text in (
            "static const char *const p;",
            "static const struct x y = {.a = 1, .b = {2, 3}};",
            "extern int a;",
            "struct x;",
            "struct a {\n\tint b;\n\tchar *c;\n};",
            "enum { A, B = 2 };",
            "typedef int a;",
            "static int f(int a);",
            "static const char *f(void)\n{\n\tint a = 1;\n\treturn g(a);\n}",
            "int f(void (*g)(int a), int b);",
            "int (*f(int a))(int b)\n{\n\treturn g;\n}",
            "#define A static int a;",
            "static int (*const f)(void) = g;",
            "static const int *const a[2] = {b, c};",
            "/* static int a; */",
        ):
            self.allows("mutable-variables", "micro/a.c", text)
        names = [
            name
            for _, name in variables.mutable("static int a, *b[2] = {c, d}, e;\nstatic const int f;\nint g;")
        ]
        self.assertEqual(names, ["a", "b", "e", "g"])
        self.allows("mutable-variables", "bench/out.c", "static int failure;")
        self.catches("mutable-variables", "bench/out.c", "static int failure;\nstatic int other;")
        self.catches(
            "mutable-variables", "bench/out.c", "static const int failure;"
        )  # a row of MAY_CHANGE too many

    def test_executors_and_cases_of_a_program_s_own_are_caught(self) -> None:
        self.catches("one-executor", "overlap/pair/a.c", "\tstatus = gate_shut(gate, dev, stream);")
        self.catches("one-executor", "overlap/a.c", "\tstatus = dev_event_record(dev, stream, event);")
        self.catches(
            "one-executor", "collectives/devices/a.c", "\tstatus = dev_stream_wait(dev, stream, event);"
        )
        self.catches("one-executor", "overlap/a.c", "\ts->other = bench_stream(c, 0);")
        self.allows(
            "one-executor",
            "overlap/a.c",
            "\tstatus = dev_stream_sync(dev, stream);\n\tg = bench_graph(c, lanes);",
        )
        self.allows("one-executor", "micro/launch.c", "\tstatus = gate_shut(gate, dev, stream);")
        self.catches("no-forged-cases", "overlap/a.c", "\tstruct bench_case there = *c;")
        self.catches("no-forged-cases", "overlap/a.h", "\tstruct bench_case on;")
        self.allows(
            "no-forged-cases", "overlap/a.c", "static int setup(struct bench_case *c)\nstruct bench_case;"
        )

    def test_what_is_too_long_is_caught(self) -> None:
        self.catches("function-size", "lib/a.c", "int f(void)\n{\n" + "\tx = 1;\n" * 46 + "}")
        self.catches("program-size", "micro/a.c", "/* */\n" * 291)
        self.catches("file-size", "device/a.c", "/* */\n" * 701)
        self.catches("sim-header-size", "device/sim/time/a.h", "/* */\n" * 151)
        self.allows("sim-header-size", "device/sim/time/a.h", "/* */\n" * 149)
        self.allows("program-size", "collectives/schedules/a.c", "/* */\n" * 291)
        self.catches("python-function-size", "suite/a.py", "def f():\n" + "    pass\n" * 70)
        self.catches("python-file-size", "suite/a.py", "#\n" * 601)
        self.catches("c-line-length", "lib/a.c", f"/* {'x' * 95} */")
        self.allows("c-line-length", "lib/a.c", f"/* {'x' * 94} */")
        self.catches("c-line-length", "lib/a.c", f"\t/* {'x' * 87} */")
        self.catches("line-length", "suite/a.sh", "# " + "x" * 129)

    def test_bare_names_of_functions_and_words_that_are_not_the_field_s_are_caught(self) -> None:
        self.catches("function-names", "device/a.c", "static int kick(void)\n{\n}")
        self.catches(
            "function-names",
            "device/a.c",
            "static struct dev *\nfind(const struct a *x,\n     int (*f)(void))\n{\n}",
        )
        self.catches(
            "function-names", "device/a.c", "static __attribute__((noinline)) void run(int a) { work(a); }"
        )
        self.allows("function-names", "device/a.c", "static int start_ready_copies(void)\n{\n}")
        self.allows(
            "function-names",
            "micro/a.c",
            "static int setup(struct bench_case *c)\n{\n}\nint run(void) { return 0; }",
        )
        self.allows(
            "function-names", "micro/a.c", "static int kick(void);\nstatic int (*run)(void) = start_all;"
        )
        self.catches("include-order", "lib/a.c", '#include <stdio.h>\n#include "lib/a.h"')
        self.catches("include-order", "lib/a.c", '#include "lib/b.h"\n#include "lib/a.h"')
        self.catches("include-order", "lib/a.h", '#include "lib/b.h"\n#include <stdio.h>')
        self.allows(
            "include-order",
            "lib/b.c",
            '#include "lib/b.h"\n#include "lib/a.h"\n\n#include <errno.h>\n#include <stdio.h>\n\nint x;',
        )
        self.catches("words", "lib/a.c", "int crew_size;")
        self.catches("words", "lib/a.c", 'const char *text = "which mover?";')
        self.catches("words", "suite/a.py", "mover = 1")
        self.allows("words", "lib/a.c", "/* a crew of devices */ int comm_size;")

    def test_comments_that_begin_with_a_clause_are_caught(self) -> None:
        for name, text in (
            ("lib/a.c", "\tx = 1; /* Of both. */"),
            ("lib/a.h", "/* SPDX-License-Identifier: BSD-3-Clause\n *\n * What others ran. */"),
            ("device/a.cu", "// SPDX-License-Identifier: BSD-3-Clause\n// How fast it is."),
            ("tests/a.bats", "#!/usr/bin/env bats\n# SPDX\n# bats file_tags=x\n# Where it is."),
            ("tests/a.sh", "x=1\n\t# Whether it runs: where is it?"),
            ("suite/a.py", '# SPDX\n"""How it is read."""\n'),
            ("tests/a.py", 'def f():\n    """Whether it is."""\n'),
            ("tests/a.py", "def f():\n    # Of one.\n    # The second line.\n    pass\n"),
        ):
            self.catches("comment-openings", name, text)
        for name, text in (
            ("lib/a.c", '/* Median of x. Of none: NaN. */ const char *text = "/* What it is. */";'),
            ("micro/a.c", "/* SPDX\n *\n * Which copy is faster,\n * by size? Of two, both. */"),
            ("lib/a.h", "\tint x; /* of the host */"),
            ("tests/a.sh", "# Runs the tests.\n# What they need is set up."),
            ("tests/a.py", '"""Runs the tests."""\nTEXT = """\n# How a heading begins\n"""\n'),
            ("tests/a.py", "# Runs the tests.\n# What they need is set up.\n"),
        ):
            self.allows("comment-openings", name, text)
        found = breaches("comment-openings", "lib/a.h", "\n/* SPDX\n *\n * Of it.\n */")
        self.assertTrue(found[0].startswith("lib/a.h:4: "), found)
        python = 'def f():\n    """Whether it is."""\n    # Of one.\n    pass\n'
        self.assertEqual(
            list(layers.comment_openings("suite/a.py", python)), [(2, "Whether it is."), (3, "Of one.")]
        )

    def test_missing_licence_lines_and_guards_empty_names_and_stray_blanks_are_caught(self) -> None:
        self.catches("spdx", "lib/a.c", "int x;")
        self.catches("file-names", "lib/utils.c", "")
        self.catches("file-names", "suite/common.py", "")
        self.catches("include-guard", "lib/a.h", "int x;")
        self.catches("no-trailing-blanks", "lib/a.c", "int x; ")
        self.catches("no-root-names", "tests/a.bats", "run --out /nonexistent/file")
        self.allows("no-root-names", "tests/a.bats", 'run --out "$PWD/nonexistent/file"')
        for text in (
            "units = 304",
            "# data sheet\n\nunits = 304",
            "units = 304 #",
            "units = 304  # data sheet\ndevices = 8",
        ):
            self.catches("model-sources", "device/sim/model/machines/a.model", text)
        self.catches("model-sources", "device/sim/model/machines/a.links", "0-1 = 50e9")
        self.allows(
            "model-sources",
            "device/sim/model/machines/a.model",
            "# A.\n\nunits = 304  # data sheet\n# Assumed.\ndevices = 8",
        )
        self.allows("spdx", "lib/a.c", "/* SPDX-License-Identifier: BSD-3-Clause */")
        self.allows("file-names", "lib/unused.c", "")

    def test_the_glossary_has_60_words_at_most(self) -> None:
        section = (
            (layers.ROOT / "CONTRIBUTING.md")
            .read_text(encoding="utf-8")
            .partition("\n## Words\n")[2]
            .partition("\n## ")[0]
        )
        self.assertIn(section.count("\n| ") - 2, range(20, 61))
        self.assertGreater(len(layers.glossary()), 20)


if __name__ == "__main__":
    unittest.main()
