"""Elementwise functions of popops, each in three forms; `map` takes whole expressions.

    add(graph, a, b, prog)                  a new tensor
    addInPlace(graph, a, b, prog)           replaces a
    addWithOutput(graph, a, b, out, prog)   writes to out

Operand types may differ only in a product of a HALF tensor and a FLOAT tensor of one element. That
scalar is rounded to HALF if its relative change is less than `tolerance`, and stays FLOAT
otherwise; each product is rounded to HALF once.

`debug_context` is the name of the steps, and of the new tensor. One of two or three operands may be
a number, which takes the type of the others; in the in-place form, the first must be a tensor.

Source: PopLibs, lib/popops/ScalarMultiply.cpp, codelets/ScalarMultiply.cpp and
codelets/CheckAccuracyWhenCast.hpp, for that product.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import Parameter, Signature
from types import MappingProxyType
from typing import Any, overload

from poplite import ops
from poplite.compat.arguments import Options, check_name, check_options, operand_of, over_graph
from poplite.compat.popops.expr import (
    Any as Expr,
    BinaryOp,
    BinaryOpType,
    PlaceHolder,
    TernaryOp,
    TernaryOpType,
    UnaryOp,
    UnaryOpType,
)
from poplite.compat.poputil import output_mapping
from poplite.errors import ElementTypeError, InvalidOption, checked_items
from poplite.expr.operand import Operand
from poplite.expr.tree import Expr as Node, Weak
from poplite.graph.graph import Graph, working_graph
from poplite.graph.tensor.tensor import Tensor
from poplite.program import Sequence as Steps
from poplite.text import amount, clipped, of_type
from poplite.types import FLOAT, HALF

OpType = UnaryOpType | BinaryOpType | TernaryOpType

_KINDS: tuple[type[OpType], ...] = (UnaryOpType, BinaryOpType, TernaryOpType)
"""Types of operations, by number of operands."""

_EITHER = Parameter.POSITIONAL_OR_KEYWORD

Forms = tuple[Callable[..., Tensor], Callable[..., None], Callable[..., None]]

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


def _node(what: str, expr: object, tensors: Sequence[Tensor], options: Options, form: str) -> Any:
    if not isinstance(expr, Expr):
        raise ElementTypeError(
            f"popops.{what}: {clipped(expr)} is not an expression of popops.expr",
            found=of_type(expr),
            fix=f"popops.{what}(graph, expr._1 + expr._2, [a, b], prog)",
        )
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


def forms(name: str, operation: OpType) -> Forms:
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
        form.__doc__ = f"Record `popops::{form.__name__}`, see the module."
    return new, in_place, with_output
