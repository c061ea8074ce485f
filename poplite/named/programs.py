"""The items of a computation (expressions, and effects without a value), recorded as steps.

Effects are:

    assign(l, r)        r in the current state, written to l
    sequential(items)   one after another; the value is that of the last
    parallel(items)     all right sides in the initial state, then all writes
    repeat(n, item)     n times

For example, this list of items is recorded as two steps:

    [loss, parallel([assign(w, w - rate * dw), assign(b, b - rate * db)])]

    1   loss, and the sums in dw and db; what to store is decided for all of them together
    2   the writes, which read these sums

An expression that is an item keeps its value: it is stored, and later items read that value.

Source: `Sequential` and `Parallel` of nGraph's `op_graph`; the rules are in docs/named.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from types import EllipsisType
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeVar

import numpy as np

from poplite import ops
from poplite.errors import AxisError, AxisLengthError, ElementTypeError, ReadOnlyError
from poplite.expr.tree import Applied, Expr, Leaf
from poplite.graph.compute_sets.compute_set import ComputeSet
from poplite.graph.space import Variable
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tile_mapping import TileMapping
from poplite.named.along_axes import AddRows, Take, VertexMap
from poplite.named.axes import Axes, check_lengths, missing
from poplite.named.changed_axes import spelled
from poplite.named.elementwise import NumberOp, check_number
from poplite.named.lowering import LoweredExpressions
from poplite.named.op import Op, as_op, makes, nodes_below
from poplite.named.shaping import Broadcast, Regrouped, Relabelled, Slice, by_key
from poplite.named.tensors import Gradient, PlacedByHint, TensorOp, constant
from poplite.ops import Root
from poplite.ops.fuse.recipe import in_order
from poplite.ops.fuse.storing import replaced
from poplite.program import Execute
from poplite.program.recording import innermost
from poplite.source import SourceLocation, here, lines_as
from poplite.text import clipped, integer_or_none, of_type
from poplite.view.aliases import ViewIndex
from poplite.walks import top_down

if TYPE_CHECKING:
    from poplite.named.transformer import Transformer


@dataclass(eq=False, repr=False, slots=True)
class Effect:
    """A side effect of a computation; it cannot be an operand.

    Attributes:
        line: the user's line that created it.
    """

    line: SourceLocation = field(init=False, default_factory=here)
    shown_type: ClassVar[str] = "effect"
    is_effect: ClassVar[bool] = True

    def _operand(self, other: object = None) -> NoReturn:
        raise AxisError(
            f"{self!r} changes tensors, and has no value",
            found=f"it was made at {self.line}",
            fix="pass it to a computation, or put it in ng.sequential",
        )

    if not TYPE_CHECKING:  # otherwise a type checker would accept these
        __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _operand
        __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _operand
        __pow__ = __rpow__ = __matmul__ = __rmatmul__ = __getitem__ = _operand
        __lt__ = __le__ = __gt__ = __ge__ = __neg__ = __abs__ = __bool__ = _operand


Item = Op | Effect


@dataclass(eq=False, repr=False, slots=True)
class Assign(Effect):
    """A value that is written to a tensor.

    Attributes:
        target: a tensor with storage, or a view of one.
        value: the value; the target has all of its axes.
    """

    target: Op
    value: Op

    def __repr__(self) -> str:
        return f"<assign to {self.target.text}>"


@dataclass(eq=False, repr=False, slots=True)
class Sequential(Effect):
    """Items that are executed one after another."""

    items: tuple[Item, ...]

    def __repr__(self) -> str:
        return f"<sequential of {len(self.items)} items>"


@dataclass(eq=False, repr=False, slots=True)
class Parallel(Effect):
    """Assignments that all read the state before any of them writes."""

    assigns: tuple[Assign, ...]

    def __repr__(self) -> str:
        return f"<parallel of {len(self.assigns)} assignments>"


@dataclass(eq=False, repr=False, slots=True)
class RepeatEffect(Effect):
    """An item that is repeated.

    Attributes:
        count: the number of repetitions.
        item: the item to repeat.
    """

    count: int
    item: Item

    def __repr__(self) -> str:
        return f"<repeat {self.count} times>"


OPEN: list[dict[int, Effect]] = []
"""The effects in the open blocks of `ng.steps()`, by identity, the innermost block last."""

E = TypeVar("E", bound=Effect)


def record_effect(effect: E, parts: Iterable[Any] = ()) -> E:
    """Return an effect, added to the innermost open block as an item that replaces its parts."""
    if OPEN:
        for part in parts:
            for block in OPEN:
                block.pop(id(part), None)
        OPEN[-1][id(effect)] = effect
    return effect


def assign(target: Op, value: Any) -> Assign:
    """Return the effect that writes a value to a tensor.

    Args:
        target: a variable, a persistent tensor, a placeholder, or a view of one.
        value: a tensor, a number, or an array with a dimension for each axis of the target. The
            target has all axes of the tensor, in any order; the tensor is repeated along the other
            axes.

    Raises:
        ReadOnlyError: for a target without storage, or a constant.
        MissingAxisError: for an axis of the value that the target lacks.
        AxisLengthError: for an axis with two lengths.
        ElementTypeError: if the target is not a tensor, or its element type differs or cannot hold
            the number.

    >>> import poplite.named as ng
    >>> w = ng.variable([ng.make_axis(3, "H")], name="w")
    >>> assign(w, w - 0.5)
    <assign to 'w' (H:3), variable made at ...>
    """
    if not isinstance(target, Op):
        raise ElementTypeError(
            f"assign: cannot write to {clipped(target)}",
            found=of_type(target),
            fix="pass a tensor from ng.variable or ng.persistent_tensor, and then its new value",
        )
    base = base_of(target)
    if base is None or base.read_only:
        what = "is a constant" if base is not None else "is computed, and has no storage"
        raise ReadOnlyError(
            f"assign: '{target.name or target.called}' {what}",
            found=target.text,
            fix=f"assign to an ng.variable([{', '.join(target.axes.names)}]), or to an "
            "ng.persistent_tensor with these axes",
        )
    if isinstance(value, np.ndarray) and value.ndim == target.rank:
        if None not in target.axes.lengths and value.shape != target.axes.lengths:
            raise AxisLengthError(
                f"assign: the array has shape {value.shape}, but the axes are {target.axes}",
                found=target.text,
                fix=f"pass an array of shape {target.axes.lengths}, or a number",
            )
        value = constant(value, target.axes, target.dtype)
    found = as_op(value, "assign")
    for axis in found.axes:
        if axis not in target.axes:
            texts = f"{target.text}\n{found.text}"
            raise missing("assign: axes of the target", axis, target.axes, texts)
    check_lengths("assign", target.axes, found.axes, (target, found))
    if isinstance(found, NumberOp):
        check_number("assign", found, target, target.element_type)
    elif found.dtype is not None and found.dtype is not target.dtype:
        raise ElementTypeError(
            f"assign: cannot assign {found.dtype!r} to {target.dtype!r}",
            found=f"{target.text}\n{found.text}",
            fix=f"ng.cast({spelled(found)}, pl.{target.dtype!r})",
        )
    return record_effect(Assign(target, found))


def base_of(target: Op) -> TensorOp | None:
    """Return the tensor with storage that a view shows; None for a computed tensor."""
    while isinstance(target, Slice | Relabelled | Regrouped | Broadcast):
        (inner,) = target.args
        if isinstance(target, Broadcast) and not inner.axes.is_equal_set(target.axes):
            return None  # it repeats elements
        target = inner
    return target if isinstance(target, TensorOp) else None


def sequential(items: Sequence[Any]) -> Sequential:
    """Return the effect of executing items in order; its value is that of the last item.

    Args:
        items: tensors and effects. A tensor is computed where it first occurs, and keeps that
            value later.

    Raises:
        AxisError: if items is not a list.

    >>> import poplite.named as ng
    >>> x = ng.variable([ng.make_axis(3, "H")], name="x")
    >>> ng.sequential([ng.assign(x, x + 1), x * 2])
    <sequential of 2 items>
    """
    found = tuple(checked_item(each, "sequential") for each in _list(items, "sequential"))
    return record_effect(Sequential(found), found)


def parallel(items: Sequence[Any]) -> Parallel:
    """Return the effect of assignments that all read the state before any of them writes.

    Args:
        items: assignments.

    Raises:
        AxisError: if an item is not an assignment.

    >>> import poplite.named as ng
    >>> H = ng.make_axis(3, "H")
    >>> x, y = ng.variable([H], name="x"), ng.variable([H], name="y")
    >>> ng.parallel([ng.assign(x, y), ng.assign(y, x)])
    <parallel of 2 assignments>
    """
    found: list[Assign] = []
    for each in _list(items, "parallel"):
        if isinstance(each, Parallel):
            found += each.assigns
        elif isinstance(each, Assign):
            found.append(each)
        else:
            raise AxisError(
                f"parallel: {clipped(each)} is not an assignment",
                found=of_type(each),
                fix="ng.parallel([ng.assign(w, x), ...]); ng.sequential accepts any item",
            )
    return record_effect(Parallel(tuple(found)), items)


def repeat(n: int, item: Any) -> RepeatEffect:
    """Return the effect of executing an item n times.

    Args:
        n: the number of times, 0 or more.
        item: an effect, or a list of several.

    Raises:
        AxisError: if n is not a non-negative integer.

    >>> import poplite.named as ng
    >>> x = ng.variable([ng.make_axis(3, "H")], name="x")
    >>> ng.repeat(10, ng.assign(x, x * 0.5))
    <repeat 10 times>
    """
    count = integer_or_none(n)
    if count is None or count < 0 or isinstance(n, bool):
        raise AxisError(
            f"repeat: n is {clipped(n)}",
            found=of_type(n),
            fix="pass a non-negative whole number, and then the item",
        )
    many = isinstance(item, list | tuple)
    done = sequential(item) if many else checked_item(item, "repeat")
    return record_effect(RepeatEffect(count, done), [done])


def checked_item(value: Any, what: str) -> Item:
    """Return an item of a computation, or raise."""
    return value if isinstance(value, Effect) else as_op(value, what)


def _list(items: Any, what: str) -> Sequence[Any]:
    if isinstance(items, list | tuple):
        return items
    raise AxisError(
        f"{what}: {clipped(items)} is not a list", found=of_type(items), fix=f"ng.{what}([a, b])"
    )


# -- assignments in Python's syntax ----------------------------------------------------------------
#
#     x[...] = value      assign(x, value)
#     x -= 1              assign(x, x - 1), for a tensor that can be assigned to


@contextmanager
def steps() -> Iterator[Sequential]:
    """Record the effects that are created in a block, one after another.

    These are `x[...] = value`, augmented assignments (`x -= 1`, for a tensor that can be
    assigned to), and the results of `ng.assign`, `ng.sequential`, `ng.parallel` and `ng.repeat`; an
    effect that is part of another effect is executed only there. A nested block is an item of the
    outer one. Outside of a block, `x -= 1` is Python's `x = x - 1`: an expression.

    Raises:
        AxisError: for a block in which nothing was recorded.

    >>> import poplite.named as ng
    >>> x = ng.variable([ng.make_axis(3, "H")], name="x")
    >>> with steps() as update:
    ...     x[...] = x + 1
    ...     x *= 2
    >>> update
    <sequential of 2 items>
    """
    made = Sequential(())
    items: dict[int, Effect] = {}
    OPEN.append(items)
    try:
        yield made
    finally:
        OPEN.pop()
    if not items:
        raise AxisError(
            "steps: nothing was recorded in the block",
            found=f"the block began at {made.line}; computing x + 1 there changes nothing",
            fix="write x[...] = value, x -= value, or ng.assign(x, value) in the block",
        )
    made.items = tuple(items.values())
    record_effect(made)


@makes("assign")
def record_assignment(target: Op, key: Any, value: Any) -> None:
    """Record an assignment to a part of a tensor."""
    if not OPEN:
        name = spelled(target)
        raise AxisError(
            f"'{name}[...] = ' outside of ng.steps(): nothing is changed while a graph is built",
            found=target.text,
            fix=f"with ng.steps() as update: {name}[...] = value, or ng.assign({name}, value)",
        )
    is_part = isinstance(key, tuple | dict)  # keys contain axes, whose `==` means pairing
    is_whole = not is_part and (isinstance(key, EllipsisType) or key == slice(None))
    part = target if is_whole else by_key(target, key)
    if not _is_done(part, value):
        assign(part, value)


@makes("assign in place")
def assigned_in_place(name: str, target: Op, value: Any) -> bool:
    """Record `target -= value`; if the target is read-only, return False to use an expression."""
    base = base_of(target) if OPEN else None
    if base is None or base.read_only:
        return False
    assign(target, getattr(target, name)(value))
    return True


def _is_done(part: Op, value: Any) -> bool:
    """Return whether it only completes `x[H, 0] -= 1`, whose effect is already recorded."""
    last = next(reversed(OPEN[-1].values()), None)
    if not isinstance(last, Assign) or last.target is not value:
        return False
    if part is value:
        return True
    if not isinstance(part, Slice) or not isinstance(value, Slice):
        return False
    return part.args == value.args and part.parts == value.parts


# -- reads and writes of items ---------------------------------------------------------------------


def listed_items(results: Any) -> list[Item]:
    """Return the items of results, in order."""
    if results is None:
        return []
    if isinstance(results, Op | Effect):
        return [results]
    if isinstance(results, Mapping):
        return [checked_item(each, "computation") for each in results.values()]
    if isinstance(results, list | tuple | set | frozenset):
        return [checked_item(each, "computation") for each in results]
    return [checked_item(results, "computation")]


def inside(items: Iterable[Item]) -> Iterator[Item]:
    """Yield items and their nested items."""
    waiting = list(items)
    while waiting:
        item = waiting.pop()
        yield item
        match item:
            case Assign():
                waiting += item.target, item.value
            case Sequential():
                waiting += item.items
            case Parallel():
                waiting += item.assigns
            case RepeatEffect():
                waiting.append(item.item)


def roots_of(items: Iterable[Item]) -> list[Op]:
    """Return the operations that items compute, and those that they write to."""
    return [each for each in inside(items) if isinstance(each, Op)]


def written_by(items: Iterable[Item]) -> list[tuple[Op, Op]]:
    """Return the targets of assignments among items, each with its value."""
    found = [each for each in inside(items) if isinstance(each, Assign)]
    return [(each.target, each.value) for each in found]


def needed(roots: list[Op]) -> list[TensorOp]:
    """Return the tensors from which operations are computed, in order of creation."""
    found = [each for each in nodes_below(roots) if isinstance(each, TensorOp)]
    return sorted(found, key=lambda each: each.number)


def no_parameter(value: Any) -> AxisError:
    """Return the error for a parameter that is not a placeholder or variable."""
    text = value.text if isinstance(value, Op) else clipped(value)
    return AxisError(
        f"computation: {text} is not a parameter",
        found=of_type(value),
        fix="pass each separately: computation(results, x, y)"
        if isinstance(value, list | tuple | dict | set)
        else "pass a placeholder, or a variable or persistent tensor that a call writes",
    )


# -- steps -----------------------------------------------------------------------------------------


class ItemRecorder:
    """Records the items of one computation in the open block of its transformer's steps."""

    def __init__(self, device: Transformer) -> None:
        self._device, self._graph = device, device.graph
        self._expressions = LoweredExpressions(device, self)
        self._pending: list[Op] = []
        self.stored: list[tuple[Op, Tensor]] = []
        """The operations that were stored, each with its tensor in the order of its axes."""
        self.made: list[Tensor] = []
        """The stored tensors, in order of storage."""
        self.compute_sets: list[ComputeSet] = []
        """The compute sets of the recorded steps."""
        self.variables: list[Variable] = []
        """The variables that were added for the computation."""

    def values(self, items: Sequence[Item]) -> list[Tensor | None]:
        """Record items, and return the tensors for their values; None for items without a value."""
        # A tensor given as an item is read in place, unless it changes later.
        found: list[Callable[[], Tensor] | None] = []
        before, had = len(self._graph.compute_sets), len(self._graph.variables)
        last = max([n for n, each in enumerate(items) if isinstance(each, Effect)], default=0)
        for number, item in enumerate(items):
            found.append(self._item(item, is_read_there=number >= last))
        self._flush([])
        self.compute_sets = list(self._graph.compute_sets)[before:]
        self.variables = list(self._graph.variables)[had:]
        return [None if each is None else each() for each in found]

    def _item(self, item: Item, *, is_read_there: bool = False) -> Callable[[], Tensor] | None:
        """Record an item, and return a function that gives its value after the next flush."""
        match item:
            case Assign():
                self._write([item])
            case Parallel():
                self._write(item.assigns)
            case Sequential():
                last = None
                for number, each in enumerate(item.items):
                    is_last = number == len(item.items) - 1
                    last = self._item(each, is_read_there=is_last and is_read_there)
                return last
            case RepeatEffect():
                self._repeat(item)
            case Op():
                return self._value(item, is_read_there)
        return None

    def _value(self, op: Op, is_read_there: bool) -> Callable[[], Tensor]:
        if isinstance(op, TensorOp):
            tensor = self._tensor_of(op)
            if is_read_there or op.constant:
                return lambda: tensor
            self._flush([])
            (copy,) = self._lower([self._root(op, f"{op.name}/now")], [op])
            return lambda: copy
        if op not in self._expressions.remembered and op not in self._pending:
            self._pending.append(op)
        return lambda: self._expressions.remembered[op]

    def _flush(self, extra: list[Expr]) -> list[Tensor]:
        """Store pending and additional expressions together; return the tensors of the latter."""
        pending: list[Op] = []
        for op in self._pending:
            # Results of these operations already have a separate tensor.
            if isinstance(op, VertexMap | PlacedByHint | Take | AddRows):
                self._expressions.remembered[op] = self._tensor_of(op)
            else:
                pending.append(op)
        self._pending = []
        with lines_as(here()):
            roots = [self._root(op, _name(op)) for op in pending]
        roots += [Root(expr, name=_part_name(expr), at=expr.location) for expr in extra]
        if not roots:
            return []
        made = self._lower(roots, [*pending, *[None] * len(extra)])
        for op, tensor in zip(pending, made, strict=False):
            self._expressions.remembered[op] = tensor
        self._expressions.forget()
        return made[len(pending) :]

    def _root(self, op: Op, name: str) -> Root:
        """Return the root that stores an operation, with its axes in the order of storage."""
        mapping, order = None, self._device.stored_order(op)
        if isinstance(op, Gradient) and self._device.is_hinted(op.by):
            like = as_axes(self._device.tensor(op.by), op.by.axes, order)
            mapping = self._graph.tile_mapping(like)
        return Root(self._expressions.all_of(op, order), mapping=mapping, name=name, at=op.line)

    def _lower(self, roots: list[Root], of: Sequence[Op | None]) -> list[Tensor]:
        """Store expressions, and return them in the order of their operations' axes."""
        made = ops.lower(self._graph, roots)
        self.made += made
        found = []
        for op, tensor in zip(of, made, strict=True):
            if op is not None:
                tensor = as_axes(tensor, self._device.stored_order(op), op.axes)
                self.stored.append((op, tensor))
            found.append(tensor)
        return found

    # -- effects -----------------------------------------------------------------------------------

    def _write(self, assigns: Sequence[Assign]) -> None:
        orders = [self._device.stored_order(each.target) for each in assigns]
        targets = [
            as_axes(self._tensor_of(each.target), each.target.axes, order)
            for each, order in zip(assigns, orders, strict=True)
        ]
        written = ViewIndex[int]()
        for number, target in enumerate(targets):
            for other in written.meeting(target.view):
                raise _overlapping(assigns[other], assigns[number])
            written.add(target.view, number)
        values = [
            self._expressions.all_of(each.value, order)
            for each, order in zip(assigns, orders, strict=True)
        ]
        if len(assigns) > 1:
            values = self._read_first(values, written)
        self._flush([])
        roots = [
            Root(value, target, name=f"assign {_name(each.target)}", at=each.line)
            for each, value, target in zip(assigns, values, targets, strict=True)
        ]
        of = [each.target for each in assigns]
        if len(roots) > 1 and not _any_reads_another(values, written):
            with ops.together():
                for root, op in zip(roots, of, strict=True):
                    self._lower([root], [op])
        elif roots:
            self._lower(roots, of)
        self._expressions.forget()

    def _tensor_of(self, op: Op) -> Tensor:
        """Return the tensor of an operation that has its own, or is a view of one."""
        expr = self._expressions.all_of(op)
        assert isinstance(expr, Leaf)
        assert isinstance(expr.tensor, Tensor)
        return expr.tensor

    def _read_first(self, values: list[Expr], written: ViewIndex[int]) -> list[Expr]:
        """Return values that can be written one by one, although all must be read first.

        Sums and products are stored first; so is a value that reads an earlier target.
        """
        reads = _Reads(written, is_below=False)
        wanted: dict[Expr, None] = {}
        seen: set[Expr] = set()
        for number, value in enumerate(values):
            if any(each < number for each in reads.of(value)):
                wanted[value] = None
            else:
                wanted.update(_front(value, seen))
        made: dict[Expr, Expr] = dict(
            zip(wanted, map(Leaf, self._flush(list(wanted))), strict=True)
        )
        return replaced(values, made) if made else values

    def _repeat(self, item: RepeatEffect) -> None:
        self._flush([])
        self._expressions.forget()  # its values are stored again in every iteration
        before = dict(self._expressions.remembered)
        with ops.repeat(item.count):
            self._item(item.item)
            self._flush([])
        self._expressions.remembered = before
        self._expressions.forget()

    def placed(self, op: PlacedByHint, expr: Expr) -> Tensor:
        """Store an expression as `ng.place` specifies, and return it."""
        out = self._device.variable(op, op.place)
        (made,) = self._lower([Root(expr, out, name=_name(op), at=op.line)], [op])
        return made

    def launched(self, op: VertexMap, rows: list[Expr]) -> Tensor:
        """Add a vertex for each row, on the tile where the first operand's row begins."""
        tensors = self._operands(op, rows)
        graph, count = self._graph, rows[0].shape[0]
        first = tensors[0] if tensors[0].rank == 1 else tensors[0][:, 0]
        mapping = graph.tile_mapping(first)
        tile = np.zeros(count, np.int64)
        number = np.repeat(np.arange(graph.target.tiles), np.diff(mapping.ptr))
        for own, begin, end in zip(number, mapping.begin, mapping.end, strict=True):
            tile[begin:end] = own
        lengths = tuple(axis.known_length("nmap") for axis in op.axes)
        inner = math.prod(lengths[len(lengths) - len(op.inner) :])
        where = TileMapping(graph.target.tiles, tile, np.full(count, inner))
        out = graph.add_variable(op.element_type, (count, inner), _name(op), mapping=where)
        if count:
            work = graph.add_compute_set(_name(op))
            written = out if op.vertex.fields[op.output].depth else out.reshape((count,))
            fields = dict(zip(op.inputs, tensors, strict=True))
            graph.add_vertices(work, op.vertex, tile=tile, **fields, **{op.output: written})
            innermost("nmap").add(Execute(work))
        self.stored.append((op, out.reshape(lengths)))
        return out.reshape(lengths)

    def numbered(self, op: Take | AddRows, read: list[Expr]) -> Tensor:
        """Read rows of a table by index, or add to the rows of a new one."""
        rows, numbers = self._operands(op, read)
        name = " ".join((_name(op), op.along.name, "by", *op.args[1].axes.names))
        if isinstance(op, Take):
            made = ops.multi_slice(rows, numbers, name=name)
        else:
            sizes = tuple(axis.known_length("deriv") for axis in op.axes)
            made = self._graph.add_variable(op.element_type, sizes, name, mapping="linear")
            ops.zero(made, name=f"{name}/zero")
            ops.multi_update_add(made, rows, numbers, name=name)
        self.stored.append((op, made))
        return made

    def _operands(self, op: Op, read: list[Expr]) -> list[Tensor]:
        """Return the operands of an operation as tensors; expressions are stored."""
        roots = [Root(each, name=f"{_name(op)}/x{n}", at=op.line) for n, each in enumerate(read)]
        made = [
            each.expr.tensor if isinstance(each.expr, Leaf) else self._lower([each], [None])[0]
            for each in roots
        ]
        return [each for each in made if isinstance(each, Tensor)]


def as_axes(tensor: Tensor, order: Axes, axes: Axes) -> Tensor:
    """Return a tensor whose dimensions are axes, permuted from one order of axes to another."""
    if order == axes:
        return tensor
    return tensor.dim_shuffle([order.roots.index(root) for root in axes.roots])


def _name(op: Op) -> str:
    return op.name or op.called


def _part_name(expr: Expr) -> str:
    return expr.origin.called if isinstance(expr.origin, Op) else "part"


def _front(value: Expr, seen: set[Expr]) -> dict[Expr, None]:
    """Return the parts of a value that are stored, except for those in `seen`.

    These parts are not elementwise operations.
    """
    nodes = top_down(
        [value], lambda node: node.operands if isinstance(node, Applied) else (), seen=seen
    )
    return dict.fromkeys(n for n in nodes if n.operands and not isinstance(n, Applied))


class _Reads:
    """Finds the targets of assignments that values read; values may share parts.

    Args:
        written: the indices of the targets.
        is_below: whether operands that must be stored first are searched too.
    """

    def __init__(self, written: ViewIndex[int], *, is_below: bool) -> None:
        self._written, self._is_below = written, is_below
        self._known: dict[Expr, tuple[int, ...]] = {}

    def of(self, value: Expr) -> tuple[int, ...]:
        """Return the targets that a value reads, at most the first two."""
        for node in in_order(value, self._known):
            if node not in self._known:
                self._known[node] = self._found(node)
        return self._known[value]

    def _found(self, node: Expr) -> tuple[int, ...]:
        if isinstance(node, Leaf):
            assert isinstance(node.tensor, Tensor)
            return tuple(islice(self._written.meeting(node.tensor.view), 2))
        if not self._is_below and not isinstance(node, Applied):
            return ()
        numbers = {number for each in node.operands for number in self._known[each]}
        return tuple(sorted(numbers)[:2])


def _any_reads_another(values: Sequence[Expr], written: ViewIndex[int]) -> bool:
    """Return whether a value reads the target of another value."""
    reads = _Reads(written, is_below=True)
    return any({*reads.of(value)} - {number} for number, value in enumerate(values))


def _overlapping(one: Assign, other: Assign) -> AxisError:
    base = base_of(other.target)
    assert base is not None
    return AxisError(
        f"parallel: two assignments write the same elements of '{base.name}'",
        found=f"{base.text}\none was made at {one.line}, the other at {other.line}",
        fix="use ng.sequential([...]) to execute one after another",
    )
