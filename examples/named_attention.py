"""One layer of attention by named axes, with its gradients, beside NumPy.

    python examples/named_attention.py [--tiles 16]
    poplite-viz graph examples/named_attention.py:build

All heads are one product: `head` is an axis that q and k share and that is not summed. Positions
that are attended to have an axis of their own, S, as long as T.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

import poplite as pl
import poplite.named as ng
from poplite.tools.script import one_line_errors

if TYPE_CHECKING:
    from collections.abc import Sequence

Array = npt.NDArray[Any]

B, T, E = ng.make_axis(2, "B"), ng.make_axis(12, "T"), ng.make_axis(16, "E")
HEAD, D = ng.make_axis(4, "head"), ng.make_axis(8, "D")
S = T.fresh("S")

TOLERANCE = 2e-5
"""How far results may be from NumPy's in double, of the largest of them."""


class Layer(NamedTuple):
    """A layer, and the tensors that it is computed of.

    Attributes:
        x: what comes in, by B, T, E.
        weights: of queries, keys, values, and of what comes out.
        out: what comes out, by B, T, E.
    """

    x: ng.Op
    weights: list[ng.Op]
    out: ng.Op


def attention() -> Layer:
    """Return the layer."""
    x = ng.placeholder([B, T, E], name="x")
    wq, wk, wv = (ng.placeholder([E, HEAD, D], name=f"w{name}") for name in "qkv")
    wo = ng.placeholder([HEAD, D, E], name="wo")
    q = ng.dot(x, wq)  # B, T, head, D
    k, v = (ng.cast_axes(ng.dot(x, w), [B, S, HEAD, D]) for w in (wk, wv))
    scores = ng.dot(q, k, axes=[D]) * float(D.known_length("attention")) ** -0.5
    p = ng.softmax(scores, [S])
    out = ng.dot(ng.dot(p, v, axes=[S]), wo, out_axes=[B, T, E])
    return Layer(x, [wq, wk, wv, wo], out)


def numpy_attention(x: Array, wq: Array, wk: Array, wv: Array, wo: Array) -> list[Array]:
    """Return the same, and the gradients of half the sum of its squares by all operands."""
    q, k, v = (np.einsum("bte,ehd->bthd", x, w) for w in (wq, wk, wv))
    scale = q.shape[-1] ** -0.5
    scores = np.einsum("bthd,bshd->bths", q, k) * scale
    p = np.exp(scores - scores.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    mixed = np.einsum("bths,bshd->bthd", p, v)
    out = np.einsum("bthd,hde->bte", mixed, wo)
    by_mixed = np.einsum("bte,hde->bthd", out, wo)
    by_p = np.einsum("bthd,bshd->bths", by_mixed, v)
    by_scores = p * (by_p - (by_p * p).sum(-1, keepdims=True)) * scale
    by_q = np.einsum("bths,bshd->bthd", by_scores, k)
    by_k = np.einsum("bths,bthd->bshd", by_scores, q)
    by_v = np.einsum("bths,bthd->bshd", p, by_mixed)
    pairs = ((by_q, wq), (by_k, wk), (by_v, wv))
    by_x = sum(np.einsum("bthd,ehd->bte", d, w) for d, w in pairs)
    by_weights = [np.einsum("bthd,bte->ehd", d, x) for d, _ in pairs]
    return [out, np.asarray(by_x), *by_weights, np.einsum("bte,bthd->hde", out, mixed)]


def build(tiles: int = 16) -> tuple[pl.Graph, pl.Program]:
    """Return the graph of the layer and its program, for poplite-viz."""
    layer = attention()
    work = ng.make_transformer(tiles=tiles).computation(layer.out, "all", name="attention")
    return work.graph, work.program


@one_line_errors
def main(argv: Sequence[str] | None = None) -> int:
    """Compute the layer and its gradients; the exit code is 1 where they differ from NumPy's."""
    parser = argparse.ArgumentParser(description="One layer of attention, with gradients.")
    parser.add_argument("--tiles", type=int, default=16, metavar="N")
    options = parser.parse_args(argv)
    layer = attention()
    params = [layer.x, *layer.weights]
    loss = 0.5 * ng.sum(layer.out * layer.out, ...)
    random = np.random.default_rng(0)
    values = [random.standard_normal(each.shape) * 0.4 for each in params]
    with ng.make_transformer(tiles=options.tiles) as device:
        both = device.computation([layer.out, *ng.deriv(loss, params)], *params)
        found = both(*values)
        sets = len(device.graph.compute_sets)
    is_right = True
    names = ["out", *(f"by {each.name}" for each in params)]
    for name, ours, theirs in zip(names, found, numpy_attention(*values), strict=True):
        distance = float(abs(ours - theirs).max() / abs(theirs).max())
        is_near = distance <= TOLERANCE
        is_right = is_right and is_near
        print(f"{name:<6} {distance:.1e} off{'' if is_near else ' WRONG'}")
    print(f"{sets} compute sets")
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
