"""The parts of a phase: kinds, causes, pairs of tiles.

Costs make them; reports read them.
"""

from __future__ import annotations

import math
from dataclasses import field
from typing import ClassVar, Literal, get_args

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.frozen import frozen
from poplite.report.per_tile import PerPair
from poplite.report.validate import Known, Rule, checked
from poplite.source import Line

PhaseKind = Literal["compute", "copy", "exchange", "global exchange", "host exchange"]
"""What happens in a phase: vertices run; data are rearranged on their tile; they move between the
tiles of an IPU, between IPUs, or from and to the host."""

PHASE_KINDS: tuple[PhaseKind, ...] = get_args(PhaseKind)

Source = Literal["given", "formula", "estimated", "counted", "guessed"]
"""How cycles of vertices are known: `set_perf_estimate`; a formula of the class, or an estimator;
priced from the compiled code; counted while it ran; or a guess."""


@frozen
class Cause:
    """A reason why a phase takes as long as it does.

    Attributes:
        what: the field or tensor, as messages call it.
        why: what happens to it, in words.
        at: the user's line; empty without one.
        bytes: how much is moved in one execution.
    """

    what: str
    why: str
    at: Line
    bytes: int


@frozen
class TilePairs:
    """Bytes that tiles receive from each other.

    A word that one tile sends to several others counts for each of them, so a column may add up to
    more than its tile sends; rows add up to what tiles receive.

    Attributes:
        block: tiles that are counted together; 1 where each pair is known.
        bytes: total that block `r` receives from block `s`, at number `r * blocks + s`.
        largest: of blocks, some of the largest pairs of tiles: source, receiver, total of bytes.
    """

    RULES: ClassVar[tuple[Rule, ...]] = (
        ("numbers are not those of pairs of blocks", lambda pairs, known: pairs._fit(known)),
    )

    block: int
    bytes: PerPair
    largest: tuple[tuple[int, int, int], ...] = field(
        default=(),
        metadata=checked(lambda pairs, known: all(max(pair[:2]) < known.tiles for pair in pairs)),
    )

    def _fit(self, known: Known) -> bool:
        """Return whether there is a number for each pair of blocks of tiles."""
        return self.block > 0 and self.bytes.num_tiles == (-(-known.tiles // self.block)) ** 2

    @property
    def num_blocks(self) -> int:
        """How many blocks of tiles there are."""
        return math.isqrt(self.bytes.num_tiles)

    def matrix(self) -> Int64:
        """Return the total of bytes by receiver and source: int64[blocks, blocks]."""
        return self.bytes.array().reshape(self.num_blocks, -1)

    def columns(self) -> tuple[Int64, Int64, Int64]:
        """Return receivers, sources and bytes of the pairs of blocks, each int64[pairs]."""
        to, source = np.divmod(self.bytes.tiles.array(), self.num_blocks)
        return to, source, self.bytes.values.array()
