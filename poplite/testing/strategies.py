"""Hypothesis strategies for tensors and tile mappings.

A failing example is printed as Python lines that reproduce the tensor; see `AddressedTensor`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import strategies as st

from poplite.testing.addressed import AddressedTensor, random_tensor, random_variables

__all__ = ["graphs_with_variables", "tensors", "tile_mappings"]


def __dir__() -> list[str]:
    return __all__


@st.composite
def graphs_with_variables(draw: st.DrawFn, num_tiles: int = 4) -> tuple[AddressedTensor, ...]:
    """Draw the variables of a new graph, one of them a constant; some elements have no tile.

    Args:
        draw: passed by Hypothesis.
        num_tiles: number of tiles of the graph.

    >>> from hypothesis import given
    >>> @given(graphs_with_variables())
    ... def test(variables):
    ...     assert len({v.tensor.graph for v in variables}) == 1
    >>> test()
    """
    return random_variables(draw(st.randoms(use_true_random=False)), num_tiles)


@st.composite
def tensors(
    draw: st.DrawFn, sources: Sequence[AddressedTensor] | None = None, max_steps: int = 8
) -> AddressedTensor:
    """Draw a tensor with the addresses of its elements.

    Args:
        draw: passed by Hypothesis.
        sources: the result of `graphs_with_variables`, to draw several tensors of one graph; by
            default the tensor has its own graph.
        max_steps: maximum number of operations.

    >>> from hypothesis import given
    >>> @given(tensors())
    ... def test(t):
    ...     assert t.tensor.flatten().num_elements == t.addresses.size
    >>> test()
    """
    random = draw(st.randoms(use_true_random=False))
    return random_tensor(
        random, random_variables(random) if sources is None else sources, max_steps
    )


@st.composite
def tile_mappings(
    draw: st.DrawFn, num_elements: int, num_tiles: int
) -> list[list[tuple[int, int]]]:
    """Draw, for each tile, intervals of a flattened tensor; some elements have no tile.

    Args:
        draw: passed by Hypothesis.
        num_elements: number of elements of the tensor.
        num_tiles: number of tiles of the graph.

    >>> import poplite as pl
    >>> from hypothesis import given
    >>> @given(tile_mappings(6, 3))
    ... def test(mapping):
    ...     graph = pl.Graph(pl.Target(tiles=3))
    ...     x = graph.add_variable(pl.INT, (6,), mapping=mapping)
    ...     assert len(graph.tile_mapping(x, require_complete=False)) == 3
    >>> test()
    """
    cuts = sorted(draw(st.sets(st.integers(0, num_elements), max_size=8)))
    mapping: list[list[tuple[int, int]]] = [[] for _ in range(num_tiles)]
    for begin, end in pairwise(cuts):
        tile = draw(st.integers(-1, num_tiles - 1))
        if tile >= 0:
            mapping[tile].append((begin, end))
    return mapping
