"""The expression that a tensor shows of itself makes the same tensor."""

from __future__ import annotations

import re
from random import Random

import numpy as np
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import examples
from poplite.graph.tensor.tensor_text import made_from
from poplite.testing import random_tensor, random_variables

SOURCES = random_variables(Random(0))
WORLD = {"concat": pl.concat, "INT": pl.INT, **{v.text: v.tensor for v in SOURCES}}


def made_again(text: str) -> pl.Tensor:
    """The tensor that an expression with quoted names makes."""
    made = eval(re.sub(r"'(\w+)'", r"\1", text), dict(WORLD))
    assert isinstance(made, pl.Tensor)
    return made


@examples(400)
@given(st.randoms(use_true_random=False))
def test_the_expression_makes_the_tensor(random: Random) -> None:
    tensor = random_tensor(random, SOURCES, 5).tensor
    if tensor.num_elements:
        text = made_from(tensor)
        if " region" not in text:
            assert made_again(text) == tensor


def test_most_tensors_after_three_operations_have_an_expression() -> None:
    drawn = [random_tensor(Random(seed), SOURCES, 3).tensor for seed in range(300)]
    lost = [t for t in drawn if t.num_elements and " region" in made_from(t)]
    assert len(lost) < 60


x = pl.Graph(pl.Target(tiles=16)).add_variable(pl.FLOAT, (8, 12), "x", mapping="linear")


@pytest.mark.parametrize(
    ("tensor", "shown"),
    [
        (x, "'x' float32[8, 12] on 16 tiles (0-15), 384 B"),
        (x.dim_shuffle([1, 0]), "'x'.T float32[12, 8] on 16 tiles (0-15), 384 B"),
        (
            x.sub_sample(2, 1).upsample(2, 1),
            "'x'[:, ::2].upsample(2, 1) float32[8, 12] on 16 tiles (0-15), "
            "48 distinct elements, 192 B",
        ),
        (
            x[0].expand([0]).broadcast(8, 0),
            "'x'[0].expand([0]).broadcast(8, 0) float32[8, 12] on 2 tiles (0-1), "
            "12 distinct elements, 48 B",
        ),
        (x[3], "'x'[3] float32[12] on 2 tiles (6-7), 48 B"),
        (x[5:2:-2, 3], "'x'[5:2:-2, 3] float32[2] on 2 tiles (6, 10), 8 B"),
        (x.flatten()[5:40], "'x'.flatten()[5:40] float32[35] on 7 tiles (0-6), 140 B"),
        (
            x.flatten()[10:14].reshape((2, 2)),
            "'x'.flatten()[10:14].reshape((2, 2)) float32[2, 2] on 2 tiles (1-2), 16 B",
        ),
        (x.reinterpret(pl.INT), "'x'.reinterpret(INT) int32[8, 12] on 16 tiles (0-15), 384 B"),
        (
            pl.concat([x[:2].T, x[5:].T], 1),
            "concat(['x'[:2].T, 'x'[5:].T], 1) float32[12, 5] on 10 tiles (0-3, 10-15), 240 B",
        ),
        (x.T.reshape((8, 12)), "'x'.T.reshape((8, 12)) float32[8, 12] on 16 tiles (0-15), 384 B"),
        (
            x[2:5].T.reshape((4, 9)),
            "'x'[2:5].T.reshape((4, 9)) float32[4, 9] on 6 tiles (4-9), 144 B",
        ),
        (
            x.T.reshape((2, 2, 24)),
            "'x'.T.reshape((2, 2, 24)) float32[2, 2, 24] on 16 tiles (0-15), 384 B",
        ),
        (
            x.upsample(3, 0).flatten(),
            "'x'.upsample(3, 0).flatten() float32[288] on 16 tiles (0-15), "
            "96 distinct elements, 384 B",
        ),
        (
            x[::-1].reshape((6, 16)),
            "'x'[::-1].reshape((6, 16)) float32[6, 16] on 16 tiles (0-15), 384 B",
        ),
        (
            x.broadcast(2**20, 0),
            "'x'.broadcast(1048576, 0) float32[8388608, 12] on 16 tiles (0-15), "
            "96 distinct elements, 384 B",
        ),
        (x[0:0], "'x' float32[0, 12], no elements"),
        (x[:, 3:3].T, "'x' float32[0, 8], no elements"),
        (
            pl.concat([x[k, k : k + 2] for k in range(6)]),
            "'x' in 6 regions float32[12] on 7 tiles (0, 2, 4, ...), 48 B",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_repr_says_how_a_view_is_made(tensor: pl.Tensor, shown: str) -> None:
    assert repr(tensor) == f"<Tensor {shown}>"


def test_a_view_of_many_regions_has_its_tiles() -> None:
    graph = pl.Graph(pl.Target(tiles=16))
    large = graph.add_variable(pl.FLOAT, (400, 500), "large", mapping="linear")
    order = np.random.default_rng(0).permutation(200_000)[:100_000]
    shuffled = pl.concat(large.flatten().slices(np.stack([order, order + 1], axis=1)))
    regions = len(shuffled.contiguous_regions())
    shown = f"'large' in {regions:,} regions float32[100000] on 16 tiles (0-15), 400,000 B"
    assert repr(shuffled) == f"<Tensor {shown}>"


def test_a_view_of_several_variables_names_the_first_of_them() -> None:
    graph = pl.Graph(pl.Target(tiles=16))
    image = graph.add_variable(pl.FLOAT, (8, 12), "im", mapping="linear")
    padded = pl.ops.pad(image, 1)
    names = "'im/padding_2', 'im/padding', 'im' and 2 more"
    size = "float32[10, 14] on 16 tiles (0-15), 100 distinct elements, 400 B"
    assert repr(padded) == f"<Tensor {names} in 52 regions {size}>"
    again = pl.ops.pad(padded, 1)
    assert [v.name for v in graph.variables][5:] == [
        "pad/padding",
        *(f"pad/padding_{n}" for n in (1, 2, 3)),
    ]
    assert "in 104 regions" in repr(again)


def test_an_explanation_calls_regions_of_memory_regions_alone() -> None:
    text = pl.concat([x[k, k : k + 1 + k % 2] for k in range(6)]).explain()
    view, layers = (re.search(f"{label} +(.*)", text) for label in ("view", "layers"))
    assert view is not None
    assert layers is not None
    assert (view[1], layers[1]) == ("'x' in 6 regions", "6 pieces")
