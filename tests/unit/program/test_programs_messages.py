"""What programs and engines say to arguments of a wrong kind: what was found, and what to try."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import poplite as pl


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
        "wrap a compute set in Execute(cs)",
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
        "Copy(source, destination); host values go in by engine.write",
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
        "Switch: 3 in place of cases",
        "it is of type int",
        "Switch(control, {0: program})",
    ),
    "cases without values": (
        lambda b: pl.Switch(b.x[0], [b.nothing]),  # type: ignore[list-item]
        "Switch: <Sequence 0 steps> in place of a value and its program",
        "it is of type Sequence",
        "Switch(control, {0: program})",
    ),
    "no cases": (
        lambda b: pl.Switch(b.x[0], 3),  # type: ignore[arg-type]
        "Switch: 3 in place of cases",
        "it is of type int",
        "Switch(control, {0: program})",
    ),
    "Repeat of a tensor": (
        lambda b: pl.Repeat(b.x[0], b.nothing),  # type: ignore[arg-type]
        "Repeat: <Tensor 'x'[0] int32[]",
        "it is of type Tensor",
        "counted_loop(graph, 0, count, 1, body) reads how often from a tensor",
    ),
    "Call with tensors": (
        lambda b: pl.Call(b.graph.add_function(b.nothing, "f"), [b.x], [b.x]),  # type: ignore[call-overload]
        "Call 'f': a function of the graph has no inputs and outputs",
        "2 arguments behind <Function 'f' 0 steps>",
        "Copy to the variables that it works on before the Call",
    ),
    "case": (
        lambda b: pl.Switch(b.x[0], {"a": b.nothing}),  # type: ignore[arg-type]
        "Switch: a case for 'a', which is not a whole number",
        "it is of type str",
        "Switch(control, {0: program})",
    ),
    "large case": (
        lambda b: pl.Switch(b.x[0], {4: b.nothing, 2**31: b.nothing}),
        "Switch 'x': a case for 2,147,483,648, but INT holds -2,147,483,648 to 2,147,483,647",
        "cases so far: 4",
        "a value in that range",
    ),
    "a class": (
        lambda b: pl.Repeat(3, pl.Sequence),  # type: ignore[arg-type]
        "Repeat, body: <class 'poplite.program.control.Sequence'> is not a program",
        "it is the class Sequence",
        "wrap a compute set in Execute(cs)",
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
        "Engine(graph, Sequence()) takes one that does nothing",
    ),
    "engine of no programs": (
        lambda b: pl.Engine(b.graph, []),
        "Engine needs at least one program",
        "an empty list",
        "Engine(graph, Sequence())",
    ),
    "engine of others": (
        lambda b: pl.Engine(b.graph, {"main": b.cs}),
        "program 'main' is <ComputeSet 'cs'",
        "it is of type ComputeSet",
        "Engine(graph, {'main': Sequence(...)})",
    ),
    "program name": (
        lambda b: pl.Engine(b.graph, {3: b.nothing}),  # type: ignore[arg-type]
        "program name 3 is not a string",
        "it is of type int",
        "name programs by strings",
    ),
    "position": (
        lambda b: pl.Engine(b.graph, {"a": b.nothing, "b": b.nothing}).run(2),
        "the engine has no program 2",
        "programs: 0 is 'a', 1 is 'b'",
        "engine.run(0), or a name",
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
