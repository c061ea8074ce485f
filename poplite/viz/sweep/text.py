"""A sweep as text: a bar for each value of a parameter, or a table of two.

cycles by split
 1     1,119  ████████████████████
 2     1,337  ███████████████████████▉
"""

from __future__ import annotations

import math

from poplite.viz.draw.columns import cells, cut, folded, table_lines
from poplite.viz.draw.terminal import Style
from poplite.viz.sweep.grid import SweepGrid

BAR = 40
"""Characters of the longest bar."""


def draw_sweep_text(grid: SweepGrid, style: Style) -> str:
    """Draw a sweep as text."""
    width = style.width
    lines = folded(grid.heading, width)
    for fact in grid.facts:
        lines += folded(fact, width)
    lines += ["", *(_bars(grid, style) if len(grid.over) == 1 else _table(grid, width))]
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _bars(grid: SweepGrid, style: Style) -> list[str]:
    names = [cut(value, 24) for value in grid.values[0]]
    texts = [grid.text(value) for value in grid.least.tolist()]
    room = max(map(cells, names)), max(map(cells, texts))
    most = max((v for v in grid.least.tolist() if v > 0), default=1.0)  # NaN is not
    block = "#" if style.ascii_only else "█"
    long = max(1, min(BAR, style.width - sum(room) - 4))
    lines = []
    for name, text, value in zip(names, texts, grid.least.tolist(), strict=True):
        part = max(value / most, 0.0)
        bar = "" if math.isnan(value) else block * max(1, round(long * part))
        padding = " " * (room[0] - cells(name)), " " * (room[1] - cells(text))
        lines.append(f"{padding[0]}{name}  {padding[1]}{text}  {bar}")
    return lines


def _table(grid: SweepGrid, width: int) -> list[str]:
    """Return a table, in several parts where its columns do not fit."""
    first, second = grid.over
    heads = [f"{second} \\ {first}", *grid.values[1]]
    columns = [
        [value, *map(grid.text, grid.least[number].tolist())]
        for number, value in enumerate(grid.values[0])
    ]
    room = max(1, width - 2 - max(map(cells, heads)))
    each = max(1, room // (2 + max(cells(text) for column in columns for text in column)))
    lines: list[str] = []
    for begin in range(0, len(columns), each):
        # Numbers stand to the right, but for those of the last column.
        part = [heads, *columns[begin : begin + each], [""] * len(heads)]
        lines += [*([""] if lines else []), *table_lines(list(zip(*part, strict=True)), width)]
    return lines
