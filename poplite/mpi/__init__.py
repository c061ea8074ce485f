"""Programs on the ranks of an MPI job: the same bits and cycles as in one process.

    engine = pl.Engine(graph, program, device=pl.mpi.Device())      on every rank
    mpiexec -n 4 python script.py

Needs the extra `mpi`; docs/scale.md says what runs where.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from poplite.mpi.device import Device as Device

_HOME = {"Device": "device"}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'poplite.mpi' has no attribute '{name}'")
    value = getattr(import_module(f"poplite.mpi.{_HOME[name]}"), name)
    globals()[name] = value
    return value
