"""Which tiles hold a variable's elements, and which steps read and write it.

    variable   x      float32[8]     elements [0, 4) on tile 0, [4, 8) on tile 1
    step       Copy 'x' -> 'y'       reads 32 B of x, writes 32 B of y

It is what pictures of variables and of the dataflow need where there is no graph.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from poplite.report.per_tile import PerPiece, TilePerPiece
from poplite.source import Line

MOST_PIECES = 1 << 20
"""Most pieces of the mappings that an executable keeps, of all variables together: those of the
first variables, as far as that goes."""


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable or constant of one replica.

    Attributes:
        name: with its scopes.
        element_type: of its elements, such as "FLOAT".
        shape: its shape.
        constant: whether programs only read it.
        at: the user's line.
        first: where pieces begin, each of which lies on one tile; None where that is not known.
        tiles: the tile of each piece, -1 for none; None as well.
    """

    name: str
    element_type: str
    shape: tuple[int, ...]
    constant: bool
    at: Line
    first: PerPiece | None = None
    tiles: TilePerPiece | None = None


@dataclass(frozen=True, slots=True)
class Access:
    """What one execution of a step reads and writes of a variable.

    Attributes:
        variable: its position in `Compilation.variables`.
        field: the field of vertices that it is connected to; empty for other steps.
        read: bytes; what several vertices read counts for each.
        written: bytes.
    """

    variable: int
    field: str
    read: int
    written: int


@dataclass(frozen=True, slots=True)
class StepAccesses:
    """What a step reads and writes, wherever it stands in programs.

    Attributes:
        name: the name of the compute set, what is copied to where, or what the host does; of what
            decides, its kind, such as "If".
        kind: what it is; "control" is what decides what runs.
        places: program, and number of the step in it from 1; of what decides, of the step that it
            decides on first.
        compute_set: position in `Compilation.compute_sets`; None for what is no Execute.
        at: the user's line.
        accesses: what it reads and writes.
    """

    name: str
    kind: Literal["execute", "copy", "host", "control"]
    places: tuple[tuple[str, int], ...]
    compute_set: int | None
    at: Line
    accesses: tuple[Access, ...]
