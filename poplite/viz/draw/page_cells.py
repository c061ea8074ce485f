"""A tensor on a page as SVG: coloured by tile, a view of it outlined, the rest veiled.

Up to six tiles take a colour of their own; more share the six so that neighbours differ.  Where
their parts are too small for that, they take steps of the ramp, in the order of their numbers,
which shows how they follow each other.  At most 4,000 rectangles are drawn: beyond, elements are
drawn in larger cells, and where most cells would hold several tiles, the first part of the tensor
is drawn instead.  A notice says so.
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
from poplite.viz.draw.flat_page import (
    MIXED,
    Page,
    Rectangles,
    TileColors,
    coarse,
    colors_of,
    tick_step,
)
from poplite.viz.draw.svg import Canvas, box, text_width

Float = npt.NDArray[np.floating[Any]]

LARGEST = 760.0, 460.0
LEAST = 240.0, 36.0
LARGEST_CELL = 30

MOST_RECTANGLES = 4000
COARSE_CELLS = 48, 80
MOST_TIPS = 2000
MOST_NUMBERS = 600
SEAM_FROM = 2.5
"""Rectangles narrower than this, in pixels, touch: a seam would hide them."""
LEAST_SEEN_APART = 8.0
"""Rectangles narrower than this, in pixels, show tiles by the ramp."""
LEAST_OUTLINE = 2.0
"""Parts of a view narrower than this, in pixels, are outlined together."""
FINE_BELOW = 10.0
"""Parts of a view narrower than this, in pixels, get a thin outline."""
LABELS, LEGEND = 20, 34
"""Pixels above a page for its labels, and below it for what colours mean."""


@frozen(eq=False)
class PageCells:
    """What is drawn of a page, and how large.

    Attributes:
        page: all of it.
        rows: how many of its rows are drawn.
        columns: how many of its columns.
        blocks: rectangles by tile, of elements of the page or of larger cells.
        units: elements of the page in one unit of the rectangles, down and across.
        largest: the most pixels across and down.
        notices: what was left out.
        view: rectangles of the view that is outlined, of elements; None without.
    """

    page: Page
    rows: int
    columns: int
    blocks: Rectangles
    units: tuple[float, float]
    largest: tuple[float, float]
    notices: tuple[str, ...]
    view: Rectangles | None = None

    @property
    def width(self) -> float:
        """Pixels across."""
        return max(LEAST[0], min(self.columns * LARGEST_CELL, self.largest[0]))

    @property
    def height(self) -> float:
        """Pixels down."""
        return max(LEAST[1], min(self.rows * LARGEST_CELL, self.largest[1]))

    @property
    def steps(self) -> tuple[float, float]:
        """Pixels of one unit of the rectangles, down and across."""
        down, across = self.units
        return self.height / self.rows * down, self.width / self.columns * across

    @property
    def side(self) -> float:
        """The shorter side of a rectangle in pixels, the median of all."""
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

    def colors(self, tiles: Int64) -> TileColors:
        """Return the colours of tiles, rising, on this page."""
        return colors_of(self.blocks, tiles, is_fine=self.side < LEAST_SEEN_APART)


def page_cells(
    page: Page,
    tiles: Rectangles,
    view: Rectangles | None = None,
    largest: tuple[float, float] = LARGEST,
) -> PageCells:
    """Return what is drawn of a page: all of it exactly, in larger cells, or its first part."""
    rows, columns = page.rows, page.columns
    cells = PageCells(page, rows, columns, tiles, (1.0, 1.0), largest, ())
    if len(tiles) > MOST_RECTANGLES:
        down, across = min(rows, COARSE_CELLS[0]), min(columns, COARSE_CELLS[1])
        blocks = coarse(tiles, rows, columns, (down, across))
        area = (blocks.bottom - blocks.top) * (blocks.right - blocks.left)
        if area[blocks.value == MIXED].sum() * 2 <= area.sum():
            said = f"drawn in cells of about {rows / down:,.0f} x {columns / across:,.0f} elements"
            cells = replace(cells, blocks=blocks, units=(rows / down, columns / across))
        else:
            rows, columns = _corner(page, tiles)
            said = (
                f"only the first {rows:,} of {amount(page.rows, 'row')} "
                f"and {columns:,} of {amount(page.columns, 'column')} are drawn"
            )
            blocks = tiles.clipped(rows, columns)
            cells = replace(cells, rows=rows, columns=columns, blocks=blocks)
        cells = replace(cells, notices=(f"{len(tiles):,} separate parts: {said}",))
    return cells if view is None else _with_view(cells, view)


def _corner(page: Page, blocks: Rectangles) -> tuple[int, int]:
    """Return how many of the first rows and columns can be drawn in full detail."""
    rows, columns = page.rows, page.columns
    while len(blocks.clipped(rows, columns)) > MOST_RECTANGLES // 2:
        if columns > 2 * rows:
            columns = -(-columns // 2)
        else:
            rows = -(-rows // 2)
    return rows, columns


def _with_view(cells: PageCells, whole: Rectangles) -> PageCells:
    """Add the view; only its bounding box when its parts are too small or too many to see."""
    view = whole.clipped(cells.rows, cells.columns)
    if not len(view):
        return replace(cells, notices=(*cells.notices, "the view lies outside what is drawn"))
    wide = (view.right - view.left).min() * cells.width / cells.columns
    tall = (view.bottom - view.top).min() * cells.height / cells.rows
    if len(view) == 1 or (len(view) <= MOST_TIPS and min(wide, tall) >= LEAST_OUTLINE):
        return replace(cells, view=view)
    ends = view.top.min(), view.bottom.max(), view.left.min(), view.right.max(), view.value[0]
    notice = f"the view's {len(view):,} parts are too fine to draw: the outline encloses them"
    around = Rectangles(*(np.array([end]) for end in ends))
    return replace(cells, view=around, notices=(*cells.notices, notice))


# -- shapes ----------------------------------------------------------------------------------------


class PageDrawing:
    """The shapes of a page with its labels, a view of it and a legend."""

    def __init__(self, cells: PageCells, tiles: Int64, view_text: str) -> None:
        self.cells, self.colors = cells, cells.colors(tiles)
        labels = [cells.page.row_label(row) for row in self._row_ticks()]
        self.left = round(10 + max(text_width(label, 11) for label in labels))
        self.legend = self.colors.legend(cells.blocks.value)
        if cells.view is not None:
            self.legend.append((["mark"], f"view [{view_text}]"))
        self.top = 18 * len(cells.notices) + LABELS
        right = max(cells.width, legend_width(self.legend))
        notices = [text_width(line, 12) for line in cells.notices]
        self.width = max(self.left + right, *notices, 0.0)
        self.height = self.top + cells.height + LEGEND

    def draw(self, canvas: Canvas, x: float, y: float) -> None:
        """Add the shapes to a canvas."""
        cells, colors = self.cells, self.colors
        for k, line in enumerate(cells.notices):
            canvas.text(x, y + 14 + 18 * k, line, "line soft")
        left, top = x + self.left, y + self.top
        self._axes(canvas, left, top)
        draw_cells(canvas, cells, colors, left, top)
        _outline(canvas, cells, left, top)
        draw_numbers(canvas, cells, colors, left, top)
        draw_legend(canvas, self.legend, left, top + cells.height + 22)

    def _row_ticks(self) -> range:
        cells, unit = self.cells, self.cells.page.row_unit
        step = tick_step(cells.rows // unit or 1, max(1, int(cells.height / 26))) * unit
        return range(0, cells.rows, step)

    def _axes(self, canvas: Canvas, left: float, top: float) -> None:
        cells, page = self.cells, self.cells.page
        row, column = cells.height / cells.rows, cells.width / cells.columns
        for tick in self._row_ticks():
            y = top + tick * row + min(row, 26) / 2 + 4
            canvas.text(left - 8, y, page.row_label(tick), "soft end")
        unit = page.column_unit
        step = tick_step(cells.columns // unit or 1, max(1, int(cells.width / 48))) * unit
        for tick in range(0, cells.columns, step):
            x = left + tick * column + min(column, 30) / 2
            canvas.text(x, top - 6, page.column_label(tick), "soft mid")


def draw_cells(
    canvas: Canvas, cells: PageCells, colors: TileColors, left: float, top: float
) -> None:
    """Add the rectangles of a page, with tips where they are few."""
    page, blocks, (row, column) = cells.page, cells.blocks, cells.steps
    tips = cells.units == (1.0, 1.0) and len(blocks) <= MOST_TIPS
    sides = blocks.top, blocks.bottom, blocks.left, blocks.right, blocks.value
    canvas.open("seam" if cells.side >= SEAM_FROM else "flush")
    for t, b, lo, hi, tile in zip(*(side.tolist() for side in sides), strict=True):
        x, y, width, height = lo * column, t * row, (hi - lo) * column, (b - t) * row
        tip = _tip(page, tile, t, b, lo, hi) if tips else ""
        canvas.rect(left + x, top + y, width, height, colors.kind(tile), tip=tip)
    canvas.close()


def _tip(page: Page, tile: int, top: int, bottom: int, left: int, right: int) -> str:
    who = "no tile" if tile == NO_TILE else f"tile {tile}"
    count = amount((bottom - top) * (right - left), "element")
    return f"{who}: {page.place(top, bottom, left, right)}, {count}"


def _outline(canvas: Canvas, cells: PageCells, left: float, top: float) -> None:
    """Veil what lies outside the view, and draw a line around each part of it."""
    if cells.outline is None:
        return
    x0, y0, x1, y1 = cells.outline
    sides = (left + x0).tolist(), (top + y0).tolist(), (x1 - x0).tolist(), (y1 - y0).tolist()
    holes = "".join(box(*part) for part in zip(*sides, strict=True))
    fine = " fine" if min(np.min(x1 - x0), np.min(y1 - y0)) < FINE_BELOW else ""
    canvas.path(box(left, top, cells.width, cells.height) + holes, "veil")
    canvas.path(holes, f"mark{fine}")


def draw_numbers(
    canvas: Canvas, cells: PageCells, colors: TileColors, left: float, top: float
) -> None:
    """Write tile numbers into the rectangles that have room, off the view's outline if possible.

    Where an outline cuts every place, the number gets a halo.
    """
    (row, column), blocks, view = cells.steps, cells.blocks, cells.outline
    height, width = (blocks.bottom - blocks.top) * row, (blocks.right - blocks.left) * column
    longest = text_width(f"{blocks.value.max()}", 11)
    roomy = np.flatnonzero((height >= 13) & (width >= longest + 6) & (blocks.value >= 0))
    for k in roomy.tolist() if len(roomy) <= MOST_NUMBERS else ():
        tile = int(blocks.value[k])
        box_width = text_width(f"{tile}", 11) + 4
        x, y = float(blocks.left[k] * column), float(blocks.top[k] * row)
        for across, down in ((0.5, 0.5), (0, 0), (1, 0), (0, 1), (1, 1)):
            at_x = x + 2 + across * (width[k] - box_width - 4)
            at_y = y + 1 + down * (height[k] - 13 - 2)
            inside = _inside(view, at_x, at_y, box_width, 13)
            if inside is not None:
                kind = f"{colors.ink(tile) if inside else 'soft'} mid"
                canvas.text(left + at_x + box_width / 2, top + at_y + 10.5, f"{tile}", kind)
                break
        else:
            middle, base = left + x + width[k] / 2, top + y + height[k] / 2 + 3.5
            canvas.text(middle, base, f"{tile}", "ink mid halo")


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


def legend_width(entries: list[tuple[list[str], str]]) -> float:
    """Return how wide a legend is, whose entries have several classes each."""
    return sum(12 * len(kinds) + 19 + text_width(words, 11) for kinds, words in entries)


def draw_legend(canvas: Canvas, entries: list[tuple[list[str], str]], x: float, y: float) -> None:
    """Add what colours mean: the classes of each entry beside each other, then its words."""
    for kinds, words in entries:
        for kind in kinds:
            if kind == "mark":
                canvas.path(box(x + 1, y + 1, 10, 10), kind)
            else:
                canvas.rect(x, y, 12, 12, kind)
            x += 12
        canvas.text(x + 5, y + 10, words, "soft")
        x += 19 + text_width(words, 11)
