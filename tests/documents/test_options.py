# SPDX-License-Identifier: BSD-3-Clause
"""Commands and options that documents name exist; tests/documents/test_commands.py runs the commands."""

from __future__ import annotations

import contextlib
import functools
import io
import re
import shlex
import subprocess
import tempfile
import unittest

from suite.__main__ import main
from tests.documents import commands, rehearse
from tests.documents.commands import ROOT

_GPUSIG = re.compile(r"\./gpusig (\w+)([^#|&;)>]*)")
_PROGRAM = re.compile(r"\bbin/(\w+/\w+)([^#|&;)>]*)")
_OPTION = re.compile(r"(?<= )--[a-z][\w-]*")
_PLACEHOLDER = re.compile(r"\b(?:N|[A-Z]{4,})\b|'A' 'B'|\$\(")  # what a reader or a shell puts in
_LACKS = "'numactl' is not a command here\n|unknown program 'micro/example'"
_MEASURES = ("run", "ab", "preflight", "list", "test")


@functools.cache
def help_of(*words: str) -> str:
    """Output of `./gpusig help COMMAND` or of a program's --help; empty if there is none."""
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True).stdout


def named(pattern: re.Pattern[str]) -> list[tuple[str, str, str]]:
    """Place, name and further words, wherever a command is named: in a fence, an example or running text."""
    found = ((one.place, match) for one in commands.commands() for match in pattern.finditer(one.text))
    return [(place, match[1], " " + match[2].replace("\n", " ")) for place, match in found]


class Documents(unittest.TestCase):
    def test_commands_and_their_options_are_in_the_help(self) -> None:
        found = named(_GPUSIG)
        self.assertGreater(len(found), 100)
        for place, command, rest in found:
            text = help_of("./gpusig", "help", command) + help_of("./gpusig", "help")
            for option in [f"usage: ./gpusig {command}", *_OPTION.findall(rest)]:
                with self.subTest(place=place, command=command, option=option):
                    self.assertRegex(text, rf"(?<![\w-]){option}(?![\w-])")

    def test_options_of_programs_are_in_their_help(self) -> None:
        found = [item for item in named(_PROGRAM) if (ROOT / "bin" / item[1]).exists()]
        if not found:
            self.skipTest("nothing is built")
        for place, program, rest in found:
            text = help_of(f"bin/{program}", "--help")
            for option in _OPTION.findall(rest):
                with self.subTest(place=place, program=program, option=option):
                    self.assertRegex(text, rf"(?<![\w-]){option}(?![\w-])")

    def test_what_measures_takes_the_words_as_they_are_written(self) -> None:
        found = [one.text for one in commands.commands() if not one.is_form]
        found = [text for text in found if re.match(r"\./gpusig \w", text)]
        split = [shlex.split(text, comments=True)[1:] for text in found if not _PLACEHOLDER.search(text)]
        checked = [words for words in split if words[0] in _MEASURES]
        self.assertGreater(len(checked), 30)
        with tempfile.TemporaryDirectory() as folder:
            for words in checked:
                said = io.StringIO()
                with self.subTest(words=words), contextlib.redirect_stderr(said):
                    if main(["--cwd", folder, "--check-options", *words]):
                        self.assertRegex(said.getvalue(), _LACKS)


class Reading(unittest.TestCase):
    def test_commands_of_fences_and_of_running_text_have_their_lines_and_marks(self) -> None:
        text = (
            "Say `./gpusig list micro/memory`, see `tests/level.py` and `./gpusig compare`.\n"
            "```sh\nfor a in 1 2; do\n\t./gpusig list $a\ndone\n# a remark\n"
            "./gpusig advise a \\\n    --m 1\n```\n"
            "```\n./gpusig is not a command here\n```\n"
            "<!-- not run: it needs\n a cluster --> `sbatch job.sh`, `make peers`\n"
            "```console\n$ ./gpusig list\na table\n```\n"
            "<!-- not run below: these take hours -->\n`tests/peers/run 3`\n"
        )
        found = commands.of_text("a.md", text)
        self.assertEqual(
            [(one.line, one.text, one.kept, one.shown) for one in found if not one.is_form],
            [
                (1, "./gpusig list micro/memory", "", None),
                (3, "for a in 1 2; do\n\t./gpusig list $a\ndone", "", None),
                (7, "./gpusig advise a \\\n    --m 1", "", None),
                (14, "sbatch job.sh", "it needs a cluster", None),
                (14, "make peers", "", None),
                (16, "./gpusig list", "", "a table"),
                (20, "tests/peers/run 3", "these take hours", None),
            ],
        )
        self.assertEqual(commands.unmarked("a.md", text), ["a.md: ./gpusig is not a command here"])

    def test_every_fence_with_commands_is_marked(self) -> None:
        texts = commands.documents().items()
        self.assertEqual([line for name, text in texts for line in commands.unmarked(name, text)], [])

    def test_every_rule_changes_a_command(self) -> None:
        texts = [one.text for one in commands.commands()]
        for pattern, changed, _ in rehearse.RULES:
            with self.subTest(pattern=pattern):
                before, texts = texts, [re.sub(pattern, changed, text, flags=re.MULTILINE) for text in texts]
                self.assertNotEqual(before, texts)

    def test_a_command_is_rehearsed_on_a_simulated_device_and_shortly(self) -> None:
        self.assertEqual(
            rehearse.adapted("./gpusig run --repeats 30 --headline --device cuda:0-7 --budget 10m"),
            "./gpusig run --repeats 4 --headline --device sim:h100:0-7 --budget 1s",
        )
        self.assertEqual(
            rehearse.adapted("srun -N32 -n32 ./gpusig run --out 'nodes/%h'"),
            "srun --overcommit -N4 -n32 ./gpusig run --budget 1s --device sim:h100:0-1 --out 'nodes/%h'",
        )


if __name__ == "__main__":
    unittest.main()
