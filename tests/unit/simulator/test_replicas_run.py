"""Programs on replicated graphs: lockstep, copies between replicas, errors, threads, forks."""

from __future__ import annotations

import io
import signal
import textwrap
import threading
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

import poplite as pl
from helpers.depth import deep, thinned
from helpers.running import both_forms, words_of
from helpers.vertices import Spin


class Scale(pl.Vertex):
    by: pl.Input[pl.UNSIGNED_INT]
    x: pl.InOut[pl.Vector[pl.INT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.x[i] = 10 * self.x[i] + self.by


class Pick(pl.Vertex):
    """Reads beyond its field when told to."""

    at: pl.Input[pl.INT]
    x: pl.InOut[pl.Vector[pl.INT]]

    def compute(self) -> None:
        self.x[0] = 7
        self.x[1] = self.x[self.at]


class Refuse(pl.Vertex):
    n: pl.InOut[pl.INT]

    def compute(self) -> None:
        self.n += 1
        if self.n == 6:
            raise ValueError("six")


class RefuseAsWorker(pl.MultiVertex):
    n: pl.Input[pl.INT]

    def compute(self, worker: int) -> None:
        if worker == 2 and self.n == 5:
            raise ValueError("five")


class CountDown(pl.Vertex):
    n: pl.InOut[pl.INT]
    go_on: pl.Output[pl.BOOL]

    def compute(self) -> None:
        self.n -= 1
        self.go_on = self.n > 0


class IsSmall(pl.Vertex):
    n: pl.Input[pl.INT]

    def compute(self) -> bool:
        return self.n < 5


class Bench:
    """A graph of some replicas; `n` and `x` are theirs."""

    def __init__(self, replicas: int = 3) -> None:
        machine = pl.Target(tiles=2 * replicas, ipus=replicas)
        self.graph = pl.Graph(machine, replication_factor=replicas)
        self.index = self.graph.add_replication_index_constant("index", mapping=0)
        self.n = self.variable("n", ())
        self.x = self.variable("x", (2, 3))
        self.y = self.variable("y", (2, 3))

    def variable(
        self, name: str, shape: tuple[int, ...], kind: type[pl.ElementType[Any]] = pl.INT
    ) -> pl.Tensor:
        zero = np.array(0, kind.dtype)
        return self.graph.add_variable(kind, shape, name, mapping=1, initial_value=zero)

    def execute(self, cls: type[pl.Vertex], **fields: object) -> pl.Execute:
        cs = self.graph.add_compute_set(cls.__name__.lower())
        self.graph.add_vertex(cs, cls, tile=0, **fields)
        return pl.Execute(cs)

    def mark(self, row: int = 0) -> pl.Execute:
        """A step that puts the number of the replica behind each number of a row."""
        return self.execute(Scale, by=self.index, x=self.x[row])


@both_forms
def test_each_replica_works_on_its_own_memory(interpret: bool) -> None:
    bench = Bench()
    x, y = bench.x, bench.y
    columns = bench.execute(Scale, by=bench.index, x=x.T.flatten()[1:])  # gathered and scattered
    steps = pl.Sequence(bench.mark(), columns, pl.Copy(x.T, y.reshape((3, 2))))
    engine = pl.Engine(bench.graph, steps, interpret=interpret)
    engine.write(x, np.arange(18).reshape(3, 2, 3))
    engine.run()
    expected = np.arange(18).reshape(3, 2, 3)
    replica = np.arange(3)[:, None]
    expected[:, 0] = 10 * expected[:, 0] + replica
    expected[:, 1] = 10 * expected[:, 1] + replica
    expected[:, 0, 1:] = 10 * expected[:, 0, 1:] + replica
    np.testing.assert_array_equal(engine.read(x), expected)
    transposed = expected.transpose(0, 2, 1).reshape(3, 2, 3)
    np.testing.assert_array_equal(engine.read(y), transposed)
    report = engine.report()
    assert (report.steps, report.vertices, report.bytes_copied, report.replicas) == (3, 2, 24, 3)
    assert "Number of Replicas:           3 (all numbers are per replica)" in str(report)


# -- control flow ----------------------------------------------------------------------------------


@both_forms
def test_control_flow_on_what_replicas_share(interpret: bool) -> None:
    bench = Bench()
    go_on = bench.variable("go_on", (), pl.BOOL)
    down = bench.execute(CountDown, n=bench.n, go_on=go_on)
    function = bench.graph.add_function(pl.If(go_on, bench.mark(1), pl.Sequence()))
    loop = pl.RepeatWhileTrue(down, go_on, pl.Call(function))
    choice = pl.Switch(bench.n, {0: bench.mark(), 1: pl.Sequence()})
    engine = pl.Engine(bench.graph, pl.Sequence(loop, choice), interpret=interpret)
    engine.write(bench.n, 3)
    engine.run()
    found = engine.read(bench.x)
    assert found[:, 1, 0].tolist() == [0, 11, 22]
    assert found[:, 0, 0].tolist() == [0, 1, 2]


@both_forms
@pytest.mark.parametrize(
    ("kind", "shown", "fix"),
    [
        ("if", "If 'n'", "from equal data in all replicas"),
        ("true", "RepeatWhileTrue 'n'", "compute the predicate"),
        ("false", "RepeatWhileFalse 'n'", "compute the predicate"),
        ("switch", "Switch 'n'", "compute the control"),
    ],
)
def test_replicas_that_would_go_different_ways(
    interpret: bool, kind: str, shown: str, fix: str
) -> None:
    bench = Bench()
    n, nothing, step = bench.n, pl.Sequence(), bench.mark()
    programs: dict[str, Callable[[], pl.Program]] = {
        "if": lambda: pl.If(n, step, nothing),
        "true": lambda: pl.RepeatWhileTrue(nothing, n, step),
        "false": lambda: pl.RepeatWhileFalse(nothing, n, step),
        "switch": lambda: pl.Switch(n, {0: step, 1: nothing}),
    }
    program = programs[kind]()
    function = bench.graph.add_function(program)
    engine = pl.Engine(
        bench.graph,
        pl.Sequence(bench.mark(1), pl.Repeat(2, pl.Call(function))),
        interpret=interpret,
    )
    engine.write(bench.n, [1, 1, 0])
    message = f"{shown}: 'n' is 1 in replica 0, but 0 in replica 2"
    for _ in range(2):
        with pytest.raises(pl.GraphReplicationError, match=message) as caught:
            engine.run()
        assert caught.value.at == program.location
        assert caught.value.found == "replica 0: 1, replica 1: 1, replica 2: 0"
        assert fix in caught.value.fix
    assert engine.read(bench.x)[:, 0].tolist() == 3 * [[0, 0, 0]]
    assert engine.read(bench.x)[:, 1, 0].tolist() == [0, 11, 22]
    engine.write(bench.n, 1 if kind in ("false", "switch") else 0)
    engine.run()
    assert engine.read(bench.x)[:, 1, 0].tolist() == [0, 111, 222]


@both_forms
def test_predicates_agree_in_truth_and_controls_in_value(interpret: bool) -> None:
    bench = Bench(2)
    unsigned = bench.variable("u", (), pl.UNSIGNED_INT)
    programs = {
        "if": pl.If(bench.n, bench.mark(), pl.Sequence()),
        "switch": pl.Switch(unsigned, {2**32 - 1: bench.mark()}, default=bench.mark(1)),
    }
    engine = pl.Engine(bench.graph, programs, interpret=interpret)
    engine.write(bench.n, [-1, 256])
    engine.run("if")
    assert engine.read(bench.x)[1, 0].tolist() == [1, 1, 1]
    engine.write(unsigned, [2**32 - 1, 2**32 - 1])
    engine.run("switch")
    assert engine.read(bench.x)[1].tolist() == [[11, 11, 11], [0, 0, 0]]
    engine.write(unsigned, [5, 6])  # both are the default's
    with pytest.raises(pl.GraphReplicationError, match="'u' is 5 in replica 0, but 6 in replica 1"):
        engine.run("switch")


@both_forms
def test_a_run_is_aborted_when_any_replica_asks_for_it(interpret: bool) -> None:
    bench = Bench()
    steps = pl.Sequence(pl.AbortOnCondition(bench.n, "diverged"), bench.mark())
    engine = pl.Engine(bench.graph, steps, interpret=interpret)
    for values, replicas in (([0, 3, 0], "1"), ([1, 1, 1], "0-2"), ([2, 0, 1], "0, 2")):
        engine.write(bench.n, values)
        with pytest.raises(pl.ApplicationRuntimeError, match="diverged") as caught:
            engine.run()
        assert caught.value.found == f"'n' is true in replicas {replicas}"
    assert not engine.read(bench.x).any()
    engine.write(bench.n, 0)
    engine.run()
    assert engine.read(bench.x)[2, 0, 0] == 2


@both_forms
def test_what_is_printed_and_shown_names_the_replica(interpret: bool) -> None:
    bench = Bench(2)
    programs = [pl.PrintTensor("n now", bench.n), pl.ErrorProgram("bad", bench.n)]
    engine = pl.Engine(bench.graph, programs, interpret=interpret)
    engine.print_stream = stream = io.StringIO()
    engine.write(bench.n, [4, 5])
    engine.run()
    assert stream.getvalue() == "n now, replica 0: 4\nn now, replica 1: 5\n"
    with pytest.raises(pl.ApplicationRuntimeError, match="bad") as caught:
        engine.run(1)
    assert caught.value.found == "n, replica 0: 4\nn, replica 1: 5"


@both_forms
def test_the_result_of_a_compute_set_is_that_of_each_replica(interpret: bool) -> None:
    bench = Bench()
    result = bench.variable("all", (), pl.BOOL)
    cs = bench.graph.add_compute_set("small")
    for tile, number in enumerate(bench.x.flatten()[:2]):
        bench.graph.add_vertex(cs, IsSmall, tile=tile, n=number)
    engine = pl.Engine(bench.graph, pl.Execute(cs, result), interpret=interpret)
    engine.write(bench.x[0, :2], [[1, 9], [4, 4], [7, 2]])
    engine.run()
    assert engine.read(result).tolist() == [False, True, False]
    engine.write(bench.x[0, 1], 0, replica=0)
    engine.run()
    assert engine.read(result).tolist() == [True, True, False]


# -- assumptions -----------------------------------------------------------------------------------


@both_forms
def test_an_assumption_that_does_not_hold(interpret: bool) -> None:
    bench = Bench()
    assume = pl.AssumeEqualAcrossReplicas(bench.x.T)
    steps = pl.Sequence(bench.mark(1), assume, bench.mark())
    engine = pl.Engine(bench.graph, steps, checks="strict", interpret=interpret)
    with pytest.raises(pl.GraphReplicationError) as caught:
        engine.run()
    error = caught.value
    assert error.what == (
        "AssumeEqualAcrossReplicas 'x': 'x' at [0, 1] is 0 in replica 0, but 1 in replica 1"
    )
    assert error.at == assume.location
    assert error.where == "step 2 of 3: AssumeEqualAcrossReplicas 'x'"
    assert error.found == (
        "replica 0: 0, replica 1: 1, replica 2: 2\n3 of 6 elements differ between these two"
    )
    fast = pl.Engine(bench.graph, steps, checks="fast", interpret=interpret)
    fast.run()
    assert fast.read(bench.x)[2].tolist() == [[2, 2, 2], [2, 2, 2]]


@pytest.mark.parametrize(
    ("values", "differs"),
    [([1.5, 1.5], False), ([np.nan, np.nan], False), ([0.0, -0.0], True), ([np.nan, 0.0], True)],
)
def test_an_assumption_compares_every_bit(values: list[float], differs: bool) -> None:
    bench = Bench(2)
    x = bench.variable("f", (), pl.FLOAT)
    engine = pl.Engine(bench.graph, pl.AssumeEqualAcrossReplicas(x), checks="strict")
    engine.write(x, values)
    if differs:
        message = f"'f' is {values[0]} in replica 0, but {values[1]} in replica 1"
        with pytest.raises(pl.GraphReplicationError, match=message):
            engine.run()
    else:
        engine.run()


def test_an_assumption_about_every_type_and_shape() -> None:
    for kind in (pl.BOOL, pl.CHAR, pl.HALF, pl.SHORT, pl.UNSIGNED_LONGLONG, pl.QUARTER_METADATA):
        bench = Bench(2)
        x = bench.variable("v", (2, 0, 3), kind), bench.variable("w", (3,), kind)
        steps = pl.Sequence([pl.AssumeEqualAcrossReplicas(each) for each in x])
        engine = pl.Engine(bench.graph, steps, checks="strict")
        engine.run()
        engine.write(x[1], np.array([[0, 1, 1], [0, 1, 0]], kind.dtype))
        with pytest.raises(pl.GraphReplicationError, match=r"'w' at \[2\] is .* in replica 0"):
            engine.run()


def test_an_assumption_about_one_replica_always_holds() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.INT, (), "x", mapping=0, initial_value=0)
    pl.Engine(graph, pl.AssumeEqualAcrossReplicas(x), checks="strict").run()


@pytest.mark.parametrize("given", [None, 3, "x", [1]])
def test_assumptions_about_no_tensor(given: Any) -> None:
    with pytest.raises(pl.ElementTypeError, match="AssumeEqualAcrossReplicas: .* is not a tensor"):
        pl.AssumeEqualAcrossReplicas(given)


# -- copies between replicas -----------------------------------------------------------------------


@both_forms
@pytest.mark.parametrize("to", [{0: 1, 1: 2, 2: 0}, [2, 1, 0], (0, 1, 2), {2: 0, 0: 2, 1: 1}])
def test_copies_between_replicas(interpret: bool, to: Mapping[int, int] | list[int]) -> None:
    bench = Bench()
    steps = pl.Sequence(bench.mark(), pl.CrossReplicaCopy(bench.x.T, bench.y.T, to))
    engine = pl.Engine(bench.graph, steps, interpret=interpret)
    engine.run()
    found, sent = engine.read(bench.y), engine.read(bench.x)
    for replica in range(3):
        np.testing.assert_array_equal(found[to[replica]], sent[replica])
    assert engine.report().bytes_copied == 24


@both_forms
def test_a_sum_over_all_replicas_by_a_ring(interpret: bool) -> None:
    class Sum(pl.Vertex):
        x: pl.Input[pl.Vector[pl.INT]]
        total: pl.InOut[pl.Vector[pl.INT]]

        def compute(self) -> None:
            for i in range(len(self.x)):
                self.total[i] += self.x[i]

    bench = Bench(4)
    x, passed, received = bench.x[0], bench.y[0], bench.y[1]
    total = bench.variable("total", (3,))
    step = pl.Sequence(
        pl.CrossReplicaCopy(passed, received, [1, 2, 3, 0]),
        bench.execute(Sum, x=received, total=total),
        pl.Copy(received, passed),
    )
    start = pl.Sequence(pl.Copy(x, passed), pl.Copy(x, total))
    engine = pl.Engine(
        bench.graph,
        pl.Sequence(start, pl.Repeat(3, step), pl.AssumeEqualAcrossReplicas(total)),
        interpret=interpret,
    )
    values = np.random.default_rng(1).integers(0, 1000, (4, 3))
    engine.write(x, values)
    engine.run()
    assert engine.read(total).tolist() == 4 * [values.sum(0).tolist()]


@both_forms
def test_copies_between_replicas_in_uneven_pieces(interpret: bool) -> None:
    bench = Bench(2)
    a, b = bench.variable("a", (40,)), bench.variable("b", (60,))
    picked = [0, 1, 5, 6, 7, 12, 20, 21, 38]
    source = pl.concat([a[k : k + 1] for k in picked])
    target = pl.concat([b[2 * k + 1 : 2 * k + 2] for k in range(len(picked))])
    steps = pl.CrossReplicaCopy(source, target, [1, 0])
    engine = pl.Engine(bench.graph, steps, interpret=interpret)
    values = np.arange(80).reshape(2, 40)
    engine.write(a, values)
    engine.run()
    expected = np.zeros((2, 60), int)
    expected[:, 1 : 2 * len(picked) : 2] = values[::-1][:, picked]
    np.testing.assert_array_equal(engine.read(b), expected)


def test_large_copies_between_replicas_are_the_same_on_threads() -> None:
    graph = pl.Graph(pl.Target(tiles=2, ipus=2), replication_factor=2)
    size = 5_000_000
    a, b = (graph.add_variable(pl.INT, (size,), mapping=0, initial_value=0) for _ in range(2))
    program = pl.CrossReplicaCopy(a, b, [1, 0])
    engine = pl.Engine(graph, program, options={"debug.allowOutOfMemory": True})
    values = np.arange(2 * size, dtype=np.int32).reshape(2, size)
    engine.write(a, values)
    for _ in range(4):
        engine.run()
    assert (engine.read(b) == values[::-1]).all()


BAD_MAPS: tuple[tuple[Any, str], ...] = (
    ({0: 1, 1: 2}, "replicas that send nothing: 2(.|\n)*receive nothing: 0"),
    ({0: 1, 1: 1, 2: 0}, "receive nothing: 2(.|\n)*receive more than once: 1"),
    ({0: 0, 1: 1, 2: 3}, "receive nothing: 2(.|\n)*replicas that do not exist: 3"),
    ([1, 2, 0, 0], "receive more than once: 0(.|\n)*replicas that do not exist: 3"),
    ([-1, 1, 2], "receive nothing: 0(.|\n)*replicas that do not exist: -1"),
    ({0: "1", 1: 2, 2: 0}, "does not map replicas to replicas"),
    ({0: 1.0, 1: 2, 2: 0}, "does not map replicas to replicas"),
    ([True, 2, 0], "does not map replicas to replicas"),
    ({}, r"\{\} does not map"),
    ("120", "'120' does not map replicas to replicas"),
    (1, "1 does not map"),
    (np.array(1), "1 does not map"),
    (np.array([1.0, 2.0, 0.0]), "does not map replicas to replicas"),
    (np.array([1, 2, 2]), "receive nothing: 0(.|\n)*receive more than once: 2"),
    (None, "None does not map"),
)


@pytest.mark.parametrize(("to", "message"), BAD_MAPS)
def test_maps_that_are_no_permutation(to: Any, message: str) -> None:
    bench = Bench()
    with pytest.raises(pl.GraphReplicationError, match=message) as caught:
        pl.CrossReplicaCopy(bench.x, bench.y, to)
    assert str(caught.value).startswith("CrossReplicaCopy 'x' -> 'y': ")
    assert "the graph has 3 replicas" in caught.value.found
    assert "{0: 1, 1: 2, 2: 0}" in caught.value.fix


def test_a_map_is_a_dictionary_a_list_or_an_array() -> None:
    bench = Bench()
    maps: tuple[Any, ...] = ({2: 1, 0: 2, 1: 0}, [2, 0, 1], np.roll(np.arange(3), 1))
    for to in maps:
        assert pl.CrossReplicaCopy(bench.x, bench.y, to).replica_map == (2, 0, 1)


def test_a_map_of_a_graph_that_is_not_replicated() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x, y = (graph.add_variable(pl.INT, (2,), name, mapping=0, initial_value=0) for name in "xy")
    pl.CrossReplicaCopy(x, y, {0: 0})
    with pytest.raises(pl.GraphReplicationError, match="replicas that do not exist: 1"):
        pl.CrossReplicaCopy(x, y, {0: 1})


BAD_PAIRS: tuple[tuple[Callable[[Bench], Sequence[Any]], type[Exception], str], ...] = (
    (lambda b: (b.x, 3), pl.ElementTypeError, "destination 3 is not a tensor"),
    (lambda b: (None, b.x), pl.ElementTypeError, "source None is not a tensor"),
    (lambda b: (b.x[0], b.y), pl.ControlProgramError, "3 elements to 6"),
    (lambda b: (b.x, b.x), pl.ControlProgramError, "source and destination share elements"),
    (lambda b: (b.n, b.index), pl.ElementTypeError, "INT to UNSIGNED_INT"),
    (lambda b: (b.variable("u", (), pl.UNSIGNED_INT), b.index), pl.GraphConnectionError, "'index"),
    (lambda b: (b.x, Bench().y), pl.ControlProgramError, "belong to two graphs"),
)


@pytest.mark.parametrize(("pair", "error", "message"), BAD_PAIRS)
def test_tensors_that_cannot_be_copied_between_replicas(
    pair: Callable[[Bench], Sequence[Any]], error: type[Exception], message: str
) -> None:
    source, destination = pair(Bench())
    with pytest.raises(error, match=message) as caught:
        pl.CrossReplicaCopy(source, destination, [1, 2, 0])
    assert str(caught.value).startswith("CrossReplicaCopy")


# -- faults ----------------------------------------------------------------------------------------


@both_forms
def test_an_index_out_of_range_in_one_replica_undoes_all(interpret: bool) -> None:
    bench = Bench()
    steps = pl.Sequence(bench.mark(1), bench.execute(Pick, at=bench.n, x=bench.x.T.flatten()))
    engine = pl.Engine(bench.graph, steps, checks="strict", interpret=interpret)
    engine.write(bench.n, [2, 6, 9])
    engine.write(bench.x[0], [[1, 2, 3], [4, 5, 6], [7, 8, 9]])
    with pytest.raises(pl.TensorIndexError) as caught:
        engine.run()
    assert (
        caught.value.what
        == "vertex 0 of 'Pick' on tile 0, replica 1: 'Pick.x': index 6 of 6 elements"
    )
    assert caught.value.where == "step 2 of 2: Execute 'pick'"
    assert engine.read(bench.x).tolist() == [
        [[1, 2, 3], [0, 0, 0]],
        [[4, 5, 6], [1, 1, 1]],
        [[7, 8, 9], [2, 2, 2]],
    ]
    engine.write(bench.n, 4)
    engine.run()
    assert engine.read(bench.x)[:, 0, 0].tolist() == [7, 7, 7]


@both_forms
def test_an_exception_in_one_replica_undoes_all(interpret: bool) -> None:
    bench = Bench()
    engine = pl.Engine(
        bench.graph, bench.execute(Refuse, n=bench.n), checks="fast", interpret=interpret
    )
    engine.write(bench.n, [1, 2, 5])
    with pytest.raises(ValueError, match="six") as caught:
        engine.run()
    assert isinstance(caught.value, pl.ApplicationRuntimeError)
    assert caught.value.what == "vertex 0 of 'Refuse' on tile 0, replica 2: ValueError: six"
    assert engine.read(bench.n).tolist() == [1, 2, 5]
    engine.write(bench.n, [0, 1, 0])
    engine.run()
    assert engine.read(bench.n).tolist() == [1, 2, 1]


@both_forms
def test_a_worker_of_a_replica_is_named(interpret: bool) -> None:
    bench = Bench(2)
    engine = pl.Engine(bench.graph, bench.execute(RefuseAsWorker, n=bench.n), interpret=interpret)
    engine.write(bench.n, [4, 5])
    with pytest.raises(
        ValueError, match="vertex 0 of 'RefuseAsWorker' on tile 0, replica 1, worker 2: Value"
    ):
        engine.run()


@both_forms
def test_the_first_replica_that_faults_is_named(interpret: bool) -> None:
    bench = Bench()
    cs = bench.graph.add_compute_set("picks")
    for tile, row in enumerate(bench.x):
        bench.graph.add_vertex(cs, Pick, tile=tile, at=bench.y[tile, 0], x=row)
    engine = pl.Engine(bench.graph, pl.Execute(cs), checks="strict", interpret=interpret)
    engine.write(bench.y[:, 0], [[0, 0], [1, 5], [6, 1]])
    with pytest.raises(
        pl.TensorIndexError, match="vertex 1 of 'Pick' on tile 1, replica 1: .* index 5 of 3"
    ):
        engine.run()


def test_what_looks_across_replicas_is_checked_like_other_steps() -> None:
    bench = Bench(2)
    lost = bench.graph.add_variable(pl.INT, (2, 3), "lost")
    for step in (
        pl.CrossReplicaCopy(lost, bench.x, [1, 0]),
        pl.CrossReplicaCopy(bench.x, lost, [1, 0]),
        pl.AssumeEqualAcrossReplicas(lost),
    ):
        with pytest.raises(
            pl.InvalidTileMapping, match=r"'lost': elements \[0:2, 0:3\] of 6"
        ) as caught:
            pl.Engine(bench.graph, step)
        assert caught.value.where == f"step 1 of 1: {step}"
        with pytest.raises(pl.ControlProgramError, match="from a graph other than"):
            pl.Engine(Bench(2).graph, step)


class ToHalf(pl.Vertex):
    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Output[pl.Vector[pl.HALF]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.y[i] = self.x[i]


@both_forms
def test_stochastic_rounding_is_the_same_in_all_replicas(interpret: bool) -> None:
    bench = Bench(2)
    x, y = bench.variable("floats", (200,), pl.FLOAT), bench.variable("halves", (200,), pl.HALF)
    steps = pl.Sequence(pl.SetStochasticRounding(True), bench.execute(ToHalf, x=x, y=y))
    engine = pl.Engine(bench.graph, steps, interpret=interpret)
    engine.write(x, 1 + 2.0**-11)
    engine.run()
    first, second = engine.read(y)
    assert 0 < (first > 1).sum() < 200
    np.testing.assert_array_equal(first, second)


# -- replicas in several threads, after a fork, and when Ctrl-C is pressed -------------------------


PRELUDE = """
import os, threading
import numpy as np
import poplite as pl


class Blend(pl.Vertex):
    by: pl.Input[pl.UNSIGNED_INT]
    x: pl.InOut[pl.Vector[pl.UNSIGNED_INT]]

    def compute(self) -> None:
        for round in range(20):
            for i in range(len(self.x)):
                self.x[i] = (self.x[i] * 5 + self.by + round) % 1000


def build():
    graph = pl.Graph(pl.Target(tiles=200, ipus=2), replication_factor=2)
    index = graph.add_replication_index_constant(mapping=0)
    x = graph.add_variable(pl.UNSIGNED_INT, (100, 1000), "x", mapping="linear")
    y = graph.add_variable(pl.UNSIGNED_INT, (100, 1000), "y", mapping="linear")
    work = graph.add_compute_set("work")
    for k in range(100):
        graph.add_vertex(work, Blend, tile=k, by=index, x=x[k])
    swap = pl.CrossReplicaCopy(x, y, [1, 0])
    steps = pl.Sequence(pl.Execute(work), swap, pl.Copy(y, x))
    return pl.Engine(graph, pl.Repeat(5, steps), options={"debug.instrument": False}), x


def is_right(engine, x):
    values = np.arange(200_000, dtype=np.uint32).reshape(2, 100, 1000)
    engine.write(x, values)
    engine.run()
    for _ in range(5):
        for round in range(20):
            values = (values * 5 + np.arange(2)[:, None, None] + round) % 1000
        values = values[::-1]
    return np.array_equal(engine.read(x), values)
"""


def run(tmp_path: Path, script: str, **variables: str) -> list[str]:
    """Run a script in a process of its own and return the words it prints."""
    return words_of(tmp_path, PRELUDE + textwrap.dedent(script), **variables)


@deep
@pytest.mark.parametrize("threads", thinned(["3", "2", "1"], keep=1))
def test_results_do_not_depend_on_the_number_of_threads(tmp_path: Path, threads: str) -> None:
    script = """
        engine, x = build()
        print(*(is_right(engine, x) for _ in range(3)))
    """
    assert run(tmp_path, script, NUMBA_NUM_THREADS=threads) == ["True"] * 3


@deep
def test_engines_with_replicas_in_threads_and_after_a_fork(tmp_path: Path) -> None:
    script = """
        right = []
        threads = [
            threading.Thread(target=lambda: right.append(is_right(*build()))) for _ in range(3)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print(right == [True] * 3)
        engine, x = build()
        print(is_right(engine, x))
        child = os.fork()
        if not child:
            right = is_right(engine, x) and is_right(*build())
            os._exit(not right)
        print(os.waitpid(child, 0)[1])
        print(is_right(engine, x))
    """
    assert run(tmp_path, script) == ["True", "True", "0", "True"]


@pytest.mark.parametrize(
    ("checks", "interpret"),
    thinned(product(["fast", "strict"], [False, True]), keep=[("fast", False), ("strict", True)]),
)
def test_ctrl_c_cuts_all_replicas(checks: Literal["fast", "strict"], interpret: bool) -> None:
    graph = pl.Graph(pl.Target(tiles=6, ipus=3), replication_factor=3)
    x = graph.add_variable(pl.FLOAT, (20_000,), "x", mapping="linear")
    long, short = graph.add_compute_set("long"), graph.add_compute_set("short")
    graph.add_vertices(long, Spin, tile=0, rounds=1_000_000, x=x)
    graph.add_vertices(short, Spin, tile=0, rounds=60, x=x[:5])
    programs = {"long": pl.Execute(long), "short": pl.Execute(short)}
    engine = pl.Engine(graph, programs, checks=checks, interpret=interpret)
    for _ in range(2):  # the second time threads share it from the start
        engine.write(x, [[7] * 20_000, [8] * 20_000, [9] * 20_000])
        timer = threading.Timer(0.3, lambda: signal.raise_signal(signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):  # noqa: PT012 (the timer must not fire outside)
            timer.start()
            engine.run("long")
        timer.join()
        for replica, before in enumerate((7, 8, 9)):
            left = set(engine.read(x, replica=replica).tolist())
            if checks == "strict" or interpret:
                assert left == {before}
            else:
                assert left <= {before, 2}
    engine.run("short")
    assert np.array_equal(engine.read(x)[:, :5], np.full((3, 5), 2))
