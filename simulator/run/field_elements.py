"""Which elements of which tensors stand behind a field, as the graph calls them.

    contiguous      the bytes of the field are those of a variable    'cells'[95, 0:32]
    gathered        they are a copy in temporaries: the moves that    'cells'[0:8, 3]
                    made it say where each byte comes from

Only error messages need it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from poplite.errors import ApplicationRuntimeError
from poplite.executable.layout import ArenaLayout, StoredVariable
from poplite.executable.moves import Moves
from poplite.executable.step import ComputeStep
from poplite.simulator.run.touched import field_rows, ranges
from poplite.text import element_range, indexed

Integers = npt.NDArray[np.int64]

MOST_ELEMENTS = 1 << 16
"""Of more elements of a field, only the first and the last are looked at."""


def behind_field(
    step: ComputeStep, vertex: int, field: str, row: int | None, layout: ArenaLayout
) -> str:
    """Return the elements behind a field of a vertex, or one row of it; empty where it has none."""
    for edges in (each for group in step.groups for each in field_rows(group)):
        own = (edges.vertex == vertex) & (edges.length > 0)
        if row is not None:
            own &= edges.row == row
        if edges.field.name == field and own.any():
            start, length = edges.start[own], edges.length[own]
            count, found = int(length.sum()), np.array([start[0], start[-1] + length[-1] - 1])
            if count <= MOST_ELEMENTS:
                found = ranges(start, length)
            positions = found * edges.field.element.size_bytes
            return _named(positions, count, step.gather, layout)
    return ""


def _named(positions: Integers, count: int, gather: Moves, layout: ArenaLayout) -> str:
    """Return the name of some elements; of many, by the first and the last."""
    if positions[0] >= layout.temporary_base:
        positions = gathered_from(gather, positions)
    (first, begin), (last, end) = (layout.variable_at(int(positions[k])) for k in (0, -1))
    size = first.element_type.size_bytes
    at = begin + (positions - positions[0]) // size
    if first is not last or at.min() < 0 or at.max() >= first.num_elements:
        return f"{element_name(first, begin)} to {element_name(last, end)}, gathered"
    is_all = len(at) == count
    if count == end - begin + 1 and (not is_all or (np.diff(at) == 1).all()):
        return element_range(first.name, first.shape, begin, end + 1)
    if not is_all:
        return f"{element_name(first, begin)} to {element_name(first, end)}"
    return _box(first, at) or (
        f"{element_name(first, begin)} to {element_name(first, end)}, gathered"
    )


def _box(variable: StoredVariable, at: Integers) -> str:
    """Return the name of elements that are a slice of each dimension; empty for all others."""
    dims = [np.unique(part) for part in np.unravel_index(at, variable.shape)]
    steps = [np.unique(np.diff(part)) for part in dims]
    is_box = int(np.prod([len(part) for part in dims])) == len(at) == len(np.unique(at))
    if not is_box or max(map(len, steps), default=0) > 1:
        return ""
    texts = []
    for part, step in zip(dims, steps, strict=True):
        by = f":{step[0]}" if len(step) and step[0] > 1 else ""
        texts.append(f"{part[0]}:{part[-1] + 1}{by}" if len(part) > 1 else str(part[0]))
    return indexed(variable.name, texts)


def element_name(variable: StoredVariable, index: int) -> str:
    """Return an element as the graph calls it, `'x'[3, 1]`."""
    return element_range(variable.name, variable.shape, index, index + 1)


def gathered_from(gather: Moves, positions: Integers) -> Integers:
    """Return where bytes of temporaries, int64[n], were gathered from."""
    found = moved_from(gather, positions)
    if (found < 0).any():  # of a file that was changed: what is compiled gathers all of them
        raise ApplicationRuntimeError(
            "a vertex has elements that nothing was copied to",
            found="the program is not as it was compiled",
            fix="compile it again, and save it: executable.save(path)",
        )
    return found


def moved_from(moves: Moves, positions: Integers) -> Integers:
    """Return where copies read what they write to bytes, int64[n]; -1 for bytes they leave."""
    blocks = moves.blocks()
    if not len(blocks[0]):
        return np.full(len(positions), -1)
    order = np.argsort(blocks[0], kind="stable")
    to, start, size = (each[order] for each in blocks)
    block = np.maximum(np.searchsorted(to, positions, side="right") - 1, 0)
    offset = positions - to[block]
    is_here = (offset >= 0) & (offset < size[block])
    return np.where(is_here, start[block] + offset, -1)
