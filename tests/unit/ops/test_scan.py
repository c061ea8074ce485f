"""Scans: values against NumPy, their steps and what is refused."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from poplite import ops

TILES = 4


@pytest.fixture
def graph() -> pl.Graph:
    return pl.Graph(pl.Target(tiles=TILES))


def variable(graph: pl.Graph, values: Any, name: str = "x") -> pl.Tensor:
    array = np.asarray(values)
    kind = {"f": "float32", "i": "int32", "u": "uint32", "e": "float16"}[
        array.dtype.char if array.dtype == np.float16 else array.dtype.kind
    ]
    return graph.add_variable(kind, array.shape, name, mapping="linear", initial_value=array)


def read(graph: pl.Graph, program: pl.Program, *tensors: pl.Tensor, **options: Any) -> list[Any]:
    engine = pl.Engine(graph, program, **options)
    engine.run()
    return [engine.read(each) for each in tensors]


class Cell(NamedTuple):
    """A carry with names."""

    h: Any
    c: Any


# -- values ----------------------------------------------------------------------------------------


@given(st.integers(0, 6), st.integers(1, 5), st.booleans(), st.sampled_from(["strict", "fast"]))
def test_a_recurrence_equals_that_of_numpy(n: int, width: int, back: bool, checks: str) -> None:
    random = np.random.default_rng(n + 10 * width)
    xs = random.integers(-4, 5, (n, width)).astype(np.float32)
    begin = random.integers(-4, 5, width).astype(np.float32)
    graph = pl.Graph(pl.Target(tiles=TILES))
    x, h = variable(graph, xs), variable(graph, begin, "h")
    with graph.steps() as program:
        last, ys = ops.scan(lambda h, x: (h * 0.5 + x, h - x), h, x, reverse=back)
    found = read(graph, program, last, ys, h, checks=checks)
    expected, rows = begin, np.zeros_like(xs)
    for i in range(n)[:: -1 if back else 1]:
        rows[i] = expected - xs[i]
        expected = expected * np.float32(0.5) + xs[i]
    np.testing.assert_array_equal(found[0], expected)
    np.testing.assert_array_equal(found[1], rows)
    np.testing.assert_array_equal(found[2], begin)


def test_all_parts_of_a_carry_change_at_once(graph: pl.Graph) -> None:
    a, b = (
        variable(graph, np.array([0], np.int32), "a"),
        variable(graph, np.array([1], np.int32), "b"),
    )
    with graph.steps() as program:
        (a2, b2), fibonacci = ops.scan(lambda c, _: ((c[1], c[0] + c[1]), c[0]), (a, b), length=9)
    last, after, found = read(graph, program, a2, b2, fibonacci)
    assert found.ravel().tolist() == [0, 1, 1, 2, 3, 5, 8, 13, 21]
    assert (last.tolist(), after.tolist()) == ([34], [55])


def test_parts_of_a_carry_are_exchanged(graph: pl.Graph) -> None:
    a, b = variable(graph, np.arange(3.0, dtype="f"), "a"), variable(graph, np.ones(3, "f"), "b")
    with graph.steps() as program:
        made, _ = ops.scan(
            lambda c, _: ({"a": c["b"], "b": c["a"]}, None), {"a": a, "b": b}, length=3
        )
    found = read(graph, program, made["a"], made["b"])
    assert [each.tolist() for each in found] == [[1, 1, 1], [0, 1, 2]]


def test_a_carry_that_stays_is_not_copied(graph: pl.Graph) -> None:
    w, x = variable(graph, np.array([2, 3], np.float32), "w"), variable(graph, np.ones((3, 2), "f"))
    with graph.steps() as program:
        last, ys = ops.scan(lambda w, x: (w, w * x), w, x)
    found = read(graph, program, last, ys)
    assert found[0].tolist() == [2, 3]
    assert found[1].tolist() == [[2, 3]] * 3


def test_without_a_carry_the_rows_are_mapped(graph: pl.Graph) -> None:
    m = np.random.default_rng(0).integers(-4, 5, (5, 3, 3)).astype(np.float32)
    v = np.random.default_rng(1).integers(-4, 5, (5, 3)).astype(np.float32)
    with graph.steps() as program:
        none, ys = ops.scan(
            lambda _, rows: (None, rows[0] @ rows[1].reshape(3, 1)),
            None,
            [variable(graph, m, "m"), variable(graph, v, "v")],
        )
    assert none is None
    (found,) = read(graph, program, ys)
    np.testing.assert_array_equal(found[..., 0], np.einsum("nij,nj->ni", m, v))


def test_a_named_tuple_keeps_its_class(graph: pl.Graph) -> None:
    h, c = (
        variable(graph, np.array([1], np.float32), "h"),
        variable(graph, np.array([2], np.float32), "c"),
    )
    x = variable(graph, np.array([[1], [2]], np.float32))

    def body(cell: Cell, x: Any) -> tuple[Cell, Any]:
        return Cell(cell.c + x, cell.h), {"sum": cell.h + cell.c, "none": None}

    with graph.steps() as program:
        last, ys = ops.scan(body, Cell(h, c), x)
    assert type(last) is Cell
    assert ys["none"] is None
    found = read(graph, program, last.h, last.c, ys["sum"])
    assert [each.ravel().tolist() for each in found] == [[3], [3], [3, 4]]


def test_half_rounds_in_each_turn(graph: pl.Graph) -> None:
    x = np.random.default_rng(3).random((7, 5)).astype(np.float16)
    h = variable(graph, np.zeros(5, np.float16), "h")
    with graph.steps() as program:
        last, _ = ops.scan(lambda h, x: (h + x, None), h, variable(graph, x))
    expected = np.zeros(5, np.float16)
    for row in x:
        expected = expected + row
    np.testing.assert_array_equal(read(graph, program, last)[0], expected)


def test_a_body_may_record_steps_and_loops(graph: pl.Graph) -> None:
    x = variable(graph, np.arange(6, dtype=np.int32).reshape(3, 2))
    zero = variable(graph, np.array([0, 0], np.int32), "zero")

    def body(total: Any, row: Any) -> tuple[Any, Any]:
        doubled = ops.map(row * 2)
        with ops.repeat(2):
            ops.assign(doubled, doubled + 1)
        return total + doubled, doubled

    with graph.steps() as program:
        last, ys = ops.scan(body, zero, x)
    found = read(graph, program, last, ys)
    assert found[0].tolist() == [18, 24]
    assert found[1].tolist() == [[2, 4], [6, 8], [10, 12]]


def test_scans_of_scans(graph: pl.Graph) -> None:
    values = np.arange(12, dtype=np.int32).reshape(3, 4)
    x, zero = variable(graph, values), variable(graph, np.int32(0), "zero")

    def outer(total: Any, row: Any) -> tuple[Any, Any]:
        last, _ = ops.scan(lambda t, x: (t + x, None), total, row, name="inner")
        return last, last

    with graph.steps() as program:
        _, ys = ops.scan(outer, zero, x)
    assert read(graph, program, ys)[0].tolist() == np.cumsum(values.sum(1)).tolist()


def test_the_program_does_not_grow_with_the_rows() -> None:
    sizes = []
    for n in (10, 1000):
        graph = pl.Graph(pl.Target(tiles=TILES))
        x, h = variable(graph, np.ones((n, 4), "f")), variable(graph, np.zeros(4, "f"), "h")
        with graph.steps():
            ops.scan(lambda h, x: (h + x, h), h, x)
        sizes.append(len(graph.compute_sets))
    assert max(sizes) < 10


# -- what is refused -------------------------------------------------------------------------------


def test_what_is_refused(graph: pl.Graph) -> None:
    x, h = variable(graph, np.ones((3, 2), "f")), variable(graph, np.zeros(2, "f"), "h")
    whole = variable(graph, np.array([1, 2], np.int32), "whole")

    def turn(h: Any, x: Any) -> tuple[Any, Any]:
        return h + x, None

    of_carry: Any = lambda h: h  # noqa: E731
    alone: Any = lambda h, _: h  # noqa: E731
    cases: list[tuple[type[Exception], str, Any]] = [
        (pl.ElementTypeError, "ops.scan: body is 3", lambda: ops.scan(3, h, x)),  # type: ignore[arg-type]
        (pl.ElementTypeError, "a carry and a row", lambda: ops.scan(of_carry, h, x)),
        (pl.ElementTypeError, r"carry\[1\] is 0.5, not", lambda: ops.scan(turn, (h, 0.5), x)),
        (pl.TensorCreationError, "pass length=10", lambda: ops.scan(turn, h)),
        (
            pl.TensorCreationError,
            "xs has 3 rows, but length is 4",
            lambda: ops.scan(turn, h, x, length=4),
        ),
        (pl.TensorCreationError, "length is -1", lambda: ops.scan(turn, h, x, length=-1)),
        (
            pl.TensorCreationError,
            r"xs\['y'\] has 2 rows, but xs\['x'\] has 3",
            lambda: ops.scan(turn, h, {"x": x, "y": h}),
        ),
        (pl.TensorCreationError, "xs has no dimension", lambda: ops.scan(turn, h, h[0])),
        (pl.ControlProgramError, "not a carry and outputs", lambda: ops.scan(alone, h, x)),
        (
            pl.ControlProgramError,
            "another structure",
            lambda: ops.scan(lambda h, x: ((h, x), None), h, x),
        ),
        (
            pl.TensorCreationError,
            r"carry has shape \(2,\), but the body returned \(2, 2\)",
            lambda: ops.scan(lambda h, x: (h + x.reshape(2, 1), None), h, x),
        ),
        (
            pl.ElementTypeError,
            "carry is INT, but the body returned FLOAT",
            lambda: ops.scan(lambda h, x: (x, None), whole, x),
        ),
        (pl.ElementTypeError, "reverse", lambda: ops.scan(turn, h, x, reverse="yes")),  # type: ignore[arg-type]
    ]
    for kind, text, call in cases:
        with pytest.raises(kind, match=text), graph.steps():
            call()
    with pytest.raises(pl.ControlProgramError, match="graph.steps"):
        ops.scan(turn, h, x)
