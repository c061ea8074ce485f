"""The transformer, which makes computations that are called like functions.

The items of a computation are recorded once as a program. All computations of a transformer share
a graph, an engine, and state.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from poplite.errors import AxisError, AxisLengthError, InvalidOption, checked_kind, made_by
from poplite.graph.graph import Graph
from poplite.graph.space import Variable
from poplite.graph.tensor.tensor import Tensor
from poplite.jit.build import no_collection
from poplite.machine.target import Target
from poplite.named import decisions
from poplite.named.axes import Axes, Axis, axes_of, check_kind, some
from poplite.named.changed_axes import spelled
from poplite.named.data_arrays import data_arrays
from poplite.named.description import TensorDescription
from poplite.named.layout import Layout
from poplite.named.op import Op, as_op, nodes_below
from poplite.named.programs import (
    Effect,
    ItemRecorder,
    listed_items,
    needed,
    no_parameter,
    roots_of,
    written_by,
)
from poplite.named.shaping import view_description
from poplite.named.tensors import Gradient, TensorOp, filled_array
from poplite.program import Sequence
from poplite.report.report import Report
from poplite.simulator.engine import Engine
from poplite.source import SourceLocation, here
from poplite.text import amount, clipped, of_type
from poplite.types import unmasked

_LISTED = Axis, Axes, list
"""Types of the axes in `(array, axes)`."""


@made_by("transformer.computation(results, *placeholders)")
class Computation:
    """A function on a device.

    Attributes:
        name: the name of its program.
        line: the user's line that made it.
        params: the tensors whose values are the arguments of a call.
        items: its results and effects, in order.
        is_added: whether the engine has its program.

    >>> import poplite.named as ng
    >>> x = ng.placeholder([ng.make_axis(3, "H")], name="x")
    >>> double = ng.make_transformer(tiles=2).computation({"y": x + x}, x, name="double")
    >>> double
    <Computation 'double' (x)>
    >>> double([1, 2, 3])
    {'y': array([2., 4., 6.], dtype=float32)}
    """

    name: str

    def __init__(
        self, transformer: Transformer, results: Any, params: tuple[Any, ...], name: str
    ) -> None:
        self._transformer, self._results, self.name = transformer, results, name
        self.line: SourceLocation = here()
        self.is_added = False
        self.items: list[Op | Effect] = listed_items(results)
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
                fix="list each parameter once",
            )
        self.params: tuple[TensorOp, ...] = params
        given = {*params}
        missing = [each for each in reads if each.input and each not in given]
        if missing:
            raise AxisError(
                f"computation '{name}': its parameters lack {amount(len(missing), 'placeholder')}: "
                f"{', '.join(each.name for each in missing)}",
                found="\n".join(each.text for each in missing[:5]),
                fix=f"computation(results, {', '.join(each.name for each in reads if each.input)})",
            )
        self._program: Sequence | None = None
        self._values: list[Tensor | None] = []
        self._work: ItemRecorder | None = None

    # -- parts -------------------------------------------------------------------------------------

    @property
    def graph(self) -> Graph:
        """The graph on which it runs."""
        return self._transformer.graph

    @property
    def program(self) -> Sequence:
        """Its steps."""
        self._transformer.check_has(self)
        if self._program is None:
            device = self._transformer
            for each in self.params:
                device.tensor(each)
            work = ItemRecorder(device)
            with no_collection(), device.graph.steps(self.name) as program:
                self._values = work.values(self.items)
            self._program, self._work = program, work
        return self._program

    @property
    def engine(self) -> Engine:
        """The engine that runs it, with the state shared by the computations of its transformer."""
        return self._transformer.engine_for(self)

    def tensor(self, op: Op) -> Tensor:
        """Return the tensor for an operation: its storage, or a view of storage.

        Raises:
            AxisError: for an operation that is not stored.
        """
        op = as_op(op, "tensor")
        _ = self.program
        if isinstance(op, TensorOp):  # even if a result is a copy of it
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
                    f"{node.called} is not stored separately",
                    found=node.text,
                    fix=f"make it a result, or use ng.keep({spelled(node)})",
                )
            return made

        found = view_description(op, storage)
        return found.view(*(tensors[id(each)] for each in found.bases))

    def description(self, op: Op) -> TensorDescription:
        """Return the description of a tensor or of a view, with the layout chosen for it.

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
        """Whether the lengths of all axes that it needs are known."""
        ops = [*nodes_below(self._roots), *self.params]
        return all(length is not None for each in ops for length in each.axes.lengths)

    @property
    def results(self) -> list[Tensor | None]:
        """The tensors that hold the values of its results; None for effects."""
        _ = self.program
        return list(self._values)

    def report(self) -> Report:
        """Return the report of the engine: cycles, memory, findings."""
        return self.engine.report()

    def explain(self) -> str:
        """Return how tensors are stored and when values are computed, with reasons and numbers.

        Tensors come first, with their layouts, then views of them, then copies for reads in
        another order, then results that are stored, reduced, multiplied or computed again.
        """
        _ = self.program
        assert self._work is not None
        device, work, graph = self._transformer, self._work, self.graph
        listed = needed([*self._roots, *self.params])
        own = [device.storages[each] for each in listed]
        known = {id(each) for each in device.storages.values()}
        other = [each for each in work.variables if id(each) not in known]
        notes = decisions.notes_of(graph, work.made)
        held = {note.result: note.origin for note in notes if isinstance(note.origin, Op)}
        owners = {each: held[each.name] for each in work.variables if each.name in held}
        owners |= {part.variable: op for op, tensor in work.stored for part in tensor.var_regions()}
        owners |= {device.storages[each]: each for each in listed}
        copied = decisions.copies(graph, work.compute_sets, owners)
        why = decisions.readers(self._roots, device.description, listed)
        lines = [
            decisions.headline(
                self.name,
                self.params,
                work.compute_sets,
                decisions.sum_bytes(own),
                decisions.sum_bytes(other),
            ),
            *decisions.tensor_lines(listed, device.storages, device.why),
            *decisions.views(self._roots, device.description, copied),
            *decisions.copy_lines(copied, why),
            *decisions.decisions(notes),
        ]
        return "\n".join(lines)

    # -- calls -------------------------------------------------------------------------------------

    def __call__(self, *values: Any, feed_dict: Mapping[TensorOp, Any] | None = None) -> Any:
        """Write the parameters, run, and return the values of the results.

        Args:
            values: one for each parameter: an array with the shape of its axes, a number to fill
                it, or `(array, axes)` with its axes in another order. An array with `dims`, as in
                xarray, is reordered by these names.
            feed_dict: the same by parameter, instead of `values`.

        Raises:
            AxisError: for the wrong number of values.
            AxisLengthError: for an array of the wrong shape.
        """
        self._transformer.check_has(self)
        given = self._given(values, feed_dict)
        engine = self._transformer.engine_for(self)
        for param, value in zip(self.params, given, strict=True):
            engine.write(self._transformer.tensor(param), self._array(param, value))
        engine.run(self.name)
        found = [None if each is None else engine.read(each) for each in self._values]
        return self._formed(found)

    def to_xarray(self, found: Any) -> Any:
        """Return the result of a call, with an `xarray.DataArray` in place of each array.

        Its dimensions are named after the axes, in their order. Axes have no labels, so it has
        no coordinates.

        Args:
            found: the result of a call of this computation.

        Returns:
            The same structure: one DataArray, a tuple or a dictionary; None for effects.

        Raises:
            AxisLengthError: for anything but a result of this computation.
            ControlProgramError: if xarray is not installed.

        >>> import poplite.named as ng
        >>> x = ng.placeholder([ng.make_axis(2, "H"), ng.make_axis(3, "W")], name="x")
        >>> double = ng.make_transformer(tiles=2).computation(x + x, x, name="double")
        >>> double.to_xarray(double(1)).dims  # doctest: +SKIP
        ('H', 'W')
        """
        return self._formed(data_arrays(f"{self.name}.to_xarray", self.items, found))

    def _given(
        self, values: tuple[Any, ...], feed_dict: Mapping[TensorOp, Any] | None
    ) -> tuple[Any, ...]:
        names = ", ".join(each.name for each in self.params)
        fix = f"{self.name}({names})"
        if feed_dict is None:
            what = f"takes {amount(len(self.params), 'value')}; found {len(values)}"
            wrong = "" if len(values) == len(self.params) else f"'{self.name}' {what}"
        else:
            asked = "pass a dictionary with a value for each parameter"
            check_kind(feed_dict, Mapping, f"{self.name}: feed_dict", asked)
            wrong = self._wrong_in(feed_dict, len(values))
            if not values:
                pairs = ", ".join(f"{each.name}: ..." for each in self.params)
                fix += f", or feed_dict={{{pairs}}} with the tensors as keys"
        if wrong:
            raise AxisError(
                wrong,
                found="\n".join(each.text for each in self.params) or "it has no parameters",
                fix=fix,
            )
        return values if feed_dict is None else tuple(feed_dict[each] for each in self.params)

    def _wrong_in(self, feed_dict: Mapping[TensorOp, Any], by_position: int) -> str:
        """Return the error in a dictionary of values; empty if there is none."""
        if by_position:
            count = amount(by_position, "value")
            return f"'{self.name}': feed_dict cannot be combined with {count} by position"
        known = {*self.params}
        others = [each for each in feed_dict if each not in known]
        told = [
            f"{word} {', '.join(shown)}"
            for word, shown in (
                ("lacks", [f"'{each.name}'" for each in self.params if each not in feed_dict]),
                ("has unknown keys:", [_key(each) for each in others]),
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
                    f"{param.name}: the value has axes {axes}",
                    found=param.text,
                    fix="use the axes of the parameter, in any order",
                )
            value = array.transpose([axes.index(axis) for axis in param.axes])
        return filled_array(value, shape, param)

    def _formed(self, found: list[Any]) -> Any:
        """Return values in the structure of the results."""
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
    """Return a key of a dictionary that is not a parameter, as text for messages."""
    if isinstance(key, Op):
        return f"'{key.name or key.called}'"
    return f"the text {clipped(key)}" if isinstance(key, str) else clipped(key)


# -- devices ---------------------------------------------------------------------------------------


Checks = Literal["strict", "fast", "none"]


@made_by("ng.make_transformer(target)")
class Transformer:
    """Computations on one device that share the state of variables.

    Args:
        target: the device.
        hints: tiles for tensors with one of these axes, as in `map=` of `ng.variable`.
        is_strict: whether operations may not make outer products implicitly.
        fuse: "cost" to store values where that is cheaper; "none" to store every operation.
        checks: the checks of the engine.

    >>> import poplite.named as ng
    >>> w = ng.variable([ng.make_axis(3, "H")], initial_value=1, name="w")
    >>> device = ng.make_transformer(tiles=2)
    >>> grow, read = device.computation(ng.assign(w, w + w)), device.computation(w)
    >>> grow(), grow(), read()
    (None, None, array([4., 4., 4.], dtype=float32))
    """

    target: Target
    is_strict: bool
    fuse: str

    def __init__(
        self,
        target: Target,
        hints: Mapping[Any, Any],
        is_strict: bool,
        fuse: str,
        checks: Checks,
    ) -> None:
        self.target, self.is_strict, self.fuse = target, is_strict, fuse
        self._hints, self._checks = dict(hints), checks
        self._reset()

    def _reset(self) -> None:
        self._graph = Graph(self.target)
        self._tensors: dict[TensorOp, Tensor] = {}
        self._places: dict[TensorOp, decisions.StoredTensor] = {}
        self._descriptions: dict[TensorOp, TensorDescription] = {}
        self._reasons: dict[TensorOp, str] = {}
        self.storages: dict[TensorOp, Variable] = {}
        """The variable of each stored tensor."""
        self._votes: tuple[int, decisions.Votes] | None = None
        self._computations: list[Computation] = []
        self._engine: Engine | None = None

    # -- computations ------------------------------------------------------------------------------

    def computation(self, results: Any, *params: Any, name: str | None = None) -> Computation:
        """Return a function of the given parameters that computes results and performs effects.

        Args:
            results: an operation or effect, or several as a list, tuple, set or dictionary; None
                for none. A call returns the same structure.
            params: placeholders, in the order of the call's arguments, and state that the call
                writes first; or "all" for all required placeholders, in order of creation.
            name: the name of the program, also in reports.

        Raises:
            AxisError: if a parameter is not a tensor, or a required placeholder is missing.
            InvalidOption: for the name of another computation.
        """
        if name is not None:
            check_kind(name, str, "computation: name", "pass name='train'")
        called = name or f"computation{len(self._computations)}"
        for each in self._computations:
            if each.name != called:
                continue
            raise InvalidOption(
                f"a computation named {clipped(called)} already exists",
                found=f"its results are {clipped(list(each.items))}",
                fix="pass another name, or none",
            )
        made = Computation(self, results, params, called)
        self._computations.append(made)
        return made

    def initialize(self) -> None:
        """Create the storage of all tensors with their initial values; a call does so itself."""
        if self._engine is None:
            ready = [each for each in self._computations if each.is_ready]
            programs = {each.name: each.program for each in ready}
            self._engine = Engine(self._graph, programs, checks=self._checks)
            for each in ready:
                each.is_added = True

    @property
    def graph(self) -> Graph:
        """The graph of all computations."""
        return self._graph

    @property
    def engine(self) -> Engine:
        """The engine of all computations, with the state."""
        self.initialize()
        assert self._engine is not None
        return self._engine

    def reset(self) -> None:
        """Discard all computations, which can no longer be called, and all state."""
        self._reset()

    def close(self) -> None:
        """Release the graph, the engine and their memory."""
        self._reset()

    def __repr__(self) -> str:
        count = amount(len(self._computations), "computation")
        return f"<Transformer of {amount(self.target.tiles, 'tile')}, {count}>"

    def __enter__(self) -> Transformer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- for computations --------------------------------------------------------------------------

    def check_has(self, computation: Computation) -> None:
        """Raise AxisError for a discarded computation, or an object that is not a computation."""
        _check_computation(computation, "check_has")
        if computation not in self._computations:
            raise AxisError(
                f"computation '{computation.name}': its transformer was closed or reset",
                found=f"it was made at {computation.line}",
                fix="make another one with device.computation(results, ...)",
            )

    def engine_for(self, computation: Computation) -> Engine:
        """Return the engine, with the program of a computation included."""
        _check_computation(computation, "engine_for")
        program = computation.program
        if self._engine is None:
            self.initialize()
            assert self._engine is not None
        if not computation.is_added:
            self._engine.add_program(program, computation.name)
            computation.is_added = True
        return self._engine

    def tensor(self, op: TensorOp) -> Tensor:
        """Return the tensor for a constant, an input or a state, in the order of its axes."""
        _check_stored(op, "tensor")
        if op not in self._tensors:
            self._tensors[op] = self._stored(op)
        return self._tensors[op]

    def variable(self, op: Op, hint: Any) -> Tensor:
        """Return a new variable for a result, mapped by a hint."""
        op = as_op(op, "variable")
        description = TensorDescription(op.axes, op.element_type, name=op.name or op.called)
        where = self._placed(op, description, hint, None)
        stored = description.with_layout(where.layout)
        return stored.view(stored.allocated(self._graph, where.mapping))

    def description(self, op: Op) -> TensorDescription:
        """Return the description of a stored tensor, or of a view of one."""
        return view_description(as_op(op, "description"), self._description)

    def stored_order(self, op: Op) -> Axes:
        """Return the axes of an operation in (future) storage order, the outermost first.

        An elementwise result is stored like its operand.
        """
        op = as_op(op, "stored_order")
        if isinstance(op, Gradient) and self.is_hinted(op.by):
            return self.stored_order(op.by)
        axes, strides = op.axes, self.description(op).strides
        if None in strides:
            like = self._known_votes().like(op)
            if like is None:
                return op.axes
            axes, strides = like.axes, self.description(like).strides
        far = dict(zip(axes.roots, strides, strict=True))
        return some(sorted(op.axes, key=lambda axis: -abs(far[axis.root] or 0)))

    def is_hinted(self, op: TensorOp) -> bool:
        """Return whether a hint, its own or the transformer's, applies to a tensor."""
        _check_stored(op, "is_hinted")
        return op.place is not None or bool(self._hint_for(op))

    def why(self, op: TensorOp) -> str:
        """Return the tiles of a tensor, and the reason for the order of its axes."""
        _check_stored(op, "why")
        self.tensor(op)
        return self._reasons[op]

    def _description(self, op: Op) -> TensorDescription:
        if isinstance(op, TensorOp):
            self.tensor(op)
            return self._descriptions[op]
        return op.tensor_description

    def _stored(self, op: TensorOp) -> Tensor:
        for axis in op.axes:
            axis.known_length(f"storing '{op.name}'")
            axis.keep_length(op.text)
        choice = self._known_votes().choice(op)
        where = self._placed(op, op.storage, op.place, choice.inner)
        self._places[op] = where
        own = "its layout is given" if op.storage.fixed else choice.why
        self._reasons[op] = f"{where.layout!r}: {own}; {where.why}"
        made = self._descriptions[op] = op.storage.with_layout(where.layout)
        value = op.first_value()
        stored = None if value is None else _in_order(value, op.axes, where.layout)
        if op.constant:
            assert stored is not None
            storage = self._graph.add_constant(
                op.element_type, stored.shape, stored, op.name, mapping=where.mapping
            )
        else:
            storage = made.allocated(self._graph, where.mapping, stored)
        self.storages[op] = self._graph.space.variables[-1]
        return made.view(storage)

    def _known_votes(self) -> decisions.Votes:
        """Return the votes of all computations so far."""
        known = len(self._computations)
        if self._votes is None or self._votes[0] != known:
            items = [item for each in self._computations for item in each.items]
            self._votes = known, decisions.Votes(roots_of(items), written_by(items))
        return self._votes[1]

    def _placed(
        self, op: Op, description: TensorDescription, hint: Any, inner: Axis | None
    ) -> decisions.StoredTensor:
        layout = description.layout
        while isinstance(hint, TensorOp):
            self.tensor(hint)
            like = self._places[hint]
            if hint.axes == op.axes and layout in (None, like.layout):
                return like
            hint = hint.place
        if hint is None:
            hint = self._hint_for(op)
        if isinstance(hint, Mapping) and not hint:  # tile 0 is a hint too
            hint = None
        size = op.element_type.size_bytes
        return decisions.hinted(self._graph, description.name, op.axes, size, hint, layout, inner)

    def _hint_for(self, op: Op) -> dict[Any, Any]:
        """Return the hints that apply to a tensor.

        An axis with "tiles" is divided among all tiles; axes with numbers of blocks form one grid,
        and a tensor without one of these axes is on the first tiles along it.
        """
        own = {axis: count for axis, count in self._hints.items() if axis in op.axes}
        if any(isinstance(count, int) for count in own.values()):
            grid = self._hints.items()
            return {axis: n for axis, n in grid if isinstance(n, int) or axis in op.axes}
        return own


def make_transformer(
    target: Target | None = None,
    *,
    tiles: int | None = None,
    map: Mapping[Any, Any] | None = None,  # noqa: A002  (the name in `ng.variable`)
    strict: bool = False,
    fuse: Literal["cost", "none"] = "cost",
    checks: Checks = "fast",
) -> Transformer:
    """Return a transformer, which makes computations.

    Args:
        target: the device; by default, an IPU, or an IPU with `tiles` tiles.
        tiles: the number of tiles, if no target is given.
        map: tiles for tensors with one of these axes, as in `map=` of `ng.variable`:
            `{N: "tiles"}`.
        strict: whether implicit outer products are rejected, as in a block of `ng.strict`.
        fuse: "cost" to store values where that is cheaper; "none" to store every operation.
        checks: the checks of the engine, see `pl.Engine`.

    Raises:
        InvalidOption: for both a target and tiles, and for unknown options.

    >>> import poplite.named as ng
    >>> H = ng.make_axis(3, "H")
    >>> x = ng.placeholder([H])
    >>> with make_transformer(tiles=2) as device:
    ...     double = device.computation(x + x, x)
    ...     double([1, 2, 3])
    array([2., 4., 6.], dtype=float32)
    """
    if target is not None and tiles is not None:
        raise InvalidOption(
            "make_transformer: target and tiles cannot be combined",
            fix="pass target=pl.Target(tiles=...) alone, or tiles= alone",
        )
    if target is not None:
        fix = "pass pl.Target(tiles=...), or tiles=..."
        checked_kind(target, Target, "make_transformer:", fix, "a target", error=InvalidOption)
    if map is not None and not isinstance(map, Mapping):
        raise InvalidOption(
            f"make_transformer: map is {clipped(map)}",
            found=of_type(map),
            fix='pass hints by axis, such as map={N: "tiles"}',
        )
    decisions.check_hints(map or {})
    known: tuple[tuple[str, object, tuple[str, ...], str], ...] = (
        ("fuse", fuse, ("cost", "none"), 'pass fuse="cost" or fuse="none"'),
        ("checks", checks, get_args(Checks), 'pass checks="strict", "fast" or "none"'),
    )
    for name, value, values, fix in known:
        if not isinstance(value, str) or value not in values:
            what = f"make_transformer: {name} is {clipped(value)}"
            raise InvalidOption(what, found=of_type(value), fix=fix)
    found = target or (Target() if tiles is None else Target(tiles=tiles))
    return Transformer(found, {} if map is None else map, strict, fuse, checks)


def _check_computation(computation: object, method: str) -> None:
    check_kind(computation, Computation, f"{method}: computation", "device.computation(results)")


def _check_stored(op: object, method: str) -> None:
    fix = "pass a tensor from ng.variable, ng.placeholder or ng.constant"
    check_kind(op, TensorOp, f"{method}: op", fix)


def _in_order(value: npt.NDArray[Any], axes: Axes, layout: Layout) -> npt.NDArray[Any]:
    """Return a value with the given axes in the order of storage, padded with zeros."""
    ordered = value.transpose([axes.index(axis) for axis in layout.order])
    if ordered.shape == layout.stored_shape:
        return ordered
    made = np.zeros(layout.stored_shape, value.dtype)
    made[tuple(map(slice, ordered.shape))] = ordered
    return made
