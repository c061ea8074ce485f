"""Elementwise functions of popops: operators in three forms, `map`, scaled additions, casts, fills.

    add(graph, a, b, prog)                  a new tensor
    addInPlace(graph, a, b, prog)           replaces a
    addWithOutput(graph, a, b, out, prog)   writes to out

Operand types may differ only in a product of a HALF tensor and a FLOAT tensor of one element. That
scalar is rounded to HALF if its relative change is less than `tolerance`, and stays FLOAT
otherwise; each product is rounded to HALF once.

`debug_context` is the name of the steps, and of the new tensor. One of two or three operands may be
a number, which takes the type of the others; in the in-place form, the first must be a tensor.

Source: PopLibs, lib/popops/ScalarMultiply.cpp, codelets/ScalarMultiply.cpp and
codelets/CheckAccuracyWhenCast.hpp, for that product; `popops/Cast.hpp`, `popops/ScaledAdd.hpp`,
`popops/ElementWiseUtil.hpp`, `popops/AllTrue.hpp`, `popops/Fill.hpp`, `popops/Zero.hpp`,
`popops/Pad.hpp`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from inspect import Parameter, Signature
from types import MappingProxyType
from typing import Any, TypeAlias, overload

from poplite import ops
from poplite.compat.arguments import (
    Options,
    Place,
    bound,
    check_name,
    check_options,
    checked,
    checked_set,
    one_set,
    operand_of,
    over_graph,
    with_first,
)
from poplite.compat.popops.expr import (
    Any as Expr,
    BinaryOp,
    BinaryOpType,
    PlaceHolder,
    TernaryOp,
    TernaryOpType,
    UnaryOp,
    UnaryOpType,
    described,
)
from poplite.compat.popops.form_types import BinaryForms, TernaryForms, UnaryForms
from poplite.compat.poputil import output_mapping
from poplite.errors import (
    ControlProgramError,
    ElementTypeError,
    InvalidOption,
    checked_items,
    checked_kind,
)
from poplite.expr.build import as_expr, typed_number
from poplite.expr.operand import Operand
from poplite.expr.tree import Expr as Node, Weak
from poplite.graph.compute_sets.compute_set import ComputeSet
from poplite.graph.graph import Graph, working_graph
from poplite.graph.tensor.concat import concat
from poplite.graph.tensor.tensor import Slices, Tensor, check_own
from poplite.graph.tile_mapping import TileMapping, intervals_of, tile_number
from poplite.ops.fuse.maps import Mappings, add_filling
from poplite.ops.operands import check_writeable
from poplite.program import Sequence as Steps
from poplite.text import amount, clipped, of_type
from poplite.types import BOOL, FLOAT, HALF, ElementTypeLike

OpType = UnaryOpType | BinaryOpType | TernaryOpType

_KINDS: tuple[type[OpType], ...] = (UnaryOpType, BinaryOpType, TernaryOpType)
"""Types of operations, by number of operands."""

_EITHER = Parameter.POSITIONAL_OR_KEYWORD

TOLERANCE = "scalarMultiplyFloatToHalfTolerance"
"""The option for the relative error allowed when the scalar is rounded; by default 1e-6."""


def product_of_half(
    what: str, values: Sequence[Any], options: Options, *, in_place: bool
) -> Operand | None:
    """Return the product of a HALF operand and a FLOAT scalar; None for any other two operands."""
    tolerance = _tolerance(what, options)
    for h, f in (values,) if in_place else (values, values[::-1]):
        if _are_mixed(h, f):
            return ops.cast(ops.cast(h, FLOAT) * _rounded(f.reshape(()), tolerance), HALF)
    return None


def _are_mixed(h: object, f: object) -> bool:
    if not isinstance(h, Tensor) or not isinstance(f, Tensor):
        return False
    return h.element_type is HALF and f.element_type is FLOAT and f.num_elements == 1


def _rounded(f: Operand, tolerance: float) -> Operand:
    near = ops.cast(ops.cast(f, HALF), FLOAT)
    return ops.where(ops.less(ops.absolute(near - f), ops.absolute(f) * tolerance), near, f)


def _tolerance(what: str, options: Options) -> float:
    given = (options or {}).get(TOLERANCE, "1e-6")
    try:
        tolerance = float(given)
        if tolerance >= 0:  # false for NaN
            return tolerance
        raise ValueError
    except (TypeError, ValueError):
        raise InvalidOption(
            f"popops.{what}: option {TOLERANCE!r} is {clipped(given)}",
            found="it must be a number of at least 0",
            fix=f'pass {{{TOLERANCE!r}: "1e-6"}}',
        ) from None


_KNOWN = (
    *("enableGenerateCodelet", "forceGenerateCodelet", "enableVectorBroadcastOptimisations"),
    *("enableExpressionOptimizations", TOLERANCE),
)


_NEW, _IN_PLACE, _WITH_OUTPUT = "", "InPlace", "WithOutput"
"""The forms, by the suffixes of their names."""

_RESULTS = {
    _NEW: "into a new tensor",
    _IN_PLACE: "in place of the first operand",
    _WITH_OUTPUT: "into `out`",
}


@overload
def map(
    graph: Graph,
    expr: Expr,
    tensors: Sequence[Tensor],
    prog: Steps,
    debug_context: str = "",
    options: Options = None,
) -> Tensor: ...
@overload
def map(graph: Graph, expr: OpType | str, *arguments: Any, **named: Any) -> Tensor: ...
def map(graph: Graph, expr: Expr | OpType | str, *arguments: Any, **named: Any) -> Tensor:  # noqa: A001
    """Record an expression of tensors, `popops::map`.

    Args:
        graph: the graph of the tensors.
        expr: an expression over the placeholders `expr._1`, `expr._2`, ...; or one operation, a
            member of `expr.UnaryOpType`, `expr.BinaryOpType` or `expr.TernaryOpType`, or its name.
        *arguments: `tensors, prog, debug_context="", options=None`, where `tensors` is a list of
            the placeholders' tensors; for a single operation, its operands in place of the list.
            Of PopLibs' options, only `scalarMultiplyFloatToHalfTolerance` has an effect.
        **named: the same arguments, given by keyword.

    Returns:
        A new tensor.

    Raises:
        whatever `poplite.ops.map` raises.

    >>> import poplite as pl
    >>> from poplite.compat.popops.expr import Const, _1, _2
    >>> graph, prog = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    >>> a = graph.add_variable(pl.INT, (3,), "a", mapping=0, initial_value=[-7, 0, 7])
    >>> b = map(graph, _1 / Const(2), [a], prog, "halves")
    >>> engine = pl.Engine(graph, prog)
    >>> engine.run()
    >>> engine.read(b)
    array([-3,  0,  3], dtype=int32)
    """
    expr, tensors, prog, debug_context, options = _mapped("map", expr, arguments, named)
    node = _node("map", expr, _given("map", tensors), options, _NEW)
    with over_graph("popops.map", graph):
        return _new(graph, node, tensors, debug_context, prog)


@overload
def mapInPlace(
    graph: Graph,
    expr: Expr,
    tensors: Sequence[Tensor],
    prog: Steps,
    debug_context: str = "",
    options: Options = None,
) -> None: ...
@overload
def mapInPlace(graph: Graph, expr: OpType | str, *arguments: Any, **named: Any) -> None: ...
def mapInPlace(graph: Graph, expr: Expr | OpType | str, *arguments: Any, **named: Any) -> None:
    """Record an expression whose result replaces the first tensor, `popops::mapInPlace`."""
    expr, tensors, prog, debug_context, options = _mapped("mapInPlace", expr, arguments, named)
    given = _given("mapInPlace", tensors)
    node = _node("mapInPlace", expr, given, options, _IN_PLACE)
    out = given[0] if given else None
    with over_graph("popops.mapInPlace", graph):
        ops.lower(graph, [ops.Root(node, out=out, name=debug_context)], prog)


@overload
def mapWithOutput(
    graph: Graph,
    expr: Expr,
    tensors: Sequence[Tensor],
    out: Tensor,
    prog: Steps,
    debug_context: str = "",
    options: Options = None,
) -> None: ...
@overload
def mapWithOutput(graph: Graph, expr: OpType | str, *arguments: Any, **named: Any) -> None: ...
def mapWithOutput(graph: Graph, expr: Expr | OpType | str, *arguments: Any, **named: Any) -> None:
    """Record an expression whose result is written to a tensor, `popops::mapWithOutput`."""
    expr, tensors, *rest = _mapped("mapWithOutput", expr, arguments, named, "out")
    out, prog, debug_context, options = rest
    node = _node("mapWithOutput", expr, _given("mapWithOutput", tensors), options, _WITH_OUTPUT)
    with over_graph("popops.mapWithOutput", graph):
        ops.lower(graph, [ops.Root(node, out=out, name=debug_context)], prog)


_LAST = ("prog", "debug_context", "options")
_LEFT_OUT: Mapping[str, Any] = MappingProxyType({"debug_context": "", "options": None})
"""The defaults of the last arguments of all functions."""


def _completed(
    what: str,
    before: str,
    names: Iterable[str],
    arguments: tuple[Any, ...],
    named: Mapping[str, Any],
) -> tuple[Any, ...]:
    """Return all arguments in order, with defaults for the debug name and the options.

    >>> _completed("abs", "graph", "a", ("x", "prog"), {"options": {}})
    ('x', 'prog', '', {})
    """
    names = [*names, *_LAST]
    given = dict(zip(names, arguments, strict=False))
    unfit = sorted(name for name in named if name not in names or name in given)
    given = {**_LEFT_OUT, **given, **named}
    missing = [name for name in names if name not in given]
    if len(arguments) > len(names) or unfit or missing:
        raise ElementTypeError(
            f"popops.{what}: invalid call with {amount(len(arguments) + 1, 'argument')}",
            found="; ".join(
                f"{fault}: {', '.join(found)}"
                for fault, found in (("missing", missing), ("unexpected by name", unfit))
                if found
            ),
            fix=f"popops.{what}({before}, {', '.join(names)})",
        )
    check_name(f"popops.{what}", given["debug_context"])
    return tuple(given[name] for name in names)


def _mapped(
    what: str,
    expr: Expr | OpType | str,
    arguments: tuple[Any, ...],
    named: Mapping[str, Any],
    *out: str,
) -> tuple[Any, ...]:
    """Return an expression (made from an operation if needed), its tensors, and the rest."""
    if isinstance(expr, str):
        expr = next((kind[expr] for kind in _KINDS if expr in kind.__members__), expr)
    if not isinstance(expr, OpType):
        return expr, *_completed(what, "graph, expr", ["tensors", *out], arguments, named)
    count = 1 + _KINDS.index(type(expr))
    given = _completed(what, "graph, op", [*"abc"[:count], *out], arguments, named)
    places = [PlaceHolder(n + 1) for n in range(count)]
    made = (UnaryOp, BinaryOp, TernaryOp)[count - 1](expr, *places)
    return made, given[:count], *given[count:]


def _node(what: str, made: object, tensors: Sequence[Tensor], options: Options, form: str) -> Any:
    fix = f"popops.{what}(graph, expr._1 + expr._2, [a, b], prog)"
    expr = checked_kind(made, Expr, f"popops.{what}:", fix, "an expression of popops.expr")
    check_options(what, options, _KNOWN)
    if len(tensors) == 2 and _is_product(expr):
        return _product(what, tensors, options, form)
    return expr.of(tensors)


def _given(what: str, tensors: object) -> list[Any]:
    """Return the tensors of an expression, or raise."""
    listed = checked_items(
        tensors, f"popops.{what}: tensors", "pass a list of tensors, such as [a, b]"
    )
    return [operand_of(f"popops.{what}", f"tensors[{n}]", each) for n, each in enumerate(listed)]


def _is_product(expr: Expr) -> bool:
    """Return whether an expression is `_1 * _2`."""
    if not isinstance(expr, BinaryOp) or expr.operation != "MULTIPLY":
        return False
    return [each.index for each in expr.operands if isinstance(each, PlaceHolder)] == [1, 2]


def _product(what: str, values: Sequence[Any], options: Options, form: str) -> Any:
    """Return the product of two operands, for one of the three forms."""
    mixed = None
    if form != _WITH_OUTPUT:
        mixed = product_of_half(what, values, options, in_place=form == _IN_PLACE)
    return BinaryOpType.MULTIPLY.meaning(*values) if mixed is None else mixed


def _new(graph: Graph, made: Any, inputs: Sequence[Any], name: str, prog: Steps) -> Tensor:
    """Record an expression into a new tensor, mapped as PopLibs maps it."""
    mapping = None
    if isinstance(made, Node) and not isinstance(made, Weak) and not made.is_open:
        mapping = output_mapping(working_graph(graph), inputs, made)
    return ops.map(made, mapping=mapping, name=name, program=prog)


@overload
def forms(name: str, operation: UnaryOpType) -> UnaryForms: ...
@overload
def forms(name: str, operation: BinaryOpType) -> BinaryForms: ...
@overload
def forms(name: str, operation: TernaryOpType) -> TernaryForms: ...
def forms(name: str, operation: OpType) -> Any:
    """Return the three forms of an operation: new, in place, with output."""
    operands = "abc"[: 1 + _KINDS.index(type(operation))]
    count = len(operands)

    def new(graph: Graph, *arguments: Any, **named: Any) -> Tensor:
        given = _completed(name, "graph", operands, arguments, named)
        prog, debug_context, options = given[count:]
        with over_graph(f"popops.{name}", graph):
            made = expression(given[:count], options, _NEW)
            return _new(graph, made, given[:count], debug_context or name, prog)

    def in_place(graph: Graph, *arguments: Any, **named: Any) -> None:
        given = _completed(f"{name}{_IN_PLACE}", "graph", operands, arguments, named)
        into(graph, given[:count], given[0], given[count:], _IN_PLACE)

    def with_output(graph: Graph, *arguments: Any, **named: Any) -> None:
        names = [*operands, "out"]
        given = _completed(f"{name}{_WITH_OUTPUT}", "graph", names, arguments, named)
        into(graph, given[:count], given[count], given[count + 1 :], _WITH_OUTPUT)

    def into(graph: Graph, values: Any, out: Tensor, rest: tuple[Any, ...], form: str) -> None:
        prog, debug_context, options = rest
        with over_graph(f"popops.{name}{form}", graph):
            made = expression(values, options, form)
            ops.lower(graph, [ops.Root(made, out=out, name=debug_context or name)], prog)

    def expression(values: Sequence[Any], options: Options, form: str) -> Any:
        what = f"popops.{name}{form}"
        values = [operand_of(what, *each) for each in zip("abc", values, strict=False)]
        check_options(name, options, _KNOWN)
        is_product = operation is BinaryOpType.MULTIPLY
        return _product(name, values, options, form) if is_product else operation.meaning(*values)

    form: Any
    for form, end in ((new, _NEW), (in_place, _IN_PLACE), (with_output, _WITH_OUTPUT)):
        names = ["graph", *operands, *(["out"] if end == _WITH_OUTPUT else []), *_LAST]
        defaults = [_LEFT_OUT.get(each, Parameter.empty) for each in names]
        pairs = zip(names, defaults, strict=True)
        form.__signature__ = Signature([Parameter(n, _EITHER, default=d) for n, d in pairs])
        form.__name__ = form.__qualname__ = f"{name}{end}"
        form.__doc__ = f"Record `popops::{form.__name__}`, {_RESULTS[end]}: {described(operation)}."
    return new, in_place, with_output


# -- filling ---------------------------------------------------------------------------------------


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
