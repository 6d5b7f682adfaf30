# SPDX-License-Identifier: BSD-3-Clause
"""./gpusig model: a model of the machine of a signature, for --device sim:FILE."""

from __future__ import annotations

from reports.advice.ask import AdviseError, read_signature, trusting
from reports.judge.compare.gpusig import failed_of
from reports.judge.compare.numbers import wrong_results
from reports.model import text
from reports.model.fit import NoModel
from reports.signature.machine import name_of
from suite.command_error import CANNOT_RUN, OK, CommandError
from suite.commands import Place, options
from suite.saying import say


def command(words: list[str], place: Place) -> int:
    given = options.parse("model", words, {})
    if len(given.names) != 1:
        raise AdviseError("model takes one signature, not %d: ./gpusig model SIGNATURE" % len(given.names))
    if not given.names[0]:
        raise CommandError("model: an empty name is not a signature")
    if place.check_only:
        return OK
    path = place.cwd / given.names[0]
    with trusting(path):
        signature = read_signature(path)
        wrong = wrong_results("the signature", failed_of(signature))
        if wrong:  # the file has no place for that
            say("model: " + wrong)
        try:
            print(text.of(signature, name_of(signature)), end="")
        except NoModel as why:
            raise CommandError("model: %s: %s" % (given.names[0], why), CANNOT_RUN) from None
    return OK
