"""The modelled machine: its tiles and their properties, the links between IPUs, and replicas.

The default is Graphcore's Mk2 (GC200).  `poplite.machine.facts` gives the source of every number.

    >>> Target(tiles=64)
    <Target 64 tiles, 6 workers, 638,976 B a tile, 1.330 GHz>
    >>> Target(ipus=2)
    <Target 2,944 tiles on 2 IPUs, 6 workers, 638,976 B a tile, 1.330 GHz>
    >>> Target(architecture="gc2")
    <Target 1,216 tiles, 6 workers, 262,144 B a tile, 1.600 GHz>

Tiles are numbered consecutively: those of the first IPU, then those of the second, and so on.

A custom machine takes everything that is not specified from its architecture, including constants
of the cost model:

    >>> quick = Target(tiles=64, costs={"sync_cycles": 20})
    >>> quick
    <Target 64 tiles, 6 workers, 638,976 B a tile, 1.330 GHz, 1 own cost>
    >>> print(quick.fact("sync_cycles"))
    20 cycles (assumed: given to Target)

IPUs are arranged in a ladder; two of them make a card::

    0 ===== 1       card    4 links between the two IPUs of a card, for data from one to the other
    |       |       cross   2 links there, for data on the way to another card
    2 ===== 3       up      2 links to the same side of the next card
    |       |       down    2 links to the same side of the previous card
    4 ===== 5

Data for the other side of another card cross first, then move up or down:

    >>> [(link.kind, link.ipu) for link in route(0, 5)]
    [('cross', 0), ('up', 1), ('up', 3)]

Each group of links serves one direction, and all data on it share its bandwidth.

Replicas are copies of one graph on equal parts of a machine, which all run the same program::

    machine   IPU 0   IPU 1   IPU 2   IPU 3          Target(ipus=4)
    replica  |------ 0 ------|------ 1 ------|       Graph(target, replication_factor=2)

A graph describes one replica, and its target is that replica's part of the machine.  All its
variables exist once in each replica; only their values may differ.

Sources: poplibs, lib/poplibs_test/Util.cpp, addGlobalExchangeConstraints and
setGlobalSyncLatency, for links; Poplar user guide, "Replicated graphs".
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex, TypeVar

import poplite.machine as machine  # `from poplite` would hash the whole package for the code cache
from poplite.errors import (
    GraphReplicationError,
    InvalidMachineModel,
    InvalidTileMapping,
    ListsPresent,
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
from poplite.types import FLOAT, HALF, ElementTypeLike, element_type

if TYPE_CHECKING:
    from poplite.poplar.spellings import TargetSpelling
else:
    TargetSpelling = object

T = TypeVar("T")

MOST_TILES = 2**22
"""Number of tiles of the largest machine, 2,800 IPUs: mappings store a few numbers per tile."""

MOST_WORKERS = 2**28
"""Maximum total number of workers: vertices are distributed with one array entry per worker."""

_FROM_FACTS = ("tiles", "workers", "tile_memory_bytes", "clock_hz", "exchange_bytes_per_cycle")
"""Constants with a separate argument."""

_COSTS = {
    architecture: {name: fact.value for name, fact in facts.items() if name not in _FROM_FACTS}
    for architecture, facts in FACTS.items()
}
"""The other constants."""


@cpp_spelling(poplar_queries)
@checked_methods("pl.Target target", but="cost fact vector_width")
@frozen(repr=False, init=False)
class Target(TargetSpelling, metaclass=ListsPresent):
    """A tile machine: the number of tiles, and the properties of a tile.

    The defaults are those of the architecture.

    Args:
        tiles: total number of tiles of all IPUs, at most 2**22.
        workers: number of hardware worker contexts of a tile; at most 2**28 on all tiles.
        tile_memory_bytes: memory of a tile in bytes.
        clock_hz: clock frequency of the tiles in hertz.
        exchange_bytes_per_cycle: bytes that a tile can receive from the exchange per cycle.
        ipus: number of IPUs, with equal numbers of tiles.
        architecture: "gc2" (Mk1), "gc200" (Mk2), "bow" or "c600", for everything that is not
            specified. Poplar's names for the first three, "ipu1", "ipu2" and "ipu21", are accepted.
        costs: other constants of `poplite.machine.facts` by name, as non-negative numbers in their
        units.

    Raises:
        InvalidMachineModel: when a number is not positive and finite, a count is not whole, there
            are too many tiles or workers, the tiles do not divide among the IPUs, the architecture
            is unknown, or a cost is negative.
        UnknownName: when a cost does not name a constant.

    >>> target = Target(tiles=64, ipus=2, architecture="bow", costs={"sync_cycles": 20})
    >>> target.tiles_per_ipu, target.workers, target.cost("sync_cycles")
    (32, 6, 20.0)
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
            limit = f"tiles={MOST_TILES}" if tiles is not None else f"ipus={MOST_TILES // 2**11}"
            raise InvalidMachineModel(
                f"Target: {amount(self.tiles, 'tile')}, but the maximum is {MOST_TILES:,}",
                found=f"on {amount(self.ipus, 'IPU')}; `tiles` is the total number on all IPUs",
                fix=f"Target({limit})",
            )
        if self.tiles % self.ipus:
            whole = max(1, round(self.tiles / self.ipus)) * self.ipus
            raise InvalidMachineModel(
                f"Target: {amount(self.tiles, 'tile')} cannot be divided among {self.ipus:,} IPUs",
                found="every IPU must have the same number of tiles; the remainder is "
                f"{self.tiles % self.ipus:,}",
                fix=f"Target(tiles={whole}, ipus={self.ipus}), with the total number of tiles",
            )
        if self.tiles * self.workers > MOST_WORKERS:
            raise InvalidMachineModel(
                f"Target: {amount(self.tiles, 'tile')} with {amount(self.workers, 'worker')}, "
                f"but the maximum is {MOST_WORKERS:,} workers on all tiles",
                fix=f"Target(workers={MOST_WORKERS // self.tiles})",
            )

    def fact(self, name: str) -> Fact:
        """Return a constant of the machine: its value, its unit, and its source.

        Args:
            name: as in `poplite.machine.facts`; "tiles" is the number of tiles per IPU.

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
            name: as in `poplite.machine.facts`; "tiles" is the number of tiles per IPU.

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
        """Number of tiles of one IPU."""
        return CalledInt(self.tiles // self.ipus)

    def ipu_of(self, tile: SupportsIndex) -> int:
        """Return the IPU of a tile.

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
                f"ipu_of: there is no tile {clipped(tile)} on {self!r}",
                found=f"tiles are 0 to {self.tiles - 1}",
                fix="target.ipu_of(0)",
            )
        return number // self.tiles_per_ipu

    @property
    def memory_bytes(self) -> CalledInt:
        """Total memory of all tiles in bytes."""
        return CalledInt(self.tiles * self.tile_memory_bytes)

    @property
    def data_path_bits(self) -> CalledInt:
        """Number of bits that a worker loads, computes or stores at once."""
        return CalledInt(8 * self.cost("data_path_bytes"))

    def vector_width(self, like: ElementTypeLike) -> int:
        """Return the number of elements of a type that a worker processes at once.

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
    """Return poplite's name for an architecture."""
    for known in ARCHITECTURES:
        if isinstance(name, str) and known in (name, POPLAR_ARCHITECTURES.get(name)):
            return known
    raise _refused("architecture", f"{clipped(name)} is not known", ARCHITECTURES[1])


def _known(name: str, architecture: Architecture) -> Fact:
    """Return a constant of an architecture; raise UnknownName for an unknown one."""
    facts = FACTS[architecture]
    if not isinstance(name, str) or name not in facts:
        raise UnknownName(
            f"Target: there is no constant {clipped(name)}{did_you_mean(name, facts)}",
            found=f"'{architecture}' has {len(facts)} constants",
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
                f"Target: costs contains {name!r}, which is a separate argument",
                found=f"its value is {clipped(value)}",
                fix=f"Target({name}={clipped(value)})",
            )
        number = _number(value)
        if not 0 <= number < math.inf:
            raise InvalidMachineModel(
                f"Target: costs[{name!r}]={clipped(value)} is not a finite non-negative number",
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
        raise _refused(name, f"{number_text(count)}, but at least 1 is needed", 1)
    return count


def _positive(name: str, value: object, default: Any) -> float:
    number = _number(value)
    if not 0 < number < math.inf:
        raise _refused(name, f"{clipped(value)} is not a finite number greater than 0", default)
    return number


def _number(value: object) -> float:
    try:
        return float(value) if isinstance(value, Real) else math.nan
    except OverflowError:
        return math.inf


def _refused(name: str, what: str, instead: float | str) -> InvalidMachineModel:
    fix = f"Target({name}={instead!r})"
    return InvalidMachineModel(f"Target: {name}={what}", fix=fix)


# -- links between IPUs ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, order=True)
class Link:
    """A group of parallel links in one direction.

    Attributes:
        kind: its direction: "card", "cross", "up" or "down".
        ipu: the IPU at its start.
    """

    kind: Literal["card", "cross", "up", "down"]
    ipu: int


_LINKS = {
    "card": "card_links",
    "cross": "cross_links",
    "up": "ladder_links",
    "down": "ladder_links",
}


def route(a: int, b: int) -> tuple[Link, ...]:
    """Return the links from one IPU to another, in order; empty for the same IPU.

    >>> route(2, 3)
    (Link(kind='card', ipu=2),)
    """
    if a == b:
        return ()
    if a // 2 == b // 2:
        return (Link("card", a),)
    links = []
    if a % 2 != b % 2:
        links.append(Link("cross", a))
        a ^= 1
    links += [Link("up", ipu) for ipu in range(a, b, 2)]
    links += [Link("down", ipu) for ipu in range(a, b, -2)]
    return tuple(links)


def hops(a: int, b: int) -> int:
    """Return the number of links between two IPUs.

    >>> hops(0, 0), hops(0, 1), hops(0, 4), hops(0, 5)
    (0, 1, 2, 3)
    """
    return len(route(a, b))


def link_bytes_per_cycle(target: Target, link: Link) -> float:
    """Return the bandwidth of a group of links, in bytes per tile cycle in one direction.

    >>> round(link_bytes_per_cycle(Target(ipus=2), Link("card", 0)), 2)
    43.92
    """
    bits = target.cost("link_bits_per_second") * target.cost("link_efficiency")
    return bits * target.cost(_LINKS[link.kind]) / (8 * target.clock_hz)


def bytes_per_cycle(target: Target, a: int, b: int) -> float:
    """Return the bandwidth from one IPU to another, in bytes per tile cycle, without other traffic.

    It is infinite from an IPU to itself.

    >>> machine = Target(ipus=4)
    >>> bytes_per_cycle(machine, 0, 1) / bytes_per_cycle(machine, 0, 3)
    2.0
    """
    rates = (link_bytes_per_cycle(target, link) for link in route(a, b))
    return min(rates, default=math.inf)


def global_sync_cycles(target: Target) -> int:
    """Return the number of cycles of a sync between the tiles of all IPUs; 0 on one IPU.

    A signal travels to the farthest card and back; the time on short ladders is the one measured
    on a ladder of 16 IPUs.

    >>> global_sync_cycles(Target()), global_sync_cycles(Target(ipus=2))
    (0, 600)
    """
    if target.ipus == 1:
        return 0
    farthest = 1 + target.ipus // 2 // 2
    signal = target.cost("global_sync_hop_seconds") * target.clock_hz * farthest * 2
    return max(int(target.cost("global_sync_cycles")), math.ceil(signal))


# -- replicas --------------------------------------------------------------------------------------

MOST_REPLICAS = 1 << 16
"""Maximum number of replicas, more than any machine has IPUs; every replica takes memory."""


def checked_target(value: object) -> Target:
    """Return the target of a graph, `Target()` for None; refuse anything but a target or device."""
    if value is None:
        return Target()
    if isinstance(value, Target):
        return value
    if isinstance(value, machine.Device):
        return value.getTarget()
    tiles = value if isinstance(value, int) and value > 0 else 4
    raise InvalidMachineModel(
        f"Graph: {clipped(value)} is not a target",
        found=f"its type is {type(value).__name__}, but a Target is needed",
        fix=f"Graph(Target(tiles={tiles}))",
    )


def replica_part(whole: Target, replicas: object) -> tuple[Target, int]:
    """Return a replica's part of a machine, and the number of replicas that the user specified.

    Raises GraphReplicationError if the machine cannot be divided into that many equal parts.

    >>> replica_part(Target(tiles=8, ipus=4), 2)
    (<Target 4 tiles on 2 IPUs, 6 workers, 638,976 B a tile, 1.330 GHz>, 2)
    """
    count = integer_or_none(replicas)
    if count is None or not 1 <= count <= MOST_REPLICAS:
        raise GraphReplicationError(
            f"Graph: replication_factor={clipped(replicas)} is not a whole number from 1 to "
            f"{MOST_REPLICAS:,}",
            fix="Graph(target), or Graph(Target(ipus=2), replication_factor=2)",
        )
    if whole.ipus % count:
        ipus = -(-whole.ipus // count) * count
        raise GraphReplicationError(
            f"Graph: {amount(whole.ipus, 'IPU')} cannot be divided among {count:,} replicas",
            found=f"the target is the entire machine: {whole!r}",
            fix=f"Graph(Target(tiles={whole.tiles_per_ipu * ipus}, ipus={ipus}), "
            f"replication_factor={count})",
        )
    tiles, ipus = whole.tiles // count, whole.ipus // count
    return replace(whole, tiles=tiles, ipus=ipus), count


def replica_number(value: object, count: int, what: str) -> int:
    """Return a replica number; raise GraphReplicationError, naming the call, if it is invalid."""
    number = integer_or_none(value)
    if number is None or not 0 <= number < count:
        raise GraphReplicationError(
            f"{what}: there is no replica {clipped(value)}",
            found=f"the graph has {amount(count, 'replica')}: "
            + (f"0 to {count - 1}" if count > 1 else "0"),
            fix="use a number in that range, or leave it out for all replicas"
            if count > 1
            else "use Graph(Target(ipus=2), replication_factor=2) for two replicas",
        )
    return number


def tiles_text(tiles: int, count: int) -> str:
    """Return the number of tiles of a replica in words, and of replicas if there are several.

    >>> tiles_text(4, 1), tiles_text(4, 2)
    ('4 tiles', '4 tiles in each of 2 replicas')
    """
    return amount(tiles, "tile") + (f" in each of {count:,} replicas" if count > 1 else "")


def by_replica(values: Mapping[int, T], count: int, what: str) -> dict[int, T]:
    """Return the user's values by replica number, in ascending order.

    `what` is the call, for messages. Raises GraphReplicationError if a replica does not exist, or
    there are no values.
    """
    if not values:
        raise GraphReplicationError(
            f"{what}: the dictionary contains no replicas", fix="pass {0: value, 1: value}"
        )
    checked = {replica_number(key, count, what): value for key, value in values.items()}
    return {number: checked[number] for number in sorted(checked)}


# -- what a tile can do in a cycle -----------------------------------------------------------------


@frozen
class Limit:
    """The most that a tile does in a cycle.

    Attributes:
        what: a word for it, such as "floats in vectors".
        number: floating-point operations, or bytes, per cycle.
        sources: the facts of the machine that it follows from, each with its source.
    """

    what: str
    number: float
    sources: Mapping[str, str]


def limits_of(target: Target) -> tuple[Limit, ...]:
    """Return the limits of a tile: operations in vectors and in the matrix unit, and its link.

    In a cycle one worker issues one operation on as many elements as a vector has; the matrix unit
    multiplies a row of inputs for all its outputs, and adds the products up.  The limit of the link
    is twice as high for two neighbours that receive the same words.

    >>> [(each.what, each.number) for each in limits_of(Target())[::2]]
    [('floats in vectors', 2.0), ('floats in the matrix unit', 32.0), ('bytes on the link', 4.0)]
    """
    names = ((FLOAT, "floats", "amp_float_row_cycles"), (HALF, "halves", "amp_half_row_cycles"))
    found = []
    for element, name, _ in names:
        width = float(target.vector_width(element))
        found.append(_limit(target, f"{name} in vectors", width, "data_path_bytes"))
    for element, name, row in names:
        facts = "amp_outputs", "amp_inputs_bytes", row
        outputs, size, cycles = map(target.cost, facts)
        number = 2 * outputs * size / element.size_bytes / cycles
        found.append(_limit(target, f"{name} in the matrix unit", number, *facts))
    link = "exchange_bytes_per_cycle"
    return *found, _limit(target, "bytes on the link", float(target.exchange_bytes_per_cycle), link)


def _limit(target: Target, what: str, number: float, *facts: str) -> Limit:
    return Limit(what, number, {name: f"{target.fact(name)}" for name in facts})
