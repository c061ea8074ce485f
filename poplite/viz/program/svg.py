"""The program tree as SVG: a line for each node, with a mark in the colour of its kind.

Lines join a mark to those below it; step numbers stand on the left, the user's lines on
the right.  Whole names are in the tooltips.
"""

from __future__ import annotations

from poplite.viz.colours import KINDS
from poplite.viz.draw.columns import cut, filled
from poplite.viz.draw.svg import Canvas, SvgText, number, text_width
from poplite.viz.draw.units import name_text
from poplite.viz.program.labels import line_text, places_of
from poplite.viz.program.tree import ProgramTree, TreeRow

MARGIN = 20
ROW = 22
INDENT = 20
MARK = 10
DEEPEST = 20
"""The last level with an indentation of its own."""
LONGEST_TITLE = 80
LONGEST_PLACE = 48


def draw_program_svg(tree: ProgramTree, *, counts: bool = False) -> SvgText:
    """Draw a program tree as SVG; `counts` adds how often each row runs.

    >>> from poplite.program import Sequence
    >>> from poplite.viz.program.tree import program_tree
    >>> "Sequence 'main'" in draw_program_svg(program_tree(Sequence(name="main")))
    True
    """
    rows = tree.rows
    heading = cut(tree.heading(counts=counts), LONGEST_TITLE)
    columns = tree.columns(counts=counts)
    rights, right = [], float(MARGIN)
    for title, texts in columns:
        right += max(text_width(text, 11) for text in [title, *texts]) + 12
        rights.append(right - 12)
    left = round(right + 6)
    wide = max(_end(row) for row in rows)
    place_left = left + round(max(wide, text_width("program", 11)) + 24)
    places = [
        cut(name_text(" from ".join(place)), LONGEST_PLACE)
        for place in places_of([row.location for row in rows])
    ]
    end = place_left + max(text_width(place, 11) for place in ["where", *places])
    notice = tree.notice()
    end = max(end, MARGIN + text_width(heading, 16), left + text_width(notice, 12))
    top = MARGIN + 72
    height = top + len(rows) * ROW + (ROW if notice else 0) + MARGIN - 8
    canvas = Canvas(round(end + MARGIN), height, title=heading)
    canvas.text(MARGIN, MARGIN + 14, heading, "head ink")
    _legend(canvas, rows)
    for (title, _), x in zip(columns, rights, strict=True):
        canvas.text(x, top - 8, title, "small soft end")
    canvas.text(left, top - 8, "program", "small soft")
    canvas.text(place_left, top - 8, "where", "small soft")
    _joints(canvas, rows, left, top)
    for k, row in enumerate(rows):
        y = top + k * ROW + ROW / 2
        for (_, texts), x in zip(columns, rights, strict=True):
            if texts[k]:
                canvas.text(x, y + 4, texts[k], "soft end")
        x = left + _indent(row)
        canvas.rect(x, y - MARK / 2, MARK, MARK, f"c{KINDS[row.label.kind]}")
        canvas.text(x + MARK + 7, y + 4, _title(row), "line ink", aside=_aside(row), tip=_tip(row))
        canvas.text(place_left, y + 4, places[k], "soft")
    if notice:
        canvas.text(left, top + len(rows) * ROW + ROW / 2 + 4, notice, "line soft")
    return canvas.text_of()


def _indent(row: TreeRow) -> int:
    return INDENT * min(row.level, DEEPEST)


def _title(row: TreeRow) -> str:
    beyond = f"+{row.level - DEEPEST:,} " if row.level > DEEPEST else ""
    return beyond + filled(row.label.pattern, row.label.names, LONGEST_TITLE)


def _aside(row: TreeRow) -> str:
    return ", ".join(part for part in (row.label.detail, row.note) if part)


def _end(row: TreeRow) -> float:
    """Return where a row ends, in pixels from the root's mark."""
    return _indent(row) + MARK + 16 + text_width(_title(row) + _aside(row), 12)


def _tip(row: TreeRow) -> str:
    title = row.label.pattern.format(*(f"'{name_text(name)}'" for name in row.label.names))
    parts = [title, row.label.detail, row.note, name_text(line_text(row.location))]
    return "\n".join(part for part in parts if part)


def _legend(canvas: Canvas, rows: tuple[TreeRow, ...]) -> None:
    present = {row.label.kind for row in rows}
    x = float(MARGIN)
    for kind in (kind for kind in KINDS if kind in present):
        canvas.rect(x, MARGIN + 28, MARK, MARK, f"c{KINDS[kind]}")
        canvas.text(x + MARK + 5, MARGIN + 37, kind, "soft")
        x += MARK + 5 + text_width(kind, 11) + 14


def _joints(canvas: Canvas, rows: tuple[TreeRow, ...], left: float, top: float) -> None:
    """Draw an elbow from each mark to those of its children."""
    lowest: dict[int, int] = {}
    ticks = []
    for k, row in enumerate(rows):
        if row.parent >= 0 and row.level <= DEEPEST:
            lowest[row.parent] = k
            x, y = left + _indent(row) - INDENT + MARK / 2, top + k * ROW + ROW / 2
            ticks.append(f"M{number(x)} {number(y)}h{number(INDENT - MARK / 2 - 2)}")
    stems = [
        f"M{number(left + _indent(rows[parent]) + MARK / 2)} "
        f"{number(top + parent * ROW + ROW / 2 + MARK / 2 + 2)}"
        f"V{number(top + last * ROW + ROW / 2)}"
        for parent, last in lowest.items()
    ]
    if stems:
        canvas.path("".join(stems + ticks), "rule flush")
