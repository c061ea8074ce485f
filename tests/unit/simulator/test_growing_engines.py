"""Engines that take over the state of others, and engines to which programs are added."""

from __future__ import annotations

import numpy as np
import pytest

import poplite as pl
from helpers.running import both_forms
from poplite import ops


class Bump(pl.Vertex):
    x: pl.InOut[pl.Vector[pl.INT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.x[i] += 1


def counting(replicas: int = 1) -> tuple[pl.Graph, pl.Tensor, pl.Program]:
    """A graph whose program adds one to a variable."""
    graph = pl.Graph(pl.Target(tiles=2 * replicas, ipus=replicas), replication_factor=replicas)
    x = graph.add_variable(pl.INT, (5,), "x", mapping=0, initial_value=range(5))
    bump = graph.add_compute_set("bump")
    graph.add_vertex(bump, Bump, tile=0, x=x)
    return graph, x, pl.Execute(bump)


@both_forms
def test_an_engine_goes_on_where_another_one_is(interpret: bool) -> None:
    graph, x, bump = counting()
    first = pl.Engine(graph, bump, interpret=interpret)
    first.run()
    y = graph.add_variable(pl.INT, (5,), "y", mapping=1, initial_value=7)
    with graph.steps() as double:
        ops.assign(y, y + x)
    second = pl.Engine(graph, double, state=first, interpret=interpret)
    second.run()
    assert second.read(x).tolist() == [1, 2, 3, 4, 5]
    assert second.read(y).tolist() == [8, 9, 10, 11, 12]
    assert first.read(x).tolist() == [1, 2, 3, 4, 5]
    first.run()
    assert second.read(x).tolist() == [1, 2, 3, 4, 5]
    second.load()
    assert second.read(x).tolist() == [0, 1, 2, 3, 4]


def test_every_replica_goes_on() -> None:
    graph, x, bump = counting(replicas=3)
    first = pl.Engine(graph, bump)
    first.write(x, 10, replica=1)
    first.run()
    second = pl.Engine(graph, bump, state=first)
    second.run()
    assert second.read(x)[:, 4].tolist() == [6, 12, 6]


def test_constants_are_those_of_the_graph() -> None:
    graph, x, bump = counting()
    c = graph.add_constant(pl.INT, (5,), 1, "c", mapping=0)
    first = pl.Engine(graph, bump)
    with graph.steps() as add:
        ops.assign(x, x + c)
    second = pl.Engine(graph, add, state=first)
    second.run()
    assert second.read(x).tolist() == [1, 2, 3, 4, 5]


def test_unwritten_elements_stay_unwritten() -> None:
    graph, x, bump = counting()
    some = graph.add_variable(pl.INT, (5,), "some", mapping=0)
    first = pl.Engine(graph, bump, checks="strict")
    first.write(some[:3], 1)
    with graph.steps() as add:
        ops.assign(x[:3], x[:3] + some[:3])
    with graph.steps() as all_of_it:
        ops.assign(x, x + some)
    second = pl.Engine(graph, [add, all_of_it], checks="strict", state=first)
    second.run(0)
    with pytest.raises(pl.UninitializedReadError, match="'some'"):
        second.run(1)
    unchecked = pl.Engine(graph, bump, checks="fast", state=first)
    third = pl.Engine(graph, [add, all_of_it], checks="strict", state=unchecked)
    third.run(1)  # nobody looked, so all counts as written


def test_rows_of_remote_buffers_go_on() -> None:
    graph, x, bump = counting()
    rows = graph.add_remote_buffer("rows", pl.INT, 5, 2)
    first = pl.Engine(graph, pl.Sequence(bump, pl.Copy(x, rows)))
    first.run()
    second = pl.Engine(graph, pl.Copy(rows, x), state=first)
    assert second.copy_from_remote_buffer("rows").tolist() == [1, 2, 3, 4, 5]


def test_state_of_something_else_is_refused() -> None:
    graph, x, bump = counting()
    other, *_ = counting()
    other.add_variable(pl.INT, (3,), "more", mapping=0)
    with pytest.raises(pl.ControlProgramError, match="state <Graph .* is no engine"):
        pl.Engine(graph, bump, state=graph)  # type: ignore[arg-type]
    alien = pl.Graph(pl.Target(tiles=2))
    y = alien.add_variable(pl.INT, (5,), "y", mapping=0)
    with pytest.raises(pl.ControlProgramError, match="(?s)another graph.*variable 'y'.*'x'"):
        pl.Engine(graph, bump, state=pl.Engine(alien, pl.Copy(y[:1], y[1:2])))
    three, _, bump_of_three = counting(replicas=3)
    with pytest.raises(pl.ControlProgramError, match="3 replicas, and here are 1"):
        pl.Engine(graph, bump, state=pl.Engine(three, bump_of_three))


class Stop(pl.Vertex):
    x: pl.InOut[pl.Vector[pl.INT]]

    def compute(self) -> None:
        self.x[self.x[4] + 4] = 0


def test_undefined_memory_is_not_taken_over() -> None:
    graph, x, _ = counting()
    stop = graph.add_compute_set("stop")
    graph.add_vertex(stop, Stop, tile=0, x=x)
    first = pl.Engine(graph, pl.Execute(stop), checks="fast")
    with pytest.raises(pl.TensorIndexError):
        first.run()
    with pytest.raises(pl.ControlProgramError, match="Engine: state: memory is undefined"):
        pl.Engine(graph, pl.Execute(stop), state=first)


# -- programs that are added --------------------------------------------------------------------


@both_forms
def test_a_program_is_added(interpret: bool) -> None:
    graph, x, bump = counting()
    engine = pl.Engine(graph, {"bump": bump}, interpret=interpret)
    engine.run("bump")
    y = graph.add_variable(pl.INT, (5,), "y", mapping=1)
    with graph.steps() as square:
        ops.assign(y, x * x)
    engine.add_program(square, "square")
    engine.add_program(pl.Copy(y, x))
    engine.run("square")
    engine.run("2")
    engine.run("bump")
    assert engine.read("x").tolist() == [2, 5, 10, 17, 26]
    assert list(engine.executable.programs) == ["bump", "square", "2"]


def test_connections_and_options_remain() -> None:
    graph, x, bump = counting()
    stream = graph.add_host_to_device_fifo("in", pl.INT, 5)
    out = graph.add_device_to_host_fifo("out", pl.INT, 5)
    sort = graph.add_host_function("sort", [(pl.INT, 5)], [(pl.INT, 5)])
    program = pl.Sequence(pl.Copy(stream, x), pl.Call(sort, [x], [x]), pl.Copy(x, out))
    engine = pl.Engine(graph, program, checks="fast", seed=3)
    taken: list[list[int]] = []
    engine.connect_stream_to_callback("in", lambda block: block.fill(1))
    engine.connect_stream("in", np.array([5, 3, 4, 1, 2], np.int32))
    engine.connect_stream_to_callback("out", lambda block: taken.append(block.tolist()))
    engine.connect_host_function("sort", lambda i, o: np.copyto(o[0], np.sort(i[0])))
    engine.add_program(bump, "bump")
    engine.run()
    engine.run("bump")
    assert taken == [[1, 2, 3, 4, 5]]
    assert engine.read(x).tolist() == [2, 3, 4, 5, 6]
    assert engine.checks == "fast"


def test_what_cannot_be_added_leaves_the_engine_as_it_was() -> None:
    graph, x, bump = counting()
    engine = pl.Engine(graph, bump)
    engine.run()
    with pytest.raises(pl.ControlProgramError, match="there is a program '0' already"):
        engine.add_program(bump, "0")
    y = graph.add_variable(pl.INT, (5,), "y")
    with pytest.raises(pl.InvalidTileMapping, match="'y'"):
        engine.add_program(pl.Copy(x, y))
    engine.run()
    assert engine.read(x).tolist() == [2, 3, 4, 5, 6]
    graph.create_host_read("x", x)
    loaded = pl.Engine(pl.compile_graph(counting()[0], pl.Sequence()))
    with pytest.raises(pl.ControlProgramError, match="no graph to compile others"):
        loaded.add_program(bump)
