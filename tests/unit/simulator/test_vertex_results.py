"""How vertices end: what `compute` returns, or an index outside of a field at any size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers.depth import values_only
from helpers.running import both_forms
from poplite.simulator.run import launches


class Below(pl.Vertex):
    limit: pl.State[pl.INT]
    x: pl.InOut[pl.INT]

    def compute(self) -> bool:
        self.x += 1
        return self.x < self.limit


class Plain(pl.Vertex):
    x: pl.InOut[pl.INT]

    def compute(self) -> None:
        self.x += 10


class Early(pl.Vertex):
    """Returns on several paths, and stops on one."""

    x: pl.Input[pl.Vector[pl.INT]]

    def compute(self) -> bool:
        for i in range(len(self.x)):
            if self.x[i] == 7:
                raise ValueError("seven")
            if self.x[i] < 0:
                return False
        return True


class Bench:
    def __init__(self, count: int = 6) -> None:
        self.graph = pl.Graph(pl.Target(tiles=3))
        self.x = self.graph.add_variable(pl.INT, (count,), "x", mapping="linear", initial_value=0)
        self.done = self.graph.add_variable(pl.BOOL, (), "done", mapping=1, initial_value=False)
        self.cs = self.graph.add_compute_set("below")

    def engine(self, interpret: bool = False, **options: Any) -> pl.Engine:
        program = pl.Execute(self.cs, self.done)
        return pl.Engine(self.graph, program, interpret=interpret, **options)


@pytest.mark.parametrize("traps", [False, True])
@both_forms
def test_the_result_is_true_when_all_return_true(interpret: bool, traps: bool) -> None:
    bench = Bench()
    for k in range(6):
        bench.graph.add_vertex(bench.cs, Below, tile=k // 2, limit=10, x=bench.x[k])
    engine = bench.engine(interpret, options={"debug.floatPointOpException": traps})
    for place in (None, 0, 5, 3, None):
        start = np.zeros(6, np.int32)
        if place is not None:
            start[place] = 9
        engine.write(bench.x, start)
        engine.write(bench.done, place is not None)
        engine.run()
        assert engine.read(bench.done) == (place is None)
        assert (engine.read(bench.x) == start + 1).all()


@both_forms
def test_vertices_that_return_nothing_do_not_count(interpret: bool) -> None:
    bench = Bench()
    for k in range(6):
        fields = {"limit": 2} if k < 3 else {}
        bench.graph.add_vertex(
            bench.cs, Below if k < 3 else Plain, tile=k // 2, x=bench.x[k], **fields
        )
    engine = bench.engine(interpret)
    results = []
    for _ in range(3):
        engine.run()
        results.append(bool(engine.read(bench.done)))
    assert results == [True, False, False]


@both_forms
def test_what_was_returned_before_does_not_count(interpret: bool) -> None:
    """The same compute set without a result, in another program, and after a fault."""
    bench = Bench(3)
    early = bench.graph.add_compute_set("early")
    bench.graph.add_vertex(early, Early, tile=0, x=bench.x)
    programs = {"with": pl.Execute(early, bench.done), "without": pl.Execute(early)}
    engine = pl.Engine(bench.graph, programs, interpret=interpret, options=values_only())
    engine.write(bench.x, [1, -1, 1])
    engine.run("without")
    assert engine.read(bench.done) == 0
    engine.write(bench.x, [1, 1, 1])
    engine.run("with")
    assert engine.read(bench.done) == 1
    engine.write(bench.x, [1, 1, 7])
    with pytest.raises(ValueError, match="seven"):
        engine.run("with")
    assert engine.read(bench.done) == 1
    engine.write(bench.x, [-1, 7, 7])
    engine.run("with")
    assert engine.read(bench.done) == 0


@both_forms
def test_all_workers_of_a_multi_vertex_count(interpret: bool) -> None:
    class NotThree(pl.MultiVertex):
        x: pl.Input[pl.INT]

        def compute(self, worker: int) -> bool:
            return worker != self.x

    bench = Bench(1)
    bench.graph.add_vertex(bench.cs, NotThree, tile=0, x=bench.x[0])
    engine = bench.engine(interpret)
    for value, expected in ((3, False), (6, True), (0, False), (5, False)):
        engine.write(bench.x, [value])
        engine.run()
        assert engine.read(bench.done) == expected


@both_forms
def test_a_result_decides_a_loop(interpret: bool) -> None:
    bench = Bench()
    for k in range(6):
        bench.graph.add_vertex(bench.cs, Below, tile=k // 2, limit=20, x=bench.x[k])
    step = pl.Execute(bench.cs, bench.done)
    program = pl.RepeatWhileTrue(step, bench.done, pl.Sequence())
    engine = pl.Engine(bench.graph, program, interpret=interpret, options=values_only())
    engine.write(bench.x, np.arange(6))
    engine.run()
    assert engine.read(bench.x).tolist() == [15, 16, 17, 18, 19, 20]


@both_forms
@pytest.mark.parametrize("view", ["scattered", "in place"])
def test_gathered_fields_and_results_in_the_middle_of_a_variable(
    interpret: bool, view: str
) -> None:
    bench = Bench()
    flags = bench.graph.add_variable(pl.BOOL, (3, 3), "flags", mapping=2, initial_value=False)
    vertex = bench.graph.add_vertex(bench.cs, Early, tile=0)
    bench.graph.connect(vertex["x"], bench.x[::-2] if view == "scattered" else bench.x[1:4])
    program = pl.Execute(bench.cs, flags[1:2, 1])
    engine = pl.Engine(bench.graph, program, interpret=interpret, options=values_only())
    engine.run()
    expected = np.zeros((3, 3), bool)
    expected[1, 1] = True
    assert np.array_equal(engine.read(flags), expected)
    engine.write(bench.x, [1, -1, 1, -1, 1, -1])
    engine.run()
    assert not engine.read(flags).any()


def test_many_vertices_shared_by_threads() -> None:
    """One of many returns false, wherever it is, in launches that take long enough to share."""

    class Slow(pl.Vertex):
        rounds: pl.State[pl.INT]
        x: pl.Input[pl.INT]

        def compute(self) -> bool:
            total = 4.0
            for _ in range(self.rounds):
                total = total * 0.5 + 1.0
            return self.x == 0 or total < 0

    bench = Bench(2000)
    bench.graph.add_vertices(bench.cs, Slow, tile=np.arange(2000) % 3, rounds=20_000, x=bench.x)
    engine = pl.Engine(
        bench.graph, pl.Execute(bench.cs, bench.done), checks="fast", options=values_only()
    )
    for place in (0, 1999, None, 777):
        start = np.zeros(2000, np.int32)
        if place is not None:
            start[place] = 1
        engine.write(bench.x, start)
        engine.run()
        assert engine.read(bench.done) == (place is None)
    assert launches.thread_count() == 1 or launches.has_threads()


def test_somebody_must_return_something() -> None:
    bench = Bench()
    with pytest.raises(
        pl.ControlProgramError, match="(?s)no vertex of 'below' returns a truth .*has no vertices"
    ):
        bench.engine()
    bench.graph.add_vertex(bench.cs, Plain, tile=0, x=bench.x[0])
    with pytest.raises(
        pl.ControlProgramError,
        match=r"(?s)Execute 'below' -> 'done': no vertex.*at step 1 of 1: Execute.*'Plain', whose "
        r"compute returns nothing.*def compute\(self\) -> bool",
    ):
        bench.engine()


def test_the_result_is_one_element_of_bool() -> None:
    bench = Bench()
    graph, cs = bench.graph, bench.cs
    with pytest.raises(
        pl.ElementTypeError, match=r"(?s)Execute 'below': result 3 is not a tensor.*type int"
    ):
        pl.Execute(cs, 3)  # type: ignore[arg-type]
    with pytest.raises(pl.ElementTypeError, match=r"(?s)result 'x' is INT, not BOOL.*int32\[6"):
        pl.Execute(cs, bench.x)
    flags = graph.add_variable(pl.BOOL, (4,), "flags")
    with pytest.raises(pl.ControlProgramError, match="'flags' has 4 elements, but 1 is needed"):
        pl.Execute(cs, flags)
    with pytest.raises(pl.GraphConnectionError, match="result 'c' is constant"):
        pl.Execute(cs, graph.add_constant(pl.BOOL, (), True, "c"))
    foreign = pl.Graph().add_variable(pl.BOOL, (), "foreign")
    with pytest.raises(pl.ControlProgramError, match="result 'foreign' belongs to another graph"):
        pl.Execute(cs, foreign)
    unmapped = graph.add_variable(pl.BOOL, (), "unmapped")
    graph.add_vertex(cs, Below, tile=0, limit=1, x=bench.x[0])
    with pytest.raises(pl.InvalidTileMapping, match=r"'unmapped': elements \[0, 1\) of 1 have no"):
        pl.Engine(graph, pl.Execute(cs, unmapped), options=values_only())


def test_what_compute_may_return() -> None:
    class Undeclared(pl.Vertex):
        x: pl.Input[pl.INT]

        def compute(self):  # type: ignore[no-untyped-def]
            return self.x > 0

    class Number(pl.Vertex):
        x: pl.Input[pl.INT]

        def compute(self) -> bool:
            return self.x  # type: ignore[return-value]

    class Halfway(pl.Vertex):
        x: pl.Input[pl.INT]

        def compute(self) -> bool:
            if self.x > 0:
                return True
            return None  # type: ignore[return-value]

    for cls, message in (
        (
            Undeclared,
            r"(?s)compute cannot return a value.*return self.x > 0.*def compute\(self\) -> bo",
        ),
        (Number, r"(?s)an int is returned by a compute that is declared -> bool.*bool\(\.\.\.\)"),
        (Halfway, "nothing is returned on this path, but a number on another"),
    ):
        bench = Bench()
        bench.graph.add_vertex(bench.cs, cls, tile=0, x=bench.x[0])
        with pytest.raises(pl.VertexCompileError, match=message):
            bench.engine()


@both_forms
def test_every_replica_has_a_result_of_its_own(interpret: bool) -> None:
    graph = pl.Graph(pl.Target(tiles=6, ipus=3), replication_factor=3)
    x = graph.add_variable(pl.INT, (2,), "x", mapping=0, initial_value=0)
    done = graph.add_variable(pl.BOOL, (), "done", mapping=1, initial_value=False)
    cs = graph.add_compute_set("below")
    for k in range(2):
        graph.add_vertex(cs, Below, tile=k, limit=5, x=x[k])
    engine = pl.Engine(graph, pl.Execute(cs, done), interpret=interpret, options=values_only())
    engine.write(x, [[0, 0], [0, 7], [3, 3]])
    engine.run()
    assert engine.read(done).tolist() == [True, False, True]
    engine.run()
    assert engine.read(done).tolist() == [True, False, False]


# -- indices outside of fields: at every size, with every kind of checks but none ------------------


class Next(pl.Vertex):
    """Reads one element too many."""

    x: pl.Input[pl.Vector[pl.INT]]
    y: pl.Output[pl.INT]

    def compute(self) -> None:
        self.y = self.x[len(self.x)]


class Take(pl.Vertex):
    """Reads where memory says."""

    x: pl.Input[pl.Vector[pl.INT]]
    index: pl.Input[pl.Vector[pl.INT]]
    y: pl.Output[pl.Vector[pl.INT]]

    def compute(self) -> None:
        for i in range(len(self.y)):
            self.y[i] = self.x[self.index[i]]


def one(size: int) -> tuple[pl.Graph, pl.Program, pl.Tensor]:
    graph = pl.Graph(pl.Target(tiles=1472))
    x = graph.add_variable(pl.INT, (size + 1,), "cells", mapping="linear", initial_value=7)
    y = graph.add_variable(pl.INT, (1,), "y", mapping=0)
    work = graph.add_compute_set("work")
    graph.add_vertex(work, Next, tile=0, x=x[:size], y=y[0])
    return graph, pl.Execute(work), y


@pytest.mark.parametrize(("size", "checks"), [(10, "strict"), (1_000_001, "fast")])
def test_a_neighbour_is_not_read(size: int, checks: str) -> None:
    graph, program, y = one(size)
    options = {"debug.allowOutOfMemory": True}
    engine = pl.Engine(graph, program, options=options)
    assert engine.checks == checks
    assert repr(engine) == f"<Engine 1 program on 1,472 tiles, compiled, {checks} checks>"
    with pytest.raises(pl.TensorIndexError) as caught:
        engine.run()
    what = f"vertex 0 of 'Next' on tile 0: 'Next.x': index {size} of {size} elements"
    assert caught.value.what == what
    assert f"'Next.x' is 'cells'[0:{size:,}]" in caught.value.found.replace(
        f"0:{size}", f"0:{size:,}"
    )


def test_an_engine_with_fast_checks_begins_anew_after_a_fault() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.INT, (4,), "x", mapping=0, initial_value=[1, 2, 3, 4])
    index = graph.add_variable(pl.INT, (2,), "index", mapping=0, initial_value=[0, 4])
    y = graph.add_variable(pl.INT, (2,), "y", mapping=0)
    work = graph.add_compute_set("work")
    graph.add_vertex(work, Take, tile=0, x=x, index=index, y=y)
    engine = pl.Engine(graph, pl.Execute(work), checks="fast")
    with pytest.raises(pl.TensorIndexError) as caught:
        engine.run()
    assert caught.value.what == "vertex 0 of 'Take' on tile 0: 'Take.x': index 4 of 4 elements"
    assert caught.value.found.splitlines()[0] == "'Take.x' is 'x'[0:4]"
    assert "memory is now undefined, since fast checks do not save it" in caught.value.found
    engine.write(index, [0, 3])
    with pytest.raises(pl.ControlProgramError) as refused:
        engine.run()
    assert refused.value.what == "engine.run(0): memory is undefined since a vertex stopped"
    assert refused.value.found.startswith(
        "vertex 0 of 'Take' on tile 0: 'Take.x': index 4 of 4 elements"
    )
    engine.load()
    engine.write(index, [0, 3])
    engine.run()
    assert engine.read(y).tolist() == [1, 4]
    assert "Checks: fast, compiled" in " ".join(str(engine.report()).split())


@pytest.mark.parametrize("checks", ["fast", "none"])
def test_files_say_whether_indices_are_checked(tmp_path: Path, checks: str) -> None:
    graph, program, _ = one(3)
    engine = pl.Engine(graph, program, checks=checks)  # type: ignore[arg-type]
    path = tmp_path / "next.poplite"
    engine.executable.save(path)
    again = pl.Engine(pl.Executable.load(path, [Next]))
    assert again.checks == checks
    if checks == "none":
        again.run()
        assert repr(again).endswith("no checks>")
        return
    with pytest.raises(pl.TensorIndexError, match=r"'Next.x': index 3 of 3 elements"):
        again.run()


def test_with_none_a_neighbour_is_read() -> None:
    """Which is what the name says: it is the user's choice."""
    graph, program, y = one(3)
    engine = pl.Engine(graph, program, checks="none")
    engine.run()
    assert np.all(engine.read(y) == 7)
