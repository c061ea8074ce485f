"""examples/heat.py: bits against NumPy, known numbers, the race refused."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

import poplite as pl


def test_two_hundred_steps_reach_the_known_numbers(
    heat: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    assert heat.main([]) == 0
    printed = capsys.readouterr().out
    assert "u[1, 49] = 0.8755" in printed
    assert "In a single buffer the same program is refused" in printed


def test_few_steps_equal_numpy_bit_by_bit(heat: ModuleType) -> None:
    graph, program, result = heat.build(2)
    engine = pl.Engine(graph, program)
    engine.run()
    got = engine.read(result)
    assert heat.faults(got, 2) == []
    assert got.tobytes() == heat.oracle(2).tobytes()


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


def test_wrong_cells_are_reported(heat: ModuleType) -> None:
    right = heat.oracle(100)
    wrong = right.copy()
    wrong[20, 30] += np.float32(0.5)
    assert heat.faults(right, 100) == []
    assert heat.faults(wrong, 100) == [
        "1 of 6,468 cells differ from NumPy",
        "u[20, 30] is 0.783672, expected 0.283670",
        "the sum is 1115.83669, expected 1115.33200",
    ]


def test_steps_below_one_are_a_usage_error(
    heat: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        heat.main(["--double-steps", "-3"])
    assert "argument --double-steps: invalid positive value: '-3'" in capsys.readouterr().err


def test_wrong_plate_fails_loudly(
    heat: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    oracle = heat.oracle
    monkeypatch.setattr(heat, "oracle", lambda steps: oracle(steps) + 1)
    assert heat.main(["--double-steps", "1"]) == 1
    assert "WRONG: 6,468 of 6,468 cells differ from NumPy" in capsys.readouterr().err


def test_accepted_race_fails_loudly(
    heat: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    build = heat.build
    monkeypatch.setattr(heat, "build", lambda steps, buffers=2: build(steps))
    assert heat.main(["--double-steps", "1"]) == 1
    assert "races, but was accepted" in capsys.readouterr().err
