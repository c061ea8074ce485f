"""One layer of attention by named axes, with its gradients, compared with NumPy.

All heads are one product: `head` is an axis that q and k share and that is not summed. Positions
that are attended to have an axis of their own, S, as long as T.
"""

import numpy as np

import poplite as pl
import poplite.named as ng

B, T, E = ng.make_axis(2, "B"), ng.make_axis(12, "T"), ng.make_axis(16, "E")
HEAD, D = ng.make_axis(4, "head"), ng.make_axis(8, "D")
S = T.fresh("S")


def attention() -> tuple[ng.Op, list[ng.Op]]:
    """Return what comes out, and what goes in: x and the weights."""
    x = ng.placeholder([B, T, E], name="x")
    wq, wk, wv = (ng.placeholder([E, HEAD, D], name=f"w{name}") for name in "qkv")
    wo = ng.placeholder([HEAD, D, E], name="wo")
    q = ng.dot(x, wq)  # B, T, head, D
    k, v = (ng.cast_axes(ng.dot(x, w), [B, S, HEAD, D]) for w in (wk, wv))
    p = ng.softmax(ng.dot(q, k, axes=[D]) * 8**-0.5, [S])
    out = ng.dot(ng.dot(p, v, axes=[S]), wo, out_axes=[B, T, E])
    return out, [x, wq, wk, wv, wo]


def in_numpy(
    x: np.ndarray, wq: np.ndarray, wk: np.ndarray, wv: np.ndarray, wo: np.ndarray
) -> np.ndarray:
    q, k, v = (np.einsum("bte,ehd->bthd", x, w) for w in (wq, wk, wv))
    p = np.exp(np.einsum("bthd,bshd->bths", q, k) * 8**-0.5)
    mixed = np.einsum("bths,bshd->bthd", p / p.sum(-1, keepdims=True), v)
    return np.asarray(np.einsum("bthd,hde->bte", mixed, wo))


def build(tiles: int = 16) -> tuple[pl.Graph, pl.Program]:
    out, _ = attention()
    work = ng.make_transformer(tiles=tiles).computation(out, "all", name="attention")
    return work.graph, work.program


def main(tiles: int = 16) -> None:
    out, operands = attention()
    loss = 0.5 * ng.sum(out * out, ...)
    random = np.random.default_rng(0)
    values = [0.4 * random.standard_normal(each.shape) for each in operands]
    device = ng.make_transformer(tiles=tiles)
    both = device.computation([out, *ng.deriv(loss, operands)], *operands)
    found, *gradients = both(*values)
    print(f"{len(device.graph.compute_sets)} compute sets")
    np.testing.assert_allclose(found, in_numpy(*values), atol=1e-5)
    ways = [random.standard_normal(each.shape) for each in values]
    ends = [[v + s * w for v, w in zip(values, ways, strict=True)] for s in (1e-5, -1e-5)]
    high, low = ((in_numpy(*each) ** 2).sum() / 2 for each in ends)
    slope = sum(map(np.vdot, gradients, ways))
    np.testing.assert_allclose(slope, (high - low) / 2e-5, rtol=1e-4)


if __name__ == "__main__":
    main()
