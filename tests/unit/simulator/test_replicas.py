"""Replicated graphs: what a replica is, what it holds at first, what the host sees of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import poplite as pl
from helpers.running import both_forms


def replicated(replicas: int, tiles: int = 4) -> pl.Graph:
    machine = pl.Target(tiles=replicas * tiles, ipus=replicas)
    return pl.Graph(machine, replication_factor=replicas)


def test_a_graph_describes_one_replica() -> None:
    graph = pl.Graph(pl.Target(tiles=24, ipus=6), replication_factor=3)
    assert (graph.target.tiles, graph.target.ipus, graph.replication_factor) == (8, 2, 3)
    assert graph.getReplicationFactor() == 3
    assert repr(graph).startswith("<Graph 8 tiles in each of 3 replicas, 0 variables")
    x = graph.add_variable(pl.FLOAT, (16,), "x", mapping="linear", initial_value=0)
    assert graph.tile_mapping(x)[7] == [(14, 16)]
    with pytest.raises(pl.InvalidTileMapping, match="tile 8, but the graph has 8 tiles"):
        graph.set_tile_mapping(x, 8)
    engine = pl.Engine(graph, pl.Sequence())
    assert repr(engine).startswith("<Engine 1 program on 8 tiles in each of 3 replicas")


def test_a_graph_has_one_replica_by_default() -> None:
    graph = pl.Graph(pl.Target(tiles=4, ipus=2))
    assert (graph.replication_factor, graph.target.ipus) == (1, 2)
    assert repr(graph).startswith("<Graph 4 tiles, 0 variables")


@pytest.mark.parametrize("factor", [0, -1, 65_537, 1.5, 2.0, True, "2", None, [2]])
def test_a_factor_that_is_none(factor: Any) -> None:
    message = "is not a whole number from 1 to 65,536"
    with pytest.raises(pl.GraphReplicationError, match=message) as caught:
        pl.Graph(pl.Target(tiles=4, ipus=2), replication_factor=factor)
    assert f"replication_factor={factor!r}" in str(caught.value)
    assert caught.value.poplar == "graph_replication_error"


@pytest.mark.parametrize(("ipus", "factor", "needed"), [(1, 2, 2), (3, 2, 4), (2, 4, 4), (4, 3, 6)])
def test_a_machine_that_cannot_be_divided(ipus: int, factor: int, needed: int) -> None:
    target = pl.Target(tiles=5 * ipus, ipus=ipus)
    plural = "IPU" if ipus == 1 else "IPUs"
    message = f"{ipus} {plural} cannot be divided among {factor} replicas"
    with pytest.raises(pl.GraphReplicationError, match=message) as caught:
        pl.Graph(target, replication_factor=factor)
    assert repr(target) in caught.value.found
    tried: pl.Graph = eval(caught.value.fix, {"Graph": pl.Graph, "Target": pl.Target})
    assert (tried.target.ipus, tried.target.tiles_per_ipu) == (needed // factor, 5)


# -- what replicas hold at first -------------------------------------------------------------------


@both_forms
def test_the_replication_index_is_a_constant_of_each_replica(interpret: bool) -> None:
    graph = replicated(3)
    index = graph.add_replication_index_constant("which", mapping=1)
    copy = graph.add_variable(pl.UNSIGNED_INT, (2,), mapping=0, initial_value=0)
    assert (index.name, index.shape, index.element_type) == ("which", (), pl.UNSIGNED_INT)
    assert index.contains_constant()
    assert index.constant_value() is None
    assert graph.add_constant(pl.UNSIGNED_INT, (), 5).constant_value() == 5
    twice = pl.Copy(index.expand([0]).broadcast(2, 0), copy)
    engine = pl.Engine(graph, twice, interpret=interpret)
    engine.run()
    assert engine.read(copy).tolist() == [[0, 0], [1, 1], [2, 2]]
    assert engine.read(index).tolist() == [0, 1, 2]
    with pytest.raises(pl.GraphConnectionError, match="engine.write to 'which': the tensor"):
        engine.write(index, 7)
    with pytest.raises(pl.GraphConnectionError, match="the destination"):
        pl.Copy(copy[0], index)
    with pytest.raises(pl.GraphConnectionError, match="'which': an initial value cannot be set"):
        graph.set_initial_value(index, {1: 7})


def test_the_replication_index_of_a_graph_that_is_not_replicated_is_0() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    index = graph.add_replication_index_constant(mapping=0)
    assert pl.Engine(graph, pl.Sequence()).read(index) == 0


def test_initial_values_of_replicas() -> None:
    graph = replicated(3)
    x = graph.add_variable(pl.INT, (4,), "x", mapping=0, initial_value=[1, 2, 3, 4])
    y = graph.add_variable(pl.FLOAT, (2, 2), "y", mapping=0, initial_value=0)
    graph.set_initial_value(x[::2], {2: [10, 20], 0: 7})
    graph.set_initial_value(x[3], 9)  # of all replicas, those with values of their own too
    graph.set_initial_value(y, {1: [[1, 2], [3, 4]]})
    graph.set_initial_value(pl.concat([x[1:2], x[2:3]]), {1: [5, 6]})
    first, second = (pl.Engine(graph, pl.Sequence()) for _ in range(2))
    first.write(x, 0)
    for engine in (second, pl.Engine(graph, pl.Sequence(), interpret=True)):
        assert engine.read(x).tolist() == [[7, 2, 7, 9], [1, 5, 6, 9], [10, 2, 20, 9]]
        assert engine.read(y).tolist() == [[[0, 0], [0, 0]], [[1, 2], [3, 4]], [[0, 0], [0, 0]]]
    graph.set_initial_value(x, 3)
    assert pl.Engine(graph, pl.Sequence()).read(x).tolist() == 3 * [[3, 3, 3, 3]]
    assert second.read(x, replica=1).tolist() == [1, 5, 6, 9]


def test_initial_values_of_replicas_given_with_the_variable() -> None:
    graph = replicated(2)
    x = graph.add_variable(pl.INT, (2,), "x", mapping=0, initial_value={0: 2, 1: [3, 4]})
    assert pl.Engine(graph, pl.Sequence()).read(x).tolist() == [[2, 2], [3, 4]]
    with pytest.raises(pl.GraphReplicationError, match="there is no replica 2"):
        graph.add_variable(pl.INT, (2,), "y", initial_value={2: 0})
    assert [variable.name for variable in graph.variables] == ["x"]


def test_state_is_the_same_in_all_replicas() -> None:
    class Held(pl.Vertex):
        n: pl.State[pl.INT]
        x: pl.Output[pl.INT]

        def compute(self) -> None:
            self.x = self.n

    graph = replicated(2)
    vertex = graph.add_vertex(graph.add_compute_set(), Held, tile=0)
    with pytest.raises(pl.ElementTypeError, match="{0: 1, 1: 2} cannot be stored as INT"):
        graph.set_initial_value(vertex["n"], {0: 1, 1: 2})


def test_initial_values_that_cannot_be() -> None:
    graph = replicated(2)
    x = graph.add_variable(pl.INT, (2,), "x", mapping=0, initial_value=0)
    for key, shown in ((2, "2"), (-1, "-1"), ("0", "'0'"), (True, "True"), (0.5, "0.5")):
        with pytest.raises(
            pl.GraphReplicationError,
            match=f"initial value of 'x': there is no replica {shown}(.|\n)*2 replicas: 0 to 1",
        ):
            graph.set_initial_value(x, {key: 1})  # type: ignore[dict-item]
    with pytest.raises(pl.GraphReplicationError, match="'x': the dictionary contains no replicas"):
        graph.set_initial_value(x, {})
    with pytest.raises(pl.TensorCreationError, match=r"'x': 3 values of shape \[3\] for 2 elem"):
        graph.set_initial_value(x, {0: [1, 2], 1: [1, 2, 3]})
    with pytest.raises(pl.SizeOverflowError, match="2147483648 does not fit INT"):
        graph.set_initial_value(x, {0: 1, 1: 2**31})
    with pytest.raises(pl.ElementTypeError, match="cannot be stored as INT"):
        graph.set_initial_value(x, {0: 1, 1: 0.5})
    assert not pl.Engine(graph, pl.Sequence()).read(x).any()  # nothing was set
    single = pl.Graph(pl.Target(tiles=1))
    y = single.add_variable(pl.INT, (), "y", mapping=0, initial_value=0)
    single.set_initial_value(y, {0: 4})
    with pytest.raises(pl.GraphReplicationError, match="no replica 1(.|\n)*1 replica: 0"):
        single.set_initial_value(y, {1: 5})
    assert pl.Engine(single, pl.Sequence()).read(y) == 4


def test_quarters_follow_the_metadata_of_their_replica() -> None:
    graph = replicated(2)
    metadata = graph.add_variable(pl.QUARTER_METADATA, (), "m", mapping=0)
    coarse, fine = pl.QuarterMetadata("F152", scale=2), pl.QuarterMetadata("F143", scale=-3)
    graph.set_initial_value(metadata, {0: coarse.to_byte(), 1: fine.to_byte()})
    x = graph.add_variable(pl.QUARTER, (3,), "x", mapping=0, metadata=metadata)
    graph.set_initial_value(x, [0.5, 1, 2])
    graph.set_initial_value(x[0], {1: 1.25})
    engine = pl.Engine(graph, pl.Sequence())
    assert engine.read(x).tolist() == [[0.5, 1, 2], [1.25, 1, 2]]
    codes = engine.read(x.reinterpret(pl.UNSIGNED_CHAR))
    assert codes[0, 1] != codes[1, 1]
    engine.write(x, [1, 0.5, 4])
    engine.write(x[1], [2, 1.5])
    assert engine.read(x).tolist() == [[1, 2, 4], [1, 1.5, 4]]


# -- the host --------------------------------------------------------------------------------------


@both_forms
def test_the_host_writes_all_replicas_or_each_or_one(interpret: bool) -> None:
    graph = replicated(3)
    x = graph.add_variable(pl.FLOAT, (2, 2), "x", mapping=0, initial_value=0)
    n = graph.add_variable(pl.INT, (), "n", mapping=0, initial_value=0)
    engine = pl.Engine(graph, pl.Sequence(), interpret=interpret)
    engine.write(x, [[1, 2], [3, 4]])
    assert engine.read(x).tolist() == 3 * [[[1, 2], [3, 4]]]
    each = np.arange(12, dtype=np.float32).reshape(3, 2, 2)
    engine.write(x, each)
    np.testing.assert_array_equal(engine.read(x), each)
    engine.write(x.T[0], -1, replica=1)
    engine.write(pl.concat([x[0], x[1]])[::3], [[8, 9], [10, 11], [12, 13]])
    assert engine.read(x).tolist() == [
        [[8, 1], [2, 9]],
        [[10, 5], [-1, 11]],
        [[12, 9], [10, 13]],
    ]
    engine.write(n, [4, 5, 6])
    engine.writeTensor(n, 7, replica=2)
    assert engine.read(n).tolist() == [4, 5, 7]
    assert engine.readTensor(n, replica=1) == 5
    assert engine.read(x, replica=0).shape == (2, 2)
    engine.write(x, np.zeros((2, 2)), replica=0)
    assert engine.read(x[0]).tolist() == [[0, 0], [10, 5], [12, 9]]


def test_an_engine_without_replicas_knows_replica_0_only() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.INT, (1,), "x", mapping=0, initial_value=0)
    engine = pl.Engine(graph, pl.Sequence())
    engine.write(x, [3], replica=0)
    assert engine.read(x, replica=0).tolist() == [3]
    with pytest.raises(pl.GraphReplicationError, match="engine.read of 'x': there is no replica 1"):
        engine.read(x, replica=1)
    with pytest.raises(pl.TensorCreationError, match=r"shape \(1,\); found \(1, 1"):
        engine.write(x, [[3]])


def no_number(value: Any) -> Any:
    return value


BAD_WRITES: tuple[tuple[Callable[[pl.Engine, pl.Tensor], Any], type[Exception], str], ...] = (
    (lambda e, x: e.write(x, 0, replica=2), pl.GraphReplicationError, "write to 'x': .* replica 2"),
    (lambda e, x: e.write(x, 0, replica=-1), pl.GraphReplicationError, "no replica -1"),
    (lambda e, x: e.write(x, 0, replica=True), pl.GraphReplicationError, "no replica True"),
    (lambda e, x: e.read(x, replica=no_number("a")), pl.GraphReplicationError, "no replica 'a'"),
    (lambda e, x: e.read(x, replica=no_number(1.0)), pl.GraphReplicationError, "no replica 1.0"),
    (
        lambda e, x: e.write(x, np.zeros((3, 4), np.int32)),
        pl.TensorCreationError,
        r"shape \(4,\); found \(3, 4\)(.|\n)*or shape \(2, 4\), with values for each",
    ),
    (
        lambda e, x: e.write(x, np.zeros((2, 4), np.int32), replica=1),
        pl.TensorCreationError,
        r"shape \(4,\); found \(2, 4\)",
    ),
    (lambda e, x: e.write(x, [0.5]), pl.ElementTypeError, "cannot be stored as INT"),
)


@pytest.mark.parametrize(("call", "error", "message"), BAD_WRITES)
def test_calls_of_the_host_that_cannot_be(
    call: Callable[[pl.Engine, pl.Tensor], Any], error: type[Exception], message: str
) -> None:
    graph = replicated(2)
    x = graph.add_variable(pl.INT, (4,), "x", mapping=0, initial_value=1)
    engine = pl.Engine(graph, pl.Sequence())
    with pytest.raises(error, match=message):
        call(engine, x)
    assert engine.read(x).tolist() == 2 * [[1, 1, 1, 1]]


def test_memory_that_no_computer_has() -> None:
    graph = pl.Graph(pl.Target(tiles=2**16, ipus=2**16), replication_factor=2**16)
    graph.add_variable(pl.FLOAT, (2**50,), "x", mapping=0)
    with pytest.raises(pl.SizeOverflowError, match=r"cannot allocate [\d,]+ B for") as caught:
        pl.Engine(graph, pl.Sequence(), options={"debug.allowOutOfMemory": True})
    assert "for each of 65,536 replicas" in caught.value.found


# -- streams, remote buffers, host functions and handles of replicated graphs ----------------------


Ints = npt.NDArray[np.int32]


class Bench:
    """A graph of two replicas with a block of three numbers in each."""

    def __init__(self, replicas: int = 2) -> None:
        machine = pl.Target(tiles=2 * replicas, ipus=replicas)
        self.graph = pl.Graph(machine, replication_factor=replicas)
        self.index = self.graph.add_replication_index_constant("index", mapping=0)
        self.x = self.graph.add_variable(pl.INT, (3,), "x", mapping=0, initial_value=0)
        self.y = self.graph.add_variable(pl.INT, (6,), "y", mapping="linear", initial_value=0)


@both_forms
def test_each_replica_takes_the_next_block_of_an_array(interpret: bool) -> None:
    bench = Bench(3)
    stream = bench.graph.add_host_to_device_fifo("in", pl.INT, 3)
    back = bench.graph.add_device_to_host_fifo("out", pl.INT, 3)
    steps = pl.Sequence(pl.Copy(stream, bench.x), pl.Copy(bench.x, back))
    engine = pl.Engine(bench.graph, pl.Repeat(2, steps), interpret=interpret)
    given = np.arange(18, dtype=np.int32).reshape(6, 3)
    taken = np.zeros_like(given)
    engine.connect_stream("in", given)
    engine.connect_stream("out", taken)
    engine.run()
    np.testing.assert_array_equal(taken, given)
    np.testing.assert_array_equal(engine.read(bench.x), given[3:])
    assert stream.replication_factor == 3


@both_forms
def test_a_broadcast_stream_gives_all_replicas_the_same(interpret: bool) -> None:
    bench = Bench(3)
    mode = pl.ReplicatedStreamMode.BROADCAST
    stream = bench.graph.add_host_to_device_fifo("in", pl.INT, 3, mode)
    scattered = pl.concat([bench.y[5:], bench.y[:1], bench.y[2:3]])
    engine = pl.Engine(bench.graph, pl.Copy(stream, scattered), interpret=interpret)
    calls: list[int] = []

    def fill(array: Ints) -> None:
        calls.append(len(array))
        array[:] = len(calls), 8, 9

    engine.connect_stream_to_callback("in", fill)
    engine.run()
    engine.run()
    assert calls == [3, 3]
    assert engine.read(bench.y).tolist() == 3 * [[8, 0, 9, 0, 0, 2]]
    engine.connect_stream("in", np.array([[1, 2, 3], [4, 5, 6]], np.int32))
    engine.run()
    assert engine.read(scattered).tolist() == 3 * [[1, 2, 3]]
    engine.run()
    assert engine.read(scattered).tolist() == 3 * [[4, 5, 6]]


@both_forms
def test_each_replica_has_its_own_callback(interpret: bool) -> None:
    bench = Bench()
    stream = bench.graph.add_host_to_device_fifo("in", pl.INT, 3)
    back = bench.graph.add_device_to_host_fifo("out", pl.INT, 3)
    steps = pl.Sequence(pl.Copy(stream, bench.x), pl.Copy(bench.x, back))
    engine = pl.Engine(bench.graph, steps, interpret=interpret)
    seen: list[tuple[int, list[int]]] = []
    for replica in range(2):

        def fill(array: Ints, replica: int = replica) -> None:
            array[:] = 10 + replica

        def take(array: Ints, replica: int = replica) -> None:
            seen.append((replica, array.tolist()))

        engine.connect_stream_to_callback("in", fill, replica=replica)
        engine.connect_stream_to_callback("out", take, replica=replica)
    engine.run()
    assert seen == [(0, [10, 10, 10]), (1, [11, 11, 11])]
    with pytest.raises(pl.GraphReplicationError, match="there is no replica 2"):
        engine.connect_stream_to_callback("in", fill, replica=2)


def test_a_stream_that_one_replica_lacks() -> None:
    bench = Bench()
    stream = bench.graph.add_host_to_device_fifo("in", pl.INT, 3)
    engine = pl.Engine(bench.graph, pl.Copy(stream, bench.x))
    engine.connect_stream_to_callback("in", lambda array: array.fill(1), replica=1)
    with pytest.raises(pl.StreamConnectionError, match="'in'"):
        engine.run()
    engine.connect_stream_to_callback("in", lambda array: array.fill(2), replica=0)
    engine.run()
    assert engine.read(bench.x).tolist() == [[2, 2, 2], [1, 1, 1]]


@both_forms
def test_an_exception_of_one_replicas_callback_reaches_run(interpret: bool) -> None:
    bench = Bench()
    stream = bench.graph.add_host_to_device_fifo("in", pl.INT, 3)
    engine = pl.Engine(bench.graph, pl.Copy(stream, bench.x), interpret=interpret)

    def refuse(array: Ints) -> None:
        raise KeyError("no data")

    engine.connect_stream_to_callback("in", lambda array: array.fill(4))
    engine.connect_stream_to_callback("in", refuse, replica=1)
    with pytest.raises(KeyError, match="no data"):
        engine.run()
    engine.connect_stream_to_callback("in", lambda array: array.fill(5), replica=1)
    engine.run()
    assert engine.read(bench.x)[:, 0].tolist() == [4, 5]


@both_forms
def test_each_replica_has_rows_of_its_own(interpret: bool) -> None:
    bench = Bench()
    buffer = bench.graph.add_remote_buffer("rows", pl.INT, 3, repeats=4)
    offset = bench.graph.add_variable(pl.INT, (), "offset", mapping=0, initial_value=0)
    store = pl.Copy(bench.x, buffer, offset)
    load = pl.Copy(buffer, bench.x, offset)
    engine = pl.Engine(bench.graph, {"store": store, "load": load}, interpret=interpret)
    engine.write(bench.x, [[1, 2, 3], [4, 5, 6]])
    engine.write(offset, [0, 3])
    engine.run("store")
    assert engine.copy_from_remote_buffer("rows", 0, replica=0).tolist() == [1, 2, 3]
    assert engine.copy_from_remote_buffer("rows", 3, replica=1).tolist() == [4, 5, 6]
    assert engine.copy_from_remote_buffer("rows", 3, replica=0).tolist() == [0, 0, 0]
    engine.copy_to_remote_buffer([7, 7, 7], "rows", 2)
    engine.copy_to_remote_buffer([8, 8, 8], "rows", 2, replica=1)
    engine.write(offset, [2, 2])
    engine.run("load")
    assert engine.read(bench.x).tolist() == [[7, 7, 7], [8, 8, 8]]
    engine.write(offset, [1, 4])
    message = "replica 1: row 4 of 4 rows in remote buffer 'rows'"
    with pytest.raises(pl.TensorIndexError, match=message) as caught:
        engine.run("load")
    assert caught.value.found == "the offset is 'offset'; no data were moved"
    assert engine.read(bench.x).tolist() == [[7, 7, 7], [8, 8, 8]]
    for replica in (2, -1):
        with pytest.raises(pl.GraphReplicationError, match=f"there is no replica {replica}"):
            engine.copy_from_remote_buffer("rows", 0, replica=replica)
        with pytest.raises(pl.GraphReplicationError, match=f"there is no replica {replica}"):
            engine.copy_to_remote_buffer([1, 2, 3], "rows", 0, replica=replica)


@both_forms
def test_host_functions_are_called_for_each_replica(interpret: bool) -> None:
    bench = Bench()
    double = bench.graph.add_host_function("double", [(pl.INT, 3)], [(pl.INT, 3)])
    call = pl.Call(double, [bench.x], [bench.y[1::2]])
    engine = pl.Engine(bench.graph, call, interpret=interpret)
    Arrays = tuple[Ints, ...]

    def twice(inputs: Arrays, outputs: Arrays) -> None:
        outputs[0][:] = 2 * inputs[0]

    def negated(inputs: Arrays, outputs: Arrays) -> None:
        outputs[0][:] = -inputs[0]

    engine.connect_host_function("double", twice)
    engine.write(bench.x, [[1, 2, 3], [4, 5, 6]])
    engine.run()
    assert engine.read(bench.y[1::2]).tolist() == [[2, 4, 6], [8, 10, 12]]
    engine.connect_host_function("double", negated, replica=1)
    engine.run()
    assert engine.read(bench.y).tolist() == [[0, 2, 0, 4, 0, 6], [0, -4, 0, -5, 0, -6]]
    with pytest.raises(pl.GraphReplicationError, match="there is no replica 5"):
        engine.connect_host_function("double", twice, replica=5)


@both_forms
def test_what_one_replica_lacks_is_told_with_its_number(interpret: bool) -> None:
    bench = Bench()
    x = bench.graph.add_variable(pl.INT, (3,), "bare", mapping=0)
    engine = pl.Engine(bench.graph, pl.Sequence(), checks="strict", interpret=interpret)
    engine.write(x[1:], [1, 2], replica=0)
    engine.write(x[:2], [3, 4], replica=1)
    message = r"(?s)'bare': nothing has written 2 of 3 elements.*first is \[0\]\s+in replicas 0-1"
    with pytest.warns(pl.UninitializedWarning, match=message):
        engine.read(x)
    engine.write(x[0], 5, replica=0)
    message = r"(?s)'bare': nothing has written 1 of 3 elements.*first is \[2\]\s+in replica 1"
    with pytest.warns(pl.UninitializedWarning, match=message):
        engine.read(x)


@both_forms
def test_handles_read_and_write_replicas(interpret: bool) -> None:
    bench = Bench()
    bench.graph.create_host_write("x", bench.x)
    bench.graph.create_host_read("x", bench.x.reverse(0))
    engine = pl.Engine(bench.graph, pl.Sequence(), interpret=interpret)
    engine.write("x", [[1, 2, 3], [4, 5, 6]])
    assert engine.read("x").tolist() == [[3, 2, 1], [6, 5, 4]]
    engine.write("x", [7, 8, 9], replica=1)
    assert engine.read("x", replica=1).tolist() == [9, 8, 7]
    with pytest.raises(pl.GraphReplicationError, match="'x': there is no replica 2"):
        engine.read("x", replica=2)
    with pytest.raises(
        pl.TensorCreationError,
        match=r"shape \(3,\); found \(3, 3\)(.|\n)*\(2, "
        r"3\), with values for e",
    ):
        engine.write("x", np.zeros((3, 3), np.int32))


class Count(pl.Vertex):
    by: pl.Input[pl.UNSIGNED_INT]
    x: pl.InOut[pl.Vector[pl.INT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.x[i] += self.by


@both_forms
def test_a_saved_executable_keeps_its_replicas(interpret: bool, tmp_path: Path) -> None:
    bench = Bench(3)
    go_on = bench.graph.add_variable(pl.BOOL, (), "go_on", mapping=0, initial_value=True)
    bench.graph.set_initial_value(bench.x, {0: 1, 2: [7, 8, 9]})
    bench.graph.create_host_read("y", bench.y[:3])
    bench.graph.create_host_write("go_on", go_on)
    cs = bench.graph.add_compute_set("count")
    bench.graph.add_vertex(cs, Count, tile=0, by=bench.index, x=bench.x)
    steps = pl.If(go_on, pl.Execute(cs), pl.Sequence())
    copy = pl.CrossReplicaCopy(bench.x, bench.y[:3], [1, 2, 0])
    made = pl.Engine(bench.graph, pl.Sequence(steps, copy), interpret=interpret)
    made.executable.save(tmp_path / "three.poplite")
    loaded = pl.Executable.load(tmp_path / "three.poplite", vertices=[Count])
    engine = pl.Engine(loaded, interpret=interpret)
    assert "2 tiles in each of 3 replicas" in repr(engine)
    for each in (made, engine):
        each.run()
        assert each.read("y").tolist() == [[9, 10, 11], [1, 1, 1], [1, 1, 1]]
        each.write("go_on", [True, True, False])
        with pytest.raises(pl.GraphReplicationError, match="'go_on' is True in replica 0, but Fal"):
            each.run()
