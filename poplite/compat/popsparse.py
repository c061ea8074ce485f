"""popsparse, of which only `addCodelets` is implemented; other names raise an error.

For products with a sparsity pattern known at build time, use `poplite.ops.sparse_matmul`.
"""

from poplite.compat.arguments import library_codelets as _library_codelets
from poplite.poplar.absent import shown as _shown

__all__ = _shown(globals(), "addCodelets", "popsparse")

addCodelets = _library_codelets("popsparse")
