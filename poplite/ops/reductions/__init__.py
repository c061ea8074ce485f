"""Reductions and their stages.

These names are for expressions with reductions, which import `poplite.ops.reductions` as a
whole: a map without a reduction loads none of it.
"""

from typing import TYPE_CHECKING

from poplite.public import loaded_on_use

if TYPE_CHECKING:
    from poplite.ops.reductions.build import (
        Fused as Fused,
        FusedReduction as FusedReduction,
        reduce_into as reduce_into,
    )
    from poplite.ops.reductions.plan import ordered as ordered

__all__, __getattr__, __dir__ = loaded_on_use(__name__)
