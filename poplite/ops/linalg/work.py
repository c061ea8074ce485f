"""What factorisations have in common: copies to work on, blocks on tiles, and their solution.

a          in halves, until they are blocks           products, which all tiles share

A11 .      solve A11 with the upper half of B         B2 -= A21 B1
A21 A22    solve A22 with the lower half
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import numpy as np

from poplite.errors import TensorCreationError
from poplite.expr.build import cast, iota
from poplite.expr.tree import Expr
from poplite.graph.compute_sets.compute_set import ComputeSet
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.comparisons import equal, less_equal
from poplite.ops.convolution.call import ConvolutionCall
from poplite.ops.matmul.matmul import matmul
from poplite.ops.matmul.plan import estimated_plan
from poplite.ops.operands import Given, called, count_of, described
from poplite.ops.record import assign, map as stored
from poplite.program import Sequence as Steps
from poplite.program.recording import recorder
from poplite.types import FLOAT, INT
from poplite.vertices.linear import CholeskyBlock, SolveColumn


def check_matrices(what: str, x: Given, role: str, *, square: bool = True) -> None:
    """Refuse what has no matrices in its last two dimensions."""
    if x.rank < 2 or (square and x.shape[-1] != x.shape[-2]):
        kind = "square matrices" if square else "matrices"
        raise TensorCreationError(
            f"{what}, {role}: {called(x)} of shape {x.shape} is no {kind}",
            found=described(x),
            fix="of shape (n, n), or (..., n, n)" if square else "of shape (m, n)",
        )


def check_one_matrix(what: str, x: Given) -> None:
    """Refuse several matrices, and what is none."""
    if x.rank != 2:
        raise TensorCreationError(
            f"{what}: {called(x)} is of shape {x.shape}", found=described(x), fix="one matrix"
        )


def triangle(rows: int, columns: int, lower: bool) -> Expr:
    """Return BOOL[rows, columns]: whether an element is in a triangle, or on the diagonal."""
    row, column = iota((rows, 1), INT), iota((1, columns), INT)
    return less_equal(column, row) if lower else less_equal(row, column)


def identity(rows: int, columns: int) -> Expr:
    """Return FLOAT[rows, columns] with 1 on the diagonal."""
    return cast(equal(iota((rows, 1), INT), iota((1, columns), INT)), FLOAT)


class LinalgSteps:
    """The steps of one call.

    Args:
        call: with the checked operands.
        block: rows of the largest block that one worker works on.
    """

    def __init__(self, call: ConvolutionCall, block: object) -> None:
        self.call, self.graph = call, call.graph
        self.block = count_of(call.what, "block", block, 1)
        self._turn = 0

    @property
    def name(self) -> str:
        """Of the call."""
        return self.call.name

    @property
    def program(self) -> Steps | None:
        """Where the steps go."""
        return self.call.program

    def copied(self, x: Given, role: str) -> Tensor:
        """Return a new variable of FLOAT, [groups, rows, columns], with the elements of x."""
        made = self.graph.add_variable(FLOAT, x.shape, f"{self.name}/{role}", mapping="linear")
        stored(cast(x, FLOAT), out=made, name=f"{self.name}/{role}", program=self.program)
        groups = int(np.prod(x.shape[:-2]))
        return made.reshape((groups, *x.shape[-2:]))

    def finished(self, x: Given, like: Given, shape: tuple[int, ...], role: str = "") -> Tensor:
        """Return a new variable of the type of an operand, with the elements of x."""
        name = f"{self.name}/{role}" if role else self.name
        made = self.graph.add_variable(like.element_type, shape, name, mapping="linear")
        stored(
            cast(x, like.element_type),
            out=made.reshape(x.shape),
            name=f"{self.name}/result",
            program=self.program,
        )
        return made

    def half(self, n: int) -> int:
        """Return the rows of the upper half: whole blocks."""
        blocks = -(-n // self.block)
        return self.block * -(-blocks // 2)

    def factor(self, a: Tensor) -> None:
        """Replace the lower triangles of matrices [groups, n, n] by their factors."""
        n = a.shape[1]
        if n <= self.block:
            with self.step("block", a) as step:
                for tile, each in zip(self.tiles(len(a)), a, strict=True):
                    self.graph.add_vertex(step, CholeskyBlock, tile=tile, a=each)
            return
        h = self.half(n)
        upper, lower = a[:, :h, :h], a[:, h:, h:]
        beside = a[:, h:, :h]
        self.factor(upper)
        self.solve(upper, beside.dim_shuffle((0, 2, 1)), lower=True, unit=False)
        self.subtract(lower, beside, beside.dim_shuffle((0, 2, 1)))
        self.factor(lower)

    def solve(self, a: Tensor, x: Tensor, *, lower: bool, unit: bool) -> None:
        """Replace x by the solutions of `a y = x`: [groups, n, n] and [groups, n, columns]."""
        n, columns = x.shape[1:]
        if n <= self.block:
            self._solve_block(a, x, lower, unit)
            return
        h = self.half(n)
        first, second = (x[:, :h], x[:, h:]) if lower else (x[:, h:], x[:, :h])
        one, other = (a[:, :h, :h], a[:, h:, h:])[:: 1 if lower else -1]
        between = a[:, h:, :h] if lower else a[:, :h, h:]
        self.solve(one, first, lower=lower, unit=unit)
        self.subtract(second, between, first)
        self.solve(other, second, lower=lower, unit=unit)

    def subtract(self, x: Tensor, a: Tensor, b: Tensor) -> None:
        """Record `x -= a @ b`."""
        rest = x - self._planned_product(a, b)
        assign(x, rest, name=f"{self.name}/rest", program=self.program)

    def product(self, a: Tensor, b: Tensor, role: str) -> Tensor:
        """Record `a @ b`, and return it."""
        made = self._planned_product(a, b)
        return stored(made, name=f"{self.name}/{role}", program=self.program)

    @contextmanager
    def step(
        self, role: str, *writes: Tensor, reads: Iterable[Tensor] = ()
    ) -> Iterator[ComputeSet]:
        """Record a compute set, which gets its vertices in the block."""
        record = recorder(self.graph, self.call.steps)
        yield record.compute_set(f"{self.name}/{role}")
        record.uses(self.name, [*reads, *writes], writes)
        record.finish(self.call.steps, f"{self.name}/{role}")

    def tiles(self, count: int) -> Iterable[int]:
        """Return tiles for some blocks: in turn, so that no tile gets all of them."""
        first, self._turn = self._turn, self._turn + count
        return (number % self.graph.target.tiles for number in range(first, first + count))

    def _planned_product(self, a: Tensor, b: Tensor) -> Expr:
        """Return `a @ b` with a plan that is made quickly.

        Each step of a factorisation has products of other sizes, and operands that do not lie where
        plans want them: prices of the cost model would take ten times as long, and gain nothing.
        """
        *groups, m, k = a.shape
        sizes = math.prod(groups), m, k, b.shape[-1]
        return matmul(a, b, estimated_plan(self.graph, self.call.what, sizes, FLOAT))

    def _solve_block(self, a: Tensor, x: Tensor, lower: bool, unit: bool) -> None:
        """Solve for each column on a worker of its own, as far as there are workers."""
        groups, _, columns = x.shape
        target = self.graph.target
        with self.step("solve", x, reads=[a]) as step:
            for number in range(groups):
                worker = np.arange(number * columns, (number + 1) * columns)
                self.graph.add_vertices(
                    step,
                    SolveColumn,
                    tile=worker // target.workers % target.tiles,
                    a=[a[number]] * columns,
                    x=x[number].transpose(),
                    lower=lower,
                    unit=unit,
                )
