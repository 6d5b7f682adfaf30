# SPDX-License-Identifier: BSD-3-Clause
"""./gpusig ab 'A' 'B' --repeats N: two settings that can be switched without a reboot, measured A B B A,
then compared."""

from __future__ import annotations

from pathlib import Path

from suite import streams
from suite.commands import Place, compare
from suite.commands.run import parse, prepare
from suite.run import command as program_command
from suite.run import repeats
from suite.command_error import OK, CommandError
from suite.run.resume import Options
from suite.run.run import new_folder
from suite.saying import say


def settings(words: list[str], options: Options) -> dict[str, str]:
    """The setting of each side by its letter; empty where a folder is resumed without settings."""
    if options.resume is not None and not words:
        return {}
    if len(words) != 2:
        raise CommandError(
            f"ab takes two settings, not {len(words)}: ./gpusig ab 'OMP_NUM_THREADS=1' 'taskset -c 0' "
            f"--repeats 8"
        )
    if options.repeats is None and options.resume is None:
        raise CommandError("ab needs --repeats N, the runs of each setting")
    for word in words:
        program_command.split_setting(word)
        if not word.isprintable():
            raise CommandError("a setting is one line of printable characters")
    return dict(zip("AB", words))


def folder_of(options: Options, cwd: Path) -> Path:
    if options.resume is None:
        return new_folder(options, cwd, "gpusig-ab")
    if not repeats.holds(cwd / options.resume):
        raise CommandError(f"--resume '{options.resume}' holds no runs of ab")
    return cwd / options.resume


def command(words: list[str], place: Place) -> int:
    streams.drop_unwritable()
    given, options = parse("ab", words, place)
    chosen = settings(given.names, options)
    if place.check_only:
        return OK
    prepare()
    folder = folder_of(options, place.cwd)
    code = repeats.run(options, chosen, place.programs(), place.sources(), folder)
    if code != OK:
        say("some runs failed, or gave nothing valid; the comparison has what there is")
    words = ["A", "B", "--factor", "setting", "--html", "compare.html"]
    return compare.command(words, Place(folder))
