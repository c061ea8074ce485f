"""Recording of expressions: `map`, `assign`, `lower` make steps that store them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import poplite.ops.operands as checks
from poplite.errors import ElementTypeError, TensorCreationError, checked_items
from poplite.expr import tree
from poplite.expr.build import as_expr, typed_number
from poplite.expr.operand import Operand
from poplite.expr.tree import ElementClass, Expr
from poplite.graph.graph import Graph
from poplite.graph.host_values import check_room
from poplite.graph.tensor.arguments import no_tensor
from poplite.graph.tensor.tensor import Tensor, check_own
from poplite.graph.tensor.tensor_text import shared
from poplite.ops.fuse.contractions import is_dot, layout_of
from poplite.ops.fuse.lowering import Lowering
from poplite.ops.fuse.maps import Mappings
from poplite.ops.fuse.recipe import NOTES
from poplite.ops.fuse.storing import Root, distinct
from poplite.ops.operands import FLOATS, Given
from poplite.program import Sequence as Steps, recording
from poplite.program.control import check_graph
from poplite.public import arguments_of
from poplite.source import SourceLocation, here, lines_as
from poplite.text import amount, clipped, of_type
from poplite.types import BOOL
from poplite.view import storages


def map(  # noqa: A001  (the name that PopLibs has)
    expr: Operand | float,
    tensors: Sequence[Operand] = (),
    *,
    out: Tensor | None = None,
    mapping: Any = None,
    name: str = "",
    program: Steps | None = None,
) -> Tensor:
    """Record the steps that compute an expression, and return the tensor that will hold it.

    One vertex class is generated for each structure of an expression: other tensors, numbers,
    shapes or mappings with the same structure need no compilation. Reductions within the
    expression are separate steps.

    Args:
        expr: an expression of any shape. A tensor is copied.
        tensors: the values of `ops.arg(0)`, `ops.arg(1)`, ... in the expression.
        out: the tensor for the result, of the same element type, and of the same shape or one to
            which it can be broadcast. It may be a tensor of the expression itself, which is then
            changed in place, but may not share elements with one in a different order or position.
            Unmapped elements are mapped. By default, a new variable.
        mapping: the mapping of the new variable, as in `graph.add_variable` of the graph of the
            open `steps()`. By default, it is the mapping of the operand of the result's shape
            whose fullest tile has the fewest elements; or it is linear over all tiles, if operands
            are broadcast or use fewer than half of the tiles, or if the fullest tile would then
            have at most half as many elements and that takes fewer cycles. In the block of a
            virtual graph, or if all operands were created with one, only the tiles of that graph
            are used.
        name: the name of the new variable and of the steps; by default, the name of the operation.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Returns:
        The result: `out`, or the new variable.

    Raises:
        ElementTypeError: for an `expr` that is not an expression, a missing argument,
            `tensors` that are not a list, or an `out` of a different type.
        TensorCreationError: for an `out` of an unsuitable shape, or one that shares elements with a
            tensor of the expression in another order or position.
        GraphConnectionError: for tensors of different graphs, or an `out` that cannot be
            written.
        InvalidTileMapping: if an element of the expression is not mapped.
        ControlProgramError: if `program` is omitted outside any block of steps.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> x = graph.add_variable(pl.FLOAT, (6,), "x", mapping="linear", initial_value=range(6))
    >>> y = map((x - 1) ** 2, name="y", program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(y)
    array([ 1.,  0.,  1.,  4.,  9., 16.], dtype=float32)
    """
    root = Root(_bound(expr, tensors, "ops.map", out), out, mapping, name, here())
    (made,) = _lower([root], program, "ops.map(expression)")
    return made


def assign(
    target: Tensor, expr: Operand | float, *, name: str = "", program: Steps | None = None
) -> Tensor:
    """Record the steps that store an expression in a tensor: `ops.map(expr, out=target)`.

    Args:
        target: a tensor of the element type of the expression, and of its shape or one to which it
            can be broadcast. A number is stored in all elements.
        expr: the expression, which may read the target.
        name: the name of the steps; by default, that of the target's variable.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Returns:
        The target.

    Raises:
        PopliteError: as `ops.map`.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> w = graph.add_variable(pl.FLOAT, (4,), "w", mapping="linear", initial_value=1)
    >>> _ = assign(w, w - 0.25, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(w)
    array([0.75, 0.75, 0.75, 0.75], dtype=float32)
    """
    return store(target, expr, name, program, "ops.assign")


def store(
    target: Tensor, expr: Operand | float, name: str, program: Steps | None, what: str
) -> Tensor:
    """Record an assignment; messages name the operation `what`."""
    if not isinstance(target, Tensor):
        raise ElementTypeError(
            f"{what}: {clipped(target)} is not a tensor",
            found=of_type(target),
            fix=f"pass the target first: {what}(x, {clipped(target)})"
            if isinstance(expr, Tensor)
            else "call ops.map(expression), which stores it in a new tensor",
        )
    node = as_expr(expr, what, [target])
    own = _name_below(target) if isinstance(name, str) and not name else name
    root = Root(node, target, None, own, here())
    (made,) = _lower([root], program, f"{what}(x, expression)")
    return made


def _name_below(target: Tensor) -> str:
    """Return the last part of the name of a target's variable; "assign" for several variables."""
    is_one = len(storages(target.view)) == 1
    return target.name.rpartition("/")[2] if is_one else "assign"


def lower(
    graph: Graph, roots: Sequence[Root | Operand], program: Steps | None = None
) -> list[Tensor]:
    """Record the steps of several expressions, deciding jointly which values to store.

    Args:
        graph: the graph of all tensors.
        roots: expressions, or an `ops.Root` with the tensor for each. They are stored in order:
            each root reads the results of earlier roots.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Returns:
        The tensors of the roots.

    Raises:
        PopliteError: as `ops.map`, except that an `out` which shares elements with a tensor of the
            expression is stored through a temporary tensor.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    >>> x, y = (graph.add_variable(pl.FLOAT, (4,), name, mapping="linear") for name in "xy")
    >>> made = pl.ops.lower(graph, [x + y, pl.ops.Root(x - y, out=x)], program)
    >>> [each.name for each in made]
    ['add', 'x']
    """
    check_graph("lower(graph, roots, program)", graph)
    fix = "ops.lower(graph, [x + y, x - y], program)"
    listed = checked_items(roots, "ops.lower: roots", fix)
    made = [
        replace(each, expr=as_expr(each.expr, "ops.lower", [graph]), at=_line(each))
        if isinstance(each, Root)
        else Root(as_expr(each, "ops.lower", [graph]), at=here())
        for each in listed
    ]
    return _lower(made, program, "ops.lower(graph, roots, program)", graph, may_overlap=True)


def _line(root: Root) -> SourceLocation:
    """Return the user's line for a root, or raise."""
    if root.at is not None and not isinstance(root.at, SourceLocation):
        raise ElementTypeError(
            f"ops.lower: at= of a root must be a source location; found {clipped(root.at)}",
            found=of_type(root.at),
            fix="omit it for the line of the call",
        )
    return here() if root.at is None else root.at


def explain(result: Tensor) -> str:
    """Return how a result of `ops.map`, `ops.assign` or `ops.lower` was computed.

    Args:
        result: the tensor that one of them returned.

    Returns:
        A line for each part that was stored, reduced or computed again, with the reason, followed
        by the computation of the vertex per element, from tensors `a0`, ... and numbers `k0`, ...

    Raises:
        TensorCreationError: for a tensor that is not a result.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    >>> x = graph.add_variable(pl.FLOAT, (4,), "x", mapping="linear")
    >>> print(pl.ops.explain(pl.ops.map(x * x + 1, name="y", program=program)))
    stored: x * x + 1.0, by x0 * x0 + k0, 16 B (a result, like x)
        v0 = a0 * a0
        v1 = v0 + k0
    """
    if not isinstance(result, Tensor):
        raise no_tensor("ops.explain", result, "pass the tensor that ops.map returned")
    notes = NOTES.get(result.graph, {}).get((result.name, result.shape))
    if notes is None:
        raise TensorCreationError(
            f"ops.explain: '{result.name}' is not a result of an operation",
            fix="pass a tensor that ops.map, ops.assign or ops.lower returned",
        )
    return "\n".join(str(note) for note in notes)


def _lower(
    roots: list[Root],
    program: Steps | None,
    usage: str,
    graph: Graph | None = None,
    *,
    may_overlap: bool = False,
) -> list[Tensor]:
    roots = [_typed(root, usage) for root in roots]
    graph = _graph(roots, program, usage, graph)
    mappings = Mappings(graph)
    seen: set[Expr] = set()
    for root in roots:
        _check(mappings, root, usage, seen)
    target = recording.target(graph, program, usage)
    roots = [_named(root) for root in roots]
    for root in roots:
        if root.out is not None and not may_overlap:
            _check_overlap(root, root.out, usage)
    work = Lowering(recording.recorder(graph, target), mappings)
    name = roots[0].name if roots else ""
    outs = [root.out for root in roots if root.out is not None]
    work.recorder.uses(name, _tensors(roots), outs)
    with lines_as(here()):
        made = work.lower(roots)
    work.recorder.uses(name, [], made)
    work.recorder.finish(target, name)
    for each in made:
        NOTES.setdefault(graph.top_level_graph, {})[each.name, each.shape] = work.notes
    return made


def _typed(root: Root, usage: str) -> Root:
    """Convert a number to the element type of the tensor in which it is stored."""
    if not isinstance(root.expr, tree.Weak) or not isinstance(root.out, Tensor):
        return root
    called = usage.partition("(")[0]
    return replace(root, expr=typed_number(root.expr.value, root.out.element_type, called))


def _graph(roots: Sequence[Root], program: Steps | None, usage: str, graph: Graph | None) -> Graph:
    """Return the given graph, or the graph of the tensors, or else that of the block."""
    is_placed = any(root.mapping is not None for root in roots)
    tensors = [*checks.tensors_of(*(root.expr for root in roots))]
    outs = [root.out for root in roots if isinstance(root.out, Tensor)]
    if graph is None and (tensors or outs):
        graph = (tensors or outs)[0].graph
    if graph is not None:
        return recording.graph_for(graph, tensors or outs, program, is_placed=is_placed)
    return checks.graph_of(usage, roots[0].expr, program)


def _check(mappings: Mappings, root: Root, usage: str, seen: set[Expr]) -> None:
    """Raise for expressions that cannot be stored; `seen` are the parts of earlier roots."""
    graph, at = mappings.graph, here()
    checks.check_name(usage, root.name)
    parts = tree.new_parts(root.expr, seen)
    for part in parts:
        if isinstance(part, tree.Leaf):
            check_own(graph, part.tensor, usage)
            assert isinstance(part.tensor, Tensor)
            mappings.of(distinct(part.tensor))  # raises if an element is not mapped
    checks.check_closed(usage, root.expr)
    for part in parts:
        if isinstance(part, tree.IotaExpr):
            called = f"'{root.name}'" if root.name else usage.partition("(")[0]
            check_room(graph.space, part.element_type, part.shape, called)
        if isinstance(part, tree.Contraction) and not is_dot(part):
            layout_of(graph, part)  # raises if no layout fits
    out = root.out
    if out is None:
        return
    check_own(graph, out, f"{usage}, out")
    if out.element_type is not root.expr.element_type:
        raise ElementTypeError(
            f"{usage}: out '{out.name}' is {out.element_type!r}, "
            f"but the expression is {root.expr.element_type!r}",
            at=at,
            found=tree.formula(root.expr),
            fix=f"ops.cast(expression, {out.element_type!r})",
        )
    if not _fits(root.expr.shape, out.shape):
        raise TensorCreationError(
            f"{usage}: out '{out.name}' has shape {out.shape}, but the expression has "
            f"{root.expr.shape}",
            at=at,
            found=tree.formula(root.expr),
            fix=f"pass an out of shape {root.expr.shape}",
        )
    checks.check_writeable(usage, "out", out)


def _tensors(roots: Sequence[Root]) -> list[Tensor]:
    """Return the tensors that expressions read."""
    seen: set[Expr] = set()
    parts = [part for root in roots for part in tree.new_parts(root.expr, seen)]
    found = [part.tensor for part in parts if isinstance(part, tree.Leaf)]
    return [tensor for tensor in found if isinstance(tensor, Tensor)]


def _fits(shape: tuple[int, ...], out: tuple[int, ...]) -> bool:
    if len(shape) > len(out):
        return False
    return all(a in (1, b) for a, b in zip(shape[::-1], out[::-1], strict=False))


def _check_overlap(root: Root, out: Tensor, usage: str) -> None:
    """Raise for an `out` that shares elements with a tensor that is not the same view."""
    for tensor in root.expr.leaves:
        assert isinstance(tensor, Tensor)
        if tensor != out and tensor.intersects_with(out):
            views = f"out is {out!r}; the expression reads {tensor!r}"
            raise TensorCreationError(
                f"{usage}: out '{out.name}' shares elements with '{tensor.name}' of the "
                "expression, in another order or position",
                found=f"{views}; both hold {shared(out, tensor)}",
                fix="use the same view as out, or a new tensor: ops.copy(ops.map(expression), out)",
            )


def _bound(
    expr: Operand | float, tensors: Sequence[Operand] | Tensor, what: str, out: Tensor | None
) -> Expr:
    node = as_expr(expr, what, [out])
    if not isinstance(tensors, Sequence):
        given = f"'{tensors.name}', a tensor" if isinstance(tensors, Tensor) else clipped(tensors)
        raise ElementTypeError(
            f"{what}: the values of arguments are {given}, not a list of tensors",
            found=tree.formula(node),
            fix=f"{what}(expression, [x])",
        )
    count = checks.number_of_arguments(node)
    if len(tensors) > count:
        raise ElementTypeError(
            f"{what}: {amount(len(tensors), 'tensor')} for {amount(count, 'argument')}",
            found=tree.formula(node),
            fix="pass one for ops.arg(0), one for ops.arg(1), ...",
        )
    return checks.bind(node, tensors, what) if node.is_open else node


def _named(root: Root) -> Root:
    if root.name:
        return root
    name = tree.step_name(root.expr) or ("copy" if isinstance(root.expr, tree.Leaf) else "map")
    return Root(root.expr, root.out, root.mapping, name, root.at)


# -- filling and copying ---------------------------------------------------------------------------


def fill(
    target: Tensor,
    value: bool | int | float,
    *,
    name: str = "fill",
    program: Steps | None = None,
) -> Tensor:
    """Record a step that stores a number in all elements of a tensor.

    Args:
        target: a tensor of any type except QUARTER.
        value: a number of its type.
        name: the name of the step.
        program: where the step goes; by default, the open block of `graph.steps()`.

    Returns:
        The target.

    Raises:
        ElementTypeError: for a number that does not match the type, such as 0.5 for INT.
        SizeOverflowError: for a number that does not fit.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    >>> x = graph.add_variable(pl.INT, (3,), "x", mapping="linear")
    >>> _ = fill(x, 7, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(x)
    array([7, 7, 7], dtype=int32)
    """
    return store(target, value, name, program, "ops.fill")


@arguments_of(fill)
def zero(target: Tensor, *, name: str = "zero", program: Steps | None = None) -> Tensor:
    """Record a step that stores 0, or False, in all elements of a tensor; see `fill`.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    >>> x = graph.add_variable(pl.INT, (3,), "x", mapping="linear", initial_value=5)
    >>> _ = zero(x, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(x)
    array([0, 0, 0], dtype=int32)
    """
    value = False if getattr(target, "element_type", None) is BOOL else 0
    return store(target, value, name, program, "ops.zero")


def copy(
    source: Tensor, target: Tensor, *, name: str = "copy", program: Steps | None = None
) -> Tensor:
    """Record a step that copies a tensor to another; shapes are broadcast.

    Args:
        source: the tensor to copy.
        target: a tensor of the same type, and of its shape or one to which it can be broadcast.
        name: the name of the step.
        program: where the step goes; by default, the open block of `graph.steps()`.

    Returns:
        The target.

    Raises:
        PopliteError: as `ops.map`.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    >>> x = graph.add_variable(pl.INT, (3,), "x", mapping="linear", initial_value=5)
    >>> y = graph.add_variable(pl.INT, (2, 3), "y", mapping="linear")
    >>> _ = copy(x, y, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(y)[1]
    array([5, 5, 5], dtype=int32)
    """
    return store(target, source, name, program, "ops.copy")


@contextmanager
def one_operation(graph: Graph, name: str, place: Steps) -> Iterator[None]:
    """Record steps as one named operation, whose name prefixes those of its variables."""
    if isinstance(place, recording.Together):
        place.close_levels()  # its loops run where they are recorded
    record, steps = recording.OperationRecord(graph), recording.RecordedSteps(graph, name)
    with steps, graph.scope(name):
        yield
    record.close(name)
    place.add(steps)


# -- calls that store their operands first ---------------------------------------------------------


class OperationCall:
    """A call to an operation on floats, which checks all arguments before it records steps."""

    def __init__(self, what: str, name: str, program: Steps | None) -> None:
        self.what, self.name, self.program = what, name, program

    def operands(self, *given: tuple[Operand, str]) -> list[Given]:
        """Return operands of the same graph and the same float type."""
        (x, role), *others = given
        first = checks.operand(self.what, x, self.program, role)
        self.graph: Graph = checks.graph_of(
            self.what, first, self.program, *(each for each, _ in others)
        )
        checks.check_type(self.what, first, FLOATS, role)
        checks.check_placed(first)
        found = [first, *(self.another(other, name, first) for other, name in others)]
        self.steps = checks.steps_for(self.what, self.graph, self.name, self.program)
        return found

    def another(self, x: Operand, role: str, first: Given) -> Given:
        """Return an operand of the graph and the type of the first operand."""
        found = checks.own_operand(self.what, self.graph, x, self.program, role)
        checks.check_placed(found)
        if found.element_type is not first.element_type:
            raise ElementTypeError(
                f"{self.what}: {checks.called(first)} and {checks.called(found)} differ in type",
                found=f"{checks.described(first)} and {checks.described(found)}",
                fix="convert one of them with ops.cast",
            )
        return found

    def stored(self, x: Given, role: str) -> Tensor:
        """Return a tensor: an expression is stored first."""
        if isinstance(x, Expr):
            return map(x, name=f"{self.name}/{role}", program=self.program)
        return x

    def zeros(self, element: ElementClass, shape: tuple[int, ...], name: str) -> Tensor:
        """Return a new tensor, and record the steps that set its elements, if any, to 0."""
        made = self.graph.add_variable(element, shape, name, mapping="linear")
        return zero(made, name=name, program=self.program) if made.num_elements else made
