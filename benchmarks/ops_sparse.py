"""A sparse matrix times a dense one on tiles against SciPy: ratio.

    python benchmarks/ops_sparse.py [--samples 9] [--json FILE] [--small]

1 % of 4096 x 4096 elements are not zero; the dense matrix has 64 columns, in float32. SciPy, a
dependency of scikit-learn, multiplies compressed rows in one thread; both sides have equal bits.
"""

from __future__ import annotations

import importlib.util
import sys

import numpy as np

import poplite as pl
from ops_maps import least, target
from poplite import ops
from rows import SETTLING, Row, check, in_turn, run


def rows(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    size, columns = (64, 64) if small else (4096, 64)
    name = f"1 % of {size} x {size} times {columns} columns: poplite / SciPy"
    if importlib.util.find_spec("scipy") is None:
        return [Row.skipped(name)]
    from scipy import sparse

    rng = np.random.default_rng(1)
    matrix = sparse.random_array(
        (size, size), density=0.01, format="csr", dtype=np.float32, rng=rng
    )
    dense = rng.standard_normal((size, columns)).astype(np.float32)
    graph = pl.Graph(target(small))
    pattern = ops.SparsePattern.of(matrix)
    values = ops.plan_sparse_matmul(graph, pattern, columns).create_values("values")
    x = graph.add_variable(pl.FLOAT, dense.shape, "x", mapping="linear")
    with graph.steps() as step:
        y = ops.sparse_matmul(pattern, values, x)
    engine = pl.Engine(graph, step, checks="fast")
    engine.write(values, matrix.data)
    engine.write(x, dense)
    engine.run()
    check("sparse matmul", engine.read(y), matrix @ dense)
    warm_up = 0.0 if small else SETTLING
    ours, theirs = in_turn(engine.run, lambda: matrix @ dense, samples, warm_up=warm_up)
    return [Row(name, least(ours, theirs), "x", "<=", 1.5, ours, theirs)]


if __name__ == "__main__":
    sys.exit(run(__doc__.splitlines()[0], rows))
