"""Modes of floating-point arithmetic: traps, rounding, overflow.

    FloatingPointBehaviour(inv=True, div0=True, oflo=True, esr=False, nanoo=True)

A tile stores it as a mode, a number made of these bits::

    INVALID  DIVIDE_BY_ZERO  OVERFLOW     stop the program
    STOCHASTIC                            stores round up or down by chance
    OVERFLOW_NAN, OVERFLOW_MAX            what a value becomes that is too large; else an infinity

Source: poplibs, include/popsys/CSRFunctions.hpp.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, fields

from poplite.errors import ControlProgramError
from poplite.frozen import frozen
from poplite.text import clipped

INVALID, DIVIDE_BY_ZERO, OVERFLOW, STOCHASTIC, OVERFLOW_NAN, OVERFLOW_MAX = (
    1 << bit for bit in range(6)
)

TRAPS = INVALID | DIVIDE_BY_ZERO | OVERFLOW
"""The bits that stop a program."""

STORES = STOCHASTIC | OVERFLOW_NAN | OVERFLOW_MAX
"""The bits that change what HALF and QUARTER elements hold."""


@frozen
class FloatingPointBehaviour:
    """What floating-point arithmetic does.

    Args:
        inv: an invalid operation stops the program: one whose result is NaN, one with NaN as an
            operand, a comparison with NaN, a conversion to int that does not fit.
        div0: dividing a number by zero stops it, and so does the logarithm of zero.
        oflo: a result too large for its type stops it.
        esr: values stored as HALF or QUARTER are rounded up or down by chance, so that they are
            right on average; without it, to the nearest.
        nanoo: too large a value is stored in HALF and QUARTER as NaN, which is also an invalid
            operation; without it, as the largest number.

    Raises:
        ControlProgramError: when one of them is not a truth value.

    >>> FloatingPointBehaviour(esr=False)
    FloatingPointBehaviour(inv=True, div0=True, oflo=True, esr=False, nanoo=True)
    """

    inv: bool = True
    div0: bool = True
    oflo: bool = True
    esr: bool = True
    nanoo: bool = True

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, bool):
                raise ControlProgramError(
                    f"FloatingPointBehaviour: {field.name}={clipped(value, 60)} "
                    "is not a truth value",
                    fix=f"FloatingPointBehaviour({field.name}=True)",
                )

    @property
    def bits(self) -> int:
        """The mode that this behaviour sets."""
        return sum(1 << bit for bit, chosen in enumerate(astuple(self)) if chosen)


def reachable(initial: int, steps: Iterable[tuple[int, int]]) -> tuple[int, ...]:
    """Return the modes that a program may be in: the initial one, then the others, ascending.

    Each step clears some bits and then sets others; steps may come in any order, any number of
    times.

    >>> reachable(0, [(STORES, STOCHASTIC), (STOCHASTIC, 0)])
    (0, 8)
    """
    changes, found, waiting = dict.fromkeys(steps), {initial}, [initial]
    while waiting:
        mode = waiting.pop()
        new = {mode & ~clear | set_ for clear, set_ in changes} - found
        found |= new
        waiting += new
    return initial, *sorted(found - {initial})
