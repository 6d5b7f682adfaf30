# SPDX-License-Identifier: BSD-3-Clause
"""Hold records, a signature or advice against reports/schema. For programs' tests; building a report needs
none of it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Iterator, Tuple

from reports.records.jsonl import Json, BadRecord, open_regular, parse_line, read_lines, read_object

SCHEMA = Path(__file__).parents[1] / "schema"
SHOWN = 20
_PARTS = {"advice_comparison": ("answers", "advice")}  # a list of objects that have a schema of their own


def schema(name: str) -> Json:
    return json.loads((SCHEMA / (name + ".schema.json")).read_text(encoding="utf-8"))


def _problems(path: Path) -> Iterator[Tuple[int, str]]:
    """Line number and complaint of everything that is not as the schema says."""
    import jsonschema

    def complaints(validator: object, value: Json) -> Iterator[str]:
        for error in validator.iter_errors(value):
            yield "%s: %s" % ("/".join(str(p) for p in error.absolute_path) or "record", error.message[:300])

    if path.suffix == ".json":
        value = read_object(path)
        said = str(value.get("schema")).partition("gpusig.")[2]
        name = said if said in {path.name.partition(".")[0] for path in SCHEMA.iterdir()} else "signature"
        yield from ((1, text) for text in complaints(jsonschema.Draft7Validator(schema(name)), value))
        parts, of_parts = _PARTS.get(name, ("", ""))
        for number, part in enumerate(value[parts] if isinstance(value.get(parts), list) else ()):
            validator = jsonschema.Draft7Validator(schema(of_parts))
            yield from ((1, "%s/%d: %s" % (parts, number, text)) for text in complaints(validator, part))
        return
    validator = jsonschema.Draft7Validator(schema("record"))
    with open_regular(path) as stream:
        for number, line in read_lines(stream):
            if isinstance(line, BadRecord):
                yield number, str(line)
                continue
            try:
                value = parse_line(line)
            except BadRecord as why:
                yield number, str(why)
                continue
            yield from ((number, text) for text in complaints(validator, value))


def validate_file(path: Path) -> int:
    """0 all right, 1 not as the schema says, 2 unreadable or no jsonschema here."""
    try:
        found = list(_problems(path))
    except ImportError:
        print("gpusig: validate needs the Python package jsonschema", file=sys.stderr)
        return 2
    except (OSError, ValueError) as why:
        print("gpusig: validate %s: %s" % (path, getattr(why, "strerror", None) or why), file=sys.stderr)
        return 2
    for number, text in found[:SHOWN]:
        print("%s:%d: %s" % (path, number, text), file=sys.stderr)
    if len(found) > SHOWN:
        print("and %d more" % (len(found) - SHOWN), file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(validate_file(Path(sys.argv[1])))
