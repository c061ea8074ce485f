"""The table of elementwise operations: their types, results, and texts in `compute`.

The text of an operation is an expression in `compute`, with `{0}`, `{1}`, ... for its operands,
which are locals, and `{T}` for the element type of the result. Its value is stored in that type
before it is used (integers wrap, HALF rounds), so that an expression has the same bits whether it
is computed in one vertex or in several.

    add           FLOAT   a + b             HALF   HALF(a + b)       INT   INT(a + b)
    floor         FLOAT   np.floor(a)

Operators and NaN behave as in NumPy. Operations that PopLibs defines differently have their own
names: `divide_trunc`, `remainder_trunc`, `shift_right_logical`, `round_half_away`,
`sign_popops`.

Source: PopLibs, `popops/ElementWise.hpp` and `popops/ExprOp.hpp`, for the list of operations.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from poplite.frozen import frozen
from poplite.types import BOOL, QUARTER, QUARTER_METADATA, UNSIGNED_LONGLONG, ElementType

Kind = Literal["float", "int", "bool"]

ElementClass = type[ElementType[Any]]


def kind_of(element: ElementClass) -> Kind | None:
    """Return the kind of number in an element type; None for QUARTER and its metadata."""
    if element in (QUARTER, QUARTER_METADATA):
        return None
    if element is BOOL:
        return "bool"
    return "float" if element.is_floating_point else "int"


@frozen(eq=False)
class ElementOperation:
    """An elementwise operation.

    Attributes:
        name: the name in `poplite.ops`.
        arity: the number of operands.
        text: its text in `compute`, by the kind of its operands; "unsigned" and "LONGLONG" for
            those integers, if they differ.
        symbol: its Python operator, if there is one.
        gives: "same" for the type of its operands, or BOOL.
        is_exact: whether its result is a number of the type, without rounding.
        other_kind: names of the types for which the text gives a different kind of number from
            their elements, such as signed for unsigned, or a Python float for a float32. The
            result is then converted.
        helpers: names of functions in `HELPERS` that the text calls.
        fixes: remedies for operands of the wrong kind.
    """

    name: str
    arity: int
    text: dict[str, str]
    symbol: str = ""
    gives: Literal["same", "bool"] = "same"
    is_exact: bool = False
    other_kind: tuple[str, ...] = ()
    helpers: tuple[str, ...] = ()
    fix: str = ""

    def text_for(self, element: ElementClass) -> str | None:
        """Return the text in `compute` for operands of a type; None if it is not supported."""
        kind = kind_of(element)
        for key in (element.__name__, "unsigned" if element.dtype.kind == "u" else "", kind):
            if kind is not None and key in self.text:
                return self.text[key]
        return None


HELPERS = {
    "_power": """
def _power(base: Any, exponent: Any) -> Any:
    result = 1
    left = exponent
    while left > 0:
        if left & 1:
            result = result * base
        base = base * base
        left = left >> 1
    return result if exponent >= 0 else 0
""",
    "_divide_trunc": """
def _divide_trunc(a: Any, b: Any) -> Any:
    quotient = a // b
    return quotient + 1 if quotient * b != a and (a < 0) != (b < 0) and b != 0 else quotient
""",
    "_remainder_trunc": """
def _remainder_trunc(a: Any, b: Any) -> Any:
    rest = a % b
    return rest - b if rest != 0 and (rest < 0) != (a < 0) else rest
""",
    "_fmod": """
def _fmod(a: Any, b: Any) -> Any:
    rest = abs(a) % abs(b)
    return -rest if a < 0 else (a if a == 0 and rest == 0 else rest)
""",
    "_round_half_away": """
def _round_half_away(x: Any) -> Any:
    near = np.trunc(x)
    away = near + 1.0 if x > 0 else near - 1.0
    return away if abs(x - near) >= 0.5 else near
""",
    "_sigmoid_times": """
def _sigmoid_times(x: Any, y: Any) -> Any:
    power = math.exp(-abs(x))
    return (y if x >= 0 else power * y) / (1.0 + power)
""",
    "_softplus": """
def _softplus(x: Any) -> Any:
    return np.maximum(x, 0.0) + math.log1p(math.exp(-abs(x)))
""",
    "_hypot": """
def _hypot(a: Any, b: Any) -> Any:
    if abs(a) > 3.4028234663852886e+38 or abs(b) > 3.4028234663852886e+38:
        return abs(a) if abs(a) > 3.4028234663852886e+38 else abs(b)
    longer = np.maximum(abs(a), abs(b))
    share = np.minimum(abs(a), abs(b)) / longer if longer > 0 else longer
    return longer * math.sqrt(1.0 + share * share)
""",
    "_logaddexp": """
def _logaddexp(a: Any, b: Any) -> Any:
    most = np.maximum(a, b)
    apart = np.minimum(a, b) - most
    return most + math.log1p(math.exp(apart)) if apart <= 0 else most
""",
    "_sqrt_trunc": """
def _sqrt_trunc(x: Any) -> Any:
    root = x - x
    bit = root + 1 << 62
    while bit > x and bit > 0:
        bit = bit >> 2
    while bit > 0:
        both = root + bit
        root = root >> 1
        if x >= both:
            x = x - both
            root = root + bit
        bit = bit >> 2
    return root
""",
    "_popcount": """
def _popcount(x: Any) -> Any:
    x = x - ((x >> 1) & 0x5555555555555555)
    x = (x & 0x3333333333333333) + ((x >> 2) & 0x3333333333333333)
    x = (x + (x >> 4)) & 0x0F0F0F0F0F0F0F0F
    x = x + (x >> 8)
    x = x + (x >> 16)
    return (x + (x >> 32)) & 127
""",
    "_bit_length": """
def _bit_length(x: Any) -> Any:
    x = x | (x >> 1)
    x = x | (x >> 2)
    x = x | (x >> 4)
    x = x | (x >> 8)
    x = x | (x >> 16)
    x = x | (x >> 32)
    return _popcount(x)
""",
}
"""Functions that the texts call, by name."""

_ALL: tuple[Kind, ...] = ("float", "int", "bool")
_NUMBERS: tuple[Kind, ...] = ("float", "int")

OPERATIONS: dict[str, ElementOperation] = {}
"""The operations by name."""


def _add(name: str, arity: int, kinds: Iterable[Kind], text: str, **more: Any) -> None:
    """Add an operation whose text is the same for all kinds."""
    _add_texts(name, arity, dict.fromkeys(kinds, text), **more)


def _add_texts(name: str, arity: int, texts: dict[str, str], **more: Any) -> None:
    """Add an operation with different texts."""
    OPERATIONS[name] = ElementOperation(name, arity, texts, **more)


def _arithmetic() -> None:
    cast = "ops.cast(x, FLOAT) first"
    for name, symbol in (("add", "+"), ("subtract", "-"), ("multiply", "*")):
        _add(name, 2, _NUMBERS, f"{{0}} {symbol} {{1}}", symbol=symbol, fix=cast)
    fix = "`//` rounds down, ops.divide_trunc towards zero; or ops.cast to FLOAT first"
    _add("divide", 2, ["float"], "{0} / {1}", symbol="/", fix=fix)
    # The least 64-bit integer divided by -1 wraps, as in NumPy; `//` in `compute` gives 0.
    wrapping = "-{0} if {1} == -1 else "
    texts = {"float": "{0} // {1}", "int": "{0} // {1}", "LONGLONG": wrapping + "{0} // {1}"}
    _add_texts("floor_divide", 2, texts, symbol="//")
    _add("remainder", 2, _NUMBERS, "{0} % {1}", symbol="%")
    towards_zero = "_divide_trunc({0}, {1})"
    texts = {"int": towards_zero, "unsigned": "{0} // {1}", "LONGLONG": wrapping + towards_zero}
    _add_texts("divide_trunc", 2, texts, helpers=("_divide_trunc",), fix="x / y")
    texts = {"float": "_fmod({0}, {1})", "int": "_remainder_trunc({0}, {1})"}
    texts["unsigned"] = "{0} % {1}"
    _add_texts("remainder_trunc", 2, texts, helpers=("_fmod", "_remainder_trunc"))
    texts = {"float": "math.pow({0}, {1})", "int": "_power({0}, {1})"}
    _add_texts("power", 2, texts, symbol="**", helpers=("_power",))
    _add("square", 1, _NUMBERS, "{0} * {0}")
    _add("negative", 1, _NUMBERS, "-{0}", symbol="-", fix="`~` negates truth values")
    _add("absolute", 1, _NUMBERS, "abs({0})")
    _add("reciprocal", 1, ["float"], "1.0 / {0}")
    whole = "({0} > 0) - ({0} < 0)"
    texts = {"float": "1.0 if {0} > 0 else (-1.0 if {0} < 0 else (0.0 if {0} == 0 else {0}))"}
    texts["int"] = whole
    _add_texts("sign", 1, texts, is_exact=True, other_kind=("UNSIGNED_LONGLONG",))
    texts = {"float": "1.0 if {0} > 0 else (-1.0 if {0} < 0 else 0.0)", "int": whole}
    others = ("UNSIGNED_LONGLONG", "FLOAT", "HALF")
    _add_texts("sign_popops", 1, texts, is_exact=True, other_kind=others)
    for name, sign in (("maximum", ">"), ("minimum", "<")):
        least = f"{{0}} if {{0}} {sign} {{1}} else {{1}}"
        _add_texts(name, 2, {"float": f"np.{name}({{0}}, {{1}})", "int": least}, is_exact=True)
    texts = {"float": "np.minimum(np.maximum({0}, {1}), {2})", "int": "min(max({0}, {1}), {2})"}
    _add_texts("clamp", 3, texts, is_exact=True)
    _add("variance_to_inv_std_dev", 2, ["float"], "1.0 / math.sqrt({0} + {1})")
    _add("inv_std_dev_to_variance", 2, ["float"], "1.0 / ({0} * {0}) - {1}")


def _comparisons() -> None:
    pairs = (("less", "<"), ("less_equal", "<="), ("greater", ">"), ("greater_equal", ">="))
    for name, symbol in pairs:
        text = f"{{0}} {symbol} {{1}}"
        _add(name, 2, _NUMBERS, text, symbol=symbol, gives="bool", is_exact=True)
    for name, symbol in (("equal", "=="), ("not_equal", "!=")):
        _add(name, 2, _ALL, f"{{0}} {symbol} {{1}}", gives="bool", is_exact=True)
    exact: dict[str, Any] = {"gives": "bool", "is_exact": True}
    _add("is_finite", 1, ["float"], "abs({0}) < INFINITY", **exact)
    _add("is_inf", 1, ["float"], "abs({0}) == INFINITY", **exact)
    _add("is_nan", 1, ["float"], "{0} != {0}", **exact)


def _logic() -> None:
    exact: dict[str, Any] = {"gives": "bool", "is_exact": True}
    fix = "compare first: x != 0"
    _add("logical_and", 2, ["bool"], "{0} & {1}", fix=fix, **exact)
    _add("logical_or", 2, ["bool"], "{0} | {1}", fix=fix, **exact)
    _add("logical_xor", 2, ["bool"], "{0} ^ {1}", fix=fix, **exact)
    _add("logical_not", 1, ["bool"], "not {0}", fix=fix, **exact)
    whole: tuple[Kind, ...] = ("int", "bool")
    for name, symbol in (("bitwise_and", "&"), ("bitwise_or", "|"), ("bitwise_xor", "^")):
        text = f"{{0}} {symbol} {{1}}"
        fix = "x ** 2 is a power; ops.cast(x, INT) has bits" if symbol == "^" else ""
        _add(name, 2, whole, text, symbol=symbol, fix=fix, is_exact=True)
    _add_texts("bitwise_xnor", 2, {"int": "~({0} ^ {1})", "bool": "{0} == {1}"})
    _add_texts("bitwise_not", 1, {"int": "~{0}", "bool": "not {0}"}, symbol="~")
    # As in NumPy: a shift by the width or more leaves 0, or the sign; so does a negative amount.
    text = "({0} << ({1} & 63)) if 0 <= {1} < {bits} else 0"
    _add("shift_left", 2, ["int"], text, symbol="<<")
    logical = "({U}({0}) >> ({1} & 63)) if 0 <= {1} < {bits} else 0"
    signed = "{0} >> (({1} if 0 <= {1} < {bits} else {bits} - 1) & 63)"
    _add_texts("shift_right", 2, {"int": signed, "unsigned": logical}, symbol=">>", is_exact=True)
    unsigned: dict[str, Any] = {"other_kind": ("LONGLONG",)}
    _add("shift_right_logical", 2, ["int"], logical, **unsigned)
    unsigned["is_exact"] = True
    _add("popcount", 1, ["int"], "_popcount({U}({0}))", helpers=("_popcount",), **unsigned)
    text = "{bits} - _bit_length({U}({0}))"
    helpers = ("_popcount", "_bit_length")
    _add("count_leading_zeros", 1, ["int"], text, helpers=helpers, **unsigned)


def _functions() -> None:
    for name in (
        *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "cbrt", "sin", "cos"),
        *("tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "erf", "erfc"),
    ):
        fix = "ops.sqrt_trunc(x), or " if name == "sqrt" else ""
        _add(name, 1, ["float"], f"math.{name}({{0}})", fix=f"{fix}ops.cast(x, FLOAT) first")
    text, helpers = "_sqrt_trunc({0})", ("_sqrt_trunc",)
    _add("sqrt_trunc", 1, ["int"], text, helpers=helpers, is_exact=True, fix="ops.sqrt(x)")
    _add("atan2", 2, ["float"], "math.atan2({0}, {1})")
    for name in ("hypot", "logaddexp"):
        _add(name, 2, ["float"], f"_{name}({{0}}, {{1}})", helpers=(f"_{name}",))
    for name in ("floor", "ceil", "trunc"):
        _add(name, 1, ["float"], f"np.{name}({{0}})", is_exact=True)
    _add("round", 1, ["float"], "np.rint({0})", is_exact=True)
    text, helpers = "_round_half_away({0})", ("_round_half_away",)
    _add("round_half_away", 1, ["float"], text, helpers=helpers, is_exact=True)
    _add("rsqrt", 1, ["float"], "1.0 / math.sqrt({0})")
    sigmoid = ("_sigmoid_times",)
    _add("sigmoid", 1, ["float"], "_sigmoid_times({0}, 1.0)", helpers=sigmoid)
    _add("softplus", 1, ["float"], "_softplus({0})", helpers=("_softplus",))
    _add("relu", 1, ["float"], "np.maximum({0}, 0.0)", is_exact=True)
    # 0 times the smallest number is -0.0, the limit; 0 times -inf would be NaN.
    above = "({0} if {0} > -3.4028234663852886e+38 else -3.4028234663852886e+38)"
    _add("swish", 1, ["float"], f"_sigmoid_times({{0}}, {above})", helpers=sigmoid)
    _add("gelu_erf", 1, ["float"], f"0.5 * {above} * math.erfc({{0}} * -0.7071067811865476)")
    inner = "1.5957691216057308 * {0} * (1.0 + 0.044715 * {0} * {0})"
    _add("gelu", 1, ["float"], f"_sigmoid_times({inner}, {above})", helpers=sigmoid)


def _choices() -> None:
    # The predicate comes last, as in PopLibs; `ops.where` has NumPy's order.
    _add("select", 3, _ALL, "{0} if {2} else {1}", is_exact=True)


_arithmetic()
_comparisons()
_logic()
_functions()
_choices()

CAST = ElementOperation("cast", 1, {})
"""Conversion to another element type; its text depends on both types (`cast_text`)."""


def cast_text(source: ElementClass, target: ElementClass) -> str:
    """Return the text of a cast in `compute`: to integers by truncation, to floats by rounding."""
    kind = kind_of(source), kind_of(target)
    if kind[1] == "bool":
        return "{0}" if kind[0] == "bool" else "{0} != 0"
    if kind[1] == "int":
        is_taken = kind[0] == "int" or (kind[0] == "float" and target is UNSIGNED_LONGLONG)
        return f"{target.__name__}({'{0}' if is_taken else 'int({0})'})"
    if kind[0] == "bool":
        return f"{target.__name__}(int({{0}}))"
    return (
        "{0}" if target.__name__ == "FLOAT" and kind[0] == "float" else f"{target.__name__}({{0}})"
    )
