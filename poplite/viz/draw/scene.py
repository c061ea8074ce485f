"""The shapes of a picture: what painters make, and what writers turn into SVG and PNG.

Lengths are in pixels.  `kind` holds classes of the style sheet, separated by blanks; what those of
a group say holds for its shapes too, unless their own say something else.

>>> Scene(8, 8, "a square", (Rect(2, 2, 4, 4, "q3"),)).shapes[0].kind
'q3'
"""

from __future__ import annotations

from typing import TypeAlias

from poplite.frozen import frozen

ASIDE = 9
"""Pixels between a line of text and what stands aside."""


@frozen
class Rect:
    """A rectangle; x and y are its left and top edges, `tip` is shown at the pointer."""

    x: float
    y: float
    width: float
    height: float
    kind: str
    tip: str = ""


@frozen
class Text:
    """A line of text, then softly what is `aside`.

    It starts at x, or is centred there (class `mid`) or ends (`end`); y is its base.
    """

    x: float
    y: float
    text: str
    kind: str
    aside: str = ""
    tip: str = ""


@frozen
class Path:
    """Lines and areas; `data` holds commands of SVG: M, L, H, V, C, A and Z."""

    data: str
    kind: str


@frozen
class Group:
    """Shapes that have classes and a tip in common; scripts of pages find it by its key."""

    kind: str
    tip: str
    shapes: tuple[Shape, ...]
    key: int | None = None


Shape: TypeAlias = "Rect | Text | Path | Group"


@frozen
class Scene:
    """A picture: its size in pixels, what it shows in words, and its shapes from back to front."""

    width: float
    height: float
    title: str
    shapes: tuple[Shape, ...]
