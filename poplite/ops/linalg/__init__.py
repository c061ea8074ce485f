"""Linear algebra: `poplite.ops.linalg`, recorded steps on matrices of FLOAT or HALF.

    factor = ops.linalg.cholesky(a)
    x = ops.linalg.triangular_solve(factor, b)
    q, r = ops.linalg.qr(a)

Matrices are cut into blocks: one worker factors or solves a block, and products of matrices, which
all tiles share, do the rest. All is computed in FLOAT, and HALF is rounded once, at the end.
"""

from typing import TYPE_CHECKING

from poplite.expr.numpy_names import add_numpy_names as _add_numpy_names
from poplite.ops.linalg.factorisations import (
    cholesky as cholesky,
    lu as lu,
    triangular_mask as triangular_mask,
    triangular_solve as triangular_solve,
)
from poplite.ops.linalg.qr import inverse as inverse, qr as qr
from poplite.public import names_of

__all__ = names_of(globals())
if not TYPE_CHECKING:  # for which an unknown name is an error
    __getattr__ = _add_numpy_names("ops.linalg", globals())


def __dir__() -> list[str]:
    return __all__
