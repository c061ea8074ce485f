"""Check random integer expressions: `python -m poplite.testing.fuzz_integers`.

A graph has a few tensors of one shape, of integer types and BOOL, with values near 0 or near the
ends of their ranges. Random expressions on them are computed in several ways::

    fused         ops.map(expression), interpreted; for every tenth graph also compiled
    one by one    ops.map of every operation, whose operands are stored
    in Python     arbitrary-precision integers, wrapped to the type

The first difference ends the run with a report: the expression, its operands, and all results.
"""

from __future__ import annotations

import argparse
import functools
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import count, repeat
from operator import attrgetter
from random import Random
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from poplite import ops
from poplite.expr.operations import OPERATIONS
from poplite.graph import Graph
from poplite.graph.tensor.tensor import Tensor
from poplite.machine.target import Target
from poplite.simulator.engine import Engine
from poplite.types import BOOL, CHAR, FLOAT, INTEGERS, UNSIGNED_LONGLONG, ElementType
from poplite.walks import bottom_up

Values = npt.NDArray[np.object_]
"""Python integers or bools."""

TYPES: tuple[Any, ...] = (*INTEGERS, BOOL)

ALONG: dict[str, Callable[[Any], Any]] = {
    "cumulative_sum": lambda values: np.cumsum(values, -1),
    "cumulative_product": lambda values: np.cumprod(values, -1),
    "sort": lambda values: np.sort(values, -1),
}
"""Operations along the last dimension; their operand is stored before they run."""

COMPILED = 10
"""One in `COMPILED` graphs is compiled."""

EXPRESSIONS_OF_A_GRAPH = 6

GRAPHS_AT_ONCE = 10


@dataclass(eq=False)
class DrawnNode:
    """An operation of a random expression, or a tensor.

    Attributes:
        text: the operation.
        operands: the nodes of its operands.
        element: the element type.
        values: its values, computed in Python.
        make: makes its expression from those of its operands.
        is_number: whether it is a Python number.
    """

    text: str
    operands: tuple[DrawnNode, ...]
    element: Any
    values: Values
    make: Callable[..., Any] = field(repr=False)
    is_number: bool = False

    def __str__(self) -> str:
        return f"{self.text}({', '.join(map(str, self.operands))})" if self.operands else self.text


class IntegerFuzzResult(NamedTuple):
    """The number of operations checked, and the report of the first difference."""

    operations: int = 0
    compiled: int = 0
    failure: str = ""


class RandomGraph:
    """One graph, and random expressions of its tensors.

    Args:
        seed: seed of the whole run.
        number: number of this graph.
    """

    def __init__(self, seed: int, number: int) -> None:
        self.random = Random(f"{seed}/{number}")
        self.graph = Graph(Target(tiles=self.random.choice([1, 3])))
        self.shape = self.random.choice([(7,), (3, 5), (2, 3, 2), (65,)])
        self.types = self.random.sample(TYPES, 2) + self.random.choices(TYPES[-3:], k=1)
        self.tensors = [self._tensor(n) for n in range(4)]
        self.expressions = [self._expression() for _ in range(EXPRESSIONS_OF_A_GRAPH)]

    def _tensor(self, number: int) -> DrawnNode:
        element = self.random.choice(self.types)
        shape = self.shape if number else self.shape[self.random.randrange(len(self.shape)) :]
        values = np.empty(shape, np.object_)
        values.ravel()[:] = [self._value(element) for _ in range(values.size)]
        mapping: Any = self.random.choice(["linear", 0])
        tensor = self.graph.add_variable(element, shape, f"x{number}", mapping=mapping)
        self.graph.set_initial_value(tensor, values.astype(element.dtype))
        return DrawnNode(f"x{number}:{element.__name__}", (), element, values, lambda: tensor)

    def _value(self, element: Any) -> Any:
        """Return a random value, usually near 0 or near an end of the range."""
        if element is BOOL:
            return self.random.random() < 0.5
        limits = np.iinfo(element.dtype)
        least, most = int(limits.min), int(limits.max)
        near = self.random.choice([0, least, most, self.random.randint(least, most), 0])
        return min(max(near + self.random.randint(-3, 9), least), most)

    def _expression(self) -> DrawnNode:
        made = self.random.choice(self.tensors)
        for _ in range(self.random.randint(2, 7)):
            made = self._operation(made)
        return made

    def _operation(self, operand: DrawnNode) -> DrawnNode:
        element, kind = operand.element, self.random.random()
        if kind < 0.2:
            return self._cast(operand, self.random.choice([*TYPES, *self.types]))
        if kind < 0.25 and element is not BOOL:
            return self._cast_by_float(operand, self.random.choice(TYPES))
        if kind < 0.3:
            return self._where(operand)
        if kind < 0.4 and operand.values.ndim:
            return self._reduction(operand)
        if kind < 0.43 and operand.values.ndim and element not in (BOOL, CHAR):
            names = sorted(ALONG) if element.size_bytes <= 4 else sorted(ALONG)[:2]
            name = self.random.choice(names)
            return _node(name, (operand,), element, ALONG[name](operand.values))
        return self._elementwise(operand)

    def _elementwise(self, operand: DrawnNode) -> DrawnNode:
        element = operand.element
        names = [n for n in sorted(ELEMENTWISE) if OPERATIONS[n].text_for(element)]
        name = self.random.choice([n for n in names if n != "select"])
        operation = OPERATIONS[name]
        operands = [operand, *(self._beside(operand) for _ in range(operation.arity - 1))]
        self.random.shuffle(operands)
        last = operands[-1]
        if name == "power" and last.is_number and int(last.values) < 0:
            operands[-1] = operand  # a negative number is rejected as the second operand
        values = elementwise(functools.partial(ELEMENTWISE[name], element), *operands)
        return _node(name, operands, BOOL if operation.gives == "bool" else element, values)

    def _beside(self, operand: DrawnNode) -> DrawnNode:
        """Return a second operand of the same type: a tensor, a cast tensor, or a number."""
        element = operand.element
        if element is not BOOL and self.random.random() < 0.4:
            value = self._value(element)
            number = np.array(value, np.object_)
            return DrawnNode(str(value), (), element, number, lambda: value, is_number=True)
        fitting = [each for each in self.tensors if each.element is element]
        fitting.append(self._cast(self.random.choice(self.tensors), element))
        other = self.random.choice(fitting)
        try:
            np.broadcast_shapes(other.values.shape, operand.values.shape)
        except ValueError:  # a reduction has changed its shape
            return operand
        return other

    def _cast(self, operand: DrawnNode, element: Any) -> DrawnNode:
        if element is operand.element:
            return operand
        return _cast(operand, element, elementwise(functools.partial(wrapped, element), operand))

    def _cast_by_float(self, operand: DrawnNode, element: Any) -> DrawnNode:
        real = _cast(operand, FLOAT, elementwise(as_float, operand))
        return _cast(real, element, elementwise(functools.partial(from_float, element), real))

    def _where(self, operand: DrawnNode) -> DrawnNode:
        other = self._beside(operand)
        predicate = self._cast(self.random.choice(self.tensors), BOOL)
        if predicate.values.shape not in ((), operand.values.shape):
            predicate = self._cast(operand, BOOL)
        values = np.where(predicate.values, operand.values, other.values)
        return _node("where", (predicate, operand, other), operand.element, values)

    def _reduction(self, operand: DrawnNode) -> DrawnNode:
        names = ["all", "any"] if operand.element is BOOL else ["sum", "prod", "min", "max"]
        name, axis = self.random.choice(names), self.random.randrange(operand.values.ndim)
        function, text = getattr(ops, name), f"{name}[{axis}]"
        found = getattr(np, name)(operand.values, axis)
        return _node(text, (operand,), operand.element, found, lambda x: function(x, axis))


def elementwise(function: Callable[..., Any], *operands: DrawnNode) -> Values:
    """Apply a function to the elements of nodes, with broadcasting."""
    return as_values(np.frompyfunc(function, len(operands), 1)(*[each.values for each in operands]))


def as_values(found: Any) -> Values:
    """Return NumPy's result as an array of objects; NumPy returns one element as a scalar."""
    values = np.empty(np.shape(found), np.object_)
    values[...] = found
    return values


def _cast(operand: DrawnNode, element: Any, values: Values) -> DrawnNode:
    text = f"cast[{element.__name__}]"
    return DrawnNode(text, (operand,), element, values, lambda x: ops.cast(x, element))


def _node(
    text: str, operands: Sequence[DrawnNode], element: Any, found: Any, make: Any = None
) -> DrawnNode:
    cut = np.frompyfunc(functools.partial(wrapped, element), 1, 1)(as_values(found))
    return DrawnNode(text, tuple(operands), element, as_values(cut), make or getattr(ops, text))


def in_order(root: DrawnNode) -> list[DrawnNode]:
    """Return the operations of an expression, each once and after its operands."""
    return [node for node in bottom_up([root], attrgetter("operands")) if node.operands]


def recorded(root: DrawnNode, is_fused: bool) -> Tensor:
    """Record an expression in the open block, fused or one by one; return the result tensor."""
    made: dict[DrawnNode, Any] = {}
    for node in in_order(root):
        operands = [made[each] if each in made else each.make() for each in node.operands]
        made[node] = node.make(*operands)
        if not is_fused and not isinstance(made[node], Tensor):
            made[node] = ops.map(made[node])
    result = made[root] if root in made else root.make()
    return result if isinstance(result, Tensor) else ops.map(result)


def check(seed: int, number: int, *, compiled: int = COMPILED) -> IntegerFuzzResult:
    """Compute the expressions of one graph in every way, up to the first difference."""
    drawn = RandomGraph(seed, number)
    operations = sum(len(in_order(root)) for root in drawn.expressions)
    is_compiled = compiled > 0 and number % compiled == 0
    with drawn.graph.steps() as step:
        found = {
            way: [recorded(root, way == "fused") for root in drawn.expressions]
            for way in ("fused", "one by one")
        }
    for interpret in (True, False)[: 1 + is_compiled]:
        options = {"debug.instrument": False}
        engine = Engine(drawn.graph, step, interpret=interpret, options=options)
        engine.run()
        for way, tensors in found.items():
            for root, tensor in zip(drawn.expressions, tensors, strict=True):
                read = engine.read(tensor)
                if read.astype(np.object_).tolist() != root.values.tolist():
                    form = "interpreted" if interpret else "compiled"
                    text = f"seed {seed}, graph {number}, {way}, {form}: {root}\n"
                    text += "".join(f"  {x.text} = {x.values.tolist()}\n" for x in drawn.tensors)
                    text += f"  found    {read.tolist()}\n  expected {root.values.tolist()}\n"
                    return IntegerFuzzResult(operations, operations * is_compiled, text)
    return IntegerFuzzResult(operations, operations * is_compiled)


def run(seed: int, numbers: Sequence[int], compiled: int) -> list[IntegerFuzzResult]:
    """Check the graphs with the given numbers.

    >>> [each.failure for each in run(0, [1, 2], 0)]
    ['', '']
    """
    return [check(seed, number, compiled=compiled) for number in numbers]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: the command-line arguments.

    Returns:
        Exit code: 1 if a result was wrong.
    """
    options = _parser().parse_args(arguments)
    began = time.perf_counter()
    done = compiled = failures = graphs = 0
    for each in _results(options.seed, options.compiled, options.jobs):
        graphs, done = graphs + 1, done + each.operations
        compiled, failures = compiled + each.compiled, failures + bool(each.failure)
        print(each.failure, end="")
        if graphs % GRAPHS_AT_ONCE == 0:
            print(f"{done:,} of {options.operations:,} operations", file=sys.stderr)
        if failures or done >= options.operations:
            break
    seconds = time.perf_counter() - began
    print(
        f"{done:,} operations in {graphs:,} graphs, {compiled:,} of them compiled, "
        f"{'a wrong result' if failures else 'no wrong result'}, {seconds:.1f} s"
    )
    return 1 if failures else 0


def _results(seed: int, compiled: int, jobs: int) -> Iterator[IntegerFuzzResult]:
    """Yield the results of graphs, in order, indefinitely."""
    if jobs == 1:
        for number in count():
            yield check(seed, number, compiled=compiled)
    with ProcessPoolExecutor(jobs) as pool:
        for first in count(0, GRAPHS_AT_ONCE * jobs):
            begins = [first + GRAPHS_AT_ONCE * job for job in range(jobs)]
            parts = [range(begin, begin + GRAPHS_AT_ONCE) for begin in begins]
            for results in pool.map(run, repeat(seed), parts, repeat(compiled)):
                yield from results


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m poplite.testing.fuzz_integers",
        description="Compare random integer expressions, fused and unfused, with Python's "
        "integers.",
    )
    parser.add_argument(
        "--operations", type=int, default=20_000, help="number of operations to draw"
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="the same seed draws the same operations"
    )
    compiled = "compile one graph in N; 0 compiles none"
    parser.add_argument("--compiled", type=int, default=COMPILED, help=compiled)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    return parser


# -- the oracle: operations on Python integers, wrapped to an element type -------------------------
#
#     wrapped(pl.SHORT, 40_000)                  -25536
#     ELEMENTWISE["popcount"](pl.SHORT, -1)      16
#
# Results are computed with arbitrary precision, and `wrapped` reduces them to the type.


ElementClass = type[ElementType[Any]]


def bits(element: ElementClass) -> int:
    """Return the number of bits of an element."""
    return 8 * element.size_bytes


def wrapped(element: ElementClass, value: int) -> int | bool:
    """Return an integer wrapped to the range of an element type; for BOOL, whether it is nonzero.

    >>> from poplite.types import SHORT, UNSIGNED_CHAR
    >>> wrapped(SHORT, 40_000), wrapped(UNSIGNED_CHAR, -1)
    (-25536, 255)
    """
    if element is BOOL:
        return bool(value)
    cut = int(value) % (1 << bits(element))
    is_negative = element.dtype.kind == "i" and cut >> bits(element) - 1
    return cut - (1 << bits(element)) if is_negative else cut


def _unsigned(element: ElementClass, value: int) -> int:
    return value % (1 << bits(element))


def _divided(element: ElementClass, a: int, b: int) -> int:
    return a // b if b else 0


def _divided_trunc(element: ElementClass, a: int, b: int) -> int:
    whole = abs(a) // abs(b) if b else 0
    return -whole if (a < 0) != (b < 0) else whole


def _remainder(element: ElementClass, a: int, b: int) -> int:
    return a % b if b else 0


def _remainder_trunc(element: ElementClass, a: int, b: int) -> int:
    return a - b * _divided_trunc(element, a, b) if b else 0


def _power(element: ElementClass, a: int, b: int) -> int:
    return pow(a, b, 1 << bits(element)) if b >= 0 else 0


def _sign(element: ElementClass, a: int) -> int:
    return (a > 0) - (a < 0)


def _shift_left(element: ElementClass, a: int, n: int) -> int:
    return a << n if 0 <= n < bits(element) else 0


def _shift_right(element: ElementClass, a: int, n: int) -> int:
    return a >> (n if 0 <= n < bits(element) else bits(element))


def _shift_right_logical(element: ElementClass, a: int, n: int) -> int:
    return _unsigned(element, a) >> n if 0 <= n < bits(element) else 0


def _not(element: ElementClass, a: int) -> int:
    return not a if element is BOOL else ~a


def _xnor(element: ElementClass, a: int, b: int) -> int:
    return _not(element, a ^ b)


ELEMENTWISE: dict[str, Callable[..., int]] = {
    "add": lambda element, a, b: a + b,
    "subtract": lambda element, a, b: a - b,
    "multiply": lambda element, a, b: a * b,
    "floor_divide": _divided,
    "remainder": _remainder,
    "divide_trunc": _divided_trunc,
    "remainder_trunc": _remainder_trunc,
    "power": _power,
    "square": lambda element, a: a * a,
    "negative": lambda element, a: -a,
    "absolute": lambda element, a: abs(a),
    "sign": _sign,
    "sign_popops": _sign,
    "maximum": lambda element, a, b: max(a, b),
    "minimum": lambda element, a, b: min(a, b),
    "clamp": lambda element, a, low, high: min(max(a, low), high),
    "less": lambda element, a, b: a < b,
    "less_equal": lambda element, a, b: a <= b,
    "greater": lambda element, a, b: a > b,
    "greater_equal": lambda element, a, b: a >= b,
    "equal": lambda element, a, b: a == b,
    "not_equal": lambda element, a, b: a != b,
    "logical_and": lambda element, a, b: a and b,
    "logical_or": lambda element, a, b: a or b,
    "logical_xor": lambda element, a, b: a != b,
    "logical_not": lambda element, a: not a,
    "bitwise_and": lambda element, a, b: a & b,
    "bitwise_or": lambda element, a, b: a | b,
    "bitwise_xor": lambda element, a, b: a ^ b,
    "bitwise_xnor": _xnor,
    "bitwise_not": _not,
    "shift_left": _shift_left,
    "shift_right": _shift_right,
    "shift_right_logical": _shift_right_logical,
    "popcount": lambda element, a: _unsigned(element, a).bit_count(),
    "count_leading_zeros": lambda element, a: bits(element) - _unsigned(element, a).bit_length(),
    "sqrt_trunc": lambda element, a: math.isqrt(max(a, 0)),
    "select": lambda element, a, b, predicate: a if predicate else b,
}
"""Operations by name, as functions of the operands' element type and values."""


def from_float(element: ElementClass, value: float) -> int | bool:
    """Return the result of `ops.cast` for a float.

    >>> from poplite.types import CHAR, INT, UNSIGNED_LONGLONG
    >>> from_float(INT, -2.9), from_float(CHAR, 300.0), from_float(UNSIGNED_LONGLONG, 1e30)
    (-2, 44, 18446744073709551615)
    """
    if element is BOOL:
        return value != 0
    if math.isnan(value):
        return 0
    most = 2**64 - 1 if element is UNSIGNED_LONGLONG else 2**63 - 1
    whole = int(value) if math.isfinite(value) else int(math.copysign(2**64, value))
    return wrapped(element, min(max(whole, -(2**63)), most))


def as_float(value: int) -> float:
    """Return the float32 nearest to an integer of up to 64 bits."""
    exact = np.uint64(value) if value >= 1 << 63 else np.int64(value)
    return float(exact.astype(np.float32))


if __name__ == "__main__":
    sys.exit(main())
