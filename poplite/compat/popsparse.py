"""popsparse: nothing of it is here; each name says what to use instead.

Products of patterns that are known when a graph is built are `poplite.ops.sparse_matmul`.
"""

from poplite.poplar.absent import shown as _shown

__all__ = _shown(globals(), "", "popsparse")
