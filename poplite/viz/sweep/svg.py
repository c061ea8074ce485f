"""A sweep as SVG: bars over one parameter, or shaded squares over two."""

from __future__ import annotations

import math

import numpy as np

from poplite.viz.colours import ramp_step
from poplite.viz.draw.columns import cut
from poplite.viz.draw.svg import LONGEST_HEADING, Canvas, SvgText, text_width
from poplite.viz.draw.units import name_text
from poplite.viz.sweep.grid import SweepGrid

MARGIN = 20
ROW = 18
WIDE, HIGH = 768, 200
"""Pixels of the bars, and of squares across."""

MOST_BARS, MOST_NAMES = 384, 24
"""Bars that fit, each of the least of its values then; names that fit below."""

SHADES = 1_000
"""Steps between the least and the most, of which a shade is chosen."""


def draw_sweep_svg(grid: SweepGrid) -> SvgText:
    """Draw a sweep as SVG."""
    top = MARGIN + 26 + ROW * len(grid.facts) + 12
    is_flat = len(grid.over) == 1
    labels = [_most_text(grid), "failed"] if is_flat else list(grid.values[1])
    left = MARGIN + round(max(text_width(cut(label, 24), 11) for label in labels)) + 8
    side = _side(grid)
    high = HIGH if is_flat else side * grid.least.shape[1]
    wide = max(WIDE, side * len(grid.values[0]))
    canvas = Canvas(left + wide + MARGIN, top + high + 60, title=grid.heading)
    canvas.text(MARGIN, MARGIN + 14, cut(grid.heading, LONGEST_HEADING), "head ink")
    for number, fact in enumerate(grid.facts):
        canvas.text(MARGIN, MARGIN + 36 + ROW * number, cut(fact, 120), "line soft", tip=fact)
    (_bars if is_flat else _squares)(canvas, grid, left, top)
    return canvas.text_of()


def _most_text(grid: SweepGrid) -> str:
    return grid.text(_most(grid))


def _most(grid: SweepGrid) -> float:
    return 0.0 if grid.best is None else float(np.nanmax(grid.least))


def _side(grid: SweepGrid) -> float:
    """Return the side of a square: all of one row fit."""
    return max(2.0, min(28.0, WIDE / len(grid.values[0])))


def _bars(canvas: Canvas, grid: SweepGrid, left: float, top: float) -> None:
    """Draw a bar for each value, or for several of them the least."""
    values, names = grid.least.tolist(), grid.values[0]
    block = -(-len(values) // MOST_BARS)
    firsts = range(0, len(values), block)
    step, scale = WIDE / len(firsts), HIGH / (_most(grid) or 1.0)
    gap = 1 if step >= 4 else 0
    canvas.rect(left, top, WIDE, HIGH, "none")
    for number, first in enumerate(firsts):
        some = [v for v in values[first : first + block] if not math.isnan(v)]
        last = min(first + block, len(values)) - 1
        name = names[first] if first == last else f"{names[first]} to {names[last]}"
        value = min(some, default=math.nan)
        tip = f"{grid.over[0]} {name}: {grid.text(value)}"
        x, width = left + number * step, step - gap
        if math.isnan(value):
            canvas.rect(x, top + HIGH - 6, width, 6, "gaps flush", tip=tip)
        else:
            is_best = grid.best is not None and first <= grid.best[0] <= last
            kind = "q10 flush" if is_best else "q5 flush"
            canvas.rect(x, top + HIGH - value * scale, width, value * scale, kind, tip=tip)
    canvas.text(left - 6, top + 10, _most_text(grid), "small soft end")
    canvas.text(left - 6, top + HIGH, "0", "small soft end")
    _names_below(canvas, [names[first] for first in firsts], step, left, top + HIGH)
    canvas.text(left + WIDE / 2, top + HIGH + 34, name_text(grid.over[0]), "small soft mid")


def _names_below(canvas: Canvas, names: list[str], step: float, left: float, bottom: float) -> None:
    every = -(-len(names) // MOST_NAMES)
    room = max(2, int(every * step / 6.5))
    for number in range(0, len(names), every):
        text = cut(name_text(names[number]), room)
        canvas.text(left + (number + 0.5) * step, bottom + 15, text, "small soft mid")


def _squares(canvas: Canvas, grid: SweepGrid, left: float, top: float) -> None:
    """Draw a square for each pair of values, the deeper the more."""
    side = _side(grid)
    low = 0.0 if grid.best is None else float(np.nanmin(grid.least))
    span = (_most(grid) - low) or 1.0
    every = 1 if side >= 12 else math.ceil(12 / side)
    for row, name in enumerate(grid.values[1]):
        y = top + row * side
        if row % every == 0:
            text = cut(name_text(name), 24)
            canvas.text(left - 6, y + side / 2 + 4, text, "small soft end")
        for column, across in enumerate(grid.values[0]):
            value = float(grid.least[column, row])
            tip = f"{grid.over[0]} {across}, {grid.over[1]} {name}: {grid.text(value)}"
            kind = "gaps flush"
            if not math.isnan(value):
                kind = f"q{ramp_step(1 + round((value - low) / span * SHADES), SHADES + 1)}"
            x = left + column * side
            canvas.rect(x, y, side - 1, side - 1, kind, tip=tip)
            if grid.best == (column, row):
                canvas.rect(x + 1, y + 1, side - 3, side - 3, "mark", tip=tip)
    bottom = top + side * len(grid.values[1])
    _names_below(canvas, list(grid.values[0]), side, left, bottom)
    words = f"{name_text(grid.over[0])} across, {name_text(grid.over[1])} down; from "
    words += f"{grid.text(low)} (pale) to {_most_text(grid)} (deep)" if grid.best else "nothing"
    canvas.text(left, bottom + 34, words, "small soft")
