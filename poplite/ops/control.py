"""Loops and branches around recorded steps, and steps that run together.

with graph.steps("train") as train:
    with ops.repeat(100) as i:
        ops.assign(w, w - rate * g)
    with ops.if_(ops.any(w > limit)) as branch:
        ops.zero(w)
    with branch.else_():
        ops.assign(count, count + 1)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from poplite.errors import ControlProgramError, ElementTypeError
from poplite.expr.equality import Equality, check_no_truth
from poplite.expr.operand import Operand
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.loop import LoopIndex, loop_with
from poplite.ops.record import map
from poplite.program import If, Program, RepeatWhileTrue, Sequence, Switch
from poplite.program.recording import RecordedSteps, Together, innermost
from poplite.text import clipped, of_type

Predicate = Operand | Callable[[], Operand]
"""A scalar that decides, or a function that records what computes it, and returns it."""


@contextmanager
def repeat(count: int) -> Iterator[LoopIndex]:
    """Record steps that run a number of times.

    Args:
        count: how often, from 0.

    Yields:
        The index, from 0: a scalar of UNSIGNED_INT, which goes wherever steps of the loop read a
        tensor or an expression; `index.tensor` has views. A loop whose index nothing asks for does
        not count it.

    Raises:
        ControlProgramError: outside of all blocks of `graph.steps()`, or for no whole number.

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
    """Record steps that run as long as a condition holds, which is computed before each time.

    Args:
        condition: an expression or a tensor of one element of BOOL, or a function that records
            steps and returns one.

    Raises:
        ControlProgramError: outside of all blocks of `graph.steps()`, or for more than one element.
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
    """A branch that was recorded, which may get an `else_`."""

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
            ControlProgramError: when the branch is open, has one already, something else was
                recorded in between, or a block within the one of the branch is open.
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
    """Record steps that run where a predicate is true.

    Args:
        predicate: as the condition of `while_`.

    Yields:
        The branch: `with branch.else_():` records the other side, directly after this block.

    Raises:
        the errors of `while_`.

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
            ControlProgramError: for no whole number, one that has a case, or elsewhere than
                directly in the block of the switch.
        """
        self._check_place(f"cases.case({clipped(value)})")
        if isinstance(value, bool) or not isinstance(value, int) or value in self.programs:
            has = "has a case already" if value in self.programs else "is not a whole number"
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
            ControlProgramError: when there is a default, or elsewhere than directly in the block
                of the switch.
        """
        self._check_place("cases.default()")
        if self.otherwise is not None:
            raise ControlProgramError("ops.switch: it has a default already")
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
                found="its steps would be part of no program, or of another block",
                fix="with ops.switch(x) as cases: with cases.case(0): ...",
            )


@contextmanager
def switch(control: Operand | Callable[[], Operand]) -> Iterator[Cases]:
    """Record one of several programs, by the value of a scalar.

    Args:
        control: an expression or tensor of one element of INT or UNSIGNED_INT.

    Yields:
        The cases: `with cases.case(3):` and `with cases.default():` record them.

    Raises:
        ControlProgramError: outside of all blocks of `graph.steps()`, or for more than one element.
        ElementTypeError: for another element type.

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
            fix="with cases.case(0): ..., or in front of the switch",
        )
    outer.add(test)
    programs: dict[int, Program] = dict(cases.programs)
    outer.add(Switch(scalar, programs, default=cases.otherwise))


@contextmanager
def together() -> Iterator[None]:
    """Record operations that do not depend on each other: they share compute sets.

    The first step of all of them is one compute set, the second another one, and so on: one
    synchronisation serves all. Loops, branches, calls and programs made by hand run where they are
    recorded, by themselves; the operations after them share compute sets of their own.

    Raises:
        ControlProgramError: outside of all blocks of `graph.steps()`.
        GraphCycleError: in the block, for an operation that reads or writes what another one
            writes, or writes what another one reads.

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
    """Return the steps that compute what decides, and the tensor that holds it."""
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
                fix="a tensor or an expression of one element, or a function that returns one",
            )
        scalar = found if isinstance(found, Tensor) else map(found, name="condition")
    return steps, scalar
