"""How floating-point arithmetic behaves in an engine now: programs change it, drivers read it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from poplite.executable import opcodes as op
from poplite.machine.floating_point import TRAPS
from poplite.vertex.compute import interpreted
from poplite.vertex.compute.interpreted.stores import Stores, vertex_key
from poplite.vertex.vertex import Vertex


class Floats:
    """The floating-point state of one engine; its programs begin in the first of the modes.

    >>> floats = Floats((0, 8), seed=1)
    >>> floats.change(0, 8, 1)
    >>> floats.mode
    8
    """

    def __init__(self, modes: Sequence[int], seed: int) -> None:
        self._modes, self._seed = tuple(modes), seed
        self.words = np.zeros(op.FLOAT_WORDS, np.int64)
        self.reset()

    def reset(self) -> None:
        """Go back to the mode and the seed that programs begin with."""
        self.words[op.FLOAT_MODE], self.words[op.FLOAT_EXECUTIONS] = self._modes[0], 0
        self.words[op.FLOAT_SEED] = self._seed

    def continue_from(self, other: Floats) -> None:
        """Go on where another engine is: in its mode, if programs here know it.

        The seed there may be that of a state that was loaded; one that was given here remains.
        """
        if self._seed == other._seed:
            self.words[op.FLOAT_SEED] = other.words[op.FLOAT_SEED]
        if self.knows(other.mode):
            self.words[op.FLOAT_MODE] = other.mode
        self.words[op.FLOAT_EXECUTIONS] = other.words[op.FLOAT_EXECUTIONS]

    def knows(self, mode: int) -> bool:
        """Tell whether programs here may be in a mode."""
        return mode in self._modes

    @property
    def address(self) -> int:
        """Address of the words in the process."""
        return int(self.words.ctypes.data)

    @property
    def mode(self) -> int:
        """The current mode (`poplite.machine.floating_point`)."""
        return int(self.words[op.FLOAT_MODE])

    @property
    def may_trap(self) -> bool:
        """Whether arithmetic may ever stop a program."""
        return any(mode & TRAPS for mode in self._modes)

    def change(self, clear: int, set: int, executions: int) -> None:
        """Do what a FLOATS op does: clear bits, set bits, and count compute sets about to run."""
        self.words[op.FLOAT_MODE] = self.mode & ~clear | set
        self.words[op.FLOAT_EXECUTIONS] += executions

    def stores(self, vertex: int, worker: int) -> Stores | None:
        """Return how a worker stores floats; None for the default."""
        if not self.mode:
            return None
        seed, executions = (int(self.words[word]) for word in (op.FLOAT_SEED, op.FLOAT_EXECUTIONS))
        return Stores(self.mode, vertex_key(seed, executions, vertex, worker))

    def form(self, cls: type[Vertex]) -> Callable[..., bool | None]:
        """Return the interpreted form of a vertex class, which traps by the current mode."""
        traps = {mode & TRAPS for mode in self._modes}
        if traps == {0}:
            return interpreted(cls)
        forms = {each: interpreted(cls, each) for each in sorted(traps)}

        def compute(*args: Any) -> bool | None:
            return forms[self.mode & TRAPS](*args)

        return compute
