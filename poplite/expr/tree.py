"""Expressions as trees of nodes, without values or a graph; `formula` writes them as text.

For example:

    (x - y) ** 2        Applied(square, Applied(subtract, Leaf(x), Leaf(y)))
    x * 0.5             Applied(multiply, Leaf(x), Number(0.5, FLOAT))
    ops.sum(x, [0])     Reduction(add, Leaf(x), dims 0)
    a @ b               Contraction(Leaf(a), Leaf(b))
    (x - y) in columns  ViewExpr(Applied(subtract, Leaf(x), Leaf(y)), how)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from poplite.errors import ElementTypeError, not_called, refuse_methods
from poplite.expr.numpy_names import absent_method
from poplite.expr.operand import Equality, Operand, equal_instead
from poplite.frozen import frozen
from poplite.poplar.callable_values import CalledInt, CalledShape
from poplite.source import SourceLocation, here
from poplite.text import clipped_text
from poplite.types import ElementType, type_text
from poplite.walks import top_down

if TYPE_CHECKING:
    import numpy as np

    from poplite.expr.operations import ElementOperation

ElementClass = type[ElementType[Any]]
Shape = tuple[int, ...]


class Expr(Operand):
    """A formula over tensors: a shape, an element type, and operands.

    It is computed when it is passed to `ops.map`, `ops.assign` or `ops.lower`; by itself it takes
    no memory or time on a device. Two expressions are the same only if they are one object.

    Attributes:
        operands: the expressions that it consists of.
        shape: the size of each dimension; None while it has arguments (`ops.arg`).
        element_type: the type of its elements; None while it has arguments.
        location: the user's line that created it.
        label: the function that a user called, if that consists of several operations; else "".
        origin: the operation of another layer that it belongs to, repeated in notes; else None.

    >>> import poplite as pl
    >>> graph = pl.Graph()
    >>> x, b = (graph.add_variable(pl.FLOAT, s, n) for s, n in (((4, 6), "x"), ((6,), "b")))
    >>> x * 0.5 + b
    <Expr x * 0.5 + b float32[4, 6]>
    """

    __slots__ = ("element_type", "label", "location", "operands", "origin", "_shape")
    operands: tuple[Expr, ...]

    def __init__(
        self,
        operands: tuple[Expr, ...],
        shape: Shape | None,
        element_type: ElementClass | None,
    ) -> None:
        if type(self) is Expr:
            raise not_called("Expr", "tensor + 1, ops.where(...), or another operation")
        self.operands = operands
        self._shape = None if shape is None else CalledShape(shape)
        self.element_type: ElementClass = element_type  # type: ignore[assignment]
        self.location: SourceLocation = here()
        self.label: str = ""
        self.origin: object = None

    @property
    def shape(self) -> CalledShape:
        """Size of each dimension."""
        return self._shape  # type: ignore[return-value]

    @property
    def is_open(self) -> bool:
        """Whether it has arguments, so that its shape and type are not known yet."""
        return self._shape is None

    @property
    def rank(self) -> CalledInt:
        """Number of dimensions."""
        return CalledInt(len(self._known_shape()))

    @property
    def num_elements(self) -> CalledInt:
        """Number of elements."""
        return CalledInt(math.prod(self._known_shape()))

    def _known_shape(self) -> Shape:
        if self._shape is None:
            raise _refused(
                self, "an expression with arguments has no shape yet", "use ops.map(e, [tensors])"
            )
        return self._shape

    @property
    def leaves(self) -> tuple[Operand, ...]:
        """The tensors that it reads, each once, in the order of the formula."""
        found: dict[int, Operand] = {}
        for node in new_parts(self):
            if isinstance(node, Leaf):
                found.setdefault(id(node.tensor), node.tensor)
        return tuple(found.values())

    def __repr__(self) -> str:
        text = clipped_text(formula(self), 120)
        if self.is_open:
            return f"<Expr {text}>"
        return f"<Expr {text} {type_text(self.element_type)}{list(self.shape)}>"

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            raise absent_method(self, name, f"use the operands, or {_STORE}")

    def __bool__(self) -> NoReturn:
        raise _refused(
            self,
            "an expression has no truth value",
            "use ops.where(p, a, b) or ops.maximum(a, b) for each element, or branch: "
            "`with ops.if_(ops.all(x > 0)):`, or ops.while_",
        )

    def __len__(self) -> NoReturn:
        raise _refused(self, "an expression has no len", "use its shape: e.shape[0]")

    def __iter__(self) -> NoReturn:
        raise _refused(self, "an expression cannot be iterated", _STORE)

    def __contains__(self, value: object) -> NoReturn:
        raise _refused(self, "'in' an expression", _STORE)

    def __getitem__(self, key: object) -> NoReturn:
        raise _refused(self, "an expression cannot be indexed", f"index its operands, or {_STORE}")

    @property
    def T(self) -> NoReturn:
        """Refused: an expression cannot be transposed; its operands can."""
        fix = f"transpose its operands, x.T + y.T, or {_STORE}, and t.T"
        if isinstance(self, Contraction):
            fix = f"use b.T @ a.T, which equals (a @ b).T, or {_STORE}, and t.T"
        elif not isinstance(self, Applied):
            fix = f"{_STORE}, and t.T"
        raise _refused(self, "an expression cannot be transposed", fix)

    def __array__(self, dtype: object = None, copy: object = None) -> NoReturn:
        raise _refused(
            self,
            "an expression has no values",
            f"{_STORE}, and call engine.read(t) after a run",
        )


_STORE = "store it first: t = ops.map(expression)"
_INDEX = "use i.tensor for the index of a loop as a tensor, or i + 0 as an expression"

_REFUSED = {
    "divmod rdivmod": ("divmod of an expression", "use x // y and x % y"),
    "pos": ("unary '+' of an expression", "use the expression without '+'"),
    "round": ("round of an expression", "ops.round(x)"),
    "floor": ("math.floor of an expression", "ops.floor(x)"),
    "ceil": ("math.ceil of an expression", "ops.ceil(x)"),
    "trunc": ("math.trunc of an expression", "ops.trunc(x)"),
    "float int complex index": (
        "an expression has no values",
        f"{_STORE}, and call engine.read(t) after a run",
    ),
}


def has_many(value: object) -> bool:
    """Return whether a value is an expression known not to have exactly one element."""
    shape = value._shape if isinstance(value, Expr) else None
    return shape is not None and math.prod(shape) != 1


def stored_first(value: object, otherwise: str) -> str:
    """Return the remedy if a tensor is needed: to store an expression first, or `otherwise`."""
    if isinstance(value, Equality):
        return equal_instead(value.module)
    if isinstance(value, Expr):
        return _STORE
    # Among other operands, only the index of a loop is not a tensor.
    return _INDEX if isinstance(value, Operand) else otherwise


def _refused(expr: Expr, what: str, fix: str) -> ElementTypeError:
    return ElementTypeError(what, found=repr(expr), fix=fix)


for _names, (_what, _fix) in _REFUSED.items():
    refuse_methods(Expr, _names, partial(_refused, what=_what, fix=_fix))


class Leaf(Expr):
    """A tensor as an operand."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: Operand) -> None:
        super().__init__((), tensor.shape, tensor.element_type)
        self.tensor: Operand = tensor


class Number(Expr):
    """A number with an element type; `value` is a NumPy scalar of its dtype."""

    __slots__ = ("value",)

    def __init__(self, value: np.generic, element_type: ElementClass) -> None:
        super().__init__((), (), element_type)
        self.value: np.generic = value


class Weak(Expr):
    """A Python number combined with arguments, which has no element type yet."""

    __slots__ = ("value",)

    def __init__(self, value: bool | int | float) -> None:
        super().__init__((), None, None)
        self.value: bool | int | float = value


class Argument(Expr):
    """A placeholder for a tensor: `ops.arg(0)` is the first tensor passed."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        super().__init__((), None, None)
        self.number: int = number


def labelled(expr: Expr, label: str) -> Expr:
    """Set the label of an expression: the function that built it from several operations."""
    expr.label = label
    return expr


class Applied(Expr):
    """An elementwise operation on its operands."""

    __slots__ = ("operation",)

    def __init__(
        self,
        operation: ElementOperation,
        operands: tuple[Expr, ...],
        shape: Shape | None,
        element_type: ElementClass | None,
    ) -> None:
        super().__init__(operands, shape, element_type)
        self.operation: ElementOperation = operation


class IotaExpr(Expr):
    """Integers from `start`, by position in row-major order."""

    __slots__ = ("start",)

    def __init__(self, shape: Shape, element_type: ElementClass, start: int) -> None:
        super().__init__((), shape, element_type)
        self.start: int = start


class Reduction(Expr):
    """Many elements along dimensions combined into one.

    Attributes:
        how: "add", "mul", "min", "max", "logical_and" or "logical_or".
        dims: the dimensions of the operand that are reduced, ascending; while it has arguments,
            as the user passed them, with None for all.
        keepdims: whether these dimensions stay, with size 1.
    """

    __slots__ = ("dims", "how", "keepdims")
    how: str
    keepdims: bool

    def __init__(
        self,
        how: str,
        operand: Expr,
        dims: tuple[int, ...] | None,
        keepdims: bool,
        shape: Shape | None,
        element_type: ElementClass | None,
    ) -> None:
        super().__init__((operand,), shape, element_type)
        self.how, self.keepdims = how, keepdims
        self.dims: tuple[int, ...] = dims  # type: ignore[assignment]


class Contraction(Expr):
    """A matrix product, [..., m, k] by [..., k, n]; a vector is a row or a column.

    Attributes:
        how: the options for its plan, or the plan; None for the default plan.
    """

    __slots__ = ("how",)

    def __init__(
        self,
        left: Expr,
        right: Expr,
        how: Hashable,
        shape: Shape | None,
        element_type: ElementClass | None,
    ) -> None:
        super().__init__((left, right), shape, element_type)
        self.how: Hashable = how


class ViewExpr(Expr):
    """A view of the tensors that store other expressions.

    Attributes:
        how: creates the view from these tensors. Equal values create equal views.
    """

    __slots__ = ("how",)

    def __init__(
        self,
        operands: tuple[Expr, ...],
        how: Callable[..., Operand],
        shape: Shape,
        element_type: ElementClass,
    ) -> None:
        super().__init__(operands, shape, element_type)
        self.how: Callable[..., Operand] = how


OPERANDS = attrgetter("operands")
"""The operands of an expression, for walks."""


def new_parts(expr: Expr, seen: set[Expr] | None = None) -> list[Expr]:
    """Return an expression and its parts, as in the formula, except for those in `seen`."""
    return top_down([expr], OPERANDS, seen=seen)


# -- views -----------------------------------------------------------------------------------------


def viewed(
    operands: Sequence[Expr],
    how: Callable[..., Operand],
    shape: Shape,
    element: ElementClass,
) -> Expr:
    """Return a view of the values of expressions, which is created once they are all stored.

    Args:
        operands: the expressions to view.
        how: creates the view from their tensors; it is compared and hashed to find equal views.
        shape: the shape of the view.
        element: the element type of the view.
    """
    if all(isinstance(each, Leaf) for each in operands):
        return Leaf(how(*[each.tensor for each in operands if isinstance(each, Leaf)]))
    return ViewExpr(tuple(operands), how, shape, element)


def reshaped(x: Expr, shape: Shape) -> Expr:
    """Return an expression in another shape."""
    return x if x.shape == shape else viewed([x], Reshaped(shape), shape, x.element_type)


@frozen
class Reshaped:
    """Creates a view of a tensor in another shape."""

    shape: Shape

    def __call__(self, x: Any) -> Operand:
        """Return the view."""
        view: Operand = x.reshape(self.shape)
        return view


# -- expressions as text, with the names of their tensors ------------------------------------------

Node = TypeVar("Node")

Writer = Callable[..., str]
"""Writes a node as an operand with a precedence, on the right side or not."""

PRECEDENCE = {
    **dict.fromkeys(("<", "<=", ">", ">="), 1),
    "|": 2,
    "^": 3,
    "&": 4,
    **dict.fromkeys(("<<", ">>"), 5),
    **dict.fromkeys(("+", "-"), 6),
    **dict.fromkeys(("*", "@", "/", "//", "%"), 7),
    "unary": 8,
    "**": 9,
    "name": 10,
}
"""The precedence of Python's operators."""

REDUCTIONS = {"add": "sum", "mul": "prod", "logical_and": "all", "logical_or": "any"}
"""Names of reductions in `poplite.ops`, if they differ."""

MOST_NODES, MOST_LEVELS = 200, 60
"""Limits for the text of a formula, which can be very long or deep if parts are shared."""


def formula(expr: Expr, most_nodes: int = MOST_NODES) -> str:
    """Return an expression as text, with three dots for the parts beyond `most_nodes`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> formula(-(x + 1) * pl.ops.exp(x))
    '-(x + 1.0) * exp(x)'
    """
    return bracketed(expr, _with_precedence, most_nodes, MOST_LEVELS)


def bracketed(
    node: Any,
    with_precedence: Callable[[Any, Writer], tuple[str, int]],
    most_nodes: int,
    most_levels: int,
) -> str:
    """Return a tree as text with the necessary brackets, with dots for parts that are too long."""
    left, levels = [most_nodes], [most_levels]

    def written(node: Any, above: int, is_right: bool = False) -> str:
        left[0] -= 1
        if left[0] < 0 or not levels[0]:
            return "..."
        levels[0] -= 1
        text, precedence = with_precedence(node, written)
        levels[0] += 1
        return f"({text})" if precedence < above + is_right else text

    return written(node, 0)


def operation_name(expr: Expr) -> str:
    """Return the name in `poplite.ops` of the outermost operation, or ""."""
    if isinstance(expr, Reduction):
        return REDUCTIONS.get(expr.how, expr.how)
    if isinstance(expr, Contraction):
        return "matmul"
    return expr.operation.name if isinstance(expr, Applied) else ""


def step_name(expr: Expr) -> str:
    """Return the name for a step that stores an expression: its label, or its operation."""
    return expr.label or operation_name(expr)


def _with_precedence(node: Expr, written: Writer) -> tuple[str, int]:
    name = PRECEDENCE["name"]
    match node:
        case Applied():  # first, as most nodes are of this class
            return applied(node.operation, node.operands, node.element_type, written)
        case Leaf():
            return node.tensor._in_formula(), name
        case Number():
            return number_text(node.value.item())
        case Weak():
            return number_text(node.value)
        case Argument():
            return f"arg({node.number})", name
        case IotaExpr():
            return f"iota({list(node.shape)})", name
        case Reduction():
            dims = "".join(f", {d}" for d in node.dims or ())
            return f"{operation_name(node)}({written(node.operands[0], 0)}{dims})", name
        case Contraction():
            own = PRECEDENCE["@"]
            left, right = node.operands
            return f"{written(left, own)} @ {written(right, own, True)}", own
        case ViewExpr():
            return f"view({', '.join(written(each, 0) for each in node.operands)})", name
    raise AssertionError(type(node))


def number_text(value: Any) -> tuple[str, int]:
    """Return a number as text and its precedence; a negative number binds like unary minus."""
    text = repr(value)
    return text, PRECEDENCE["unary" if text.startswith("-") else "name"]


def applied(
    operation: ElementOperation,
    operands: Sequence[Node],
    element_type: ElementClass | None,
    written: Callable[..., str],
) -> tuple[str, int]:
    """Return an operation on operands as text, and its precedence.

    Args:
        operation: the operation.
        operands: the operands for `written`.
        element_type: the type of the result, which a cast names.
        written: writes an operand with a precedence, on the right side or not.
    """
    symbol = operation.symbol
    if operation.name == "square":
        return f"{written(operands[0], PRECEDENCE['**'] + 1)} ** 2", PRECEDENCE["**"]
    if symbol and len(operands) == 1:
        return f"{symbol}{written(operands[0], PRECEDENCE['unary'])}", PRECEDENCE["unary"]
    if symbol:
        own = PRECEDENCE[symbol]
        is_power = symbol == "**"
        first = written(operands[0], own, is_power)
        return f"{first} {symbol} {written(operands[1], own, not is_power)}", own
    parts = [written(each, 0) for each in operands]
    if operation.name == "cast":
        parts.append(repr(element_type))
    return f"{operation.name}({', '.join(parts)})", PRECEDENCE["name"]
