"""Casts and scaled additions of popops, and other steps by themselves.

Source: PopLibs, `popops/Cast.hpp`, `popops/ScaledAdd.hpp`,
`popops/ElementWiseUtil.hpp`, `popops/AllTrue.hpp`.
"""

from __future__ import annotations

from typing import Any, overload

from poplite import ops
from poplite.compat.arguments import bound, checked
from poplite.compat.compute_sets import Place, one_set
from poplite.compat.placing import output_mapping
from poplite.compat.popops.options import Options, check_options
from poplite.errors import ControlProgramError
from poplite.expr.operand import Operand
from poplite.graph.compute_sets.compute_set import ComputeSet
from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import Tensor
from poplite.program import Sequence as Steps
from poplite.types import FLOAT, HALF, ElementTypeLike

_SCALED_ADD = ("optimizeForSpeed", "scaleFloatToHalfTolerance")


@overload
def cast(  # type: ignore[overload-overlap]  # a tensor has a dtype, as what stands for a type may
    graph: Graph, src: Tensor, dst: Tensor, cs: ComputeSet, /
) -> None: ...
@overload
def cast(
    graph: Graph, src: Tensor, element_type: ElementTypeLike, prog: Place, debug_context: str = ""
) -> Tensor: ...
@overload
def cast(graph: Graph, src: Tensor, dst: Tensor, debug_context: str = "", /) -> Steps: ...
def cast(graph: Graph, src: Tensor, *arguments: Any, **named: Any) -> Tensor | Steps | None:
    """Record a cast to a new tensor, or return one to a tensor, `popops::cast`.

    Args:
        graph: of the tensors.
        src: what is cast.
        *arguments: `element_type, prog, debug_context=""`, where `prog` may be a compute set that
            the vertices are added to; `dst, debug_context=""`, where `dst` is a tensor; or
            `dst, cs`, where `cs` is a compute set.
        **named: those of them that are named.

    Returns:
        The new tensor; or the steps that write `dst`, which belong to no program yet; or None,
        where the compute set that is given writes it.

    Raises:
        ControlProgramError: for a compute set, and a `dst` that shares elements with `src`.

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
            f"'{cs.name}' would read and write at once",
            found=f"{dst!r} and {src!r}",
            fix="prog.add(popops.cast(graph, src, dst)), which has a step for each",
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
    """Record whole numbers from a first one on, `popops::iota`."""
    numbers = ops.iota(t.shape, t.element_type, start=start_integer)
    ops.assign(t, numbers, name=debug_context or "iota", program=prog)


@checked("popops")
def allTrue(graph: Graph, a: Tensor, prog: Steps, debug_context: str = "") -> Tensor:
    """Record whether all elements of a BOOL tensor are true, `popops::allTrue`."""
    return ops.map(ops.all(a), name=debug_context or "allTrue", program=prog)


@bound("popops")
def scaledAddTo(
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
    """Record `a += k * b`, or `a = scale * a + k * b`, `popops::scaledAddTo`.

    Args:
        graph: of the tensors.
        a: what is changed.
        b: what is added, a tensor or an expression of them.
        k: its factor, a number or a tensor of one element.
        prog: where the steps go.
        debug_context: name of the steps.
        options: PopLibs' options, which change nothing here.
        scale: likewise the factor of `a`, as in C++ before `b`; by default 1.
    """
    _scaled(graph, a, b, k, scale, prog, debug_context, options, 1, "scaledAddTo")


@bound("popops")
def scaledSubtractFrom(
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
    """Record `a -= k * b`, or `a = scale * a - k * b`; arguments as of `scaledAddTo`."""
    _scaled(graph, a, b, k, scale, prog, debug_context, options, -1, "scaledSubtractFrom")


def _scaled(
    graph: Graph,
    a: Tensor,
    b: Operand,
    k: Any,
    scale: Any,
    prog: Steps,
    debug_context: str,
    options: Options,
    sign: int,
    name: str,
) -> None:
    check_options(name, options, _SCALED_ADD)
    kind = FLOAT if a.element_type is HALF else a.element_type  # HALF is rounded once
    own = ops.cast(a, kind) if scale is None else ops.cast(a, kind) * _scale(scale, kind)
    part = ops.cast(b, kind) * _scale(k, kind)
    changed = ops.cast(own + part if sign > 0 else own - part, a.element_type)
    ops.lower(graph, [ops.Root(changed, out=a, name=debug_context or name)], prog)


def _scale(value: Any, kind: ElementTypeLike) -> Any:
    if isinstance(value, Tensor):
        return ops.cast(value.reshape(()), kind)
    return value
