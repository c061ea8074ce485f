"""Drawn expressions: what `ops.map` stores is what NumPy computes, fused or one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import examples
from poplite import ops

Array = npt.NDArray[Any]


class Drawn(NamedTuple):
    """An expression, and its value in NumPy."""

    expr: Any
    value: Array


FLOATS, INTEGERS = (pl.FLOAT, pl.HALF), (pl.INT, pl.UNSIGNED_INT, pl.SHORT, pl.UNSIGNED_CHAR)

EXACT = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
}
OF_FLOATS: dict[str, Callable[..., Any]] = {
    **EXACT,
    "divide": np.divide,
    "floor_divide": lambda a, b: np.floor_divide(a, b),
}
OF_INTEGERS: dict[str, Callable[..., Any]] = {
    **EXACT,
    "floor_divide": np.floor_divide,
    "remainder": np.remainder,
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
}
UNARY_FLOATS: dict[str, Callable[..., Any]] = {
    "negative": np.negative,
    "absolute": np.absolute,
    "square": np.square,
    "sqrt": np.sqrt,
    "reciprocal": np.reciprocal,
    "sign": np.sign,
}
UNARY_INTEGERS: dict[str, Callable[..., Any]] = {
    "negative": np.negative,
    "absolute": np.absolute,
    "square": np.square,
    "bitwise_not": np.bitwise_not,
    "sign": np.sign,
}
COMPARISONS = {
    "less": np.less,
    "less_equal": np.less_equal,
    "greater": np.greater,
    "equal": np.equal,
    "not_equal": np.not_equal,
}


def rounded(function: Callable[..., Any], element: Any, *values: Array) -> Array:
    """Compute as a vertex does: HALF in float32, and rounded once."""
    with np.errstate(all="ignore"):
        if element is pl.HALF:
            wide = function(*(value.astype(np.float32) for value in values))
            result: Array = np.asarray(wide).astype(np.float16)
            return result
        found: Array = np.asarray(function(*values)).astype(element.dtype)
        return found


@st.composite
def shapes(draw: st.DrawFn, shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape that is broadcast to another."""
    kept = shape[draw(st.integers(0, len(shape))) :]
    return tuple(draw(st.sampled_from([size, size, size, 1])) for size in kept)


@st.composite
def programs(draw: st.DrawFn) -> tuple[pl.Graph, Drawn, list[Drawn]]:
    """A graph, an expression over its tensors, and all parts of the expression."""
    graph = pl.Graph(pl.Target(tiles=draw(st.sampled_from([1, 3]))))
    element: Any = draw(st.sampled_from([*FLOATS, *INTEGERS]))
    shape = tuple(draw(st.lists(st.integers(1, 5), min_size=0, max_size=4)))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    made: list[Drawn] = []
    for number in range(draw(st.integers(1, 3))):
        own = draw(shapes(shape)) if number else shape
        low = 0 if element.dtype.kind == "u" else -9
        values = rng.integers(low, 9, own).astype(element.dtype)
        if element in FLOATS:
            values = (values / 4).astype(element.dtype)
        if element in INTEGERS and draw(st.booleans()):
            values = rng.integers(0, 256, (*own, element.size_bytes), np.uint8)
            values = values.view(element.dtype).reshape(own)
        tensor = graph.add_variable(
            element,
            own[::-1] if draw(st.booleans()) else own,
            f"x{number}",
            mapping=draw(st.sampled_from(["linear", 0])),
        )
        if tensor.shape != own or (own == own[::-1] and draw(st.booleans())):
            tensor = tensor.T
        graph.set_initial_value(tensor, values)
        made.append(Drawn(tensor, values))
    binary = OF_FLOATS if element in FLOATS else OF_INTEGERS
    unary = UNARY_FLOATS if element in FLOATS else UNARY_INTEGERS
    for _ in range(draw(st.integers(1, 6))):
        kind = draw(st.sampled_from(["binary", "binary", "unary", "number", "select"]))
        a, b = draw(st.sampled_from(made)), draw(st.sampled_from(made))
        if kind == "unary":
            name = draw(st.sampled_from(sorted(unary)))
            expr = getattr(ops, name)(a.expr)
            made.append(Drawn(expr, rounded(unary[name], element, a.value)))
        elif kind == "select":
            name = draw(st.sampled_from(sorted(COMPARISONS)))
            predicate = getattr(ops, name)(a.expr, b.expr)
            value = np.where(COMPARISONS[name](a.value, b.value), a.value, b.value)
            made.append(Drawn(ops.select(a.expr, b.expr, predicate), value.astype(element.dtype)))
        else:
            name = draw(st.sampled_from(sorted(binary)))
            if kind == "number":
                number = draw(st.integers(0, 100))
                with_number = Drawn(number, np.asarray(number, element.dtype))
                a, b = (a, with_number) if draw(st.booleans()) else (with_number, a)
            expr = getattr(ops, name)(a.expr, b.expr)
            made.append(Drawn(expr, rounded(binary[name], element, a.value, b.value)))
    last = made[-1]
    return graph, last, [each for each in made if not isinstance(each.expr, pl.Tensor)]


@examples(60, quick=3)
@given(programs())
def test_fused_is_unfused_is_numpy(
    tmp_path_factory: pytest.TempPathFactory, drawn: tuple[pl.Graph, Drawn, list[Drawn]]
) -> None:
    graph, last, parts = drawn
    program = pl.Sequence()
    result = ops.map(last.expr, program=program)
    each = [ops.map(part.expr, program=program) for part in parts]
    graph.create_host_read("result", result)
    path = tmp_path_factory.mktemp("saved") / "drawn.pop"
    pl.compile_graph(graph, program).save(path)
    saved = pl.Engine(pl.Executable.load(path))
    saved.run()
    np.testing.assert_array_equal(saved.read("result"), last.value)
    for interpret in (False, True):
        engine = pl.Engine(graph, program, interpret=interpret)
        engine.run()
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(engine.read(result), last.value)
            for part, tensor in zip(parts, each, strict=True):
                np.testing.assert_array_equal(engine.read(tensor), part.value)
