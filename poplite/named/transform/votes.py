"""Which axis of a tensor should be its innermost: what reads it votes.

    reader                           votes for                           because
    a sum over some of the axes      the last that is summed             tiles have complete sums
    dot, as the left matrix          the last axis that is summed        its blocks are read by rows
    dot, as the right matrix         the last of its own axes            so are those of this one
    nmap over vertices               the last axis that a vertex sees    it reads rows

A vote has the weight of the elements that are read. Tensors that meet element by element vote
together, since one order for all of them needs no exchange; elementwise operations themselves do
not vote. Most votes win; a tie, or no vote, leaves the listed order.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from poplite.named.axes.axes import Axes
from poplite.named.axes.axis import Axis, AxisRoot
from poplite.named.axes.flattened import FlattenedAxis, leaves
from poplite.named.ops.elementwise import Elementwise, StopGradient
from poplite.named.ops.keeping import Gradient
from poplite.named.ops.lifting import VertexMap
from poplite.named.ops.losses import Softmax
from poplite.named.ops.op import Op, below
from poplite.named.ops.reducing import DotProduct, Extreme, Reduce
from poplite.named.ops.shaping import Broadcast, Regrouped, Relabelled
from poplite.named.ops.slicing import Slice
from poplite.named.ops.tensors import TensorOp


class Choice(NamedTuple):
    """What the votes come to.

    Attributes:
        inner: the axis that is the innermost; None for the listed order.
        why: the reason, for `explain()`.
    """

    inner: Axis | None
    why: str


Bases = dict[tuple[TensorOp, AxisRoot], None]
"""Tensors, each with its axis for one of what is computed of it."""


class Votes:
    """The votes of all that reads tensors.

    Args:
        roots: all operations that are computed.
        pairs: a tensor that is written, and what is written to it.
    """

    def __init__(self, roots: Sequence[Op], pairs: Sequence[tuple[Op, Op]] = ()) -> None:
        self._votes: dict[TensorOp, Counter[AxisRoot]] = {}
        self._leader: dict[TensorOp, TensorOp] = {}
        self._known: dict[tuple[Op, AxisRoot], Bases] = {}
        nodes = below([*roots, *(each for pair in pairs for each in pair)])
        for node in nodes:
            for op, root in wishes(node):
                self._vote(op, root)
        self._like: dict[Op, TensorOp | None] = {}
        for node in nodes:
            self._like[node] = self._met(node)
        for one, other in pairs:
            met = [self._like[one], self._like[other]]
            self._join([each for each in met if each is not None])
        self._sums: dict[TensorOp, Counter[AxisRoot]] = {}
        for each in [*self._leader]:
            self._sums.setdefault(self._of(each), Counter()).update(self._votes.get(each, {}))

    def choice(self, op: TensorOp) -> Choice:
        """Return which axis of a tensor is its innermost, and why."""
        votes = self._sums.get(self._of(op), Counter())
        listed = [(root, votes[root]) for root in op.axes.roots if votes[root]]
        if not listed:
            return Choice(None, "no votes")
        listed.sort(key=lambda each: -each[1])
        told = ", ".join(f"{root.shown} {count:,}" for root, count in listed)
        (best, most), *others = listed
        if others and others[0][1] == most:
            return Choice(None, f"a tie of votes: {told}")
        return Choice(op.axes.items[op.axes.roots.index(best)], f"votes: {told}")

    def _vote(self, op: Op, root: AxisRoot) -> None:
        weight = math.prod(length or 0 for length in op.axes.lengths)
        for base, own in self._bases(op, root):
            self._votes.setdefault(base, Counter())[own] += weight

    def _bases(self, op: Op, root: AxisRoot) -> Bases:
        """Return the tensors that an operation is computed of, element by element."""
        waiting = [(op, root)]
        while waiting:
            node, own = waiting[-1]
            if (node, own) in self._known:
                waiting.pop()
                continue
            read = _read(node, own)
            new = [each for each in read if each not in self._known]
            if new:
                waiting += new
                continue
            found: Bases = {(node, own): None} if isinstance(node, TensorOp) else {}
            if len(read) == 1:
                found = self._known[read[0]]
            else:
                for each in read:
                    found |= self._known[each]
            self._known[node, own] = found
        return self._known[op, root]

    def like(self, op: Op) -> TensorOp | None:
        """Return a tensor that an operation is of, element by element; None for none."""
        return self._like.get(op)

    def _met(self, node: Op) -> TensorOp | None:
        """Return a tensor that a node is of, element by element; those of its operands meet."""
        if isinstance(node, TensorOp):
            self._leader.setdefault(node, node)
            return node
        if not isinstance(node, Elementwise | StopGradient | Softmax | Gradient | Broadcast):
            return None
        wide = node.axes.root_set
        met = [self._like[each] for each in node.args if each.axes.root_set == wide]
        found = [each for each in met if each is not None]
        self._join(found)
        return found[0] if found else None

    def _join(self, tensors: list[TensorOp]) -> None:
        """Let tensors vote together."""
        for each in tensors[1:]:
            self._leader[self._of(each)] = self._of(tensors[0])

    def _of(self, op: TensorOp) -> TensorOp:
        """Return the one of those that vote together which stands for all."""
        leader = op
        while (above := self._leader.get(leader, leader)) is not leader:
            leader = above
        while op is not leader:  # the way is shorter next time
            self._leader[op], op = leader, self._leader[op]
        return leader


def wishes(node: Op) -> Iterator[tuple[Op, AxisRoot]]:
    """Yield the operands of a node for which it wants an axis to be the innermost."""
    match node:
        case Reduce() | Extreme():
            (x,) = node.args
            if 0 < len(node.reduced) < x.rank:
                yield x, node.reduced.roots[-1]
        case DotProduct():
            x, y = node.args
            own = y.axes - x.axes
            if node.summed.items and own.items and (x.axes - y.axes).items:
                yield x, node.summed.roots[-1]
                yield y, own.roots[-1]
        case VertexMap():
            for x in node.args:
                seen = [root for root in node.seen.roots if root in x.axes.root_set]
                if seen:
                    yield x, seen[-1]


def _read(node: Op, own: AxisRoot) -> list[tuple[Op, AxisRoot]]:
    """Return the operands that an operation reads element by element, and their axis for one."""
    match node:
        case Elementwise() | StopGradient() | Softmax() | Gradient() | Broadcast() | Slice():
            return [(each, own) for each in node.args if own in each.axes.root_set]
        case Relabelled():
            (x,) = node.args
            return [(x, x.axes.roots[node.axes.roots.index(own)])]
        case Regrouped():
            (x,) = node.args
            last = _last(node.axes, own)
            return [(x, each.root) for each in x.axes if _last(x.axes, each.root) is last]
    return []


def _last(axes: Axes, root: AxisRoot) -> AxisRoot:
    """Return the innermost part of an axis."""
    axis = axes.items[axes.roots.index(root)]
    if not isinstance(axis, FlattenedAxis) or not axis.axes.items:
        return root
    return leaves(axis.axes)[-1].root
