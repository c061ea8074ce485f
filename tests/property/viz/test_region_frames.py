"""Frames of operations drawn at random, against the tensor's own regions and dense arrays."""

from __future__ import annotations

import json

import numpy as np
from hypothesis import given, strategies as st

import poplite as pl
from poplite.arrays.intervals import Int64
from poplite.viz.regions.frames import Frame, frames_of, regions_json
from poplite.viz.regions.operations import TensorOperation, applied, read_operation

SHAPE, OTHER = (4, 6), (2, 6)


def graph_of(tiles: list[int]) -> tuple[pl.Graph, pl.Tensor]:
    """Two variables; the element k of both together lies on `tiles[k]`, or nowhere for -1."""
    graph = pl.Graph(pl.Target(tiles=4))
    x = graph.add_variable(pl.FLOAT, SHAPE, "x")
    y = graph.add_variable(pl.FLOAT, OTHER, "a y")
    flat = pl.concat([x.flatten(), y.flatten()])
    for k, tile in enumerate(tiles):
        if tile >= 0:
            graph.set_tile_mapping(flat[k], tile)
    return graph, x


@st.composite
def operation(draw: st.DrawFn, array: Int64) -> tuple[str, Int64]:
    """An operation as text, and what NumPy makes of an array of positions by it."""
    rank = array.ndim
    if not rank:
        return "flatten", array.reshape(-1)
    axis = draw(st.integers(0, rank - 1))
    size = array.shape[axis]
    kinds = ["index", "slice", "dimShuffle", "reverse", "sub_sample", "flatten", "reshape"]
    kinds += ["broadcast", "upsample"] * (array.size <= 100)
    kinds += ["concat"] * (array.shape[1:] == OTHER[1:] and rank == 2)
    match draw(st.sampled_from(kinds)):
        case "index":
            step = draw(st.integers(1, 3))
            begin = draw(st.integers(0, size - 1))
            text = ", ".join([":"] * axis + [f"{begin}::{step}"])
            return text, array[(slice(None),) * axis + (slice(begin, None, step),)]
        case "slice":
            begin = draw(st.integers(0, size - 1))
            end = draw(st.integers(begin + 1, size))
            return f"slice {begin} {end} {axis}", array.take(range(begin, end), axis)
        case "dimShuffle":
            order = draw(st.permutations(range(rank)))
            return f"dimShuffle({', '.join(map(str, order))})", array.transpose(order)
        case "reverse":
            return f"reverse {axis}", np.flip(array, axis)
        case "sub_sample":
            step = draw(st.integers(1, 3))
            return f"sub_sample {step},{axis}", array.take(range(0, size, step), axis)
        case "reshape":
            parts = draw(
                st.sampled_from([k for k in range(1, array.size + 1) if not array.size % k])
            )
            return f"reshape [{parts}, {array.size // parts}]", array.reshape(parts, -1)
        case "broadcast":
            return f"broadcast 2 {axis}", np.concatenate([array, array], axis)
        case "upsample":
            return f"upsample 2 {axis}", np.repeat(array, 2, axis)
        case "concat":
            other = np.arange(24, 36).reshape(OTHER)
            return "concat a y 0", np.concatenate([array, other])
    return "flatten", array.reshape(-1)


@st.composite
def chain(draw: st.DrawFn) -> tuple[list[str], list[Int64]]:
    """Operations one after the other, and the positions after each."""
    texts, arrays = list[str](), [np.arange(24).reshape(SHAPE)]
    for _ in range(draw(st.integers(0, 5))):
        text, array = draw(operation(arrays[-1]))
        texts.append(text)
        arrays.append(array)
    return texts, arrays


def positions(frame: Frame) -> Int64:
    """The positions of a frame's elements, in order."""
    spans = [np.arange(b, b + n) for b, n in zip(frame.begin, frame.length, strict=True)]
    return np.concatenate(spans)


@given(chain(), st.lists(st.integers(-1, 3), min_size=36, max_size=36))
def test_intervals_are_the_regions_of_the_tensor(
    drawn: tuple[list[str], list[Int64]], tiles: list[int]
) -> None:
    texts, arrays = drawn
    _, x = graph_of(tiles)
    operations = [read_operation(text) for text in texts]
    shown = frames_of(x, operations)
    said = json.loads(regions_json(shown))
    assert len(shown.frames) == len(arrays)
    tensor = x
    for k, (frame, array) in enumerate(zip(shown.frames, arrays, strict=True)):
        tensor = applied(tensor, operations[k - 1]) if k else tensor
        assert frame.shape == array.shape
        np.testing.assert_array_equal(positions(frame), array.ravel())
        regions = tensor.contiguous_regions()
        np.testing.assert_array_equal(np.cumsum(frame.length), regions.end)
        owner = np.repeat(frame.pieces.tile, frame.pieces.length)
        np.testing.assert_array_equal(owner, np.array(tiles)[array.ravel()])
        intervals = said["frames"][k]["intervals"]
        of_variables = zip(*intervals.values(), strict=True)  # begin, length, variable
        names = [variable["name"] for variable in said["variables"]]
        assert [(names[v], b, b + n) for b, n, v in of_variables] == [
            (v.name, b, e) for v, b, e in tensor.var_regions()
        ]


@given(chain())
def test_operations_are_read_as_they_are_shown(drawn: tuple[list[str], list[Int64]]) -> None:
    for text in drawn[0]:
        operation: TensorOperation = read_operation(text)
        assert read_operation(operation.text) == operation
