"""examples/multigrid.py: the residual in double precision, levels, the picture, bad input."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import numpy as np
import pytest

from poplite import viz


def test_cycles_reach_a_millionth(
    multigrid: ModuleType,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(multigrid, "GRID", (3, 2))
    assert multigrid.main(["--size=31", "--output-dir", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "V-cycles  0   residual 1.0e+00 of b"
    assert lines[-3].startswith("31 x 31 points: in double precision ")
    assert len(lines) <= 8 + 4
    drawn = ElementTree.parse(tmp_path / multigrid.FILE).getroot()
    assert len([each for each in drawn if each.tag.endswith("rect")]) == 1 + 31 * 31
    # More than 30 V-cycles are not run, and what is left is said.
    monkeypatch.setattr(multigrid, "MOST_CYCLES", 2)
    assert multigrid.main(["--size=31", "--output-dir", str(tmp_path)]) == 1
    assert "TOO MUCH" in capsys.readouterr().out


def test_each_level_is_a_function_of_blocks_that_begin_at_odd_places(
    multigrid: ModuleType,
) -> None:
    solver = multigrid.Solver(15, (3, 2))
    assert [level.size for level in solver.levels] == [15, 7, 3, 1]
    for level in solver.levels:
        covered = np.zeros((level.size + 2,) * 2, int)
        for block in level.blocks:
            covered[block] += 1
            assert all(each.start % 2 == 1 for each in block)
        assert (covered[1:-1, 1:-1] == 1).all()
        assert covered.sum() == level.size**2
    drawn = viz.program_text(solver.program)
    assert all(f"level {number}" in drawn for number in range(4))


@pytest.mark.parametrize("size", ["2", "30", "-1"])
def test_other_sizes_are_a_usage_error(
    multigrid: ModuleType, capsys: pytest.CaptureFixture[str], size: str
) -> None:
    with pytest.raises(SystemExit, match="2"):
        multigrid.main([f"--size={size}"])
    assert f"--size {size}: one less than a power of two" in capsys.readouterr().err
