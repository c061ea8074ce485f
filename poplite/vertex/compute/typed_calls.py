"""Types the calls of a `compute`: number functions, the user's own functions, `print`, exceptions.

A call of the user's own function is typed by typing that function for the kinds of the arguments;
that yields its result and the facts about its text::

    self.y = self.near(x, 1)    near(a float32, an int) returns a float32

`print(...)` and `breakpoint()` must be statements and run only in the interpreted form; they are
recorded here, and rejected when the vertex is compiled.

Exceptions are written as in ordinary Python; their arguments are numbers, string literals and
f-strings::

    if self.n < 1:
        raise EmptyBlock(self.n)
    assert self.x[0] > 0, f"pivot {self.x[0]} of {len(self.x)}"

`poplite.vertex.compute.identity` describes how it is compiled.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import NoReturn

import numpy as np

from poplite.types import BOOL, LONGLONG, UNSIGNED_LONGLONG, ElementType
from poplite.vertex.compute import lanes
from poplite.vertex.compute.arithmetic import Kind
from poplite.vertex.compute.dialect import (
    FUNCTIONS,
    STORED,
    HelperFunction,
    Scope,
    helper_of,
    is_operation,
)
from poplite.vertex.compute.number_functions import fma
from poplite.vertex.compute.typed_facts import (
    Checked,
    ElementsValue,
    Facts,
    LanesOf,
    NumberValue,
    Result,
    Value,
    evaluated,
)
from poplite.vertex.compute.typed_lanes import LanesTyping

TypeHelper = Callable[[Scope, ast.Call, HelperFunction, "dict[ast.expr, Value]"], Checked]
"""Types the helper that a call refers to, for the values of the arguments."""

_SEVERAL = {"atan2": 2, "fma": 3, "larger": 2, "pow": 2, "smaller": 2}
"""Functions of two or three numbers."""

_FOLDS = (sum, min, max, all, any)
"""Functions of Python that lanes have as methods."""

_STORED_NAMES = frozenset(f"as_{each.__name__}" for each in STORED)

_PRINT_OPTIONS = ("sep", "end", "flush")

_RAISE = 'use raise ValueError(f"n is {self.n}"), or another class derived from Exception'

_MEMORY = "use an InOut[Vector[...]] field for working memory"

_CALLS: tuple[tuple[object, str], ...] = (
    (open, "read files on the host, and pass the values with engine.write(...)"),
    (print, "call print as a statement"),
    (breakpoint, "call breakpoint as a statement"),
    (range, "use range(...) in a for statement only"),
    (sum, "loop over the elements: total += self.x[i]"),
    (dict, "use a State[Vector[...]] field, indexed by number"),
    *((made, _MEMORY) for made in (list, np.array, np.empty, np.full, np.ones, np.zeros)),
    *((made, _MEMORY) for made in (np.empty_like, np.full_like, np.ones_like, np.zeros_like)),
    (np.sum, "loop over the elements: total += self.x[i]"),
    (np.dot, "loop over the elements: total += self.x[i] * self.y[i]"),
    (np.mean, "loop over the elements, and divide their sum by len(self.x)"),
    (np.clip, "use min(max(x, low), high)"),
    (np.square, "multiply: x * x"),
    (pow, "multiply, or write ** with a literal"),
    (round, "use math.floor(x + 0.5), which rounds halves up"),
)

_OF_A_VECTOR = {
    "fill": "write a loop: for i in range(len({x})): {x}[i] = value",
    "append": "assign an element, {x}[i] = value; the length of a vector is fixed",
    "sum": "loop over the elements: total += {x}[i]",
    "max": "loop over the elements: best = max(best, {x}[i])",
    "min": "loop over the elements: best = min(best, {x}[i])",
    "copy": "loop over the elements: self.y[i] = {x}[i]",
}
"""Alternatives to methods that NumPy's arrays and Python's lists have."""


class CallTyper:
    """Types calls; `value` types the arguments, `type_helper` called functions.

    `as_number` returns the value of an argument that must be a number.
    """

    def __init__(
        self,
        scope: Scope,
        facts: Facts,
        type_helper: TypeHelper,
        value: Callable[[ast.expr], Value],
        as_number: Callable[[ast.expr, Value], NumberValue],
    ) -> None:
        self.lanes = LanesTyping(scope, facts, value, as_number)
        self._scope = scope
        self._facts = facts
        self._type_helper = type_helper
        self._value = value
        self._as_number = as_number

    def result(self, node: ast.Call) -> NumberValue | LanesOf:
        """Type a call whose result is used."""
        found = self.lanes.method(node)
        if found is not None:
            return found
        if self.lanes.stores(node):
            self._scope.refuse(node, "set_lanes returns nothing", "call it as a statement")
        helper = helper_of(self._scope, node)
        if helper is None:
            return self._number_function(node)
        result = self._helper(node, helper)
        if result is None:
            self._scope.refuse(
                node,
                f"{ast.unparse(node.func)}(...) returns nothing",
                "return a number from it, or call it as a statement",
            )
        return result

    def alone(self, node: ast.Call) -> None:
        """Type a call that is a statement."""
        if self.lanes.stores(node):
            return
        helper = helper_of(self._scope, node)
        if helper is not None:
            self._helper(node, helper)
            return
        function = self._function_of(node)
        if function not in (print, breakpoint):
            self.result(node)
            self._scope.refuse(node, "a call used as a statement has no effect", "assign its value")
        self._facts.debugging[node] = "print" if function is print else "breakpoint"
        if function is print:
            self._print(node)
        elif node.args or node.keywords:
            self._scope.refuse(node, "breakpoint takes no arguments", "write breakpoint()")

    def _helper(
        self, node: ast.Call, helper: HelperFunction, arguments: dict[ast.expr, Value] | None = None
    ) -> Result:
        if arguments is None:
            passed = [*node.args, *(keyword.value for keyword in node.keywords)]
            arguments = {arg: self._value(arg) for arg in passed}
        checked = self._facts.helpers[node] = self._type_helper(
            self._scope, node, helper, arguments
        )
        return checked.result

    def _print(self, node: ast.Call) -> None:
        for arg in node.args:
            self._printed(arg)
        for keyword in node.keywords:
            if keyword.arg not in _PRINT_OPTIONS or not isinstance(keyword.value, ast.Constant):
                self._scope.refuse(
                    node,
                    f"print takes {', '.join(_PRINT_OPTIONS)} as literals, not "
                    f"{ast.unparse(keyword)}",
                    "print numbers, vectors and strings",
                )

    def _printed(self, node: ast.expr) -> None:
        """Type an argument of print: a number, a vector, a string literal, or an f-string."""
        if isinstance(node, ast.JoinedStr):
            for part in node.values:
                self._printed(part)
        elif isinstance(node, ast.FormattedValue):
            self._printed(node.value)
            if node.format_spec is not None:
                self._printed(node.format_spec)
        elif not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
            self._value(node)

    def _function_of(self, node: ast.Call) -> object:
        return None if self._scope.is_local(node.func) else self._scope.global_of(node.func)

    def _mapped(self, node: ast.Call) -> LanesOf:
        """Type `pl.lanes.map(f, ...)`."""
        called, arguments = self.lanes.call_for_a_lane(node)
        helper = helper_of(self._scope, called)
        if helper is None:
            numbers = [value for value in arguments.values() if isinstance(value, NumberValue)]
            if len(numbers) < len(arguments):
                self._scope.refuse(node, "map takes lanes and numbers", "read elements one by one")
            return self.lanes.mapped(node, self._of_numbers(called, self._name(called), numbers))
        if helper.takes_self:
            self._scope.refuse(
                node,
                f"{ast.unparse(called.func)} is called for each lane, so it cannot take self",
                "make it a @staticmethod, and pass the numbers it needs",
            )
        return self.lanes.mapped(node, self._helper(called, helper, arguments))

    def _number_function(self, node: ast.Call) -> NumberValue | LanesOf:
        function = self._function_of(node)
        if function is lanes.full:
            return self.lanes.full(node)
        if function is lanes.map:
            return self._mapped(node)
        if function is len and len(node.args) == 1 and not node.keywords:
            return self._len(node.args[0])
        if function in _FOLDS and len(node.args) == 1:
            value = self._value(node.args[0])
            if isinstance(value, LanesOf):
                fold = f"{ast.unparse(node.args[0])}.{ast.unparse(node.func)}()"
                what = f"{ast.unparse(node.func)} does not take {value}"
                self._scope.refuse(node, what, f"use {fold}")
        name = self._name(node)
        if name in ("minimum", "maximum") and len(node.args) < 2:
            self._scope.refuse(
                node,
                f"{ast.unparse(node.func)} takes at least 2 numbers, not {len(node.args)}",
                "loop over the elements of a vector: best = max(best, self.x[i])",
            )
        self._refuse_text(node)
        values = [self._value(arg) for arg in node.args]
        if any(isinstance(value, LanesOf) for value in values):
            self._facts.calls[node] = name
            return self.lanes.function(node, name, values)
        numbers = list(map(self._as_number, node.args, values))
        return self._of_numbers(node, name, numbers)

    def _refuse_text(self, node: ast.Call) -> None:
        """Reject a number that is passed as a string: `float("inf")`."""
        text = node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else None
        if isinstance(text, str) and (function := self._function_of(node)) in (int, float):
            with suppress(ValueError):
                number = int(text) if function is int else float(text)
                fix = repr(number) if math.isfinite(number) else f"math.{abs(number)}"
                sign = "-" if number == -math.inf else ""
                self._scope.refuse(
                    node, f"{ast.unparse(node)} has a string argument", f"write {sign}{fix}"
                )

    def _name(self, node: ast.Call) -> str:
        """Return the name of the called function in the arithmetic."""
        function = self._function_of(node)
        name = next((name for known, name in FUNCTIONS.items() if known is function), None)
        if name is None:
            self._refuse_call(node, function)
        if node.keywords:
            what = f"{ast.unparse(node.func)} takes no keyword arguments"
            self._scope.refuse(node, what, "pass each value by position")
        return name

    def _of_numbers(self, node: ast.Call, name: str, values: list[NumberValue]) -> NumberValue:
        self._facts.calls[node] = name
        number = self._kind_of_result(node, name, values)
        return number._replace(constant=evaluated(name, [value.constant for value in values]))

    def _kind_of_result(self, node: ast.Call, name: str, values: list[NumberValue]) -> NumberValue:
        """Type a function of numbers, except for its value if that is constant."""
        if (count := _SEVERAL.get(name)) is not None:
            if len(values) == count:
                return self._of_several(name, values)
            what = f"{ast.unparse(node.func)} takes {count} numbers, not {len(values)}"
            self._scope.refuse(
                node, what, "pass two numbers" if count == 2 else "pass three numbers"
            )
        if name in ("minimum", "maximum"):
            kind = max(Kind.INT, *(value.kind for value in values))
            return NumberValue(kind, any(value.long for value in values))
        if len(values) != 1:
            self._scope.refuse(
                node,
                f"{ast.unparse(node.func)} takes 1 number, not {len(values)}",
                "pass one number",
            )
        return self._function(node, name, values[0])

    def _len(self, node: ast.expr) -> NumberValue:
        value = self._value(node)
        if not isinstance(value, ElementsValue):
            self._scope.refuse(
                node,
                f"len does not take {value}",
                "pass the count explicitly: self.x.lanes(i, count)"
                if isinstance(value, LanesOf)
                else "use len of a vector or a list of vectors",
            )
        return NumberValue(Kind.INT)

    def _of_several(self, name: str, values: list[NumberValue]) -> NumberValue:
        least = Kind.INT if name in ("larger", "smaller") else Kind.FLOAT
        is_long = least is Kind.INT and any(value.long for value in values)
        return NumberValue(max(least, *(value.kind for value in values)), is_long)

    def _stored(self, node: ast.Call, name: str, value: NumberValue) -> NumberValue:
        """Type a call of an element type: the value of an element after a store."""
        element = next(each for each in STORED if f"as_{each.__name__}" == name)
        if element.is_floating_point:
            return NumberValue(Kind.F32)
        if value.kind > Kind.UINT and element is not UNSIGNED_LONGLONG:
            function = "bool" if element is BOOL else "int"
            self._scope.refuse(
                node,
                f"{ast.unparse(node.func)} does not take a float",
                f"write {ast.unparse(node.func)}({function}({ast.unparse(node.args[0])}))",
            )
        if element is BOOL:
            return NumberValue(Kind.BOOL)
        if element is UNSIGNED_LONGLONG:
            return NumberValue(Kind.UINT, True)
        return NumberValue(Kind.INT, value.long and element is LONGLONG)

    def _function(self, node: ast.Call, name: str, value: NumberValue) -> NumberValue:
        if name in _STORED_NAMES:
            return self._stored(node, name, value)
        if name in ("float_bits", "half_bits"):
            return NumberValue(Kind.INT)
        if name in ("float_from_bits", "half_from_bits"):
            if value.kind > Kind.UINT:
                argument = ast.unparse(node.args[0])
                what = f"{ast.unparse(node.func)} does not take a float"
                self._scope.refuse(node, what, f"write {ast.unparse(node.func)}(int({argument}))")
            return NumberValue(Kind.F32)
        if name == "as_bool":
            return NumberValue(Kind.BOOL)
        if name == "truncate":
            return NumberValue(Kind.INT, value.long or value.kind > Kind.INT)
        if name == "as_float":
            return NumberValue(max(value.kind, Kind.FLOAT))
        if value.kind is Kind.BOOL:
            self._scope.refuse(
                node,
                f"{ast.unparse(node.func)} of a truth value",
                "write int(...) around the value",
            )
        if name in ("floor", "ceil"):
            return NumberValue(Kind.INT, value.long or value.kind > Kind.INT)
        kind = value.kind if name == "absolute" else max(value.kind, Kind.FLOAT)
        return NumberValue(kind, value.long and kind < Kind.FLOAT)

    def _refuse_method(self, node: ast.Call) -> None:
        """Reject a call of a vector's method, other than those for lanes."""
        called = node.func
        if not isinstance(called, ast.Attribute) or not self._scope.is_local(called):
            return
        if any(_called_before(node)):
            return
        owner = self._value(called.value)
        if isinstance(owner, ElementsValue):
            of_lanes = "use elements, {x}[i], len({x}), or lanes, {x}.lanes(i)"
            fix = _OF_A_VECTOR.get(called.attr, of_lanes).format(x=ast.unparse(called.value))
            self._scope.refuse(node, f"{owner} has no method '{called.attr}'", fix)

    def _refuse_call(self, node: ast.Call, function: object) -> NoReturn:
        self._refuse_method(node)
        known, name = sorted(set(map(_spelled, FUNCTIONS))), _spelled(function)
        calls = [function, *map(self._function_of, _called_before(node))]  # open("a").read()
        fix = next((fix for refused, fix in _CALLS if any(refused is call for call in calls)), "")
        if is_operation(self._scope, function):
            fix = _instead_of_operation(name)
        elif isinstance(function, type) and issubclass(function, ElementType):
            fix = f"store the value in a field of {function!r}, which rounds it"
        elif element := _of_numpys_type(function):
            fix = element
        elif name in known and all(function is not own for own in FUNCTIONS):  # NumPy's, say
            fix = f"use {name}(...)"
        self._scope.refuse(
            node,
            f"{ast.unparse(node.func)}(...) cannot be called in compute",
            fix or f"use one of: len, {', '.join(known)}",
        )

    def raised(self, node: ast.Raise) -> None:
        """Type the exception that a statement raises."""
        raised = node.exc
        if raised is None or node.cause is not None:
            what = "a raise without an exception" if raised is None else "'from'"
            self._scope.refuse(node, f"{what} cannot be used in compute", _RAISE)
        call = raised if isinstance(raised, ast.Call) else None
        self._exception(raised if call is None else call.func)
        if call is not None:
            self._exception_arguments(call)
        self._facts.raises = True

    def _exception(self, node: ast.expr) -> None:
        """Record the class that is raised."""
        named = isinstance(node, (ast.Name, ast.Attribute)) and not self._scope.is_local(node)
        raised = self._scope.global_of(node) if named else None
        if not (isinstance(raised, type) and issubclass(raised, Exception)):
            self._scope.refuse(
                node, f"'{ast.unparse(node)}' is not a class derived from Exception", _RAISE
            )
        self._facts.exceptions[node] = raised

    def _exception_arguments(self, call: ast.Call) -> None:
        """Type the arguments of an exception."""
        if call.keywords:
            self._scope.refuse(
                call,
                f"{ast.unparse(call.keywords[0])}: an exception takes values by position only",
                f"write {ast.unparse(call.func)}(value, ...)",
            )
        for value in call.args:
            self.text(value)

    def text(self, node: ast.expr) -> None:
        """Type a number, a string literal or an f-string."""
        if isinstance(node, ast.JoinedStr) or (
            isinstance(node, ast.Constant) and isinstance(node.value, str)
        ):
            self._printed(node)
        else:
            self._as_number(node, self._value(node))


def _called_before(node: ast.Call) -> Iterator[ast.Call]:
    """Yield calls whose result a method call uses: `open(...)` in `open(...).read()`."""
    inner: ast.expr = node
    while isinstance(inner, ast.Call | ast.Attribute):
        inner = inner.func if isinstance(inner, ast.Call) else inner.value
        if isinstance(inner, ast.Call):
            yield inner


def _of_numpys_type(function: object) -> str:
    """Return the fix for calling a NumPy number type, or "" for anything else."""
    if not (isinstance(function, type) and issubclass(function, np.generic)):
        return ""
    dtype = np.dtype(function)
    element = next((each for each in STORED if each.dtype == dtype), None)
    if element is not None:
        return f"use pl.{element.__name__}(...)"
    return {"f": "float(...)", "i": "int(...)", "u": "int(...)"}.get(dtype.kind, "")


def _instead_of_operation(name: str) -> str:
    """Return the fix for calling a tensor operation, such as `math.exp(...)` for `ops.exp`."""
    names = {"maximum": "max", "minimum": "min", "absolute": "abs"}
    number = names.get(name, name)
    if any(_spelled(known) == number for known in FUNCTIONS):
        return f"use {number}(...): ops are for tensors, outside compute"
    return "write its formula: ops are for tensors, outside compute"


def _spelled(function: object) -> str:
    if function is fma:
        return "pl.fma"
    name = str(getattr(function, "__name__", function))
    return f"math.{name}" if hasattr(math, name) else name
