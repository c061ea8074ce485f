"""Lifetimes of variables in the memory of tiles, and the resulting addresses.

Lifetimes come from liveness analysis over the steps of programs::

    step 0   Execute 'scale'     x -> a          a lives in steps 0 to 1
    step 1   Execute 'add'       a, x -> b       b in steps 1 to 2
    step 2   Copy 'b' -> 'y'                     x and y always

A variable is always live if one of its values may outlast a run: it has initial values or a host
handle, or is constant; a program may read it before writing it; a step writes it and no later step
reads it, so that only the host can; or no program uses it at all. Every other variable is live from
a write to the last read of the value, on any path of control flow, and shares its memory with
variables that are live at other times.

Programs are trees, so one pass up from their leaves and one pass down suffice. For each sub-tree:

    reads     pieces (`poplite.cost.step_accesses`) that may be read before it writes them
    ends      pieces that it certainly writes, or makes undefined
    before  = reads | (after & ~ends)            live before it, from the pieces live after it

A program in several places is treated as if control continued from all of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from itertools import chain
from math import isqrt
from operator import and_, or_
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from poplite.arrays.intervals import Int64, sorted_order
from poplite.arrays.series import Steps
from poplite.cost.step_accesses import AccessBlock, AccessedPieces, Flow, places
from poplite.cost.step_cost import few
from poplite.frozen import frozen
from poplite.jit.build import run_kernel
from poplite.jit.kernels_tiles import ALWAYS, first_fit
from poplite.machine.target import Target
from poplite.program import (
    If,
    Program,
    Repeat,
    RepeatWhile,
    Step,
    Switch,
    children_first,
    distinct_steps,
)
from poplite.program.control import runs_in_order
from poplite.report.memory import Held, Steps as Stretches
from poplite.report.per_tile import PerTile
from poplite.view import storages

if TYPE_CHECKING:
    from poplite.graph.compute_sets.compute_set import ComputeSet
    from poplite.graph.compute_sets.edge_table import EdgeTable
    from poplite.graph.graph import Graph


_IDLE = Flow(0, 0)
"""The effect of a program that does nothing."""


@frozen(eq=False)
class Lifetimes:
    """When variables are needed.

    Attributes:
        steps: the steps of all programs, each with the name of its program; a step that occurs in
            several places of a program is listed once.
        always: the reasons why variables are always live, by variable number.
        live: the steps in which the other variables are live, ascending, by variable number.
    """

    steps: Sequence[tuple[str, Step]]
    always: Mapping[int, str]
    live: Mapping[int, Stretches]


def lifetimes(
    graph: Graph,
    programs: Mapping[str, Program],
    edges_of: Callable[[ComputeSet], EdgeTable],
) -> Lifetimes:
    """Find when the variables of a graph are needed; all of them have tiles.

    >>> import poplite as pl
    >>> from poplite.graph.compute_sets.edge_table import edge_table
    >>> graph = pl.Graph()
    >>> a, b, c, d = (graph.add_variable(pl.INT, (4,), name, mapping=0) for name in "abcd")
    >>> found = lifetimes(graph, {"main": pl.Sequence(pl.Copy(a, b), pl.Copy(b, c), pl.Copy(c, d))},
    ...                   edge_table)
    >>> found.always
    {0: 'read before it is written', 3: 'a result that no step reads'}
    >>> found.live
    {1: ((0, 1),), 2: ((1, 2),)}
    """
    every = [(name, step) for name, program in programs.items() for step in distinct_steps(program)]
    nodes = {name: list(children_first(program)) for name, program in programs.items()}
    deciding = (node for below in nodes.values() for node in below if node.decided_by is not None)
    leaves = dict.fromkeys(step.program for _, step in every)
    variables = graph.variables
    pieces = AccessedPieces(variables, leaves, dict.fromkeys(deciding), edges_of)
    reached = {name: _reached(below) for name, below in nodes.items()}
    steps = [(name, step) for name, step in every if id(step.program) in reached[name]]
    lasting = _lasting(graph)
    why, live = dict(lasting), dict[int, Stretches]()
    for block in pieces.blocks():
        flows: dict[int, Flow] = {}
        for node in chain.from_iterable(nodes.values()):
            if id(node) not in flows:
                flows[id(node)] = _flow(node, flows, block)
        after = {name: _after(below, flows, block) for name, below in nodes.items()}
        exposed = reduce(or_, [flows[id(program)].reads for program in programs.values()], 0)
        then = [after[name][id(step.program)] for name, step in steps]
        found = _always(block, exposed, steps, then, lasting)
        why |= found
        live |= _live(block, found, steps, then)
    always = {
        number: why.get(number, "used by no program")
        for number in range(len(variables))
        if number not in live
    }
    return Lifetimes(steps, always, live)


def _flow(node: Program, flows: Mapping[int, Flow], block: AccessBlock) -> Flow:
    """Return a program's effect on the live pieces, from the effects of its children."""
    if not node.children:
        return block.access.get(node, _IDLE)
    if isinstance(node, Repeat) and node.count == 0:
        return _IDLE
    below = [flows[id(child)] for child in node.children]
    if isinstance(node, RepeatWhile):
        test, body = Flow(below[0].before(block.of_scalar(node)), below[0].ends), below[1]
        return Flow(test.before(body.reads), test.ends)
    if isinstance(node, If | Switch):
        reads = reduce(or_, [each.reads for each in below], block.of_scalar(node))
        return Flow(reads, reduce(and_, [each.ends for each in below] or [0]))
    reads = ends = 0
    for each in reversed(below):
        if each is not _IDLE:
            reads, ends = each.before(reads), ends | each.ends
    return Flow(reads, ends) if reads or ends else _IDLE


def _reached(nodes: Sequence[Program]) -> set[int]:
    """Return the `id`s of the sub-trees that may run; the last of `nodes` is the whole program."""
    reached = {id(nodes[-1])}
    for node in reversed(nodes):
        if id(node) in reached and not (isinstance(node, Repeat) and node.count == 0):
            reached.update([id(child) for child in node.children])
    return reached


def _after(
    nodes: Sequence[Program], flows: Mapping[int, Flow], block: AccessBlock
) -> Mapping[int, int]:
    """Return, by `id`, the pieces that are live after any occurrence of each sub-tree."""
    after = {id(nodes[-1]): 0}
    for node in reversed(nodes):
        if not node.children or id(node) not in after:
            continue
        if isinstance(node, Repeat) and node.count == 0:
            continue  # its children never run
        then = after[id(node)]
        if isinstance(node, RepeatWhile):
            test, body = (flows[id(child)] for child in node.children)
            scalar = block.of_scalar(node)
            again = test.before(scalar | then | body.reads)
            _add(after, node.body, again)
            _add(after, node.condition, scalar | then | body.before(again))
        elif isinstance(node, If | Switch):
            for child in node.children:
                _add(after, child, then)
        else:
            if not runs_in_order(node) and not (isinstance(node, Repeat) and node.count == 1):
                then |= flows[id(node.children[0])].reads
            for child in reversed(node.children):
                _add(after, child, then)
                flow = flows[id(child)]
                if flow is not _IDLE:
                    then = flow.before(then)
    return after


def _add(after: dict[int, int], node: Program, then: int) -> None:
    known = after.get(id(node))
    after[id(node)] = then if not known else known | then


def _lasting(graph: Graph) -> dict[int, str]:
    """Return the variables that are always live independently of programs, and why."""
    why: dict[int, str] = {}
    handles = (*graph.host_reads.values(), *graph.host_writes.values())
    by_host = {s.id for handle in handles for s in storages(handle.tensor.view)}
    for number, variable in enumerate(graph.variables):
        if variable.constant:
            why[number] = "constant"
        elif number in by_host:
            why[number] = "has a host handle"
        elif variable.initial_value is not None or variable.replica_values:
            why[number] = "has initial values"
    return why


def _always(
    block: AccessBlock,
    exposed: int,
    steps: Sequence[tuple[str, Step]],
    after: Sequence[int],
    lasting: Mapping[int, str],
) -> dict[int, str]:
    """Return the variables of a block that are always live, and why.

    `exposed` are pieces that a program may read before it writes them, `after` the pieces that are
    live after each step, and `lasting` the variables that are always live independently of
    programs.
    """
    used, unread = exposed, set[int]()
    for (_, step), then in zip(steps, after, strict=True):
        access = block.access.get(step.program)
        if access is not None:
            used |= access.touched
            if access.writes & ~then and not access.is_undefining:
                written = block.variables_of(access.writes)
                unread.update([n for n in written if not then & block.of_variable(n)])
    read, touched = (set(block.variables_of(bits)) for bits in (exposed, used))
    why: dict[int, str] = {}
    for number in block.variables:
        if number in lasting:
            why[number] = lasting[number]
        elif number in read:
            why[number] = "read before it is written"
        elif number not in touched:
            why[number] = "used by no program"
        elif number in unread:
            why[number] = "a result that no step reads"
    return why


def _live(
    block: AccessBlock,
    always: Iterable[int],
    steps: Sequence[tuple[str, Step]],
    after: Sequence[int],
) -> dict[int, Stretches]:
    """Return the live steps, ascending, of the variables of a block that are not `always` live.

    `after` are the pieces that are live after each step.
    """
    kept = set(always)
    asked = reduce(or_, [block.of_variable(n) for n in block.variables if n not in kept], 0)
    pieces: dict[int, int] = {}  # live pieces of each variable
    since: dict[int, int] = {}
    spans: dict[int, list[tuple[int, int]]] = {}
    before = 0
    for count, live in enumerate([*after, 0]):
        access = block.access.get(steps[count][1].program) if count < len(steps) else None
        live = (live if access is None else live | access.touched) & asked
        if live == before:
            continue
        changed = live ^ before
        for place in places(changed & live):
            number = block.variable[place]
            pieces[number] = pieces.get(number, 0) + 1
            since.setdefault(number, count)
        for place in places(changed & before):
            number = block.variable[place]
            pieces[number] -= 1
            if not pieces[number]:
                spans.setdefault(number, []).append((since.pop(number), count - 1))
        before = live
    return {number: tuple(found) for number, found in sorted(spans.items())}


# -- addresses -------------------------------------------------------------------------------------
# Each thing on a tile has an address; tiles with equal contents have equal addresses::
#
#     held     on tiles 0 1 2 3      kinds of tiles      addresses on tile 0 and on tile 2
#     code        64 64 64 64        0 0 1 1              0    0
#     weights     80 80  0  0                            64
#     out          0  0 16 16                                 64
# Each thing gets the lowest address at which it fits. Things that are always live come first,
# consecutively; things that are needed only in some steps share the remaining memory. Things that
# are needed in the same step never overlap::
#
#     step 0   |always|  a  |        |
#     step 1   |always|  a  |   b    |
#     step 2   |always| c   |   b    |        c gets the address of a
# Things that need interleaved memory are in its region; others may follow them in that region.


class Placing:
    """Things to place, independently of their sizes on a tile.

    `aligns` are alignments of addresses in bytes; `steps` are the steps in which each thing is
    needed, or None if it is always needed. Interleaved memory starts at the address `border`;
    `limit` is the size of a tile's memory in bytes.

    Attributes:
        order: int64[things], the numbers of the things in the order in which they are placed.

    >>> steps = [((0, 1),), None, ((2, 2),)]
    >>> placing = Placing([8, 8, 8], [False] * 3, steps, 1024, 4096)
    >>> placing.order.tolist()
    [1, 0, 2]
    >>> [found.tolist() for found in placing.addresses(np.array([20, 100, 50]), [3])]
    [[0, 24, 24], [124]]
    """

    def __init__(
        self,
        aligns: Sequence[int],
        interleaved: Sequence[bool],
        steps: Sequence[Stretches | None],
        border: int,
        limit: int,
    ) -> None:
        first = np.array([ALWAYS if each is None else each[0][0] for each in steps], np.int64)
        last = np.array([ALWAYS if each is None else each[-1][1] for each in steps], np.int64)
        upper = np.array(interleaved, np.int64)
        # Always-live things come first; interleaved ones among them stay in their region.
        self.order: Int64 = np.lexsort((1 - upper, first))
        columns = np.array(aligns, np.int64), upper, first, last
        self._columns = tuple(each[self.order] for each in columns)
        self._border, self._limit = border, limit

    def addresses(
        self, sizes: Int64, counts: Sequence[int], places: Int64 | None = None
    ) -> tuple[Int64, Int64]:
        """Return addresses of things, int64[n], and bytes in use including gaps, int64[tiles].

        `sizes` is int64[n], bytes of the things on the first tile, then on the next one, and so on;
        `counts` has the number of things on each tile. `places`, int64[n], identifies the things
        by their positions in `order`, ascending on each tile; by default there is one tile with all
        things.
        """
        found, used, stop = np.zeros(len(sizes), np.int64), [], 0
        # The time for a tile is at most quadratic in its number of things.
        work = isqrt(sum([count * count for count in counts]))
        active = np.empty(max(counts, default=0), np.int64)
        for count in counts:
            here = slice(stop, stop := stop + count)
            things = slice(None) if places is None else places[here]
            own = sizes[here], *(column[things] for column in self._columns)
            room = count, self._border, self._limit
            used.append(run_kernel(first_fit, work, *own, *room, active, found[here]))
        return found, np.array(used, np.int64)


def alike(spreads: Sequence[PerTile], num_tiles: int) -> tuple[Int64, Int64]:
    """Group the tiles that have equal numbers in every spread.

    Returns one tile of each kind, and int64[num_tiles], the kind of each tile.

    >>> halves, last = PerTile.of(np.array([4, 4, 4, 4])), PerTile.of(np.array([0, 0, 0, 8]))
    >>> [found.tolist() for found in alike([halves, last], 4)]
    [[0, 3], [0, 0, 0, 1]]
    """
    kinds, sizes = np.zeros(num_tiles, np.int64), [num_tiles]
    seen: set[object] = set()
    for spread in spreads:
        if len(sizes) == num_tiles:
            break  # no two tiles are equal
        some = few(spread)
        if some is not None:
            _part_few(kinds, sizes, some)
            continue
        regular = isinstance(spread.tiles, Steps) and isinstance(spread.values, Steps)
        key = (spread.tiles, spread.values) if regular else spread.array().tobytes()
        if key in seen:
            continue
        seen.add(key)
        _, number = np.unique(spread.array(), return_inverse=True)
        _, kinds = np.unique(kinds * (int(number.max()) + 1) + number, return_inverse=True)
        sizes = np.bincount(kinds).tolist()
    _, tiles, kinds = np.unique(kinds, return_index=True, return_inverse=True)
    return tiles, kinds


def _part_few(kinds: Int64, sizes: list[int], few: Sequence[tuple[int, int]]) -> None:
    """Split kinds of tiles, and their sizes, by the numbers of a few tiles."""
    alike: dict[tuple[int, int], list[int]] = {}
    for tile, value in few:
        alike.setdefault((int(kinds[tile]), value), []).append(tile)
    for (kind, _), tiles in alike.items():
        if len(tiles) < sizes[kind]:
            kinds[tiles] = len(sizes)
            sizes[kind] -= len(tiles)
            sizes.append(len(tiles))


class TileAddresses(NamedTuple):
    """The address of each thing, on one tile of each kind.

    Attributes:
        kinds: int64[tiles], the kind of each tile.
        kind: int64[n], the kind of the tile that a thing is on; ascending.
        thing: int64[n], its position among all things.
        address: int64[n], its first address.
        used: int64[kinds], bytes in use on a tile, including gaps.
    """

    kinds: Int64
    kind: Int64
    thing: Int64
    address: Int64
    used: Int64

    def of_each(self, num_things: int) -> tuple[PerTile, ...]:
        """Return the address of each thing on each tile; 0 if it is absent."""
        order = np.argsort(self.thing, kind="stable")
        kind, address = self.kind[order], self.address[order]
        ends = np.cumsum(np.bincount(self.thing, minlength=num_things)).tolist()
        found, of_kind = [], np.zeros(len(self.used), np.int64)
        for begin, end in zip([0, *ends], ends, strict=False):
            there = kind[begin:end]
            of_kind[there] = address[begin:end]
            found.append(PerTile.of(of_kind[self.kinds]))
            of_kind[there] = 0
        return tuple(found)


def addresses_of(held: Sequence[Held], target: Target) -> tuple[PerTile, ...]:
    """Return the address of each thing on each tile; 0 if it is absent."""
    return placed(held, target).of_each(len(held))


def placed(held: Sequence[Held], target: Target) -> TileAddresses:
    """Place all things in the memory of the tiles."""
    sizes = [each.bytes for each in held]
    number = defaultdict[int, int]()  # by the id of the object, since many things share one
    number.default_factory = number.__len__
    which = np.fromiter(map(number.__getitem__, map(id, sizes)), np.int64, len(sizes))
    firsts = np.flatnonzero(np.diff(np.maximum.accumulate(which), prepend=-1))
    several = [sizes[first] for first in firsts.tolist()]
    tiles, kinds = alike(several, target.tiles)
    row = np.full(target.tiles, -1)
    row[tiles] = np.arange(len(tiles))
    placing = placing_of(held, target)
    on, place, size = _listed(several, which[placing.order], row)
    counts = np.bincount(on, minlength=len(tiles)).tolist()
    addresses, used = placing.addresses(size, counts, place)
    return TileAddresses(kinds, on, placing.order[place], addresses, used)


def placing_of(held: Sequence[Held], target: Target) -> Placing:
    """Return the placing of things in the memory of a tile."""
    border, limit = int(target.cost("interleaved_begin_bytes")), target.tile_memory_bytes
    if border >= limit:
        border = 0  # for a model of a small tile, all of whose memory is of one kind
    return Placing(
        [each.align for each in held],
        [each.interleaved for each in held],
        [each.steps for each in held],
        border,
        limit,
    )


def _listed(spreads: Sequence[PerTile], which: Int64, row: Int64) -> tuple[Int64, Int64, Int64]:
    """Return the numbers of many things on the tiles that have a row.

    `which`, int64[things], is the spread of each thing. Returns, for each nonzero number, its row,
    its thing and its value, sorted by row, then by thing.
    """
    found_few: list[int] = []  # row, number and value of each, concatenated
    many = [np.zeros((3, 0), np.int64)]
    row_of = row.tolist()
    for number, spread in enumerate(spreads):
        some = few(spread)
        if some is not None:
            for tile, value in some:
                if row_of[tile] >= 0:
                    found_few += (row_of[tile], number, value)
        else:
            on = row[spread.tiles.array()]
            chosen = np.flatnonzero(on >= 0)
            values = spread.values.array()[chosen]
            many.append(np.stack([on[chosen], np.full(len(chosen), number), values]))
    found = np.concatenate([np.array(found_few, np.int64).reshape(-1, 3).T, *many], axis=1)
    found = found[:, sorted_order(found[1])]
    end = np.cumsum(np.bincount(found[1], minlength=len(spreads)))
    count = np.diff(end, prepend=0)[which]
    thing = np.repeat(np.arange(len(which)), count)
    of_thing = np.repeat(end[which] - np.cumsum(count), count) + np.arange(len(thing))
    on, value = found[0][of_thing], found[2][of_thing]
    order = sorted_order(on)
    return on[order], thing[order], value[order]
