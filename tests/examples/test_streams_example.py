"""examples/streams.py: sums in two ways, built and loaded; a loop with callbacks."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import poplite as pl
from helpers.running import both_forms
from poplite.vertices import Add


def test_all_parts_are_as_expected(streams: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    streams.main()
    lines = capsys.readouterr().out.splitlines()
    assert lines == [f"x + y by {way}: [5. 5. 5. 5.]" for way in ("custom", "library")] * 2


@both_forms
def test_both_ways_of_adding(streams: ModuleType, interpret: bool) -> None:
    streams.run_both(pl.Engine(*streams.build(), interpret=interpret))


def test_x_y_and_z_lie_on_tiles_of_their_own(streams: ModuleType) -> None:
    graph, programs = streams.build()
    tiles = {v.name: np.unique(v.mapping.pieces()[1]).tolist() for v in graph.variables[:3]}
    assert tiles == {"x": [0], "y": [1], "z": [2]}
    assert list(programs) == ["write", "custom", "library", "read"]


def test_a_template_of_the_same_name_is_not_mistaken_for_the_vertex(
    streams: ModuleType, tmp_path: Path
) -> None:
    assert Add.type_variables
    assert streams.Add.__name__ == Add.__name__
    file = tmp_path / "programs.poplite"
    pl.Engine(*streams.build()).executable.save(file)
    streams.run_both(pl.Engine(pl.Executable.load(file, vertices=[Add, streams.Add])))


def test_wrong_sums_fail_loudly(streams: ModuleType) -> None:
    graph, programs = streams.build()
    programs["custom"] = pl.Sequence()  # adds nothing
    with pytest.warns(pl.UninitializedWarning), pytest.raises(AssertionError, match="not equal"):
        streams.run_both(pl.Engine(graph, programs))
