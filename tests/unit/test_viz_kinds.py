"""Every kind of program is drawn; one that no picture knows is never left out in silence."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import pytest

import poplite.program
from poplite import BOOL, INT, ControlProgramError
from poplite.graph import Graph
from poplite.program import (
    Call,
    Copy,
    Execute,
    If,
    PrintTensor,
    Program,
    Repeat,
    RepeatWhile,
    RepeatWhileFalse,
    RepeatWhileTrue,
    Sequence,
    Switch,
)
from poplite.program.base import set_once
from poplite.viz import graph_text, program_svg, program_text, summary_text


class Leaf(Program):
    """A kind of step that no picture knows."""

    def __init__(self) -> None:
        set_once(self, num_steps=1)


class Loop(Program):
    """A kind of program that runs another, nobody knows how often."""

    @property
    def children(self) -> tuple[Program, ...]:
        return (Leaf(),)

    def __init__(self) -> None:
        set_once(self, num_steps=1)


def test_every_kind_is_drawn() -> None:
    graph = Graph()
    x, y = graph.add_variable(INT, (2,), "x"), graph.add_variable(INT, (2,), "y")
    cell = Execute(graph.add_compute_set("work"))
    leaves: list[Program] = [cell, Copy(x, y), PrintTensor("all", x)]
    go = graph.add_variable(BOOL, (), "go")
    deciding: list[Program] = [
        If(go, cell, Program()),
        RepeatWhileTrue(cell, go, cell),
        RepeatWhileFalse(Program(), go, Program()),
        Switch(y[1], {7: cell}, default=cell),
    ]
    call = Call(graph.add_function(cell, "shared"))
    body = Sequence(*leaves, Program(), *deciding, call)
    program = Sequence(Repeat(9, body), name="main")
    kinds = [kind for _, kind in inspect.getmembers(poplite.program, inspect.isclass)]
    drawn = {Sequence, Repeat, RepeatWhile, Program}
    drawn |= {type(node) for node in (*leaves, *deciding, call)}
    assert {kind for kind in kinds if issubclass(kind, Program)} == drawn
    tree, flow = program_text(program), graph_text(graph, program)
    for told in ("Sequence 'main'", "Repeat 9 times", *map(str, [*leaves, *deciding, call])):
        assert told in tree
    for told in ("step 1  'work'", "step 2  Copy", "step 3  Print 'all'"):
        assert told in flow
    for told in ("step 4  If 'go'", "step 5  RepeatWhileTrue 'go'", "step 7  Switch 'y'"):
        assert told in flow


@pytest.mark.parametrize(
    ("program", "draw"),
    [
        (program, draw)
        for program, draws in (
            (Leaf(), [lambda p: graph_text(Graph(), p)]),
            (Loop(), [lambda p: summary_text(Graph(), p)]),
        )
        for draw in (program_text, program_svg, Program._repr_html_, *draws)
    ],
)
def test_what_no_picture_knows_is_refused(program: Program, draw: Callable[[Program], str]) -> None:
    name = type(program).__name__
    with pytest.raises(ControlProgramError, match=f"no picture shows what a {name} does"):
        draw(Sequence(program))
