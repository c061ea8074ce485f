"""Host values turned into elements, and refused where no tile has room for them."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest

import poplite as pl
from poplite import ops
from poplite.compat import poplin
from poplite.errors import ElementTypeError, SizeOverflowError
from poplite.expr.tree import Number
from poplite.graph.graph import Graph
from poplite.graph.storage.host_values import ALWAYS_HELD, element_array, scalar
from poplite.machine.target import Target
from poplite.types import BOOL, FLOAT, HALF, INT, UNSIGNED_INT


def test_integers_become_floats_and_bools_become_integers() -> None:
    assert element_array(FLOAT, [1, 2], what="'a'").dtype == np.float32
    assert element_array(INT, np.array([True, False]), what="'a'").tolist() == [1, 0]
    assert element_array(UNSIGNED_INT, [2**32 - 1], what="'a'").tolist() == [2**32 - 1]
    assert element_array(INT, [], what="'a'").shape == (0,)


def test_integers_past_64_bits_become_floats() -> None:
    """NumPy keeps them as objects; FLOAT holds them up to 3.4e38."""
    assert element_array(FLOAT, 2**70, what="'a'").item() == 2.0**70
    assert element_array(FLOAT, [2**70, 0.5, True], what="'a'").tolist() == [2.0**70, 0.5, 1]
    with pytest.raises(ElementTypeError, match="'a': 1180591620717411303424 cannot be stored as B"):
        element_array(BOOL, 2**70, what="'a'")


@pytest.mark.parametrize("power", [60, 62, 70, 100])
@pytest.mark.parametrize("sign", [1, -1])
def test_integers_beyond_doubles_are_rounded_once(power: int, sign: int) -> None:
    """By way of a double all three would be halfway between two numbers of FLOAT."""
    low, high = sign * 2**power, sign * (2**power + 2 ** (power - 23))
    halfway = sign * (2**power + 2 ** (power - 24))
    for number, nearest in ((halfway - sign, low), (halfway, low), (halfway + sign, high)):
        assert element_array(FLOAT, number, what="'a'").item() == nearest
        assert element_array(FLOAT, [number, 2**70], what="'a'")[0] == nearest
        assert scalar(FLOAT, number, what="'a'") == nearest
        graph = Graph(Target(tiles=1))
        x = graph.add_variable(FLOAT, (), "x", mapping=0)
        leaf = (x + number).operands[1]
        assert isinstance(leaf, Number)
        assert leaf.value == nearest


def test_the_result_is_a_copy() -> None:
    host = np.zeros(2, np.float32)
    stored = element_array(FLOAT, host, what="'a'")
    host[:] = 1
    assert stored.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("kind", "value"), [(INT, 0.5), (UNSIGNED_INT, [1.0]), (BOOL, 1), (INT, "x"), (FLOAT, None)]
)
def test_values_of_another_kind(kind: type, value: object) -> None:
    with pytest.raises(ElementTypeError, match=f"cannot be stored as {kind.__name__}"):
        element_array(kind, value, what="'a'")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "value", "found"),
    [
        (INT, [2**70, 1.5], "1.5 of type float, elements of int32"),
        (BOOL, 2**70, f"{2**70} of type int, elements of bool"),
        (BOOL, [True, 2**70], f"{2**70} of type int, elements of bool"),
        (FLOAT, [None, 1], "None of type NoneType, elements of float32"),
        (FLOAT, ["a", 1], "values of text, elements of float32"),
        (INT, [[1], [2, 3]], "lists of several lengths, elements of int32"),
        (INT, np.array([1, 2], object), "values of object, elements of int32"),
    ],
)
def test_values_that_numpy_keeps_as_objects(kind: type, value: object, found: str) -> None:
    with pytest.raises(ElementTypeError, match="'a': .* cannot be stored as") as caught:
        element_array(kind, value, what="'a'")  # type: ignore[arg-type]
    assert caught.value.found == found


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        (INT, [0, 2**31], "2147483648 does not fit INT"),
        (UNSIGNED_INT, -1, "-1 does not fit UNSIGNED_INT"),
        (INT, 2**80, f"{2**80} does not fit INT"),
        (INT, [0, -(2**80)], f"-{2**80} does not fit INT"),
        (FLOAT, [1e39], "1e\\+39 does not fit FLOAT"),
        (HALF, [1, 2**70], f"{2**70} does not fit HALF"),
        (FLOAT, -(2**1030), f"-{2**1030} does not fit FLOAT"),
    ],
)
def test_values_out_of_range(kind: type, value: float, message: str) -> None:
    with pytest.raises(SizeOverflowError, match=f"'a': {message}"):
        element_array(kind, value, what="'a'")


def test_infinities_and_nans_are_values() -> None:
    assert np.isinf(element_array(FLOAT, [np.inf], what="'a'")).all()
    assert np.isnan(scalar(FLOAT, float("nan"), what="'a'"))


def test_scalars_are_rounded_to_what_is_stored() -> None:
    assert scalar(FLOAT, 0.1, what="'a'") == float(np.float32(0.1))
    assert scalar(FLOAT, np.float64(0.1), what="'a'") == float(np.float32(0.1))
    assert scalar(INT, np.int64(7), what="'a'") == 7
    assert scalar(BOOL, True, what="'a'") is True
    with pytest.raises(SizeOverflowError, match="1e\\+39 does not fit FLOAT"):
        scalar(FLOAT, 1e39, what="'a'")
    with pytest.raises(ElementTypeError, match=r"an array of shape \(2,\) where one INT"):
        scalar(INT, [1, 2], what="'a'")  # type: ignore[arg-type]


Call = Callable[[pl.Graph], object]

HUGE: dict[str, tuple[Call, str]] = {
    "iota": (
        lambda graph: ops.map(ops.iota(2**40, pl.LONGLONG)),
        "ops.map: 1,099,511,627,776 values of LONGLONG take 8,796,093,022,208 B",
    ),
    "iota in a reduction": (
        lambda graph: ops.map(ops.sum(ops.iota(2**40, pl.LONGLONG)), name="total"),
        "'total': 1,099,511,627,776 values of LONGLONG take 8,796,093,022,208 B",
    ),
    "one_hot": (
        lambda graph: ops.one_hot(graph.add_variable(pl.INT, (4,), mapping=0), 2**31 - 1),
        "ops.one_hot, depth: 2,147,483,647 values of UNSIGNED_INT take 8,589,934,588 B",
    ),
    "triangle": (
        lambda graph: ops.map(
            ops.tril(graph.add_variable(pl.FLOAT, (2**30, 1), mapping=0)), name="lower"
        ),
        "'lower': 1,073,741,824 values of INT take 4,294,967,296 B",
    ),
    "constant": (
        lambda graph: graph.add_constant(pl.INT, (2**40,), 0, "zeros"),
        "'zeros': 1,099,511,627,776 values of INT take 4,398,046,511,104 B",
    ),
    "initial value": (
        lambda graph: graph.add_variable(pl.INT, (2**40,), "x", initial_value=0),
        "'x': 1,099,511,627,776 values of INT take 4,398,046,511,104 B",
    ),
    "linspace": (
        lambda graph: poplin.linspace(graph, pl.FLOAT, 0.0, 1.0, 2**40),
        "poplin.linspace, count: 1,099,511,627,776 values of FLOAT take 4,398,046,511,104 B",
    ),
}


@pytest.mark.parametrize("name", HUGE)
def test_what_no_tile_holds_is_refused_before_it_is_made(name: str) -> None:
    graph = pl.Graph(pl.Target(tiles=1472))
    call, what = HUGE[name]
    tracemalloc.start()
    with pytest.raises(pl.GraphMemoryAllocationError) as caught, graph.steps():
        call(graph)
    assert tracemalloc.get_traced_memory()[1] < 1 << 22
    tracemalloc.stop()
    assert caught.value.what == f"{what}, but 1,472 tiles together have 940,572,672 B"
    assert "a tile has 638,976 B" in caught.value.found
    assert caught.value.at is not None
    assert caught.value.at.file == __file__
    assert not any(variable.constant for variable in graph.variables)


def test_the_host_holds_some_more_than_few_tiles_do() -> None:
    graph = pl.Graph(pl.Target(tiles=1, tile_memory_bytes=1024))
    made = graph.add_constant(pl.FLOAT, (1024,), 1.0)
    assert made.num_elements * 4 > graph.target.memory_bytes
    with pytest.raises(pl.GraphMemoryAllocationError, match="1 tile has 1,024 B"):
        graph.add_constant(pl.FLOAT, (ALWAYS_HELD // 4 + 1,), 1.0)


def test_clones_are_variables_each_so_that_too_many_are_refused() -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.INT, (4,), "x")
    keeps = pl.TensorCloneMethod.PRESERVE_ORDER_AND_ALIASES
    for each in pl.TensorCloneDuplicationMethod:
        with pytest.raises(
            pl.GraphMemoryAllocationError, match=r"clone_n of 'x': 4,398,046,511,104 values of INT"
        ):
            graph.clone_n(x, 2**40, method=keeps, duplication=each)
    assert graph.clone_n(x, 3).shape == (3, 4)
    assert len(graph.variables) == 4
