# SPDX-License-Identifier: BSD-3-Clause
"""Known machines: what ships is what its command makes, and what stands next to what."""

from __future__ import annotations

import json
import unittest
from typing import Any, Dict, List

import synthetic
import workplace
from scorecard_example import Truth, machine

from reports.judge.compare.numbers import BadNumbers
from reports.judge.scorecard import known, known_update
from tests import level

Json = Dict[str, Any]
MOST_BYTES = 30000  # of a file
_OF_THE_RUN = ("gpusig", "identity")  # of a model: another version, or another program, is no other model


def shipped(name: str) -> Json:
    found: Json = json.loads((known.FOLDER / (name + ".json")).read_text(encoding="utf-8"))
    return found


def of(models: bool) -> List[str]:
    return [name for name in known.names() if known.source_of(name).startswith("sim:") == models]


class Shipped(unittest.TestCase):
    def test_of_records_is_what_the_command_makes(self) -> None:
        self.assertEqual(of(False), ["h100", "h200"])
        for name in of(False):
            text = known_update.text_of(known_update.made(name, known.source_of(name)))
            self.assertEqual((known.FOLDER / (name + ".json")).read_text(encoding="utf-8"), text, name)

    @level.only_all
    def test_of_models_is_what_the_command_makes(self) -> None:
        if not (workplace.ROOT / "bin" / "micro" / "memory").exists():
            self.skipTest("skipped: nothing is built")
        for name in of(True):
            made = known_update.made(name, known.source_of(name))
            for part in _OF_THE_RUN:
                made[part] = shipped(name)[part]
            self.assertEqual(json.loads(known_update.text_of(made)), shipped(name), name)

    def test_every_model_of_a_product_is_there(self) -> None:
        folder = workplace.ROOT / "device" / "sim" / "model" / "machines"
        models = {path.stem for path in folder.glob("*.model") if not path.stem.startswith("t3")}
        self.assertEqual({"sim-" + name for name in models}, set(of(True)))

    def test_they_are_small_and_name_nobody(self) -> None:
        for name in known.names():
            text = (known.FOLDER / (name + ".json")).read_text(encoding="utf-8")
            self.assertLess(len(text), MOST_BYTES, name)
            self.assertNotRegex(text, "hostname|uuid|serial|argv")
            self.assertEqual(shipped(name)["name"], name)


class NextTo(workplace.Scratch):
    def test_measured_with_measured_and_simulated_with_simulated(self) -> None:
        truths = {"micro/memory/memory_triad_bandwidth": Truth(1e12)}
        measured = known.of_its_sort(machine("a", truths))
        self.assertEqual([one.name for one in measured], ["known:h100", "known:h200"])
        simulated = known.of_its_sort(machine("a", truths, simulated=True, backend="sim"))
        self.assertEqual([one.name for one in simulated], ["known:" + name for name in of(True)])

    def test_not_next_to_itself(self) -> None:
        self.assertEqual([one.name for one in known.of_its_sort(known.read("h100"))], ["known:h200"])

    def scorecard(self, *words: str) -> Any:
        return self.run_command("--cwd", str(self.folder), "scorecard", *words, "--html", "")

    def test_one_machine_alone(self) -> None:
        self.run_build(synthetic.everything())
        code, out, err = self.scorecard("signature.json", "--format", "json")
        self.assertEqual((code, err), (0, ""))
        card = json.loads(out)
        mine = card["machines"][0]["name"]
        self.assertEqual([m["name"] for m in card["machines"][1:]], ["known:h100", "known:h200"])
        self.assertTrue(card["sentences"][0].startswith("Next to 2 known machines, in "))
        self.assertTrue(all(mine in row["machines"] for row in card["metrics"] + card["not_compared"]))
        self.assertEqual({row["reference"] for row in card["metrics"]} - {None}, {mine})
        self.assertEqual({name for rule in card["rules"] for name in rule["machines"]}, {mine})

    def test_by_name(self) -> None:
        code, out, _ = self.scorecard("known:h100", "new=known:h200", "--format", "json")
        self.assertEqual(code, 0)
        card = json.loads(out)
        self.assertEqual([m["name"] for m in card["machines"]], ["known:h100", "new"])
        self.assertTrue(all("reports/reference/h" in m["known"] for m in card["machines"]))
        best = {row["question"]: row["best"] for row in card["metrics"] if row["question"]}
        self.assertEqual(best["memory bandwidth"], ["new"])

    def test_refusals(self) -> None:
        for words, why in (
            (("known:nothing", "known:h100"), "no known machine is called 'nothing'; known: h100, h200, "),
            (("known:h100", "known:sim-h100"), "a simulated and a measured machine cannot be compared"),
            (("known:../known/h100",), "no known machine is called"),
        ):
            code, out, err = self.scorecard(*words)
            self.assertEqual((code, out, len(err.splitlines())), (2, "", 1))
            self.assertIn(why, err)

    def test_the_list(self) -> None:
        code, out, _ = self.run_command("--cwd", str(self.folder), "scorecard", "known:")
        self.assertEqual((code, len(out.splitlines())), (0, len(known.names())))
        self.assertIn("known:sim-a40: simulated device (a40); a model's virtual time, gpusig ", out)

    def test_a_file_that_is_none(self) -> None:
        before = known.FOLDER
        known.FOLDER = self.folder
        try:
            for text in ('{"schema": "other"}', "{", '{"schema": "gpusig.known", "signature": {}}'):
                (self.folder / "bad.json").write_text(text)
                self.assertRaises(BadNumbers, known.read, "bad")
        finally:
            known.FOLDER = before


if __name__ == "__main__":
    unittest.main()
