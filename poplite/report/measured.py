"""What runs elsewhere tell: of a device, beside what the model says, and of ranks."""

from __future__ import annotations

from dataclasses import field, replace

from poplite.frozen import frozen
from poplite.report.validate import checked, in_program
from poplite.text import amount


@frozen
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

    program: str = field(metadata=checked(in_program))
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


@frozen
class BetweenRanks:
    """What one place of a program sent between the ranks of `pl.mpi.Device`, over all executions.

    A message goes from one rank to another one. What ranks say to each other about calls and the
    ends of steps is not counted.

    Attributes:
        name: what `ExecutionStep.name` is, what the host does, or "a scalar that decides".
        program_name: the name of the program that it is a place in.
        row: which row of that program's code it is; that of the `ExecutionStep`, if there is one.
        number: of the step in its program, from 1; of a scalar that of the step before it.
        at: the user's line; empty where it is not known.
        executions: how often it ran.
        messages: total of messages, of all ranks.
        bytes: total of bytes in them.
    """

    name: str
    program_name: str
    row: int
    number: int
    at: str
    executions: int
    messages: int
    bytes: int

    def since(self, earlier: BetweenRanks | None) -> BetweenRanks:
        """Return what was sent since an earlier report."""
        if earlier is None:
            return self
        counts = ("executions", "messages", "bytes")
        between = {name: getattr(self, name) - getattr(earlier, name) for name in counts}
        return replace(self, **between)
