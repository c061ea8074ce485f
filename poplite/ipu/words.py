"""What a graph asks of the memory of a tile that it does not do, or does with a copy.

Vertices of one tile run at once, and each store changes a word of 4 bytes. Where two of them write
elements of 1 or 2 bytes side by side, they may share a word::

    h   HALF   | 0 1 | 2 3 | 4 5 |        vertex 0 writes h[0:3], vertex 1 writes h[3:6]:
                       ^                   elements 2 and 3 are one word

Words are counted from where the part of a variable on the tile begins.  What is copied on its tile,
or comes from other tiles, begins a buffer: which edges those are is what the cost model says.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.cost.exchange.locations import locations_of
from poplite.cost.exchange.phases import KEPT, phases_of_compute_set
from poplite.cost.exchange.remote_reads import edge_tiles
from poplite.cost.exchange.rows_to_gather import edges_in_place
from poplite.graph.compute_sets.compute_set import ComputeSet
from poplite.graph.compute_sets.edge_table import EdgeTable, Family, FieldEdges, edge_table
from poplite.graph.graph import Graph
from poplite.graph.storage.variable import Variable
from poplite.graph.tensor.tensor_text import elements
from poplite.ipu.emulation import WORD
from poplite.ipu.findings import Finding
from poplite.text import amount


class _InPlace(NamedTuple):
    """Edges that vertices access where they lie; what is copied, or received, begins a buffer.

    Attributes:
        vertex: int64[n], positions of the vertices.
        tile: int64[n], their tiles.
        owner: int64[n], numbers of the variables.
        begin: int64[n], addresses of the first elements.
        offset: int64[n], bytes from the beginning of the variable's part of the tile.
        end: int64[n], the same of what follows.
    """

    vertex: Int64
    tile: Int64
    owner: Int64
    begin: Int64
    offset: Int64
    end: Int64


def in_memory(graph: Graph, compute_set: ComputeSet) -> Iterator[Finding]:
    """Yield what the vertices of a compute set ask of the memory of their tiles.

    All of them have a tile, all their fields are connected, to elements that have one.
    """
    table = edge_table(compute_set)
    yield from _shared_words(graph, compute_set, table)
    yield from _misaligned(graph, compute_set, table)
    yield from _rearranged(graph, compute_set, table)


def are_mapped(graph: Graph, compute_set: ComputeSet) -> bool:
    """Return whether the variables below the fields of a compute set have tiles."""
    variables = graph.variables
    owners = (graph.space.owners(f.runs.begin) for f in edge_table(compute_set).fields)
    numbers = {number for some in owners for number in np.unique(some).tolist()}
    return all(variables[number].mapping.is_complete for number in numbers)


def _in_place(graph: Graph, table: EdgeTable, family: Family, field: FieldEdges) -> _InPlace:
    tiles, homes = family.tiles(graph.target.tiles), locations_of(graph)
    edge, place = edges_in_place(field, tiles, table.crossings.own.get(field), homes)
    first, begin, _ = field.runs
    begin, tile = begin[first[edge]], edge_tiles(field.edges, tiles)[edge]
    owner, size = graph.space.owners(begin), field.field.element.size_bytes
    for number in np.unique(owner).tolist():
        own = owner == number
        place[own] -= _part_begins(graph.variables[number], graph.target.tiles)[tile[own]]
    offset, length = size * place, size * field.edges.length.array()[edge]
    return _InPlace(field.vertex()[edge], tile, owner, begin, offset, offset + length)


def _part_begins(variable: Variable, num_tiles: int) -> Int64:
    """Return int64[tiles], the place where the part of a variable on each tile begins."""
    breaks, tiles = variable.mapping.pieces()
    held = np.bincount(tiles, np.diff(breaks), num_tiles).astype(np.int64)
    return variable.base + np.cumsum(held) - held


def _shared_words(graph: Graph, compute_set: ComputeSet, table: EdgeTable) -> Iterator[Finding]:
    small = [
        _in_place(graph, table, family, each)
        for family in table.families
        for each in family.fields
        if each.field.writes and each.field.element.size_bytes < WORD and each.edges.num_elements
    ]
    if not small:
        return
    every = _InPlace(*(np.concatenate(column) for column in zip(*small, strict=True)))
    order = np.lexsort((every.offset, every.owner, every.tile))
    vertex, tile, owner, begin, offset, end = (column[order] for column in every)
    is_near = (tile[1:] == tile[:-1]) & (owner[1:] == owner[:-1]) & (vertex[1:] != vertex[:-1])
    pairs = np.flatnonzero(is_near & (offset[1:] // WORD == (end[:-1] - 1) // WORD))
    if not len(pairs):
        return
    k = int(pairs[np.argmin(begin[pairs])])
    variable = graph.variables[int(owner[k])]
    size = variable.element_type.size_bytes
    last = int(begin[k] + (end[k] - offset[k]) // size) - 1
    first, other = (compute_set.vertices[int(vertex[each])] for each in (k, k + 1))
    yield Finding(
        "sub-word store",
        f"compute set '{compute_set.name}'",
        f"{first} and {other} write parts of one word of {WORD} bytes on tile {tile[k]}"
        f" ({amount(len(pairs), 'pair')} of vertices)",
        first.location,
        f"{_two_elements(graph, last, int(begin[k + 1]))}, elements of {amount(size, 'byte')}",
        f"give each vertex a multiple of {WORD // size} elements: "
        f"a grain of {WORD // size} where they are cut",
    )


def _two_elements(graph: Graph, last: int, following: int) -> str:
    """Return elements that lie side by side on their tile, maybe not in their variable."""
    if following == last + 1:
        return elements(graph.variables, last, following + 1)
    each = (elements(graph.variables, address, address + 1) for address in (last, following))
    return " and ".join(each)


def _misaligned(graph: Graph, compute_set: ComputeSet, table: EdgeTable) -> Iterator[Finding]:
    for family in table.families:
        for field in family.fields:
            align, size = field.field.layout.min_align, field.field.element.size_bytes
            if align <= size or not field.edges.num_elements:
                continue
            found = _in_place(graph, table, family, field)
            wrong = np.flatnonzero(found.offset % align)
            if not len(wrong):
                continue
            k = int(wrong[0])
            owner, begin = compute_set.vertices[int(found.vertex[k])], int(found.begin[k])
            yield Finding(
                "alignment",
                f"compute set '{compute_set.name}'",
                f"'{field.field.name}' of {owner} begins {found.offset[k]} bytes into its part of "
                f"the tile, and is aligned to {align}: a machine copies its elements first, which "
                f"reports do not count ({amount(len(wrong), 'edge')} of the field)",
                owner.location,
                elements(graph.variables, begin, begin + 1),
                f"cut where a multiple of {align // size} elements ends, or ask for less: "
                f"min_align={size}",
            )


def _rearranged(graph: Graph, compute_set: ComputeSet, table: EdgeTable) -> Iterator[Finding]:
    """Yield what is copied on its tile before or after the vertices run, as reports count it."""
    for phases, when in zip(
        phases_of_compute_set(graph, compute_set, table), ("before", "after"), strict=True
    ):
        for phase in phases:
            for cause in phase.causes if phase.kind == "copy" else ():
                yield Finding(
                    "copy",
                    f"compute set '{compute_set.name}'",
                    f"{cause.what} {cause.why}: {cause.bytes:,} B are copied on their tiles "
                    f"{when} the vertices run",
                    cause.at or compute_set.location,
                    f"{amount(phase.cycles.most, 'cycle')} of the slowest tile, in which the "
                    f"compute set copies {phase.copied.total:,} B on all tiles",
                    "declare an InOut, or connect other elements than those of its Outputs"
                    if cause.why == KEPT
                    else "connect elements in the order of memory, or lay the tensor out as it is "
                    "read; poplite-viz regions --field draws where they lie",
                )
