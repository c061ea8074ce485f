"""Operations over tensors: they make what they need, and append their steps to a program.

    program = pl.Sequence()
    total = pl.ops.reduce(graph, x, [0], "add", program)

Tensors may have any shape and lie on any tiles.
"""

from poplite.ops.reduce import reduce

__all__ = ["reduce"]
