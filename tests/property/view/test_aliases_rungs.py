"""Aliases and intersections of random views, answered by each of the means alone."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given, strategies as st

from poplite.testing import random_tensor, random_variables
from poplite.view import (
    aliases,
    contains_aliases,
    contains_constant,
    intersects,
    strided_sets,
)

VARIABLES = random_variables(Random(0))
STORAGES = [variable.storage for variable in VARIABLES[0].tensor.graph.variables]
MARKS = {"MANY": 0, "FEW_PAIRS": 0, "ELEMENTS_PER_PAIR": 10**12, "ADDRESSES_PER_SET": 10**12}

RUNGS = {
    "as it comes": [],
    "arrays": [(aliases, {"FEW": 0})],
    "pairs": [(aliases, {"FEW": 0, "LARGEST_SPAN": 0})],
    "bitmap": [(aliases, {"FEW": 0, **MARKS})],
    "streams": [(aliases, {"FEW": 0, "MOST_RUNS": 3})],
    "compiled search": [(strided_sets, {"FIRST_STEPS": 0})],
    "bit sets": [(strided_sets, {"FIRST_STEPS": 0, "SEARCH_STEPS": 0})],
}


@pytest.fixture(params=RUNGS)
def rung(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Move the limits so that one means has to answer."""
    for module, limits in RUNGS[request.param]:
        for name, value in limits.items():
            monkeypatch.setattr(module, name, value)


@pytest.mark.usefixtures("rung")
@given(st.randoms(use_true_random=False))
def test_every_means_has_the_answer_of_the_addresses(random: Random) -> None:
    a, b = (random_tensor(random, VARIABLES, 14) for _ in range(2))
    elements, others = np.unique(a.addresses), np.unique(b.addresses)
    view, other = a.tensor.view, b.tensor.view
    assert contains_aliases(view) == (elements.size < a.addresses.size)
    assert intersects(view, other) == (np.intersect1d(elements, others).size > 0)
    if view.shape:
        cut = random.randint(0, view.shape[0])
        parts = view.slice(0, cut, 0), view.slice(cut, view.shape[0], 0)
        shared = np.intersect1d(a.addresses[:cut], a.addresses[cut:])
        assert intersects(*parts) == (shared.size > 0)
    constants = [s for s in STORAGES if s.constant]
    assert contains_constant(view) == any(
        ((elements >= s.base) & (elements < s.base + s.num_elements)).any() for s in constants
    )
