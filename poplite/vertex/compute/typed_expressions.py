"""Types the expressions of a `compute`: the kind of every number, the field of every vector.

Everything that is not a number, vector or list of vectors is rejected at the node where it is
used, with an alternative.
"""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NoReturn

from poplite.errors import did_you_mean
from poplite.vertex.compute.arithmetic import (
    Kind,
    binary_kind,
    element_kind,
    literal_kind,
    unary_kind,
)
from poplite.vertex.compute.dialect import (
    BINARY,
    COMPARISONS,
    LIMITS,
    OPERATIONS,
    SQUARE,
    UNARY,
    Constants,
    Scope,
    check_range,
    is_count,
    is_literal,
    is_self,
)
from poplite.vertex.compute.typed_calls import CallTyper, TypeHelper
from poplite.vertex.compute.typed_facts import (
    ElementsValue,
    Facts,
    LanesOf,
    Mixed,
    NumberValue,
    Value,
    WalkState,
    evaluated,
    known,
    meet_numbers,
    met,
)
from poplite.vertex.vertex import RESERVED_NAMES, Field


class ExpressionTyper:
    """Types expressions in the current state of the statements.

    Attributes:
        calls: types calls, including those that are statements.
        constants: the numbers that names of the class and its module refer to.
    """

    def __init__(
        self, scope: Scope, facts: Facts, path: WalkState, type_helper: TypeHelper
    ) -> None:
        self.calls = CallTyper(scope, facts, type_helper, self.value, self.as_number)
        self.constants = Constants(scope)
        self._scope = scope
        self._facts = facts
        self._path = path
        self._choices: dict[ast.expr, list[tuple[ast.expr, NumberValue]]] = {}

    def value(self, node: ast.expr) -> Value:
        """Type an expression; record its kind if it is a number."""
        self._facts.casts.pop(node, None)
        constant = self.constants.named(node)
        if constant is not None:
            self._facts.constants[node] = constant
            value: Value = NumberValue(literal_kind(constant), constant=known(constant))
        else:
            value = getattr(self, f"_{type(node).__name__}")(node)
        if isinstance(value, NumberValue):
            self._facts.kinds[node] = value.kind
        elif not isinstance(value, Mixed):
            self._facts.containers[node] = value
        return value

    def number(self, node: ast.expr) -> NumberValue:
        """Type an expression that must be a number."""
        return self.as_number(node, self.value(node))

    def as_number(self, node: ast.expr, value: Value) -> NumberValue:
        """Return a value that must be a number."""
        if not isinstance(value, NumberValue):
            text = ast.unparse(node)
            fix = (
                f"reduce them: {text}.sum(), or call a function for each: pl.lanes.map(f, {text})"
                if isinstance(value, LanesOf)
                else f"index it: {text}[i]"
            )
            noun = "are" if isinstance(value, LanesOf) else "is"
            self._scope.refuse(node, f"{value} {noun} used as a number", fix)
        return value

    def _Constant(self, node: ast.Constant) -> NumberValue:
        if not isinstance(node.value, (bool, int, float)):
            is_text = isinstance(node.value, str)
            fix = "a number; print(...) and exceptions take text" if is_text else "0, 0.0 or False"
            self._scope.refuse(node, f"{node.value!r} is not a number", f"use {fix}")
        check_range(self._scope, node, node.value)
        return NumberValue(literal_kind(node.value), constant=known(node.value))

    def _Name(self, node: ast.Name) -> Value:
        assert self._path.locals is not None
        if node.id == "self":
            self._scope.refuse(node, "self is used as a value", "use its fields: self.name")
        local = self._path.locals.get(node.id)
        if local is None or local.unset:
            may = "is" if local is None else "may be"
            self._scope.refuse(
                node,
                f"local '{node.id}' {may} unset here",
                f"assign {node.id} before the if or loop that assigns it",
            )
        value = local.value
        if isinstance(value, Mixed):
            self._scope.refuse(
                node,
                f"local '{node.id}' is {value.one} on one path and {value.other} on another",
                "use two names",
            )
        if isinstance(value, NumberValue):
            if value.clash and self._path.settled:
                kinds = "an int, a Python float or a float32"
                if Kind.UINT in value.met:
                    kinds = "an int, an unsigned int or a float"
                self._scope.refuse(
                    node,
                    f"local '{node.id}' is {kinds}, depending on the path",
                    f"write float(...) where {node.id} is assigned an int",
                )
            if local.ragged:
                self._facts.casts[node] = value.kind
        return value

    def _Attribute(self, node: ast.Attribute) -> Value:
        if not is_self(node.value):
            owner = self.value(node.value)
            self.calls.lanes.attribute(node, owner)
            hint = "len(...)" if node.attr in ("size", "shape") else "elements by index"
            self._scope.refuse(node, f"{owner} has no attribute '{node.attr}'", f"use {hint}")
        read = self.field(node)
        return ElementsValue(read, read.depth) if read.depth else self.read(node, read)

    def field(self, node: ast.Attribute) -> Field:
        """Return the field that `self.name` refers to."""
        fields = self._scope.vertex.fields
        if not is_self(node.value):
            self._scope.refuse(node, f"'{ast.unparse(node)}' is not a field", "use self.name")
        if node.attr not in fields:
            owner = self._scope.vertex
            what = f"'{owner.__name__}' has no field '{node.attr}'{did_you_mean(node.attr, fields)}"
            fix = f"use a declared field, or declare '{node.attr}'"
            if node.attr in RESERVED_NAMES:
                fix = f"use a declared field; no field can have the name '{node.attr}'"
            value = inspect.getattr_static(owner, node.attr, None)
            if value is not None:
                kind = type(value).__name__
                what = f"'{node.attr}' is {kind}, neither a field nor an int, float or bool"
                fix = f"use a declared field, a number ({node.attr} = float(...)), or call a method"
            self._scope.refuse(
                node,
                what,
                fix,
                found="declared: " + (", ".join(map(str, fields.values())) or "no fields"),
            )
        return fields[node.attr]

    def read(self, node: ast.expr, source: Field) -> NumberValue:
        """Return the number read from an element of a field."""
        self._scope.check_read(node, source)
        return NumberValue(element_kind(source.element), long=source.element.size_bytes == 8)

    def _Call(self, node: ast.Call) -> NumberValue | LanesOf:
        return self.calls.result(node)

    def _Subscript(self, node: ast.Subscript) -> Value:
        source, depth = self.element(node)
        return ElementsValue(source, depth) if depth else self.read(node, source)

    def element(self, node: ast.Subscript) -> tuple[Field, int]:
        """Type `vector[index]`: return its field, and the depth of the result."""
        owner = self.value(node.value)
        if not isinstance(owner, ElementsValue):
            is_of_lanes = isinstance(owner, LanesOf)
            self._scope.refuse(
                node,
                f"{owner} cannot be indexed",
                "index the vector: self.x[i]"
                if is_of_lanes
                else "index vectors only, and use scalars without an index",
            )
        if isinstance(node.slice, ast.Tuple):
            self._refuse_indices(node, owner, node.slice)
        index = self.value(node.slice)
        if not isinstance(index, NumberValue) or index.kind is not Kind.INT:
            self._scope.refuse(
                node.slice, f"an index must be an int, but this is {index}", "write int(...)"
            )
        constant = self.constants.evaluate(node.slice)
        if constant is not None and constant < 0:
            self._scope.refuse(
                node.slice,
                f"index {constant} is negative, but indices start at 0",
                f"write {ast.unparse(node.value)}[len({ast.unparse(node.value)}) - {-constant}]",
            )
        return owner.field, owner.depth - 1

    def _refuse_indices(
        self, node: ast.Subscript, owner: ElementsValue, index: ast.Tuple
    ) -> NoReturn:
        """Reject `vector[i, j]`, which is how NumPy arrays are indexed."""
        indices = [ast.unparse(part) for part in index.elts]
        fix = ast.unparse(node.value) + "".join(f"[{index}]" for index in indices)
        if len(indices) != owner.depth:
            fix = f"{ast.unparse(node.value)}[row * columns + column], with a State of columns"
            if owner.depth == 2:
                fix = f"{ast.unparse(node.value)}[row][column]"
        here = f"not {len(indices)}"
        if len(indices) == 1:
            fix, here = f"{ast.unparse(node.value)}[{indices[0]}]", "not a tuple of one"
        self._scope.refuse(
            node.slice,
            f"{owner} takes one index, {here}",
            fix,
            found=f"declared: {owner.field}",
        )

    def _BinOp(self, node: ast.BinOp) -> NumberValue | LanesOf:
        values = self.value(node.left), self.value(node.right)
        return self.binary(node, node.op, (node.left, node.right), values)

    def binary(
        self,
        node: ast.AST,
        op: ast.operator,
        operands: tuple[ast.expr, ast.expr],
        values: tuple[Value, Value],
    ) -> NumberValue | LanesOf:
        """Type an operation on two expressions with these values."""
        _, right = operands
        if any(isinstance(value, LanesOf) for value in values):
            return self.calls.lanes.binary(node, op, *values)
        one, other = map(self.as_number, operands, values)
        symbol = BINARY[type(op)]
        if symbol == "@":
            self._scope.refuse(node, "'@' cannot multiply numbers", "write loops over the elements")
        if symbol in LIMITS:
            self._check_count(right, symbol)
        if symbol == "**":
            self._check_power(node, one, right)
        kind = binary_kind(symbol, one.kind, other.kind)
        if kind is None:
            self._scope.refuse(
                node, f"'{symbol}' takes ints, but here are {one} and {other}", "write int(...)"
            )
        constant = evaluated(OPERATIONS[type(op)], (one.constant, other.constant))
        return NumberValue(kind, long=kind in (Kind.INT, Kind.UINT), constant=constant)

    def _check_count(self, node: ast.expr, symbol: str) -> None:
        """Allow `x ** 3`, `x << 3`, `x << self.SHIFT` and `x << (n & 63)`."""
        limit, parts = LIMITS[symbol], [node]
        if symbol != "**" and isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd):
            parts = [node.left, node.right]
        constants = [None if symbol == "**" else self.constants.evaluate(part) for part in parts]
        if any(is_count(part, limit) for part in parts) or any(
            constant is not None and 0 <= constant <= limit for constant in constants
        ):
            return
        what, fix = "literal", "multiply, or use math.sqrt"
        if symbol != "**":
            what, fix = "constant", f"write x {symbol} (n & {limit})"
        self._scope.refuse(
            node, f"the right side of '{symbol}' must be an int {what} from 0 to {limit}", fix
        )

    def _check_power(self, node: ast.AST, base: NumberValue, exponent: ast.expr) -> None:
        """Allow powers of a float32 only if all compilers round them in the same way."""
        wide = base.kind is Kind.F32 and not is_count(exponent, SQUARE)
        if wide or isinstance(node, ast.AugAssign):
            what = f"{base} to the power of {ast.unparse(exponent)}" if wide else "'**='"
            self._scope.refuse(node, f"{what} is not available", "multiply: x * x * x")

    def _UnaryOp(self, node: ast.UnaryOp) -> NumberValue | LanesOf:
        value = self.value(node.operand)
        if isinstance(value, LanesOf):
            return self.calls.lanes.unary(node, value)
        symbol, operand = UNARY[type(node.op)], self.as_number(node.operand, value)
        kind = unary_kind(symbol, operand.kind)
        if kind is None:
            fix = "write not ..." if operand.kind is Kind.BOOL else "write int(...)"
            self._scope.refuse(node, f"'{symbol}' takes an int, but this is {operand}", fix)
        is_long = kind in (Kind.INT, Kind.UINT) and operand.long
        if symbol == "not":
            return NumberValue(
                kind, constant=None if (truth := _truth(operand)) is None else not truth
            )
        constant = evaluated(OPERATIONS[type(node.op)], (operand.constant,))
        return NumberValue(kind, is_long, constant=constant)

    def _Compare(self, node: ast.Compare) -> NumberValue:
        for op in node.ops:
            if isinstance(op, (ast.Is, ast.IsNot, ast.In, ast.NotIn)):
                symbol = COMPARISONS[type(op)]
                self._scope.refuse(node, f"'{symbol}' cannot compare numbers", "use == or a loop")
        parts = [self.number(part).constant for part in (node.left, *node.comparators)]
        links = zip(node.ops, pairwise(parts), strict=True)
        truths = [evaluated(OPERATIONS[type(op)], pair) for op, pair in links]
        return NumberValue(Kind.BOOL, constant=_all_of(truths))

    def _BoolOp(self, node: ast.BoolOp) -> NumberValue:
        """Type `a and b` as a value: one of its parts, in the wider kind."""
        for part in node.values[:-1]:
            self._refuse_literal(part)
        parts = [self.number(part) for part in node.values]
        for part in node.values:
            self._check_choice(part)
        return self._meeting(node, dict(zip(node.values, parts, strict=True)))

    def _check_choice(self, node: ast.expr) -> None:
        """Reject a choice as an operand of `and` or `or` where compilers may skip half of it."""
        if not isinstance(node, (ast.BoolOp, ast.IfExp)):
            return
        chosen = node.values if isinstance(node, ast.BoolOp) else [node.body, node.orelse]
        for part in chosen:
            self._refuse_literal(part)
        if node in self._facts.casts:
            self._scope.refuse(
                node,
                f"'{ast.unparse(node)}', an operand of and/or, has numbers of different kinds",
                "assign it to a local first, or write float(...) or int(...)",
            )

    def _IfExp(self, node: ast.IfExp) -> NumberValue:
        truth = self.test(node.test)
        values = {part: self.value(part) for part in (node.body, node.orelse)}
        if any(isinstance(value, LanesOf) for value in values.values()):
            self._scope.refuse(
                node,
                "a conditional expression cannot contain lanes",
                "write if and else, and assign in each",
            )
        numbers = {part: self.as_number(part, value) for part, value in values.items()}
        return self._meeting(node, numbers, truth)

    def _refuse_literal(self, node: ast.expr) -> None:
        """Reject conditions whose dead branch Python's compiler removes.

        Assignments in a dead branch would affect types here, but not in the byte code.
        """
        if is_literal(node):
            self._scope.refuse(
                node,
                f"the condition {ast.unparse(node)} never changes",
                "remove the branch, or name the number outside the class",
            )

    def _meeting(
        self, node: ast.expr, parts: dict[ast.expr, NumberValue], truth: bool | None = None
    ) -> NumberValue:
        """Type a choice between parts; if `truth` is known, the first or the second of two."""
        result = functools.reduce(meet_numbers, parts.values())
        if result.clash and self._path.settled:
            self._scope.refuse(
                node, "an int is merged with numbers of two wider kinds here", "write float(...)"
            )
        if any(part.kind is not result.kind for part in parts.values()):
            self._facts.casts[node] = result.kind
        possible = list(parts.items())
        if isinstance(node, ast.BoolOp):
            possible = _possible(node, possible)
        elif truth is not None:
            possible = possible[:1] if truth else possible[1:]
        self._choices[node] = possible
        return result._replace(constant=met([part.constant for _, part in possible], result.kind))

    def chosen(self, node: ast.expr, value: Value) -> Iterator[tuple[ast.expr, Value]]:
        """Yield the possible values of an expression: each part of a conditional expression."""
        parts = self._choices.get(node)
        if parts is None:
            yield node, value
        else:
            for part, number in parts:
                yield from self.chosen(part, number)

    def test(self, node: ast.expr) -> bool | None:
        """Type a condition: its parts are tested one by one, not combined into a value.

        Returns whether it is always true or always false; None if that is unknown.
        """
        match node:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                truth = self.test(operand)
                return None if truth is None else not truth
            case ast.BoolOp(op=op, values=parts):
                truths = [self.test(part) for part in parts]
                return _all_of(truths) if isinstance(op, ast.And) else _any_of(truths)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                truth, first, second = map(self.test, (test, body, orelse))
                if truth is None:
                    return first if first is second else None
                return first if truth else second
            case _:
                self._refuse_literal(node)
                return _truth(self.number(node))

    def _JoinedStr(self, node: ast.JoinedStr) -> NumberValue:
        self._scope.refuse(
            node, "a string is not a number", "use strings in print(...), raise and assert only"
        )

    def _Tuple(self, node: ast.Tuple) -> NumberValue:
        self._scope.refuse(node, "a tuple is not a value", "use one local for each number")


def _truth(number: NumberValue) -> bool | None:
    return None if number.constant is None else bool(number.constant)


def _all_of(truths: Sequence[object]) -> bool | None:
    """Return whether all are true; None if that depends on unknown ones."""
    if any(truth is False for truth in truths):
        return False
    return None if None in truths else True


def _any_of(truths: Sequence[object]) -> bool | None:
    """Return whether any is true; None if that depends on unknown ones."""
    if any(truth is True for truth in truths):
        return True
    return None if None in truths else False


def _possible(
    node: ast.BoolOp, parts: list[tuple[ast.expr, NumberValue]]
) -> list[tuple[ast.expr, NumberValue]]:
    """Return the parts that may be the value of `a and b` or `a or b`."""
    ends_with = isinstance(node.op, ast.Or)
    possible = []
    for each in parts[:-1]:
        truth = _truth(each[1])
        if truth is None or truth is ends_with:
            possible.append(each)
        if truth is ends_with:
            return possible
    return [*possible, parts[-1]]
