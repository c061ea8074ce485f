"""Which calls of helpers do more than return a number: they store, or may stop the vertex.

C++ leaves open in which order the operands of `+` are evaluated; Python goes from left to right.
So what stands beside such a call is kept in variables of its own, one after the other.
"""

from __future__ import annotations

import ast

from poplite.vertex.compute.typing.facts import Checked


def changes_something(checked: Checked) -> bool:
    """Return whether a function, or one that it calls, stores in fields or may stop."""
    return any(_stores(each) for each in checked.functions()) or checked.raises


def _stores(checked: Checked) -> bool:
    for node in ast.walk(checked.text.tree):
        if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store):
            return True
        is_call = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
        if is_call and node.value in checked.facts.lane_accesses:  # type: ignore[attr-defined]
            return True
    return False


def has_effect(checked: Checked, node: ast.AST) -> bool:
    """Return whether an expression of a function calls such a helper."""
    helpers = checked.facts.helpers
    return any(
        isinstance(each, ast.Call) and each in helpers and changes_something(helpers[each])
        for each in ast.walk(node)
    )
