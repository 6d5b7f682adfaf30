# level: lab
# SPDX-License-Identifier: BSD-3-Clause
"""Every command of every document is run, in the order of the document, as tests/documents/rehearse.py says;
what can't run here is skipped with its reason."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import ClassVar

from tests import brought
from tests.documents import commands, rehearse
from tests.documents.commands import ROOT, Command

_CLUSTER = ["bash", "-c", '. tests/fleet/cluster.bash; "$@"', "cluster"]
_ONLY = os.environ.get("GPUSIG_TEST_DOCUMENTS", "")  # a pattern of names of documents, to run some


class _Here:
    """The scene, and the cluster where Slurm is here."""

    scene: ClassVar[rehearse.Scene]
    folder: ClassVar[str] = ""
    cluster: ClassVar[dict[str, str]] = {}


def setUpModule() -> None:
    if not (ROOT / "bin").is_symlink():
        raise unittest.SkipTest("nothing is built")
    _Here.folder = tempfile.mkdtemp(prefix="gpusig-documents.")
    found: dict[str, str] = {}
    with contextlib.suppress(unittest.SkipTest):
        found = brought.environment("slurmctld", "slurmd", "munged", "srun")
        place = f"{_Here.folder}/cluster"
        _Here.cluster = {**os.environ, **found, "TEST_PYTHON": brought.sys.executable, "cluster": place}
        start = [*_CLUSTER, "start_cluster", place, "4"]
        subprocess.run(start, cwd=ROOT, env=_Here.cluster, check=True)
        found["SLURM_CONF"] = f"{place}/slurm.conf"
    path = [found.get("PATH", os.environ["PATH"]), *map(str, brought.TOOLS.glob("*/usr/share/benchmark"))]
    for tool in ("reframe", "otava"):
        with contextlib.suppress(unittest.SkipTest):
            path.insert(0, brought.environment(tool)["PATH"])
    found["PATH"] = ":".join([*path, "/usr/share/benchmark"])
    _Here.scene = rehearse.Scene(Path(_Here.folder), found)


def tearDownModule() -> None:
    if _Here.cluster:
        subprocess.run([*_CLUSTER, "stop_cluster"], cwd=ROOT, env=_Here.cluster)
    if _Here.folder:
        shutil.rmtree(_Here.folder, ignore_errors=True)


class Document(unittest.TestCase):
    """Commands of a document: `text` is all of it."""

    text: ClassVar[str] = ""
    shells: ClassVar[dict[int, rehearse.Shell]] = {}

    @classmethod
    def setUpClass(cls) -> None:
        _Here.scene.begin()
        _Here.scene.lay_files_of(cls.text)
        cls.shells = {}

    @classmethod
    def tearDownClass(cls) -> None:
        for shell in cls.shells.values():
            shell.close()

    def hold(self, command: Command) -> None:
        scene = _Here.scene
        text = command.text if command.shown is not None else rehearse.adapted(command.text)
        if command.kept:
            self.skipTest(f"{command.place}: {command.text}: {command.kept}")
        left = re.search(r"\b(?:FOLDER|SOURCE|FUNCTION|SIGNATURE)\b", text)
        if left:
            self.skipTest(f"{command.place}: {command.text}: {left[0]} stands for what a reader chooses")
        scene.clear(text, command.block)
        scene.lay(text)
        if command.block not in self.shells:
            self.shells[command.block] = rehearse.Shell(scene.home, scene.environment)
        ran = self.shells[command.block].run(text)
        if ran.why_not:
            self.skipTest(f"{command.place}: {command.text}: {ran.why_not}")
        said = f"{ran.out[-2000:]}\n{ran.err[-2000:]}"
        self.assertTrue(ran.is_good, f"{command.place}: {text}\nexit {ran.code}\n{said}")
        if command.shown:
            self.assert_shown(command.shown, ran.out)

    def assert_shown(self, shown: str, said: str) -> None:
        """Every line of the document stands in the output, in its order; [...] is what was left out."""
        lines = iter(" ".join(line.split()) for line in said.splitlines())
        for line in shown.splitlines():
            wanted = " ".join(line.replace("[...]", "").split())
            if wanted and "version" not in wanted:
                is_there = any(found.startswith(wanted) for found in lines)
                self.assertTrue(is_there, f"not in the output, or not in this order: {line}")


def load_tests(loader: unittest.TestLoader, _: object, __: object) -> unittest.TestSuite:
    """A class a document, a test a command."""
    texts, suite = commands.documents(), unittest.TestSuite()
    found_all = [command for command in commands.commands() if not command.is_form]
    for name, found in itertools.groupby(found_all, lambda command: command.document):
        methods = {
            f"test_{number:03}_{re.sub(r'[^a-z0-9]+', '_', command.text.lower())[:70]}": (
                lambda self, command=command: self.hold(command)
            )
            for number, command in enumerate(found)
        }
        kind = type(re.sub(r"\W", "_", name), (Document,), {**methods, "text": texts.get(name, "")})
        if re.search(_ONLY, name):
            suite.addTests(loader.loadTestsFromTestCase(kind))
    return suite


if __name__ == "__main__":
    unittest.main()
