"""Streams, remote buffers, host functions and handles of replicated graphs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import poplite as pl
from helpers.running import both_forms

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
    assert caught.value.found == "the offset is 'offset'; nothing was moved"
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
    with pytest.raises(pl.TensorCreationError, match=r"shape \(3, 3\)(.|\n)*\(2, 3\), one for e"):
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
