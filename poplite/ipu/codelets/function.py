"""State that the writers of one function share: its facts, its variables, its lines so far.

The lines of a block are collected in `lines`; an expression that needs a temporary variable adds a
line before the line of its statement. Some calls to helpers have effects: they store, or may stop
the vertex. C++ does not specify the order in which the operands of `+` are evaluated, while Python
evaluates them from left to right. So the operands of an expression with such a call are stored in
temporary variables, one after the other.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Literal

from poplite.ipu.codelets.terms import NUMBERS, identifier, unused
from poplite.vertex.compute.arithmetic import Kind
from poplite.vertex.compute.helpers import Constants
from poplite.vertex.compute.typing.facts import Checked, ElementsValue, Facts, LanesOf, Mixed, Value

# -- variables, one for each kind in which a local is read -----------------------------------------
# A Python local has a kind at each place. In C++ it becomes one variable for each kind in which it
# is read, and an assignment sets all variables that are at least as wide::
#
#     t = 0.1                   t_double = 0.1;  t_float = 0.1f;
#     if flag: t = self.x[0]    if (flag) t_float = x[0];
#     self.y = t * 3            *y = t_float * 3.0f;
#
# Widening at the assignment gives the same value as widening where paths merge
# (`poplite.vertex.compute.typing.facts`), so no copies are needed where paths merge.
# A variable is declared in the innermost block that contains all its uses; a variable that only
# loops assign, and that is read only in their bodies, is declared in each loop.


ROW: Literal["row"] = "row"
"""The version of a local that is a row of a list: the row number."""

Version = Kind | LanesOf | Literal["row"]

_SUFFIXES = {
    Kind.BOOL: "bool",
    Kind.INT: "int",
    Kind.UINT: "unsigned",
    Kind.FLOAT: "double",
    Kind.F32: "float",
}

Place = tuple[tuple[int, int], ...]
"""The place of a statement: each enclosing block, with the index in it."""


def type_of(version: Version) -> str:
    """Return the C++ type of a variable.

    >>> type_of(Kind.F32), type_of(ROW)
    ('float', 'pl::Int')
    """
    if isinstance(version, LanesOf):
        return f"pl::Lanes<{NUMBERS[version.kind]}>"
    return NUMBERS[version] if isinstance(version, Kind) else "pl::Int"


def version_of(value: Value) -> Version | None:
    """Return the version for a value; None for a field, which needs no variable."""
    if isinstance(value, ElementsValue):
        return ROW if value.depth < value.field.depth else None
    assert not isinstance(value, Mixed)
    return value if isinstance(value, LanesOf) else value.kind


class Variables:
    """The variables of one function.

    Attributes:
        of_loops: locals that are declared by the loops that assign them.
    """

    def __init__(self, checked: Checked, taken: Sequence[str]) -> None:
        self._versions: dict[str, set[Version]] = {}
        self._names: dict[tuple[str, Version], str] = {}
        self._taken = {*taken}
        uses = _Uses(checked)
        parameters = checked.scope.parameters
        self.stored = uses.stored
        self._read = {*uses.versions}
        self.of_loops = frozenset(uses.of_loops) - {*parameters}
        self.declared: dict[tuple[int, int], list[str]] = {}
        for name, version in uses.versions:
            self._versions.setdefault(name, set()).add(version)
        for name, value in zip(parameters, checked.arguments, strict=True):
            passed = version_of(value)
            if passed is not None:
                self._versions.setdefault(name, set()).add(passed)
        for name, places in uses.places.items():
            if name in self._versions and name not in parameters and name not in self.of_loops:
                self.declared.setdefault(_innermost(places), []).append(name)
        for name in sorted(self._versions):
            for version in self.versions(name):
                self._name(name, version)

    @property
    def names(self) -> set[str]:
        """The C++ names of all variables."""
        return {*self._names.values()}

    def versions(self, name: str) -> list[Version]:
        """Return the versions of a local that are read, from narrow to wide."""
        return sorted(self._versions.get(name, ()), key=lambda each: (str(type(each)), str(each)))

    def at_least(self, name: str, kind: Kind) -> list[Kind]:
        """Return the kinds of a local that an assignment of `kind` sets, from narrow to wide."""
        kinds = (each for each in self._versions.get(name, ()) if isinstance(each, Kind))
        return sorted(each for each in kinds if each >= kind)

    def has(self, name: str, version: Version) -> bool:
        """Return whether a version of a local is read anywhere."""
        return version in self._versions.get(name, ())

    def name(self, name: str, version: Version) -> str:
        """Return the C++ name of a version of a local."""
        return self._names[name, version]

    def parameter(self, name: str, version: Version) -> str:
        """Return the C++ name of a parameter, commented out if it is never read."""
        own = self._names[name, version]
        return own if any(each == name for each, _ in self._read) else f"/* {own} */"

    def temporary(self, stem: str) -> str:
        """Return an unused name."""
        made = unused(stem, self._taken)
        self._taken.add(made)
        return made

    def _name(self, name: str, version: Version) -> None:
        own = identifier(name)
        if len(self._versions[name]) > 1:
            kind = _SUFFIXES[version] if isinstance(version, Kind) else "row"
            own += f"_{'lanes' if isinstance(version, LanesOf) else kind}"
        self._names[name, version] = self.temporary(own)


class _Uses:
    """The uses of a function's locals.

    Attributes:
        versions: the names that are read, with their versions.
        places: the places where each name is used.
        stored: names that are assigned by statements other than loops.
    """

    def __init__(self, checked: Checked) -> None:
        self._facts = checked.facts
        self.versions: list[tuple[str, Version]] = []
        self.places: dict[str, list[Place]] = {}
        self.stored: set[str] = set()
        self._loops: set[str] = set()
        self._elsewhere: set[str] = set()
        self._block(checked.text.tree.body, (), frozenset())

    @property
    def of_loops(self) -> set[str]:
        """Names that only loops assign, and that only their bodies read."""
        return self._loops - self._elsewhere - self.stored

    def _block(self, statements: Sequence[ast.stmt], path: Place, loops: frozenset[str]) -> None:
        for number, statement in enumerate(statements):
            here = (*path, (id(statements), number))
            if isinstance(statement, ast.If | ast.While):
                self._names(statement.test, here, loops)
                self._block(statement.body, here, loops)
                self._block(statement.orelse, here, loops)
            elif isinstance(statement, ast.For):
                self._names(statement.iter, here, loops)
                targets = {target.id for target in loop_targets(statement)}
                for name in targets:
                    self.places.setdefault(name, []).append((*here, (id(statement.body), -1)))
                    self._elsewhere |= {name} & loops
                self._loops |= targets
                self._block(statement.body, here, loops | targets)
                self._block(statement.orelse, here, loops)
            elif isinstance(statement, ast.Assert):
                self._names(statement.test, here, loops)
            elif not isinstance(statement, ast.Raise):  # codelets omit its text
                self._names(statement, here, loops)

    def _names(self, node: ast.AST, here: Place, loops: frozenset[str]) -> None:
        for each in ast.walk(node):
            if not isinstance(each, ast.Name):
                continue
            self.places.setdefault(each.id, []).append(here)
            if isinstance(each.ctx, ast.Store):
                self.stored.add(each.id)
            if each.id not in loops:
                self._elsewhere.add(each.id)
            self.versions += [(each.id, version) for version in self._read(each)]

    def _read(self, node: ast.Name) -> Iterator[Version]:
        facts = self._facts
        if node in facts.constants:
            return
        if node in facts.kinds:
            yield facts.kinds[node]
        elif node in facts.containers:
            version = version_of(facts.containers[node])
            if version is not None:
                yield version


def loop_targets(node: ast.For) -> list[ast.Name]:
    """Return the variables of a loop."""
    found = node.target.elts if isinstance(node.target, ast.Tuple) else [node.target]
    return [each for each in found if isinstance(each, ast.Name)]


def _innermost(places: Sequence[Place]) -> tuple[int, int]:
    """Return the innermost block around all places, and its first statement with one of them."""
    depth = 0
    while all(len(place) > depth for place in places):
        if len({place[depth][0] for place in places}) > 1:
            break
        depth += 1
    block = places[0][depth - 1][0]
    return block, min(place[depth - 1][1] for place in places)


# -- lines -----------------------------------------------------------------------------------------


INDENT = "  "


class CodeletFunction:
    """One function being written in C++.

    Args:
        stops_outside: whether an out-of-range index of a field stops the vertex.

    Attributes:
        names: the C++ names of all functions of the class.
        lines: the lines of the current block.
        counters: locals that are native C++ integers at this point.
        mathematics: functions of `math` that the class calls.
    """

    def __init__(
        self,
        checked: Checked,
        names: Mapping[Checked, str],
        mathematics: set[tuple[str, Kind]],
        *,
        stops_outside: bool,
    ) -> None:
        self._stops_outside = stops_outside
        self.checked, self.names, self.mathematics = checked, names, mathematics
        self.facts: Facts = checked.facts
        self.constants = Constants(checked.scope)
        members = {member(name) for name in checked.vertex.fields}
        self.variables = Variables(checked, [*names.values()])
        self._hidden = members & self.variables.names
        self.lines: list[str] = []
        self.counters: set[str] = set()

    def member(self, name: str) -> str:
        """Return the C++ text of a field."""
        own = member(name)
        return f"this->{own}" if own in self._hidden else own

    def element(self, owner: str, index: str) -> str:
        """Return the text of an element of a field, or of one of its rows."""
        return f"pl::at({owner}, {index})" if self._stops_outside else f"{owner}[{index}]"

    def add(self, line: str) -> None:
        """Add a line to the block."""
        self.lines.append(line)

    def block(self, write: Callable[[], None]) -> list[str]:
        """Return the lines of an inner block, indented."""
        outer, self.lines = self.lines, []
        write()
        inner, self.lines = self.lines, outer
        return [INDENT + line if line and line[0] != "#" else line for line in inner]

    def kept(self, type_name: str, code: str, stem: str = "kept") -> str:
        """Store a value in a new variable, and return its name."""
        name = self.variables.temporary(stem)
        self.add(f"const {type_name} {name} = {code};")
        return name

    def has_effect(self, node: ast.AST) -> bool:
        """Return whether an expression calls a helper that stores, or may stop the vertex."""
        return has_effect(self.checked, node)

    @contextmanager
    def counting(self, name: str) -> Iterator[None]:
        """Treat a local as a counter inside a loop."""
        self.counters.add(name)
        try:
            yield
        finally:
            self.counters.discard(name)


def member(name: str) -> str:
    """Return the C++ name of a field.

    >>> member("x"), member("float")
    ('x', 'float_')
    """
    return identifier(name)


# -- effects ---------------------------------------------------------------------------------------


def changes_something(checked: Checked) -> bool:
    """Return whether a function, or one that it calls, stores in fields or may stop."""
    return any(_stores(each) for each in checked.functions()) or checked.raises


def _stores(checked: Checked) -> bool:
    for node in ast.walk(checked.text.tree):
        if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store):
            return True
        is_call = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
        if is_call and node.value in checked.facts.lane_accesses:  # type: ignore[attr-defined]
            return True
    return False


def has_effect(checked: Checked, node: ast.AST) -> bool:
    """Return whether an expression of a function calls a helper with effects."""
    helpers = checked.facts.helpers
    return bool(helpers) and any(
        isinstance(each, ast.Call) and each in helpers and changes_something(helpers[each])
        for each in ast.walk(node)
    )
