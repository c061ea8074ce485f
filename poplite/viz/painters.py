"""The forms of one picture: text, SVG, JSON, CSV and a page, each made when it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ParamSpec, TypeVar

from poplite.errors import ArgumentKind, annotated, instance_of
from poplite.frozen import frozen
from poplite.report import Report
from poplite.viz.draw.svg import SvgText
from poplite.viz.draw.terminal import Style
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


def users_function(**kinds: ArgumentKind) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return what checks the arguments of a function that draws a report.

    `kinds` are those of annotations other than `Report`, by name.
    """
    report = instance_of(Report, "a report, as engine.report() returns it")
    return annotated("viz", {"Report": report, **kinds})
