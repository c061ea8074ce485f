"""Types lanes: `self.x.lanes(i)`, their arithmetic, folds, calls for each lane.

    self.x.lanes(i)                  lanes of the kind of x's elements, such as float32
    a + b, a * 0.5, -a               lanes of that kind, to which weak numbers are converted
    a.sum(), a.max()                 a number of that kind
    pl.lanes.map(math.exp, a, 2.0)   lanes of the kind of the function's result

Lanes are float32, ints, unsigned ints or bools; a Python float combined with them is a float32.
Their meaning is described in `poplite.vertex.compute.lanes`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import NoReturn

from poplite.types import QUARTER
from poplite.vertex.compute import lanes
from poplite.vertex.compute.arithmetic import Kind, element_kind, fits_lanes
from poplite.vertex.compute.dialect import BINARY, UNARY, Scope, is_self
from poplite.vertex.compute.typed_facts import ElementsValue, Facts, LanesOf, NumberValue, Value

FUNCTIONS = {"larger": 2, "smaller": 2, "absolute": 1, "fma": 3}
"""Functions of `poplite.vertex.compute.arithmetic` that take lanes, with their argument counts."""

_LOADS, _STORES = "lanes", "set_lanes"


class LanesTyping:
    """Types expressions with lanes; `value` types the parts of an expression.

    `as_number` returns the value of a part that must be a number.
    """

    def __init__(
        self,
        scope: Scope,
        facts: Facts,
        value: Callable[[ast.expr], Value],
        as_number: Callable[[ast.expr, Value], NumberValue],
    ) -> None:
        self._scope, self._facts = scope, facts
        self._value, self._as_number = value, as_number

    def method(self, node: ast.Call) -> NumberValue | LanesOf | None:
        """Type a call of a method of a vector or of lanes; None for other calls."""
        called = node.func
        if not isinstance(called, ast.Attribute):
            return None
        if called.attr == _LOADS and self._scope.is_local(called):
            return self._load(node, called)
        is_named = isinstance(called.value, ast.Name) and not is_self(called.value)
        if not (called.attr in lanes.JOINS or is_named) or not self._scope.is_local(called):
            return None
        owner = self._value(called.value)
        if not isinstance(owner, LanesOf):
            return None
        if called.attr not in lanes.JOINS:
            self._refuse_method(node, owner, called.attr)
        if node.args or node.keywords:
            self._scope.refuse(node, f"{called.attr} of lanes takes no arguments", "remove them")
        if owner.kind not in lanes.IDENTITIES[called.attr]:
            self._scope.refuse(
                node,
                f"{called.attr} is not defined for {owner}",
                "use all and any for truth values, and the others for numbers",
            )
        self._facts.folds[node] = called.attr
        return NumberValue(owner.kind, long=owner.kind in (Kind.INT, Kind.UINT))

    def attribute(self, node: ast.Attribute, owner: Value) -> None:
        """Reject an attribute of lanes, and a method of lanes or a vector that is not called."""
        text = ast.unparse(node)
        if isinstance(owner, LanesOf):
            if node.attr not in lanes.JOINS:
                self._refuse_method(node, owner, node.attr)
            self._scope.refuse(node, f"{node.attr} of {owner} must be called", f"write {text}()")
        if isinstance(owner, ElementsValue) and node.attr in (_LOADS, _STORES):
            arguments = "i" if node.attr == _LOADS else "i, value"
            self._scope.refuse(
                node, f"{node.attr} of {owner} must be called", f"write {text}({arguments})"
            )

    def _refuse_method(self, node: ast.AST, owner: LanesOf, name: str) -> NoReturn:
        have = f"use a method of lanes: {', '.join(lanes.JOINS)}"
        self._scope.refuse(node, f"{owner} have no {name}", have)

    def _load(self, node: ast.Call, called: ast.Attribute) -> LanesOf:
        field = self._vector(called).field
        self._scope.check_read(node, field)
        if node.keywords or not 1 <= len(node.args) <= 2:
            self._scope.refuse(
                node,
                "lanes takes the first index and a count",
                f"{ast.unparse(called)}(i) or {ast.unparse(called)}(i, count)",
            )
        for each in node.args:
            self._index(each)
        self._facts.lane_accesses.add(node)
        return LanesOf(element_kind(field.element))

    def _vector(self, called: ast.Attribute) -> ElementsValue:
        owner = self._value(called.value)
        if not isinstance(owner, ElementsValue) or owner.depth != 1:
            self._scope.refuse(
                called,
                f"{owner} has no {called.attr}",
                "use lanes of a vector, such as self.x or self.rows[r]",
            )
        if owner.field.element is QUARTER:
            self._scope.refuse(
                called, "lanes cannot be of QUARTER", "read its elements one by one: self.x[i]"
            )
        return owner

    def _index(self, node: ast.expr) -> None:
        index = self._value(node)
        if not isinstance(index, NumberValue) or index.kind is not Kind.INT:
            self._scope.refuse(
                node, f"an index must be an int, but this is {index}", "write int(...)"
            )

    def stores(self, node: ast.Call) -> bool:
        """Type `self.y.set_lanes(i, value)`, a statement; False for other calls."""
        called = node.func
        is_store = isinstance(called, ast.Attribute) and called.attr == _STORES
        if not is_store or not self._scope.is_local(called):
            return False
        assert isinstance(called, ast.Attribute)
        field = self._vector(called).field
        self._scope.check_written(node, field)
        if node.keywords or len(node.args) != 2:
            self._scope.refuse(
                node,
                "set_lanes takes the first index and the lanes",
                f"{ast.unparse(called)}(i, value)",
            )
        self._index(node.args[0])
        value = self._value(node.args[1])
        if not isinstance(value, LanesOf) or value.kind is not element_kind(field.element):
            wanted, source = LanesOf(element_kind(field.element)), ast.unparse(node.args[1])
            fix = str(wanted)
            if isinstance(value, ElementsValue) and value.depth == 1:
                fix = f"{source}.lanes(i)"
            elif isinstance(value, NumberValue):
                is_other = wanted.kind is Kind.F32 and value.kind not in (Kind.F32, Kind.FLOAT)
                fix = f"pl.lanes.full({f'float({source})' if is_other else source})"
            self._scope.refuse(
                node.args[1],
                f"{value} cannot be stored in lanes of '{field.name}', "
                f"a field of {field.element!r}",
                fix,
            )
        self._facts.lane_accesses.add(node)
        return True

    def binary(self, node: ast.AST, op: ast.operator, one: Value, other: Value) -> LanesOf:
        """Type an operation with lanes as one or both operands."""
        symbol = BINARY[type(op)]
        kind = self._together(node, one, other)
        _, kinds = lanes.OPERATIONS.get(symbol, (None, ()))
        if kind not in kinds:
            self._scope.refuse(
                node,
                f"'{symbol}' is not defined for {LanesOf(kind)}",
                "use pl.lanes.map(f, a, b), where f(a, b) is for one lane",
            )
        return self._made(node, LanesOf(kind))

    def _together(self, node: ast.AST, *values: Value) -> Kind:
        """Return the common kind of lanes and other lanes or numbers."""
        kind = next(value.kind for value in values if isinstance(value, LanesOf))
        for value in values:
            is_fit = isinstance(value, NumberValue) and fits_lanes(value.kind, kind)
            if not (is_fit or value == LanesOf(kind)):
                self._scope.refuse(
                    node,
                    f"{LanesOf(kind)} cannot be combined with {value}",
                    "use lanes of one kind, and numbers that can be converted to it",
                )
        return kind

    def unary(self, node: ast.UnaryOp, operand: LanesOf) -> LanesOf:
        """Type `-` of lanes."""
        symbol = UNARY[type(node.op)]
        if symbol != "-" or operand.kind is Kind.BOOL:
            self._scope.refuse(
                node,
                f"'{symbol}' is not defined for {operand}",
                "use pl.lanes.map(f, a), where f(a) is for one lane",
            )
        return self._made(node, operand)

    def function(self, node: ast.Call, name: str, values: list[Value]) -> LanesOf:
        """Type a function of numbers that is called with lanes."""
        called = ast.unparse(node.func)
        if name not in FUNCTIONS:
            arguments = ", ".join(map(ast.unparse, node.args))
            fix = f"use pl.lanes.map({called}, {arguments})"
            self._scope.refuse(node, f"{called} is not defined for lanes", fix)
        wanted = FUNCTIONS[name]
        if len(values) != wanted:
            self._scope.refuse(
                node, f"{called} takes {wanted}, not {len(values)}", "pass that number of arguments"
            )
        kind = self._together(node, *values)
        if kind is Kind.BOOL:
            what = f"{called} is not defined for {LanesOf(kind)}"
            self._scope.refuse(node, what, "use & and | for truth values")
        if name == "fma" and kind is not Kind.F32:
            what = f"{called} is not defined for {LanesOf(kind)}"
            self._scope.refuse(node, what, "use x * y + z, which is exact for ints")
        return self._made(node, LanesOf(kind))

    def full(self, node: ast.Call) -> LanesOf:
        """Type `pl.lanes.full(number)`."""
        if len(node.args) != 1 or node.keywords:
            fix = f"write {ast.unparse(node.func)}(0.0)"
            self._scope.refuse(node, "full takes one number", fix)
        kind = self._as_number(node.args[0], self._value(node.args[0])).kind
        self._facts.calls[node] = "full"
        return self._made(node, LanesOf(Kind.F32 if kind is Kind.FLOAT else kind))

    def call_for_a_lane(self, node: ast.Call) -> tuple[ast.Call, dict[ast.expr, Value]]:
        """Return the call of `f` that `pl.lanes.map(f, ...)` makes for a lane, with its values."""
        if node.keywords or len(node.args) < 2:
            self._scope.refuse(
                node, "map takes a function and its arguments", "pl.lanes.map(f, self.x.lanes(i))"
            )
        values = {each: self._value(each) for each in node.args[1:]}
        if not any(isinstance(value, LanesOf) for value in values.values()):
            self._scope.refuse(node, "map is called without lanes", "call the function itself")
        numbers: dict[ast.expr, Value] = {}
        for each, value in values.items():
            numbers[each] = NumberValue(value.kind) if isinstance(value, LanesOf) else value
        called = ast.copy_location(ast.Call(node.args[0], node.args[1:], []), node)
        self._facts.mapped[node] = called
        self._facts.calls[node] = "map"
        return called, numbers

    def mapped(self, node: ast.Call, result: Value | None) -> LanesOf:
        """Type `pl.lanes.map(f, ...)`, given the result of `f` for a lane."""
        if not isinstance(result, NumberValue):
            self._scope.refuse(
                node, f"{ast.unparse(node.args[0])} does not return a number", "return a number"
            )
        return self._made(node, LanesOf(Kind.F32 if result.kind is Kind.FLOAT else result.kind))

    def _made(self, node: ast.AST, value: LanesOf) -> LanesOf:
        assert isinstance(node, ast.expr | ast.AugAssign)
        self._facts.lanes[node] = value.kind
        return value
