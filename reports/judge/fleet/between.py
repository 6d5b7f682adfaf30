# SPDX-License-Identifier: BSD-3-Clause
"""The network between the nodes of a fleet, from records of collectives/pairs over several hosts.

They are in FLEET/between/, or in any folder of the fleet whose records.jsonl begins with such a run: of the
other nodes' records no more than the first line is read. Of several runs the latest counts, and of its cases
the one that the report has first: all pairs at once, the largest messages. slow_links.py judges them."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from reports.records.jsonl import BadRecord, Json, Reader, open_regular, parse_line, read_lines
from reports.records.quantity import human, plural
from reports.records.record_file import read as read_records
from reports.records.records import Group
from reports.signature.sections.pairs import PROGRAM, PairCase, cases_of
from reports.signature.slow_links import Measured

FOLDER = "between"


def is_of_pairs(path: Path) -> bool:
    """True if the first record is a run of the program on several hosts."""
    try:
        with open_regular(path) as stream:
            _, line = next(read_lines(stream), (0, BadRecord("empty")))
        if isinstance(line, BadRecord):
            return False
        reader = Reader(parse_line(line), "record")
        return reader.text("program") == PROGRAM and reader.object_or_empty("job").count("hosts") > 1
    except (OSError, BadRecord):
        return False


def files_of(folder: Path) -> list[Path]:
    """Files to read; empty where nobody measured between nodes."""
    found: list[Path] = []
    with suppress(OSError):
        found += sorted((folder / FOLDER).glob("*.jsonl"))
        folders = [path for path in folder.iterdir() if path.name != FOLDER and path.is_dir()]
        found += sorted(path / "records.jsonl" for path in folders)
    return [path for path in found if is_of_pairs(path)]


def _latest(files: list[Path]) -> tuple[Path, PairCase] | None:
    found: list[tuple[str, int, Path, Group]] = []
    for number, path in enumerate(files):
        try:
            groups = read_records(path).groups.values()
        except OSError:
            continue
        found += [
            (group.run.started or "", number, path, group) for group in groups if group.program == PROGRAM
        ]
    for _, _, path, group in sorted(found, key=lambda entry: entry[:2], reverse=True):
        cases = [pairs for pairs in cases_of(group) if pairs.between]
        if cases:
            return path, cases[0]
    return None


def _value(measured: Measured | None) -> float | None:
    return measured.value if measured else None


def _link(pairs: PairCase, a: int, b: int) -> Json:
    """`bandwidth` is that of the slower direction, `ratio` that over what is usual, null where too few nodes
    tell."""
    forth, back = (_value(pairs.links.bandwidth.get(ends)) for ends in ((a, b), (b, a)))
    known = [rate for rate in (forth, back) if rate is not None]
    usual = pairs.found.usual_bandwidth
    return {
        "a": pairs.label(a),
        "b": pairs.label(b),
        "bandwidth": min(known) if known else None,
        "a_to_b": forth,
        "b_to_a": back,
        "latency_s": _value(pairs.links.latency.get((a, b))),
        "ratio": min(known) / usual if known and usual else None,
        "slow": (a, b) in pairs.found.slow or (b, a) in pairs.found.slow,
        "late": (a, b) in pairs.found.late,
    }


def read(folder: Path) -> Json | None:
    """Nodes, rounds, every link, and which links and nodes are slow; None where the folder has no such
    records."""
    latest = _latest(files_of(folder))
    if latest is None:
        return None
    path, pairs = latest
    ends = sorted({(min(e), max(e)) for e in (*pairs.links.bandwidth, *pairs.links.latency)})
    explained = {(min(e), max(e)) for node in pairs.found.nodes for e in node.ends}
    slow = [(min(e), max(e)) for e in pairs.found.alone]
    return {
        "records": str(path.relative_to(folder)),
        "case": pairs.case.key,
        "nodes": [pairs.label(r) for r in pairs.ranks],
        "rounds": pairs.case.number("rounds"),
        "rounds_of_all_pairs": pairs.case.number("rounds_of_all_pairs"),
        "usual_bandwidth": pairs.found.usual_bandwidth,
        "usual_latency_s": pairs.found.usual_latency,
        "links": [_link(pairs, a, b) for a, b in ends],
        "slow_nodes": [
            {"node": pairs.label(n.node), "sends": n.sends, "receives": n.receives} for n in pairs.found.nodes
        ],
        "slow_links": [
            {"a": pairs.label(a), "b": pairs.label(b)}
            for a, b in dict.fromkeys(slow)
            if (a, b) not in explained
        ],
    }


def without_good_links(found: Json) -> Json:
    """The part that a fleet keeps: the links that are slow or late, and the number of all."""
    links = found["links"]
    return dict(found, links=[link for link in links if link["slow"] or link["late"]], pairs=len(links))


def holds_only_pairs(folder: Path) -> bool:
    """True for a folder of the fleet that is no node."""
    return folder.name == FOLDER or is_of_pairs(folder / "records.jsonl")


# ------------------------------------------------------------------ in words


def _does(node: Json) -> str:
    return " and ".join(["sends"] * node["sends"] + ["receives"] * node["receives"])


def node_text(node: Json) -> str:
    return "everything that it %s between nodes is slow" % _does(node)


def _link_text(found: Json, link: Json) -> str:
    """The slower of both directions."""
    own = next((one for one in found["links"] if (one["a"], one["b"]) == (link["a"], link["b"])), None)
    rate = ""
    if own and own["bandwidth"] is not None and own["ratio"] is not None:
        rate = " (%s, %.2f of the usual rate)" % (human(own["bandwidth"], "byte/s"), own["ratio"])
    return "the link of %s and %s is slow%s" % (link["a"], link["b"], rate)


def slow_texts(found: Json) -> list[str]:
    """Slow nodes, then slow links, a clause each."""
    return ["everything that %s %s is slow" % (node["node"], _does(node)) for node in found["slow_nodes"]] + [
        _link_text(found, link) for link in found["slow_links"]
    ]


def summary(found: Json) -> str:
    """ "6 pairs of 4 nodes in 3 rounds; usual 11.0 GB/s one way and 2.10 µs\"."""
    usual = [
        human(found[name], unit) + more
        for name, unit, more in (("usual_bandwidth", "byte/s", " one way"), ("usual_latency_s", "s", ""))
        if found[name] is not None
    ]
    late = sum(link["late"] for link in found["links"])
    return "%s of %s in %s; %s%s" % (
        plural(found["pairs"], "pair"),
        plural(len(found["nodes"]), "node"),
        plural(int(found["rounds"] or 0), "round"),
        "usual " + " and ".join(usual) if usual else "too few nodes to know the usual rate",
        "; latency above three times that: %s" % plural(late, "pair") if late else "",
    )
