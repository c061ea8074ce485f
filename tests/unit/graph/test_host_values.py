"""Host values turned into elements, and refused where they do not fit, are masked or too large."""

from __future__ import annotations

import copy
import tracemalloc
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import poplite as pl
import poplite.named as ng
from poplite import ops
from poplite.compat import poplin
from poplite.errors import ElementTypeError, SizeOverflowError
from poplite.expr.tree import Number
from poplite.graph.graph import Graph
from poplite.graph.host_values import ALWAYS_ALLOWED, element_array, scalar
from poplite.machine.target import Target
from poplite.types import BOOL, FLOAT, HALF, INT, UNSIGNED_INT

# -- values and their room -------------------------------------------------------------------------


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
        (FLOAT, ["a", 1], "strings, elements of float32"),
        (INT, [[1], [2, 3]], "lists of different lengths, elements of int32"),
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
    with pytest.raises(ElementTypeError, match=r"one INT is needed, not an array of shape \(2,\)"):
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
        graph.add_constant(pl.FLOAT, (ALWAYS_ALLOWED // 4 + 1,), 1.0)


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


# -- masked arrays ---------------------------------------------------------------------------------


MASKED: Any = np.ma.masked_array(np.array([1, 2, 3], np.float32), [False, True, False])
DEQUE: Any = deque([1.0, np.ma.masked, 3.0])
WHOLE: Any = np.ma.masked_array(np.array([0, 1, 2], np.uint32), [False, True, False])


class Scaled(pl.Vertex):
    by: pl.State[pl.FLOAT]
    all: pl.State[pl.Vector[pl.FLOAT]]
    out: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        self.out = self.by * self.all[0]


class Measured:
    """Of another library, and as an array it has a mask."""

    def __array__(self, dtype: object = None, copy: object = None) -> Any:
        return MASKED


def add(graph: pl.Graph, x: pl.Tensor, **fields: Any) -> None:
    graph.add_vertex(graph.add_compute_set("cs"), Scaled, tile=0, out=x[0], **fields)


def add_many(graph: pl.Graph, x: pl.Tensor, **fields: Any) -> None:
    given = {"tile": np.zeros(3, int), **fields}
    graph.add_vertices(graph.add_compute_set("cs"), Scaled, out=x, **given)


def engine(graph: pl.Graph, x: pl.Tensor) -> pl.Engine:
    graph.create_host_write("x", x)
    return pl.Engine(graph, pl.Sequence())


def stream(graph: pl.Graph, x: pl.Tensor) -> None:
    made = graph.add_host_to_device_fifo("s", pl.FLOAT, 3)
    pl.Engine(graph, pl.Copy(made, x)).connect_stream("s", MASKED)


def remote(graph: pl.Graph, x: pl.Tensor) -> None:
    buffer = graph.add_remote_buffer("r", pl.FLOAT, 3)
    pl.Engine(graph, pl.Copy(buffer, x)).copy_to_remote_buffer(MASKED, "r")


def feed(axes: bool) -> None:
    axis = ng.make_axis(3, "H")
    x = ng.placeholder([axis], name="x")
    ng.make_transformer().computation(x + 1, x)((MASKED, [axis]) if axes else MASKED)


DOORS: dict[str, Callable[[pl.Graph, Any], object]] = {
    "write": lambda g, x: engine(g, x).write(x, MASKED),
    "write by name": lambda g, x: engine(g, x).write("x", MASKED),
    "writeTensor": lambda g, x: engine(g, x).writeTensor("x", MASKED),
    "rows": lambda g, x: engine(g, x).write(x.reshape((1, 3)), [MASKED]),
    "element": lambda g, x: engine(g, x).write(x[0], np.ma.masked),
    "variable": lambda g, x: g.add_variable(pl.FLOAT, (3,), mapping=0, initial_value=MASKED),
    "initial value": lambda g, x: g.set_initial_value(x, MASKED),
    "constant": lambda g, x: g.add_constant(pl.FLOAT, (3,), MASKED),
    "state": lambda g, x: add(g, x, by=1.0, all=MASKED),
    "states of lists": lambda g, x: add_many(g, x, by=1.0, all=[[MASKED]]),
    "tiles": lambda g, x: add_many(g, x, by=1.0, all=[[1.0]] * 3, tile=WHOLE),
    "tiles in a list": lambda g, x: add_many(g, x, by=1.0, all=[[1.0]] * 3, tile=list(WHOLE)),
    "mapping": lambda g, x: pl.TileMapping(1, WHOLE, np.ones(3, int)),
    "weights": lambda g, x: pl.map_by_weights(g, x, MASKED),
    "virtual graph": lambda g, x: g.create_virtual_graph(WHOLE),
    "listed tiles": lambda g, x: g.create_virtual_graph(list(WHOLE)),
    "slices": lambda g, x: x.slices(WHOLE),
    "lists of lists": lambda g, x: engine(g, x).write(x.reshape((1, 1, 3)), [[MASKED]]),
    "tuples in lists": lambda g, x: g.add_constant(pl.FLOAT, (1, 1, 1, 3), [([MASKED],)]),
    "half bits": lambda g, x: pl.copy_float_to_device_half(
        pl.Target(), [MASKED], np.zeros(3, np.uint16)
    ),
    "number": lambda g, x: add(g, x, by=np.ma.masked, all=[1.0]),
    "states": lambda g, x: add_many(g, x, by=MASKED, all=[[1.0]] * 3),
    "stream": stream,
    "remote buffer": remote,
    "deque": lambda g, x: engine(g, x).write(x, DEQUE),
    "what makes one": lambda g, x: engine(g, x).write(x, Measured()),
    "list of what makes one": lambda g, x: engine(g, x).write(x, [Measured()]),
    "named constant": lambda g, x: ng.constant(MASKED, [ng.make_axis(3, "H")]),
    "named value": lambda g, x: feed(axes=False),
    "named value with axes": lambda g, x: feed(axes=True),
    "conversion": lambda g, x: pl.convert_to_quarter(MASKED, pl.QuarterMetadata("F143")),
    "half": lambda g, x: pl.copy_float_to_device_half(pl.Target(), MASKED, np.zeros(3, np.uint16)),
    "pattern": lambda g, x: pl.ops.SparsePattern((2, 3), [0, 1, 3], WHOLE),
}


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
def test_a_masked_array_is_refused(door: Callable[[pl.Graph, Any], object]) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.FLOAT, (3,), "x", mapping=0)
    with pytest.raises(pl.ElementTypeError, match="a masked array is not supported") as e:
        door(graph, x)
    assert e.value.found in ("1 of 3 elements masked", "1 of 1 element masked")
    assert e.value.fix == "pass array.filled(0), with the number that replaces masked elements"


def test_a_filled_one_is_not() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.FLOAT, (3,), "x", mapping=0)
    made = engine(graph, x)
    made.write(x, MASKED.filled(-1))
    assert made.read(x).tolist() == [1, -1, 3]


# -- whole numbers of thousands of digits ----------------------------------------------------------


CALLS: dict[str, Callable[[pl.Tensor, int], object]] = {
    "tiles": lambda _, n: pl.Target(tiles=n),
    "ipus": lambda _, n: pl.Target(ipus=n),
    "costs": lambda _, n: pl.Target(costs={"sync_stagger_cycles": n}),
    "repeat": lambda _, n: pl.Repeat(n, pl.Sequence()),
    "variable": lambda x, n: x.graph.add_variable(pl.FLOAT, (n,)),
    "index": lambda x, n: x[n],
    "slice": lambda x, n: x.slice(0, n, 0),
    "broadcast": lambda x, n: x.broadcast(n, 0),
    "reshape": lambda x, n: x.reshape((2, n)),
    "mapping": lambda x, n: x.graph.set_tile_mapping(x, n),
}


@pytest.mark.parametrize("number", [10**5000, -(10**5000), 10**400], ids=["5000", "-5000", "400"])
@pytest.mark.parametrize("call", CALLS)
def test_very_large_numbers_are_refused_in_short_messages(call: str, number: int) -> None:
    x = pl.Graph(pl.Target(tiles=4)).add_variable(pl.FLOAT, (8,), "x", mapping=0)
    with pytest.raises(pl.PopliteError) as caught:
        CALLS[call](x, number)
    assert len(str(caught.value)) < 500


# -- refused where it is asked for -----------------------------------------------------------------


class Rows(pl.Vertex):
    """A list of edges."""

    x: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    out: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        """Write the first element."""
        self.out = self.x[0][0]


def vertex() -> pl.VertexInstance:
    graph = pl.Graph(pl.Target(tiles=2))
    return graph.add_vertex(graph.add_compute_set("rows"), Rows, tile=0)


def test_rows_of_a_list_field_end_at_its_size() -> None:
    v = vertex()
    v.graph.set_field_size(v["x"], 2)
    assert [row.index for row in v["x"]] == [0, 1]
    with pytest.raises(pl.TensorIndexError, match="no row 9"):
        v["x"][9]


def test_rows_of_a_list_field_without_a_size_are_not_iterated_over() -> None:
    v = vertex()
    with pytest.raises(pl.NoSizeSpecified):
        list(v["x"])
    with pytest.raises(pl.TensorIndexError, match="not a list of edges"):
        list(v["out"])


def test_programs_that_grow_functions_and_vertices_are_not_copied() -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    mode = graph.add_variable(pl.INT, (), "mode")
    owners = pl.Sequence(), pl.Switch(mode), graph.add_function(pl.Sequence()), vertex()
    for owner in owners:
        with pytest.raises(pl.CopyError):
            copy.copy(owner)


def test_a_function_that_calls_one_of_another_graph_is_refused() -> None:
    graph, other = pl.Graph(pl.Target(tiles=2)), pl.Graph(pl.Target(tiles=2))
    call = pl.Call(other.add_function(pl.Sequence(), "f"))
    with pytest.raises(pl.ControlProgramError, match="of another graph"):
        graph.add_function(pl.Sequence(call))
    other.add_function(call)


def test_a_tuple_for_the_list_of_aliases_is_refused() -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.FLOAT, (4,), "x")
    aliases: Any = (1,)
    with pytest.raises(pl.ElementTypeError, match="neither a bool nor a list"):
        graph.sorted_contiguous_regions(x, None, True, aliases)


def test_a_repeat_says_the_range_of_its_number() -> None:
    with pytest.raises(pl.ControlProgramError, match=r"0 to 2\*\*32 - 1 is needed"):
        pl.Repeat(2**32, pl.Sequence())


class OfAnotherLibrary:
    """An array that NumPy reads through DLPack alone."""

    def __init__(self, values: np.ndarray[Any, Any]) -> None:
        self.values = values

    def __dlpack__(self, **how: Any) -> Any:
        return self.values.__dlpack__(**how)

    def __dlpack_device__(self) -> Any:
        return self.values.__dlpack_device__()


def test_arrays_come_through_dlpack() -> None:
    source: Any = OfAnotherLibrary(np.arange(6, dtype=np.float32).reshape(2, 3).T)
    stored = element_array(pl.HALF, source, what="'a'")
    assert stored.dtype == np.float16
    assert stored.tolist() == [[0, 3], [1, 4], [2, 5]]
    with pytest.raises(pl.ElementTypeError, match="cannot be stored as INT"):
        element_array(pl.INT, source, what="'a'")


class OnAnotherDevice(OfAnotherLibrary):
    """An array whose elements are not in the memory of the host."""

    def __dlpack__(self, **how: Any) -> Any:
        raise BufferError("the array is on device 0")


class WithoutValues:
    """What a library does not convert to a NumPy array."""

    def __array__(self, *how: Any, **options: Any) -> Any:
        raise RuntimeError("it needs a gradient")


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (OnAnotherDevice(np.zeros(2)), "the array is on device 0"),
        (WithoutValues(), "it needs a gradient"),
    ],
)
def test_an_array_that_numpy_cannot_read_is_refused(source: Any, reason: str) -> None:
    with pytest.raises(pl.ElementTypeError, match="'a': NumPy cannot read the") as caught:
        element_array(pl.FLOAT, source, what="'a'")
    assert caught.value.found == reason
    assert "NumPy array first" in caught.value.fix
