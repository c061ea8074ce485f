"""The machine that is modelled.

The default is Graphcore's Mk2 (GC200).  `poplite.machine` says where every number comes from.

    >>> Target(tiles=64)
    <Target 64 tiles, 6 workers, 638,976 B a tile, 1.330 GHz>
    >>> Target(ipus=2)
    <Target 2,944 tiles on 2 IPUs, 6 workers, 638,976 B a tile, 1.330 GHz>
    >>> Target(architecture="gc2")
    <Target 1,216 tiles, 6 workers, 262,144 B a tile, 1.600 GHz>

Tiles are numbered through: those of the first IPU, then those of the second, and so on.
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from numbers import Real
from typing import Any, SupportsIndex

from poplite.errors import InvalidMachineModel, InvalidTileMapping, UnknownName, did_you_mean
from poplite.machine import ARCHITECTURES, FACTS, Architecture, Fact
from poplite.source import here
from poplite.words import clipped, counted

_FROM_FACTS = ("tiles", "workers", "tile_memory_bytes", "clock_hz", "exchange_bytes_per_cycle")


@dataclass(frozen=True, slots=True, repr=False)
class Target:
    """A tile machine: how many tiles, and what one tile is.

    What is left out is as in the architecture.

    Args:
        tiles: number of tiles of all IPUs together.
        workers: hardware worker contexts of a tile.
        tile_memory_bytes: bytes of memory of a tile.
        clock_hz: clock frequency of the tiles, in hertz.
        exchange_bytes_per_cycle: bytes a tile can receive from the exchange in a cycle.
        ipus: number of IPUs, each with as many tiles.
        architecture: "gc2" (Mk1), "gc200" (Mk2), "bow" or "c600": what is not said here.

    Raises:
        InvalidMachineModel: when a number is not positive and finite, a count is not whole, the
            tiles do not divide among the IPUs, or the architecture is unknown.
    """

    # None is filled in at once: it depends on the architecture.
    tiles: int = None  # type: ignore[assignment]
    workers: int = None  # type: ignore[assignment]
    tile_memory_bytes: int = None  # type: ignore[assignment]
    clock_hz: float = None  # type: ignore[assignment]
    exchange_bytes_per_cycle: int = None  # type: ignore[assignment]
    ipus: int = 1
    architecture: Architecture = "gc200"

    def __post_init__(self) -> None:
        if self.architecture not in ARCHITECTURES:
            raise _refused(
                "architecture", f"{clipped(self.architecture)} is not known", ARCHITECTURES[1]
            )
        ipus = _count("ipus", self.ipus, 1)
        object.__setattr__(self, "ipus", ipus)
        for name in _FROM_FACTS:
            default, given = self.fact(name).value, getattr(self, name)
            if name == "tiles":
                default *= ipus
            accept = _positive if name == "clock_hz" else _count
            value = accept(name, default if given is None else given, default)
            object.__setattr__(self, name, value)
        if self.tiles % self.ipus:
            whole = max(1, round(self.tiles / self.ipus)) * self.ipus
            raise InvalidMachineModel(
                f"Target: {counted(self.tiles, 'tile')} cannot be divided among {self.ipus:,} IPUs",
                at=here(),
                found=f"every IPU has as many tiles; {self.tiles % self.ipus:,} are left over",
                fix=f"Target(tiles={whole}, ipus={self.ipus}); tiles counts those of all IPUs",
            )

    def fact(self, name: str) -> Fact:
        """Return a constant of the architecture: its value, unit, and where it comes from.

        Args:
            name: as in `poplite.machine`.

        Raises:
            UnknownName: when there is no such constant.

        >>> print(Target(architecture="bow").fact("clock_hz"))
        1,850,000,000 Hz (measured: tessellate-ipu, notebooks/IPU Peak Flops.ipynb)
        """
        facts = FACTS[self.architecture]
        if name not in facts:
            raise UnknownName(
                f"{self!r} has no constant {clipped(name)}{did_you_mean(str(name), facts)}",
                at=here(),
                found=f"{len(facts)} constants of '{self.architecture}' are in poplite.machine",
                fix="target.fact('clock_hz')",
            )
        return facts[name]

    @property
    def tiles_per_ipu(self) -> int:
        """Tiles of one IPU."""
        return self.tiles // self.ipus

    def ipu_of(self, tile: SupportsIndex) -> int:
        """Return the IPU that a tile is on.

        Args:
            tile: a tile number.

        Raises:
            InvalidTileMapping: when there is no such tile.

        >>> Target(tiles=8, ipus=2).ipu_of(5)
        1
        """
        is_number = isinstance(tile, SupportsIndex) and not isinstance(tile, bool)
        if not is_number or not 0 <= operator.index(tile) < self.tiles:
            raise InvalidTileMapping(
                f"ipu_of: no tile {clipped(tile)} on {self!r}",
                at=here(),
                found=f"tiles are 0 to {self.tiles - 1}",
                fix="target.ipu_of(0)",
            )
        return operator.index(tile) // self.tiles_per_ipu

    @property
    def memory_bytes(self) -> int:
        """Bytes of memory of all tiles together."""
        return self.tiles * self.tile_memory_bytes

    def __repr__(self) -> str:
        on = f" on {self.ipus} IPUs" if self.ipus > 1 else ""
        return (
            f"<Target {self.tiles:,} tiles{on}, {self.workers} workers, "
            f"{self.tile_memory_bytes:,} B a tile, {self.clock_hz / 1e9:.3f} GHz>"
        )

    def getNumTiles(self) -> int:
        """C++ spelling of `tiles`."""
        return self.tiles

    def getNumIPUs(self) -> int:
        """C++ spelling of `ipus`."""
        return self.ipus

    def getTilesPerIPU(self) -> int:
        """C++ spelling of `tiles_per_ipu`."""
        return self.tiles_per_ipu

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
        if isinstance(value, bool):
            raise TypeError
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


def _refused(name: str, what: str, instead: float | str) -> InvalidMachineModel:
    fix = f"Target({name}={instead!r})"
    return InvalidMachineModel(f"Target: {name}={what}", at=here(), fix=fix)
