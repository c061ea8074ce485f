"""Self-test of an SDK: compare its results for random data with the simulator's.

Each row of the first program tests a kind of program step, or a vertex class, with data that
include NaN, infinities, zeros of both signs and the smallest numbers; each row of the second
program tests a part of the library. The authors do not have an IPU: the rows for division, square
roots and the smallest numbers answer questions that docs/ipu.md cannot.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from poplite import ops, vertices
from poplite.errors import PopliteError
from poplite.expr.tree import Expr
from poplite.frozen import frozen
from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import Tensor
from poplite.ipu.codelet_file import declared_fields
from poplite.ipu.device import Device
from poplite.machine.floating_point import FloatingPointBehaviour
from poplite.machine.target import Target
from poplite.ops import linalg, nn, random
from poplite.ops.control import counted_loop
from poplite.program import (
    Call,
    Copy,
    Execute,
    ModifyFloatingPointBehaviour,
    Program,
    Repeat,
    Sequence as InTurn,
    SetStochasticRounding,
)
from poplite.simulator.engine import Engine
from poplite.types import FLOAT, HALF, INT, UNSIGNED_INT, element_type
from poplite.vertex.vertex import Input, MultiVertex, Output, Vector, Vertex
from poplite.vertices.elementwise import Add
from poplite.vertices.random import Draw

Array = npt.NDArray[Any]

ELEMENTS = 240
"""Number of elements in each row."""

SPECIAL = (0.0, 1.0, math.inf, math.nan, 6e-8, 1e-40, 65504.0, 3e38, 1e-45, 16777217.0, 0.1)


class _OfFloats(Vertex):
    """Base class of most rows: two float32 operands and a float32 result."""

    a: Input[Vector[FLOAT]]
    b: Input[Vector[FLOAT]]
    y: Output[Vector[FLOAT]]


class AddMultiply(_OfFloats):
    """`a * b + a`, without contraction."""

    def compute(self) -> None:
        """Write each element."""
        for i in range(len(self.y)):
            self.y[i] = self.a[i] * self.b[i] + self.a[i]


class DivideFloats(_OfFloats):
    """`a / b`."""

    def compute(self) -> None:
        """Write each element."""
        for i in range(len(self.y)):
            self.y[i] = self.a[i] / self.b[i]


class SquareRoot(_OfFloats):
    """The square root of `|a|`."""

    def compute(self) -> None:
        """Write each element."""
        for i in range(len(self.y)):
            self.y[i] = math.sqrt(abs(self.a[i]))


class Smallest(_OfFloats):
    """Products below the smallest normal number."""

    def compute(self) -> None:
        """Write each element."""
        for i in range(len(self.y)):
            self.y[i] = self.a[i] * 1e-38


class Exponential(_OfFloats):
    """`exp(a)`, computed by the exported kernel."""

    def compute(self) -> None:
        """Write each element."""
        for i in range(len(self.y)):
            self.y[i] = math.exp(self.a[i])


class Compare(_OfFloats):
    """A comparison of two numbers: which of them is smaller, if any."""

    def compute(self) -> None:
        """Write each element."""
        for i in range(len(self.y)):
            if self.a[i] < self.b[i]:
                self.y[i] = -1
            elif self.a[i] >= self.b[i]:
                self.y[i] = 1
            else:
                self.y[i] = 0


class StoreHalf(Vertex):
    """float32 stored as HALF, rounded to nearest, with overflow to infinity."""

    a: Input[Vector[FLOAT]]
    b: Input[Vector[FLOAT]]
    y: Output[Vector[HALF]]

    def compute(self) -> None:
        """Write each element."""
        for i in range(len(self.y)):
            self.y[i] = self.a[i]


class IntegerArithmetic(Vertex):
    """Division that rounds down, remainder, and a product that wraps."""

    a: Input[Vector[INT]]
    b: Input[Vector[INT]]
    y: Output[Vector[INT]]

    def compute(self) -> None:
        """Write each element."""
        for i in range(len(self.y)):
            self.y[i] = self.a[i] // self.b[i] * 3 + self.a[i] % self.b[i] * self.a[i]


class StridedByWorker(MultiVertex):
    """All workers of a tile, each of which writes every sixth element."""

    a: Input[Vector[FLOAT]]
    b: Input[Vector[FLOAT]]
    y: Output[Vector[FLOAT]]

    def compute(self, worker: int) -> None:
        """Write the elements of one worker."""
        for i in range(worker, len(self.y), self.num_workers):
            self.y[i] = self.a[i] - self.b[i]


ROWS: Mapping[str, type[Vertex]] = {
    "float32 a * b + a": AddMultiply,
    "float32 a / b": DivideFloats,
    "float32 sqrt": SquareRoot,
    "float32 below the normal numbers": Smallest,
    "float32 exp": Exponential,
    "float32 comparisons": Compare,
    "float32 to HALF": StoreHalf,
    "integers //, %, *": IntegerArithmetic,
    "workers of a MultiVertex": StridedByWorker,
}

COPIES = "copies in a loop, reversed"
HOST_CALL = "a function of the host"

EXTRA = (COPIES, HOST_CALL)
"""Rows that do not test a vertex class."""


Built = tuple[Graph, Program, dict[str, list[Tensor]]]
"""A graph, its program, and the tensors to compare for each row."""


@frozen
class SelftestOutcome:
    """The results of a device for all rows.

    Attributes:
        kind: "model" or "hardware".
        faults: errors of programs that did not run; empty if all ran.
        differ: for each row that ran, the number of elements that differ, and of all elements.
    """

    kind: str
    faults: tuple[str, ...]
    differ: Mapping[str, tuple[int, int]]

    def cell(self, row: str) -> str:
        """Return the table entry for a row."""
        if row not in self.differ:
            return "not run"
        count, of = self.differ[row]
        return f"{count} of {of} differ" if count else "equal"

    @property
    def is_equal(self) -> bool:
        """Whether all rows ran without differences."""
        return not self.faults and not any(count for count, _ in self.differ.values())


def selftest(
    kinds: Sequence[str],
    device_of: Callable[[str], Device],
    parts: Sequence[Callable[[], Built]] | None = None,
) -> list[SelftestOutcome]:
    """Run all rows on devices of the given kinds, and compare with the simulator.

    Args:
        kinds: "model" or "hardware".
        device_of: returns the device of a kind.
        parts: functions that make the programs; by default both programs.
    """
    chosen = (own_program, library_rows) if parts is None else parts
    expected = [_results(part(), None) for part in chosen]
    outcomes = []
    for kind in kinds:
        faults: list[str] = []
        differ: dict[str, tuple[int, int]] = {}
        for part, wanted in zip(chosen, expected, strict=True):
            try:
                found = _results(part(), device_of(kind))
            except PopliteError as error:
                faults.append(str(error))
            else:
                differ |= {row: _different(found[row], wanted[row]) for row in wanted}
        outcomes.append(SelftestOutcome(kind, tuple(faults), differ))
    return outcomes


def selftest_text(outcomes: Sequence[SelftestOutcome]) -> str:
    """Return outcomes as a table, followed by the errors.

    >>> print(selftest_text([SelftestOutcome("model", (), dict.fromkeys(ROWS, (0, 240)))]))
    | row | model |
    | --- | --- |
    | float32 a * b + a | equal |
    ...
    """
    lines = [("row", *(each.kind for each in outcomes)), ("---",) * (1 + len(outcomes))]
    lines += [(row, *(each.cell(row) for each in outcomes)) for row in (*ROWS, *EXTRA, *LIBRARY)]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    faults = [f"{each.kind}: {fault}" for each in outcomes for fault in each.faults]
    return "\n\n".join([table, *faults])


def _results(built: Built, device: Device | None) -> dict[str, list[Array]]:
    """Return the results of each row on a device, or on the simulator."""
    graph, program, outputs = built
    if device is None:
        options = {"debug.instrument": False}
        engine = Engine(graph, program, interpret=True, checks="none", options=options)
    else:
        engine = Engine(graph, program, device=device)
    if HOST_CALL in outputs:
        engine.connect_host_function("reverse", _reverse)
    engine.run()
    return {row: [engine.read(each) for each in tensors] for row, tensors in outputs.items()}


def library_rows() -> Built:
    """Return the program of the library's vertices."""
    graph, outputs = Graph(Target(tiles=TILES)), dict[str, list[Tensor]]()
    with graph.steps("library") as program:
        for number, (row, build) in enumerate(LIBRARY.items()):
            made = build(Inputs(graph, program, number))
            outputs[row] = [graph.clone(each, name=row) for each in made]
            for one, kept in zip(made, outputs[row], strict=True):  # some are temporaries
                program.add(Copy(one, kept))
    return graph, program, outputs


def own_program() -> Built:
    """Return the program of this module's vertex classes, with copies and a host call."""
    graph = Graph(Target(tiles=len(ROWS)))
    work = graph.add_compute_set("rows")
    outputs: dict[str, list[Tensor]] = {}
    for tile, (row, cls) in enumerate(ROWS.items()):
        rng = np.random.default_rng(tile)
        fields = {field.name: field for field in declared_fields(cls)}
        tensors = {}
        for name, field in fields.items():
            tensors[name] = graph.add_variable(
                field.element,
                (ELEMENTS,),
                f"{cls.__name__}.{name}",
                mapping=tile,
                initial_value=None if name == "y" else _drawn(field.element.dtype, rng),
            )
        graph.add_vertex(work, cls, tile=tile, **tensors)
        outputs[row] = [tensors["y"]]
    (first,) = next(iter(outputs.values()))
    moved = graph.add_variable(first.element_type, (ELEMENTS,), "moved", mapping="linear")
    turn = InTurn(Copy(first.reverse(0), moved), Copy(moved, first))
    reverse = graph.add_host_function("reverse", [(FLOAT, ELEMENTS)], [(FLOAT, ELEMENTS)])
    reversed_ = graph.clone(moved, name="reversed")
    outputs |= {COPIES: [moved], HOST_CALL: [reversed_]}
    call = Call(reverse, [moved], [reversed_])
    # These are the initial modes anyway; the table shows that a device supports the calls.
    modes = InTurn(
        ModifyFloatingPointBehaviour(clear=_behaviour(esr=True), set=_behaviour()),
        SetStochasticRounding(False),
    )
    return graph, InTurn(modes, Execute(work), Repeat(3, turn), call), outputs


def _behaviour(*, esr: bool = False) -> FloatingPointBehaviour:
    return FloatingPointBehaviour(inv=False, div0=False, oflo=False, esr=esr, nanoo=False)


def _reverse(inputs: Any, outputs: Any) -> None:
    outputs[0][:] = inputs[0][::-1]


def _drawn(dtype: Any, rng: np.random.Generator) -> Array:
    """Return numbers of ordinary magnitude, mixed with special numbers."""
    if dtype.kind == "i":
        ends = np.iinfo(dtype)
        usual = rng.integers(-1000, 1000, ELEMENTS).astype(dtype)
        special = rng.choice(np.array([ends.min, ends.max, 0, 1, -1], dtype), ELEMENTS)
    else:
        sizes = 10.0 ** rng.integers(-6, 7, ELEMENTS)
        usual = (rng.standard_normal(ELEMENTS) * sizes).astype(dtype)
        signs = rng.choice([-1.0, 1.0], ELEMENTS)
        special = (rng.choice(SPECIAL, ELEMENTS) * signs).astype(dtype)
    chosen: Array = np.where(rng.random(ELEMENTS) < 0.3, special, usual)
    return chosen


def _different(got: Sequence[Array], want: Sequence[Array]) -> tuple[int, int]:
    """Return the number of elements that differ in any bit, and of all; NaNs count as equal."""
    count = 0
    for found, wanted in zip(got, want, strict=True):
        bits = f"u{found.dtype.itemsize}"
        same = found.view(bits) == wanted.view(bits)
        if found.dtype.kind == "f":
            same |= np.isnan(found) & np.isnan(wanted)
        count += int((~same).sum())
    return count, sum(each.size for each in want)


# -- the library -----------------------------------------------------------------------------------
# Each row of the second program is made by one function below; together they use every class of
# the library::
#
#     reduce add      SumRows, SumColumns, SumColumnsOfTile
#
# A function adds tensors and steps to a graph, and returns the tensors that it writes.


TILES = 12
"""Number of tiles of the graph."""

SPECIAL_FLOATS = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, 3e38, 16777217.0], np.float32)


class Inputs:
    """Tensors of random numbers, on all tiles of a graph."""

    def __init__(self, graph: Graph, program: InTurn, seed: int) -> None:
        self.graph, self.program = graph, program
        self._random = np.random.default_rng(seed)

    def tensor(self, values: Array, mapping: Any = "linear") -> Tensor:
        """Return a tensor with initial values."""
        return self.graph.add_variable(
            element_type(values.dtype), values.shape, "x", mapping=mapping, initial_value=values
        )

    def usual(self, *shape: int, dtype: str = "float32") -> Tensor:
        """Return numbers of magnitude about 1, of both signs."""
        return self.tensor(self._random.standard_normal(shape).astype(dtype))

    def special(self, *shape: int) -> Tensor:
        """Return the numbers of `usual`, mixed with infinities, NaN, zeros and tiny numbers."""
        values = self._random.standard_normal(shape).astype(np.float32)
        chosen = self._random.random(shape) < 0.2
        values[chosen] = self._random.choice(SPECIAL_FLOATS, int(chosen.sum()))
        return self.tensor(values)

    def indices(self, count: int, end: int) -> Tensor:
        """Return integers from 0 up to, but not including, `end`."""
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


def _random_numbers(x: Inputs) -> list[Tensor]:
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
    cumulative = ops.cumulative_sum, ops.cumulative_product, ops.cumulative_max
    return [each(x.usual(200)) for each in cumulative]


def _binned(x: Inputs) -> list[Tensor]:
    numbers, indices = x.usual(200), x.indices(200, 30)
    counts = ops.bincount(indices, 30), ops.bincount(indices, 30, numbers)
    return [*counts, ops.histogram(numbers, 12, (-2, 2))]


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
"""The classes that no operation uses."""


def _one_by_one(x: Inputs) -> list[Tensor]:
    """Add a vertex of each class in `_ONE_BY_ONE`, with operands for its fields."""
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
    "random numbers": _random_numbers,
    "sort, top_k, take, unique": _ordered,
    "running sums, products and maxima": _scanned,
    "bins": _binned,
    "multi_slice": _sliced,
    "multi_update": partial(_updated, ops.multi_update),
    "multi_update_add": partial(_updated, ops.multi_update_add),
    "multi_update_max": partial(_updated, ops.multi_update_max),
    "multi_update_mul": partial(_updated, ops.multi_update_mul),
    "counted loop": _looped,
    "elements, written and generated": _elements,
    "classes that no operation uses": _one_by_one,
}
"""The function that makes the program, for each row of the table."""
