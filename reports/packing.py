# SPDX-License-Identifier: BSD-3-Clause
"""Lists of alike objects as tables, and back: a key is stated once, and so is a value that all of them share.

{"rows_of": ["x", "y"], "rows": [[1, 2], [3, 4]], "same": {"unit": "s"}} stands for two objects with x, y and unit. Of what is
too long a part is kept, evenly spread, and "of" says how long it was; {"list": [1, 9], "of": 9} is such a list of anything else.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Sequence, Tuple

from reports.jsonl import Json

_MORE = "…"  # the key that stands for the entries left out of an object


def spread(items: Sequence[Any], most: int) -> List[Any]:
    """At most so many, evenly; the first and the last are kept."""
    if len(items) <= most:
        return list(items)
    if most < 2:
        return list(items[:most])
    return [items[round(i * (len(items) - 1) / (most - 1))] for i in range(most)]


def split_columns(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> Tuple[Dict[str, Any], List[str]]:
    """The names whose value is the same in all rows, with it, and the others. 1 and true are not the same."""
    def same(name: str) -> bool:
        first = rows[0][name]
        return all(type(row[name]) is type(first) and row[name] == first for row in rows)

    shared = {name: rows[0][name] for name in names if same(name)}
    return shared, [name for name in names if name not in shared]


def _pack_object(value: Json, most: int) -> Json:
    names = spread(list(value), max(most, 1) * 2)
    packed = {name: pack(value[name], most) for name in names}
    if len(names) < len(value):
        packed[_MORE] = "%d more" % (len(value) - len(names))
    return packed


def pack(value: Any, most: int) -> Any:
    """The value with at most so many entries in every list, and with tables in place of lists of objects with the same keys."""
    if isinstance(value, dict):
        return _pack_object(value, most)
    if not isinstance(value, list):
        return value
    items = spread(value, most)
    of = {"of": len(value)} if len(items) < len(value) else {}
    if len(items) > 1 and all(isinstance(item, dict) and item.keys() == items[0].keys() for item in items):
        shared, names = split_columns(items, sorted(items[0]))
        if names:
            same = {"same": pack(shared, most)} if shared else {}
            return {"rows_of": names, "rows": [[pack(item[name], most) for name in names] for item in items], **same, **of}
    packed = [pack(item, most) for item in items]
    return {"list": packed, **of} if of else packed


def rows_of(table: Json) -> List[Json]:
    """Raises ValueError where a row has too many or too few values."""
    names, found = [str(name) for name in table["rows_of"]], []
    for row in table["rows"]:
        if not isinstance(row, list) or len(row) != len(names):
            raise ValueError("a row of %d values under %d names" % (len(row) if isinstance(row, list) else 0, len(names)))
        found.append({**table.get("same", {}), **dict(zip(names, row))})
    return found


def unpack(value: Any) -> Any:
    """What pack() was given, as far as it was kept."""
    if isinstance(value, list):
        return [unpack(item) for item in value]
    if not isinstance(value, dict):
        return value
    if isinstance(value.get("rows_of"), list) and isinstance(value.get("rows"), list):
        return [{name: unpack(inner) for name, inner in item.items()} for item in rows_of(value)]
    if value.keys() == {"list", "of"}:
        return unpack(value["list"])
    return {name: unpack(inner) for name, inner in value.items()}
