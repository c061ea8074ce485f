r"""The regions picture as SVG: frames under each other.

    [0:20]: float32[20, 98], 1 interval of 1,960 elements
    +--+--+--+--+
    | 0| 1| 2| 3|     the result on a page, coloured by tile; numbers are elements of the variable
    +--+--+--+--+
    ============      the result in its order
      \\  ||  //       a ribbon from each run of it to its interval
    ==================  the memory of the variables, coloured by tile

All frames have one scale, so that an element is as wide below as above.  Large frames are drawn in
blocks, each in the colour of its middle element, and say so; where there are more tiles than
colours, theirs are then steps of the ramp, in the order of their numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.graph.tile_mapping import NO_TILE
from poplite.viz.colours import CATEGORIES, RAMP
from poplite.viz.draw.columns import cut
from poplite.viz.draw.flat_page import Rectangles, fold, rectangles, tile_colors
from poplite.viz.draw.svg import LONGEST_HEADING, Canvas, SvgText, number, text_width
from poplite.viz.draw.units import name_text
from poplite.viz.regions.frames import Frame, RegionFrames
from poplite.viz.regions.text import element_text
from poplite.viz.regions.words import captions

MARGIN = 20
WIDTH = 760
LARGEST_CELL = 28
GRID_HEIGHT = 260
"""Pixels of the tallest result."""

MOST_ELEMENTS, MOST_INTERVALS = 4096, 512
"""Of the largest frame that is not drawn in blocks."""

LEAST_WIDTH = 200.0
"""Pixels of the narrowest result that is drawn in blocks."""

BLOCKS = 64
"""Blocks of a side, and parts of a result, where it is drawn in blocks."""

MOST_TIPS = 1024
"""Elements of the largest frame whose elements are drawn one by one, with what each is."""

BAR, RIBBONS, STRIP = 12, 64, 18
"""Heights of the result in its order, of the ribbons, and of the variables, in pixels."""

LABEL = 10
SEAM_FROM = 3.0
"""Elements narrower than this, in pixels, touch."""


def draw_regions_svg(shown: RegionFrames, *, moves: bool = False) -> SvgText:
    """Draw frames; `moves` draws them so that a page can move elements from one to the next.

    >>> from poplite.graph import Graph
    >>> from poplite.viz.regions.frames import frames_of, read_operation
    >>> x = Graph().add_variable("float32", (4,), "x", mapping=0)
    >>> "element 3 of x, tile 0" in draw_regions_svg(frames_of(x, [read_operation("reverse 0")]))
    True
    """
    drawing = _Drawing(shown, moves)
    heading = cut(shown.title, LONGEST_HEADING)
    lines = [drawing.caption(k) for k in range(len(shown.frames))]
    widest = max(text_width(line, 12) for each in lines for line in each)
    width = max(WIDTH, widest, text_width(heading, 16), drawing.legend_width())
    top = MARGIN + 30.0
    heights = [drawing.height(k) for k in range(len(shown.frames))]
    canvas = Canvas(
        round(width + 2 * MARGIN), round(top + sum(heights) + 16 + MARGIN), title=shown.title
    )
    canvas.text(MARGIN, MARGIN + 14, heading, "head ink")
    for k, height in enumerate(heights):
        canvas.open("frame")
        drawing.draw(canvas, k, top)
        canvas.close()
        top += height
    drawing.draw_legend(canvas, top)
    return canvas.text_of()


@dataclass(frozen=True)
class _Drawing:
    """Frames with what they share: scale and colours."""

    shown: RegionFrames
    moves: bool

    @cached_property
    def window(self) -> tuple[int, int]:
        """The part of the strip that is drawn: all, unless little is shown of one variable."""
        size, frames = self.shown.strip.num_elements, self.shown.frames
        low = min((int(f.begin.min()) for f in frames if f.num_elements), default=0)
        high = max((int((f.begin + f.length).max()) for f in frames if f.num_elements), default=0)
        margin = (high - low) // 4 + 1
        low, high = max(0, low - margin), min(size, high + margin)
        if len(self.shown.strip.names) > 1 or 2 * (high - low) > size:
            return 0, size
        return low, high

    @cached_property
    def unit(self) -> float:
        """Pixels of an element in its order, and on the strip."""
        longest = max(frame.num_elements for frame in self.shown.frames)
        return WIDTH / max(1, longest, self.window[1] - self.window[0])

    @cached_property
    def cell(self) -> float:
        """Pixels of an element's cell, where no frame is drawn in blocks."""
        pages = [
            fold(frame.shape)
            for frame in self.shown.frames
            if frame.num_elements and _is_small(frame)
        ]
        wide, tall = (
            max((p.columns for p in pages), default=1),
            max((p.rows for p in pages), default=1),
        )
        return min(LARGEST_CELL, WIDTH / wide, GRID_HEIGHT / tall)

    @cached_property
    def tiles(self) -> Int64:
        """The tiles of all variables, rising."""
        return self.shown.strip.pieces.tiles()

    @cached_property
    def is_ramp(self) -> bool:
        """Whether tiles take steps of the ramp: in blocks, neighbours could not be told apart."""
        has_blocks = any(not _is_small(frame) for frame in self.shown.frames)
        return has_blocks and len(self.tiles) > len(CATEGORIES)

    @cached_property
    def colors(self) -> dict[int, int]:
        """The step of the ramp of each tile, or its category: that of the first tensor picture."""
        tiles, first = self.tiles, self.shown.frames[0]
        if self.is_ramp:
            steps = np.arange(len(tiles)) * len(RAMP) // len(tiles)
            return dict(zip(tiles.tolist(), steps.tolist(), strict=True))
        page = Rectangles(*(np.empty(0, np.int64) for _ in range(5)))
        if first.num_elements:
            pieces = first.pieces
            columns = fold(first.shape).columns
            page = rectangles(pieces.begin, pieces.length, pieces.tile, columns)
        return dict(zip(tiles.tolist(), tile_colors(page, tiles), strict=True))

    def kind(self, tile: int) -> str:
        """Return the class of what lies on a tile."""
        letter = "q" if self.is_ramp else "c"
        return "unmapped" if tile == NO_TILE else f"{letter}{self.colors[tile]}"

    def ink(self, tile: int) -> str:
        """Return the class of text upon a tile."""
        letter = "i" if self.is_ramp else "k"
        return f"{letter}{self.colors[tile]}" if tile >= 0 else "soft"

    def caption(self, k: int) -> list[str]:
        """Return the lines above a frame."""
        frame, lines = self.shown.frames[k], captions(self.shown, k)
        if frame.num_elements and not _is_small(frame):
            down, across = _blocks_of(frame)
            parts = min(BLOCKS, frame.num_elements)
            lines.append(
                f"drawn as {down} \u00d7 {across} blocks in the colour of their middle element, "
                f"ribbons as {parts} parts"
            )
        return lines

    def grid_height(self, k: int) -> float:
        """Return the height of the result of a frame."""
        frame = self.shown.frames[k]
        if not frame.num_elements:
            return 0.0
        if _is_small(frame):
            return fold(frame.shape).rows * self.cell
        return _block_size(frame)[1]

    def room(self, k: int) -> float:
        """Return the height kept free for a result: where elements move, the same for all."""
        every = range(len(self.shown.frames)) if self.moves else [k]
        return max(self.grid_height(each) for each in every)

    def lines_room(self, k: int) -> int:
        """Return the lines kept free for a caption."""
        every = range(len(self.shown.frames)) if self.moves else [k]
        return max(len(self.caption(each)) for each in every)

    def height(self, k: int) -> float:
        """Return the height of a frame."""
        return 18 * self.lines_room(k) + self.room(k) + 14 + BAR + RIBBONS + STRIP + 48

    def draw(self, canvas: Canvas, k: int, top: float) -> None:
        """Draw a frame from a height on."""
        frame = self.shown.frames[k]
        for n, line in enumerate(self.caption(k)):
            canvas.text(MARGIN, top + 14 + 18 * n, line, "line soft" if n else "line ink")
        top += 18 * self.lines_room(k) + 8
        bar = top + self.room(k) + 14
        strip = bar + BAR + RIBBONS
        if frame.num_elements:
            if _is_small(frame):
                if self.moves or frame.num_elements <= MOST_TIPS:
                    self._draw_elements(canvas, frame, top)
                else:
                    self._draw_tiles(canvas, frame, top)
                self._draw_ribbons(canvas, frame.begin, frame.length, bar, strip)
            else:
                self._draw_blocks(canvas, frame, top)
                self._draw_parts(canvas, frame, bar, strip)
            self._draw_bar(canvas, frame, bar)
        self._draw_strip(canvas, strip)

    def _draw_elements(self, canvas: Canvas, frame: Frame, top: float) -> None:
        columns, cell = fold(frame.shape).columns, self.cell
        position = np.concatenate(
            [np.arange(b, b + n) for b, n in zip(frame.begin, frame.length, strict=True)]
        ).tolist()
        tile = np.repeat(frame.pieces.tile, frame.pieces.length).tolist()
        labels = [element_text(self.shown.strip, place) for place in position]
        places = [divmod(k, columns) for k in range(len(position))]
        corners = [(MARGIN + column * cell, top + row * cell) for row, column in places]
        has_tips = frame.num_elements <= MOST_TIPS
        seam = "seam" if cell >= SEAM_FROM else "flush"

        def square(k: int) -> None:
            tip = self._tip(position[k], tile[k]) if has_tips else ""
            canvas.rect(*corners[k], cell, cell, self.kind(tile[k]), tip=tip)

        def label(k: int) -> None:
            if text_width(labels[k], LABEL) + 2 <= cell:
                middle, base = corners[k][0] + cell / 2, corners[k][1] + cell / 2 + 3.5
                canvas.text(middle, base, labels[k], f"small {self.ink(tile[k])} mid")

        if self.moves:
            for k, place in enumerate(position):
                canvas.open("element", key=place)
                canvas.open(seam)
                square(k)
                canvas.close()
                label(k)
                canvas.close()
            return
        canvas.open(seam)
        for k in range(len(position)):
            square(k)
        canvas.close()
        for k in range(len(position)):
            label(k)

    def _tip(self, place: int, tile: int) -> str:
        strip = self.shown.strip
        variable = strip.variable_at(place)
        on = "no tile" if tile == NO_TILE else f"tile {tile}"
        element = place - int(strip.first[variable])
        return f"element {element:,} of {name_text(strip.names[variable])}, {on}"

    def _draw_blocks(self, canvas: Canvas, frame: Frame, top: float) -> None:
        page, (down, across) = fold(frame.shape), _blocks_of(frame)
        rows, columns = _middles(page.rows, down), _middles(page.columns, across)
        element = (rows[:, None] * page.columns + columns).ravel()
        inside = element < frame.num_elements  # the last row of a page may be short
        tile = _tiles_at(frame, element[inside])
        at = np.flatnonzero(inside)
        cells = rectangles(at, np.ones_like(at), tile, across)
        width, height = _block_size(frame)
        self._draw_page(canvas, cells, top, (width / across, height / down))

    def _draw_tiles(self, canvas: Canvas, frame: Frame, top: float) -> None:
        """Draw the elements of a tile that lie together as one."""
        pieces, columns = frame.pieces, fold(frame.shape).columns
        page = rectangles(pieces.begin, pieces.length, pieces.tile, columns)
        self._draw_page(canvas, page, top, (self.cell, self.cell))

    def _draw_page(
        self, canvas: Canvas, page: Rectangles, top: float, size: tuple[float, float]
    ) -> None:
        """Draw rectangles whose units have a size; edges are whole pixels, so that they meet."""
        (wide, tall), down = size, round(top)
        canvas.open("flush")
        sides = (page.top, page.bottom, page.left, page.right, page.value)
        for t, b, lo, hi, tile in zip(*(side.tolist() for side in sides), strict=True):
            x0, x1, y0, y1 = (round(n) for n in (lo * wide, hi * wide, t * tall, b * tall))
            canvas.rect(MARGIN + x0, down + y0, x1 - x0, y1 - y0, self.kind(tile))
        canvas.close()

    def _draw_bar(self, canvas: Canvas, frame: Frame, top: float) -> None:
        pieces, unit = frame.pieces, self.unit
        canvas.open("flush")
        begin, length, tile = pieces.begin, pieces.length, pieces.tile
        if not _is_small(frame):
            edges = np.arange(BLOCKS + 1) * frame.num_elements // BLOCKS
            begin, length = edges[:-1], np.diff(edges)
            tile = _tiles_at(frame, begin + length // 2)
        for b, n, owner in zip(begin.tolist(), length.tolist(), tile.tolist(), strict=True):
            canvas.rect(MARGIN + b * unit, top, n * unit, BAR, self.kind(owner))
        canvas.close()

    def _draw_ribbons(
        self, canvas: Canvas, begin: Int64, length: Int64, bar: float, strip: float
    ) -> None:
        at = 0
        canvas.open("ribbons")
        for b, n in zip(begin.tolist(), length.tolist(), strict=True):
            tiles = self.shown.strip.tiles_within(b, n)
            kind = self.kind(int(tiles[0])) if len(tiles) == 1 and tiles[0] >= 0 else "dots"
            self._ribbon(canvas, (at, at + n), (b, b + n), bar, strip, f"ribbon {kind}")
            at += n
        canvas.close()

    def _draw_parts(self, canvas: Canvas, frame: Frame, bar: float, strip: float) -> None:
        """Draw a ribbon from each part of a result to the range that its intervals lie in."""
        before = np.cumsum(frame.length) - frame.length
        after = before + frame.length
        edges = (np.arange(BLOCKS + 1) * frame.num_elements // BLOCKS).tolist()
        canvas.open("ribbons")
        for low, high in pairwise(edges):
            first = int(np.searchsorted(after, low, side="right"))
            last = int(np.searchsorted(before, high, side="left"))
            if first < last:
                begin = frame.begin[first:last] + np.maximum(0, low - before[first:last])
                end = frame.begin[first:last] + np.minimum(
                    frame.length[first:last], high - before[first:last]
                )
                span = int(begin.min()), int(end.max())
                (tile,) = _tiles_at(frame, np.array([(low + high) // 2])).tolist()
                self._ribbon(canvas, (low, high), span, bar, strip, f"haze {self.kind(tile)}")
        canvas.close()

    def _ribbon(
        self,
        canvas: Canvas,
        above: tuple[int, int],
        below: tuple[int, int],
        bar: float,
        strip: float,
        kind: str,
    ) -> None:
        starts = [end - self.window[0] for end in below]
        a, b, c, d = (number(MARGIN + end * self.unit) for end in (*above, *starts))
        y0, y1, middle = number(bar + BAR), number(strip), number((bar + BAR + strip) / 2)
        left = f"M{a} {y0}C{a} {middle} {c} {middle} {c} {y1}"
        canvas.path(f"{left}H{d}C{d} {middle} {b} {middle} {b} {y0}z", kind)

    def _draw_strip(self, canvas: Canvas, top: float) -> None:
        strip, unit, (left, right) = self.shown.strip, self.unit, self.window
        pieces = strip.pieces
        canvas.open("flush")
        begins = np.clip(pieces.begin, left, right)
        lengths = np.clip(pieces.begin + pieces.length, left, right) - begins
        lists = begins.tolist(), lengths.tolist(), pieces.tile.tolist()
        for begin, length, tile in zip(*lists, strict=True):
            if length * unit >= 0.05:
                x, wide = MARGIN + (begin - left) * unit, length * unit
                canvas.rect(x, top, wide, STRIP, self.kind(tile))
                if tile >= 0 and text_width(f"{tile}", LABEL) + 4 <= wide:
                    kind = f"small {self.ink(tile)} mid"
                    canvas.text(x + wide / 2, top + STRIP - 5, f"{tile}", kind)
        canvas.close()
        for name, low, high in zip(
            strip.names, strip.first.tolist(), strip.first[1:].tolist(), strict=False
        ):
            first, last = max(low, left), min(high, right)
            x, wide = MARGIN + (first - left) * unit, (last - first) * unit
            canvas.rect(x, top, wide, STRIP, "rule")
            label = f"{name_text(name)}: {high - low:,} elements"
            if (first, last) != (low, high):
                label = f"{name_text(name)}: elements {first:,} to {last - 1:,} of {high - low:,}"
            shown = label if text_width(label, 11) <= wide else cut(name_text(name), 12)
            if text_width(shown, 11) <= max(wide, 80.0 if len(strip.names) == 1 else 0.0):
                canvas.text(x, top + STRIP + 14, shown, "soft")

    def _entries(self) -> list[tuple[list[str], str]]:
        """Return the colours and words of the legend."""
        pieces, tiles = self.shown.strip.pieces, self.tiles.tolist()
        entries = [([self.kind(tile)], f"tile {tile}") for tile in tiles]
        if self.is_ramp:
            entries = [([f"q{k}" for k in range(len(RAMP))], f"tiles {tiles[0]} to {tiles[-1]}")]
        elif len(tiles) > len(CATEGORIES):
            label = f"tiles {tiles[0]} to {tiles[-1]}: neighbours differ in colour"
            entries = [([f"c{k}" for k in range(len(CATEGORIES))], label)]
        if (pieces.tile == NO_TILE).any():
            entries.append((["unmapped"], "no tile"))
        return entries

    def legend_width(self) -> float:
        """Return how wide the legend is."""
        return sum(12 * len(k) + 19 + text_width(words, 11) for k, words in self._entries())

    def draw_legend(self, canvas: Canvas, y: float) -> None:
        """Draw the legend."""
        x = float(MARGIN)
        for kinds, words in self._entries():
            for kind in kinds:
                canvas.rect(x, y, 12, 12, kind)
                x += 12
            canvas.text(x + 5, y + 10, words, "soft")
            x += 19 + text_width(words, 11)


def _is_small(frame: Frame) -> bool:
    return frame.num_elements <= MOST_ELEMENTS and frame.num_intervals <= MOST_INTERVALS


def _blocks_of(frame: Frame) -> tuple[int, int]:
    """Return into how many blocks a large frame is drawn, down and across."""
    page = fold(frame.shape)
    return min(BLOCKS, page.rows), min(BLOCKS, page.columns)


def _block_size(frame: Frame) -> tuple[float, float]:
    """Return width and height of a frame in blocks: as its page is shaped, but never a line."""
    page = fold(frame.shape)
    width = min(float(WIDTH), max(LEAST_WIDTH, GRID_HEIGHT * page.columns / page.rows))
    return width, min(float(GRID_HEIGHT), max(24.0, width * page.rows / page.columns))


def _middles(size: int, parts: int) -> Int64:
    """Return the middle of each of the equal parts of a size."""
    return (2 * np.arange(parts) + 1) * size // (2 * parts)


def _tiles_at(frame: Frame, element: Int64) -> Int64:
    """Return the tiles of some elements of a frame."""
    at = np.searchsorted(frame.pieces.begin, element, side="right") - 1
    return np.asarray(frame.pieces.tile[at])
