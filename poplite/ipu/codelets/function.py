"""What the writers of one function share: its facts, its variables, the lines written so far.

The lines of a block are collected in `lines`; an expression that needs a variable of its own adds a
line there, before the line of its statement.

Some calls of helpers do more than return a number: they store, or may stop the vertex.

C++ leaves open in which order the operands of `+` are evaluated; Python goes from left to right.
So what stands beside such a call is kept in variables of its own, one after the other.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from poplite.ipu.codelets.spelling import identifier
from poplite.ipu.codelets.variables import Variables
from poplite.vertex.compute.parse.constants import Constants
from poplite.vertex.compute.typing.facts import Checked, Facts
from poplite.vertex.compute.typing.kinds import Kind

INDENT = "  "


class CodeletFunction:
    """One function that is written in C++.

    Args:
        stops_outside: whether an index outside of a field stops the vertex.

    Attributes:
        names: the C++ names of all functions of the class.
        lines: those of the block that is written.
        counters: locals that are counters of C++'s own integers at this point.
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
        """Return an element of a field, or one of its rows."""
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
        """Keep a value in a variable of its own, and return its name."""
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
    """Return the name of a field in C++.

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
    """Return whether an expression of a function calls such a helper."""
    helpers = checked.facts.helpers
    return bool(helpers) and any(
        isinstance(each, ast.Call) and each in helpers and changes_something(helpers[each])
        for each in ast.walk(node)
    )
