# SPDX-License-Identifier: BSD-3-Clause
"""Options in any combination with any value: what is wrong is said in one line with exit code 2, and nothing
crashes or hangs."""

from __future__ import annotations

import functools
import re
import signal
import shutil
import subprocess
from pathlib import Path
from random import Random

from tests.attack import judge, mutations
from tests.attack.workplace import HOME, How, Workplace, alone

# The driver's commands: the options of each, and the words that its command lines begin with.
_COMMANDS: dict[str, tuple[list[str], list[str]]] = {
    "run": (
        [
            "--device",
            "--budget",
            "--only",
            "--out",
            "--resume",
            "--seed",
            "--full",
            "--shape",
            "--nice",
            "--strict",
        ],
        ["--device", "sim", "--only", "micro/launch", "--budget", "2"],
    ),
    "report": (["--strict"], []),
    "list": (["--markdown", "--verbose"], []),
    "test": (["--all", "--only", "--program", "--stages"], []),
    "advise": (
        ["--m", "--n", "--k", "--devices", "--op", "--type", "--format", "--compile", "--chunks"],
        mutations.ADVISE,
    ),
}
_DEVICES = (
    "sim",
    "sim",
    "sim",
    "sim:quiet",
    "sim:0,1",
    "sim:0-3",
    "sim:0,0",
    "sim:3-1",
    "sim:64",
    "sim:",
    "sim:x:0",
    "sim:./none.model",
    "host:999",
    "cuda",
    "hip:0-7",
    "",
    "x",
    ":0",
)
_VALUES = (
    "0",
    "1",
    "2",
    "7",
    "64",
    "4K",
    "1M",
    "1.5",
    "-1",
    "1e3",
    "0x10",
    "4K:64K:x4",
    "1:3",
    "3:1",
    "1:9:x1",
    "L2",
    "L2/2",
    "4LLC",
    "LLC/0",
    "default",
    "default,8K",
    "1,2,4",
    "1,,2",
    ",",
    "",
    " ",
    "x",
    "*",
    "é",
    "\t",
    "%s%n",
    "nan",
    "inf",
    "1T",
    "18446744073709551615",
    "18446744073709551616",
    "9" * 400,
    "n64",
    "n64,n64",
    "64x64x64",
    "0x0x0",
    "on",
    "off",
    "json",
    "table",
    "0.1s",
    "5s",
    "1h",
    "/dev/full",
    "none/x",
    ".",
    "some-file",
    "--",
    "-",
    "--list",
)
_SHORT = ["--max-samples", "2", "--min-samples", "2", "--budget", "0.2s"]
_HOW = How(patience_s=3)
# In a help: an option, what it takes, and what is said of it, over several lines.
_OPTION = re.compile(
    r"^ +(?:[a-z]+ +)?(--[a-z-]+)( +[A-Z][\w|]*| +[a-z]+\|[a-z|]+)?(.*(?:\n {17}.*)*)", re.MULTILINE
)


def attempt(chance: Random, place: Workplace) -> str | None:
    command = (_of_program if chance.random() < 0.7 else _of_driver)(chance, place)
    ran = place.run(command, _HOW)
    interrupts = (signal.SIGINT,) if ran.interrupted else ()
    return (
        judge.ended(ran, *interrupts)
        or (None if interrupts else judge.brief(ran))
        or judge.nothing_left(place)
    )


def _of_program(chance: Random, place: Workplace) -> list[str]:
    name = chance.choice(alone(place.programs))
    known = options_of(place.programs / name)
    words = [] if chance.random() < 0.1 else ["--device", chance.choice(_DEVICES)]
    words += chance.choice(([], _SHORT, [*_SHORT, "--list"]))
    for option in chance.choices(sorted(known), k=chance.choice((0, 1, 1, 2, 4))):
        words += _written(chance, option, known[option])
    return [str(place.programs / name), *_disturbed(chance, words)]


def _of_driver(chance: Random, place: Workplace) -> list[str]:
    known, command = _options_of_driver(), chance.choice(list(_COMMANDS))
    own, words = _COMMANDS[command]
    if command in ("report", "advise"):
        words = [str(shutil.copytree(place.completed, place.folder / "run")), *words]
    for option in chance.choices(
        sorted(known) if chance.random() < 0.2 else own or [""], k=chance.choice((0, 1, 1, 2, 4))
    ):
        words = [*words, *_written(chance, option, known.get(option, ()))]
    checks_only = ["--check-options"] if command == "test" else []
    return place.driver(*checks_only, command, *_disturbed(chance, words))


def _written(chance: Random, option: str, takes: tuple[str, ...]) -> list[str]:
    """An option with a value where it takes one; sometimes the other way round."""
    value = chance.choice(chance.choice((_VALUES, takes or _VALUES)))
    if chance.random() < 0.05:
        option = chance.choice((option[:-1], f"{option}x", option.upper(), option[1:], f"{option}={value}"))
    return [option, value] if bool(takes) != (chance.random() < 0.05) else [option]


def _disturbed(chance: Random, words: list[str]) -> list[str]:
    """Sometimes a word is missing, twice there, or a stray one."""
    at, what = chance.randint(0, len(words)), chance.random()
    if what < 0.05:
        return words[:at] + words[at + 1 :]
    if what < 0.1:
        return words[:at] + words[max(0, at - 2) :]
    return words[:at] + [chance.choice(_VALUES)] + words[at:] if what < 0.15 else words


def _options_of_driver() -> dict[str, tuple[str, ...]]:
    """Options of all commands with their values; of an option of several commands, those of the first."""
    return {
        option: takes
        for name in reversed(_COMMANDS)
        for option, takes in options_of(HOME / "gpusig", name).items()
    }


@functools.lru_cache(maxsize=None)
def options_of(command: Path, *words: str) -> dict[str, tuple[str, ...]]:
    """Options of a command's help, each with words of its line, which may be values; none where it takes
    none."""
    said = subprocess.run([command, *words, "--help"], capture_output=True, check=True, text=True).stdout
    found: dict[str, tuple[str, ...]] = {}
    for option, takes, rest in _OPTION.findall(said):
        words = tuple(word for word in re.split(r"[\s,|:;()]+", f"{takes} {rest}") if word)
        # The first mention explains an option; later ones only mention it.
        found.setdefault(option, words if takes or "default " in rest or "variants" in rest else ())
    return found
