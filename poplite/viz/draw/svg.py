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
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from poplite.files import write_text
from poplite.viz.draw.colors import (
    CATEGORIES,
    CATEGORY_INK,
    DARK,
    LIGHT,
    OVER_LIMIT,
    RAMP,
    RAMP_INK,
)
from poplite.viz.draw.columns import cells

FONT = "ui-sans-serif,system-ui,'Segoe UI',Roboto,'Helvetica Neue',Arial,'DejaVu Sans',sans-serif"

LONGEST_HEADING = 100
"""Cells of a picture's heading; its `aria-label` has all of it."""

MEAN_GLYPH = 0.58
"""Width of an average glyph over the font size, on the wide side."""


class SvgText(str):
    """A picture as SVG text; a notebook shows it as a picture.

    >>> SvgText("<svg/>")._repr_svg_()
    '<svg/>'
    """

    __slots__ = ()

    def _repr_svg_(self) -> str:
        return str(self)

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the picture to a file, completely or not at all.

        Args:
            path: the file; one that exists is replaced.

        Returns:
            The path.

        Raises:
            FileLoadError: when the folder does not exist or refuses the file.

        >>> SvgText("<svg/>").write("no/such/map.svg")
        Traceback (most recent call last):
        poplite.errors.FileLoadError: cannot write 'no/such/map.svg': there is no folder ...
        """
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
        self._parts: list[str] = []

    def rect(
        self, x: float, y: float, width: float, height: float, kind: str, *, tip: str = ""
    ) -> None:
        """Add a rectangle; x and y are its left and top edges."""
        shape = (
            f'<rect x="{number(x)}" y="{number(y)}" width="{number(width)}"'
            f' height="{number(height)}" class="{kind}"'
        )
        self._parts.append(f"{shape}><title>{escape(tip)}</title></rect>" if tip else f"{shape}/>")

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
            shape = f'<text x="{number(x)}" y="{number(y)}" class="{rim}" aria-hidden="true">'
            self._parts.append(f"{shape}{escape(text)}</text>")
            kind = " ".join(each for each in classes if each != "halo")
        more = f'<tspan dx="9" class="soft">{escape(aside)}</tspan>' if aside else ""
        title = f"<title>{escape(tip)}</title>" if tip else ""
        self._parts.append(
            f'<text x="{number(x)}" y="{number(y)}" class="{kind}">{title}{escape(text)}{more}'
            "</text>"
        )

    def path(self, data: str, kind: str) -> None:
        """Add a path; `data` holds its commands."""
        self._parts.append(f'<path d="{data}" class="{kind}"/>')

    def open(self, kind: str, *, tip: str = "", key: int | None = None, down: float = 0) -> None:
        """Open a group; what is added until `close` belongs to it, and stands lower by `down`.

        Scripts of a page find the same thing in several groups by its `key`.
        """
        title = f"<title>{escape(tip)}</title>" if tip else ""
        known = "" if key is None else f' data-key="{key}"'
        moved = f' transform="translate(0 {number(down)})"' if down else ""
        self._parts.append(f'<g class="{kind}"{known}{moved}>{title}')

    def close(self) -> None:
        """Close the group opened last."""
        self._parts.append("</g>")

    def text_of(self) -> SvgText:
        """Return the picture: one `<svg>` element, ended by a line break."""
        width, height = number(self.width), number(self.height)
        body = "\n".join(self._parts)
        scope, rules, patterns = _hatching(body)
        return SvgText(
            f'<svg xmlns="http://www.w3.org/2000/svg" class="poplite{scope}" width="{width}"'
            f' height="{height}" viewBox="0 0 {width} {height}" role="img"'
            f" aria-label={quoteattr(self.title)}>\n"
            f"<style>\n{_STYLE}{rules}</style>\n{patterns}"
            f'<rect width="{width}" height="{height}" rx="6" class="page"/>\n'
            f"{body}\n</svg>\n"
        )


def box(x: float, y: float, width: float, height: float) -> str:
    """Return path commands of a rectangle, a closed sub-path; lengths are in pixels.

    >>> box(1, 2, 3, 4)
    'M1 2h3v4h-3z'
    """
    return f"M{number(x)} {number(y)}h{number(width)}v{number(height)}h-{number(width)}z"


def _themed(colors: dict[str, str], ramp: tuple[str, ...], ramp_ink: tuple[str, ...]) -> str:
    """Return the rules that differ between a light and a dark page."""
    rules = [
        f".page{{fill:{colors['page']}}}",
        f".veil{{fill:{colors['page']}}}",
        f".seam{{stroke:{colors['page']}}}",
        f".ink{{fill:{colors['ink']}}}",
        f".soft{{fill:{colors['soft']}}}",
        f".dots{{fill:{colors['soft']}}}",
        f".hatch{{stroke:{colors['soft']}}}",
        f".none{{fill:{colors['empty']}}}",
        f".rule{{stroke:{colors['line']}}}",
        f".mark{{stroke:{colors['mark']}}}",
        f".halo{{stroke:{colors['page']};fill:{colors['page']}}}",
    ]
    rules += [f".q{step}{{fill:{color}}}" for step, color in enumerate(ramp)]
    rules += [f".i{step}{{fill:{color}}}" for step, color in enumerate(ramp_ink)]
    return _scoped(rules)


def _fixed() -> str:
    """Return the rules that hold on every page."""
    rules = [
        f"text{{font-family:{FONT};font-size:11px}}",
        ".head{font-size:15px;font-weight:600}",
        ".line{font-size:12px}",
        ".small{font-size:10px}",
        ".mid{text-anchor:middle}",
        ".end{text-anchor:end}",
        f".over{{fill:{OVER_LIMIT}}}",
        ".bang{fill:#fff;font-weight:700}",
        ".rule{fill:none;stroke-width:1}",
        ".mark{fill:none;stroke-width:1.6}",
        ".fine{stroke-width:.8}",
        ".halo{stroke-width:4;stroke-linejoin:round}",
        ".flush{shape-rendering:crispEdges}",
        ".seam{stroke-width:.75}",
        ".seam text{stroke:none}",
        ".hatch{stroke-width:1.2}",
        ".ribbon{fill-opacity:.4}",
        ".haze{fill-opacity:.12}",
        ".veil{fill-opacity:.72;fill-rule:evenodd;pointer-events:none}",
    ]
    rules += [f".c{k}{{fill:{color}}}" for k, color in enumerate(CATEGORIES)]
    rules += [f".k{k}{{fill:{color}}}" for k, color in enumerate(CATEGORY_INK)]
    return _scoped(rules)


def _scoped(rules: list[str]) -> str:
    """Keep rules to our pictures: a page may hold other drawings, with other classes."""
    return "".join(f".poplite {rule}\n" for rule in rules)


_STYLE = (
    _themed(LIGHT, RAMP, RAMP_INK)
    + _fixed()
    + "@media (prefers-color-scheme:dark){\n"
    + _themed(DARK, RAMP[::-1], RAMP_INK[::-1])
    + "}\n"
)


def _hatching(body: str) -> tuple[str, str, str]:
    """Return the class, the rules and the patterns of a picture that has hatched parts.

    Patterns are found by an id, which must be of this picture alone: a page that holds
    several finds only the first, and none while that one is hidden.
    """
    if not any(f'class="{kind}"' in body for kind in ("unmapped", "mixed")):
        return "", "", ""
    own = f"poplite-{hashlib.sha256(body.encode()).hexdigest()[:8]}"
    rules = f".{own} .unmapped{{fill:url(#{own}-hatch)}}\n.{own} .mixed{{fill:url(#{own}-dots)}}\n"
    patterns = (
        f'<defs><pattern id="{own}-hatch" width="6" height="6" patternUnits="userSpaceOnUse"'
        ' patternTransform="rotate(45)"><rect width="6" height="6" class="none"/>'
        '<path d="M3 0v6" class="hatch"/></pattern>'
        f'<pattern id="{own}-dots" width="5" height="5" patternUnits="userSpaceOnUse">'
        '<rect width="5" height="5" class="none"/>'
        '<circle cx="2.5" cy="2.5" r="1" class="dots"/></pattern></defs>\n'
    )
    return f" {own}", rules, patterns
