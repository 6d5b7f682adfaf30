# SPDX-License-Identifier: BSD-3-Clause
# level: all
"""The score of predictors, from made-up times whose answers are known."""

import os
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

import advice_rivals as rivals
import advice_scenarios as scenarios
import advice_score as contest
import drawn_machine
from advice_scenarios import Key, Scenario, Shape, Time, Work

FICCO = Path(os.environ.get("GPUSIG_BIN") or HERE.parents[1] / "bin") / "overlap" / "ficco"


def exact(**seconds):
    return {name.replace("_", "-"): Time(s, s, s) for name, s in seconds.items()}


def scenario(times, draw=0, machine="a", shape=Shape(1024, 512, 256), **picks):
    own = Scenario(machine, 4, Key("ag-gemm", "f32", "engine", shape), draw, False, times)
    own.picks = picks
    return own


class OneScenario(unittest.TestCase):
    def test_loss_hit_and_good(self):
        s = scenario(exact(serial=1.0, shard=1.015, uniform_fused_1d=1.1))
        self.assertEqual(s.best, "serial")
        self.assertAlmostEqual(s.loss("uniform-fused-1d"), 0.1)
        self.assertEqual([s.is_hit(name) for name in s.times], [True, False, False])
        self.assertEqual([s.is_good(name) for name in s.times], [True, True, False])
        self.assertTrue(s.decided)
        self.assertFalse(scenario(exact(serial=1.0, shard=1.019)).decided)

    def test_what_the_intervals_hide_is_a_hit(self):
        times = {"serial": Time(1.0, 0.95, 1.08), "shard": Time(1.1, 1.07, 1.2)}
        self.assertTrue(scenario(times).is_hit("shard"))
        times["shard"] = Time(1.1, 1.09, 1.2)
        self.assertFalse(scenario(times).is_hit("shard"))

    def test_equal_times_of_a_draw_are_one_scenario(self):
        work = Work([Shape(1024, 512, 512), Shape(2048, 512, 512)], 4, ("f32",))
        one, other = exact(serial=1.0, shard=2.0), exact(serial=1.0, shard=2.1)
        times = {
            Key("ag-gemm", "f32", "engine", Shape(1024, 512, 512)): one,
            Key("a2a-gemm", "f32", "engine", Shape(1024, 512, 512)): one,
            Key("ag-gemm", "f32", "kernel", Shape(1024, 512, 512)): other,
            Key("ag-gemm", "f32", "engine", Shape(2048, 128, 512)): one,  # of another draw, and divided
            Key("ag-gemm", "f32", "kernel", Shape(2048, 128, 512)): exact(serial=1.0),  # no choice
            Key("gemm-rs", "f32", "engine", Shape(1024, 512, 512)): exact(shard=3.0, uniform_fused_1d=4.0),
        }
        found = scenarios.scenarios_of("a", work, times, rivals.SCHEDULES)
        self.assertEqual(
            [(s.draw, s.sharded, s.key.op, s.key.copy_method) for s in found],
            [
                (0, False, "ag-gemm", "engine"),
                (0, False, "ag-gemm", "kernel"),
                (1, True, "ag-gemm", "engine"),
            ],
        )

    def test_divided_weights(self):
        self.assertEqual(scenarios.divided(Shape(1024, 512, 256), "ag-gemm", 4), Shape(1024, 128, 256))
        self.assertEqual(scenarios.divided(Shape(1024, 512, 256), "gemm-rs", 4), Shape(1024, 512, 64))

    def test_shapes_are_within_the_size_and_the_same_for_a_seed(self):
        found = scenarios.drawn(50, 7, scenarios.HOST)
        self.assertEqual(found, scenarios.drawn(50, 7, scenarios.HOST))
        self.assertTrue(all(20 <= 2e-6 * m * n * k <= 600 for m, n, k in found))
        self.assertTrue(all(side % 32 == 0 for shape in found for side in shape))


class Scores(unittest.TestCase):
    LOSSES = (0.0, 0.01, 0.03, 0.1, 0.2, 0.5)

    def all(self):
        return [
            scenario(exact(serial=1.0, shard=1.0 + loss, uniform_fused_1d=9.0), draw, r="shard", c="serial")
            for draw, loss in enumerate(self.LOSSES)
        ]

    def test_by_hand(self):
        found = contest.score(self.all(), "r")
        self.assertEqual((found.scenarios, found.hits, found.good), (6, 1, 2))
        self.assertAlmostEqual(found.median_loss, 0.15)
        self.assertAlmostEqual(found.high_loss, 0.5)
        self.assertAlmostEqual(found.mean_loss, 0.14)
        right = contest.score(self.all(), "c")
        self.assertEqual((right.good, right.median_loss, right.high_loss), (6, None, None))

    def test_nine_of_ten_losses(self):
        some = [scenario(exact(serial=1.0, shard=2.0 + i), i, r="shard") for i in range(10)]
        self.assertAlmostEqual(contest.score(some, "r").high_loss, 9.0)

    def test_the_best_constant_is_good_most_often_then_loses_least(self):
        found = []
        for slow in (1.5, 3.0):
            s = scenario(exact(serial=1.0, shard=slow, uniform_fused_1d=2.0))
            s.picks = {contest.constant(name): rivals.always(name)(s) for name in rivals.SCHEDULES}
            found.append(s)
        self.assertEqual(contest.best_constant(found), "always serial")
        for s in found:
            s.times["serial"] = Time(4.0, 4.0, 4.0)
        self.assertEqual(contest.best_constant(found), "always uniform-fused-1d")

    def test_skill_is_over_the_constant_of_each_machine_and_by_whole_draws(self):
        found = []
        for machine in "ab":
            for draw in (0, 0, 1, 1):
                s = scenario(exact(serial=1.0, shard=2.0), draw, machine, r="serial")
                s.picks.update({"always serial": "serial", "always shard": "shard"})
                found.append(s)
        over = contest.skill(found, "r", {"a": "always shard", "b": "always serial"})
        self.assertEqual((over["value"], over["better"], over["worse"], over["shapes"]), (0.5, 4, 0, 4))
        self.assertEqual(over["p"], 0.125)
        self.assertEqual(over["ci"], [0.0, 1.0])

    def test_the_static_rule_is_also_scored_among_its_own_four(self):
        s = scenario(exact(serial=1.0, uniform_fused_1d=2.0, hetero_fused_1d=3.0))
        s.picks[contest.STATIC] = "uniform-fused-1d"
        self.assertFalse(s.is_good("uniform-fused-1d"))
        self.assertIn("good in 1 of 1, mean loss of the others -.", contest.own_four([s]))

    def test_the_errors_of_a_model_are_by_part(self):
        key = Key("gemm-rs", "f32", "engine", Shape(1, 2, 3))
        found = contest.ratios(
            {key: exact(gemm=1.0, serial=2.0, shard_gemms=1.0)},
            {key: exact(gemm=1.1, serial=1.0, shard_gemms=2.0)},
        )
        self.assertEqual(found, {("gemm-rs", "gemm"): [1.1], ("gemm-rs", "schedules"): [0.5]})


class Rivals(unittest.TestCase):
    ALL = exact(serial=1.0, shard=1.0, **{name.replace("-", "_"): 1.0 for name in rivals.FINER})

    def test_a_constant_is_serial_where_it_is_impossible(self):
        self.assertEqual(rivals.always("shard")(scenario(self.ALL)), "shard")
        self.assertEqual(rivals.always("shard")(scenario(exact(serial=1.0))), "serial")

    def test_the_rule(self):
        rule = rivals.Rule(2.0, 50.0, 1e5, 190.0, 1e6)

        def pick(m, n, k, times=self.ALL):
            return rule.pick(scenario(times, shape=Shape(m, n, k)))

        self.assertEqual(pick(1000, 1000, 2000), "uniform-fused-2d")
        self.assertEqual(pick(1000, 1000, 1999), "hetero-unfused-1d")
        self.assertEqual(pick(1000, 100, 1000), "uniform-fused-1d")  # 42 flop/byte
        self.assertEqual(pick(1000, 300, 1000), "hetero-fused-1d")  # 94
        some = {name: time for name, time in self.ALL.items() if name != "uniform-fused-2d"}
        self.assertEqual(pick(1000, 1000, 2000, some), "hetero-unfused-1d")

    def test_the_fitted_rule_loses_least(self):
        cut = exact(serial=9.0, uniform_fused_1d=9.0, hetero_fused_1d=9.0, uniform_fused_2d=1.0)
        rows = exact(serial=9.0, uniform_fused_1d=1.0, hetero_fused_1d=9.0, uniform_fused_2d=9.0)
        some = [scenario(cut, 0, shape=Shape(512, 512, 4096)), scenario(rows, 1, shape=Shape(4096, 512, 512))]
        rule = rivals.fitted_rule(some)
        self.assertEqual([rule.pick(s) for s in some], ["uniform-fused-2d", "uniform-fused-1d"])

    def test_a_model_chooses_among_the_possible(self):
        s = scenario(exact(serial=1.0, shard=2.0))
        told = {s.key: exact(serial=3.0, shard=2.0, uniform_fused_1d=1.0)}
        self.assertEqual(rivals.simulated(told)(s), "shard")
        self.assertIsNone(rivals.simulated({})(s))


class Machines(unittest.TestCase):
    def test_the_forms_differ_in_every_respect(self):
        forms = [drawn_machine.form_of(seed) for seed in range(8, 16)]
        self.assertEqual({f.devices for f in forms}, {2, 4, 8})
        self.assertEqual({f.links.split(":")[0] for f in forms}, {"mesh", "switch", "ring", "torus"})
        self.assertEqual({f.engine_order for f in forms}, {"stream_first", "ready_first"})
        self.assertEqual({f.llc_tracked for f in forms}, {0, 1})
        self.assertEqual({f.pairs for f in forms}, {"none", "any", "islands"})

    def test_a_link_is_as_fast_in_both_directions(self):
        text, devices = drawn_machine.model(7)
        lines = dict(line.split(" = ") for line in text.splitlines())
        pairs = {name.split()[1]: rate for name, rate in lines.items() if ">" in name}
        self.assertEqual((devices, len(pairs)), (8, 32))
        for pair, rate in pairs.items():
            self.assertEqual(pairs[pair[::-1]], rate)

    @unittest.skipUnless(FICCO.is_file(), "overlap/ficco is not built")
    def test_a_sample_is_exact(self):
        """Whatever else is measured, and in which order."""
        text, _ = drawn_machine.model(9)
        work = Work([Shape(1024, 512, 512)], 2, ("f32",))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "a.model"
            path.write_text(text, encoding="utf-8")
            device = f"sim:{path}?jitter_sigma=0:0-1"
            one, other = (
                scenarios.measured(Path(folder) / f"{seed}.jsonl", device, work, ("ag-gemm",), seed, None)
                for seed in (1, 2)
            )
        self.assertEqual(len(one.times), 2)
        for key, times in one.times.items():
            for name, time in times.items():
                self.assertAlmostEqual(other.times[key][name].seconds, time.seconds, delta=1e-9, msg=name)


if __name__ == "__main__":
    unittest.main()
