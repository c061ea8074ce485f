"""Which compute sets have vertices that must be counted while they run.

for i in range(len(self.x)):          lengths decide: priced once for each shape
while self.x[i] > limit:              data decide: counted
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from poplite.cost.step_cost import StepCost
from poplite.vertex.compute import check
from poplite.vertex.vertex import Vertex

_BRANCHES = (ast.If, ast.IfExp, ast.BoolOp, ast.While)
"""Also comparisons of more than two values, which end at the first that is false."""


def counted_steps(costs: Sequence[StepCost]) -> frozenset[int]:
    """Return the numbers of steps of whose vertices data may decide what they do.

    Args:
        costs: of each step.
    """
    automatic = {v.cls for cost in costs for v in cost.vertices if v.source == "automatic"}
    varying = {cls for cls in automatic if may_hang_on_data(cls)}
    return frozenset(
        number
        for number, cost in enumerate(costs)
        if any(each.source == "automatic" and each.cls in varying for each in cost.vertices)
    )


def may_hang_on_data(cls: type[Vertex]) -> bool:
    """Tell, by its text, whether data may decide what vertices of a class do.

    Args:
        cls: a vertex class that has passed its checks.
    """
    checked = check(cls)
    trees = (each.text.tree for each in checked.functions())
    return checked.varies or any(
        isinstance(node, _BRANCHES) or (isinstance(node, ast.Compare) and len(node.ops) > 1)
        for tree in trees
        for node in ast.walk(tree)
    )
