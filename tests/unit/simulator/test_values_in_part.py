"""Variables of which a part has initial values: the other elements are zeros, and unwritten."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers.running import both_forms


class Next(pl.Vertex):
    x: pl.Input[pl.Vector[pl.INT]]
    out: pl.Output[pl.Vector[pl.INT]]

    def compute(self) -> None:
        for i in range(len(self.out)):
            self.out[i] = self.x[i] + 1


def built(*, replicas: int = 1) -> tuple[pl.Graph, pl.Tensor, dict[str, pl.Program]]:
    """A graph with `b` of 8 elements, and programs that read two of them each, from 0 to 6."""
    graph = pl.Graph(pl.Target(tiles=2, ipus=replicas), replication_factor=replicas)
    b = graph.add_variable(pl.INT, (8,), "b", mapping=0)
    out = graph.add_variable(pl.INT, (2,), "out", mapping=0)
    programs: dict[str, pl.Program] = {}
    for at in range(0, 8, 2):
        compute_set = graph.add_compute_set(f"next {at}")
        graph.add_vertex(compute_set, Next, tile=0, x=b[at : at + 2], out=out)
        programs[str(at)] = pl.Execute(compute_set)
    return graph, b, programs


def unwritten(engine: pl.Engine) -> list[int]:
    """Return the first element that each program finds that nothing has written."""
    found: list[int] = []
    for at in range(0, 8, 2):
        try:
            engine.run(str(at))
        except pl.UninitializedReadError as error:
            said = re.findall(r"which is 'b'\[(\d)\], but nothing has written it", error.what)
            found += map(int, said)
    return found


@both_forms
def test_elements_without_a_value_are_unwritten(interpret: bool) -> None:
    graph, b, programs = built()
    graph.set_initial_value(b[:4], [1, 2, 3, 4])
    engine = pl.Engine(graph, programs, checks="strict", interpret=interpret)
    assert unwritten(engine) == [4, 6]
    engine.run("2")
    assert engine.read(graph.tensor("out")).tolist() == [4, 5]
    with pytest.warns(pl.UninitializedWarning, match="written 4 of 8 elements"):
        assert engine.read(b).tolist() == [1, 2, 3, 4, 0, 0, 0, 0]
    engine.write(b[4:], [5, 6, 7, 8])
    assert unwritten(engine) == []
    engine.load()
    assert unwritten(engine) == [4, 6]


def test_a_value_set_in_parts_is_whole() -> None:
    graph, b, programs = built()
    graph.set_initial_value(b[6:], 7)
    graph.set_initial_value(b[1::2].reverse(0), [1, 2, 3, 4])
    assert unwritten(pl.Engine(graph, programs, checks="strict")) == [0, 2, 4]
    graph.set_initial_value(b[:6], 9)
    executable = pl.compile_graph(graph, programs)
    assert executable.layout.variables[0].with_value is None
    assert unwritten(pl.Engine(executable)) == []


def test_each_replica_has_its_own() -> None:
    graph, b, programs = built(replicas=2)
    graph.set_initial_value(b[:2], {1: 3})
    graph.set_initial_value(b[:4], 5)
    graph.set_initial_value(b[4:], {0: 6})
    executable = pl.compile_graph(graph, programs)
    held = executable.layout.variables[0].with_value
    assert held is not None
    assert {replica: np.unpackbits(bits).tolist() for replica, bits in held.items()} == {
        -1: [1, 1, 1, 1, 0, 0, 0, 0],
        1: [1, 1, 1, 1, 0, 0, 0, 0],
    }
    assert unwritten(pl.Engine(executable)) == [4, 6]
    graph.set_initial_value(b, {1: 8})
    assert unwritten(pl.Engine(graph, programs, checks="strict")) == []


def saved(folder: Path) -> tuple[Path, Path]:
    """Files of an executable and of a graph in which `b` has four values."""
    graph, b, programs = built()
    graph.set_initial_value(b[2:6], 1)
    paths = folder / "run.poplite", folder / "run.graph"
    pl.compile_graph(graph, programs).save(paths[0])
    graph.save(paths[1], programs)
    return paths


def test_files_say_which_elements_have_a_value(tmp_path: Path) -> None:
    of_executable, of_graph = saved(tmp_path)
    executable = pl.Executable.load(of_executable, [Next])
    graph, programs = pl.Graph.load(of_graph, [Next])
    assert unwritten(pl.Engine(executable)) == [0, 6]
    assert unwritten(pl.Engine(graph, programs, checks="strict")) == [0, 6]
    executable.save(tmp_path / "again.poplite")
    graph.save(tmp_path / "again.graph", programs)
    assert (tmp_path / "again.poplite").read_bytes() == of_executable.read_bytes()
    assert (tmp_path / "again.graph").read_bytes() == of_graph.read_bytes()


@pytest.mark.parametrize(
    "wrong", [[[-1, ["uint8", 0, [0]]]], [[1, ["uint8", 0, [1]]]], [[-1, ["int32", 0, [1]]]]]
)
def test_files_that_cannot_be(wrong: Any, tmp_path: Path) -> None:
    for path, load in zip(saved(tmp_path), (pl.Executable.load, pl.Graph.load), strict=True):
        with zipfile.ZipFile(path) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        manifest = json.loads(members["manifest.json"])
        whole = manifest.get("graph") or manifest["executable"]["layout"]
        whole["variables"][0]["with_value"] = wrong
        members["manifest.json"] = json.dumps(manifest).encode()
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in members.items():
                archive.writestr(name, data)
        with pytest.raises(pl.FileLoadError, match="'b' does not say which elements have a value"):
            load(path, [Next])
