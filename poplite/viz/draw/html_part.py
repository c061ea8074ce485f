r"""A small writer of HTML: escaped text, tables, parts that fold.

What is passed in as text is escaped; what comes out is HTML and is put together as it is.

    >>> escaped('<b> & "c"')
    '&lt;b&gt; &amp; &quot;c&quot;'
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files


def escaped(text: str) -> str:
    """Return text that is safe between tags and between quotes.

    Args:
        text: anything; control characters of names are written out before (`name_text`).

    >>> escaped("</script>")
    '&lt;/script&gt;'
    """
    return escape(text, quote=True)


def facts_table(rows: Mapping[str, str]) -> str:
    """Return a table of names and their values.

    Args:
        rows: what each fact is called, and the fact.

    >>> facts_table({"tiles": "4"})
    '<table class="facts"><tbody><tr><th scope="row">tiles</th><td>4</td></tr></tbody></table>'
    """
    body = "".join(
        f'<tr><th scope="row">{escaped(name)}</th><td>{escaped(value)}</td></tr>'
        for name, value in rows.items()
    )
    return f'<table class="facts"><tbody>{body}</tbody></table>'


def table(heading: Sequence[str], rows: Iterable[Sequence[str]], kind: str = "numbers") -> str:
    """Return a table of numbers.

    Args:
        heading: names of the columns.
        rows: a text for each column.
        kind: class: "numbers" aligns on the right, "numbers last" but for the last column,
            "numbers first" but for the first.

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
    """Return a part that the reader opens and closes.

    Args:
        title: what is in it.
        body: HTML.
        is_open: whether it is open at first.

    >>> folded("2 tiles", "<p>0-1</p>")
    '<details><summary>2 tiles</summary><p>0-1</p></details>'
    """
    opened = " open" if is_open else ""
    return f"<details{opened}><summary>{escaped(title)}</summary>{body}</details>"


@cache
def asset(name: str) -> str:
    """Return a style sheet or script of the package.

    Args:
        name: of the file.

    >>> asset("page.css").splitlines()[0]
    ':root { color-scheme: light dark; }'
    """
    return (files("poplite.viz") / "assets" / name).read_text("utf-8")
