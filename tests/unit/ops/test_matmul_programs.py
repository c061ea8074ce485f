"""Products of matrices within larger expressions and programs, against NumPy, in all forms."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import poplite as pl
from helpers.depth import deep, interpreted, thinned
from helpers.running import words_of
from poplite import ops

Array = npt.NDArray[Any]
Made = dict[str, tuple[pl.Tensor, Callable[[dict[str, Array]], Any]]]
"""Tensors by name, each with what it holds afterwards, of what the variables held before."""

CUT = {"pk": 2}


class Bench:
    """A graph, and the values of its variables, which are small whole numbers."""

    def __init__(self) -> None:
        self.graph = pl.Graph(pl.Target(tiles=12))
        self.values: dict[str, Array] = {}
        self._rng = np.random.default_rng(0)

    def variable(self, name: str, *shape: int) -> pl.Tensor:
        self.values[name] = self._rng.integers(-3, 4, shape).astype(np.float32)
        return self.graph.add_variable(
            pl.FLOAT, shape, name, mapping="linear", initial_value=self.values[name]
        )


def passes(bench: Bench) -> Made:
    a, b, c = (bench.variable(name, 64, 64) for name in "abc")
    product = ops.matmul(a, b, memory=0.02, constraints={"split_m": 2, "pk": 2})
    return {"sum": (ops.map(product + c), lambda v: v["a"] @ v["b"] + v["c"])}


def two_products(bench: Bench) -> Made:
    a, b = bench.variable("a", 20, 40), bench.variable("b", 40, 16)
    c, d = bench.variable("c", 20, 30), bench.variable("d", 30, 16)
    return {
        "sum": (
            ops.map(ops.relu(a @ b + c @ d)),
            lambda v: np.maximum(v["a"] @ v["b"] + v["c"] @ v["d"], 0),
        )
    }


def one_product_twice(bench: Bench) -> Made:
    a, b = bench.variable("a", 20, 40), bench.variable("b", 40, 16)
    made = ops.map((a @ b) * (a @ b) + a @ b)
    assert len([each for each in bench.graph.compute_sets if "products" in each.name]) == 1
    return {"made": (made, lambda v: (v["a"] @ v["b"]) ** 2 + v["a"] @ v["b"])}


def at_once(bench: Bench) -> Made:
    a, b, c = bench.variable("a", 20, 40), bench.variable("b", 40, 16), bench.variable("c", 16)
    with ops.together():
        one = ops.map(ops.matmul(a, b, constraints=CUT) + c)
        other = ops.map(ops.relu(b.T @ a.T))
        total = ops.map(ops.sum(a, 0))
    return {
        "one": (one, lambda v: v["a"] @ v["b"] + v["c"]),
        "other": (other, lambda v: np.maximum(v["a"] @ v["b"], 0).T),
        "total": (total, lambda v: v["a"].sum(0)),
    }


def reduced(bench: Bench) -> Made:
    a, b = bench.variable("a", 20, 40), bench.variable("b", 40, 16)
    return {
        "squares": (ops.map(ops.sum((a @ b) ** 2)), lambda v: ((v["a"] @ v["b"]) ** 2).sum()),
        "largest": (ops.map(ops.argmax(a @ b, 1)), lambda v: (v["a"] @ v["b"]).argmax(1)),
        "means": (ops.map(ops.mean(a @ b + 1, 0)), lambda v: (v["a"] @ v["b"] + 1).mean(0)),
    }


def of_a_larger_shape(bench: Bench) -> Made:
    a, b = bench.variable("a", 5, 16), bench.variable("b", 16, 4)
    out, row = bench.variable("out", 3, 5, 4), bench.variable("row", 16)
    ops.assign(out, ops.matmul(a, b, constraints=CUT) + 1)
    return {
        "out": (out, lambda v: np.broadcast_to(v["a"] @ v["b"] + 1, (3, 5, 4))),
        "wide": (ops.map(a @ b[:, :1] + row), lambda v: v["a"] @ v["b"][:, :1] + v["row"]),
    }


def of_nothing(bench: Bench) -> Made:
    a, b = bench.variable("a", 5, 0), bench.variable("b", 0, 4)
    c, d = bench.variable("c", 0, 3), bench.variable("d", 3, 4)
    return {
        "ones": (ops.map(a @ b + 1), lambda _: np.ones((5, 4))),
        "none": (ops.map(c @ d + 1), lambda _: np.ones((0, 4))),
    }


def on_some_tiles(bench: Bench) -> Made:
    some = bench.graph.create_virtual_graph([1, 4, 5, 7])
    a, b, c = bench.variable("a", 20, 40), bench.variable("b", 40, 16), bench.variable("c", 16)
    plan = ops.plan_matmul(some, m=20, k=40, n=16, constraints=CUT)
    made = ops.map(ops.matmul(a, b, plan) + c)
    assert set(bench.graph.tile_mapping(made).tiles.tolist()) <= {1, 4, 5, 7}
    return {"made": (made, lambda v: v["a"] @ v["b"] + v["c"])}


def in_functions(bench: Bench) -> Made:
    @pl.graph_function
    def layer(x: pl.Tensor, w: pl.Tensor, bias: pl.Tensor) -> pl.Tensor:
        return ops.map(ops.relu(x @ w + bias))

    x, w, bias = (bench.variable(name, 16, 16) for name in ("x", "w", "bias"))
    once = layer(x, w, bias)
    return {
        "once": (once, lambda v: np.maximum(v["x"] @ v["w"] + v["bias"], 0)),
        "twice": (
            layer(once, w, bias),
            lambda v: np.maximum(
                np.maximum(v["x"] @ v["w"] + v["bias"], 0) @ v["w"] + v["bias"], 0
            ),
        ),
    }


PROGRAMS = [
    *[passes, at_once, on_some_tiles, in_functions],
    *[two_products, one_product_twice, reduced, of_a_larger_shape, of_nothing],
]


@pytest.mark.parametrize("make", thinned(PROGRAMS, keep=[passes, two_products, of_nothing]))
def test_programs(make: Callable[[Bench], Made]) -> None:
    bench = Bench()
    with bench.graph.steps() as steps:
        made = make(bench)
    bits: list[dict[str, bytes]] = []
    forms: list[dict[str, Any]] = [
        {"checks": "fast"},
        {"checks": "fast", "faster": False},
        {"checks": "strict"},
        {"interpret": True},
    ]
    for options in forms:
        engine = pl.Engine(bench.graph, steps, **options)
        engine.run()
        bits.append({name: engine.read(tensor).tobytes() for name, (tensor, _) in made.items()})
        for name, (tensor, expected) in made.items():
            assert np.allclose(engine.read(tensor), expected(bench.values)), name
    assert all(each == bits[0] for each in bits)


def test_a_step_of_training() -> None:
    bench = Bench()
    x, w, t = (
        bench.variable(n, *s) for n, s in (("x", (32, 20)), ("w", (20, 10)), ("t", (32, 10)))
    )
    with bench.graph.steps() as steps:
        error = ops.map(x @ w - t, name="error")
        ops.assign(w, w - 0.125 * (x.T @ error))
    engine = pl.Engine(bench.graph, steps, **interpreted())
    engine.run()
    v = bench.values
    assert np.array_equal(engine.read(w), v["w"] - 0.125 * (v["x"].T @ (v["x"] @ v["w"] - v["t"])))


@deep
def test_bits_are_the_same_on_any_number_of_threads_and_without_vectors(tmp_path: Path) -> None:
    script = """
import numpy as np
import poplite as pl
from poplite import ops

graph = pl.Graph(pl.Target(tiles=64))
rng = np.random.default_rng(5)
a, b, c = (
    graph.add_variable(
        pl.FLOAT, s, n, mapping="linear", initial_value=rng.standard_normal(s).astype(np.float32)
    )
    for n, s in (("a", (200, 300)), ("b", (300, 150)), ("c", (150,)))
)
with graph.steps() as steps:
    made = [ops.map(a @ b), ops.map(ops.relu(ops.matmul(a, b, constraints={"pk": 4}) + c))]
    made += [ops.map(ops.sum(ops.exp(a) * a)), ops.map(ops.mean(b, 0)), ops.map(ops.sum(b, 1))]
for checks in ("fast", "strict"):
    engine = pl.Engine(graph, steps, checks=checks)
    engine.run()
    for tensor in made:
        print(hash(engine.read(tensor).tobytes()))
"""
    found = [
        words_of(tmp_path, script, PYTHONHASHSEED="0", **processor)
        for processor in (
            {"NUMBA_NUM_THREADS": "1"},
            {"NUMBA_NUM_THREADS": "3"},
            {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""},
        )
    ]
    assert found[0] == found[1] == found[2]
    assert found[0][:5] == found[0][5:]
