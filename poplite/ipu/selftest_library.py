"""Small programs that together use every vertex class of the library: rows of the selftest.

    reduce add      SumRows, SumColumns, SumColumnsOfTile

Each adds its tensors and steps to a graph, and returns the tensors that it writes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from poplite import ops, vertices
from poplite.expr.tree import Expr
from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import Tensor
from poplite.ops import linalg, nn, random
from poplite.ops.control import counted_loop
from poplite.program import Copy, Execute, Sequence
from poplite.types import FLOAT, HALF, UNSIGNED_INT, element_type
from poplite.vertices.elementwise import Add
from poplite.vertices.random import Draw

Array = npt.NDArray[Any]

TILES = 12
"""Tiles of the graph."""

SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, 3e38, 16777217.0], np.float32)


class Inputs:
    """Tensors of drawn numbers, on all tiles of a graph."""

    def __init__(self, graph: Graph, program: Sequence, seed: int) -> None:
        self.graph, self.program = graph, program
        self._random = np.random.default_rng(seed)

    def tensor(self, values: Array, mapping: Any = "linear") -> Tensor:
        """Return a tensor that holds values at first."""
        return self.graph.add_variable(
            element_type(values.dtype), values.shape, "x", mapping=mapping, initial_value=values
        )

    def usual(self, *shape: int, dtype: str = "float32") -> Tensor:
        """Return numbers about 1, of both signs."""
        return self.tensor(self._random.standard_normal(shape).astype(dtype))

    def special(self, *shape: int) -> Tensor:
        """Return such numbers, with infinities, NaN, zeros and the smallest among them."""
        values = self._random.standard_normal(shape).astype(np.float32)
        chosen = self._random.random(shape) < 0.2
        values[chosen] = self._random.choice(SPECIAL, int(chosen.sum()))
        return self.tensor(values)

    def indices(self, count: int, end: int) -> Tensor:
        """Return whole numbers from 0 to before an end."""
        return self.tensor(self._random.integers(0, end, count).astype(np.uint32))


Build = Callable[[Inputs], list[Tensor]]


def _reduced(how: str, x: Inputs) -> list[Tensor]:
    source = x.special if how in ("min", "max") else x.usual
    tensors = source(24, 40), source(50, 60), source(7, 400)
    dims = [1], [0], [0]
    return [ops.map(ops.reduce(each, dim, how)) for each, dim in zip(tensors, dims, strict=True)]


def _positions(x: Inputs) -> list[Tensor]:
    return [ops.map(f(x.special(7, 400), 1)) for f in (ops.argmax, ops.argmin)]


def _logical(x: Inputs) -> list[Tensor]:
    made = []
    for shape in ((24, 40), (50, 60), (7, 400)):
        positive = ops.map(x.usual(*shape) > 1)
        made += [ops.map(f(positive, [d])) for f in (ops.all, ops.any) for d in range(2)]
    return made


def _products(x: Inputs) -> list[Tensor]:
    half = partial(x.usual, dtype="float16")
    return [
        ops.map(ops.matmul(x.usual(20, 64), x.usual(64, 24))),
        ops.map(ops.matmul(half(20, 64), half(64, 24))),
        ops.map(ops.matmul(half(20, 64), half(64, 24), partials=HALF)),
    ]


def _factors(x: Inputs) -> list[Tensor]:
    rows = x.usual(12, 12)
    positive = ops.map(ops.matmul(rows, rows.T) + 12 * ops.cast(ops.equal(*_grid(12)), FLOAT))
    lower = linalg.cholesky(positive, block=4)
    solved = linalg.triangular_solve(lower, x.usual(12, 5), block=4)
    return [lower, solved, *linalg.lu(positive, block=4), *linalg.qr(x.usual(12, 6), block=4)]


def _grid(size: int) -> tuple[Expr, Expr]:
    """The number of each row, and of each column."""
    return ops.iota((size, 1)), ops.iota((1, size))


def _sparse(x: Inputs) -> list[Tensor]:
    starts, columns = [0, 2, 2, 5, 6], [1, 3, 0, 2, 4, 5]
    pattern = ops.SparsePattern((4, 6), starts, columns)
    values, dense, gradient = x.usual(6), x.usual(6, 8), x.usual(4, 8)
    return [
        ops.sparse_matmul(pattern, values, dense),
        ops.sparse_matmul(pattern, values, gradient, transpose=True),
        ops.sparse_matmul_gradient(pattern, gradient, dense),
    ]


def _pooled(x: Inputs) -> list[Tensor]:
    image = x.usual(1, 4, 8, 8)
    pooled = nn.max_pool(image, 3, stride=2)
    gradient = nn.max_pool_gradient(x.usual(1, 4, 3, 3), image, pooled, 3, stride=2)
    return [pooled, nn.sum_pool(image, 3, stride=2), gradient]


def _drawn(x: Inputs) -> list[Tensor]:
    key = random.key(x.graph, 7)
    bits = x.graph.add_variable(UNSIGNED_INT, (30,), "bits", mapping=3)
    draws = x.graph.add_compute_set("bits")
    x.graph.add_vertex(draws, Draw[UNSIGNED_INT], tile=3, counter=key, first=5, out=bits)
    x.program.add(Execute(draws))
    return [
        bits,
        random.uniform(key, (60,)),
        random.integers(key, (60,), -5, 9),
        random.bernoulli(key, (60,)),
        random.normal(key, (60,)),
        random.truncated_normal(key, (60,)),
        random.dropout(key, x.usual(60), 0.5).out,
    ]


def _ordered(x: Inputs) -> list[Tensor]:
    keys, top = x.special(200), ops.top_k(x.special(4, 100), 3)
    return [
        ops.sort(keys),
        ops.argsort(keys, descending=True),
        ops.sort_key_value(x.special(4, 30), x.usual(4, 30))[1],
        *top,
        ops.take_along_axis(x.usual(4, 20), ops.map(ops.iota((4, 9)) % 20)),
        ops.unique_sorted(ops.map(ops.cast(x.usual(90) * 3, "int32"))).values,
    ]


def _scanned(x: Inputs) -> list[Tensor]:
    return [ops.cumulative_sum(x.usual(200)), ops.cumulative_product(x.usual(200))]


def _sliced(x: Inputs) -> list[Tensor]:
    return [ops.multi_slice(x.special(60, 8), x.indices(24, 60))]


def _updated(update: Callable[..., Tensor], x: Inputs) -> list[Tensor]:
    few, many = x.usual(60, 8), x.usual(200, 4)
    update(few, x.usual(24, 8), x.indices(24, 60))
    update(many, x.usual(900, 4), x.indices(900, 200))
    return [few, many]


def _looped(x: Inputs) -> list[Tensor]:
    end, seen = x.indices(1, 20), x.indices(1, 9)
    x.program.add(counted_loop(x.graph, 2, end, 3, lambda i: Copy(i, seen[0])))
    return [seen]


def _elements(x: Inputs) -> list[Tensor]:
    a, b = x.special(60), x.special(60)
    out = x.graph.clone(a, name="out")
    adds = x.graph.add_compute_set("add")
    rows = {name: t.reshape((TILES, 5)) for name, t in (("a", a), ("b", b), ("out", out))}
    x.graph.add_vertices(adds, Add[FLOAT], tile=np.arange(TILES), **rows)
    x.program.add(Execute(adds))
    return [out, ops.map(ops.tanh(a) * ops.exp(b) + ops.sqrt(abs(a)) / (1 + b * b))]


_ONE_BY_ONE = """Dot Negative Absolute Square Sqrt Exp Log Tanh Sigmoid Relu Subtract Multiply
Divide Maximum Minimum Scale ScaledAdd Clamp Select Fill Iota Copy Cast CastToInteger Sort
ArgSort"""
"""Classes that no operation uses."""


def _one_by_one(x: Inputs) -> list[Tensor]:
    """Make a vertex of each class, of operands that its fields name."""
    steps, written = x.graph.add_compute_set("one by one"), []
    for number, name in enumerate(_ONE_BY_ONE.split()):
        cls = getattr(vertices, name)
        made = {"CastToInteger": "int32", "ArgSort": "uint32"}.get(name, "float32")
        count = () if name == "Dot" else (20,)
        operands: dict[str, Any] = {
            **dict.fromkeys(("factor", "low", "high"), x.usual()),
            **dict.fromkeys(("value", "start"), number),
            "condition": x.tensor(np.arange(20) % 3 == 0),
            "out": x.tensor(np.zeros(count, made)),
        }
        used = {
            field: operands.get(field, x.usual(20))
            for field in cls.fields
            if field != "num_workers"
        }
        x.graph.add_vertex(steps, cls, tile=number % TILES, **used)
        written.append(next(used[field] for field in ("out", "y", "x") if field in used))
    x.program.add(Execute(steps))
    return written


def _filled(x: Inputs) -> list[Tensor]:
    columns, counted = x.usual(24, 10), x.usual(24, 10)
    ops.fill(columns[:, 2:5], 0.5)
    ops.assign(counted[:, 1:4], ops.iota((24, 3), FLOAT, start=7))
    return [columns, counted]


LIBRARY: Mapping[str, Build] = {
    **{f"reduce {how}": partial(_reduced, how) for how in ("add", "mul", "min", "max")},
    "argmax, argmin": _positions,
    "all, any": _logical,
    "fill, iota": _filled,
    "matmul, FLOAT and HALF": _products,
    "convolution": lambda x: [ops.map(ops.convolution(x.usual(1, 4, 8, 8), x.usual(8, 4, 3, 3)))],
    "factors and solutions of matrices": _factors,
    "sparse matmul": _sparse,
    "pooling": _pooled,
    "random numbers": _drawn,
    "sort, top_k, take, unique": _ordered,
    "running sums and products": _scanned,
    "multi_slice": _sliced,
    "multi_update": partial(_updated, ops.multi_update),
    "multi_update_add": partial(_updated, ops.multi_update_add),
    "multi_update_max": partial(_updated, ops.multi_update_max),
    "multi_update_mul": partial(_updated, ops.multi_update_mul),
    "counted loop": _looped,
    "elements, written and generated": _elements,
    "classes that no operation uses": _one_by_one,
}
"""By row of the table, what makes its program."""
