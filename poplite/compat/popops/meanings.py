"""What the operations of popops mean, as expressions of `poplite.ops`.

Source: PopLibs, `popops/ExprOp.hpp` for names; the generic code of its vertices for NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from poplite import ops
from poplite.errors import ElementTypeError
from poplite.expr.operand import Operand
from poplite.text import clipped

Meaning = Callable[..., Any]


def _is_float(*operands: Any) -> bool:
    for each in operands:
        if isinstance(each, Operand):
            return bool(each.element_type.is_floating_point)
    raise ElementTypeError(
        f"popops: an operation of {', '.join(map(clipped, operands))} alone has no element type",
        found="constants take the type of a tensor beside them",
        fix="expr.Const of the result, or expr.Cast(expr.Const(7), pl.INT)",
    )


def _divide(a: Any, b: Any) -> Any:
    return a / b if _is_float(a, b) else ops.divide_trunc(a, b)


def _greater(a: Any, b: Any) -> Operand:
    return ops.where(ops.less(a, b), b, a)  # NaN on the left stays, on the right is dropped


def _smaller(a: Any, b: Any) -> Operand:
    return ops.where(ops.less(b, a), b, a)


UNARY: Mapping[str, Meaning] = {
    "ABSOLUTE": abs,
    "ASIN": ops.asin,
    "BITWISE_NOT": ops.bitwise_not,
    "CBRT": ops.cbrt,
    "CEIL": ops.ceil,
    "COS": ops.cos,
    "COUNT_LEADING_ZEROS": ops.count_leading_zeros,
    "ERF": ops.erf,
    "EXPONENT": ops.exp,
    "EXPONENT2": ops.exp2,
    "EXPONENT_MINUS_ONE": ops.expm1,
    "FLOOR": ops.floor,
    "GELU_ERF": ops.gelu_erf,
    "INVERSE": ops.reciprocal,
    "IS_FINITE": ops.is_finite,
    "IS_INF": ops.is_inf,
    "IS_NAN": ops.is_nan,
    "LOGARITHM": ops.log,
    "LOGARITHM_ONE_PLUS": ops.log1p,
    "LOGICAL_NOT": ops.logical_not,
    "NEARBY_INT": ops.round,
    "NEGATE": lambda x: -x,
    "POPCOUNT": ops.popcount,
    "RELU": lambda x: ops.where(x > 0, x, 0),  # 0 for NaN
    "ROUND": ops.round_half_away,
    "RSQRT": ops.rsqrt,
    "SIGMOID": ops.sigmoid,
    "SIGNUM": ops.sign_popops,
    "SIN": ops.sin,
    "SQRT": lambda x: ops.sqrt(x) if _is_float(x) else ops.sqrt_trunc(x),
    "SQUARE": ops.square,
    "TAN": ops.tan,
    "TANH": ops.tanh,
    "TRUNC": ops.trunc,
}
"""Of one operand, by `popops::expr::UnaryOpType`."""

BINARY: Mapping[str, Meaning] = {
    "ADD": lambda a, b: a + b,
    "ATAN2": ops.atan2,
    "BITWISE_AND": ops.bitwise_and,
    "BITWISE_OR": ops.bitwise_or,
    "BITWISE_XNOR": ops.bitwise_xnor,
    "BITWISE_XOR": ops.bitwise_xor,
    "DIVIDE": _divide,
    "EQUAL": ops.equal,
    "GREATER_THAN": ops.greater,
    "GREATER_THAN_EQUAL": ops.greater_equal,
    "INV_STD_DEV_TO_VARIANCE": ops.inv_std_dev_to_variance,
    "LESS_THAN": ops.less,
    "LESS_THAN_EQUAL": ops.less_equal,
    "LOGICAL_AND": ops.logical_and,
    "LOGICAL_OR": ops.logical_or,
    "MAXIMUM": _greater,
    "MINIMUM": _smaller,
    "MULTIPLY": lambda a, b: a * b,
    "NOT_EQUAL": ops.not_equal,
    # PopLibs makes a root of it, lib/popops/ExprOpUtil: -0.0 gives -inf.
    "POWER": lambda a, b: ops.rsqrt(a) if isinstance(b, float) and b == -0.5 else a**b,
    "REMAINDER": ops.remainder_trunc,
    "SHIFT_LEFT": lambda a, b: a << b,
    "SHIFT_RIGHT": ops.shift_right_logical,
    "SHIFT_RIGHT_SIGN_EXTEND": lambda a, b: a >> b,
    "SUBTRACT": lambda a, b: a - b,
    "VARIANCE_TO_INV_STD_DEV": ops.variance_to_inv_std_dev,
}
"""Of two, by `popops::expr::BinaryOpType`."""

TERNARY: Mapping[str, Meaning] = {
    "CLAMP": ops.clamp,
    "SELECT": lambda a, b, predicate: ops.where(predicate, a, b),
}
"""Of three, by `popops::expr::TernaryOpType`."""
