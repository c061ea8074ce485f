"""What tensors say of themselves, as one file: any change of a word shows in review.

`POPLITE_UPDATE_GOLDEN=1 python -m pytest tests/golden` writes it anew.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import poplite as pl
from poplite import FLOAT, HALF, INT, Graph, Target, Tensor

GOLDEN = Path(__file__).parent / "explain" / "tensors.txt"


def explained() -> Iterator[tuple[str, Tensor]]:
    """Tensors of all kinds, with what was done."""
    graph = Graph(Target(tiles=16))
    t = graph.add_variable(FLOAT, (4, 6), "t", mapping="linear")
    u = graph.add_variable(FLOAT, (4, 6), "u")
    ones = graph.add_constant(FLOAT, (4, 1), 1, "ones", mapping=3)
    graph.set_tile_mapping(u[0], 5)
    yield "t", t
    yield "t[:, 1:3]", t[:, 1:3]
    yield "t[::-1]", t[::-1]
    yield "t.T.flatten()", t.T.flatten()
    yield "t.T.flatten()[3:9]", t.T.flatten()[3:9]
    yield "t.broadcast(3, 1)", t.broadcast(3, 1)
    yield "t.upsample(2, 1)", t.upsample(2, 1)
    yield "t[1, 2]", t[1, 2]
    yield "t[0:0]", t[0:0]
    yield "ones[1:]", ones[1:]
    yield "concat([t, u, ones], 1)", pl.concat([t, u, ones], 1)
    yield "concat([t, u, ones], 1).T[5:7]", pl.concat([t, u, ones], 1).T[5:7]
    yield "an 8 x 12 transpose", graph.add_variable(FLOAT, (8, 12), "x", mapping="linear").T
    many = [graph.add_variable(INT, (3, 2), f"v{i}", mapping=i % 16) for i in range(100)]
    yield "concat of 100 variables", pl.concat(many, 1)
    yield "twenty dimensions", graph.add_variable(INT, (1, 2) * 10, "deep/" * 9 + "down")


def huge() -> Iterator[tuple[str, Tensor]]:
    """The same of 2**30 elements and more."""
    graph = Graph(Target(tiles=16))
    w = graph.add_variable(HALF, (2**15, 2**15), "weights", mapping="linear")
    b = graph.add_variable(HALF, (2**15, 2**15), "bias", mapping="linear")
    yield "weights.T", w.T
    yield "weights.T[1:].reshape", w.T[1:].reshape((2**15, 2**15 - 1))
    yield "concat([weights, bias], 1)", pl.concat([w, b], 1)
    yield "concat([weights, bias], 1).T", pl.concat([w, b], 1).T
    yield "concat([weights, weights.T])", pl.concat([w, w.T])
    begin = np.random.default_rng(1).permutation(2**14) * 2**15
    slices = w.flatten().slices(np.stack([begin, begin + 2**15], 1))
    yield "2**14 shuffled slices", pl.concat(slices)


def test_explanations_keep_their_words() -> None:
    texts = [f"{name}\n\n{t.explain()}\n" for name, t in (*explained(), *huge())]
    found = "\n".join(texts)
    if os.environ.get("POPLITE_UPDATE_GOLDEN"):
        GOLDEN.write_text(found, encoding="utf-8")
    assert found == GOLDEN.read_text(encoding="utf-8")


def test_an_explanation_fits_a_screen_and_shows_itself() -> None:
    for _, tensor in (*explained(), *huge()):
        text = tensor.explain()
        lines = text.splitlines()
        assert len(lines) <= 24
        assert max(map(len, lines)) <= 80
        assert repr(text) == text == str(text)
