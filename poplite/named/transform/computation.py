"""A computation: items that are recorded once as a program, and called like a function."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from poplite.arrays.masked import unmasked
from poplite.errors import AxisError, AxisLengthError, made_by
from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import Tensor
from poplite.jit.garbage import no_collection
from poplite.named.axes.axes import Axes, axes_of
from poplite.named.axes.axis import Axis, check_kind
from poplite.named.axes.changes import spelled
from poplite.named.description.description import TensorDescription
from poplite.named.lowering.items import Items
from poplite.named.ops.described import described
from poplite.named.ops.op import Op, as_op, below
from poplite.named.ops.tensors import TensorOp, fitting
from poplite.named.transform.explained import (
    bytes_of,
    copies,
    copy_lines,
    decisions,
    headline,
    notes_of,
    readers,
    tensors,
    views,
)
from poplite.named.transform.reads import listed_items, needed, no_parameter, roots_of
from poplite.program import Sequence
from poplite.report.report import Report
from poplite.simulator.engine import Engine
from poplite.source import SourceLocation, here
from poplite.text import amount, clipped

if TYPE_CHECKING:
    from poplite.named.transform.transformer import Transformer


_LISTED = Axis, Axes, list
"""What says the axes of an array beside it."""


@made_by("transformer.computation(results, *placeholders)")
class Computation:
    """A function on a device.

    Attributes:
        name: of its program.
        line: the user's line that made it.
        params: the tensors that a call takes values for.
        items: its results and effects, in order.
        is_added: whether the engine has its program.
    """

    def __init__(
        self, transformer: Transformer, results: Any, params: tuple[Any, ...], name: str
    ) -> None:
        self._transformer, self._results, self.name = transformer, results, name
        self.line: SourceLocation = here()
        self.is_added = False
        self.items = listed_items(results)
        self._roots = roots_of(self.items)
        reads = needed(self._roots)
        if len(params) == 1 and isinstance(params[0], str) and params[0] == "all":
            params = tuple(each for each in reads if each.input)
        for each in params:
            if not isinstance(each, TensorOp) or each.constant:
                raise no_parameter(each)
        twice = next((each for each, n in Counter(params).items() if n > 1), None)
        if twice is not None:
            raise AxisError(
                f"computation '{name}': parameter '{twice.name}' occurs twice",
                found=twice.text,
                fix="each parameter once",
            )
        self.params: tuple[TensorOp, ...] = params
        given = {*params}
        missing = [each for each in reads if each.input and each not in given]
        if missing:
            raise AxisError(
                f"computation '{name}': {amount(len(missing), 'placeholder')} not among its "
                f"parameters: {', '.join(each.name for each in missing)}",
                found="\n".join(each.text for each in missing[:5]),
                fix=f"computation(results, {', '.join(each.name for each in reads if each.input)})",
            )
        self._program: Sequence | None = None
        self._values: list[Tensor | None] = []
        self._work: Items | None = None

    # -- what it is made of ------------------------------------------------------------------------

    @property
    def graph(self) -> Graph:
        """The graph that it runs on."""
        return self._transformer.graph

    @property
    def program(self) -> Sequence:
        """Its steps."""
        self._transformer.check_has(self)
        if self._program is None:
            device = self._transformer
            for each in self.params:
                device.tensor(each)
            work = Items(
                device.graph,
                device.tensor,
                device.variable,
                device.stored_order,
                device.is_hinted,
                device.fuse,
                is_strict=device.is_strict,
            )
            with no_collection(), device.graph.steps(self.name) as program:
                self._values = work.values(self.items)
            self._program, self._work = program, work
        return self._program

    @property
    def engine(self) -> Engine:
        """The engine that runs it, with the state of all computations of its transformer."""
        return self._transformer.engine_for(self)

    def tensor(self, op: Op) -> Tensor:
        """Return the tensor of an operation: its storage, or a view of what is stored.

        Raises:
            AxisError: for an operation that is not stored.
        """
        op = as_op(op, "tensor")
        _ = self.program
        if isinstance(op, TensorOp):  # also where a result is a copy of it
            return self._transformer.tensor(op)
        assert self._work is not None
        stored = {id(other): tensor for other, tensor in self._work.stored}
        if id(op) in stored:
            return stored[id(op)]
        tensors: dict[int, Tensor] = {}

        def storage(node: Op) -> TensorDescription:
            made = TensorDescription(node.axes, node.element_type)
            if isinstance(node, TensorOp):
                tensors[id(made)] = self._transformer.tensor(node)
            elif id(node) in stored:
                tensors[id(made)] = stored[id(node)]
            else:
                raise AxisError(
                    f"{node.called}: it is not stored by itself",
                    found=node.text,
                    fix=f"make it a result, or ng.keep({spelled(node)})",
                )
            return made

        found = described(op, storage)
        return found.view(*(tensors[id(each)] for each in found.bases))

    def description(self, op: Op) -> TensorDescription:
        """Return the description of a tensor, or of a view of one, with the layout that it got.

        >>> import poplite.named as ng
        >>> H, W = ng.make_axis(3, "H"), ng.make_axis(4, "W")
        >>> x = ng.placeholder([H, W], name="x", layout=ng.column_major([H, W]))
        >>> work = ng.make_transformer(tiles=2).computation(ng.sum(x, [W]), x)
        >>> work.description(x[H, 1:]).strides, work.description(x[H, 1:]).offset
        ((1, 3), 1)
        """
        _ = self.program
        return self._transformer.description(op)

    @property
    def is_ready(self) -> bool:
        """Whether the lengths of all axes are known that it needs."""
        ops = [*below(self._roots), *self.params]
        return all(length is not None for each in ops for length in each.axes.lengths)

    @property
    def results(self) -> list[Tensor | None]:
        """Where the values of its results are; None for effects."""
        _ = self.program
        return list(self._values)

    def report(self) -> Report:
        """Return the report of the engine: cycles, memory, findings."""
        return self.engine.report()

    def explain(self) -> str:
        """Return how tensors are stored, what is computed when, and why, with numbers.

        Tensors come first, with their layouts, then views of them, then what is copied since its
        elements do not lie as they are read, then what is stored, reduced, multiplied or computed
        again.
        """
        _ = self.program
        assert self._work is not None
        device, work, graph = self._transformer, self._work, self.graph
        listed = needed([*self._roots, *self.params])
        own = [device.storages[each] for each in listed]
        known = {id(each) for each in device.storages.values()}
        beside = [each for each in work.variables if id(each) not in known]
        notes = notes_of(graph, work.made)
        held = {note.result: note.origin for note in notes if isinstance(note.origin, Op)}
        owners = {each: held[each.name] for each in work.variables if each.name in held}
        owners |= {part.variable: op for op, tensor in work.stored for part in tensor.var_regions()}
        owners |= {device.storages[each]: each for each in listed}
        copied = copies(graph, work.compute_sets, owners)
        why = readers(self._roots, device.description, listed)
        lines = [
            headline(self.name, self.params, work.compute_sets, bytes_of(own), bytes_of(beside)),
            *tensors(listed, device.storages, device.why),
            *views(self._roots, device.description, copied),
            *copy_lines(copied, why),
            *decisions(notes),
        ]
        return "\n".join(lines)

    # -- calls -------------------------------------------------------------------------------------

    def __call__(self, *values: Any, feed_dict: Mapping[TensorOp, Any] | None = None) -> Any:
        """Write the parameters, run, and return the values of the results.

        Args:
            values: one for each parameter: an array of the shape of its axes, a number to fill it,
                or `(array, axes)` in another order of its axes. An array with `dims`, as xarray's,
                is put in order by these names.
            feed_dict: the same by parameter, instead of `values`.

        Raises:
            AxisError: for another number of values.
            AxisLengthError: for an array of another shape.
        """
        self._transformer.check_has(self)
        given = self._given(values, feed_dict)
        engine = self._transformer.engine_for(self)
        for param, value in zip(self.params, given, strict=True):
            engine.write(self._transformer.tensor(param), self._array(param, value))
        engine.run(self.name)
        found = [None if each is None else engine.read(each) for each in self._values]
        return self._formed(found)

    def _given(
        self, values: tuple[Any, ...], feed_dict: Mapping[TensorOp, Any] | None
    ) -> tuple[Any, ...]:
        names = ", ".join(each.name for each in self.params)
        fix = f"{self.name}({names})"
        if feed_dict is None:
            what = f"takes {amount(len(self.params), 'value')}, {len(values)} are given"
            wrong = "" if len(values) == len(self.params) else f"'{self.name}' {what}"
        else:
            check_kind(feed_dict, Mapping, f"{self.name}: feed_dict", "a value for each parameter")
            wrong = self._wrong_in(feed_dict, len(values))
            if not values:
                pairs = ", ".join(f"{each.name}: ..." for each in self.params)
                fix += f", or feed_dict={{{pairs}}} by the tensors themselves"
        if wrong:
            raise AxisError(
                wrong,
                found="\n".join(each.text for each in self.params) or "it has no parameters",
                fix=fix,
            )
        return values if feed_dict is None else tuple(feed_dict[each] for each in self.params)

    def _wrong_in(self, feed_dict: Mapping[TensorOp, Any], beside: int) -> str:
        """Return what is wrong with a dictionary of values; empty for nothing."""
        if beside:
            count = amount(beside, "value")
            return f"'{self.name}': {count} by position beside feed_dict, which stands alone"
        known = {*self.params}
        others = [each for each in feed_dict if each not in known]
        told = [
            f"{word} {', '.join(shown)}"
            for word, shown in (
                ("lacks", [f"'{each.name}'" for each in self.params if each not in feed_dict]),
                ("has no use for", [_key(each) for each in others]),
            )
            if shown
        ]
        return f"'{self.name}': feed_dict {' and '.join(told)}" if told else ""

    def _array(self, param: TensorOp, value: Any) -> npt.NDArray[Any]:
        shape = self._transformer.tensor(param).shape
        if isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], _LISTED):
            array, axes = np.asarray(unmasked(value[0], param.name)), axes_of(value[1])
            if not axes.is_equal_set(param.axes) or array.ndim != len(axes):
                raise AxisLengthError(
                    f"{param.name}: a value with axes {axes}",
                    found=param.text,
                    fix="the same axes, in any order",
                )
            value = array.transpose([axes.index(axis) for axis in param.axes])
        return fitting(value, shape, param)

    def _formed(self, found: list[Any]) -> Any:
        """Return values in the form of the results."""
        results = self._results
        if results is None:
            return None
        if isinstance(results, Mapping):
            return dict(zip(results, found, strict=True))
        if isinstance(results, set | frozenset):
            return dict(zip(self.items, found, strict=True))
        if isinstance(results, list | tuple):
            return tuple(found)
        return found[0]

    def __repr__(self) -> str:
        params = ", ".join(each.name for each in self.params)
        return f"<Computation '{self.name}' ({params})>"


def _key(key: object) -> str:
    """Return a key of a dictionary that is no parameter, as messages name it."""
    if isinstance(key, Op):
        return f"'{key.name or key.called}'"
    return f"the text {clipped(key)}" if isinstance(key, str) else clipped(key)
