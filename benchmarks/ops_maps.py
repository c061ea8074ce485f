"""Maps and sums of expressions against prange by hand and NumPy: ratios.

    python benchmarks/ops_maps.py [--samples 9] [--json FILE] [--small]

Ten million FLOAT elements on 1,472 tiles. The numbers of rows are those of the operations' design:
1 to 4 run fused maps; 5 and 6 make new ones; 9 to 11 sum expressions; 16 and 17 only build graphs.
"""

from __future__ import annotations

import math
import os
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

import poplite as pl
from poplite import ops
from poplite.graph.tile_mapping import TileMapping
from rows import SETTLING, Row, in_turn, run

Floats = npt.NDArray[np.float32]


@numba.njit(parallel=True)  # type: ignore[untyped-decorator]
def six_by_hand(x: Any, y: Any, out: Any) -> None:
    """Six operations of each element."""
    for i in numba.prange(len(x)):
        d = x[i] - y[i]
        out[i] = np.sqrt(d * d + np.float32(0.25) * abs(y[i]))


@numba.njit(parallel=True)  # type: ignore[untyped-decorator]
def rows_by_hand(x: Any, b: Any, c: Any, out: Any) -> None:
    """(x - b) * c, with b for each column and c for each row."""
    for r in numba.prange(x.shape[0]):
        factor = c[r]
        for i in range(x.shape[1]):
            out[r, i] = (x[r, i] - b[i]) * factor


@numba.njit(parallel=True, fastmath=True)  # type: ignore[untyped-decorator]
def squares_by_hand(x: Any, y: Any) -> Any:
    """The sum of squares of differences, in any order."""
    total = np.float32(0)
    for i in numba.prange(len(x)):
        d = x[i] - y[i]
        total += d * d
    return total


def target(small: bool) -> pl.Target:
    """The tiles of one IPU."""
    return pl.Target(tiles=16 if small else 1472)


def operands(small: bool) -> tuple[Floats, Floats]:
    """Two vectors."""
    rng = np.random.default_rng(1)
    x, y = (rng.standard_normal(16_000 if small else 10_000_000, np.float32) for _ in "xy")
    return x, y


def engine_of(
    small: bool, values: dict[str, Floats], expression: Callable[..., Any]
) -> tuple[pl.Engine, pl.Tensor]:
    """Return the engine of an expression of variables, and its result."""
    graph, program = pl.Graph(target(small)), pl.Sequence()
    tensors = [
        graph.add_variable(pl.FLOAT, v.shape, name, mapping="linear", initial_value=v)
        for name, v in values.items()
    ]
    result = ops.map(expression(*tensors), program=program)
    return pl.Engine(graph, program, checks="fast"), result


def maps(small: bool, samples: int, warm_up: float) -> list[Row]:
    """Rows 1 to 4."""
    x, y = operands(small)
    engine, result = engine_of(
        small,
        {"x": x, "y": y},
        lambda x, y: ops.sqrt((x - y) * (x - y) + 0.25 * abs(y)),
    )
    out = np.empty_like(x)
    engine.run()
    six_by_hand(x, y, out)
    same("fused map", engine.read(result), out)
    ours, hand = in_turn(engine.run, lambda: six_by_hand(x, y, out), samples, warm_up=warm_up)
    made = [
        Row(
            "1 six operations, 10^7: poplite / prange",
            least(ours, hand),
            "x",
            "<=",
            1.25,
            ours,
            hand,
        )
    ]

    def numpy() -> None:
        np.sqrt((x - y) * (x - y) + np.float32(0.25) * abs(y))

    ours, theirs = in_turn(engine.run, numpy, samples, warm_up=warm_up)
    made.append(
        Row(
            "2 six operations, 10^7: poplite / NumPy",
            least(ours, theirs),
            "x",
            "<=",
            0.3,
            ours,
            theirs,
        )
    )
    columns = 100 if small else 1000
    matrix = x.reshape(-1, columns)
    b, c = y[:columns].copy(), y[: len(matrix)].copy()
    fused, result = engine_of(
        small, {"x": matrix, "b": b, "c": c[:, None]}, lambda x, b, c: (x - b) * c
    )
    out = np.empty_like(matrix)
    fused.run()
    rows_by_hand(matrix, b, c, out)
    same("broadcast map", fused.read(result), out)
    ours, hand = in_turn(
        fused.run, lambda: rows_by_hand(matrix, b, c, out), samples, warm_up=warm_up
    )
    made.append(
        Row(
            "3 (x - b) * c, 10^4 x 10^3: poplite / prange",
            least(ours, hand),
            "x",
            "<=",
            1.25,
            ours,
            hand,
        )
    )
    graph, program = pl.Graph(target(small)), pl.Sequence()
    tensors = [
        graph.add_variable(pl.FLOAT, v.shape, name, mapping="linear", initial_value=v)
        for name, v in {"x": matrix, "b": b, "c": c[:, None]}.items()
    ]
    wide = [
        graph.add_variable(pl.FLOAT, matrix.shape, n, mapping="linear")
        for n in ("wide_b", "wide_c")
    ]
    for one, other in zip(tensors[1:], wide, strict=True):
        ops.copy(one, other, program=program)
    ops.map((tensors[0] - wide[0]) * wide[1], program=program)
    stored = pl.Engine(graph, program, checks="fast")
    ours, theirs = in_turn(fused.run, stored.run, samples, warm_up=warm_up)
    made.append(
        Row(
            "4 the same: fused / operands stored first",
            least(ours, theirs),
            "x",
            "<=",
            0.5,
            ours,
            theirs,
        )
    )
    return made


def sums(small: bool, samples: int, warm_up: float) -> list[Row]:
    """Rows 9 and 10."""
    x, y = operands(small)
    graph, program = pl.Graph(target(small)), pl.Sequence()
    a, b = (
        graph.add_variable(pl.FLOAT, v.shape, name, mapping="linear", initial_value=v)
        for name, v in (("x", x), ("y", y))
    )
    before = bytes_of(graph)
    loss = ops.map(ops.sum((a - b) ** 2), program=program)
    extra = (bytes_of(graph) - before) / before
    engine = pl.Engine(graph, program, checks="fast")
    engine.run()
    total = float(((x - y).astype(np.float64) ** 2).sum())
    if abs(float(engine.read(loss)) - total) > 1e-4 * total:
        sys.exit("the sums differ")
    ours, hand = in_turn(engine.run, lambda: squares_by_hand(x, y), samples, warm_up=warm_up)
    return [
        Row(
            "9 sum((x - y) ** 2), 10^7: poplite / fast-math prange",
            least(ours, hand),
            "x",
            "<=",
            1.4,
            ours,
            hand,
        ),
        Row("10 the same: extra bytes / input bytes", extra, "x", "<=", 0.002, [0.0], [0.0]),
    ]


def derivative(small: bool, samples: int, warm_up: float) -> list[Row]:
    """Row 11: a value and its derivative, the difference computed twice or stored."""
    x, y = operands(small)
    engines = []
    for stores in (False, True):
        graph, program = pl.Graph(target(small)), pl.Sequence()
        a, b = (
            graph.add_variable(pl.FLOAT, v.shape, name, mapping="linear", initial_value=v)
            for name, v in (("x", x), ("y", y))
        )
        difference = ops.map(a - b, program=program) if stores else a - b
        ops.lower(graph, [ops.sum(difference**2), 2 * difference], program)
        engines.append(pl.Engine(graph, program, checks="fast"))
    ours, theirs = in_turn(engines[0].run, engines[1].run, samples, warm_up=warm_up)
    name = "11 value and derivative: recomputed / difference stored"
    return [Row(name, least(ours, theirs), "x", "<=", 1.0, ours, theirs)]


def formula_of(number: int) -> str:
    """Return an expression of x and y that is like no other."""
    signs = [("+", "-")[number >> k & 1] for k in range(10)]
    return "x * y " + " ".join(f"{sign} x * {k + 2}.0" for k, sign in enumerate(signs))


def new_expressions(small: bool, samples: int) -> list[Row]:
    """Rows 5 and 6: an expression that is compiled for the first time, and others like it."""
    size = 10_000
    values = {name: np.ones(size, np.float32) for name in "xy"}
    numbers = iter(range(1 << 10))

    def ours() -> None:
        text = formula_of(next(numbers))
        engine, _ = engine_of(True, values, lambda x, y: eval(text, {"x": x, "y": y}))
        engine.run()

    def hand() -> None:
        names: dict[str, Any] = {"numba": numba}
        formula = formula_of(next(numbers)).replace("x", "x[i]").replace("y", "y[i]")
        exec(
            f"def f(x, y, out):\n    for i in numba.prange(len(x)):\n        out[i] = {formula}",
            names,
        )
        numba.njit(parallel=True)(names["f"])(values["x"], values["y"], np.empty_like(values["x"]))

    ours_, theirs = in_turn(ours, hand, 1 if small else min(samples, 5))
    made = [
        Row(
            "5 a new expression / a new @njit(parallel=True)",
            least(ours_, theirs),
            "x",
            "<=",
            0.6,
            ours_,
            theirs,
        )
    ]
    counts = []
    for shape, tile, factor in (((size,), 0, 3.0), ((7, 11), 2, -1.0), ((64,), 1, 0.5)):
        graph, program = pl.Graph(target(True)), pl.Sequence()
        x, y = (graph.add_variable(pl.FLOAT, shape, n, mapping=tile, initial_value=1) for n in "xy")
        ops.map((x - y) * factor + 7 * factor, program=program, mapping=tile)
        pl.Engine(graph, program).run()
        counts.append(compiled())
    name = "6 another number, shape and mapping: classes compiled"
    made.append(Row(name, counts[-1] - counts[0], "", "<=", 0, [0.0], [0.0]))
    return made


def compiled() -> int:
    """Return how many pieces of code the cache holds."""
    return sum(len(files) for _, _, files in os.walk(os.environ["POPLITE_CACHE_DIR"]))


def graphs(small: bool, samples: int) -> list[Row]:
    """Rows 16 and 17: the graph of a map; and a thousand small operations."""
    size = 16_000 if small else 10_000_000
    tiles = target(small).tiles
    keys = np.random.default_rng(1).integers(0, 2**63, size // 10, np.uint64)
    made = []
    for name, limit, is_cyclic in (
        ("16 graph of a map / np.argsort of 10^6", 2, False),
        ("17 graph of a map, operand in blocks of 64 / the same", 5, True),
    ):
        graph = pl.Graph(target(small))
        x, y = (graph.add_variable(pl.FLOAT, (size,), n, mapping="linear") for n in "xy")
        if is_cyclic:
            blocks = np.arange(size // 64) % tiles
            graph.set_tile_mapping(
                y[: len(blocks) * 64], TileMapping(tiles, blocks, np.full(len(blocks), 64))
            )

        def build(graph: pl.Graph = graph, x: pl.Tensor = x, y: pl.Tensor = y) -> None:
            ops.map(x + y, mapping="linear", program=pl.Sequence())

        ours, theirs = in_turn(build, lambda: keys.argsort(), samples)
        made.append(Row(name, least(ours, theirs), "x", "<=", limit, ours, theirs))
    count = 10 if small else 1000

    def thousand() -> None:
        graph, program = pl.Graph(pl.Target(tiles=64)), pl.Sequence()
        tensors = [
            graph.add_variable(pl.FLOAT, (64,), f"t{k}", mapping="linear", initial_value=1)
            for k in range(count)
        ]
        for k, tensor in enumerate(tensors):
            ops.assign(tensor, tensor * 0.5 + tensors[k - 1], program=program)
        pl.Engine(graph, program)

    ours, theirs = in_turn(thousand, lambda: keys.argsort(), min(samples, 3))
    made.append(
        Row(
            f"{count:,} small operations, built and compiled",
            min(ours),
            "s",
            "<=",
            2.0,
            ours,
            theirs,
        )
    )
    return made


def bytes_of(graph: pl.Graph) -> int:
    """Return the bytes of all variables."""
    return sum(v.num_elements * v.element_type.size_bytes for v in graph.space.variables)


def least(ours: list[float], theirs: list[float]) -> float:
    """Return the ratio of the best times."""
    return min(ours) / min(theirs)


def same(what: str, found: Floats, expected: Floats) -> None:
    """Stop where results differ in a bit."""
    if found.tobytes() != expected.tobytes():
        sys.exit(f"{what}: the results differ")


def rows_of_maps(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    warm_up = 0.0 if small else SETTLING
    with tempfile.TemporaryDirectory() as cache:
        os.environ["POPLITE_CACHE_DIR"] = cache
        return [
            *maps(small, samples, warm_up),
            *new_expressions(small, samples),
            *sums(small, samples, warm_up),
            *derivative(small, samples, warm_up),
            *graphs(small, samples),
        ]


# -- functions of mathematics ----------------------------------------------------------------------
# Ten million FLOAT elements on 1,472 tiles; the C library is called in a loop over cores by
# Numba. `python -m poplite.testing.mathematics` prints errors.


@numba.njit(parallel=True)  # type: ignore[untyped-decorator]
def exp_by_library(x: Any, out: Any) -> None:
    """e^x of each element."""
    for i in numba.prange(len(x)):
        out[i] = math.exp(x[i])


@numba.njit(parallel=True)  # type: ignore[untyped-decorator]
def sin_by_library(x: Any, out: Any) -> None:
    """The sine of each element."""
    for i in numba.prange(len(x)):
        out[i] = math.sin(x[i])


def softmax(x: Floats) -> Floats:
    """Softmax of rows, as NumPy users write it."""
    powers = np.exp(x - x.max(1, keepdims=True))
    result: Floats = powers / powers.sum(1, keepdims=True)
    return result


@numba.njit(parallel=True)  # type: ignore[untyped-decorator]
def softmax_by_library(x: Any, out: Any) -> None:
    """Softmax of rows, each in three loops."""
    for row in numba.prange(len(x)):
        greatest = x[row, 0]
        for i in range(1, x.shape[1]):
            greatest = max(greatest, x[row, i])
        total = np.float32(0)
        for i in range(x.shape[1]):
            out[row, i] = math.exp(x[row, i] - greatest)
            total += out[row, i]
        for i in range(x.shape[1]):
            out[row, i] /= total


def rows_of_mathematics(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    warm_up = 0.0 if small else SETTLING
    x, _ = operands(small)
    x = 5 * x
    made = []
    for name, function, by_library, limit in (
        ("exp", ops.exp, exp_by_library, 0.35),
        ("sin", ops.sin, sin_by_library, 0.4),
    ):
        engine, result = engine_of(small, {"x": x}, function)
        out = np.empty_like(x)
        engine.run()
        by_library(x, out)
        close(name, engine.read(result), out)
        ours, theirs = in_turn(engine.run, partial(by_library, x, out), samples, warm_up=warm_up)
        what = f"{name} of 10^7: poplite / prange over the C library"
        made.append(Row(what, least(ours, theirs), "x", "<=", limit, ours, theirs))
    matrix = x.reshape(-1, 100 if small else 1000)

    engine, result = engine_of(small, {"x": matrix}, ops.nn.softmax)
    engine.run()
    close("softmax", engine.read(result), softmax(matrix))
    ours, theirs = in_turn(engine.run, lambda: softmax(matrix), samples, warm_up=warm_up)
    what = "softmax of rows, 10^4 x 10^3: poplite / NumPy"
    made.append(Row(what, least(ours, theirs), "x", "<=", 0.5, ours, theirs))
    out = np.empty_like(matrix)
    by_hand = partial(softmax_by_library, matrix, out)
    by_hand()
    close("softmax by hand", engine.read(result), out)
    ours, theirs = in_turn(engine.run, by_hand, samples, warm_up=warm_up)
    what = "12 softmax of rows / prange over the C library"
    made.append(Row(what, least(ours, theirs), "x", "<=", 1.3, ours, theirs))
    return made


def close(what: str, found: Any, expected: Floats) -> None:
    """End the program when results differ by more than float32 does."""
    if not np.allclose(found, expected, rtol=1e-5, atol=1e-30):
        sys.exit(f"{what} differs")


def rows(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    parts = (rows_of_maps, rows_of_mathematics)
    return [row for part in parts for row in part(small, samples)]


if __name__ == "__main__":
    sys.exit(run(__doc__.splitlines()[0], rows))
