"""Several reductions whose stages share compute sets.

    low, high = ops.reduce_many([("min", x, 0), ("max", x, 0)])

    compute set 1      what each tile holds of x, for the least and for the greatest
    compute set 2      what the workers of a tile came to, for both; and so on

Source: PopLibs, `popops::reduceMany`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from poplite.errors import ElementTypeError, TensorCreationError
from poplite.expr.formula import operation_name
from poplite.expr.operand import Operand
from poplite.expr.tree import Expr, Reduction
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.control import together
from poplite.ops.record import map
from poplite.ops.reduce_by_name import reduce
from poplite.ops.reductions import Dims
from poplite.program import Sequence as Steps
from poplite.program.recording import RecordedSteps as Block, Together, graph_for, innermost, target
from poplite.text import amount, clipped, of_type

_USAGE = "ops.reduce_many(reductions)"
_FORMS = '("add", x, 0), or an expression such as ops.sum(x, 0)'


def reduce_many(
    reductions: Sequence[tuple[str, Operand, Dims] | Expr],
    outputs: Sequence[Tensor] = (),
    *,
    mapping: Any = None,
    name: str = "reduce_many",
    program: Steps | None = None,
) -> list[Tensor]:
    """Record reductions that do not depend on each other, stage by stage in the same compute sets.

    One synchronisation serves a stage of all of them; by themselves each would have its own.

    Args:
        reductions: `(operation, x, dims)`, as `ops.reduce` takes them, or expressions with a
            reduction in them.
        outputs: a tensor for each result; none makes new variables.
        mapping: of each new variable, as in `graph.add_variable`; left out, results are where
            reductions put them.
        name: of the steps; the results have names that begin with it.
        program: where the steps go; left out, the block of `graph.steps()` that is open.

    Returns:
        A tensor for each reduction: its output, or the new variable.

    Raises:
        TensorCreationError: for another number of outputs, a mapping beside outputs, and as
            `ops.reduce` and `ops.map`.
        ElementTypeError: for what is no reduction, and as `ops.reduce`.
        GraphCycleError: for an output that another of the reductions reads or writes.
        ControlProgramError: without `program=` outside of all steps.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    >>> x = graph.add_variable(pl.INT, (5,), "x", mapping="linear", initial_value=[4, 8, 1, 9, 3])
    >>> low, high = reduce_many([("min", x, 0), ("max", x, 0)], program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> int(engine.read(low)), int(engine.read(high))
    (1, 9)
    """
    for role, given in (("reductions", reductions), ("outputs", outputs)):
        if not isinstance(given, Sequence):
            raise ElementTypeError(
                f"{_USAGE}: {role} is {clipped(given)}, not a list",
                found=of_type(given),
                fix='ops.reduce_many([("min", x, 0), ("max", x, 0)])',
            )
    exprs = [_expr(each, number) for number, each in enumerate(reductions)]
    if len(outputs) not in (0, len(exprs)):
        raise TensorCreationError(
            f"{_USAGE}: {amount(len(outputs), 'output')} for {amount(len(exprs), 'reduction')}",
            fix="an output for each, or none",
        )
    if mapping is not None and outputs:
        raise TensorCreationError(
            f"{_USAGE}: a mapping beside outputs, which have their own",
            found=f"mapping={clipped(mapping)}",
            fix="graph.set_tile_mapping(output, mapping), or no outputs",
        )
    if not exprs:
        return []
    leaves = [leaf for each in exprs for leaf in each.leaves if isinstance(leaf, Tensor)]
    graph = leaves[0].graph if leaves else innermost(_USAGE).graph
    graph = graph_for(graph, leaves, program, is_placed=mapping is not None)

    def recorded() -> list[Tensor]:
        outs: Sequence[Tensor | None] = outputs or (None,) * len(exprs)
        return [
            map(expr, out=out, mapping=mapping, name=f"{name}/{operation_name(expr)}")
            for expr, out in zip(exprs, outs, strict=True)
        ]

    steps = target(graph, program, _USAGE)
    if isinstance(steps, Together):
        return recorded()
    block = Block(graph, name)
    with block, together():
        made = recorded()
    steps.add(block)
    return made


def _expr(entry: tuple[str, Operand, Dims] | Expr, number: int) -> Expr:
    """Return an entry as an expression with a reduction."""
    if isinstance(entry, tuple) and len(entry) == 3:
        op, x, dims = entry
        return reduce(x, dims, op)
    if isinstance(entry, Expr) and _has_reduction(entry):
        return entry
    raise ElementTypeError(
        f"{_USAGE}: entry {number} is no reduction",
        found=repr(entry) if isinstance(entry, Expr) else of_type(entry),
        fix=_FORMS,
    )


def _has_reduction(expr: Expr) -> bool:
    seen, waiting = {expr}, [expr]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Reduction):
            return True
        new = [each for each in node.operands if each not in seen]
        seen.update(new)
        waiting += new
    return False
