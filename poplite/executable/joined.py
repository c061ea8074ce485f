"""Neighbour Copies of a Sequence that could be one, and what one would take."""

from __future__ import annotations

from dataclasses import dataclass

from poplite.cost.step_cost import StepCost


@dataclass(frozen=True, slots=True, eq=False)
class JoinedCopyCost:
    """One Copy in place of several.

    Attributes:
        steps: the numbers of their steps, in the order of the Sequence.
        cost: what one execution of one Copy costs, by the cost model.
    """

    steps: tuple[int, ...]
    cost: StepCost
