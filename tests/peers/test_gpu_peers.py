# SPDX-License-Identifier: BSD-3-Clause
# level: all
"""The table of the GPU's peers, with programs that print known numbers."""

import json
import sys
import unittest
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import gpu_peers  # pylint: disable=wrong-import-position


def says(name, text, code=0):
    return gpu_peers.Side(
        name, (sys.executable, "-c", f"import sys; print({text!r}); sys.exit({code})"), gpu_peers.json_lines
    )


def line(what, value):
    return json.dumps({"what": what, "value": value, "unit": ""})


def table(*sides, rounds=3):
    group = gpu_peers.Group(sides[:1], sides[1:])
    out = StringIO()
    with redirect_stdout(out):
        rows = gpu_peers.table(group, rounds)
    return rows, out.getvalue()


class Compare(unittest.TestCase):
    def test_a_rate_is_ours_over_the_best_peer(self):
        rows, text = table(
            says("a", line("copy up", 98)), says("b", line("copy up", 90)), says("c", line("copy up", 100))
        )
        self.assertEqual([(r["peer"], r["ratio"], r["rounds"]) for r in rows], [("c", 0.98, 3)])
        self.assertIn("| copy up | 98 | c | 100 | 0.980 | 0.980 .. 0.980 | level |", text)

    def test_a_time_is_the_other_way_round_and_the_shortest_is_the_best(self):
        rows, text = table(
            says("a", line("launch and wait", 5e-6)),
            says("b", line("launch and wait", 4e-6)),
            says("c", line("launch and wait", 8e-6)),
        )
        self.assertEqual(rows[0]["peer"], "b")
        self.assertAlmostEqual(rows[0]["ratio"], 0.8)
        self.assertIn("below 0.95", text)

    def test_what_one_side_lacks_is_a_row_without_a_ratio(self):
        rows, text = table(says("a", line("copy up", 5)), says("b", line("copy down", 6)))
        self.assertEqual(rows, [])
        self.assertIn("| copy up | 5 | none |", text)
        self.assertIn("| copy down | none | b | 6 |", text)

    def test_a_peer_that_fails_is_named_once(self):
        missing = gpu_peers.Side("gone", ("/dev/null/gone",), gpu_peers.json_lines)
        rows, text = table(says("a", line("copy up", 5)), says("b", line("copy up", 5), code=4), missing)
        self.assertEqual(rows[0]["ratio"], 1.0)
        self.assertEqual(text.count("b: exit 4"), 1)
        self.assertEqual(text.count("gone: "), 1)

    def test_marks(self):
        self.assertEqual(
            [gpu_peers.mark(r) for r in (0.94, 0.97, 0.98, 1.0, 1.03)],
            ["below 0.95", "below 0.98", "level", "level", "above 1.02"],
        )


class Reading(unittest.TestCase):
    def test_nvbandwidth(self):
        def test(name, value):
            return {"name": name, "status": "Passed", "bandwidth_matrix": [[value]]}

        text = "a line before\n" + json.dumps(
            {
                "nvbandwidth": {
                    "testcases": [
                        test("host_to_device_memcpy_ce", "55.5"),
                        test("device_local_copy", "1500"),
                        test("host_to_device_bidirectional_memcpy_ce", "40"),
                        test("device_to_host_bidirectional_memcpy_ce", "42"),
                        {"name": "device_to_host_memcpy_sm", "status": "Waived"},
                    ]
                }
            }
        )
        self.assertEqual(
            gpu_peers.nvbandwidth(text),
            {
                "copy up, engine": 55.5e9,
                "copy local, engine": 1500e9,
                "copy up and down at once, engine": 82e9,
            },
        )

    def test_a_rate_is_the_best_of_its_variants(self):
        found = (("bandwidth", "kernel", 1.0), ("time", "kernel_nt", 9.0), ("bandwidth", "kernel_nt", 2.0))
        record = {"derived": [dict(zip(("name", "variant", "value"), row)) for row in found]}
        self.assertEqual(gpu_peers.rate(record, "bandwidth", "kernel", "kernel_nt"), 2.0)


if __name__ == "__main__":
    unittest.main()
