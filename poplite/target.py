"""The machine that is modelled.

The defaults are Graphcore's Mk2 (GC200).  Sources of the numbers: Poplar profile
summaries of Mk2 programs (tiles, bytes per tile, clock), IPU Programmer's Guide (worker
contexts), poplibs `Target` users (exchange width).

    >>> Target(tiles=64)
    <Target 64 tiles, 6 workers, 638,976 B a tile, 1.330 GHz>
"""

from __future__ import annotations

import operator
from dataclasses import dataclass

from poplite.errors import InvalidMachineModel


@dataclass(frozen=True, slots=True, repr=False)
class Target:
    """A tile machine: how many tiles, and what one tile is.

    Args:
        tiles: number of tiles.
        workers: hardware worker contexts of a tile.
        tile_memory_bytes: bytes of memory of a tile.
        clock_hz: clock frequency of the tiles, in hertz.
        exchange_bytes_per_cycle: bytes a tile can receive from the exchange in a cycle.

    Raises:
        InvalidMachineModel: when a number is not positive, or a count is not whole.
    """

    tiles: int = 1472
    workers: int = 6
    tile_memory_bytes: int = 638_976
    clock_hz: float = 1.33e9
    exchange_bytes_per_cycle: int = 4

    def __post_init__(self) -> None:
        for name in ("tiles", "workers", "tile_memory_bytes", "exchange_bytes_per_cycle"):
            value = getattr(self, name)
            try:
                whole = operator.index(value)
            except TypeError:
                raise InvalidMachineModel(
                    f"Target: {name}={value!r} is not a whole number", fix=f"{name}=6"
                ) from None
            if whole < 1:
                raise InvalidMachineModel(
                    f"Target: {name}={value} but at least 1 is needed", fix=f"{name}=1"
                )
        if not self.clock_hz > 0:
            raise InvalidMachineModel(
                f"Target: clock_hz={self.clock_hz} but it must be above 0", fix="clock_hz=1.33e9"
            )

    @property
    def memory_bytes(self) -> int:
        """Bytes of memory of all tiles together."""
        return self.tiles * self.tile_memory_bytes

    def __repr__(self) -> str:
        return (
            f"<Target {self.tiles:,} tiles, {self.workers} workers, "
            f"{self.tile_memory_bytes:,} B a tile, {self.clock_hz / 1e9:.3f} GHz>"
        )

    def getNumTiles(self) -> int:
        """C++ spelling of `tiles`."""
        return self.tiles

    def getNumWorkerContexts(self) -> int:
        """C++ spelling of `workers`."""
        return self.workers

    def getBytesPerTile(self) -> int:
        """C++ spelling of `tile_memory_bytes`."""
        return self.tile_memory_bytes

    def getMemoryBytes(self) -> int:
        """C++ spelling of `memory_bytes`."""
        return self.memory_bytes

    def getTileClockFrequency(self) -> float:
        """C++ spelling of `clock_hz`."""
        return self.clock_hz

    def getExchangeBytesPerCycle(self) -> int:
        """C++ spelling of `exchange_bytes_per_cycle`."""
        return self.exchange_bytes_per_cycle
