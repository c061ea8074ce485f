"""Steps as text: a row a step, with a bar of its phases; all bars have one scale."""

from __future__ import annotations

from collections.abc import Sequence

from poplite.viz.draw.columns import LEAST_NAME, cells, cut, fitting, wrapped
from poplite.viz.draw.phases import LOOKS, Part, legend_lines, marked
from poplite.viz.draw.terminal import DEFAULT_STYLE, Style
from poplite.viz.draw.units import name_text, share_text
from poplite.viz.steps.step_list import StepList

LONGEST_NAME = 40
LEAST_BAR = 10
LEFT_OUT = (3, 4, 2)
"""Columns that are left out where there is no room: times, balance, share."""


def draw_steps_text(steps: StepList, style: Style = DEFAULT_STYLE) -> str:
    """Draw steps as text.

    >>> print(draw_steps_text(StepList("", (), 0, 0)), end="")
    steps: 0, 0 cycles
    """
    width = style.columns
    lines = [style.bold(line) for line in wrapped(steps.heading, width)]
    if steps.rows:
        lines += ["", *_table(steps, width, style)]
        present = {part for row in steps.rows for part, _ in row.parts}
        if present:
            lines += ["", *legend_lines(present, style)]
    return "\n".join(lines) + "\n"


def _table(steps: StepList, width: int, style: Style) -> list[str]:
    heading = ("#", "cycles", "of all", "times", "balance")
    rows = [
        (
            f"{row.number}",
            f"{row.cycles:,}",
            share_text(row.share),
            f"{row.executions:,}",
            f"{100 * row.balance:.1f}%",
        )
        for row in steps.rows
    ]
    every = [max(map(len, column)) for column in zip(heading, *rows, strict=True)]
    kept = fitting(every, width - LEAST_NAME - 2 - LEAST_BAR, LEFT_OUT)
    widths = [every[k] for k in kept]
    names = [name_text(steps.label(row)) for row in steps.rows]
    room = width - sum(widths) - 2 * len(widths)
    longest = max(len("step"), *map(cells, names))
    name_width = min(
        longest, LONGEST_NAME, max(LEAST_NAME, (room - 2) * 3 // 5), room - 2 - LEAST_BAR
    )
    scale = (room - name_width - 2) / max(1, *(row.cycles for row in steps.rows))
    head = "  ".join(f"{heading[k]:>{every[k]}}" for k in kept)
    lines = [style.faint(f"{head}  step")]
    for row, numbers, name in zip(steps.rows, rows, names, strict=True):
        shown = cut(name, name_width)
        label = shown + " " * (name_width - cells(shown))
        begin = "  ".join(f"{numbers[k]:>{every[k]}}" for k in kept)
        length = max(round(row.cycles * scale), 1 if row.cycles else 0)
        lines.append(f"{begin}  {label}  {_bar(row.parts, length, style)}".rstrip())
    return lines


def _bar(parts: Sequence[tuple[Part, int]], length: int, style: Style) -> str:
    """Draw phases in so many characters, each as near to its part as whole ones can be."""
    kinds = {kind: sum(cycles for each, cycles in parts if each == kind) for kind in LOOKS}
    taken = shared(list(kinds.values()), length)
    order = list(dict.fromkeys(kind for kind, _ in parts))
    counts = dict(zip(kinds, taken, strict=True))
    return "".join(marked(kind, counts[kind], style) for kind in order)


def shared(numbers: Sequence[int], whole: int) -> list[int]:
    """Return whole numbers that add up to `whole`, in proportion to these.

    >>> shared([1000, 900, 5640], 3), shared([1, 1], 3), shared([0, 0], 0)
    ([1, 0, 2], [2, 1], [0, 0])
    """
    total = sum(numbers)
    if not total:
        return [0] * len(numbers)
    taken = [number * whole // total for number in numbers]
    order = sorted(range(len(numbers)), key=lambda k: -(numbers[k] * whole % total))
    for k in order[: whole - sum(taken)]:
        taken[k] += 1
    return taken
