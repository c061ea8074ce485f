r"""Pictures as HTML: words, facts, tables and trees as such, all else as SVG.

Text arguments are escaped; results are HTML, which is combined without further escaping.

>>> paint_html(Picture("", (Words("2 < 3"), FactList((("tiles", "4"),)))))
'<p>2 &lt; 3</p><table class="facts"><tbody><tr><th scope="row">tiles</th><td>4</td>...'
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import groupby

from poplite.viz.colours import DARK, LIGHT, color_of
from poplite.viz.draw.svg import asset as asset
from poplite.viz.draw.words import KEPT
from poplite.viz.marks import FactList, Gap, Listing, ListRow, Mark, Picture, Words
from poplite.viz.paint_svg import paint_svg

OPEN_ROWS = 40
"""Rows of the longest tree or table that is open at first."""


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
                parts.append(painted_html(mark))
            heading = mark.text if isinstance(mark, Words) and mark.tone == "strong" else ""
    return "".join(parts)


def _is_drawn(mark: Mark) -> bool:
    """Return whether a mark needs shapes."""
    if isinstance(mark, Listing):
        return any(column.form == "bar" for column in mark.columns)
    return not isinstance(mark, Words | FactList)


def painted_html(mark: Mark) -> str:
    """Return a mark that needs no shapes as HTML."""
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
    """Return nested lists: a row with children can be folded."""
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
    """Return the name of a row after the colour of its role, then its other texts, muted."""
    mark = f'<i style="background:{color_of(row.role.kind)}"></i>' if row.role else ""
    names = [k for k, column in enumerate(listing.columns) if column.form == "name"]
    beside = [row.aside] + [
        f"{column.title} {cell}" if str(cell)[:1].isdigit() else str(cell)
        for k, (column, cell) in enumerate(zip(listing.columns, row.cells, strict=True))
        if k != names[-1] and cell
    ]
    soft = "".join(f"<span>{escaped(text)}</span>" for text in beside if text)
    return f"{mark}{escaped(str(row.cells[names[-1]]))}{soft}"


MOST_DATA = 1_000_000
"""Characters of the longest JSON that a page holds."""


def escaped(text: str) -> str:
    """Return text that is safe between tags and between quotes.

    Control characters of names are written out before (`name_text`).

    >>> escaped("</script>")
    '&lt;/script&gt;'
    """
    return escape(text, quote=True)


def facts_table(rows: Iterable[tuple[str, str]]) -> str:
    """Return a table of names and their values.

    >>> facts_table([("tiles", "4")])
    '<table class="facts"><tbody><tr><th scope="row">tiles</th><td>4</td></tr></tbody></table>'
    """
    body = "".join(
        f'<tr><th scope="row">{escaped(name)}</th><td>{escaped(value)}</td></tr>'
        for name, value in rows
    )
    return f'<table class="facts"><tbody>{body}</tbody></table>'


def table(heading: Sequence[str], rows: Iterable[Sequence[str]], kind: str = "numbers") -> str:
    """Return a table of numbers.

    The class `kind` aligns columns on the right: "numbers" all, "numbers last" all but the last,
    "numbers first" all but the first.

    >>> print(table(["tile"], [["0"]]))
    <table class="numbers"><thead><tr><th scope="col">tile</th></tr></thead>
    <tbody><tr><td>0</td></tr>
    </tbody></table>
    """
    head = "".join(f'<th scope="col">{escaped(name)}</th>' for name in heading)
    lines = "".join(
        "<tr>" + "".join(f"<td>{escaped(cell)}</td>" for cell in row) + "</tr>\n" for row in rows
    )
    return f'<table class="{kind}"><thead><tr>{head}</tr></thead>\n<tbody>{lines}</tbody></table>'


def folded(title: str, body: str, *, is_open: bool = False) -> str:
    """Return a part that the reader opens and closes; `body` is HTML.

    >>> folded("2 tiles", "<p>0-1</p>")
    '<details><summary>2 tiles</summary><p>0-1</p></details>'
    """
    opened = " open" if is_open else ""
    return f"<details{opened}><summary>{escaped(title)}</summary>{body}</details>"


def json_element(data: str) -> str:
    """Return the JSON where a script finds it; no end tag in a name can end it early."""
    if len(data) > MOST_DATA:
        return (
            f"<p>The numbers as JSON would take {len(data):,} characters more, so they are not "
            "in this page; <code>-o FILE.json</code> writes them.</p>"
        )
    inside = data.replace("<", "\\u003c")
    return f'<script type="application/json" id="data">\n{inside}</script>'


def page_colors() -> str:
    """Return the colours of a light and of a dark page."""
    light, dark = (
        "".join(f"--{name}:{color};" for name, color in colors.items()) for colors in (LIGHT, DARK)
    )
    return f":root{{{light}}}\n@media (prefers-color-scheme:dark){{:root{{{dark}}}}}\n"
