"""The forms of one picture: text, SVG, JSON, CSV and a page, each made when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import ClassVar, ParamSpec, TypeVar

from poplite.errors import ArgumentKind, annotated, instance_of
from poplite.frozen import frozen
from poplite.report import Report
from poplite.viz.draw.data_text import as_data, csv_text, json_text
from poplite.viz.draw.svg import SvgText
from poplite.viz.draw.words import DEFAULT_STYLE, Style
from poplite.viz.marks import Picture
from poplite.viz.paint_svg import paint_svg
from poplite.viz.paint_text import paint_text

P = ParamSpec("P")
R = TypeVar("R")


@frozen
class Forms:
    """The forms of one picture; each is drawn when it is called.

    Attributes:
        page: takes the command that writes the page, "" if none does.
    """

    text: Callable[[Style], str]
    svg: Callable[[], SvgText]
    json: Callable[[], str] | None = None
    page: Callable[[str], str] | None = None
    csv: Callable[[], str] | None = None


def forms_of(
    picture: Picture,
    json: Callable[[], str] | None = None,
    page: Callable[[str], str] | None = None,
    csv: Callable[[], str] | None = None,
) -> Forms:
    """Return the forms of a picture; data as JSON and as a table, and pages, are its own."""
    return Forms(partial(paint_text, picture), partial(paint_svg, picture), json, page, csv)


class PictureData:
    """The data of a picture, with all its forms; a class of them says what is drawn.

    Attributes:
        KIND: the name of the JSON form.
    """

    __slots__ = ()

    KIND: ClassVar[str]

    def picture(self) -> Picture:
        """Return the marks of the data."""
        raise NotImplementedError

    def data(self) -> Mapping[str, object]:
        """Return what the JSON form holds: all fields, unless a class says otherwise."""
        fields: dict[str, object] = as_data(self)
        return fields

    def table(self) -> tuple[Sequence[str], Sequence[Sequence[object]]]:
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
        return json_text(self.KIND, self.data())

    def csv(self) -> str:
        """Return the table as comma-separated values."""
        return csv_text(*self.table())

    def markdown(self) -> str:
        """Return the data as a table of Markdown."""
        raise NotImplementedError

    def page(self, command: str = "") -> str:
        """Return a page; `command` writes it, where one does."""
        raise NotImplementedError


def users_function(**kinds: ArgumentKind) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return what checks the arguments of a function that draws a report.

    `kinds` are those of annotations other than `Report`, by name.
    """
    report = instance_of(Report, "a report, as engine.report() returns it")
    return annotated("viz", {"Report": report, **kinds})
