"""Indices outside of fields: at every size, with every kind of checks but none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import poplite as pl


class Next(pl.Vertex):
    """Reads one element too many."""

    x: pl.Input[pl.Vector[pl.INT]]
    y: pl.Output[pl.INT]

    def compute(self) -> None:
        self.y = self.x[len(self.x)]


class Take(pl.Vertex):
    """Reads where memory says."""

    x: pl.Input[pl.Vector[pl.INT]]
    index: pl.Input[pl.Vector[pl.INT]]
    y: pl.Output[pl.Vector[pl.INT]]

    def compute(self) -> None:
        for i in range(len(self.y)):
            self.y[i] = self.x[self.index[i]]


def one(size: int) -> tuple[pl.Graph, pl.Program, pl.Tensor]:
    graph = pl.Graph(pl.Target(tiles=1472))
    x = graph.add_variable(pl.INT, (size + 1,), "cells", mapping="linear", initial_value=7)
    y = graph.add_variable(pl.INT, (1,), "y", mapping=0)
    work = graph.add_compute_set("work")
    graph.add_vertex(work, Next, tile=0, x=x[:size], y=y[0])
    return graph, pl.Execute(work), y


@pytest.mark.parametrize(("size", "checks"), [(10, "strict"), (1_000_001, "fast")])
def test_a_neighbour_is_not_read(size: int, checks: str) -> None:
    graph, program, y = one(size)
    options = {"debug.allowOutOfMemory": True}
    engine = pl.Engine(graph, program, options=options)
    assert engine.checks == checks
    assert repr(engine) == f"<Engine 1 program on 1,472 tiles, compiled, {checks} checks>"
    with pytest.raises(pl.TensorIndexError) as caught:
        engine.run()
    what = f"Next 0 on tile 0: 'Next.x': index {size} of {size} elements"
    assert caught.value.what == what
    assert f"'Next.x' is 'cells'[0:{size:,}]" in caught.value.found.replace(
        f"0:{size}", f"0:{size:,}"
    )


def test_an_engine_with_fast_checks_begins_anew_after_a_fault() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.INT, (4,), "x", mapping=0, initial_value=[1, 2, 3, 4])
    index = graph.add_variable(pl.INT, (2,), "index", mapping=0, initial_value=[0, 4])
    y = graph.add_variable(pl.INT, (2,), "y", mapping=0)
    work = graph.add_compute_set("work")
    graph.add_vertex(work, Take, tile=0, x=x, index=index, y=y)
    engine = pl.Engine(graph, pl.Execute(work), checks="fast")
    with pytest.raises(pl.TensorIndexError) as caught:
        engine.run()
    assert caught.value.what == "Take 0 on tile 0: 'Take.x': index 4 of 4 elements"
    assert caught.value.found.splitlines()[0] == "'Take.x' is 'x'[0:4]"
    assert "memory is undefined now, as fast checks save nothing" in caught.value.found
    engine.write(index, [0, 3])
    with pytest.raises(pl.ControlProgramError) as refused:
        engine.run()
    assert refused.value.what == "engine.run(0): memory is undefined since a vertex stopped"
    assert refused.value.found.startswith("Take 0 on tile 0: 'Take.x': index 4 of 4 elements")
    engine.load()
    engine.write(index, [0, 3])
    engine.run()
    assert engine.read(y).tolist() == [1, 4]
    assert "Checks: fast, compiled" in " ".join(str(engine.report()).split())


@pytest.mark.parametrize("checks", ["fast", "none"])
def test_files_say_whether_indices_are_checked(tmp_path: Path, checks: str) -> None:
    graph, program, _ = one(3)
    engine = pl.Engine(graph, program, checks=checks)  # type: ignore[arg-type]
    path = tmp_path / "next.poplite"
    engine.executable.save(path)
    again = pl.Engine(pl.Executable.load(path, [Next]))
    assert again.checks == checks
    if checks == "none":
        again.run()
        assert repr(again).endswith("no checks>")
        return
    with pytest.raises(pl.TensorIndexError, match=r"'Next.x': index 3 of 3 elements"):
        again.run()


def test_with_none_a_neighbour_is_read() -> None:
    """Which is what the name says: it is the user's choice."""
    graph, program, y = one(3)
    engine = pl.Engine(graph, program, checks="none")
    engine.run()
    assert np.all(engine.read(y) == 7)
