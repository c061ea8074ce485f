"""Gaussian blurs on Mk1 against hardware, phase by phase (thorbenlouw/lbm-graphcore).

    python benchmarks/fidelity_blur.py [--only KEY] [--json FILE]

An image of four channels is divided among IPUs, tiles and workers as in the measured program.  Each
worker's vertex reads its block with one more cell on every side, as one vector, which is not
contiguous on any tile: copies within tiles come before and after the exchange.

Three forms were measured.  `float` is plain code; in `float2` and `half4` a vector holds 2 or 4
channels.  Their slots are those of plain code whose scalar is one vector, which is priced
separately and assigned to the vertices that move the data.

A worker's rows are short: 8 pixels of the largest image on one IPU, 4 of the one that grows.  A
row takes 18 slots besides its pixels, 16 of them for its four row pointers.  In half4 a pixel is 22
slots (9 loads, 11 operations, a store, 1 for the loop), so 24.25 with its share of the row's end,
and took 28.2: the rest seems to be constants of halves, which plain code does not make.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

import poplite as pl
from fidelity_rows import Row, Rows, phases, steps
from poplite.text import amount

if TYPE_CHECKING:
    from poplite.report.execution import ExecutionStep


T = TypeVar("T", pl.FLOAT, pl.HALF)

Block = tuple[slice, slice]


def taps(x: Any, at: Any, pixel: int, row: Any) -> Any:
    """Blend nine neighbours, beginning at `at`."""
    corners = x[at] + x[at + 2 * pixel] + x[at + 2 * row] + x[at + 2 * row + 2 * pixel]
    sides = x[at + pixel] + x[at + row] + x[at + row + 2 * pixel] + x[at + 2 * row + pixel]
    return 0.0625 * corners + 0.25 * x[at + row + pixel] + 0.125 * sides


class Blur(pl.Vertex, Generic[T]):
    """A worker's block; `x` has a cell more than `y` on every side."""

    x: pl.Input[pl.Vector[T]]
    y: pl.Output[pl.Vector[T]]
    width: pl.State[pl.INT]
    height: pl.State[pl.INT]

    def compute(self) -> None:
        """Blend every cell, channel by channel."""
        row = 4 * (self.width + 2)
        for r in range(self.height):
            for c in range(self.width):
                for k in range(4):
                    at = r * row + 4 * c + k
                    self.y[4 * (r * self.width + c) + k] = taps(self.x, at, 4, row)


class BlurOfTwo(pl.Vertex):
    """The same where two vectors make a pixel."""

    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Output[pl.Vector[pl.FLOAT]]
    width: pl.State[pl.INT]
    height: pl.State[pl.INT]

    def compute(self) -> None:
        """Blend every cell, vector by vector."""
        row = 2 * (self.width + 2)
        for r in range(self.height):
            for c in range(self.width):
                for k in range(2):
                    at = r * row + 2 * c + k
                    self.y[2 * (r * self.width + c) + k] = taps(self.x, at, 2, row)


class BlurOfOne(pl.Vertex):
    """The same where one vector is a pixel."""

    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Output[pl.Vector[pl.FLOAT]]
    width: pl.State[pl.INT]
    height: pl.State[pl.INT]

    def compute(self) -> None:
        """Blend every cell."""
        row = self.width + 2
        for r in range(self.height):
            for c in range(self.width):
                at = r * row + c
                self.y[r * self.width + c] = taps(self.x, at, 1, row)


@dataclass(frozen=True, slots=True)
class Form:
    """One of the codelets.

    Attributes:
        element: the stored type.
        priced: the class whose slots count.
        vectors: elements of the substitute for a pixel.
    """

    element: type[pl.ElementType[float]]
    priced: Any
    vectors: int


FORMS = {
    "half4": Form(pl.HALF, BlurOfOne, 1),
    "float2": Form(pl.FLOAT, BlurOfTwo, 2),
    "float": Form(pl.FLOAT, Blur[pl.FLOAT], 4),
}


@cache
def slots(form: Form, width: int, height: int) -> int:
    """Return the slots of a worker's block."""
    graph = pl.Graph(pl.Target(tiles=1, architecture="gc2"))
    sizes = {"x": form.vectors * (width + 2) * (height + 2), "y": form.vectors * width * height}
    fields: dict[str, Any] = {
        name: graph.add_variable(pl.FLOAT, (size,), name, mapping=0) for name, size in sizes.items()
    }
    step = graph.add_compute_set("blur")
    graph.add_vertex(step, form.priced, tile=0, width=width, height=height, **fields)
    options = {"debug.allowOutOfMemory": True}
    (total,) = steps(graph, pl.Execute(step), options)
    return total.vertex_types[0].cycles


def ranges(n: int, parts: int, begin: int = 0) -> list[slice]:
    """Cut a range into parts, the longer ones first."""
    ends = np.cumsum([0] + [n // parts + (k < n % parts) for k in range(parts)]) + begin
    return [slice(int(a), int(b)) for a, b in zip(ends, ends[1:], strict=False)]


def tiles_of(rows: slice, cols: slice, tiles: int, least: int = 6) -> list[Block]:
    """Cut the part of an IPU over its tiles."""
    height, width = rows.stop - rows.start, cols.stop - cols.start
    across = min(width // least, math.ceil(math.sqrt(tiles * width / height)))
    down = min(height // least, tiles // across)
    return [
        (r, c) for r in ranges(height, down, rows.start) for c in ranges(width, across, cols.start)
    ]


def workers_of(rows: slice, cols: slice, workers: int) -> list[Block]:
    """Cut the block of a tile over its workers, along the side that divides more evenly."""
    height, width = rows.stop - rows.start, cols.stop - cols.start
    if (height % workers) / height <= (width % workers) / width:
        return [(r, cols) for r in ranges(height, min(height, workers), rows.start)]
    return [(rows, c) for c in ranges(width, min(width, workers), cols.start)]


def ipus_of(height: int, width: int, ipus: int) -> list[Block]:
    """Cut an image over IPUs, along the side that divides more evenly."""
    if (height % ipus) / height < (width % ipus) / width:
        return [(r, slice(0, width)) for r in ranges(height, ipus)]
    return [(slice(0, height), c) for c in ranges(width, ipus)]


@lru_cache(maxsize=1)
def built(
    element: type[pl.ElementType[float]], width: int, height: int, ipus: int
) -> tuple[pl.Graph, pl.Program, list[tuple[pl.VertexInstance, int, int]]]:
    """Return the graph of one blur, its program, and each vertex with its columns and rows."""
    graph = pl.Graph(pl.Target(ipus=ipus, architecture="gc2"))
    tiles, workers = graph.target.tiles_per_ipu, graph.target.workers
    x, y = (graph.add_variable(element, (height + 2, width + 2, 4), name) for name in "xy")
    step, vertices = graph.add_compute_set("blur"), []
    for ipu, part in enumerate(ipus_of(height, width, ipus)):
        for tile, block in enumerate(tiles_of(*part, tiles), ipu * tiles):
            for tensor in (x, y):
                graph.set_tile_mapping(_with_border(tensor, block, height, width), tile)
            for r, c in workers_of(*block, workers):
                rows, columns = r.stop - r.start, c.stop - c.start
                vertex = graph.add_vertex(
                    step,
                    Blur[element],  # type: ignore[valid-type]
                    tile=tile,
                    x=x[r.start : r.stop + 2, c.start : c.stop + 2].flatten(),
                    y=y[r.start + 1 : r.stop + 1, c.start + 1 : c.stop + 1].flatten(),
                    width=columns,
                    height=rows,
                )
                vertices.append((vertex, columns, rows))
    return graph, pl.Execute(step), vertices


@cache
def blurred(name: str, width: int, height: int, ipus: int = 1) -> tuple[dict[str, int], int]:
    """Return the cycles of one blur by phase, and all of them."""
    graph, program, vertices = built(FORMS[name].element, width, height, ipus)
    for vertex, columns, rows in vertices:
        graph.set_perf_estimate(vertex, slots(FORMS[name], columns, rows))
    (total,) = steps(graph, program, {"debug.allowOutOfMemory": True})
    return phases(total), total.cycles


def _with_border(tensor: pl.Tensor, block: Block, height: int, width: int) -> pl.Tensor:
    """Return a block of the padded image, and the border where it is at the image's edge."""
    r, c = block
    return tensor[
        r.start + (r.start > 0) : r.stop + 1 + (r.stop == height),
        c.start + (c.start > 0) : c.stop + 1 + (c.stop == width),
    ]


CHEESE = (2_200, 1_122)
"""Columns and rows of the image that was profiled."""

PROFILE = {
    ("half4", 1): {"compute": 63_531, "exchange": 637, "pre": 5_741, "post": 4_826, "sync": 64},
    ("float2", 1): {
        "compute": 100_257, "exchange": 1_173, "pre": 8_279, "post": 6_954, "sync": 117
    },
    ("float", 1): {
        "compute": 210_249, "exchange": 1_173, "pre": 8_279, "post": 6_954, "sync": 117
    },
    ("half4", 16): {
        "compute": 4_446, "exchange": 263, "global exchange": 3_043, "pre": 1_611, "post": 882,
        "sync": 501,
    },
    ("float2", 16): {
        "compute": 7_914, "exchange": 397, "global exchange": 4_017, "pre": 1_897, "post": 954,
        "sync": 642,
    },
    ("float", 16): {
        "compute": 13_152, "exchange": 397, "global exchange": 4_048, "pre": 1_894, "post": 954,
        "sync": 640,
    },
}  # fmt: skip
"""Cycles of one blur by form, number of IPUs and phase."""

WALL = {"half4": 73_598, "float2": 116_896, "float": 226_888}
"""Cycles of one blur by the clock on the wall, on one IPU."""

KEYS = {"compute": "V12", "exchange": "V13", "pre": "V14", "post": "V14"}
TOLERANCES = {"compute": 0.15, "exchange": 0.15, "pre": 0.30, "post": 0.30}
GATES = {"compute": "blur: compute", "exchange": "exchange phases"}
COPIES = "which of its copy vertices Poplar takes"
LACKS = {
    "pre": COPIES,
    "post": COPIES,
    "exchange": "the schedule of fragments on Mk1",
    "global exchange": "the schedule of packets between IPUs",
    "sync": "tiles are let go one after the other",
}


def lacks(phase: str = "compute") -> str:
    """Return what the model lacks in a phase; for a step, in its largest part."""
    if phase != "compute":
        return LACKS[phase]
    return "constants of halves, which the compiler makes again for every pixel"


def profile() -> Iterable[Row]:
    """V12 to V15: the phases of one blur on one IPU."""
    for form in FORMS:
        found, cycles = blurred(form, *CHEESE)
        for phase, key in KEYS.items():
            yield Row(
                key, f"blur {form}: {phase}", 1, "H LBM", "cycles", PROFILE[form, 1][phase],
                found[phase], TOLERANCES[phase], GATES.get(phase, ""), lacks(phase),
            )  # fmt: skip
        yield Row(
            "V15", f"blur {form}: step", 1, "H LBM", "cycles", WALL[form], cycles, 0.15, "",
            lacks(),
        )  # fmt: skip
        yield Row(
            "V15", f"blur {form}: sum of the phases", 3, "model", "cycles", cycles,
            sum(found.values()), 0.03, "blur: phases add up", "tiles that wait in no sync overlap",
        )  # fmt: skip


def profile_of_16() -> Iterable[Row]:
    """W11: the same on 16 IPUs."""
    for form in FORMS:
        found, cycles = blurred(form, *CHEESE, 16)
        measured = PROFILE[form, 16]
        for phase, value in measured.items():
            yield Row(
                "W11", f"blur {form}, 16 IPUs: {phase}", 2, "H LBM", "cycles", value, found[phase],
                0.30, "exchange phases" if phase == "exchange" else "", lacks(phase),
            )  # fmt: skip
        yield Row(
            "W11", f"blur {form}, 16 IPUs: step", 2, "H LBM", "cycles", sum(measured.values()),
            cycles, 0.30, "", lacks(),
        )  # fmt: skip


IMAGES = {
    "bricks": ((499, 302), {"half4": 0.899, "float2": 1.397, "float": 2.052}),
    "leaf": ((768, 1_024), {"half4": 3.739, "float2": 5.861, "float": 11.618}),
    "cheese": (CHEESE, {"half4": 9.200, "float2": 14.612, "float": 28.361}),
}
"""Columns and rows of images, and the milliseconds of 200 blurs on one IPU."""


def images() -> Iterator[Row]:
    """W9: three images on one IPU, and one of them on 16."""
    for image, (size, times) in IMAGES.items():
        for form, milliseconds in times.items():
            yield _of_image("W9", f"blur {form}: {image}", form, milliseconds / 200, size)
    for form, milliseconds in IMAGE_OF_16.items():
        yield _of_image("W9", f"blur {form}: cheese, 16 IPUs", form, milliseconds / 200, CHEESE, 16)


def strong_scaling() -> Iterator[Row]:
    """W13: the same image on increasing numbers of IPUs, by plain code."""
    for ipus, seconds in {1: 0.2842, 2: 0.1625, 4: 0.0831, 8: 0.0523, 16: 0.0303}.items():
        what = f"blur float: 2,000 of cheese, {amount(ipus, 'IPU')}"
        yield _of_image("W13", what, "float", seconds / 2, CHEESE, ipus)


def _of_image(
    key: str, what: str, form: str, milliseconds: float, size: tuple[int, int], ipus: int = 1
) -> Row:
    """Return the row of one blur."""
    measured = milliseconds / 1e3 * pl.Target(architecture="gc2").clock_hz
    model, tolerance = blurred(form, *size, ipus)[1], 0.15 if ipus == 1 else 0.30
    return Row(key, what, 2, "H LBM", "cycles", measured, model, tolerance, "", lacks())


IMAGE_OF_16 = {"half4": 1.384, "float2": 2.005, "float": 2.660}
"""The same milliseconds of the last one on 16 IPUs."""

WEAK = {
    "half4": {1: 20_389, 2: 26_206, 4: 28_424, 8: 28_451, 16: 28_567},
    "float2": {1: 31_628, 2: 37_548, 4: 39_695, 8: 39_763, 16: 39_882},
    "float": {1: 55_394, 2: 61_314, 4: 63_461, 8: 63_530, 16: 63_648},
}
"""Cycles of one blur by form and number of IPUs, each with 500 columns and 1,000 rows."""


def weak_scaling() -> Iterator[Row]:
    """W10: an image that grows with the number of IPUs."""
    for ipus in (1, 2, 4, 8, 16):
        for form, cycles in WEAK.items():
            model = blurred(form, 500 * ipus, 1_000, ipus)[1]
            what = f"blur {form}: 500 x 1,000 for each of {amount(ipus, 'IPU')}"
            tolerance = 0.15 if ipus == 1 else 0.30
            yield Row(
                "W10", what, 2, "H LBM", "cycles", cycles[ipus], model, tolerance, "", lacks()
            )


BLURS: Rows = {
    "V12": profile,
    "W11": profile_of_16,
    "W9": images,
    "W13": strong_scaling,
    "W10": weak_scaling,
}


# -- other programs --------------------------------------------------------------------------------


class Fixed(pl.Vertex):
    """A vertex whose slots are given."""

    x: pl.Input[pl.Vector[pl.FLOAT]]
    around: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    y: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        """Copy."""
        for i in range(len(self.y)):
            self.y[i] = self.x[i]


class Dot(pl.Vertex):
    """The product of two vectors (tutorial 6)."""

    a: pl.Input[pl.Vector[pl.FLOAT]]
    b: pl.Input[pl.Vector[pl.FLOAT]]
    out: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        """Add products."""
        total = 0.0
        for i in range(len(self.a)):
            total += self.a[i] * self.b[i]
        self.out = total


class Sum(pl.Vertex):
    """The sum of a vector."""

    x: pl.Input[pl.Vector[pl.FLOAT]]
    out: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        """Add elements."""
        total = 0.0
        for i in range(len(self.x)):
            total += self.x[i]
        self.out = total


def halo() -> Iterable[Row]:
    """B5: 2 x 608 blocks of 100 x 100 under IPUModel, vertices of 100 slots.

    In that model both tiles of a pair send at once.  It does not say where sync ends and exchange
    begins, so they are one row.
    """
    columns, rows, n = 2, 608, 100
    graph = pl.Graph(pl.Target(architecture="gc2", costs={"send_lanes": 2}))
    x, y = (graph.add_variable(pl.FLOAT, (rows * n, columns * n), name) for name in "xy")
    zeros = graph.add_variable(pl.FLOAT, (rows * columns, n), "zeros", mapping="linear")
    step = graph.add_compute_set("halo")

    def side(r: int, c: int, tile: int, cells: tuple[Any, Any]) -> pl.Tensor:
        """Return cells of a neighbour, or zeros where there is none."""
        if 0 <= r < rows and 0 <= c < columns:
            return x[r * n : (r + 1) * n, c * n : (c + 1) * n][cells].flatten()
        length = math.prod(len(range(*s.indices(n))) for s in cells)
        return zeros[tile, :length]

    every, first, last = slice(None), slice(0, 1), slice(n - 1, n)
    for tile, (r, c) in enumerate(itertools.product(range(rows), range(columns))):
        inside = slice(r * n, (r + 1) * n), slice(c * n, (c + 1) * n)
        for tensor in (x, y):
            graph.set_tile_mapping(tensor[inside], tile)
        sides = [(-1, 0, last, every), (1, 0, first, every), (0, -1, every, last),
                 (0, 1, every, first), (-1, -1, last, last), (-1, 1, last, first),
                 (1, -1, first, last), (1, 1, first, first)]  # fmt: skip
        around = [side(r + dr, c + dc, tile, (rr, cc)) for dr, dc, rr, cc in sides]
        vertex = graph.add_vertex(
            step, Fixed, tile=tile, x=x[inside].flatten(), y=y[inside].flatten(), around=around
        )
        graph.set_perf_estimate(vertex, 100)
    (total,) = steps(graph, pl.Execute(step), {"debug.allowOutOfMemory": True})
    found = phases(total)
    between = mean([total], "exchange", graph.target.tiles) + found["sync"]
    for what, measured, model, tolerance, gate in (
        ("compute", 600, found["compute"], 0.0, ""),
        ("exchange and sync", 284 + 166, between, 0.15, "exchange phases"),
        ("step", 1_050, total.cycles, 0.15, ""),
    ):
        name = f"IPUModel's halo, 302 words: {what}"
        yield Row("B5", name, 3, "S LBM", "cycles", measured, model, tolerance, gate)


def matvec() -> Iterable[Row]:
    """W14: a matrix of 10,000 x 1,000 times a vector, in 7 parts of each row."""
    for model, source, tier in (("C++", "H T6", 2), ("guessed", "S T6", 3)):
        compute, exchange = _matvec(is_guessed=model == "guessed")
        measured = 28_300.3 if tier == 2 else 3_801.8
        what = f"tutorial matvec, {model} vertices: compute"
        yield Row("W14", what, tier, source, "cycles", measured, compute, 0.05)
        if tier == 2:
            yield Row(
                "W14", "tutorial matvec: exchange", 2, source, "cycles", 8_743.1, exchange, 0.15,
                "", "the data of the streams, which the measured number has, go to their tiles",
            )  # fmt: skip


def _matvec(*, is_guessed: bool) -> tuple[float, float]:
    """Return the cycles of compute and exchange of the average tile."""
    rows, columns, split = 10_000, 1_000, 7
    target = pl.Target()
    graph, tiles = pl.Graph(target), target.tiles
    x = graph.add_variable(pl.FLOAT, (columns,), "x")
    for tile, part in _runs(np.arange(columns) * tiles // columns):
        graph.set_tile_mapping(x[part], tile)
    partials = graph.add_variable(pl.FLOAT, (split, rows), "partials")
    y = graph.add_variable(pl.FLOAT, (rows,), "y")
    multiply, reduce = graph.add_compute_set("mul"), graph.add_compute_set("reduce")
    for i in range(split):
        part = slice(i * columns // split, (i + 1) * columns // split)
        length = part.stop - part.start
        matrix = graph.add_variable(pl.FLOAT, (rows, length), f"matrix{i}")
        on = (i * rows + np.arange(rows)) * tiles // (split * rows)
        for tile, share in _runs(on):
            graph.set_tile_mapping(matrix[share], tile)
            graph.set_tile_mapping(partials[i, share], tile)
        vertices = graph.add_vertices(
            multiply, Dot, tile=on, a=matrix, b=x[part].broadcast(rows, 0).reshape((rows, length)),
            out=partials[i],
        )  # fmt: skip
        if is_guessed:
            graph.set_perf_estimate(vertices, 5 + (length + 1) // 2)
    on = np.arange(rows) * tiles // rows
    for tile, share in _runs(on):
        graph.set_tile_mapping(y[share], tile)
    vertices = graph.add_vertices(reduce, Sum, tile=on, x=partials.T, out=y)
    if is_guessed:
        graph.set_perf_estimate(vertices, 5 + (split + 1) // 2)
    totals = steps(graph, pl.Sequence(pl.Execute(multiply), pl.Execute(reduce)))
    return mean(totals, "compute", tiles), mean(totals, "exchange", tiles)


def mean(totals: Iterable[ExecutionStep], kind: str, tiles: int) -> float:
    """Return the cycles of the average tile in phases of a kind."""
    chosen = [phase for total in totals for phase in total.phases if phase.kind == kind]
    return sum(phase.tile_cycles.total for phase in chosen) / tiles


def _runs(tiles: np.ndarray[Any, Any]) -> Iterable[tuple[int, slice]]:
    """Yield each tile and the range of elements that are on it; tiles rise."""
    ends = np.flatnonzero(np.diff(tiles, append=-1)) + 1
    begins = [0, *ends[:-1].tolist()]
    for begin, end in zip(begins, ends.tolist(), strict=True):
        yield int(tiles[begin]), slice(begin, end)


def distances() -> Iterable[Row]:
    """L1: phases of a C600, whose tile map is known; the map was checked on hardware to 2.6 %."""
    words = 100

    def phase(source: int, to: int | None) -> int:
        """Return the cycles of sending some words to a tile, or to all."""
        graph = pl.Graph(pl.Target(architecture="c600"))
        tiles = graph.target.tiles if to is None else 1
        x = graph.add_variable(pl.INT, (words,), "x", mapping=source)
        y = graph.add_variable(pl.INT, (tiles, words), "y", mapping="linear" if to is None else to)
        every = x.broadcast(tiles, 0).reshape((tiles, words))
        (total,) = steps(graph, pl.Copy(every, y))
        return phases(total)["exchange"]

    pairs = itertools.product(range(0, 1472, 97), range(5, 1472, 101))
    between = [phase(source, to) for source, to in pairs if source != to]
    to_all = [phase(source, None) for source in range(0, 1472, 64)]
    for what, measured, found in (
        ("between two tiles, mean", 87, np.mean(between)),
        ("to all tiles, mean", 153, np.mean(to_all)),
        ("to all tiles, longest", 199, max(to_all)),
    ):
        yield Row(
            "L1", f"C600: {words} words {what}", 3, "D IS", "cycles", words + measured,
            float(found), 0.05, "exchange phases, known tile map",
        )  # fmt: skip


PROGRAMS: Rows = {"W14": matvec, "L1": distances, "B5": halo}
