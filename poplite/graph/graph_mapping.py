"""The part of a graph between its data and its vertices: tiles, and the order of memory.

    graph.set_tile_mapping(x[2:4], 1)         elements, or a vertex, on a tile
    graph.tile_mapping(x)                     for each tile, intervals of the flattened view
    graph.sorted_contiguous_regions(x.T)      elements grouped as they lie in memory

`poplite.graph` builds compute sets and vertices on top.
Semantics: Poplar API reference, "Graph".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeGuard

import numpy as np
import numpy.typing as npt

from poplite.errors import ElementTypeError, GraphConnectionError, TensorCreationError, warn
from poplite.graph.compute_sets.compute_set import ComputeSet, VertexInstance
from poplite.graph.compute_sets.vertex_block import VertexBlock
from poplite.graph.connect.connect import check_single
from poplite.graph.graph_variables import GraphVariables, MappingLike
from poplite.graph.mapping.remapped import remapped
from poplite.graph.mapping.tile_mapping import TileMapping
from poplite.graph.mapping.user_mapping import unmapped_error
from poplite.graph.tensor.indexing import is_sequence
from poplite.graph.tensor.memory_regions import (
    SortedRegions,
    TileRegions,
    sorted_regions,
    tile_regions,
)
from poplite.graph.tensor.placement import any_mapped, mapping_of, paint_intervals, paint_tensor
from poplite.graph.tensor.rearrange import TensorRearranger, reordered, unbroadcast
from poplite.graph.tensor.tensor import Tensor
from poplite.source import here
from poplite.text import clipped, counted
from poplite.view import Storage, storages


class GraphMapping(GraphVariables):
    """Where the elements of a graph live, and in which order memory holds them.

    Args:
        target: the machine; by default `Target()`.

    Raises:
        InvalidMachineModel: when the target is no `Target`.
    """

    # Tile mapping

    def set_tile_mapping(self, target: Tensor | VertexInstance, mapping: MappingLike) -> None:
        """Put elements of a tensor, or a vertex, on tiles.

        Later calls override earlier ones, element by element.

        Args:
            target: a tensor, whole or a view; or a vertex.
            mapping: a tile number; for a tensor also, for each tile, a list of intervals
                `(begin, end)` over the flattened view. Elements in no interval stay as they
                were.

        Raises:
            InvalidTileMapping: for a tile the graph does not have, an interval beyond the
                view, or an element given to two tiles.

        A `ConstantRemappedWarning` tells of elements of a constant that had another tile.

        >>> import poplite as pl
        >>> graph = pl.Graph(pl.Target(tiles=2))
        >>> x = graph.add_variable("float32", (8,), "x")
        >>> graph.set_tile_mapping(x, 0)
        >>> graph.set_tile_mapping(x[2:4], 1)
        >>> graph.tile_mapping(x)[0]
        [Interval(begin=0, end=2), Interval(begin=4, end=8)]
        """
        if isinstance(target, Tensor):
            space = target.view.space
            if isinstance(space, Storage) and space.constant and any_mapped(target):
                self._remap_constant(target, space, mapping)
                return
            if type(mapping) is int and target.graph is self and 0 <= mapping < self.target.tiles:
                # Nothing can be wrong, so the user's line, slow to find, is not needed. A tensor is
                # never of a virtual graph, which counts tiles otherwise.
                paint_tensor(target, mapping)
                return
        self._map(target, mapping)

    def _remap_constant(self, target: Tensor, space: Storage, mapping: MappingLike) -> None:
        """Put elements of a constant on tiles, and warn when they had others."""
        before = mapping_of(target.graph, target.view)
        self._map(target, mapping)  # which refuses one of another graph
        after, made_at = mapping_of(target.graph, target.view), self.variable_of(space).location
        warning = remapped(target.name, made_at, before, after, here())
        if warning is not None:
            warn(warning)

    def _map(self, target: Tensor | VertexInstance, mapping: MappingLike) -> None:
        at = here()
        if isinstance(target, VertexInstance):
            if target.graph is not self.top_level_graph:
                raise GraphConnectionError(
                    f"{target} belongs to another graph",
                    at=at,
                    fix="use the graph that made the vertex: vertex.graph",
                )
            check_single(target, at)
            target.tile = self._tile(mapping, target.label, at)
            for constant in target.constants:
                paint_tensor(constant, target.tile)
            return
        self._own(target, "set_tile_mapping", at, _MAP_FIRST.get(type(target), _MAP_TENSOR))
        if isinstance(mapping, TileMapping) or _is_list(mapping):
            paint_intervals(self._graph, target, mapping, f"'{target.name}'", at)
        else:
            paint_tensor(target, self._tile(mapping, f"'{target.name}'", at))

    def tile_mapping(self, tensor: Tensor, require_complete: bool = True) -> TileMapping:
        """Return where the elements of a tensor live.

        Args:
            tensor: whole or a view. An element that occurs twice in the view is listed twice.
            require_complete: refuse a tensor that has elements without a tile.

        Returns:
            For each tile of the graph, intervals over the flattened view.

        Raises:
            InvalidTileMapping: when elements have no tile and `require_complete` is set.

        >>> import poplite as pl
        >>> graph = pl.Graph(pl.Target(tiles=4))
        >>> x = graph.add_variable("float32", (8,), "x", mapping="linear")
        >>> graph.tile_mapping(x[1:5])
        <TileMapping 4 elements, 3 tiles, max 2 min 1, 3 intervals>
        """
        at = here()
        self._own(tensor, "tile_mapping", at)
        answer = mapping_of(self._graph, tensor.view)
        if require_complete:
            # Looking at the view costs a pass; a hole in it is one in a variable.
            owners = [self.variable_of(storage) for storage in storages(tensor.view)]
            holes = [variable for variable in owners if not variable.mapping.is_complete]
            if holes and not answer.is_complete:
                line, view = holes[0].location, tensor.shape != owners[0].shape
                raise unmapped_error(tensor.name, answer, self.target.tiles, line, view=view)
        return answer

    def variable_tile_mapping(self, tensor: Tensor) -> TileMapping:
        """Return where all elements of the variable under a view live.

        Args:
            tensor: a view of one variable.

        Returns:
            For each tile of the graph, intervals over the variable's elements; elements
            without a tile are in none.

        Raises:
            TensorCreationError: when the tensor views no variable, or several.

        >>> import poplite as pl
        >>> graph = pl.Graph(pl.Target(tiles=2))
        >>> x = graph.add_variable("float32", (8,), "x", mapping="linear")
        >>> graph.variable_tile_mapping(x[3]) == graph.tile_mapping(x)
        True
        """
        at = here()
        self._own(tensor, "variable_tile_mapping", at)
        owners = storages(tensor.view)
        if len(owners) != 1:
            raise TensorCreationError(
                f"'{tensor.name}' views {counted(len(owners), 'variable')}, "
                "but exactly 1 is needed",
                at=at,
                found=f"shape {tensor.shape}",
                fix="graph.tile_mapping(tensor) answers for any view",
            )
        breaks, tiles = self.variable_of(owners[0]).mapping.pieces()
        return TileMapping(self.target.tiles, tiles, np.diff(breaks))

    # The order of memory

    def sorted_contiguous_regions(
        self,
        tensor: Tensor,
        intervals: Sequence[tuple[int, int]] | npt.NDArray[np.int64] | None = None,
        remove_aliased: bool = False,
        report_aliases: bool = False,
    ) -> SortedRegions:
        """Group elements of a tensor in the order of memory.

        A group is a list of intervals of the flattened tensor that, one after the other, are
        one contiguous range of memory.  Groups are sorted by address; of equal addresses, what
        comes first in the tensor comes first.

        Args:
            tensor: whole or a view.
            intervals: elements of the flattened tensor, in any order: pairs, or int64[N, 2];
                all of it when left out.
            remove_aliased: list an element that occurs several times only once.
            report_aliases: tell which intervals hold the same memory; they are cut so that two
                either do, or have none in common.

        Raises:
            TensorIndexError: for an interval outside the tensor.
            GraphConnectionError: for a tensor of another graph.

        >>> import poplite as pl
        >>> graph = pl.Graph()
        >>> x = graph.add_variable("float32", (2, 3), "x")
        >>> for group in graph.sorted_contiguous_regions(x.T, [(0, 2), (4, 6)]):
        ...     print(group)
        [Interval(begin=0, end=1)]
        [Interval(begin=4, end=5), Interval(begin=1, end=2)]
        [Interval(begin=5, end=6)]
        >>> twice = graph.sorted_contiguous_regions(x[0].broadcast(2, 0), report_aliases=True)
        >>> twice[1], twice.aliases.tolist()
        ([Interval(begin=3, end=6)], [0, 0])
        """
        self._own(tensor, "sorted_contiguous_regions", here())
        return sorted_regions(tensor, intervals, remove_aliased, report_aliases)

    def sorted_contiguous_regions_by_tile(
        self, tensor: Tensor, remove_aliased: bool = False, report_aliases: bool = False
    ) -> TileRegions:
        """Group the elements of a tensor in the order of memory, on every tile.

        Far faster than `sorted_contiguous_regions` of each tile's intervals.

        Args:
            tensor: whole or a view; every element has a tile.
            remove_aliased: as for `sorted_contiguous_regions`.
            report_aliases: as for `sorted_contiguous_regions`.

        Raises:
            InvalidTileMapping: when elements have no tile.
            GraphConnectionError: for a tensor of another graph.

        >>> import poplite as pl
        >>> graph = pl.Graph(pl.Target(tiles=2))
        >>> x = graph.add_variable("float32", (2, 3), "x", mapping="linear")
        >>> graph.sorted_contiguous_regions_by_tile(x.T)[1]
        <SortedRegions 3 elements, 1 group, 3 intervals>
        """
        self._own(tensor, "sorted_contiguous_regions_by_tile", here())
        return tile_regions(self._graph, tensor, remove_aliased, report_aliases)

    def reorder_to_simplify(
        self, tensor: Tensor, others: Sequence[Tensor] = (), require_simplest_order: bool = True
    ) -> tuple[Tensor, ...]:
        """Rearrange tensors alike, so that the first has few regions.

        Args:
            tensor: the one that becomes simple.
            others: tensors with as many elements.
            require_simplest_order: put the pieces of a concatenation in order too; without it,
                only strides are, which takes microseconds.

        Returns:
            The tensor and the others, each of one dimension.

        Raises:
            TensorCreationError: for a tensor of another size.
            GraphConnectionError: for a tensor of another graph.

        >>> import poplite as pl
        >>> graph = pl.Graph()
        >>> x, y = graph.add_variable("int32", (2, 3), "x"), graph.add_variable("int32", (3, 2))
        >>> out, a = graph.reorder_to_simplify(x.T, [y])
        >>> out.is_contiguous(), out == x.flatten(), a == y.T.flatten()
        (True, True, True)
        """
        at = here()
        call = "graph.reorder_to_simplify(tensor, [other])"
        if not is_sequence(others):
            raise ElementTypeError(
                f"reorder_to_simplify: others is {clipped(others)}, not a list of tensors",
                at=at,
                fix=call,
            )
        for each in (tensor, *others):
            self._own(each, "reorder_to_simplify", at, call)
        return reordered(tensor, others, require_simplest_order)

    def simplifying_rearranger(self, tensor: Tensor) -> TensorRearranger:
        """Return what puts tensors in the order in which this one has the fewest regions.

        Args:
            tensor: whole or a view.

        Raises:
            GraphConnectionError: for a tensor of another graph.

        >>> import poplite as pl
        >>> graph = pl.Graph()
        >>> x = graph.add_variable("int32", (2, 3), "x")
        >>> graph.simplifying_rearranger(x.T).rearrange(x.T) == x.flatten()
        True
        """
        self._own(tensor, "simplifying_rearranger", here())
        return TensorRearranger(tensor.view)

    def find_unbroadcast_tensor(self, tensor: Tensor) -> Tensor:
        """Return the tensor that this one is a broadcast of.

        Args:
            tensor: whole or a view.

        Returns:
            A tensor of the same rank: broadcast along each dimension, it is the tensor given.
            The tensor itself if it is no broadcast.

        Raises:
            GraphConnectionError: for a tensor of another graph.

        >>> import poplite as pl
        >>> graph = pl.Graph()
        >>> x = graph.add_variable("int32", (2, 3), "x")
        >>> graph.find_unbroadcast_tensor(x.broadcast(4, 0)) == x
        True
        """
        self._own(tensor, "find_unbroadcast_tensor", here())
        return unbroadcast(tensor)

    # C++ spelling

    setTileMapping = set_tile_mapping
    getTileMapping = tile_mapping
    getVariableTileMapping = variable_tile_mapping
    getSortedContiguousRegions = sorted_contiguous_regions
    reorderToSimplify = reorder_to_simplify
    getSimplifyingRearranger = simplifying_rearranger
    findUnbroadcastTensor = find_unbroadcast_tensor


_MAP_TENSOR = "the tensor comes first: set_tile_mapping(tensor, tile)"
_MAP_FIRST: dict[type, str] = {
    ComputeSet: "put its vertices on tiles: for vertex in cs.vertices: "
    "graph.set_tile_mapping(vertex, tile)",
    VertexBlock: "tiles of many vertices are given with them: add_vertices(cs, V, tile=...)",
}


def _is_list(mapping: object) -> TypeGuard[Sequence[Sequence[tuple[int, int]]]]:
    return isinstance(mapping, Sequence) and not isinstance(mapping, str)
