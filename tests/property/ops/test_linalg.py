"""Factorisations and solutions against NumPy in double, over drawn shapes, blocks and tiles."""

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

linalg = ops.linalg

Doubles = npt.NDArray[np.float64]

CASES: dict[str, Any] = {
    "n": st.integers(0, 7),
    "block": st.sampled_from([1, 2, 3, 32]),
    "dtype": st.sampled_from([np.float32, np.float32, np.float16]),
    "tiles": st.sampled_from([1, 5]),
    "interpret": st.sampled_from([*forms()[:1] * 2, *forms()]),
    "seed": st.integers(0, 2**32 - 1),
}


def variable(graph: pl.Graph, name: str, values: Doubles, dtype: Any) -> tuple[pl.Tensor, Doubles]:
    """Add a variable, and return it with the numbers that it holds."""
    made = graph.add_variable(dtype, values.shape, name, mapping="linear", initial_value=values)
    return made, values.astype(dtype).astype(float)


def ran(graph: pl.Graph, step: pl.Program, interpret: bool) -> pl.Engine:
    """Return an engine that ran a program."""
    options = values_only() if interpret else {}
    engine = pl.Engine(graph, step, interpret=interpret, options=options)
    engine.run()
    return engine


def near(got: npt.NDArray[Any], expected: npt.NDArray[Any]) -> bool:
    """Whether numbers are near by the precision of their type."""
    close = 5e-6 if got.dtype == np.float32 else 3e-3
    return got.shape == expected.shape and bool(
        (abs(got - expected) <= close * abs(expected).max(initial=1)).all()
    )


@examples(20, quick=3)
@given(**CASES, groups=st.sampled_from([(), (), (1,), (2, 2), (0,)]), lower=st.booleans())
def test_cholesky_is_numpys(
    n: int,
    block: int,
    dtype: Any,
    tiles: int,
    interpret: bool,
    seed: int,
    groups: tuple[int, ...],
    lower: bool,
) -> None:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((*groups, n, n))
    graph = pl.Graph(pl.Target(tiles=tiles))
    whole = x @ x.swapaxes(-1, -2) + n * np.eye(n)
    a, numbers = variable(graph, "a", whole, dtype)
    half = np.tril(numbers) if lower else np.triu(numbers)
    mirrored = half + half.swapaxes(-1, -2) * (1 - np.eye(n))
    # Only one triangle is looked at.
    wrong, _ = variable(graph, "wrong", half + np.where(half == 0, 99, 0), dtype)
    with graph.steps() as step:
        factor = linalg.cholesky(1 * wrong, lower=lower, block=block)
    engine = ran(graph, step, interpret)
    expected = np.linalg.cholesky(mirrored)
    assert near(engine.read(factor), expected if lower else expected.swapaxes(-1, -2))


@examples(30, quick=4)
@given(
    **CASES,
    groups=st.sampled_from([(), (), (3,), (0,)]),
    k=st.sampled_from([0, 1, 4, 20]),
    how=st.tuples(st.booleans(), st.booleans(), st.booleans()),
)
def test_triangular_solutions_are_numpys(
    n: int,
    block: int,
    dtype: Any,
    tiles: int,
    interpret: bool,
    seed: int,
    groups: tuple[int, ...],
    k: int,
    how: tuple[bool, bool, bool],
) -> None:
    left, lower, unit = how
    rng = np.random.default_rng(seed)
    graph = pl.Graph(pl.Target(tiles=tiles))
    # Small beside the diagonal, so that solutions keep their size.
    whole = rng.uniform(-0.2, 0.2, (*groups, n, n)) + (1 + rng.random(n)) * np.eye(n)
    a, numbers = variable(graph, "a", whole, dtype)
    shape = (*groups, n, k) if left else (*groups, k, n)
    b, right = variable(graph, "b", rng.standard_normal(shape), dtype)
    with graph.steps() as step:
        x = linalg.triangular_solve(a, b, left=left, lower=lower, unit_diagonal=unit, block=block)
        mask = ops.map(linalg.triangular_mask(a, lower=lower, unit_diagonal=unit))
    engine = ran(graph, step, interpret)
    kept = np.tril(numbers) if lower else np.triu(numbers)
    if unit:
        kept = kept * (1 - np.eye(n)) + np.eye(n)
    assert np.array_equal(engine.read(mask), kept.astype(dtype))
    if left:
        expected = np.linalg.solve(kept, right)
    else:
        expected = np.linalg.solve(kept.swapaxes(-1, -2), right.swapaxes(-1, -2))
        expected = expected.swapaxes(-1, -2)
    assert near(engine.read(x), expected)


@examples(20, quick=3)
@given(**CASES, more=st.integers(0, 4), complete=st.booleans())
def test_qr_is_numpys(
    n: int,
    block: int,
    dtype: Any,
    tiles: int,
    interpret: bool,
    seed: int,
    more: int,
    complete: bool,
) -> None:
    rng = np.random.default_rng(seed)
    graph = pl.Graph(pl.Target(tiles=tiles))
    a, numbers = variable(graph, "a", rng.standard_normal((n + more, n)), dtype)
    square, regular = variable(graph, "b", rng.random((n, n)) + 2 * np.eye(n), dtype)
    with graph.steps() as step:
        q, r = linalg.qr(a, complete=complete, block=block)
        inverse = linalg.inverse(square, block=block)
    engine = ran(graph, step, interpret)
    expected = np.linalg.qr(numbers, mode="complete" if complete else "reduced")
    got = engine.read(q), engine.read(r)
    assert near(got[1], expected.R)
    # Columns of Q behind those of a may have the other sign; near a multiple they may turn.
    assert near(got[0][:, :n], expected.Q[:, :n])
    whole = got[0].astype(float)
    assert near(whole.T @ whole + np.zeros(1, dtype), np.eye(whole.shape[1]))
    assert near(engine.read(inverse), np.linalg.inv(regular))


@examples(20, quick=3)
@given(**CASES, other=st.integers(0, 7))
def test_lu_makes_the_matrix_again(
    n: int, block: int, dtype: Any, tiles: int, interpret: bool, seed: int, other: int
) -> None:
    rng = np.random.default_rng(seed)
    graph = pl.Graph(pl.Target(tiles=tiles))
    a, numbers = variable(graph, "a", rng.random((n, other)) + 4 * np.eye(n, other), dtype)
    with graph.steps() as step:
        lower, upper = linalg.lu(a, block=block)
    engine = ran(graph, step, interpret)
    left, right = engine.read(lower), engine.read(upper)
    assert left.shape == (n, n)
    assert np.array_equal(left, np.tril(left, -1) + np.eye(n))
    assert np.array_equal(right, np.triu(right))
    assert near(left @ right, numbers)


def test_what_is_not_positive_definite_is_nan_from_there_on() -> None:
    graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    numbers = np.diag([4.0, 9.0, -1.0, 16.0])
    a = graph.add_constant(pl.FLOAT, (4, 4), numbers, "a", mapping=0)
    one, cut = (linalg.cholesky(a, block=n, program=program) for n in (32, 2))
    engine = ran(graph, program, interpret=True)
    for made in (engine.read(one), engine.read(cut)):
        assert made[:2].tolist() == [[2, 0, 0, 0], [0, 3, 0, 0]]
        assert np.isnan(made[2, 2])
        assert np.isnan(made[3, 2:]).all()


def test_zero_columns_and_a_zero_on_the_diagonal() -> None:
    graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    a = graph.add_constant(pl.FLOAT, (3, 2), [[0, 3], [0, 0], [0, 4]], "a", mapping=0)
    q, r = linalg.qr(a, program=program)
    singular = graph.add_constant(pl.FLOAT, (2, 2), [[1, 0], [1, 0]], "singular", mapping=0)
    ones = graph.add_constant(pl.FLOAT, (2, 1), 3, "ones", mapping=0)
    x = linalg.triangular_solve(singular, ones, program=program)
    engine = ran(graph, program, interpret=True)
    assert engine.read(r).tolist() == [[0, 3], [0, -4]]
    assert np.allclose(engine.read(q) @ engine.read(r), [[0, 3], [0, 0], [0, 4]])
    assert not np.isfinite(engine.read(x)[1]).all()


@pytest.mark.parametrize("scale", [1e-40, 1e-25, 1e-20, 1e20, 1e25])
def test_tiny_and_huge_numbers_are_factored_as_others(scale: float) -> None:
    # Squares of these vanish in FLOAT, or are infinite.
    graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    numbers = np.array([[3, 1, 2], [4, 1e-3, 5], [0, 2, 7.0]])
    a, given_ = variable(graph, "a", numbers * scale, np.float32)
    q, r = linalg.qr(a, block=2, program=program)
    made = [q, r, *([linalg.inverse(a, block=2, program=program)] if scale > 1e-38 else [])]
    engine = ran(graph, program, interpret=True)
    got = [engine.read(each).astype(float) for each in made]
    assert np.allclose(got[0].T @ got[0], np.eye(3), atol=1e-6)
    # The least FLOAT is 1e-45, so that 1e-40 has four digits.
    assert np.allclose(got[0] @ got[1], given_, rtol=0, atol=scale * (2e-6 if got[2:] else 1e-3))
    for inverse in got[2:]:
        assert np.allclose(inverse @ given_, np.eye(3), atol=1e-5)


def test_columns_of_very_different_sizes_are_orthogonal() -> None:
    graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    numbers = np.array([[1e-24, 1e-24], [2e-24, 1]])
    a, _ = variable(graph, "a", numbers, np.float32)
    made = linalg.qr(a, program=program)
    engine = ran(graph, program, interpret=True)
    expected = np.linalg.qr(numbers)
    for got, right in zip(map(engine.read, made), expected, strict=True):
        assert np.allclose(got, right, rtol=1e-6, atol=0)


def hidden(value: object) -> Any:
    """A value of a type that is refused."""
    return value


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda a, b: linalg.cholesky(b), pl.TensorCreationError, "square"),
        (lambda a, b: linalg.cholesky(ops.cast(a, pl.INT)), pl.ElementTypeError, "INT"),
        (lambda a, b: linalg.cholesky(a, block=0), pl.SizeOverflowError, "block is 0"),
        (lambda a, b: linalg.cholesky(a, block=True), pl.InvalidOption, "block is True"),
        (lambda a, b: linalg.cholesky(a, lower=hidden("upper")), pl.ElementTypeError, "'upper'"),
        (lambda a, b: linalg.qr(a, complete=hidden("r")), pl.ElementTypeError, "complete is 'r'"),
        (
            lambda a, b: linalg.triangular_solve(a, a, left=hidden(None)),
            pl.ElementTypeError,
            "left is None",
        ),
        (
            lambda a, b: linalg.triangular_mask(a, unit_diagonal=hidden(2)),
            pl.ElementTypeError,
            "unit_diagonal is 2",
        ),
        (lambda a, b: linalg.triangular_solve(a, b), pl.TensorCreationError, "3 rows, but b has 2"),
        (lambda a, b: linalg.triangular_solve(b, a), pl.TensorCreationError, "square"),
        (
            lambda a, b: linalg.triangular_solve(a, b[0]),
            pl.TensorCreationError,
            "expected matrices",
        ),
        (
            lambda a, b: linalg.triangular_solve(a, ops.cast(b, pl.HALF), left=False),
            pl.ElementTypeError,
            "differ in type",
        ),
        (lambda a, b: linalg.triangular_mask(b), pl.TensorCreationError, "square"),
        (lambda a, b: linalg.qr(b), pl.TensorCreationError, "as many rows as columns"),
        (lambda a, b: linalg.lu(a[0]), pl.TensorCreationError, "pass one matrix"),
        (lambda a, b: linalg.inverse(a.expand([0])), pl.TensorCreationError, "pass one matrix"),
        (lambda a, b: linalg.qr(b.broadcast(50_000, 0)), pl.GraphMemoryAllocationError, "too long"),
    ],
)
def test_what_is_refused(call: Any, error: type[Exception], text: str) -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    a = graph.add_variable(pl.FLOAT, (3, 3), "a", mapping=0)
    b = graph.add_variable(pl.FLOAT, (2, 3), "b", mapping=0)
    with pytest.raises(error, match=text), graph.steps():
        call(a, b)
    assert not graph._parts.compute_sets


@deep
def test_bits_do_not_depend_on_threads(tmp_path: Path) -> None:
    script = """
import numpy as np, zlib, poplite as pl
rng = np.random.default_rng(0)
x = rng.standard_normal((40, 40)).astype(np.float32)
graph, program = pl.Graph(pl.Target(tiles=64)), pl.Sequence()
a = graph.add_variable(pl.FLOAT, x.shape, "a", mapping="linear", initial_value=x)
b = graph.add_variable(pl.FLOAT, x.shape, "b", mapping="linear",
                       initial_value=x @ x.T + 40 * np.eye(40))
made = [*pl.ops.linalg.qr(a, program=program), pl.ops.linalg.cholesky(b, program=program)]
engine = pl.Engine(graph, program, checks="fast")
engine.run()
print(*(zlib.crc32(engine.read(each).tobytes()) for each in made))
"""
    found = [words_of(tmp_path, script, NUMBA_NUM_THREADS=threads) for threads in ("1", "3")]
    assert found[0] == found[1]
