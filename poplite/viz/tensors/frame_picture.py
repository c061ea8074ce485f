r"""Frames as a picture: one below another, each with its result, intervals and variables.

    [0:20]: float32[20, 98], 1 interval of 1,960 elements
    +--+--+--+--+
    | 0| 1| 2| 3|     the result on a page, coloured by tile; numbers are elements of the variable
    +--+--+--+--+
    ============      the result in its order
      \\\\  ||  //       a ribbon from each run of it to its interval
    ==================  the memory of the variables, coloured by tile

All frames have one scale, so that an element is as wide below as above, and a tile has one colour
everywhere: that of the tensor picture of the first frame.  A large result is drawn by tile, and of
many intervals ribbons are drawn together, each in the colour of its middle element.

A page shows a frame at a time, whose elements move to the next.  Without a script the frames stand
under each other; where a reader wants no motion, one follows the other at once.
"""

from __future__ import annotations

import math
from functools import partial
from itertools import pairwise
from typing import ClassVar

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.frozen import frozen
from poplite.graph.tile_mapping import NO_TILE
from poplite.report.per_tile import LazySequence
from poplite.text import amount
from poplite.viz.draw.svg import Canvas, SvgText, number, text_width
from poplite.viz.draw.words import Style, cut, name_text, wrapped
from poplite.viz.marks import ListColumn, Listing, ListRow, Mark, Picture, Sketch, heading
from poplite.viz.paint_html import asset
from poplite.viz.paint_svg import paint_svg
from poplite.viz.painters import PictureData
from poplite.viz.tensors.flat_page import LARGEST, Plot, Rectangles, colors_of, fold, rectangles
from poplite.viz.tensors.frames import Frame, RegionFrames, Strip, placement

WIDTH = 760
LARGEST_CELL = 28
LARGEST_GRID = WIDTH, 260
"""Pixels of the largest result."""

NO_PARTS = Rectangles(*(np.empty(0, np.int64) for _ in range(5)))

MOST_MOVING = 4096
"""Elements of the largest result whose elements move on a page."""

MOST_ELEMENTS = 1024
"""Elements of the largest result that is drawn element by element otherwise."""

MOST_RIBBONS, PARTS = 512, 64
"""Maximum number of ribbons, and the number drawn if there would be more."""

BAR, RIBBONS, STRIP = 12, 64, 18
"""Heights of the result in its order, of the ribbons, and of the variables, in pixels."""

LINE, LABEL = 18, 10
LONGEST_LINE = 120
SEAM_FROM = 3.0
"""Elements narrower than this, in pixels, touch."""

MOST_WRITTEN = 256
"""Elements of the largest result that is written out in text."""
SHOWN_INTERVALS = 12


def captions(shown: RegionFrames, number: int, *, times: str = "\u00d7") -> list[str]:
    """Return the lines of a frame, by its position; `times` stands between counts."""
    frame = shown.frames[number]
    counted = intervals_text(frame, times)
    if number and shown.follows:
        before = shown.frames[number - 1]
        counted += f" (were {before.num_intervals:,}{_of_each(before)})"
    lines = [f"{frame.operation}: {frame.type_and_shape}, {counted}"]
    if shown.field is not None:
        return [*lines, *shown.field.lines()]
    where, unmapped = placement(frame.pieces.tile, frame.pieces.length)
    return [*lines, f"{where}{unmapped}; {contiguity_text(frame)}"]


def intervals_text(frame: Frame, times: str) -> str:
    """Return the number of intervals of a frame, and of their elements.

    >>> from poplite.graph import Graph
    >>> from poplite.viz.tensors.frames import frames_of, read_operation
    >>> x = Graph().add_variable("float32", (4, 6), "x")
    >>> shuffled = frames_of(x, [read_operation("dimShuffle 1,0")]).frames[1]
    >>> intervals_text(shuffled, "x")
    '6 x 4 intervals of 1 element'
    """
    count = frame.num_intervals
    if not count:
        return "no elements"
    low, high = int(frame.length.min()), int(frame.length.max())
    of = amount(low, "element") if low == high else f"{low:,} to {high:,} elements"
    return f"{_counted(frame, times)} {'interval' if count == 1 else 'intervals'} of {of}"


def _counted(frame: Frame, times: str) -> str:
    """Return the number of intervals, as a product of leading dimensions if it is one."""
    for rank in range(2, len(frame.shape) + 1):
        sizes = [size for size in frame.shape[:rank] if size > 1]
        if math.prod(sizes) == frame.num_intervals and len(sizes) > 1:
            return f" {times} ".join(f"{size:,}" for size in sizes)
    return f"{frame.num_intervals:,}"


def _of_each(frame: Frame) -> str:
    lengths = np.unique(frame.length)
    return f" of {int(lengths[0]):,}" if len(lengths) == 1 else ""


def contiguity_text(frame: Frame) -> str:
    """Return whether a field that is connected to a frame is consecutive."""
    if frame.num_intervals < 2:
        return "contiguous"
    places = f"{frame.num_intervals:,} places"
    return f"not contiguous: a vertex field is gathered from {places}"


# -- picture ---------------------------------------------------------------------------------------


@frozen(eq=False)
class RegionsPicture(PictureData):
    """The intervals of tensors, mostly of one operation by operation.

    Attributes:
        shown: the frames that are drawn.
    """

    shown: RegionFrames

    KIND: ClassVar = "regions"
    PAGE: ClassVar = "Regions of a tensor"

    def picture(self, *, moves: bool = False) -> Picture:
        """Return frames; with `moves`, a page can move elements from one to the next.

        >>> from poplite.graph import Graph
        >>> from poplite.viz.tensors.frames import frames_of, read_operation
        >>> x = Graph().add_variable("float32", (4,), "x", mapping=0)
        >>> drawn = RegionsPicture(frames_of(x, [read_operation("reverse 0")]))
        >>> print(drawn.text().splitlines()[-4])
        [0, 1)    x[3, 4)   0
        >>> "element 3 of x, tile 0" in drawn.svg()
        True
        """
        shown = self.shown
        drawing = _Drawing(shown, moves=moves)
        frames: list[Mark] = []
        for k, frame in enumerate(shown.frames):
            frames.append(drawing.sketch(k))
            frames += [_table(frame, shown.strip)] * bool(frame.num_intervals)
        values = [plot.blocks.value for plot in drawing.plots if plot is not None]
        legend = drawing.colors.legend(np.concatenate([shown.strip.pieces.tile, *values]))
        return Picture(shown.title, (*heading(shown.title), *frames, legend))

    def data(self) -> dict[str, object]:
        """Return the variables, and the intervals of each frame."""
        return self.shown.data()

    def page_svg(self) -> SvgText:
        """Return frames whose elements a script can move."""
        return paint_svg(self.picture(moves=True))

    def page_facts(self) -> dict[str, str]:
        """Return the lines of each frame."""
        frames = range(len(self.shown.frames))
        return {f"{k + 1}": "; ".join(captions(self.shown, k)) for k in frames}

    def page(self, command: str = "") -> str:
        """Return a page that shows a frame at a time.

        >>> from poplite.graph import Graph
        >>> from poplite.viz.tensors.frames import frames_of, read_operation
        >>> x = Graph().add_variable("float32", (4,), "x", mapping=0)
        >>> page = RegionsPicture(frames_of(x, [read_operation("reverse 0")])).page()
        >>> "<td>x[3, 4)</td>" in page
        True
        """
        html = PictureData.page(self, command)
        style, script = asset("regions.css"), asset("regions.js")
        more = f"<style>\n{style}</style>\n<script>\n{script}</script>"
        return html.replace("</body>", f"{more}\n</body>")


class _Drawing:
    """Frames with their common scale, colours and, if elements move, heights.

    Attributes:
        window: the part of the strip that is drawn.
        unit: pixels of an element in its order, and on the strip.
        cell: pixels of an element's cell, where a result is drawn element by element.
        plots: the result of each frame on a page; None if it has no elements.
        colors: those of the tensor picture of the first frame.
        said: the lines above each frame.
        rooms: the pixels kept free for each frame's lines, and for its result.
    """

    def __init__(self, shown: RegionFrames, *, moves: bool) -> None:
        self.shown, self.moves, frames = shown, moves, shown.frames
        self.most = MOST_MOVING if moves else MOST_ELEMENTS
        self.window = self._window()
        longest = max(frame.num_elements for frame in frames)
        self.unit = WIDTH / max(1, longest, self.window[1] - self.window[0])
        self.plots = [_plot(each, LARGEST_GRID) if each.num_elements else None for each in frames]
        pages = [plot.page for plot in self.plots if plot and plot.page.size <= self.most]
        wide, tall = (
            max((getattr(page, side) for page in pages), default=1) for side in ("columns", "rows")
        )
        self.cell = min(LARGEST_CELL, WIDTH / wide, LARGEST_GRID[1] / tall)
        first = _plot(frames[0]) if frames[0].num_elements else self.plots[-1]
        tiles = shown.strip.pieces.tiles()
        self.colors = first.colors(tiles) if first else colors_of(NO_PARTS, tiles)
        self.said = [self._caption(k) for k in range(len(frames))]
        drawn = zip(self.said, self.plots, strict=True)
        rooms = [(LINE * len(lines), self._height(plot)) for lines, plot in drawn]
        highest = (max(line for line, _ in rooms), max(grid for _, grid in rooms))
        self.rooms = [highest] * len(rooms) if moves else rooms

    def _window(self) -> tuple[int, int]:
        """Return the part of the strip: all, unless only little of one variable is shown."""
        size, frames = self.shown.strip.num_elements, self.shown.frames
        low = min((int(f.begin.min()) for f in frames if f.num_elements), default=0)
        high = max((int((f.begin + f.length).max()) for f in frames if f.num_elements), default=0)
        margin = (high - low) // 4 + 1
        low, high = max(0, low - margin), min(size, high + margin)
        is_long = len(self.shown.strip.names) > 1 or 2 * (high - low) > size
        return (0, size) if is_long else (low, high)

    def _caption(self, k: int) -> list[str]:
        lines, plot = captions(self.shown, k), self.plots[k]
        lines += plot.notices if plot and plot.page.size > self.most else []
        if len(_runs_of(self.shown.frames[k])[0]) > MOST_RIBBONS:
            lines.append(f"ribbons are drawn as {PARTS} parts, each coloured by its middle element")
        return [part for line in lines for part in wrapped(line, LONGEST_LINE)]

    def _height(self, plot: Plot | None) -> float:
        """Return the height of a result."""
        if plot is None:
            return 0.0
        return plot.page.rows * self.cell if plot.page.size <= self.most else plot.height

    def sketch(self, k: int) -> Sketch:
        """Return a frame."""
        width = max(WIDTH, *(text_width(line, 12) for line in self.said[k]))
        height = sum(self.rooms[k]) + 14 + BAR + RIBBONS + STRIP + 48
        return Sketch(width, height, partial(self._draw, k), partial(_frame_lines, self.shown, k))

    def _draw(self, k: int, canvas: Canvas, left: float, top: float) -> None:
        frame, plot = self.shown.frames[k], self.plots[k]
        canvas.open("frame")
        for n, line in enumerate(self.said[k]):
            canvas.text(left, top + 14 + LINE * n, line, "line soft" if n else "line ink")
        lines, grid = self.rooms[k]
        top, bar = top + lines + 8, top + lines + grid + 22
        if plot is not None:
            if plot.page.size <= self.most:
                self._draw_elements(canvas, frame, left, top)
            else:
                plot.draw(canvas, self.colors, left, top)
            self._draw_ribbons(canvas, frame, left, bar + BAR)
            self._draw_bar(canvas, frame, left, bar)
        self._draw_strip(canvas, left, bar + BAR + RIBBONS)
        canvas.close()

    def _draw_elements(self, canvas: Canvas, frame: Frame, left: float, top: float) -> None:
        columns, cell, colors = fold(frame.shape).columns, self.cell, self.colors
        tiles = np.repeat(frame.pieces.tile, frame.pieces.length).tolist()
        seam = "seam" if cell >= SEAM_FROM else "flush"
        moves, is_few = self.moves, frame.num_elements <= MOST_ELEMENTS
        labels: list[tuple[float, float, str, str]] = []
        canvas.open("elements" if moves else seam)
        for k, (place, tile) in enumerate(zip(frame.positions(), tiles, strict=True)):
            x, y = left + k % columns * cell, top + k // columns * cell
            tip = self._tip(place, tile) if is_few else ""
            text = element_text(self.shown.strip, place)
            label = (x + cell / 2, y + cell / 2 + 3.5, text, f"small {colors.ink(tile)} mid")
            has_label = text_width(text, LABEL) + 2 <= cell
            if not moves:
                canvas.rect(x, y, cell, cell, colors.kind(tile), tip=tip)
                labels += [label] * has_label
                continue
            canvas.open("element", key=place)
            canvas.rect(x, y, cell, cell, f"{colors.kind(tile)} {seam}", tip=tip)
            if has_label:
                canvas.text(*label)
            canvas.close()
        canvas.close()
        for label in labels:
            canvas.text(*label)

    def _tip(self, place: int, tile: int) -> str:
        variable, element = self.shown.strip.place(place)
        on = "no tile" if tile == NO_TILE else f"tile {tile}"
        return f"element {element:,} of {name_text(self.shown.strip.names[variable])}, {on}"

    def _draw_bar(self, canvas: Canvas, frame: Frame, left: float, top: float) -> None:
        """Draw the result in its order; of many pieces, only those at the centres of pixels."""
        pieces, unit = frame.pieces, self.unit
        begin, length, tile = pieces.begin, pieces.length, pieces.tile
        if len(begin) > WIDTH:
            edges = np.arange(WIDTH + 1) * frame.num_elements // WIDTH
            begin, length = edges[:-1], np.diff(edges)
            tile = _tiles_at(frame, begin + length // 2)
        canvas.open("flush")
        for b, n, owner in zip(begin.tolist(), length.tolist(), tile.tolist(), strict=True):
            canvas.rect(left + b * unit, top, n * unit, BAR, self.colors.kind(owner))
        canvas.close()

    def _draw_ribbons(self, canvas: Canvas, frame: Frame, left: float, top: float) -> None:
        """Draw a ribbon from each run of a result to its interval, of many from each part."""
        at, begin, length = _runs_of(frame)
        kind, ends = "ribbon", begin + length
        if len(at) > MOST_RIBBONS:
            kind = "haze"
            at, length, begin, ends = _parts_of(frame)
        tile = _tiles_at(frame, at + length // 2)
        columns = (column.tolist() for column in (at, at + length, begin, ends, tile))
        canvas.open("ribbons")
        for low, high, first, last, owner in zip(*columns, strict=True):
            across = (low, high, first - self.window[0], last - self.window[0])
            data = _ribbon([left + end * self.unit for end in across], top)
            canvas.path(data, f"{kind} {self.colors.kind(owner)}")
        canvas.close()

    def _draw_strip(self, canvas: Canvas, origin: float, top: float) -> None:
        strip, unit, (left, right) = self.shown.strip, self.unit, self.window
        pieces = strip.pieces
        canvas.open("flush")
        begins = np.clip(pieces.begin, left, right)
        lengths = np.clip(pieces.begin + pieces.length, left, right) - begins
        lists = begins.tolist(), lengths.tolist(), pieces.tile.tolist()
        for begin, length, tile in zip(*lists, strict=True):
            if length * unit >= 0.05:
                x, wide = origin + (begin - left) * unit, length * unit
                canvas.rect(x, top, wide, STRIP, self.colors.kind(tile))
                if tile >= 0 and text_width(f"{tile}", LABEL) + 4 <= wide:
                    kind = f"small {self.colors.ink(tile)} mid"
                    canvas.text(x + wide / 2, top + STRIP - 5, f"{tile}", kind)
        canvas.close()
        for name, (low, high) in zip(strip.names, pairwise(strip.first.tolist()), strict=True):
            first, last = max(low, left), min(high, right)
            x, wide = origin + (first - left) * unit, (last - first) * unit
            canvas.rect(x, top, wide, STRIP, "rule")
            label = f"{name_text(name)}: {high - low:,} elements"
            if (first, last) != (low, high):
                label = f"{name_text(name)}: elements {first:,} to {last - 1:,} of {high - low:,}"
            shown = label if text_width(label, 11) <= wide else cut(name_text(name), 12)
            if text_width(shown, 11) <= max(wide, 80.0 if len(strip.names) == 1 else 0.0):
                canvas.text(x, top + STRIP + 14, shown, "soft")


def _plot(frame: Frame, largest: tuple[float, float] = LARGEST) -> Plot:
    folded, pieces = fold(frame.shape), frame.pieces
    tiles = rectangles(pieces.begin, pieces.length, pieces.tile, folded.columns)
    return Plot(folded, tiles, largest=largest)


def _runs_of(frame: Frame) -> tuple[Int64, Int64, Int64]:
    """Return the runs of a result in one interval and on one tile: place, position, length."""
    before = np.cumsum(frame.length) - frame.length
    at = np.union1d(before, frame.pieces.begin)
    begin = frame.begin[k := np.searchsorted(before, at, side="right") - 1] + at - before[k]
    return at, begin, np.diff(at, append=frame.num_elements)


def _parts_of(frame: Frame) -> tuple[Int64, Int64, Int64, Int64]:
    """Return place and length of equal parts of a result, and where their intervals begin and end.

    Within a part these may lie anywhere between.
    """
    before = np.cumsum(frame.length) - frame.length
    edges = np.arange(PARTS + 1) * frame.num_elements // PARTS
    at = np.union1d(edges[:-1], before)
    k = np.searchsorted(before, at, side="right") - 1
    begin = frame.begin[k] + at - before[k]
    end = begin + np.diff(at, append=frame.num_elements)
    first = np.searchsorted(at, edges[:-1])
    low, high = np.minimum.reduceat(begin, first), np.maximum.reduceat(end, first)
    return edges[:-1], np.diff(edges), low, high


def _ribbon(across: list[float], top: float) -> str:
    """Return path commands of a ribbon, from two ends above to two ends below."""
    a, b, c, d = map(number, across)
    y0, y1, middle = number(top), number(top + RIBBONS), number(top + RIBBONS / 2)
    down, up = f"C{a} {middle} {c} {middle} {c} {y1}", f"C{d} {middle} {b} {middle} {b} {y0}"
    return f"M{a} {y0}{down}H{d}{up}z"


def _tiles_at(frame: Frame, element: Int64) -> Int64:
    """Return the tiles of some elements of a frame."""
    at = np.searchsorted(frame.pieces.begin, element, side="right") - 1
    return np.asarray(frame.pieces.tile[at])


# -- text ------------------------------------------------------------------------------------------


def _frame_lines(shown: RegionFrames, k: int, style: Style) -> list[str]:
    """Return a frame as text: its captions, and its elements where they are few."""
    head, *more = captions(shown, k, times="x" if style.ascii_only else "\u00d7")
    lines = map(style.bold, wrapped(f"{k + 1}. {head}", style.columns))
    said = [part for line in more for part in wrapped(line, style.columns)]
    return ["", *lines, *said, *_elements(shown.frames[k], shown.strip, style)]


def _elements(frame: Frame, strip: Strip, style: Style) -> list[str]:
    """Return the result as numbers of the elements of its variable, where it has room."""
    if not 0 < frame.num_elements <= MOST_WRITTEN:
        return []
    labels = [element_text(strip, place) for place in frame.positions()]
    columns = frame.shape[-1] if frame.shape else 1
    room = max(map(len, labels))
    if columns * (room + 1) - 1 > style.columns:
        return []
    rows = [labels[k : k + columns] for k in range(0, len(labels), columns)]
    block = frame.shape[-2] if len(frame.shape) > 2 else len(rows)
    lines = []
    for k, row in enumerate(rows):
        lines += [""] if k % block == 0 else []
        lines.append(" ".join(f"{label:>{room}}" for label in row))
    return lines


def element_text(strip: Strip, position: int) -> str:
    """Return the number of an element in its variable, with its name if there are several.

    >>> from poplite.viz.tensors.frames import TileRuns
    >>> nothing = np.empty(0, np.int64)
    >>> element_text(Strip(("a", "b"), np.array([0, 6, 9]), TileRuns(nothing, nothing, nothing)), 7)
    'b1'
    """
    variable, number = strip.place(position)
    if len(strip.names) == 1:
        return f"{number}"
    return f"{cut(strip.names[variable].rpartition('/')[2], 6)}{number}"


def _table(frame: Frame, strip: Strip) -> Listing:
    """Return the intervals of a frame, and the tiles that each is on."""
    at = np.cumsum(frame.length) - frame.length
    variable, first = strip.places(frame.begin)
    names = [name_text(name) for name in strip.names]
    columns = (at, frame.length, variable, first)

    def row(number: int) -> ListRow:
        place, size, owner, low = (int(column[number]) for column in columns)
        tiles = strip.tiles_text(int(frame.begin[number]), size)
        whole, own = f"[{place:,}, {place + size:,})", f"[{low:,}, {low + size:,})"
        return ListRow((whole, f"{names[owner]}{own}", tiles))

    heading = (
        ListColumn("elements", "name"),
        ListColumn("interval", "name"),
        ListColumn("tiles", "words"),
    )
    rows, title = LazySequence(frame.num_intervals, row), f"intervals of {frame.operation}"
    rest = "more; -o FILE.txt writes them all"
    return Listing(heading, rows, SHOWN_INTERVALS, rest=rest, aside=title)
