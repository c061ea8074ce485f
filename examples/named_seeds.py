"""Code of nGraph's documents on axes and tensors, in their spelling, run on tiles."""

import numpy as np

import poplite as pl
import poplite.named as ng
import poplite.named as ngt


def axes() -> None:
    H = ng.make_axis(name="height")
    W = ng.make_axis(name="width")
    image = ng.placeholder([H, W])
    H.length = 3  # "We can also delay the specification of the axis length."
    W.length = 4
    assert image.shape == (3, 4)


def equality() -> None:
    H = ng.make_axis(length=2)
    W = ng.make_axis(length=3)
    np_val = np.random.rand(2, 3)
    x = ng.constant(np_val, [H, W])
    y = ng.constant(np_val.T, [W, H])
    z = ng.equal(x, y)
    trans = ngt.make_transformer(tiles=4)
    comp = trans.computation([z])
    z_val = comp()[0]
    print(z_val)
    assert z_val.all()


def elementwise() -> None:
    H, W, N = ng.make_axes({"H": 2, "W": 3, "N": 4})
    x = ng.constant(np.ones((2, 3)), [H, W])
    y = ng.constant(np.ones((3, 2)), [W, H])
    assert (x + y).axes == ng.make_axes([H, W])
    assert (y + x).axes == ng.make_axes([W, H])  # <== changed order
    assert (ng.placeholder([H, W]) + ng.placeholder([N, W])).axes == ng.make_axes([H, W, N])
    comp = ngt.make_transformer(tiles=4).computation([x + y, y + x])
    np.testing.assert_array_equal(comp()[1], np.full((3, 2), 2.0))


def products() -> None:
    M, C, H, W, N = ng.make_axes({"M": 2, "C": 3, "H": 4, "W": 5, "N": 6})
    product = ng.dot(ng.placeholder([M, W, H, C]), ng.placeholder([C, H, W, N]))
    assert product.axes == ng.make_axes([M, N])


def assignment() -> None:
    H = ng.make_axis(4, "H")
    x, y = ng.variable([H], name="x"), ng.variable([H], np.arange(4), name="y")
    with ng.steps() as update:
        x[...] = y
    comp = ngt.make_transformer(tiles=2).computation([update, x])
    np.testing.assert_array_equal(comp()[1], np.arange(4))


def build(length: int = 1000, tiles: int = 4) -> tuple[pl.Graph, pl.Program]:
    """Return the graph of the document's L2 and its program."""
    H = ng.make_axis(length, "H")
    x, y = ng.placeholder([H]), ng.placeholder([H])
    t = x - y
    comp = ngt.make_transformer(tiles=tiles).computation(ng.dot(t, t), x, y)
    return comp.graph, comp.program


def main() -> None:
    for section in (axes, equality, elementwise, products, assignment):
        section()


if __name__ == "__main__":
    main()
