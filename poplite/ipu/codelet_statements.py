"""Statements of `compute` in C++.

    for i in range(len(self.x)):         for (unsigned i = 0; i < x.size(); ++i) {
        total += self.x[i]                 total = total + x[i];
                                         }

A loop over a `range` evaluates its bounds once and has a separate counter, as in Python. If this
makes no difference, as above, the counter is a native C++ integer, which a tile counts in hardware.
The following loops have native counters:

    for i in range(len(self.x))                   for (unsigned i = 0; i < x.size(); ++i)
    for i in range(worker, len(self.x), 6)        for (unsigned i = worker; i < x.size(); i += 6)
    for i in range(self.n)    (n State[INT])      for (int i = 0; i < n; ++i)

A native counter requires that only the loop assigns the variable, nothing after the loop reads it,
and neither the variable nor its bounds can exceed 32 bits.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import NamedTuple

from poplite.ipu.codelet_expressions import ExpressionWriter, element_term, returns
from poplite.ipu.codelet_function import (
    ELEMENTS,
    INDENT,
    NUMBERS,
    PRIMARY,
    ROW,
    CodeletFunction,
    Term,
    Version,
    binary_term,
    literal,
    loop_targets,
    truth_term,
    type_of,
)
from poplite.types import (
    BOOL,
    FLOAT,
    HALF,
    INT,
    SHORT,
    SIGNED_CHAR,
    UNSIGNED_CHAR,
    UNSIGNED_INT,
    UNSIGNED_SHORT,
)
from poplite.vertex.compute.arithmetic import Kind
from poplite.vertex.compute.dialect import BINARY, is_num_workers, is_self
from poplite.vertex.compute.typed_facts import ElementsValue, LanesOf
from poplite.vertex.fields import Field

Assigned = Term | tuple[Version, str] | None
"""A number, or the C++ text of lanes or of a row; None for a field."""


class StatementWriter:
    """Writes the statements of one function; methods return whether the next one is reachable."""

    def __init__(self, function: CodeletFunction) -> None:
        self.function, self.facts = function, function.facts
        self.expressions = ExpressionWriter(function)
        self._breaks: list[str | None] = []

    def body(self) -> None:
        """Write all statements."""
        tree = self.function.checked.text.tree
        is_compute = not self.function.checked.scope.callers
        self._parameters()
        docstring = ast.get_docstring(tree, clean=False) is not None
        if self.block(tree.body, first=int(docstring)) and is_compute:
            self.function.add("return true;")

    def _parameters(self) -> None:
        """Write the wider versions of parameters that are read."""
        checked, variables = self.function.checked, self.function.variables
        for name, value in zip(checked.scope.parameters, checked.arguments, strict=True):
            if isinstance(value, ElementsValue | LanesOf):
                continue
            kind = Kind(value.kind)  # type: ignore[union-attr]
            given = Term(variables.name(name, kind), kind, is_class=kind is Kind.INT)
            for wider in variables.at_least(name, kind):
                if wider is not kind:
                    code = given.to(wider).code
                    self.function.add(f"{NUMBERS[wider]} {variables.name(name, wider)} = {code};")

    def block(self, statements: Sequence[ast.stmt], first: int = 0) -> bool:
        """Write statements, up to the first one that is unreachable."""
        for number, statement in enumerate(statements):
            if number < first:
                continue
            self._declare((id(statements), number), statement)
            write: Callable[[ast.stmt], bool | None] = getattr(self, f"_{type(statement).__name__}")
            if write(statement) is False:
                return False
        return True

    def _inner(self, statements: Sequence[ast.stmt]) -> tuple[list[str], bool]:
        reached = True

        def write() -> None:
            nonlocal reached
            reached = self.block(statements)

        return self.function.block(write), reached

    # -- variables ---------------------------------------------------------------------------------

    def _declare(self, place: tuple[int, int], statement: ast.stmt | None) -> None:
        """Declare the variables that belong to a block, before their first statement."""
        variables = self.function.variables
        for name in variables.declared.pop(place, ()):
            versions = variables.versions(name)
            if len(versions) == 1 and statement is not None and _assigns_only(statement, name):
                variables.declared.setdefault((id(statement), 0), []).append(name)
                continue
            for version in versions:
                zero = f" = {literal(0, version)}" if isinstance(version, Kind) else ""
                self.function.add(f"{type_of(version)} {variables.name(name, version)}{zero};")

    def assign(self, name: str, value: Assigned, declared: str | None = None) -> None:
        """Write an assignment to every version of a local that the value reaches.

        With `declared`, a qualifier or "", the variables are also declared.
        """
        variables = self.function.variables
        if value is None:
            return
        if not isinstance(value, Term):
            version, code = value
            if variables.has(name, version):
                type_name = "" if declared is None else f"{declared}{type_of(version)} "
                self.function.add(f"{type_name}{variables.name(name, version)} = {code};")
            return
        kinds = variables.at_least(name, value.kind)
        if len(kinds) > 1 and kinds[0] is not value.kind:
            value = self.expressions.kept(value)
        for kind in kinds:
            own = variables.name(name, kind)
            type_name = "" if declared is None else f"{declared}{NUMBERS[kind]} "
            self.function.add(f"{type_name}{own} = {value.to(kind).code};")
            if value.number is None and kind is value.kind:
                value = Term(own, kind, is_class=kind is Kind.INT)

    def _value(self, node: ast.expr) -> Assigned:
        """Return the value of an expression."""
        container = self.facts.containers.get(node)
        if container is None:
            return self.expressions.term(node)
        if isinstance(container, LanesOf):
            return container, self.expressions.calls.lanes.code(node)
        if container.depth == container.field.depth:
            return None
        return ROW, self.expressions.row(node)

    def _kept(self, value: Assigned) -> Assigned:
        if isinstance(value, Term):
            return self.expressions.kept(value)
        return value and (value[0], self.function.kept(type_of(value[0]), value[1]))

    # -- assignments -------------------------------------------------------------------------------

    def _Assign(self, node: ast.Assign) -> None:
        self._assign(node, node.targets, node.value)

    def _AnnAssign(self, node: ast.AnnAssign) -> None:
        assert node.value is not None
        self._assign(node, [node.target], node.value)

    def _assign(self, node: ast.stmt, targets: Sequence[ast.expr], value: ast.expr) -> None:
        parts = value.elts if isinstance(value, ast.Tuple) else [value]
        if len(parts) > 1 and len(targets) == 1 and _are_apart(targets[0], parts):
            declares = self.function.variables.declared.pop((id(node), 0), ())
            assert isinstance(targets[0], ast.Tuple)
            for place, part in zip(targets[0].elts, parts, strict=True):
                assert isinstance(place, ast.Name)
                self.assign(place.id, self._value(part), "" if place.id in declares else None)
            return
        values = []
        for part in parts:
            value_of_part = self._value(part)
            is_used_twice = len(parts) > 1 or len(targets) > 1
            values.append(self._kept(value_of_part) if is_used_twice else value_of_part)
        declares = self.function.variables.declared.pop((id(node), 0), ())
        for target in targets:
            places = target.elts if isinstance(target, ast.Tuple) else [target]
            for place, assigned in zip(places, values, strict=True):
                self._store(place, assigned, "" if declares else None)

    def _store(self, target: ast.expr, value: Assigned, declared: str | None = None) -> None:
        if isinstance(target, ast.Name):
            self.assign(target.id, value, declared)
            return
        assert isinstance(value, Term)
        if isinstance(target, ast.Attribute):
            field = self.function.checked.vertex.fields[target.attr]
            self.function.add(f"*{self.function.member(field.name)} = {stored(field, value)};")
            return
        assert isinstance(target, ast.Subscript)
        if self.function.has_effect(target):
            value = self.expressions.kept(value)
        owner = self.facts.containers[target.value]
        assert isinstance(owner, ElementsValue)
        self.function.add(f"{self.expressions.place(target)} = {stored(owner.field, value)};")

    def _AugAssign(self, node: ast.AugAssign) -> None:
        target = node.target
        if node in self.facts.lanes:
            code = self.expressions.calls.lanes.joined(node, node.op, target, node.value)
            assert isinstance(target, ast.Name)
            self.assign(target.id, (LanesOf(self.facts.lanes[node]), code))
            return
        if isinstance(target, ast.Subscript) and self.function.has_effect(target):
            self._increase_at(node, target)
            return
        terms = self.expressions.terms(target, node.value)
        self._store(target, binary_term(BINARY[type(node.op)], *terms))

    def _increase_at(self, node: ast.AugAssign, target: ast.Subscript) -> None:
        """Write `vector[index] += value` for an index from a helper, which is called once."""
        owner = self.facts.containers[target.value]
        assert isinstance(owner, ElementsValue)
        if self.function.has_effect(target.value):
            self.function.checked.scope.refuse(
                target,
                "the number of the changed row comes from a helper that stores or may stop",
                "assign its result to a local variable first",
            )
        vector = self.expressions.vector(target.value)
        at = self.function.kept("unsigned", self.expressions.index(target.slice), "place")
        place = self.function.element(vector, at)
        old = element_term(owner.field, place)
        if self.function.has_effect(node.value):
            old = self.expressions.kept(old)
        new = binary_term(BINARY[type(node.op)], old, self.expressions.term(node.value))
        self.function.add(f"{place} = {stored(owner.field, new)};")

    # -- other statements --------------------------------------------------------------------------

    def _Pass(self, node: ast.Pass) -> None:
        pass

    def _Expr(self, node: ast.Expr) -> None:
        call = node.value
        assert isinstance(call, ast.Call)
        if call in self.facts.lane_accesses:
            self.function.add(self.expressions.calls.lanes.store(call))
        else:
            self.function.add(f"{self.expressions.calls.helper(call)};")

    def _Return(self, node: ast.Return) -> bool:
        checked, is_compute = self.function.checked, not self.function.checked.scope.callers
        is_none = node.value is None or node.value not in self.facts.kinds
        value = node.value
        if isinstance(checked.result, LanesOf):
            assert value is not None
            self.function.add(f"return {self.expressions.calls.lanes.code(value)};")
        elif is_none or value is None:
            self.function.add("return true;" if is_compute else "return;")
        else:
            assert checked.result is not None
            term = self.expressions.term(value).to(Kind(checked.result.kind))
            self.function.add(f"return {term.code};")
        return False

    def _Raise(self, node: ast.Raise) -> bool:
        self.function.add("PL_STOP();")
        return False

    def _Assert(self, node: ast.Assert) -> None:
        if __debug__:
            test = self.expressions.test(node.test)
            self.function.add(f"if (!{test.within(PRIMARY)}) PL_STOP();")

    def _If(self, node: ast.If) -> bool:
        self.function.add(f"if ({self.expressions.test(node.test).code}) {{")
        lines, reached = self._inner(node.body)
        self.function.lines += lines
        others, reached_otherwise = self._inner(node.orelse)
        is_chain = len(node.orelse) == 1 and others and others[0].startswith("  if (")
        if is_chain and others[-1] == "  }":
            others = [line[2:] for line in others]
            self.function.lines += [f"}} else {others[0]}", *others[1:]]
            return reached or reached_otherwise
        if others:
            self.function.lines += ["} else {", *others]
        self.function.add("}")
        return reached or reached_otherwise

    # -- loops -------------------------------------------------------------------------------------

    def _Break(self, node: ast.Break) -> bool:
        flag = self._breaks[-1]
        if flag is not None:
            self.function.add(f"{flag} = true;")
        self.function.add("break;")
        return False

    def _Continue(self, node: ast.Continue) -> bool:
        self.function.add("continue;")
        return False

    def _While(self, node: ast.While) -> bool:
        endless = isinstance(node.test, ast.Constant) and bool(node.test.value)
        if endless:
            self._loop(node, "while (true) {", lambda: None)
            return any(_breaks_of(node.body))
        # A condition needs preceding lines if lanes are mapped with numbers.
        has_lines = any(part in self.facts.mapped for part in ast.walk(node.test))
        if not self.function.has_effect(node.test) and not has_lines:
            test = self.expressions.test(node.test).code
            return self._loop(node, f"while ({test}) {{", lambda: None)

        def first() -> None:
            test = self.expressions.test(node.test)
            self.function.add(f"if (!{test.within(PRIMARY)}) break;")

        return self._loop(node, "while (true) {", first)

    def _loop(self, node: ast.While | ast.For, head: str, first: Callable[[], None]) -> bool:
        """Write a loop; `first` writes the start of its body."""
        flag = None
        if node.orelse and any(_breaks_of(node.body)):
            flag = self.function.variables.temporary("stopped")
            self.function.add(f"bool {flag} = false;")
        self._breaks.append(flag)

        def write() -> None:
            self._declare((id(node.body), -1), None)
            first()
            self.block(node.body)

        self.function.add(head)
        self.function.lines += self.function.block(write)
        self.function.add("}")
        self._breaks.pop()
        if flag is None:
            return self.block(node.orelse)
        self.function.add(f"if (!{flag}) {{")
        lines, _ = self._inner(node.orelse)
        self.function.lines += [*lines, "}"]
        return True

    def _For(self, node: ast.For) -> bool:
        if self.facts.calls.get(node.iter) == "indices":  # type: ignore[call-overload]
            return self._range(node)
        return self._elements(node)

    def _range(self, node: ast.For) -> bool:
        assert isinstance(node.iter, ast.Call)
        target, variables = loop_targets(node)[0].id, self.function.variables
        bounds = self.expressions.terms(*node.iter.args)
        counter = native_loop(self.function, node, bounds)
        if counter is not None:
            name = self._counter_name(target)
            with self.function.counting(target):
                return self._loop(node, counter.head(name), lambda: None)
        parts = {1: [Term("0", Kind.INT), *bounds], 2: bounds, 3: bounds}[len(bounds)]
        step = parts[2].code if len(parts) == 3 else "1"
        turns = f"pl::Range({parts[0].code}, {parts[1].code}, {step})"
        if target in variables.of_loops:
            own = self._counter_name(target)
            unused = "" if variables.has(target, Kind.INT) else "[[maybe_unused]] "
            return self._loop(node, f"for ({unused}const pl::Int {own} : {turns}) {{", lambda: None)
        own = variables.temporary("next")
        number = Term(own, Kind.INT, is_class=True)
        head = f"for (const pl::Int {own} : {turns}) {{"
        return self._loop(node, head, lambda: self.assign(target, number))

    def _counter_name(self, target: str) -> str:
        variables = self.function.variables
        if variables.has(target, Kind.INT):
            return variables.name(target, Kind.INT)
        return variables.temporary("turn")

    def _elements(self, node: ast.For) -> bool:
        """Write a loop over a vector, or over `enumerate` or `zip` of vectors."""
        vectors = [node.iter]
        counts = False
        if isinstance(node.iter, ast.Call):
            vectors, counts = node.iter.args, len(node.iter.args) == 1
        variables, targets = self.function.variables, [t.id for t in loop_targets(node)]
        at = variables.temporary("at")
        codes = [self.expressions.vector(each) for each in vectors]
        ends = " && ".join(f"{at} < {code}.size()" for code in codes)

        def first() -> None:
            values = []
            if counts:
                values.append(Term(at, Kind.INT))
            for each, code in zip(vectors, codes, strict=True):
                owner = self.facts.containers[each]
                assert isinstance(owner, ElementsValue)
                values.append(element_term(owner.field, f"{code}[{at}]"))
            for target, value in zip(targets, values, strict=True):
                own = target in variables.of_loops
                self.assign(target, value, "const " if own else None)

        return self._loop(node, f"for (unsigned {at} = 0; {ends}; ++{at}) {{", first)


def stored(field: Field, value: Term) -> str:
    """Return the text of a number as an element of a field."""
    element = field.element
    if element is FLOAT:
        return value.to(Kind.F32).code
    if element is HALF:
        return f"half({value.to(Kind.F32).code})"
    if element is BOOL:
        return truth_term(value).code
    is_small = isinstance(value.number, int) and 0 <= value.number < 128
    return value.code if is_small else f"static_cast<{ELEMENTS[element]}>({value.code})"


def function_text(function: CodeletFunction, *, is_multi: bool) -> list[str]:
    """Return the lines of one function: `compute`, or one that it calls."""
    checked, variables = function.checked, function.variables
    parameters = []
    for name, value in zip(checked.scope.parameters, checked.arguments, strict=True):
        if isinstance(value, ElementsValue):
            if value.depth < value.field.depth:
                parameters.append(f"pl::Int {variables.parameter(name, ROW)}")
        elif isinstance(value, LanesOf):
            parameters.append(f"{type_of(value)} {variables.parameter(name, value)}")
        else:
            kind = Kind(value.kind)  # type: ignore[union-attr]
            parameters.append(f"{NUMBERS[kind]} {variables.parameter(name, kind)}")
    arguments = ", ".join(parameters)
    if not checked.scope.callers:
        result, name = "bool", "compute"
        arguments = _worker(function) if is_multi else ""
    else:
        result, name = returns(checked), function.names[checked]
        result = result if checked.scope.takes_self else f"static {result}"
    before, function.lines = function.lines, []
    lines = function.block(StatementWriter(function).body)
    return [f"{result} {name}({arguments}) {{", *(INDENT + each for each in before), *lines, "}"]


def _worker(function: CodeletFunction) -> str:
    """Return the worker parameter of a MultiVertex's `compute`, which counts as an index."""
    (name,) = function.checked.scope.parameters
    own = function.variables.name(name, Kind.INT)
    if name not in function.variables.stored and name not in function.variables.of_loops:
        function.counters.add(name)
        return f"unsigned {function.variables.parameter(name, Kind.INT)}"
    given = function.variables.temporary("given")
    function.add(f"{NUMBERS[Kind.INT]} {own} = {given};")
    return f"unsigned {given}"


def _assigns_only(statement: ast.stmt, name: str) -> bool:
    """Return whether a statement only assigns one or more names, and reads none of them."""
    if isinstance(statement, ast.Assign):
        targets, value = statement.targets, statement.value
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        targets, value = [statement.target], statement.value
    else:
        return False
    parts = value.elts if isinstance(value, ast.Tuple) else [value]
    return len(targets) == 1 and name in _names_of(targets[0]) and _are_apart(targets[0], parts)


def _names_of(target: ast.expr) -> list[str]:
    places = target.elts if isinstance(target, ast.Tuple) else [target]
    return [each.id for each in places if isinstance(each, ast.Name)]


def _are_apart(target: ast.expr, values: Sequence[ast.expr]) -> bool:
    """Return whether all targets are distinct locals that no value reads."""
    names = _names_of(target)
    nodes = (node for value in values for node in ast.walk(value))
    is_free = all(not isinstance(node, ast.Name) or node.id not in names for node in nodes)
    return is_free and len({*names}) == len(values)


def _breaks_of(statements: Sequence[ast.stmt]) -> list[ast.Break]:
    """Return the breaks that leave the loop whose body is `statements`."""
    found: list[ast.Break] = []
    for statement in statements:
        if isinstance(statement, ast.Break):
            found.append(statement)
        elif isinstance(statement, ast.If):
            found += _breaks_of(statement.body) + _breaks_of(statement.orelse)
        elif isinstance(statement, ast.For | ast.While):
            found += _breaks_of(statement.orelse)
    return found


# -- loops -----------------------------------------------------------------------------------------


_SIGNED = INT, SHORT, SIGNED_CHAR, UNSIGNED_SHORT, UNSIGNED_CHAR
"""Element types all of whose values fit into an int."""

_LARGEST = 2**31 - 1


class NativeLoop(NamedTuple):
    """The counter of a loop: its type, first value, end and step, as C++."""

    type_name: str
    start: str
    stop: str
    step: str

    def head(self, name: str) -> str:
        """Return the first line of the loop."""
        step = f"++{name}" if self.step == "1" else f"{name} += {self.step}"
        return f"for ({self.type_name} {name} = {self.start}; {name} < {self.stop}; {step}) {{"


def native_loop(function: CodeletFunction, node: ast.For, bounds: list[Term]) -> NativeLoop | None:
    """Return the native counter of a loop over a range; None if it needs 64 bits."""
    assert isinstance(node.iter, ast.Call)
    assert isinstance(node.target, ast.Name)
    name, variables = node.target.id, function.variables
    versions = variables.versions(name)
    if name not in variables.of_loops or any(each is not Kind.INT for each in versions):
        return None
    arguments = node.iter.args
    start_node = arguments[0] if len(arguments) > 1 else None
    stop_node = arguments[1] if len(arguments) > 1 else arguments[0]
    start = "0" if start_node is None else _start(function, start_node, bounds[0])
    step = "1" if len(arguments) < 3 else _step(arguments[2], bounds[2])
    if start is None or step is None:
        return None
    stop = bounds[1] if len(arguments) > 1 else bounds[0]
    is_length = isinstance(stop_node, ast.Call) and stop.code.endswith(".size()")
    is_literal = isinstance(stop.number, int) and 0 <= stop.number <= _LARGEST
    if is_length or is_literal:
        return NativeLoop("unsigned", start, stop.code, step)
    type_name = _of_state(function, stop_node)
    is_simple = step == "1" and (start == "0" or start_node is None)
    return NativeLoop(type_name, start, stop.code, step) if type_name and is_simple else None


def _start(function: CodeletFunction, node: ast.expr, term: Term) -> str | None:
    if isinstance(term.number, int) and 0 <= term.number <= _LARGEST:
        return term.code
    is_counter = isinstance(node, ast.Name) and node.id in function.counters
    return term.code if is_counter and node.id in function.checked.scope.parameters else None  # type: ignore[attr-defined]


def _step(node: ast.expr, term: Term) -> str | None:
    if isinstance(term.number, int) and 1 <= term.number <= _LARGEST:
        return term.code
    return term.code if is_num_workers(node) else None


def _of_state(function: CodeletFunction, node: ast.expr) -> str | None:
    """Return the counter type for a State bound that is never changed and fits into 32 bits."""
    if not (isinstance(node, ast.Attribute) and is_self(node.value)):
        return None
    field = function.checked.vertex.fields.get(node.attr)
    if field is None or field.writes or field.depth or node in function.facts.constants:
        return None
    if field.element in _SIGNED:
        return "int"
    return "unsigned" if field.element is UNSIGNED_INT else None
