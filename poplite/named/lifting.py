"""`nmap`: functions or vertex classes applied along all axes that they do not name.

For example:

    nmap(lambda row: row / ng.sum(row, ...), x, axes=[W])       written for one row of x
    nmap(Sorted, x, axes=[W])                                   one vertex for each row of x
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from poplite.errors import AxisError
from poplite.expr.tree import ElementClass
from poplite.named.axes import Axes, AxesLike, axes_of, check_lengths, missing, some
from poplite.named.changed_axes import spelled
from poplite.named.elementwise import Elementwise, StopGradient, apply, cast
from poplite.named.op import Op, as_op, nodes_below, texts_of
from poplite.named.reducing import AddRows, DotProduct, Extreme, Reduce, Softmax, Take, dot, take
from poplite.named.shaping import (
    Broadcast,
    Concat,
    Regrouped,
    Relabelled,
    Slice,
    axes_with_order,
    broadcast,
    cast_axes,
    concat,
)
from poplite.named.tensors import Gradient, Keep, PlacedByHint
from poplite.text import amount, clipped, of_type, why_not_called
from poplite.vertex.fields import Field
from poplite.vertex.vertex import Vertex


class Seen(Op):
    """The operand that a function receives, which has only the listed axes."""

    __slots__ = ()
    what = "argument of nmap"


class VertexMap(Op):
    """The output of a vertex for each index of the axes that it does not see.

    Attributes:
        vertex: the vertex class.
        inputs: the names of its input fields, one for each operand.
        output: the name of its output field.
        seen: the axes that a vertex sees.
        inner: the axes of its output.
    """

    __slots__ = ("vertex", "inputs", "output", "seen", "inner")
    what = "nmap"

    def __init__(
        self,
        vertex: type[Vertex],
        args: tuple[Op, ...],
        axes: Axes,
        dtype: ElementClass,
        fields: tuple[list[str], str],
        seen: Axes,
        inner: Axes,
    ) -> None:
        super().__init__(axes, dtype, args)
        self.vertex, self.seen, self.inner = vertex, seen, inner
        self.inputs, self.output = fields


def nmap(function: Any, *xs: Any, axes: AxesLike, out_axes: AxesLike = None) -> Op:
    """Apply a function of tensors with the listed axes to each index of all other axes.

    Args:
        function: takes a tensor for each of xs, which has only its listed axes, and returns one.
            Or a `pl.Vertex` class with an input field for each of xs and one output field: there is
            a vertex for each index of the other axes, and it sees the listed axes as one vector.
        xs: tensors. Axes that are not listed pair, as with operators.
        axes: the axes that the function sees.
        out_axes: the axes of a vertex's output, if they differ from the listed ones; none for a
            single number.

    Returns:
        A tensor with the unlisted axes, in the order of xs, then those of the function's result.

    Raises:
        AxisError: for a function that does not return a tensor, or returns a tensor with axes of xs
            that it did not receive; for a vertex class with other fields.
        MissingAxisError: for a listed axis that no tensor has.

    >>> import poplite.named as ng
    >>> N, W = ng.make_axis(8, "N"), ng.make_axis(3, "W")
    >>> nmap(lambda row: row / ng.sum(row, ...), ng.placeholder([W, N]), axes=[W])
    <broadcast (N:8, W:3) FLOAT>
    """
    args, seen = tuple(as_op(each, "nmap") for each in xs), axes_of(axes)
    others = some([])
    for each in args:
        check_lengths("nmap", others, each.axes)
        others = others | (each.axes - seen)
    has = some([])
    for each in args:
        has = has | each.axes
    for axis in seen:
        if axis not in has:
            raise missing("nmap: a listed axis", axis, has, texts_of(args))
    if isinstance(function, type) and issubclass(function, Vertex):
        return _of_vertices(function, args, others, seen, out_axes)
    if not callable(function):
        raise AxisError(
            f"nmap: {clipped(function)} is not a function",
            found=of_type(function),
            fix=_call_of(args, seen),
        )
    return _of_function(function, args, others, seen)


def _call_of(args: tuple[Op, ...], seen: Axes) -> str:
    """Return the text of a call with all tensors, for suggested fixes."""
    names = [spelled(each, f"x{n}") for n, each in enumerate(args, 1)]
    rows = ", ".join(f"{name}_row" for name in names)
    return f"ng.nmap(lambda {rows}: ..., {', '.join(names)}, axes=[{', '.join(seen.names)}])"


def _of_function(
    function: Callable[..., Any], args: tuple[Op, ...], others: Axes, seen: Axes
) -> Op:
    stand_ins = [Seen(each.axes & seen, each.dtype, ()) for each in args]
    if why := why_not_called(function, len(stand_ins)):
        raise AxisError(
            f"nmap: {clipped(function)} does not take {amount(len(stand_ins), 'tensor')}: {why}",
            found=of_type(function),
            fix=_call_of(args, seen),
        )
    found = function(*stand_ins)
    if not isinstance(found, Op):
        raise AxisError(
            f"nmap: the function returned {clipped(found)}",
            found=f"{of_type(found)}; its arguments have the axes {seen}",
            fix="return an expression of its arguments",
        )
    twice = found.axes & others
    if twice.items:
        raise AxisError(
            f"nmap: the function's result has axis '{twice[0].name}', which it does not see",
            found=found.text,
            fix=f"list '{twice[0].name}' in axes, or pass its tensor to nmap",
        )
    made: dict[Op, Op] = dict(zip(stand_ins, args, strict=True))
    for node in nodes_below([found]):
        if node not in made:
            made[node] = _again(node, tuple(made[each] for each in node.args))
    result = made[found]
    wide = [*(others & result.axes), *found.axes]
    return axes_with_order(result, wide) if wide else result


def _again(op: Op, args: tuple[Op, ...]) -> Op:
    """Return an operation on operands that have more axes than its original ones."""
    if all(one is other for one, other in zip(args, op.args, strict=True)):
        return op
    more = args[0].axes - op.args[0].axes
    match op:
        case Elementwise(operation="cast"):
            return cast(args[0], op.element_type)
        case Elementwise():
            return apply(op.operation, *args)
        case Reduce():
            return Reduce(op.how, args[0], op.reduced)
        case Extreme():
            return Extreme(op.how, args[0], op.reduced)
        case DotProduct():
            return dot(args[0], args[1], axes=op.summed)
        case Broadcast():
            return broadcast(args[0], more + op.axes)
        case Relabelled():
            return cast_axes(axes_with_order(args[0], more + op.args[0].axes), more + op.axes)
        case Slice():
            return Slice(args[0], op.parts)
        case Regrouped():
            ordered = axes_with_order(args[0], more + op.args[0].axes)
            return Regrouped(more + op.axes, op.dtype, (ordered,))
        case Concat():
            wide = some([])
            for each, old in zip(args, op.args, strict=True):
                wide = wide | (each.axes - old.axes)
            parts = [
                broadcast(each, wide + old.axes) for each, old in zip(args, op.args, strict=True)
            ]
            return concat(parts, op.along)
        case Softmax() | Gradient():
            return args[0]
        case StopGradient() | Keep():
            kind = Keep if isinstance(op, Keep) else StopGradient
            return kind(args[0].axes, op.dtype, args)
        case PlacedByHint():
            return PlacedByHint(args[0], op.place)
        case Take():
            return take(args[0], args[1], op.along)
        case AddRows() if args[1] is op.args[1]:
            return AddRows(args[0], args[1], op.along, args[0].axes - args[1].axes)
        case AddRows():
            raise AxisError(
                "nmap: no derivative with respect to a table whose rows an argument selects",
                found=op.text,
                fix="call ng.deriv outside of the function",
            )
        case VertexMap():
            others = some([])
            for each in args:
                others = others | (each.axes - op.seen)
            fields = op.inputs, op.output
            wide = others + op.inner
            return VertexMap(op.vertex, args, wide, op.element_type, fields, op.seen, op.inner)
    raise AssertionError(type(op))


# -- vertices --------------------------------------------------------------------------------------


def _of_vertices(
    vertex: type[Vertex], args: tuple[Op, ...], others: Axes, seen: Axes, out_axes: AxesLike
) -> Op:
    fields = [each for each in vertex.fields.values() if each.is_edge]
    outputs = [each for each in fields if each.writes and not each.reads]
    inputs = [each for each in fields if each.reads and not each.writes]
    if len(outputs) != 1 or len(inputs) != len(args) or len(inputs) + 1 != len(fields):
        raise AxisError(
            f"nmap: {vertex.__name__} has {amount(len(inputs), 'input')} and "
            f"{amount(len(outputs), 'output')}, but nmap was given {amount(len(args), 'tensor')}",
            found=", ".join(each.name for each in fields) + "\n" + texts_of(args),
            fix="declare an Input field for each tensor, and one Output field",
        )
    for field, x in zip(inputs, args, strict=True):
        _check_field(vertex, field, x, x.axes & seen)
    (output,) = outputs
    inner = seen if out_axes is None and _is_vector(output) else axes_of(out_axes)
    names = [each.name for each in inputs], output.name
    return VertexMap(vertex, args, others + inner, output.element, names, seen, inner)


def _is_vector(field: Field) -> bool:
    return field.depth > 0


def _check_field(vertex: type[Vertex], field: Field, x: Op, seen: Axes) -> None:
    if bool(seen.items) != _is_vector(field) or field.element is not x.element_type:
        raise AxisError(
            f"nmap: field '{field.name}' of {vertex.__name__} does not take {x.element_type!r} "
            f"along {seen}",
            found=f"the field is {field!r}; {x.text}",
            fix="declare a Vector of that type for listed axes, or a number if there are none",
        )
