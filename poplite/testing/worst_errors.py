"""The largest error of a function, as the commands that measure functions print it."""

from __future__ import annotations

from typing import NamedTuple


class Worst(NamedTuple):
    """The largest error of a function.

    Attributes:
        name: of the function.
        error: in units in the last place.
        at: the number that it was found at, or two.
        tried: how many numbers were tried.
        limit: the promised bound.

    >>> print(Worst("exp", 0.75, 2.5, 1000, 1.0))
    exp    0.7500 <= 1.0 units in the last place, at 2.5, of 1,000 numbers  ok
    """

    name: str
    error: float
    at: float | tuple[float, ...]
    tried: int
    limit: float

    @property
    def is_right(self) -> bool:
        """Whether the promise is kept."""
        return self.error <= self.limit

    def __str__(self) -> str:
        verdict = "ok" if self.is_right else "WRONG"
        return (
            f"{self.name:<6} {self.error:.4f} <= {self.limit} units in the last place, "
            f"at {self.at!r}, of {self.tried:,} numbers  {verdict}"
        )
