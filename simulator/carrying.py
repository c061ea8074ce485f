"""What an engine takes over from another: the values of variables, and what is known of them.

Variables lie first in every arena, in the order in which the graph made them. So those of two
engines of one graph lie alike as far as both have them, and their bytes are copied at once.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from poplite.errors import ControlProgramError
from poplite.executable.layout import ArenaLayout, StoredVariable
from poplite.simulator.run.arena import Arena, Runs
from poplite.simulator.strict.checks import StrictChecks
from poplite.text import amount


def carry_memory(old: Arena, new: Arena, runs: Runs | None = None) -> int:
    """Copy the variables that both have, but for constants; return how many bytes they take.

    `runs` are begin and end of the bytes that `old` has; None for all of them.  Random bits go on
    as well.  Raises `ControlProgramError` for variables of another graph.
    """
    size = _common_bytes(old.layout, new.layout)
    for replica, (source, target) in enumerate(zip(old.parts, new.parts, strict=True)):
        for own in _within(runs, size):
            target[own] = source[own]
        for at, values in new.layout.constants(replica):
            target[at : at + values.nbytes] = values.reshape(-1).view(np.uint8)
    new.floats.continue_from(old.floats)
    return size


def carry_written(
    old: StrictChecks | None, new: StrictChecks, size: int, runs: Runs | None = None
) -> None:
    """Take over which of the first bytes are written: all, where nobody looked."""
    for replica, part in enumerate(new.shadow.parts):
        for own in _within(runs, size):
            part[own] = 1 if old is None else old.shadow.parts[replica][own]


def _within(runs: Runs | None, size: int) -> Iterable[slice]:
    """Return the runs among the first bytes."""
    if runs is None:
        return (slice(0, size),)
    pairs = zip(*(each.tolist() for each in runs), strict=True)
    return [slice(begin, min(end, size)) for begin, end in pairs if begin < size]


def _common_bytes(old: ArenaLayout, new: ArenaLayout) -> int:
    if old.replicas != new.replicas:
        raise _refused(f"it has {amount(old.replicas, 'replica')}, and here are {new.replicas}")
    pairs = list(zip(old.variables, new.variables, strict=False))
    for one, other in pairs:
        if _identity(one) != _identity(other):
            raise _refused(
                f"its variable '{one.name}' was made at {one.location}; in its place stands "
                f"'{other.name}', made at {other.location}"
            )
    return new.end_of_variables(len(pairs))


def _identity(variable: StoredVariable) -> tuple[object, ...]:
    return variable.base, variable.name, variable.element_type, variable.shape


def _refused(found: str) -> ControlProgramError:
    return ControlProgramError(
        "Engine: state is an engine of another graph",
        found=found,
        fix="an engine of this graph; engine.write(x, other.read(x)) copies single tensors",
    )
