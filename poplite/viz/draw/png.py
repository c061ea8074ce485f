r"""Scenes as PNG, by Pillow and the font that it brings: twice the size, on a light page.

Rectangles lie on whole pixels.  Lines and areas are drawn four times as large, each in a window of
its own, and made smaller, so that their edges are smooth.  The font has Latin letters without
accents; what it lacks is written in letters that it has, or as Python escapes it, so that names
that differ look different.

>>> print(letters("3 × 4 → café, 広"))
3 x 4 -> cafe, \u5e83
"""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, TypeAlias
from unicodedata import category, normalize

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.errors import FileLoadError
from poplite.viz.draw.path_lines import Line, path_lines
from poplite.viz.draw.scene import ASIDE, Group, Path, Rect, Scene, Shape, Text
from poplite.viz.draw.style_sheet import look

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageFont import FreeTypeFont

SCALE = 2
"""Pixels of the PNG for one of the scene."""

SMOOTH = 4
"""How much larger lines and areas are drawn at first."""

MOST_PIXELS = 120_000_000
"""Pixels of the largest PNG."""

MOST_COLORS = 256

INSTALL = 'pip install "poplite[png]"'

INHERITED = ("fill", "stroke", "stroke-width", "fill-opacity", "font-size")
"""What the shapes of a group take from it."""

SAME_AS = str.maketrans(
    {"×": "x", "→": "->", "←": "<-", "–": "-", "—": "-", "≤": "<=", "≥": ">=", "◂": "<", "▸": ">"}
    | {"•": "*", "−": "-", "“": '"', "”": '"', "‘": "'", "’": "'"}
)

SIGNS = "·…°±"
"""What the font has beyond ASCII, of what pictures use."""

Color: TypeAlias = tuple[int, int, int]


def is_possible() -> bool:
    """Return whether Pillow is there."""
    try:
        import PIL.ImageDraw
    except ImportError:
        return False
    return bool(PIL.ImageDraw)


def png_of(scene: Scene) -> bytes:
    """Return a scene as a file in PNG; raises FileLoadError without Pillow, and for huge scenes."""
    if not is_possible():
        raise FileLoadError("cannot draw a PNG: Pillow is not installed", at=None, fix=INSTALL)
    size = math.ceil(scene.width * SCALE), math.ceil(scene.height * SCALE)
    if size[0] * size[1] > MOST_PIXELS:
        raise FileLoadError(
            f"a PNG of {size[0]:,} x {size[1]:,} pixels is too large",
            at=None,
            found=f"{size[0] * size[1]:,} pixels, and {MOST_PIXELS:,} at most",
            fix="write SVG, or draw less",
        )
    from PIL import Image

    image = Image.new("RGB", size, _color(look(["page"])["fill"]))
    painter = _Painter(image)
    for shape in scene.shapes:
        painter.draw(shape, {})
    file = io.BytesIO()
    _in_few_colors(image).save(file, "PNG")
    return file.getvalue()


def _in_few_colors(image: Image) -> Image:
    """Return the image with its most frequent colours alone, and the nearest of these for others.

    A picture has few colours but for the edges of letters and lines: it takes a third of the bytes.
    """
    from PIL import Image

    found = image.getcolors(image.width * image.height)
    assert found is not None  # there are no more colours than pixels
    counts = np.array([count for count, _ in found])
    colors = np.array([color for _, color in found], np.int64)
    kept = colors[np.lexsort((*colors.T, -counts))[:MOST_COLORS]]
    apart = ((colors[:, None, :] - kept[None, :, :]) ** 2).sum(axis=2)
    number = np.zeros(1 << 24, np.uint8)
    number[_packed(colors)] = apart.argmin(axis=1)
    few = Image.fromarray(number[_packed(np.asarray(image, np.int64))], "P")
    few.putpalette(kept.astype(np.uint8).tobytes())
    return few


def _packed(colors: Int64) -> Int64:
    packed: Int64 = colors[..., 0] << 16 | colors[..., 1] << 8 | colors[..., 2]
    return packed


def letters(text: str) -> str:
    """Return text in letters that the font has."""
    if text.isascii():
        return text
    return "".join(map(_letters_of, text.translate(SAME_AS)))


def _letters_of(sign: str) -> str:
    if sign.isascii() or sign in SIGNS:
        return sign
    parts = [
        each
        for each in normalize("NFKD", sign)
        if category(each) not in ("Mn", "Cf")  # accents, and marks without width
    ]
    known = all(each.isascii() or each in SIGNS for each in parts)
    return "".join(parts) if known else sign.encode("unicode-escape").decode()


class _Painter:
    """Draws shapes onto an image."""

    def __init__(self, image: Image) -> None:
        from PIL import ImageDraw

        self.image, self.pen = image, ImageDraw.Draw(image)

    def draw(self, shape: Shape, outer: Mapping[str, str]) -> None:
        """Draw a shape within groups that say `outer`."""
        kinds = shape.kind.split()
        looks = {**outer, **look(kinds, "text" if isinstance(shape, Text) else "")}
        match shape:
            case Group(shapes=shapes):
                inherited = {name: looks[name] for name in INHERITED if name in looks}
                for each in shapes:
                    self.draw(each, inherited)
            case Rect():
                self._rect(shape, kinds, looks)
            case Path(data, _):
                self._path(path_lines(data), kinds, looks)
            case Text():
                self._text(shape, looks)

    def _rect(self, rect: Rect, kinds: list[str], looks: Mapping[str, str]) -> None:
        left, top = round(rect.x * SCALE), round(rect.y * SCALE)
        right, bottom = (
            round((rect.x + rect.width) * SCALE),
            round((rect.y + rect.height) * SCALE),
        )
        if right <= left or bottom <= top:
            return
        if kinds[0] in PATTERNS:
            size = (right - left, bottom - top)
            self.image.paste(_pattern(kinds[0], *size), (left, top))
        elif looks.get("fill") != "none":
            corners = (left, top, right - 1, bottom - 1)
            self.pen.rectangle(corners, fill=_color(looks.get("fill", "#000000")))
        if "stroke" in looks:
            x, y = (rect.x, rect.x + rect.width), (rect.y, rect.y + rect.height)
            outline = [(x[0], y[0]), (x[1], y[0]), (x[1], y[1]), (x[0], y[1])]
            self._stroke([(outline, True)], looks)

    def _path(self, lines: list[Line], kinds: list[str], looks: Mapping[str, str]) -> None:
        if looks.get("fill") != "none":
            self._fill(lines, kinds, looks)
        if "stroke" in looks:
            self._stroke(lines, looks)

    def _fill(self, lines: list[Line], kinds: list[str], looks: Mapping[str, str]) -> None:
        from PIL import Image, ImageChops

        window = _Window(lines, 1)
        mask = Image.new("L", window.size)
        for points, _ in lines:
            part = window.mask()
            part.polygon(points)
            join = ImageChops.difference if looks.get("fill-rule") == "evenodd" else _union
            mask = join(mask, part.smooth())
        opacity = float(looks.get("fill-opacity", "1"))
        if opacity < 1:
            mask = mask.point(lambda value: round(value * opacity))
        if kinds[0] in PATTERNS:
            self.image.paste(_pattern(kinds[0], *window.size), window.corner, mask)
        else:
            color = Image.new("RGB", window.size, _color(looks.get("fill", "#000000")))
            self.image.paste(color, window.corner, mask)

    def _stroke(self, lines: list[Line], looks: Mapping[str, str]) -> None:
        from PIL import Image

        width = float(looks.get("stroke-width", "1"))
        window = _Window(lines, width)
        part = window.mask()
        for points, closed in lines:
            part.line([*points, points[0]] if closed else points, width)
        color = Image.new("RGB", window.size, _color(looks["stroke"]))
        self.image.paste(color, window.corner, part.smooth())

    def _text(self, text: Text, looks: Mapping[str, str]) -> None:
        font = _font(float(looks["font-size"].removesuffix("px")) * SCALE)
        weight = 0.35 if "font-weight" in looks else 0.0
        aside = _look_aside(text.aside)
        anchor = {"middle": 0.5, "end": 1.0}.get(looks.get("text-anchor", ""), 0.0)
        words, more = letters(text.text), letters(text.aside)
        own = font.getlength(words)
        wide = own + (ASIDE * SCALE + font.getlength(more) if more else 0)
        x, y = text.x * SCALE - anchor * wide, text.y * SCALE
        if "stroke" in looks:
            halo = float(looks.get("stroke-width", "1")) * SCALE / 2
            color = _color(looks["stroke"])
            self.pen.text((x, y), words, color, font, "ls", stroke_width=halo, stroke_fill=color)
        if looks.get("fill") == "none":
            return
        color = _color(looks.get("fill", "#000000"))
        self.pen.text((x, y), words, color, font, "ls", stroke_width=weight, stroke_fill=color)
        if more:
            self.pen.text((x + own + ASIDE * SCALE, y), more, aside, font, "ls")


class _Window:
    """The part of an image that lines need, with room for their width."""

    def __init__(self, lines: list[Line], width: float) -> None:
        across = [x for points, _ in lines for x, _ in points]
        down = [y for points, _ in lines for _, y in points]
        self.corner = (
            math.floor((min(across) - width) * SCALE),
            math.floor((min(down) - width) * SCALE),
        )
        self.size = (
            math.ceil((max(across) + width) * SCALE) - self.corner[0],
            math.ceil((max(down) + width) * SCALE) - self.corner[1],
        )

    def mask(self) -> _Mask:
        """Return an empty mask of the window."""
        return _Mask(self)


class _Mask:
    """Where something covers a window, drawn several times as large."""

    def __init__(self, window: _Window) -> None:
        from PIL import Image, ImageDraw

        self.window = window
        self.image = Image.new("L", (window.size[0] * SMOOTH, window.size[1] * SMOOTH))
        self.pen = ImageDraw.Draw(self.image)

    def polygon(self, points: list[tuple[float, float]]) -> None:
        """Cover an area; the last point is joined to the first."""
        if len(points) > 2:
            self.pen.polygon(self._placed(points), fill=255)

    def line(self, points: list[tuple[float, float]], width: float) -> None:
        """Cover a line of this width in pixels of the scene."""
        thick = max(1, round(width * SCALE * SMOOTH))
        self.pen.line(self._placed(points), fill=255, width=thick, joint="curve")

    def smooth(self) -> Image:
        """Return how much of each pixel of the window is covered."""
        return self.image.reduce(SMOOTH)

    def _placed(self, points: list[tuple[float, float]]) -> list[tuple[float, float]]:
        left, top = self.window.corner
        return [((x * SCALE - left) * SMOOTH, (y * SCALE - top) * SMOOTH) for x, y in points]


def _union(one: Image, other: Image) -> Image:
    from PIL import ImageChops

    return ImageChops.lighter(one, other)


def _look_aside(text: str) -> Color:
    return _color(look(["soft"])["fill"]) if text else (0, 0, 0)


@cache
def _font(size: float) -> FreeTypeFont:
    from PIL import ImageFont

    font = ImageFont.load_default(size)
    assert isinstance(font, ImageFont.FreeTypeFont)
    return font


@cache
def _color(text: str) -> Color:
    """Return the three parts of a colour, from 0 to 255.

    >>> _color("#fff"), _color("#d55e00")
    ((255, 255, 255), (213, 94, 0))
    """
    digits = text.removeprefix("#")
    digits = "".join(2 * each for each in digits) if len(digits) == 3 else digits
    red, green, blue = (int(digits[k : k + 2], 16) for k in (0, 2, 4))
    return red, green, blue


PATTERNS = {
    "unmapped": ("hatch", "stroke"),
    "waiting": ("waiting", "fill"),
    "mixed": ("dots", "fill"),
}
"""Classes of parts that are hatched or dotted: the class of what is drawn, and how it is."""


def _pattern(kind: str, width: int, height: int) -> Image:
    """Return a hatched or dotted area, as the patterns of SVG are."""
    from PIL import Image

    y, x = np.mgrid[0:height, 0:width] / SCALE
    across = (x + y) / math.sqrt(2)
    cover = {
        "unmapped": lambda: 0.6 - np.abs(across % 6 - 3),
        "waiting": lambda: 0.7 - np.abs(across % 4 - 2),
        "mixed": lambda: 1 - np.hypot(x % 5 - 2.5, y % 5 - 2.5),
    }[kind]()
    drawn, how = PATTERNS[kind]
    share = np.clip(cover + 0.5, 0, 1)[:, :, None]
    back = np.array(_color(look(["none"])["fill"]))
    mixed = share * np.array(_color(look([drawn])[how])) + (1 - share) * back
    return Image.fromarray(mixed.round().astype(np.uint8), "RGB")
