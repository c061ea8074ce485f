"""The L2 of two tensors by named axes: nothing of their size is stored besides them.

    python examples/named_l2.py [--length 1000000] [--tiles 64]

Seeds 000 and 003 of nGraph's documentation ask for it: `x - y` is computed where it is read. Both
forms are written here, the sum of squares and the dot of a difference with itself.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

import numpy as np

import poplite as pl
import poplite.named as ng
from poplite.tools.script import one_line_errors

if TYPE_CHECKING:
    from collections.abc import Sequence


def forms(x: ng.Op, y: ng.Op) -> dict[str, ng.Op]:
    """Return the two forms of the squared distance of x and y."""
    difference = x - y
    return {
        "sum((x - y) ** 2)": ng.sum((x - y) ** 2, reduction_axes=x.axes),
        "dot(x - y, x - y)": ng.dot(difference, difference),
    }


def build(length: int = 1_000_000, tiles: int = 64) -> tuple[pl.Graph, pl.Program]:
    """Return the graph of the sum of squares and its program, for poplite-viz."""
    H = ng.make_axis(length, "H")
    x, y = ng.placeholder([H], name="x"), ng.placeholder([H], name="y")
    distance, _ = forms(x, y).values()
    work = ng.make_transformer(tiles=tiles).computation(distance, x, y)
    return work.graph, work.program


@one_line_errors
def main(argv: Sequence[str] | None = None) -> int:
    """Compute both forms; the exit code is 1 where one is wrong, or stores too much."""
    parser = argparse.ArgumentParser(description="The L2 of two tensors, with its memory.")
    parser.add_argument("--length", type=int, default=1_000_000, metavar="N")
    parser.add_argument("--tiles", type=int, default=64, metavar="N")
    options = parser.parse_args(argv)
    H = ng.make_axis(options.length, "H")
    random = np.random.default_rng(0)
    values = random.standard_normal((2, options.length)).astype(np.float32)
    expected = float(((values[0] - values[1]).astype(float) ** 2).sum())
    is_right = True
    for name in ("sum((x - y) ** 2)", "dot(x - y, x - y)"):
        x, y = ng.placeholder([H], name="x"), ng.placeholder([H], name="y")
        with ng.make_transformer(tiles=options.tiles) as device:
            distance = device.computation(forms(x, y)[name], x, y)
            found = float(distance(*values))
            sizes = [
                each.num_elements * each.element_type.size_bytes for each in device.graph.variables
            ]
            beside = sum(sizes) - 2 * 4 * options.length
        is_near = abs(found - expected) <= 1e-5 * expected
        is_small = beside <= 0.002 * 8 * options.length or beside < 4096
        is_right = is_right and is_near and is_small
        print(f"{name} = {found:.1f}{'' if is_near else ' WRONG'}")
        print(f"  beside x and y, of {8 * options.length:,} bytes: {beside:,} bytes")
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
