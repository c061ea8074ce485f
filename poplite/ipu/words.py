"""What a graph asks of the memory of a tile that it does not do, or does with a copy.

Vertices of one tile run at once, and each store changes a word of 4 bytes. Where two of them write
elements of 1 or 2 bytes side by side, they may share a word::

    h   HALF   | 0 1 | 2 3 | 4 5 |        vertex 0 writes h[0:3], vertex 1 writes h[3:6]:
                       ^                   elements 2 and 3 are one word

Words are counted from where the part of a variable on the tile begins.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.graph.compute_sets.compute_set import ComputeSet
from poplite.graph.compute_sets.edge_table import EdgeTable, FieldEdges, edge_table
from poplite.graph.graph import Graph
from poplite.graph.storage.variable import Variable
from poplite.graph.tensor.text import elements
from poplite.ipu.emulation import WORD
from poplite.ipu.findings import Finding
from poplite.text import amount


class _Places(NamedTuple):
    """Consecutive elements of edges: where each run begins and ends, its vertex and its tile."""

    begin: Int64
    end: Int64
    vertex: Int64
    tile: Int64


def in_memory(graph: Graph, compute_set: ComputeSet) -> Iterator[Finding]:
    """Yield what the vertices of a compute set ask of the memory of their tiles.

    All of them have a tile and all their fields are connected.
    """
    table = edge_table(compute_set)
    tiles = np.zeros(len(compute_set.vertices), np.int64)
    for family in table.families:
        tiles[family.numbers.array()] = family.tiles(graph.target.tiles).array()
    yield from _shared_words(graph, compute_set, table, tiles)
    yield from _misaligned(graph, compute_set, table, tiles)
    if all(variable.mapping.is_complete for variable in graph.variables):
        yield from _rearranged(graph, compute_set, table)


def _places(field: FieldEdges, tiles: Int64) -> _Places:
    runs = field.runs
    vertex = field.vertex()[runs.edge()]
    return _Places(runs.begin, runs.begin + runs.size, vertex, tiles[vertex])


def _shared_words(
    graph: Graph, compute_set: ComputeSet, table: EdgeTable, tiles: Int64
) -> Iterator[Finding]:
    small = [f for f in table.fields if f.field.writes and f.field.element.size_bytes < WORD]
    if not small:
        return
    columns = zip(*(_places(field, tiles) for field in small), strict=True)
    every = _Places(*(np.concatenate(column) for column in columns))
    order = np.argsort(every.begin, kind="stable")
    begin, end, vertex, tile = (column[order] for column in every)
    near = (begin[1:] - end[:-1] < WORD) & (vertex[1:] != vertex[:-1]) & (tile[1:] == tile[:-1])
    pairs = [
        (int(k), variable)
        for k in np.flatnonzero(near)
        for variable in [_variable_of(graph, int(end[k]) - 1)]
        if _one_word(variable, int(end[k]) - 1, int(begin[k + 1]), int(tile[k]))
    ]
    if not pairs:
        return
    k, variable = pairs[0]
    first, other = (compute_set.vertices[int(vertex[each])] for each in (k, k + 1))
    yield Finding(
        "sub-word store",
        f"compute set '{compute_set.name}'",
        f"{first} and {other} write parts of one word of {WORD} bytes on tile {tile[k]}"
        f" ({amount(len(pairs), 'pair')} of vertices)",
        first.location,
        f"{elements(graph.variables, int(end[k]) - 1, int(begin[k + 1]) + 1)}, elements of "
        f"{amount(variable.element_type.size_bytes, 'byte')}",
        f"give each vertex a multiple of {WORD // variable.element_type.size_bytes} elements: "
        f"a grain of {WORD // variable.element_type.size_bytes} where they are cut",
    )


def _variable_of(graph: Graph, address: int) -> Variable:
    variables = graph.variables
    low, high = 0, len(variables)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if variables[middle].base <= address else (low, middle)
    return variables[low]


def _one_word(variable: Variable, last: int, following: int, tile: int) -> bool:
    """Return whether two elements lie in one word of a tile."""
    if not variable.base <= following < variable.base + variable.num_elements:
        return False
    size, origin = variable.element_type.size_bytes, _origin(variable, last)
    one, other = ((address - origin) * size // WORD for address in (last, following))
    return one == other


def _origin(variable: Variable, address: int) -> int:
    """Return the first address of the part of a variable that an element lies in."""
    breaks, _ = variable.mapping.pieces()
    piece = int(np.searchsorted(breaks, address - variable.base, side="right")) - 1
    return variable.base + int(breaks[piece])


def _misaligned(
    graph: Graph, compute_set: ComputeSet, table: EdgeTable, tiles: Int64
) -> Iterator[Finding]:
    for field in table.fields:
        align, size = field.field.layout.min_align, field.field.element.size_bytes
        if align <= size:
            continue
        places = _places(field, tiles)
        for begin, vertex in zip(places.begin.tolist(), places.vertex.tolist(), strict=True):
            offset = (begin - _origin(_variable_of(graph, begin), begin)) * size
            if offset % align:
                owner = compute_set.vertices[vertex]
                yield Finding(
                    "alignment",
                    f"compute set '{compute_set.name}'",
                    f"'{field.field.name}' of {owner} begins {offset} bytes into its part of the "
                    f"tile, and is aligned to {align}: a machine copies its elements first, which "
                    "reports do not count",
                    owner.location,
                    elements(graph.variables, begin, begin + 1),
                    f"cut where a multiple of {align // size} elements ends, or ask for less: "
                    f"min_align={size}",
                )
                break


def _rearranged(graph: Graph, compute_set: ComputeSet, table: EdgeTable) -> Iterator[Finding]:
    """Yield what is copied on its tile before or after the vertices run, as reports count it."""
    from poplite.cost.exchange.phases import KEPT, phases_of_compute_set

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
