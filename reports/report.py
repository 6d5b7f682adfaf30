# SPDX-License-Identifier: BSD-3-Clause
"""The report: one HTML file that needs no network, no script and no other file."""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from functools import lru_cache
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

from reports import machine
from reports.groups import grouped
from reports.charts import draw_share, draw_spark
from reports.curves import flag_text, flags_of, samples_behind, why_invalid
from reports.jsonl import Json
from reports.quantity import digits, human, human_interval, number_and_unit, percent, plural, spell
from reports.section import Bar, Bars, Figure, Panels, Section, Table
from reports.sections import spec_of
from reports.sections.node import fact_text
from reports.signature import Signature
from reports.state import telemetry_of

TEMPLATES = Path(__file__).parent / "templates"
MAX_ROWS = 2000


class MissingDependency(RuntimeError):
    """A library that the report needs is not installed; the text names it."""


def _markup(svg: str) -> Any:
    """Our own SVG, in which every text went through escape() already."""
    from markupsafe import Markup

    return Markup(svg)


_QUANTITY = re.compile(r"([0-9]) (%|[kMGT]?(?:B|FLOP)/s|[KMGT]iB|B|[nµm]?s|[MG]Hz|k?W|°C)(?![A-Za-z])")


def hold(text: str) -> str:
    """A number and its unit stay on one line."""
    return _QUANTITY.sub("\\1\u00a0\\2", text)


def caption(text: str) -> str:
    """A capital at the start, unless the first word is a formula."""
    text = text.replace("median_s", "median time")
    first = text.split(" ")[0].rstrip(":,")
    return hold(text[:1].upper() + text[1:] if first.isalpha() else text)


def anchor(section: Section) -> str:
    return re.sub(r"[^a-z0-9]+", "-", "%s %s" % (section.group.program.lower(), section.group.device.lower())).strip("-")


# ------------------------------------------------------------------ rows


def _bar(bar: Bar) -> Dict[str, Any]:
    number, unit = number_and_unit(bar.value, bar.unit)
    row: Dict[str, Any] = {"label": bar.label, "anchor": "", "condition": "", "hint": bar.hint, "number": number, "unit": unit,
                           "why": bar.why_invalid, "n": bar.n or "", "graph": "", "share": "",
                           "interval": human_interval(bar.low, bar.high, bar.value, bar.unit)}
    if bar.of and bar.of > 0:
        of = bar.of
        low, high = (None if v is None else v / of for v in (bar.low, bar.high))
        row["graph"] = _markup(draw_share(bar.value / of, low, high, bool(bar.of_name)))
        row["share"] = percent(bar.value / of) if bar.of_name else ""
    return row


def _primary_bar(name: str, entry: Json) -> Bar:
    label = name[len(entry["program"]) + 1:] if name.startswith(entry["program"] + "/") else name
    arrow = {"lower": " ↓", "higher": " ↑"}.get(entry["better"], "")
    full = entry["value"] / entry["share"] if entry["share"] else None
    return Bar(spell(label) + arrow, entry["value"], entry["unit"], entry["ci_low"], entry["ci_high"], entry["n"],
               full, entry["bound_name"] or "", hint=caption(entry["formula"]))


def _headline(signature: Signature) -> List[Dict[str, Any]]:
    anchors = {(s.group.program, s.group.device): anchor(s) for s in signature.sections}
    return [{"title": title, "bars": [dict(_bar(_primary_bar(name, entry)), condition=entry["condition"],
                                           anchor=anchors.get((entry["program"], entry["device"]), ""))
                                      for name, entry in rows]} for title, rows in grouped(signature)]


def _headline_note(signature: Signature) -> str:
    """The bound that a full bar stands for, for each headline number that has one."""
    bounds = Counter(entry["bound_name"] or "its bound" for entry in signature.primary.values() if entry["share"] is not None)
    text = "A full bar is the %s." % ", or the ".join(bounds) if bounds else "No reachable limit is known for these."
    if bounds and sum(bounds.values()) < len(signature.primary):
        text += " No bar: no limit is known that a device can reach."
    return text + " ↑ more is better, ↓ less. 95 % confidence interval of the median; no distribution assumed."


# ------------------------------------------------------------------ sections


def _figure(figure: Figure) -> Dict[str, Any]:
    if isinstance(figure, Panels):
        flagged = " Hollow points are invalid and are not used." if any('"dot hollow' in c for c in figure.charts) else ""
        return {"kind": "panels", "charts": [_markup(c) for c in figure.charts], "caption": caption(figure.caption + flagged),
                "wide": figure.wide}
    if isinstance(figure, Bars):
        return {"kind": "bars", "bars": [_bar(b) for b in figure.rows], "caption": caption(figure.caption), "head": figure.head,
                "graph_head": figure.graph_head if any(b.of for b in figure.rows) else ""}
    return {"kind": "table", "table": figure, "caption": caption(figure.caption)}


def _values_table(section: Section) -> Optional[Table]:
    rows = []
    for case in section.group.cases.values():
        for d in case.derived:
            share = percent(d.share) if d.share is not None else ""
            value = d.value if d.value is not None else 0.0
            rows.append([case.key or "–", d.variant or "–", d.name.replace("_", " "), human(d.value, d.unit),
                         human_interval(d.ci_low, d.ci_high, value, d.unit), samples_behind(case, d), share,
                         "no: " + ", ".join(flags_of(case, d)) if why_invalid(case, d) else "yes"])
    return _limited(["case", "variant", "quantity", "value", "95 %", "n", "of bound", "valid"], rows, 3, True)


def _timings_table(section: Section) -> Optional[Table]:
    rows = []
    for case in section.group.cases.values():
        for v in case.variants:
            median = v.median_s or 0.0
            rows.append([case.key or "–", v.name, human(v.median_s, "s"), human_interval(v.ci_low_s, v.ci_high_s, median, "s"),
                         human(v.min_s, "s"), human(v.p95_s, "s"), human(v.max_s, "s"), v.n,
                         "–" if v.lag1 is None else digits(v.lag1), "–" if v.drift is None else percent(v.drift),
                         {True: "yes", False: "no", None: "–"}[v.converged], _markup(draw_spark(v.samples_s))])
    return _limited(["case", "variant", "median", "95 %", "min", "p95", "max", "n", "lag 1", "drift", "in goal",
                     "samples in time order"], rows, 2)


def _facts_table(section: Section) -> Optional[Table]:
    rows = [[case.key or "–", name.replace("_", " "), fact_text(name, value)] for case in section.group.cases.values()
            for name, value in case.facts.items()]
    return _limited(["case", "fact", "value"], rows, 3)


def _cases_table(section: Section) -> Optional[Table]:
    rows = []
    for case in section.group.cases.values():
        seen = "; ".join("%s %s%s" % (m.name, "seen" if m.observed else "not seen", ": " + m.detail if m.detail else "")
                         for m in case.mechanism)
        check = case.check + (": " + case.check_detail if case.check_detail else "")
        flags = "; ".join("%s%s" % (f.variant + " " if f.variant else "", flag_text(f.flag, f.reason)) for f in case.flags)
        rows.append([case.key or "–", case.status, case.reason or "–", check, seen or "–", human(case.elapsed_s, "s"),
                     flags or "–"])
    return _limited(["case", "status", "reason", "check", "mechanism", "took", "flags"], rows, 5, True)


def _limited(heads: Sequence[str], rows: List[List[Any]], words: int, prose: bool = False) -> Optional[Table]:
    if not rows:
        return None
    hidden = len(rows) - MAX_ROWS
    shown = rows[:MAX_ROWS]
    if hidden > 0:
        shown.append(["%d more rows are in the records" % hidden] + [""] * (len(heads) - 1))
    return Table(heads, shown, "", words, prose)


def _details(section: Section) -> List[Dict[str, Any]]:
    tables = [("All values", _values_table(section)), ("All timings", _timings_table(section)),
              ("All facts", _facts_table(section)), ("All cases: status, check, mechanism, flags", _cases_table(section))]
    return [{"summary": "%s (%d)" % (title, len(table.rows)), "table": table} for title, table in tables if table]


def _section(section: Section, main: str) -> Dict[str, Any]:
    run = section.group.run
    notes = [(term, text) for term, text in (("Formula", run.formula), ("Timed", run.timed), ("Limits", run.limits)) if text]
    device = section.group.device
    return {"title": section.title, "anchor": anchor(section), "program": section.group.program,
            "device": "" if device in (main, "none") else device, "question": run.question, "summary": hold(section.summary),
            "figures": [_figure(f) for f in spec_of(section.group.program).figures(section)], "notes": notes,
            "details": _details(section)}


# ------------------------------------------------------------------ provenance and page


def _provenance(signature: Json) -> List[Table]:
    origin = signature["provenance"]
    fields = [[name.replace("_", " "), fact_text(name, value)] for name, value in origin["fields"].items()]
    tables = [Table(["field", "found"], fields, "", 2)] if fields else []
    if origin["environment"]:
        tables.append(Table(["variable", "value"], [[k, str(v)] for k, v in origin["environment"].items()],
                            "Variables known to change results; only those that are set.", 2))
    if origin["changed_between_runs"]:
        rows = [[name, " → ".join(fact_text(name, v) for v in values)] for name, values in origin["changed_between_runs"].items()]
        tables.append(Table(["changed between runs", "values"], rows, "", 2))
    rows = []
    for name, device in signature["devices"].items():
        rows += [[name, key.replace("_", " "), _device_text(key, value)] for key, value in device.items()
                 if key not in ("spec", "state")]
        rows += [[name, spell(r.name), "%s: %s" % (r.text, r.reason) if r.reason else r.text] for r in telemetry_of(device)]
    if rows:
        tables.append(Table(["device", "property", "value"], rows, "0 is unknown.", 3))
    runs = [[r["program"], r["device"], r["started"] or "–", r["status"], human(r["elapsed_s"], "s"),
             ", ".join("%d %s" % (n, s.replace("_", " ")) for s, n in r["cases"].items() if n), " ".join(r["argv"])]
            for r in signature["runs"]]
    if runs:
        tables.append(Table(["program", "device", "started", "end", "took", "cases", "command"], runs, "", 7))
    return tables


def _device_text(key: str, value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(str(v) for v in value)
    return fact_text(key, value) or "–"


def _context(signature: Signature, style: str) -> Dict[str, Any]:
    json = signature.json
    fields = json["provenance"]["fields"]
    started = sorted(r["started"] for r in json["runs"] if r["started"])
    kicker = [t for t in (str(fields.get("hostname") or ""), started[0].replace("T", " ")[:16] + " UTC" if started else "",
                          machine.counts(signature)) if t]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    footer = "gpusig %s; %s. The same records give the same page." % (
        fields.get("version") or "of unknown version", plural(len(json["runs"]), "run"))
    return {"title": "gpusig: " + machine.name_of(json), "style": _markup(style), "style_hash": "sha256-" + digest,
            "kicker": kicker, "machine": {"name": machine.name_of(json), "sentence": hold(machine.sentence_of(json)),
                                         "state": [(i.label, hold(i.text), i.hint) for i in machine.state_of(json)]},
            "banners": [{"alarm": n.kind == "failed", "head": n.head, "text": n.text} for n in machine.warnings(json)],
            "verdict": machine.verdict(signature), "headline": _headline(signature), "headline_note": _headline_note(signature),
            "skipped": machine.skipped(json), "sections": [_section(s, json["device"]) for s in signature.sections],
            "provenance": _provenance(json), "footer": footer}


def render(signature: Signature) -> str:
    """Raises MissingDependency where jinja2 is not installed."""
    style = (TEMPLATES / "report.css").read_text(encoding="utf-8")
    return _page_template().render(_context(signature, style)) + "\n"


@lru_cache(maxsize=None)
def _page_template() -> Any:
    try:
        import jinja2
    except ImportError:
        raise MissingDependency("report.html needs the Python package jinja2, which %s does not have" % _python()) from None
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(str(TEMPLATES)), autoescape=True,
                                     undefined=jinja2.StrictUndefined)
    return environment.get_template("report.html.j2")


def _python() -> str:
    import sys

    return sys.executable or "this Python"
