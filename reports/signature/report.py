# SPDX-License-Identifier: BSD-3-Clause
"""The report: one HTML file that needs no network, no script and no other file."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from typing import Any, Dict, List, Optional, Tuple

from reports.signature import left_out, machine, tails
from reports.signature.answers import TRUST, answers
from reports.records.causes import CONTENDED, NOISY
from reports.page.charts import draw_share
from reports.records.csv_files import METRICS, TIMINGS
from reports.signature.details import RECORDS, details_of
from reports.page.glossary import Linker, words
from reports.records.groups import grouped
from reports.records.jsonl import Json
from reports.records.quantity import (
    BOUND,
    half_width,
    human,
    human_interval,
    listing,
    number_and_unit,
    percent,
    plural,
    spell,
)
from reports.signature.section import Bar, Bars, Figure, Panels, Section, Table
from reports.signature.sections import figures_of, method_of
from reports.signature.sections.node import fact_text
from reports.signature.signature import Signature
from reports.records.spread import differs_much, sentence_of, source_of, told, told_interval
from reports.records.state import telemetry_of
from reports.page.svg import markup
from reports.page import markdown
from reports.page.template import Anchors, hold, page_template, slug, style_of

_FILES = (
    (METRICS, "every value, valid or not, with its interval and its flags"),
    (TIMINGS, "the times of every variant"),
    (RECORDS, "all samples, facts and mechanisms"),
    ("signature.json", "what this machine is compared by"),
    ("machine.model", "a model of it, for --device sim:FILE"),
)
FOLDED, FEW = 12, 4  # rows of a table that are shown, the others folded; so few others are shown, too
_DETAILS = 20  # rows of the tables at the end of a section
_PROVENANCE = 4  # rows of a table of provenance
_NOTES = 12  # of what is left out, before the others are folded
_LONGEST = 1000  # characters of a text
_FIGURES = 1  # of a section, the others folded
_PANELS = 6  # charts of a figure, the others folded
_LEAD = 200  # characters of what stands above the first chart, the rest behind it
_OWN = ("spec", "state")  # of a device; said elsewhere
_NAME = 160  # characters of the name of a table or a chart
_IDS = ("headline", "headline-title", "left-out", "left-out-title", "contents")
_IDS += ("model", "words", "provenance")


def caption(text: str) -> str:
    """A capital at the start, unless the first word is a formula."""
    text = text.replace("median_s", "median time")
    first = text.split(" ")[0].rstrip(":,")
    return hold(text[:1].upper() + text[1:] if first.isalpha() else text)


def first_sentence(text: str) -> str:
    """Up to the first full stop or semicolon that is followed by a space."""
    found = re.match(r".*?[.;](?= )", text)
    return found.group().rstrip(".;") + "." if found else text


def lead(text: str) -> Tuple[str, str]:
    """The sentence that stands above the first chart, and the rest of a long one, which stands behind it."""
    if len(text) <= _LEAD:
        return text, ""
    cut = max(text.rfind("; ", 0, _LEAD), text.rfind(". ", 0, _LEAD))
    if cut < 0:
        cut = min((i for i in (text.find("; "), text.find(". ")) if i >= 0), default=len(text))
    rest = text[cut + 2 :]
    return text[:cut] + ("." if cut < len(text) else ""), rest[:1].upper() + rest[1:]


def anchor(section: Section) -> str:
    return slug(section.group.program, section.group.device)


# ------------------------------------------------------------------ rows


def _grade(bar: Bar) -> Dict[str, Any]:
    """ "noisy, ±18 %" under the name; a contended one is pale."""
    width = half_width(bar.value, bar.low, bar.high, bar.unit)
    return {
        "grade": hold(", ".join(t for t in (bar.grade, width) if t)) if bar.grade else "",
        "grade_reason": bar.grade_reason,
        "faded": bar.grade == CONTENDED,
    }


def _bar(bar: Bar, virtual: bool) -> Dict[str, Any]:
    if not told(bar.low, bar.high, bar.value, virtual):
        bar = dataclasses.replace(bar, low=None, high=None)
    number, unit = number_and_unit(bar.value, bar.unit)
    row: Dict[str, Any] = {
        "label": bar.label,
        "words": "",
        "anchor": "",
        "metric": "",
        "condition": "",
        "hint": bar.hint,
        "number": number,
        "unit": unit,
        "why": bar.why_invalid,
        "n": bar.n or "",
        "graph": "",
        "share": "",
        **_grade(bar),
        "interval": human_interval(bar.low, bar.high, bar.value, bar.unit),
        "source": bar.source,
    }
    if bar.of and bar.of > 0:
        of = bar.of
        low, high = (None if v is None else v / of for v in (bar.low, bar.high))
        row["graph"] = markup(draw_share(bar.value / of, low, high, bar.of_name))
        row["share"] = percent(bar.value / of) if bar.of_name else ""
    return row


def _primary_bar(name: str, entry: Json, virtual: bool) -> Bar:
    label = name[len(entry["program"]) + 1 :] if name.startswith(entry["program"] + "/") else name
    arrow = {"lower": "\u00a0↓", "higher": "\u00a0↑"}.get(entry["better"], "")
    full = entry["value"] / entry["share"] if entry["share"] else None
    return Bar(
        spell(label) + arrow,
        entry["value"],
        entry["unit"],
        *told_interval(entry, virtual),
        entry["n"],
        full,
        entry["bound_name"] or "",
        "",
        entry.get("grade", ""),
        entry.get("grade_reason", ""),
        caption(entry["formula"]),
        _source(entry),
    )


def _source(entry: Json) -> str:
    """Origin of the interval's width, with the interval of the median where that is another."""
    said = [source_of(entry)]
    if differs_much(entry):
        own = human_interval(entry["ci_low"], entry["ci_high"], entry["value"], entry["unit"])
        said.append("measured %s" % own)
    return ", ".join(t for t in said if t)


def _headline(signature: Signature) -> List[Dict[str, Any]]:
    anchors = {(s.group.program, s.group.device): anchor(s) for s in signature.sections}
    linked, groups, virtual = Linker(), [], signature.json["simulated"]
    for title, rows in grouped(signature.primary):
        bars = []
        for name, entry in rows:
            bar = _primary_bar(name, entry, virtual)
            row = _bar(bar, virtual)
            row["condition"] = linked(entry["condition"][:_LONGEST])
            row["words"] = linked.marks(bar.label)
            row["anchor"] = anchors.get((entry["program"], entry["device"]), "")
            row["metric"] = re.sub(r"\b(\w+)/\1_", r"\1/", name)
            bars.append(row)
        groups.append({"title": title, "bars": bars})
    return groups


def _headline_note(signature: Signature) -> str:
    """The bound that a full bar stands for, for each headline number that has one."""
    limited = [entry for entry in signature.primary.values() if entry["share"] is not None]
    bounds = Counter(entry["bound_name"] or BOUND for entry in limited)
    text = "A full bar is 100 %% of %s." % ", or of ".join(bounds)
    text = text if bounds else "No reachable limit is known for these."
    if bounds and sum(bounds.values()) < len(signature.primary):
        text += " No bar: no limit is known that a device can reach."
    text += (" " + machine.unknown_nominal(signature.json)).rstrip()
    text += " ↑ more is better, ↓ less. "
    virtual = signature.json["simulated"]
    if any(told_interval(entry, virtual)[0] is not None for entry in signature.primary.values()):
        text += sentence_of(signature.json["run_spread"])
    elif virtual:
        text += "Times of a model repeat exactly: there are no intervals."
    graded = {entry.get("grade") for entry in signature.primary.values()}
    return text + "".join(" " + sentence for grade, sentence in _GRADES if grade in graded)


_GRADES = (
    (NOISY, "Noisy: the interval is wide, or has few samples; compare the interval, not the median."),
    (CONTENDED, "Pale: other programs used the machine, and a repeat gave about the same."),
)


def _markdown(signature: Signature) -> str:
    """The first screen, to be copied: the machine, the command, the headline numbers and the verdict."""
    virtual = signature.json["simulated"]
    title = [machine.name_of(signature.json), machine.sentence_of(signature.json)]
    rows = []
    for name, entry in signature.primary.items():
        bar = _primary_bar(name, entry, virtual)
        interval = human_interval(bar.low, bar.high, bar.value, bar.unit)
        share = percent(entry["share"]) if bar.of and bar.of_name else ""
        holds = "; ".join(t for t in (entry.get("grade"), entry["condition"]) if t)
        rows.append([name, human(bar.value, bar.unit), interval, bar.n or "", share, holds])
    alarms = ["%s %s" % (n.head, n.text) for n in machine.warnings(signature.json) if n.kind == "failed"]
    texts = [*title, *alarms, TRUST + " " + machine.verdict(signature).text]
    table = markdown.table(("metric", "median", "95 %", "n", "of its limit", "condition"), rows, (0, 5))
    command = ["`%s`" % signature.command] * bool(signature.command)
    return "\n\n".join([*map(markdown.plain, texts), *command, "\n".join(table)])


# ------------------------------------------------------------------ sections


_LOOKS = (
    ("hollow", " Hollow points are invalid and are not used."),
    (
        "graded",
        " Pale points are noisy or contended: what counts is their 95 % interval, the bar (cut at half and "
        "twice the value).",
    ),
)


def _figure(figure: Figure, section: Section, linked: Linker) -> Dict[str, Any]:
    drawn, title = _drawn(figure, section.group.run.simulated), section.title
    name = "%s: %s" % (title, first_sentence(drawn["caption"] or drawn["heads"]))
    return dict(drawn, caption=linked(drawn["caption"]), name=name[:_NAME])


def _drawn(figure: Figure, virtual: bool) -> Dict[str, Any]:
    if isinstance(figure, Panels):
        charts = figure.drawn()
        flagged = "".join(text for css, text in _LOOKS if any('"dot %s' % css in c for c in charts))
        return {
            "kind": "panels",
            "charts": [markup(c) for c in charts],
            "caption": caption(figure.caption + flagged),
            "columns": "wide" if figure.wide else figure.columns,
            "heads": "charts",
        }
    if isinstance(figure, Bars):
        return {
            "kind": "bars",
            "bars": [_bar(b, virtual) for b in figure.rows],
            "caption": caption(figure.caption),
            "head": figure.head,
            "heads": figure.head or "bars",
            "graph_head": figure.graph_head if any(b.of for b in figure.rows) else "",
        }
    return {
        "kind": "table",
        "table": _without_repeats(figure),
        "caption": caption(figure.caption),
        "heads": ", ".join(figure.heads),
    }


def _without_repeats(table: Table) -> Table:
    """Rows of one name each that hold the same numbers as one row, where there are many."""
    names: Dict[Tuple[str, ...], List[str]] = {}
    for name, *cells in table.rows:
        names.setdefault(tuple(cells), []).append(name)
    if table.words != 1 or max(map(len, names.values()), default=0) <= FEW:
        return table
    rows = [
        [own[0] + (" and %d more, all the same" % (len(own) - 1) if own[1:] else ""), *cells]
        for cells, own in names.items()
    ]
    return dataclasses.replace(table, rows=rows)


def _order(figures: List[Figure]) -> Tuple[List[Figure], int]:
    """The figures, those on demand last, and how many are shown without unfolding; one alone is not worth
    it."""
    last = [f for f in figures if isinstance(f, Panels) and f.folded]
    first = [f for f in figures if f not in last]
    return first + last, len(first) if len(first) <= _FIGURES + 1 else _FIGURES


def _section(section: Section, main: str) -> Dict[str, Any]:
    figures, unfolded = _order(figures_of(section) + tails.figures(section))
    run, device, linked = section.group.run, section.group.device, Linker()
    said, rest = lead(section.summary)
    question, summary = linked(run.question[:_LONGEST]), linked(hold(said)[:_LONGEST])
    shown = [_figure(f, section, linked) for f in figures]
    more = (("More", rest), ("Formula", run.formula), ("Timed", run.timed), ("Limits", run.limits))
    notes = [(term, linked(hold(text)[:_LONGEST])) for term, text in more if text]
    return {
        "title": section.title,
        "anchor": anchor(section),
        "program": section.group.program,
        "device": "" if device in (main, "none") else device,
        "question": question,
        "summary": summary,
        "in_short": first_sentence(hold(section.summary)),
        "figures": shown,
        "unfolded": unfolded,
        "notes": notes,
        "method": method_of(section.group.program),
        "details": details_of(section, _DETAILS),
    }


# ------------------------------------------------------------------ provenance and page


def _provenance(signature: Json) -> List[Table]:
    origin = signature["provenance"]
    fields = [[name.replace("_", " "), fact_text(name, value)] for name, value in origin["fields"].items()]
    tables = [Table(["field", "found"], fields, "", 2)] if fields else []
    if origin["environment"]:
        rows = [[name, str(value)] for name, value in origin["environment"].items()]
        said = "Variables known to change results; only those that are set."
        tables.append(Table(["variable", "value"], rows, said, 2))
    if origin["changed_between_runs"]:
        changed = origin["changed_between_runs"].items()
        rows = [[name, " → ".join(fact_text(name, v) for v in values)] for name, values in changed]
        tables.append(Table(["changed between runs", "values"], rows, "", 2))
    of_devices: Dict[Tuple[str, str], List[str]] = {}
    for name, device in signature["devices"].items():
        said = [(key.replace("_", " "), _device_text(key, v)) for key, v in device.items() if key not in _OWN]
        telemetry = telemetry_of(device)
        said += [(spell(r.name), "%s: %s" % (r.text, r.reason) if r.reason else r.text) for r in telemetry]
        for pair in said:
            of_devices.setdefault(pair, []).append(name)
    rows = [
        ["all %d" % len(names) if 1 < len(names) == len(signature["devices"]) else listing(names, 4), *pair]
        for pair, names in of_devices.items()
    ]
    if rows:
        tables.append(Table(["device", "property", "value"], rows, "0 is unknown.", 3))
    runs = []
    for r in signature["runs"]:
        cases = ", ".join("%d %s" % (n, s.replace("_", " ")) for s, n in r["cases"].items() if n)
        end = [r["status"], human(r["elapsed_s"], "s"), cases, " ".join(r["argv"])]
        runs.append([r["program"], r["device"], r["started"] or "–", *end])
    if runs:
        tables.append(Table(["program", "device", "started", "end", "took", "cases", "command"], runs, "", 7))
    return tables


def _prediction(found: Optional[Json]) -> Optional[Table]:
    """Error of the model in programs that it was not made of; None where nothing was simulated."""
    if not found:
        return None
    rows, failed = [], []
    for row in found["programs"]:
        if row["reason"] or not row["times"]:
            failed.append("%s (%s)" % (row["program"], row["reason"] or "no time of both"))
            continue
        constant = "%s, %d" % (row["constant"], row["constant_right"]) if row["constant"] else "–"
        right = "%d of %d" % (row["right"], row["choices"]) if row["choices"] else "–"
        off = [percent(value) for value in (row["median"], row["most"], row.get("between"))]
        if row.get("corrected") is not None:
            off[0] += ", corrected %s" % percent(row["corrected"])
        undecided, loss = str(row.get("undecided", 0)), percent(row["mean_loss"])
        rows.append([row["program"], str(row["cases"]), *off, right, constant, loss, undecided])
    heads = ["program", "cases", "times off, median", "most", "ratios off, median"]
    heads += ["right", "best constant", "mean loss", "undecided"]
    said = _OF_PREDICTION + (" Not simulated: %s." % "; ".join(failed) if failed else "")
    return Table(heads, rows, said, 1) if rows else None


_OF_PREDICTION = (
    "Right: of the ways to do the same work, the one that the model takes for the fastest is at most 2 % "
    "slower on the machine than the fastest, or their intervals overlap. Best constant: the one way that is "
    "right most often if it is always chosen, known only afterwards. Loss: of the chosen way. Undecided: "
    "work of which every way is right, which is no choice. Ratios: of the times of two ways to do the same "
    "work, one of them the chosen way. Corrected: by how far the model is off in the same schedule of other "
    "shapes, as ./gpusig advise does; then choices and ratios are those of corrected times."
)


def _device_text(key: str, value: Any) -> str:
    if key == "model" and isinstance(value, dict):
        return "%s, contents %s" % (value.get("name"), value.get("contents"))
    if isinstance(value, list):
        return ", ".join(str(v) for v in value)
    return fact_text(key, value) or "–"


def _bounded(value: Any) -> Any:
    """With no text, except for drawings, longer than a reader could want."""
    if type(value) is str:
        return value if len(value) <= _LONGEST else value[:_LONGEST] + "…"
    if isinstance(value, Table):
        return dataclasses.replace(value, rows=_bounded(value.rows))
    if isinstance(value, dict):
        return {name: _bounded(inner) for name, inner in value.items()}
    return type(value)(_bounded(inner) for inner in value) if type(value) in (list, tuple) else value


def _kicker(json: Json) -> List[str]:
    """The host, and when the run began."""
    host = str(json["provenance"]["fields"].get("hostname") or "")
    first = min((r["started"] for r in json["runs"] if r["started"]), default="")
    return [host] * bool(host) + [first.replace("T", " ")[:16] + " UTC"] * bool(first)


def _context(signature: Signature) -> Dict[str, Any]:
    json = signature.json
    fields = json["provenance"]["fields"]
    kicker = _kicker(json) + [machine.counts(signature)]
    version, runs = fields.get("version") or "of unknown version", plural(len(json["runs"]), "run")
    return {
        "title": "gpusig: " + machine.name_of(json),
        "kicker": kicker,
        "command": signature.command,
        "files": _FILES,
        "machine": {
            "name": machine.name_of(json),
            "sentence": hold(machine.sentence_of(json)),
            "state": [(i.label, hold(i.text), i.hint) for i in machine.state_of(json)],
        },
        "banners": [dict(vars(n), alarm=n.kind == "failed") for n in machine.warnings(json)],
        "answers": [(question, hold(answer)) for question, answer in answers(signature)],
        "trust": TRUST,
        "verdict": machine.verdict(signature),
        "headline": _headline(signature),
        "headline_note": _headline_note(signature),
        "skipped": left_out.skipped(json),
        "most_notes": _NOTES,
        "words": words(),
        "sections": [_section(s, json["device"]) for s in signature.sections],
        "folded": FOLDED,
        "few": FEW,
        "prediction": _prediction(signature.prediction),
        "prediction_sentence": signature.prediction["sentence"] if signature.prediction else "",
        "provenance_rows": _PROVENANCE,
        "most_panels": _PANELS,
        "provenance": _provenance(json),
        "footer": "gpusig %s; %s. The same records give the same page." % (version, runs),
    }


def render(signature: Signature) -> str:
    """Raises MissingDependency where jinja2 is not installed."""
    template = page_template("report.html")
    style, style_hash = style_of("report.css", running=running_of(signature))
    context = _bounded(_context(signature))
    context["anchors"] = Anchors([*_IDS, *map(anchor, signature.sections), *(w.anchor for w in words())])
    context["markdown"] = _markdown(signature)
    return template.render(context, style=style, style_hash=style_hash) + "\n"


def running_of(signature: Signature) -> str:
    """The machine and the run, for the foot of every printed page."""
    return " · ".join(["gpusig", machine.name_of(signature.json)[:60], *_kicker(signature.json)])
