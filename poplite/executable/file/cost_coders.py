"""How files of executables hold what is modelled: whole numbers are none below zero.

numbers of tiles     [tiles, values]           two series; [] where all are zero
of pairs of blocks   [pairs, tiles, values]    how many pairs there are first
"""

from __future__ import annotations

from typing import Any

from poplite.codec.codec import Codec
from poplite.codec.coders import Coder, Json, Reader, ScalarCoder, SeriesCoder, Writer
from poplite.codec.loading import Malformed, check_room, shown
from poplite.cost.step_cost import NOTHING, PhaseCost
from poplite.executable.file.validate_costs import checked_spread
from poplite.graph.compute_sets.perf_estimates import MOST
from poplite.report.memory import Memory, Operation
from poplite.report.per_tile import BYTES_A_PAIR, PerPair, PerTile
from poplite.report.validate import MOST_TOTAL


class _SpreadCoder(Coder):
    """Numbers of tiles, or of pairs of blocks of them."""

    name, series = "numbers of tiles", SeriesCoder()

    def __init__(self, *, of_pairs: bool = False) -> None:
        self.of_pairs = of_pairs

    def fits(self, value: Any) -> bool:
        """Return whether a value is one of these."""
        return isinstance(value, PerTile)

    def encode(self, value: Any, to: Writer) -> Json:
        """Return a value as JSON."""
        if value is NOTHING or not value.num_used and not self.of_pairs:
            return []
        both = [self.series.encode(each, to) for each in (value.tiles, value.values)]
        return [value.num_tiles, *both] if self.of_pairs else both

    def decode(self, data: Json, of: Reader) -> Any:
        """Return the value of JSON."""
        size = of.lent["target"].tiles
        match data:
            case [int() as pairs, tiles, values] if self.of_pairs and 0 <= pairs <= size * size:
                size = pairs
            case [] if not self.of_pairs:
                return PerTile.nothing(size)
            case [tiles, values] if not self.of_pairs:
                pass
            case _:
                raise Malformed(f"{shown(data)} are no {self.name}")
        found = checked_spread(size, *(self.series.decode(each, of) for each in (tiles, values)))
        if self.of_pairs:
            check_room(BYTES_A_PAIR * found.num_used, f"{found.num_used:,} pairs of tiles")
        return found


_MODELLED = Codec(
    {
        int: ScalarCoder(int, range(MOST + 1), "is not among the numbers of costs"),
        PerTile: _SpreadCoder(),
        PerPair: _SpreadCoder(of_pairs=True),
    }
)

_COUNTED = Codec({int: ScalarCoder(int, range(MOST_TOTAL), "is not among the numbers of a report")})

EXECUTABLE_CODEC = Codec(
    {
        Operation: _COUNTED.coder_of(Operation),
        **{kind: _MODELLED.coder_of(kind) for kind in (PhaseCost, Memory)},
    }
)
