"""Virtual graphs: graphs over some tiles of another graph, with their own tile numbers from 0.

    graph = Graph(Target(ipus=2))
    first = graph.create_virtual_graph(0, 1472)              the tiles of one IPU
    second = graph.create_virtual_graph(1472, 2944)
    y = second.add_variable(FLOAT, (n,), mapping="linear")   over the second IPU

A virtual graph shares the parts of the top-level graph, and has its own tile numbers. Variables,
compute sets and functions made with it belong to the top-level graph: `y.graph is graph`. Messages,
vertices and pictures use the tile numbers of the top-level graph.

Source: Poplar API reference, "Graph::createVirtualGraph".
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, SupportsIndex

import numpy as np

from poplite.errors import InvalidTileMapping
from poplite.graph.graph import Graph
from poplite.graph.tile_mapping import NearTiles, SomeTiles, ranges
from poplite.text import amount, clipped, integer_or_none
from poplite.types import unmasked

if TYPE_CHECKING:
    from poplite.arrays.intervals import Int64
    from poplite.graph.tensor.tensor import Tensor
    from poplite.machine.target import Target


class VirtualGraph(Graph):
    """A graph over some tiles of another, created by `graph.create_virtual_graph`.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=8))
    >>> high = graph.create_virtual_graph(4, 8)
    >>> x = high.add_variable(pl.FLOAT, (4,), "x", mapping=1)
    >>> graph.tile_mapping(x).tiles.tolist(), high.tile_mapping(x).tiles.tolist()
    ([5], [1])
    """

    def __init__(self, top: Graph, tiles: Int64) -> None:
        self._top, self._parts, self.space = top, top._parts, top.space
        self._tiles = SomeTiles(tiles, top, top.target.tiles)
        self.target = replace(top.target, tiles=len(tiles), ipus=_ipus(top.target, tiles))
        self.replication_factor = top.replication_factor

    @property
    def top_level_graph(self) -> Graph:
        """The graph over all tiles, to which variables, compute sets and functions belong."""
        return self._top

    def __repr__(self) -> str:
        return repr(self._tiles)


class WorkingGraph(VirtualGraph):
    """A virtual graph prepared for operations: all that they access is mapped to its tiles.

    Attributes:
        virtual: the virtual graph, whose tile numbers the user's mappings use.
    """

    def __init__(self, given: VirtualGraph) -> None:
        assert isinstance(given._tiles, SomeTiles)
        self._top, self._parts, self.space = given._top, given._parts, given.space
        self._tiles, self.virtual = NearTiles(given._tiles), given
        self.target, self.replication_factor = given.target, given.replication_factor


def working_graph(graph: Graph) -> Graph:
    """Return the graph that operations use; always the same object for the same list of tiles."""
    if not isinstance(graph, VirtualGraph) or isinstance(graph, WorkingGraph):
        return graph
    assert isinstance(graph._tiles, SomeTiles)
    known, key = graph._parts.working, graph._tiles.tiles.tobytes()
    if key not in known:
        known[key] = WorkingGraph(graph)
    return known[key]


def home_graph(graph: Graph, tensors: Iterable[Tensor]) -> Graph:
    """Return the virtual graph used to create these tensors, or the graph itself."""
    home = graph.space.home_of(tensor.view for tensor in tensors)
    return graph if home is None else VirtualGraph(graph.top_level_graph, home.tiles)


def mapping_graph(graph: Graph) -> Graph:
    """Return the graph whose tile numbers the user's mappings use, for a graph for operations."""
    return graph.virtual if isinstance(graph, WorkingGraph) else graph


def virtual_graph(parent: Graph, tiles: object, upper: object) -> VirtualGraph:
    """Return a graph over some tiles of another; see `Graph.create_virtual_graph`."""
    if isinstance(tiles, SupportsIndex) and not isinstance(tiles, np.ndarray):
        low, high = (0, tiles) if upper is None else (tiles, upper)
        own = np.arange(_bound(parent, low), _bound(parent, high))
        asked = f"tiles {low!r} up to {high!r}"
    else:
        own, asked = _listed(parent, tiles, upper), "tiles []"
    if not len(own):
        raise _refused(parent, f"{asked} selects no tile; at least 1 is needed")
    return VirtualGraph(parent.top_level_graph, parent._tiles.to_top_level(own))


def _bound(parent: Graph, value: object) -> int:
    number = integer_or_none(value)
    if number is None:
        raise _refused(parent, f"{clipped(value)} is not a tile number")
    if not 0 <= number <= parent.target.tiles:
        tiles = amount(parent.target.tiles, "tile")
        raise _refused(parent, f"tiles up to {number}, but the graph has {tiles}")
    return number


def _listed(parent: Graph, tiles: object, upper: object) -> Int64:
    """Return a list of tiles after checking it."""
    try:
        own = np.asarray(unmasked(tiles, "create_virtual_graph"))
    except ValueError:  # lists of different lengths
        own = np.empty((0, 0))
    if own.ndim != 1 or (len(own) and own.dtype.kind not in "iu") or upper is not None:
        also = "" if upper is None else f" with upper={clipped(upper)}"
        raise _refused(parent, f"{clipped(tiles, 60)}{also} is not a list of tile numbers")
    wrong = own[(own < 0) | (own >= parent.target.tiles)]
    if len(wrong):
        has = amount(parent.target.tiles, "tile")
        raise _refused(parent, f"tile {wrong[0]}, but the graph has {has}")
    numbers, times = np.unique(own, return_counts=True)
    if len(numbers) < len(own):
        twice = int(numbers[times > 1][0])
        at_ = np.flatnonzero(own == twice)
        raise _refused(parent, f"tile {twice} is listed as tile {at_[0]} and as tile {at_[1]}")
    return own.astype(np.int64)


def _refused(parent: Graph, what: str) -> InvalidTileMapping:
    return InvalidTileMapping(
        f"create_virtual_graph: {what}",
        found=f"tiles are {ranges(range(parent.target.tiles))} in {parent!r}",
        fix="create_virtual_graph(4) for tiles 0-3, (4, 8) for tiles 4-7, or ([0, 2, 5])",
    )


def _ipus(target: Target, tiles: Int64) -> int:
    """Return the number of IPUs with these tiles; 1 unless each has one run of equal length."""
    ipu = tiles // target.tiles_per_ipu
    ends = np.append(np.flatnonzero(np.diff(ipu)) + 1, len(tiles))
    equal = (np.diff(ends, prepend=0) == ends[0]).all()
    return len(ends) if equal and len(np.unique(ipu)) == len(ends) else 1
