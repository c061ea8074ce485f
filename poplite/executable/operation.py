"""Which compute steps of an executable belong to one operation of `poplite.ops`."""

from __future__ import annotations

from dataclasses import dataclass

from poplite.source import SourceLocation


@dataclass(frozen=True, slots=True)
class CompiledOperation:
    """An operation, as reports name it.

    Attributes:
        name: with its scopes.
        location: the user's line that recorded it.
        steps: numbers of its compute steps.
        result_bytes: of the variables that it made for others to read, on all tiles.
        temporary_bytes: of the other variables that it made.
    """

    name: str
    location: SourceLocation
    steps: tuple[int, ...]
    result_bytes: int
    temporary_bytes: int
