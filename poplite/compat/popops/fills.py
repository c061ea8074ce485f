"""Fills of popops: of a program, and of the elements that a tile has in a compute set.

    fill(graph, t, prog, value)                     where t lies
    fill(graph, t, [(0, 4)], tile, cs, value)       these elements, on a tile
    fill(graph, t, tile, cs, value)                 all elements, on a tile
    fill(graph, t, mapping, cs, value)              those of each tile of a mapping

`zero` has the same forms without the value.

Source: PopLibs, `popops/Fill.hpp`, `popops/Zero.hpp`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias, overload

from poplite import ops
from poplite.arrays.intervals import Int64
from poplite.compat.arguments import checked
from poplite.compat.compute_sets import checked_set
from poplite.compat.popops.options import completed
from poplite.errors import ElementTypeError
from poplite.expr.build import as_expr, number
from poplite.expr.tree import Weak
from poplite.graph.compute_sets.compute_set import ComputeSet
from poplite.graph.connect.ownership import check_own
from poplite.graph.graph import Graph
from poplite.graph.mapping.tile_mapping import TileMapping
from poplite.graph.mapping.user_mapping import intervals_of, tile_number
from poplite.graph.tensor.concat import concat
from poplite.graph.tensor.slices import Slices
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.fuse.filling import add_filling
from poplite.ops.fuse.placement import Mappings
from poplite.ops.operands import check_writeable
from poplite.program import Sequence as Steps
from poplite.source import here
from poplite.text import clipped, integer_or_none, of_type
from poplite.types import BOOL

Held: TypeAlias = TileMapping | Iterable[Iterable[tuple[int, int]]]
"""For each tile, intervals over a flattened tensor."""


@overload
def fill(
    graph: Graph, t: Tensor, prog: Steps | None, value: float, debug_context: str = ""
) -> None: ...
@overload
def fill(
    graph: Graph,
    t: Tensor,
    tile_regions: Iterable[tuple[int, int]],
    tile: int,
    cs: ComputeSet,
    value: float,
    /,
) -> None: ...
@overload
def fill(graph: Graph, t: Tensor, tile: int, cs: ComputeSet, value: float, /) -> None: ...
@overload
def fill(graph: Graph, t: Tensor, mapping: Held, cs: ComputeSet, value: float, /) -> None: ...
@checked("popops")
def fill(graph: Graph, t: Tensor, *arguments: Any, **named: Any) -> None:
    """Record a number for all elements, `popops::fill`; in a compute set for those of tiles.

    Args:
        graph: of the tensor.
        t: what is filled.
        *arguments: `prog, value, debug_context=""`; or `tile_regions, tile, cs, value`,
            `tile, cs, value` or `mapping, cs, value`, which add vertices to the compute set `cs`:
            for intervals of the flattened tensor on a tile, for all elements on a tile, and for
            the intervals of each tile.
        **named: those of them that are named.

    Raises:
        InvalidTileMapping: for a tile or an interval that there is not, or one that is given twice.
        the errors of `poplite.ops.fill`.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=2))
    >>> x = graph.add_variable(pl.INT, (5,), "x", mapping="linear", initial_value=0)
    >>> cs = graph.add_compute_set("some")
    >>> fill(graph, x, [(0, 2)], 0, cs, 7)
    >>> fill(graph, x, [(4, 5)], 1, cs, 8)
    >>> engine = pl.Engine(graph, pl.Execute(cs))
    >>> engine.run()
    >>> engine.read(x)
    array([7, 7, 0, 0, 8], dtype=int32)
    """
    if any(isinstance(each, ComputeSet) for each in arguments):
        _fill_in("popops.fill", graph, t, arguments, named)
        return
    form = "fill(graph, t, prog, value, debug_context)"
    prog, value, name = completed(form, arguments, 3, named)
    ops.fill(t, value, name=name or "fill", program=prog)


@overload
def zero(graph: Graph, t: Tensor, prog: Steps | None, debug_context: str = "") -> None: ...
@overload
def zero(
    graph: Graph,
    t: Tensor,
    tile_regions: Iterable[tuple[int, int]],
    tile: int,
    cs: ComputeSet,
    /,
) -> None: ...
@overload
def zero(graph: Graph, t: Tensor, tile: int, cs: ComputeSet, /) -> None: ...
@overload
def zero(graph: Graph, t: Tensor, mapping: Held, cs: ComputeSet, /) -> None: ...
@checked("popops")
def zero(graph: Graph, t: Tensor, *arguments: Any, **named: Any) -> None:
    """Record zero for all elements, `popops::zero`; the forms of `fill`, without a value."""
    if any(isinstance(each, ComputeSet) for each in arguments):
        value = False if t.element_type is BOOL else 0
        _fill_in("popops.zero", graph, t, (*arguments, value), named)
        return
    prog, name = completed("zero(graph, t, prog, debug_context)", arguments, 2, named)
    ops.zero(t, name=name or "zero", program=prog)


def _fill_in(
    what: str, graph: Graph, t: Tensor, arguments: Sequence[Any], named: Mapping[str, Any]
) -> None:
    """Add the vertices that store a number in elements, on tiles, to a compute set."""
    if len(arguments) not in (3, 4) or named:
        raise _unfit(what, arguments, named)
    *where, cs, value = arguments
    compute_set = checked_set(what, graph, cs)
    check_own(graph, t, what, here())
    check_writeable(what, "t", t)
    node = as_expr(value, what)
    if not isinstance(node, Weak):
        raise ElementTypeError(
            f"{what}: value is {clipped(value)}", found=of_type(value), fix="a number"
        )
    own = number(node.value, t.element_type, what)
    begin, end, tile = _held(what, graph, t, where)
    if not len(begin):
        return
    filled = concat(Slices(t.flatten(), 0, begin, end))
    mappings = Mappings(graph)
    mappings.suppose(filled, TileMapping(graph.target.tiles, tile, end - begin))
    add_filling(mappings, compute_set, own, filled)


def _held(what: str, graph: Graph, t: Tensor, where: Sequence[Any]) -> tuple[Int64, Int64, Int64]:
    """Return begin, end and tile of the elements that are filled, sorted."""
    tiles, first, at = graph.target.tiles, where[0], here()
    if len(where) == 1 and integer_or_none(first) is None:
        mapping = first
    else:
        regions = first if len(where) == 2 else [(0, t.num_elements)]
        mapping = [()] * tile_number(where[-1], what, tiles, at) + [regions]
    return intervals_of(mapping, tiles, t.num_elements, what=what, at=at)


def _unfit(what: str, arguments: Sequence[Any], named: Mapping[str, Any]) -> ElementTypeError:
    """Return the error for arguments with a compute set that fit no form."""
    value = ", value" if what.endswith("fill") else ""
    return ElementTypeError(
        f"{what}: a compute set, among arguments that fit no form",
        found=", ".join([*map(clipped, arguments), *(f"{name}=" for name in named)]),
        fix=f"{what}(graph, t, tile_regions, tile, cs{value}), {what}(graph, t, tile, cs{value}) "
        f"or {what}(graph, t, mapping, cs{value})",
    )
