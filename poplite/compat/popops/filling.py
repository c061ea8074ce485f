"""Filling of popops: numbers, casts, scaled additions, padding.

Source: PopLibs, `popops/Cast.hpp`, `popops/ScaledAdd.hpp`, `popops/ElementWiseUtil.hpp`,
`popops/AllTrue.hpp`, `popops/Fill.hpp`, `popops/Zero.hpp`, `popops/Pad.hpp`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias, overload

from poplite import ops
from poplite.compat.arguments import (
    Options,
    Place,
    bound,
    check_options,
    checked,
    checked_set,
    one_set,
    with_first,
)
from poplite.compat.poputil import output_mapping
from poplite.errors import ControlProgramError, ElementTypeError, InvalidOption
from poplite.expr.build import as_expr, typed_number
from poplite.expr.operand import Operand
from poplite.expr.tree import Weak
from poplite.graph.compute_sets.compute_set import ComputeSet
from poplite.graph.graph import Graph
from poplite.graph.tensor.concat import concat
from poplite.graph.tensor.tensor import Slices, Tensor, check_own
from poplite.graph.tile_mapping import TileMapping, intervals_of, tile_number
from poplite.ops.fuse.placement import Mappings, add_filling
from poplite.ops.operands import check_writeable
from poplite.program import Sequence as Steps
from poplite.text import clipped, of_type
from poplite.types import BOOL, FLOAT, HALF, ElementTypeLike

_SCALED_ADD = ("optimizeForSpeed", "scaleFloatToHalfTolerance")


@overload
def cast(  # type: ignore[overload-overlap]  # a tensor has a dtype, as a type may
    graph: Graph, src: Tensor, dst: Tensor, cs: ComputeSet, /
) -> None: ...
@overload
def cast(
    graph: Graph, src: Tensor, element_type: ElementTypeLike, prog: Place, debug_context: str = ""
) -> Tensor: ...
@overload
def cast(graph: Graph, src: Tensor, dst: Tensor, debug_context: str = "", /) -> Steps: ...
def cast(graph: Graph, src: Tensor, *arguments: Any, **named: Any) -> Tensor | Steps | None:
    """Record a cast to a new tensor, or return a cast to an existing tensor, `popops::cast`.

    Args:
        graph: the graph of the tensors.
        src: the tensor to cast.
        *arguments: `element_type, prog, debug_context=""`, where `prog` may be a compute set that
            receives the vertices; `dst, debug_context=""`, where `dst` is a tensor; or
            `dst, cs`, where `cs` is a compute set.
        **named: the same arguments, given by keyword.

    Returns:
        The new tensor; or the steps that write `dst`, which belong to no program yet; or None if
        the given compute set writes it.

    Raises:
        ControlProgramError: for a compute set and a `dst` that shares elements with `src`.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=2))
    >>> x = graph.add_variable(pl.FLOAT, (2,), "x", mapping=0, initial_value=[1.75, -1.75])
    >>> y = graph.add_variable(pl.INT, (2,), "y", mapping=0)
    >>> engine = pl.Engine(graph, pl.Sequence(cast(graph, x, y)))
    >>> engine.run()
    >>> engine.read(y)
    array([ 1, -1], dtype=int32)
    """
    if not isinstance(named.get("dst", arguments[0] if arguments else None), Tensor):
        return _cast(graph, src, *arguments, **named)
    if isinstance(named.get("cs", arguments[-1]), ComputeSet):
        _cast_in(graph, src, *arguments, **named)
        return None
    return _cast_to(graph, src, *arguments, **named)


@checked("popops", "cast")
def _cast_to(graph: Graph, src: Tensor, dst: Tensor, debug_context: str = "") -> Steps:
    prog = Steps()
    castWithOutput(graph, src, dst, prog, debug_context)
    return prog


@checked("popops", "cast")
def _cast_in(graph: Graph, src: Tensor, dst: Tensor, cs: ComputeSet) -> None:
    prog = one_set("popops.cast", graph, cs)
    if src != dst and src.intersects_with(dst):
        raise ControlProgramError(
            f"popops.cast: '{dst.name}' shares elements with '{src.name}', which compute set "
            f"'{cs.name}' would read and write at the same time",
            found=f"{dst!r} and {src!r}",
            fix="prog.add(popops.cast(graph, src, dst)), which reads and writes in separate steps",
        )
    castWithOutput(graph, src, dst, prog)


@checked("popops", "cast")
def _cast(
    graph: Graph, src: Tensor, element_type: ElementTypeLike, prog: Place, debug_context: str = ""
) -> Tensor:
    steps = one_set("popops.cast", graph, prog)
    made = ops.cast(src, element_type)
    mapping = output_mapping(graph, [src], made)
    return ops.map(made, mapping=mapping, name=debug_context or "cast", program=steps)


@checked("popops")
def castWithOutput(
    graph: Graph, src: Tensor, out: Tensor, prog: Steps | None, debug_context: str = ""
) -> None:
    """Record a cast to the element type of a tensor, `popops::castWithOutput`."""
    root = ops.Root(ops.cast(src, out.element_type), out=out, name=debug_context or "cast")
    ops.lower(graph, [root], prog)


@checked("popops")
def iota(graph: Graph, t: Tensor, start_integer: int, prog: Steps, debug_context: str = "") -> None:
    """Record consecutive integers from `start_integer` on, `popops::iota`."""
    numbers = ops.iota(t.shape, t.element_type, start=start_integer)
    ops.assign(t, numbers, name=debug_context or "iota", program=prog)


@checked("popops")
def allTrue(graph: Graph, a: Tensor, prog: Steps, debug_context: str = "") -> Tensor:
    """Record a test whether all elements of a BOOL tensor are true, `popops::allTrue`."""
    return ops.map(ops.all(a), name=debug_context or "allTrue", program=prog)


def _scaled(  # noqa: D417  (users do not give the form)
    form: tuple[str, int],
    graph: Graph,
    a: Tensor,
    b: Operand,
    k: Any,
    prog: Steps,
    debug_context: str = "",
    options: Options = None,
    *,
    scale: Any = None,
) -> None:
    """Record `a = scale * a + k * b`, or `- k * b`, as the name says: `popops::{name}`.

    Args:
        graph: the graph of the tensors.
        a: the tensor to change.
        b: the addend, a tensor or an expression of tensors.
        k: the factor of `b`, a number or a tensor of one element.
        prog: where the steps go.
        debug_context: name of the steps.
        options: PopLibs' options, which have no effect here.
        scale: the factor of `a`, also a number or a tensor of one element, before `b` as in C++;
            by default 1.
    """
    name, sign = form
    check_options(name, options, _SCALED_ADD)
    kind = FLOAT if a.element_type is HALF else a.element_type  # HALF is rounded once
    own = ops.cast(a, kind) if scale is None else ops.cast(a, kind) * _scale(scale, kind)
    part = ops.cast(b, kind) * _scale(k, kind)
    changed = ops.cast(own + part if sign > 0 else own - part, a.element_type)
    ops.lower(graph, [ops.Root(changed, out=a, name=debug_context or name)], prog)


scaledAddTo, scaledSubtractFrom = (
    bound("popops", form[0])(with_first(_scaled, form))
    for form in (("scaledAddTo", 1), ("scaledSubtractFrom", -1))
)


def _scale(value: Any, kind: ElementTypeLike) -> Any:
    if isinstance(value, Tensor):
        return ops.cast(value.reshape(()), kind)
    return value


# -- fills -----------------------------------------------------------------------------------------
#
#     fill(graph, t, prog, value)                     on the tiles of t
#     fill(graph, t, [(0, 4)], tile, cs, value)       these elements, on one tile
#     fill(graph, t, tile, cs, value)                 all elements, on one tile
#     fill(graph, t, mapping, cs, value)              the intervals of each tile, on that tile
#
# `zero` has the same forms without the value.
#
# Source: PopLibs, `popops/Fill.hpp`, `popops/Zero.hpp`.


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
    """Record a fill of all elements, or of those of given tiles, with a number, `popops::fill`.

    Args:
        graph: the graph of the tensor.
        t: the tensor to fill.
        prog: where to add the steps. Or in its place `tile_regions, tile, cs`, `tile, cs` or
            `mapping, cs`, which add vertices to the compute set `cs`: for intervals of the
            flattened tensor on a tile, for all elements on a tile, and for the intervals of each
            tile.
        value: the number.
        debug_context: name of the steps.
        cs: the compute set, if any.
        tile: the tile of the vertex.
        regions: the intervals on that tile; by default all elements.
        mapping: the intervals of each tile, in place of `tile` and `regions`.

    Raises:
        ElementTypeError: for a tile, intervals or a mapping without a compute set, a program or a
            name together with one, and a mapping together with a tile or intervals.
        InvalidTileMapping: for a tile or an interval that is out of range or given twice.
        whatever `poplite.ops.fill` raises.

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
    """Record a fill of elements with zeros, `popops::zero`; like `fill`, but without a value."""
    where = {"tile": tile, "regions": regions, "mapping": mapping}
    _check_form("popops.zero", cs, where, prog=prog, debug_context=debug_context)
    if cs is not None:
        _fill_in("popops.zero", graph, t, cs, False if t.element_type is BOOL else 0, **where)
        return
    ops.zero(t, name=debug_context or "zero", program=prog)


def _check_form(what: str, cs: object, where: Mapping[str, Any], **steps: Any) -> None:
    """Reject arguments of a different form, and elements that are given twice."""
    given = [name for name, value in where.items() if value is not None]
    unwanted = given if cs is None else [name for name, value in steps.items() if value]
    if unwanted:
        raise ElementTypeError(
            f"{what}: {' and '.join(unwanted)} cannot be given "
            f"{'without' if cs is None else 'together with'} a compute set",
            fix=f"call {what}(graph, t, prog, ...), or {what}(graph, t, tile, cs, ...)",
        )
    if "mapping" in given and len(given) > 1:
        raise ElementTypeError(
            f"{what}: {' and '.join(given)} cannot be given together",
            found="a mapping already lists the elements on every tile",
            fix="pass mapping alone, or tile and regions",
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
    """Add to a compute set the vertices that store a number in the elements of each tile."""
    compute_set = checked_set(what, graph, cs)
    check_own(graph, t, what)
    check_writeable(what, "t", t)
    node = as_expr(value, what)
    if not isinstance(node, Weak):
        raise ElementTypeError(
            f"{what}: value is {clipped(value)}", found=of_type(value), fix="pass a number"
        )
    own = typed_number(node.value, t.element_type, what)
    tiles = graph.target.tiles
    if mapping is None:
        held = [(0, t.num_elements)] if regions is None else regions
        mapping = [()] * tile_number(tile, what, tiles) + [held]
    begin, end, places = intervals_of(mapping, tiles, t.num_elements, what=what)
    if not len(begin):
        return
    filled = concat(Slices(t.flatten(), 0, begin, end))
    mappings = Mappings(graph)
    mappings.suppose(filled, TileMapping(tiles, places, end - begin))
    add_filling(mappings, compute_set, own, filled)


@checked("popops")
def pad(
    graph: Graph,
    t: Tensor,
    padding_lower: Sequence[int],
    padding_upper: Sequence[int],
    val: bool | int | float = 0,
) -> Tensor:
    """Return a view with a constant before and after each dimension, `popops::pad`.

    The constant is on tile 0, as with `MappingMethod::ZERO`; negative widths remove elements.

    Raises:
        InvalidOption: unless there is one width for each dimension.

    >>> import poplite as pl
    >>> graph = pl.Graph()
    >>> pad(graph, graph.add_variable(pl.FLOAT, (2, 3), "t"), [1, 0], [0, -1]).shape
    (3, 2)
    """
    if len(padding_lower) != t.rank or len(padding_upper) != t.rank:
        raise InvalidOption(
            f"popops.pad: {len(padding_lower)} lower and {len(padding_upper)} upper widths for "
            f"'{t.name}', which has rank {t.rank}",
            fix=f"pass {t.rank} of each",
        )
    return ops.pad(t, list(zip(padding_lower, padding_upper, strict=True)), value=val)
