"""Functions of the graph, and orders of steps that an operation records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poplite as pl
import poplite.named as ng
from helpers.depth import interpreted, interpreted_everywhere
from poplite.expr.tree import ViewExpr
from poplite.ops.fuse.lowering import Lowering
from poplite.ops.fuse.storing import Root
from poplite.program.recording import Recorder

# -- functions of the graph ------------------------------------------------------------------------


def sum_of(a: pl.Tensor, b: pl.Tensor, out: pl.Tensor | None = None) -> pl.Tensor:
    """Record a + b."""
    return pl.ops.map(a + b, out=out)


def vector(graph: pl.Graph, name: str, value: float, size: int = 4, tile: int = 0) -> pl.Tensor:
    made = graph.add_variable(pl.FLOAT, (size,), name, mapping=tile, initial_value=value)
    graph.create_host_read(name, made)
    return made


@pytest.fixture
def graph() -> pl.Graph:
    return pl.Graph(pl.Target(tiles=2))


def test_results_of_calls_are_tensors_of_their_own(graph: pl.Graph) -> None:
    made: list[float] = []

    @pl.graph_function
    def twice(x: pl.Tensor, scale: float = 1.0) -> pl.Tensor:
        made.append(scale)
        return sum_of(x, x)

    x, y = vector(graph, "x", 1), vector(graph, "y", 10)
    with graph.steps() as step:
        first, second = twice(x), twice(y)
        both = sum_of(first, second)
    graph.create_host_read("both", both)
    engine = pl.Engine(graph, step, **interpreted())
    engine.run()
    np.testing.assert_array_equal(engine.read("both"), np.full(4, 22.0))
    with graph.steps():
        twice(second)
    assert made == [1.0]


def test_signatures_are_recorded_once_each(graph: pl.Graph) -> None:
    made: list[tuple[object, ...]] = []

    @pl.graph_function
    def f(x: pl.Tensor, n: object = 1) -> None:
        made.append((x.shape, n))

    same = [vector(graph, "a", 1), vector(graph, "b", 2)]
    with graph.steps():
        for x in same:
            for n in (1, 1.0, True, 0.0, -0.0, "n"):
                f(x, n)
        f(vector(graph, "c", 1, tile=1))
        f(vector(graph, "d", 1, size=8))
        f(same[0], n=1)
    assert len(made) == 8
    other = pl.Graph()
    with other.steps():
        f(vector(other, "a", 1))
    assert len(made) == 9


def test_inout_arguments_are_copied_back(graph: pl.Graph) -> None:
    @pl.graph_function(inout=("total",))
    def accumulate(total: pl.Tensor, x: pl.Tensor) -> None:
        sum_of(total, x, total)

    a, b, x = vector(graph, "a", 1), vector(graph, "b", 2), vector(graph, "x", 10)
    with graph.steps() as step:
        accumulate(a, x)
        accumulate(b, x)
        accumulate(b, x)
    engine = pl.Engine(graph, step, **interpreted())
    engine.run()
    assert (engine.read("a")[0], engine.read("b")[0], engine.read("x")[0]) == (11, 22, 10)


def test_functions_call_others_but_not_themselves(graph: pl.Graph) -> None:
    @pl.graph_function
    def twice(x: pl.Tensor) -> tuple[pl.Tensor, None]:
        return sum_of(x, x), None

    @pl.graph_function
    def four_times(x: pl.Tensor) -> pl.Tensor:
        return twice(twice(x)[0])[0]

    @pl.graph_function
    def endless(x: pl.Tensor) -> None:
        endless(x)

    with graph.steps() as step:
        y = four_times(vector(graph, "x", 1))
        with pytest.raises(pl.GraphRecursionError, match="'endless' calls itself"):
            endless(y)
    graph.create_host_read("y", y)
    engine = pl.Engine(graph, step, **interpreted())
    engine.run()
    assert engine.read("y")[0] == 4


def test_wrong_uses_are_refused(graph: pl.Graph) -> None:
    x = vector(graph, "x", 1)

    @pl.graph_function
    def f(x: object, y: object = 0) -> object:
        return y

    with pytest.raises(
        pl.ControlProgramError, match=r"f\(...\): it is called outside its graph's steps"
    ):
        f(x)
    with graph.steps() as step:
        with pytest.raises(pl.ControlProgramError, match="no argument is a tensor"):
            f(7)
        with pytest.raises(pl.ControlProgramError, match=r"y=\[1\] is neither"):
            f(x, [1])
        with pytest.raises(pl.ElementTypeError, match="returns 3, which is not a tensor"):
            f(x, 3)
        with pytest.raises(pl.ElementTypeError, match=r"argument y is not(.|\n)*store it first"):
            f(x, x + 1)
    assert step.programs == ()
    with pytest.raises(
        pl.ControlProgramError, match="inout contains 'z', which is not a parameter"
    ):
        pl.graph_function(inout=("z",))(f)


def test_what_is_copied_back_shares_no_elements(graph: pl.Graph) -> None:
    @pl.graph_function(inout=("a", "b"))
    def both(a: pl.Tensor, b: pl.Tensor) -> None:
        pl.ops.assign(a, a + 1)
        pl.ops.assign(b, b * 2)

    x = graph.add_variable(pl.INT, (4,), "x", mapping=0, initial_value=[1, 2, 3, 4])
    with graph.steps() as step:
        with pytest.raises(pl.ControlProgramError, match="'a' and 'b' share elements"):
            both(x[:3], x[2:])
        both(x[:2], x[2:])
    engine = pl.Engine(graph, step, **interpreted())
    engine.run()
    assert engine.read(x).tolist() == [2, 3, 6, 8]


# -- recorded orders -------------------------------------------------------------------------------


H = ng.make_axis(2, "H")
E, D, N = ng.make_axis(2, "E"), ng.make_axis(3, "D"), ng.make_axis(8, "N")

RNG = np.random.default_rng(7)
ROWS, TARGETS = RNG.normal(size=(2, 8, 2, 3)), RNG.normal(size=(2, 8))


def test_strict_engines_refuse_a_copy_before_the_step_that_makes_what_it_copies(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A run after the first would return the gradient of the run before."""

    def copies_first(self: Recorder, name: str, reads: Any, writes: Any) -> None:
        if self.steps:
            self.steps.insert(-1, self.steps.pop())  # the copy, before the last Execute

    monkeypatch.setattr(Recorder, "uses", copies_first)
    for name, options in interpreted_everywhere().items():
        monkeypatch.setenv(name, options)
    x = ng.variable([E, D], np.ones((2, 3)), map={D: "tiles"}, name="x")
    rows, targets = ng.placeholder([N, E, D]), ng.placeholder([N])
    loss = ng.mean((ng.dot(ng.flatten(rows, [E, D]), ng.flatten(x)) - targets) ** 2, [N])
    gradient = ng.deriv(loss, x)
    fast = ng.make_transformer(tiles=4, checks="fast").computation([gradient], rows, targets)
    found = [fast(ROWS[0], TARGETS[0])[0] for _ in range(2)]
    assert not found[0].any()
    assert found[1].any()
    work = ng.make_transformer(tiles=4, checks="strict").computation([gradient], rows, targets)
    with pytest.raises(pl.errors.UninitializedReadError) as error:
        work(ROWS[0], TARGETS[0])
    what, then, _ = str(error.value).splitlines()
    assert what.startswith(
        "Sequence 'deriv x': Copy 'deriv x/sum_1' -> 'deriv x' reads 'deriv x/sum_1' "
        "before any step writes it  ("
    )
    assert "test_graph_function.py" in what
    assert then.startswith("  Execute 'deriv x/sum/final_1', a later step, writes it")


@pytest.mark.parametrize("order", [1, -1])
def test_no_result_shows_a_tensor_of_the_user(monkeypatch: pytest.MonkeyPatch, order: int) -> None:
    """An assignment that follows would change a part of it, in every engine."""

    def with_a_place(self: Lowering, root: Root, expr: Any) -> bool:
        return isinstance(expr, ViewExpr) and (root.out is not None or root.mapping is not None)

    monkeypatch.setattr(Lowering, "_is_copied", with_a_place)
    x = ng.variable([H], [1, 2], name="x")
    items = [ng.concat([-x, x][::order], H), ng.assign(x, x * 10)]
    with pytest.raises(AssertionError, match="'concat' shows what later steps may write"):
        ng.make_transformer(tiles=2).computation(items)()


@pytest.mark.parametrize("by", ["itself", "a step of the user", "the host"])
def test_what_others_write_too_may_be_read_before_a_recording_writes_it(by: str) -> None:
    """Only the order of a recording's own steps is its own matter."""
    graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    x = graph.add_variable(pl.FLOAT, (2,), "x", mapping="linear", initial_value=3)
    work = Recorder(graph)
    y, z = (graph.add_variable(pl.FLOAT, (2,), name, mapping="linear") for name in "yz")
    work.add(pl.Copy(y, z))
    work.add(pl.Copy(x, y))
    if by == "a step of the user":
        program.add(pl.Copy(x, y))
    if by == "the host":
        graph.create_host_write("y", y)
    work.finish(program, "work")
    if by == "itself":
        with pytest.raises(pl.errors.UninitializedReadError, match="Copy 'y' -> 'z' reads 'y'"):
            pl.Engine(graph, program, checks="strict")
        pl.Engine(graph, program, checks="fast").run()
        return
    engine = pl.Engine(graph, program, checks="strict")
    engine.write(y, [3, 3])
    engine.run()
    assert engine.read(z).tolist() == [3, 3]


class Shift(pl.Vertex):
    """Reads what it writes."""

    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        """Shift."""
        for i in range(len(self.y)):
            self.y[i] = self.x[i] + 1


class Scratch(pl.Vertex):
    """Writes in its first field before it reads there, if `first` is true."""

    y: pl.InOut[pl.Vector[pl.FLOAT]]
    first: pl.State[pl.BOOL]
    z: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        """Copy."""
        for i in range(len(self.y)):
            if self.first:
                self.y[i] = 3
            self.z[i] = self.y[i] * 1


class Recording:
    """Steps of one operation, which made y and z; x and the flag are the user's."""

    def __init__(self) -> None:
        self.graph = pl.Graph(pl.Target(tiles=1))
        x = self.graph.add_variable(pl.FLOAT, (4,), "x", mapping=0, initial_value=3)
        flag = self.graph.add_variable(pl.BOOL, (), "flag", mapping=0, initial_value=False)
        self.work = Recorder(self.graph)
        y, z = (self.graph.add_variable(pl.FLOAT, (4,), name, mapping=0) for name in "yz")
        self.x, self.y, self.z, self.flag = x, y, z, flag

    def vertex(self, cls: type[pl.Vertex], **fields: Any) -> pl.Execute:
        compute_set = self.graph.add_compute_set(cls.__name__)
        self.graph.add_vertex(compute_set, cls, tile=0, **fields)
        return pl.Execute(compute_set)

    def finished(self, *steps: pl.Program) -> pl.Sequence:
        program = pl.Sequence()
        self.work.steps.extend(steps)
        self.work.finish(program, "work")
        return program


def _own(r: Recording) -> pl.Program:
    shift = r.vertex(Shift, x=r.y[:2], y=r.y[1:3])
    return r.finished(pl.Copy(r.x[0], r.y[0]), shift, pl.Copy(r.y, r.z))


def _looped(r: Recording) -> pl.Program:
    swapped = pl.Repeat(2, pl.Sequence(pl.Copy(r.y, r.z), pl.Copy(r.z, r.x)))
    return r.finished(swapped, pl.Copy(r.x, r.y))


WRONG: dict[str, Any] = {
    "Copy 'y' -> 'z' reads 'y'[1:4]": lambda r: r.finished(
        pl.Copy(r.x[0], r.y[0]), pl.Copy(r.y, r.z), pl.Copy(r.x, r.y)
    ),
    "Copy 'y' -> 'y' reads 'y'[0:2]": lambda r: r.finished(
        pl.Copy(r.y[:2], r.y[2:]), pl.Copy(r.x, r.y), pl.Copy(r.y, r.z)
    ),
    "Execute 'Shift' reads 'y'[1:2]": _own,
    "Repeat 2 times reads 'y' ": _looped,
    "Copy 'y' -> 'z' reads 'y'[3:4]": lambda r: pl.Sequence(
        pl.Copy(r.x[:3], r.y[:3]), r.finished(pl.Copy(r.y, r.z), pl.Copy(r.x, r.y))
    ),
}


@pytest.mark.parametrize("told", WRONG)
@pytest.mark.parametrize("is_loaded", [False, True], ids=["built", "loaded"])
def test_elements_are_written_before_they_are_read(
    told: str, is_loaded: bool, tmp_path: Path
) -> None:
    recording = Recording()
    graph, program = recording.graph, WRONG[told](recording)
    if is_loaded:
        graph.save(tmp_path / "work.graph", program)
        graph, programs = pl.Graph.load(tmp_path / "work.graph", vertices=[Shift])
        program = programs["0"]
    with pytest.raises(pl.errors.UninitializedReadError) as error:
        pl.Engine(graph, program, checks="strict")
    assert f"Sequence 'work': {told}" in str(error.value)
    assert ("the step itself writes it" in str(error.value)) == ("Shift" in told)


def _first_turn_reads_nothing(r: Recording) -> pl.Program:
    keep = pl.If(r.flag, pl.Copy(r.y, r.z), pl.Copy(r.x, r.z))
    on = r.graph.add_constant(pl.BOOL, (), True, mapping=0)
    return r.finished(pl.Repeat(2, pl.Sequence(keep, pl.Copy(r.x, r.y), pl.Copy(on, r.flag))))


def _either(r: Recording) -> pl.Program:
    return r.finished(pl.If(r.flag, pl.Copy(r.y, r.z), pl.Copy(r.x, r.y)), pl.Copy(r.x, r.z))


def _scratch(r: Recording) -> pl.Program:
    return r.finished(r.vertex(Scratch, y=r.y, z=r.z, first=True), pl.Copy(r.x, r.y))


RIGHT: dict[str, Any] = {
    "parts, each behind what writes it": lambda r: r.finished(
        pl.Copy(r.x[:2], r.y[:2]),
        pl.Copy(r.y[:2], r.z[:2]),
        pl.Copy(r.x[2:], r.y[2:]),
        pl.Copy(r.y[2:], r.z[2:]),
    ),
    "parts in another order": lambda r: r.finished(
        pl.Copy(r.x[::2], r.y[1::2]),
        pl.Copy(r.y[1::2], r.y[::2]),
        pl.Copy(r.y.reverse(0), r.z),
        pl.Copy(r.x, r.y),
    ),
    "a loop whose first turn reads nothing": _first_turn_reads_nothing,
    "a branch that is not taken": _either,
    "a vertex that writes first": _scratch,
    "what a step of the user writes": lambda r: pl.Sequence(
        pl.Copy(r.x[:2], r.y[:2]),
        r.finished(pl.Copy(r.y[:2], r.z[:2]), pl.Copy(r.x, r.y), pl.Copy(r.y, r.z)),
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_orders_are_not_refused(name: str) -> None:
    recording = Recording()
    program = RIGHT[name](recording)
    engine = pl.Engine(recording.graph, program, checks="strict", interpret=True)
    engine.run()
    assert engine.read(recording.z).tolist() == [3] * 4


def test_a_vertex_that_reads_a_field_before_it_writes_it_is_refused_when_it_runs() -> None:
    recording = Recording()
    r = recording
    program = r.finished(r.vertex(Scratch, y=r.y, z=r.z, first=False), pl.Copy(r.x, r.y))
    engine = pl.Engine(r.graph, program, checks="strict", interpret=True)
    with pytest.raises(pl.errors.UninitializedReadError, match=r"reads 'Scratch.y'\[0\]"):
        engine.run()
