"""Errors that say what is wrong, where, what was found, and what to try.

Every message has four parts, always in this order::

    'bias': elements [96, 128) of 128 have no tile          (model.py:31 in head)
      at step 2 of 5: Execute 'head'
      mapped so far: [0, 96) on tiles 0-2; the graph has 4 tiles
      try: graph.set_tile_mapping(bias[96:128], 3)

Class names are Poplar's in CamelCase, unless that would shadow a Python built-in; each
class also derives from the built-in that fits, so that `except IndexError` works.
Source of the hierarchy: Poplar API reference, "Exceptions".
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import ClassVar

from poplite.source import SourceLocation

SHOWN_FAULTS = 5


class PopliteError(Exception):
    """Base of every error poplite raises.

    Args:
        what: what is wrong, with both numbers (found and allowed).
        at: the user's line that made the object at fault.
        where: the program step, or another place inside the program.
        found: what was there instead; further lines of fact.
        fix: one concrete thing to try.

    >>> print(PopliteError("tile 9 of 4", found="tiles are 0-3", fix="use tile 3"))
    tile 9 of 4
      tiles are 0-3
      try: use tile 3
    """

    poplar: ClassVar[str] = "poplar_error"
    """Name of the corresponding Poplar exception."""

    def __init__(
        self,
        what: str,
        *,
        at: SourceLocation | None = None,
        where: str = "",
        found: str = "",
        fix: str = "",
    ) -> None:
        self.what, self.at, self.where, self.found, self.fix = what, at, where, found, fix
        super().__init__(self._message())

    def _message(self) -> str:
        lines = [self.what if self.at is None else f"{self.what}  ({self.at})"]
        lines += [f"  at {self.where}"] if self.where else []
        lines += [f"  {line}" for line in self.found.splitlines()]
        lines += [f"  try: {self.fix}"] if self.fix else []
        return "\n".join(lines)

    def __str__(self) -> str:
        return self._message()

    # Exceptions pickle by calling the class with `args`; keyword parts would be lost.
    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.what, self.at, self.where, self.found, self.fix)


def _rebuild(
    cls: type[PopliteError],
    what: str,
    at: SourceLocation | None,
    where: str,
    found: str,
    fix: str,
) -> PopliteError:
    return cls(what, at=at, where=where, found=found, fix=fix)


class TensorIndexError(PopliteError, IndexError):
    """An index, range or dimension is malformed, or lies outside a tensor or a field."""

    poplar = "index_error"


class TensorCreationError(PopliteError, ValueError):
    """A view operation or variable was given arguments that fit no tensor."""

    poplar = "tensor_creation_error"


class ElementTypeError(PopliteError, TypeError):
    """An element type, or the type of an argument, is not the one that is needed."""

    poplar = "type_error"


class TensorMetadataError(PopliteError, TypeError):
    """The format and scale of a QUARTER tensor are missing, or not what is needed."""

    poplar = "tensor_metadata_error"


class SizeOverflowError(PopliteError, OverflowError):
    """A size or address does not fit the numbers it is stored in."""

    poplar = "overflow_error"


class InvalidTileMapping(PopliteError, ValueError):
    """Elements or vertices have no tile, or a tile that does not exist."""

    poplar = "invalid_tile_mapping"


class InvalidMachineModel(PopliteError, ValueError):
    """A target is asked for that cannot be built, or is no target."""

    poplar = "invalid_machine_model"


class VertexDefinitionError(PopliteError, TypeError):
    """A vertex class declares its fields or its `compute` wrongly."""

    poplar = "graph_program_compilation_error"


class VertexCompileError(PopliteError, TypeError):
    """A `compute` uses something outside the supported subset of Python."""

    poplar = "graph_program_compilation_error"


class UnknownField(PopliteError, AttributeError):
    """A vertex has no field of that name."""

    poplar = "unknown_field"


class GraphConnectionError(PopliteError, ValueError):
    """An edge is missing, doubled, of the wrong shape or graph, or may not be written."""

    poplar = "graph_connection_error"


class GraphCycleError(PopliteError, ValueError):
    """Vertices of one compute set race: one writes what another reads or writes."""

    poplar = "graph_cycle_error"


class ControlProgramError(PopliteError, ValueError):
    """A program tree is malformed, or is run wrongly."""

    poplar = "control_program_error"


class GraphRecursionError(PopliteError, RecursionError):
    """A function would call itself."""

    poplar = "graph_recursion_error"


class ApplicationRuntimeError(PopliteError, RuntimeError):
    """A vertex raised an exception while the program ran, or the program stopped itself."""

    poplar = "application_runtime_error"


class UnknownName(PopliteError, LookupError):
    """A name given by the user (a program, a tensor) is not known."""

    poplar = "symbol_error"


class FileLoadError(PopliteError, OSError):
    """A file cannot be read, run or written."""

    poplar = "file_load_error"


def listed(faults: Sequence[str], noun: str) -> str:
    """Join the first faults, one a line, and count the rest.

    Args:
        faults: one line of text each.
        noun: what they are, in the plural.

    Returns:
        At most five lines and `... and N more <noun>`.

    >>> print(listed(["a", "b"], "races"))
    a
    b
    """
    shown = list(faults[:SHOWN_FAULTS])
    more = len(faults) - len(shown)
    return "\n".join([*shown, f"... and {more:,} more {noun}"] if more else shown)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ` (did you mean 'x'?)` for the closest known name, or nothing.

    >>> did_you_mean("parital", ["partial", "first"])
    " (did you mean 'partial'?)"
    """
    close = difflib.get_close_matches(name, list(known), n=1)
    return f" (did you mean '{close[0]}'?)" if close else ""
