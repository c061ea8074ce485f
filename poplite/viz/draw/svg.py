"""A small writer of SVG, and the text that every drawing function returns.

`SvgText` is text, picture and file in one: print it, let a notebook show it, or call
`write`.  `Canvas` collects shapes; colours are classes, and one style sheet gives them
their values for light and dark pages.  Equal input gives equal bytes.

    >>> canvas = Canvas(40, 20, title="two < three")
    >>> canvas.rect(2, 2, 10, 10, "q3", tip="tile 0: 4 B")
    >>> picture = canvas.text_of()
    >>> picture.startswith("<svg"), "two &lt; three" in picture
    (True, True)
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from poplite.errors import InvalidOption, checked_kind
from poplite.files import checked_path, write_bytes, write_text
from poplite.viz.draw.columns import cells
from poplite.viz.draw.png import png_of
from poplite.viz.draw.scene import ASIDE, Group, Path as PathShape, Rect, Scene, Shape, Text
from poplite.viz.draw.style_sheet import STYLE, additional

LONGEST_HEADING = 100
"""Cells of a picture's heading; its `aria-label` has all of it."""

MEAN_GLYPH = 0.58
"""Width of an average glyph over the font size, on the wide side."""


class SvgText(str):
    """A picture as SVG text; a notebook shows it as a picture.

    Attributes:
        scene: its shapes; None of text that no `Canvas` made.

    >>> SvgText("<svg/>")._repr_svg_()
    '<svg/>'
    """

    __slots__ = ("scene",)

    scene: Scene | None

    def __new__(cls, text: str, scene: Scene | None = None) -> SvgText:
        """Make a picture of its text and the scene that it was written from."""
        checked_kind(text, str, "viz.SvgText: text", "the text of an SVG")
        picture = super().__new__(cls, text)
        picture.scene = scene
        return picture

    def _repr_svg_(self) -> str:
        return str(self)

    def png(self) -> bytes:
        """Return the picture as PNG, of twice as many pixels, on a light page.

        Raises:
            InvalidOption: when this text was not drawn here.
            FileLoadError: when Pillow is not installed.

        >>> Canvas(40, 20, title="nothing").text_of().png()[1:4]
        b'PNG'
        """
        if self.scene is None:
            raise InvalidOption(
                "only what poplite drew can become a PNG",
                at=None,
                found="this text was made by something else",
                fix="picture.png(), where tiles_svg(graph) or the like returned the picture",
            )
        return png_of(self.scene)

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the picture to a file, completely or not at all.

        Args:
            path: the file, a PNG where it ends in `.png`; one that exists is replaced.

        Returns:
            The path.

        Raises:
            FileLoadError: when the folder does not exist or refuses the file, or a PNG is asked for
                and Pillow is not installed.

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
    """Collects the shapes of one picture; the title is for screen readers.

    Lengths are in pixels, `kind` holds classes of the style sheet, and `tip` is shown while the
    pointer rests on a shape.
    """

    def __init__(self, width: float, height: float, *, title: str) -> None:
        self.width, self.height, self.title = width, height, title
        self._shapes: list[Shape] = []
        self._open: list[tuple[str, str, int | None, list[Shape]]] = []

    def rect(
        self, x: float, y: float, width: float, height: float, kind: str, *, tip: str = ""
    ) -> None:
        """Add a rectangle; x and y are its left and top edges."""
        self._shapes.append(Rect(x, y, width, height, kind, tip))

    def text(
        self, x: float, y: float, text: str, kind: str, *, aside: str = "", tip: str = ""
    ) -> None:
        """Add a line of text, then softly what is `aside`.

        The line starts at x, or is centred there (class `mid`) or ends (`end`); y is its base.  A
        `halo` around it is a text of its own below: not all that draw SVG know `paint-order`.
        """
        classes = kind.split()
        if "halo" in classes:
            rim = " ".join(each for each in classes if each not in ("ink", "soft"))
            self._shapes.append(Text(x, y, text, rim))
            kind = " ".join(each for each in classes if each != "halo")
        self._shapes.append(Text(x, y, text, kind, aside, tip))

    def path(self, data: str, kind: str) -> None:
        """Add a path; `data` holds its commands."""
        self._shapes.append(PathShape(data, kind))

    def open(self, kind: str, *, tip: str = "", key: int | None = None) -> None:
        """Open a group; what is added until `close` belongs to it.

        The script of a page finds the same thing in several groups by its `key`.
        """
        self._open.append((kind, tip, key, self._shapes))
        self._shapes = []

    def close(self) -> None:
        """Close the group opened last."""
        kind, tip, key, shapes = self._open.pop()
        shapes.append(Group(kind, tip, tuple(self._shapes), key))
        self._shapes = shapes

    def text_of(self) -> SvgText:
        """Return the picture: one `<svg>` element, ended by a line break."""
        scene = Scene(self.width, self.height, self.title, tuple(self._shapes))
        return SvgText(_written(scene), scene)


def box(x: float, y: float, width: float, height: float) -> str:
    """Return path commands of a rectangle, a closed sub-path; lengths are in pixels.

    >>> box(1, 2, 3, 4)
    'M1 2h3v4h-3z'
    """
    return f"M{number(x)} {number(y)}h{number(width)}v{number(height)}h-{number(width)}z"


def _written(scene: Scene) -> str:
    """Return a scene as SVG."""
    width, height = number(scene.width), number(scene.height)
    body = "\n".join(line for shape in scene.shapes for line in _lines(shape))
    scope, rules, patterns = _hatching(body)
    rules = additional(_kinds(scene.shapes)) + rules
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="poplite{scope}" width="{width}"'
        f' height="{height}" viewBox="0 0 {width} {height}" role="img"'
        f" aria-label={quoteattr(scene.title)}>\n"
        f"<style>\n{STYLE}{rules}</style>\n{patterns}"
        f'<rect width="{width}" height="{height}" rx="6" class="page"/>\n'
        f"{body}\n</svg>\n"
    )


def _lines(shape: Shape) -> Iterator[str]:
    """Yield the lines of a shape."""
    match shape:
        case Rect(x, y, width, height, kind, tip):
            begin = (
                f'<rect x="{number(x)}" y="{number(y)}" width="{number(width)}"'
                f' height="{number(height)}" class="{kind}"'
            )
            yield f"{begin}>{_title(tip)}</rect>" if tip else f"{begin}/>"
        case Text(x, y, text, kind, aside, tip):
            hidden = ' aria-hidden="true"' if "halo" in kind.split() else ""
            more = f'<tspan dx="{ASIDE}" class="soft">{escape(aside)}</tspan>' if aside else ""
            yield (
                f'<text x="{number(x)}" y="{number(y)}" class="{kind}"{hidden}>{_title(tip)}'
                f"{escape(text)}{more}</text>"
            )
        case PathShape(data, kind):
            yield f'<path d="{data}" class="{kind}"/>'
        case Group(kind, tip, shapes, key):
            known = "" if key is None else f' data-key="{key}"'
            yield f'<g class="{kind}"{known}>{_title(tip)}'
            for each in shapes:
                yield from _lines(each)
            yield "</g>"


def _kinds(shapes: Iterable[Shape]) -> set[str]:
    """Return all classes of shapes."""
    found: set[str] = set()
    for shape in shapes:
        found.update(shape.kind.split())
        if isinstance(shape, Group):
            found |= _kinds(shape.shapes)
    return found


def _title(tip: str) -> str:
    return f"<title>{escape(tip)}</title>" if tip else ""


def _hatching(body: str) -> tuple[str, str, str]:
    """Return the class, the rules and the patterns of a picture that has hatched parts.

    Patterns are found by an id, which must be of this picture alone: a page that holds
    several finds only the first, and none while that one is hidden.
    """
    used = [kind for kind in HATCHED if re.search(rf'class="{kind}[ "]', body)]
    if not used:
        return "", "", ""
    own = f"poplite-{hashlib.sha256(body.encode()).hexdigest()[:8]}"
    # Not in the pattern itself, whose line has the class of what it is drawn in.
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
"""The pattern of a class: how large, turned how, and what is drawn in it."""
