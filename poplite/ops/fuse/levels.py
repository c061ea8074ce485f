"""The levels of steps: what does not depend on each other runs in shared compute sets.

    sum(x) and sum(y)     tiles, tiles, final, final      by themselves
                          tiles, final                    at once: half of the synchronisations

All orders of steps follow from these rules:

    a step runs in a level after those of the steps that make its inputs
    a view of stored tensors is not a step: it is there when the last of these is
    a copy of a view is a step: a root that is a view, and has a place of its own or shows tensors
    that others may write, is copied in a level after the tensors that it shows
    roots that write tensors are stored one after the other (`Lowering.lower`)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from poplite.expr.tree import Expr, ViewExpr
from poplite.frozen import frozen
from poplite.graph.compute_sets.compute_set import ComputeSet
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.fuse.recipe import in_order
from poplite.program import Execute, Program
from poplite.program.recording import Recorder
from poplite.source import SourceLocation


@frozen(eq=False)
class Root:
    """An expression that is stored, and where.

    Attributes:
        expr: the expression to store.
        out: the tensor that takes it, of its shape or one that it is broadcast to; None for a new
            one.
        mapping: of a new tensor, as in `graph.add_variable`; None for the rule of `ops.map`.
        name: of a new tensor and of its steps.
        at: the user's line.
    """

    expr: Expr
    out: Tensor | None = None
    mapping: Any = None
    name: str = ""
    at: SourceLocation | None = None


class IndependentSteps(Recorder):
    """The steps of tasks that do not depend on each other: the first ones of all, the second ...

    Args:
        around: what takes the steps when all tasks are recorded.
    """

    def __init__(self, around: Recorder) -> None:
        self.graph, self._around = around.graph, around
        self._levels: list[tuple[list[ComputeSet], list[Program]]] = []
        self._level = 0

    def begin(self) -> None:
        """Record another task."""
        self._level = 0

    def compute_set(self, name: str) -> ComputeSet:
        """Return the compute set that tasks share in their next step."""
        sets, _ = self._next()
        if not sets:
            sets.append(self.graph.add_compute_set(name))
        return sets[0]

    def add(self, program: Program) -> None:
        """Add another step of a task."""
        self._next()[1].append(program)

    def _next(self) -> tuple[list[ComputeSet], list[Program]]:
        if len(self._levels) == self._level:
            self._levels.append(([], []))
        self._level += 1
        return self._levels[self._level - 1]

    def end(self) -> None:
        """Pass the steps of all tasks to the enclosing block."""
        for sets, others in self._levels:
            for program in (*map(Execute, sets), *others):
                self._around.add(program)


class Task(NamedTuple):
    """A part of expressions that is stored.

    Attributes:
        expr: the part.
        number: of the root that it is, or of the first one that has it.
        is_root: whether it is one.
    """

    expr: Expr
    number: int
    is_root: bool


def levels(roots: Sequence[Expr], kept: set[Expr], copied: Sequence[bool]) -> list[list[Task]]:
    """Return the tasks in levels: a task depends only on tasks of earlier levels.

    Args:
        roots: the expressions that are stored.
        kept: the parts that are stored, each by steps of its own; a view by none.
        copied: of each root, whether it is a view that is copied, by a step.
    """
    found: list[list[Task]] = []
    level_of: dict[Expr, int] = {}
    deepest: dict[Expr, int] = {}  # the number of levels before a part, for all roots

    def add(level: int, task: Task) -> None:
        while len(found) <= level:
            found.append([])
        found[level].append(task)

    for number, root in enumerate(roots):
        for node in in_order(root, deepest):
            if node in deepest and node is not root:
                continue
            before = max((deepest[each] for each in node.operands), default=0)
            if node not in kept and not (node is root and node.operands):
                if node is not root:
                    deepest[node] = before
                continue
            if node not in level_of:
                # A view takes no step: it is there as soon as what it shows is.
                level_of[node] = max(before - isinstance(node, ViewExpr), 0)
                add(level_of[node], Task(node, number, node is root and not copied[number]))
            if node in kept:
                deepest[node] = level_of[node] + 1
        if copied[number]:
            add(deepest[root], Task(root, number, True))
    return found


def is_view(task: Task) -> bool:
    """Order views after the tasks of their level, which they may alias."""
    return isinstance(task.expr, ViewExpr)
