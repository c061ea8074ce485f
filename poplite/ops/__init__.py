"""Operations over tensors: they make what they need, and append their steps to a program.

    program = pl.Sequence()
    total = pl.ops.reduce(graph, x, [0], "add", program)

Tensors may have any shape and lie on any tiles.
"""

from poplite.ops.elementwise import add
from poplite.ops.matmul.grid import MatMulPlan
from poplite.ops.matmul.matmul import create_matmul_input_lhs, create_matmul_input_rhs, matmul
from poplite.ops.matmul.plan import plan_matmul
from poplite.ops.reduce.reduce import reduce

__all__ = [
    "MatMulPlan",
    "add",
    "create_matmul_input_lhs",
    "create_matmul_input_rhs",
    "matmul",
    "plan_matmul",
    "reduce",
]
