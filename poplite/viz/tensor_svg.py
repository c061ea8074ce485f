"""The tensor picture as SVG: coloured by tile, the view outlined, the rest veiled.

Up to six tiles take a colour of their own; more take steps of the ramp, in the order of
their numbers.  A picture holds at most 4,000 rectangles: beyond, elements are drawn in
larger cells, and where most cells would hold several tiles, the first part of the tensor
is drawn instead.  The picture says so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from poplite.mapping import NO_TILE
from poplite.viz.colors import CATEGORIES, RAMP
from poplite.viz.fold import MIXED, Page, Rectangles, coarse, fold, rectangles, tick_step
from poplite.viz.ownership import Ownership
from poplite.viz.svg import Canvas, SvgText, box, number, text_width
from poplite.viz.words import count_text

Int64 = npt.NDArray[np.int64]

MARGIN = 20
PLOT_WIDTH, PLOT_HEIGHT = 760, 460
LEAST_WIDTH, LEAST_HEIGHT = 240, 36
LARGEST_CELL = 30

MOST_RECTANGLES = 4000
COARSE_CELLS = 48, 80
MOST_TIPS = 2000
SEAM_FROM = 2.5
"""Rectangles narrower than this, in pixels, touch: a seam would hide them."""
LEAST_OUTLINE = 2.0
"""Parts of a view narrower than this, in pixels, are outlined together."""


def draw_tensor_svg(owned: Ownership) -> SvgText:
    """Draw a tensor's tiles as SVG.

    Args:
        owned: the tiles of its elements, and the view to point out.

    Returns:
        The picture.

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
    labels = [scene.page.row_label(row) for row in _row_ticks(scene.page)]
    left_margin = 10 + max(text_width(label, 11) for label in labels)
    canvas, left, top = _frame(
        owned, notes, left_margin, scene.width, scene.height, legend=_legend_width(owned)
    )
    _axes(canvas, scene, left, top)
    _blocks(canvas, scene, left, top)
    if scene.view is not None:
        _outline(canvas, scene, scene.view, left, top)
    _legend(canvas, scene, owned, left, top + scene.height + 22)
    return canvas.text_of()


@dataclass(frozen=True, slots=True, eq=False)
class _Scene:
    """What is drawn, and how large.

    Attributes:
        page: rows and columns that are drawn.
        blocks: rectangles by tile, of page elements or of coarse cells.
        units: elements of the page in one unit of the rectangles, down and across.
        view: rectangles of the view, of page elements.
        notices: what was left out.
        tiles: the tiles that own anything, rising.
        tips: whether rectangles have tooltips.
    """

    page: Page
    blocks: Rectangles
    units: tuple[float, float]
    view: Rectangles | None
    notices: list[str]
    tiles: Int64

    @property
    def width(self) -> float:
        columns = self.page.columns
        return min(columns * LARGEST_CELL, PLOT_WIDTH) if columns > 8 else max(
            columns * LARGEST_CELL, LEAST_WIDTH
        )

    @property
    def height(self) -> float:
        return max(LEAST_HEIGHT, min(self.page.rows * LARGEST_CELL, PLOT_HEIGHT))


def _scene(owned: Ownership) -> _Scene:
    page = fold(owned.shape)
    blocks = rectangles(owned.begin, owned.length, owned.tile, page.columns)
    units, notices = (1.0, 1.0), []
    drawn = page
    if len(blocks) > MOST_RECTANGLES:
        down, across = min(page.rows, COARSE_CELLS[0]), min(page.columns, COARSE_CELLS[1])
        cells = coarse(blocks, page.rows, page.columns, (down, across))
        mixed = cells.value == MIXED
        area = (cells.bottom - cells.top) * (cells.right - cells.left)
        if area[mixed].sum() * 2 <= area.sum():
            notices.append(_cells_notice(len(blocks), page, down, across))
            blocks, units = cells, (page.rows / down, page.columns / across)
        else:
            drawn = _corner(page, blocks)
            notices.append(_corner_notice(len(blocks), page, drawn))
            blocks = blocks.clipped(drawn.rows, drawn.columns)
    view = None
    if owned.view is not None:
        ones = np.ones_like(owned.view.begin)
        view = rectangles(owned.view.begin, owned.view.length, ones, page.columns)
        view = view.clipped(drawn.rows, drawn.columns)
    tiles = np.unique(owned.tile[owned.tile >= 0])
    scene = _Scene(drawn, blocks, units, view, notices, tiles)
    return _with_one_outline(scene) if view is not None else scene


def _cells_notice(count: int, page: Page, down: int, across: int) -> str:
    return (
        f"{count:,} separate parts: drawn in cells of about "
        f"{page.rows / down:,.0f} x {page.columns / across:,.0f} elements"
    )


def _corner(page: Page, blocks: Rectangles) -> Page:
    """Return the first rows and columns that can be drawn whole."""
    rows, columns = page.rows, page.columns
    while len(blocks.clipped(rows, columns)) > MOST_RECTANGLES // 2:
        if columns > 2 * rows:
            columns = -(-columns // 2)
        else:
            rows = -(-rows // 2)
    return Page(page.shape, rows, columns, page.leading)


def _corner_notice(count: int, page: Page, drawn: Page) -> str:
    return (
        f"{count:,} separate parts: only the first {drawn.rows:,} of {count_text(page.rows, 'row')} "
        f"and {drawn.columns:,} of {count_text(page.columns, 'column')} are drawn"
    )


def _with_one_outline(scene: _Scene) -> _Scene:
    """Outline a view as a whole when its parts are too small or too many to see."""
    view = scene.view
    assert view is not None
    if not len(view):
        notice = "the view lies outside the part that is drawn"
        return _Scene(
            scene.page, scene.blocks, scene.units, None, [*scene.notices, notice], scene.tiles
        )
    column, row = scene.width / scene.page.columns, scene.height / scene.page.rows
    several = len(view) > 1
    narrow = (view.right - view.left).min() * column < LEAST_OUTLINE
    flat = (view.bottom - view.top).min() * row < LEAST_OUTLINE
    if len(view) <= MOST_TIPS and not (several and (narrow or flat)):
        return scene
    ends = view.top.min(), view.bottom.max(), view.left.min(), view.right.max()
    whole = Rectangles(*(np.array([end]) for end in ends), np.ones(1, np.int64))
    notice = f"the view's {len(view):,} parts are too fine to draw: the outline encloses them"
    return _Scene(
        scene.page, scene.blocks, scene.units, whole, [*scene.notices, notice], scene.tiles
    )


def _frame(
    owned: Ownership,
    notes: list[str],
    left_margin: float,
    width: float,
    height: float,
    legend: float = 0,
) -> tuple[Canvas, float, float]:
    """Start a picture with its title and notes; return it and the plot's corner."""
    left, top = round(MARGIN + left_margin), MARGIN + 48 + 18 * len(notes)
    widest = max(text_width(owned.title, 16), *(text_width(line, 12) for line in notes))
    inner = max(width, legend, widest - left_margin)
    canvas = Canvas(round(left + inner + MARGIN), round(top + height + 54), title=owned.title)
    canvas.text(MARGIN, MARGIN + 14, owned.title, "head ink")
    for k, line in enumerate(notes):
        canvas.text(MARGIN, MARGIN + 36 + 18 * k, line, "line soft")
    return canvas, left, top


def _row_ticks(page: Page) -> range:
    extent = page.rows // page.row_unit or 1
    height = max(LEAST_HEIGHT, min(page.rows * LARGEST_CELL, PLOT_HEIGHT))
    step = tick_step(extent, max(1, int(height / 26))) * page.row_unit
    return range(0, page.rows, step)


def _axes(canvas: Canvas, scene: _Scene, left: float, top: float) -> None:
    page = scene.page
    row, column = scene.height / page.rows, scene.width / page.columns
    for tick in _row_ticks(page):
        at_middle = min(row, 26) / 2
        canvas.text(left - 8, top + tick * row + at_middle + 4, page.row_label(tick), "soft end")
    extent = page.columns // page.column_unit or 1
    step = tick_step(extent, max(1, int(scene.width / 48))) * page.column_unit
    for tick in range(0, page.columns, step):
        label = page.column_label(tick)
        canvas.text(left + tick * column + min(column, 30) / 2, top - 6, label, "soft mid")


def _kind(tile: int, rank: int, count: int) -> tuple[str, str]:
    """Return the classes of a rectangle and of the text upon it."""
    if tile == NO_TILE:
        return "unmapped", "soft"
    if tile == MIXED:
        return "mixed", "soft"
    if count <= len(CATEGORIES):
        return f"c{rank}", f"k{rank}"
    step = rank * len(RAMP) // count
    return f"q{step}", f"i{step}"


def _blocks(canvas: Canvas, scene: _Scene, left: float, top: float) -> None:
    page, blocks = scene.page, scene.blocks
    row = scene.height / page.rows * scene.units[0]
    column = scene.width / page.columns * scene.units[1]
    sides = np.minimum((blocks.bottom - blocks.top) * row, (blocks.right - blocks.left) * column)
    seams = float(np.median(sides)) >= SEAM_FROM
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
    names: list[tuple[float, float, str, str]] = []
    canvas.open("seam" if seams else "flush")
    for t, b, lo, hi, tile, rank in corners:
        kind, ink = _kind(tile, rank, len(scene.tiles))
        x, y, width, height = lo * column, t * row, (hi - lo) * column, (b - t) * row
        tip = _tip(page, tile, t, b, lo, hi) if tips else ""
        canvas.rect(left + x, top + y, width, height, kind, tip=tip)
        label = "?" if tile == NO_TILE else f"{tile}" if tile >= 0 else ""
        if height >= 13 and width >= text_width(label, 11) + 4:
            names.append((left + x + width / 2, top + y + height / 2 + 4, label, f"{ink} mid"))
    canvas.close()
    if len(names) <= MOST_TIPS:
        for name in names:
            canvas.text(*name)


def _tip(page: Page, tile: int, top: int, bottom: int, left: int, right: int) -> str:
    who = "no tile" if tile == NO_TILE else f"tile {tile}"
    count = count_text((bottom - top) * (right - left), "element")
    return f"{who}: {page.place(top, bottom, left, right)}, {count}"


def _outline(canvas: Canvas, scene: _Scene, view: Rectangles, left: float, top: float) -> None:
    row, column = scene.height / scene.page.rows, scene.width / scene.page.columns
    parts = zip(
        (left + view.left * column).tolist(),
        (top + view.top * row).tolist(),
        ((view.right - view.left) * column).tolist(),
        ((view.bottom - view.top) * row).tolist(),
        strict=True,
    )
    holes = "".join(box(*part) for part in parts)
    canvas.path(box(left, top, scene.width, scene.height) + holes, "veil")
    canvas.path(holes, "mark")


def _legend_width(owned: Ownership) -> float:
    return 560 if owned.view is not None or (owned.tile < 0).any() else 420


def _legend(canvas: Canvas, scene: _Scene, owned: Ownership, left: float, y: float) -> None:
    x = left
    if 0 < len(scene.tiles) <= len(CATEGORIES):
        for rank, tile in enumerate(scene.tiles.tolist()):
            x = _entry(canvas, x, y, f"c{rank}", f"tile {tile}")
    elif len(scene.tiles):
        first, last = f"tile {scene.tiles[0]}", f"tile {scene.tiles[-1]}"
        canvas.text(x, y + 10, first, "soft")
        x += text_width(first, 11) + 6
        for step in range(len(RAMP)):
            canvas.rect(x + 12 * step, y, 12, 12, f"q{step}")
        x += 12 * len(RAMP) + 6
        canvas.text(x, y + 10, last, "soft")
        x += text_width(last, 11) + 18
    if (scene.blocks.value == NO_TILE).any():
        x = _entry(canvas, x, y, "unmapped", "no tile")
    if (scene.blocks.value == MIXED).any():
        x = _entry(canvas, x, y, "mixed", "several tiles")
    if owned.view is not None and scene.view is not None:
        canvas.path(box(x + 1, y + 1, 10, 10), "mark")
        canvas.text(x + 17, y + 10, f"view [{owned.view.text}]", "soft")


def _entry(canvas: Canvas, x: float, y: float, kind: str, label: str) -> float:
    """Draw one swatch with its label; return where the next one starts."""
    canvas.rect(x, y, 12, 12, kind)
    canvas.text(x + 17, y + 10, label, "soft")
    return x + 17 + text_width(label, 11) + 14


__all__ = ["draw_tensor_svg", "number"]
