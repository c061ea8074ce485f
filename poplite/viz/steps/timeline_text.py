"""All tiles in time, as text."""

from __future__ import annotations

from itertools import groupby

from poplite.viz.draw.columns import wrapped
from poplite.viz.draw.phases import Part, legend_lines, marked
from poplite.viz.draw.terminal import DEFAULT_STYLE, Style
from poplite.viz.steps.text import draw_steps_text
from poplite.viz.steps.timeline import STATES, WAITING, Timeline


def draw_timeline_text(timeline: Timeline, style: Style = DEFAULT_STYLE) -> str:
    """Draw all tiles in time as text, and below it the list of the steps."""
    if not timeline.cycles:
        return draw_steps_text(timeline.steps, style)
    labels = [timeline.label(first) for first in timeline.starts]
    borders = {
        first: f"IPU {timeline.ipu_at(first)}"
        for first in timeline.starts
        if timeline.ipu_at(first)
    }
    side = max(len("tiles"), *map(len, (*labels, *borders.values())))
    columns = style.columns - side - 3
    bar = "|" if style.ascii_only else "│"
    cells = timeline.cells(columns)
    lines = [style.bold(line) for line in wrapped(timeline.heading, style.columns)]
    lines += ["", style.faint(f"{'steps':>{side}}  {_numbers(timeline, columns)}".rstrip())]
    dash = "-" if style.ascii_only else "─"
    for first, label, row in zip(timeline.starts, labels, cells.tolist(), strict=True):
        if first in borders:
            lines.append(style.faint(f"{borders[first]:>{side}} {bar}{dash * columns}{bar}"))
        runs = ((state, len(list(run))) for state, run in groupby(row))
        drawn = "".join(
            " " * count if state == WAITING else marked(STATES[state], count, style)
            for state, count in runs
        )
        lines.append(f"{style.faint(f'{label:>{side}} {bar}')}{drawn}{style.faint(bar)}")
    end = f"{timeline.cycles:,}"
    axis = f"0{'cycles':^{max(0, columns - 1 - len(end))}}{end}"
    lines.append(style.faint(f"{'tiles':>{side}}  {axis}"))
    present: set[Part] = {STATES[state] for state in set(cells.ravel().tolist()) - {WAITING}}
    lines += [*legend_lines(present, style, blank="waiting"), ""]
    table = draw_steps_text(timeline.steps, style).split("\n\n")[1]
    return "\n".join([*lines, table.rstrip("\n"), ""])


def _numbers(timeline: Timeline, columns: int) -> str:
    """Return the numbers of steps where they begin, as far as there is room."""
    line = ""
    for row, begin in zip(timeline.steps.rows, timeline.begins, strict=True):
        at, number = begin * columns // timeline.cycles, f"{row.number}"
        if (not line or at > len(line)) and at + len(number) <= columns:
            line = f"{line:<{at}}{number}"
    return line
