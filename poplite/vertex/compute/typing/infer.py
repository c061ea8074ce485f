"""Types a `compute` and every function that it calls, once for each kinds of its arguments.

    self.y = near(self.a) + near(1)      near is typed twice: for a float32, and for an int

How one function is typed: `poplite.vertex.compute.typing.statements`.
"""

from __future__ import annotations

import ast
from types import FunctionType

from poplite.vertex.compute.parse.dialect import Scope
from poplite.vertex.compute.parse.helpers import HelperFunction, bind, scope_of_helper
from poplite.vertex.compute.typing.facts import Checked
from poplite.vertex.compute.typing.kinds import Kind, literal_kind
from poplite.vertex.compute.typing.statements import StatementTyper
from poplite.vertex.compute.typing.values import NumberValue, Value


def infer(scope: Scope) -> Checked:
    """Type a `compute`, whose form is already checked, and all that it calls.

    The parameters other than `self` are ints.  Raises `VertexCompileError` at the first node that
    has no type.
    """
    return _Functions().type(scope, tuple(NumberValue(Kind.INT) for _ in scope.parameters))


class _Functions:
    """The functions that one `compute` calls, directly or not."""

    def __init__(self) -> None:
        self._checked: dict[tuple[FunctionType, tuple[Value, ...]], Checked] = {}
        self._in_progress: list[FunctionType] = []

    def type(self, scope: Scope, arguments: tuple[Value, ...]) -> Checked:
        """Type a function for the values of its arguments."""
        function = scope.text.function
        self._in_progress.append(function)
        statements = StatementTyper(scope, arguments, self.type_helper)
        result = statements.run()
        self._in_progress.pop()
        checked = Checked(scope, arguments, statements.facts, result)
        self._checked[function, arguments] = checked
        return checked

    def type_helper(
        self, scope: Scope, node: ast.Call, helper: HelperFunction, values: dict[ast.expr, Value]
    ) -> Checked:
        """Type the function that is called; `values` are those of the arguments."""
        function = helper.function
        if function in self._in_progress:
            cycle = self._in_progress[self._in_progress.index(function) :]
            names = [f.__name__ for f in (*cycle, function)]
            scope.refuse(
                node,
                f"{ast.unparse(node.func)}(...) calls itself: {' -> '.join(names)}",
                "write a loop; there is no stack to call back on",
            )
        own = scope_of_helper(scope, node, helper)
        arguments = tuple(
            _passed(values[each]) if isinstance(each, ast.expr) else NumberValue(literal_kind(each))
            for each in bind(scope, node, helper)
        )
        known = self._checked.get((function, arguments))
        return known or self.type(own, arguments)


def _passed(value: Value) -> Value:
    """Return the value of a parameter: of the same kind, and an int of any length."""
    if isinstance(value, NumberValue):
        return NumberValue(value.kind, long=value.kind in (Kind.INT, Kind.UINT))
    return value
