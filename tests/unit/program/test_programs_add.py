"""`Sequence.add` and `Switch.add`: what may grow, until when, and no recursion."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import poplite as pl
from helpers.vertices import Count


@pytest.fixture
def n() -> pl.Tensor:
    return pl.Graph(pl.Target(tiles=1)).add_variable(pl.INT, (), "n", mapping=0, initial_value=0)


@pytest.fixture
def count(n: pl.Tensor) -> pl.Execute:
    cs = n.graph.add_compute_set("count")
    n.graph.add_vertex(cs, Count, tile=0, n=n)
    return pl.Execute(cs)


def test_a_sequence_grows(n: pl.Tensor, count: pl.Execute) -> None:
    sequence = pl.Sequence(name="main")
    assert sequence.is_empty
    assert sequence.add(count).add(pl.Repeat(3, count)).add(pl.Sequence()) is sequence
    assert (sequence.num_steps, sequence.is_empty) == (2, False)
    assert sequence.children == sequence.programs
    assert sequence.programs[0] is count
    assert repr(sequence) == "<Sequence 'main' 2 steps>"
    engine = pl.Engine(n.graph, sequence)
    engine.run()
    assert engine.read(n) == 4


def test_many_parts(n: pl.Tensor, count: pl.Execute) -> None:
    sequence = pl.Sequence()
    for _ in range(20_000):
        sequence.add(count)
    assert sequence.num_steps == 20_000


USES: dict[str, Callable[[pl.Graph, pl.Program], object]] = {
    "Sequence": lambda graph, p: pl.Sequence(p),
    "add": lambda graph, p: pl.Sequence().add(p),
    "Repeat": lambda graph, p: pl.Repeat(2, p),
    "Loop": lambda graph, p: pl.Loop(p),
    "Block": lambda graph, p: pl.Block(p, "block"),
    "function": lambda graph, p: graph.add_function(p, "f"),
    "engine": lambda graph, p: pl.Engine(graph, p),
    "engine of several": lambda graph, p: pl.Engine(graph, {"a": pl.Sequence(), "b": p}),
    "switch": lambda graph, p: pl.Switch(graph.add_variable(pl.INT, (), "m"), {1: p}),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("kind", ["Sequence", "Switch"])
def test_what_is_in_use_does_not_grow(n: pl.Tensor, count: pl.Execute, use: str, kind: str) -> None:
    program = pl.Sequence(count, name="main") if kind == "Sequence" else pl.Switch(n, {0: count})
    USES[use](n.graph, program)
    name, part = ("'main'", "program 1") if kind == "Sequence" else ("'n'", "case 1")
    with pytest.raises(
        pl.ControlProgramError,
        match=f"(?s){kind} {name}: {part} comes too late: it is part of a program or an engine"
        f".*used at .*{Path(__file__).name}:.*try: add everything first",
    ):
        program.add(count) if isinstance(program, pl.Sequence) else program.add(1, count)
    assert program.num_steps == 1


def test_an_engine_that_could_not_be_made_uses_nothing(n: pl.Tensor, count: pl.Execute) -> None:
    unmapped = n.graph.add_variable(pl.INT, (), "unmapped")
    sequence = pl.Sequence(pl.PrintTensor(unmapped))
    with pytest.raises(pl.InvalidTileMapping):
        pl.Engine(n.graph, sequence)
    n.graph.set_tile_mapping(unmapped, 0)
    assert pl.Engine(n.graph, sequence.add(count)).report().steps == 0


def test_a_part_that_is_refused_may_still_grow(count: pl.Execute) -> None:
    used, part = pl.Sequence(), pl.Sequence()
    pl.Sequence(used)
    with pytest.raises(pl.ControlProgramError):
        used.add(part)
    assert part.add(count).num_steps == 1


def test_parts_of_a_program_that_could_not_be_made_may_still_grow(
    n: pl.Tensor, count: pl.Execute
) -> None:
    body, other = pl.Sequence(), pl.Sequence()
    flag = n.graph.add_variable(pl.FLOAT, (), "flag", mapping=0)
    refused: list[Callable[[], pl.Program]] = [
        lambda: pl.Sequence(body, 3),  # type: ignore[arg-type]
        lambda: pl.If(n, body, 3),  # type: ignore[arg-type]
        lambda: pl.If(flag, body, other),
        lambda: pl.Switch(flag, {}, body),
        lambda: pl.RepeatWhileTrue(body, flag, other),
        lambda: pl.RepeatWhileFalse(body, n, 3),  # type: ignore[arg-type]
        lambda: pl.Block(body, ""),
    ]
    for make in refused:
        with pytest.raises(pl.PopliteError):
            make()
        body.add(count)
        other.add(count)
    assert body.num_steps == other.num_steps == len(refused)


def test_parts_are_programs(count: pl.Execute) -> None:
    sequence = pl.Sequence(count)
    with pytest.raises(
        pl.ControlProgramError,
        match=r"(?s)Sequence, program 1: <ComputeSet 'count'.* is not a program"
        r".*type ComputeSet.*Ex",
    ):
        sequence.add(count.compute_set)  # type: ignore[arg-type]
    assert sequence.num_steps == 1


def test_a_sequence_that_would_contain_itself(n: pl.Tensor, count: pl.Execute) -> None:
    sequence = pl.Sequence(count, name="main")
    with pytest.raises(
        pl.GraphRecursionError, match="(?s)Sequence 'main': program 1 would run the Sequence itself"
    ):
        sequence.add(sequence)
    assert sequence.add(count).num_steps == 2
    inside = pl.Repeat(2, pl.Block(sequence, "block"))
    with pytest.raises(
        pl.GraphRecursionError, match="(?s)would run the Sequence itself.*program 2 is <Repeat 2"
    ):
        sequence.add(inside)
    with pytest.raises(pl.GraphRecursionError, match="program 2 would run the Sequence itself"):
        sequence.add(pl.Loop(inside))


@pytest.mark.parametrize("kind", ["Sequence", "Switch"])
def test_recursion_through_functions(n: pl.Tensor, kind: str) -> None:
    program = pl.Sequence() if kind == "Sequence" else pl.Switch(n)
    inner = n.graph.add_function(pl.Loop(program), "inner")
    outer = n.graph.add_function(pl.Repeat(2, pl.Call(inner)), "outer")
    call = pl.Call(outer)
    with pytest.raises(
        pl.GraphRecursionError,
        match=f"(?s)would run the {kind} itself.*the functions 'outer', 'inner'.*RepeatWhileTrue",
    ):
        program.add(call) if isinstance(program, pl.Sequence) else program.add(1, call)
