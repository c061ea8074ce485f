"""Tests of programs that handle tensors: any tensor, and what is true of it.

    from hypothesis import given
    from poplite.testing import check_tensor, tensors

    @given(tensors())
    def test_rows_in_turn(t):
        reversed_twice = my_reverse(my_reverse(t.tensor))
        check_tensor(reversed_twice, t.addresses)       every query, beside plain NumPy

`addressed` pairs a tensor with the addresses of its elements, `draw` makes random ones from a
seed, `check` asks everything, `strategies` are for Hypothesis, which only they need, and
`python -m poplite.testing.fuzz` checks as many tensors as there is time for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from poplite.testing.addressed import AddressedTensor, appended, concatenated, variables
from poplite.testing.check import (
    check_intersection,
    check_sorted_regions,
    check_tensor,
    check_tile_mapping,
    tiles_of,
)
from poplite.testing.draw import (
    random_mapping,
    random_shape,
    random_step,
    random_tensor,
    random_variables,
)

if TYPE_CHECKING:
    from poplite.testing.strategies import graphs_with_variables, tensors, tile_mappings

__all__ = [
    "AddressedTensor",
    "appended",
    "check_intersection",
    "check_sorted_regions",
    "check_tensor",
    "check_tile_mapping",
    "concatenated",
    "graphs_with_variables",
    "random_mapping",
    "random_shape",
    "random_step",
    "random_tensor",
    "random_variables",
    "tensors",
    "tile_mappings",
    "tiles_of",
    "variables",
]

_STRATEGIES = frozenset({"graphs_with_variables", "tensors", "tile_mappings"})


def __getattr__(name: str) -> object:
    if name not in _STRATEGIES:
        raise AttributeError(f"module 'poplite.testing' has no attribute '{name}'")
    return getattr(import_module("poplite.testing.strategies"), name)
