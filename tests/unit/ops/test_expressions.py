"""Expressions by themselves: their leaves, arguments and numbers, and what they refuse."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers.depth import interpreted, thinned, values_only
from poplite import ops
from poplite.compat import popops
from poplite.compat.popops import expr as pe
from poplite.compat.popops.expr import Const, Lt, Shr, _1
from poplite.expr.build import apply
from poplite.expr.operations import OPERATIONS
from poplite.ops.fuse.classes import class_text
from poplite.ops.fuse.recipe import MapRecipe, OperandPart, straight
from poplite.testing.fuzz_integers import TYPES
from poplite.vertex.compute.arithmetic import Kind, element_kind
from poplite.vertex.compute.identity import check
from poplite.vertex.from_source import vertex_from_source


@pytest.fixture
def graph() -> pl.Graph:
    return pl.Graph(pl.Target(tiles=2))


@pytest.fixture
def x(graph: pl.Graph) -> pl.Tensor:
    return graph.add_variable(pl.INT, (2, 3), "x", mapping="linear", initial_value=[[1, 2, 3]] * 2)


def test_parts_that_share_parts_are_gone_through_once(graph: pl.Graph, x: pl.Tensor) -> None:
    doubled: pl.Tensor | pl.Expr = x
    for _ in range(60):  # 2 ** 60 paths to x
        doubled = doubled + doubled
    assert isinstance(doubled, pl.Expr)
    assert doubled.leaves == (x,)
    with graph.steps():
        assert ops.map(doubled).shape == x.shape


def test_powers_of_floats_are_as_near_as_the_kernel_of_powers(graph: pl.Graph) -> None:
    values = np.linspace(0.7, 1.6, 2001, dtype=np.float32)
    x = graph.add_variable(pl.FLOAT, values.shape, "x", mapping="linear", initial_value=values)
    exponents = (2, 3, 4, 5, 7, 31, 64, -2, -0.5)
    with graph.steps() as program:
        found = [ops.map(x**exponent) for exponent in exponents]
    engine = pl.Engine(graph, program)
    engine.run()
    for exponent, tensor in zip(exponents, found, strict=True):
        exact = values.astype(np.longdouble) ** exponent
        ulps = np.abs(engine.read(tensor) - exact) / np.spacing(exact.astype(np.float32))
        assert ulps.max() <= 1.5, exponent


def test_a_power_by_minus_a_half_is_that_of_numpy(graph: pl.Graph) -> None:
    values = np.array([-0.0, -np.inf, 0.0, np.inf, 4.0], np.float32)
    x = graph.add_variable(pl.FLOAT, (5,), "x", mapping=0, initial_value=values)
    popops_power = graph.add_variable(pl.FLOAT, (5,), "p", mapping=0, initial_value=values)
    with graph.steps() as program:
        found = ops.map(x**-0.5)
    from_popops = popops.map(graph, pe.Pow(pe._1, pe.Const(-0.5)), [popops_power], program)
    engine = pl.Engine(graph, program)
    engine.run()
    np.testing.assert_array_equal(engine.read(found), [np.inf, 0, np.inf, 0, 0.5])
    np.testing.assert_array_equal(engine.read(from_popops), [-np.inf, np.nan, np.inf, 0, 0.5])


def test_a_first_power_is_its_base(graph: pl.Graph, x: pl.Tensor) -> None:
    wide = ops.cast(x, pl.FLOAT)
    for base, exponents in ((x + 1, (1,)), (wide, (1, 1.0)), (ops.cast(x, pl.HALF), (1, 1.0))):
        assert all(base**n is base for n in exponents)
    with graph.steps() as program:
        found = [ops.map(x**1), ops.map(ops.arg(0) ** 1, [x])]
        ops.assign(found[0], found[0] + 1)  # which is no view of x
    engine = pl.Engine(graph, program)
    engine.run()
    expected = ([[2, 3, 4]] * 2, [[1, 2, 3]] * 2, [[1, 2, 3]] * 2)
    for tensor, values in zip((*found, x), expected, strict=True):
        assert engine.read(tensor).tolist() == values


@pytest.mark.parametrize("is_right", thinned([False, True], keep=1))
def test_deep_expressions(graph: pl.Graph, x: pl.Tensor, is_right: bool) -> None:
    deep: pl.Expr = ops.arg(0) + 1
    for _ in range(1500):
        deep = 1 - deep if is_right else deep - 1
    assert "..." in repr(deep)
    with graph.steps() as step:
        results = [ops.map(deep, [x]), ops.map(deep, [x * 2])]
    engine = pl.Engine(graph, step, interpret=True, options=values_only())
    engine.run()
    for times, result in zip((1, 2), results, strict=True):
        want = np.array([[1, 2, 3]] * 2) * times + 1
        np.testing.assert_array_equal(engine.read(result), want if is_right else want - 1500)


def test_reductions_of_arguments_keep_their_dimensions(graph: pl.Graph, x: pl.Tensor) -> None:
    first = ops.arg(0)
    with graph.steps() as step:
        all_of_them, none, one = (ops.map(ops.sum(first, d), [x]) for d in (None, [], [0]))
    assert (all_of_them.shape, none.shape, one.shape) == ((), (2, 3), (3,))
    engine = pl.Engine(graph, step, **interpreted())
    engine.run()
    assert engine.read(all_of_them) == 12
    assert engine.read(none).tolist() == [[1, 2, 3]] * 2
    assert engine.read(one).tolist() == [2, 4, 6]


REFUSED: dict[str, tuple[Callable[[pl.Tensor], object], str]] = {
    "a power that integers do not take": (lambda x: x**2.0, "'**': 2.0 beside INT"),
    "no integers": (lambda x: ~ops.cast(x, pl.FLOAT), "INT) first"),
    "a mean of integers": (lambda x: ops.mean(x), "ops.cast(x, FLOAT)"),
    "a tensor in the place of a list": (lambda x: ops.map(ops.arg(0) + 1, x), "[x])"),  # type: ignore
    "tensors for no argument": (lambda x: ops.map(x + 1, [x]), "1 tensor for 0 arguments"),
    "a number of an expression": (lambda x: float(ops.sum(x)), "engine.read(t)"),  # type: ignore
    "rounding": (lambda x: round(x + 1), "ops.round(x)"),  # type: ignore
    "the rank of an argument": (lambda _: ops.arg(0).rank, "has no shape yet"),
    "what was done for an expression": (lambda x: ops.explain(x + 1), "ops.explain"),  # type: ignore
    "no tensor filled": (lambda _: ops.zero([1]), "[1] is not a tensor"),  # type: ignore
    "the name of a reduction": (lambda x: ops.sum(x, 5), "ops.sum: dimension 5 of 'x'"),
    "the name of another one": (lambda x: ops.all(x), "ops.all: 'x' is INT"),
    "a number reduced": (lambda _: ops.sum(3.0), "ops.sum: 3.0 is one number"),  # type: ignore[arg-type]
    "the greatest of nothing": (lambda x: ops.max(x[2:] + 1, 0), "ops.max of no elements"),
    "positions of no shape": (lambda _: ops.iota(3.5), "ops.iota(3.5, start=0)"),  # type: ignore
    "a size below 0": (lambda _: ops.iota((2, -1)), "a size is below 0"),
    "no whole number to start": (lambda _: ops.iota(3, start=0.5), "start=0.5"),  # type: ignore
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_is_named(x: pl.Tensor, name: str) -> None:
    make, message = REFUSED[name]
    with pytest.raises(pl.PopliteError, match=re.escape(message)) as caught:
        make(x)
    assert caught.value.at is not None
    assert caught.value.at.file == __file__


def test_an_expression_is_not_changed_in_place(x: pl.Tensor) -> None:
    with pytest.raises(pl.ElementTypeError, match=re.escape("e = e + 1 is another expression")):
        exec("e += 1", {"e": x * 2})


def test_the_mean_of_half_is_made_in_float(graph: pl.Graph) -> None:
    h = graph.add_variable(pl.HALF, (3, 1000), "h", mapping="linear", initial_value=100)
    with graph.steps() as step:
        means, rest = ops.map(ops.mean(h, 1)), ops.map(h - ops.mean(h, keepdims=True))
    assert means.element_type is pl.HALF
    engine = pl.Engine(graph, step, **interpreted())
    engine.run()
    assert engine.read(means).tolist() == [100] * 3  # whose sum is no HALF
    assert not engine.read(rest).any()


# -- kinds of numbers ------------------------------------------------------------------------------
# The lines of a fused vertex are of the kinds of number that their element types read as.


ALL_TYPES = (*TYPES, pl.FLOAT, pl.HALF)


def kind_of_line(expr: Any) -> Kind:
    """Return the kind of `v0` in the class that stores an expression of one operation."""
    lines = straight(expr, {})
    parts = (OperandPart.ELEMENTS,) * len(lines.tensors)
    text = class_text(MapRecipe(lines.body, parts, expr.element_type))
    checked = check(vertex_from_source(text.text, text.name))
    (line,) = [
        node.value
        for node in ast.walk(checked.text.tree)
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "v0"
    ]
    return checked.facts.casts.get(line, checked.facts.kinds[line])


@pytest.mark.parametrize(
    "element", thinned(ALL_TYPES, [pl.LONGLONG, pl.UNSIGNED_LONGLONG, pl.HALF])
)
def test_every_operation_gives_the_kind_of_its_type(element: Any) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    tensors: list[Any] = [graph.add_variable(element, (4,), name, mapping=0) for name in "abc"]
    predicate = graph.add_variable(pl.BOOL, (4,), "p", mapping=0)
    made = {f"cast to {to!r}": ops.cast(tensors[0], to) for to in ALL_TYPES if to is not element}
    for name, operation in OPERATIONS.items():
        if operation.text_for(element):
            operands = [*tensors[:2], predicate] if name == "select" else tensors[: operation.arity]
            made[name] = apply(name, *operands)
    wrong = {
        name: kind_of_line(expr)
        for name, expr in made.items()
        if kind_of_line(expr) is not element_kind(expr.element_type)
    }
    assert not wrong


def test_results_of_64_bits_stay_signed_or_unsigned() -> None:
    graph, program = pl.Graph(pl.Target(tiles=1)), pl.Sequence()

    def tensor(element: Any, *values: int) -> Any:
        return graph.add_variable(element, (len(values),), mapping=0, initial_value=values)

    a, b, both = tensor(pl.LONGLONG, -1), tensor(pl.LONGLONG, 5), tensor(pl.LONGLONG, -1, 5)
    u, v = tensor(pl.UNSIGNED_LONGLONG, 0), tensor(pl.UNSIGNED_LONGLONG, 7)
    x = tensor(pl.FLOAT, 2)
    rows: list[tuple[Any, Any]] = [
        (ops.minimum(a, ops.popcount(b)) < 0, [True]),
        ((a * ops.popcount(b)) // 2, [-1]),
        (ops.cast(a - ops.popcount(b), pl.FLOAT), [-3]),
        ((a - ops.count_leading_zeros(b)) // 2, [-31]),
        (ops.shift_right_logical(a, 0) // 2, [-1]),
        (ops.min(ops.shift_right_logical(both, 0)), -1),
        (ops.max(both - ops.popcount(both)), 3),
        ((ops.sign(u) - ops.sign(v)) // 2, [2**63 - 1]),
        ((ops.sign_popops(u) - ops.sign_popops(v)) // 2, [2**63 - 1]),
        (ops.exp(ops.sign_popops(x)) - 2.7182817459106445, [0]),
    ]
    found = [ops.map(expr, program=program) for expr, _ in rows]
    shifted = popops.map(graph, Lt(Shr(_1, Const(0)), Const(0)), [both], program)
    engine = pl.Engine(graph, program, **interpreted())
    engine.run()
    assert [engine.read(each).tolist() for each in found] == [right for _, right in rows]
    assert engine.read(shifted).tolist() == [True, False]


def test_floats_beyond_2_63_are_cast_to_unsigned_integers() -> None:
    most, near = 2**64 - 1, int(np.float32(1.8e19))
    values = [2.0**63, near, 2.0**64 - 2.0**40, 2.0**64, 1e30, np.inf, -1.5, -np.inf, np.nan, 2.9]
    right = [2**63, near, 2**64 - 2**40, most, most, most, most, 2**63, 0, 2]
    graph, program = pl.Graph(pl.Target(tiles=1)), pl.Sequence()
    x: Any = graph.add_variable(pl.FLOAT, (10,), mapping=0, initial_value=values)
    one = ops.map(ops.cast(x, pl.UNSIGNED_LONGLONG), program=program)
    greatest = ops.map(ops.max(ops.cast(x, pl.UNSIGNED_LONGLONG)), program=program)
    for interpret in (True, False):
        options = {"debug.instrument": False}
        engine = pl.Engine(graph, program, interpret=interpret, options=options)
        engine.run()
        assert engine.read(one).tolist() == right
        assert engine.read(greatest) == most
