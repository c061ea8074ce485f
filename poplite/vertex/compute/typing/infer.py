"""Types a `compute` and every function that it calls, once for each kinds of its arguments.

    self.y = near(self.a) + near(1)      near is typed twice: for a float32, and for an int

How one function is typed: `poplite.vertex.compute.typing.statements`.
"""

from __future__ import annotations

import ast
from types import FunctionType

from poplite.vertex.compute.parse.dialect import Scope
from poplite.vertex.compute.parse.helpers import Helper, bind, scope_of_helper
from poplite.vertex.compute.typing.facts import Checked
from poplite.vertex.compute.typing.kinds import Kind, literal_kind
from poplite.vertex.compute.typing.statements import Statements
from poplite.vertex.compute.typing.values import Number, Value


def infer(scope: Scope) -> Checked:
    """Type a `compute` and all that it calls.

    Args:
        scope: the method, its form already checked; its parameters but `self` are ints.

    Returns:
        The facts about its nodes.

    Raises:
        VertexCompileError: at the first node that has no type.
    """
    return _Functions().type(scope, tuple(Number(Kind.INT) for _ in scope.parameters))


class _Functions:
    """The functions that one `compute` calls, directly or not."""

    def __init__(self) -> None:
        self._checked: dict[tuple[FunctionType, tuple[Value, ...]], Checked] = {}
        self._under_way: list[FunctionType] = []

    def type(self, scope: Scope, arguments: tuple[Value, ...]) -> Checked:
        """Type a function for what it is called with."""
        function = scope.text.function
        self._under_way.append(function)
        statements = Statements(scope, arguments, self.type_helper)
        result = statements.run()
        self._under_way.pop()
        checked = Checked(scope, arguments, statements.facts, result)
        self._checked[function, arguments] = checked
        return checked

    def type_helper(
        self, scope: Scope, node: ast.Call, helper: Helper, given: dict[ast.expr, Value]
    ) -> Checked:
        """Type the function that a call in another function means."""
        function = helper.function
        if function in self._under_way:
            cycle = self._under_way[self._under_way.index(function) :]
            names = [f.__name__ for f in (*cycle, function)]
            scope.refuse(
                node,
                f"{ast.unparse(node.func)}(...) calls itself: {' -> '.join(names)}",
                "write a loop; there is no stack to call back on",
            )
        own = scope_of_helper(scope, node, helper)
        arguments = tuple(
            _passed(given[value]) if isinstance(value, ast.expr) else Number(literal_kind(value))
            for value in bind(scope, node, helper)
        )
        known = self._checked.get((function, arguments))
        return known or self.type(own, arguments)


def _passed(value: Value) -> Value:
    """Return what a parameter holds: a value of that very kind, an int of any length."""
    if isinstance(value, Number):
        return Number(value.kind, long=value.kind in (Kind.INT, Kind.UINT))
    return value
