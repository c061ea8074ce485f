"""The machine that is modelled.

The defaults are Graphcore's Mk2 (GC200).  Sources of the numbers: Poplar profile
summaries of Mk2 programs (tiles, bytes per tile, clock), IPU Programmer's Guide (worker
contexts), poplibs `Target` users (exchange width).

    >>> Target(tiles=64)
    <Target 64 tiles, 6 workers, 638,976 B a tile, 1.330 GHz>
"""

from __future__ import annotations

import dataclasses
import math
import operator
from dataclasses import dataclass
from numbers import Real
from typing import Any

from poplite.errors import InvalidMachineModel
from poplite.source import here


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
        InvalidMachineModel: when a number is not positive and finite, or a count is not whole.
    """

    tiles: int = 1472
    workers: int = 6
    tile_memory_bytes: int = 638_976
    clock_hz: float = 1.33e9
    exchange_bytes_per_cycle: int = 4

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            accept = _positive if field.name == "clock_hz" else _count
            value = getattr(self, field.name)
            object.__setattr__(self, field.name, accept(field.name, value, field.default))

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


def _count(name: str, value: object, default: Any) -> int:
    try:
        count = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = _number(value)
        nearest = max(1, round(number)) if math.isfinite(number) else default
        raise _refused(name, f"{value!r} is not a whole number", nearest) from None
    if count < 1:
        raise _refused(name, f"{count} but at least 1 is needed", 1)
    return count


def _positive(name: str, value: object, default: Any) -> float:
    number = _number(value)
    if not 0 < number < math.inf:
        raise _refused(name, f"{value!r} is not a finite number above 0", default)
    return number


def _number(value: object) -> float:
    try:
        return float(value) if isinstance(value, Real) else math.nan
    except OverflowError:
        return math.inf


def _refused(name: str, what: str, instead: float) -> InvalidMachineModel:
    return InvalidMachineModel(f"Target: {name}={what}", at=here(), fix=f"Target({name}={instead})")
