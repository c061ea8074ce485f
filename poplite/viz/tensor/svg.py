"""The tensor picture as SVG: coloured by tile, the view outlined, the rest veiled.

Up to six tiles take a colour of their own; more share the six so that neighbours differ.  Where
their parts are too small to tell apart, they take steps of the ramp, in the order of their
numbers, which shows how they follow each other.  A picture holds at most 4,000 rectangles:
beyond, elements are drawn in larger cells, and where most cells would hold several tiles, the
first part of the tensor is drawn instead.  The picture says so.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.frozen import frozen
from poplite.graph.tile_mapping import NO_TILE
from poplite.text import amount
from poplite.viz.colours import CATEGORIES, RAMP
from poplite.viz.draw.columns import cut
from poplite.viz.draw.svg import LONGEST_HEADING, Canvas, SvgText, box, text_width
from poplite.viz.tensor.flat_page import (
    MIXED,
    Page,
    Rectangles,
    coarse,
    fold,
    rectangles,
    tick_step,
)
from poplite.viz.tensor.ownership import Ownership
from poplite.viz.tensor.selection import Selection
from poplite.viz.tensor.tile_colors import tile_colors

Float = npt.NDArray[np.floating[Any]]

MARGIN = 20
PLOT_WIDTH, PLOT_HEIGHT = 760, 460
LEAST_WIDTH, LEAST_HEIGHT = 240, 36
LARGEST_CELL = 30

MOST_RECTANGLES = 4000
COARSE_CELLS = 48, 80
MOST_TIPS = 2000
MOST_NUMBERS = 600
SEAM_FROM = 2.5
"""Rectangles narrower than this, in pixels, touch: a seam would hide them."""
LEAST_TOLD_APART = 8.0
"""Rectangles narrower than this, in pixels, show tiles by the ramp."""
LEAST_OUTLINE = 2.0
"""Parts of a view narrower than this, in pixels, are outlined together."""
FINE_BELOW = 10.0
"""Parts of a view narrower than this, in pixels, get a thin outline."""


def draw_tensor_svg(owned: Ownership) -> SvgText:
    """Draw a tensor's tiles as SVG.

    >>> owned = Ownership(
    ...     "v", "float32", 4, (4,), np.array([0, 3]), np.array([3, 1]), np.array([0, -1]), None
    ... )
    >>> "tile 0: elements 0-2, 3 elements" in draw_tensor_svg(owned)
    True
    """
    notes = [line for line in (owned.placement(), owned.view_summary()) if line]
    if not owned.num_elements:
        return _frame(owned, [*notes, "no elements"], 0, 0, 0)[0].text_of()
    scene = _scene(owned)
    notes += [scene.page.caption(), *scene.notices]
    labels = [scene.page.row_label(row) for row in _row_ticks(scene)]
    left_margin = 10 + max(text_width(label, 11) for label in labels)
    legend = _legend(scene, owned.view.text if owned.view else "")
    width = max(scene.width, _legend_steps(legend)[-1])
    canvas, left, top = _frame(owned, notes, left_margin, width, scene.height)
    _axes(canvas, scene, left, top)
    _blocks(canvas, scene, left, top)
    _outline(canvas, scene, left, top)
    _numbers(canvas, scene, left, top)
    _draw_legend(canvas, legend, left, top + scene.height + 22)
    return canvas.text_of()


@frozen(eq=False)
class _Scene:
    """What is drawn, and how large.

    Attributes:
        rows: rows of the page that are drawn; columns likewise.
        blocks: rectangles by tile, of page elements or of coarse cells.
        units: elements of the page in one unit of the rectangles, down and across.
        view: rectangles of the view, of page elements.
        notices: what was left out.
        tiles: the tiles that own anything, rising.
        colors: the classes of each, of its parts and of text upon them.
        is_ramp: whether those are steps of the ramp.
    """

    page: Page
    rows: int
    columns: int
    blocks: Rectangles
    units: tuple[float, float]
    view: Rectangles | None
    notices: list[str]
    tiles: Int64
    colors: list[tuple[str, str]]
    is_ramp: bool

    @property
    def width(self) -> float:
        return max(LEAST_WIDTH, min(self.columns * LARGEST_CELL, PLOT_WIDTH))

    @property
    def steps(self) -> tuple[float, float]:
        """Pixels of one unit of the rectangles, down and across."""
        down, across = self.units
        return self.height / self.rows * down, self.width / self.columns * across

    @property
    def median_side(self) -> float:
        """The shorter side of a rectangle, in pixels."""
        (row, column), blocks = self.steps, self.blocks
        height, width = (blocks.bottom - blocks.top) * row, (blocks.right - blocks.left) * column
        return float(np.median(np.minimum(height, width)))

    @property
    def outline(self) -> tuple[Float, Float, Float, Float] | None:
        """Left, top, right and bottom edges of the view's parts, in pixels of the plot."""
        if self.view is None:
            return None
        row, column = self.height / self.rows, self.width / self.columns
        view = self.view
        return view.left * column, view.top * row, view.right * column, view.bottom * row

    @property
    def height(self) -> float:
        return max(LEAST_HEIGHT, min(self.rows * LARGEST_CELL, PLOT_HEIGHT))


def _scene(owned: Ownership) -> _Scene:
    page = fold(owned.shape)
    rows, columns, units, notices = page.rows, page.columns, (1.0, 1.0), []
    blocks = rectangles(owned.begin, owned.length, owned.tile, columns)
    if len(blocks) > MOST_RECTANGLES:
        down, across = min(rows, COARSE_CELLS[0]), min(columns, COARSE_CELLS[1])
        cells = coarse(blocks, rows, columns, (down, across))
        area = (cells.bottom - cells.top) * (cells.right - cells.left)
        if area[cells.value == MIXED].sum() * 2 <= area.sum():
            notices.append(_cells_notice(len(blocks), page, down, across))
            blocks, units = cells, (rows / down, columns / across)
        else:
            rows, columns = _corner(page, blocks)
            notices.append(_corner_notice(len(blocks), page, rows, columns))
            blocks = blocks.clipped(rows, columns)
    tiles = np.unique(owned.tile[owned.tile >= 0])
    scene = _Scene(page, rows, columns, blocks, units, None, notices, tiles, [], is_ramp=False)
    is_ramp = len(tiles) > len(CATEGORIES) and scene.median_side < LEAST_TOLD_APART
    scene = replace(scene, colors=_colors(blocks, tiles, is_ramp=is_ramp), is_ramp=is_ramp)
    return scene if owned.view is None else _with_view(scene, owned.view)


def _colors(blocks: Rectangles, tiles: Int64, *, is_ramp: bool) -> list[tuple[str, str]]:
    """Return the classes of tiles and of the text upon them."""
    if is_ramp:
        steps = [rank * len(RAMP) // len(tiles) for rank in range(len(tiles))]
        return [(f"q{step}", f"i{step}") for step in steps]
    return [(f"c{color}", f"k{color}") for color in tile_colors(blocks, tiles)]


def _cells_notice(count: int, page: Page, down: int, across: int) -> str:
    return (
        f"{count:,} separate parts: drawn in cells of about "
        f"{page.rows / down:,.0f} x {page.columns / across:,.0f} elements"
    )


def _corner(page: Page, blocks: Rectangles) -> tuple[int, int]:
    """Return how many of the first rows and columns can be drawn in full detail."""
    rows, columns = page.rows, page.columns
    while len(blocks.clipped(rows, columns)) > MOST_RECTANGLES // 2:
        if columns > 2 * rows:
            columns = -(-columns // 2)
        else:
            rows = -(-rows // 2)
    return rows, columns


def _corner_notice(count: int, page: Page, rows: int, columns: int) -> str:
    return (
        f"{count:,} separate parts: only the first {rows:,} of {amount(page.rows, 'row')} "
        f"and {columns:,} of {amount(page.columns, 'column')} are drawn"
    )


def _with_view(scene: _Scene, chosen: Selection) -> _Scene:
    """Add the view; only its bounding box when its parts are too small or too many to see."""
    ones = np.ones_like(chosen.begin)
    view = rectangles(chosen.begin, chosen.length, ones, scene.page.columns)
    view = view.clipped(scene.rows, scene.columns)
    if not len(view):
        return replace(scene, notices=[*scene.notices, "the view lies outside what is drawn"])
    wide = (view.right - view.left).min() * scene.width / scene.columns
    tall = (view.bottom - view.top).min() * scene.height / scene.rows
    if len(view) == 1 or (len(view) <= MOST_TIPS and min(wide, tall) >= LEAST_OUTLINE):
        return replace(scene, view=view)
    whole = Rectangles(
        np.array([view.top.min()]),
        np.array([view.bottom.max()]),
        np.array([view.left.min()]),
        np.array([view.right.max()]),
        view.value[:1],
    )
    notice = f"the view's {len(view):,} parts are too fine to draw: the outline encloses them"
    return replace(scene, view=whole, notices=[*scene.notices, notice])


def _frame(
    owned: Ownership, notes: list[str], left_margin: float, width: float, height: float
) -> tuple[Canvas, float, float]:
    """Start a picture with its title and notes; return it and the plot's corner."""
    left, top = round(MARGIN + left_margin), MARGIN + 48 + 18 * len(notes)
    heading = cut(owned.title, LONGEST_HEADING)
    widest = max(text_width(heading, 16), *(text_width(line, 12) for line in notes))
    inner = max(width, widest - left_margin)
    canvas = Canvas(round(left + inner + MARGIN), round(top + height + 54), title=owned.title)
    canvas.text(MARGIN, MARGIN + 14, heading, "head ink")
    for k, line in enumerate(notes):
        canvas.text(MARGIN, MARGIN + 36 + 18 * k, line, "line soft")
    return canvas, left, top


def _row_ticks(scene: _Scene) -> range:
    unit = scene.page.row_unit
    step = tick_step(scene.rows // unit or 1, max(1, int(scene.height / 26))) * unit
    return range(0, scene.rows, step)


def _axes(canvas: Canvas, scene: _Scene, left: float, top: float) -> None:
    page = scene.page
    row, column = scene.height / scene.rows, scene.width / scene.columns
    for tick in _row_ticks(scene):
        y = top + tick * row + min(row, 26) / 2 + 4
        canvas.text(left - 8, y, page.row_label(tick), "soft end")
    unit = page.column_unit
    step = tick_step(scene.columns // unit or 1, max(1, int(scene.width / 48))) * unit
    for tick in range(0, scene.columns, step):
        x = left + tick * column + min(column, 30) / 2
        canvas.text(x, top - 6, page.column_label(tick), "soft mid")


def _kind(scene: _Scene, tile: int, rank: int) -> tuple[str, str]:
    """Return the classes of a rectangle and of the text upon it."""
    if tile == NO_TILE:
        return "unmapped", "soft"
    if tile == MIXED:
        return "mixed", "soft"
    return scene.colors[rank]


def _blocks(canvas: Canvas, scene: _Scene, left: float, top: float) -> None:
    page, blocks = scene.page, scene.blocks
    row, column = scene.steps
    seams = scene.median_side >= SEAM_FROM
    tips = scene.units == (1.0, 1.0) and len(blocks) <= MOST_TIPS
    ranks = np.searchsorted(scene.tiles, blocks.value).tolist()
    corners = zip(
        blocks.top.tolist(),
        blocks.bottom.tolist(),
        blocks.left.tolist(),
        blocks.right.tolist(),
        blocks.value.tolist(),
        ranks,
        strict=True,
    )
    canvas.open("seam" if seams else "flush")
    for t, b, lo, hi, tile, rank in corners:
        kind, _ = _kind(scene, tile, rank)
        x, y, width, height = lo * column, t * row, (hi - lo) * column, (b - t) * row
        tip = _tip(page, tile, t, b, lo, hi) if tips else ""
        canvas.rect(left + x, top + y, width, height, kind, tip=tip)
    canvas.close()


def _numbers(canvas: Canvas, scene: _Scene, left: float, top: float) -> None:
    """Write tile numbers into the rectangles that have room, off the view's outline if possible.

    Where an outline cuts every place, the number gets a halo.
    """
    row, column = scene.steps
    blocks, view = scene.blocks, scene.outline
    height, width = (blocks.bottom - blocks.top) * row, (blocks.right - blocks.left) * column
    longest = text_width(f"{blocks.value.max()}", 11)
    roomy = np.flatnonzero((height >= 13) & (width >= longest + 6) & (blocks.value >= 0))
    if len(roomy) > MOST_NUMBERS:
        return
    for k in roomy.tolist():
        tile = int(blocks.value[k])
        label = f"{tile}"
        box_width = text_width(label, 11) + 4
        x, y = float(blocks.left[k] * column), float(blocks.top[k] * row)
        for across, down in ((0.5, 0.5), (0, 0), (1, 0), (0, 1), (1, 1)):
            at_x = x + 2 + across * (width[k] - box_width - 4)
            at_y = y + 1 + down * (height[k] - 13 - 2)
            inside = _inside(view, at_x, at_y, box_width, 13)
            if inside is not None:
                ink = _kind(scene, tile, int(np.searchsorted(scene.tiles, tile)))[1]
                kind = f"{ink if inside else 'soft'} mid"
                canvas.text(left + at_x + box_width / 2, top + at_y + 10.5, label, kind)
                break
        else:
            middle, base = left + x + width[k] / 2, top + y + height[k] / 2 + 3.5
            canvas.text(middle, base, label, "ink mid halo")


def _inside(
    view: tuple[Float, Float, Float, Float] | None, x: float, y: float, width: float, height: float
) -> bool | None:
    """Return whether a box lies in the view, or None when an outline cuts it."""
    if view is None:
        return True
    x0, y0, x1, y1 = view
    near = (x0 < x + width + 1) & (x1 > x - 1) & (y0 < y + height + 1) & (y1 > y - 1)
    if not near.any():
        return False
    within = (x0 <= x) & (x1 >= x + width) & (y0 <= y) & (y1 >= y + height)
    return True if within.any() else None


def _tip(page: Page, tile: int, top: int, bottom: int, left: int, right: int) -> str:
    who = "no tile" if tile == NO_TILE else f"tile {tile}"
    count = amount((bottom - top) * (right - left), "element")
    return f"{who}: {page.place(top, bottom, left, right)}, {count}"


def _outline(canvas: Canvas, scene: _Scene, left: float, top: float) -> None:
    """Veil what lies outside the view, and draw a line around each part of it."""
    if scene.outline is None:
        return
    x0, y0, x1, y1 = scene.outline
    sides = (left + x0).tolist(), (top + y0).tolist(), (x1 - x0).tolist(), (y1 - y0).tolist()
    holes = "".join(box(*part) for part in zip(*sides, strict=True))
    fine = " fine" if min(np.min(x1 - x0), np.min(y1 - y0)) < FINE_BELOW else ""
    canvas.path(box(left, top, scene.width, scene.height) + holes, "veil")
    canvas.path(holes, f"mark{fine}")


def _legend(scene: _Scene, view_text: str) -> list[tuple[str, str]]:
    """Return `(kind, label)` of each entry, whose kind may be several, one after the other."""
    tiles = scene.tiles.tolist()
    if len(tiles) <= len(CATEGORIES):
        entries = [(f"c{rank}", f"tile {tile}") for rank, tile in enumerate(tiles)]
    elif scene.is_ramp:
        ramp = " ".join(f"q{k}" for k in range(len(RAMP)))
        entries = [(ramp, f"tiles {tiles[0]} to {tiles[-1]}")]
    else:
        label = f"tiles {tiles[0]} to {tiles[-1]}: neighbours differ in colour"
        entries = [(" ".join(f"c{k}" for k in range(len(CATEGORIES))), label)]
    if (scene.blocks.value == NO_TILE).any():
        entries.append(("unmapped", "no tile"))
    if (scene.blocks.value == MIXED).any():
        entries.append(("mixed", "several tiles"))
    if scene.view is not None:
        entries.append(("mark", f"view [{view_text}]"))
    return entries


def _legend_steps(entries: list[tuple[str, str]]) -> list[float]:
    """Return where each entry starts, and the end."""
    swatches = [12.0 * len(kind.split()) for kind, _ in entries]
    widths = [
        swatch + 5 + text_width(label, 11) + 14
        for swatch, (_, label) in zip(swatches, entries, strict=True)
    ]
    return [sum(widths[:k]) for k in range(len(widths) + 1)]


def _draw_legend(canvas: Canvas, entries: list[tuple[str, str]], left: float, y: float) -> None:
    for (kind, label), step in zip(entries, _legend_steps(entries), strict=False):
        x = left + step
        for each in kind.split():
            if each == "mark":
                canvas.path(box(x + 1, y + 1, 10, 10), each)
            else:
                canvas.rect(x, y, 12, 12, each)
            x += 12
        canvas.text(x + 5, y + 10, label, "soft")
