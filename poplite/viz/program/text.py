"""The program tree as text: a line for each node, indented, with its step number and place.

program: 4 steps

  step  program                                                        where
        Sequence 'main'                                            net.py:20
     1    Copy 'image' -> 'a'  12 elements, 48 B                   net.py:21
        Repeat 100 times                                           net.py:22
     2      Execute 'a to b'  96 vertices                          net.py:14
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from poplite.program.base import checked
from poplite.viz.colours import KINDS
from poplite.viz.draw.columns import cells, cut, filled, wrapped
from poplite.viz.draw.terminal import DEFAULT_STYLE, Style
from poplite.viz.draw.units import name_text
from poplite.viz.program.labels import places_of
from poplite.viz.program.tree import ProgramTree, TreeRow, program_tree

if TYPE_CHECKING:
    from poplite.program.base import Program

LONGEST_PLACE = 24
"""Cells of a file and line where there is no room for folders."""

NARROW = 60
"""Columns below which there is no room for the user's lines."""


def program_text(program: Program) -> str:
    """Return all steps of a program as text."""
    checked(program, "program")
    return draw_program_text(program_tree(program, most=None))


def draw_program_text(
    tree: ProgramTree, style: Style = DEFAULT_STYLE, *, counts: bool = False
) -> str:
    """Draw a program tree as text; `counts` adds how often each row runs.

    >>> from poplite.program import Sequence
    >>> from poplite.viz.program.tree import program_tree
    >>> print(draw_program_text(program_tree(Sequence(name="main"))).splitlines()[0])
    program: 0 steps
    """
    width = style.columns
    rows, columns = tree.rows, tree.columns(counts=counts)
    widths = [max(map(len, [title, *texts])) for title, texts in columns]

    def lead(texts: list[str]) -> str:
        return "".join(f"  {text:>{w}}" for text, w in zip(texts, widths, strict=True)) + "  "

    room = width - len(lead([""] * len(columns)))
    deepest = max(1, (room - 24) // 4)
    is_narrow = width < NARROW
    places = [""] * len(rows) if is_narrow else _places(rows, room, deepest)
    lines = [style.bold(line) for line in wrapped(tree.heading(counts=counts), width)]
    titles = lead([title for title, _ in columns])
    where = "" if is_narrow else f"{'where':>{room - len('program')}}"
    lines += ["", style.faint(f"{titles}program{where}")]
    for k, row in enumerate(rows):
        numbers = style.faint(lead([texts[k] for _, texts in columns]))
        indent = style.faint(_indent(row, deepest))
        body = _body(row, room - len(_indent(row, deepest)) - cells(places[k]) - 2, style)
        lines.append(f"{numbers}{indent}{body}  {style.faint(places[k])}".rstrip())
    if tree.hidden:
        lines += ["", *(style.faint(line) for line in wrapped(tree.notice(), width))]
    return "\n".join(lines) + "\n"


def _places(rows: tuple[TreeRow, ...], room: int, deepest: int) -> list[str]:
    """Return the user's lines, with folders and callers where all rows have room for them.

    Otherwise a line that has a caller is replaced by its caller.
    """
    places = places_of([row.location for row in rows])
    whole = [name_text(" from ".join(place)) for place in places]
    if all(_needed(row, deepest) + cells(p) <= room for row, p in zip(rows, whole, strict=True)):
        return whole
    longest = min(LONGEST_PLACE, room // 3)
    return [cut(name_text(os.path.basename(place[-1])), longest) for place in places]


def _indent(row: TreeRow, deepest: int) -> str:
    """Return what moves a row to the right; beyond the deepest level, its distance from there."""
    beyond = f"+{row.level - deepest:,} " if row.level > deepest else ""
    return "  " * min(row.level, deepest) + beyond


def _needed(row: TreeRow, deepest: int) -> int:
    """Return the cells of a row with all of its names, and the gap behind it."""
    names = sum(cells(name_text(name)) + len("''") - len("{}") for name in row.label.names)
    return len(_indent(row, deepest)) + len(row.label.pattern) + names + cells(_asides(row)[0]) + 2


def _asides(row: TreeRow) -> list[str]:
    """Return what follows the title, from all of it to nothing."""
    note = f"  {row.note}" if row.note else ""
    return [f"  {row.label.detail}{note}" if row.label.detail else note, note, ""]


def _body(row: TreeRow, room: int, style: Style) -> str:
    """Return what a row says, in as many cells as there are."""
    for aside in _asides(row):
        title = filled(row.label.pattern, row.label.names, room - cells(aside))
        if cells(title + aside) <= room:
            break
    text = cut(title + aside, max(room, 3))
    head = os.path.commonprefix([title, text])
    colored = style.category(head, KINDS[row.label.kind]) + style.faint(text[len(head) :])
    return colored + " " * (room - cells(text))
