"""Steps as SVG: the list with bars, and all tiles in time."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from poplite.text import amount
from poplite.viz.draw.columns import cut
from poplite.viz.draw.legend import draw_legend, entry_width
from poplite.viz.draw.phases import LOOKS, Part, entries
from poplite.viz.draw.svg import LONGEST_HEADING, Canvas, SvgText, box, text_width
from poplite.viz.draw.units import name_text, share_text
from poplite.viz.steps.step_list import StepList, StepRow
from poplite.viz.steps.timeline import STATES, WAITING, Timeline

MARGIN = 20
ROW = 20
BAR = 420
WIDE = 768
"""Width of all tiles in time, one column a pixel."""

LONGEST_NAME = 44
MOST_ROWS = 300
"""Most steps of the list; the JSON has all."""

HEADING = ("#", "cycles", "of all", "times", "balance")


def draw_steps_svg(steps: StepList) -> SvgText:
    """Draw steps as SVG.

    >>> "steps: 0, 0 cycles" in draw_steps_svg(StepList("", (), 0, 0))
    True
    """
    table = _Table(steps)
    canvas = Canvas(round(table.width), MARGIN + 54 + table.height, title=steps.heading)
    canvas.text(MARGIN, MARGIN + 14, cut(steps.heading, LONGEST_HEADING), "head ink")
    table.draw(canvas, MARGIN + 44)
    return canvas.text_of()


def draw_timeline_svg(timeline: Timeline) -> SvgText:
    """Draw all tiles in time as SVG, and below it the list of the steps."""
    if not timeline.cycles:
        return draw_steps_svg(timeline.steps)
    table = _Table(timeline.steps)
    rows = len(timeline.starts)
    side = 12 if rows > 8 else 20
    labels = [timeline.label(first) for first in timeline.starts]
    left = round(MARGIN + 8 + max(text_width(label, 10) for label in labels))
    top = MARGIN + 56
    below = top + rows * side + 78
    width = max(table.width, left + WIDE + MARGIN)
    canvas = Canvas(round(width), below + table.height + 10, title=timeline.heading)
    canvas.text(MARGIN, MARGIN + 14, cut(timeline.heading, LONGEST_HEADING), "head ink")
    _strip(canvas, timeline, left, top - 22)
    canvas.rect(left, top, WIDE, rows * side, "none")
    for x, y, length, high, state in _boxes(timeline.cells(WIDE).tolist()):
        kind = f"{LOOKS[STATES[state]].kind} flush"
        canvas.rect(left + x, top + y * side, length, high * side, kind)
    for number, first in enumerate(timeline.starts):
        if timeline.ipu_at(first):
            y = top + number * side
            canvas.path(box(left - 6, y - 0.5, WIDE + 6, 1), "mark")
            canvas.text(left + WIDE, y - 3, f"IPU {timeline.ipu_at(first)} below", "halo small end")
    for number, label in enumerate(labels):
        if side >= 20 or number % 2 == 0:
            canvas.text(left - 6, top + number * side + side / 2 + 4, label, "small soft end")
    y = top + rows * side
    canvas.text(left, y + 15, "0", "small soft")
    canvas.text(left + WIDE / 2, y + 15, "cycles", "small soft mid")
    canvas.text(left + WIDE, y + 15, f"{timeline.cycles:,}", "small soft end")
    draw_legend(canvas, entries(table.parts, "waiting"), left, y + 26)
    table.draw(canvas, below)
    return canvas.text_of()


def _strip(canvas: Canvas, timeline: Timeline, left: float, y: float) -> None:
    """Draw where each step begins and ends, above the tiles."""
    ends = [*timeline.begins[1:], timeline.cycles]
    steps = zip(timeline.steps.rows, timeline.begins, ends, strict=True)
    for number, (row, begin, end) in enumerate(steps):
        x, stop = (left + at * WIDE / timeline.cycles for at in (begin, end))
        kind = f"q{2 + number % 2 * 3}"
        canvas.rect(x, y, stop - x, 16, kind, tip=_tip(timeline.steps, row))
        name = f"{row.number} {name_text(timeline.steps.label(row))}"
        for text in (name, cut(name, 12), f"{row.number}"):
            if text_width(text, 11) + 8 < stop - x:
                canvas.text(x + 4, y + 12, text, f"i{kind[1:]}")
                break


def _boxes(rows: list[list[int]]) -> Iterator[tuple[int, int, int, int, int]]:
    """Yield rectangles of equal cells: column, row, columns, rows, state; none where tiles wait."""
    open_boxes: dict[tuple[int, int, int], int] = {}
    for number, row in enumerate([*rows, []]):
        runs, at = set(), 0
        for state, run in groupby(row):
            length = len(list(run))
            if state != WAITING:
                runs.add((at, length, state))
            at += length
        for closed in sorted(open_boxes.keys() - runs):
            first = open_boxes.pop(closed)
            yield closed[0], first, closed[1], number - first, closed[2]
        for begun in runs:
            open_boxes.setdefault(begun, number)


def _tip(steps: StepList, row: StepRow) -> str:
    parts = ", ".join(f"{LOOKS[kind].words} {cycles:,}" for kind, cycles in row.parts)
    at = f" ({row.at})" if row.at else ""
    took = f"{amount(row.cycles, 'cycle')}, {amount(row.executions, 'time')}"
    name = f"{row.number} {name_text(steps.label(row))}{at}"
    return f"{name}: {took}; {parts}" if parts else f"{name}: {took}"


class _Table:
    """The list of steps: numbers, names, bars and what their colours mean."""

    def __init__(self, steps: StepList) -> None:
        self.steps = steps
        self.rows = steps.rows[:MOST_ROWS]
        self.numbers = [
            (
                f"{row.number}",
                f"{row.cycles:,}",
                share_text(row.share),
                f"{row.executions:,}",
                f"{100 * row.balance:.1f}%",
            )
            for row in self.rows
        ]
        self.names = [cut(name_text(steps.label(row)), LONGEST_NAME) for row in self.rows]
        columns = zip(HEADING, *self.numbers, strict=True)
        self.widths = [max(text_width(each, 12) for each in column) for column in columns]
        self.name_left = MARGIN + sum(self.widths) + 14 * len(self.widths)
        self.name_width = max(text_width(name, 12) for name in ("step", *self.names))
        self.more = len(steps.rows) - len(self.rows)
        self.parts: set[Part] = {part for row in self.rows for part, _ in row.parts}

    @property
    def width(self) -> float:
        """The width of a picture that holds the list, with its margins."""
        legend = sum(entry_width(words) for words, _ in entries(self.parts))
        return max(self.name_left + self.name_width + 14 + BAR, MARGIN + legend) + MARGIN

    @property
    def height(self) -> int:
        """The height of the list."""
        return ROW * (len(self.rows) + bool(self.more)) + 48 if self.rows else 0

    def draw(self, canvas: Canvas, top: float) -> None:
        """Draw the list; `top` is the base of its heading."""
        if not self.rows:
            return
        self._line(canvas, HEADING, "step", top, "soft")
        bar_left = self.name_left + self.name_width + 14
        scale = BAR / max(1, *(row.cycles for row in self.rows))
        y = top
        for row, numbers, name in zip(self.rows, self.numbers, self.names, strict=True):
            y += ROW
            self._line(canvas, numbers, name, y, "ink")
            self._bar(canvas, row, bar_left, y - 11, scale)
        if self.more:
            y += ROW
            canvas.text(self.name_left, y, f"... {self.more:,} more", "line soft")
        draw_legend(canvas, entries(self.parts), MARGIN, y + 18)

    def _line(
        self, canvas: Canvas, numbers: tuple[str, ...], name: str, y: float, ink: str
    ) -> None:
        right: float = MARGIN
        for text, width in zip(numbers, self.widths, strict=True):
            right += width
            canvas.text(right, y, text, f"line {ink} end")
            right += 14
        canvas.text(self.name_left, y, name, f"line {ink}")

    def _bar(self, canvas: Canvas, row: StepRow, left: float, y: float, scale: float) -> None:
        total = sum(cycles for _, cycles in row.parts)
        x, tip = left, _tip(self.steps, row)
        for kind, cycles in row.parts:
            length = cycles * row.cycles / total * scale
            canvas.rect(x, y, length, 14, LOOKS[kind].kind, tip=tip)
            x += length
