"""Transformers make computations, which share a graph of tiles, an engine, and state.

Where named tensors lie: hints by axis, and the layout and tile mapping that they come to.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from poplite.errors import AxisError, InvalidOption, InvalidTileMapping, made_by
from poplite.graph.graph import Graph
from poplite.graph.mapping.tile_mapping import TileMapping
from poplite.graph.storage.variable import Variable
from poplite.graph.tensor.tensor import Tensor
from poplite.machine.target import Target
from poplite.named.axes.axes import Axes, some
from poplite.named.axes.axis import Axis, check_kind
from poplite.named.description.description import TensorDescription
from poplite.named.description.layout import Layout, row_major
from poplite.named.ops.described import described
from poplite.named.ops.hints import blocks_of, check_by_axes
from poplite.named.ops.keeping import Gradient
from poplite.named.ops.op import Op, as_op
from poplite.named.ops.tensors import TensorOp
from poplite.named.transform.computation import Computation
from poplite.named.transform.reads import roots_of, written_by
from poplite.named.transform.votes import Choice, Votes
from poplite.simulator.engine import Engine
from poplite.text import amount, clipped, integer_or_none, of_type

Checks = Literal["strict", "fast", "none"]


@made_by("ng.make_transformer(target)")
class Transformer:
    """Computations on one device, which share the state of variables.

    Args:
        target: the device.
        hints: where tensors lie that have one of these axes, as `map=` of `ng.variable` has them.
        is_strict: whether operations may not make outer products by themselves.
        fuse: "cost" to store what pays; "none" to store each operation by itself.
        checks: of the engine.
    """

    def __init__(
        self,
        target: Target,
        hints: Mapping[Any, Any],
        is_strict: bool,
        fuse: str,
        checks: Checks,
    ) -> None:
        self.target, self.is_strict = target, is_strict
        self._hints, self._fuse, self._checks = dict(hints), fuse, checks
        self._reset()

    def _reset(self) -> None:
        self._graph = Graph(self.target)
        self._tensors: dict[TensorOp, Tensor] = {}
        self._places: dict[TensorOp, StoredTensor] = {}
        self._descriptions: dict[TensorOp, TensorDescription] = {}
        self._reasons: dict[TensorOp, str] = {}
        self.storages: dict[TensorOp, Variable] = {}
        """The variable of each tensor that is stored."""
        self._votes: tuple[int, Votes] | None = None
        self._computations: list[Computation] = []
        self._engine: Engine | None = None

    # -- computations ----------------------------------------------------------------------------

    def computation(self, results: Any, *params: Any, name: str | None = None) -> Computation:
        """Return a function of some tensors that computes results, and has effects.

        Args:
            results: an operation or effect, or several as a list, tuple, set or dictionary; None
                for none. What a call returns has the same form.
            params: placeholders, in the order of the call's arguments, and state that the call
                writes first; or "all" for all placeholders that are needed, in order of creation.
            name: of the program, and in reports.

        Raises:
            AxisError: for a parameter that is no tensor, and for placeholders that are needed and
                not among them.
            InvalidOption: for a name that another computation has.
        """
        if name is not None:
            check_kind(name, str, "computation: a name", "name='train'")
        called = name or f"computation{len(self._computations)}"
        for each in self._computations:
            if each.name != called:
                continue
            raise InvalidOption(
                f"a computation named {clipped(called)} is there already",
                found=f"its results are {clipped(list(each.items))}",
                fix="another name, or none",
            )
        made = Computation(self, results, params, called)
        self._computations.append(made)
        return made

    def initialize(self) -> None:
        """Give all tensors storage and their first values; a call does it by itself."""
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
        """Forget all computations, which cannot be called any more, and all state."""
        self._reset()

    def close(self) -> None:
        """Let go of the graph, the engine and their memory."""
        self._reset()

    def __repr__(self) -> str:
        count = amount(len(self._computations), "computation")
        return f"<Transformer of {amount(self.target.tiles, 'tile')}, {count}>"

    def __enter__(self) -> Transformer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- for computations ------------------------------------------------------------------------

    @property
    def fuse(self) -> str:
        """How what is stored is decided."""
        return self._fuse

    def check_has(self, computation: Computation) -> None:
        """Raise AxisError for a computation that was forgotten, or of another kind."""
        _check_computation(computation, "check_has")
        if computation not in self._computations:
            raise AxisError(
                f"computation '{computation.name}': its transformer was closed or reset",
                found=f"it was made at {computation.line}",
                fix="device.computation(results, ...) makes another one",
            )

    def engine_for(self, computation: Computation) -> Engine:
        """Return the engine, with the program of a computation."""
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
        """Return the tensor of a constant, an input or a state, in the order of its axes."""
        _check_stored(op, "tensor")
        if op not in self._tensors:
            self._tensors[op] = self._stored(op)
        return self._tensors[op]

    def variable(self, op: Op, hint: Any) -> Tensor:
        """Return a new variable for a result, placed by a hint."""
        op = as_op(op, "variable")
        description = TensorDescription(op.axes, op.element_type, name=op.name or op.called)
        where = self._placed(op, description, hint, None)
        stored = description.with_layout(where.layout)
        return stored.view(stored.allocated(self._graph, where.mapping))

    def description(self, op: Op) -> TensorDescription:
        """Return the description of a tensor that is stored, or of a view of such."""
        return described(as_op(op, "description"), self._description)

    def stored_order(self, op: Op) -> Axes:
        """Return the axes of an operation as they are stored, or are to be: the outermost first.

        What is computed element by element lies as the tensor that it is of.
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
        """Return whether a hint says where a tensor lies: its own, or that of the transformer."""
        _check_stored(op, "is_hinted")
        return op.place is not None or bool(self._hint_for(op))

    def why(self, op: TensorOp) -> str:
        """Return where a tensor lies, and why its axes are stored in their order."""
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
        choice = self._choice(op)
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

    def _choice(self, op: TensorOp) -> Choice:
        return self._known_votes().choice(op)

    def _known_votes(self) -> Votes:
        """Return the votes of all computations that there are by now."""
        known = len(self._computations)
        if self._votes is None or self._votes[0] != known:
            items = [item for each in self._computations for item in each.items]
            self._votes = known, Votes(roots_of(items), written_by(items))
        return self._votes[1]

    def _placed(
        self, op: Op, description: TensorDescription, hint: Any, inner: Axis | None
    ) -> StoredTensor:
        layout = description.layout
        while isinstance(hint, TensorOp):
            self.tensor(hint)
            like = self._places[hint]
            if hint.axes == op.axes and layout in (None, like.layout):
                return like
            hint = hint.place
        if hint is None:
            hint = self._hint_for(op)
        size = op.element_type.size_bytes
        return placed(self._graph, description.name, op.axes, size, hint or None, layout, inner)

    def _hint_for(self, op: Op) -> dict[Any, Any]:
        """Return the hints that concern a tensor.

        An axis on "tiles" has all of them for itself; numbers of blocks make one grid together, of
        which a tensor without one of the axes lies on the first tiles.
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
    map: Mapping[Any, Any] | None = None,  # noqa: A002  (the word of `ng.variable`)
    strict: bool = False,
    fuse: Literal["cost", "none"] = "cost",
    checks: Checks = "fast",
) -> Transformer:
    """Return a transformer, which makes computations.

    Args:
        target: the device; left out, an IPU, or one of `tiles` tiles.
        tiles: how many tiles, where no target is given.
        map: where tensors lie that have one of these axes, as `map=` of `ng.variable` takes them:
            `{N: "tiles"}`.
        strict: whether operations are refused that make an outer product by themselves, as in a
            block of `ng.strict`.
        fuse: "cost" to store what pays; "none" to store each operation by itself.
        checks: of the engine, see `pl.Engine`.

    Raises:
        InvalidOption: for a target beside tiles, and for options that are none.

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
            "make_transformer: a target beside tiles",
            fix="pl.Target(tiles=...) alone, or tiles= alone",
        )
    if target is not None and not isinstance(target, Target):
        raise InvalidOption(
            f"make_transformer: {clipped(target)} is no target",
            found=of_type(target),
            fix="pl.Target(tiles=...), or tiles=...",
        )
    if map is not None and not isinstance(map, Mapping):
        raise InvalidOption(
            f"make_transformer: map={clipped(map)}",
            found=of_type(map),
            fix='a hint for each of some axes, such as map={N: "tiles"}',
        )
    check_hints(map or {})
    if not isinstance(fuse, str) or fuse not in ("cost", "none"):
        raise InvalidOption(
            f"make_transformer: fuse={clipped(fuse)}",
            found=of_type(fuse),
            fix='fuse="cost" or fuse="none"',
        )
    if not isinstance(checks, str) or checks not in get_args(Checks):
        raise InvalidOption(
            f"make_transformer: checks={clipped(checks)}",
            found=of_type(checks),
            fix='checks="strict", "fast" or "none"',
        )
    found = target or (Target() if tiles is None else Target(tiles=tiles))
    return Transformer(found, {} if map is None else map, strict, fuse, checks)


def _check_computation(computation: object, method: str) -> None:
    check_kind(computation, Computation, f"{method}: computation", "device.computation(results)")


def _check_stored(op: object, method: str) -> None:
    fix = "a tensor of ng.variable, ng.placeholder or ng.constant"
    check_kind(op, TensorOp, f"{method}: op", fix)


def _in_order(value: npt.NDArray[Any], axes: Axes, layout: Layout) -> npt.NDArray[Any]:
    """Return a value of some axes as it is stored, with zeros where there is only room."""
    ordered = value.transpose([axes.index(axis) for axis in layout.order])
    if ordered.shape == layout.stored_shape:
        return ordered
    made = np.zeros(layout.stored_shape, value.dtype)
    made[tuple(map(slice, ordered.shape))] = ordered
    return made


# -- placing ---------------------------------------------------------------------------------------


LEAST_BYTES = 128
"""Bytes of a tile, at least, where a tensor is spread linearly. Source: PopLibs, the default of
`poputil::mapTensorLinearly`."""


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """How a tensor is stored.

    Attributes:
        layout: in which order its axes are stored, and with how much room.
        mapping: of its elements in that order, as `graph.add_variable` takes it.
        why: the reason, for `explain()`.
    """

    layout: Layout
    mapping: Any
    why: str


def placed(
    graph: Graph,
    name: str,
    axes: Axes,
    element: int,
    hint: Any,
    layout: Layout | None,
    inner: Axis | None,
) -> StoredTensor:
    """Return how a tensor is stored by a hint.

    Args:
        graph: whose tiles they are.
        name: of the tensor.
        axes: of the tensor.
        element: bytes of an element.
        hint: None, a tile, a `TileMapping`, or a dictionary of axes.
        layout: that a user gave; None for one whose outermost axes are those that are cut.
        inner: the axis that is the innermost where there is a choice; None for the listed order.

    Raises:
        MissingAxisError: for an axis of another tensor's hint that this one has not.
        InvalidTileMapping: for tiles that are not there.
    """
    tiles = graph.target.tiles
    if hint is None:
        stored = layout or _layout(axes, [], inner)
        per_tile = max(-(-stored.size // tiles), LEAST_BYTES // element, 1)
        count = -(-stored.size // per_tile)
        why = f"linear over {amount(count, 'tile')}"
        return StoredTensor(stored, _blocks(tiles, stored.size, per_tile), why)
    if isinstance(hint, TileMapping):
        return StoredTensor(layout or row_major(axes), hint, "as given")
    tile = integer_or_none(hint)
    if tile is not None:
        return StoredTensor(layout or _layout(axes, [], inner), tile, f"on tile {tile}")
    return _by_axes(tiles, name, axes, hint, layout, inner)


def check_hints(hints: Mapping[Any, Any]) -> None:
    """Raise AxisError for hints of a transformer that are not by axis."""
    for axis, count in hints.items():
        if not isinstance(axis, Axis):
            raise AxisError(
                f"make_transformer: map has {clipped(axis)}, which is no axis",
                found=of_type(axis),
                fix='the axis itself: map={N: "tiles"}',
            )
        blocks_of("make_transformer: map", axis, count, 1)


def _layout(axes: Axes, cut: list[Axis], inner: Axis | None) -> Layout:
    """Return the layout that has the axes that are cut outermost, and one innermost."""
    outer = [axes.own(axis) for axis in cut]
    last = [axes.own(inner)] if inner is not None and inner not in some(outer) else []
    return Layout(some([*outer, *(axes - some(outer) - some(last)), *last])).by(axes)


def _blocks(tiles: int, size: int, per_tile: int) -> TileMapping:
    bounds = np.minimum(np.arange(-(-size // per_tile) + 1) * per_tile, size)
    return TileMapping(tiles, np.arange(len(bounds) - 1), np.diff(bounds))


def _by_axes(
    tiles: int,
    name: str,
    axes: Axes,
    hint: Mapping[Axis, Any],
    layout: Layout | None,
    inner: Axis | None,
) -> StoredTensor:
    """Return a mapping by blocks of axes."""
    cuts = _cuts(tiles, f"map of '{name}'", axes, hint)
    own = [axis for axis, _ in cuts if axis in axes]
    stored = layout or _layout(axes, own, inner)
    outer = 1 + max([stored.order.index(axis) for axis in own], default=-1)
    shape = stored.stored_shape
    tile = np.zeros(shape[:outer] or (1,), np.int64)
    stride = math.prod(number for _, number in cuts)
    for axis, number in cuts:
        stride //= number
        if axis not in axes:
            continue
        dim = stored.order.index(axis)
        length = axes.own(axis).known_length("a place")
        # What is room only lies with the last index.
        index = np.minimum(np.arange(shape[dim]), max(length - 1, 0))
        block = index // max(1, -(-length // number))
        tile = tile + (block * stride).reshape([-1 if d == dim else 1 for d in range(outer)])
    flat = tile.reshape(-1)
    text = ", ".join(f"{axis.name} in {number}" for axis, number in cuts)
    mapping = TileMapping(tiles, flat, np.full(len(flat), math.prod(shape[outer:])))
    return StoredTensor(stored, mapping, f"blocks of {text}")


def _cuts(tiles: int, what: str, axes: Axes, hint: Mapping[Axis, Any]) -> list[tuple[Axis, int]]:
    """Return into how many blocks a hint cuts which axes."""
    check_by_axes(what, axes, hint)  # those of another tensor, where that is the hint
    cuts: list[tuple[Axis, int]] = []
    for axis, count in hint.items():
        number = blocks_of(what, axis, count, tiles)
        if number is not None:
            cuts.append((axis, number))
    grid = math.prod(number for _, number in cuts)
    if grid > tiles:
        text = " x ".join(str(number) for _, number in cuts)
        raise InvalidTileMapping(
            f"{what}: {text} = {grid:,} blocks on {tiles:,} tiles",
            found=f"the axes are {axes}",
            fix="fewer blocks, or more tiles",
        )
    return cuts
