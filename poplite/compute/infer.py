"""Finds the kind of every expression of a `compute`, and where a value must be widened.

Kinds belong to the versions of a variable, not to the variable: after `t = 0.5` it is a
Python float, after `t = self.x[0]` a float32.  Where paths meet, a variable takes the wider
kind of its versions, and a loop is gone through until nothing changes::

    total = 0.1                     FLOAT
    for i in range(n):              meets FLOAT and F32: F32
        total += self.x[i]          F32
    self.y = total                  F32; when n is 0 the value is still a Python float,
                                    so this use is listed in `Facts.casts`

This is how Numba types the same code (each version of its static single assignment form
by itself), so both forms compute in the same kinds.  Two places where that could depend on
the order in which paths meet, or on branches that a compiler drops, are refused.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, NoReturn

from poplite.compute.constants import Constant, Constants, is_self
from poplite.compute.dialect import (
    BINARY,
    COMPARISONS,
    FUNCTIONS,
    LIMITS,
    UNARY,
    Scope,
    check_range,
    is_count,
)
from poplite.compute.kinds import Kind, binary_kind, element_kind, literal_kind, unary_kind
from poplite.errors import did_you_mean
from poplite.vertex import Field


class Number(NamedTuple):
    """A number.

    Attributes:
        kind: its kind.
        long: whether it is an int that may need more than 53 bits, or a float that a
            meeting of paths made of such an int.
        clash: whether such a float met a float32, which would round the int twice.
    """

    kind: Kind
    long: bool = False
    clash: bool = False

    def __str__(self) -> str:
        return str(self.kind)


class Elements(NamedTuple):
    """A vector (depth 1) or a list of vectors (depth 2), behind a field."""

    field: Field
    depth: int

    def __str__(self) -> str:
        return f"a {'vector' if self.depth == 1 else 'list of vectors'} of '{self.field.name}'"


class Mixed(NamedTuple):
    """What a variable holds after paths met that agree on nothing."""

    one: str
    other: str


Value = Number | Elements | Mixed


class Local(NamedTuple):
    """A local variable at one point.

    Attributes:
        value: what it holds.
        ragged: whether its value may still be of a narrower kind.
        unset: whether some path leads here without assigning it.
    """

    value: Value
    ragged: bool = False
    unset: bool = False


State = dict[str, Local]


@dataclass(slots=True)
class Facts:
    """What is known about the nodes of one `compute`.

    Attributes:
        kinds: kind of every number expression.
        casts: expressions whose value is widened after it is computed.
        constants: names that stand for a number fixed at compile time.
        calls: calls by the function's name in `poplite.compute.arithmetic`.
    """

    kinds: dict[ast.expr, Kind] = field(default_factory=dict)
    casts: dict[ast.expr, Kind] = field(default_factory=dict)
    constants: dict[ast.expr, Constant] = field(default_factory=dict)
    calls: dict[ast.Call, str] = field(default_factory=dict)


def infer(scope: Scope) -> Facts:
    """Type a `compute`.

    Args:
        scope: the method, its form already checked.

    Returns:
        The facts about its nodes.

    Raises:
        VertexCompileError: at the first node that has no type.
    """
    whole = _Inference(scope, prune=False)
    whole.run()
    pruned = _Inference(scope, prune=True)
    pruned.run()
    for node, kind in pruned.facts.kinds.items():
        if whole.facts.kinds[node] is not kind:
            scope.refuse(
                node,
                f"this is {whole.facts.kinds[node]} or {kind}, "
                "by a condition that is known at compile time",
                "write float(...) or int(...) so that both branches give the same kind",
            )
    return whole.facts


def _meet_numbers(one: Number, other: Number) -> Number:
    low, high = sorted((one, other))
    if low.kind is high.kind:
        return Number(high.kind, low.long or high.long, low.clash or high.clash)
    if high.kind is Kind.F32:
        clash = low.kind is Kind.FLOAT and low.long
        return Number(Kind.F32, clash=clash or low.clash or high.clash)
    return Number(high.kind, low.long or high.long, low.clash or high.clash)


def _meet_locals(one: Local | None, other: Local | None) -> Local:
    if one is None or other is None:
        only = one or other
        assert only is not None
        return only._replace(unset=True)
    unset = one.unset or other.unset
    a, b = one.value, other.value
    if isinstance(a, Number) and isinstance(b, Number):
        ragged = one.ragged or other.ragged or a.kind is not b.kind
        return Local(_meet_numbers(a, b), ragged, unset)
    if a == b or isinstance(a, Mixed):
        return Local(a, unset=unset)
    return Local(b if isinstance(b, Mixed) else Mixed(str(a), str(b)), unset=unset)


def _meet(states: Iterable[State | None]) -> State | None:
    """Return the state where paths meet; None when no path gets there."""
    reached = [state for state in states if state is not None]
    if not reached:
        return None
    result = dict(reached[0])
    for state in reached[1:]:
        for name in result.keys() | state.keys():
            result[name] = _meet_locals(result.get(name), state.get(name))
    return result


def _kinds_of(state: State) -> dict[str, object]:
    return {
        name: local.value.kind if isinstance(local.value, Number) else local.value
        for name, local in state.items()
    }


def _restart(entry: State, seen: State) -> State:
    """Return the state at the head of a loop once wider kinds were seen at its end.

    Only kinds are kept of what was seen: the other marks may come from kinds that turned
    out too narrow.
    """
    clean = {
        name: local._replace(value=Number(local.value.kind), ragged=False)
        if isinstance(local.value, Number)
        else local
        for name, local in seen.items()
    }
    merged = _meet((entry, clean))
    assert merged is not None
    return merged


@dataclass(slots=True)
class _Loop:
    breaks: list[State] = field(default_factory=list)
    continues: list[State] = field(default_factory=list)


class _Inference:
    """One walk over a `compute` that keeps the state of all locals.

    With `prune`, branches under a condition known at compile time are left out.
    """

    def __init__(self, scope: Scope, *, prune: bool) -> None:
        self.facts = Facts()
        self._scope = scope
        self._prune = prune
        self._state: State | None = {}
        self._loops: list[_Loop] = []
        self._settled = True
        self._constants = Constants(scope)

    def run(self) -> None:
        body = self._scope.text.tree.body
        self._block(body[_is_docstring(body[0]) :])

    # Statements

    def _block(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            if self._state is None:
                return
            getattr(self, f"_{type(statement).__name__}")(statement)

    def _Pass(self, node: ast.Pass) -> None:
        pass

    def _Return(self, node: ast.Return) -> None:
        if node.value is not None and not _is_none(node.value):
            self._scope.refuse(
                node, "compute returns nothing", "store the value: self.field = value"
            )
        self._state = None

    def _Break(self, node: ast.Break) -> None:
        assert self._state is not None
        self._loops[-1].breaks.append(self._state)
        self._state = None

    def _Continue(self, node: ast.Continue) -> None:
        assert self._state is not None
        self._loops[-1].continues.append(self._state)
        self._state = None

    def _Expr(self, node: ast.Expr) -> None:
        self._value(node.value)
        self._scope.refuse(node, "a call alone on its line has no effect", "assign its value")

    def _Assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            self._assign(target, node.value)

    def _AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is None or not isinstance(node.target, ast.Name):
            self._scope.refuse(node, "an annotation declares nothing here", "assign a value")
        self._assign(node.target, node.value)

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        if not isinstance(target, ast.Tuple):
            self._store(target, self._value(value))
            return
        if not isinstance(value, ast.Tuple) or len(value.elts) != len(target.elts):
            self._scope.refuse(
                target,
                f"{len(target.elts)} names take {len(target.elts)} values side by side",
                "a, b = first, second",
            )
        values = [self._value(item) for item in value.elts]
        for part, item in zip(target.elts, values, strict=True):
            self._store(part, item)

    def _AugAssign(self, node: ast.AugAssign) -> None:
        old = self._number(node.target)
        new = self._binary(node, node.op, node.target, old, node.value)
        self._store(node.target, new)

    def _If(self, node: ast.If) -> None:
        self._truth(node.test)
        known = self._constants.evaluate(node.test) if self._prune else None
        before = self._state
        ends: list[State | None] = []
        for branch, taken in ((node.body, True), (node.orelse, False)):
            if known is None or bool(known) is taken:
                self._state = None if before is None else dict(before)
                self._block(branch)
                ends.append(self._state)
        self._state = _meet(ends)

    def _While(self, node: ast.While) -> None:
        endless = isinstance(node.test, ast.Constant) and bool(node.test.value)
        known = self._constants.evaluate(node.test) if self._prune or endless else None

        def head() -> bool:
            self._truth(node.test)
            return known is None or bool(known)

        self._loop(head, node.body, node.orelse, ends=known is None or not known)

    def _For(self, node: ast.For) -> None:
        items = self._items(node.iter)
        targets = node.target.elts if isinstance(node.target, ast.Tuple) else [node.target]
        if len(targets) != len(items) or isinstance(node.target, ast.Tuple) != (len(items) > 1):
            self._scope.refuse(
                node.target, f"this loop gives {len(items)} values a turn", _names(len(items))
            )

        def head() -> bool:
            return True

        def first() -> None:
            for target, item in zip(targets, items, strict=True):
                if not isinstance(target, ast.Name):
                    self._scope.refuse(target, "a loop variable is a local", "for i in ...")
                self._store(target, item)

        self._loop(head, node.body, node.orelse, ends=True, first=first)

    def _loop(
        self,
        head: Callable[[], bool],
        body: Sequence[ast.stmt],
        orelse: Sequence[ast.stmt],
        *,
        ends: bool,
        first: Callable[[], None] = lambda: None,
    ) -> None:
        """Type a loop until its head no longer changes, then once more to keep the facts.

        Args:
            head: types what runs before each turn; whether the body runs at all.
            body: what runs in each turn.
            orelse: what runs when the loop ends by itself.
            ends: whether it can end other than by `break`.
            first: types what each turn starts with.
        """
        entry = self._state
        assert entry is not None
        start = entry
        settled, self._settled = self._settled, False
        while True:
            _, after = self._turn(start, head, body, first)
            seen = _meet((entry, after))
            assert seen is not None
            if _kinds_of(seen) != _kinds_of(start):
                start = _restart(entry, seen)
                continue
            marked = _meet((start, seen))
            assert marked is not None
            if marked == start:
                break
            start = marked
        self._settled = settled
        loop, _ = self._turn(start, head, body, first)
        self._state = dict(start) if ends else None
        self._block(orelse)
        self._state = _meet((self._state, *loop.breaks))

    def _turn(
        self,
        start: State,
        head: Callable[[], bool],
        body: Sequence[ast.stmt],
        first: Callable[[], None],
    ) -> tuple[_Loop, State | None]:
        loop = _Loop()
        self._loops.append(loop)
        self._state = dict(start)
        if head():
            first()
            self._block(body)
        else:
            self._state = None
        self._loops.pop()
        return loop, _meet((self._state, *loop.continues))

    # Stores

    def _store(self, target: ast.expr, value: Value) -> None:
        assert self._state is not None
        if isinstance(target, ast.Name):
            if target.id == "self":
                self._scope.refuse(target, "self is assigned", "use another name")
            self._state[target.id] = Local(value)
            return
        if isinstance(target, ast.Attribute):
            stored, depth = self._field(target), 0
            if stored.depth:
                self._scope.refuse(
                    target,
                    f"'{stored.name}' is {Elements(stored, stored.depth)}; "
                    "its elements are assigned one by one",
                    f"for i in range(len(self.{stored.name})): self.{stored.name}[i] = ...",
                )
        elif isinstance(target, ast.Subscript):
            stored, depth = self._element(target)
        else:
            self._scope.refuse(target, "this is no place for a value", "a, b = first, second")
        self._check_store(target, stored, depth, value)

    def _check_store(self, target: ast.expr, stored: Field, depth: int, value: Value) -> None:
        if depth:
            self._scope.refuse(
                target,
                f"'{stored.name}' is a list of vectors; its elements are assigned one by one",
                f"self.{stored.name}[row][i] = ...",
            )
        if not stored.writes:
            self._scope.refuse(
                target,
                f"field '{stored.name}' is read only",
                f"declare {stored.name}: InOut[...] to change it in place",
                found=f"declared: {stored}",
            )
        if not isinstance(value, Number):
            self._scope.refuse(target, f"{value} is stored as one number", "index it: [i]")
        if element_kind(stored.element) < Kind.FLOAT <= value.kind:
            to = "bool" if element_kind(stored.element) is Kind.BOOL else "int"
            self._scope.refuse(
                target,
                f"{value} is stored in '{stored.name}', a field of {stored.element!r}",
                f"write {to}(...) round the value",
            )

    # Iteration

    def _items(self, node: ast.expr) -> tuple[Number, ...]:
        """Return what one turn of `for ... in node` assigns."""
        if isinstance(node, ast.Call) and not self._scope.is_local(node.func):
            function = self._scope.global_of(node.func)
            if function is range:
                return (self._range(node),)
            if function is enumerate and len(node.args) == 1 and not node.keywords:
                return Number(Kind.INT), self._each(node.args[0])
            if function is zip and len(node.args) > 1 and not node.keywords:
                return tuple(self._each(arg) for arg in node.args)
        return (self._each(node),)

    def _range(self, node: ast.Call) -> Number:
        self.facts.calls[node] = "indices"
        bounds = [self._number(arg) for arg in node.args]
        if not 1 <= len(bounds) <= 3 or node.keywords:
            self._scope.refuse(node, "range takes 1 to 3 ints", "range(first, end, step)")
        for arg, bound in zip(node.args, bounds, strict=True):
            if bound.kind is not Kind.INT:
                self._scope.refuse(arg, f"range takes ints; this is {bound}", "write int(...)")
        if len(bounds) == 3 and not self._constants.evaluate(node.args[2]):
            self._scope.refuse(
                node.args[2],
                "the step of a range is a constant other than 0",
                "count with a while loop, or multiply: for k in range(n): i = k * step",
            )
        return Number(Kind.INT, any(bound.long for bound in bounds))

    def _each(self, node: ast.expr) -> Number:
        if isinstance(node, ast.Call):
            value: Value | str = f"{ast.unparse(node.func)}(...)"
        else:
            value = self._value(node)
        if not isinstance(value, Elements) or value.depth != 1:
            self._scope.refuse(
                node,
                f"a loop goes over range(...), a vector, enumerate or zip of vectors; "
                f"this is {value}",
                "for i in range(len(...))",
            )
        return self._read(node, value.field)

    # Expressions

    def _value(self, node: ast.expr) -> Value:
        """Type an expression; note its kind when it is a number."""
        self.facts.casts.pop(node, None)
        constant = self._constants.named(node)
        if constant is not None:
            self.facts.constants[node] = constant
            value: Value = Number(literal_kind(constant))
        else:
            value = getattr(self, f"_{type(node).__name__}")(node)
        if isinstance(value, Number):
            self.facts.kinds[node] = value.kind
        return value

    def _number(self, node: ast.expr) -> Number:
        value = self._value(node)
        if not isinstance(value, Number):
            self._scope.refuse(
                node, f"{value} is used as a number", f"index it: {ast.unparse(node)}[i]"
            )
        return value

    def _truth(self, node: ast.expr) -> None:
        self._number(node)

    def _Constant(self, node: ast.Constant) -> Number:
        if not isinstance(node.value, (bool, int, float)):
            self._scope.refuse(node, f"{node.value!r} is not a number", "use 0, 0.0 or False")
        check_range(self._scope, node, node.value)
        return Number(literal_kind(node.value))

    def _Name(self, node: ast.Name) -> Value:
        assert self._state is not None
        if node.id == "self":
            self._scope.refuse(node, "self is used as a value", "use its fields: self.name")
        local = self._state.get(node.id)
        if local is None or local.unset:
            may = "is" if local is None else "may be"
            self._scope.refuse(
                node,
                f"local '{node.id}' {may} unset here",
                f"assign {node.id} before the if or loop that assigns it",
            )
        value = local.value
        if isinstance(value, Mixed):
            self._scope.refuse(
                node,
                f"local '{node.id}' is {value.one} on one path and {value.other} on another",
                "use two names",
            )
        if isinstance(value, Number):
            if value.clash and self._settled:
                self._scope.refuse(
                    node,
                    f"local '{node.id}' is an int, a Python float or a float32, by path",
                    f"write float(...) where {node.id} takes the int",
                )
            if local.ragged:
                self.facts.casts[node] = value.kind
        return value

    def _Attribute(self, node: ast.Attribute) -> Value:
        if not (is_self(node.value)):
            owner = self._value(node.value)
            hint = "len(...)" if node.attr in ("size", "shape") else "elements by index"
            self._scope.refuse(node, f"{owner} has no attribute '{node.attr}'", f"use {hint}")
        read = self._field(node)
        return Elements(read, read.depth) if read.depth else self._read(node, read)

    def _field(self, node: ast.Attribute) -> Field:
        fields = self._scope.vertex.fields
        if not (is_self(node.value)):
            self._scope.refuse(node, f"'{ast.unparse(node)}' is no field", "use self.name")
        if node.attr not in fields:
            owner = self._scope.vertex
            what = f"'{owner.__name__}' has no field '{node.attr}'"
            if node.attr in vars(owner):
                what = f"'{node.attr}' is neither a field nor a number"
            self._scope.refuse(
                node,
                what + did_you_mean(node.attr, fields),
                f"use a declared field, or declare '{node.attr}'",
                found="declared: " + (", ".join(map(str, fields.values())) or "no fields"),
            )
        return fields[node.attr]

    def _read(self, node: ast.expr, source: Field) -> Number:
        if source.role == "output":
            self._scope.refuse(
                node,
                f"output '{source.name}' is read",
                f"declare {source.name}: InOut[...] to read what it holds",
                found=f"declared: {source}",
            )
        return Number(element_kind(source.element))

    def _Subscript(self, node: ast.Subscript) -> Value:
        source, depth = self._element(node)
        return Elements(source, depth) if depth else self._read(node, source)

    def _element(self, node: ast.Subscript) -> tuple[Field, int]:
        """Type `vector[index]`: return its field, and the depth of what it gives."""
        whole = self._value(node.value)
        if not isinstance(whole, Elements):
            self._scope.refuse(node, f"{whole} is indexed", "index vectors; use scalars as is")
        index = self._value(node.slice)
        if not isinstance(index, Number) or index.kind is not Kind.INT:
            self._scope.refuse(node.slice, f"an index is an int; this is {index}", "write int(...)")
        constant = self._constants.evaluate(node.slice)
        if constant is not None and constant < 0:
            self._scope.refuse(
                node.slice,
                f"index {constant} is negative; indices count from 0",
                f"{ast.unparse(node.value)}[len({ast.unparse(node.value)}) - {-constant}]",
            )
        return whole.field, whole.depth - 1

    def _BinOp(self, node: ast.BinOp) -> Number:
        return self._binary(node, node.op, node.left, self._number(node.left), node.right)

    def _binary(
        self, node: ast.AST, op: ast.operator, left: ast.expr, one: Number, right: ast.expr
    ) -> Number:
        symbol, other = BINARY[type(op)], self._number(right)
        if symbol == "@":
            self._scope.refuse(node, "'@' multiplies no numbers", "write loops over the elements")
        if symbol in LIMITS:
            self._check_count(right, symbol)
        kind = binary_kind(symbol, one.kind, other.kind)
        if kind is None:
            self._scope.refuse(
                node, f"'{symbol}' takes ints; here are {one} and {other}", "write int(...)"
            )
        return Number(kind, long=kind is Kind.INT)

    def _check_count(self, node: ast.expr, symbol: str) -> None:
        """Allow `x ** 3`, `x << 3` and `x << (n & 63)`."""
        limit = LIMITS[symbol]
        masked = isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd)
        parts = (node.left, node.right) if masked and isinstance(node, ast.BinOp) else ()
        if is_count(node, limit) or any(is_count(part, limit) for part in parts) > (symbol == "**"):
            return
        fix = "multiply, or use math.sqrt" if symbol == "**" else f"x {symbol} (n & {limit})"
        self._scope.refuse(
            node, f"the right side of '{symbol}' is an int literal from 0 to {limit}", fix
        )

    def _UnaryOp(self, node: ast.UnaryOp) -> Number:
        symbol, operand = UNARY[type(node.op)], self._number(node.operand)
        kind = unary_kind(symbol, operand.kind)
        if kind is None:
            fix = "write not ..." if operand.kind is Kind.BOOL else "write int(...)"
            self._scope.refuse(node, f"'{symbol}' takes an int; this is {operand}", fix)
        return Number(kind, long=kind is Kind.INT and operand.long)

    def _Compare(self, node: ast.Compare) -> Number:
        for part in (node.left, *node.comparators):
            self._number(part)
        for op in node.ops:
            if isinstance(op, (ast.Is, ast.IsNot, ast.In, ast.NotIn)):
                symbol = COMPARISONS[type(op)]
                self._scope.refuse(node, f"'{symbol}' compares no numbers", "use == or a loop")
        return Number(Kind.BOOL)

    def _BoolOp(self, node: ast.BoolOp) -> Number:
        values, stops = [], isinstance(node.op, ast.Or)
        for part in node.values:
            values.append((part, self._number(part)))
            known = self._constants.evaluate(part) if self._prune else None
            if known is not None and bool(known) is stops:
                break
        return self._meeting(values)

    def _IfExp(self, node: ast.IfExp) -> Number:
        self._truth(node.test)
        known = self._constants.evaluate(node.test) if self._prune else None
        parts = [
            part
            for part, taken in ((node.body, True), (node.orelse, False))
            if known is None or bool(known) is taken
        ]
        return self._meeting([(part, self._number(part)) for part in parts])

    def _meeting(self, parts: list[tuple[ast.expr, Number]]) -> Number:
        result = parts[0][1]
        for _, value in parts[1:]:
            result = _meet_numbers(result, value)
        for node, value in parts:
            if result.clash and self._settled:
                self._scope.refuse(
                    node, "an int, a Python float and a float32 meet here", "write float(...)"
                )
            if value.kind is not result.kind:
                self.facts.casts[node] = result.kind
        return result

    def _Tuple(self, node: ast.Tuple) -> Number:
        self._scope.refuse(node, "a tuple is no value", "use one local for each number")

    def _Call(self, node: ast.Call) -> Number:
        function = None if self._scope.is_local(node.func) else self._scope.global_of(node.func)
        if function is len and len(node.args) == 1 and not node.keywords:
            return self._len(node.args[0])
        name = next((name for known, name in FUNCTIONS.items() if known is function), None)
        if name is None or node.keywords:
            self._refuse_call(node, function)
        self.facts.calls[node] = name
        values = [self._number(arg) for arg in node.args]
        if name in ("minimum", "maximum"):
            return self._extreme(node, values)
        if len(values) != 1:
            self._scope.refuse(
                node, f"{ast.unparse(node.func)} takes 1 number, not {len(values)}", "write one"
            )
        return self._function(node, name, values[0])

    def _len(self, node: ast.expr) -> Number:
        value = self._value(node)
        if not isinstance(value, Elements):
            self._scope.refuse(node, f"len of {value}", "len takes a vector or list of vectors")
        return Number(Kind.INT)

    def _extreme(self, node: ast.Call, values: list[Number]) -> Number:
        if len(values) < 2:
            self._scope.refuse(
                node,
                f"{ast.unparse(node.func)} takes at least 2 numbers, not {len(values)}",
                "loop over the elements of a vector: best = max(best, self.x[i])",
            )
        return Number(max(v.kind for v in values), any(v.long for v in values))

    def _function(self, node: ast.Call, name: str, value: Number) -> Number:
        if name == "as_bool":
            return Number(Kind.BOOL)
        if name == "truncate":
            return Number(Kind.INT, value.long or value.kind > Kind.INT)
        if name == "as_float":
            return Number(max(value.kind, Kind.FLOAT))
        if value.kind is Kind.BOOL:
            self._scope.refuse(
                node, f"{ast.unparse(node.func)} of a truth value", "write int(...) round it"
            )
        if name in ("floor", "ceil"):
            return Number(Kind.INT, value.long or value.kind > Kind.INT)
        return Number(value.kind if name == "absolute" else max(value.kind, Kind.FLOAT), value.long)

    def _refuse_call(self, node: ast.Call, function: object) -> NoReturn:
        known = ", ".join(sorted(str(getattr(f, "__name__", f)) for f in FUNCTIONS))
        fix = next((fix for refused, fix in _CALLS if refused is function), "")
        if isinstance(node.func, ast.Attribute) and is_self(node.func.value):
            fix = "write the body of the method here"
        self._scope.refuse(
            node,
            f"{ast.unparse(node.func)}(...) cannot be called in compute",
            fix or f"one of: len, {known}",
        )


_CALLS: tuple[tuple[object, str], ...] = (
    (open, "read files on the host, and hand the values over with engine.write(...)"),
    (print, "store the value in an Output field, and print engine.read(...)"),
    (range, "range(...) stands in a for statement only"),
    (sum, "loop over the elements: total += self.x[i]"),
    (dict, "use a State[Vector[...]] field, indexed by number"),
    (list, "use an InOut[Vector[...]] field for working memory"),
)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _names(count: int) -> str:
    return "for i in ..." if count == 1 else "for " + ", ".join("abcdefgh"[:count]) + " in ..."
