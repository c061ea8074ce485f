"""Programs that end the run with an error: message, step, line, and an engine that still works."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

import poplite as pl
from helpers.running import both_forms
from helpers.vertices import Count


class Bench:
    def __init__(self) -> None:
        self.graph = pl.Graph(pl.Target(tiles=2))
        self.n = self.scalar(pl.INT, "n")
        cs = self.graph.add_compute_set("count")
        self.graph.add_vertex(cs, Count, tile=0, n=self.n)
        self.count = pl.Execute(cs)

    def scalar(self, element: type[pl.ElementType[int]], name: str) -> pl.Tensor:
        zero = np.zeros((), element.dtype)
        return self.graph.add_variable(element, (), name, mapping=0, initial_value=zero)


@pytest.fixture
def bench() -> Bench:
    return Bench()


@both_forms
def test_abort_ends_the_run_at_its_step(bench: Bench, interpret: bool) -> None:
    stop = pl.Abort("not reached")
    program = pl.Sequence(bench.count, pl.Repeat(3, pl.Sequence(bench.count, stop)), bench.count)
    engine = pl.Engine(bench.graph, {"a": program, "b": bench.count}, interpret=interpret)
    for runs in (1, 2):
        with pytest.raises(pl.ApplicationRuntimeError, match="not reached") as caught:
            engine.run("a")
        assert caught.value.where == "step 3 of 4: Abort, of program 'a'"
        assert caught.value.at == stop.location
        assert caught.value.at.function == "test_abort_ends_the_run_at_its_step"
        assert engine.read(bench.n) == 2 * runs
    engine.run("b")
    assert engine.read(bench.n) == 5


@both_forms
def test_steps_are_counted_through_functions(bench: Bench, interpret: bool) -> None:
    function = bench.graph.add_function(pl.Sequence(bench.count, pl.Abort()), "f")
    go = bench.scalar(pl.BOOL, "go")
    program = pl.Sequence(pl.If(go, pl.Call(function), pl.Program()), pl.Call(function))
    engine = pl.Engine(bench.graph, program, interpret=interpret)
    for value, step in ((False, 4), (True, 2)):
        engine.write(bench.n, 0)
        engine.write(go, value)
        with pytest.raises(pl.ApplicationRuntimeError, match="Abort stopped the run") as caught:
            engine.run()
        assert caught.value.where == f"step {step} of 4: Abort"
        assert engine.read(bench.n) == 1


@both_forms
@pytest.mark.parametrize(
    ("element", "yes", "no"),
    [
        (pl.BOOL, [True], [False]),
        (pl.INT, [1, -1, 256, -(2**31)], [0]),
        (pl.UNSIGNED_INT, [2**31], [0]),
    ],
)
def test_abort_on_condition(
    bench: Bench,
    interpret: bool,
    element: type[pl.ElementType[int]],
    yes: list[int],
    no: list[int],
) -> None:
    bad = bench.scalar(element, "bad")
    program = pl.Sequence(pl.AbortOnCondition(bad, "diverged"), bench.count)
    engine = pl.Engine(bench.graph, program, interpret=interpret)
    for value in yes:
        engine.write(bad, value)
        with pytest.raises(pl.ApplicationRuntimeError, match="diverged") as caught:
            engine.run()
        assert caught.value.where == "step 1 of 2: AbortOnCondition 'bad'"
    assert engine.read(bench.n) == 0
    for value in no:
        engine.write(bad, value)
        engine.run()
    assert engine.read(bench.n) == len(no)


@both_forms
def test_an_abort_ends_a_loop(bench: Bench, interpret: bool) -> None:
    class AtFive(pl.Vertex):
        n: pl.Input[pl.INT]
        yes: pl.Output[pl.BOOL]

        def compute(self) -> None:
            self.yes = self.n == 5

    yes = bench.scalar(pl.BOOL, "yes")
    cs = bench.graph.add_compute_set("at five")
    bench.graph.add_vertex(cs, AtFive, tile=0, n=bench.n, yes=yes)
    body = pl.Sequence(bench.count, pl.Execute(cs), pl.AbortOnCondition(yes))
    engine = pl.Engine(bench.graph, pl.Loop(body), interpret=interpret)
    with pytest.raises(pl.ApplicationRuntimeError, match="'yes' stopped the run"):
        engine.run()
    assert engine.read(bench.n) == 5


@both_forms
def test_an_error_program_shows_a_tensor(bench: Bench, interpret: bool) -> None:
    x = bench.graph.add_variable(pl.FLOAT, (2,), "x", mapping=0, initial_value=[1, 2.5])
    program = pl.ErrorProgram("bad values", x[::-1])
    engine = pl.Engine(bench.graph, {"a": program, "b": bench.count}, interpret=interpret)
    with pytest.raises(pl.ApplicationRuntimeError, match="bad values") as caught:
        engine.run("a")
    assert caught.value.found.endswith(": [2.5000000 1.0000000]")
    assert caught.value.found.startswith("x")
    assert caught.value.where.startswith("step 1 of 1: ErrorProgram 'x")
    engine.run("b")
    assert engine.read(bench.n) == 1


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda t: pl.Abort(3),  # type: ignore[arg-type]
            pl.ControlProgramError,
            r"(?s)Abort: message 3 .*type int.*Abort",
        ),
        (
            lambda t: pl.AbortOnCondition(t, None),  # type: ignore[arg-type]
            pl.ControlProgramError,
            r"(?s)AbortOnCondition: message None is not text.*AbortOnCondition\(predicate, 'div",
        ),
        (
            lambda t: pl.AbortOnCondition(True),  # type: ignore[arg-type]
            pl.ElementTypeError,
            "AbortOnCondition: predicate True is not a tensor",
        ),
        (
            lambda t: pl.ErrorProgram(t, t),
            pl.ControlProgramError,
            r"(?s)ErrorProgram: message <Tensor.* is not text.*type Tensor.*'diverged', tensor\)",
        ),
        (
            lambda t: pl.ErrorProgram("text", 3),  # type: ignore[arg-type]
            pl.ElementTypeError,
            r"(?s)debug_tensor 3 is not a tensor.*type int.*Abort\(message\)",
        ),
    ],
)
def test_bad_input(
    bench: Bench,
    make: Callable[[pl.Tensor], object],
    error: type[pl.PopliteError],
    message: str,
) -> None:
    with pytest.raises(error, match=message):
        make(bench.scalar(pl.BOOL, "flag"))


def test_the_predicate_is_one_element_of_a_deciding_type(bench: Bench) -> None:
    x = bench.graph.add_variable(pl.FLOAT, (), "x")
    with pytest.raises(pl.ElementTypeError, match="predicate 'x' is of FLOAT, not BOOL, INT or"):
        pl.AbortOnCondition(x)
    flags = bench.graph.add_variable(pl.BOOL, (3,), "flags")
    with pytest.raises(pl.ControlProgramError, match="predicate 'flags' has 3 elements"):
        pl.AbortOnCondition(flags)


@pytest.mark.parametrize(
    ("base", "fix"),
    [
        (pl.program.Stop, r"^Abort\(message\), or ErrorProgram\(message, tensor\)$"),
        (pl.program.SetMode, r"^SetFloatingPointBehaviour\(behaviour\), or SetStochasticRounding"),
    ],
)
@pytest.mark.parametrize("arguments", [(), ("diverged",), (1, 2)])
def test_bases_say_what_makes_their_kinds(
    base: Callable[..., object], fix: str, arguments: tuple[object, ...]
) -> None:
    with pytest.raises(pl.PopliteError, match=base.__name__) as of:
        base(*arguments)
    assert of.value.at is not None
    assert of.value.at.file == __file__
    assert re.search(fix, of.value.fix)
