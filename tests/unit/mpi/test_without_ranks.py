"""What is said where there is no MPI, and of ranks in a single process."""

from __future__ import annotations

import sys
from typing import Any

import pytest

import poplite as pl


def test_a_device_says_what_brings_mpi(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    with pytest.raises(pl.DeviceRuntimeError, match=r"pip install 'poplite\[mpi\]'"):
        pl.mpi.Device()


def test_one_process_is_rank_0() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.INT, (2,), "x", mapping=0, initial_value=[1, 2])
    engine = pl.Engine(graph, pl.Sequence())
    values = engine.read(x, root=0)
    assert values is not None
    assert values.tolist() == [1, 2]
    with pytest.raises(pl.ControlProgramError, match=r"root=1 of 1 rank"):
        engine.read(x, root=1)


@pytest.mark.parametrize(
    ("timeout", "shown"),
    [(True, "True"), (10**400, "about 10^400"), (float("nan"), "nan"), (-1, "-1"), ("x", "'x'")],
)
def test_a_timeout_is_a_number_of_seconds(timeout: Any, shown: str) -> None:
    with pytest.raises(pl.InvalidOption) as caught:
        pl.mpi.Device(timeout=timeout)
    assert caught.value.what == f"Device: timeout={shown} is not a number of seconds"
    assert caught.value.found == f"it is of type {type(timeout).__name__}"
