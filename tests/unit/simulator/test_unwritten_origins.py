"""Messages name the variable that nothing wrote, through swaps, remote buffers and vertices too."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import poplite as pl
from helpers.depth import interpreted
from helpers.running import both_forms
from poplite import ops


class Bench:
    """A graph of one tile, and the steps of its program."""

    def __init__(self) -> None:
        self.graph = pl.Graph(pl.Target(tiles=1))
        self.program = pl.Sequence()

    def vector(self, name: str, value: float | None = None) -> pl.Tensor:
        """Return a vector; nothing writes it where it has no value."""
        return self.graph.add_variable(pl.FLOAT, (4,), name, mapping=0, initial_value=value)

    def copy(self, *pairs: tuple[pl.Tensor, pl.Tensor]) -> None:
        """Add some Copies."""
        for source, target in pairs:
            self.program.add(pl.Copy(source, target))

    def made(self, name: str) -> str:
        """Return where a variable was made, as messages say it."""
        (location,) = (each.location for each in self.graph.variables if each.name == name)
        return f"'{name}' was made at {location}"

    def engine(self) -> pl.Engine:
        """Return an engine for the steps."""
        return pl.Engine(self.graph, self.program, **interpreted())

    def error(self, engine: pl.Engine | None = None) -> pl.UninitializedReadError:
        """Return the error of a run."""
        with pytest.raises(pl.UninitializedReadError) as caught:
            (engine or self.engine()).run()
        return caught.value


@pytest.fixture
def bench() -> Bench:
    """A graph of one tile."""
    return Bench()


def which(error: pl.UninitializedReadError) -> str:
    """Return what an error calls the element."""
    return error.what.partition(" which is ")[2]


# -- copies ----------------------------------------------------------------------------------------


def test_the_source_of_a_copy_was_written_afterwards(bench: Bench) -> None:
    a, b = bench.vector("a", 1), bench.vector("b")
    bench.copy((b, a))
    with bench.program:
        ops.zero(b)
        ops.map(a * 2)
    error = bench.error()
    assert (
        which(error)
        == "'a'[0], copied from 'b'[0] before 'b'[0] was written, but nothing has written it since"
    )
    assert str(error.found).startswith(bench.made("b") + "\n")
    assert error.fix == "write 'b'[0] before it is moved, or give it an initial_value"


def test_a_swap_through_a_third_variable(bench: Bench) -> None:
    first, second, spare = bench.vector("first"), bench.vector("second", 1), bench.vector("spare")
    bench.copy((first, spare), (second, first), (spare, second))
    with bench.program:
        ops.map(second * 2)
    what = "'second'[0], copied from 'first'[0] by way of 'spare'[0] before 'first'[0] was written"
    assert which(bench.error()) == f"{what}, but nothing has written it since"


@both_forms
def test_what_goes_round_in_a_loop(interpret: bool) -> None:
    """After an odd number of turns each element is at the other end."""
    bench = Bench()
    x, spare = bench.vector("x"), bench.vector("spare", 0)
    turn = pl.Sequence(pl.Copy(x[::-1], spare), pl.Copy(spare, x))
    with bench.graph.steps() as after:
        ops.map(x * 2)
    engine = pl.Engine(bench.graph, pl.Sequence(pl.Repeat(5, turn), after), interpret=interpret)
    engine.write(x[1:], 1)
    error = bench.error(engine)
    what = "'x'[3], copied from 'x'[0] by way of 'spare'[3] before 'x'[0] was written"
    assert which(error) == f"{what}, but nothing has written it since"


def test_what_was_copied_round_to_itself_was_not_copied(bench: Bench) -> None:
    a, b = bench.vector("a"), bench.vector("b", 1)
    bench.copy((a, b), (b, a))
    with bench.program:
        ops.map(a * 2)
    assert which(bench.error()) == "'a'[0], but nothing has written it"


def test_what_was_undefined(bench: Bench) -> None:
    a, b = bench.vector("a", 1), bench.vector("b")
    bench.copy((b, a))
    with bench.program:
        ops.zero(a)
    bench.program.add(pl.WriteUndef(a))
    with bench.program:
        ops.map(a * 2)
    error = bench.error()
    assert which(error) == "'a'[0], but nothing has written it since WriteUndef 'a'"
    assert error.fix == "write 'a'[0] after WriteUndef 'a'"


def test_what_was_loaded_is_forgotten(bench: Bench) -> None:
    a, b, c = bench.vector("a"), bench.vector("b"), bench.vector("c", 1)
    with bench.graph.steps() as double:
        ops.map(a * 2)
    engine = pl.Engine(bench.graph, {"copy": pl.Copy(b, a), "double": double}, **interpreted())
    engine.run("copy")
    with pytest.raises(pl.UninitializedReadError, match="copied from 'b'"):
        engine.run("double")
    engine.load()
    with pytest.raises(pl.UninitializedReadError, match=r"'a'\[0\], but nothing has written it"):
        engine.run("double")
    assert engine.read(c).tolist() == [1] * 4


def test_a_copy_across_replicas_is_followed_in_the_replica_that_it_came_from() -> None:
    graph = pl.Graph(pl.Target(tiles=2, ipus=2), replication_factor=2)
    a, b = (
        graph.add_variable(pl.FLOAT, (4,), name, mapping=0, initial_value=1) for name in ("a", "b")
    )
    rows = graph.add_variable(pl.UNSIGNED_INT, (), "rows", mapping=0)
    table = graph.add_remote_buffer("table", pl.FLOAT, 4, repeats=3)
    program = pl.Sequence(pl.Copy(table, a, rows), pl.CrossReplicaCopy(a, b, {0: 1, 1: 0}))
    with program:
        ops.map(b * 2)
    engine = pl.Engine(graph, program, **interpreted())
    for replica, row in enumerate((1, 2)):
        engine.write(rows, row, replica=replica)
    engine.copy_to_remote_buffer(np.ones(4), "table", 1, replica=0)
    with pytest.raises(pl.UninitializedReadError) as caught:
        engine.run()
    assert "replica 0 reads " in caught.value.what
    via = "copied from row 2 of remote buffer 'table' by way of 'a'[0], but"
    assert which(caught.value).startswith(f"'b'[0], {via}")


# -- remote buffers --------------------------------------------------------------------------------


def test_a_remote_buffer_that_nothing_wrote(bench: Bench) -> None:
    a = bench.vector("a", 1)
    buffer = bench.graph.add_remote_buffer("rb", pl.FLOAT, 4)
    bench.program.add(pl.Copy(buffer, a))
    with bench.program:
        ops.map(a * 2)
    error = bench.error()
    rows = "row 0 of remote buffer 'rb'"
    assert which(error) == f"'a'[0], copied from {rows}, but nothing has written it"
    assert str(error.found).startswith(f"remote buffer 'rb' was made at {buffer.location}\n")
    assert error.fix == f"write {rows} by a Copy to it or by engine.copy_to_remote_buffer"


def test_the_host_hears_of_a_remote_buffer(bench: Bench) -> None:
    a, b = bench.vector("a", 1), bench.vector("b")
    buffer = bench.graph.add_remote_buffer("rb", pl.FLOAT, 4)
    bench.program.add(pl.Copy(buffer, a))
    engine = bench.engine()
    engine.run()
    with pytest.warns(pl.UninitializedWarning) as caught:
        engine.read(pl.concat([a, b]))
    (warning,) = (each.message for each in caught)
    assert isinstance(warning, pl.UninitializedWarning)
    copied = "'a'[0], copied from row 0 of remote buffer 'rb'; remote buffer 'rb' was made at "
    assert copied in str(warning.found)
    assert warning.fix == "write remote buffer 'rb', 'b' before, or leave out the elements"


def test_a_variable_that_was_copied_to_a_remote_buffer(bench: Bench) -> None:
    a, b = bench.vector("a", 1), bench.vector("b")
    rows = bench.graph.add_variable(pl.UNSIGNED_INT, (2,), "rows", mapping=0, initial_value=[2, 5])
    buffer = bench.graph.add_remote_buffer("rb", pl.FLOAT, 2, repeats=9)
    bench.program.add(pl.Copy(b, buffer, rows))
    with bench.program:
        ops.zero(b)
    bench.program.add(pl.Copy(buffer, a, rows[::-1]))
    with bench.program:
        ops.map(a[1:2] * 2)
    engine = bench.engine()
    with pytest.warns(pl.UninitializedWarning, match="Copy 'b' -> 'rb'"):
        error = bench.error(engine)
    via = "by way of row 5 of remote buffer 'rb' before 'b'[3] was written"
    assert which(error) == f"'a'[1], copied from 'b'[3] {via}, but nothing has written it since"


# -- vertices --------------------------------------------------------------------------------------


def rows_of(
    take: Callable[[pl.Tensor, pl.Tensor, pl.Tensor], pl.Tensor],
) -> Bench:
    """Return steps that double what is taken from a table, by indices, or with a written matrix."""
    bench = Bench()
    table = bench.graph.add_variable(pl.FLOAT, (4, 4), "table", mapping=0)
    at = bench.graph.add_variable(pl.UNSIGNED_INT, (2,), "at", mapping=0, initial_value=[1, 2])
    y = bench.graph.add_variable(pl.FLOAT, (4, 4), "y", mapping=0, initial_value=1)
    with bench.program:
        ops.map(take(table, at, y) * 2)
    return bench


TAKING: dict[str, tuple[Callable[[pl.Tensor, pl.Tensor, pl.Tensor], pl.Tensor], str, str]] = {
    "multi_update": (
        lambda table, at, y: ops.multi_update(y, table[:2], at),
        "'y'[1, 0]",
        "multi_update/rows",
    ),
    "dynamic_update": (
        lambda table, at, y: ops.dynamic_update(y, table[:1], at[:1], [0], [1]),
        "'y'[1, 0]",
        "dynamic_update/rows",
    ),
    "multi_slice": (
        lambda table, at, y: ops.multi_slice(table, at),
        "'multi_slice'[0, 0, 0]",
        "multi_slice/rows",
    ),
    "embedding": (
        lambda table, at, y: ops.embedding(table, at),
        "'embedding'[0, 0, 0]",
        "embedding/rows",
    ),
    "dynamic_slice": (
        lambda table, at, y: ops.dynamic_slice(table, at[:1], [0], [1]),
        "'dynamic_slice'[0, 0, 0]",
        "dynamic_slice/rows",
    ),
    "take_along_axis": (
        lambda table, at, y: ops.take_along_axis(table[0], at, 0),
        "'take_along_axis'[0]",
        "take_along_axis",
    ),
    "select_from_rows": (
        lambda table, at, y: ops.select_from_rows(table[:2], at),
        "'select_from_rows'[0]",
        "select_from_rows/tiles",
    ),
    "where": (
        lambda table, at, y: ops.map(ops.where(y > 0, table, y), name="chosen"),
        "'chosen'[0, 0]",
        "chosen",
    ),
}


@pytest.mark.parametrize("name", TAKING)
def test_vertices_that_move_elements_name_what_they_take(name: str) -> None:
    take, element, step = TAKING[name]
    bench = rows_of(take)
    error = bench.error()
    assert which(error).startswith(f"{element}, but nothing has written it since Execute '{step}")
    assert which(error).endswith("' left it unwritten")
    passed, made, *_ = str(error.found).splitlines()
    assert passed.startswith(f"Execute '{step}")
    assert "' left it unwritten: its vertex, added at " in passed
    assert "test_unwritten_origins.py" in passed
    assert ", takes unwritten elements, such as 'table'[0, 0]" in passed
    assert made == bench.made("table")
    assert error.fix == (
        "write 'table' in an earlier step or by engine.write, or give it an initial_value"
    )


def test_what_vertices_take_was_copied_and_is_copied_on(bench: Bench) -> None:
    culprit, source, other = bench.vector("culprit"), bench.vector("source", 1), bench.vector("o")
    bench.copy((culprit, source))
    with bench.program:
        ops.zero(culprit)
        chosen = ops.map(ops.where(bench.vector("sign", 1) > 0, source, other), name="chosen")
        ops.zero(source)
    target = bench.vector("target", 1)
    bench.copy((chosen, target))
    with bench.program:
        ops.map(target * 2)
    error = bench.error()
    step = which(error).partition("Execute '")[2].partition("'")[0]
    assert which(error) == (
        "'target'[0], copied from 'chosen'[0], but nothing has written it "
        f"since Execute '{step}' left it unwritten"
    )
    passed, made, *_ = str(error.found).splitlines()
    such = "such as 'source'[0], copied from 'culprit'[0]; others are of 'o'"
    assert passed.endswith(f", takes unwritten elements, {such}")
    assert made == bench.made("culprit")
    assert error.fix == "write 'culprit' before it is moved, or give it an initial_value"


def test_the_host_hears_of_vertices_that_passed_elements_on() -> None:
    bench = Bench()
    at = bench.graph.add_constant(pl.UNSIGNED_INT, (2,), [1, 2], mapping=0)
    table = bench.graph.add_variable(pl.FLOAT, (4, 4), "table", mapping=0)
    with bench.program:
        rows = ops.multi_slice(table, at)
    engine = bench.engine()
    engine.run()
    with pytest.warns(pl.UninitializedWarning) as caught:
        engine.read(rows)
    (warning,) = (each.message for each in caught)
    assert isinstance(warning, pl.UninitializedWarning)
    assert bench.made("table") in str(warning.found)
    assert "Execute 'multi_slice/rows' left it unwritten" in str(warning.found)
    assert str(warning.fix).startswith("write 'table' before, give an initial_value")


def test_results_that_were_left_unwritten_without_any_other_reason(bench: Bench) -> None:
    """A row of the table that was not updated is its own reason."""
    table = bench.graph.add_variable(pl.FLOAT, (4, 4), "table", mapping=0)
    rows = bench.graph.add_variable(pl.FLOAT, (1, 4), "rows", mapping=0)
    at = bench.graph.add_constant(pl.UNSIGNED_INT, (1,), [1], mapping=0)
    with bench.program:
        ops.multi_update(table, rows, at)
        ops.map(table[2] * 2)
    assert which(bench.error()) == "'table'[2, 0], but nothing has written it"


def test_a_log_that_is_full_is_forgotten(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is said is true then, though less."""
    monkeypatch.setattr("poplite.simulator.strict.shadow.MOST_NOTED", 1)
    a, b, c = bench.vector("a", 1), bench.vector("b"), bench.vector("c")
    bench.copy((b, a), (b, c), (c, b), (b, c))
    with bench.program:
        ops.map(a * 2)
    error = bench.error()
    assert which(error) == (
        "'a'[0], but nothing has written it since unwritten elements were moved there"
    )
    assert error.fix == "write 'a'[0] in an earlier step or by engine.write"
