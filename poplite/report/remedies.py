"""Remedies: advice to the user for each kind of finding."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from poplite.text import amount

if TYPE_CHECKING:
    from poplite.machine.target import Target
    from poplite.report.execution import ExecutionStep
    from poplite.report.findings import Finding, FindingKind

REMEDIES: Mapping[FindingKind, str] = {
    "waiting": "spread the work of the slowest tile over others",
    "idle workers": "add more vertices of equal work to each tile, or use a MultiVertex",
    "exchange": "map tensors to the tiles that read them, in long pieces",
    "global exchange": "map tensors that are used together to one IPU",
    "host exchange": "transfer larger blocks, less often",
    "copied on its tile": "store tensors in the order in which vertices read them",
    "copies apart": "copy one `pl.concat` of all sources to one of all destinations",
    "guessed": "define a `cycles` method in the class",
}
"""Remedies for steps that the user wrote."""

_OF_OPERATION: Mapping[FindingKind, str] = {
    "waiting": "map its operands evenly over more tiles, or pass a `mapping=` for its result",
    "idle workers": "use larger operands, or pass a `mapping=` for its result over fewer tiles",
    "exchange": "map its operands to the tiles of its result, or pass a `mapping=` for its result",
    "copied on its tile": "store its operands in the order of its result",
}
"""Remedies for steps of an operation of the library."""

_OF_PLAN: Mapping[FindingKind, str] = {
    "waiting": "change how its plan divides it, by `constraints=` or larger operands",
    "idle workers": "change how its plan divides it, by `constraints=` or larger operands",
    "exchange": "create its operands with its plan, for example by `plan.create_left()`",
    "copied on its tile": "create its operands with its plan, for example by `plan.create_left()`",
}
"""Remedies for steps of a planned operation."""

_PLANNED = re.compile(r"(^|/)(matmul|conv)")
"""Matches the names of steps of planned operations."""


def remedy_of(finding: Finding, step: ExecutionStep, target: Target) -> str:
    """Return the remedy for a finding whose largest loss is in a given step."""
    if step.operation:
        known = _OF_PLAN if _PLANNED.search(step.name) else _OF_OPERATION
        if finding.kind in known:
            return known[finding.kind]
    elif finding.kind == "waiting" and finding.tiles_without:
        return f"spread it over more than {amount(finding.tiles, 'tile')}"
    elif finding.kind == "idle workers" and finding.vertices >= target.workers:
        return (
            "give the vertices of a tile equal work; for the rows of a plane, use the grid of "
            f"`pl.near_square_grid(..., workers={target.workers})`"
        )
    elif finding.kind == "copied on its tile" and step.kind == "copy":
        return "alternate between two buffers, without a copy"
    return REMEDIES[finding.kind]
