"""The cost model of the machine: cycles, bytes moved, bytes stored.

Prices of single instructions, for vertices without a formula, are in `poplite.simulator.pricing`.
These names are for planners, which import `poplite.cost` as a package. Most operations need no
plan, and do not load it.
"""

from typing import TYPE_CHECKING

from poplite.public import loaded_on_use

if TYPE_CHECKING:
    from poplite.cost.exchange_cycles import (
        MovedPieces as MovedPieces,
        cycles_of_load as cycles_of_load,
        load_of as load_of,
    )
    from poplite.cost.model import step_costs as step_costs
    from poplite.cost.moved_data import (
        CopiedRows as CopiedRows,
        cycles_of_rows as cycles_of_rows,
    )
    from poplite.cost.step_cost import slowest_tile as slowest_tile, tile_cycles as tile_cycles

__all__, __getattr__, __dir__ = loaded_on_use(__name__)
