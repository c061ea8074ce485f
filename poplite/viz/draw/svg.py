"""A small writer of SVG, and the text that every drawing function returns.

`SvgText` is text, picture and file in one: print it, let a notebook show it, or call
`write`.  `Canvas` writes shapes; colours are classes, and one style sheet gives them
their values for light and dark pages.  Equal input gives equal bytes.

    >>> canvas = Canvas(40, 20, title="two < three")
    >>> canvas.rect(2, 2, 10, 10, "q3", tip="tile 0: 4 B")
    >>> picture = canvas.text_of()
    >>> picture.startswith("<svg"), "two &lt; three" in picture
    (True, True)

A PNG is made of the SVG by resvg, with the font Roboto, and for letters that this lacks with the
fonts of the machine.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import TypeAlias
from xml.sax.saxutils import escape, quoteattr

from poplite.errors import FileLoadError, InvalidOption, checked_kind
from poplite.files import checked_path, write_bytes, write_text
from poplite.viz.colours import (
    ADDITIONAL,
    CATEGORIES,
    DARK,
    LIGHT,
    OVER_LIMIT,
    RAMP,
    RAMP_INK,
    color_of,
    ink_on,
)
from poplite.viz.draw.words import cells

LONGEST_HEADING = 100
"""Cells of a picture's heading; its `aria-label` has all of it."""

MEAN_GLYPH = 0.58
"""Width of an average glyph over the font size, on the wide side."""

ASIDE = 9
"""Pixels between a line of text and the text after it."""


class SvgText(str):
    """A picture as SVG text; a notebook shows it as a picture.

    >>> SvgText("<svg/>")._repr_svg_()
    '<svg/>'
    """

    __slots__ = ()

    def __new__(cls, text: str) -> SvgText:
        """Make a picture of its text."""
        checked_kind(text, str, "viz.SvgText: text", "the text of an SVG")
        return super().__new__(cls, text)

    def _repr_svg_(self) -> str:
        return str(self)

    def png(self) -> bytes:
        """Return the picture as PNG at twice the resolution, on a light page.

        Raises:
            InvalidOption: when this text is not an SVG.
            FileLoadError: when resvg_py is not installed, or the picture is too large.

        >>> Canvas(40, 20, title="nothing").text_of().png()[1:4]
        b'PNG'
        """
        return png_of(self)

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the picture to a file, completely or not at all.

        Args:
            path: the file, a PNG where it ends in `.png`; one that exists is replaced.

        Returns:
            The path.

        Raises:
            InvalidOption: when a PNG is asked for and this text is not an SVG.
            FileLoadError: when the folder does not exist or refuses the file, or a PNG is asked for
                and resvg_py is not installed.

        >>> SvgText("<svg/>").write("no/such/map.svg")
        Traceback (most recent call last):
        poplite.errors.FileLoadError: cannot write 'no/such/map.svg': there is no folder ...
        """
        if checked_path(path).suffix.lower() == ".png":
            return write_bytes(path, self.png())
        return write_text(path, self)


def number(value: float) -> str:
    """Return a coordinate in pixels in as few characters as its tenths need.

    >>> number(12.0), number(0.54)
    ('12', '0.5')
    """
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def text_width(text: str, size: float) -> float:
    """Estimate the width of a line in pixels, rather too wide; `size` is the font size in pixels.

    >>> text_width("tile 1", 10) > 30
    True
    """
    return cells(text) * size * MEAN_GLYPH


class Canvas:
    """Writes the shapes of one picture, from back to front; the title is for screen readers.

    Lengths are in pixels, `kind` holds classes of the style sheet, and `tip` is shown while the
    pointer rests on a shape.
    """

    def __init__(self, width: float, height: float, *, title: str) -> None:
        self.width, self.height, self.title = width, height, title
        self._lines: list[str] = []
        self._kinds: set[str] = set()

    def rect(
        self, x: float, y: float, width: float, height: float, kind: str, *, tip: str = ""
    ) -> None:
        """Add a rectangle; x and y are its left and top edges."""
        size = f'width="{number(width)}" height="{number(height)}"'
        begin = f'<rect x="{number(x)}" y="{number(y)}" {size} class="{kind}"'
        self._add(begin, kind, f">{_title(tip)}</rect>" if tip else "/>")

    def text(
        self, x: float, y: float, text: str, kind: str, *, aside: str = "", tip: str = ""
    ) -> None:
        """Add a line of text, followed by `aside` in muted text.

        The line starts at x, or is centred there (class `mid`) or ends (`end`); y is its base.  A
        `halo` around it is a text of its own below: not all that draw SVG know `paint-order`.
        """
        begin, classes = f'<text x="{number(x)}" y="{number(y)}"', kind.split()
        if "halo" in classes:
            rim = " ".join(each for each in classes if each not in ("ink", "soft"))
            self._add(f'{begin} class="{rim}" aria-hidden="true">{escape(text)}</text>', rim)
            kind = " ".join(each for each in classes if each != "halo")
        more = f'<tspan dx="{ASIDE}" class="soft">{escape(aside)}</tspan>' if aside else ""
        self._add(f'{begin} class="{kind}">{_title(tip)}{escape(text)}{more}</text>', kind)

    def path(self, data: str, kind: str) -> None:
        """Add a path; `data` holds its commands."""
        self._add(f'<path d="{data}" class="{kind}"/>', kind)

    def open(self, kind: str, *, tip: str = "", key: int | None = None) -> None:
        """Open a group; shapes added until `close` belong to it, and have its classes.

        The script of a page finds the same thing in several groups by its `key`.
        """
        known = "" if key is None else f' data-key="{key}"'
        self._add(f'<g class="{kind}"{known}>{_title(tip)}', kind)

    def close(self) -> None:
        """Close the group opened last."""
        self._lines.append("</g>")

    def _add(self, line: str, kind: str, end: str = "") -> None:
        self._lines.append(line + end)
        self._kinds.update(kind.split())

    def text_of(self) -> SvgText:
        """Return the picture: one `<svg>` element, ended by a line break."""
        width, height = number(self.width), number(self.height)
        body = "\n".join(self._lines)
        scope, rules, patterns = _hatching(body, self._kinds)
        return SvgText(
            f'<svg xmlns="http://www.w3.org/2000/svg" class="poplite{scope}" width="{width}"'
            f' height="{height}" viewBox="0 0 {width} {height}" role="img"'
            f" aria-label={quoteattr(self.title)}>\n"
            f"<style>\n{STYLE}{additional(self._kinds)}{rules}</style>\n{patterns}"
            f'<rect width="{width}" height="{height}" rx="6" class="page"/>\n'
            f"{body}\n</svg>\n"
        )


def box(x: float, y: float, width: float, height: float) -> str:
    """Return path commands of a rectangle, a closed sub-path; lengths are in pixels.

    >>> box(1, 2, 3, 4)
    'M1 2h3v4h-3z'
    """
    return f"M{number(x)} {number(y)}h{number(width)}v{number(height)}h-{number(width)}z"


def _title(tip: str) -> str:
    return f"<title>{escape(tip)}</title>" if tip else ""


def _hatching(body: str, kinds: set[str]) -> tuple[str, str, str]:
    """Return the class, the rules and the patterns of a picture that has hatched parts.

    Patterns are found by an id, which must be of this picture alone: a page that holds
    several finds only the first, and none while that one is hidden.
    """
    used = [kind for kind in HATCHED if kind in kinds]
    if not used:
        return "", "", ""
    own = f"poplite-{hashlib.sha256(body.encode()).hexdigest()[:8]}"
    # Not in the pattern itself, whose line has the class of the filled shape.
    rules = "".join(
        f".{own}>.{kind},.{own} g>.{kind}{{fill:url(#{own}-{kind})}}\n" for kind in used
    )
    patterns = "".join(
        f'<pattern id="{own}-{kind}" width="{side}" height="{side}" patternUnits="userSpaceOnUse"'
        f'{turn}><rect width="{side}" height="{side}" class="none"/>{drawn}</pattern>'
        for kind, (side, turn, drawn) in HATCHED.items()
        if kind in used
    )
    return f" {own}", rules, f"<defs>{patterns}</defs>\n"


ACROSS = ' patternTransform="rotate(45)"'

HATCHED = {
    "unmapped": (6, ACROSS, '<path d="M3 0v6" class="hatch"/>'),
    "mixed": (5, "", '<circle cx="2.5" cy="2.5" r="1" class="dots"/>'),
    "waiting": (4, ACROSS, '<path d="M1 0h1.4v4h-1.4z" class="waiting"/>'),
}
"""The pattern of a class: its size, rotation and content."""


# -- style sheet -----------------------------------------------------------------------------------


@cache
def asset(name: str) -> str:
    """Return a style sheet or script of the package.

    >>> asset("page.css").splitlines()[0]
    ':root { color-scheme: light dark; }'
    """
    return (files("poplite.viz") / "assets" / name).read_text("utf-8")


def filled_asset(name: str, parts: Mapping[str, str]) -> str:
    """Return an asset with its parts, whose names are between `@@` in it.

    >>> filled_asset("themed.css", LIGHT).splitlines()[0]
    '.poplite .page{fill:#ffffff}'
    """
    pieces = enumerate(asset(name).split("@@"))
    return "".join(parts[piece] if number % 2 else piece for number, piece in pieces)


DARK_PAGE = "@media (prefers-color-scheme:dark)"

Rules: TypeAlias = list[tuple[str, str]]
"""Selectors and their declarations, in the order of the sheet: later ones win."""


def _themed(*, dark: bool) -> str:
    """Return the rules that differ between a light and a dark page."""
    ramp, ramp_ink = (each[::-1] if dark else each for each in (RAMP, RAMP_INK))
    rules = [(f".q{step}", f"fill:{color}") for step, color in enumerate(ramp)]
    rules += [(f".i{step}", f"fill:{color}") for step, color in enumerate(ramp_ink)]
    for k in range(len(CATEGORIES)):
        rules.append((f".c{k}", f"fill:{color_of(f'c{k}', dark=dark)}"))
        rules.append((f".k{k}", f"fill:{ink_on(f'c{k}', dark=dark)}"))
    return filled_asset("themed.css", DARK if dark else LIGHT) + _css(rules)


FAINT = {"ribbon": ".4", "haze": ".12"}
"""How much areas cover that not every picture has."""


def _css(rules: Rules) -> str:
    """Restrict rules to our pictures: a page may contain other drawings, with other classes."""
    return "".join(f".poplite {selector}{{{declared}}}\n" for selector, declared in rules)


_SHAPES = filled_asset("shapes.css", {"over": OVER_LIMIT})

STYLE = f"{_themed(dark=False)}{_SHAPES}{DARK_PAGE}{{\n{_themed(dark=True)}}}\n"
"""The style sheet of every picture, for light and dark pages."""


def additional(kinds: Iterable[str]) -> str:
    """Return the rules of those of these classes that not every picture has.

    >>> print(additional(["gaps", "q3"]), end="")
    .poplite .gaps{fill:#dfe5e9}
    @media (prefers-color-scheme:dark){
    .poplite .gaps{fill:#2c3840}
    }
    """
    light, dark = (_added(set(kinds), page) for page in (0, 1))
    return f"{_css(light)}{DARK_PAGE}{{\n{_css(dark)}}}\n" if light else ""


def _added(kinds: Iterable[str], page: int) -> Rules:
    rules = {kind: f"fill:{colors[page]}" for kind, colors in ADDITIONAL.items()}
    rules |= {f"on-{kind}": f"fill:{ink_on(kind, dark=bool(page))}" for kind in ADDITIONAL}
    rules |= {kind: f"fill-opacity:{share}" for kind, share in FAINT.items()}
    return [(f".{kind}", rule) for kind, rule in rules.items() if kind in kinds]


# -- PNG -------------------------------------------------------------------------------------------

SCALE = 2
"""Pixels of a PNG for one of the picture."""

MOST_PIXELS = 120_000_000
"""Pixels of the largest PNG."""

INSTALL = 'pip install "poplite[png]"'


def is_possible() -> bool:
    """Return whether resvg, which converts SVG to PNG, is installed with its font."""
    return all(map(find_spec, ("resvg_py", "font_roboto")))


def png_of(picture: SvgText) -> bytes:
    """Return a picture as a file in PNG."""
    if not is_possible():
        raise FileLoadError("cannot draw a PNG: resvg_py is not installed", at=None, fix=INSTALL)
    import font_roboto
    import resvg_py

    size = re.match(r'<svg [^>]*width="([\d.]+)" height="([\d.]+)"', picture)
    wide, high = (math.ceil(SCALE * float(each)) for each in size.groups()) if size else (0, 0)
    if wide * high > MOST_PIXELS:
        raise FileLoadError(
            f"a PNG of {wide:,} x {high:,} pixels is too large",
            at=None,
            found=f"{wide * high:,} pixels, and {MOST_PIXELS:,} at most",
            fix="write SVG, or draw less",
        )
    fonts = [font_roboto.font_files[name] for name in ("Roboto", "RobotoBold")]
    try:
        content: bytes = resvg_py.svg_to_bytes(
            picture, zoom=SCALE, background="white", font_files=fonts
        )
    except ValueError as error:
        raise InvalidOption(
            "only an SVG can become a PNG",
            at=None,
            found=f"this text is not one: {error}",
            fix="picture.png(), where tiles_svg(graph) or the like returned the picture",
        ) from error
    return content
