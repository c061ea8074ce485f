"""gcl, which is not implemented: each name raises an error that suggests a replacement.

Data moves between replicas with `poplite.program.CrossReplicaCopy`.
"""

from poplite.poplar.absent import shown as _shown

__all__ = _shown(globals(), "", "gcl")
