r"""HTML: escaped text, tables, parts that fold, and one picture as one page.

What is passed in as text is escaped; what comes out is HTML and is put together as it is.

    >>> escaped('<b> & "c"')
    '&lt;b&gt; &amp; &quot;c&quot;'

A page is one file that needs no other file and no network.  It holds the picture, its facts, its
numbers as a table, the same as text, and all numbers as JSON for a program.  It follows the
reader's light or dark setting.  A click or the arrow keys show the text of a tooltip below the
picture too; without scripts everything else still works.  Equal input gives equal bytes.

    >>> text = page("Tile map", "x", {"tiles": "4"}, SvgText("<svg></svg>"), [], "0 |..|", "{}")
    >>> text.splitlines()[0], "<h1>Tile map</h1>" in text
    ('<!doctype html>', True)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files

from poplite.text import amount
from poplite.viz.colours import DARK, LIGHT
from poplite.viz.draw.svg import SvgText
from poplite.viz.draw.units import name_text

OPEN_ROWS = 40
"""Rows of the longest table that is open at first."""

MOST_ROWS = 2000
"""Rows of a table; the JSON has the rest."""

MOST_DATA = 1_000_000
"""Characters of the longest JSON that a page holds."""


def page(
    title: str,
    subject: str,
    facts: Mapping[str, str],
    picture: SvgText,
    tables: Sequence[str],
    text: str,
    data: str,
    *,
    command: str = "",
) -> str:
    """Return a page as HTML, from a picture, its facts, numbers, text and JSON.

    `tables` are HTML; `command` is the command that writes the page, if one does.
    """
    by = f'<p class="command"><code>{escaped(name_text(command))}</code></p>\n' if command else ""
    body = "\n".join(
        [
            f"<header>\n<h1>{escaped(title)}</h1>\n{by}</header>\n<main>",
            f'<figure aria-label="{escaped(subject)}">\n{picture}</figure>',
            '<p id="chosen" class="idle" role="status" hidden>Click a part of the picture, or go '
            "there by the arrow keys, to read about it here.</p>",
            "<noscript><p>Rest the pointer on a part of the picture to read about it; the numbers "
            "are below as well.</p></noscript>",
            '<p id="save"></p>',
            facts_table(facts.items()),
            *tables,
            folded("As text", f"<pre>{escaped(text)}</pre>"),
            _data(data),
            f"</main>\n<script>\n{asset('page.js')}</script>",
        ]
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escaped(title)}: {escaped(subject)}</title>\n"
        f"<style>\n{_themes()}{asset('page.css')}</style>\n"
        f"</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


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


def numbers_table(
    nouns: str,
    heading: Sequence[str],
    rows: Sequence[Sequence[str]],
    kind: str = "numbers",
    of: str = "",
) -> str:
    """Return a table that folds, and is cut where it is very long; `kind` as for `table`.

    `of` follows the nouns, which are rows.

    >>> numbers_table("tiles", ["tile"], [["0"]])[:50]
    '<details open><summary>Numbers of 1 tile</summary>'
    """
    left = len(rows) - MOST_ROWS
    note = (
        f"<p>{left:,} more {nouns}{of} are left out here; the JSON has all.</p>" if left > 0 else ""
    )
    title = f"Numbers of {amount(len(rows), nouns.removesuffix('s'), nouns)}{of}"
    body = table(heading, rows[:MOST_ROWS], kind) + note
    return folded(title, body, is_open=len(rows) <= OPEN_ROWS)


@cache
def asset(name: str) -> str:
    """Return a style sheet or script of the package.

    >>> asset("page.css").splitlines()[0]
    ':root { color-scheme: light dark; }'
    """
    return (files("poplite.viz") / "assets" / name).read_text("utf-8")


def _data(data: str) -> str:
    """Return the JSON where a script finds it; no end tag in a name can end it early."""
    if len(data) > MOST_DATA:
        return (
            f"<p>The numbers as JSON would take {len(data):,} characters more, so they are not "
            "in this page; <code>-o FILE.json</code> writes them.</p>"
        )
    inside = data.replace("<", "\\u003c")
    return f'<script type="application/json" id="data">\n{inside}</script>'


def _themes() -> str:
    """Return the colours of a light and of a dark page."""
    light, dark = (
        "".join(f"--{name}:{color};" for name, color in colors.items()) for colors in (LIGHT, DARK)
    )
    return f":root{{{light}}}\n@media (prefers-color-scheme:dark){{:root{{{dark}}}}}\n"
