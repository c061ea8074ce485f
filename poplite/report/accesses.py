"""Which tiles hold a variable's elements, and which steps read and write it.

    variable   x      float32[8]     elements [0, 4) on tile 0, [4, 8) on tile 1
    step       Copy 'x' -> 'y'       reads 32 B of x, writes 32 B of y

It is what pictures of variables and of the dataflow need where there is no graph.
"""

from __future__ import annotations

import math
from dataclasses import field
from typing import ClassVar, Literal

import numpy as np

from poplite.frozen import frozen
from poplite.report.per_tile import MOST_PIECES, PerPiece, TilePerPiece
from poplite.report.validate import Known, Rule, checked, in_compute_sets, is_element_type
from poplite.source import Line


def _are_pieces(variable: Variable, known: Known) -> bool:
    """Return whether the pieces of a variable rise within it, each on a tile or on none."""
    if variable.first is None or variable.tiles is None:
        return variable.first is variable.tiles
    first, tiles = variable.first, variable.tiles
    if (
        len(first) != len(tiles)
        or not 0 < len(first) <= MOST_PIECES
        or first.num_used < len(first) - 1
    ):
        return False  # all but the first begin behind 0
    if first.num_used > 2 and first.values.only is not None:
        return False  # many that are written as one number, which do not rise
    ends = np.append(first.array(), math.prod(variable.shape))
    return bool(ends[0] == 0 and (np.diff(ends) > 0).all()) and tiles.most < known.tiles


def _are_places(places: tuple[tuple[str, int], ...], known: Known) -> bool:
    # A condition that is the same in all replicas may be before the first step, at 0.
    return all(0 <= number <= known.programs.get(name, -1) for name, number in places)


@frozen
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

    RULES: ClassVar[tuple[Rule, ...]] = (
        ("pieces do not rise, or are on no tile of the target", _are_pieces),
    )

    name: str
    element_type: str = field(metadata=checked(is_element_type))
    shape: tuple[int, ...]
    constant: bool
    at: Line
    first: PerPiece | None = None
    tiles: TilePerPiece | None = None


@frozen
class Access:
    """What one execution of a step reads and writes of a variable.

    Attributes:
        variable: its position in `Compilation.variables`.
        field: the field of vertices that it is connected to; empty for other steps.
        read: bytes; what several vertices read counts for each.
        written: bytes.
    """

    variable: int = field(metadata=checked(lambda number, known: number < known.variables))
    field: str
    read: int
    written: int


@frozen
class StepAccesses:
    """Variables that a step reads and writes, wherever it is in programs.

    Attributes:
        name: the name of the compute set, source and target of a copy, or the work of the host;
            of a condition, its kind, such as "If".
        kind: of the step; "control" for a condition.
        places: program, and number of the step in it from 1; of what decides, of the step that it
            decides on first.
        compute_set: position in `Compilation.compute_sets`; None unless it is an Execute.
        at: the user's line.
        accesses: what it reads and writes.
    """

    name: str
    kind: Literal["execute", "copy", "host", "control"]
    places: tuple[tuple[str, int], ...] = field(metadata=checked(_are_places))
    compute_set: int | None = field(metadata=checked(in_compute_sets))
    at: Line
    accesses: tuple[Access, ...]
