# SPDX-License-Identifier: BSD-3-Clause
"""Commands of the documents: lines of fences marked `sh`, lines behind `$ ` of fences marked `console` with
the output below them, code in running text, and examples of the help texts.

An HTML comment keeps commands from being run, and says why: `<!-- not run: REASON -->` the next fence or the
next command in running text, `<!-- not run below: REASON -->` all that follow in the document.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_FENCE = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_MARK = re.compile(r"<!-- not run( below)?: (.*?)\s*-->", re.DOTALL)
_SPAN = re.compile(r"`([^`]+)`")
_STARTS = re.compile(
    r"(?:[A-Z][A-Z_]+=\S+ +)*"
    r"(?:\./gpusig|gpusig(?! \w+:)|bin|build|tests|reports|make|python3|bats|srun|sbatch|mpirun|sudo)\b[ /.]"
)
# In running text: a path alone, a command that is only named, perhaps with an option.
_NAMED = re.compile(r"[^ ]+|(?:\./)?gpusig (?!list$)\w+(?: --[\w-]+(?: json| junit)?)*|\w+(?: --[\w-]+)+")


@dataclass(frozen=True)
class Command:
    """`text` stands in line `line` of `document`; `block` numbers the fence, so that its lines share a shell.
    `kept` is why it is not run, `shown` the output below it, None where none is. A form in running text, such
    as `./gpusig compare` or `./gpusig export --to FORMAT SIGNATURE...`, is not for the shell."""

    document: str
    line: int
    text: str
    block: int
    kept: str = ""
    shown: str | None = None
    is_form: bool = False

    @property
    def place(self) -> str:
        return f"{self.document}:{self.line}"


def _is_whole(text: str) -> bool:
    """True if the shell takes `text` as complete, so that the next line is another command."""
    parsed = subprocess.run(["bash", "-n", "-c", text], capture_output=True)
    return parsed.returncode == 0 and not text.endswith("\\")


def _fenced(found: Command, lines: list[str]) -> list[Command]:
    """Commands of the lines of a fence."""
    commands, text, begun = [], "", 0
    for number, line in enumerate(lines):
        if not text and not line.partition("#")[0].strip():
            continue
        begun = begun if text else number
        text = f"{text}\n{line}" if text else line
        if _is_whole(text):
            commands.append(replace(found, line=found.line + begun, text=text))
            text = ""
    return commands + ([replace(found, text=text)] if text else [])


def _console(found: Command, lines: list[str]) -> list[Command]:
    starts = [number for number, line in enumerate(lines) if line.startswith("$ ")] + [len(lines)]
    return [
        replace(found, line=found.line + at, text=lines[at][2:], shown="\n".join(lines[at + 1 : end]))
        for at, end in zip(starts, starts[1:])
    ]


def of_text(document: str, text: str) -> list[Command]:
    """Commands and forms of Markdown, in the order in which they stand there."""
    items = [(match.start(), "fence", match) for match in _FENCE.finditer(text)]
    without = _FENCE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    items += [(match.start(), "mark", match) for match in _MARK.finditer(without)]
    without = _MARK.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), without)
    items += [(match.start(), "span", match) for match in _SPAN.finditer(without)]
    commands, below, kept = [], "", ""
    for block, (at, kind, match) in enumerate(sorted(items, key=lambda item: item[0])):
        if kind == "mark":
            words = " ".join(match[2].split())
            below, kept = (words, kept) if match[1] else (below, words)
            continue
        found = Command(document, text.count("\n", 0, at) + 1, "", block, kept or below)
        if kind == "fence":
            lines = match[2].splitlines()
            indent = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
            lines = [line[indent:] for line in lines]
            of_kind = {"sh": _fenced, "console": _console}.get(match[1])
            commands += of_kind(replace(found, line=found.line + 1), lines) if of_kind else []
            kept = ""
        elif _STARTS.match(span := " ".join(match[1].split())):
            is_form = "..." in span or bool(_NAMED.fullmatch(span))
            commands.append(replace(found, text=span, is_form=is_form))
            kept = kept if is_form else ""
    return commands


def unmarked(document: str, text: str) -> list[str]:
    """Lines of fences without a mark that look like commands."""
    return [
        f"{document}: {line.strip()}"
        for match in _FENCE.finditer(text)
        if not match[1]
        for line in match[2].splitlines()
        if re.match(rf"\s*(?:\$ )?{_STARTS.pattern}", line)
    ]


def of_help(topic: str, text: str) -> list[Command]:
    """Commands below `Examples:` of a help text."""
    before, _, rest = text.partition("\nExamples:\n")
    lines = rest.partition("\n\n")[0].splitlines()
    found = Command(f"gpusig help {topic}", before.count("\n") + 3, "", 0)
    return _fenced(found, [line.strip() if line.startswith("  ./") else line for line in lines])


def documents() -> dict[str, str]:
    """Texts of all Markdown files, by name."""
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True).stdout
    names = listed.split() or [path.relative_to(ROOT).as_posix() for path in ROOT.glob("**/*.md")]
    return {name: (ROOT / name).read_text(encoding="utf-8") for name in names if (ROOT / name).is_file()}


def help_texts() -> dict[str, str]:
    def said(*words: str) -> str:
        return subprocess.run([ROOT / "gpusig", *words], capture_output=True, text=True, check=True).stdout

    listed = said("help").partition("All commands:")[2].partition("\n\n")[0]
    topics = re.findall(r"^  (\w+) ", listed, re.MULTILINE)
    return {topic: said("help", topic) for topic in topics}


def commands() -> list[Command]:
    """All commands and forms of all documents and help texts, in their order."""
    found = [command for name, text in documents().items() for command in of_text(name, text)]
    return found + [command for topic, text in help_texts().items() for command in of_help(topic, text)]


if __name__ == "__main__":
    for one in (one for one in commands() if not one.is_form):
        print(f"{one.place}: {one.text}" + (f"   # not run: {one.kept}" if one.kept else ""))
