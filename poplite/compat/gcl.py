"""gcl, which is not implemented: each name raises an error that says what to use instead.

Data moves between replicas with `poplite.program.CrossReplicaCopy`.
"""

from poplite.poplar.absent import shown as _shown

__all__ = _shown(globals(), "", "gcl")
