"""Operations of popops by name, for maps of one operation and for `popops.expr`.

    popops::map(graph, pe::BinaryOpType::ADD, a, b, prog)
    popops.map(graph, expr.BinaryOpType.ADD, a, b, prog)

Source: PopLibs, `popops/ExprOp.hpp`.
"""

from __future__ import annotations

from enum import auto

from poplite.errors import Enumeration


class UnaryOpType(Enumeration):
    """Operations of one operand, `popops::expr::UnaryOpType`."""

    ABSOLUTE = auto()
    ASIN = auto()
    BITWISE_NOT = auto()
    CBRT = auto()
    CEIL = auto()
    COS = auto()
    COUNT_LEADING_ZEROS = auto()
    ERF = auto()
    EXPONENT = auto()
    EXPONENT2 = auto()
    EXPONENT_MINUS_ONE = auto()
    FLOOR = auto()
    GELU_ERF = auto()
    INVERSE = auto()
    IS_FINITE = auto()
    IS_INF = auto()
    IS_NAN = auto()
    LOGARITHM = auto()
    LOGARITHM_ONE_PLUS = auto()
    LOGICAL_NOT = auto()
    NEARBY_INT = auto()
    NEGATE = auto()
    POPCOUNT = auto()
    RELU = auto()
    ROUND = auto()
    RSQRT = auto()
    SIGMOID = auto()
    SIGNUM = auto()
    SIN = auto()
    SQRT = auto()
    SQUARE = auto()
    TAN = auto()
    TANH = auto()
    TRUNC = auto()


class BinaryOpType(Enumeration):
    """Operations of two operands, `popops::expr::BinaryOpType`."""

    ADD = auto()
    ATAN2 = auto()
    BITWISE_AND = auto()
    BITWISE_OR = auto()
    BITWISE_XNOR = auto()
    BITWISE_XOR = auto()
    DIVIDE = auto()
    EQUAL = auto()
    GREATER_THAN = auto()
    GREATER_THAN_EQUAL = auto()
    INV_STD_DEV_TO_VARIANCE = auto()
    LESS_THAN = auto()
    LESS_THAN_EQUAL = auto()
    LOGICAL_AND = auto()
    LOGICAL_OR = auto()
    MAXIMUM = auto()
    MINIMUM = auto()
    MULTIPLY = auto()
    NOT_EQUAL = auto()
    POWER = auto()
    REMAINDER = auto()
    SHIFT_LEFT = auto()
    SHIFT_RIGHT = auto()
    SHIFT_RIGHT_SIGN_EXTEND = auto()
    SUBTRACT = auto()
    VARIANCE_TO_INV_STD_DEV = auto()


class TernaryOpType(Enumeration):
    """Operations of three operands, `popops::expr::TernaryOpType`."""

    CLAMP = auto()
    SELECT = auto()
