"""What a program that runs on several ranks needs of the others; a device brings it.

Each rank runs an executable of its own, with EXCHANGE ops at the same places.  The simulator knows
neither MPI nor who owns what.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

from poplite.simulator.stopping import Running

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

T = TypeVar("T")


class Peers(Protocol):
    """The other ranks.

    Attributes:
        own: begin and end of the runs of bytes that this rank fills with initial values, rising
            and disjoint; all others come from other ranks before they are used.
    """

    own: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]

    @property
    def is_host(self) -> bool:
        """Whether this is the rank of the host, which fills and takes blocks of bytes."""

    def connect(
        self,
        parts: Sequence[npt.NDArray[np.uint8]],
        shadows: Sequence[npt.NDArray[np.uint8]],
        slots: Mapping[int, Sequence[int]],
    ) -> None:
        """Make exchanges of memory, and of its shadow with strict checks, by replica.

        `slots` are addresses of tables, by step and replica, of what each vertex of it took.
        """

    def address(self, exchange: int) -> int:
        """Return the address of the words of an exchange (`poplite.executable.opcodes`)."""

    def exchange(self, exchange: int) -> None:
        """Do an exchange."""

    def follow(self, ticks: Callable[[], int], step: Callable[[], str]) -> None:
        """Note what tells how many rows a run has begun, of all runs of its program.

        `step` tells which step it is at, in words.
        """

    def look(self) -> None:
        """Look whether a rank wants to stop the run, wherever Python is entered."""

    @property
    def limit(self) -> int | None:
        """Counted rows behind which the run ends on all ranks; None where nobody wants that."""

    def stop_here(self) -> None:
        """End the run, if this is the place: a step that has not begun."""

    def waiting(self, exchange: int) -> None:
        """Look after the ranks that an exchange waits for; raise when they are gone."""

    def calls(
        self, calls: Sequence[Callable[[], object]], running: Running
    ) -> Sequence[Callable[[], object]]:
        """Return the actions of a run, by number, as all ranks do them."""

    def agreed(self, error: Exception | None, count: int) -> tuple[Exception | None, int]:
        """Return what a step raises on all ranks, its own error or another's.

        Also the greatest count of all ranks.
        """

    def from_host(self, call: str, value: T) -> T:
        """Return the host's value of something that all ranks call."""

    def run(self, call: str, run: Callable[[], None]) -> None:
        """Run a program on all ranks, which end it alike."""
