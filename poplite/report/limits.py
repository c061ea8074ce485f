"""What a tile can compute in a cycle, with what its link can carry, from the facts of a machine."""

from __future__ import annotations

from collections.abc import Mapping

from poplite.frozen import frozen
from poplite.machine.target import Target
from poplite.types import FLOAT, HALF


@frozen
class Limit:
    """The most that a tile does in a cycle.

    Attributes:
        what: a word for it, such as "floats in vectors".
        number: floating-point operations, or bytes, per cycle.
        sources: the facts of the machine that it follows from, each with its source.
    """

    what: str
    number: float
    sources: Mapping[str, str]


def limits_of(target: Target) -> tuple[Limit, ...]:
    """Return the limits of a tile: operations in vectors and in the matrix unit, and its link.

    In a cycle one worker issues one operation on as many elements as a vector has; the matrix unit
    multiplies a row of inputs for all its outputs, and adds the products up.  The limit of the link
    is twice as high for two neighbours that receive the same words.

    >>> [(each.what, each.number) for each in limits_of(Target())[::2]]
    [('floats in vectors', 2.0), ('floats in the matrix unit', 32.0), ('bytes on the link', 4.0)]
    """
    names = ((FLOAT, "floats", "amp_float_row_cycles"), (HALF, "halves", "amp_half_row_cycles"))
    found = []
    for element, name, _ in names:
        width = float(target.vector_width(element))
        found.append(_limit(target, f"{name} in vectors", width, "data_path_bytes"))
    for element, name, row in names:
        facts = "amp_outputs", "amp_inputs_bytes", row
        outputs, size, cycles = map(target.cost, facts)
        number = 2 * outputs * size / element.size_bytes / cycles
        found.append(_limit(target, f"{name} in the matrix unit", number, *facts))
    link = "exchange_bytes_per_cycle"
    return *found, _limit(target, "bytes on the link", float(target.exchange_bytes_per_cycle), link)


def _limit(target: Target, what: str, number: float, *facts: str) -> Limit:
    return Limit(what, number, {name: f"{target.fact(name)}" for name in facts})
