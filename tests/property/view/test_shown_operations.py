"""The expression that a tensor shows of itself makes the same tensor."""

from __future__ import annotations

import re
from random import Random

import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import examples
from poplite.graph.tensor.text import made_from
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
        if "piece" not in text:
            assert made_again(text) == tensor


def test_most_tensors_after_three_operations_have_an_expression() -> None:
    drawn = [random_tensor(Random(seed), SOURCES, 3).tensor for seed in range(300)]
    lost = [t for t in drawn if t.num_elements and "piece" in made_from(t)]
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
        (
            pl.concat([x[k, k : k + 2] for k in range(6)]),
            "'x' in 6 pieces float32[12] on 7 tiles (0, 2, 4, ...), 48 B",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_repr_says_how_a_view_is_made(tensor: pl.Tensor, shown: str) -> None:
    assert repr(tensor) == f"<Tensor {shown}>"
