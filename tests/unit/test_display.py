"""What notebooks show: each class asks by name for one picture, and stays as small as it was."""

from __future__ import annotations

import io

import pytest

from poplite import FLOAT, Engine, Target
from poplite.display import Displayed
from poplite.graph import Graph
from poplite.graph.mapping.tile_mapping import TileMapping
from poplite.graph.virtual import VirtualGraph
from poplite.program import Copy, Execute, Program, Sequence
from poplite.viz import graph_dot, notebook


def displayed() -> dict[type[Displayed], tuple[Displayed, str]]:
    """One value of every class that a notebook shows, and a text of its picture."""
    graph = Graph(Target(tiles=4))
    x = graph.add_variable(FLOAT, (8, 6), "bias", mapping="linear")
    work = graph.add_compute_set("work")
    return {
        type(value): (value, text)
        for value, text in (
            (graph, "1 variable"),
            (x, "float32[8, 6]"),
            (graph.tile_mapping(x), "elements of a used tile"),
            (work, "vertices per tile: &#x27;work&#x27;"),
            (Program(), "Program empty"),
            (Engine(graph, Program()).report(), "what fills tile 0, the fullest"),
        )
    }


def test_every_displayed_class_has_a_picture_of_its_own() -> None:
    below = [kind for kind in Displayed.__subclasses__() if kind.__module__.startswith("poplite.")]
    assert {kind.__name__ for kind in below} == {kind.__name__ for kind in displayed()}
    for kind, (value, text) in displayed().items():
        assert kind in notebook.html.registry
        assert value._repr_html_() == notebook.html(value)
        assert text in value._repr_html_()


def test_programs_of_all_kinds_show_their_tree() -> None:
    program = Execute(Graph().add_compute_set("work"))
    assert "Execute &#x27;work&#x27;" in program._repr_html_()


def test_a_virtual_graph_shows_its_top_level_graph() -> None:
    graph = Graph(Target(tiles=4))
    part = graph.create_virtual_graph([1, 3])
    assert isinstance(part, VirtualGraph)
    assert part._repr_html_() == graph._repr_html_()


def test_what_had_slots_still_has_no_dictionary() -> None:
    values = [value for value, _ in displayed().values() if not isinstance(value, Graph)]
    assert [value for value in values if hasattr(value, "__dict__")] == []
    assert any(isinstance(value, TileMapping) for value in values)


def test_a_displayed_class_without_a_picture_is_named() -> None:
    class Chart(Displayed):
        """Of nothing."""

    with pytest.raises(NotImplementedError, match="no picture of Chart"):
        Chart()._repr_html_()


def test_the_vertex_graph_is_what_the_command_draws() -> None:
    graph = Graph(Target(tiles=4))
    x, y = (graph.add_variable(FLOAT, (4,), name, mapping=0) for name in "xy")
    there, back = Copy(x, y), Copy(y[:2], x[2:])
    for write, programs in (
        (graph.output_vertex_graph, [there]),
        (graph.outputVertexGraph, [there, back]),
        (graph.outputComputeGraph, [Sequence(there, back)]),
        (graph.outputComputeGraph, []),
    ):
        stream = io.StringIO()
        write(stream, programs)
        program = Sequence(*programs) if programs else None
        assert stream.getvalue() == graph_dot(graph, program)
    assert 'label="Copy\\n[0:2] -> [2:4], 8 B\\nstep 2"' in graph_dot(graph, Sequence(there, back))
