"""`==` of tensors is a truth value for Python, and no operand: `ops.equal` compares elements."""

from __future__ import annotations

import copy
import ctypes
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np
import pytest

import poplite as pl
import poplite.named as ng
from helpers.depth import interpreted
from poplite import ops
from poplite.compat import popops
from poplite.compat.popops.expr import And, Const, Gt, _1

COMPARES = "{0}.{1}(a, b) compares elements"
EITHER = "{0}.equal(a, b) or {0}.not_equal(a, b), which compare elements"
MEANT = EITHER + "; where it is meant, Python's own `if` decides by it"


@contextmanager
def refused(what: str, fix: str) -> Iterator[None]:
    """Expect an ElementTypeError with words in its first line, and a remedy."""
    with pytest.raises(pl.ElementTypeError) as caught:
        yield
    assert what in caught.value.what
    assert caught.value.fix == fix


@pytest.fixture
def graph() -> pl.Graph:
    return pl.Graph(pl.Target(tiles=2))


def variables(graph: pl.Graph) -> list[Any]:
    """Untyped: checkers refuse most of what is tried."""
    n = graph.add_variable(pl.INT, (4,), "n", mapping="linear", initial_value=[0, 1, 2, 3])
    flags = graph.add_variable(pl.BOOL, (4,), "flags", mapping="linear", initial_value=False)
    return [n, flags, graph.add_variable(pl.BOOL, (), "flag", mapping=0, initial_value=False)]


class Holder(pl.Vertex):
    value: pl.State[pl.BOOL]
    out: pl.Output[pl.BOOL]

    def compute(self) -> None:
        self.out = self.value


VALUES = {
    "number": lambda n: 2,
    "bool": lambda n: True,
    "NumPy's number": lambda n: np.int32(2),
    "array": lambda n: np.arange(4),
    "list": lambda n: [0, 1, 2, 3],
    "range": lambda n: range(4),
    "set": lambda n: {1.0},
    "dictionary": lambda n: {},
    "generator": lambda n: (each for each in (0, 1, 2, 3)),
    "expression": lambda n: n + 1,
    "equality": lambda n: n == n[:],
}


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_a_tensor_is_not_compared_with_values(graph: pl.Graph, value: Callable[[Any], Any]) -> None:
    n, *_ = variables(graph)
    other = value(n)
    for compare in (lambda: n == other, lambda: other == n, lambda: n in [None, other]):
        with refused("'==' of a", COMPARES.format("ops", "equal")):
            compare()
    for compare in (lambda: n != other, lambda: other != n):
        with refused("'!=' of a", COMPARES.format("ops", "not_equal")):
            compare()


def test_equality_of_tensors_is_a_truth_value(graph: pl.Graph) -> None:
    n, flags, _ = variables(graph)
    same, changed = n.reshape((2, 2)).flatten(), n.reverse(0)
    assert n == same
    assert n != changed
    assert n in [flags, None, "n", same]
    assert [flags, same].index(n) == 1
    assert {n: "n"}[same] == "n"
    assert {n, same, changed} == {same, changed}
    truths = [n == same, n != same, n == changed, n != changed, n == None, n != None]  # noqa: E711
    assert truths == [True, False, False, True, False, True]
    assert {*truths} == {True, False}
    assert not any(isinstance(truth, bool) for truth in truths)
    assert repr(n == same) == "<same elements: True (not ops.equal)>"
    yes, no = np.array([True, False])
    assert [(n == same) == yes, yes == (n == same), (n == same) != no] == [True] * 3
    assert [(n == same) == no, no != (n != same), np.array(False) == (n == same)] == [False] * 3

    @dataclass
    class Layer:
        weight: pl.Tensor
        width: int

    assert Layer(n, 4) == Layer(same, 4)
    assert Layer(n, 4) != Layer(changed, 4)


def test_expressions_indices_and_named_tensors_are_alike(graph: pl.Graph) -> None:
    n, *_ = variables(graph)
    total: Any = n + 1
    x: Any = ng.placeholder([ng.make_axis(3, "H")], name="x")
    y: Any = ng.placeholder([ng.make_axis(3, "H")], name="y")
    assert total in [total]
    assert total == total
    assert x == x
    assert x != y
    assert [x, y].index(y) == 1
    with graph.steps(), ops.repeat(3) as i:
        index: Any = i
        assert index == index
        with refused("'==' of the index of a loop", COMPARES.format("ops", "equal")):
            _ = index == 3
    with refused("'==' of an expression", COMPARES.format("ops", "equal")):
        _ = total == total + 1
    for value in (2, np.arange(3), n, [1]):
        with pytest.raises(
            pl.ElementTypeError, match=r"named tensor(\n|.)*ng\.equal\(a, b\) compares"
        ):
            _ = x == value
    for value in (np.float32(2), np.array(2), np.arange(3)):
        with refused("'==' of a named tensor", COMPARES.format("ng", "equal")):
            _ = x == value
        with refused("'==' of a named tensor", COMPARES.format("ng", "equal")):
            _ = value == x
        with refused("'!=' of a named tensor", COMPARES.format("ng", "not_equal")):
            _ = value != x
    assert repr(x == y) == "<same elements: False (not ng.equal)>"
    uses: dict[str, Callable[[], object]] = {
        "where": lambda: ng.where(x == y, x, 0),
        "add": lambda: x + (x == y),
        "'*' of (a == b)": lambda: (x == y) * x,
        "constant": lambda: ng.constant(x == y),
        "v": lambda: ng.variable(x.axes, [x == y] * 3, name="v"),
        "np.logical_and": lambda: np.logical_and(True, x != y),
    }
    for what, use in uses.items():
        with refused(f"{what}: '==' of two tensors", EITHER.format("ng")):
            use()
    for use in (lambda: ng.where(True, x, 0), lambda: ng.logical_or(x > 0, False)):
        with refused("one truth value of Python's", MEANT.format("ng")):
            use()


USES: dict[str, Callable[[pl.Graph, Any, Any, Any, Any], object]] = {
    "assign": lambda g, n, flags, flag, e: ops.assign(flags, e),
    "map": lambda g, n, flags, flag, e: ops.map(e),
    "where": lambda g, n, flags, flag, e: ops.where(e, n, 0),
    "or": lambda g, n, flags, flag, e: e | (n > 2),
    "and": lambda g, n, flags, flag, e: (n > 2) & e,
    "two": lambda g, n, flags, flag, e: e ^ e,
    "not": lambda g, n, flags, flag, e: ~e,
    "plus": lambda g, n, flags, flag, e: 1 + e,
    "sum": lambda g, n, flags, flag, e: ops.sum(e),
    "logical": lambda g, n, flags, flag, e: ops.logical_and(e, flags),
    "fill": lambda g, n, flags, flag, e: ops.fill(flags, e),
    "one_hot": lambda g, n, flags, flag, e: ops.one_hot(e, 3),
    "Copy": lambda g, n, flags, flag, e: pl.Copy(e, flag),
    "If": lambda g, n, flags, flag, e: pl.If(e, pl.Sequence(), pl.Sequence()),
    "initial value": lambda g, n, flags, flag, e: g.set_initial_value(flag, e),
    "constant": lambda g, n, flags, flag, e: g.add_constant(pl.BOOL, (1,), [e]),
    "state": lambda g, n, flags, flag, e: g.add_vertex(
        g.add_compute_set("cs"), Holder, tile=0, value=e, out=flag
    ),
    "states": lambda g, n, flags, flag, e: g.add_vertices(
        g.add_compute_set("cs"), Holder, tile=[0], value=[e], out=flags[:1]
    ),
    "PrintTensor": lambda g, n, flags, flag, e: pl.PrintTensor(e),
    "titled": lambda g, n, flags, flag, e: pl.PrintTensor("equal", e),
    "write": lambda g, n, flags, flag, e: pl.Engine(g, pl.Sequence()).write(flag, e),
    "array": lambda g, n, flags, flag, e: np.array([e, e]),
    "int": lambda g, n, flags, flag, e: int(e),
    "len": lambda g, n, flags, flag, e: len(e),
    "index of it": lambda g, n, flags, flag, e: e[0],
    "loop over it": lambda g, n, flags, flag, e: [*e],
    "divmod": lambda g, n, flags, flag, e: divmod(e, 2),
    "NumPy": lambda g, n, flags, flag, e: np.array([True]) & e,
    "while": lambda g, n, flags, flag, e: ops.while_(e).__enter__(),
    "if": lambda g, n, flags, flag, e: ops.if_(lambda: e).__enter__(),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_operations_refuse_the_equality_of_tensors(
    graph: pl.Graph, use: Callable[..., Any]
) -> None:
    n, flags, flag = variables(graph)
    with graph.steps() as step:
        with refused("", EITHER.format("ops")):
            use(graph, n, flags, flag, n == n.reverse(0))
        assert not step.programs


CALLED = {
    "constant": ("'c': '=='", lambda g, n, flag, e: g.add_constant(pl.BOOL, (1,), [e], "c")),
    "write": (
        "engine.write to 'flag': '=='",
        lambda g, n, flag, e: pl.Engine(g, pl.Sequence()).write(flag, e),
    ),
    "state": (
        "vertex 0 of 'Holder' on tile 0: field 'value': '=='",
        lambda g, n, flag, e: g.add_vertex(
            g.add_compute_set("cs"), Holder, tile=0, value=e, out=flag
        ),
    ),
    "where": ("ops.where or ops.select: '=='", lambda g, n, flag, e: ops.where(e, n, 0)),
    "asarray": ("np.asarray: '=='", lambda g, n, flag, e: np.asarray(e)),
    "Repeat": (
        "Repeat: <same elements: False (not ops.equal)> times",
        lambda g, n, flag, e: pl.Repeat(e, pl.Sequence()),
    ),
    "index": (
        "indexed with Equality <same elements: False (not ops.equal)>",
        lambda g, n, flag, e: n[e],
    ),
}


@pytest.mark.parametrize(("what", "use"), CALLED.values(), ids=CALLED)
def test_refusals_name_the_call_and_what_compares_elements(
    graph: pl.Graph, what: str, use: Callable[..., Any]
) -> None:
    n, _, flag = variables(graph)
    with pytest.raises(pl.PopliteError) as caught:
        use(graph, n, flag, n == n.reverse(0))
    assert what in caught.value.what
    with pytest.raises(AttributeError, match=r"has no 'all': ops\.equal\(a, b\)"):
        (n == n).all()


def test_calls_by_numpy_are_at_the_users_line(graph: pl.Graph) -> None:
    n, *_ = variables(graph)
    x: Any = ng.placeholder([ng.make_axis(3, "H")], name="x")
    for value in (n, n + 1, x):
        with pytest.raises(pl.PopliteError, match=r"np\.(sum|add\.reduce)") as caught:
            np.sum(value)
        assert caught.value.at is not None
        assert caught.value.at.file == __file__


@pytest.mark.parametrize("truth", [True, np.False_])
@pytest.mark.parametrize("name", ["or", "and", "where", "logical", "while", "if"])
def test_python_truth_values_do_not_join_those_of_elements(
    graph: pl.Graph, name: str, truth: Any
) -> None:
    n, flags, flag = variables(graph)
    with (
        graph.steps(),
        refused("one truth value of Python's", MEANT.format("ops")),
    ):
        USES[name](graph, n, flags, flag, truth)


def test_elements_are_compared_by_ops_equal(graph: pl.Graph) -> None:
    n, flags, _ = variables(graph)
    k = graph.add_variable(pl.INT, (), "k", mapping=0, initial_value=9)
    with graph.steps() as step:
        ops.assign(flags, ops.equal(n, 2))
        chosen = ops.map(ops.where(ops.equal(n, 2) | (n > 2), n, 0))
        with ops.while_(ops.not_equal(k, 3) & (k < 10)):
            ops.assign(k, k - 1)
        filled = ops.map(ops.where(flags, True, flags))
        said = popops.map(graph, And(Gt(_1, Const(1)), Const(True)), [n], step)
    engine = pl.Engine(graph, step, **interpreted())
    engine.run()
    assert (
        engine.read(flags).tolist() == engine.read(filled).tolist() == [False, False, True, False]
    )
    assert [*engine.read(chosen).tolist(), int(engine.read(k))] == [0, 0, 2, 3, 3]
    assert engine.read(said).tolist() == [False, False, True, True]


def test_what_holds_no_numbers_is_unlike_by_the_same_kind_of_truth(graph: pl.Graph) -> None:
    n, *_ = variables(graph)
    flags = graph.add_variable(pl.BOOL, n.shape, "flags", mapping=0)
    for other in ("2", b"2", pl.INT, graph, ctypes.c_int(2)):
        equality: Any = n == other
        assert not equality
        with pytest.raises(pl.ElementTypeError, match=r"ops\.equal"):
            ops.assign(flags, equality, program=pl.Sequence())
    assert n == mock.ANY


def test_a_truth_value_is_copied_and_pickled(graph: pl.Graph) -> None:
    n, *_ = variables(graph)
    same: Any = n == n
    for made in (copy.copy(same), copy.deepcopy(same), pickle.loads(pickle.dumps(same))):
        assert made
        assert repr(made) == repr(same)


def test_a_field_of_a_vertex_is_not_compared_with_values(graph: pl.Graph) -> None:
    class Keep(pl.Vertex):
        x: pl.InOut[pl.INT]

        def compute(self) -> None:
            pass

    n = graph.add_variable(pl.INT, (), "kept", mapping=0)
    vertex: Any = graph.add_vertex(graph.add_compute_set("keep"), Keep, tile=0, x=n)
    assert vertex["x"] == vertex["x"]
    for other in (2, n, [1]):
        with pytest.raises(pl.ElementTypeError, match=r"a field of a vertex(.|\n)*ops\.equal"):
            _ = vertex["x"] != other
