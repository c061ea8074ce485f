"""Replicas compared: do they hold the same where a program needs that?

All replicas run the same steps, so what decides which steps must be the same in all of them.
Poplar refuses programs where that cannot be proved; here the values are compared when they are
used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.errors import SHOWN_FAULTS, GraphReplicationError
from poplite.executable.actions import Equal


def check_equal(action: Equal, each: Sequence[npt.NDArray[Any]], step: str = "") -> None:
    """Refuse a tensor that is not the same in all replicas.

    Args:
        action: what is compared.
        each: its values in each replica.
        step: the step that is running, for the message.

    Raises:
        GraphReplicationError: when replicas differ, with the first element that does.
    """
    compared = [_compared(values, action.kind == "truth") for values in each]
    for replica in range(1, len(each)):
        differ = compared[replica] != compared[0]
        if differ.any():
            raise _error(action, each, replica, differ, step)


def _compared(values: npt.NDArray[Any], as_truth: bool) -> npt.NDArray[Any]:
    """Return values in a form in which those that differ in any bit differ, and no others."""
    if as_truth:
        return np.asarray(values != 0)
    return values.view(f"u{values.dtype.itemsize}")


def _error(
    action: Equal,
    each: Sequence[npt.NDArray[Any]],
    replica: int,
    differ: npt.NDArray[np.bool_],
    step: str,
) -> GraphReplicationError:
    index = tuple(int(found[0]) for found in np.nonzero(np.atleast_1d(differ)))[: differ.ndim]
    element = f"'{action.tensor.name}'" + (f" at {list(index)}" if index else "")
    first, other = each[0][index], each[replica][index]
    values = [f"replica {number}: {values[index]}" for number, values in enumerate(each)]
    lines = [", ".join([*values[:SHOWN_FAULTS], *["..."] * (len(values) > SHOWN_FAULTS)])]
    if differ.size > 1:
        count = int(differ.sum())
        lines.append(f"{count:,} of {differ.size:,} elements differ between these two")
    return GraphReplicationError(
        f"{action.program}: {element} is {first} in replica 0, but {other} in replica {replica}",
        at=action.location,
        where=step,
        found="\n".join(lines),
        fix="write the same to all replicas, or leave the assumption out"
        if action.kind == "assumption"
        else f"let the {'control' if action.kind == 'value' else 'predicate'} depend on nothing "
        "that differs, or combine it across replicas with CrossReplicaCopy",
    )
