"""Operations over tensors: they make what they need, and append their steps to a program.

    program = pl.Sequence()
    total = pl.ops.reduce(graph, x, [0], "add", program)

Tensors may have any shape and lie on any tiles.
"""

from poplite.ops.matmul import create_matmul_input_lhs, create_matmul_input_rhs, matmul
from poplite.ops.matmul_grid import MatMulPlan
from poplite.ops.matmul_plan import plan_matmul
from poplite.ops.reduce import reduce

__all__ = [
    "MatMulPlan",
    "create_matmul_input_lhs",
    "create_matmul_input_rhs",
    "matmul",
    "plan_matmul",
    "reduce",
]
