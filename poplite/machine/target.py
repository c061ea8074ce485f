"""The machine that is modelled.

The default is Graphcore's Mk2 (GC200).  `poplite.machine.facts` says where every number comes from.

    >>> Target(tiles=64)
    <Target 64 tiles, 6 workers, 638,976 B a tile, 1.330 GHz>
    >>> Target(ipus=2)
    <Target 2,944 tiles on 2 IPUs, 6 workers, 638,976 B a tile, 1.330 GHz>
    >>> Target(architecture="gc2")
    <Target 1,216 tiles, 6 workers, 262,144 B a tile, 1.600 GHz>

Tiles are numbered through: those of the first IPU, then those of the second, and so on.

A custom machine takes whatever is not specified from its architecture, including constants of the
cost model:

    >>> quick = Target(tiles=64, costs={"sync_cycles": 20})
    >>> quick
    <Target 64 tiles, 6 workers, 638,976 B a tile, 1.330 GHz, 1 own cost>
    >>> print(quick.fact("sync_cycles"))
    20 cycles (assumed: given to Target)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from numbers import Real
from typing import TYPE_CHECKING, Any, SupportsIndex

from poplite.errors import (
    InvalidMachineModel,
    InvalidTileMapping,
    UnknownName,
    did_you_mean,
)
from poplite.frozen import frozen
from poplite.machine import poplar_queries
from poplite.machine.facts import (
    ARCHITECTURES,
    FACTS,
    POPLAR_ARCHITECTURES,
    Architecture,
    Fact,
    PoplarArchitecture,
)
from poplite.poplar.callable_values import CalledInt, called
from poplite.poplar.spelling import cpp_spelling
from poplite.public import checked_methods
from poplite.text import amount, clipped, integer_or_none, number_text
from poplite.types import ElementTypeLike, element_type

if TYPE_CHECKING:
    from poplite.poplar.spellings import TargetSpelling
else:
    TargetSpelling = object

MOST_TILES = 2**22
"""Tiles of the largest machine, some 2,800 IPUs: every mapping stores a few numbers per tile."""

_FROM_FACTS = ("tiles", "workers", "tile_memory_bytes", "clock_hz", "exchange_bytes_per_cycle")
"""Constants that have arguments of their own."""

_COSTS = {
    architecture: {name: fact.value for name, fact in facts.items() if name not in _FROM_FACTS}
    for architecture, facts in FACTS.items()
}
"""The other constants."""


@cpp_spelling(poplar_queries)
@checked_methods("pl.Target target", but="cost fact vector_width")
@frozen(repr=False, init=False)
class Target(TargetSpelling):
    """A tile machine: the number of tiles, and the properties of a tile.

    Arguments that are left out are those of the architecture.

    Args:
        tiles: number of tiles of all IPUs together, at most 2**22.
        workers: hardware worker contexts of a tile.
        tile_memory_bytes: bytes of memory of a tile.
        clock_hz: clock frequency of the tiles, in hertz.
        exchange_bytes_per_cycle: bytes a tile can receive from the exchange in a cycle.
        ipus: number of IPUs, each with as many tiles.
        architecture: "gc2" (Mk1), "gc200" (Mk2), "bow" or "c600", for everything that is not
            specified. Poplar's names of the first three, "ipu1", "ipu2" and "ipu21", work too.
        costs: other constants of `poplite.machine.facts` by name, as numbers from 0 in their units.

    Raises:
        InvalidMachineModel: when a number is not positive and finite, a count is not whole, the
            tiles are too many or do not divide among the IPUs, the architecture is unknown, or a
            cost is below 0.
        UnknownName: when a cost has the name of no constant.
    """

    tiles: int
    workers: int
    tile_memory_bytes: int
    clock_hz: float
    exchange_bytes_per_cycle: int
    ipus: int
    architecture: Architecture
    costs: tuple[tuple[str, float], ...]

    def __init__(
        self,
        tiles: int | None = None,
        workers: int | None = None,
        tile_memory_bytes: int | None = None,
        clock_hz: float | None = None,
        exchange_bytes_per_cycle: int | None = None,
        ipus: int = 1,
        architecture: Architecture | PoplarArchitecture = "gc200",
        costs: Mapping[str, float] | Iterable[tuple[str, float]] = (),
    ) -> None:
        architecture = _architecture(architecture)
        ipus = _count("ipus", ipus, 1)
        facts = FACTS[architecture]
        given = tiles, workers, tile_memory_bytes, clock_hz, exchange_bytes_per_cycle
        values: dict[str, Any] = {"architecture": architecture, "ipus": ipus}
        for name, value in zip(_FROM_FACTS, given, strict=True):
            default = facts[name].value * (ipus if name == "tiles" else 1)
            accept = _positive if name == "clock_hz" else _count
            values[name] = accept(name, default if value is None else value, default)
        values["costs"] = _costs(costs, architecture)
        for name, value in values.items():
            object.__setattr__(self, name, called(value))
        if self.tiles > MOST_TILES:
            most = f"tiles={MOST_TILES}" if tiles is not None else f"ipus={MOST_TILES // 2**11}"
            raise InvalidMachineModel(
                f"Target: {amount(self.tiles, 'tile')}, but the most is {MOST_TILES:,}",
                found=f"on {amount(self.ipus, 'IPU')}; tiles counts those of all IPUs",
                fix=f"Target({most})",
            )
        if self.tiles % self.ipus:
            whole = max(1, round(self.tiles / self.ipus)) * self.ipus
            raise InvalidMachineModel(
                f"Target: {amount(self.tiles, 'tile')} cannot be divided among {self.ipus:,} IPUs",
                found=f"every IPU has as many tiles; {self.tiles % self.ipus:,} are left over",
                fix=f"Target(tiles={whole}, ipus={self.ipus}); tiles counts those of all IPUs",
            )

    def fact(self, name: str) -> Fact:
        """Return a constant of the machine: its value, its unit, and where it comes from.

        Args:
            name: as in `poplite.machine.facts`; "tiles" are those of one IPU.

        Raises:
            UnknownName: when there is no such constant.

        >>> print(Target(architecture="bow").fact("clock_hz"))
        1,850,000,000 Hz (measured: tessellate-ipu, notebooks/IPU Peak Flops.ipynb)
        """
        fact = _known(name, self.architecture)
        own = fact.value
        if self.costs:
            own = dict(self.costs).get(name, own)
        if name in _FROM_FACTS:
            own = self.tiles_per_ipu if name == "tiles" else getattr(self, name)
        return fact if own == fact.value else Fact(own, fact.unit, "assumed", "given to Target")

    def cost(self, name: str) -> float:
        """Return the value of a constant of the machine.

        Args:
            name: as in `poplite.machine.facts`; "tiles" are those of one IPU.

        Raises:
            UnknownName: when there is no such constant.

        >>> Target(costs={"sync_cycles": 20}).cost("sync_cycles")
        20.0
        """
        if not self.costs and isinstance(name, str):
            own = _COSTS[self.architecture].get(name)
            if own is not None:
                return own
        return self.fact(name).value

    @property
    def tiles_per_ipu(self) -> CalledInt:
        """Tiles of one IPU."""
        return CalledInt(self.tiles // self.ipus)

    def ipu_of(self, tile: SupportsIndex) -> int:
        """Return the IPU that a tile is on.

        Args:
            tile: a tile number.

        Raises:
            InvalidTileMapping: when there is no such tile.

        >>> Target(tiles=8, ipus=2).ipu_of(5)
        1
        """
        number = integer_or_none(tile)
        if number is None or not 0 <= number < self.tiles:
            raise InvalidTileMapping(
                f"ipu_of: no tile {clipped(tile)} on {self!r}",
                found=f"tiles are 0 to {self.tiles - 1}",
                fix="target.ipu_of(0)",
            )
        return number // self.tiles_per_ipu

    @property
    def memory_bytes(self) -> CalledInt:
        """Bytes of memory of all tiles together."""
        return CalledInt(self.tiles * self.tile_memory_bytes)

    @property
    def data_path_bits(self) -> CalledInt:
        """Bits that a worker loads, computes or stores at once."""
        return CalledInt(8 * self.cost("data_path_bytes"))

    def vector_width(self, like: ElementTypeLike) -> int:
        """Return how many elements of a type a worker handles at once.

        Args:
            like: the element type.

        >>> from poplite.types import HALF
        >>> Target().vector_width(HALF)
        4
        """
        return max(1, int(self.cost("data_path_bytes")) // element_type(like).size_bytes)

    @property
    def memory_element_offsets(self) -> tuple[int, ...]:
        """Offsets of the elements of a tile's memory; each serves one access per cycle."""
        return tuple(range(0, self.tile_memory_bytes, int(self.cost("memory_element_bytes"))))

    @property
    def interleaved_memory_element(self) -> CalledInt:
        """The first memory element that is interleaved: words alternate between it and another."""
        return CalledInt(self.cost("interleaved_begin_bytes") // self.cost("memory_element_bytes"))

    def __repr__(self) -> str:
        on = f" on {self.ipus} IPUs" if self.ipus > 1 else ""
        own = f", {amount(len(self.costs), 'own cost')}" if self.costs else ""
        return (
            f"<Target {self.tiles:,} tiles{on}, {number_text(self.workers)} workers, "
            f"{self.tile_memory_bytes:,} B a tile, {self.clock_hz / 1e9:.3f} GHz{own}>"
        )


def _architecture(name: object) -> Architecture:
    """Return poplite's name of an architecture."""
    for known in ARCHITECTURES:
        if isinstance(name, str) and known in (name, POPLAR_ARCHITECTURES.get(name)):
            return known
    raise _refused("architecture", f"{clipped(name)} is not known", ARCHITECTURES[1])


def _known(name: str, architecture: Architecture) -> Fact:
    """Return a constant of an architecture; raise UnknownName for an unknown one."""
    facts = FACTS[architecture]
    if not isinstance(name, str) or name not in facts:
        raise UnknownName(
            f"Target: no constant {clipped(name)}{did_you_mean(name, facts)}",
            found=f"{len(facts)} constants of '{architecture}' are in poplite.machine.facts",
            fix="target.fact('clock_hz')",
        )
    return facts[name]


def _costs(
    given: Mapping[str, float] | Iterable[tuple[str, float]], architecture: Architecture
) -> tuple[tuple[str, float], ...]:
    try:
        pairs = dict(given)
    except (TypeError, ValueError):
        raise InvalidMachineModel(
            f"Target: costs={clipped(given)} is not a mapping of names to numbers",
            fix="costs={'sync_cycles': 90}",
        ) from None
    costs = {}
    for name, value in pairs.items():
        default = _known(name, architecture).value
        if name in _FROM_FACTS:
            raise InvalidMachineModel(
                f"Target: costs has {name!r}, which is an argument of its own",
                found=f"given as {clipped(value)}",
                fix=f"Target({name}={clipped(value)})",
            )
        number = _number(value)
        if not 0 <= number < math.inf:
            raise InvalidMachineModel(
                f"Target: costs[{name!r}]={clipped(value)} is not a finite number from 0",
                found=f"{FACTS[architecture][name]} of '{architecture}'",
                fix=f"costs={{{name!r}: {default:g}}}",
            )
        costs[name] = number
    return tuple(sorted(costs.items()))


def _count(name: str, value: object, default: Any) -> int:
    count = integer_or_none(value)
    if count is None:
        number = _number(value)
        nearest = max(1, round(number)) if math.isfinite(number) else default
        raise _refused(name, f"{clipped(value)} is not a whole number", nearest)
    if count < 1:
        raise _refused(name, f"{number_text(count)} but at least 1 is needed", 1)
    return count


def _positive(name: str, value: object, default: Any) -> float:
    number = _number(value)
    if not 0 < number < math.inf:
        raise _refused(name, f"{clipped(value)} is not a finite number above 0", default)
    return number


def _number(value: object) -> float:
    try:
        return float(value) if isinstance(value, Real) else math.nan
    except OverflowError:
        return math.inf


def _refused(name: str, what: str, instead: float | str) -> InvalidMachineModel:
    fix = f"Target({name}={instead!r})"
    return InvalidMachineModel(f"Target: {name}={what}", fix=fix)
