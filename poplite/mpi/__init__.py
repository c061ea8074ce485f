"""Programs on the ranks of an MPI job: the same bits and cycles as in one process.

    engine = pl.Engine(graph, program, device=pl.mpi.Device())      on every rank
    mpiexec -n 4 python script.py

Needs the extra `mpi`; docs/scale.md describes which rank runs what.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from poplite.public import loaded_on_use

if TYPE_CHECKING:
    from poplite.mpi.device import Device as Device

__all__, __getattr__, __dir__ = loaded_on_use(__name__)
