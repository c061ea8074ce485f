"""Several reductions at once: they share compute sets, and so synchronisations.

low, high = ops.reduce_many([("min", x, 0), ("max", x, 0)])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from poplite.errors import ElementTypeError, TensorCreationError
from poplite.expr.operand import Operand
from poplite.expr.tree import Expr
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.control import together
from poplite.ops.record import map as map_
from poplite.ops.reductions import reduce
from poplite.program import Sequence as Steps
from poplite.program.sequence import check_appended
from poplite.source import here
from poplite.text import clipped, of_type

Entry = Expr | tuple[str, Operand, Any]


def reduce_many(
    reductions: Sequence[Entry],
    *,
    outputs: Sequence[Tensor] | None = None,
    name: str = "reduce",
    program: Steps | None = None,
) -> list[Tensor]:
    """Record several reductions that do not depend on each other.

    The first stages of all of them are one compute set, the second ones another one, and so on: one
    synchronisation serves all.

    Args:
        reductions: expressions, such as `ops.sum(x, 0)`, or tuples of what `ops.reduce` takes:
            `("add", x, dims)`.
        outputs: a tensor for each of them; left out, new ones.
        name: of the results, with their number behind it, and of the steps.
        program: where the steps go; left out, the block of `graph.steps()` that is open.

    Returns:
        The results, in this order.

    Raises:
        ElementTypeError: for an entry that is neither.
        TensorCreationError: for another number of outputs.
        GraphCycleError: where one reads or writes what another one writes.
        and the errors of `ops.reduce` and `ops.map`.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    >>> x = graph.add_variable(pl.INT, (3, 2), "x", mapping="linear", initial_value=range(6))
    >>> low, high = reduce_many([("min", x, 0), ("max", x, 0)], program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(low), engine.read(high)
    (array([0, 1], dtype=int32), array([4, 5], dtype=int32))
    """
    exprs = [_expression(each) for each in reductions]
    if outputs is not None and len(outputs) != len(exprs):
        raise TensorCreationError(
            f"ops.reduce_many: {len(outputs)} outputs for {len(exprs)} reductions",
            at=here(),
            fix="an output for each, or none at all",
        )
    wanted: list[Tensor | None] = [None] * len(exprs) if outputs is None else [*outputs]

    def record() -> list[Tensor]:
        with together():
            return [
                map_(expr, out=out, name=f"{name}{number}")
                for number, (expr, out) in enumerate(zip(exprs, wanted, strict=True))
            ]

    if program is None or not exprs:
        return record() if exprs else []
    leaves = (leaf for expr in exprs for leaf in expr.leaves)
    graph = next(leaf.graph for leaf in leaves if isinstance(leaf, Tensor))
    check_appended("ops.reduce_many(reductions, program=program)", graph, program)
    with graph.steps(name) as block:
        made = record()
    program.add(block)
    return made


def _expression(entry: object) -> Expr:
    if isinstance(entry, Expr):
        return entry
    if isinstance(entry, tuple) and len(entry) == 3:
        op, x, dims = entry
        return reduce(x, dims, op)
    raise ElementTypeError(
        f"ops.reduce_many: {clipped(entry)} is no reduction",
        at=here(),
        found=of_type(entry),
        fix='("add", x, dims), or ops.sum(x, dims)',
    )
