"""Named operations as expressions of `poplite.ops`, whose leaves are views of tensors.

Each expression is requested by *slots*: its dimensions are in the order of the slots, so axes are
paired here, not later by position. Order, parts and broadcasts are passed down to the leaves,
where they are views; above a result that has to be stored (a sum, a product), they are views of its
variable.

    x (N, H) - m (H)     slots (N, H)     Leaf(x) - Leaf(m[None, :])
    sum(x, [N]) * y (W, H)                View(Reduction(x in (H, N)), [1, H]) * Leaf(y)

A slot is a dimension of the requested result: the root of an axis, or None for a size of 1.

    tensor (N, H, W)   slots (W, None, N)   parts {H: 2}      tensor[:, 2].dim_shuffle, reshaped
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

import numpy as np

from poplite import ops
from poplite.expr.build import apply, as_expr, cast, iota, reduction, typed_number
from poplite.expr.tree import Applied, ElementClass, Expr, Leaf, Number, Weak, viewed
from poplite.frozen import frozen
from poplite.graph.tensor.concat import concat
from poplite.graph.tensor.tensor import Tensor
from poplite.named import shaping
from poplite.named.along_axes import (
    AddRows,
    Count,
    DotProduct,
    Extreme,
    Reduce,
    Softmax,
    Take,
    VertexMap,
    num_elements_of,
)
from poplite.named.axes import Axes, AxisRoot, check_lengths, some
from poplite.named.elementwise import (
    AxisPositions,
    Elementwise,
    NumberOp,
    StopGradient,
    check_no_outer,
)
from poplite.named.op import Op
from poplite.named.tensors import Gradient, Keep, PlacedByHint, TensorOp
from poplite.ops.fuse.storing import is_worth_storing
from poplite.types import FLOAT, INT

if TYPE_CHECKING:
    from poplite.named.programs import ItemRecorder
    from poplite.named.transformer import Transformer

Slots = tuple[AxisRoot | None, ...]

Parts = dict[AxisRoot, range | int]
"""The indices taken from axes, each a range or a single index; axes taken whole are not listed."""


@frozen
class TensorFrame:
    """A view of a tensor.

    Attributes:
        shape: the tensor's dimensions, one for each axis; None to keep its own.
        index: the part of each: `(start, stop, step)`, or a number, which drops the dimension.
        order: the order of the remaining dimensions.
        sizes: the shape of the view, including dimensions of size 1.
    """

    shape: tuple[int, ...] | None
    index: tuple[tuple[int | None, int | None, int] | int, ...]
    order: tuple[int, ...]
    sizes: tuple[int, ...]

    def __call__(self, tensor: Tensor) -> Tensor:
        """Return the view."""
        view = tensor if self.shape is None else tensor.reshape(self.shape)
        index = tuple(slice(*each) if isinstance(each, tuple) else each for each in self.index)
        if any(each != slice(None, None, 1) for each in index):
            view = view[index]
        if self.order != tuple(range(len(self.order))):
            view = view.dim_shuffle(list(self.order))
        return view if view.shape == self.sizes else view.reshape(self.sizes)


@frozen
class JoinedFrames:
    """Tensors concatenated along one dimension.

    Attributes:
        dim: the dimension.
    """

    dim: int

    def __call__(self, *tensors: Tensor) -> Tensor:
        """Return the view."""
        return concat(tensors, dim=self.dim)


@frozen
class BroadcastFrame:
    """A tensor repeated along dimensions of size 1.

    Attributes:
        sizes: the shape of the view.
    """

    sizes: tuple[int, ...]

    def __call__(self, tensor: Tensor) -> Tensor:
        """Return the view."""
        view = tensor
        for dim, size in enumerate(self.sizes):
            if view.shape[dim] != size:
                assert view.shape[dim] == 1, (tensor, self.sizes)
                view = view.broadcast(size, dim)
        return view


def num_taken(root: AxisRoot, axes: Axes, parts: Parts) -> int:
    """Return the number of indices taken from an axis."""
    taken = parts.get(root)
    if isinstance(taken, range):
        return len(taken)
    axis = axes.items[axes.roots.index(root)]
    return axis.known_length("storing a tensor")


def frame(
    roots: tuple[AxisRoot, ...], lengths: tuple[int, ...], slots: Slots, parts: Parts
) -> TensorFrame:
    """Return the view of a tensor whose dimensions are axes; slots for other axes have size 1."""
    index: list[tuple[int | None, int | None, int] | int] = []
    left: list[AxisRoot] = []
    sizes: dict[AxisRoot, int] = {}
    for root, length in zip(roots, lengths, strict=True):
        taken = parts.get(root)
        if isinstance(taken, int):
            index.append(taken)
            continue
        left.append(root)
        sizes[root] = length if taken is None else len(taken)
        index.append((None, None, 1) if taken is None else _ends(taken))
    order = tuple(left.index(root) for root in slots if root is not None and root in sizes)
    assert len(order) == len(left), (roots, slots, parts)
    shape = tuple(1 if root is None else sizes.get(root, 1) for root in slots)
    return TensorFrame(None, tuple(index), order, shape)


def _ends(taken: range) -> tuple[int | None, int | None, int]:
    """Return a range as the bounds of a slice, which may not be negative."""
    if not len(taken):
        return 0, 0, 1
    stop = taken[-1] + (1 if taken.step > 0 else -1)
    return taken.start, None if stop < 0 else stop, taken.step


def composed(part: slice | int, length: int, taken: range | int | None) -> range | int:
    """Return the part of an axis that results from taking a part of a part."""
    if isinstance(part, int):
        return part
    whole = range(length)[part]
    if taken is None:
        return whole
    return whole[taken] if isinstance(taken, int) else _of(whole, taken)


def _of(whole: range, taken: range) -> range:
    if not len(taken):
        return range(0)
    step = whole.step * taken.step
    first = whole[taken[0]]
    return range(first, first + step * len(taken), step)


# -- expressions -----------------------------------------------------------------------------------


Asked = Generator[tuple[Op, Slots, Parts, bool], Expr, Expr]
"""A generator that requests operands, by slots and parts, broadcast or not."""


_FOLDED: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "negative": np.negative,
}
"""Operations on numbers that are computed here, rounded as a vertex would round."""


class LoweredExpressions:
    """The expressions of operations, in the current state of a graph.

    Args:
        device: holds the tensors.
        recorder: stores what needs its own tensor: operands of `ng.place`, outputs of vertices in
            `ng.nmap`, rows of a table by index.
    """

    def __init__(self, device: Transformer, recorder: ItemRecorder) -> None:
        self._device, self._recorder = device, recorder
        self._keeps_all = device.fuse == "none"
        self.remembered: dict[Op, Tensor] = {}
        """Results that a computation has stored, in the order of their axes."""
        self._known: dict[object, Expr] = {}
        self._now: dict[Op, Tensor] = {}  # stored for readers of the current state
        self._first: dict[Op, tuple[Slots, object]] = {}  # slots of the first expression, its key

    def forget(self) -> None:
        """Discard all expressions except the remembered ones, because a tensor changes."""
        self._known, self._now, self._first = {}, {}, {}

    def all_of(self, op: Op, axes: Axes | None = None) -> Expr:
        """Return an operation with all elements, in the order of its axes or of the given ones."""
        listed = op.axes if axes is None else axes
        if axes is not None and not op.axes.root_set >= axes.root_set:
            line = op.line
            op = shaping.Broadcast(axes, op.dtype, (op,))
            op.line = line
        found = self._run(op, listed.roots, {}, True)
        return self._leaf(found) if isinstance(found, Weak | Number) else found

    # -- the work, without recursion ---------------------------------------------------------------

    def _run(self, op: Op, slots: Slots, parts: Parts, is_full: bool) -> Expr:
        root = self._key(op, slots, parts, is_full)
        waiting: list[tuple[object, Op, Asked]] = [
            (root, op, self._work(op, slots, parts, is_full))
        ]
        answer: Expr | None = None
        while waiting:
            key, node, work = waiting[-1]
            try:
                asked = work.send(answer) if answer is not None else next(work)
            except StopIteration as done:
                waiting.pop()
                answer = self._known[key] = done.value
                _made_for(node, done.value)
                continue
            wanted = self._key(*asked)
            answer = self._known.get(wanted)
            if answer is None:
                waiting.append((wanted, asked[0], self._work(*asked)))
        assert answer is not None
        return answer

    @staticmethod
    def _key(op: Op, slots: Slots, parts: Parts, is_full: bool) -> object:
        return op, slots, tuple(parts.items()), is_full

    def _work(self, op: Op, slots: Slots, parts: Parts, is_full: bool) -> Asked:
        own = {root: part for root, part in parts.items() if root in op.axes.root_set}
        if is_full:
            made = yield op, slots, own, False
            return self._broadcast_slots(made, op.axes, slots, own)
        stored = self.remembered.get(op, self._now.get(op))
        if stored is not None:
            return self._framed(Leaf(stored), op.axes, slots, own)
        if isinstance(op, Elementwise | Reduce | Extreme | DotProduct):
            again = self._turned(op, self._key(op, slots, parts, is_full), slots, own)
            if again is not None:
                return again
        match op:
            case TensorOp():
                return self._framed(Leaf(self._device.tensor(op)), op.axes, slots, own)
            case NumberOp():
                return as_expr(op.value, "a number")
            case Count():
                return typed_number(num_elements_of(op.counted, "mean"), op.element_type, "mean")
            case AxisPositions():
                return self._positions(op, slots, own)
            case Keep():
                made = yield op.args[0], op.axes.roots, {}, True
                return self._framed(self._kept(made), op.axes, slots, own)
            case PlacedByHint():
                made = yield op.args[0], op.axes.roots, {}, True
                self._now[op] = self._recorder.placed(op, self._leaf(made))
                return self._framed(Leaf(self._now[op]), op.axes, slots, own)
            case VertexMap():
                return (yield from self._by_vertices(op, slots, own))
            case Take() | AddRows():
                return (yield from self._numbered(op, slots, own))
            case StopGradient() | Softmax() | Gradient() | shaping.Broadcast():
                (x,) = op.args
                check_lengths(op.called, x.axes, op.axes, (x, op))
                made = yield x, slots, own, False
                return made
            case Elementwise():
                return (yield from self._elementwise(op, slots, own))
            case shaping.Relabelled():
                return (yield from self._relabelled(op, slots, own))
            case shaping.Slice():
                return (yield from self._sliced(op, slots, own))
            case shaping.Regrouped():
                return (yield from self._regrouped(op, slots, own))
            case Reduce() | Extreme():
                return (yield from self._reduced(op, slots, own))
            case DotProduct():
                return (yield from self._dot(op, slots, own))
            case shaping.Concat():
                return (yield from self._joined(op, slots, own))
        raise AssertionError(type(op))

    def _turned(self, op: Op, key: object, slots: Slots, parts: Parts) -> Expr | None:
        """Return a view of an expression in a new order, if recomputing it would take longer."""
        if op not in self._first:
            if not parts:
                self._first[op] = slots, key
            return None
        first, known = self._first[op]
        made = self._known.get(known)
        if made is None or isinstance(made, Weak | Number):
            return None
        if isinstance(made, Applied) and not is_worth_storing(made):
            return None
        return self._turned_view(made, op.axes, first, slots, parts)

    def _turned_view(
        self, made: Expr, axes: Axes, first: Slots, slots: Slots, parts: Parts
    ) -> Expr:
        """Return an expression with the given slots; dimensions of size 1 are not broadcast."""
        shape = made.shape or (1,) * len(first)  # an expression of numbers has no dimensions
        sizes = {root: size for root, size in zip(first, shape, strict=True) if root}
        roots = tuple(root for root in first if root in axes.root_set)
        taken: Parts = {}
        for root, part in parts.items():
            is_short = sizes[root] == 1 != num_taken(root, axes, {})
            if isinstance(part, int):
                taken[root] = 0 if is_short else part
            elif not is_short:
                taken[root] = part
        lengths = tuple(sizes[root] for root in roots)
        flat = self._reshaped(made, lengths)
        return self._viewed(flat, frame(roots, lengths, slots, taken))

    # -- elementwise operations --------------------------------------------------------------------

    def _elementwise(self, op: Elementwise, slots: Slots, parts: Parts) -> Asked:
        operands: list[Expr] = []
        for each in op.args:
            operands.append((yield each, slots, parts, False))
        for place, one in enumerate(op.args):
            for other in op.args[place + 1 :]:
                check_lengths(op.called, one.axes, other.axes, (one, other))
                if self._device.is_strict:
                    check_no_outer(op.called, one, one.axes, other)
        if all(isinstance(each, Weak | Number) for each in operands):
            return self._of_numbers(op, operands)
        if op.operation == "cast":
            return cast(operands[0], op.element_type)
        if op.operation == "select" and all(isinstance(each, Weak) for each in operands[:2]):
            operands[0] = cast(operands[0], op.element_type)
        made = apply(op.operation, *operands)
        if all(made is not each for each in operands):  # `x ** 1` is x itself
            made.location, made.label = op.line, op.written
        return self._kept(made) if self._keeps_all else made

    def _of_numbers(self, op: Elementwise, operands: list[Expr]) -> Expr:
        """Return an operation on numbers: a number again, if one of the four rules applies."""
        element = op.element_type
        if op.operation in _FOLDED and element.is_floating_point:
            values = [
                np.float32(each.value) for each in operands if isinstance(each, Weak | Number)
            ]
            with np.errstate(all="ignore"):
                found = element.dtype.type(_FOLDED[op.operation](*values))
            if np.isfinite(found):
                return typed_number(found.item(), element, op.operation)
        if op.operation == "cast" and isinstance(operands[0], Weak):
            return cast(operands[0], element)
        first = self._leaf(operands[0], op.args[0].element_type)
        if op.operation == "cast":
            return cast(first, element)
        return apply(op.operation, first, *operands[1:])

    def _positions(self, op: AxisPositions, slots: Slots, parts: Parts) -> Expr:
        (root,) = op.axes.roots
        taken = parts.get(root)
        if isinstance(taken, int):
            return typed_number(taken, INT, "positions")
        length = num_taken(root, op.axes, parts)
        shape = tuple(length if each is root else 1 for each in slots)
        if taken is None or taken.step == 1:
            return iota(shape, INT, 0 if taken is None else taken.start)
        scaled = apply("multiply", iota(shape, INT), taken.step)
        return apply("add", scaled, taken.start)

    # -- other axes --------------------------------------------------------------------------------

    def _relabelled(self, op: shaping.Relabelled, slots: Slots, parts: Parts) -> Asked:
        (x,) = op.args
        for own, new in zip(x.axes, op.axes, strict=True):
            if own.known_length("cast_axes") != new.known_length("cast_axes"):
                check_lengths("cast_axes", x.axes, some([own.resized(new.length or 0)]))
        other = dict(zip(op.axes.roots, x.axes.roots, strict=True))
        made = yield (
            x,
            tuple(None if root is None else other.get(root) for root in slots),
            {other[root]: part for root, part in parts.items()},
            False,
        )
        return made

    def _sliced(self, op: shaping.Slice, slots: Slots, parts: Parts) -> Asked:
        (x,) = op.args
        inner: Parts = {}
        for axis in x.axes:
            root = axis.root
            part = op.parts.get(root)
            if part is None:
                if root in parts:
                    inner[root] = parts[root]
                continue
            inner[root] = composed(part, axis.known_length("slice"), parts.get(root))
        made = yield x, slots, inner, False
        return made

    def _regrouped(self, op: shaping.Regrouped, slots: Slots, parts: Parts) -> Asked:
        (x,) = op.args
        if isinstance(x, Elementwise) and x not in self.remembered and not self._keeps_all:
            args = tuple(
                shaping.regrouped(shaping.as_flattened(_broadcast(each, x.axes), x.axes), op.axes)
                if each.axes.items
                else each
                for each in x.args
            )
            other = Elementwise(x.operation, args, op.axes, x.dtype)
            other.line, other.written = x.line, x.written
            made = yield other, slots, parts, False
            return made
        made = yield x, x.axes.roots, {}, True
        sizes = tuple(axis.known_length("flatten") for axis in op.axes)
        flat = self._viewed(self._leaf(made), TensorFrame(sizes, _all(sizes), _same(sizes), sizes))
        return self._framed(flat, op.axes, slots, parts)

    def _joined(self, op: shaping.Concat, slots: Slots, parts: Parts) -> Asked:
        made: list[Expr] = []
        for each in op.args:
            part = yield each, op.axes.roots, {}, True
            made.append(self._storable(self._leaf(part)))
        dim = op.axes.roots.index(op.along.root)
        sizes = list(made[0].shape)
        sizes[dim] = sum(each.shape[dim] for each in made)
        whole = viewed(made, JoinedFrames(dim), tuple(sizes), made[0].element_type)
        return self._framed(whole, op.axes, slots, parts)

    def _by_vertices(self, op: VertexMap, slots: Slots, parts: Parts) -> Asked:
        others = tuple(root for root in op.axes.roots if root not in op.inner.root_set)
        sizes = tuple(op.axes.items[n].known_length("nmap") for n in range(len(others)))
        rows: list[Expr] = []
        for x in op.args:
            seen = tuple(root for root in op.seen.roots if root in x.axes.root_set)
            part = yield x, (*others, *seen), {}, True
            part = self._storable(self._leaf(part))
            wide = self._broadcast_to(part, (*sizes, *part.shape[len(sizes) :]))
            length = part.shape[len(sizes) :]
            flat = (math.prod(sizes), *([math.prod(length)] if seen else []))
            rows.append(self._reshaped(wide, flat))
        self._now[op] = self._recorder.launched(op, rows)
        return self._framed(Leaf(self._now[op]), op.axes, slots, parts)

    def _numbered(self, op: Take | AddRows, slots: Slots, parts: Parts) -> Asked:
        read: list[Expr] = []
        for x, order in zip(op.args, op.orders, strict=True):
            part = yield x, order, {}, True
            read.append(self._storable(self._leaf(part)))
        self._now[op] = self._recorder.numbered(op, read)
        return self._framed(Leaf(self._now[op]), op.axes, slots, parts)

    # -- sums --------------------------------------------------------------------------------------

    def _reduced(self, op: Reduce | Extreme, slots: Slots, parts: Parts) -> Asked:
        (x,) = op.args
        kept = tuple(
            root for root in slots if root in op.axes.root_set and root not in _dropped(parts)
        )
        made = yield x, (*kept, *op.reduced.roots), parts, True
        made = self._leaf(made)
        dims = tuple(range(len(kept), len(kept) + len(op.reduced)))
        if isinstance(op, Extreme):
            found = ops.argmax if op.how == "argmax" else ops.argmin
            total: Expr = cast(found(made, dims[0]), INT)
        else:
            total = reduction(op.how, made, dims, False)
        total.location, total.label = op.line, op.written
        return self._slotted(total, kept, slots)

    def _dot(self, op: DotProduct, slots: Slots, parts: Parts) -> Asked:
        x, y = op.args
        check_lengths("dot", x.axes, y.axes, (x, y))
        summed = op.summed.roots
        lengths = {
            root: num_taken(root, side.axes, parts) for side in (y, x) for root in side.axes.roots
        }
        gone = _dropped(parts)
        left = [r for r in slots if r in x.axes.root_set - y.axes.root_set and r not in gone]
        right = [r for r in slots if r in y.axes.root_set - x.axes.root_set and r not in gone]
        batch = [
            r
            for r in slots
            if r in x.axes.root_set and r in y.axes.root_set and r not in summed and r not in gone
        ]
        is_whole = op.element_type.is_floating_point
        size = math.prod(lengths[root] for root in summed)
        if not (left and right) or not is_whole or not size:
            kept = tuple(root for root in slots if root in {*left, *right, *batch})
            inner = (*kept, *summed)
            one = yield x, inner, parts, False
            other = yield y, inner, parts, False
            wide = self._broadcast_to(
                apply("multiply", one, other), tuple(lengths[root] for root in inner)
            )
            dims = tuple(range(len(kept), len(inner)))
            total = reduction("add", wide, dims, False)
            total.location = op.line
            return self._slotted(total, kept, slots)
        is_swapped = not batch and slots.index(right[-1]) < slots.index(left[0])
        if is_swapped:
            x, y, left, right = y, x, right, left
        one = yield x, (*batch, *left, *summed), parts, True
        other = yield y, (*batch, *summed, *right), parts, True
        b, m, n = (tuple(lengths[root] for root in each) for each in (batch, left, right))
        first = (math.prod(b),) if batch else ()
        made: Expr = ops.matmul(
            self._reshaped(one, (*first, math.prod(m), size)),
            self._reshaped(other, (*first, size, math.prod(n))),
        )
        made.location = op.line
        have = (*batch, *left, *right)
        wanted = tuple(root for root in slots if root in have)
        sizes = (*b, *m, *n)
        if (made.shape, have) != (sizes, wanted):
            order = tuple(have.index(root) for root in wanted)
            ordered = tuple(lengths[root] for root in wanted)
            made = self._viewed(made, TensorFrame(sizes, _all(sizes), order, ordered))
        return self._slotted(made, wanted, slots)

    # -- views of stored results -------------------------------------------------------------------

    def _framed(self, made: Expr, axes: Axes, slots: Slots, parts: Parts) -> Expr:
        return self._viewed(made, frame(axes.roots, made.shape, slots, parts))

    def _slotted(self, made: Expr, roots: tuple[AxisRoot | None, ...], slots: Slots) -> Expr:
        """Return dimensions in the order of slots, with dimensions of size 1 between them."""
        sizes = dict(zip(roots, made.shape, strict=True))
        shape = tuple(1 if root is None else sizes.get(root, 1) for root in slots)
        return self._reshaped(made, shape)

    def _reshaped(self, made: Expr, shape: tuple[int, ...]) -> Expr:
        if made.shape == shape:
            return made
        return self._viewed(made, TensorFrame(shape, _all(shape), _same(shape), shape))

    def _viewed(self, made: Expr, how: TensorFrame) -> Expr:
        is_same = how.sizes == made.shape and how.order == _same(how.sizes)
        if is_same and how.index == _all(how.sizes) and how.shape in (None, made.shape):
            return made
        return viewed([self._storable(made)], how, how.sizes, made.element_type)

    def _storable(self, made: Expr) -> Expr:
        return self._leaf(made) if isinstance(made, Weak | Number) else made

    def _kept(self, made: Expr) -> Expr:
        """Return an expression that is always stored."""
        if not isinstance(made, Applied):
            return made
        shape = made.shape
        return viewed(
            [made], TensorFrame(None, _all(shape), _same(shape), shape), shape, made.element_type
        )

    def _broadcast_slots(self, made: Expr, axes: Axes, slots: Slots, parts: Parts) -> Expr:
        """Return an expression with all elements along its axes."""
        gone = _dropped(parts)
        sizes = tuple(
            num_taken(root, axes, parts)
            if root is not None and root in axes.root_set and root not in gone
            else 1
            for root in slots
        )
        return self._broadcast_to(made, sizes)

    def _broadcast_to(self, made: Expr, sizes: tuple[int, ...]) -> Expr:
        if isinstance(made, Weak | Number):
            if not sizes:
                return made
            made = self._leaf(made)
        if made.shape == sizes:
            return made
        made = self._reshaped(made, (1,) * (len(sizes) - made.rank) + made.shape)
        return viewed([made], BroadcastFrame(sizes), sizes, made.element_type)

    def _leaf(self, made: Expr, element: ElementClass = FLOAT) -> Expr:
        """Return a number as a constant tensor; anything else unchanged."""
        if isinstance(made, Weak):
            made = typed_number(
                made.value,
                INT if isinstance(made.value, int) and element is INT else element,
                "a number",
            )
        if not isinstance(made, Number):
            return made
        constant = self._device.graph.add_constant(
            made.element_type, (), made.value.item(), mapping=0
        )
        return Leaf(constant)


def _made_for(op: Op, made: Expr) -> None:
    """Set the operation to which the new nodes of an expression belong."""
    waiting = [made]
    while waiting:
        node = waiting.pop()
        if node.origin is None and not isinstance(node, Weak | Number):
            node.origin = op
            waiting += node.operands


def _dropped(parts: Parts) -> set[AxisRoot]:
    """Return the axes from which a single index is taken."""
    return {root for root, part in parts.items() if isinstance(part, int)}


def _all(sizes: tuple[int, ...]) -> tuple[tuple[None, None, int], ...]:
    return ((None, None, 1),) * len(sizes)


def _same(sizes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(range(len(sizes)))


def _broadcast(x: Op, axes: Axes) -> Op:
    return x if x.axes == axes else shaping.Broadcast(axes, x.dtype, (x,))
