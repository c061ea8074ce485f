"""Types `raise` and `assert`: what stops a vertex, and the message that goes with it.

An exception is named as in any Python, and made of numbers, string literals and f-strings::

    if self.n < 1:
        raise EmptyBlock(self.n)
    assert self.x[0] > 0, f"pivot {self.x[0]} of {len(self.x)}"

`poplite.vertex.compute.compiled` says what a compiler sees of it.
"""

from __future__ import annotations

import ast

from poplite.vertex.compute.parse.constants import is_literal
from poplite.vertex.compute.typing.calls import Calls

_RAISE = 'raise ValueError(f"n is {self.n}"), or a class derived from Exception'


class Raising(Calls):
    """Types expressions, and the statements that stop a vertex."""

    def _Raise(self, node: ast.Raise) -> None:
        raised = node.exc
        if raised is None or node.cause is not None:
            what = "a raise without an exception" if raised is None else "'from'"
            self._scope.refuse(node, f"{what} is not part of what compute may use", _RAISE)
        made = raised if isinstance(raised, ast.Call) else None
        self._exception(raised if made is None else made.func)
        if made is not None:
            self._given(made)
        self.facts.raises = True
        self._state = None

    def _Assert(self, node: ast.Assert) -> None:
        if is_literal(node.test):
            what = f"the condition {ast.unparse(node.test)} never changes"
            self._scope.refuse(node, what, 'raise AssertionError("text")')
        self._test(node.test)
        if node.msg is not None:
            self._text(node.msg)
        self.facts.raises |= __debug__  # python -O leaves assertions out

    def _exception(self, node: ast.expr) -> None:
        """Note the class that is raised."""
        named = isinstance(node, (ast.Name, ast.Attribute)) and not self._scope.is_local(node)
        raised = self._scope.global_of(node) if named else None
        if not (isinstance(raised, type) and issubclass(raised, Exception)):
            self._scope.refuse(
                node, f"'{ast.unparse(node)}' is no class derived from Exception", _RAISE
            )
        self.facts.exceptions[node] = raised

    def _given(self, call: ast.Call) -> None:
        """Type what an exception is made of."""
        if call.keywords:
            self._scope.refuse(
                call,
                f"{ast.unparse(call.keywords[0])}: an exception is made of values by position",
                f"{ast.unparse(call.func)}(value, ...)",
            )
        for value in call.args:
            self._text(value)

    def _text(self, node: ast.expr) -> None:
        """Type a number, a string literal or an f-string."""
        if isinstance(node, ast.JoinedStr) or (
            isinstance(node, ast.Constant) and isinstance(node.value, str)
        ):
            self._printed(node)
        else:
            self._number(node)
