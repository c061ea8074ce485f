"""Which parts of expressions are stored: others are recomputed where they are read.

Results of reductions are stored. Of what several vertices read, or one with more elements, a part
is stored if computing it again would take longer, in slots of a worker for a vector of 64 bits::

    n g (c + l)  >  (c + l) + 2 + n

    n   how many readers there are             g   how many times more elements they have
    c   the operations of the part             l   its tensors, one load each

The slots are the prices of the vertices (`poplite.ops.fuse.pricing`); the 2 are `OWN_STEP`. So
`x - y` that is read twice is computed twice; `exp(x - b)` read by a sum and a division is stored,
as is whatever is broadcast to many rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import compress
from typing import Any, NamedTuple, TypeVar

import numpy as np

from poplite.arrays.series import digits_of
from poplite.expr.build import apply, cast, power_by_squares
from poplite.expr.operations import kind_of
from poplite.expr.tree import (
    Applied,
    Contraction,
    Expr,
    IotaExpr,
    Leaf,
    Number,
    Reduction,
    ViewExpr,
    new_parts,
)
from poplite.frozen import frozen
from poplite.graph.compute_sets.compute_set import ComputeSet
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.fuse.placement import EXACT, Mappings, place
from poplite.ops.fuse.pricing import slots_of
from poplite.ops.fuse.recipe import in_order
from poplite.program import Execute, Program
from poplite.program.recording import Recorder
from poplite.source import SourceLocation
from poplite.types import FLOAT, HALF

OWN_STEP = 2
"""Slots for each vector that is stored, besides computing it: an assumption, no vertex has them.

They represent the start of a separate step and the memory of its result, which have no
slots. Without them a sum of two tensors would be stored for two readers.
"""

WORTH_STORING = OWN_STEP + 2
"""c + l of a part that two readers with as many elements compute again: 2 s <= s + OWN_STEP + 2."""


class Decision(NamedTuple):
    """Whether a part is stored, with the numbers of the rule.

    Attributes:
        expr: the part.
        is_stored: what was decided.
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

    `groups` are the roots and the operands of reductions: each is computed by one class of
    vertices.
    """
    made: list[Decision] = []
    decided: set[Expr] = set()
    found = _Groups(groups, stored)
    # Outer parts come first: a stored part takes its own parts along, as a separate group.
    for number, root in enumerate(found.roots):
        for node in [*found.parts[number]]:
            if node in decided or node is root or not isinstance(node, Applied):
                continue
            if node not in found.parts[number]:  # it is below a part that is stored by now
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
    """Which groups compute which parts, while parts become groups of their own.

    Attributes:
        roots: of the groups.
        parts: of each group, from the root downwards: how many parts of the group read each.
        readers: of each part, the numbers of the groups that compute it.
    """

    def __init__(self, groups: Sequence[Expr], stored: set[Expr]) -> None:
        self.roots: list[Expr] = []
        self.parts: list[dict[Expr, int]] = []
        self.readers: dict[Expr, set[int]] = {}
        self._stored = stored
        for root in groups:
            self._add(root)

    def growth(self, node: Expr) -> float:
        """Return how many times more elements than a part its readers have."""
        if node.num_elements <= 1:
            return 1.0
        most = max(self.roots[number].num_elements for number in self.readers[node])
        return max(1.0, most / node.num_elements)

    def store(self, node: Expr) -> None:
        """Take a part, and what nothing else reads, out of its groups; it becomes one itself."""
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
    """Return the nodes of a group from its root downwards, none below a stored one.

    With each, how often others of the group read it.
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
"""Tensors and numbers of a vertex of a map: the time to compile it grows with their square."""


def cut(groups: Sequence[Expr], stored: set[Expr]) -> list[Expr]:
    """Add to `stored` the parts of groups that read too much for one vertex, and return them."""
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
    """Return whether the rule stores a part for two readers with as many elements."""
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
    """Return c + l of the rule."""
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
    found: dict[Expr, None] = {}
    for root in roots:
        if root in found:
            continue
        found[root] = None
        waiting = [root]
        while waiting:
            for each in waiting.pop().operands:
                if each not in found:
                    found[each] = None
                    waiting.append(each)
    return list(found)


def interned(roots: Sequence[Expr]) -> list[Expr]:
    """Return expressions in which equal parts are one node, and so known by identity."""
    made: dict[Expr, Expr] = {}
    known: dict[tuple[object, ...], Expr] = {}
    waiting: list[tuple[Expr, bool]] = [(root, False) for root in reversed(roots)]
    while waiting:
        node, is_done = waiting.pop()
        if node in made:
            continue
        if not is_done:
            waiting.append((node, True))
            waiting += [(each, False) for each in reversed(node.operands)]
            continue
        operands = tuple(made[each] for each in node.operands)
        key = (*_identity(node), *map(_operand_key, operands))
        if key not in known:
            known[key] = with_operands(node, operands)
        made[node] = known[key]
    return [made[root] for root in roots]


def _operand_key(node: Expr) -> object:
    """Return what makes operands equal: the bits of a number, else the node itself.

    A number stays a node of its own: which numbers are equal does not change the structure.
    """
    if isinstance(node, Number):
        return node.element_type, node.value.tobytes()
    return id(node)


def _identity(node: Expr) -> tuple[object, ...]:
    """Return what makes two nodes of the same operands equal."""
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
    """Return expressions in which each node of a kind, with its operands changed, is changed."""
    if not any([isinstance(each, kind) for each in all_parts(roots)]):
        return list(roots)
    made: dict[Expr, Expr] = {}
    waiting = [(root, False) for root in reversed(roots)]
    while waiting:
        node, is_done = waiting.pop()
        if node in made:
            continue
        if is_done:
            same = with_operands(node, tuple([made[each] for each in node.operands]))
            made[node] = changed(same) if isinstance(same, kind) else same
        else:
            waiting.append((node, True))
            waiting += [(each, False) for each in reversed(node.operands)]
    return [made[root] for root in roots]


def with_operands(node: Expr, operands: tuple[Expr, ...]) -> Expr:
    """Return a node with other operands: itself, where they are the same."""
    if all(a is b for a, b in zip(operands, node.operands, strict=True)):
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
# Reductions along repeated dimensions: each element is read once.
#
#     max(x.broadcast(n, 0), 0)      max(x)
#     sum(x.broadcast(n, 0), 0)      sum(x) * n, of HALF in FLOAT and rounded once
#     prod(x.broadcast(n, 0), 0)     prod(x) ** n, by squares
#     argmax(x.broadcast(n, 0), 0)   argmax(x), the first of equal ones
#
# So neither time nor memory grows with n. A dimension counts as repeated, or a part of one, where
# all operands of the expression are.


class DimensionParts(NamedTuple):
    """The parts of a dimension, the outermost first.

    Attributes:
        sizes: of each.
        are_read: which have different elements; the others repeat them.
    """

    sizes: tuple[int, ...]
    are_read: tuple[bool, ...]

    @property
    def size(self) -> int:
        """Elements that differ."""
        return math.prod(compress(self.sizes, self.are_read))

    @property
    def times(self) -> int:
        """How often each is repeated."""
        return math.prod(self.sizes) // self.size

    @property
    def step(self) -> int:
        """From the first of one element to that of the next; 0 where that is not always as far."""
        read = [n for n, is_read in enumerate(self.are_read) if is_read]
        if read and len(read) <= read[-1] - read[0]:
            return 0
        return math.prod(self.sizes[read[-1] + 1 :]) if read else 1


def read_once(roots: Sequence[Expr]) -> list[Expr]:
    """Return expressions whose reductions read no element again along what they reduce."""
    return rebuilt(roots, Reduction, _once)


def distinct(tensor: Tensor) -> Tensor:
    """Return a view of what a tensor shows, without what it repeats along dimensions.

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
    """Return what a dimension of a tensor repeats, once."""
    before, after = tensor.shape[:d], tensor.shape[d + 1 :]
    split = tensor.reshape((*before, *parts.sizes, *after))
    for k, is_read in enumerate(parts.are_read):
        if not is_read:
            split = split.slice(0, 1, d + k)
    return split.reshape((*before, parts.size, *after))


def _once(node: Reduction) -> Expr:
    """Return a reduction, or its equivalent where elements are repeated."""
    operand = node.operands[0]
    if not operand.num_elements or node.how.startswith("arg"):  # positions of repeated ones differ
        return node
    leaves, dims = _leaves(operand), [each - operand.rank for each in node.dims or ()]
    along = _repeated(leaves, dims)
    if not along:
        return node
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


def first_of_repeated(operand: Expr, dims: Sequence[int]) -> tuple[Expr, list[int]]:
    """Return an expression that has the elements of another along dimensions once.

    With it the steps, for each of the dimensions, from one element to the next where they were. A
    dimension whose elements were not at even distances has all of them.
    """
    leaves, rank = _leaves(operand), operand.rank
    along = _repeated(leaves, [d - rank for d in dims]) if operand.num_elements else {}
    along = {d: parts for d, parts in along.items() if parts.step}
    read = _reading(operand, leaves, along) if along else operand
    return read, [along[d - rank].step if d - rank in along else 1 for d in dims]


def _repeated(leaves: Sequence[Expr], dims: Sequence[int]) -> dict[int, DimensionParts]:
    """Return the parts of those dimensions, counted from the end, that repeat elements."""
    found = {d: _common(leaves, d) for d in dims}
    return {d: parts for d, parts in found.items() if parts.times > 1}


def _leaves(root: Expr) -> list[Expr]:
    """Return the operands of an expression, tensors and stored parts."""
    found: list[Expr] = []
    seen, waiting = {root}, [root]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, Applied):
            found.append(node)
            continue
        waiting += [each for each in node.operands if each not in seen]
        seen.update(node.operands)
    return found


def _common(leaves: Sequence[Expr], d: int) -> DimensionParts:
    """Return the parts of a dimension, counted from the end; one where operands' differ."""
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
    """Return an expression that reads the first of repeated elements."""
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
# Positions used with tensors that are reduced, as two short tensors instead of one of their size.
#
#     iota(10,000,000)     high: 0, 3163, 6326, ...    each repeated 3163 times, as a view
#                          low:  0, 1, ... 3162        repeated 3162 times, as a view
#                          high + low, computed where it is read
#
# Positions by themselves are stored: each tile makes its own.


MOST_STORED = 256
"""Positions that are stored one by one."""


def split_positions(mappings: Mappings, roots: Sequence[Expr]) -> list[Expr]:
    """Return expressions whose reductions of tensors read long positions as two short ones."""
    seen: set[Expr] = set()
    nodes = (node for root in roots for node in new_parts(root, seen))
    if not any(isinstance(node, IotaExpr) and _is_long(node) for node in nodes):
        return list(roots)
    made: dict[tuple[Expr, bool], Expr] = {}
    waiting = [(root, False, False) for root in reversed(roots)]
    while waiting:
        node, is_reduced, is_done = waiting.pop()
        if (node, is_reduced) in made:
            continue
        below = is_reduced or (isinstance(node, Reduction) and _has_tensor(node.operands[0]))
        if not is_done:
            waiting.append((node, is_reduced, True))
            waiting += [(each, below, False) for each in reversed(node.operands)]
            continue
        operands = tuple(made[each, below] for each in node.operands)
        if is_reduced and isinstance(node, IotaExpr) and _is_long(node):
            made[node, is_reduced] = _split(mappings, node)
        else:
            made[node, is_reduced] = with_operands(node, operands)
    return [made[root, False] for root in roots]


def _has_tensor(operand: Expr) -> bool:
    """Return whether an operand of a reduction has the mapping of one of its tensors."""
    return any(tensor.shape == operand.shape for tensor in operand.leaves)


def _is_long(positions: IotaExpr) -> bool:
    """Return whether sums of two are exact, and there are many."""
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
# What does not depend on each other runs in shared compute sets.
#
#     sum(x) and sum(y)     tiles, tiles, final, final      by themselves
#                           tiles, final                    at once: half of the synchronisations
#
# All orders of steps follow from these rules:
#
#     a step runs in a level after those of the steps that make its inputs
#     a view of stored tensors is not a step: it is there when the last of these is
#     a copy of a view is a step: a root that is a view, and has a place of its own or shows tensors
#     that others may write, is copied in a level after the tensors that it shows
#     roots that write tensors are stored one after the other (`Lowering.lower`)


@frozen(eq=False)
class Root:
    """An expression that is stored, and where.

    Attributes:
        expr: the expression to store.
        out: the tensor that takes it, of its shape or one that it is broadcast to; None for a new
            one.
        mapping: of a new tensor, as in `graph.add_variable`; None for the rule of `ops.map`.
        name: of a new tensor and of its steps.
        at: the user's line.
    """

    expr: Expr
    out: Tensor | None = None
    mapping: Any = None
    name: str = ""
    at: SourceLocation | None = None


class IndependentSteps(Recorder):
    """The steps of tasks that do not depend on each other: the first ones of all, the second ...

    Args:
        around: what takes the steps when all tasks are recorded.
    """

    def __init__(self, around: Recorder) -> None:
        self.graph, self._around = around.graph, around
        self._levels: list[tuple[list[ComputeSet], list[Program]]] = []
        self._level = 0

    def begin(self) -> None:
        """Record another task."""
        self._level = 0

    def compute_set(self, name: str) -> ComputeSet:
        """Return the compute set that tasks share in their next step."""
        sets, _ = self._next()
        if not sets:
            sets.append(self.graph.add_compute_set(name))
        return sets[0]

    def add(self, program: Program) -> None:
        """Add another step of a task."""
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
    """A part of expressions that is stored.

    Attributes:
        expr: the part.
        number: of the root that it is, or of the first one that has it.
        is_root: whether it is one.
    """

    expr: Expr
    number: int
    is_root: bool


def levels(roots: Sequence[Expr], kept: set[Expr], copied: Sequence[bool]) -> list[list[Task]]:
    """Return the tasks in levels: a task depends only on tasks of earlier levels.

    Args:
        roots: the expressions that are stored.
        kept: the parts that are stored, each by steps of its own; a view by none.
        copied: of each root, whether it is a view that is copied, by a step.
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
                # A view takes no step: it is there as soon as what it shows is.
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
