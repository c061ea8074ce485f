"""Sparse products and their gradients against NumPy, over drawn patterns, shapes and tiles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import deep, examples, forms, values_only
from helpers.running import words_of
from poplite import ops


def drawn_pattern(rng: np.random.Generator, m: int, k: int, density: float) -> Any:
    """Return a pattern, and its matrix of booleans; one row in some is full, others are empty."""
    is_there = rng.random((m, k)) < density
    if m and rng.random() < 0.3:
        is_there[rng.integers(0, m)] = True
    starts = np.r_[0, np.cumsum(is_there.sum(1))]
    return ops.SparsePattern((m, k), starts, np.nonzero(is_there)[1]), is_there


@examples(30, quick=6)
@given(
    sizes=st.tuples(*[st.integers(0, 12)] * 2, st.sampled_from([None, 0, 1, 3, 20, 70])),
    density=st.sampled_from([0.0, 0.1, 0.5, 1.0]),
    dtype=st.sampled_from([np.float32, np.float16]),
    tiles=st.sampled_from([1, 5, 40]),
    interpret=st.sampled_from([*forms()[:1] * 2, *forms()]),
    seed=st.integers(0, 2**32 - 1),
)
def test_products_and_gradients_are_numpys(
    sizes: tuple[int, int, int | None],
    density: float,
    dtype: type[np.floating[Any]],
    tiles: int,
    interpret: bool,
    seed: int,
) -> None:
    m, k, n = sizes
    rng = np.random.default_rng(seed)
    pattern, is_there = drawn_pattern(rng, m, k, density)
    graph, rest = pl.Graph(pl.Target(tiles=tiles)), () if n is None else (n,)
    mapping = rng.choice(["linear", "first"])

    def variable(name: str, *shape: int) -> tuple[pl.Tensor, npt.NDArray[np.float64]]:
        # Whole numbers, whose sums are exact in float32, and in HALF up to 2048.
        values = rng.integers(-4, 5, shape).astype(dtype)
        where: Any = "linear" if mapping == "linear" else tiles - 1
        made = graph.add_variable(dtype, shape, name, mapping=where, initial_value=values)
        return made, values.astype(float)

    a, numbers = variable("a", pattern.count)
    x, dense = variable("x", k, *rest)
    g, gradient = variable("g", m, *rest)
    with graph.steps() as step:
        y = ops.sparse_matmul(pattern, a, x)
        by_x = ops.sparse_matmul(pattern, 1 * a, g, transpose=True)
        by_values = ops.sparse_matmul_gradient(pattern, g, x)
    options = values_only() if interpret else {}
    engine = pl.Engine(graph, step, interpret=interpret, options=options)
    engine.run()
    matrix = np.zeros((m, k))
    matrix[is_there] = numbers
    columns = 1 if n is None else n
    slopes = gradient.reshape(m, columns) @ dense.reshape(k, columns).T
    for got, expected in (
        (y, matrix @ dense),
        (by_x, matrix.T @ gradient),
        (by_values, slopes[is_there]),
    ):
        assert np.array_equal(engine.read(got), expected.astype(dtype))


def test_a_plan_puts_values_where_they_are_used() -> None:
    rng = np.random.default_rng(2)
    is_there = rng.random((300, 200)) < 0.05
    starts = np.r_[0, np.cumsum(is_there.sum(1))]
    pattern = ops.SparsePattern((300, 200), starts, np.nonzero(is_there)[1])
    graph = pl.Graph(pl.Target(tiles=16))
    plan = ops.plan_sparse_matmul(graph, pattern, columns=16)
    numbers = rng.standard_normal(pattern.count).astype(np.float32)
    values = plan.create_values("values", initial_value=numbers)
    x = graph.add_variable(pl.FLOAT, (200, 16), "x", mapping="linear")
    with graph.steps() as step:
        y = ops.sparse_matmul(pattern, values, x)
    engine = pl.Engine(graph, step, interpret=True)
    dense = rng.standard_normal((200, 16)).astype(np.float32)
    engine.write(x, dense)
    engine.run()
    # In the order of the non-zeros, from 0 on: bits, not only values.
    expected = np.zeros((300, 16), np.float32)
    for row, column, value in zip(*np.nonzero(is_there), numbers, strict=True):
        expected[row] += value * dense[column]
    assert engine.read(y).tobytes() == expected.tobytes()
    assert plan.tiles == 16
    assert (graph.tile_mapping(values).elements_per_tile > 0).sum() * plan.layout.parts == 16
    # The formula of the plan is near what the model comes to.
    assert engine.report().cycles == pytest.approx(plan.cycles, rel=0.15)
    # Rows are shared by what they take: no worker has twice the mean.
    blocks = 16 // plan.layout.parts
    assert plan.layout.busiest.max() < 2 * pattern.count / (6 * blocks)


def test_equal_columns_of_a_row_are_added_and_any_order_is_kept() -> None:
    graph, program = pl.Graph(pl.Target(tiles=3)), pl.Sequence()
    pattern = ops.SparsePattern((2, 3), [0, 3, 4], [2, 0, 2, 1])
    a = graph.add_constant(pl.FLOAT, (4,), [1, 2, 3, 4], "a", mapping=0)
    x = graph.add_constant(pl.FLOAT, (3,), [10, 100, 1000], "x", mapping=1)
    y = ops.sparse_matmul(pattern, a, x, program=program)
    engine = pl.Engine(graph, program, interpret=True)
    engine.run()
    assert engine.read(y).tolist() == [4020, 400]


PATTERN = ops.SparsePattern((2, 3), [0, 1, 2], [0, 2])


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda a, x: ops.sparse_matmul(None, a, x), pl.ElementTypeError, "pattern"),  # type: ignore[arg-type]
        (lambda a, x: ops.sparse_matmul(PATTERN, a, a), pl.TensorCreationError, r"\(3,\)"),
        (lambda a, x: ops.sparse_matmul(PATTERN, x, x), pl.TensorCreationError, r"\(2,\)"),
        (
            lambda a, x: ops.sparse_matmul(PATTERN, a, x, transpose=True),
            pl.TensorCreationError,
            r"\(2,\)",
        ),
        (
            lambda a, x: ops.sparse_matmul(PATTERN, a, ops.cast(x, pl.INT)),
            pl.ElementTypeError,
            "INT",
        ),
        (
            lambda a, x: ops.sparse_matmul(PATTERN, a, ops.cast(x, pl.HALF)),
            pl.ElementTypeError,
            "HALF",
        ),
        (lambda a, x: ops.sparse_matmul_gradient(PATTERN, x, x), pl.TensorCreationError, r"\(2,\)"),
        (lambda a, x: ops.SparsePattern((2, 3), [0, 1], [0]), pl.TensorCreationError, "2 numbers"),
        (lambda a, x: ops.SparsePattern((1, 3), [0, 2], [0]), pl.TensorCreationError, "to 2, of 1"),
        (lambda a, x: ops.SparsePattern((2, 3), [0, 2, 1], [0]), pl.TensorCreationError, "row 1"),
        (lambda a, x: ops.SparsePattern((1, 3), [0, 1], [3]), pl.TensorCreationError, "column 3"),
        (lambda a, x: ops.SparsePattern((1, 3), [0, 1], [0.5]), pl.TensorCreationError, "whole"),
        (
            lambda a, x: ops.SparsePattern((1, 3), [0, 1], [[0], [1, 2]]),
            pl.TensorCreationError,
            "columns is not a list",
        ),
        (lambda a, x: ops.SparsePattern((True, 3), [0, 1], [0]), pl.InvalidOption, "rows is True"),
        (
            lambda a, x: ops.SparsePattern((1, 3), [0, 1], np.array([2**64 - 1], np.uint64)),
            pl.TensorCreationError,
            r"columns\[0\] is 18,446,744,073,709,551,615",
        ),
        (
            lambda a, x: ops.sparse_matmul(PATTERN, a, x, transpose="no"),  # type: ignore[arg-type]
            pl.ElementTypeError,
            "transpose is 'no'",
        ),
        (lambda a, x: ops.SparsePattern((3,), [0], []), pl.TensorCreationError, "matrix"),  # type: ignore[arg-type]
        (lambda a, x: ops.SparsePattern.of(np.eye(2)), pl.TensorCreationError, "tocsr"),
        (
            lambda a, x: ops.plan_sparse_matmul(a.graph, PATTERN, 1, pl.INT),
            pl.ElementTypeError,
            "FLOAT or HALF",
        ),
    ],
)
def test_what_is_refused(call: Any, error: type[Exception], text: str) -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    a = graph.add_variable(pl.FLOAT, (2,), "a", mapping=0)
    x = graph.add_variable(pl.FLOAT, (3,), "x", mapping=0)
    with pytest.raises(error, match=text), graph.steps() as step:
        call(a, x)
    assert step.num_steps == 0
    assert not graph._parts.compute_sets


@deep
def test_bits_do_not_depend_on_threads(tmp_path: Path) -> None:
    script = """
import numpy as np, zlib, poplite as pl
rng = np.random.default_rng(0)
there = rng.random((900, 800)) < 0.03
pattern = pl.ops.SparsePattern((900, 800), np.r_[0, np.cumsum(there.sum(1))], np.nonzero(there)[1])
graph, program = pl.Graph(pl.Target(tiles=64)), pl.Sequence()
a = graph.add_variable(pl.FLOAT, (pattern.count,), "a", mapping="linear")
x = graph.add_variable(pl.FLOAT, (800, 70), "x", mapping="linear")
y = pl.ops.sparse_matmul(pattern, a, x, program=program)
g = pl.ops.sparse_matmul_gradient(pattern, y, x, program=program)
engine = pl.Engine(graph, program, checks="fast")
engine.write(a, rng.standard_normal(a.shape, np.float32))
engine.write(x, rng.standard_normal(x.shape, np.float32))
engine.run()
print(zlib.crc32(engine.read(y).tobytes()), zlib.crc32(engine.read(g).tobytes()))
"""
    found = [words_of(tmp_path, script, NUMBA_NUM_THREADS=threads) for threads in ("1", "3")]
    assert found[0] == found[1]
