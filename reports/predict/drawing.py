# SPDX-License-Identifier: BSD-3-Clause
"""A sweep as a curve, and one bar of a tornado."""

from __future__ import annotations

from reports.page.charts import LineChart, Mark, Series, draw_lines
from reports.page.svg import Canvas, Scale
from reports.records.jsonl import Json

_WIDTH, _HEIGHT = 200, 16


def curve(sweep: Json) -> str:
    """Time relative to the model, over the value of the key."""
    marks = [Mark(one["value"], one["ratio"]) for one in sweep["points"] if one["ratio"] is not None]
    up = [(sweep["pays_to"], "stops paying")] if sweep["pays_to"] else []
    chart = LineChart(
        sweep["key"],
        sweep["key"],
        "",
        "",
        [Series("", marks)],
        up=up,
        across=[(1.0, "model as it is")],
        width=620,
        height=260,
        y_name="time / time on the model",
    )
    return draw_lines(chart)


def tornado_bar(one: Json, reach: float) -> str:
    """A bar to the left of the middle where the change saves time, to the right where it costs some."""
    canvas = Canvas(_WIDTH, _HEIGHT, "%s: %+.2f %% of the time" % (one["key"], 100 * (one["ratio"] - 1)))
    x = Scale(-reach, reach, 4, _WIDTH - 4, False)
    change = max(-reach, min(one["ratio"] - 1, reach))
    left, right = sorted((x(0.0), x(change)))
    canvas.rect(left, 3, right - left, _HEIGHT - 6, "saves" if change < 0 else "costs")
    canvas.line(x(0.0), 0, x(0.0), _HEIGHT, "zero")
    return canvas.render()
