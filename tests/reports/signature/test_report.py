# SPDX-License-Identifier: BSD-3-Clause
"""The page: whole, and inert whatever the records hold."""

from __future__ import annotations

import functools
import html
import json
import os
import re
import stat
import subprocess
import sys
import unittest
from html.parser import HTMLParser

import synthetic
import workplace
from reports.records import quantity
from reports.signature import headline, report
from reports.signature.sections import SPECS, method_of
from synthetic import everything, launch, memory
from tests import level

sys.path.append(str(workplace.ROOT / "tests" / "lint"))
import links

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{ 7*7 }}{% raw %}",
    "</style><script>",
    "]]>&lt;",
    "javascript:alert(1)",
    "\x1b[2J\x1b]0;title\x07",
    "a\x00\ud800\u202eb",
    "';--",
    "http://evil.example/x.js",
    "\\1 (?P<x>",
]


BESIDE = [
    ("href", name)
    for name in ("metrics.csv", "timings.csv", "records.jsonl", "signature.json", "machine.model")
]


class Tags(HTMLParser):
    """Every tag with its attributes, and the tags left open."""

    VOID = ("meta", "br", "img", "link", "hr", "input")

    def __init__(self, page: str) -> None:
        super().__init__()
        self.seen, self.open = [], []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            raise AssertionError("unbalanced </%s>" % tag)


@functools.lru_cache(maxsize=2)
def tags(page: str) -> Tags:
    """A test asks of the same page more than once."""
    return Tags(page)


def poison(text: str) -> list:
    """A copy of every program's records with the hostile text in every place that takes text."""
    writers = [make() for make in synthetic.ALL]
    for w in writers:
        for line in w.lines:
            if line["kind"] == "run":
                line.update(question=text, formula=text, timed=text, limits=text, argv=[text])
                state = {
                    text: synthetic.telemetry(text, text),
                    "ecc": synthetic.telemetry(None, text, reason=text),
                }
                line["device"][0].update(name=text, shares=text, driver=text, arch=text, state=state)
                line["provenance"].update(hostname=text, cpu=text, kernel=text, version=text, odd=text)
                line["provenance"]["environment"] = {"OMP_NUM_THREADS": text}
            elif line["kind"] == "case":
                line["case"] = dict(line["case"], **{"extra": text})
                line["key"] += " extra=" + text
                line["mechanism"] = [{"name": text, "observed": True, "detail": text}]
                line["facts"] = dict(line["facts"], **{text: text})
                line["check"] = {"status": "ok", "detail": text}
                for entry in line["variants"] + line["derived"]:
                    entry.update(formula=text, bound_name=text, reason=text)
                    if entry["name"] in ("plain", "regular", "kernel_2"):
                        entry["name"] = text
                    if entry.get("variant") in ("plain", "regular", "kernel_2"):
                        entry["variant"] = text
            else:
                line["reason"] = text
    flagged = writers[-1].lines[1]
    flagged["validity"] = {"valid": False, "flags": [{"flag": text, "variant": None, "reason": text}]}
    writers[-2].lines[1].update(status="skipped", reason=text, variants=[], derived=[])
    return writers


@unittest.skipUnless(workplace.HAVE_JINJA2, "jinja2 is not installed")
class Page(workplace.Scratch):
    def assert_inert(self, page: str) -> None:
        for tag, attributes in tags(page).seen:
            self.assertNotIn(tag, ("script", "img", "link", "iframe", "object", "embed", "base", "form"))
            for name, text in attributes.items():
                self.assertFalse(name.startswith("on"), (tag, name))
                self.assertNotEqual(name, "style")
                if name in ("src", "href", "xlink:href", "action"):
                    self.assertTrue(text.startswith("#") or (name, text) in BESIDE, (tag, name, text))
        self.assertIsNone(re.search(r"""(src|href)\s*=\s*["']?\s*(https?:)?//""", page))
        self.assertNotIn("url(", page)
        self.assertNotIn("@import", page)

    def test_whole_and_balanced(self) -> None:
        code, out, err = self.example()
        self.assertEqual((code, err), (0, ""))
        page = self.page()
        self.assert_inert(page)
        self.assertEqual(tags(page).open, [])
        self.assertIn("Content-Security-Policy", page)
        for program in ("micro/memory", "gemm/split", "overlap/novel"):
            self.assertIn(program, page)

    def test_a_section_names_the_page_of_its_method_which_is_there(self) -> None:
        self.run_build(everything())
        page = self.page()
        self.assertIn("docs/method/micro.md#micromemory", page)
        self.assertIn("docs/method/README.md", page)  # of overlap/novel, which has no section of its own
        for program in SPECS:
            document, _, heading = method_of(program).partition("#")
            self.assertIn(heading, links.anchors(workplace.ROOT / document), program)

    def test_every_number_has_a_link_to_itself(self) -> None:
        self.example()
        page = self.page()
        for name in ("micro-memory-triad-bandwidth", "gemm-efficiency-gemm-f32-flop-rate"):
            self.assertEqual(page.count(' id="%s"' % name), 1)
        ids, links = re.findall(r' id="([^"]*)"', page), re.findall(r'class="self" href="#([^"]*)"', page)
        self.assertEqual((len(ids), set(links) - set(ids)), (len(set(ids)), set()))
        self.assertGreater(len(links), 200)

    def test_rows_that_hold_the_same_are_one(self) -> None:
        rows = [["pair %d" % i, "64 GB/s"] for i in range(9)] + [["slow", "6 GB/s"]]
        told = [["pair 0 and 8 more, all the same", "64 GB/s"], ["slow", "6 GB/s"]]
        self.assertEqual(report._without_repeats(report.Table(["a", "b"], rows)).rows, told)
        few = report.Table(["a", "b"], rows[6:])
        self.assertIs(report._without_repeats(few), few)
        devices = {"sim:%d" % i: {"backend": "sim", "index": i % 2} for i in range(2)}
        origin = {"fields": {}, "environment": {}, "changed_between_runs": {}}
        (table,) = report._provenance({"provenance": origin, "devices": devices, "runs": []})
        self.assertEqual(table.rows[0], ["all 2", "backend", "sim"])
        self.assertEqual([row[0] for row in table.rows[1:]], ["sim:0", "sim:1"])

    def test_the_headline_numbers_are_copied_as_markdown(self) -> None:
        self.example()
        copied = html.unescape(re.findall(r"as Markdown\">(.*?)</pre>", self.page(), re.S)[0])
        rows = [line.split(" | ") for line in copied.splitlines() if line.startswith("| micro/memory/")]
        self.assertIn(["| micro/memory/memory_triad_bandwidth", "20 GB/s"], [row[:2] for row in rows])
        self.assertEqual({len(row) for row in rows}, {6})
        self.assertIn("How far can this run be trusted?", copied)

    def test_the_command_that_repeats_the_run_is_on_the_first_screen(self) -> None:
        plan = {"device": "sim:a b", "budget_s": 60.0, "seed": 7, "only": ["micro/*"], "full": True}
        said = "./gpusig run --device &#39;sim:a b&#39; --only &#39;micro/*&#39; --budget 60s --seed 7 --full"
        for more, shown in (({}, True), ({"setting": "numactl"}, False), ({"budget_s": "x"}, False)):
            (self.folder / "plan.json").write_text(json.dumps(dict(plan, **more)), encoding="utf-8")
            self.run_build(synthetic.memory().text())
            self.assertEqual(said in self.first_screen(self.page()), shown, more)

    def test_schedules_have_bars_with_serial_and_ideal(self) -> None:
        self.run_build(synthetic.ficco().text())
        page = self.page()
        self.assert_inert(page)
        bars = re.findall(r'<svg[^>]*aria-label="ag-gemm g[56][^"]*".*?</svg>', page, re.S)
        self.assertEqual(len(bars), 2)
        for drawn in bars:
            self.assertEqual(drawn.count('class="bar"'), 2)
            self.assertEqual((drawn.count('class="bound"'), drawn.count('class="reference"')), (1, 1))
            self.assertIn(">ideal</text>", drawn)
        self.assertIn("hetero-fused-1d: 1.50× serial", bars[0])
        self.assertIn("not clamped", page)

    def test_the_vendors_serial_is_a_row_and_a_column(self) -> None:
        self.run_build(synthetic.ficco(library=2.4e-3).text())
        page = self.plain_page()
        self.assertIn(">S over the library<", page)
        self.assertIn(">serial-library<", page)
        self.assertIn("S is relative to serial with copies; S over the library to serial-library", page)
        self.run_build(synthetic.ficco().text())
        self.assertNotIn("S over the library", self.page())

    def test_allreduce_without_a_library_shows_times_and_who_leads(self) -> None:
        self.run_build(synthetic.device_allreduce().text())
        page = self.plain_page()
        self.assertIn("The fastest is rd-l up to about 12 KiB and swing-b above.", page)
        self.assertIn("Times; no library was measured for comparison.", page)
        self.assertIn("the longest of the devices&#39; own durations", page)
        self.assertNotIn("of the library,", page)

    def test_an_all_gather_among_devices_is_compared_with_the_library(self) -> None:
        self.run_build(synthetic.device_allgather().text())
        page = self.plain_page()
        self.assertIn("All-gather among devices: fastest algorithm by size", page)
        self.assertIn("one all-gather alone, the longest of the devices&#39; own durations", page)
        self.assertIn("times as long as the library&#39;s own", page)
        self.assertIn("Bus bandwidth = (p-1)/p bytes / time", page)

    def test_a_shaped_loop_shows_its_curves_and_its_best_setting(self) -> None:
        self.run_build(synthetic.shaping().text())
        page = self.plain_page()
        for words in (
            "equal priority",
            ">urgent<",
            ">ideal<",
            "Communication: stand-in",
            "shaped and priority with 16 KiB claimed",
        ):
            self.assertIn(words, page)

    def test_a_pipeline_is_drawn_over_the_blocks_of_its_gemm(self) -> None:
        self.run_build(synthetic.shaping_grids().text())
        page = self.plain_page()
        for words in (
            "blocks of the GEMM",
            "Where equal priority takes as long as serial",
            "64x64x32 tiles",
            "Communication: allreduce on all devices",
        ):
            self.assertIn(words, page)
        section = next(s for s in page.split("<section")[1:] if "blocks of the GEMM" in s and "<svg" in s)
        self.assertIn(">1.25<", section)
        self.assertIn(">1.50<", section)

    def test_pairs_are_a_map_of_the_better_order_warm_where_it_is_slower_than_taking_turns(self) -> None:
        w = synthetic.pair()
        for entry in w.lines[1]["derived"]:
            if entry["name"] == "fraction_of_ideal":
                entry.update(
                    value=None, valid=False, reason="S_ideal 1.01 is within noise of 1; the limit is 1.04"
                )
        self.run_build(w.text())
        page = self.page()
        section = page[page.index("Overlap of a GEMM with a transfer") :]
        self.assert_inert(page)
        cells = re.findall(
            r'<rect class="(cell [a-z]+)"[^>]*><title>([^<]*)</title></rect><text[^>]*>([^<]*)</text>',
            section,
        )
        self.assertEqual(
            [(css, text) for css, _, text in cells],
            [("cell empty", "–"), ("cell hot", "-0.0698"), ("cell cold", "0.818"), ("cell hot", "-0.0698")],
        )
        self.assertIn("S_ideal 1.01 is within noise of 1", cells[0][1])
        self.assertIn("GEMM first: 0.739 (", cells[2][1])
        self.assertIn("transfer first: 0.818 (", cells[2][1])
        self.assertNotIn("tie", cells[2][1])
        self.assertIn("the orders tie", cells[3][1])

    def test_directions_have_the_names_of_the_field_beside_them(self) -> None:
        for records in (synthetic.copies(), synthetic.trigger(), synthetic.pair()):
            self.run_build(records.text())
            page = self.page()
            self.assertRegex(page, r"up \(H2D\)|down \(D2H\)")
            self.assertNotRegex(page, r"<td[^>]*>(up|down|local|peer)<")

    def test_the_policy_admits_the_style_and_nothing_else(self) -> None:
        import base64
        import hashlib

        self.run_build(launch().text())
        page = self.page()
        style = re.search(r"<style>(.*?)</style>", page, re.S).group(1)
        digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
        policy = [
            a["content"] for t, a in tags(page).seen if a.get("http-equiv") == "Content-Security-Policy"
        ][0]
        self.assertEqual(
            policy, "default-src 'none'; style-src 'sha256-%s'; base-uri 'none'; form-action 'none'" % digest
        )

    def test_hostile_text_stays_text(self) -> None:
        for text in level.seeds(("".join(HOSTILE),), ("".join(HOSTILE), *HOSTILE[::4]), HOSTILE):
            with self.subTest(text=text):
                writers = poison(text)
                lost = [synthetic.unstarted(program, "skipped", text) for program in ("collectives/a", text)]
                code, out, err = self.run_build("".join([w.text() for w in writers] + lost))
                self.assertEqual(code, 0)
                self.assertFalse(any(c in out + err for c in "\x00\x1b\u202e\ud800"))
                page = self.page()
                self.assert_inert(page)
                self.assertEqual(tags(page).open, [])
                self.assertNotIn("49{", page)

    def test_extreme_numbers_and_long_names_keep_the_page_and_the_terminal_whole(self) -> None:
        for number in (1e30, -1e30, 1e-30, 0.0, 2.0**63):
            with self.subTest(number=number):
                writers = [make() for make in synthetic.ALL]
                for w in writers:
                    w.lines[0]["device"][0].update(
                        name="x" * 5000,
                        units=2**53,
                        l1_bytes="18446744073709551615",
                        state={"z" * 5000: synthetic.telemetry(number, "w" * 50)},
                    )
                    w.lines[0]["provenance"].update(cpu="y" * 5000, memory_bytes="9" * 20)
                    for line in w.lines[1:-1]:
                        for entry in line["derived"]:
                            entry.update(value=number, ci_low=-1e30, ci_high=1e30, bound=number)
                        for entry in line["variants"]:
                            entry.update(median_s=number, samples_s=[number, 0.0, 1e30])
                _, out, _ = self.run_build("".join(w.text() for w in writers))
                page = self.page()
                self.assert_inert(page)
                self.assertEqual(tags(page).open, [])
                self.assertLessEqual(max(map(len, out.splitlines())), 80)
                self.assertIsNone(
                    re.search(r"\b(nan|inf)\b", re.sub(r"<style>.*?</style>", "", page, flags=re.S))
                )

    def test_same_records_same_page(self) -> None:
        self.run_build(everything())
        first = (self.page(), (self.folder / "signature.json").read_bytes())
        self.example()
        self.assertEqual(first, (self.page(), (self.folder / "signature.json").read_bytes()))

    def test_no_leftovers_of_atomic_writes(self) -> None:
        self.example()
        self.assertEqual(
            sorted(p.name for p in self.folder.iterdir()),
            ["machine.model", "metrics.csv", "records.jsonl", "report.html", "signature.json", "timings.csv"],
        )

    def test_simulated_is_said_on_page_and_terminal(self) -> None:
        _, out, _ = self.run_build(everything(spec="sim", simulated=True))
        self.assertIn("Simulated: not a measurement.", out)
        self.assertIn("Simulated: not a measurement.", self.page())
        self.assertNotIn("no result was verified", out)
        self.example()
        self.assertNotIn("Simulated: not", self.page())

    def test_values_of_a_model_without_data_count_and_are_called_unverified(self) -> None:
        w = launch(spec="sim", simulated=True, device={"capabilities": ["gemm", "virtual_time", "time_only"]})
        why = "the device simulates time without data"
        w.lines[1]["check"].update(status="unverified", detail=why, checked=0, untimed=0, by_fingerprint=0)
        code, out, _ = self.run_build(w.text())
        self.assertEqual(code, 0)
        signature = json.loads((self.folder / "signature.json").read_text())
        self.assertTrue(signature["unverified"] and signature["metrics"])
        for said in (out, self.page()):
            said = " ".join(said.split())
            self.assertIn("The model has no data, so no result was verified.", said)
        self.assertNotIn("invalid", out)
        self.assertIn("unverified: " + why, self.page())

    def test_contention_is_a_warning(self) -> None:
        w = launch()
        w.lines[1]["validity"] = {
            "valid": False,
            "flags": [{"flag": "contended", "variant": None, "reason": "others ran"}],
        }
        _, out, _ = self.run_build(w.text() + memory().text())
        self.assertIn("Contended.", self.page())
        self.assertIn("Contended.", out)

    def test_a_gpu_says_what_it_is_and_how_it_is_on_the_first_screen(self) -> None:
        _, out, _ = self.run_build(synthetic.gpu())
        first = re.sub(r"<[^>]*>", "", self.first_screen(self.plain_page()))
        for text in (
            "NVIDIA H200",
            "132 units of 32 slots, 3 copy engines; sm_90; driver 580.65.06 (CUDA 13.0)",
            "on A (R) CPU (2 cores, 16 GiB memory)",
            "SM clock 1.98 GHz of 1.98 GHz",
            "power 121 W of 700 W",
            "temperature 34 °C",
            "throttle none",
            "ECC unknown",
            "MIG off",
            "PCIe generation 5 of 5",
            "PCIe width 16",
            "NUMA node 1",
            "Throttled. The device held its clock back while 6 values of micro/copy_path were taken",
        ):
            with self.subTest(text=text):
                self.assertIn(text, first)
        self.assertIn('title="the driver does not say: no permission"', self.page())
        self.assertIn("power 121 W of 700 W", out.replace("\n", " "))

    def test_a_device_that_says_nothing_takes_no_place(self) -> None:
        self.example()
        page = self.page()
        self.assertNotIn('class="state"', page)
        self.assertNotIn("; driver", page)

    def test_what_was_skipped_is_on_the_first_screen(self) -> None:
        w = memory()
        w.lines[1].update(status="skipped", reason="no such cache", variants=[], derived=[])
        self.run_build(w.text())
        self.assertIn("no such cache", self.first_screen(self.page()))


@unittest.skipUnless(workplace.HAVE_JINJA2, "jinja2 is not installed")
class Command(workplace.Scratch):
    def test_exit_codes(self) -> None:
        failed = launch()
        failed.lines[1].update(status="failed", reason="wrong", variants=[], derived=[])
        failed.lines[1]["check"] = {"status": "failed", "detail": "wrong"}
        mixed = launch().text() + memory(spec="sim", run="s", simulated=True).text()
        for name, text, expected in (
            ("good", launch().text(), 0),
            ("failed", failed.text() + memory().text(), 1),
            ("mixed", mixed, 2),
            ("empty", "", 3),
            ("junk", "junk\n", 3),
            ("run only", "".join(launch().text().splitlines(True)[:1]), 3),
        ):
            with self.subTest(name):
                self.assertEqual(self.run_build(text)[0], expected)

    def test_mixture_writes_nothing(self) -> None:
        self.run_build(launch().text() + memory(spec="sim", run="s", simulated=True).text())
        self.assertEqual([p.name for p in self.folder.iterdir()], ["records.jsonl"])

    def test_usage(self) -> None:
        for arguments in (("report",), ("report", "--paint", "x"), ("build", str(self.folder / "nowhere"))):
            self.assertEqual(self.run_command(*arguments)[0], 2)

    def test_unusable_lines_are_reported(self) -> None:
        _, _, err = self.run_build(launch().text() + "junk\n")
        self.assertIn("not JSON (1)", err)
        self.assertIn("1 line could not be used", self.page())

    def test_a_headline_number_is_one_line_with_what_it_holds_for(self) -> None:
        entry = {
            "value": 1.0,
            "unit": "",
            "ci_low": 0.9,
            "ci_high": 1.1,
            "share": 0.5,
            "condition": "f32, 1024³",
        }
        for condition, shown in (
            ("f32, 1024³", "f32, 1024³"),
            ("host to device, 64 MiB", "H2D, 64 MiB"),
            ("f32, 65536×4096×4096, device to host, engine, warm operands", "f32, 65536×4096×4096, D2H, …"),
            ("x" * 200, "x" * 30 + "…"),
        ):
            (line,) = headline._rows(
                [("overlap/shaping/shaping_time_ratio", dict(entry, condition=condition))], 66, False
            )
            self.assertEqual(line, "  shaping time ratio 1 ±10 % 50 %  " + shown)

    def test_labels_say_what_the_field_calls_it(self) -> None:
        for name, label in (
            ("up_engine_latency_4k", "up (H2D) engine latency, 4 KiB"),
            ("down_kernel_bandwidth", "down (D2H) kernel bandwidth"),
            ("peer_both_ways_engine_bandwidth", "peer (P2P) both ways engine bandwidth"),
            ("both_ways_engine_bandwidth", "both ways engine bandwidth"),
            ("local_rank", "local rank"),
            ("load_latency_4k", "dependent-load latency, 4 KiB"),
            ("gemm_dil_m8", "GEMM DIL m8"),
        ):
            self.assertEqual(quantity.spell(name), label)

    def test_numbers_stay_in_their_column_below_any_label(self) -> None:
        entry = {
            "value": 22.3e9,
            "unit": "byte/s",
            "ci_low": 19e9,
            "ci_high": 25e9,
            "share": None,
            "condition": "64 MiB",
        }
        names = ("local_bandwidth", "local_both_ways_engine_bandwidth", "very_" * 40 + "long")
        lines = headline._rows([("micro/copy_path/" + name, entry) for name in names], 80, False)
        self.assertEqual({line.index("22.3 GB/s") for line in lines}, {53})
        self.assertIn("local (D2D) both ways engine bandwidth ", lines[1])
        self.assertRegex(lines[2], "^  very very .*…  *22.3")
        self.assertEqual({len(line) for line in lines}, {76})

    def test_headline_fits_a_terminal(self) -> None:
        _, out, _ = self.example()
        self.assertLessEqual(len(out.splitlines()), 64)
        self.assertTrue(all(len(line) <= 80 for line in out.splitlines()))

    def test_what_is_written_has_the_rights_that_the_user_set_and_goes_through_no_link(self) -> None:
        names = ("signature.json", "machine.model", "metrics.csv", "timings.csv") + (
            "report.html",
        ) * workplace.HAVE_JINJA2
        elsewhere = self.folder / "elsewhere"
        elsewhere.write_text("mine", encoding="utf-8")
        for name in names:
            (self.folder / name).symlink_to(elsewhere)
        for mask, rights in ((0o077, 0o600), (0o002, 0o664)):
            self.addCleanup(os.umask, os.umask(mask))
            self.run_build(launch().text())
            for name in names:
                self.assertEqual(stat.S_IMODE((self.folder / name).lstat().st_mode), rights, name)
        self.assertEqual(elsewhere.read_text(encoding="utf-8"), "mine")
        self.assertEqual(
            {path.name for path in self.folder.iterdir()}, {*names, "records.jsonl", "elsewhere"}
        )

    def test_as_the_front_door_calls_it(self) -> None:
        synthetic.store(self.folder, launch().text())
        done = subprocess.run(
            [sys.executable, "-m", "suite", "report", str(self.folder)],
            cwd=str(workplace.ROOT),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.assertEqual((done.returncode, done.stderr), (0, b""))

    def test_without_jinja2_the_signature_is_still_written(self) -> None:
        synthetic.store(self.folder, launch().text())
        code = "import pathlib, sys; sys.modules['jinja2'] = None\n"
        code += "from suite.commands.report import build_folder\n"
        code += "sys.exit(build_folder(pathlib.Path(%r), False))"
        done = subprocess.run(
            [sys.executable, "-c", code % str(self.folder)],
            cwd=str(workplace.ROOT),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.assertEqual(done.returncode, 77)
        self.assertEqual(len(done.stderr.splitlines()), 1)
        self.assertIn(b"jinja2", done.stderr)
        self.assertTrue((self.folder / "signature.json").exists())


if __name__ == "__main__":
    unittest.main()
