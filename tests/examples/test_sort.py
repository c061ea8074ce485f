"""examples/sort.py: the order, the known numbers, the count of passes."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

import poplite as pl
from helpers.running import both_forms


def test_the_known_numbers_are_reached(
    sort: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sort.main([]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("-2144539202, ")
    assert "2141161603: sorted in 5 passes" in captured.out
    assert "WRONG" not in captured.err


@both_forms
def test_every_number_is_where_it_belongs(sort: ModuleType, interpret: bool) -> None:
    keys = sort.keys()
    assert keys[:4].tolist() == [-2114231048, -593107977, -858853142, -1647809727]
    graph, program, numbers, passes = sort.build()
    engine = pl.Engine(graph, program, interpret=interpret)
    engine.run()
    got = engine.read(numbers).flatten()
    assert got.tolist() == sorted(keys.tolist())
    assert (got[0], got[256], got[-1]) == (-2144539202, 68265528, 2141161603)
    assert engine.read(passes) == 5


def test_sorted_numbers_take_one_quiet_pass(sort: ModuleType) -> None:
    graph, program, numbers, passes = sort.build()
    engine = pl.Engine(graph, program)
    engine.write(numbers, np.arange(512).reshape(8, 64))
    engine.run()
    assert engine.read(passes) == 1
    assert engine.read(numbers).flatten().tolist() == list(range(512))


def test_wrong_numbers_are_reported(sort: ModuleType) -> None:
    got = np.sort(sort.keys())
    assert sort.faults(got, 5) == []
    got[256] += 1
    assert sort.faults(got, 6) == [
        "1 of 512 numbers are not where NumPy puts them",
        "number 256 is 68265529, expected 68265528",
        "6 passes, expected 5",
    ]


def test_a_wrong_order_fails_loudly(
    sort: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sort, "EXPECTED_PASSES", 4)
    assert sort.main([]) == 1
    assert "WRONG: 5 passes, expected 4" in capsys.readouterr().err
