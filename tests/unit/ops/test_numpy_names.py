"""NumPy's names: those that work, against NumPy, and those that are refused by what to use."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any, cast

import numpy as np
import pytest

import poplite as pl
from poplite.expr.numpy_names import _OPERATIONS

ops: Any = pl.ops  # its dims have one name for type checkers

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
    "sum": (lambda x: ops.sum(x, axis=0), lambda x: np.sum(x, axis=0)),
    "argmax": (lambda x: ops.argmax(x, axis=1), lambda x: np.argmax(x, axis=1)),
    "cumulative_sum": (
        lambda x: ops.cumulative_sum(x, axis=1) + 0,
        lambda x: np.cumsum(x, axis=1),
    ),
    "clip": (lambda x: ops.clip(x, 1, 3), lambda x: np.clip(x, 1, 3)),
    "concatenate": (
        lambda x: ops.concatenate([x, x], axis=1) + 0,
        lambda x: np.concatenate([x, x], axis=1),
    ),
    "stack": (lambda x: ops.stack([x, x]) + 0, lambda x: np.stack([x, x])),
    "stack behind": (lambda x: ops.stack([x, x], axis=2) + 0, lambda x: np.stack([x, x], 2)),
    "stack between": (lambda x: pl.stack([x, x], 1) + 0, lambda x: np.stack([x, x], 1)),
    "relu": (lambda x: ops.nn.relu(x - 3), lambda x: np.maximum(x - 3, 0)),
    "softmax": (
        lambda x: ops.nn.softmax(x, axis=0),
        lambda x: np.exp(x) / np.exp(x).sum(axis=0),
    ),
}


def _run(function: Callable[[Any], Any]) -> Any:
    graph = pl.Graph(pl.Target(tiles=4))
    x = graph.add_variable(pl.FLOAT, VALUES.shape, "x", mapping="linear", initial_value=VALUES)
    with graph.steps() as steps:
        y = ops.map(function(x))
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
    "np.kron": (lambda x: np.kron(x, x), "engine.read(t) returns the values after a run"),
}


@pytest.mark.parametrize("name", INSTEAD)
def test_functions_of_numpy_say_what_to_use(name: str) -> None:
    x = pl.Graph().add_variable(pl.FLOAT, (4, 6), "x")
    use, instead = INSTEAD[name]
    for operand in (x, x + 1):
        with pytest.raises(pl.ElementTypeError, match=f"^{name}: NumPy computes values") as caught:
            use(operand)
        assert (caught.value.fix, "out" in caught.value.found) == (instead, False)


def test_numpy_asks_for_shapes() -> None:
    x: Any = pl.Graph().add_variable(pl.FLOAT, (4, 6), "x")
    for each in (x, x + 1):
        assert (np.shape(each), np.ndim(each), np.size(each)) == ((4, 6), 2, 24)


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "both": (lambda x: ops.sum(x, 1, axis=0), "sum: dimensions are given twice.*dims=1 and axis=0"),
    "both of a method": (lambda x: x.sum(1, axis=0), "sum: dimensions are given twice"),
    "both of concat": (
        lambda x: ops.concatenate([x, x], dim=1, axis=0),
        "concat: dimensions are given",
    ),
    "both of stack": (lambda x: pl.stack([x, x], 1, axis=0), "stack: dimensions are given twice"),
    "both of concat, one by place": (
        lambda x: cast("Any", pl).concat([x, x], 1, axis=0),
        "concat: dimensions are given twice.*dim=1 and axis=0",
    ),
    "both of stack, the first": (lambda x: pl.stack([x, x], 0, axis=1), "stack: dimensions are"),
    "nothing": (lambda x: pl.stack([]), "stack of 0 tensors"),
    "one": (lambda x: pl.stack(x), r"one tensor, not of a list.*pl.stack\(\[x, y\]\)"),
    "no size": (lambda x: x.reshape(5, -1), r"no size fits.*24 elements.*other sizes is 5"),
    "two gaps": (lambda x: x.reshape(-1, -1), r"\(-1, -1\): 2 sizes are -1, but one may be"),
    "unlike": (lambda x: pl.stack([x, x[1:]]), r"shapes \(4, 6\) and \(3, 6\).*pl.concat"),
    "both of a view": (lambda x: x.slice(0, 1, 1, axis=0), "given twice.*dim=1 and axis=0"),
    "both of squeeze": (lambda x: x[:1].squeeze([0], axis=0), "given twice.*axis=0"),
    "no dimension": (lambda x: x.reverse(), "dim is None, not a whole number"),
    "concatenate": (
        lambda x: ops.concatenate([x + 1, x]),
        "concat: an expression is not a tensor.*store it first",
    ),
    "power of floats": (lambda x: x ^ 2, r"'\^': 'x' is FLOAT.*x \*\* 2 is a power"),
    "rows": (lambda x: x[ops.cast(x[0], pl.INT)], "ops.embedding.*ops.multi_slice"),
    "one row": (lambda x: x[ops.cast(x[0, 0], pl.INT)], "ops.dynamic_slice"),
    "list of rows": (lambda x: x[[0, 1]], r"pl.concat\(t.slices\(\[...\]\)\).*ops.embedding"),
    "array of rows": (lambda x: x[np.array([0, 1])], r"pl.concat\(t.slices.*ops.embedding"),
    "list of offsets": (
        lambda x: ops.dynamic_slice(x, [x[0, 0], x[0, 1]], [0, 1], [1, 1]),
        r"offset: list is not a tensor.*pl.stack\(\[i, j\]\)",
    ),
    "std": (lambda x: x.std(), r"a tensor has no 'std'.*ops.sqrt\(ops.variance\(x, dims\)\)"),
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
    "arange": (lambda x: vars(ops)["__getattr__"]("arange"), r"no ops.arange.*ops.iota"),
    "softmax": (lambda x: vars(ops)["__getattr__"]("softmax"), r"no ops.softmax.*ops.nn.softmax"),
    "zeros": (lambda x: getattr(pl, "zeros"), r"no pl.zeros.*graph.add_variable"),  # noqa: B009
    "sum of pl": (lambda x: getattr(pl, "sum"), r"poplite has no pl.sum.*ops.sum"),  # noqa: B009
}


@pytest.mark.parametrize("name", REFUSED)
def test_the_others_say_what_to_use(name: str) -> None:
    x = pl.Graph().add_variable(pl.FLOAT, (4, 6), "x")
    use, text = REFUSED[name]
    with pytest.raises(pl.PopliteError, match=f"(?s){text}"):
        use(x)


def test_a_name_that_nothing_has_is_an_attribute_error() -> None:
    x: Any = pl.Graph().add_variable(pl.FLOAT, (4, 6), "x")
    with pytest.raises(AttributeError, match="'Tensor' object has no attribute 'nothing'"):
        _ = x.nothing
    with pytest.raises(AttributeError, match="'Tensor' object has no attribute 'together'"):
        _ = x.together  # ops.together takes no tensor
    with pytest.raises(AttributeError, match="module 'poplite.ops' has no attribute 'nothing'"):
        vars(ops)["__getattr__"]("nothing")


@pytest.mark.parametrize(
    ("package", "name", "text"),
    [
        (pl, "foo", "no attribute 'foo'$"),
        (ops.nn, "foo", "no attribute 'foo'$"),
        (ops, "sofmax", r"'sofmax' \(did you mean 'ops.nn.softmax'\?\)"),
        (pl, "matmull", r"'matmull' \(did you mean 'ops.matmul'\?\)"),
        (ops, "summ", "'summ'$"),  # Python itself asks for ops.sum
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
        ("popops", "from poplite.compat import popops"),
    ],
)
def test_other_names_of_the_package_say_what_to_use(name: str, use: str) -> None:
    with pytest.raises(pl.AbsentMember, match=f"(?s)poplite has no pl.{name} .*try: {use}"):
        getattr(pl, name)


def test_every_function_of_an_operand_is_found_by_who_takes_it_for_a_method() -> None:
    x: Any = pl.Graph().add_variable(pl.FLOAT, (4, 6), "x")
    packages = (ops, ops.nn, ops.random, ops.linalg)
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
