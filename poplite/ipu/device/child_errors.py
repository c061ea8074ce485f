"""Exceptions of Poplar's library as errors of ours, by their names."""

from __future__ import annotations

from poplite import errors
from poplite.errors import DeviceRuntimeError

HALTED = "Stopped"
"""What the process calls the end of a run that Python asked for."""


class Halted(Exception):
    """A run was ended by Python; it never reaches the user."""


BY_NAME = errors.BY_POPLAR_NAME | {"poplar_error": DeviceRuntimeError}
"""Classes by the names of Poplar's exceptions; any other is a `DeviceRuntimeError`."""


def error_of(name: str, text: str, command: str) -> Exception:
    """Return the error for an exception of the process, which a command met.

    >>> error = error_of("graph_memory_allocation_error", "tile 3: 9 KiB too much", "start")
    >>> type(error).__name__, error.what, error.where
    ('GraphMemoryAllocationError', 'tile 3: 9 KiB too much', "the device, command 'start'")
    """
    if name == HALTED:
        return Halted()
    what, _, more = text.strip().partition("\n")
    return BY_NAME.get(name, DeviceRuntimeError)(
        what or f"the device failed with {name}",
        where=f"the device, command '{command}'",
        found="\n".join([*([more.strip()] if more.strip() else []), f"Poplar calls it {name}"]),
    )
