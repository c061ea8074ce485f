"""Linear algebra: `poplite.ops.linalg`, recorded steps on matrices of FLOAT or HALF.

    factor = ops.linalg.cholesky(a)
    x = ops.linalg.triangular_solve(factor, b)
    q, r = ops.linalg.qr(a)

Matrices are cut into blocks: one worker factors or solves a block, and products of matrices, which
all tiles share, do the rest. Everything is computed in FLOAT, and HALF is rounded once, at the end.
"""

from typing import TYPE_CHECKING

from poplite.expr.numpy_names import operations_on_use as _operations_on_use

if TYPE_CHECKING:
    from poplite.ops.factorisations import (
        cholesky as cholesky,
        inverse as inverse,
        lu as lu,
        qr as qr,
        triangular_mask as triangular_mask,
        triangular_solve as triangular_solve,
    )

__all__, __getattr__, __dir__ = _operations_on_use("ops.linalg")
