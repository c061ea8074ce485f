"""Every kind of program is drawn; one that no picture knows is never left out in silence."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path

import pytest

import poplite.program
from poplite import INT, ControlProgramError
from poplite.display import Displayed
from poplite.graph import Graph
from poplite.graph.tensor.tensor import Tensor
from poplite.program import Program, Sequence, children_first, distinct_steps
from poplite.program.base import declared, part, reads, writes
from poplite.tools.viz.load_target import load_target
from poplite.viz import graph_text, program_svg, program_text, summary_text
from poplite.viz.dataflow.graph import dataflow_of
from poplite.viz.program.labels import label_of, leaf_kind

EVERY = Path(__file__).parents[2] / "golden" / "every.py"


@declared()
class Odd(Program):
    """A kind of step that no picture knows."""

    read: Tensor | None = reads(default=None)
    written: Tensor | None = writes(default=None)

    def _titled(self) -> str:
        ends = {"read": self.read, "written": self.written}
        names = [f" '{{{end}.name}}'" for end, tensor in ends.items() if tensor is not None]
        return "Odd {{0}}" + "".join(names)


@declared()
class Twice(Program):
    """A kind of program that runs another, nobody knows how often."""

    _title = "Twice"
    body: Program = part()


def test_every_kind_is_drawn() -> None:
    graph, program = load_target(f"{EVERY}:build")
    assert program is not None
    nodes = list(children_first(program))
    kinds = [kind for _, kind in inspect.getmembers(poplite.program, inspect.isclass)]
    kinds = [kind for kind in kinds if issubclass(kind, Program) and kind is not Program]
    bases = {base for kind in kinds for base in kind.__mro__[1:]}
    assert {kind for kind in kinds if kind not in bases} <= {type(node) for node in nodes}
    tree = program_text(program, width=120)
    for node in nodes:
        assert label_of(node).title in tree
    drawn = {number for node in dataflow_of(graph, program).nodes for number in node.steps}
    for step in distinct_steps(program):
        touches = step.program.reads or step.program.writes
        known = {"compute", "control"}
        assert step.number in drawn or not touches or label_of(step.program).kind in known


def test_steps_that_are_new_are_drawn_by_what_they_say_and_touch() -> None:
    graph = Graph()
    x, y = graph.add_variable(INT, (2,), "x {}"), graph.add_variable(INT, (3,), "y")
    nothing, read, moved = Odd(), Odd(x), Odd(x, y)
    assert [leaf_kind(leaf) for leaf in (nothing, read, moved)] == ["control", "host", "copy"]
    label = label_of(moved)
    assert (label.title, label.names) == ("Odd {0} 'x {}' 'y'", ("x {}", "y"))
    assert (label.numbers, label.detail) == ({"bytes": 12, "elements": 3}, "3 elements, 12 B")
    tree = program_text(Sequence(nothing, read, moved))
    for number, text in enumerate(("Odd {0}", "Odd {0} 'x {}'  int32[2]", label.title), 1):
        assert f"  {number}    {text}" in tree
    flow = graph_text(graph, Sequence(nothing, read, moved))
    assert "step 1 " not in flow
    for told in ("step 2  Odd 'x {}'", "step 3  Odd  12 B", "1 copy, 1 host step"):
        assert told in flow


@pytest.mark.parametrize(
    "draw",
    [
        program_text,
        program_svg,
        Displayed._repr_html_,
        lambda program: summary_text(Graph(), program),
    ],
)
def test_what_no_picture_knows_is_refused(draw: Callable[[Program], str]) -> None:
    with pytest.raises(ControlProgramError, match="no picture shows what a Twice does"):
        draw(Sequence(Twice(Odd())))
