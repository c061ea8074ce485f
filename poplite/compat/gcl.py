"""gcl: nothing of it is here; each name says what to use instead.

What moves between replicas is `poplite.program.CrossReplicaCopy`.
"""

from poplite.poplar.absent import shown as _shown

__all__ = _shown(globals(), "", "gcl")
