"""What is said where there is no MPI, and of ranks in a single process."""

from __future__ import annotations

import sys

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
