"""Loops with an index that the program can read.

    counted_loop(graph, 0, n, 1, lambda i: Sequence(...))

    CountFrom        i = begin, go_on = begin < end
    while go_on:
      body(i)
      CountOn        i = min(i + step, end), go_on = i < end

As popops::countedLoop.  `Repeat` is quicker where nothing asks for the index.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import index as whole_number
from typing import TYPE_CHECKING, NoReturn

from poplite.errors import (
    ControlProgramError,
    ElementTypeError,
    GraphConnectionError,
    SizeOverflowError,
    made_by,
)
from poplite.expr.numpy_names import absent_method
from poplite.expr.operand import Operand, as_read
from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tensor.tensor_text import type_and_shape
from poplite.graph.virtual import working_graph
from poplite.poplar.callable_values import CalledShape, CalledText
from poplite.program import Execute, Program, Repeat, RepeatWhileTrue, Sequence
from poplite.program.control import check_graph, with_times
from poplite.program.recording import RecordedSteps
from poplite.text import clipped, of_type, why_not_called
from poplite.types import BOOL, UNSIGNED_INT
from poplite.vertices.filling import CountFrom, CountOn

if TYPE_CHECKING:  # a type checker lets it go wherever a tensor may
    from poplite.graph.tensor.tensor import Tensor as ReadAsTensor
else:
    ReadAsTensor = Operand

Body = Program | Callable[[Tensor], Program]

LIMIT = 1 << 32
"""The least number that an index cannot hold."""


def counted_loop(
    graph: Graph,
    begin: int | Tensor,
    end: int | Tensor,
    step: int,
    body: Body,
    *,
    name: str = "counted_loop",
) -> Program:
    """Make a loop with an index: a program that runs its body for begin, begin + step, ...

    Args:
        graph: the graph.
        begin: the first index: a number from 0, or one element of UNSIGNED_INT that is read when
            the loop begins.
        end: the first index that is too large: a number, or one element of UNSIGNED_INT that is
            read before each iteration. For `begin` at or beyond it nothing runs.
        step: the increment of the index, above 0.
        body: what runs; or what makes it, given the index: a scalar of UNSIGNED_INT that
            vertices and copies in the body may read, and nothing else may write.
        name: for the variables and compute sets.

    Returns:
        The loop. The index lies on the tile of `end`, or else of `begin`, if one of them is a
        tensor, and on tile 0 otherwise.

    Raises:
        ControlProgramError: when the step is not a whole number above 0, a bound has not one
            element, the body is neither a program nor makes one, or the graph is invalid.
        ElementTypeError: when a bound is neither a number nor a tensor of UNSIGNED_INT.
        SizeOverflowError: when a number does not fit UNSIGNED_INT.
        GraphConnectionError: when a bound belongs to another graph.
        InvalidTileMapping: when a bound has no tile.

    >>> from poplite.program import Copy
    >>> graph = Graph()
    >>> last = graph.add_variable("uint32", (), "last", mapping=3)
    >>> counted_loop(graph, 0, 10, 2, lambda i: Copy(i, last))
    <Sequence 'counted_loop' 3 steps>
    """
    check_graph("counted_loop(graph, 0, 10, 1, body)", graph)
    bounds = _bound(graph, begin, "begin"), _bound(graph, end, "end")
    by = _step(step)
    tile = _tile(graph, *bounds)
    if callable(body) and (why := why_not_called(body, 1)):
        raise ControlProgramError(
            f"counted_loop: body is {clipped(body, 60)}, which does not take the index: {why}",
            found=of_type(body),
            fix="lambda index: Sequence(...), or a program that needs no index",
        )
    with graph.scope(name):
        index = graph.add_variable(UNSIGNED_INT, (), "index", mapping=tile)
        inner: object = body(index) if callable(body) else body
        if not isinstance(inner, Program):
            made = "body(index) is" if callable(body) else "body is"
            raise ControlProgramError(
                f"counted_loop: {made} {clipped(inner, 60)}, which is not a program",
                found=of_type(inner),
                fix="lambda index: Sequence(...), or a program that needs no index",
            )
        return _loop(graph, index, bounds, by, tile, inner, name)


def _loop(
    graph: Graph,
    index: Tensor,
    bounds: tuple[int | Tensor, int | Tensor],
    step: int,
    tile: int,
    body: Program,
    name: str,
) -> Program:
    """Return the loop, in the scope of the caller."""
    goes_on = graph.add_variable(BOOL, (), "goes_on", mapping=tile)
    first, on = graph.add_compute_set("count_from"), graph.add_compute_set("count_on")
    outputs = {"index": index, "goes_on": goes_on}
    graph.add_vertex(first, CountFrom, tile=tile, begin=bounds[0], end=bounds[1], **outputs)
    graph.add_vertex(on, CountOn, tile=tile, step=step, end=bounds[1], **outputs)
    loop = RepeatWhileTrue(Sequence(), goes_on, Sequence(body, Execute(on)))
    begin, end = bounds
    if not isinstance(begin, Tensor) and not isinstance(end, Tensor):
        with_times(loop, len(range(begin, end, step)))
    return Sequence(Execute(first), loop, name=name)


@made_by("with ops.repeat(3) as index")
class LoopIndex(ReadAsTensor):
    """The index of a loop from 0, which is counted only if somebody asks for it.

    It goes wherever steps of the loop read a tensor of one element.

    Attributes:
        element_type: UNSIGNED_INT.

    Args:
        body: takes the steps of the loop.
        count: how often they run.
    """

    element_type = UNSIGNED_INT

    def __init__(self, body: RecordedSteps, count: int) -> None:
        self._body, self._count = body, Repeat(count, Program()).count
        self._tensor: Tensor | None = None
        self._made_with: Graph | None = None
        self._is_recorded = False

    def __repr__(self) -> str:
        return f"<index of ops.repeat({self._count})>"

    _kind = "the index of a loop"

    def __bool__(self) -> NoReturn:
        raise _no_number("the index of a loop has no truth value", "with ops.if_(i > 0): ...")

    def __index__(self) -> NoReturn:
        raise _no_number(
            "the index of a loop is not a Python number", "ops.equal(ops.iota(n), i) picks one"
        )

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            raise absent_method(self, name, f"i.tensor is the index as a tensor: i.tensor.{name}")

    @property
    def shape(self) -> CalledShape:
        """One element, of rank 0."""
        return CalledShape(())

    @property
    def name(self) -> CalledText:
        """Name of the variable that holds it."""
        return CalledText("repeat/index" if self._tensor is None else self._tensor.name)

    @property
    def tensor(self) -> Tensor:
        """The index as a tensor, which steps of the loop may read."""
        if self._tensor is None and self._is_recorded:
            raise self._outside()
        if self._tensor is None:
            self._made_with = graph = self._body.works_over
            self._tensor = graph.add_variable(UNSIGNED_INT, (), "repeat/index", mapping=0)
        return self._tensor

    def _read_as(self, others: Iterable[object] = ()) -> Tensor:
        """Return the tensor; refused after the loop, where there is no index."""
        if self._is_recorded:
            raise self._outside()
        if self._tensor is None:
            self._body.take_graph_of(others)
        return self.tensor

    def _outside(self) -> ControlProgramError:
        return ControlProgramError(
            "the index of ops.repeat is read outside of its loop",
            found=f"a loop of {self._count:,} times, whose block has ended",
            fix="keep it in the loop: ops.assign(last, i), where last is of UNSIGNED_INT",
        )


def loop_with(index: LoopIndex) -> Program:
    """Return the loop around the steps of its body; it is counted where these run."""
    index._is_recorded = True
    tensor, body, count = index._tensor, index._body, index._count
    if tensor is None:
        return Repeat(count, body)
    graph = body.works_over
    if graph is not index._made_with:
        graph.set_tile_mapping(tensor, 0)
    with graph.scope("repeat"):
        return _loop(graph, tensor, (0, count), 1, 0, body, "repeat")


def _no_number(what: str, fix: str) -> ElementTypeError:
    found = "it is counted when the program runs"
    return ElementTypeError(what, found=found, fix=fix)


def _bound(graph: Graph, bound: object, role: str) -> int | Tensor:
    bound = as_read(bound)
    if not isinstance(bound, Tensor):
        try:
            number = whole_number(bound)  # type: ignore[arg-type]
        except TypeError:
            raise ElementTypeError(
                f"counted_loop: {role} {clipped(bound)} is neither a number nor a tensor",
                found=of_type(bound),
                fix=f"{role}=10, or a tensor of UNSIGNED_INT with one element",
            ) from None
        if not 0 <= number < LIMIT:
            raise SizeOverflowError(
                f"counted_loop: {role} {number:,}, but an index is from 0 to {LIMIT - 1:,}",
                found="the index is of UNSIGNED_INT",
                fix="count from 0, and let a vertex add the rest",
            )
        return int(number)
    found = type_and_shape(bound)
    if bound.element_type is not UNSIGNED_INT:
        raise ElementTypeError(
            f"counted_loop: {role} '{bound.name}' is of {bound.element_type!r}, not UNSIGNED_INT",
            found=found,
            fix="make the variable UNSIGNED_INT, or reinterpret one of INT",
        )
    if bound.num_elements != 1:
        raise ControlProgramError(
            f"counted_loop: {role} '{bound.name}' has {bound.num_elements:,} elements, not 1",
            found=found,
            fix="slice one element: t[0]",
        )
    if bound.graph is not graph.top_level_graph:
        raise GraphConnectionError(
            f"counted_loop: {role} '{bound.name}' belongs to another graph",
            found=f"{bound.graph!r} and {graph!r}",
            fix="make the bounds and the loop with one graph",
        )
    return bound.reshape(())


def _step(step: object) -> int:
    try:
        number = whole_number(step)  # type: ignore[arg-type]
    except TypeError:
        number = 0
    if not 0 < number < LIMIT:
        raise ControlProgramError(
            f"counted_loop: step {clipped(step)}, but a whole number from 1 to {LIMIT - 1:,} is "
            "needed",
            found=of_type(step),
            fix="step=1; to count down, let a vertex subtract the index from the last one",
        )
    return int(number)


def _tile(graph: Graph, begin: int | Tensor, end: int | Tensor) -> int:
    for bound in (end, begin):
        if isinstance(bound, Tensor):
            near = working_graph(graph)
            return int(near.tile_mapping(bound, require_complete=True).tiles[0])
    return 0
