"""Control flow around recorded steps: loops, branches, functions, steps that run together.

    with graph.steps("train") as train:
        with ops.repeat(100) as i:
            ops.assign(w, w - rate * g)
            with ops.if_(ops.any(w > limit)) as branch:
                ops.zero(w)
            with branch.else_():
                ops.assign(count, count + 1)

Operations in a block become steps of its body.

A function of tensors becomes a function of the graph, recorded once for each signature. The steps
of a call:

    first call    parameters = clones of the arguments; the body is recorded once
    every call    Copy argument -> parameter, Call, Copy parameter -> argument of `inout`,
                  Copy result -> a new tensor, which is returned

As in poputil::graphfn, the results of a call are not overwritten by the next call.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import _GeneratorContextManager, contextmanager
from functools import wraps
from operator import index as whole_number
from typing import TYPE_CHECKING, Any, Generic, NoReturn, ParamSpec, TypeVar, overload

from poplite.errors import (
    ControlProgramError,
    ElementTypeError,
    GraphConnectionError,
    GraphRecursionError,
    SizeOverflowError,
    checked_items,
    made_by,
)
from poplite.expr.numpy_names import absent_method
from poplite.expr.operand import Equality, Operand, as_read, check_no_truth
from poplite.expr.tree import Expr, stored_first
from poplite.frozen import frozen
from poplite.graph.graph import Graph, working_graph
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tensor.tensor_text import type_and_shape
from poplite.ops.record import map
from poplite.poplar.callable_values import CalledShape, CalledText
from poplite.program import (
    Call,
    Copy,
    Execute,
    Function,
    If,
    Program,
    Repeat,
    RepeatWhileTrue,
    Sequence,
    Switch,
)
from poplite.program.control import check_graph, with_times
from poplite.program.recording import RecordedSteps, Together, graph_for, innermost, target
from poplite.text import clipped, of_type, why_not_called
from poplite.types import BOOL, UNSIGNED_INT
from poplite.vertices.filling import CountFrom, CountOn

P = ParamSpec("P")

T = TypeVar("T")

Predicate = Operand | Callable[[], Operand]
"""A scalar condition, or a function that records the steps that compute it and returns it."""


class _Repetition(_GeneratorContextManager[T]):
    """The block of `ops.repeat`, which is entered once and not iterated."""

    def __iter__(self) -> NoReturn:
        raise ControlProgramError(
            "ops.repeat is a block: its steps are recorded once, and run a number of times",
            found="a Python loop over it would record the steps again in each iteration",
            fix="with ops.repeat(n) as i: ...",
        )


def _repetition(function: Callable[P, Iterator[T]]) -> Callable[P, _Repetition[T]]:
    """Decorate a generator, as `contextmanager` does."""

    @wraps(function)
    def made(*args: P.args, **kwargs: P.kwargs) -> _Repetition[T]:
        return _Repetition(function, args, kwargs)  # type: ignore[arg-type]  # a generator

    return made


@_repetition
def repeat(count: int) -> Iterator[LoopIndex]:
    """Record steps that run `count` times.

    Args:
        count: number of iterations, 0 or more.

    Yields:
        The index, from 0: a scalar of UNSIGNED_INT, which can be used wherever steps of the loop
        read a tensor or an expression; views need `index.tensor`. A loop whose index is not used
        does not compute it.

    Raises:
        ControlProgramError: outside any block of `graph.steps()`, or for a count that is not a
            non-negative integer.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=1))
    >>> x = graph.add_variable(pl.UNSIGNED_INT, (), "x", mapping=0, initial_value=0)
    >>> with graph.steps() as step, repeat(4) as i:
    ...     _ = pl.ops.assign(x, x + i)
    >>> engine = pl.Engine(graph, step)
    >>> engine.run()
    >>> int(engine.read(x))
    6
    """
    outer = innermost("ops.repeat(n)")
    body = RecordedSteps(None, "repeat", outer)
    index = LoopIndex(body, count)
    with body:
        yield index
    outer.add(loop_with(index))


@contextmanager
def while_(condition: Predicate) -> Iterator[None]:
    """Record steps that run while a condition holds, which is computed before each iteration.

    Args:
        condition: an expression or a tensor of one element of BOOL, or a function that records
            steps and returns such a condition.

    Raises:
        ControlProgramError: outside any block of `graph.steps()`, or for more than one element.
        ElementTypeError: for a condition that is not BOOL, INT or UNSIGNED_INT.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=1))
    >>> x = graph.add_variable(pl.INT, (), "x", mapping=0, initial_value=100)
    >>> with graph.steps() as step, while_(x > 1):
    ...     _ = pl.ops.assign(x, x // 2)
    >>> engine = pl.Engine(graph, step)
    >>> engine.run()
    >>> int(engine.read(x))
    1
    """
    outer = innermost("ops.while_(condition)")
    test, scalar = _decided(outer, condition, "ops.while_")
    body = RecordedSteps(None, "while", outer)
    with body:
        yield
    outer.add(RepeatWhileTrue(test, scalar, body))


class Branch:
    """A recorded branch, to which `else_` can be added."""

    def __init__(self, steps: RecordedSteps, predicate: Tensor, body: Program) -> None:
        self._steps, self._predicate, self._body = steps, predicate, body
        self._made: If | None = None

    def close(self) -> None:
        """Record the branch; called when its block ends."""
        self._made = If(self._predicate, self._body, Sequence())
        self._steps.add(self._made)

    @contextmanager
    def else_(self) -> Iterator[None]:
        """Record the steps that run if the predicate is false, directly after the branch.

        Raises:
            ControlProgramError: if the branch is still open or has an `else_` already, something
                was recorded in between, or a block within the branch's block is open.
        """
        if innermost("else_()") is not self._steps:
            raise self._misplaced()
        body = RecordedSteps(None, "else", self._steps)
        with body:
            yield
        made = None if self._made is None else If(self._predicate, self._body, body)
        if made is None or not self._steps.replace_last(self._made or made, made):
            raise self._misplaced()
        self._made = None

    def _misplaced(self) -> ControlProgramError:
        return ControlProgramError(
            "else_: it must directly follow its ops.if_",
            fix="with ops.if_(p) as branch: ...; with branch.else_(): ...",
        )


@contextmanager
def if_(predicate: Predicate) -> Iterator[Branch]:
    """Record steps that run if a predicate is true.

    Args:
        predicate: like the condition of `while_`.

    Yields:
        The branch: `with branch.else_():`, directly after this block, records the other branch.

    Raises:
        whatever `while_` raises.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=1))
    >>> x = graph.add_variable(pl.INT, (), "x", mapping=0, initial_value=-3)
    >>> with graph.steps() as step:
    ...     with if_(x > 0) as branch:
    ...         _ = pl.ops.assign(x, x * 2)
    ...     with branch.else_():
    ...         _ = pl.ops.assign(x, -x)
    >>> engine = pl.Engine(graph, step)
    >>> engine.run()
    >>> int(engine.read(x))
    3
    """
    outer = innermost("ops.if_(predicate)")
    test, scalar = _decided(outer, predicate, "ops.if_")
    body = RecordedSteps(None, "if", outer)
    branch = Branch(outer, scalar, body)
    with body:
        yield branch
    outer.add(test)
    branch.close()


class Cases:
    """The cases of a switch, while its block is open."""

    def __init__(self, outside: RecordedSteps) -> None:
        self._places = [outside]  # blocks that may contain a case
        self.programs: dict[int, RecordedSteps] = {}
        self.otherwise: RecordedSteps | None = None

    @contextmanager
    def case(self, value: int) -> Iterator[None]:
        """Record the steps that run for a value.

        Raises:
            ControlProgramError: for a value that is not an integer or already has a case, or
                outside of the switch's own block.
        """
        self._check_place(f"cases.case({clipped(value)})")
        if isinstance(value, bool) or not isinstance(value, int) or value in self.programs:
            has = "already has a case" if value in self.programs else "is not a whole number"
            raise ControlProgramError(
                f"ops.switch: {clipped(value)} {has}",
                found=of_type(value),
                fix="with cases.case(0): ...; with cases.case(1): ...",
            )
        body = self._body(f"case {value}")
        with body:
            yield
        self.programs[value] = body

    @contextmanager
    def default(self) -> Iterator[None]:
        """Record the steps that run for any other value.

        Raises:
            ControlProgramError: if there is already a default, or outside of the switch's own
                block.
        """
        self._check_place("cases.default()")
        if self.otherwise is not None:
            raise ControlProgramError("ops.switch: it already has a default")
        body = self._body("default")
        with body:
            yield
        self.otherwise = body

    def _body(self, name: str) -> RecordedSteps:
        self._places.append(RecordedSteps(None, name, self._places[0]))
        return self._places[-1]

    def _check_place(self, usage: str) -> None:
        if innermost(usage) not in self._places:
            raise ControlProgramError(
                f"ops.switch: {usage} is not directly in the block of its switch",
                found="its steps would belong to no program, or to another block",
                fix="with ops.switch(x) as cases: with cases.case(0): ...",
            )


@contextmanager
def switch(control: Operand | Callable[[], Operand]) -> Iterator[Cases]:
    """Record several programs, one of which runs according to a scalar.

    Args:
        control: an expression or tensor of one element of INT or UNSIGNED_INT.

    Yields:
        The cases: `with cases.case(3):` and `with cases.default():` record them.

    Raises:
        ControlProgramError: outside any block of `graph.steps()`, or for more than one element.
        ElementTypeError: for a control that is not INT or UNSIGNED_INT.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=1))
    >>> x = graph.add_variable(pl.INT, (), "x", mapping=0, initial_value=7)
    >>> with graph.steps() as step, switch(x % 3) as cases:
    ...     with cases.case(1):
    ...         _ = pl.ops.assign(x, x * 10)
    ...     with cases.default():
    ...         _ = pl.ops.zero(x)
    >>> engine = pl.Engine(graph, step)
    >>> engine.run()
    >>> int(engine.read(x))
    70
    """
    outer = innermost("ops.switch(control)")
    test, scalar = _decided(outer, control, "ops.switch")
    outside = RecordedSteps(None, "switch", outer)
    cases = Cases(outside)
    with outside:
        yield cases
    if outside.programs:
        raise ControlProgramError(
            "ops.switch: steps are recorded outside of its cases",
            found=f"{outside.programs[0]}",
            fix="record them in a case, with cases.case(0): ..., or before the switch",
        )
    outer.add(test)
    programs: dict[int, Program] = dict(cases.programs)
    outer.add(Switch(scalar, programs, default=cases.otherwise))


@contextmanager
def together() -> Iterator[None]:
    """Record operations that do not depend on each other, so that they share compute sets.

    The first steps of all of them form one compute set, the second steps the next, and so on, with
    one synchronisation each. Loops, branches, calls and programs made by hand run alone, where
    they are recorded; the operations after them share further compute sets.

    Raises:
        ControlProgramError: outside any block of `graph.steps()`.
        GraphCycleError: in the block, for an operation that reads or writes elements that another
            writes, or writes elements that another one reads.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=2))
    >>> x, y = (graph.add_variable(pl.FLOAT, (4,), n, mapping="linear") for n in "xy")
    >>> with graph.steps() as step, together():
    ...     _ = pl.ops.assign(x, x + 1), pl.ops.assign(y, y * 2)
    >>> step
    <Sequence 1 step>
    """
    outer = innermost("ops.together()")
    block = Together(outer)
    with block:
        yield
    for program in block.programs:
        outer.add(program)


def _decided(outer: RecordedSteps, value: Predicate, usage: str) -> tuple[RecordedSteps, Tensor]:
    """Return the steps that compute a condition, and the tensor that holds it."""
    steps = RecordedSteps(None, "condition", outer)
    with steps:
        found: object = value() if callable(value) else value
        if not isinstance(found, Operand):
            if isinstance(found, Equality):
                raise found.refused(usage)
            check_no_truth(usage, [found])
            raise ElementTypeError(
                f"{usage}: {clipped(found)} is fixed before the program runs",
                found=of_type(found),
                fix="pass a tensor or an expression of one element, or a function that returns one",
            )
        scalar = found if isinstance(found, Tensor) else map(found, name="condition")
    return steps, scalar


# -- loops with an index ---------------------------------------------------------------------------
# Loops with an index that the program can read, as popops::countedLoop. `Repeat` is faster where
# the index is not needed.
#
#     counted_loop(graph, 0, n, 1, lambda i: Sequence(...))
#
#     CountFrom        i = begin, go_on = begin < end
#     while go_on:
#       body(i)
#       CountOn        i = min(i + step, end), go_on = i < end


if TYPE_CHECKING:  # a type checker accepts it wherever it accepts a tensor
    from poplite.graph.tensor.tensor import Tensor as ReadAsTensor
else:
    ReadAsTensor = Operand

Body = Program | Callable[[Tensor], Program]

LIMIT = 1 << 32
"""One more than the largest index."""


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
        begin: the first index: a number, 0 or more, or one element of UNSIGNED_INT that is read
            when the loop begins.
        end: one past the last possible index: a number, or one element of UNSIGNED_INT that is
            read before each iteration. If `begin` is at or beyond it, nothing runs.
        step: the increment of the index, positive.
        body: the program that runs, or a function that returns it, given the index: a scalar of
            UNSIGNED_INT that vertices and copies in the body may read, but must not write.
        name: for the variables and compute sets.

    Returns:
        The loop. The index is on the tile of `end`, or else of `begin`, if one of them is a
        tensor, and on tile 0 otherwise.

    Raises:
        ControlProgramError: if the step is not a positive integer, a bound does not have
            exactly one element, the body is not a program and does not return one, or the graph
            is invalid.
        ElementTypeError: if a bound is neither a number nor a tensor of UNSIGNED_INT.
        SizeOverflowError: if a number does not fit UNSIGNED_INT.
        GraphConnectionError: if a bound belongs to another graph.
        InvalidTileMapping: if a bound is not mapped to a tile.

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
            fix="pass lambda index: Sequence(...), or a program that needs no index",
        )
    with graph.scope(name):
        index = graph.add_variable(UNSIGNED_INT, (), "index", mapping=tile)
        inner: object = body(index) if callable(body) else body
        if not isinstance(inner, Program):
            made = "body(index) is" if callable(body) else "body is"
            raise ControlProgramError(
                f"counted_loop: {made} {clipped(inner, 60)}, which is not a program",
                found=of_type(inner),
                fix="pass lambda index: Sequence(...), or a program that needs no index",
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
    """The index of a loop from 0, which is computed only if it is used.

    It can be used wherever steps of the loop read a tensor of one element.

    Attributes:
        element_type: UNSIGNED_INT.

    Args:
        body: collects the steps of the loop.
        count: number of iterations.
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
            "the index of a loop is not a Python number", "select with ops.equal(ops.iota(n), i)"
        )

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            raise absent_method(self, name, f"use the index as a tensor: i.tensor.{name}")

    @property
    def shape(self) -> CalledShape:
        """The shape of a scalar."""
        return CalledShape(())

    @property
    def name(self) -> CalledText:
        """Name of the variable that holds the index."""
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
        """Return the tensor, or raise after the loop, where there is no index."""
        if self._is_recorded:
            raise self._outside()
        if self._tensor is None:
            self._body.take_graph_of(others)
        return self.tensor

    def _outside(self) -> ControlProgramError:
        return ControlProgramError(
            "the index of ops.repeat is read outside of its loop",
            found=f"the block of the loop, of {self._count:,} iterations, has ended",
            fix="store it in the loop: ops.assign(last, i), where last is UNSIGNED_INT",
        )


def loop_with(index: LoopIndex) -> Program:
    """Return the loop around the steps of its body, with the index in the graph they run in."""
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
    found = "it has a value only while the program runs"
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
                fix=f"pass {role}=10, or a tensor of UNSIGNED_INT with one element",
            ) from None
        if not 0 <= number < LIMIT:
            raise SizeOverflowError(
                f"counted_loop: {role} is {number:,}, but an index is from 0 to {LIMIT - 1:,}",
                found="the index is UNSIGNED_INT",
                fix="count from 0, and let a vertex add the rest",
            )
        return int(number)
    found = type_and_shape(bound)
    if bound.element_type is not UNSIGNED_INT:
        raise ElementTypeError(
            f"counted_loop: {role} '{bound.name}' is {bound.element_type!r}, not UNSIGNED_INT",
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
            f"counted_loop: step must be a whole number from 1 to {LIMIT - 1:,}; found "
            f"{clipped(step)}",
            found=of_type(step),
            fix="pass step=1; to count down, let a vertex subtract the index from the last one",
        )
    return int(number)


def _tile(graph: Graph, begin: int | Tensor, end: int | Tensor) -> int:
    for bound in (end, begin):
        if isinstance(bound, Tensor):
            near = working_graph(graph)
            return int(near.tile_mapping(bound, require_complete=True).tiles[0])
    return 0


# -- functions of the graph ------------------------------------------------------------------------


R = TypeVar("R")


@frozen
class _Recorded:
    """The recorded function for one signature."""

    function: Function
    parameters: dict[str, Tensor]
    results: Any


class GraphFunction(Generic[P, R]):
    """A Python function that is recorded once for each signature; see `graph_function`."""

    def __init__(self, body: Callable[P, R], inout: tuple[str, ...]) -> None:
        if not callable(body):
            raise ControlProgramError(
                f"graph_function: {clipped(body)} is not a function",
                found=of_type(body),
                fix="write @pl.graph_function above a def",
            )
        functools.update_wrapper(self, body)
        self._body = body
        self._inout = checked_items(inout, "graph_function: inout", "pass inout=('weights',)")
        self._signature = inspect.signature(body)
        self._recording: set[int] = set()
        self.__name__: str = getattr(body, "__name__", "function")
        known = self._signature.parameters
        unknown = [name for name in self._inout if not isinstance(name, str) or name not in known]
        if unknown:
            raise ControlProgramError(
                f"graph_function '{self.__name__}': inout contains {clipped(unknown[0])}, "
                "which is not a parameter",
                found=f"it is {self.__name__}{self._signature}",
                fix="pass names of parameters, such as inout=('weights',)",
            )

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Append copies of the arguments, a call, and copies of the results.

        Raises:
            ControlProgramError: outside any steps, if no argument is a tensor, if an argument is
                not hashable, if the body returns anything but tensors, or if two arguments that
                are copied back share elements.
            ElementTypeError: if an argument or a result is an expression, or arguments do not match
                the function's parameters.
            GraphRecursionError: if the function calls itself.
            PopliteError: for tensors of different graphs, and the errors of the body.
        """
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise ElementTypeError(
                f"graph_function '{self.__name__}': {error}",
                found=f"it is {self.__name__}{self._signature}",
                fix="pass the arguments of the function",
            ) from None
        bound.apply_defaults()
        bound.arguments = {name: as_read(value) for name, value in bound.arguments.items()}
        arguments = dict(bound.arguments)
        for name, value in arguments.items():
            if isinstance(value, Expr):
                raise ElementTypeError(
                    f"graph_function '{self.__name__}': argument {name} is not a tensor",
                    found=repr(value),
                    fix=stored_first(value, ""),
                )
        tensors = {name: value for name, value in arguments.items() if isinstance(value, Tensor)}
        if not tensors:
            raise ControlProgramError(
                f"graph_function '{self.__name__}': no argument is a tensor",
                found=", ".join(f"{n}={clipped(v)}" for n, v in arguments.items()),
                fix="pass the tensors that it works on",
            )
        self._check_inout(tensors)
        first, *others = tensors.values()
        graph = graph_for(first.graph, (first, *others), None)
        steps = target(graph, None, f"{self.__name__}(...)")
        recorded = self._recorded(graph, bound, tensors)
        for name, tensor in tensors.items():
            steps.add(Copy(tensor, recorded.parameters[name]))
        steps.add(Call(recorded.function))
        for name in self._inout:
            if name in tensors:
                steps.add(Copy(recorded.parameters[name], tensors[name]))
        results: R = _copied(graph, steps, recorded.results)
        return results

    def _check_inout(self, tensors: dict[str, Tensor]) -> None:
        changed = [(name, tensors[name]) for name in self._inout if name in tensors]
        for n, (name, tensor) in enumerate(changed):
            for other, second in changed[:n]:
                if tensor.intersects_with(second):
                    raise ControlProgramError(
                        f"graph_function '{self.__name__}': '{other}' and '{name}' share elements, "
                        "and both are copied back",
                        found=f"{other}={second!r}, {name}={tensor!r}",
                        fix="pass tensors that share no elements: one copy overwrites the other",
                    )

    def _recorded(
        self, graph: Graph, bound: inspect.BoundArguments, tensors: dict[str, Tensor]
    ) -> _Recorded:
        key = self, graph, tuple(self._keys(bound.arguments))
        functions = graph._parts.recorded_functions  # kept there to live as long as the graph
        known = functions.get(key)
        if known is None:
            known = functions[key] = self._record(graph, bound, tensors)
        assert isinstance(known, _Recorded)
        return known

    def _keys(self, arguments: dict[str, object]) -> Iterator[Hashable]:
        for name, value in arguments.items():
            if isinstance(value, Tensor):
                mapping = value.graph.tile_mapping(value, require_complete=False)
                arrays = mapping.tiles, mapping.ptr, mapping.begin, mapping.end
                places = tuple(array.tobytes() for array in arrays)
                yield name, value.shape, value.element_type, places
                continue
            try:
                hash(value)
            except TypeError:
                raise ControlProgramError(
                    f"graph_function '{self.__name__}': argument {name}={clipped(value)} is "
                    "neither a tensor nor a value that can be compared with those of other calls",
                    found=of_type(value),
                    fix="pass each tensor as a separate argument, and a tuple instead of a list",
                ) from None
            # 1, 1.0 and True are equal, and so are 0.0 and -0.0: the key must distinguish them.
            yield name, type(value), value, repr(value) if isinstance(value, float) else ""

    def _record(
        self, graph: Graph, bound: inspect.BoundArguments, tensors: dict[str, Tensor]
    ) -> _Recorded:
        if id(graph._parts) in self._recording:
            raise GraphRecursionError(
                f"graph_function '{self.__name__}' calls itself",
                found="its body is being recorded",
                fix="loop with ops.repeat or ops.while_",
            )
        self._recording.add(id(graph._parts))
        try:
            with graph.scope(self.__name__):
                parameters = {name: graph.clone(tensor, name) for name, tensor in tensors.items()}
                bound.arguments.update(parameters)
                steps = RecordedSteps(graph, self.__name__, is_function=True)
                with steps:
                    results = self._body(*bound.args, **bound.kwargs)
            self._check(results)
            function = graph.add_function(steps, self.__name__)
        finally:
            self._recording.discard(id(graph._parts))
        return _Recorded(function, parameters, results)

    def _check(self, results: object) -> None:
        for each in results if isinstance(results, tuple | list) else [results]:
            if each is not None and not isinstance(each, Tensor):
                raise ElementTypeError(
                    f"graph_function '{self.__name__}' returns {clipped(each, 60)}, "
                    "which is not a tensor",
                    found=of_type(each),
                    fix=stored_first(each, "return tensors, a tuple or list of them, or nothing"),
                )


def _copied(graph: Graph, steps: Sequence, results: Any) -> Any:
    """Return copies of the results of a call, in the same structure."""
    if isinstance(results, tuple | list):
        return type(results)([_copied(graph, steps, each) for each in results])
    if results is None:
        return None
    made = graph.clone(results)
    steps.add(Copy(results, made))
    return made


@overload
def graph_function(body: Callable[P, R]) -> GraphFunction[P, R]: ...
@overload
def graph_function(
    *, inout: tuple[str, ...] = ()
) -> Callable[[Callable[P, R]], GraphFunction[P, R]]: ...
def graph_function(body: Any = None, *, inout: tuple[str, ...] = ()) -> Any:
    """Turn a Python function of tensors into a graph function.

    The body is recorded once for each signature: the shapes, element types and tile mappings of
    the tensor arguments, the values of the other arguments, and the virtual graph on
    whose tiles it works. A call within `graph.steps` copies the tensors to the function's
    parameters, runs it, and copies its results to new tensors. Values that the body writes to a
    parameter are not copied back, unless `inout` names it.

    Args:
        body: the function; it returns a tensor, a tuple or list of tensors, or None.
        inout: the names of parameters that are copied back to the arguments after each call.

    Raises:
        ControlProgramError: if `inout` contains something that is not the name of a parameter, or
            the body is not a function.
        ElementTypeError: for an `inout` that is not a list.

    >>> import poplite as pl
    >>> @pl.graph_function(inout=("total",))
    ... def accumulate(total, x):
    ...     pl.ops.assign(total, total + x)
    >>> graph = pl.Graph(pl.Target(tiles=2))
    >>> x, y = (graph.add_variable("float32", (4,), n, mapping=0, initial_value=1) for n in "xy")
    >>> with graph.steps() as step:
    ...     accumulate(x, y)
    ...     accumulate(x, y)
    >>> engine = pl.Engine(graph, step)
    >>> engine.run()
    >>> engine.read(x)
    array([3., 3., 3., 3.], dtype=float32)
    """
    if body is None:
        return lambda function: GraphFunction(function, inout)
    return GraphFunction(body, inout)
