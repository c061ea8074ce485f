"""Indices that loops go through, compared with lengths once before the loop.

An access is checked where its guard is false.  Guards do not change in their loop, so LLVM makes
two loops of it: one without checks, and one for what may go wrong.  A guard is false more often
than an access is outside: what an index lies between is found from what its parts lie between.

What has no guard is checked at each access: indices that are read from memory, or that `while`
loops count, and rows of lists whose length changes within the loop.

`sites` says where accesses stand, `spans` what numbers lie between, `guards` what is compared,
`rewriting` puts it into the text, and `functions` are what it calls.
"""

from poplite.vertex.compute.bounds.functions import FUNCTIONS
from poplite.vertex.compute.bounds.guards import conditions
from poplite.vertex.compute.bounds.rewriting import guarded

__all__ = ["FUNCTIONS", "conditions", "guarded"]
