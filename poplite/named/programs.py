"""The items of a computation as steps, in order.

For example:

    [loss, parallel([assign(w, w - rate * dw), assign(b, b - rate * db)])]

    1   loss, and the sums in dw and db, with a joint decision about what to store
    2   the writes, which read these sums

An expression that is an item keeps its value: it is stored, and later items read that value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from poplite import ops
from poplite.errors import AxisError
from poplite.expr.tree import Applied, Expr, Leaf
from poplite.graph.compute_sets.compute_set import ComputeSet
from poplite.graph.space import Variable
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tile_mapping import TileMapping
from poplite.named.axes import Axes
from poplite.named.effects import (
    Assign,
    Effect,
    Item,
    Parallel,
    RepeatEffect,
    Sequential,
    base_of,
)
from poplite.named.lifting import VertexMap
from poplite.named.lowering import LoweredExpressions
from poplite.named.op import Op
from poplite.named.reducing import AddRows, Take
from poplite.named.tensors import Gradient, PlacedByHint, TensorOp
from poplite.ops import Root
from poplite.ops.fuse.recipe import in_order
from poplite.ops.fuse.storing import replaced
from poplite.program import Execute
from poplite.program.recording import innermost
from poplite.view.aliases import ViewIndex
from poplite.walks import top_down

if TYPE_CHECKING:
    from poplite.named.transformer import Transformer


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
        """The compute sets of its steps."""
        self.variables: list[Variable] = []
        """The variables that were added for it."""

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
        """Store pending and additional expressions with a joint decision; return the latter."""
        pending: list[Op] = []
        for op in self._pending:
            # Results of these operations already have a separate tensor.
            if isinstance(op, VertexMap | PlacedByHint | Take | AddRows):
                self._expressions.remembered[op] = self._tensor_of(op)
            else:
                pending.append(op)
        self._pending = []
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
        """Return the tensor of an operation that has one and is only read."""
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
