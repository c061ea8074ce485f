"""Named axes: building, lowering and running them, against `poplite.ops` written by hand: ratios.

    python benchmarks/named.py [--samples 9] [--json FILE] [--small]

Tensors of 10^7 FLOAT elements are mapped linearly to 1,472 tiles. A node is timed against
`Tensor.dim_shuffle` of rank 4, which takes about 2 us.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numba
import numpy as np
import numpy.typing as npt

import poplite as pl
import poplite.named as ng
from ops_maps import least
from poplite import ops
from poplite.named.axes import joint_order
from rows import SETTLING, Row, in_turn, run

Array = npt.NDArray[Any]


def looped(work: Callable[[], object], times: int) -> Callable[[], None]:
    """Return what does something many times."""

    def many() -> None:
        for _ in range(times):
            work()

    return many


def engine_of(tensors: dict[str, Array], tiles: int, make: Callable[..., pl.Expr]) -> pl.Engine:
    """Return the engine of an expression of `ops` over tensors."""
    graph, program = pl.Graph(pl.Target(tiles=tiles)), pl.Sequence()
    operands = [
        graph.add_variable(pl.FLOAT, x.shape, name, mapping="linear", initial_value=x)
        for name, x in tensors.items()
    ]
    ops.map(make(*operands), program=program)
    return pl.Engine(graph, program, checks="fast")


def named_engine(result: Any, tensors: dict[Any, Any], tiles: int, name: str = "row") -> Any:
    """Return the engine of named results, and what runs them."""
    device = ng.make_transformer(tiles=tiles)
    work = device.computation(result, *tensors, name=name)
    work(*tensors.values())
    return device, work, partial(work.engine.run, name)


def fused(small: bool, samples: int) -> list[Row]:
    """Rows of expressions, against the same by hand."""
    size, tiles = (2_000, 20) if small else (10_000_000, 1472)
    height, width = (40, 50) if small else (10_000, 1_000)
    warm_up = 0.0 if small else SETTLING
    random = np.random.default_rng(0)
    x, y = random.integers(-3, 4, (2, size)).astype(np.float32)
    m, t = x.reshape(height, width), y.reshape(width, height)
    H, W, K = ng.make_axes({"H": height, "W": width, "K": size})
    a, b = ng.placeholder([K], name="a"), ng.placeholder([K], name="b")
    p, q = ng.placeholder([H, W], name="p"), ng.placeholder([W, H], name="q")
    bias, gain = ng.placeholder([W], name="bias"), ng.placeholder([H], name="gain")
    d = a - b
    row, column = m[0].copy(), m[:, 0].copy()
    cases: list[tuple[str, Any, dict[Any, Array], Callable[..., pl.Expr], dict[str, Array]]] = [
        (
            "sum((x - y) ** 2)",
            ng.sum((a - b) ** 2, [K]),
            {a: x, b: y},
            lambda x, y: ops.sum((x - y) ** 2),
            {"x": x, "y": y},
        ),
        (
            "dot(x - y, x - y)",
            ng.dot(d, d),
            {a: x, b: y},
            lambda x, y: ops.sum((x - y) ** 2),
            {"x": x, "y": y},
        ),
        (
            "(H, W) + (W, H)",
            p + q,
            {p: m, q: t},
            lambda p, q: p + q.T,
            {"p": m, "q": t},
        ),
        (
            "(x - b) * c",
            (p - bias) * gain,
            {p: m, bias: row, gain: column},
            lambda p, b, c: (p - b) * c.reshape((height, 1)),
            {"p": m, "b": row, "c": column},
        ),
    ]
    made = []
    for name, result, tensors, by_hand, arrays in cases:
        _, _, ours_run = named_engine(result, tensors, tiles)
        engine = engine_of(arrays, tiles, by_hand)
        ours, theirs = in_turn(ours_run, engine.run, samples, warm_up=warm_up)
        title = f"{name}: named / by hand"
        made.append(Row(title, least(ours, theirs), "x", "<=", 1.15, ours, theirs))
    made += beside(small, tiles)
    made += beside_xarray(
        [("(W, H)", p, q, m, t), ("(W,)", p, bias, m, row)], tiles, samples, warm_up
    )
    return [*made, *gradients(a, b, x, y, tiles, samples, warm_up)]


def beside(small: bool, tiles: int) -> list[Row]:
    """Rows of the memory of fused sums besides their operands, for two lengths on all tiles."""
    made = []
    sums: list[tuple[str, Callable[[Any], Any]]] = [
        ("sum((x - y) ** 2)", lambda d: ng.sum(d**2, ...)),
        ("dot(x - y, x - y)", lambda d: ng.dot(d, d)),
    ]
    for name, function in sums:
        own, moved, took = [], 0, []
        for length in (640, 2_000) if small else (1_030_400, 10_000_000):
            K = ng.make_axis(length, "K")
            a, b = ng.placeholder([K], name="a"), ng.placeholder([K], name="b")
            values: dict[Any, Any] = {a: 1.0, b: 0.0}
            device, work, again = named_engine(function(a - b), values, tiles)
            took.append(_timed(again))
            own.append(sum(each.num_elements * 4 for each in device.graph.variables) - 8 * length)
            report = work.report()
            moved += report.bytes_gathered + report.bytes_copied
        share = own[1] / (8 * length)
        limit = 1.0 if small else 0.002
        made += [
            Row(f"{name}: bytes beside / of x, y", share, "x", "<=", limit, took, took),
            Row(f"{name}: bytes beside, / a tenth", own[1] / own[0], "x", "<=", 1.0, took, took),
            Row(f"{name}: bytes gathered or copied", moved, "B", "<=", 0, took, took),
        ]
    return made


def beside_xarray(
    cases: list[tuple[str, ng.Op, ng.Op, Array, Array]], tiles: int, samples: int, warm_up: float
) -> list[Row]:
    """Rows of additions in xarray, if that is installed."""
    made = []
    for axes, p, q, m, t in cases:
        name = f"(H, W) + {axes}: xarray / named"
        if importlib.util.find_spec("xarray") is None:
            made.append(Row.skipped(name))
            continue
        xarray = importlib.import_module("xarray")
        one, other = (
            xarray.DataArray(values, dims=[axis.name for axis in op.axes])
            for op, values in ((p, m), (q, t))
        )
        _, _, ours_run = named_engine(p + q, {p: m, q: t}, tiles)
        theirs, ours = in_turn(partial(one.__add__, other), ours_run, samples, warm_up=warm_up)
        made.append(Row(name, 1 / least(ours, theirs), "x", ">=", 1.0, theirs, ours))
    return made


def gradients(
    a: ng.Op, b: ng.Op, x: Array, y: Array, tiles: int, samples: int, warm_up: float
) -> list[Row]:
    """Rows of a value with its gradient."""
    loss = ng.sum((a - b) ** 2, ...)
    _, _, ours_run = named_engine([loss, ng.deriv(loss, a)], {a: x, b: y}, tiles)
    kept = ng.keep(a - b)
    stored = ng.sum(kept**2, ...)
    _, _, theirs_run = named_engine([stored, ng.deriv(stored, a)], {a: x, b: y}, tiles)
    ours, theirs = in_turn(ours_run, theirs_run, samples, warm_up=warm_up)
    name = "value and gradient: as decided / difference stored"
    return [Row(name, least(ours, theirs), "x", "<=", 1.0, ours, theirs)]


def products(small: bool, samples: int) -> list[Row]:
    """The row of a product of matrices."""
    size, tiles = (32, 20) if small else (1024, 1472)
    random = np.random.default_rng(0)
    m, n = (random.standard_normal((size, size)).astype(np.float32) for _ in "mn")
    H, W, N = ng.make_axes({"H": size, "W": size, "N": size})
    p, q = ng.placeholder([H, W], name="p"), ng.placeholder([W, N], name="q")
    _, _, ours_run = named_engine(ng.dot(p, q), {p: m, q: n}, tiles)
    engine = engine_of({"p": m, "q": n}, tiles, ops.matmul)
    ours, theirs = in_turn(ours_run, engine.run, samples, warm_up=0.0 if small else SETTLING)
    return [Row("dot of matrices / ops.matmul", least(ours, theirs), "x", "<=", 1.1, ours, theirs)]


def nodes(small: bool, samples: int) -> list[Row]:
    """Rows of building axes and expressions."""
    # A long loop on a busy machine always loses its core for a while, a short one mostly not.
    times, samples = (20, samples) if small else (200, 10 * samples)
    tensor = pl.Graph().add_variable(pl.FLOAT, (2, 3, 4, 5), "t")
    A, B, C, D = ng.make_axes({"A": 2, "B": 3, "C": 4, "D": 5})
    one, other = ng.make_axes([A, B, C, D]), ng.make_axes([D, C, B, A])
    more = ng.make_axes({"E": 2, "F": 3, "G": 4, "H": 5})
    x, y = ng.placeholder(one), ng.placeholder(other)
    described = ng.TensorDescription(one, layout=ng.row_major(one), name="x")
    part, last = {B: slice(1, None)}, ng.make_axes([C, D])
    shuffle = looped(partial(tensor.dim_shuffle, [3, 2, 1, 0]), times)
    made = []
    for name, work, limit in (
        ("order of operands", partial(joint_order, one, other), 0.3),
        ("== of axes", lambda: one == other, 0.3),
        ("is_sub_set", partial(one.is_sub_set, other), 0.3),
        ("Axes of 4", partial(ng.Axes, [A, B, C, D]), 1.5),
        ("a + b of 4 axes", lambda: one + more, 1.5),
        ("a - b of 4 axes", lambda: one - other, 1.5),
        ("a | b of 4 axes", lambda: one | other, 1.5),
        ("a & b of 4 axes", lambda: one & other, 1.5),
        ("an elementwise node", lambda: x + y, 1.2),
        ("a node of dot", partial(ng.dot, x, y), 5.0),
        ("a node of sum", partial(ng.sum, x, [A, B]), 5.0),
        ("reorder of a description", partial(described.reorder, other), 2.0),
        ("slice of a description", partial(described.slice, part), 2.0),
        ("flatten of a description", partial(described.flatten, last), 4.0),
    ):
        ours, theirs = in_turn(looped(work, times), shuffle, samples)
        title = f"{name} / dim_shuffle"
        made.append(Row(title, min(ours) / min(theirs), "x", "<=", limit, ours, theirs))
    return made


def layers(small: bool, samples: int) -> list[Row]:
    """Rows of a network of 300 operations in 33 equal layers."""
    count, width, batch = (3, 8, 4) if small else (33, 64, 64)
    N, F = ng.make_axis(batch, "N"), ng.make_axis(width, "F")

    def build(count: int = count) -> tuple[ng.Op, list[Any], ng.Op]:
        x = ng.placeholder([N, F], name="x")
        h: ng.Op = x
        weights: list[Any] = []
        for _ in range(count):
            w, b = ng.variable([F.fresh("G"), F], 0.01), ng.variable([F], 0.0)
            weights += [w, b]
            back = [N, *w.axes[:1]]
            h = ng.tanh(ng.dot(ng.cast_axes(h, back), w) + b) * 0.5 + ng.square(h) * 0.25 - h / 8
        return ng.sum(h, ...), weights, x

    built = [_timed(build) for _ in range(samples)]
    loss, weights, x = build()
    derived = []
    for _ in range(samples):
        again, others, _ = build()
        derived.append(_timed(partial(ng.deriv, again, others)))
    device = ng.make_transformer(tiles=4 if small else 64)
    work = device.computation([loss, *ng.deriv(loss, weights)], x)
    values = np.ones((batch, width), np.float32)
    work(values)  # its classes are known then
    lowered = []
    for _ in range(1 if small else 3):
        again, others, y = build()
        device = ng.make_transformer(tiles=4 if small else 64)
        work = device.computation([again, *ng.deriv(again, others)], y)
        begin = time.process_time()  # its processor's time: the clock's is as busy as the machine
        _ = work.engine
        lowered.append(time.process_time() - begin)

    def fused() -> object:
        loss, _, x = build(2 if small else 22)
        return ng.make_transformer(tiles=4 if small else 64).computation(loss, x).program

    ours, kernel = in_turn(fused, new_kernel, 1 if small else min(samples, 5))
    sets = device.graph.compute_sets
    used = {v.vertex_class for each in sets for v in each.vertices}
    made = [each for each in used if not each.__module__.startswith("poplite.vertices.")]
    return [
        Row("300 operations: built", 1e3 * min(built), "ms", "<=", 5.0, built, built),
        Row("300 operations: derived", 1e3 * min(derived), "ms", "<=", 30.0, derived, derived),
        Row("300 operations: lowered", min(lowered), "s", "<=", 1.0, lowered, lowered),
        Row("300 operations: classes made", len(made), "", "<=", 8, lowered, lowered),
        Row(
            "20 200 operations: built and fused / a new @njit(parallel=True)",
            least(ours, kernel),
            "x",
            "<=",
            1.0,
            ours,
            kernel,
        ),
    ]


def new_kernel() -> None:
    """Compile one kernel by hand."""

    def kernel(x: Any, y: Any, out: Any) -> None:
        for i in numba.prange(len(x)):
            d = x[i] - y[i]
            out[i] = np.sqrt(d * d + np.float32(0.25) * abs(y[i]))

    x = np.ones(10, np.float32)
    numba.njit(parallel=True)(kernel)(x, x, np.empty_like(x))


def _timed(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def regression(small: bool, samples: int) -> list[Row]:
    """Rows of a step of logistic regression, 569 x 30 on 64 tiles."""
    N, F = ng.make_axis(57 if small else 569, "N"), ng.make_axis(30, "F")
    x, y = ng.placeholder([N, F], name="x"), ng.placeholder([N], name="y")
    w, b = ng.variable([F], 0, name="w"), ng.variable([], 0, name="b")
    loss = ng.mean(ng.cross_entropy_binary(ng.sigmoid(ng.dot(x, w) + b), y), [N])
    pairs = zip([w, b], ng.deriv(loss, [w, b]), strict=True)
    update = ng.parallel([ng.assign(v, v - 0.5 * g) for v, g in pairs])
    device = ng.make_transformer(tiles=64, map={N: "tiles"})
    work = device.computation([loss, update], x, y, name="step")
    random = np.random.default_rng(0)
    values = random.standard_normal(x.shape).astype(np.float32), random.random(N.length) > 0.5
    numbers = values[0], values[1].astype(np.float32)
    work(*numbers)
    cycles = work.engine.report().cycles
    assert cycles is not None
    times = 2 if small else 50
    alone = looped(partial(work.engine.run, "step"), times)
    ours, theirs = in_turn(looped(partial(work, *numbers), times), alone, samples)
    sets = device.graph.compute_sets
    alone_in = sum(len(each.vertices) == 1 for each in sets)
    return [
        # What six compute sets took, with products of rows joined where they were computed.
        Row("logistic regression: cycles", cycles, "", "<=", 102_090, ours, theirs),
        Row("logistic regression: sets of one vertex", alone_in, "", "<=", 2, ours, theirs),
        Row(
            "logistic regression: call / run", min(ours) / min(theirs), "x", "<=", 1.5, ours, theirs
        ),
    ]


def compilations(small: bool, samples: int) -> list[Row]:
    """The row of what another rate, length and place compile, counted by files that are kept."""
    del samples

    def step(rate: float, length: int, place: int | None) -> None:
        w = ng.variable([ng.make_axis(length, "N")], 1, name="w", map=place)
        update = ng.assign(w, w - rate * ng.deriv(ng.sum(ng.exp(w) * w, ...), w))
        ng.make_transformer(tiles=2).computation([update, ng.sum(w, ...)])()

    with (
        tempfile.TemporaryDirectory() as folder,
        mock.patch.dict(os.environ, {"POPLITE_CACHE_DIR": folder}),
    ):
        first = _timed(partial(step, 0.5, 640, None))
        known = sum(each.is_file() for each in Path(folder).rglob("*"))
        other = _timed(partial(step, 0.25, 960, 1))
        new = sum(each.is_file() for each in Path(folder).rglob("*")) - known
    return [Row("another rate, length, place: compiled", new, "", "<=", 0, [other], [first])]


def rows(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    parts = nodes, layers, regression, compilations, fused, products
    return [row for part in parts for row in part(small, samples)]


if __name__ == "__main__":
    sys.exit(run(__doc__, rows))
