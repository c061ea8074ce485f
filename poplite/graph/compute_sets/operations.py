"""Which compute sets and variables an operation of `poplite.ops` made.

    loss = ops.map(ops.sum((x - y) ** 2), name="loss")

    operation 'loss'    compute sets    loss/tiles, loss/workers, loss/final
                        results         loss
                        temporaries     loss/tiles/partials, loss/workers/partials

Reports add up what belongs to one operation, and pictures of a graph draw it as one box.
"""

from __future__ import annotations

from dataclasses import dataclass

from poplite.graph.compute_sets.compute_set import ComputeSet
from poplite.graph.storage.space import Variable
from poplite.source import SourceLocation


@dataclass(frozen=True, slots=True, eq=False)
class RecordedOperation:
    """An operation that was recorded.

    Attributes:
        name: with its scopes; a number is added where an operation before it has that name.
        location: the user's line that recorded it.
        compute_sets: those that it made.
        results: the variables that it made for others to read.
        temporaries: the other variables that it made.
    """

    name: str
    location: SourceLocation
    compute_sets: tuple[ComputeSet, ...]
    results: tuple[Variable, ...]
    temporaries: tuple[Variable, ...]
