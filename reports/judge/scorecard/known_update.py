# SPDX-License-Identifier: BSD-3-Clause
"""reports/known/update [NAME SOURCE]: make the file of a known machine from SOURCE, or those of all known
machines anew, each from the source that its file names.

SOURCE is records (.jsonl, or .jsonl.xz) in the repository, or the device of a model, such as sim:h100:0-3, of
which a headline run is made.
"""

from __future__ import annotations

import json
import lzma
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Sequence

from reports.records import record_file
from reports.signature import signature
from reports.records.causes import completed
from reports.judge.compare.numbers import BadNumbers
from reports.records.files import write_whole
from reports.records.jsonl import Json
from reports.judge.scorecard import known

_ROOT = Path(__file__).resolve().parents[3]


def _of_records(path: Path) -> Json:
    with tempfile.TemporaryDirectory() as scratch:
        plain = Path(scratch) / "records.jsonl"
        content = path.read_bytes()
        plain.write_bytes(lzma.decompress(content) if path.suffix == ".xz" else content)
        return completed(signature.build(record_file.read(plain)).json)


def _of_model(device: str) -> Json:
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "run"
        subprocess.run(
            ["./gpusig", "run", "--no-install", "--device", device, "--headline", "--out", str(out)],
            cwd=_ROOT,
            stdout=subprocess.DEVNULL,
            check=True,
        )
        return _of_records(out / "records.jsonl")


def made(name: str, source: str) -> Json:
    found = _of_model(source) if source.startswith("sim:") else _of_records(_ROOT / source)
    return known.reduced(found, name, source)


def text_of(found: Json) -> str:
    """A line a number, so that a change of one is seen."""
    lines = ",\n".join(
        "%s: %s" % (json.dumps(key), json.dumps(entry, ensure_ascii=False))
        for key, entry in found["signature"]["metrics"].items()
    )
    whole = dict(found, signature=dict(found["signature"], metrics=None))
    text = json.dumps(whole, ensure_ascii=False, indent=1)
    return text.replace('"metrics": null', '"metrics": {\n%s}' % lines) + "\n"


def main(arguments: Sequence[str]) -> int:
    if len(arguments) not in (0, 2):
        print(__doc__, file=sys.stderr)
        return 2
    sources: dict[str, str] = (
        dict([arguments]) if arguments else {n: known.source_of(n) for n in known.names()}
    )
    try:
        for name, source in sources.items():
            write_whole(known.FOLDER / (name + ".json"), text_of(made(name, source)))
    except (OSError, lzma.LZMAError, BadNumbers, subprocess.CalledProcessError) as why:
        print("update: %s" % why, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
