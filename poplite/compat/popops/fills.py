"""Fills of popops: of a program, and of the elements that a tile has in a compute set.

    fill(graph, t, prog, value)                     where t lies
    fill(graph, t, [(0, 4)], tile, cs, value)       these elements, on a tile
    fill(graph, t, tile, cs, value)                 all elements, on a tile
    fill(graph, t, mapping, cs, value)              those of each tile of a mapping

`zero` has the same forms without the value.

Source: PopLibs, `popops/Fill.hpp`, `popops/Zero.hpp`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias, overload

from poplite import ops
from poplite.compat.arguments import bound
from poplite.compat.compute_sets import checked_set
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
from poplite.ops.fuse.placement import Mappings, add_filling
from poplite.ops.operands import check_writeable
from poplite.program import Sequence as Steps
from poplite.source import here
from poplite.text import clipped, of_type
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
@bound("popops")
def fill(
    graph: Graph,
    t: Tensor,
    prog: Steps | None,
    value: Any,
    debug_context: str = "",
    *,
    cs: ComputeSet | None = None,
    tile: int | None = None,
    regions: Iterable[tuple[int, int]] | None = None,
    mapping: Held | None = None,
) -> None:
    """Record a number for all elements, `popops::fill`; in a compute set for those of tiles.

    Args:
        graph: of the tensor.
        t: what is filled.
        prog: where the steps go. Or in its place `tile_regions, tile, cs`, `tile, cs` or
            `mapping, cs`, which add vertices to the compute set `cs`: for intervals of the
            flattened tensor on a tile, for all elements on a tile, and for the intervals of each
            tile.
        value: the number.
        debug_context: name of the steps.
        cs: the compute set, where there is one.
        tile: where its vertex is.
        regions: the intervals there; by default all elements.
        mapping: the intervals of each tile, in place of both.

    Raises:
        ElementTypeError: for a tile, intervals or a mapping without a compute set, a program or a
            name beside one, and a mapping beside a tile or intervals.
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
    where = {"tile": tile, "regions": regions, "mapping": mapping}
    _check_form("popops.fill", cs, where, prog=prog, debug_context=debug_context)
    if cs is not None:
        _fill_in("popops.fill", graph, t, cs, value, **where)
        return
    ops.fill(t, value, name=debug_context or "fill", program=prog)


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
@bound("popops")
def zero(
    graph: Graph,
    t: Tensor,
    prog: Steps | None,
    debug_context: str = "",
    *,
    cs: ComputeSet | None = None,
    tile: int | None = None,
    regions: Iterable[tuple[int, int]] | None = None,
    mapping: Held | None = None,
) -> None:
    """Record zero for all elements, `popops::zero`; the forms of `fill`, without a value."""
    where = {"tile": tile, "regions": regions, "mapping": mapping}
    _check_form("popops.zero", cs, where, prog=prog, debug_context=debug_context)
    if cs is not None:
        _fill_in("popops.zero", graph, t, cs, False if t.element_type is BOOL else 0, **where)
        return
    ops.zero(t, name=debug_context or "zero", program=prog)


def _check_form(what: str, cs: object, where: Mapping[str, Any], **steps: Any) -> None:
    """Refuse what only another form takes, and elements that are given twice."""
    given = [name for name, value in where.items() if value is not None]
    unwanted = given if cs is None else [name for name, value in steps.items() if value]
    if unwanted:
        raise ElementTypeError(
            f"{what}: {' and '.join(unwanted)} {'without' if cs is None else 'beside'} "
            "a compute set",
            fix=f"{what}(graph, t, prog, ...), or {what}(graph, t, tile, cs, ...)",
        )
    if "mapping" in given and len(given) > 1:
        raise ElementTypeError(
            f"{what}: {' and '.join(given)}",
            found="a mapping has the elements of every tile",
            fix="mapping alone, or tile and regions",
        )


def _fill_in(
    what: str,
    graph: Graph,
    t: Tensor,
    cs: ComputeSet,
    value: Any,
    tile: Any = None,
    regions: Any = None,
    mapping: Any = None,
) -> None:
    """Add the vertices that store a number in elements, on tiles, to a compute set."""
    compute_set = checked_set(what, graph, cs)
    check_own(graph, t, what, here())
    check_writeable(what, "t", t)
    node = as_expr(value, what)
    if not isinstance(node, Weak):
        raise ElementTypeError(
            f"{what}: value is {clipped(value)}", found=of_type(value), fix="a number"
        )
    own = number(node.value, t.element_type, what)
    tiles, at = graph.target.tiles, here()
    if mapping is None:
        held = [(0, t.num_elements)] if regions is None else regions
        mapping = [()] * tile_number(tile, what, tiles, at) + [held]
    begin, end, places = intervals_of(mapping, tiles, t.num_elements, what=what, at=at)
    if not len(begin):
        return
    filled = concat(Slices(t.flatten(), 0, begin, end))
    mappings = Mappings(graph)
    mappings.suppose(filled, TileMapping(tiles, places, end - begin))
    add_filling(mappings, compute_set, own, filled)
