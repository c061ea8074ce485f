"""Expressions by themselves: leaves, arguments, numbers, views, NumPy's names."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType
from typing import Any, cast

import numpy as np
import pytest

import poplite as pl
from helpers.depth import interpreted, thinned, values_only
from poplite import ops
from poplite.compat import popops
from poplite.compat.popops import expr as pe
from poplite.compat.popops.expr import Const, Lt, Shr, _1
from poplite.expr.build import apply
from poplite.expr.numpy_names import _OPERATIONS
from poplite.expr.operations import OPERATIONS
from poplite.expr.tree import Expr, Leaf, formula, viewed
from poplite.ops.fuse.classes import class_text
from poplite.ops.fuse.recipe import MapRecipe, OperandPart, straight
from poplite.testing.fuzz_integers import TYPES
from poplite.vertex.compute.arithmetic import Kind, element_kind
from poplite.vertex.compute.meaning import check
from poplite.vertex.from_source import vertex_from_source

# -- leaves, arguments, numbers --------------------------------------------------------------------


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
    "a power that integers do not take": (
        lambda x: x**2.0,
        "'**': 2.0 cannot be combined with INT",
    ),
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
    "a number reduced": (lambda _: ops.sum(3.0), "ops.sum: 3.0 is a single number"),  # type: ignore[arg-type]
    "the greatest of nothing": (lambda x: ops.max(x[2:] + 1, 0), "ops.max of no elements"),
    "positions of no shape": (lambda _: ops.iota(3.5), "ops.iota(3.5, start=0)"),  # type: ignore
    "a size below 0": (lambda _: ops.iota((2, -1)), "a size is negative"),
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
    with pytest.raises(pl.ElementTypeError, match=re.escape("write e = e + 1")):
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


# -- NumPy's names ---------------------------------------------------------------------------------


any_ops: Any = pl.ops  # its dims have one name for type checkers

VALUES = np.arange(24, dtype=np.float32).reshape(4, 6) % 7

RESULTS: dict[str, Callable[[Any], Any]] = {
    "sum": lambda x: x.sum(),
    "sum of columns": lambda x: x.sum(axis=0),
    "mean": lambda x: x.mean(axis=1, keepdims=True),
    "max": lambda x: x.max(0),
    "min": lambda x: x.min(axis=(0, 1)),
    "astype": lambda x: (x * 0.5).astype(np.int32),
    "reshape": lambda x: x.reshape(6, 4) + 1,
    "flat": lambda x: x.reshape(-1) + 1,
    "left over": lambda x: x.reshape(3, -1, 2) + 1,
    "left over, in a list": lambda x: x.reshape((-1, 8)) + 1,
    "transpose": lambda x: x.transpose(1, 0) + 1,
    "transpose from the end": lambda x: x.transpose(-1, 0) + 1,
    "transpose by a list": lambda x: x.transpose((1, 0)) + 1,
    "squeeze": lambda x: x[:1].squeeze() + 1,
    "squeeze an axis": lambda x: x[:1].squeeze(axis=0) + 1,
}
"""By expressions that mean the same of an array and of a tensor."""

FUNCTIONS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "sum": (lambda x: any_ops.sum(x, axis=0), lambda x: np.sum(x, axis=0)),
    "argmax": (lambda x: any_ops.argmax(x, axis=1), lambda x: np.argmax(x, axis=1)),
    "cumulative_sum": (
        lambda x: any_ops.cumulative_sum(x, axis=1) + 0,
        lambda x: np.cumsum(x, axis=1),
    ),
    "clip": (lambda x: any_ops.clip(x, 1, 3), lambda x: np.clip(x, 1, 3)),
    "clip from below": (lambda x: any_ops.clip(x, 2), lambda x: np.clip(x, 2, None)),
    "clip from above": (lambda x: any_ops.clip(x, None, 2), lambda x: np.clip(x, None, 2)),
    "concatenate all": (
        lambda x: any_ops.concatenate([x, x[:1]], axis=None) + 0,
        lambda x: np.concatenate([x, x[:1]], axis=None),
    ),
    "concatenate from the end": (
        lambda x: any_ops.concatenate([x, x], axis=-1) + 0,
        lambda x: np.concatenate([x, x], axis=-1),
    ),
    "stack from the end": (
        lambda x: any_ops.stack([x, x], axis=-1) + 0,
        lambda x: np.stack([x, x], axis=-1),
    ),
    "transpose from the end": (
        lambda x: any_ops.transpose(x, (-1, 0)) + 0,
        lambda x: np.transpose(x, (-1, 0)),
    ),
    "concatenate": (
        lambda x: any_ops.concatenate([x, x], axis=1) + 0,
        lambda x: np.concatenate([x, x], axis=1),
    ),
    "stack": (lambda x: any_ops.stack([x, x]) + 0, lambda x: np.stack([x, x])),
    "stack behind": (lambda x: any_ops.stack([x, x], axis=2) + 0, lambda x: np.stack([x, x], 2)),
    "stack between": (lambda x: pl.stack([x, x], 1) + 0, lambda x: np.stack([x, x], 1)),
    "relu": (lambda x: any_ops.nn.relu(x - 3), lambda x: np.maximum(x - 3, 0)),
    "softmax": (
        lambda x: any_ops.nn.softmax(x, axis=0),
        lambda x: np.exp(x) / np.exp(x).sum(axis=0),
    ),
}


def _run(function: Callable[[Any], Any]) -> Any:
    graph = pl.Graph(pl.Target(tiles=4))
    x = graph.add_variable(pl.FLOAT, VALUES.shape, "x", mapping="linear", initial_value=VALUES)
    with graph.steps() as steps:
        y = any_ops.map(function(x))
    engine = pl.Engine(graph, steps, interpret=True)
    engine.run()
    return engine.read(y)


@pytest.mark.parametrize("name", RESULTS)
def test_methods_mean_what_those_of_arrays_mean(name: str) -> None:
    found, expected = _run(RESULTS[name]), np.asarray(RESULTS[name](VALUES))
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_mean_what_those_of_numpy_mean(name: str) -> None:
    ours, numpy = FUNCTIONS[name]
    found, expected = _run(ours), numpy(VALUES)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_sizes_and_types_have_their_names_of_arrays() -> None:
    x = pl.Graph().add_variable(pl.HALF, (4, 6), "x")
    for each in (x, x + 1):
        assert (each.ndim, each.size) == (2, 24)
        assert each.dtype == np.float16


VIEWS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "reverse": (lambda x: x.reverse(axis=1), lambda x: x.reverse(1)),
    "slice": (lambda x: x.slice(1, 3, axis=1), lambda x: x[:, 1:3]),
    "slice of an interval": (lambda x: x.slice((1, 3), axis=1), lambda x: x[:, 1:3]),
    "sub_sample": (lambda x: x.sub_sample(2, axis=1), lambda x: x[:, ::2]),
    "upsample": (lambda x: x.upsample(2, axis=1), lambda x: x.upsample(2, 1)),
    "broadcast": (lambda x: x.broadcast(2, axis=1), lambda x: x.broadcast(2, 1)),
}


FROM_THE_END: dict[str, Callable[[Any, int], Any]] = {
    "reverse": lambda x, dim: x.reverse(dim),
    "broadcast": lambda x, dim: x.broadcast(2, dim),
    "slice": lambda x, dim: x.slice(0, 1, dim),
    "slices": lambda x, dim: x.slices([1, 0], axis=dim)[0],
    "sub_sample": lambda x, dim: x.sub_sample(2, dim),
    "upsample": lambda x, dim: x.upsample(2, dim),
    "dim_roll": lambda x, dim: x.dim_roll(axis=dim),
    "dim_shuffle": lambda x, dim: x.dim_shuffle([dim, 1 - dim % 2]),
    "append": lambda x, dim: pl.append(x, x.slice(0, 1, dim).squeeze(dim), axis=dim),
}


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("name", FROM_THE_END)
def test_dimensions_of_views_count_from_the_end(name: str, dim: int) -> None:
    x, use = pl.Graph().add_variable(pl.FLOAT, (4, 6), "x"), FROM_THE_END[name]
    assert use(x, dim - 2) == use(x, dim)


@pytest.mark.parametrize("name", VIEWS)
def test_views_take_axis(name: str) -> None:
    x = pl.Graph().add_variable(pl.FLOAT, (4, 6), "x")
    by_axis, otherwise = VIEWS[name]
    assert by_axis(x) == otherwise(x)


INSTEAD: dict[str, tuple[Callable[[Any], Any], str]] = {
    "np.sum": (lambda x: np.sum(x, axis=0), "ops.sum(x, ...)"),
    "np.max": (lambda x: np.max(x), "ops.max(x, ...)"),
    "np.transpose": (lambda x: np.transpose(x), "x.T, x.transpose(1, 0)"),
    "np.matmul": (lambda x: np.matmul(x, x), "a @ b, or ops.matmul(a, b)"),
    "np.dot": (lambda x: np.dot(x, x), "a @ b, or ops.matmul(a, b)"),
    "np.stack": (lambda x: np.stack([x, x]), "ops.stack(x, ...)"),
    "np.concatenate": (lambda x: np.concatenate([x, x]), "pl.concat(tensors, dim)"),
    "np.where": (lambda x: np.where(x > 0, x, x), "ops.where(x, ...)"),
    "np.reshape": (lambda x: np.reshape(x, (24,)), "x.reshape(shape)"),
    "np.linalg.norm": (lambda x: np.linalg.norm(x), "ops.sqrt(ops.sum(x * x, dims))"),
    "np.clip": (lambda x: np.clip(x, 0, 1), "ops.clip(x, ...)"),
    "np.maximum.reduce": (lambda x: np.maximum.reduce(x), "ops.max(x, ...)"),
    "np.repeat": (lambda x: np.repeat(x, 2), "ops.repeat_elements(x, n, dim)"),
    "np.kron": (lambda x: np.kron(x, x), "use np.kron of engine.read(x), after a run"),
    "np.linalg.inv": (lambda x: np.linalg.inv(x), "ops.linalg.inverse(x)"),
    "np.diff": (lambda x: np.diff(x), "x[1:] - x[:-1]"),
    "np.add.accumulate": (lambda x: np.add.accumulate(x), "ops.cumulative_sum(x, ...)"),
    "np.add.at": (
        lambda x: np.add.at(x, 0, 1),
        "ops.assign(x[i], value), which stores to the view x[i]",
    ),
}


@pytest.mark.parametrize("name", INSTEAD)
def test_functions_of_numpy_say_what_to_use(name: str) -> None:
    x = pl.Graph().add_variable(pl.FLOAT, (4, 6), "x")
    use, instead = INSTEAD[name]
    for operand in (x, x + 1):
        with pytest.raises(pl.ElementTypeError, match=f"^{name}: NumPy computes values") as caught:
            use(operand)
        assert (caught.value.fix, "out" in caught.value.found) == (instead, False)


@pytest.mark.parametrize(
    ("name", "fix"),
    [
        ("dot", "a @ b, or ops.matmul(a, b)"),
        ("cumsum", "ops.cumulative_sum(x, dim)"),
        ("reshape", "use the operands, or store it first: t = ops.map(expression)"),
        ("shap", ""),
    ],
)
def test_an_expression_says_what_to_use(name: str, fix: str) -> None:
    expression = pl.Graph().add_variable(pl.FLOAT, (4, 6), "x") + 1
    with pytest.raises(AttributeError) as caught:
        getattr(expression, name)
    assert getattr(caught.value, "fix", "") == fix


def test_a_matrix_of_numpy_is_refused_on_either_side_of_a_product() -> None:
    x: Any = pl.Graph().add_variable(pl.FLOAT, (4, 6), "x")
    ones = np.ones((6, 4), np.float32)
    uses: list[Callable[[], Any]]
    uses = [lambda: x @ ones, lambda: ones @ x, lambda: np.matmul(ones, x)]
    for use in uses:
        message = r"(?s)^'@': array.*try: convert an array to a tensor: graph\.add_constant"
        with pytest.raises(pl.ElementTypeError, match=message):
            use()


def test_an_augmented_assignment_names_the_elements() -> None:
    x: Any = pl.Graph().add_variable(pl.FLOAT, (4, 6), "x")
    message = r"try: record the change: ops\.assign\(x\[1\], x\[1\] \* 2\)"
    with pytest.raises(pl.ElementTypeError, match=message):
        x[1] *= 2


def test_numpy_asks_for_shapes() -> None:
    x: Any = pl.Graph().add_variable(pl.FLOAT, (4, 6), "x")
    for each in (x, x + 1):
        assert (np.shape(each), np.ndim(each), np.size(each)) == ((4, 6), 2, 24)


REFUSED_NAMES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "both": (
        lambda x: any_ops.sum(x, 1, axis=0),
        "sum: dimensions are given twice.*dims=1 and axis=0",
    ),
    "both of a method": (lambda x: x.sum(1, axis=0), "sum: dimensions are given twice"),
    "both of concat": (
        lambda x: any_ops.concatenate([x, x], dim=1, axis=0),
        "concat: dimensions are given",
    ),
    "both of stack": (lambda x: pl.stack([x, x], 1, axis=0), "stack: dimensions are given twice"),
    "both of concat, one by place": (
        lambda x: cast("Any", pl).concat([x, x], 1, axis=0),
        "concat: dimensions are given twice.*dim=1 and axis=0",
    ),
    "both of stack, the first": (lambda x: pl.stack([x, x], 0, axis=1), "stack: dimensions are"),
    "nothing": (lambda x: pl.stack([]), "stack needs at least one tensor"),
    "no bound": (lambda x: any_ops.clip(x), "clip: neither min nor max is given"),
    "one": (lambda x: pl.stack(x), r"a list of tensors, not one.*pl.stack\(\[x, y\]\)"),
    "no size": (lambda x: x.reshape(5, -1), r"no size can replace.*24 elements.*other sizes is 5"),
    "two gaps": (lambda x: x.reshape(-1, -1), r"\(-1, -1\): 2 sizes are -1, but only one may be"),
    "unlike": (lambda x: pl.stack([x, x[1:]]), r"one shape, not \(4, 6\) and \(3, 6\).*pl.concat"),
    "both of a view": (lambda x: x.slice(0, 1, 1, axis=0), "given twice.*dim=1 and axis=0"),
    "both of squeeze": (lambda x: x[:1].squeeze([0], axis=0), "given twice.*axis=0"),
    "no dimension": (lambda x: x.reverse(), "dim is None, not a whole number"),
    "concatenate": (
        lambda x: any_ops.concatenate([x + 1, x]),
        "concat: an expression is not a tensor.*store it first",
    ),
    "power of floats": (lambda x: x ^ 2, r"'\^': 'x' is FLOAT.*x \*\* 2 is a power"),
    "rows": (lambda x: x[any_ops.cast(x[0], pl.INT)], "ops.embedding.*ops.multi_slice"),
    "one row": (lambda x: x[any_ops.cast(x[0, 0], pl.INT)], "ops.dynamic_slice"),
    "list of rows": (lambda x: x[[0, 1]], r"pl.concat\(t.slices\(\[...\]\)\).*ops.embedding"),
    "array of rows": (lambda x: x[np.array([0, 1])], r"pl.concat\(t.slices.*ops.embedding"),
    "list of offsets": (
        lambda x: any_ops.dynamic_slice(x, [x[0, 0], x[0, 1]], [0, 1], [1, 1]),
        r"offset: list is not a tensor.*pl.stack\(\[i, j\]\)",
    ),
    "std": (lambda x: x.std(), r"a tensor has no 'std'.*ops.std\(x, ...\)"),
    "argmax": (lambda x: x.argmax(), r"a tensor has no 'argmax'.*ops.argmax\(x, ...\)"),
    "repeat": (
        lambda x: x.repeat(2),
        r"a tensor has no 'repeat'.*ops.repeat_elements\(x, n, dim\)",
    ),
    "item": (lambda x: x.item(), r"engine.read\(x\) after a run"),
    "of an expression": (
        lambda x: (x + 1).reshape(24),
        "an expression has no 'reshape'.*store",
    ),
    "arange": (lambda x: vars(any_ops)["__getattr__"]("arange"), r"no ops.arange.*ops.iota"),
    "softmax": (
        lambda x: vars(any_ops)["__getattr__"]("softmax"),
        r"no ops.softmax.*ops.nn.softmax",
    ),
    "zeros": (lambda x: getattr(pl, "zeros"), r"no pl.zeros.*graph.add_variable"),  # noqa: B009
    "sum of pl": (lambda x: getattr(pl, "sum"), r"poplite has no pl.sum.*ops.sum"),  # noqa: B009
}


@pytest.mark.parametrize("name", REFUSED_NAMES)
def test_the_others_say_what_to_use(name: str) -> None:
    x = pl.Graph().add_variable(pl.FLOAT, (4, 6), "x")
    use, text = REFUSED_NAMES[name]
    with pytest.raises(pl.PopliteError, match=f"(?s){text}"):
        use(x)


def test_a_name_that_nothing_has_is_an_attribute_error() -> None:
    x: Any = pl.Graph().add_variable(pl.FLOAT, (4, 6), "x")
    with pytest.raises(AttributeError, match="'Tensor' object has no attribute 'nothing'"):
        _ = x.nothing
    with pytest.raises(AttributeError, match="'Tensor' object has no attribute 'together'"):
        _ = x.together  # ops.together takes no tensor
    with pytest.raises(AttributeError, match="module 'poplite.ops' has no attribute 'nothing'"):
        vars(any_ops)["__getattr__"]("nothing")


@pytest.mark.parametrize(
    ("package", "name", "text"),
    [
        (pl, "foo", "no attribute 'foo'$"),
        (any_ops.nn, "foo", "no attribute 'foo'$"),
        (any_ops, "sofmax", r"'sofmax' \(did you mean 'ops.nn.softmax'\?\)"),
        (pl, "matmull", r"'matmull' \(did you mean 'ops.matmul'\?\)"),
        (any_ops, "summ", "'summ'$"),  # Python itself asks for ops.sum
    ],
)
def test_a_misspelt_name_says_which_package_has_the_function(
    package: Any, name: str, text: str
) -> None:
    with pytest.raises(AttributeError, match=text):
        getattr(package, name)


@pytest.mark.parametrize(
    ("name", "use"),
    [
        ("bits", r"pl\.float_bits\(x\), or pl\.half_bits"),
        ("from_bits", r"pl\.float_from_bits\(n\), or pl\.half_from_bits"),
        ("quarter_bits", r"connect x\.reinterpret\(pl\.UNSIGNED_CHAR\)"),
        ("quarter_from_bits", r"connect x\.reinterpret\(pl\.UNSIGNED_CHAR\)"),
        ("popops", "from poplite.compat import popops"),
    ],
)
def test_other_names_of_the_package_say_what_to_use(name: str, use: str) -> None:
    with pytest.raises(pl.AbsentMember, match=f"(?s)poplite has no pl.{name} .*try: {use}"):
        getattr(pl, name)


def test_every_function_of_an_operand_is_found_by_who_takes_it_for_a_method() -> None:
    x: Any = pl.Graph().add_variable(pl.FLOAT, (4, 6), "x")
    packages = (any_ops, any_ops.nn, any_ops.random, any_ops.linalg)
    functions = {name: getattr(package, name) for package in packages for name in package.__all__}
    taking = {name for name, function in functions.items() if _takes_operand(function)}
    answered = {name for name in functions if _is_answered(x, name)}
    assert taking - set(dir(x)) - answered == set()
    assert answered & set(_OPERATIONS) - taking == set()
    assert not answered & set(dir(x))


def _takes_operand(function: object) -> bool:
    if not isinstance(function, FunctionType):
        return False
    first = next(iter(inspect.signature(function).parameters.values()), None)
    return first is not None and any(
        kind in str(first.annotation) for kind in ("Operand", "Tensor")
    )


def _is_answered(x: pl.Tensor, name: str) -> bool:
    try:
        getattr(x, name)
    except pl.AbsentMember as error:
        return bool(error.fix)
    except AttributeError:
        pass
    return False


# -- views -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Transposed:
    """The transpose of a matrix."""

    def __call__(self, tensor: pl.Tensor) -> pl.Tensor:
        return tensor.T


def transposed(expr: Expr) -> Expr:
    rows, columns = expr.shape
    return viewed([expr], Transposed(), (columns, rows), expr.element_type)


@pytest.fixture
def table() -> pl.Tensor:
    graph = pl.Graph(pl.Target(tiles=3))
    values = np.arange(6).reshape(2, 3)
    return graph.add_variable(pl.FLOAT, (2, 3), "x", mapping="linear", initial_value=values)


def computed(x: pl.Tensor, *exprs: Expr, out: pl.Tensor | None = None) -> list[Any]:
    program = pl.Sequence()
    if out is not None:
        made = [ops.map(exprs[0], out=out, program=program)]
    else:
        made = ops.lower(x.graph, exprs, program)
    engine = pl.Engine(x.graph, program, **interpreted())
    engine.run()
    return [engine.read(each).tolist() for each in made]


def test_a_view_of_a_tensor_is_a_tensor(table: pl.Tensor) -> None:
    view = transposed(Leaf(table))
    assert isinstance(view, Leaf)
    assert view.tensor == table.T


def test_what_is_viewed_is_stored_once(table: pl.Tensor) -> None:
    one, other = transposed(table * 2 + 1), transposed(table * 2 + 1)
    assert formula(one) == "view(x * 2.0 + 1.0)"
    assert computed(table, one - 1, other * 10) == [
        [[0, 6], [2, 8], [4, 10]],
        [[10, 70], [30, 90], [50, 110]],
    ]
    stored = [each for each in table.graph.variables if each.shape == (2, 3)]
    assert len(stored) == 2  # x, and what is viewed


def test_sums_and_products_are_viewed(table: pl.Tensor) -> None:
    product = ops.matmul(table, table.T)
    total = viewed([ops.sum(table, 0)], Reshaped((3, 1)), (3, 1), pl.FLOAT)
    assert computed(table, transposed(product), total * total) == [
        [[5, 14], [14, 50]],
        [[9], [25], [49]],
    ]


@dataclass(frozen=True)
class Reshaped:
    """A tensor in another shape."""

    shape: tuple[int, ...]

    def __call__(self, tensor: pl.Tensor) -> pl.Tensor:
        return tensor.reshape(self.shape)


@dataclass(frozen=True)
class Joined:
    """Rows behind each other."""

    def __call__(self, *tensors: pl.Tensor) -> pl.Tensor:
        return pl.concat(tensors, dim=0)


def test_several_expressions_make_one_view(table: pl.Tensor) -> None:
    both = viewed([table + 1, table * table], Joined(), (4, 3), pl.FLOAT)
    assert computed(table, both + 0) == [[[1, 2, 3], [4, 5, 6], [0, 1, 4], [9, 16, 25]]]


def test_a_view_goes_where_it_is_asked_for(table: pl.Tensor) -> None:
    out = table.graph.add_variable(pl.FLOAT, (3, 2), "out", mapping="linear")
    assert computed(table, transposed(-table), out=out) == [[[0, -3], [-1, -4], [-2, -5]]]


def test_a_view_is_computed_anew_where_its_tensor_changed(table: pl.Tensor) -> None:
    program = pl.Sequence()
    view = transposed(table + 1)
    roots = [
        ops.Root(view * 1),
        ops.Root(table * 10, out=table),
        ops.Root(view * 1),
    ]
    first, _, last = ops.lower(table.graph, roots, program)
    engine = pl.Engine(table.graph, program, **interpreted())
    engine.run()
    assert engine.read(first).tolist() == [[1, 4], [2, 5], [3, 6]]
    assert engine.read(last).tolist() == [[1, 31], [11, 41], [21, 51]]
