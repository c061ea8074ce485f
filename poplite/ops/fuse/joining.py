"""The slots of what a reduction computes of an element, beside joining it.

    sum(x * y)      one load of x or y, beside the one that the reduction has; one multiplication
    sum(x ** 2)     nothing besides: PopLibs' `SQUARE_ADD` takes as long as its `ADD`
    x @ y of HALF   one load and one multiplication of four elements, which are not made FLOAT first

Operands are loaded once, by 64-bit words; operations take their own slots of a map
(`poplite.ops.fuse.pricing`). What PopLibs' tables do not have has no price here: vertices with such
operations are priced by their compiled code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from poplite.expr.tree import ElementClass
from poplite.machine.target import Target
from poplite.ops.fuse.pricing import step_of, walked
from poplite.ops.fuse.recipe import Body, Line, ReductionRecipe
from poplite.types import FLOAT, HALF
from poplite.vertices.estimators.maps import MapOperation, own_slots

WORD = 8
"""Bytes of a load."""


class Computed(NamedTuple):
    """What a reduction computes of each element, beside joining it.

    Attributes:
        joined: the element type that is joined, which accumulators square or widen by themselves.
        slots: of an element.
        flops: of an element.
    """

    joined: ElementClass
    slots: float
    flops: int

    @property
    def with_join(self) -> float:
        """Slots of an element that is joined, too."""
        return self.slots + _joined(self.joined) / WORD


def computed_of(recipe: ReductionRecipe) -> Computed | None:
    """Return what a reduction computes of each element; None where no table has all of it.

    >>> from poplite.ops.fuse.recipe import Body
    >>> lines = Line("subtract", FLOAT, ("a0", "a1")), Line("square", FLOAT, ("v0",))
    >>> body = Body(lines, "v1", (FLOAT, FLOAT), ())
    >>> computed_of(ReductionRecipe(body, (), "add", FLOAT, is_columns=False))
    Computed(joined=FLOAT, slots=1.0, flops=2)
    """
    body, types = recipe.body, recipe.body.types()
    kinds = ["n" if n in recipe.scalars else "v" for n in range(len(body.tensors))]
    steps, joined = [*walked(body, kinds)], body.result
    floats = [line for line in body.lines if line.element_type.is_floating_point]
    flops = sum(line.operation != "cast" for line in floats)
    if recipe.how == "add":
        steps, joined = _before_accumulators(body, steps)
    slots = _loads(recipe, types[joined])
    for step in steps:
        own = _slots(step)
        if own is None:
            return None
        slots += own
    return Computed(types[joined], slots, flops)


def _before_accumulators(body: Body, steps: list[MapOperation]) -> tuple[list[MapOperation], str]:
    """Return the operations before what accumulators do by themselves, and what they join.

    They square what they add, add HALF to FLOAT, and add products of HALF (`f16v4cmac`).
    """
    lines, types, joined = [*body.lines], body.types(), body.result
    for is_done in (_squares, _widens):
        if lines and joined == f"v{len(lines) - 1}" and is_done(lines[-1], types):
            joined = lines.pop().operands[0]
    steps = steps[: len(lines)]
    if lines and joined == f"v{len(lines) - 1}" and (wide := _widened(lines, types)):
        product = MapOperation("multiply", HALF, HALF, steps[-1].operands)
        steps = [step for n, step in enumerate(steps[:-1]) if f"v{n}" not in wide]
        return [*steps, product], wide[lines[-1].operands[0]]
    return steps, joined


def _widened(lines: Sequence[Line], types: Mapping[str, ElementClass]) -> dict[str, str]:
    """Return what is cast from HALF for the product of the last line alone, by its name there."""
    *others, last = lines
    casts = {f"v{n}": line.operands[0] for n, line in enumerate(others) if _widens(line, types)}
    read = {name for line in others for name in line.operands}
    if last.operation != "multiply" or not {*last.operands} <= casts.keys() - read:
        return {}
    return {name: casts[name] for name in last.operands}


def _squares(line: Line, types: Mapping[str, ElementClass]) -> bool:
    is_square = line.operation == "square" or (
        line.operation == "multiply" and line.operands[0] == line.operands[1]
    )
    return is_square and types[line.operands[0]] in (FLOAT, HALF)


def _widens(line: Line, types: Mapping[str, ElementClass]) -> bool:
    is_from_half = line.operation == "cast" and types[line.operands[0]] is HALF
    return is_from_half and line.element_type is FLOAT


def _joined(element: ElementClass) -> int:
    """Return the bytes of an element that a reduction loads; other types are joined one by one."""
    return element.size_bytes if element in (FLOAT, HALF) else WORD


def _loads(recipe: ReductionRecipe, joined: ElementClass) -> float:
    """Return the slots of loading an element of each operand, beside the load of a reduction."""
    tensors = enumerate(recipe.body.tensors)
    loaded = sum(each.size_bytes for n, each in tensors if n not in recipe.scalars)
    return max(0, loaded - _joined(joined)) / WORD


def _slots(step: MapOperation) -> float | None:
    """Return the slots of an operation for an element; one of numbers alone is made once."""
    found, target = step_of(*step), Target(tiles=1)
    if found is None:
        return None
    if step.kind == "n":
        return 0
    return own_slots(found, target) / target.vector_width(found.element)
