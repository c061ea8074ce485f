"""A loop over the rows of tensors: `ops.scan`, and its parts, which recurrent layers use.

    carry, ys = ops.scan(body, carry, xs)

    for i in range(n):  # one loop of the program; the body is recorded once
        carry, ys[i] = body(carry, xs[i])

    xs, ys [n, ...]      each row is spread over all tiles, as by `create_sliceable`, so that it is
                         read and written in place

The size of a program does not depend on the number of rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import poplite.ops.operands as checks
from poplite.errors import ControlProgramError, ElementTypeError, TensorCreationError, checked_truth
from poplite.expr.build import as_expr
from poplite.expr.operand import Operand, as_read
from poplite.expr.tree import ElementClass, Number, Weak
from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.control import repeat
from poplite.ops.fuse.storing import Root
from poplite.ops.operands import Given
from poplite.ops.record import assign, copy, lower, map as stored, one_operation
from poplite.ops.slices.dynamic import create_sliceable, dynamic_slice, dynamic_update
from poplite.program import Sequence
from poplite.program.recording import graph_for, innermost
from poplite.text import clipped, integer_or_none, of_type, why_not_called


def scan(
    body: Callable[[Any, Any], tuple[Any, Any]],
    carry: Any,
    xs: Any = None,
    *,
    length: int | None = None,
    reverse: bool = False,
    name: str = "scan",
    program: Sequence | None = None,
) -> tuple[Any, Any]:
    """Record a loop over the rows of tensors that carries values from one turn to the next.

    `carry`, `xs` and the results of the body are trees: an operand; None; or a tuple, list, named
    tuple or dict of trees. Without a carry, `body(None, x)`, it maps the rows.

    Args:
        body: a function of the carry and of the row of each tensor of `xs`, called once. It returns
            the next carry, a tree with the structure, types and shapes of `carry`, and a tree of
            outputs of one turn. It may record steps.
        carry: the values before the first turn, tensors or expressions; they are not changed.
        xs: operands whose first dimension is the number of turns. Their rows are read where they
            are if they are spread as by `ops.create_sliceable`; other operands are copied once.
        length: the number of turns, which is needed only without `xs`.
        reverse: whether to begin with the last row; outputs have the order of their rows.
        name: the name of the steps and of the outputs.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Returns:
        The carry after the last turn, in new tensors, and for each output of the body a new tensor
        with a row for each turn.

    Raises:
        ElementTypeError: if the body is not a function of two arguments, something in a tree is not
            an operand, or the type of a carry changes.
        TensorCreationError: for lengths that differ, or if the shape of a carry changes.
        ControlProgramError: if the body does not return two trees, or returns a carry of another
            structure, or if `program` is omitted outside any block of steps.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=2))
    >>> x = graph.add_variable(pl.INT, (5,), "x", mapping="linear", initial_value=range(1, 6))
    >>> def body(total, number):
    ...     return total + number, total * number
    >>> with graph.steps() as program:
    ...     total, products = scan(body, x[0] * 0, x)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> int(engine.read(total)), engine.read(products).tolist()
    (15, [0, 2, 9, 24, 50])
    """
    _check_body(body)
    reverse = checked_truth(reverse, "ops.scan: reverse")
    call = _call(carry, xs, length, name, program)
    with one_operation(call.graph, name, call.place):
        state = [stored(each, name="carry") for each in call.carried]
        read = [_in_rows(call.graph, each) for each in call.xs]
        with (backwards if reverse and call.turns else forwards)(call.turns) as step:
            rows = [of_step(x, step, "x") for x in read]
            made = body(_filled(carry, state), _filled(xs, rows))
            new, outputs = _results(made, carry, state, call.graph)
            ys = [
                sequence(call.graph, each.element_type, (call.turns, *each.shape), name)
                for each in outputs
            ]
            _store(call.graph, step, state, new, outputs, ys)
    return _filled(carry, state), _filled(made[1], ys)


class _Call(NamedTuple):
    """The checked arguments of a scan, and where its steps go."""

    graph: Graph
    place: Sequence
    carried: list[Given]
    xs: list[Given]
    turns: int


def _call(carry: Any, xs: Any, length: object, name: str, program: Sequence | None) -> _Call:
    """Check the operands of a scan."""
    what, of_carry, of_xs = "ops.scan", [*_leaves(carry, "carry")], [*_leaves(xs, "xs")]
    given = of_carry + of_xs
    operands = [checks.operand(what, each, program, role) for role, each in given]
    if operands:
        graph = checks.graph_of(what, operands[0], program, *operands[1:])
    else:
        graph = graph_for(innermost(what).graph.top_level_graph, (), program)
    operands = [checks.own_operand(what, graph, each, program, role) for role, each in given]
    place = checks.steps_for(what, graph, name, program)
    rows = operands[len(of_carry) :]
    turns = _length(length, [role for role, _ in of_xs], rows)
    return _Call(graph, place, operands[: len(of_carry)], rows, turns)


def _store(
    graph: Graph,
    step: Tensor,
    state: list[Tensor],
    new: list[Given],
    outputs: list[Given],
    ys: list[Tensor],
) -> None:
    """Record the end of a turn: its outputs become rows, then the new carry replaces the old."""
    late = []
    for y, each in zip(ys, outputs, strict=True):
        if isinstance(each, Tensor):  # it may be the carry, which changes next
            store_step(y, each, step, "y")
        else:
            late.append((y, each))
    changed = [(a, b) for a, b in zip(state, new, strict=True) if a is not b]
    # A part that later ones still read is replaced after them.
    is_direct = [
        not _is_read(target, [value for _, value in changed[number + 1 :]])
        for number, (target, _) in enumerate(changed)
    ]
    roots = [Root(as_expr(each, "ops.scan"), name="y") for _, each in late]
    for (target, value), direct in zip(changed, is_direct, strict=True):
        roots.append(Root(as_expr(value, "ops.scan"), target if direct else None, name="carry"))
    made = lower(graph, roots)
    for (y, _), part in zip(late, made, strict=False):
        store_step(y, part, step, "y")
    for (target, _), part, direct in zip(changed, made[len(late) :], is_direct, strict=True):
        if not direct:
            copy(part, target, name="carry")


def _in_rows(graph: Graph, x: Given) -> Tensor:
    """Return operands whose rows are spread over all tiles; others are copied, once."""
    if isinstance(x, Tensor):
        like = sequence(Graph(graph.target), x.element_type, x.shape, "x")
        if graph.tile_mapping(x) == like.graph.tile_mapping(like):
            return x
    return assign(sequence(graph, x.element_type, x.shape, "x"), x, name="x")


def _is_read(target: Tensor, values: list[Given]) -> bool:
    """Return whether any of the values reads a tensor."""
    leaves = [leaf for each in values for leaf in checks.tensors_of(each)]
    return any(target.intersects_with(leaf) for leaf in leaves)


# -- trees -----------------------------------------------------------------------------------------


MOST_LEVELS = 50
"""Maximum number of levels of a tree."""


def _leaves(tree: Any, role: str, levels: int = MOST_LEVELS) -> Iterator[tuple[str, Any]]:
    """Yield the operands of a tree, each with its place: `carry[0]['h']`."""
    if not levels:
        raise ControlProgramError(
            f"ops.scan: {role.partition('[')[0]} has more than {MOST_LEVELS} levels",
            fix="pass a tuple or a dict of tensors",
        )
    if isinstance(tree, dict):
        for key, each in tree.items():
            yield from _leaves(each, f"{role}[{key!r}]", levels - 1)
    elif isinstance(tree, tuple | list):
        for number, each in enumerate(tree):
            yield from _leaves(each, f"{role}[{number}]", levels - 1)
    elif tree is not None:
        yield role, _operand(tree, role)


def _operand(value: object, role: str) -> Any:
    """Return an operand with a type of its own, or raise."""
    read = as_read(value)
    if isinstance(read, Operand) and not isinstance(read, Weak | Number):
        return read
    raise ElementTypeError(
        f"ops.scan: {role} is {clipped(value)}, not a tensor or an expression",
        found=of_type(value),
        fix="pass graph.add_constant(pl.FLOAT, (), 0.0, mapping=0) for a number",
    )


def _filled(tree: Any, leaves: list[Tensor]) -> Any:
    """Return a tree of the same structure, with other operands."""
    return _with(tree, iter(leaves))


def _with(tree: Any, leaves: Iterator[Tensor]) -> Any:
    if isinstance(tree, dict):
        return {key: _with(each, leaves) for key, each in tree.items()}
    if isinstance(tree, tuple | list):
        made = [_with(each, leaves) for each in tree]
        return type(tree)(*made) if hasattr(tree, "_fields") else type(tree)(made)
    return None if tree is None else next(leaves)


# -- checks ----------------------------------------------------------------------------------------


def _check_body(body: object) -> None:
    why = why_not_called(body, 2) if callable(body) else "it cannot be called"
    if why:
        raise ElementTypeError(
            f"ops.scan: body is {clipped(body, 60)}, not a function of a carry and a row: {why}",
            found=of_type(body),
            fix="pass a function such as lambda carry, x: (carry + x, carry)",
        )


def _length(length: object, roles: list[str], xs: list[Given]) -> int:
    """Return the number of turns, or raise unless all operands have it as their first dimension."""
    number = integer_or_none(length)
    if length is not None and (number is None or number < 0):
        raise TensorCreationError(
            f"ops.scan: length is {clipped(length)}, not a whole number from 0 on",
            found=of_type(length),
            fix="pass length=10, or omit it: it is the first dimension of xs",
        )
    named = [] if number is None else [("length", number)]
    for role, x in zip(roles, xs, strict=True):
        if not x.rank:
            raise TensorCreationError(
                f"ops.scan: {role} has no dimension to loop over",
                found=checks.described(x),
                fix="pass it as a part of the carry, or use it in the body without passing it",
            )
        named.append((role, x.shape[0]))
    if not named:
        raise TensorCreationError(
            "ops.scan: neither xs nor length says how many turns there are", fix="pass length=10"
        )
    (first, turns), *others = named
    for role, other in others:
        if other != turns:
            raise TensorCreationError(
                f"ops.scan: {role} has {other:,} rows, but {first} has {turns:,}"
                if first != "length"
                else f"ops.scan: {role} has {other:,} rows, but length is {turns:,}",
                fix="pass operands whose first dimensions are equal, and omit length",
            )
    return turns


class _Results(NamedTuple):
    """What a turn returns: the next carry, and its outputs."""

    new: list[Given]
    outputs: list[Given]


def _results(made: object, carry: Any, state: list[Tensor], graph: Graph) -> _Results:
    """Return the operands that the body returned, or raise."""
    if not (isinstance(made, tuple | list) and len(made) == 2):
        raise ControlProgramError(
            f"ops.scan: the body returned {clipped(made, 60)}, not a carry and outputs",
            found=of_type(made),
            fix="return carry, y at the end of the body; either may be None",
        )
    after, outputs = [*_leaves(made[0], "carry")], [*_leaves(made[1], "y")]
    places = [role for role, _ in _leaves(carry, "carry")]
    if [role for role, _ in after] != places:
        raise ControlProgramError(
            "ops.scan: the body returned a carry of another structure",
            found=f"{', '.join(role for role, _ in after) or 'None'}; it was given "
            f"{', '.join(places) or 'None'}",
            fix="return the parts of the carry in the structure in which the body gets them",
        )
    checked = [
        checks.own_operand("ops.scan", graph, each, None, role) for role, each in after + outputs
    ]
    new = checked[: len(after)]
    for role, value, before in zip(places, new, state, strict=True):
        _check_like(role, value, before)
    return _Results(new, checked[len(after) :])


def _check_like(role: str, value: Given, before: Tensor) -> None:
    """Raise for a carry whose shape or type changes."""
    if value.shape != before.shape:
        raise TensorCreationError(
            f"ops.scan: {role} has shape {before.shape}, but the body returned {value.shape}",
            found=checks.described(value),
            fix="return a carry of the same shape in each turn",
        )
    if value.element_type is not before.element_type:
        raise ElementTypeError(
            f"ops.scan: {role} is {before.element_type!r}, but the body returned "
            f"{value.element_type!r}",
            found=checks.described(value),
            fix=f"ops.cast(..., {before.element_type!r})",
        )


# -- rows ------------------------------------------------------------------------------------------


@contextmanager
def forwards(steps: int) -> Iterator[Tensor]:
    """Record a loop over the steps; yields the index of the step, an UNSIGNED_INT tensor."""
    with repeat(steps) as number:
        yield number.tensor


@contextmanager
def backwards(steps: int) -> Iterator[Tensor]:
    """Record a loop over the steps in reverse; yields the index of the step."""
    with repeat(steps) as number:
        yield stored((steps - 1) - number.tensor, name="step")


def sequence(graph: Graph, element: ElementClass, shape: tuple[int, ...], name: str) -> Tensor:
    """Create a variable with an element for each step along dimension 0."""
    if not math.prod(shape):
        return graph.add_variable(element, shape, name, mapping="linear")
    return create_sliceable(graph, element, shape, [0], [1], name)


def of_step(x: Tensor, step: Tensor, name: str) -> Tensor:
    """Record a read of the element of a step along dimension 0."""
    if not x.shape[0]:  # the loop has no turn, so nothing reads it
        like = sequence(x.graph, x.element_type, (1, *x.shape[1:]), name)
        return like[0]
    if not x.num_elements:
        return x[0]
    # The index of a step is never out of range.
    return dynamic_slice(x, step, [0], [1], out_of_range="popops", name=name)[0]


def store_step(x: Tensor, part: Tensor, step: Tensor, name: str) -> None:
    """Record a write of the element of a step along dimension 0."""
    if x.num_elements:
        whole = part.reshape((1, *part.shape))
        dynamic_update(x, whole, step, [0], [1], out_of_range="popops", name=name)
