"""A tensor with named axes: one node in a graph of named operations.

For example:

    x - y        Elementwise("subtract", x, y)     nothing is computed, merged or stored
    x[H, 0]      Slice(x, {H: 0})                  a view, which keeps the other axes

A node is pure: its value is determined where a computation reads it.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeVar

import numpy as np

from poplite.errors import AbsentMember, AxisError, ElementTypeError, did_you_mean, not_called
from poplite.expr.build import NUMPYS_REDUCTIONS
from poplite.expr.operand import Equality, is_value, not_compared
from poplite.expr.tree import ElementClass
from poplite.named.axes import Axes, Axis
from poplite.named.changed_axes import spelled
from poplite.public import OF_DIMENSIONS, misfit
from poplite.source import SourceLocation, here
from poplite.text import clipped, of_type
from poplite.types import FLOAT
from poplite.walks import bottom_up

if TYPE_CHECKING:
    from poplite.named.description import TensorDescription
    from poplite.named.tensors import TensorOp


F = TypeVar("F", bound="Callable[..., Any]")

AnyOp = TypeVar("AnyOp", bound="Op")

Operator = Callable[["Op", Any], "Op"]
InPlace = Callable[["Op", Any], Any]


MAKERS: dict[str, Callable[..., Any]] = {}
"""Functions that make the results of operators; added by modules that import this one."""


def makes(name: str) -> Callable[[F], F]:
    """Return the decorator for the function that makes an operator's result."""

    def kept(maker: F) -> F:
        MAKERS[name] = maker
        return maker

    return kept


def _operators(name: str) -> tuple[Operator, Operator]:
    """Return the two methods of an operator, the second with reflected operands."""

    def operator(self: Op, other: Any) -> Op:
        made: Op = MAKERS["pair"](name, self, other)
        return made

    def reflected(self: Op, other: Any) -> Op:
        made: Op = MAKERS["pair"](name, other, self)
        return made

    return operator, reflected


def _in_place(name: str) -> InPlace:
    """Return the method of an augmented assignment, which `ng.steps()` records as an assignment.

    It returns the tensor itself or an expression; only the type Any lets `w -= 1` keep w's type.
    """

    def operator(self: Op, other: Any) -> Any:
        if MAKERS["assign in place"](name, self, other):
            return self
        return getattr(self, name)(other)

    return operator


def written_as(name: str, made: AnyOp) -> AnyOp:
    """Return the last operation that a function makes, under the name of that function.

    >>> import poplite.named as ng
    >>> ng.mean(ng.placeholder([ng.make_axis(3, "H")]), ...)
    <mean () FLOAT>
    """
    made.written = name
    return made


class Op:
    """A tensor whose dimensions are axes: a value, or the result of an operation.

    Operators pair axes, in any order; axes that only one operand has are broadcast. `==` compares
    objects, `ng.equal` elements.

    Attributes:
        axes: its axes, in its order.
        dtype: the element type; None for a Python number, which takes that of the other operand.
        args: the operations from which it is computed.
        name: the name in messages and pictures.
        line: the user's line that made it.
        adjoints: the adjoints that `deriv` computed for it, by the error; None before.
        written: the function that a user called, if it consists of several operations; else empty.

    >>> import poplite.named as ng
    >>> H, W = ng.make_axis(3, "H"), ng.make_axis(4, "W")
    >>> x, y = ng.placeholder([H, W], name="x"), ng.placeholder([W], name="y")
    >>> z = x * y + 1
    >>> z, z.shape, [each.name for each in z.placeholders()]
    (<add (H:3, W:4) FLOAT>, (3, 4), ['x', 'y'])
    """

    __slots__ = ("axes", "dtype", "args", "name", "line", "adjoints", "written", "_labels")
    axes: Axes
    dtype: ElementClass | None
    args: tuple[Op, ...]
    name: str
    written: str
    shown_type: ClassVar[str] = "Op"
    """The type of every operation, for messages."""
    what: ClassVar[str] = "operation"
    """The name of the operation."""
    holds_values: ClassVar[bool] = False
    """Whether it is a tensor with storage, a `TensorOp`."""

    def __init__(
        self, axes: Axes, dtype: ElementClass | None, args: tuple[Op, ...], name: str = ""
    ) -> None:
        if type(self) is Op:
            raise not_called("Op", "use ng.placeholder([H]), and operations on it")
        self.axes, self.dtype, self.args = axes, dtype, args
        self.name, self.written = name, ""
        self.line: SourceLocation = here(2)
        self.adjoints: dict[Op | None, dict[Op, Op]] | None = None
        self._labels: Mapping[str, str] | None = LABELS[-1] if LABELS else None

    # -- facts -------------------------------------------------------------------------------------

    @property
    def called(self) -> str:
        """The name in messages and pictures: the function that made it, or its operation."""
        return self.written or self.what

    @property
    def shape(self) -> tuple[Any, ...]:
        """The length of each axis; None for a length that is not set."""
        return self.axes.lengths

    @property
    def metadata(self) -> dict[str, str]:
        """The labels that a user set with `ng.metadata`."""
        return dict(self._labels or {})

    @property
    def rank(self) -> int:
        """The number of axes."""
        return len(self.axes)

    @property
    def element_type(self) -> ElementClass:
        """The element type; FLOAT for a Python number."""
        return FLOAT if self.dtype is None else self.dtype

    @property
    def read_only(self) -> bool:
        """Whether it cannot be assigned to, such as a constant, a result, or a view of one.

        This also holds for a view that repeats an element; other views are like their tensors.
        """
        return self.tensor_description.read_only

    @property
    def tensor_description(self) -> TensorDescription:
        """Its axes and type, and the steps that make it a view of its storage."""
        made: TensorDescription = MAKERS["description"](self)
        return made

    @property
    def text(self) -> str:
        """The description in messages: `'x' (N:8, H:3), placeholder made at model.py:8`."""
        name = f"'{self.name}' " if self.name else ""
        return f"{name}{self.axes}, {self.called} made at {self.line}"

    def explain(self) -> str:
        """Return how it is computed: a line for each operation, with its axes and source line.

        Tensors have their layout, and views of them the resulting strides.
        """
        nodes = nodes_below([self])
        names = {node: node.name or f"{node.called}{n}" for n, node in enumerate(nodes)}
        lines = []
        for node in nodes:
            of = ", ".join(names[each] for each in node.args)
            description = node.tensor_description
            what = f"{node.called} of {of}" if of else node.called
            if description.is_view and description.fixed:
                what += f", a view: strides {description.strides}, offset {description.offset}"
            elif description.is_view:
                what += ", a view"
            elif not of and node.dtype is not None:
                layout = description.layout
                what += ", layout free" if layout is None else f", {layout!r}"
            kind = "a number" if node.dtype is None else repr(node.dtype)
            lines.append(f"{names[node]:<16} {node.axes} {kind}  {what}  {node.line}")
        return "\n".join(lines)

    def placeholders(self) -> list[TensorOp]:
        """Return the placeholders from which it is computed, in order of creation."""
        return [each for each in self.leaves() if each.input]

    def variables(self) -> list[TensorOp]:
        """Return the trainable variables from which it is computed, in order of creation."""
        return [each for each in self.leaves() if each.trainable]

    def leaves(self) -> list[TensorOp]:
        """Return the tensors from which it is computed, in order of creation."""
        found: list[Any] = [each for each in nodes_below([self]) if each.holds_values]
        return sorted(found, key=lambda each: each.number)

    def __repr__(self) -> str:
        kind = "number" if self.dtype is None else repr(self.dtype)
        return f"<{self.called} {self.name + ' ' if self.name else ''}{self.axes} {kind}>"

    # -- operators ---------------------------------------------------------------------------------

    if not TYPE_CHECKING:  # otherwise a type checker would accept comparisons with numbers
        __hash__ = object.__hash__

        def __eq__(self, other: object) -> Equality:
            return self._compared("==", other)

        def __ne__(self, other: object) -> Equality:
            found = self._compared("!=", other)
            return found if found is NotImplemented else Equality(not found, "ng")

    def _compared(self, symbol: str, other: object) -> Any:
        """Return whether it is the same object as another; raise for values."""
        if isinstance(other, Op) or other is None:
            return Equality(other is self, "ng")
        if is_value(other):
            raise not_compared(symbol, "a named tensor", repr(self), other, "ng")
        return NotImplemented

    __add__: ClassVar[Operator]
    __radd__: ClassVar[Operator]
    __sub__: ClassVar[Operator]
    __rsub__: ClassVar[Operator]
    __mul__: ClassVar[Operator]
    __rmul__: ClassVar[Operator]
    __truediv__: ClassVar[Operator]
    __rtruediv__: ClassVar[Operator]
    __floordiv__: ClassVar[Operator]
    __rfloordiv__: ClassVar[Operator]
    __mod__: ClassVar[Operator]
    __rmod__: ClassVar[Operator]
    __pow__: ClassVar[Operator]
    __rpow__: ClassVar[Operator]
    __lt__: ClassVar[Operator]
    __gt__: ClassVar[Operator]
    __le__: ClassVar[Operator]
    __ge__: ClassVar[Operator]
    __iadd__: ClassVar[InPlace]
    __isub__: ClassVar[InPlace]
    __imul__: ClassVar[InPlace]
    __itruediv__: ClassVar[InPlace]
    __ifloordiv__: ClassVar[InPlace]
    __imod__: ClassVar[InPlace]
    __ipow__: ClassVar[InPlace]

    __add__, __radd__ = _operators("add")
    __sub__, __rsub__ = _operators("subtract")
    __mul__, __rmul__ = _operators("multiply")
    __truediv__, __rtruediv__ = _operators("divide")
    __floordiv__, __rfloordiv__ = _operators("floor_divide")
    __mod__, __rmod__ = _operators("remainder")
    __pow__, __rpow__ = _operators("power")
    __lt__, __gt__ = _operators("less")[0], _operators("greater")[0]
    __le__, __ge__ = _operators("less_equal")[0], _operators("greater_equal")[0]
    __iadd__, __isub__ = _in_place("__add__"), _in_place("__sub__")
    __imul__, __itruediv__ = _in_place("__mul__"), _in_place("__truediv__")
    __ifloordiv__, __imod__ = _in_place("__floordiv__"), _in_place("__mod__")
    __ipow__ = _in_place("__pow__")

    def __neg__(self) -> Op:
        return _apply("negative", self)

    def __abs__(self) -> Op:
        return _apply("absolute", self)

    def __getitem__(self, key: Any) -> Op:
        made: Op = MAKERS["slice"](self, key)
        return made

    def __setitem__(self, key: Any, value: Any) -> None:
        MAKERS["assign"](self, key, value)

    # -- unsupported operators ---------------------------------------------------------------------

    if not TYPE_CHECKING:  # type checkers reject undeclared names

        def __getattr__(self, name: str) -> NoReturn:
            if name.startswith("_") or name in Op.__slots__:
                raise AttributeError(name)
            x = spelled(self)
            fix = instead_of_attribute(name, x, self.axes.names)
            if name in FUNCTIONS:
                fix = f"ng.{name}({x}, ...)"
            what = f"a named tensor has no '{name}'"
            if fix:
                raise AbsentMember(what, found=self.text, fix=fix)
            near = did_you_mean(name, [each for each in dir(Op) if each[0] != "_"])
            raise AttributeError(f"{what}{near}\n  {self.text}")

    def __bool__(self) -> NoReturn:
        raise self._refused(
            "a named tensor has no truth value while a graph is built",
            f"choose by element with ng.where({spelled(self)}, a, b)",
        )

    def __len__(self) -> NoReturn:
        lengths = ", ".join(f"{name}.length" for name in self.axes.names)
        raise self._refused("a named tensor has no len", lengths or f"{spelled(self)}.axes.size")

    def __iter__(self) -> NoReturn:
        one = f"{spelled(self)}[{self.axes.names[0] if self.axes.items else 'axis'}"
        raise self._refused("a named tensor cannot be iterated", f"{one}, 0], {one}, 1], ...")

    def __float__(self) -> NoReturn:
        what = "a named tensor cannot become a number while a graph is built"
        raise self._refused(what, self._values)

    __int__ = __float__
    __complex__ = __float__
    __index__ = __float__

    def __matmul__(self, other: object) -> NoReturn:
        x, y = spelled(self), _operand_text(other)
        shared = (self.axes & other.axes).names if isinstance(other, Op) else ()
        fix = f"use ng.dot({x}, {y}) to sum over {' and '.join(shared) or 'all shared axes'}"
        if len(shared) > 1:
            fix += f", or ng.dot({x}, {y}, axes=[{shared[-1]}]) for {shared[-1]} alone"
        raise self._refused("'@' does not say which axes are summed", fix)

    __rmatmul__ = __matmul__

    def __and__(self, other: object) -> NoReturn:
        self._refuse_bits("&", f"ng.logical_and({spelled(self)}, {_operand_text(other)})")

    def __or__(self, other: object) -> NoReturn:
        self._refuse_bits("|", f"ng.logical_or({spelled(self)}, {_operand_text(other)})")

    def __xor__(self, other: object) -> NoReturn:
        x, y = spelled(self, "(...)"), _operand_text(other)
        truths = f", or ng.not_equal({x}, {y}) for truth values" if isinstance(other, Op) else ""
        self._refuse_bits("^", f"{x} ** {y} for a power{truths}")

    def __rxor__(self, other: object) -> NoReturn:
        self._refuse_bits("^", f"{clipped(other)} ** {spelled(self, '(...)')} for a power")

    __rand__ = __and__
    __ror__ = __or__

    def __invert__(self) -> NoReturn:
        self._refuse_bits("~", f"ng.logical_not({spelled(self)})")

    def _refuse_bits(self, symbol: str, fix: str) -> NoReturn:
        raise self._refused(f"'{symbol}' is not defined for named tensors", fix)

    def __array__(self, dtype: object = None, copy: object = None) -> NoReturn:
        raise self._refused("a named tensor has no values while a graph is built", self._values)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **_: Any) -> Any:
        """Accept the operators of NumPy numbers, and reject NumPy functions and arrays."""
        name = "divide" if ufunc.__name__ == "true_divide" else ufunc.__name__
        if method == "__call__" and len(inputs) == 2 and name in _OPERATORS:
            return _apply(name, *inputs)
        if method == "__call__" and name in ("equal", "not_equal"):
            other = next(each for each in inputs if each is not self)
            return self == other if name == "equal" else self != other
        called = f"{name}.{method}" if method != "__call__" else ufunc.__name__
        fix = self._values
        if method == "reduce" and name in NUMPYS_REDUCTIONS:
            fix = f"ng.{NUMPYS_REDUCTIONS[name]}({spelled(self)}, reduction_axes=...)"
        elif method == "__call__" and name in FUNCTIONS:
            fix = f"ng.{name}({', '.join(map(_operand_text, inputs))})"
        raise self._refused(f"np.{called} needs values, which a named tensor does not have", fix)

    def __array_function__(self, function: Any, *_: object) -> NoReturn:
        """Reject NumPy functions, and suggest the function of the same name if there is one."""
        name = function.__name__
        fix = _JOINED.get(name, self._values)
        if name in FUNCTIONS:
            fix = f"ng.{name}({spelled(self)}, ...)"
        elif name in NUMPYS_REDUCTIONS.values():
            fix = f"ng.{name}({spelled(self)}, reduction_axes=...)"
        raise self._refused(f"np.{name} needs values, which a named tensor does not have", fix)

    def _refused(self, what: str, fix: str) -> AxisError:
        return AxisError(what, found=self.text, fix=fix)

    @property
    def _values(self) -> str:
        return VALUES.format(x=spelled(self))


FUNCTIONS: set[str] = set()
"""Names of elementwise functions, added by the module that defines them."""

_JOINED = {
    "concatenate": "ng.concat([x, y], axis)",
    "stack": "ng.stack([x, y], axis)",
    "transpose": "ng.axes_with_order(x, axes), if the order matters: axes pair in any order",
    "take": "ng.take(table, indices, axis)",
    "where": "ng.where(p, x, y)",
}
"""Replacements for NumPy functions that take lists or positions."""

_OPERATORS = frozenset(
    ["add", "subtract", "multiply", "divide", "floor_divide", "remainder", "power"]
    + ["less", "less_equal", "greater", "greater_equal"]
)
"""Operators that take NumPy numbers as the other operand."""


def _apply(name: str, *operands: Any) -> Op:
    made: Op = MAKERS["apply"](name, *operands)
    return made


def _operand_text(value: object) -> str:
    """Return the text of an operand for suggested fixes."""
    return spelled(value, "y") if isinstance(value, Op) else clipped(value)


def _shape_of(value: Any) -> tuple[int, ...] | None:
    """Return the shape of an array; None for ragged lists."""
    try:
        shape: tuple[int, ...] = np.shape(value)
        return shape
    except ValueError:
        return None


def as_op(value: Any, what: str) -> Op:
    """Return an operand: an operation, or a number as a constant without axes; raise for others."""
    if isinstance(value, Op):
        return value
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        value = value.item()
    if isinstance(value, bool | int | float):
        made: Op = MAKERS["number"](value)
        return made
    if isinstance(value, np.ndarray | list | tuple) and (shape := _shape_of(value)) is not None:
        raise AxisError(
            f"{what}: an array of shape {shape} has no axes",
            found=of_type(value),
            fix=f"ng.constant(array, [{axes_for(shape)}]), for {_lengths_text(shape)}",
        )
    if isinstance(value, Equality):
        raise value.refused(what)
    if getattr(value, "is_effect", False):
        raise AxisError(
            f"{what}: {value!r} changes tensors, and has no value",
            fix="pass it to a computation, or put it in ng.sequential",
        )
    raise ElementTypeError(
        f"{what}: {clipped(value)} is not a named tensor",
        found=of_type(value),
        fix="pass a tensor from ng.placeholder, ng.variable or ng.constant, or a number",
    )


def axes_for(shape: tuple[int, ...]) -> str:
    """Return names of axes, as examples, for the dimensions of an array."""
    return ", ".join("HWNCDEFG"[: len(shape)])


def texts_of(operands: Iterable[Op]) -> str:
    """Return operands as text for messages, one per line, without repetitions."""
    return "\n".join(dict.fromkeys(each.text for each in operands))


def nodes_below(roots: list[Op] | tuple[Op, ...]) -> list[Op]:
    """Return the nodes from which roots are computed, and the roots, each after its operands."""
    return bottom_up(roots, attrgetter("args"))


LABELS: list[Mapping[str, str]] = []
"""The labels of the open blocks of `metadata`, each including those of the outer blocks."""


@contextmanager
def metadata(**labels: str) -> Iterator[None]:
    """Label every operation that is created inside a block.

    Args:
        **labels: a text for each label.

    >>> import poplite.named as ng
    >>> x = ng.placeholder([ng.make_axis(3, "H")])
    >>> with metadata(layer="first"):
    ...     y = x + 1
    >>> y.metadata
    {'layer': 'first'}
    """
    LABELS.append({**(LABELS[-1] if LABELS else {}), **labels})
    try:
        yield
    finally:
        LABELS.pop()


# -- names in other libraries ----------------------------------------------------------------------


VALUES = "read its values with ng.make_transformer().computation({x})()"
"""The suggested fix for attributes that hold the values of a tensor."""

_ORDER = "ng.axes_with_order({x}, [{back}]), if the order matters: axes pair in any order"
_RESHAPED = "ng.flatten({x}, [{axes}]) and ng.unflatten, or ng.cast_axes({x}, axes)"

_BOTH = {
    "T dim_shuffle permute swapaxes t transpose": _ORDER,
    "amax": "ng.max({x}, reduction_axes=[{axis}])",
    "amin": "ng.min({x}, reduction_axes=[{axis}])",
    "astype": "ng.cast({x}, pl.INT)",
    "backward grad gradient": "ng.deriv(y, {x}), where y is computed from {x}",
    "clamp clip": "ng.minimum(ng.maximum({x}, low), high)",
    "gather index_select": "ng.take({x}, numbers, {axis})",
    "matmul mm": "ng.dot({x}, y), over the axes that both have, or axes=[{axis}]",
    "ravel": "ng.flatten({x}, [{axes}])",
    "rename": "ng.cast_axes({x}, axes)",
    "reshape view": _RESHAPED,
    "squeeze": "{x}[{axis}, 0]",
    "std": "ng.sqrt(ng.variance({x}, reduction_axes=[{axis}]))",
    "unsqueeze": "ng.expand_dims({x}, axis)",
    "var": "ng.variance({x}, reduction_axes=[{axis}])",
}
"""Names that are functions in some libraries and attributes in others."""

_FUNCTIONS = {
    "AssignableTensorOp": "ng.constant, ng.placeholder, ng.persistent_tensor or ng.variable makes "
    "such a tensor; it has the flags constant, persistent, trainable and input",
    "BasicTensorDescription": "ng.TensorDescription(axes)",
    "abs": "ng.absolute(x), or abs(x)",
    "cat concatenate hstack vstack": "ng.concat(tensors, axis)",
    "conv conv1d conv2d convolution": "the sum of ng.dot(w[K, k], x[H, k:k + n]) over the taps k",
    "cross_entropy": "ng.cross_entropy_multi(ng.softmax(x, axes), t, axes)",
    "einsum tensordot": "ng.dot(x, y), over the axes that both have, or axes=[...]",
    "embedding": "ng.take(table, numbers, axis)",
    "empty full ones zeros": "ng.constant(0, axes), or ng.variable(axes, 0)",
    "full_like ones_like zeros_like": "ng.constant(0, x.axes)",
    "arange": "ng.constant(np.arange(n), [axis])",
    "gelu": "0.5 * x * (1 + ng.tanh(0.7978846 * (x + 0.044715 * x ** 3)))",
    "batch_norm layer_norm": "(x - ng.mean(x, axes)) / ng.sqrt(ng.variance(x, axes) + 1e-5)",
    "logsumexp": "m + ng.log(ng.sum(ng.exp(x - m), axes)), where m = ng.max(x, axes)",
    "mean_squared_error mse_loss": "ng.mean((x - y) ** 2, axes)",
    "norm": "ng.L2_norm(x, axes)",
    "rearrange": "ng.flatten(x, axes) and ng.unflatten; ng.axes_with_order(x, axes)",
    "reduce_max reduce_mean reduce_min reduce_prod reduce_sum": "ng.max, ng.mean, ng.min, ng.prod, "
    "ng.sum, each with reduction_axes",
    "silu swish": "x * ng.sigmoid(x)",
    "split": "x[axis, begin:end], for each part",
    "fori_loop scan while_loop": "ng.repeat(n, item)",
}

_ATTRIBUTES = {
    **{how: f"ng.{how}({{x}}, reduction_axes=[{{axis}}])" for how in ("sum", "prod", "mean")},
    **{how: f"ng.{how}({{x}}, reduction_axes=[{{axis}}])" for how in ("max", "min", "any", "all")},
    **{how: f"ng.{how}({{x}}, reduction_axes=[{{axis}}])" for how in ("argmax", "argmin")},
    "dims sizes": "{x}.axes",
    "dot": "ng.dot({x}, y)",
    "fill": "ng.assign({x}, value)",
    "flatten": "ng.flatten({x}, [{axes}])",
    "isel": "{x}[{axis}, 0]",
    "item numpy tolist values": VALUES,
    "ndim": "{x}.rank",
    "numel num_elements size": "{x}.axes.size",
    "softmax": "ng.softmax({x}, [{axis}])",
    "take": "ng.take({x}, numbers, {axis})",
}


def _by_name(*tables: Mapping[str, str]) -> dict[str, str]:
    return {name: text for each in tables for names, text in each.items() for name in names.split()}


_OF_FUNCTIONS = _by_name(_BOTH, _FUNCTIONS)
_OF_ATTRIBUTES = _by_name(_BOTH, _ATTRIBUTES)


def instead_of_attribute(name: str, x: str, axes: Sequence[str]) -> str:
    """Return the replacement for an attribute of other arrays; empty if there is none."""
    return _filled(_OF_ATTRIBUTES.get(name, ""), x, axes)


def absent_name(package: str, name: str) -> AttributeError:
    """Return the error for a name that `poplite.named`, the package, does not have."""
    instead = _OF_FUNCTIONS.get(name, "")
    if instead:
        fix = _filled(instead, "x", ["H", "W"])
        return AbsentMember(f"poplite has no named.{name}", fix=fix)
    text = f"module '{package}' has no attribute '{name}'"
    return AttributeError(text, name=name, obj=sys.modules[package])


def _lengths_text(shape: tuple[int, ...]) -> str:
    lengths = ", ".join(f"{size:,}" for size in shape)
    return f"an axis of length {lengths}" if len(shape) == 1 else f"axes of lengths {lengths}"


def unfit_call(
    called: str,
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    options: Mapping[str, Any],
) -> ElementTypeError | None:
    """Return the error for invalid arguments of a function; the suggested fix has the user's axes.

    >>> from poplite.named.axes import make_axis
    >>> from poplite.named.along_axes import sum
    >>> from poplite.named.tensors import placeholder
    >>> x = placeholder([make_axis(3, "H"), make_axis(4, "W")])
    >>> unfit_call("ng.sum", sum, (x,), {"axis": -1}).fix
    'ng.sum(..., reduction_axes=[W])'
    """
    axes = next((each.axes for each in arguments if isinstance(each, Op)), Axes())
    takes_one = "axis" in inspect.signature(function).parameters
    given = {
        name: _axes_text(value, axes, takes_one) if name in OF_DIMENSIONS else value
        for name, value in options.items()
    }
    whole = _whole_call(called, function, arguments, given, axes)
    return misfit(called, function, arguments, given, otherwise=whole)


class _Text(str):
    """Text that messages show without quotation marks."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _axes_text(value: object, axes: Axes, takes_one: bool) -> object:
    """Return an argument for dimensions as the text of axes; unchanged if there are no axes.

    For an argument that matches no axis, the text is that of the last axis, as an example.
    """
    if not axes.items:
        return value
    listed = value if isinstance(value, list | tuple) else [value]
    names = []
    for each in listed:
        if isinstance(each, int) and -len(axes) <= each < len(axes):
            each = axes[each]
        name = each if isinstance(each, str) else getattr(each, "name", "")
        if not isinstance(each, Axis | str) or name not in axes.names:
            names = list(axes.names[-1:])
            break
        names.append(name)
    text = ", ".join(names)
    return _Text(text if takes_one and len(names) == 1 else f"[{text}]")


def _whole_call(
    called: str,
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    options: Mapping[str, Any],
    axes: Axes,
) -> str:
    """Return the shortest call with the given arguments, as text; "" if one has no parameter."""
    signature = inspect.signature(function)
    try:
        given = signature.bind_partial(*arguments, **options).arguments
    except TypeError:
        return ""
    texts = []
    for name, each in signature.parameters.items():
        if name in given:
            value = given[name]
            texts.append(spelled(value, name) if isinstance(value, Op) else clipped(value))
        elif each.default is each.empty and each.kind is each.POSITIONAL_OR_KEYWORD:
            own = {"axis": axes.names[-1:], "axes": [f"[{axes.names[-1]}]"] if axes.items else []}
            texts.append((own.get(name) or [name])[0])
    return f"{called}({', '.join(texts)})"


def _filled(text: str, x: str, axes: Sequence[str]) -> str:
    axis = axes[-1] if axes else "axis"
    back = ", ".join(reversed(axes))
    return text.format(x=x, axis=axis, axes=", ".join(axes), back=back)
