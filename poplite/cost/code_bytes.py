"""An estimate of the code on tiles: nothing compiles programs for the machine here.

Vertex code is counted in the operations of the text of `compute` and of the functions it calls;
control and exchange code in what the tile does in each step.  How many instructions one such thing
takes is assumed (`poplite.machine`), and is the same for all.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from poplite.compute import check
from poplite.cost.memory import Category
from poplite.cost.spread import Spread
from poplite.cost.step import Phase, StepCost
from poplite.errors import VertexCompileError
from poplite.intervals import Int64
from poplite.report.execution import PhaseKind
from poplite.series import constant

if TYPE_CHECKING:
    from poplite.target import Target
    from poplite.vertex import Vertex

OPERATIONS = (
    *(ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Call, ast.Subscript),
    *(ast.Attribute, ast.If, ast.While, ast.For, ast.Break, ast.Continue, ast.Return),
    *(ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Raise, ast.Assert),
)
"""What is counted in the text of a function: it computes, loads, stores or branches."""

EXCHANGE_CODE: Mapping[PhaseKind, Category] = {
    "exchange": "internal_exchange_code",
    "global exchange": "global_exchange_code",
    "host exchange": "host_exchange_code",
}


def vertex_code_bytes(cls: type[Vertex], target: Target) -> int:
    """Return about how many bytes the code of a vertex class takes.

    Args:
        cls: the class.
        target: the machine.

    >>> import poplite as pl
    >>> class Double(pl.Vertex):
    ...     x: pl.InOut[pl.FLOAT]
    ...     def compute(self) -> None:
    ...         self.x = 2.0 * self.x
    >>> vertex_code_bytes(Double, pl.Target())      # entry, and 4 operations: = . * .
    64
    """
    try:
        functions = list(check(cls).functions())
    except VertexCompileError:
        functions = []  # the engine refuses it, and says why
    operations = sum(
        isinstance(node, OPERATIONS)
        for function in functions
        for statement in function.text.tree.body
        for node in ast.walk(statement)
    )
    instructions = target.cost("slot_entry") + operations * target.cost("operation_instructions")
    return int(instructions * target.cost("instruction_bytes"))


class ControlCode:
    """Adds up the code that brings tiles from step to step.

    Args:
        target: the machine.

    Attributes:
        found: int64[tiles], bytes of each category.
    """

    def __init__(self, target: Target) -> None:
        self.found: dict[Category, Int64] = {}
        self._num_tiles = target.tiles
        each = target.cost("instruction_bytes")
        self._instruction = int(each)
        self._bytes = {
            name: int(each * target.cost(f"{name}_instructions"))
            for name in ("sync", "run", "branch", "exchange")
        }

    def branch(self, count: int) -> None:
        """Add what decides or repeats, which all tiles do together.

        Args:
            count: how many programs that do.
        """
        self._found("control_code")[:] += count * self._bytes["branch"]

    def step(self, cost: StepCost, running: Int64) -> None:
        """Add a step.

        Args:
            cost: of the step.
            running: int64[n], the tiles that run vertices in it.
        """
        phases = (*cost.before, *cost.after)
        syncs = 1 + sum(phase.sync > 0 for phase in phases)
        control = self._found("control_code")
        control += syncs * self._bytes["sync"]
        control[running] += self._bytes["run"]
        for phase in phases:
            if phase.kind in EXCHANGE_CODE:
                self._exchange(EXCHANGE_CODE[phase.kind], phase)
            else:
                _each(phase.copied, self._bytes["run"]).add_to(control)

    def _exchange(self, category: Category, phase: Phase) -> None:
        """Add what tiles do to send and to receive: set up each, and control what moves."""
        found = self._found(category)
        for moved in (phase.received, phase.sent):
            _each(moved, self._bytes["exchange"]).add_to(found)
        phase.controls.add_to(found, self._instruction)

    def _found(self, category: Category) -> Int64:
        if category not in self.found:
            self.found[category] = np.zeros(self._num_tiles, np.int64)
        return self.found[category]


def _each(spread: Spread, number: int) -> Spread:
    """Return one number for all tiles that have some."""
    return Spread(spread.tiles, constant(number, spread.tiles.count))
