"""Pictures as HTML: words, facts, tables and trees as such, all else as SVG.

>>> paint_html(Picture("", (Words("2 < 3"), FactList((("tiles", "4"),)))))
'<p>2 &lt; 3</p><table class="facts"><tbody><tr><th scope="row">tiles</th><td>4</td>...'
"""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby

from poplite.viz.colours import color_of
from poplite.viz.draw.columns import KEPT
from poplite.viz.draw.html import escaped, facts_table, folded, table
from poplite.viz.marks import FactList, Gap, Listing, ListRow, Mark, Picture, Words
from poplite.viz.paint_svg import paint_svg

OPEN_ROWS = 30
"""Rows of the longest tree or table that is open at first."""

MOST_ROWS = 2000
"""Rows of a table of a page; the JSON has the rest."""


def paint_html(picture: Picture) -> str:
    """Paint a picture as HTML; a listing below a heading folds under it."""
    parts: list[str] = []
    for is_drawn, group in groupby(picture.marks, _is_drawn):
        marks, heading = tuple(group), ""
        if is_drawn:
            has_shapes = any(not isinstance(mark, Gap) for mark in marks)
            parts += [paint_svg(Picture(picture.title, marks))] * has_shapes
            continue
        for mark in marks:
            if heading and isinstance(mark, Listing):
                parts[-1] = folded(heading, _listing(mark))
            else:
                parts.append(_painted(mark))
            heading = mark.text if isinstance(mark, Words) and mark.tone == "strong" else ""
    return "".join(parts)


def tables_html(picture: Picture) -> str:
    """Return the listings of a picture that SVG has not."""
    asides = [mark for mark in picture.marks if isinstance(mark, Listing) and mark.aside]
    return "".join(_listing(replace(each, most=MOST_ROWS)) for each in asides)


def _is_drawn(mark: Mark) -> bool:
    """Return whether a mark needs shapes."""
    if isinstance(mark, Listing):
        return any(column.form == "bar" for column in mark.columns)
    return not isinstance(mark, Words | FactList)


def _painted(mark: Mark) -> str:
    match mark:
        case Words(text, tone):
            kind = "" if tone == "plain" else f' class="{tone}"'
            return f"<p{kind}>{escaped(text)}</p>"
        case FactList(rows):
            return facts_table(rows)
        case Listing():
            return _listing(mark)
    raise NotImplementedError(type(mark).__name__)


def _listing(listing: Listing) -> str:
    if any(row.role for row in listing.rows):
        return _tree(listing)
    first, last = (listing.columns[k].form != "number" for k in (0, -1))
    rows = [
        [str(cell).replace(KEPT, " ") for cell in row.cells] for row in listing.rows[: listing.most]
    ]
    more = len(listing.rows) - len(rows)
    note = f"<p>... {more:,} more{'; the JSON has all' * bool(listing.aside)}</p>" if more else ""
    kind = f"numbers{' first' * first}{' last' * last}"
    body = table([column.title for column in listing.columns], rows, kind) + note
    is_open = len(rows) <= OPEN_ROWS
    return folded(listing.aside, body, is_open=is_open) if listing.aside else body


def _tree(listing: Listing) -> str:
    """Return nested lists: a row with others below it folds."""
    opened = " open" if len(listing.rows) <= OPEN_ROWS else ""
    parts, level = ['<ul class="tree">'], 0
    for row, after in zip(listing.rows, [*listing.rows[1:], ListRow(())], strict=True):
        parts.append("</ul></details></li>" * (level - row.level))
        level, item = row.level, _item(listing, row)
        if after.level > level:
            fold = opened if level else " open"
            parts.append(f"<li><details{fold}><summary>{item}</summary><ul>")
        else:
            parts.append(f"<li>{item}</li>")
    return "".join(parts) + "</ul></details></li>" * level + "</ul>"


def _item(listing: Listing, row: ListRow) -> str:
    """Return the name of a row behind the colour of its role, and softly all else that it says."""
    mark = f'<i style="background:{color_of(row.role.kind)}"></i>' if row.role else ""
    names = [k for k, column in enumerate(listing.columns) if column.form == "name"]
    beside = [row.aside] + [
        f"{column.title} {cell}" if str(cell)[:1].isdigit() else str(cell)
        for k, (column, cell) in enumerate(zip(listing.columns, row.cells, strict=True))
        if k != names[-1] and cell
    ]
    soft = "".join(f"<span>{escaped(text)}</span>" for text in beside if text)
    return f"{mark}{escaped(str(row.cells[names[-1]]))}{soft}"
