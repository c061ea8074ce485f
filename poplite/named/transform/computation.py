"""A computation: items that are recorded once as a program, and called like a function."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from poplite.errors import AxisError, AxisLengthError
from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import Tensor
from poplite.named.axes.axes import Axes, axes_of
from poplite.named.lowering.items import Items
from poplite.named.ops.op import Op, below
from poplite.named.ops.tensors import TensorOp, fitting
from poplite.ops.fuse.lowering import NOTES
from poplite.program import Sequence
from poplite.report.report import Report
from poplite.simulator.engine import Engine
from poplite.source import SourceLocation, here
from poplite.text import amount

if TYPE_CHECKING:
    from poplite.named.transform.transformer import Transformer


class Computation:
    """A function on a device.

    Attributes:
        name: of its program.
        line: the user's line that made it.
        params: the tensors that a call takes values for.
        is_added: whether the engine has its program.
    """

    def __init__(
        self, transformer: Transformer, results: Any, params: tuple[Any, ...], name: str
    ) -> None:
        from poplite.named.transform.transformer import (
            listed_items,
            needed,
            no_tensor,
            roots_of,
        )

        self._transformer, self._results, self.name = transformer, results, name
        self.line: SourceLocation = here()
        self.is_added = False
        self._items = listed_items(results)
        self._roots = roots_of(self._items)
        reads = needed(self._roots)
        if params == ("all",):
            params = tuple(each for each in reads if each.input)
        for each in params:
            if not isinstance(each, TensorOp) or each.constant:
                raise no_tensor(each)
        self.params: tuple[TensorOp, ...] = params
        missing = [each for each in reads if each.input and each not in params]
        if missing:
            raise AxisError(
                f"computation '{name}': {amount(len(missing), 'placeholder')} not among its "
                f"parameters: {', '.join(each.name for each in missing)}",
                at=here(),
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
        if self._program is None:
            device = self._transformer
            for each in self.params:
                device.tensor(each)
            work = Items(
                device.graph,
                device.tensor,
                device.variable,
                device.fuse,
                is_strict=device.is_strict,
            )
            with device.graph.steps(self.name) as program:
                self._values = work.values(self._items)
            self._program, self._work = program, work
        return self._program

    @property
    def engine(self) -> Engine:
        """The engine that runs it, with the state of all computations of its transformer."""
        return self._transformer.engine_for(self)

    def tensor(self, op: Op) -> Tensor:
        """Return the tensor of an operation: its storage, or where a result is.

        Raises:
            AxisError: for an operation that is not stored by itself.
        """
        _ = self.program
        if isinstance(op, TensorOp):
            return self._transformer.tensor(op)
        assert self._work is not None
        for other, tensor in reversed(self._work.stored):
            if other is op:
                return tensor
        raise AxisError(
            f"{op.what}: it is not stored by itself",
            at=here(),
            found=op.text,
            fix="make it a result, or ng.keep(x)",
        )

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
        """Return what is stored, reduced, multiplied or computed again, and why, with numbers."""
        _ = self.program
        assert self._work is not None
        sets = self._work.compute_sets
        lines = [f"computation '{self.name}': {amount(len(sets), 'compute set')}"]
        for each in self.params:
            lines.append(f"  {each.name:<12} {each.axes} {each.element_type!r}  {each.kind}")
        seen: set[int] = set()
        for _, tensor in self._work.stored:
            for note in NOTES.get(self.graph, {}).get((tensor.name, tensor.shape), ()):
                if id(note) not in seen:
                    seen.add(id(note))
                    lines += [f"  {line}" for line in str(note).splitlines()]
        return "\n".join(lines)

    # -- calls -------------------------------------------------------------------------------------

    def __call__(self, *values: Any, feed_dict: Mapping[TensorOp, Any] | None = None) -> Any:
        """Write the parameters, run, and return the values of the results.

        Args:
            values: one for each parameter: an array of the shape of its axes, a number to fill it,
                or `(array, axes)` in another order of its axes.
            feed_dict: the same by parameter, instead of `values`.

        Raises:
            AxisError: for another number of values.
            AxisLengthError: for an array of another shape.
        """
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
        if feed_dict is not None and not values:
            values = tuple(feed_dict[each] for each in self.params if each in feed_dict)
            if len(feed_dict) == len(values) == len(self.params):
                return values
        elif feed_dict is None and len(values) == len(self.params):
            return values
        names = ", ".join(each.name for each in self.params)
        raise AxisError(
            f"'{self.name}' takes {amount(len(self.params), 'value')}, {len(values)} are given"
            if feed_dict is None
            else f"'{self.name}': feed_dict has to have the parameters, and nothing else",
            at=here(),
            found=f"its parameters are {names}" if names else "it has no parameters",
            fix=f"{self.name}({names})",
        )

    def _array(self, param: TensorOp, value: Any) -> npt.NDArray[Any]:
        shape = self._transformer.tensor(param).shape
        if isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], Axes | list):
            array, axes = np.asarray(value[0]), axes_of(value[1])
            if not axes.is_equal_set(param.axes) or array.ndim != len(axes):
                raise AxisLengthError(
                    f"{param.name}: a value with axes {axes}",
                    at=here(),
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
            return dict(zip(self._items, found, strict=True))
        if isinstance(results, list | tuple):
            return tuple(found)
        return found[0]

    def __repr__(self) -> str:
        params = ", ".join(each.name for each in self.params)
        return f"<Computation '{self.name}' ({params})>"
