"""examples/sort.py: the order, the count of passes, a wrong order."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

import poplite as pl
from helpers.running import both_forms


@both_forms
def test_every_number_is_where_it_belongs(sort: ModuleType, interpret: bool) -> None:
    graph, program, numbers, passes = sort.build()
    engine = pl.Engine(graph, program, interpret=interpret)
    engine.run()
    assert engine.read(numbers).flatten().tolist() == sorted(sort.VALUES.flatten().tolist())
    assert engine.read(passes) == 5


@pytest.mark.parametrize(("first", "expected"), [(range(512), 1), (range(512)[::-1], 5)])
def test_a_pass_without_a_swap_is_the_last(sort: ModuleType, first: range, expected: int) -> None:
    graph, program, numbers, passes = sort.build()
    engine = pl.Engine(graph, program)
    engine.write(numbers, np.reshape(first, (8, 64)))
    engine.run()
    assert engine.read(passes) == expected
    assert engine.read(numbers).flatten().tolist() == list(range(512))


def test_a_wrong_order_fails_loudly(
    sort: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sort.main()
    assert capsys.readouterr().out.startswith("sorted in 5 passes\n")
    graph, _, *tensors = sort.build()
    monkeypatch.setattr(sort, "build", lambda: (graph, pl.Sequence(), *tensors))
    with pytest.raises(AssertionError, match="not equal"):
        sort.main()
