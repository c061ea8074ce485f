r"""The forms of one picture: text, SVG, JSON, CSV and a page, each made when it is asked for.

JSON has the same outer form for all.  Its keys are sorted and everything outside ASCII is escaped,
so equal data gives equal bytes, whatever is written to; names come back verbatim.

    >>> class Cafe(PictureData):
    ...     KIND = "tiles"
    ...     def data(self):
    ...         return {"title": "caf\u00e9"}
    >>> print(Cafe().json(), end="")
    {
     "poplite": "tiles",
     "title": "caf\u00e9",
     "version": 1
    }

A page is one file that needs no other file and no network.  It holds the picture, its facts, its
numbers as a table, the same as text, and all numbers as JSON for a program.  It follows the
reader's light or dark setting.  A click or the arrow keys show the text of a tooltip below the
picture too; without scripts everything else still works.  Equal input gives equal bytes.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, ClassVar, TypeAlias

import numpy as np

from poplite.viz.draw.svg import SvgText, asset, filled_asset
from poplite.viz.draw.words import DEFAULT_STYLE, Style, name_text
from poplite.viz.marks import FactList, Listing, Mark, Picture
from poplite.viz.paint_html import escaped, folded, json_element, page_colors, painted_html
from poplite.viz.paint_svg import paint_svg
from poplite.viz.paint_text import paint_text

Table: TypeAlias = tuple[Sequence[str], Sequence[Sequence[object]]]
"""Titles and rows of the CSV form."""

VERSION = 1
"""Version of the JSON form; it increases if readers of the earlier form would misread it."""

MOST_ROWS = 2000
"""Rows of a table of a page; the JSON has the rest."""


class PictureData:
    """The data of a picture, with all its forms; subclasses define the picture.

    Attributes:
        KIND: the name of the JSON form.
        PAGE: the title of a page.
    """

    __slots__ = ()

    KIND: ClassVar[str]
    PAGE: ClassVar[str]

    @property
    def subject(self) -> str:
        """What a page shows."""
        return self.picture().title

    def picture(self) -> Picture:
        """Return the marks of the data."""
        raise NotImplementedError

    def data(self) -> Mapping[str, object]:
        """Return the content of the JSON form: all fields, unless a subclass overrides it."""
        return by_field(self)

    def table(self) -> Table:
        """Return titles and rows of the CSV form."""
        raise NotImplementedError

    def text(self, style: Style = DEFAULT_STYLE) -> str:
        """Return the picture as text."""
        return paint_text(self.picture(), style)

    def svg(self) -> SvgText:
        """Return the picture as SVG."""
        return paint_svg(self.picture())

    def json(self) -> str:
        """Return the data as JSON."""
        outer = as_data({"poplite": self.KIND, "version": VERSION, **self.data()})
        return json.dumps(outer, indent=1, sort_keys=True, allow_nan=False) + "\n"

    def csv(self) -> str:
        """Return the table as comma-separated values; names that hold commas are quoted."""
        titles, rows = self.table()
        file = io.StringIO()
        csv.writer(file, lineterminator="\n").writerows([titles, *rows])
        return file.getvalue()

    def markdown(self) -> str:
        """Return the data as a table of Markdown."""
        raise NotImplementedError

    def page_svg(self) -> SvgText:
        """Return the picture of a page."""
        return self.svg()

    def page_facts(self) -> Mapping[str, str]:
        """Return the text of a page below the picture."""
        raise NotImplementedError

    def tables(self) -> Sequence[Listing]:
        """Return the listings of a page: those not in the SVG, unless a subclass overrides it."""
        return [each for each in self.picture().marks if isinstance(each, Listing) and each.aside]

    def page(self, command: str = "") -> str:
        """Return a page; `command` writes it, where one does."""
        by = f'<p class="command"><code>{escaped(name_text(command))}</code></p>\n'
        tables = (replace(each, most=MOST_ROWS) for each in self.tables())
        numbers: list[Mark] = [FactList(tuple(self.page_facts().items())), *tables]
        parts = {"title": escaped(self.PAGE), "subject": escaped(self.subject)}
        parts |= {"command": by if command else "", "picture": self.page_svg()}
        shown = "\n".join(map(painted_html, numbers))
        parts |= {"numbers": shown, "data": json_element(self.json())}
        parts |= {"text": folded("As text", f"<pre>{escaped(self.text())}</pre>")}
        parts |= {"style": page_colors() + asset("page.css"), "script": asset("page.js")}
        return filled_asset("page.html", parts)


# -- data as text ----------------------------------------------------------------------------------


def by_field(row: Any, *without: str) -> dict[str, Any]:
    """Return the values of a dataclass by the names of its fields, without some."""
    return {each.name: getattr(row, each.name) for each in fields(row) if each.name not in without}


def by_name(row: object, *names: str) -> dict[str, Any]:
    """Return some attributes by their names."""
    return {name: getattr(row, name) for name in names}


def as_data(value: Any) -> Any:
    """Return a value as data of JSON: dataclasses by field, arrays and sequences as lists.

    >>> as_data({"tiles": (np.arange(2), 0.5)})
    {'tiles': [[0, 1], 0.5]}
    """
    if isinstance(value, np.ndarray):
        return value.tolist()
    if is_dataclass(value):
        value = by_field(value)
    if isinstance(value, Mapping):
        return {key: as_data(each) for key, each in value.items()}
    return [as_data(each) for each in value] if isinstance(value, list | tuple) else value
