"""Tools for testing vertices, programs, and code that handles tensors.

    def test_axpy():
        assert_vertex(Axpy, {"a": 2.0, "x": x, "y": y}, {"y": y + 2 * x})     against NumPy

    @given(tensors())                                                         any tensor
    def test_rows_in_turn(t):
        reversed_twice = my_reverse(my_reverse(t.tensor))
        check_tensor(reversed_twice, t.addresses)

`vertices` runs one vertex in both forms on elements in random memory layouts, `forms` compares a
faster form or the C++ codelet with `compute`, and `plugin` has fixtures for pytest. `addressed`
pairs a tensor with the addresses of its elements, checks all its queries, and makes tensors from a
seed; `strategies` is for Hypothesis, which no other module needs, and `python -m
poplite.testing.fuzz` checks as many tensors as time allows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from poplite.public import loaded_on_use

if TYPE_CHECKING:
    from poplite.testing.addressed import (
        AddressedTensor as AddressedTensor,
        appended as appended,
        check_intersection as check_intersection,
        check_sorted_regions as check_sorted_regions,
        check_tensor as check_tensor,
        check_tile_mapping as check_tile_mapping,
        concatenated as concatenated,
        random_mapping as random_mapping,
        random_shape as random_shape,
        random_step as random_step,
        random_tensor as random_tensor,
        random_variables as random_variables,
        tiles_of as tiles_of,
        variables as variables,
    )
    from poplite.testing.forms import (
        check_codelet as check_codelet,
        check_faster as check_faster,
    )
    from poplite.testing.strategies import (
        graphs_with_variables as graphs_with_variables,
        tensors as tensors,
        tile_mappings as tile_mappings,
    )
    from poplite.testing.vertices import assert_vertex as assert_vertex

# Every run of pytest imports this package for its plugin, so other imports are deferred.
__all__, __getattr__, __dir__ = loaded_on_use(__name__)
