"""What programs and engines say to arguments of a wrong kind, also to kinds that are new."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import InitVar
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poplite as pl
from poplite.compile.compiler import Emitter
from poplite.cost.liveness import lifetimes
from poplite.cost.memory_plan import _branches
from poplite.graph.compute_sets.edge_table import edge_table
from poplite.program.base import (
    Program,
    decides,
    declared,
    derived,
    fill,
    part,
    reads,
    title_parts,
    words_of_parts,
    writes,
)
from poplite.viz.program import program_text

# -- arguments of a wrong kind ---------------------------------------------------------------------


class Bench:
    def __init__(self) -> None:
        self.graph = pl.Graph(pl.Target(tiles=1))
        self.cs = self.graph.add_compute_set("cs")
        self.x = self.graph.add_variable(pl.INT, (3,), "x", mapping=0)
        self.nothing = pl.Sequence()


CASES: dict[str, tuple[Callable[[Bench], object], str, str, str]] = {
    "Repeat": (
        lambda b: pl.Repeat(-1, b.nothing),
        "Repeat: -1 times, but a whole number from 0 to 2**32 - 1 is needed",
        "it is of type int",
        "Repeat(100, body)",
    ),
    "Sequence": (
        lambda b: pl.Sequence(b.nothing, b.cs),  # type: ignore[arg-type]
        "Sequence, program 1: <ComputeSet 'cs'",
        "it is of type ComputeSet",
        "pass a program, such as Execute(compute_set) or Sequence(a, b)",
    ),
    "Execute": (
        lambda b: pl.Execute(b.x),  # type: ignore[arg-type]
        "Execute: <Tensor 'x' int32[3]",
        "it is of type Tensor",
        "Execute(graph.add_compute_set(name))",
    ),
    "Copy": (
        lambda b: pl.Copy(b.x, 3),  # type: ignore[call-overload]
        "Copy: destination 3 is not a tensor",
        "it is of type int",
        "Copy(source, destination), or engine.write(tensor, values) for host values",
    ),
    "Call": (
        lambda b: pl.Call(b.nothing),  # type: ignore[call-overload]
        "Call: <Sequence 0 steps> is not a function",
        "it is of type Sequence",
        "Call(graph.add_function(program))",
    ),
    "If": (
        lambda b: pl.If(True, b.nothing, b.nothing),  # type: ignore[arg-type]
        "If: predicate True is not a tensor",
        "it is of type bool",
        "predicate = graph.add_variable(BOOL, (), mapping=0)",
    ),
    "Switch": (
        lambda b: pl.Switch(b.x[0], 3),  # type: ignore[arg-type]
        "Switch: 3 is not valid as cases",
        "it is of type int",
        "Switch(control, {0: program})",
    ),
    "cases without values": (
        lambda b: pl.Switch(b.x[0], [b.nothing]),  # type: ignore[list-item]
        "Switch: <Sequence 0 steps> is not valid as a value with its program",
        "it is of type Sequence",
        "Switch(control, {0: program})",
    ),
    "no cases": (
        lambda b: pl.Switch(b.x[0], 3),  # type: ignore[arg-type]
        "Switch: 3 is not valid as cases",
        "it is of type int",
        "Switch(control, {0: program})",
    ),
    "Repeat of a tensor": (
        lambda b: pl.Repeat(b.x[0], b.nothing),  # type: ignore[arg-type]
        "Repeat: <Tensor 'x'[0] int32[]",
        "it is of type Tensor",
        "call counted_loop(graph, 0, count, 1, body) to read the count from a tensor",
    ),
    "Call with tensors": (
        lambda b: pl.Call(b.graph.add_function(b.nothing, "f"), [b.x], [b.x]),  # type: ignore[call-overload]
        "Call 'f': a function of the graph has no inputs or outputs",
        "2 arguments after <Function 'f' 0 steps>",
        "copy to the variables that it uses before the Call",
    ),
    "case": (
        lambda b: pl.Switch(b.x[0], {"a": b.nothing}),  # type: ignore[arg-type]
        "Switch: a case for 'a', which is not a whole number",
        "it is of type str",
        "Switch(control, {0: program})",
    ),
    "large case": (
        lambda b: pl.Switch(b.x[0], {4: b.nothing, 2**31: b.nothing}),
        "Switch 'x': a case for 2,147,483,648, but INT ranges from -2,147,483,648 to 2,147,483,647",
        "cases so far: 4",
        "use a value in that range",
    ),
    "a class": (
        lambda b: pl.Repeat(3, pl.Sequence),  # type: ignore[arg-type]
        "Repeat, body: <class 'poplite.program.control.Sequence'> is not a program",
        "it is the class Sequence",
        "pass a program, such as Execute(compute_set) or Sequence(a, b)",
    ),
    "engine": (
        lambda b: pl.Engine(b.graph, 3),  # type: ignore[arg-type]
        "Engine: 3 is not a program",
        "it is of type int",
        "Engine(graph, Sequence(...))",
    ),
    "engine of a compute set": (
        lambda b: pl.Engine(b.graph, b.cs),  # type: ignore[arg-type]
        "Engine: <ComputeSet 'cs'",
        "it is of type ComputeSet",
        "Engine(graph, Execute(compute_set))",
    ),
    "engine without programs": (
        lambda b: pl.Engine(b.graph, {}),
        "Engine needs at least one program",
        "an empty dict",
        "pass a program that does nothing: Engine(graph, Sequence())",
    ),
    "engine of no programs": (
        lambda b: pl.Engine(b.graph, []),
        "Engine needs at least one program",
        "an empty list",
        "pass a program that does nothing: Engine(graph, Sequence())",
    ),
    "engine of others": (
        lambda b: pl.Engine(b.graph, {"main": b.cs}),
        "program 'main' is <ComputeSet 'cs'",
        "it is of type ComputeSet",
        "Engine(graph, {'main': Sequence(...)})",
    ),
    "program name": (
        lambda b: pl.Engine(b.graph, {3: b.nothing}),  # type: ignore[arg-type]
        "the name of a program must be a string; found 3",
        "it is of type int",
        "name programs by strings",
    ),
    "position": (
        lambda b: pl.Engine(b.graph, {"a": b.nothing, "b": b.nothing}).run(2),
        "the engine has no program 2",
        "programs: 0 is 'a', 1 is 'b'",
        "call engine.run(0), or pass a name",
    ),
    "name": (
        lambda b: pl.Engine(b.graph, {"train": b.nothing}).run("trian"),
        "the engine has no program 'trian' (did you mean 'train'?)",
        "programs: 'train'",
        "engine.run('train')",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_all_four_parts_are_there(name: str) -> None:
    call, what, found, fix = CASES[name]
    with pytest.raises(pl.PopliteError) as caught:
        call(Bench())
    error = caught.value
    assert error.what.startswith(what)
    assert error.found == found
    assert error.fix.startswith(fix)
    assert error.at is not None
    assert error.at.file == __file__


def test_the_first_program_of_a_kind_is_refused_as_those_after_it() -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.FLOAT, (2,), "x", mapping=0)
    buffer = graph.add_remote_buffer("rows", pl.FLOAT, 2)
    for _ in range(2):
        with pytest.raises(
            pl.ElementTypeError, match="Copy 'rows' -> 'x': offset 5 is not a tensor"
        ):
            pl.Copy(buffer, x, 5)  # type: ignore[call-overload]


# -- kinds that are declared once ------------------------------------------------------------------


@declared()
class Scaled(Program):
    """A step that reads and writes."""

    _title = "Scaled {{}} '{source.name}' -> '{target.name}'"
    source: pl.Tensor = reads()
    target: pl.Tensor = writes()
    by: pl.Tensor | None = reads(default=None)
    name: InitVar[str] = ""
    num_bytes: int = derived()

    def _check(self) -> None:
        fill(self, num_bytes=4 * self.source.num_elements)


@declared()
class Either(Program):
    """A program in which a scalar decides."""

    _title = "Either '{predicate.name}'"
    first_body: Program = part("first")
    predicate: pl.Tensor = decides()
    second_body: Program = part("second")


@declared()
class Twice(Program):
    """A program that runs another one."""

    _title = "Twice"
    body: Program = part()


@pytest.fixture
def x() -> pl.Tensor:
    graph = pl.Graph(pl.Target(tiles=1))
    return graph.add_variable(pl.INT, (2,), "x {", mapping=0, initial_value=1)


@pytest.fixture
def y(x: pl.Tensor) -> pl.Tensor:
    return x.graph.add_variable(pl.INT, (2,), "y", mapping=0)


def test_a_leaf_reads_and_writes_what_its_roles_say(x: pl.Tensor, y: pl.Tensor) -> None:
    step, other = Scaled(x, y), Scaled(x, y, y[0], "a name of Poplar's")
    assert (step.reads, step.writes, other.reads) == ((x,), (y,), (x, other.by))
    assert (step.num_steps, step.is_empty, step.children, step.decided_by) == (1, False, (), None)
    assert (str(step), repr(step)) == ("Scaled {} 'x {' -> 'y'", "<Scaled {} 'x {' -> 'y'>")
    assert title_parts(step) == ("Scaled {{}} '{}' -> '{}'", ("x {", "y"))
    assert step.same_as(Scaled(x, y))
    assert not step.same_as(other)
    assert step.num_bytes == 8
    assert not hasattr(step, "name")


def test_parts_and_what_decides_follow_from_the_roles(x: pl.Tensor, y: pl.Tensor) -> None:
    copy, rest = pl.Copy(x, y), pl.Sequence()
    either = Either(copy, y[0], rest)
    assert either.children == (copy, rest)
    assert (either.decided_by, either.reads) == (either.predicate, (either.predicate,))
    assert either.writes == ()
    assert words_of_parts(either) == ["first", "second"]
    assert (either.num_steps, either.is_empty) == (1, False)
    assert Either(rest, y[0], rest).is_empty
    assert repr(either) == "<Either 'y', 1 step>"
    with pytest.raises(pl.ControlProgramError, match="cannot be added to a program that is"):
        rest.add(copy)


def test_values_that_do_not_fit_their_role_are_refused(x: pl.Tensor) -> None:
    part = pl.Sequence()
    with pytest.raises(pl.ControlProgramError, match="Either, second body: 5 is not a program"):
        Either(part, x[0], 5)  # type: ignore[arg-type]
    with pytest.raises(pl.ControlProgramError, match="Either: predicate 'x {' has 2 elements"):
        Either(part, x, part)
    part.add(Program())  # nothing became part of what was refused


@pytest.mark.parametrize("make", [lambda x: Scaled(x, x), lambda x: Twice(pl.Copy(x[:1], x[1:]))])
@pytest.mark.parametrize(
    ("walk", "what"),
    [
        (lambda graph, program, _: pl.Engine(graph, program), "there is no op for a"),
        (lambda graph, program, path: graph.save(path, program), "files cannot store a"),
        (pl.ipu.export, "the IPU export does not support a"),
    ],
)
def test_what_a_walk_does_not_know_is_refused(
    x: pl.Tensor,
    tmp_path: Path,
    make: Callable[[pl.Tensor], Program],
    walk: Callable[[pl.Graph, Program, str], object],
    what: str,
) -> None:
    program = make(x)
    with pytest.raises(pl.ControlProgramError, match=f"{what} {type(program).__name__}"):
        walk(x.graph, pl.Sequence(program), str(tmp_path / "new.graph"))
    assert not any(tmp_path.iterdir())


def test_a_kind_that_is_taught_to_run_alone_is_refused(
    x: pl.Tensor, y: pl.Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who looks at parts does not guess when they run."""
    refused = "there is no op for a Twice"
    opened = Emitter._open
    monkeypatch.setattr(
        Emitter,
        "_open",
        lambda self, node: 2 * [node.body] if isinstance(node, Twice) else opened(self, node),
    )
    program = Twice(pl.Copy(x, y))
    with pytest.raises(pl.ControlProgramError, match=refused):
        pl.Engine(x.graph, program)
    with pytest.raises(pl.ControlProgramError, match=refused):
        lifetimes(x.graph, {"main": program}, edge_table)
    with pytest.raises(pl.ControlProgramError, match=refused):
        list(_branches([program]))


class TwoTimes(pl.Repeat):
    """A user's class, of which nothing else is said."""


@declared()
class ThreeTimes(pl.Repeat):
    """A kind that derives from another one."""


class InOrder(pl.Sequence):
    """A user's class of programs to which others are added."""


def test_a_class_that_derives_from_a_kind_is_that_kind_everywhere(
    x: pl.Tensor, y: pl.Tensor, tmp_path: Path
) -> None:
    copy = pl.Copy(x, y)
    program = pl.Sequence(pl.Repeat(2, copy), TwoTimes(2, copy), ThreeTimes(3, InOrder(copy)))
    engine = pl.Engine(x.graph, program, interpret=True)
    engine.run()
    assert engine.read(y).tolist() == [1, 1]
    pl.ipu.export(x.graph, {"main": program}, tmp_path / "exported")
    assert program_text(program).count("Repeat") == 3
    x.graph.save(tmp_path / "k", {"main": program})
    _, programs = pl.Graph.load(tmp_path / "k")
    kinds = [type(each) for each in programs["main"].children]
    assert kinds == [pl.Repeat] * 3
    assert [repr(each) for each in programs["main"].children] == list(map(repr, program.children))


def test_a_name_of_any_kind_is_a_text(x: pl.Tensor, y: pl.Tensor) -> None:
    function = x.graph.add_function(pl.Sequence(), "f")
    code, rows = x.graph.add_function_buffer(function), x.graph.add_remote_buffer("r", pl.INT, 2)
    no_text: Any = 5
    for make in (
        lambda: pl.Copy(x, y, False, no_text),
        lambda: pl.Copy(rows, y, None, no_text),
        lambda: pl.Copy(code, function, True),  # type: ignore[call-overload]
        lambda: pl.Repeat(2, pl.Copy(x, y), no_text),
        lambda: Scaled(x, y, None, no_text),
    ):
        with pytest.raises(pl.ControlProgramError, match="name (5|True) is not a string"):
            make()


@pytest.mark.parametrize("kind", [pl.program.RepeatWhile, pl.program.Mark])
def test_kinds_that_others_derive_from_are_not_made(kind: Any, y: pl.Tensor) -> None:
    with pytest.raises(pl.PopliteError, match=r"RepeatWhileTrue|WriteUndef"):
        kind(*[pl.Sequence(), y[0], pl.Sequence()][: 3 if kind is pl.program.RepeatWhile else 0])


def test_signatures_and_properties_say_what_they_are() -> None:
    assert "name: 'str' = ''" in str(inspect.signature(pl.If))
    for each in (pl.If.decided_by, pl.Repeat.children, pl.Copy.reads, pl.Copy.writes):
        assert str(inspect.getdoc(each)).startswith("The ") or "Tensors" in str(each.__doc__)


def test_code_of_functions_takes_only_texts_behind_its_buffer(x: pl.Tensor) -> None:
    function = x.graph.add_function(pl.Sequence())
    buffer = x.graph.add_function_buffer(function)
    for wrong in (np.array([1, 2]), False, x):
        with pytest.raises(pl.ControlProgramError, match="is not a string"):
            pl.Copy(buffer, function, "n", wrong)  # type: ignore[call-overload]
