"""examples/multigrid.py: the residual in double precision, levels, too few V-cycles."""

from __future__ import annotations

from types import ModuleType

import pytest

import poplite as pl
from helpers.depth import interpreted_everywhere
from poplite import viz


def test_cycles_reach_a_millionth(
    multigrid: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable, value in interpreted_everywhere().items():
        monkeypatch.setenv(variable, value)
    multigrid.main(31, (3, 2))
    share, *words = capsys.readouterr().out.split()
    assert 0 < float(share) <= 1.01e-6
    assert words == ["of", "b", "is", "left"]


def test_each_level_is_a_function(multigrid: ModuleType) -> None:
    graph, program = multigrid.build(15, (3, 2))
    names = [v.name for v in graph.variables if v.name.startswith("e")]
    assert names == ["e", "e7", "e3", "e1"]
    drawn = viz.program_text(program)
    assert all(f"level of {size}" in drawn for size in (15, 7, 3, 1))


def test_what_is_left_fails_loudly(multigrid: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, _ = multigrid.build(7, (2, 2))
    monkeypatch.setattr(multigrid, "build", lambda size, grid: (graph, pl.Sequence()))
    with pytest.raises(AssertionError):
        multigrid.main(7)
