"""Tensors by the names of their variables: `graph.tensor`, `engine.read` and `engine.write`."""

from __future__ import annotations

import pytest

import poplite as pl


@pytest.fixture
def graph() -> pl.Graph:
    graph = pl.Graph(pl.Target(tiles=2))
    for scope in ("blocks", "head"):
        with graph.scope(scope):
            graph.add_variable(pl.INT, (2, 3), "w", mapping=0, initial_value=1)
    with graph.scope("blocks"):
        graph.add_constant(pl.FLOAT, (4,), [1, 2, 3, 4], "taps", mapping=1)
    return graph


def test_a_tensor_by_its_name(graph: pl.Graph) -> None:
    w = graph.tensor("blocks/w")
    assert (w.name, w.shape, w.element_type) == ("blocks/w", (2, 3), pl.INT)
    assert graph.tensor("taps") == graph.tensor("blocks/taps")
    assert graph.create_virtual_graph(1).tensor("taps") == graph.tensor("blocks/taps")


def test_names_of_variables_that_are_made_and_refused_later(graph: pl.Graph) -> None:
    assert graph.tensor("head/w").name == "head/w"
    with pytest.raises(pl.TensorCreationError):
        graph.add_variable(pl.INT, (2,), "late", mapping=0, initial_value=[1, 2, 3])
    with pytest.raises(pl.UnknownName):
        graph.tensor("late")
    with graph.scope("net"), graph.scope("blocks"):
        late = graph.add_variable(pl.INT, (2,), "late", mapping=0)
        w = graph.add_variable(pl.INT, (2,), "w", mapping=0)
    assert graph.tensor("late") == graph.tensor("blocks/late") == late
    assert graph.tensor("net/blocks/w") == w
    assert graph.tensor("blocks/w") != w  # all of a name before a part of one


def test_unknown_names_come_with_the_nearest(graph: pl.Graph) -> None:
    with pytest.raises(pl.UnknownName) as caught:
        graph.tensor("block/w")
    assert caught.value.what == (
        "graph.tensor('block/w'): the graph has no variable 'block/w' (did you mean 'blocks/w'?)"
    )
    assert caught.value.found == (
        "it has:\nblocks/w  int32[2, 3]\nhead/w  int32[2, 3]\nblocks/taps  float32[4]"
    )
    with pytest.raises(pl.UnknownName, match=r"no variable 'tap' \(did you mean 'taps'\?\)"):
        graph.tensor("tap")
    with pytest.raises(pl.ElementTypeError, match=r"graph.tensor\(3\): 3 is not a name"):
        graph.tensor(3)  # type: ignore[arg-type]


def test_a_name_of_several_needs_its_scopes(graph: pl.Graph) -> None:
    with pytest.raises(pl.UnknownName) as caught:
        graph.tensor("w")
    assert caught.value.what == "graph.tensor('w'): 2 variables of the graph are called 'w'"
    assert "head/w  int32[2, 3]" in caught.value.found
    assert caught.value.fix == "name it with its scopes: 'blocks/w'"


def test_an_engine_reads_and_writes_by_name(graph: pl.Graph) -> None:
    graph.create_host_read("taps", graph.tensor("blocks/w"))
    engine = pl.Engine(graph, pl.Sequence())
    engine.write("head/w", 7)
    assert engine.read("head/w").tolist() == [[7] * 3] * 2
    assert engine.read("blocks/taps").tolist() == [1, 2, 3, 4]
    assert engine.read("taps").shape == (2, 3)  # of one name, the handle is meant
    with pytest.raises(pl.UnknownName) as caught:
        engine.read("heads/w")
    assert caught.value.what == (
        "engine.read: there is no variable and no host read 'heads/w' (did you mean 'head/w'?)"
    )
    assert caught.value.found.endswith("handles: 'taps'")
    with pytest.raises(pl.UnknownName, match=r"engine.write: 2 variables .* are called 'w'"):
        engine.write("w", 1)
    with pytest.raises(pl.GraphConnectionError, match="the tensor has constant elements|constant"):
        engine.write("blocks/taps", 1)
    graph.add_variable(pl.INT, (), "late", mapping=0)
    with pytest.raises(pl.GraphConnectionError, match="'late' was added to the graph after this"):
        engine.read("late")


def test_an_executable_knows_handles_only(graph: pl.Graph) -> None:
    engine = pl.Engine(pl.compile_graph(graph, pl.Sequence()))
    with pytest.raises(pl.UnknownName) as caught:
        engine.read("blocks/w")
    assert caught.value.what == "engine.read: there is no host read 'blocks/w'"
    assert caught.value.found == "handles: none; an executable knows no variables"
