# SPDX-License-Identifier: BSD-3-Clause
# level: lab
"""Prometheus and node_exporter themselves read the export, the alert rules and the dashboard's queries."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import sys
import time
import unittest
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any, Dict, Iterator, List

sys.path.insert(0, str(Path(__file__).resolve().parent))
import simulated
import brought

EXAMPLES = simulated.ROOT / "docs/examples"
RULES = EXAMPLES / "prometheus/gpusig.rules.yml"
RULE_TESTS = simulated.ROOT / "tests/adapters/prometheus/gpusig.rules.test.yml"
LIMIT_S = 300  # of what takes seconds
HOURS = 72  # of history


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


class Promtool(simulated.Scratch):
    def promtool(self, *words: str, text: str = "") -> str:
        ran = subprocess.run(
            ["promtool", *words],
            input=text,
            env=brought.environment("promtool"),
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=LIMIT_S,
            check=False,
        )
        self.assertEqual(ran.returncode, 0, ran.stdout)
        return ran.stdout

    def test_the_linter_of_metrics_has_nothing_to_say(self) -> None:
        brought.environment("promtool")
        self.simulate("run", "sim:h100")
        self.assertEqual(self.promtool("check", "metrics", text=self.export("prometheus", "run")[0]), "")

    def test_the_linter_of_metrics_would_say_something(self) -> None:
        with self.assertRaises(AssertionError):
            self.promtool("check", "metrics", text="gpusig_x_ms 1\n")

    def test_rules_are_accepted_and_alarm_when_they_should(self) -> None:
        for path in (RULES, RULE_TESTS):
            shutil.copy(path, self.folder)
        self.assertIn("SUCCESS", self.promtool("check", "rules", RULES.name))
        self.assertIn("SUCCESS", self.promtool("test", "rules", RULE_TESTS.name))


class Running(simulated.Scratch):
    """A server and an exporter of our own, on free ports, with storage in the test's folder."""

    def setUp(self) -> None:
        super().setUp()
        self.tools = brought.environment("prometheus", "promtool", "prometheus-node-exporter")
        self.server, self.exporter = free_port(), free_port()
        self.textfiles = self.folder / "textfiles"
        self.textfiles.mkdir()

    def start(self, name: str, *words: str) -> None:
        log = open(self.folder / (name + ".log"), "wb")
        self.addCleanup(log.close)
        process = subprocess.Popen(
            [name, *words],
            env={"HOME": str(self.folder), **self.tools},
            cwd=self.folder,
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
        )
        self.addCleanup(process.wait, 30)
        self.addCleanup(process.kill)

    def ask(self, path: str, **words: str) -> Any:
        url = "http://127.0.0.1:%d/api/v1/%s?%s" % (self.server, path, urllib.parse.urlencode(words))
        with urllib.request.urlopen(
            url, timeout=LIMIT_S
        ) as answer:  # an error is an answer of 400, which raises
            return json.load(answer)["data"]

    def until(self, what: str, ask: Any) -> Any:
        """Asks until there is something; with the logs where there is nothing in time."""
        end = time.monotonic() + LIMIT_S
        while time.monotonic() < end:
            try:
                found = ask()
                if found:
                    return found
            except OSError:
                pass
            time.sleep(0.1)
        logs = "".join(
            (self.folder / (name + ".log")).read_text()[-2000:]
            for name in ("prometheus", "prometheus-node-exporter")
        )
        raise AssertionError("no %s in %d s: %s" % (what, LIMIT_S, logs))

    def remember(self, text: str) -> None:
        """An hourly history of what was exported, as a server would have it after days."""
        place = 'instance="127.0.0.1:%d",job="node",' % self.exporter
        now = int(time.time()) // 3600 * 3600
        lines = []
        for line in text.splitlines():
            if line.startswith("#"):
                lines += [line] if line.startswith("# TYPE") else []
                continue
            series, _, value = line.replace("{", "{" + place, 1).rpartition(" ")
            lines += ["%s %s %d" % (series, value, now - hour * 3600) for hour in range(HOURS, 0, -1)]
        (self.folder / "history.om").write_text("\n".join(lines + ["# EOF\n"]), encoding="utf-8")
        subprocess.run(
            ["promtool", "tsdb", "create-blocks-from", "openmetrics", "history.om", "storage"],
            env=self.tools,
            cwd=self.folder,
            check=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            timeout=LIMIT_S,
        )

    def serve(self) -> None:
        # The rules as they are shipped, but for how often they are evaluated.
        rules, count = re.subn(r"interval: 4m", "interval: 1s", RULES.read_text(encoding="utf-8"))
        self.assertEqual(count, 1)
        (self.folder / "gpusig.rules.yml").write_text(rules, encoding="utf-8")
        (self.folder / "prometheus.yml").write_text(
            "global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: "
            "[gpusig.rules.yml]\nscrape_configs:\n"
            "  - job_name: node\n    static_configs: [{targets: ['127.0.0.1:%d']}]\n" % self.exporter,
            encoding="utf-8",
        )
        self.start(
            "prometheus-node-exporter",
            "--collector.disable-defaults",
            "--collector.textfile",
            "--collector.textfile.directory=%s" % self.textfiles,
            "--web.listen-address=127.0.0.1:%d" % self.exporter,
        )
        self.start(
            "prometheus",
            "--config.file=prometheus.yml",
            "--storage.tsdb.path=storage",
            "--web.listen-address=127.0.0.1:%d" % self.server,
        )

    def query(self, expr: str) -> List[Dict[str, Any]]:
        return list(self.ask("query", query=expr)["result"])

    def test_from_the_file_to_a_query_the_dashboard_and_an_alert(self) -> None:
        self.simulate("good", self.model("one.model"))
        self.simulate("slow", self.model("one.model", "slow_down = gemm 1.10"))  # the same device, later
        self.export("prometheus", "good", "--out", "textfiles/gpusig.prom")
        self.remember((self.textfiles / "gpusig.prom").read_text(encoding="utf-8"))
        self.serve()
        name = "gpusig_gemm_f32_flop_rate_flops_per_second"
        found = self.until("value", lambda: self.query(name))
        signature = json.loads((self.folder / "good/signature.json").read_text(encoding="utf-8"))
        self.assertEqual(
            float(found[0]["value"][1]), signature["metrics"]["gemm/efficiency/gemm_f32_flop_rate"]["value"]
        )
        self.assertEqual(found[0]["metric"]["node"], signature["provenance"]["fields"]["hostname"])
        self.assertEqual([one["value"][1] for one in self.query("node_textfile_scrape_error")], ["0"])
        median = self.until("median", lambda: self.query("gpusig:metric:median_30d"))
        headline = [one for one in signature["metrics"].values() if one["primary"]]
        self.assertEqual(len(median), len(headline))
        self.assertNotIn("GpusigSlowAgainstItself", self.firing())
        self.check_dashboard()
        self.export("prometheus", "slow", "--out", "textfiles/gpusig.prom")
        alerts = self.until("alert", lambda: self.firing().get("GpusigSlowAgainstItself"))
        self.assertTrue(
            {alert["labels"]["metric"] for alert in alerts}
            <= {"gemm_%s_flop_rate" % kind for kind in ("f32", "f64", "tf32", "f16", "bf16", "f8")}
        )
        self.assertLess(float(alerts[0]["value"]), 0.95)

    def firing(self) -> Dict[str, List[Any]]:
        found: Dict[str, List[Any]] = {}
        for alert in self.ask("alerts")["alerts"]:
            if alert["state"] == "firing":
                found.setdefault(alert["labels"]["alertname"], []).append(alert)
        return found

    def check_dashboard(self) -> None:
        """Every query of the dashboard is one for the server; those that cannot be empty here are not."""
        board = json.loads((EXAMPLES / "grafana/gpusig.json").read_text(encoding="utf-8"))
        chosen = {"node": ".+"}
        for variable in board["templating"]["list"]:
            if variable["type"] == "query":
                selector, label = re.fullmatch(
                    r"label_values\((.+), (\w+)\)", variable["definition"]
                ).groups()
                series = self.ask("series", **{"match[]": selector})
                self.assertEqual(bool(series), variable["name"] in ("node", "flop_rate"), variable["name"])
                chosen[variable["name"]] = "|".join({one[label] for one in series}) or ".+"
        empty = []
        for expr in queries(board):
            asked = re.sub(r"\$(\w+)", lambda match: chosen[match.group(1)], expr)
            if not self.query(asked):
                empty.append(expr)
        allowed = (
            "median_fleet",
            "gpusig_metric_missing",
            "gpusig_metric_graded",
            "gpusig_wrong_results",
            "bytes_per_second",
            "_seconds",
            "_ratio",
            'better="lower"',
        )
        self.assertEqual([expr for expr in empty if not any(word in expr for word in allowed)], [])


def queries(board: Any) -> Iterator[str]:
    for panel in board["panels"]:
        for target in panel.get("targets", []):
            yield target["expr"]


if __name__ == "__main__":
    unittest.main()
