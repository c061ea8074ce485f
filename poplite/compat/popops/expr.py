"""`popops::expr`: trees of named operations, placeholders, constants.

    _1 * 2 + _2        pe::Add(pe::Mul(pe::_1, pe::Const(2)), pe::_2)

An expression here is a tree of names. `popops.map` converts it to an expression of `poplite.ops`
with PopLibs' semantics: `/` and `%` of integers round towards zero, `>>` shifts in zeros, `==` and
`!=` compare elements. Numbers are taken as `Const`; `And`, `Or` and `Not` are `&&`, `||` and `!`.

Source: PopLibs, `popops/Expr.hpp`, `popops/ExprOp.hpp`; for NaN, the generic code of its vertices.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from poplite import ops
from poplite.compat.arguments import operand_of
from poplite.errors import (
    ElementTypeError,
    Enumeration,
    checked_integer,
    checked_member,
    refuse_methods,
)
from poplite.expr.operand import Operand
from poplite.expr.tree import Weak
from poplite.poplar.absent import shown as _shown
from poplite.text import clipped, of_type
from poplite.types import HALF, ElementTypeLike

Meaning = Callable[..., typing.Any]


def _is_float(*operands: typing.Any) -> bool:
    for each in operands:
        if isinstance(each, Operand):
            return bool(each.element_type.is_floating_point)
    raise ElementTypeError(
        f"popops: an operation on {', '.join(map(clipped, operands))} alone has no element type",
        found="a constant takes the type of the tensor that it is combined with",
        fix="write expr.Const(result), or expr.Cast(expr.Const(7), pl.INT)",
    )


class _OperationType(Enumeration):
    """Operations by name, each with an equivalent expression of `poplite.ops`."""

    meaning: Meaning

    def __new__(cls, meaning: Meaning) -> _OperationType:
        made = object.__new__(cls)
        made._value_ = 1 + len(cls.__members__)
        made.meaning = meaning
        return made


class UnaryOpType(_OperationType):
    """Operations of one operand, `popops::expr::UnaryOpType`."""

    ABSOLUTE = (abs,)
    ASIN = (ops.asin,)
    BITWISE_NOT = (ops.bitwise_not,)
    CBRT = (ops.cbrt,)
    CEIL = (ops.ceil,)
    COS = (ops.cos,)
    COUNT_LEADING_ZEROS = (ops.count_leading_zeros,)
    ERF = (ops.erf,)
    EXPONENT = (ops.exp,)
    EXPONENT2 = (ops.exp2,)
    EXPONENT_MINUS_ONE = (ops.expm1,)
    FLOOR = (ops.floor,)
    GELU_ERF = (ops.gelu_erf,)
    INVERSE = (ops.reciprocal,)
    IS_FINITE = (ops.is_finite,)
    IS_INF = (ops.is_inf,)
    IS_NAN = (ops.is_nan,)
    LOGARITHM = (ops.log,)
    LOGARITHM_ONE_PLUS = (ops.log1p,)
    LOGICAL_NOT = (ops.logical_not,)
    NEARBY_INT = (ops.round,)
    NEGATE = (lambda x: -x,)
    POPCOUNT = (ops.popcount,)
    RELU = (lambda x: ops.where(x > 0, x, 0),)  # 0 for NaN
    ROUND = (ops.round_half_away,)
    RSQRT = (ops.rsqrt,)
    SIGMOID = (ops.sigmoid,)
    SIGNUM = (ops.sign_popops,)
    SIN = (ops.sin,)
    SQRT = (lambda x: ops.sqrt(x) if _is_float(x) else ops.sqrt_trunc(x),)
    SQUARE = (ops.square,)
    TAN = (ops.tan,)
    TANH = (ops.tanh,)
    TRUNC = (ops.trunc,)


class BinaryOpType(_OperationType):
    """Operations of two operands, `popops::expr::BinaryOpType`."""

    ADD = (lambda a, b: a + b,)
    ATAN2 = (ops.atan2,)
    BITWISE_AND = (ops.bitwise_and,)
    BITWISE_OR = (ops.bitwise_or,)
    BITWISE_XNOR = (ops.bitwise_xnor,)
    BITWISE_XOR = (ops.bitwise_xor,)
    DIVIDE = (lambda a, b: a / b if _is_float(a, b) else ops.divide_trunc(a, b),)
    EQUAL = (ops.equal,)
    GREATER_THAN = (ops.greater,)
    GREATER_THAN_EQUAL = (ops.greater_equal,)
    INV_STD_DEV_TO_VARIANCE = (ops.inv_std_dev_to_variance,)
    LESS_THAN = (ops.less,)
    LESS_THAN_EQUAL = (ops.less_equal,)
    LOGICAL_AND = (ops.logical_and,)
    LOGICAL_OR = (ops.logical_or,)
    # NaN on the left is kept, NaN on the right is dropped.
    MAXIMUM = (lambda a, b: ops.where(ops.less(a, b), b, a),)
    MINIMUM = (lambda a, b: ops.where(ops.less(b, a), b, a),)
    MULTIPLY = (lambda a, b: a * b,)
    NOT_EQUAL = (ops.not_equal,)
    # PopLibs computes x ** -0.5 as rsqrt, lib/popops/ExprOpUtil: -0.0 gives -inf.
    POWER = (lambda a, b: ops.rsqrt(a) if isinstance(b, float) and b == -0.5 else a**b,)
    REMAINDER = (ops.remainder_trunc,)
    SHIFT_LEFT = (lambda a, b: a << b,)
    SHIFT_RIGHT = (ops.shift_right_logical,)
    SHIFT_RIGHT_SIGN_EXTEND = (lambda a, b: a >> b,)
    SUBTRACT = (lambda a, b: a - b,)
    VARIANCE_TO_INV_STD_DEV = (ops.variance_to_inv_std_dev,)


class TernaryOpType(_OperationType):
    """Operations of three operands, `popops::expr::TernaryOpType`."""

    CLAMP = (ops.clamp,)
    SELECT = (lambda a, b, predicate: ops.where(predicate, a, b),)


# -- expressions -----------------------------------------------------------------------------------


__all__ = _shown(
    globals(),
    """
    Abs Add And Any Asin Atan2 BinaryOp BinaryOpType BitwiseAnd BitwiseNot BitwiseOr BitwiseXnor
    BitwiseXor Cast Cbrt Ceil Clamp Const ConstHalf Cos Divide Equal Erf Exp Exp2 Expm1 Floor
    GeluErf Gt Gte Inv InvStdDevToVariance IsFinite IsInf IsNaN Log Log1p Lt Lte Max Min Mul
    NearbyInt Neg Not NotEqual Or PlaceHolder Pow Relu Rem Round Rsqrt Select Shl Shr ShrSE
    Sigmoid Signum Sin Sqrt Square Sub Tan Tanh TernaryOp TernaryOpType Trunc UnaryOp
    UnaryOpType VarianceToInvStdDev _1 _10 _11 _12 _13 _14 _15 _16 _17 _18 _19 _2 _20 _3 _4 _5
    _6 _7 _8 _9
    """,
)


Number = bool | int | float | np.generic


_Operator = Callable[["Any", "Any | Number"], "Any"]


def _operators(operation: str) -> tuple[_Operator, _Operator]:
    """Return the methods of an operator, the second for a number on the left."""

    def operator(self: Any, other: Any | Number) -> Any:
        return BinaryOp(operation, self, other)

    def reflected(self: Any, other: Any | Number) -> Any:
        return BinaryOp(operation, other, self)

    return operator, reflected


_LEVELS = 6
"""Maximum depth of nested calls in a text, which may double in length with each level."""


class Any:
    """An expression over placeholders.

    >>> import poplite as pl
    >>> graph = pl.Graph()
    >>> a, b = (graph.add_variable(pl.INT, (4,), name) for name in "ab")
    >>> _1 % _2 + Const(1)
    Add(Rem(_1, _2), 1)
    >>> (_1 % _2 + Const(1)).of([a, b])
    <Expr remainder_trunc(a, b) + 1 int32[4]>
    """

    __hash__ = object.__hash__
    __array_ufunc__ = None  # arrays on the left leave operators to the expression

    def of(self, tensors: Sequence[Operand]) -> typing.Any:
        """Return the expression with tensors substituted for `_1`, `_2`, ..."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return self._text(_LEVELS)

    def _text(self, levels: int) -> str:
        """Return the text of nested calls, at most `levels` deep; "..." for deeper calls."""
        raise NotImplementedError

    __add__, __radd__ = _operators("ADD")
    __sub__, __rsub__ = _operators("SUBTRACT")
    __mul__, __rmul__ = _operators("MULTIPLY")
    __truediv__, __rtruediv__ = _operators("DIVIDE")
    __mod__, __rmod__ = _operators("REMAINDER")
    __and__, __rand__ = _operators("BITWISE_AND")
    __or__, __ror__ = _operators("BITWISE_OR")
    __xor__, __rxor__ = _operators("BITWISE_XOR")
    __lshift__, __rlshift__ = _operators("SHIFT_LEFT")
    __rshift__, __rrshift__ = _operators("SHIFT_RIGHT")
    __pow__, __rpow__ = _operators("POWER")
    __lt__, __gt__ = _operators("LESS_THAN")[0], _operators("GREATER_THAN")[0]
    __le__, __ge__ = _operators("LESS_THAN_EQUAL")[0], _operators("GREATER_THAN_EQUAL")[0]

    def __eq__(self, other: object) -> Any:  # type: ignore[override]
        return BinaryOp("EQUAL", self, other)

    def __ne__(self, other: object) -> Any:  # type: ignore[override]
        return BinaryOp("NOT_EQUAL", self, other)

    def __abs__(self) -> Any:
        return UnaryOp("ABSOLUTE", self)

    def __neg__(self) -> Any:
        return UnaryOp("NEGATE", self)

    def __invert__(self) -> Any:
        return UnaryOp("BITWISE_NOT", self)

    def __bool__(self) -> bool:
        raise ElementTypeError(
            "popops.expr: an expression has no truth value",
            fix="use And(a, b), Or(a, b) or Not(a), which combine truth values elementwise",
        )


class PlaceHolder(Any):
    """The tensor at a 1-based position in the list that `popops.map` takes."""

    def __init__(self, index: int) -> None:
        self.index = checked_integer(index, "popops.expr.PlaceHolder: index", 1)

    def _text(self, levels: int) -> str:
        return f"_{self.index}" if self.index <= 20 else f"PlaceHolder({self.index})"

    def of(self, tensors: Sequence[Operand]) -> typing.Any:
        """Return the tensor at this placeholder's position; reject a list that is too short."""
        if not isinstance(tensors, Sequence):
            raise ElementTypeError(
                f"popops.expr: tensors is {clipped(tensors)}, not a list",
                found=of_type(tensors),
                fix="pass a list of tensors, such as [a, b]",
            )
        if self.index > len(tensors):
            raise ElementTypeError(
                f"popops.map: expected at least {self.index} tensors, for _{self.index}; found "
                f"{len(tensors)}",
                fix=f"pass a list of at least {self.index} tensors",
            )
        return operand_of("popops.expr", f"_{self.index}", tensors[self.index - 1])


class Const(Any):
    """A number, of the type of the other operand."""

    def __init__(self, value: Number) -> None:
        number = value.item() if isinstance(value, np.generic) else value
        if not isinstance(number, bool | int | float):
            raise ElementTypeError(
                f"popops.expr.Const: {clipped(value)} is not a number", found=of_type(value)
            )
        self.value: bool | int | float = number

    def _text(self, levels: int) -> str:
        is_operand = levels < _LEVELS and type(self) is Const
        return repr(self.value) if is_operand else f"{type(self).__name__}({self.value!r})"

    def of(self, tensors: Sequence[Operand]) -> float | Operand:
        """Return the number; a bool becomes an operand, since `Const` of a bool is intended."""
        return Weak(self.value) if isinstance(self.value, bool) else self.value


class ConstHalf(Const):
    """A number of type HALF."""

    def of(self, tensors: Sequence[Operand]) -> typing.Any:
        """Return the number; the other operand must be HALF."""
        return ops.cast(self.value, HALF)


class Cast(Any):
    """An expression in another element type."""

    def __init__(self, expr: Any, element_type: ElementTypeLike) -> None:
        self.expr, self.element_type = _checked(expr), element_type

    def _text(self, levels: int) -> str:
        return f"Cast({_text_of([self.expr], levels)}, {self.element_type!r})"

    def of(self, tensors: Sequence[Operand]) -> Operand:
        """Return the cast."""
        return ops.cast(self.expr.of(tensors), self.element_type)


class _Op(Any):
    """An operation, given by its name in popops."""

    TYPES: typing.ClassVar[type[_OperationType]]

    def __init__(self, operation: Enumeration | str, *operands: object) -> None:
        what = f"popops.expr.{type(self).__name__}: operation"
        self.operation = checked_member(operation, self.TYPES, what).name
        self.operands = [_checked(each) for each in operands]

    def _text(self, levels: int) -> str:
        function = _FUNCTIONS.get(self.operation)
        names = [name for name, value in globals().items() if function and value is function]
        called = f"{names[0]}(" if names else f"{type(self).__name__}({self.operation!r}, "
        return f"{called}{_text_of(self.operands, levels)})"

    def of(self, tensors: Sequence[Operand]) -> typing.Any:
        """Return the operation with the meaning that it has in PopLibs."""
        meaning = self.TYPES[self.operation].meaning
        return meaning(*(each.of(tensors) for each in self.operands))


class UnaryOp(_Op):
    """An operation on one operand, given by the name of its `UnaryOpType`."""

    TYPES = UnaryOpType


class BinaryOp(_Op):
    """An operation on two operands, given by the name of its `BinaryOpType`."""

    TYPES = BinaryOpType


class TernaryOp(_Op):
    """An operation on three operands, given by the name of its `TernaryOpType`."""

    TYPES = TernaryOpType


def _text_of(operands: Sequence[Any], levels: int) -> str:
    return ", ".join([each._text(levels - 1) if levels else "..." for each in operands])


def _checked(value: object) -> Any:
    if isinstance(value, Any):
        return value
    if isinstance(value, Number):
        return Const(value)
    raise ElementTypeError(
        f"popops.expr: {clipped(value)} is not an expression",
        found=of_type(value),
        fix="use expr._1, expr._2, ... for the tensors passed to popops.map",
    )


_FUNCTIONS: dict[str, Callable[..., Any]] = {}
"""The function that makes each operation."""


def _unary(operation: str) -> Callable[[Any | Number], Any]:
    _FUNCTIONS[operation] = lambda a: UnaryOp(operation, a)
    return _FUNCTIONS[operation]


def _binary(operation: str) -> Callable[[Any | Number, Any | Number], Any]:
    _FUNCTIONS[operation] = lambda a, b: BinaryOp(operation, a, b)
    return _FUNCTIONS[operation]


def _absent(what: str, fix: str, _: Any) -> ElementTypeError:
    return ElementTypeError(f"popops.expr: {what} is not defined for expressions", fix=fix)


_DIVIDED = "Floor(a / b); for whole numbers, a / b rounds towards zero"
_OF_ELEMENTS = "use views of the tensors passed to popops.map: expressions are elementwise"
_AFTER_RUNNING = "call engine.read(popops.map(graph, expression, tensors, prog)) after a run"

for _names, _what, _fix in (
    ("floordiv rfloordiv", "'//'", _DIVIDED),
    ("divmod rdivmod", "divmod", f"a % b; {_DIVIDED}"),
    ("matmul rmatmul", "'@'", "poplin.matMul(graph, a, b, prog)"),
    ("pos", "unary '+'", "use the operand itself"),
    ("round", "round", "NearbyInt(a), or Round(a)"),
    ("floor", "math.floor", "Floor(a)"),
    ("ceil", "math.ceil", "Ceil(a)"),
    ("trunc", "math.trunc", "Trunc(a)"),
    ("getitem", "an index", _OF_ELEMENTS),
    ("iter", "iteration", _OF_ELEMENTS),
    ("len", "len", _OF_ELEMENTS),
    ("float", "float", _AFTER_RUNNING),
    ("int", "int", _AFTER_RUNNING),
):
    refuse_methods(Any, _names, partial(_absent, _what, _fix))


def Select(a: Any | Number, b: Any | Number, predicate: Any | Number) -> Any:
    """Return `a` where the predicate is true, else `b`."""
    return TernaryOp("SELECT", a, b, predicate)


def Clamp(a: Any | Number, lower: Any | Number, upper: Any | Number) -> Any:
    """Return `a` clamped to at least `lower`, then to at most `upper`."""
    return TernaryOp("CLAMP", a, lower, upper)


_FUNCTIONS |= {"SELECT": Select, "CLAMP": Clamp}


def _name_functions() -> None:
    """Give functions that are made alike their names, and docstrings that name the operation."""
    for name in __all__:
        function = globals()[name]
        operation = next((key for key, made in _FUNCTIONS.items() if made is function), "")
        if operation and not function.__doc__:
            kind = UnaryOpType if operation in UnaryOpType.__members__ else BinaryOpType
            function.__name__ = function.__qualname__ = name
            function.__doc__ = f"Return an expression, {described(kind[operation])}."


def described(operation: _OperationType) -> str:
    """Return a text that names an operation, and that of `poplite.ops` with the same meaning.

    >>> described(UnaryOpType.ASIN), described(BinaryOpType.ADD)
    ('`UnaryOpType.ASIN`, which is `ops.asin`', '`BinaryOpType.ADD`')
    """
    name = getattr(operation.meaning, "__name__", "")
    same = getattr(ops, name, None) is operation.meaning
    text = f"`{type(operation).__name__}.{operation.name}`"
    return f"{text}, which is `ops.{name}`" if same else text


_1, _2, _3, _4, _5, _6, _7, _8, _9, _10 = map(PlaceHolder, range(1, 11))
_11, _12, _13, _14, _15, _16, _17, _18, _19, _20 = map(PlaceHolder, range(11, 21))

Abs, Asin, BitwiseNot = _unary("ABSOLUTE"), _unary("ASIN"), _unary("BITWISE_NOT")
Cbrt, Ceil, Cos, Erf = _unary("CBRT"), _unary("CEIL"), _unary("COS"), _unary("ERF")
Exp, Exp2, Expm1 = _unary("EXPONENT"), _unary("EXPONENT2"), _unary("EXPONENT_MINUS_ONE")
Floor, GeluErf, Inv = _unary("FLOOR"), _unary("GELU_ERF"), _unary("INVERSE")
IsFinite, IsInf, IsNaN = _unary("IS_FINITE"), _unary("IS_INF"), _unary("IS_NAN")
Log, Log1p, Not, Neg = (
    *(_unary("LOGARITHM"), _unary("LOGARITHM_ONE_PLUS")),
    *(_unary("LOGICAL_NOT"), _unary("NEGATE")),
)
NearbyInt, Round, Trunc = _unary("NEARBY_INT"), _unary("ROUND"), _unary("TRUNC")
Relu, Rsqrt, Sigmoid, Signum = (
    *(_unary("RELU"), _unary("RSQRT")),
    *(_unary("SIGMOID"), _unary("SIGNUM")),
)
Sin, Sqrt, Square, Tan, Tanh = map(_unary, ("SIN", "SQRT", "SQUARE", "TAN", "TANH"))

Add, Sub, Mul, Divide = map(_binary, ("ADD", "SUBTRACT", "MULTIPLY", "DIVIDE"))
And, Or, Atan2, Pow, Rem = map(
    _binary, ("LOGICAL_AND", "LOGICAL_OR", "ATAN2", "POWER", "REMAINDER")
)
BitwiseAnd, BitwiseOr, BitwiseXor, BitwiseXnor = map(
    _binary, ("BITWISE_AND", "BITWISE_OR", "BITWISE_XOR", "BITWISE_XNOR")
)
Equal, NotEqual, Gt, Gte, Lt, Lte = map(
    _binary,
    (
        *("EQUAL", "NOT_EQUAL", "GREATER_THAN", "GREATER_THAN_EQUAL"),
        *("LESS_THAN", "LESS_THAN_EQUAL"),
    ),
)
Max, Min = _binary("MAXIMUM"), _binary("MINIMUM")
Shl, Shr, ShrSE = map(_binary, ("SHIFT_LEFT", "SHIFT_RIGHT", "SHIFT_RIGHT_SIGN_EXTEND"))
VarianceToInvStdDev = _binary("VARIANCE_TO_INV_STD_DEV")
InvStdDevToVariance = _binary("INV_STD_DEV_TO_VARIANCE")

_name_functions()
