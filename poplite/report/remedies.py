"""Remedies: what the user can do about each kind of finding."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from poplite.machine.target import Target
    from poplite.report.execution import ExecutionStep
    from poplite.report.findings import Finding, FindingKind

REMEDIES: Mapping[FindingKind, str] = {
    "waiting": "spread the work of the slowest tile over others",
    "idle workers": "more vertices a tile of equal work, or a MultiVertex, would use it",
    "exchange": "tensors on the tiles that read them, in long pieces, are not exchanged",
    "global exchange": "what is used together moves less on one IPU",
    "host exchange": "larger blocks, less often, take fewer cycles",
    "copied on its tile": "a tensor in the order in which vertices read it is not copied",
    "copies apart": "copy one `pl.concat` of all to another",
    "guessed": "a `cycles` method can state them",
}
"""What can be done about steps that the user wrote."""

_OF_OPERATION: Mapping[FindingKind, str] = {
    "waiting": "operands mapped over more tiles evenly, or `mapping=` of its result, divide it",
    "idle workers": "larger operands, or a `mapping=` of its result over fewer tiles, use it",
    "exchange": "operands on the tiles of its result, by their mappings or by `mapping=`, are not "
    "exchanged",
    "copied on its tile": "operands in the order of its result are not copied",
}
"""What can be done about steps of an operation of the library."""

_OF_PLAN: Mapping[FindingKind, str] = {
    "waiting": "another plan divides it otherwise: its `constraints=`, or larger operands",
    "idle workers": "another plan divides it otherwise: its `constraints=`, or larger operands",
    "exchange": "operands made by its plan, as by `plan.create_left()`, are exchanged less",
    "copied on its tile": "operands made by its plan, as by `plan.create_left()`, are not copied",
}
"""What can be done about steps of an operation that is planned."""

_PLANNED = re.compile(r"(^|/)(matmul|conv)")
"""Names of steps of planned operations."""


def remedy_of(finding: Finding, step: ExecutionStep, target: Target) -> str:
    """Return what can be done about a finding, whose largest loss is in a step."""
    if step.operation:
        known = _OF_PLAN if _PLANNED.search(step.name) else _OF_OPERATION
        if finding.kind in known:
            return known[finding.kind]
    elif finding.kind == "waiting" and finding.tiles_without:
        return f"spread it over more of the tiles than {finding.tiles:,}"
    elif finding.kind == "idle workers" and finding.vertices >= target.workers:
        return (
            "vertices of equal work would use it; rows of a plane are shared evenly by the grid "
            f"of `pl.near_square_grid(..., workers={target.workers})`"
        )
    elif finding.kind == "copied on its tile" and step.kind == "copy":
        return "two buffers that take turns need no copy"
    return REMEDIES[finding.kind]
