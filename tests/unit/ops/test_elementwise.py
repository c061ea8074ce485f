"""pl.ops.add: any shapes, any mappings, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import poplite as pl
from helpers.depth import examples


@examples(25)
@given(
    shape=st.lists(st.integers(0, 5), max_size=3).map(tuple),
    element=st.sampled_from([pl.FLOAT, pl.INT, pl.UNSIGNED_INT]),
    seed=st.integers(0, 2**32 - 1),
)
def test_sum_of_any_mapping(
    shape: tuple[int, ...], element: type[pl.ElementType[Any]], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    graph = pl.Graph(pl.Target(tiles=5))
    tensors, arrays = [], []
    for name in "ab":
        array = (100 * rng.random(shape)).astype(element.dtype)
        tensor = graph.add_variable(element, shape, name, initial_value=array)
        flat = tensor.flatten()
        for i, tile in enumerate(rng.integers(0, 5, tensor.num_elements)):
            graph.set_tile_mapping(flat[i : i + 1], int(tile))
        tensors.append(tensor)
        arrays.append(array)
    total, program = pl.ops.add(graph, tensors[0], tensors[1])
    engine = pl.Engine(graph, program)
    engine.run()
    assert engine.read(total).tobytes() == (arrays[0] + arrays[1]).tobytes()
    assert graph.tile_mapping(total) == graph.tile_mapping(tensors[0])


def test_vertices_are_at_most_the_workers_of_each_tile() -> None:
    graph = pl.Graph(pl.Target(tiles=3))
    a = graph.add_variable(pl.FLOAT, (12,), "a")
    graph.set_tile_mapping(a[0:8], 0)
    graph.set_tile_mapping(a[8:12], 2)
    _, program = pl.ops.add(graph, a, a)
    (step,) = program.children
    assert isinstance(step, pl.Execute)
    assert [v.tile for v in step.compute_set.vertices] == [0] * 6 + [2] * 4


def test_shapes_must_agree() -> None:
    graph = pl.Graph()
    a = graph.add_variable(pl.FLOAT, (2, 3), "a", mapping=0)
    with pytest.raises(pl.TensorCreationError, match=r"add: shapes \(2, 3\) and \(3, 2\) differ"):
        pl.ops.add(graph, a, a.T)


def test_elements_must_be_of_one_type() -> None:
    graph = pl.Graph()
    a = graph.add_variable(pl.FLOAT, (2,), "a", mapping=0)
    b = graph.add_variable(pl.INT, (2,), "b", mapping=0)
    with pytest.raises(pl.ElementTypeError, match="add: 'a' is FLOAT and 'b' is INT"):
        pl.ops.add(graph, a, b)


def test_elements_must_be_numbers() -> None:
    graph = pl.Graph()
    a = graph.add_variable(pl.BOOL, (2,), "a", mapping=0)
    with pytest.raises(pl.ElementTypeError, match="add: 'a' is BOOL and 'a' is BOOL") as caught:
        pl.ops.add(graph, a, a)
    assert caught.value.found == "T is one of FLOAT, HALF, INT, UNSIGNED_INT"


def test_elements_of_the_first_need_tiles() -> None:
    graph = pl.Graph()
    a = graph.add_variable(pl.FLOAT, (4,), "a")
    graph.set_tile_mapping(a[0:3], 0)
    with pytest.raises(pl.InvalidTileMapping, match=r"'a'.*4"):
        pl.ops.add(graph, a, a)
