"""What programs took on a device, beside what the model says."""

from __future__ import annotations

from dataclasses import dataclass

from poplite.text import amount


@dataclass(frozen=True, slots=True)
class Measured:
    """Runs of one program on a device.

    Attributes:
        program: its name.
        runs: how many reached their end.
        cycles: what all of them took, counted by the device; None on the SDK's IPU Model, which
            does not count them.
        seconds: the same, seen from the host.
        modelled: cycles of as many runs by the model; None where data decide what runs, or cycles
            are not modelled.

    >>> print(Measured("main", 2, 81_250, 0.0004, 79_000))
    'main': 2 runs, 81,250 cycles in 0.4 ms; the model says 79,000 cycles
    """

    program: str
    runs: int
    cycles: int | None
    seconds: float
    modelled: int | None

    def __str__(self) -> str:
        runs = amount(self.runs, "run")
        cycles = "" if self.cycles is None else f"{amount(self.cycles, 'cycle')} in "
        model = (
            "" if self.modelled is None else f"; the model says {amount(self.modelled, 'cycle')}"
        )
        return f"'{self.program}': {runs}, {cycles}{1e3 * self.seconds:.3g} ms{model}"
