"""Blocks of steps, loops and branches: the programs they become, and what these compute."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import numpy as np
import pytest

import poplite as pl
from helpers.depth import interpreted
from poplite import ops
from poplite.ops.control import LoopIndex
from poplite.program import recording
from poplite.program.steps import ErrorProgram


@pytest.fixture
def graph() -> pl.Graph:
    return pl.Graph(pl.Target(tiles=2))


def scalar(graph: pl.Graph, name: str, value: int, kind: str = "int32") -> pl.Tensor:
    return graph.add_variable(kind, (), name, mapping=0, initial_value=value)


def values(graph: pl.Graph, program: pl.Program, *tensors: pl.Tensor) -> list[int]:
    engine = pl.Engine(graph, program, **interpreted())
    engine.run()
    return [int(engine.read(each)) for each in tensors]


def kinds(program: pl.Program) -> list[str]:
    return [type(each).__name__ for each in program.children]


def fails(x: pl.Tensor) -> None:
    ops.assign(x, x * 100)
    raise KeyError


# -- blocks ----------------------------------------------------------------------------------------


def test_a_block_takes_operations_and_programs_in_order(graph: pl.Graph) -> None:
    x, y = scalar(graph, "x", 3), scalar(graph, "y", 0)
    with graph.steps("outer") as step:
        ops.assign(x, x + 1)
        step.add(pl.Copy(x, y))
        ops.assign(x, x * 10)
    assert str(step) == "Sequence 'outer'"
    assert values(graph, pl.Repeat(2, step), x, y) == [410, 41]


def test_what_is_added_within_a_loop_or_a_branch_is_a_step_of_that(graph: pl.Graph) -> None:
    x, y, z = (scalar(graph, name, 0) for name in "xyz")
    with graph.steps() as step:
        with ops.repeat(3), ops.together():
            ops.assign(x, x + 1)
            step.add(pl.Copy(x, y))
        with ops.if_(x > 2) as branch:
            with graph.steps() as own:
                ops.assign(z, z + 1)
            step.add(own)
        with branch.else_():
            ops.assign(z, 100, program=step)
    assert [each for each in kinds(step) if each != "RecordedSteps"] == ["Repeat", "If"]
    assert values(graph, step, x, y, z) == [3, 3, 1]


def test_an_exception_appends_nothing(graph: pl.Graph) -> None:
    x = scalar(graph, "x", 3)
    with graph.steps() as outer:
        ops.assign(x, x + 1)
        inner = graph.steps()
        with pytest.raises(KeyError), inner:
            fails(x)
        blocks = (
            lambda: ops.repeat(3),
            lambda: ops.while_(x > 0),
            lambda: ops.if_(x > 0),
            lambda: ops.switch(x),
            ops.together,
        )
        for opened in blocks:
            with pytest.raises(KeyError), opened():
                fails(x)
    assert (len(outer.programs), inner.programs) == (1, ())


def test_a_block_is_no_program_while_it_is_open(graph: pl.Graph) -> None:
    x = scalar(graph, "x", 3)
    with graph.steps("open") as step:
        for use in (
            lambda: pl.Repeat(2, step),
            lambda: pl.Engine(graph, step, **interpreted()),
        ):
            with pytest.raises(pl.ControlProgramError, match="'open'.*while its block is open"):
                use()
        with pytest.raises(pl.ControlProgramError, match="is already open"), step:
            pass
    with step:
        ops.assign(x, x + 1)
    pl.Repeat(2, step)
    with (
        pytest.raises(
            pl.ControlProgramError, match="cannot be added to a program that is already in use"
        ),
        step,
    ):
        pass


def test_outside_of_all_blocks_both_remedies_are_named(graph: pl.Graph) -> None:
    x = scalar(graph, "x", 3)
    message = r"called outside its graph's steps(.|\n)*graph.steps\(\)(.|\n)*program="
    with pytest.raises(pl.ControlProgramError, match=message):
        ops.map(x + 1)
    with pl.Graph().steps(), pytest.raises(pl.ControlProgramError, match=message):
        ops.map(x + 1)
    with pytest.raises(pl.ControlProgramError, match="7 is not a sequence"):
        ops.map(x + 1, program=7)  # type: ignore[arg-type]
    assert [each.name for each in graph.space.variables] == ["x"]
    with pytest.raises(pl.ControlProgramError, match="graph.steps"), ops.repeat(3):
        pass


def test_other_threads_have_blocks_of_their_own(graph: pl.Graph) -> None:
    found: list[str] = []

    def look() -> None:
        try:
            recording.open_steps(graph, "look")
        except pl.ControlProgramError as error:
            found.append(error.what)

    with graph.steps():
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
    assert found == ["look: it is called outside its graph's steps()"]


# -- loops and branches ----------------------------------------------------------------------------


def test_repeat_counts_its_index_only_where_it_is_asked_for(graph: pl.Graph) -> None:
    total, twice = scalar(graph, "total", 0, "uint32"), scalar(graph, "twice", 0, "uint32")
    with graph.steps() as step, ops.repeat(5) as i:
        ops.assign(total, total + i)
        with ops.repeat(2):
            ops.assign(twice, twice + i)
    with graph.steps() as other, ops.repeat(5):
        ops.assign(total, total + 1)
    assert kinds(other) == ["Repeat"]
    assert values(graph, step, total, twice) == [10, 20]
    with pytest.raises(pl.ControlProgramError, match="-1 times"), graph.steps(), ops.repeat(-1):
        pass


def test_the_index_of_a_loop_is_no_number(graph: pl.Graph) -> None:
    with graph.steps(), ops.repeat(5) as i:
        for use in (bool, int, range, lambda i: i == 3, lambda i: i != 3):
            with pytest.raises(pl.ElementTypeError, match="index of a loop"):
                use(i)
        assert repr(i) == "<index of ops.repeat(5)>"


def test_while_computes_its_condition_before_every_iteration(graph: pl.Graph) -> None:
    left, count = scalar(graph, "left", 4), scalar(graph, "count", 0)

    def condition() -> pl.Expr:
        ops.assign(left, left - 1)
        return left > 0

    with graph.steps() as step, ops.while_(condition):
        ops.assign(count, count + 1)
    assert kinds(step) == ["RepeatWhileTrue"]
    assert values(graph, step, count, left) == [3, 0]


@pytest.mark.parametrize(("value", "expected"), [(0, 20), (1, 10), (3, 30), (7, 70)])
def test_if_and_switch_choose(graph: pl.Graph, value: int, expected: int) -> None:
    mode, out = scalar(graph, "mode", value), scalar(graph, "out", 0)
    with graph.steps() as step:
        with ops.if_(mode) as branch:
            ops.fill(out, 10)
        with branch.else_():
            ops.fill(out, 20)
        with ops.switch(mode) as cases:
            with cases.case(3):
                ops.fill(out, 30)
            with cases.case(7):
                ops.fill(out, 70)
    assert [each for each in kinds(step) if each != "RecordedSteps"] == ["If", "Switch"]
    assert values(graph, step, out) == [expected]


def test_branches_and_cases_come_once_and_in_their_place(graph: pl.Graph) -> None:
    mode = scalar(graph, "mode", 0)
    with graph.steps():
        with ops.if_(mode) as branch:
            pass
        with branch.else_():
            pass
        late = pytest.raises(pl.ControlProgramError, match="directly follow its ops.if_")
        with late, branch.else_():
            pass
        with ops.if_(mode) as branch:
            pass
        ops.assign(mode, mode + 1)
        late = pytest.raises(pl.ControlProgramError, match="directly follow its ops.if_")
        with late, branch.else_():
            pass
        with ops.switch(mode) as cases:
            with cases.case(3), cases.default():
                pass
            twice = pytest.raises(pl.ControlProgramError, match="3 already has a case")
            with twice, cases.case(3):
                pass
            twice = pytest.raises(pl.ControlProgramError, match="already has a default")
            with twice, cases.default():
                pass


def test_a_switch_has_steps_in_its_cases_only(graph: pl.Graph) -> None:
    x = scalar(graph, "x", 1)
    refused = pytest.raises(pl.ControlProgramError, match="outside of its cases")
    with graph.steps() as step, refused, ops.switch(x):
        ops.assign(x, x + 1)
    assert step.is_empty


def test_together_shares_compute_sets(graph: pl.Graph) -> None:
    x, y = (
        graph.add_variable(pl.FLOAT, (100,), n, mapping="linear", initial_value=range(100))
        for n in "xy"
    )
    with graph.steps() as step, ops.together():
        totals = [ops.map(ops.sum(x * x)), ops.map(ops.max(y)), ops.map(y + 1)]
    with graph.steps() as one_by_one:
        ops.map(ops.sum(x * x))
        ops.map(ops.max(y))
    assert step.num_steps < one_by_one.num_steps
    engine = pl.Engine(graph, step, **interpreted())
    engine.run()
    assert engine.read(totals[0]) == (np.arange(100.0) ** 2).sum()
    assert engine.read(totals[1]) == 99
    np.testing.assert_array_equal(engine.read(totals[2]), np.arange(1, 101))


def test_what_depends_on_each_other_does_not_run_together(graph: pl.Graph) -> None:
    """Also where the steps of the two share no compute set, so that nothing races."""
    x, y = scalar(graph, "x", 1), scalar(graph, "y", 1)
    rows = graph.add_variable(pl.INT, (20, 20), "rows", mapping="linear", initial_value=1)
    written = pytest.raises(pl.GraphCycleError, match="'y' reads 'x', and 'x'.*writes")
    with written, graph.steps(), ops.together():
        ops.assign(x, x + 1)
        ops.assign(y, x * 2)
    read = pytest.raises(pl.GraphCycleError, match="'x' writes 'x', and 'add'.*reads")
    with read, graph.steps(), ops.together():
        ops.map(x + y)
        ops.assign(x, y)
    later = pytest.raises(pl.GraphCycleError, match="'y' reads 'total', and 'total'")
    with later, graph.steps(), ops.together():
        total = ops.map(ops.sum(rows), name="total")  # several steps
        ops.assign(y, y + total)
    copied = pytest.raises(pl.GraphCycleError, match="'multiply' reads 'rows', and 'copy'")
    with copied, graph.steps(), ops.together():
        ops.copy(x, rows[3])
        ops.map(rows[:, 1] * 2)


def test_what_is_no_operation_runs_where_it_is_recorded_together(graph: pl.Graph) -> None:
    x, y, z = (scalar(graph, name, 1) for name in "xyz")

    @pl.graph_function
    def doubled(t: pl.Tensor) -> pl.Tensor:
        return ops.map(t * 2)

    by_name = pl.Sequence()
    with graph.steps() as step, ops.together():
        ops.assign(x, x + 1)
        with ops.repeat(3):
            ops.assign(x, x * 10)
        ops.assign(y, x + 5)
        with ops.if_(y > 0):
            ops.assign(z, y)
        result = doubled(z)
        ops.assign(z, z + 1)
        ops.assign(y, y + 1, program=by_name)
    with graph.steps() as calls:
        once_more = doubled(z)
    assert by_name.num_steps == 1
    both = pl.Sequence(step, calls)
    assert values(graph, both, x, y, z, result, once_more) == [2000, 2005, 2006, 4010, 4012]


def test_what_stands_elsewhere_than_its_switch_or_branch_is_refused(graph: pl.Graph) -> None:
    x = scalar(graph, "x", 1)
    with graph.steps():
        with ops.switch(x) as cases, cases.case(0):
            ops.zero(x)
        late = pytest.raises(pl.ControlProgramError, match=r"case\(1\) is not directly")
        with late, cases.case(1):
            ops.fill(x, 7)
        late = pytest.raises(pl.ControlProgramError, match=r"default\(\) is not directly")
        with late, cases.default():
            ops.fill(x, 7)
        with ops.if_(x > 0) as branch:
            ops.zero(x)
        within = pytest.raises(pl.ControlProgramError, match="directly follow its ops.if_")
        with within, ops.repeat(3), branch.else_():
            ops.fill(x, 7)


def test_an_index_is_read_in_its_loop(graph: pl.Graph) -> None:
    x = scalar(graph, "x", 0, "uint32")
    with graph.steps():
        for is_used in (False, True):
            with ops.repeat(3) as i:
                if is_used:
                    ops.assign(x, x + i)
            with pytest.raises(pl.ControlProgramError, match="outside of its loop"):
                ops.assign(x, x + i)


def test_what_decides_is_computed_by_the_program(graph: pl.Graph) -> None:
    other = pl.Graph().add_variable(pl.INT, (), "other", mapping=0)
    with graph.steps() as step:
        for block in (ops.while_, ops.if_, ops.switch):
            called = f"ops.{block.__name__}: True is a Python bool"
            with pytest.raises(pl.ElementTypeError, match=called), block(True):  # type: ignore
                pass
            elsewhere = pytest.raises(pl.ControlProgramError, match="the open block uses <Graph 2")
            with elsewhere, block(other > 0):
                pass
    assert step.is_empty


# -- the block of a Sequence -----------------------------------------------------------------------


def test_the_block_of_a_sequence_takes_steps_as_those_of_a_graph_do(graph: pl.Graph) -> None:
    x, y, z = (scalar(graph, name, 1, "uint32") for name in "xyz")
    step = pl.Sequence(pl.Copy(x, y), name="step")
    with step:
        with ops.repeat(3):
            ops.assign(x, x * 2)
            step.add(pl.Copy(x, z))
        with ops.if_(x > 7) as branch:
            ops.assign(y, y + 10)
        with branch.else_():
            ops.zero(y)
    with step, ops.together():
        ops.assign(x, x + 1)
        ops.assign(y, y + 1)
    assert kinds(step) == ["TensorCopy", "Repeat", "RecordedSteps", "If", "Execute"]
    assert str(step) == "Sequence 'step'"
    assert values(graph, pl.Repeat(1, step), x, y, z) == [9, 12, 8]


def test_the_first_operation_decides_the_graph_of_a_sequence(graph: pl.Graph) -> None:
    total, other = scalar(graph, "total", 0, "uint32"), pl.Graph(pl.Target(tiles=2))
    there = scalar(other, "there", 5, "uint32")
    step, row = pl.Sequence(), graph.add_variable(pl.INT, (2,), "row", mapping=0, initial_value=7)
    with step, ops.repeat(5) as i:
        ops.assign(total, total + i)
    with other.steps() as outside, step:
        ops.assign(total, total * 10)
        ops.assign(there, there + 1)
    with pl.Sequence() as rows, ops.repeat(2) as k:
        found = ops.dynamic_slice(row, k, [0], [1])
    last, made = scalar(graph, "last", 0, "uint32"), scalar(graph, "made", 0, "uint32")
    for record in (
        lambda j: ops.assign(last, j),
        lambda j: ops.map(j, out=last),
        lambda j: ops.lower(graph, [ops.Root(j, out=made)]),
    ):
        with pl.Sequence() as alone, ops.repeat(4) as j:
            record(j)
        rows.add(alone)
    assert values(graph, pl.Sequence(step, rows), total, found[0], last, made) == [100, 7, 3, 3]
    assert values(other, outside, there) == [6]
    with (
        pytest.raises(pl.ControlProgramError, match="its graph is not known before") as caught,
        pl.Sequence(),
        ops.repeat(2) as i,
    ):
        ops.map(i + 1)
    assert "with graph.steps() as step" in caught.value.fix


def test_the_block_of_a_sequence_ends_with_all_its_steps_or_none(graph: pl.Graph) -> None:
    x, step = scalar(graph, "x", 3), pl.Sequence(name="step")
    with pytest.raises(KeyError), step:
        fails(x)
    assert step.programs == ()
    with step:
        with pytest.raises(pl.ControlProgramError, match="its block is already open"), step:
            pass
        with pytest.raises(pl.ControlProgramError, match="cannot be used while its block is open"):
            pl.Repeat(2, step)
        with pl.Sequence() as inner:
            ops.assign(x, x + 1)
        step.add(inner)
        ops.assign(x, x * 10, program=step)
    assert values(graph, step, x) == [40]
    with (
        pytest.raises(
            pl.ControlProgramError, match="cannot be added to a program that is already in use"
        ),
        step,
    ):
        pass


DROPPED: dict[str, Callable[[pl.Tensor, pl.Tensor], pl.Program]] = {
    "Copy 'x' -> 'y'": lambda x, y: pl.Copy(x, y),
    "PrintTensor 'x'": lambda x, y: pl.PrintTensor(x),
    "Repeat 3 times": lambda x, y: pl.Repeat(3, pl.Copy(x, y)),
    "Sequence 1 step": lambda x, y: pl.Sequence(pl.Copy(x, y)),
}


@pytest.mark.parametrize("what", DROPPED)
@pytest.mark.parametrize("inside", ["steps", "sequence", "repeat"])
def test_a_program_that_is_created_in_a_block_and_kept_nowhere_is_refused(
    inside: str, what: str
) -> None:
    """It never ran, without a word."""
    graph = pl.Graph(pl.Target(tiles=2))
    x, y = (graph.add_variable(pl.INT, (4,), name, mapping="linear") for name in "xy")
    blocks: dict[str, Callable[[], Any]] = {
        "steps": graph.steps,
        "sequence": pl.Sequence,
        "repeat": lambda: pl.ops.repeat(3),
    }

    def record() -> None:
        with graph.steps(), blocks[inside]():
            ops.zero(y)
            DROPPED[what](x, y)

    with pytest.raises(pl.ControlProgramError) as caught:
        record()
    assert f"<{what}" in caught.value.what
    assert "not added to it" in caught.value.what
    assert caught.value.at is not None
    assert caught.value.at.file == __file__


def test_programs_that_are_kept_in_a_block_are_not_refused() -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    x, y = (graph.add_variable(pl.INT, (4,), name, mapping="linear") for name in "xy")
    with graph.steps() as step:
        body = pl.Copy(x, y)
        later = pl.Sequence(pl.Copy(y, x))
        step.add(pl.Repeat(3, body))
    assert (len(step.programs), later.num_steps) == (1, 1)


@pytest.mark.parametrize("inside", ["repeat", "if", "f"])
@pytest.mark.parametrize("how", ["steps", "sequence", "program"])
def test_steps_of_a_loop_a_branch_or_a_function_that_run_nowhere_are_refused(
    inside: str, how: str
) -> None:
    """They were lost without a word: the loop ran empty."""
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.INT, (4,), "x", mapping="linear", initial_value=[0, 1, 2, 3])

    def body(t: pl.Tensor) -> pl.Sequence:
        made = graph.steps("lost") if how == "steps" else pl.Sequence(name="lost")
        if how == "program":
            pl.ops.assign(t, t + 1, program=made)
        else:
            with made:
                pl.ops.assign(t, t + 1)
        return made

    @pl.graph_function
    def f(t: pl.Tensor) -> None:
        body(t)

    def record() -> None:
        if inside == "f":
            f(x)
            return
        with pl.ops.repeat(3) if inside == "repeat" else pl.ops.if_(x[0] < x[1]):
            body(x)

    with graph.steps(), pytest.raises(pl.ControlProgramError) as caught:
        record()
    assert f"created inside '{inside}', but not added to it" in caught.value.what
    assert caught.value.at is not None
    assert caught.value.at.function == "body"
    with graph.steps() as step, pl.ops.repeat(3):
        step.add(body(x))
    engine = pl.Engine(graph, step, interpret=True)
    engine.run()
    assert engine.read(x).tolist() == [3, 4, 5, 6]


# -- the index of a loop ---------------------------------------------------------------------------
# Wherever steps of the loop read a tensor or an expression.


TABLE = np.arange(24).reshape(4, 6)
T = TypeVar("T", bound=pl.ElementType[Any])


class Twice(pl.Vertex, Generic[T]):
    x: pl.Input[T]
    y: pl.Output[T]

    def compute(self) -> None:
        self.y = 2 * self.x


class Loop:
    """A loop of three turns, whose body writes `rows[i]`, `number` and what the host reads."""

    def __init__(self) -> None:
        self.graph = graph = pl.Graph(pl.Target(tiles=2))
        self.table = graph.add_variable(
            pl.INT, (4, 6), "table", mapping="linear", initial_value=TABLE
        )
        self.row = graph.add_variable(pl.INT, (6,), "row", mapping=0, initial_value=0)
        self.number = graph.add_variable(pl.UNSIGNED_INT, (), "number", mapping=0, initial_value=0)
        self.buffer = graph.add_remote_buffer("buffer", pl.INT, 6, 4)
        self.stream = graph.add_device_to_host_fifo("stream", pl.UNSIGNED_INT, 1)

    def record(self, body: Callable[[Loop, LoopIndex], object]) -> pl.Sequence:
        with self.graph.steps() as self.body, ops.repeat(3) as i:
            body(self, i)
        return self.body


def vertex(loop: Loop, i: LoopIndex, by_field: bool) -> None:
    step = loop.graph.add_compute_set("step")
    if by_field:
        made = loop.graph.add_vertex(step, Twice[pl.UNSIGNED_INT], tile=0, y=loop.number)
        loop.graph.connect(made["x"], i)
    else:
        loop.graph.add_vertex(step, Twice, tile=0, x=i, y=loop.number)
    loop.body.add(pl.Execute(step))


def function(loop: Loop, i: LoopIndex) -> None:
    @pl.graph_function
    def square(x: pl.Tensor) -> pl.Tensor:
        return ops.map(x * x)

    ops.assign(loop.number, square(i))


def branch(loop: Loop, i: LoopIndex) -> None:
    five = loop.graph.add_constant(pl.UNSIGNED_INT, (), 5, mapping=0)
    loop.body.add(pl.If(i, pl.Sequence(), pl.Copy(five, loop.number)))


def counted(loop: Loop, i: LoopIndex) -> None:
    ran = pl.Sequence()
    ops.assign(loop.number, loop.number + 1, program=ran)
    loop.body.add(pl.counted_loop(loop.graph, 0, i, 1, ran))


READ: dict[str, tuple[Callable[[Loop, LoopIndex], object], int | list[int]]] = {
    "dynamic_slice": (
        lambda at, i: ops.assign(at.row, ops.dynamic_slice(at.table, i, [0], [1])[0]),
        [12, 13, 14, 15, 16, 17],
    ),
    "embedding": (
        lambda at, i: ops.assign(at.row, ops.embedding(at.table, i)),
        [12, 13, 14, 15, 16, 17],
    ),
    "multi_slice": (
        lambda at, i: ops.assign(at.row, ops.multi_slice(at.table, i)),
        [12, 13, 14, 15, 16, 17],
    ),
    "one_hot": (
        lambda at, i: ops.assign(at.row, ops.one_hot(i, 6, dtype=pl.INT)),
        [0, 0, 1, 0, 0, 0],
    ),
    "Copy": (lambda at, i: at.body.add(pl.Copy(i, at.number)), 2),
    "concat": (lambda at, i: ops.assign(at.row[:2], ops.cast(pl.stack([i, i]), pl.INT)), [2, 2]),
    "vertex": (lambda at, i: vertex(at, i, by_field=False), 4),
    "field": (lambda at, i: vertex(at, i, by_field=True), 4),
    "graph_function": (function, 4),
    "If": (branch, 5),
    "counted_loop": (counted, 3),
}


@pytest.mark.parametrize("name", READ)
def test_the_index_of_a_loop_is_read_as_a_tensor(name: str) -> None:
    body, expected = READ[name]
    loop = Loop()
    engine = pl.Engine(loop.graph, loop.record(body), **interpreted())
    engine.run()
    found = engine.read(loop.number) if isinstance(expected, int) else engine.read(loop.row)
    count = 1 if isinstance(expected, int) else len(expected)
    assert np.ravel(found)[:count].tolist() == np.ravel(expected).tolist()


def test_rows_are_updated_at_the_index_of_a_loop() -> None:
    loop = Loop()

    def body(_: Loop, i: LoopIndex) -> None:
        ops.dynamic_update(loop.table, ops.map(loop.row[None] + 7), i, [0], [1])
        ops.multi_update_add(loop.table, loop.table[3] * 2, i)

    engine = pl.Engine(loop.graph, loop.record(body), **interpreted())
    engine.run()
    assert engine.read(loop.table).tolist() == [*[(7 + 2 * TABLE[3]).tolist()] * 3, [*TABLE[3]]]


def test_copies_to_and_from_the_host_go_by_the_index_of_a_loop(
    capsys: pytest.CaptureFixture[str],
) -> None:
    loop, seen = Loop(), []

    def body(_: Loop, i: LoopIndex) -> None:
        ops.assign(loop.row, ops.cast(i, pl.INT) * 10)
        loop.body.add(pl.Copy(loop.row, loop.buffer, i))
        loop.body.add(pl.Copy(i, loop.stream))
        loop.body.add(pl.PrintTensor("i", i))

    engine = pl.Engine(loop.graph, loop.record(body), **interpreted())
    engine.connect_stream_to_callback("stream", lambda values: seen.append(int(values[0])))
    engine.run()
    rows = [engine.copy_from_remote_buffer("buffer", k).tolist() for k in range(3)]
    assert rows == [[0] * 6, [10] * 6, [20] * 6]
    assert seen == [0, 1, 2]
    assert capsys.readouterr().err.split("i: ")[1:] == ["0\n", "1\n", "2\n"]
    with loop.graph.steps(), ops.repeat(2) as i:
        stop = ErrorProgram("stop", i)
        assert repr(stop) == "<ErrorProgram 'stop', 'repeat/index_1'>"


INDEXED: dict[str, Callable[[pl.Tensor, Any], object]] = {
    "one": lambda x, i: x[i],
    "second": lambda x, i: x[0, i],
    "range": lambda x, i: x[i : i + 1],
    "expression": lambda x, i: x[i + 1],
    "tensor": lambda x, i: x[i.tensor],
    "slice": lambda x, i: x.slice(i, 3),
}


@pytest.mark.parametrize("name", INDEXED)
def test_a_tensor_indexed_by_the_running_program_names_dynamic_slice(name: str) -> None:
    loop = Loop()
    with pytest.raises(pl.TensorIndexError) as caught:
        loop.record(lambda _, i: INDEXED[name](loop.table, i))
    dim = 1 if name == "second" else 0
    assert f"ops.dynamic_slice(t, i, dims=[{dim}], sizes=[1])" in caught.value.fix


def test_a_repetition_is_entered_and_not_iterated() -> None:
    loop: Any = ops.repeat(8)
    with pytest.raises(pl.ControlProgramError, match=r"(?s)recorded once.*try: with ops.repeat"):
        list(loop)


STORE = "store a slice at a computed index:"


def set_at(key: Callable[[Any], object]) -> Callable[[Any, Any], None]:
    """Return a function that assigns to elements of a tensor, as NumPy can."""

    def assign(x: Any, i: Any) -> None:
        x[key(i)] = 1

    return assign


@pytest.mark.parametrize(
    ("key", "fix"),
    [
        (
            lambda i: i,
            rf"{STORE} ops\.dynamic_update\(t, values, i, dims=\[0\], sizes=\[1\]\)",
        ),
        (
            lambda i: (slice(None), i),
            rf"{STORE} ops\.dynamic_update\(t, values, i, dims=\[1\], sizes",
        ),
        (
            lambda i: (..., i),
            rf"{STORE} ops\.dynamic_update\(t, values, i, dims=\[1\], sizes=\[1\]\)",
        ),
        (lambda i: i > 0, r"use ops\.assign\(t, ops\.where\(condition, value, t\)\)"),
        (lambda _: 1, r"record the change with ops\.assign\(t\[...\], value\)"),
    ],
)
def test_elements_are_assigned_by_the_operation_that_the_index_needs(key: Any, fix: str) -> None:
    loop = Loop()
    with pytest.raises(pl.ElementTypeError, match=f"try: {fix}"):
        loop.record(lambda _, i: set_at(key)(loop.table, i))


@pytest.mark.parametrize(
    "write",
    [
        lambda at, i: ops.assign(i, at.number),
        lambda at, i: ops.map(at.number + 1, out=i),
        lambda at, i: pl.Copy(at.number, i),
        lambda at, i: at.graph.add_vertex(
            at.graph.add_compute_set("step"), Twice, tile=0, x=at.number, y=i
        ),
    ],
)
def test_nothing_writes_the_index_of_a_loop(write: Callable[[Loop, LoopIndex], object]) -> None:
    with pytest.raises(pl.ElementTypeError, match=r"is not a tensor|is no tensor|not a tensor"):
        Loop().record(write)


def test_views_are_those_of_the_tensor_and_the_index_ends_with_its_loop() -> None:
    loop = Loop()
    with loop.graph.steps() as steps, ops.repeat(3) as i:
        with pytest.raises(pl.AbsentMember) as caught:
            i.reshape((1,))
        assert "i.tensor.reshape" in caught.value.fix
        steps.add(pl.Copy(i, loop.number))
    for use in (
        lambda: pl.Copy(i, loop.number),
        lambda: ops.embedding(loop.table, i),
        lambda: pl.PrintTensor(i),
    ):
        with pytest.raises(pl.ControlProgramError, match="outside of its loop"):
            use()
