"""The L2 of two tensors by named axes: nothing of their size is stored besides them.

`x - y` is computed where it is read, in the sum of squares and in the dot of a difference with
itself, as nGraph's documentation asks for.
"""

import numpy as np

import poplite as pl
import poplite.named as ng


def computation(form: str, length: int, tiles: int) -> ng.Computation:
    H = ng.make_axis(length, "H")
    x, y = ng.placeholder([H], name="x"), ng.placeholder([H], name="y")
    difference = x - y
    if form == "sum":
        distance = ng.sum(difference**2, reduction_axes=x.axes)
    else:
        distance = ng.dot(difference, difference)
    return ng.make_transformer(tiles=tiles).computation(distance, x, y)


def build(length: int = 1_000_000, tiles: int = 64) -> tuple[pl.Graph, pl.Program]:
    work = computation("sum", length, tiles)
    return work.graph, work.program


def main(length: int = 1_000_000, tiles: int = 64) -> None:
    x, y = np.random.default_rng(0).standard_normal((2, length)).astype(np.float32)
    for form in ("sum", "dot"):
        work = computation(form, length, tiles)
        distance = float(work(x, y))
        sizes = [v.num_elements * v.element_type.size_bytes for v in work.graph.variables]
        extra = sum(sizes) - x.nbytes - y.nbytes
        print(f"{form}: {distance:.1f}, {extra:,} bytes besides the {2 * x.nbytes:,} of x and y")
        np.testing.assert_allclose(distance, ((x - y).astype(float) ** 2).sum(), rtol=1e-5)
        assert extra <= 4096


if __name__ == "__main__":
    main()
