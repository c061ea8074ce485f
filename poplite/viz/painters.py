"""The forms of one picture: text, SVG, JSON, CSV and a page, each made when it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from poplite.frozen import frozen
from poplite.viz.draw.svg import SvgText
from poplite.viz.draw.terminal import Style
from poplite.viz.marks import Picture
from poplite.viz.paint_svg import paint_svg
from poplite.viz.paint_text import paint_text


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
