"""An estimate of the size of code on tiles: poplite compiles no programs for the machine.

Vertex code is counted as operations in the source of `compute` and of the functions that it calls;
control and exchange code as what the tile does in each step.  The number of instructions of each
is an assumption (`poplite.machine.facts`), the same for all.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.cost.step_cost import PhaseCost, StepCost, add_each_to, add_to
from poplite.errors import VertexCompileError
from poplite.report.memory import Category
from poplite.report.phase_parts import PhaseKind
from poplite.vertex.compute import check

if TYPE_CHECKING:
    from poplite.machine.target import Target
    from poplite.vertex.vertex import Vertex

OPERATIONS = (
    *(ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Call, ast.Subscript),
    *(ast.Attribute, ast.If, ast.While, ast.For, ast.Break, ast.Continue, ast.Return),
    *(ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Raise, ast.Assert),
)
"""Nodes that are counted in the source of a function: they compute, load, store or branch."""

EXCHANGE_CODE: Mapping[PhaseKind, Category] = {
    "exchange": "internal_exchange_code",
    "global exchange": "global_exchange_code",
    "host exchange": "host_exchange_code",
}


def vertex_code_bytes(cls: type[Vertex], target: Target) -> int:
    """Return an estimate of the bytes of code of a vertex class.

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
        functions = []  # the engine refuses the class, and says why
    operations = sum(
        isinstance(node, OPERATIONS)
        for function in functions
        for statement in function.text.tree.body
        for node in ast.walk(statement)
    )
    instructions = target.cost("slot_entry") + operations * target.cost("operation_instructions")
    return int(instructions * target.cost("instruction_bytes"))


class ControlCode:
    """Adds up the code that takes tiles from step to step."""

    def __init__(self, target: Target) -> None:
        self._control = np.zeros(target.tiles, np.int64)
        self._on_all = 0
        self._exchanges: dict[tuple[object, ...], tuple[PhaseCost, int]] = {}
        each = target.cost("instruction_bytes")
        self._instruction = int(each)
        self._bytes = {
            name: int(each * target.cost(f"{name}_instructions"))
            for name in ("sync", "run", "branch", "exchange")
        }

    def branch(self, count: int) -> None:
        """Add programs that decide or repeat, which all tiles do together."""
        self._on_all += count * self._bytes["branch"]

    def step(self, cost: StepCost, running: Int64) -> None:
        """Add a step; `running` is int64[n], the tiles that run vertices in it."""
        phases = (*cost.before, *cost.after)
        self._on_all += (1 + sum([phase.sync > 0 for phase in phases])) * self._bytes["sync"]
        if len(running):
            self._control[running] += self._bytes["run"]
        for phase in phases:
            if phase.kind in EXCHANGE_CODE:
                moved = phase.kind, id(phase.received), id(phase.sent), id(phase.controls)
                known = self._exchanges.get(moved)
                self._exchanges[moved] = phase, 1 if known is None else known[1] + 1
            else:
                add_each_to(self._control, phase.copied, self._bytes["run"])

    def found(self) -> dict[Category, Int64]:
        """Return the bytes of each category, int64[tiles]."""
        found: dict[Category, Int64] = {"control_code": self._control + self._on_all}
        for phase, times in self._exchanges.values():
            category = EXCHANGE_CODE[phase.kind]
            if category not in found:
                found[category] = np.zeros_like(self._control)
            # Code that sets up to receive and to send, then code that controls what moves.
            for moved in (phase.received, phase.sent):
                add_each_to(found[category], moved, times * self._bytes["exchange"])
            add_to(found[category], phase.controls, times * self._instruction)
        return found
