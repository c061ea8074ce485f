"""Checks of the arguments of recorded operations, all before anything is recorded.

For example:

    x = operand("ops.sort", x, program)         a tensor, or an expression that can be stored
    check_type("ops.sort", x, ORDERED)
    dim = dimension("ops.sort", x, dim)
    place = steps_for("ops.sort", graph_of("ops.sort", x, program), name, program)
    x = stored(x, ...)                          only now does the graph change

A call that raises leaves the graph and the program unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from operator import index as whole_number
from typing import Any

from poplite.errors import (
    ElementTypeError,
    GraphConnectionError,
    InvalidOption,
    SizeOverflowError,
    TensorCreationError,
    TensorIndexError,
    checked_kind,
)
from poplite.expr.build import apply, as_expr, cast, contraction, reduction
from poplite.expr.operand import Operand, as_read
from poplite.expr.operations import CAST
from poplite.expr.tree import (
    Applied,
    Argument,
    Contraction,
    ElementClass,
    Expr,
    Leaf,
    Reduction,
    Weak,
    formula,
    new_parts,
)
from poplite.graph.graph import Graph
from poplite.graph.space import checked_name
from poplite.graph.tensor.arguments import no_tensor
from poplite.graph.tensor.tensor import Tensor, check_own
from poplite.graph.tensor.tensor_text import type_and_shape, why_not_writeable
from poplite.program import Sequence as Steps
from poplite.program.control import check_graph
from poplite.program.recording import graph_for, innermost, target
from poplite.text import amount, clipped, clipped_text, integer_or_none, of_type
from poplite.types import FLOAT, HALF, INT, INTEGERS, SHORT, UNSIGNED_INT, type_text
from poplite.walks import bottom_up, top_down

Given = Tensor | Expr
"""An operand as given: a tensor, or an expression that is stored first."""

FLOATS: tuple[ElementClass, ...] = (FLOAT, HALF)

NUMBERS: tuple[ElementClass, ...] = (*FLOATS, *INTEGERS)
"""Element types with arithmetic, except QUARTER."""

INDICES: tuple[ElementClass, ...] = (INT, UNSIGNED_INT)

BITS: dict[int, ElementClass] = {
    each.size_bytes: each for each in INTEGERS if each.dtype.kind == "u"
}


def operand(what: str, x: object, program: Steps | None = None, role: str = "") -> Given:
    """Return a tensor, or an expression that `ops.map` can store; otherwise raise."""
    x = as_read(x)
    if isinstance(x, Tensor):
        return x
    if not isinstance(x, Expr):
        raise no_tensor(_argument(what, role), x)
    check_closed(what, x)
    graph = graph_of(what, x, program)
    for tensor in x.leaves:
        check_own(graph, tensor, what)
        assert isinstance(tensor, Tensor)
        check_placed(tensor)
    return x


def own_operand(
    what: str, graph: Graph, x: object, program: Steps | None = None, role: str = ""
) -> Given:
    """Return an operand of a graph, or raise."""
    found = operand(what, as_read(x, graph), program, role)
    for tensor in found.leaves if isinstance(found, Expr) else (found,):
        check_own(graph, tensor, _argument(what, role))
    return found


def operand_beside(
    what: str,
    graph: Graph,
    program: Steps | None,
    role: str,
    x: object,
    shape: tuple[int, ...],
    other: tuple[str, Given],
) -> Given:
    """Return an operand of the given shape and of the type of another operand, or raise."""
    made = own_operand(what, graph, x, program, role)
    check_like(what, role, made, shape, other)
    check_placed(made)
    return made


def check_like(
    what: str, role: str, x: Given, shape: tuple[int, ...], other: tuple[str, Given]
) -> None:
    """Raise unless an operand has a given shape, and the type of another operand."""
    other_role, like = other
    if x.shape != shape or x.element_type is not like.element_type:
        found = f"{other_role} {called(like)} is {described(like)}"
        raise unfit(what, role, x, f"{role} of {like.element_type!r} {list(shape)}", found)


def unfit(what: str, role: str, x: Given, asked: str, found: str = "") -> TensorCreationError:
    """Return the error for an operand of the wrong type or shape; `asked` describes a valid one."""
    return TensorCreationError(
        f"{what}: {role} {called(x)} is {described(x)}", found=found, fix=f"pass {asked}"
    )


def wrong_kind(what: str, value: object, fault: str, fix: str) -> TensorCreationError:
    """Return the error for an argument of the wrong kind; `fault` says why: "is not a plan"."""
    return TensorCreationError(f"{what}: {clipped(value)} {fault}", found=of_type(value), fix=fix)


def _argument(what: str, role: str) -> str:
    return f"{what}, {role}" if role else what


def the_tensor(what: str, role: str, x: object) -> Tensor:
    """Return a tensor, or raise if it is not one."""
    if not isinstance(x, Tensor):
        raise no_tensor(f"{what}, {role}", x)
    return x


def graph_of(what: str, x: Operand, program: Steps | None, *others: object) -> Graph:
    """Return the graph on whose tiles an operation works; `others` are its other operands.

    It is the graph of the first operand, or of the open block for an expression without tensors.
    """
    tensors = [*tensors_of(x, *others)]
    if tensors:
        return graph_for(tensors[0].graph, tensors, program)
    assert isinstance(x, Expr)
    if program is None and not isinstance(x, Weak):
        return graph_for(innermost(what).graph.top_level_graph, (), None)
    raise ElementTypeError(
        f"{what}: the operands contain no tensor",
        found=formula(x),
        fix="pass out=tensor, or call ops.lower(graph, [expression], program)",
    )


def tensors_of(*operands: object) -> Iterator[Tensor]:
    """Yield the tensors among operands, and those that expressions read."""
    seen: set[Expr] = set()  # operands may share their parts
    for each in operands:
        if isinstance(each, Expr):
            found = [node.tensor for node in new_parts(each, seen) if isinstance(node, Leaf)]
            yield from (tensor for tensor in found if isinstance(tensor, Tensor))
        elif isinstance(each, Tensor):
            yield each


def steps_for(what: str, graph: Graph, name: object, program: Steps | None) -> Steps:
    """Return the receiver of the steps of an operation, whose name is checked."""
    check_name(what, name)
    return target(graph, program, what)


def check_name(what: str, name: object) -> None:
    """Raise for a name of an operation that is not text."""
    checked_name(name, "step", f'{what.partition("(")[0]}(..., name="first")')


def called(x: Operand) -> str:
    """Return the text for an operand in messages: the name of a tensor, or the formula."""
    if isinstance(x, Tensor):
        return f"'{x.name}'"
    assert isinstance(x, Expr)
    return f"'{clipped_text(formula(x), 40)}'"


def described(x: Given) -> str:
    """Return the element type and the shape of an operand."""
    if isinstance(x, Tensor):
        return type_and_shape(x)
    return f"{type_text(x.element_type)}{list(x.shape)}"


def check_closed(what: str, expr: Expr) -> None:
    """Raise for an expression whose type or shape is not known."""
    if isinstance(expr, Weak):
        raise ElementTypeError(
            f"{what}: {clipped(expr.value)} alone has no element type",
            found=of_type(expr.value),
            fix="pass out=tensor, or use graph.add_constant(element_type, (), value)",
        )
    if expr.is_open:
        raise ElementTypeError(
            f"{what}: the arguments of the expression have no tensors",
            found=formula(expr),
            fix="call ops.map(expression, [tensors]), with out= for an existing tensor",
        )


def check_placed(*tensors: Given) -> None:
    """Raise for a tensor with an unmapped element."""
    for tensor in tensors:
        if isinstance(tensor, Tensor):
            tensor.graph.tile_mapping(tensor)


def check_type(what: str, x: Given, types: Iterable[ElementClass], role: str = "") -> None:
    """Raise for an operand of an element type that is not in `types`."""
    if x.element_type not in types:
        raise ElementTypeError(
            f"{_argument(what, role)}: {called(x)} is {x.element_type!r}",
            found=described(x),
            fix="convert it with ops.cast to one of " + ", ".join(repr(each) for each in types),
        )


def check_writeable(what: str, role: str, tensor: Tensor) -> None:
    """Raise for a tensor whose elements cannot be written at once, each by one vertex."""
    if tensor.is_parallel_writeable():
        return
    reason, fact = why_not_writeable(tensor)
    raise GraphConnectionError(
        f"{what}: {role} '{tensor.name}' {reason}",
        found=fact,
        fix="pass a variable from graph.add_variable, with each element once",
    )


def writeable(what: str, x: object) -> Tensor:
    """Return a tensor to change in place, or raise."""
    tensor = the_tensor(what, "x", x)
    check_writeable(what, "x", tensor)
    return tensor


def dimension(what: str, x: Given, dim: object) -> int:
    """Return a dimension of an operand; negative ones count from the last."""
    try:
        number = whole_number(dim)  # type: ignore[arg-type]  # checked by this call
    except TypeError:
        raise TensorIndexError(
            f"{what}: dim={clipped(dim)} is not a dimension",
            found=of_type(dim),
            fix="pass a whole number, such as dim=0",
        ) from None
    if not -x.rank <= number < x.rank:
        raise TensorIndexError(
            f"{what}: there is no dimension {clipped(number)} in {called(x)}, which has {x.rank}",
            found=described(x),
            fix=f"pass a dimension from {-x.rank} to {x.rank - 1}"
            if x.rank
            else "use x.reshape((1,))",
        )
    return number % x.rank


def count_of(what: str, name: str, value: object, least: int = 0, end: int | None = None) -> int:
    """Return an integer that is at least `least` and less than `end`."""
    number = integer_or_none(value)
    if number is None:
        raise invalid_value(what, name, value, f"a whole number, such as {name}=1")
    if number < least or (end is not None and number >= end):
        asked = f"of at least {least}" if end is None else f"from {least} to {end - 1}"
        raise SizeOverflowError(
            f"{what}: {name} is {clipped(number)}", fix=f"pass a number {asked}"
        )
    return number


def counts_of(what: str, name: str, values: object) -> tuple[int, ...]:
    """Return the sizes in a list, which must be non-negative integers."""
    if not isinstance(values, Sequence) or isinstance(values, str):
        raise invalid_value(
            what, name, values, f"a size for each dimension, such as {name}=(28, 28)"
        )
    return tuple(count_of(what, name, size) for size in values)


def invalid_value(what: str, name: str, value: object, asked: str) -> InvalidOption:
    """Return the error for an argument with an invalid value."""
    return InvalidOption(
        f"{what}: {name} is {clipped(value)}", found=of_type(value), fix=f"pass {asked}"
    )


def check_parts(
    plan: str, made_by: str, graph: object, part: str, value: object, kind: type
) -> None:
    """Raise unless the arguments are a graph and the result of planning for it."""
    check_graph(f"ops.{plan}(graph, {part})", graph)
    checked_kind(value, kind, f"ops.{plan}: {part}", f"make a plan with ops.{made_by}(graph, ...)")


def bits_of(tensor: Tensor) -> Tensor:
    """Return a tensor as unsigned integers with the same bits, only for moving elements."""
    element: Any = BITS[tensor.element_type.size_bytes]
    return tensor if tensor.element_type is element else tensor.reinterpret(element)


def ordered_bits(x: Tensor) -> Tensor:
    """Return the elements as integers that determine their order; for floats, signed integers."""
    if x.element_type in FLOATS:
        return x.reinterpret(INT if x.element_type is FLOAT else SHORT)
    return x


# -- placeholders for tensors in expressions: ops.arg(0), ops.arg(1) -------------------------------


def argument(index: int) -> Expr:
    """Return a placeholder for a tensor; see `poplite.ops.arg`."""
    if isinstance(index, bool) or not isinstance(index, int) or index < 0:
        raise TensorIndexError(
            f"ops.arg: index must be a non-negative whole number; found {clipped(index)}",
            found=of_type(index),
            fix="use ops.arg(0), ops.arg(1), ...",
        )
    return Argument(index)


def bind(expr: Expr, values: Sequence[object], what: str) -> Expr:
    """Return an expression with tensors in place of its arguments."""
    made: dict[Expr, Expr] = {}

    def made_of(node: Expr) -> Expr:
        if not node.is_open or isinstance(node, Weak):
            return node
        if isinstance(node, Argument):
            if node.number >= len(values):
                raise TensorIndexError(
                    f"{what}: ops.arg({node.number}) needs at least "
                    f"{amount(node.number + 1, 'tensor')}; found {len(values)}",
                    found=formula(expr),
                    fix=f"pass a list of at least {amount(node.number + 1, 'tensor')} after the "
                    "expression",
                )
            return as_expr(values[node.number], what)
        operands = [made[each] for each in node.operands]
        if isinstance(node, Reduction):
            return reduction(node.how, operands[0], node.dims, node.keepdims)
        if isinstance(node, Contraction):
            one, other = operands
            result = node.element_type
            return contraction(one, other, node.how, result=result, what="ops.matmul")
        assert isinstance(node, Applied)
        if node.operation is CAST:
            return cast(operands[0], node.element_type)
        plain = [each.value if isinstance(each, Weak) else each for each in operands]
        return apply(node.operation.name, *plain)

    for node in bottom_up([expr], _open_operands):
        made[node] = made_of(node)
    return made[expr]


def _open_operands(node: Expr) -> Sequence[Expr]:
    return node.operands if node.is_open else ()


def number_of_arguments(expr: Expr) -> int:
    """Return the number of tensors that the arguments of an expression need."""
    nodes = top_down([expr], _open_operands)
    return max((node.number + 1 for node in nodes if isinstance(node, Argument)), default=0)
