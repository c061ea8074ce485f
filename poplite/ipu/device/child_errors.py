"""Exceptions of Poplar's library as errors of ours, by their names."""

from __future__ import annotations

from poplite import errors
from poplite.errors import DeviceRuntimeError, PopliteError, VertexCompileError
from poplite.source import here

HALTED = "Stopped"
"""What the process calls the end of a run that Python asked for."""


class Halted(Exception):
    """A run was ended by Python; it never reaches the user."""


def _by_name() -> dict[str, type[PopliteError]]:
    """Return our classes by the names of Poplar's; the most general one where several have it."""
    found: dict[str, type[PopliteError]] = {}
    for cls in vars(errors).values():
        if isinstance(cls, type) and issubclass(cls, PopliteError) and "poplar" in vars(cls):
            found.setdefault(cls.poplar, cls)
    found["graph_program_compilation_error"] = VertexCompileError
    found["poplar_error"] = DeviceRuntimeError
    return found


BY_NAME = _by_name()
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
        at=here(),
        where=f"the device, command '{command}'",
        found="\n".join([*([more.strip()] if more.strip() else []), f"Poplar calls it {name}"]),
    )
