"""Errors of a run name the step and, of several, the program, as errors of compiling do."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

import poplite as pl
from helpers.running import both_forms


class Reach(pl.Vertex):
    at: pl.Input[pl.INT]
    x: pl.InOut[pl.Vector[pl.INT]]

    def compute(self) -> None:
        if self.at < 5:
            raise ValueError("small")
        self.x[self.at] = 1


def programs(at: int = 4) -> tuple[pl.Graph, dict[str, pl.Program]]:
    """Return a graph and programs, each of which fails in its own way."""
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.INT, (4,), "x", mapping=0, initial_value=[0] * 4)
    place = graph.add_variable(pl.INT, (), "place", mapping=0, initial_value=at)
    unset = graph.add_variable(pl.INT, (4,), "unset", mapping=0)
    loose = graph.add_variable(pl.BOOL, (), "loose", mapping=0)
    reach = graph.add_compute_set("reach")
    graph.add_vertex(reach, Reach, tile=0, at=place, x=x)
    out = graph.add_device_to_host_fifo("out", pl.INT, 4)
    rows = graph.add_remote_buffer("rows", pl.INT, 4, repeats=2)
    step = pl.PrintTensor(x)
    function = graph.add_function(pl.Sequence(step, pl.Execute(reach)))
    return graph, {
        "reach": pl.Sequence(step, pl.Call(function)),
        "abort": pl.Sequence(step, pl.AbortOnCondition(place, "stop")),
        "send": pl.Sequence(pl.Copy(x, out)),
        "remote": pl.Sequence(step, step, pl.Copy(x, rows, place.reshape((1,)))),
        "switch": pl.Sequence(step, pl.Switch.with_bounds_checking(place, [(1, step)])),
        "print": pl.PrintTensor("title", unset),
        "if": pl.Sequence(step, pl.If(loose, step, step)),
        "around nothing": pl.RepeatWhileTrue(pl.Program(), loose, pl.Program()),
    }


WHERE = {
    "reach": "step 3 of 3: Execute 'reach', of program 'reach'",
    "abort": "step 2 of 2: AbortOnCondition 'place', of program 'abort'",
    "send": "step 1 of 1: Copy 'x' -> 'out', of program 'send', in the callback of stream 'out'",
    "remote": "step 3 of 3: Copy 'x' -> 'rows', of program 'remote'",
    "switch": "step 2 of 2, which Switch 'place' decides on, of program 'switch'",
    "print": "step 1 of 1: PrintTensor 'title', of program 'print'",
    "if": "step 2 of 3, which a scalar decides on, of program 'if'",
    "around nothing": "what a scalar decides on, of program 'around nothing'",
}


def message(engine: pl.Engine, name: str) -> str:
    """Return what is said when a program fails."""

    def refuse(values: object) -> None:
        raise RuntimeError("refused")

    engine.print_stream = io.StringIO()
    if "out" in engine.list_streams():
        engine.connect_stream_to_callback("out", refuse)
    with pytest.raises(Exception) as caught:  # noqa: PT011
        engine.run(name)
    return "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])


@both_forms
@pytest.mark.parametrize("name", WHERE)
def test_the_program_is_named_where_there_are_several(interpret: bool, name: str) -> None:
    graph, several = programs()
    engine = pl.Engine(graph, several, interpret=interpret)
    assert f"\n  at {WHERE[name]}" in "\n" + message(engine, name)
    alone = message(pl.Engine(graph, several[name], interpret=interpret), name="0")
    assert f"\n  at {WHERE[name].replace(f', of program {name!r}', '')}" in "\n" + alone


@both_forms
def test_the_fault_of_an_index_names_the_program(interpret: bool) -> None:
    graph, several = programs(at=6)
    said = message(pl.Engine(graph, several, interpret=interpret), "reach")
    assert "'Reach.x': index 6 of 4 elements" in said
    assert f"\n  at {WHERE['reach']}\n" in said


def test_a_loaded_executable_names_programs_too(tmp_path: Path) -> None:
    graph, several = programs()
    pl.compile_graph(graph, several).save(tmp_path / "several")
    engine = pl.Engine(pl.Executable.load(tmp_path / "several", [Reach]))
    assert f"\n  at {WHERE['reach']}\n" in message(engine, "reach")
