"""Types a `compute`, including every function that it calls.

    self.y = near(self.a) + near(1)      near is typed twice: for a float32, and for an int

This infers the kind of every expression of a `compute`, and where a value must be widened.
Kinds belong to the versions of a variable, not to the variable: after `t = 0.5` it is a
Python float, after `t = self.x[0]` a float32.  Where paths merge, a variable takes the widest
kind of its versions, and a loop is typed again until nothing changes::

    total = 0.1                     FLOAT
    for i in range(n):              merges FLOAT and F32: F32
        total += self.x[i]          F32
    self.y = total                  F32; if n is 0 the value is still a Python float,
                                    so this use is listed in `Facts.casts`

Numba types the same code in this way (each version of its static single assignment form
separately), so both forms compute in the same kinds.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import FunctionType

from poplite.frozen import frozen
from poplite.text import amount
from poplite.vertex.compute.arithmetic import Kind, element_kind, literal_kind
from poplite.vertex.compute.dialect import (
    HelperFunction,
    Scope,
    bind,
    is_literal,
    is_num_workers,
    scope_of_helper,
)
from poplite.vertex.compute.typed_calls import TypeHelper
from poplite.vertex.compute.typed_expressions import ExpressionTyper
from poplite.vertex.compute.typed_facts import (
    Checked,
    ElementsValue,
    Facts,
    LanesOf,
    Local,
    NumberValue,
    Result,
    State,
    Value,
    WalkState,
    are_wider,
    bounds,
    meet,
    meet_numbers,
    met,
    restart,
)
from poplite.vertex.vertex import Field


def infer(scope: Scope) -> Checked:
    """Type a `compute` whose form has been checked, and all functions that it calls.

    The parameters other than `self` are ints.  Raises `VertexCompileError` at the first node that
    has no type.
    """
    return _Functions().type(scope, tuple(NumberValue(Kind.INT) for _ in scope.parameters))


class _Functions:
    """The functions that one `compute` calls, directly or not."""

    def __init__(self) -> None:
        self._checked: dict[tuple[FunctionType, tuple[Value, ...]], Checked] = {}
        self._in_progress: list[FunctionType] = []

    def type(self, scope: Scope, arguments: tuple[Value, ...]) -> Checked:
        """Type a function for the values of its arguments."""
        function = scope.text.function
        self._in_progress.append(function)
        statements = StatementTyper(scope, arguments, self.type_helper)
        result = statements.run()
        self._in_progress.pop()
        checked = Checked(scope, arguments, statements.facts, result)
        self._checked[function, arguments] = checked
        return checked

    def type_helper(
        self, scope: Scope, node: ast.Call, helper: HelperFunction, values: dict[ast.expr, Value]
    ) -> Checked:
        """Type the function that is called; `values` are those of the arguments."""
        function = helper.function
        if function in self._in_progress:
            cycle = self._in_progress[self._in_progress.index(function) :]
            names = [f.__name__ for f in (*cycle, function)]
            scope.refuse(
                node,
                f"{ast.unparse(node.func)}(...) calls itself: {' -> '.join(names)}",
                "write a loop; recursion is not supported",
            )
        own = scope_of_helper(scope, node, helper)
        arguments = tuple(
            _passed(values[each]) if isinstance(each, ast.expr) else NumberValue(literal_kind(each))
            for each in bind(scope, node, helper)
        )
        known = self._checked.get((function, arguments))
        return known or self.type(own, arguments)


def _passed(value: Value) -> Value:
    """Return the value of a parameter for an argument: the same kind, and an int of any length."""
    if isinstance(value, NumberValue):
        return NumberValue(value.kind, long=value.kind in (Kind.INT, Kind.UINT))
    return value


# -- statements ------------------------------------------------------------------------------------


_OF_LOW_BITS = (ast.Add, ast.Sub, ast.Mult, ast.BitOr, ast.BitXor)
"""Operations whose low bits depend only on the low bits of the operands."""


@dataclass(slots=True, eq=False)
class _Loop:
    breaks: list[State] = field(default_factory=list)
    continues: list[State] = field(default_factory=list)


@frozen(eq=False)
class _Head:
    """Facts about a loop.

    Attributes:
        entry: the state before it.
        start: the state at the beginning of each iteration.
        breaks: the states at its `break`s.
        restarts: the number of restarts of loops so far; marks from before the last are not valid.
        is_final: whether another iteration would change neither it nor an inner loop.
    """

    entry: State
    start: State
    breaks: list[State]
    restarts: int
    is_final: bool


class StatementTyper:
    """One walk over the statements of a function that keeps the state of all locals.

    `arguments` are the values of its parameters.
    """

    def __init__(self, scope: Scope, arguments: tuple[Value, ...], type_helper: TypeHelper) -> None:
        parameters = zip(scope.parameters, arguments, strict=True)
        self.facts = Facts()
        self._scope = scope
        self._path = WalkState({name: Local(value) for name, value in parameters})
        self._expressions = ExpressionTyper(scope, self.facts, self._path, type_helper)
        self._loops: list[_Loop] = []
        self._heads: dict[ast.For | ast.While, _Head] = {}
        self._restarts = self._changes = 0
        self._runs = True  # False in code that a constant condition disables
        self._results: list[tuple[ast.AST, Result]] = []

    def run(self) -> Result:
        """Type all statements and return what the function returns."""
        tree = self._scope.text.tree
        self._block(tree.body[_is_docstring(tree.body[0]) :])
        if self._path.locals is not None:
            self._returns(tree, None)
        return self._result()

    # Statements

    def _block(self, statements: Sequence[ast.stmt]) -> None:
        runs = self._runs
        for statement in statements:
            if self._path.locals is None:
                break
            getattr(self, f"_{type(statement).__name__}")(statement)
        self._runs = runs

    def _Pass(self, node: ast.Pass) -> None:
        pass

    def _Return(self, node: ast.Return) -> None:
        value = node.value
        if isinstance(value, ast.Tuple) and self._scope.callers:
            self._scope.refuse(
                node,
                f"{len(value.elts)} values are returned",
                "return one number, and store the others in fields",
            )
        result = None if value is None or _is_none(value) else self._expressions.value(value)
        if isinstance(result, LanesOf) and self._scope.callers:
            self._returns(node, result)
            self._path.locals = None
            return
        if result is not None and not isinstance(result, NumberValue):
            self._scope.refuse(node, f"{result} cannot be returned", "return one of its elements")
        if result is not None and not self._scope.callers:
            self._check_returned(node, result)
        self._returns(node, result)
        self._path.locals = None

    def _check_returned(self, node: ast.Return, result: NumberValue) -> None:
        """Reject a result of `compute`, unless it is declared to return a bool."""
        annotation = self._scope.text.tree.returns
        if annotation is None or ast.unparse(annotation) not in ("bool", "'bool'"):
            self._scope.refuse(
                node,
                "compute cannot return a value",
                "store the value: self.field = value; or, for Execute(compute_set, result), "
                "def compute(self) -> bool",
            )
        if result.kind is not Kind.BOOL:
            self._scope.refuse(
                node,
                f"{result} is returned by a compute that is declared -> bool",
                "return a comparison, or bool(...)",
            )

    def _returns(self, node: ast.AST, result: Result) -> None:
        """Record the result of one path, once the kinds of all locals are final."""
        if self._path.settled:
            self._results.append((node, result))

    def _result(self) -> Result:
        """Return the merged result of all paths; each path widens its own result."""
        lanes = {result for _, result in self._results if isinstance(result, LanesOf)}
        if lanes:
            for node, result in self._results:
                if {result} != lanes:
                    first = min(map(str, lanes - {result}))
                    self._scope.refuse(
                        node,
                        f"{result or 'nothing'} is returned on this path, but {first} on another",
                        "return lanes of one kind on every path",
                    )
            return lanes.pop()
        numbers = [result for _, result in self._results if isinstance(result, NumberValue)]
        if not numbers:
            return None
        kind = max(number.kind for number in numbers)
        for node, result in self._results:
            if not isinstance(result, NumberValue):
                self._scope.refuse(
                    node,
                    "nothing is returned on this path, but a number on another",
                    "return a number on every path",
                )
            if meet_numbers(result, NumberValue(kind)).clash:
                self._scope.refuse(
                    node,
                    f"{result} computed from an int is returned, but {kind} on another path",
                    "write float(...) around the int",
                )
        is_long = kind < Kind.FLOAT and any(number.long for number in numbers)
        return NumberValue(kind, is_long, constant=met([each.constant for each in numbers], kind))

    def _Break(self, node: ast.Break) -> None:
        assert self._path.locals is not None
        self._loops[-1].breaks.append(self._path.locals)
        self._path.locals = None

    def _Continue(self, node: ast.Continue) -> None:
        assert self._path.locals is not None
        self._loops[-1].continues.append(self._path.locals)
        self._path.locals = None

    def _Expr(self, node: ast.Expr) -> None:
        assert isinstance(node.value, ast.Call)
        self._expressions.calls.alone(node.value)

    def _Assign(self, node: ast.Assign) -> None:
        self._assign(node.targets, node.value)

    def _AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is None or not isinstance(node.target, ast.Name):
            self._scope.refuse(
                node, "an annotation without a value has no effect", "assign a value"
            )
        self._assign([node.target], node.value)

    def _assign(self, targets: Sequence[ast.expr], value: ast.expr) -> None:
        sources = value.elts if isinstance(value, ast.Tuple) else [value]
        values = [self._expressions.value(part) for part in sources]
        for target in targets:
            parts = target.elts if isinstance(target, ast.Tuple) else [target]
            if len(parts) != len(values) or _is_tuple(target) != _is_tuple(value):
                self._scope.refuse(
                    target,
                    f"{amount(len(values), 'value')} cannot be assigned to "
                    f"{amount(len(parts), 'name')}",
                    "write as many values as names: a, b = first, second",
                )
            for part, item, source in zip(parts, values, sources, strict=True):
                stored = self._store(part, item)
                if stored is not None:
                    self._check_constants(source, item, stored)

    def _AugAssign(self, node: ast.AugAssign) -> None:
        operands = node.target, node.value
        values = self._expressions.value(node.target), self._expressions.value(node.value)
        made = self._expressions.binary(node, node.op, operands, values)
        stored = self._store(node.target, made)
        if stored is not None and isinstance(node.op, _OF_LOW_BITS):
            self._check_constants(node.value, values[1], stored)

    def _Raise(self, node: ast.Raise) -> None:
        self._expressions.calls.raised(node)
        self._path.locals = None

    def _Assert(self, node: ast.Assert) -> None:
        if is_literal(node.test):
            what = f"the condition {ast.unparse(node.test)} never changes"
            self._scope.refuse(node, what, 'write raise AssertionError("text")')
        self._expressions.test(node.test)
        if node.msg is not None:
            self._expressions.calls.text(node.msg)
        self.facts.raises |= __debug__  # python -O omits assertions

    def _If(self, node: ast.If) -> None:
        truth = self._expressions.test(node.test)
        before, runs, ends, goes_on = self._path.locals, self._runs, [], False
        for branch, is_taken in ((node.body, truth is not False), (node.orelse, truth is not True)):
            self._path.locals = None if before is None else dict(before)
            self._runs = runs and is_taken
            self._block(branch)
            ends.append(self._path.locals)
            goes_on |= is_taken and self._path.locals is not None
        self._path.locals, self._runs = meet(ends), runs and goes_on

    def _While(self, node: ast.While) -> None:
        endless = isinstance(node.test, ast.Constant) and bool(node.test.value)

        def first() -> None:
            if not endless:
                self._runs &= self._expressions.test(node.test) is not False

        self._loop(node, first, endless=endless)

    def _For(self, node: ast.For) -> None:
        items = self._items(node.iter)
        targets = node.target.elts if isinstance(node.target, ast.Tuple) else [node.target]
        if len(targets) != len(items) or _is_tuple(node.target) != (len(items) > 1):
            self._scope.refuse(
                node.target,
                f"this loop has {amount(len(items), 'value')} for each iteration",
                _names(len(items)),
            )

        def first() -> None:
            for target, item in zip(targets, items, strict=True):
                if not isinstance(target, ast.Name):
                    what = "a loop variable must be a local"
                    self._scope.refuse(target, what, "write for i in ...")
                self._store(target, item)

        self._loop(node, first)

    def _loop(
        self,
        node: ast.For | ast.While,
        first: Callable[[], None],
        *,
        endless: bool = False,
    ) -> None:
        """Type a loop until its head no longer changes, then once more to store the facts.

        `first` types the beginning of each iteration; an `endless` loop ends only by `break`.
        """
        assert self._path.locals is not None
        head = self._head(node, first, self._path.locals)
        breaks = head.breaks
        if self._path.settled:
            loop, _ = self._turn(node, first, head.start)
            breaks = loop.breaks
        self._path.locals = None if endless else dict(head.start)
        self._block(node.orelse)
        self._path.locals = meet((self._path.locals, *breaks))

    def _head(self, node: ast.For | ast.While, first: Callable[[], None], entry: State) -> _Head:
        """Return the head of a loop that is entered with `entry`, once its kinds are final.

        Inside another loop its marks need not be final: each pass of the outermost loop continues
        where the last one ended, until no head changes.  Otherwise the number of passes would
        double with each level.
        """
        start, known = entry, self._heads.get(node)
        if known is not None:
            is_current = known.restarts == self._restarts
            if is_current and known.is_final and known.entry == entry:
                return known
            start = _merged(entry, known.start)
            start = start if is_current else restart(entry, start)
        settled, self._path.settled = self._path.settled, False
        while True:
            changes = self._changes
            loop, back = self._turn(node, first, start)
            seen = _merged(entry, *back)
            if are_wider(seen, start):
                start = restart(entry, seen)
                self._restarts += 1
                self._changes += 1
                continue
            marked = _merged(start, seen)
            self._changes += marked != start
            start, is_final = marked, self._changes == changes
            if is_final or not settled:
                break
        self._path.settled = settled
        self._heads[node] = _Head(entry, start, loop.breaks, self._restarts, is_final)
        return self._heads[node]

    def _turn(
        self, node: ast.For | ast.While, first: Callable[[], None], start: State
    ) -> tuple[_Loop, list[State | None]]:
        """Type one iteration; return its ends, and the states that lead back to the head."""
        loop, runs = _Loop(), self._runs
        self._loops.append(loop)
        self._path.locals = dict(start)
        first()
        self._block(node.body)
        self._loops.pop()
        self._runs = runs
        return loop, [self._path.locals, *loop.continues]

    # Stores

    def _store(self, target: ast.expr, value: Value) -> Field | None:
        """Type a store; return the field that is stored to, None for a local."""
        assert self._path.locals is not None
        if isinstance(target, ast.Name):
            if target.id == "self":
                self._scope.refuse(target, "self cannot be assigned", "use another name")
            self._path.locals[target.id] = Local(value)
            return None
        if isinstance(target, ast.Attribute):
            stored, depth = self._expressions.field(target), 0
            if stored.depth == 1 and isinstance(value, LanesOf):
                self._scope.refuse(
                    target,
                    f"{value} are stored in vector '{stored.name}' without an index",
                    f"self.{stored.name}.set_lanes(i, value)",
                )
            if stored.depth:
                rows = stored.depth > 1
                self._scope.refuse(
                    target,
                    f"'{stored.name}' is a {'list of vectors' if rows else 'vector'} of "
                    f"{stored.element!r}; its elements must be assigned one by one",
                    f"self.{stored.name}[row][i] = ..."
                    if rows
                    else f"for i in range(len(self.{stored.name})): self.{stored.name}[i] = ...",
                )
        elif isinstance(target, ast.Subscript):
            stored, depth = self._expressions.element(target)
        else:
            self._scope.refuse(target, "a value cannot be assigned to this", "a, b = first, second")
        self._check_store(target, stored, depth, value)
        return stored

    def _check_constants(self, source: ast.expr, value: Value, stored: Field) -> None:
        """Reject a constant that is neither a value nor a bit pattern of the element."""
        limits, element = bounds(stored.element), stored.element
        if limits is None or not (self._runs and self._path.settled):
            return
        for node, part in self._expressions.chosen(source, value):
            constant = part.constant if isinstance(part, NumberValue) else None
            if constant is None or limits[0] <= int(constant) <= limits[1]:
                continue
            self._scope.refuse(
                node,
                f"{constant} does not fit '{stored.name}', a field of {element!r}",
                f"use pl.{element.__name__}({constant}) for its low {8 * element.size_bytes} bits, "
                "or a wider element type",
                found=f"{element!r} takes constants from {limits[0]} to {limits[1]}",
            )

    def _check_store(self, target: ast.expr, stored: Field, depth: int, value: Value) -> None:
        if depth:
            self._scope.refuse(
                target,
                f"'{stored.name}' is a list of vectors; its elements must be assigned one by one",
                f"self.{stored.name}[row][i] = ...",
            )
        self._scope.check_written(target, stored)
        if isinstance(value, LanesOf):
            what = f"{value} cannot be stored as one number"
            fix = "reduce them, for instance with .sum(), or store them with set_lanes(i, ...)"
            self._scope.refuse(target, what, fix)
        if not isinstance(value, NumberValue):
            self._scope.refuse(target, f"{value} cannot be stored as one number", "index it: [i]")
        if element_kind(stored.element) < Kind.FLOAT <= value.kind:
            to = "bool" if element_kind(stored.element) is Kind.BOOL else "int"
            self._scope.refuse(
                target,
                f"{value} cannot be stored in '{stored.name}', a field of {stored.element!r}",
                f"write {to}(...) around the value",
            )

    # Iteration

    def _items(self, node: ast.expr) -> tuple[NumberValue, ...]:
        """Return the values that one iteration of `for ... in node` assigns."""
        if isinstance(node, ast.Call) and not self._scope.is_local(node.func):
            function = self._scope.global_of(node.func)
            if function is range:
                return (self._range(node),)
            if function is enumerate:
                if len(node.args) != 1 or node.keywords:
                    self._scope.refuse(
                        node,
                        "enumerate takes one vector in compute, and counts from 0",
                        "for i, v in enumerate(self.x), and i + 1 in the loop",
                    )
                return NumberValue(Kind.INT), self._each(node.args[0])
            if function is zip and len(node.args) > 1 and not node.keywords:
                return tuple(self._each(arg) for arg in node.args)
        return (self._each(node),)

    def _range(self, node: ast.Call) -> NumberValue:
        self.facts.calls[node] = "indices"
        bounds = [self._expressions.number(arg) for arg in node.args]
        if not 1 <= len(bounds) <= 3 or node.keywords:
            self._scope.refuse(node, "range takes 1 to 3 ints", "write range(first, end, step)")
        for arg, bound in zip(node.args, bounds, strict=True):
            if bound.kind is not Kind.INT:
                self._scope.refuse(arg, f"range takes ints, but this is {bound}", "write int(...)")
        if len(bounds) == 3 and not self._is_step(node.args[2]):
            self._scope.refuse(
                node.args[2],
                "the step of a range must be a constant other than 0",
                "count with a while loop, or multiply: for k in range(n): i = k * step",
            )
        return NumberValue(Kind.INT, any(bound.long for bound in bounds))

    def _is_step(self, node: ast.expr) -> bool:
        """Return whether a node is an int known to be non-zero."""
        return is_num_workers(node) or bool(self._expressions.constants.evaluate(node))

    def _each(self, node: ast.expr) -> NumberValue:
        if isinstance(node, ast.Call):
            value: Value | str = f"{ast.unparse(node.func)}(...)"
        else:
            value = self._expressions.value(node)
        if not isinstance(value, ElementsValue) or value.depth != 1:
            self._scope.refuse(
                node,
                f"a loop must iterate over range(...), a vector, enumerate or zip of vectors; "
                f"this is {value}",
                "reduce them, for instance with .sum(), or call a function for each: "
                "pl.lanes.map(f, ...)"
                if isinstance(value, LanesOf)
                else "write for i in range(len(...))",
            )
        return self._expressions.read(node, value.field)


def _merged(state: State, *others: State | None) -> State:
    """Return the state where a path merges with others, which need not reach that point."""
    merged = meet((state, *others))
    assert merged is not None
    return merged


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_tuple(node: ast.expr) -> bool:
    return isinstance(node, ast.Tuple)


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _names(count: int) -> str:
    names = "i" if count == 1 else ", ".join("abcdefgh"[:count])
    return f"write for {names} in ..."
