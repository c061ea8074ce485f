"""Every file in `examples/` can be drawn by `poplite-viz`, as it stands there."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from helpers.depth import thinned
from poplite.tools.viz.load_target import load_programs
from poplite.viz import graph_text, program_text, summary_text, tiles_text

FILES = sorted(path.stem for path in (Path(__file__).parents[2] / "examples").glob("*.py"))


@pytest.mark.parametrize("name", thinned(FILES, keep=[name for name in FILES if name != "photo"]))
def test_example_is_drawn(name: str, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, name, raising=False)
    graph, programs = load_programs(f"examples/{name}.py:build")
    program = next(iter(programs.values()))
    assert summary_text(graph, program).startswith("summary: fits")
    assert tiles_text(graph, program=program).startswith("bytes needed per tile: ")
    assert program_text(program).startswith("program: ")
    assert graph_text(graph, program).startswith("dataflow: ")
