"""The public class: the ranks of an MPI job, for `Engine(..., device=)`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from numbers import Real
from typing import TYPE_CHECKING

import numpy as np

from poplite.compile.options import EngineOptions
from poplite.errors import Absent, InvalidOption
from poplite.machine.device import Device as PoplarDevice
from poplite.machine.target import Target
from poplite.mpi.channel import say_end
from poplite.mpi.endings import watch_own_end
from poplite.mpi.loaded import OnRank
from poplite.mpi.ranks import Ranks
from poplite.mpi.starting import started
from poplite.simulator.device import Setup
from poplite.simulator.engine_arguments import Source
from poplite.text import clipped, integer_or_none, of_type

if TYPE_CHECKING:
    from mpi4py.MPI import Comm


class Device(PoplarDevice):
    """The ranks of an MPI job, which run the programs of an engine together.

    All ranks make the same graph, or load the same executable, and make the same calls of the
    engine. Each owns the elements and runs the vertices of some of the tiles. Results have the
    same bits on any number of ranks, and so do modelled cycles.

    Args:
        comm: a communicator of mpi4py; by default that of all ranks of the job.
        cut: the first tile of each rank but the first, rising; by default ranks get about equal
            work.
        timeout: seconds after which a rank that waits for another one ends the job, here too; 0 for
            never.
        target: the machine of `pl.Graph(device)`; by default `pl.Target()`. Programs for any other
            machine run as well.

    Raises:
        DeviceRuntimeError: where mpi4py or an MPI library is missing.
        InvalidOption: for a `cut` of another number of ranks, or a `timeout` below 0; an engine
            raises it for a `cut` at tiles that its graph has not.
        InvalidMachineModel: for a `target` that is none.

    >>> import poplite as pl
    >>> graph = pl.Graph()
    >>> x = graph.add_variable(pl.INT, (2,), "x", mapping=0, initial_value=[1, 2])
    >>> y = graph.add_variable(pl.INT, (2,), "y", mapping=1)
    >>> engine = pl.Engine(graph, pl.Copy(x, y), device=pl.mpi.Device())  # doctest: +SKIP
    >>> engine.run()  # doctest: +SKIP
    """

    _is_poisoned = False  # tests overwrite what a rank does not own before each step

    def __init__(
        self,
        comm: Comm | None = None,
        cut: Sequence[int] | None = None,
        timeout: float = 60,
        target: Target | None = None,
    ) -> None:
        super().__init__(Target() if target is None else target)
        seconds = _checked_seconds(timeout)
        world = started(seconds).COMM_WORLD
        if world.Get_size() > 1:
            watch_own_end(say_end)
        comm = world if comm is None else comm
        self._cut = None if cut is None else _checked_cut(cut, comm.Get_size())
        self._ranks = Ranks(comm, seconds)
        _share_processors(self._ranks.on_machine)

    @property
    def rank(self) -> int:
        """The number of this rank."""
        return self._ranks.number

    @property
    def num_ranks(self) -> int:
        """How many ranks there are."""
        return self._ranks.count

    def options(self, asked: EngineOptions) -> EngineOptions:
        """Return the options of an engine on ranks: checks are fast unless it asks for others."""
        return replace(asked, checks=asked.checks or "fast")

    def load(self, source: Source, setup: Setup) -> OnRank:
        """Make programs ready to run."""
        return OnRank(source, setup, self._ranks, self._cut, is_poisoned=self._is_poisoned)

    createVirtualDevice = Absent(
        "the ranks simulate any machine", "pl.mpi.Device(target=pl.Target(tiles=16))"
    )

    def __repr__(self) -> str:
        return f"<Device rank {self.rank} of {self.num_ranks}>"


def _checked_seconds(timeout: object) -> float:
    if not isinstance(timeout, bool) and isinstance(timeout, Real):
        try:
            seconds = float(timeout)
        except OverflowError:  # an integer beyond floats
            seconds = -1.0
        if seconds >= 0:
            return seconds
    raise InvalidOption(
        f"Device: timeout={clipped(timeout)} is no number of seconds",
        found=of_type(timeout),
        fix="leave timeout out for 60, or timeout=0 to wait for ever",
    )


def _checked_cut(cut: Sequence[int], count: int) -> tuple[int, ...]:
    tiles = [integer_or_none(tile) for tile in cut] if np.iterable(cut) else [None]
    firsts = tuple(tile for tile in tiles if tile is not None)
    if len(firsts) < len(tiles):
        raise InvalidOption(
            f"Device: cut={clipped(cut)} is no list of tiles",
            found=of_type(cut),
            fix="cut=[400, 900], the first tile of each rank but rank 0; or leave cut out",
        )
    if len(firsts) != count - 1 or list(firsts) != sorted(firsts) or min(firsts, default=0) < 0:
        raise InvalidOption(
            f"Device: cut={clipped(cut)} does not cut tiles for {count:,} ranks",
            found=f"it has {len(firsts):,} tiles; the first of each rank but rank 0, rising",
            fix=f"{count - 1:,} tiles, or leave cut out for equal work",
        )
    return firsts


def _share_processors(ranks: int) -> None:
    """Let the ranks of a node share its processors; threads start with the first large launch."""
    if ranks > 1 and "numba" not in sys.modules and hasattr(os, "sched_getaffinity"):
        threads = max(1, len(os.sched_getaffinity(0)) // ranks)
        os.environ.setdefault("NUMBA_NUM_THREADS", str(threads))
