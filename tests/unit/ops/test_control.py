"""Blocks of steps, loops and branches: the programs they become, and what these compute."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import poplite as pl
from helpers.depth import interpreted
from poplite import ops
from poplite.program import recording


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


# -- blocks ------------------------------------------------------------------------------------


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
        with pytest.raises(pl.ControlProgramError, match="is open already"), step:
            pass
    with step:
        ops.assign(x, x + 1)
    pl.Repeat(2, step)
    with pytest.raises(pl.ControlProgramError, match="comes too late: it is part"), step:
        pass


def test_outside_of_all_blocks_both_remedies_are_named(graph: pl.Graph) -> None:
    x = scalar(graph, "x", 3)
    message = r"outside its graph's steps(.|\n)*graph.steps\(\)(.|\n)*program="
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
    assert found == ["look: outside its graph's steps()"]


# -- loops and branches --------------------------------------------------------------------------


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
            twice = pytest.raises(pl.ControlProgramError, match="3 has a case already")
            with twice, cases.case(3):
                pass
            twice = pytest.raises(pl.ControlProgramError, match="has a default already")
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
            called = f"ops.{block.__name__}: True is one truth value"
            with pytest.raises(pl.ElementTypeError, match=called), block(True):  # type: ignore
                pass
            elsewhere = pytest.raises(pl.ControlProgramError, match="the open block on <Graph 2")
            with elsewhere, block(other > 0):
                pass
    assert step.is_empty


# -- the block of a Sequence ---------------------------------------------------------------------


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
        with pytest.raises(pl.ControlProgramError, match="its block is open already"), step:
            pass
        with pytest.raises(pl.ControlProgramError, match="used while its block is open"):
            pl.Repeat(2, step)
        with pl.Sequence() as inner:
            ops.assign(x, x + 1)
        step.add(inner)
        ops.assign(x, x * 10, program=step)
    assert values(graph, step, x) == [40]
    with pytest.raises(pl.ControlProgramError, match="comes too late: it is part"), step:
        pass


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
    assert f"made within '{inside}', and its steps are not part of that" in caught.value.what
    assert caught.value.at is not None
    assert caught.value.at.function == "body"
    with graph.steps() as step, pl.ops.repeat(3):
        step.add(body(x))
    engine = pl.Engine(graph, step, interpret=True)
    engine.run()
    assert engine.read(x).tolist() == [3, 4, 5, 6]
