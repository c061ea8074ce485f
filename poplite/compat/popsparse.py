"""popsparse: nothing of it is here but `addCodelets`; each name says what to use instead.

Products of patterns that are known when a graph is built are `poplite.ops.sparse_matmul`.
"""

from poplite.compat.arguments import library_codelets as _library_codelets
from poplite.poplar.absent import shown as _shown

__all__ = _shown(globals(), "addCodelets", "popsparse")

addCodelets = _library_codelets("popsparse")
