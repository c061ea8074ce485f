"""examples/heat.py: bits against NumPy, known numbers, the race refused."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

import poplite as pl

# After 200 steps, worked out in double precision.
CELLS = {(1, 49): 0.875551, (20, 30): 0.283670, (30, 45): 0.869429, (45, 45): 0.188319}


def test_two_hundred_steps_reach_the_known_numbers(
    heat: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    heat.main()
    printed = capsys.readouterr().out
    assert "u[20, 30] = 0.2836" in printed
    assert "sum 1115.33" in printed
    assert "In a single buffer the same program is refused" in printed
    u = heat.in_numpy(100)
    np.testing.assert_allclose([u[cell] for cell in CELLS], list(CELLS.values()), atol=2e-5)
    assert u.sum(dtype=float) == pytest.approx(1115.33200, rel=1e-5)


def test_few_steps_equal_numpy_bit_by_bit(heat: ModuleType) -> None:
    graph, program, result = heat.build(2)
    engine = pl.Engine(graph, program)
    engine.run()
    assert engine.read(result).tobytes() == heat.in_numpy(2).tobytes()


def test_single_buffer_is_a_race_with_both_lines(heat: ModuleType) -> None:
    graph, program, _ = heat.build(1, buffers=1)
    with pytest.raises(pl.GraphCycleError, match=r"'a'") as raised:
        pl.Engine(graph, program)
    assert "Diffuse" in str(raised.value)
    assert "heat.py:" in str(raised.value)


def test_every_block_lies_on_its_tile(heat: ModuleType) -> None:
    graph, _, result = heat.build(1)
    per_tile = graph.tile_mapping(result).elements_per_tile
    corner, side, top, inner = 17 * 25, 16 * 25, 17 * 24, 16 * 24
    expected = [corner, top, top, corner, *([side, inner, inner, side] * 2)]
    expected += [corner, top, top, corner]
    assert per_tile.tolist() == expected


def test_wrong_plate_fails_loudly(heat: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    in_numpy = heat.in_numpy
    monkeypatch.setattr(heat, "in_numpy", lambda steps: in_numpy(steps) + 1)
    with pytest.raises(AssertionError, match="6468 / 6468"):
        heat.main(1)
