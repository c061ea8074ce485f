"""Virtual graphs: a graph over some tiles of another one, which it counts from 0.

    graph = Graph(Target(ipus=2))
    first = graph.create_virtual_graph(0, 1472)              the tiles of one IPU
    second = graph.create_virtual_graph(1472, 2944)
    y = second.add_variable(FLOAT, (n,), mapping="linear")   over the second IPU

A virtual graph holds nothing but its tile numbers.  Variables, compute sets and functions made
through it are the top-level graph's, whichever of the two made them: `y.graph is graph`.  What
messages, vertices and pictures call a tile is the number of the top-level graph.

Source: Poplar API reference, "Graph::createVirtualGraph".
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, SupportsIndex

import numpy as np

from poplite.errors import InvalidTileMapping
from poplite.graph.graph import Graph
from poplite.graph.mapping.tile_mapping import NO_TILE, TileMapping, ranges
from poplite.source import here
from poplite.text import clipped, counted, integer_or_none

if TYPE_CHECKING:
    from poplite.arrays.intervals import Int64
    from poplite.graph.tensor.tensor import Tensor
    from poplite.machine.target import Target
    from poplite.source import SourceLocation


class VirtualGraph(Graph):
    """A graph over some tiles of another; made by `graph.create_virtual_graph`.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=8))
    >>> high = graph.create_virtual_graph(4, 8)
    >>> x = high.add_variable(pl.FLOAT, (4,), "x", mapping=1)
    >>> graph.tile_mapping(x).tiles.tolist(), high.tile_mapping(x).tiles.tolist()
    ([5], [1])
    """

    _top: Graph
    _tiles: Int64
    """The top-level graph's number of each tile."""
    _numbers: Int64
    """The number of each tile of the top-level graph, or `NO_TILE`; a last entry for `NO_TILE`."""

    def __init__(self, top: Graph, tiles: Int64) -> None:
        numbers = np.full(top.target.tiles + 1, NO_TILE)
        numbers[tiles] = np.arange(len(tiles))
        target = replace(top.target, tiles=len(tiles), ipus=_ipus(top.target, tiles))
        vars(self).update(_top=top, _tiles=tiles, _numbers=numbers, target=target)

    if not TYPE_CHECKING:
        # All but its tiles is the top-level graph's: names, variables, compute sets, streams.

        def __getattr__(self, name):
            if name == "_top":  # not there yet, as in a copy that is being made
                raise AttributeError(name)
            return getattr(self._top, name)

        def __setattr__(self, name, value):
            setattr(self._top, name, value)

    @property
    def top_level_graph(self) -> Graph:
        """The graph over all tiles, which variables, compute sets and functions belong to."""
        return self._top

    def tile_mapping(self, tensor: Tensor, require_complete: bool = True) -> TileMapping:
        """Return where the elements of a tensor live, by this graph's tiles.

        Args:
            tensor: whole or a view. An element that occurs twice in the view is listed twice.
            require_complete: refuse a tensor that has elements on no tile of this graph;
                without it, they count as unmapped.

        Raises:
            InvalidTileMapping: when elements are on no tile of this graph and
                `require_complete` is set.

        >>> import poplite as pl
        >>> graph = pl.Graph(pl.Target(tiles=4))
        >>> x = graph.add_variable(pl.FLOAT, (8,), "x", mapping="linear")
        >>> graph.create_virtual_graph([3, 0]).tile_mapping(x, require_complete=False)
        <TileMapping 8 elements, 2 tiles, max 2 min 2, 2 intervals, 4 unmapped>
        """
        everywhere = self.top_level_graph.tile_mapping(tensor, require_complete)
        mapping = self._renumbered(everywhere)
        if require_complete and not mapping.is_complete:
            first = mapping.unmapped[0]
            others = everywhere.tiles[self._own_tiles(everywhere.tiles) == NO_TILE]
            raise InvalidTileMapping(
                f"'{tensor.name}': {mapping.num_unmapped:,} of "
                f"{counted(mapping.num_elements, 'element')}, the first [{first.begin}, "
                f"{first.end}), are on no tile of this virtual graph",
                at=here(),
                found=f"top-level graph: on tile{'s' * (len(np.unique(others)) > 1)} "
                f"{ranges(others)}; {self!r}",
                fix="graph.top_level_graph.tile_mapping(tensor), or require_complete=False",
            )
        return mapping

    def variable_tile_mapping(self, tensor: Tensor) -> TileMapping:
        """Return where all elements of the variable under a view live, by this graph's tiles.

        Args:
            tensor: a view of one variable.

        Returns:
            For each tile of this graph, intervals over the variable's elements; elements on
            other tiles are in none.

        Raises:
            TensorCreationError: when the tensor views no variable, or several.
        """
        return self._renumbered(self.top_level_graph.variable_tile_mapping(tensor))

    def _renumbered(self, mapping: TileMapping) -> TileMapping:
        return mapping.renumbered(self._own_tiles(np.arange(len(mapping))), self.target.tiles)

    def _tile(self, tile: object, what: str, at: SourceLocation) -> int:
        count = self.target.tiles
        number = integer_or_none(tile)
        if number is not None and number >= count:
            raise InvalidTileMapping(
                f"{what}: tile {number}, but the virtual graph has {counted(count, 'tile')}",
                at=at,
                found=f"it counts from 0: {self!r}",
                fix=f"virtual.convert_top_level_graph_tile_to_tile({number}), if that is a "
                "number of the top-level graph",
            )
        return int(self._tiles[super()._tile(tile, what, at)])

    def _top_level_tiles(self, tiles: Int64) -> Int64:
        return self._tiles[tiles]

    def _own_tiles(self, tiles: Int64) -> Int64:
        return self._numbers[tiles]

    def __repr__(self) -> str:
        rising = (np.diff(self._tiles) > 0).all()
        names = ranges(self._tiles) if rising else clipped(self._tiles.tolist(), 40).strip("[]")
        return f"<VirtualGraph of tiles {names} of {self._top!r}>"

    # C++ spelling

    getTileMapping = tile_mapping
    getVariableTileMapping = variable_tile_mapping


def virtual_graph(parent: Graph, tiles: object, upper: object, at: SourceLocation) -> VirtualGraph:
    """Return a graph over some tiles of another.

    Args:
        parent: the graph, itself perhaps virtual.
        tiles: how many, from tile 0; with `upper` the first; or a list of tiles.
        upper: one past the last tile.
        at: the user's line.

    Raises:
        InvalidTileMapping: for no tiles, a tile twice, or one that the parent does not have.
    """
    if isinstance(tiles, SupportsIndex) and not isinstance(tiles, np.ndarray):
        low, high = (0, tiles) if upper is None else (tiles, upper)
        own = np.arange(_bound(parent, low, at), _bound(parent, high, at))
        asked = f"tiles {low!r} up to {high!r}"
    else:
        own, asked = _listed(parent, tiles, upper, at), "tiles []"
    if not len(own):
        raise _refused(parent, f"{asked} are none, but at least 1 is needed", at)
    return VirtualGraph(parent.top_level_graph, parent._top_level_tiles(own))


def _bound(parent: Graph, value: object, at: SourceLocation) -> int:
    number = integer_or_none(value)
    if number is None:
        raise _refused(parent, f"{clipped(value)} is no tile number", at)
    if not 0 <= number <= parent.target.tiles:
        tiles = counted(parent.target.tiles, "tile")
        raise _refused(parent, f"tiles up to {number}, but the graph has {tiles}", at)
    return number


def _listed(parent: Graph, tiles: object, upper: object, at: SourceLocation) -> Int64:
    """Return a list of tiles after checking it."""
    try:
        own = np.asarray(tiles)
    except ValueError:  # lists of different lengths
        own = np.empty((0, 0))
    if own.ndim != 1 or (len(own) and own.dtype.kind not in "iu") or upper is not None:
        beside = "" if upper is None else f" with upper={clipped(upper)}"
        raise _refused(parent, f"{clipped(tiles, 60)}{beside} is no list of tile numbers", at)
    wrong = own[(own < 0) | (own >= parent.target.tiles)]
    if len(wrong):
        has = counted(parent.target.tiles, "tile")
        raise _refused(parent, f"tile {wrong[0]}, but the graph has {has}", at)
    numbers, times = np.unique(own, return_counts=True)
    if len(numbers) < len(own):
        twice = int(numbers[times > 1][0])
        at_ = np.flatnonzero(own == twice)
        raise _refused(parent, f"tile {twice} is listed as tile {at_[0]} and as tile {at_[1]}", at)
    return own.astype(np.int64)


def _refused(parent: Graph, what: str, at: SourceLocation) -> InvalidTileMapping:
    return InvalidTileMapping(
        f"create_virtual_graph: {what}",
        at=at,
        found=f"tiles are {ranges(range(parent.target.tiles))} of {parent!r}",
        fix="create_virtual_graph(4) for tiles 0-3, (4, 8) for tiles 4-7, or ([0, 2, 5])",
    )


def _ipus(target: Target, tiles: Int64) -> int:
    """Return how many IPUs tiles are on; 1 unless each has as many, one IPU after the other."""
    ipu = tiles // target.tiles_per_ipu
    ends = np.append(np.flatnonzero(np.diff(ipu)) + 1, len(tiles))
    alike = (np.diff(ends, prepend=0) == ends[0]).all()
    return len(ends) if alike and len(np.unique(ipu)) == len(ends) else 1
