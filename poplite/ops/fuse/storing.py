"""Which parts of expressions are stored, and which are computed again where they are read.

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

from collections.abc import Callable, Sequence
from typing import NamedTuple

from poplite.expr.tree import (
    Applied,
    Contraction,
    Expr,
    Leaf,
    Number,
    Reduction,
    ViewExpr,
)
from poplite.ops.fuse.pricing import slots_of
from poplite.ops.fuse.straight import in_order

OWN_STEP = 2
"""Slots for each vector that is stored, beside computing it: an assumption, no vertex has them.

They stand for the start of a step of its own and for the memory of what it stores, which have no
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
    """Add to `stored` what is stored besides, and return what was decided of each part.

    `groups` are the roots and the operands of reductions: each is computed by one class of
    vertices.
    """
    made: list[Decision] = []
    decided: set[Expr] = set()
    found = _Groups(groups, stored)
    # Outer parts come first: what is stored takes its own parts along, as a group of its own.
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
    """Tell whether the rule stores a part for two readers with as many elements."""
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


def rebuilt(roots: Sequence[Expr], changed: Callable[[Expr], Expr]) -> list[Expr]:
    """Return expressions in which each node, with operands that were changed, is changed."""
    made: dict[Expr, Expr] = {}
    waiting = [(root, False) for root in reversed(roots)]
    while waiting:
        node, is_done = waiting.pop()
        if node in made:
            continue
        if is_done:
            made[node] = changed(with_operands(node, tuple([made[each] for each in node.operands])))
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
