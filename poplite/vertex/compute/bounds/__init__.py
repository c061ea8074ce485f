"""Bounds checks of indices in loops, done once before the loop.

An access is checked where its guard is false.  Guards do not change in their loop, so LLVM splits
it into two loops: one without checks, and one with them.  A guard may be false although all
accesses are inside, as the limits of an index are found from the limits of its parts.

An access without a guard is checked each time: its index is read from memory or counted by a
`while` loop, or it is in rows of a list whose length changes within the loop.

`guards` finds the accesses, the limits of numbers, and decides what is compared,
`rewriting` puts it into the text, and `functions` are what the text calls.
"""

from poplite.vertex.compute.bounds.functions import (
    FUNCTIONS as FUNCTIONS,
)
from poplite.vertex.compute.bounds.guards import (
    conditions as conditions,
)
from poplite.vertex.compute.bounds.rewriting import (
    guarded as guarded,
)
