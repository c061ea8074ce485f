"""Decides which parts of expressions are stored; the others are recomputed where they are read.

Results of reductions are stored. A part that is read by several vertices, or by one vertex with
more elements, is stored if computing it again would take longer, in slots of a worker for a vector
of 64 bits::

    n g (c + l)  >  (c + l) + 2 + n

    n   the number of readers                  g   how many times more elements they have
    c   the operations of the part             l   the loads of its tensors

The slots are the prices of the vertices (`poplite.ops.fuse.pricing`); the 2 is `OWN_STEP`. So
`x - y` is computed twice if it is read twice; `exp(x - b)` read by a sum and a division is stored,
as is everything that is broadcast to many rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import compress
from operator import is_
from typing import Any, NamedTuple, TypeVar

import numpy as np

from poplite.arrays.series import digits_of
from poplite.expr.build import apply, cast, power_by_squares
from poplite.expr.operations import CAST, kind_of
from poplite.expr.tree import (
    OPERANDS,
    Applied,
    Contraction,
    Expr,
    IotaExpr,
    Leaf,
    Number,
    Reduction,
    ViewExpr,
)
from poplite.frozen import frozen
from poplite.graph.compute_sets.compute_set import ComputeSet
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.fuse.maps import EXACT, Mappings, place
from poplite.ops.fuse.pricing import slots_of
from poplite.ops.fuse.recipe import in_order
from poplite.program import Execute, Program
from poplite.program.recording import Recorder
from poplite.source import SourceLocation
from poplite.types import FLOAT, HALF
from poplite.walks import bottom_up, top_down

OWN_STEP = 2
"""Slots for storing each vector, in addition to computing it: an assumption, not a vertex's price.

They represent the start of a separate step and the memory for its result, which have no
slots. Without them, a sum of two tensors would be stored for two readers.
"""

WORTH_STORING = OWN_STEP + 2
"""Maximum c + l for which two readers of the same size recompute: 2 s <= s + OWN_STEP + 2."""


class Decision(NamedTuple):
    """Whether a part is stored, with the values in the rule.

    Attributes:
        expr: the part.
        is_stored: the decision.
        readers: n.
        growth: g.
        slots: c + l.
    """

    expr: Expr
    is_stored: bool
    readers: int
    growth: float
    slots: float

    def __str__(self) -> str:
        again = self.readers * self.growth * self.slots
        once = self.slots + OWN_STEP + self.readers
        sign = ">" if self.is_stored else "<="
        what = "stored" if self.is_stored else "computed again"
        return (
            f"{what}: {self.readers} * {self.growth:g} * {self.slots:g} = {again:g} "
            f"{sign} {self.slots:g} + {OWN_STEP} + {self.readers} = {once:g} slots"
        )


def decide(groups: Sequence[Expr], stored: set[Expr]) -> list[Decision]:
    """Add further stored parts to `stored`, and return the decision for each part.

    `groups` are the roots and the operands of reductions: each group is computed by one vertex
    class.
    """
    made: list[Decision] = []
    decided: set[Expr] = set()
    found = _Groups(groups, stored)
    # Outer parts come first: when a part is stored, its own parts move into its group.
    for number, root in enumerate(found.roots):
        for node in [*found.parts[number]]:
            if node in decided or node is root or not isinstance(node, Applied):
                continue
            if node not in found.parts[number]:  # it is now below a stored part
                continue
            readers, growth = len(found.readers[node]), found.growth(node)
            if readers == 1 and growth == 1:
                continue
            slots = _slots(node, stored)
            is_stored = readers * growth * slots > slots + OWN_STEP + readers
            decided.add(node)
            made.append(Decision(node, is_stored, readers, growth, slots))
            if is_stored:
                stored.add(node)
                found.store(node)
    return made


class _Groups:
    """The parts that each group computes; stored parts become separate groups.

    Attributes:
        roots: the root of each group.
        parts: the parts of each group, from the root downwards, each with its number of readers
            in the group.
        readers: for each part, the indices of the groups that compute it.
    """

    def __init__(self, groups: Sequence[Expr], stored: set[Expr]) -> None:
        self.roots: list[Expr] = []
        self.parts: list[dict[Expr, int]] = []
        self.readers: dict[Expr, set[int]] = {}
        self._stored = stored
        for root in groups:
            self._add(root)

    def growth(self, node: Expr) -> float:
        """Return the factor by which the readers of a part have more elements than the part."""
        if node.num_elements <= 1:
            return 1.0
        most = max(self.roots[number].num_elements for number in self.readers[node])
        return max(1.0, most / node.num_elements)

    def store(self, node: Expr) -> None:
        """Move a part, and its parts without other readers, into a separate group."""
        for number in self.readers.pop(node):
            if self.roots[number] is node:
                continue
            parts, waiting = self.parts[number], [node]
            del parts[node]
            while waiting:
                for each in waiting.pop().operands:
                    if each not in parts:
                        continue
                    parts[each] -= 1
                    if not parts[each]:
                        del parts[each]
                        self.readers[each].discard(number)
                        waiting.append(each)
        self._add(node)

    def _add(self, root: Expr) -> None:
        parts = _below(root, self._stored)
        for node in parts:
            self.readers.setdefault(node, set()).add(len(self.roots))
        self.roots.append(root)
        self.parts.append(parts)


def _below(root: Expr, stored: set[Expr]) -> dict[Expr, int]:
    """Return the nodes of a group from its root downwards, without those below a stored node.

    The value of each is the number of times that nodes of the group read it.
    """
    found = {root: 0}
    waiting = [root]
    while waiting:
        for each in waiting.pop().operands:
            if each in stored or isinstance(each, Reduction | ViewExpr):
                continue
            if each not in found:
                found[each] = 0
                waiting.append(each)
            found[each] += 1
    return found


MOST_FIELDS = 128
"""Maximum number of tensors and numbers per map vertex; its compile time grows with the square."""


def cut(groups: Sequence[Expr], stored: set[Expr]) -> list[Expr]:
    """Add parts of groups with too many operands for one vertex to `stored`, and return them."""
    made: list[Expr] = []
    for root in groups:
        fields: dict[Expr, set[Expr]] = {}
        for node in in_order(root, stored):
            if not isinstance(node, Applied) or (node in stored and node is not root):
                fields[node] = {node}
                continue
            own = set().union(*[fields[each] for each in node.operands])
            while len(own) > MOST_FIELDS:
                largest = max(node.operands, key=lambda each: len(fields[each]))
                stored.add(largest)
                made.append(largest)
                fields[largest] = {largest}
                own = set().union(*[fields[each] for each in node.operands])
            fields[node] = own
    return made


def is_worth_storing(part: Expr) -> bool:
    """Return whether the rule stores a part with two readers of the same size."""
    slots, leaves = 0.0, set[object]()
    seen, waiting = {part}, [part]
    while waiting and slots + len(leaves) <= WORTH_STORING:
        node = waiting.pop()
        if isinstance(node, Applied):
            slots += _own_slots(node)
            waiting += [each for each in node.operands if each not in seen]
            seen.update(node.operands)
        elif isinstance(node, Leaf):
            leaves.add(node.tensor)
        elif node.operands:
            leaves.add(node)
    return slots + len(leaves) > WORTH_STORING


def _slots(part: Expr, stored: set[Expr]) -> float:
    """Return c + l for the rule."""
    total, leaves = 0.0, set()
    for node in _below(part, stored):
        if isinstance(node, Applied):
            total += _own_slots(node)
        if isinstance(node, Leaf):
            leaves.add(node.tensor)
        leaves.update(
            each
            for each in node.operands
            if each in stored or isinstance(each, Reduction | ViewExpr)
        )
    return total + len(leaves)


def _own_slots(node: Applied) -> float:
    """Return the slots of an operation, without loads."""
    kinds = "".join(["n" if isinstance(each, Number) else "v" for each in node.operands])
    element = node.operands[0].element_type
    return slots_of(node.operation.name, element, node.element_type, kinds)


def all_parts(roots: Sequence[Expr]) -> list[Expr]:
    """Return expressions and their parts, each once."""
    return top_down(roots, OPERANDS)


def interned(roots: Sequence[Expr]) -> list[Expr]:
    """Return expressions in which equal parts are one node, so that identity is equality."""
    made: dict[Expr, Expr] = {}
    known: dict[tuple[object, ...], Expr] = {}
    for node in bottom_up(roots, OPERANDS):
        operands = tuple([made[each] for each in node.operands])
        key = (*_identity(node), *map(_operand_key, operands))
        if key not in known:
            known[key] = with_operands(node, operands)
        made[node] = known[key]
    return [made[root] for root in roots]


def _operand_key(node: Expr) -> object:
    """Return the key of an operand: the bits of a number, otherwise the node itself.

    Numbers remain separate nodes, so that equal numbers do not change the structure.
    """
    if isinstance(node, Number):
        return node.element_type, node.value.tobytes()
    return id(node)


def _identity(node: Expr) -> tuple[object, ...]:
    """Return the key by which nodes are equal if their operands are."""
    if isinstance(node, Leaf):
        return Leaf, node.tensor
    if isinstance(node, Reduction):
        return Reduction, node.how, node.dims, node.keepdims, node.element_type
    if isinstance(node, Contraction):
        return Contraction, node.how, node.element_type
    if isinstance(node, ViewExpr):
        return ViewExpr, node.how, node.shape
    if isinstance(node, Applied):
        return Applied, node.operation, node.element_type
    return type(node), id(node)


Kind = TypeVar("Kind", bound=Expr)


def rebuilt(roots: Sequence[Expr], kind: type[Kind], changed: Callable[[Kind], Expr]) -> list[Expr]:
    """Return expressions in which `changed` replaces each node of a kind, operands first."""
    found = [each for each in all_parts(roots) if isinstance(each, kind)]
    if all(changed(each) is each for each in found):
        return list(roots)
    made: dict[Expr, Expr] = {}
    for node in bottom_up(roots, OPERANDS):
        same = with_operands(node, tuple([made[each] for each in node.operands]))
        made[node] = changed(same) if isinstance(same, kind) else same
    return [made[root] for root in roots]


def replaced(values: Sequence[Expr], by: Mapping[Expr, Expr]) -> list[Expr]:
    """Return expressions, which may share parts, with the parts in `by` replaced."""
    made = dict(by)
    for value in values:
        for node in in_order(value, made):
            if node not in made:
                made[node] = with_operands(node, tuple(made[each] for each in node.operands))
    return [made[value] for value in values]


def with_operands(node: Expr, operands: tuple[Expr, ...]) -> Expr:
    """Return a node with other operands, or the node itself if they are the same."""
    if all(map(is_, operands, node.operands)):
        return node
    if isinstance(node, Reduction):
        made: Expr = Reduction(
            node.how, operands[0], node.dims, node.keepdims, node.shape, node.element_type
        )
    elif isinstance(node, Contraction):
        made = Contraction(operands[0], operands[1], node.how, node.shape, node.element_type)
    elif isinstance(node, ViewExpr):
        made = ViewExpr(operands, node.how, node.shape, node.element_type)
    else:
        assert isinstance(node, Applied)
        made = Applied(node.operation, operands, node.shape, node.element_type)
    made.location, made.label, made.origin = node.location, node.label, node.origin
    return made


# -- reductions along repeated dimensions ----------------------------------------------------------
# Reductions along repeated dimensions, in which each element is read only once.
#
#     max(x.broadcast(n, 0), 0)      max(x)
#     sum(x.broadcast(n, 0), 0)      sum(x) * n; for HALF in FLOAT, rounded once
#     prod(x.broadcast(n, 0), 0)     prod(x) ** n, by repeated squaring
#     argmax(x.broadcast(n, 0), 0)   argmax(x), the first of several maxima
#
# Neither time nor memory grows with n. A dimension is repeated, entirely or in part, if it is
# repeated in all operands of the expression.


class DimensionParts(NamedTuple):
    """The parts of a dimension, the outermost first.

    Attributes:
        sizes: the size of each part.
        are_read: whether each part has distinct elements rather than repetitions.
    """

    sizes: tuple[int, ...]
    are_read: tuple[bool, ...]

    @property
    def size(self) -> int:
        """The number of distinct elements."""
        return math.prod(compress(self.sizes, self.are_read))

    @property
    def times(self) -> int:
        """The number of times that each element occurs."""
        return math.prod(self.sizes) // self.size

    @property
    def step(self) -> int:
        """The distance between the first occurrences of successive elements; 0 if it varies."""
        read = [n for n, is_read in enumerate(self.are_read) if is_read]
        if read and len(read) <= read[-1] - read[0]:
            return 0
        return math.prod(self.sizes[read[-1] + 1 :]) if read else 1


def read_once(roots: Sequence[Expr]) -> list[Expr]:
    """Return expressions whose reductions do not read repeated elements again."""
    return rebuilt(roots, Reduction, _once)


def distinct(tensor: Tensor) -> Tensor:
    """Return a view of a tensor without the elements that it repeats along dimensions.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (2, 3), "x")
    >>> distinct(x.broadcast(9, 0)) == x
    <same elements: True (not ops.equal)>
    """
    for d, stride in enumerate(tensor.view.dims):
        if isinstance(stride, int) and stride:
            continue
        parts = _parts(tensor, d)
        if parts.size and parts.times > 1:
            tensor = _first(tensor, d, parts)
    return tensor


def _parts(tensor: Tensor, d: int) -> DimensionParts:
    digits = digits_of(tensor.shape[d], tensor.view.dims[d])
    return DimensionParts(tuple([n for n, _ in digits]), tuple([step != 0 for _, step in digits]))


def _first(tensor: Tensor, d: int, parts: DimensionParts) -> Tensor:
    """Return a tensor without the repetitions along a dimension."""
    before, after = tensor.shape[:d], tensor.shape[d + 1 :]
    split = tensor.reshape((*before, *parts.sizes, *after))
    for k, is_read in enumerate(parts.are_read):
        if not is_read:
            split = split.slice(0, 1, d + k)
    return split.reshape((*before, parts.size, *after))


def _once(node: Reduction) -> Expr:
    """Return a reduction, or its equivalent without repeated elements."""
    operand = node.operands[0]
    if not operand.num_elements or node.how.startswith("arg"):  # positions depend on repetitions
        return node
    leaves, dims = _leaves(operand), [each - operand.rank for each in node.dims or ()]
    along = _repeated(leaves, dims)
    if not along:
        return _of_halves(node)
    element, times = node.element_type, math.prod(parts.times for parts in along.values())
    read = _reading(operand, leaves, along)
    if element is HALF and node.how in ("add", "mul"):
        read = cast(read, FLOAT)
    kind = read.element_type
    made: Expr = Reduction(node.how, read, node.dims, node.keepdims, node.shape, kind)
    if node.how == "add":
        value = np.float64(times) if kind.is_floating_point else np.uint64(times % 2**64)
        made = apply("multiply", made, Number(value.astype(kind.dtype), kind))
    elif node.how == "mul":
        made = power_by_squares(made, times)
    made = cast(made, element)
    made.location, made.label, made.origin = node.location, node.label, node.origin
    return made


def _of_halves(node: Reduction) -> Expr:
    """Return a sum or product of HALF cast to FLOAT as one of HALF: its vertices widen elements.

    So HALF is exchanged, and nothing is cast where each tile has one element of an output.
    """
    (operand,) = node.operands
    if not isinstance(operand, Applied) or operand.operation is not CAST:
        return node
    (halves,) = operand.operands
    is_widened = node.how in ("add", "mul") and operand.element_type is FLOAT
    if not is_widened or not isinstance(halves, Leaf) or halves.element_type is not HALF:
        return node
    made = Reduction(node.how, halves, node.dims, node.keepdims, node.shape, FLOAT)
    made.location, made.label, made.origin = node.location, node.label, node.origin
    return made


def first_of_repeated(operand: Expr, dims: Sequence[int]) -> tuple[Expr, list[int]]:
    """Return an expression without the repetitions in `operand` along dimensions.

    The list contains the original distance between successive elements along each of the
    dimensions. A dimension with uneven distances keeps all of its elements.
    """
    leaves, rank = _leaves(operand), operand.rank
    along = _repeated(leaves, [d - rank for d in dims]) if operand.num_elements else {}
    along = {d: parts for d, parts in along.items() if parts.step}
    read = _reading(operand, leaves, along) if along else operand
    return read, [along[d - rank].step if d - rank in along else 1 for d in dims]


def _repeated(leaves: Sequence[Expr], dims: Sequence[int]) -> dict[int, DimensionParts]:
    """Return the parts of the dimensions with repetitions, by dimension counted from the end."""
    found = {d: _common(leaves, d) for d in dims}
    return {d: parts for d, parts in found.items() if parts.times > 1}


def _leaves(root: Expr) -> list[Expr]:
    """Return the operands of an expression, tensors and stored parts."""
    nodes = top_down([root], lambda node: node.operands if isinstance(node, Applied) else ())
    return [node for node in nodes if not isinstance(node, Applied)]


def _common(leaves: Sequence[Expr], d: int) -> DimensionParts:
    """Return the parts of a dimension, counted from the end; one part if the operands differ."""
    sizes: tuple[int, ...] | None = None
    are_read: list[bool] = []
    size = 1
    for leaf in leaves:
        if leaf.rank < -d or leaf.shape[d] == 1:
            continue
        size = leaf.shape[d]
        if not isinstance(leaf, Leaf) or not isinstance(leaf.tensor, Tensor):
            return DimensionParts((size,), (True,))
        parts = _parts(leaf.tensor, leaf.rank + d)
        if not any(parts.are_read):
            continue
        if sizes is None:
            sizes, are_read = parts.sizes, list(parts.are_read)
        elif sizes != parts.sizes:
            return DimensionParts((size,), (True,))
        are_read = [one or other for one, other in zip(are_read, parts.are_read, strict=True)]
    return (
        DimensionParts((size,), (False,))
        if sizes is None
        else DimensionParts(sizes, tuple(are_read))
    )


def _reading(root: Expr, leaves: Sequence[Expr], along: Mapping[int, DimensionParts]) -> Expr:
    """Return an expression that reads only the first of repeated elements."""
    made: dict[Expr, Expr] = {}
    below = {*leaves}
    for node in in_order(root, below):
        shape = list(node.shape)
        for d, parts in along.items():
            if node.rank >= -d and shape[d] != 1:
                shape[d] = parts.size
        if tuple(shape) == node.shape:
            made[node] = node
        elif isinstance(node, Applied):
            operands = tuple([made[each] for each in node.operands])
            made[node] = Applied(node.operation, operands, tuple(shape), node.element_type)
        else:
            assert isinstance(node, Leaf), node
            tensor = node.tensor
            assert isinstance(tensor, Tensor)
            for d, parts in along.items():
                if tensor.rank >= -d and tensor.shape[d] != 1:
                    tensor = _first(tensor, tensor.rank + d, parts)
            made[node] = Leaf(tensor)
    return made[root]


# -- positions -------------------------------------------------------------------------------------
# Positions combined with tensors in reductions, as two short tensors instead of one of full size.
#
#     iota(10,000,000)     high: 0, 3163, 6326, ...    each repeated 3163 times, as a view
#                          low:  0, 1, ... 3162        repeated 3162 times, as a view
#                          high + low, computed where it is read
#
# An expression of positions alone is stored: each tile computes its own positions.


MOST_STORED = 256
"""Maximum number of positions that are stored one by one."""


def split_positions(mappings: Mappings, roots: Sequence[Expr]) -> list[Expr]:
    """Return expressions whose reductions of tensors read long positions as two short tensors."""
    if not any(isinstance(node, IotaExpr) and _is_long(node) for node in all_parts(roots)):
        return list(roots)
    made: dict[_Part, Expr] = {}
    for node, is_reduced in bottom_up([(root, False) for root in roots], _operands):
        operands = tuple([made[each] for each in _operands((node, is_reduced))])
        if is_reduced and isinstance(node, IotaExpr) and _is_long(node):
            made[node, is_reduced] = _split(mappings, node)
        else:
            made[node, is_reduced] = with_operands(node, operands)
    return [made[root, False] for root in roots]


_Part = tuple[Expr, bool]
"""A part of an expression, and whether it is an operand of a reduction."""


def _operands(part: _Part) -> list[_Part]:
    node, is_reduced = part
    if isinstance(node, Reduction):  # its operand takes the mapping of a tensor of its shape
        operand = node.operands[0]
        is_reduced |= any(tensor.shape == operand.shape for tensor in operand.leaves)
    return [(each, is_reduced) for each in node.operands]


def _is_long(positions: IotaExpr) -> bool:
    """Return whether there are many positions and the sums of their two parts are exact."""
    last = abs(positions.start) + positions.num_elements
    is_exact = positions.element_type is FLOAT and last <= EXACT
    is_exact |= kind_of(positions.element_type) == "int"
    return positions.num_elements > MOST_STORED and is_exact


def _split(mappings: Mappings, positions: IotaExpr) -> Expr:
    size, dtype = positions.num_elements, positions.element_type.dtype
    columns = math.isqrt(size - 1) + 1
    rows = -(-size // columns)

    def stored(name: str, length: int, start: int, step: int) -> Tensor:
        values = (step * np.arange(length)).astype(dtype) + dtype.type(start)
        made = mappings.graph.add_constant(positions.element_type, (length,), values, name)
        place(mappings, made, (length,), [])
        return made

    high = stored("positions/high", rows, 0, columns).reshape((rows, 1)).broadcast(columns, 1)
    low = stored("positions/low", columns, positions.start, 1).reshape((1, columns))
    parts = [
        each.flatten()[:size].reshape(positions.shape) for each in (high, low.broadcast(rows, 0))
    ]
    return apply("add", *map(Leaf, parts))


# -- the levels of steps ---------------------------------------------------------------------------
# Independent steps share compute sets.
#
#     sum(x) and sum(y)     tiles, tiles, final, final      separately
#                           tiles, final                    together: half of the synchronisations
#
# The order of steps follows from these rules:
#
#     a step is in a later level than the steps that make its inputs
#     a view of stored tensors is not a step: it exists as soon as the last of these tensors does
#     a copy of a view is a step: a root that is a view, and has its own mapping or shows tensors
#     that others may write, is copied in a later level than the tensors that it shows
#     roots that write tensors are stored one after another (`Lowering.lower`)


@frozen(eq=False)
class Root:
    """An expression to store, and the tensor or the mapping for it.

    Attributes:
        expr: the expression to store.
        out: the tensor for the result, to whose shape the expression is broadcast; None for a new
            tensor.
        mapping: the mapping of a new tensor, as in `graph.add_variable`; None for the rule of
            `ops.map`.
        name: the name of a new tensor and of its steps.
        at: the user's source line.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    >>> x, y = (graph.add_variable(pl.FLOAT, (4,), name, mapping="linear") for name in "xy")
    >>> roots = [pl.ops.Root(x + y, out=y), pl.ops.Root(x - y, name="z", mapping=1)]
    >>> pl.ops.lower(graph, roots, program)
    [<Tensor 'y' float32[4] on 2 tiles (0-1), 16 B>, <Tensor 'z' float32[4] on tile 1, 16 B>]
    """

    expr: Expr
    out: Tensor | None = None
    mapping: Any = None
    name: str = ""
    at: SourceLocation | None = None


class IndependentSteps(Recorder):
    """Merges the steps of independent tasks: all first steps, then all second steps, ...

    Args:
        around: receives the steps when all tasks are recorded.
    """

    def __init__(self, around: Recorder) -> None:
        self.graph, self._around = around.graph, around
        self._levels: list[tuple[list[ComputeSet], list[Program]]] = []
        self._level = 0

    def begin(self) -> None:
        """Start the next task."""
        self._level = 0

    def compute_set(self, name: str) -> ComputeSet:
        """Return the compute set that tasks share in their next step."""
        sets, _ = self._next()
        if not sets:
            sets.append(self.graph.add_compute_set(name))
        return sets[0]

    def add(self, program: Program) -> None:
        """Add the next step of a task."""
        self._next()[1].append(program)

    def _next(self) -> tuple[list[ComputeSet], list[Program]]:
        if len(self._levels) == self._level:
            self._levels.append(([], []))
        self._level += 1
        return self._levels[self._level - 1]

    def end(self) -> None:
        """Pass the steps of all tasks to the enclosing block."""
        for sets, others in self._levels:
            for program in (*map(Execute, sets), *others):
                self._around.add(program)


class Task(NamedTuple):
    """A part of expressions to store.

    Attributes:
        expr: the part.
        number: the index of the root, or of the first root that contains the part.
        is_root: whether the part is a root.
    """

    expr: Expr
    number: int
    is_root: bool


def levels(roots: Sequence[Expr], kept: set[Expr], copied: Sequence[bool]) -> list[list[Task]]:
    """Return the tasks in levels: a task depends only on tasks of earlier levels.

    Args:
        roots: the expressions that are stored.
        kept: the parts that are stored, each by separate steps; views need no steps.
        copied: for each root, whether it is a view that a step copies.
    """
    found: list[list[Task]] = []
    level_of: dict[Expr, int] = {}
    deepest: dict[Expr, int] = {}  # the number of levels before a part, for all roots

    def add(level: int, task: Task) -> None:
        while len(found) <= level:
            found.append([])
        found[level].append(task)

    for number, root in enumerate(roots):
        for node in in_order(root, deepest):
            if node in deepest and node is not root:
                continue
            before = max((deepest[each] for each in node.operands), default=0)
            if node not in kept and not (node is root and node.operands):
                if node is not root:
                    deepest[node] = before
                continue
            if node not in level_of:
                # A view takes no step: it exists as soon as the tensors that it shows do.
                level_of[node] = max(before - isinstance(node, ViewExpr), 0)
                add(level_of[node], Task(node, number, node is root and not copied[number]))
            if node in kept:
                deepest[node] = level_of[node] + 1
        if copied[number]:
            add(deepest[root], Task(root, number, True))
    return found


def is_view(task: Task) -> bool:
    """Order views after the tasks of their level, which they may alias."""
    return isinstance(task.expr, ViewExpr)
