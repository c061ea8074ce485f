"""What a driver is compiled with beside its vertex class: one driver for each `Variant`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from poplite.machine.floating_point import STORES, TRAPS
from poplite.types import HALF, QUARTER
from poplite.vertex.vertex import Vertex


@dataclass(frozen=True, slots=True)
class Counting:
    """How a driver counts what each vertex takes.

    Attributes:
        on_copies: whether it only counts, on copies, and other drivers or Python run the vertices.
        checked: whether indices are compared with lengths.
        costs: the numbers of the machine from which prices are made.
    """

    on_copies: bool
    costs: tuple[tuple[str, float], ...]
    checked: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Variant:
    """What distinguishes a driver from others of its class.

    Attributes:
        logged: whether workers log what they access of fields that they write. It runs only while
            strict checks look, and is optimized less.
        modes: of floating-point arithmetic, between which it chooses when it runs; none for the
            default.
        counting: how it writes down what each vertex took; None where it does not.
    """

    checked: bool = False
    logged: bool = False
    modes: tuple[int, ...] = ()
    counting: Counting | None = None


def modes_of(cls: type[Vertex], modes: Iterable[int]) -> tuple[int, ...]:
    """Return the modes, rising, between which a driver of the class must distinguish.

    Bits that make no difference to the class are left out; () stands for the default mode alone.
    """
    bits = relevant(cls)
    different = {mode & bits for mode in modes}
    return tuple(sorted(different)) if different != {0} else ()


def relevant(cls: type[Vertex]) -> int:
    """Return the bits of a mode that make a difference to a class."""
    rounds = any(field.writes and field.element in (HALF, QUARTER) for field in cls.fields.values())
    return TRAPS | STORES if rounds else TRAPS
