# SPDX-License-Identifier: BSD-3-Clause
"""Messages on stderr: on a terminal at most 80 columns wide, elsewhere a line each, as other programs expect
them."""

from __future__ import annotations

import sys
import textwrap

_WIDTH = 80


def say(line: str) -> None:
    show(f"gpusig: {line}")


def show(text: str, indent: str = "") -> None:
    """Print on stderr, wrapped on a terminal. Words are never broken, so that paths can be copied."""
    if sys.stderr.isatty():
        text = "\n".join(
            textwrap.wrap(
                text,
                _WIDTH,
                initial_indent=indent,
                subsequent_indent=indent + "    ",
                break_long_words=False,
                break_on_hyphens=False,
            )
        )
    else:
        text = indent + text
    print(text, file=sys.stderr, flush=True)


def count(number: int, what: str) -> str:
    """ "1 case", "2 cases" """
    return f"{number} {what}{'s' * (number != 1)}"
