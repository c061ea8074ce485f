"""What is given for a program and is none; blocks of programs that have none."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import poplite as pl

GRAPH = pl.Graph(pl.Target(tiles=4))
X = GRAPH.add_variable(pl.FLOAT, (4, 2), "x", mapping="linear", initial_value=np.ones((4, 2)))
TRUE = GRAPH.add_variable(pl.BOOL, (), "true", mapping=0, initial_value=True)
NUMBER = GRAPH.add_variable(pl.INT, (), "number", mapping=0, initial_value=0)


@pytest.mark.parametrize(
    "make",
    [
        lambda: pl.Engine(GRAPH, X),  # type: ignore[arg-type]
        lambda: pl.Engine(GRAPH, [X]),  # type: ignore[list-item]
        lambda: pl.Engine(GRAPH, {"main": X}),
        lambda: pl.Sequence(X),  # type: ignore[arg-type]
        lambda: pl.Sequence(pl.Sequence(), X),  # type: ignore[arg-type]
        lambda: pl.Repeat(2, X),  # type: ignore[arg-type]
    ],
)
def test_a_tensor_is_refused_whole_and_not_by_its_rows(make: Callable[[], object]) -> None:
    with pytest.raises(pl.ControlProgramError, match=r"<Tensor 'x' .*not a program") as caught:
        make()
    assert caught.value.fix.startswith("with graph.steps() as program: ")


def test_a_tensor_in_place_of_cases_is_refused_whole() -> None:
    with pytest.raises(pl.ControlProgramError, match="Switch: <Tensor 'x' .* in place of cases"):
        pl.Switch(NUMBER, X)  # type: ignore[arg-type]


def test_a_compute_set_in_place_of_the_programs_of_a_sequence() -> None:
    empty = pl.Graph(pl.Target(tiles=1)).add_compute_set("empty")
    with pytest.raises(pl.ControlProgramError, match=r"(?s)'empty'.*not a program.*Execute\(cs\)"):
        pl.Sequence(empty)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("program", "instead"),
    [
        (pl.Program(), "with graph.steps() as program: "),
        (pl.Repeat(2, pl.Sequence()), "with ops.repeat(count): "),
        (pl.If(TRUE, pl.Sequence(), pl.Sequence()), "with ops.if_(predicate): "),
        (pl.RepeatWhileTrue(pl.Sequence(), TRUE, pl.Sequence()), "with ops.while_(condition): "),
        (pl.Switch(NUMBER, {}), "with graph.steps() as program: "),
        (pl.Copy(X[0], X[1]), "with graph.steps() as program: "),
    ],
)
def test_a_program_without_a_block_says_which_has_one(program: pl.Program, instead: str) -> None:
    refused = pytest.raises(pl.ControlProgramError, match="subject of a `with` statement")
    with refused as caught, program:
        raise AssertionError  # the block does not begin
    assert caught.value.fix.startswith(instead)


def others() -> pl.Tensor:
    other = pl.Graph(pl.Target(tiles=4))
    return other.add_variable(pl.FLOAT, (4,), "other", mapping="linear", initial_value=np.ones(4))


def steps() -> pl.Sequence:
    with GRAPH.steps() as step:
        pl.ops.assign(X, X + 1)
    return step


@pytest.mark.parametrize(
    "sequence",
    [
        lambda: pl.Sequence(steps()),
        lambda: pl.Sequence(pl.Repeat(2, pl.Copy(X[0], X[1]))),
        lambda: pl.Sequence(pl.Execute(GRAPH.add_compute_set("empty"))),
        lambda: pl.Sequence(pl.Call(GRAPH.add_function(steps()))),
    ],
)
def test_a_block_of_a_sequence_takes_steps_of_its_graph_alone(
    sequence: Callable[[], pl.Sequence],
) -> None:
    tensor, program = others(), sequence()
    with (
        pytest.raises(pl.ControlProgramError, match="(?s)it works on .*the open block on"),
        program,
    ):
        pl.ops.assign(tensor, tensor + 1)
    with program:
        pl.ops.assign(X, X + 1)
