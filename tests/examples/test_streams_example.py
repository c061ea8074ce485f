"""examples/streams.py: sums in two ways, here and in a new process; a loop with callbacks."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import poplite as pl
from helpers.running import both_forms
from poplite.vertices import Add


def test_all_parts_are_as_expected(streams: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert streams.main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    five = "[5.0, 5.0, 5.0, 5.0]  as expected"
    for where in ("built", "loaded"):  # the latter by a process of its own
        assert f"z before custom, {where}: [-1.0, -1.0, -1.0, -1.0]  as expected" in lines
        assert f"x + y by custom, {where}: {five}" in lines
        assert f"z before reduce, {where}: [-1.0, -1.0, -1.0, -1.0]  as expected" in lines
        assert f"x + y by reduce, {where}: {five}" in lines
    assert "blocks given: 25  as expected" in lines
    assert "blocks taken: 25  as expected" in lines
    assert (
        "blocks taken, first element of each run: [2.0, 4.0, 4.0, 10.0, 10.0]  as expected" in lines
    )
    assert "all elements of all blocks agree: True  as expected" in lines


@both_forms
def test_both_ways_of_adding(streams: ModuleType, interpret: bool) -> None:
    engine = pl.Engine(*streams.build(), interpret=interpret)
    assert all(got == expected for _, got, expected in streams.run_programs(engine, "here"))


def test_x_y_and_z_lie_on_tiles_of_their_own(streams: ModuleType) -> None:
    graph, programs = streams.build()
    tiles = {v.name: np.unique(v.mapping.pieces()[1]).tolist() for v in graph.variables[:3]}
    assert tiles == {"x": [0], "y": [1], "z": [2]}
    assert list(programs) == ["write", "custom", "reduce", "read"]


def test_a_saved_program_runs_without_its_graph(
    streams: ModuleType,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = tmp_path / "programs.poplite"
    pl.Engine(*streams.build()).executable.save(file)

    def no_graph(*_: object) -> None:
        raise AssertionError("a graph is made")

    monkeypatch.setattr(streams, "build", no_graph)
    monkeypatch.setattr(pl, "Graph", no_graph)
    assert streams.main(["--load", str(file)]) == 0
    assert "x + y by reduce, loaded: [5.0, 5.0, 5.0, 5.0]  as expected" in capsys.readouterr().out


def test_a_template_of_the_same_name_is_not_mistaken_for_the_vertex(
    streams: ModuleType, tmp_path: Path
) -> None:
    assert Add.type_variables
    assert streams.Add.__name__ == Add.__name__
    file = tmp_path / "programs.poplite"
    pl.Engine(*streams.build()).executable.save(file)
    engine = pl.Engine(pl.Executable.load(file, vertices=[Add, streams.Add]))
    assert all(got == expected for _, got, expected in streams.run_programs(engine, "here"))


def test_wrong_sums_fail_loudly(
    streams: ModuleType,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = tmp_path / "programs.poplite"
    pl.Engine(*streams.build()).executable.save(file)
    monkeypatch.setattr(streams, "Y", [4, 3, 2, 2])
    assert streams.main(["--load", str(file)]) == 1
    wrong = "x + y by custom, loaded: [5.0, 5.0, 5.0, 6.0]  WRONG, expected [5, 5, 5, 5]"
    assert wrong in capsys.readouterr().out


def test_a_process_that_disagrees_fails_loudly(
    streams: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "in_new_process", lambda engine: ("no such class\n", False))
    assert streams.main([]) == 1
    assert "no such class\n" in capsys.readouterr().out
