"""Loops over a `range` whose counter is one of C++'s own integers.

    for i in range(len(self.x))                   for (unsigned i = 0; i < x.size(); ++i)
    for i in range(worker, len(self.x), 6)        for (unsigned i = worker; i < x.size(); i += 6)
    for i in range(self.n)    (n State[INT])      for (int i = 0; i < n; ++i)

So it is where nothing but the loop assigns the variable, nothing behind the loop reads it, and
neither it nor its bounds can leave 32 bits.
"""

from __future__ import annotations

import ast
from typing import NamedTuple

from poplite.ipu.codelets.function import CodeletFunction
from poplite.ipu.codelets.terms import Term
from poplite.types import INT, SHORT, SIGNED_CHAR, UNSIGNED_CHAR, UNSIGNED_INT, UNSIGNED_SHORT
from poplite.vertex.compute.parse.dialect import is_num_workers, is_self
from poplite.vertex.compute.typing.kinds import Kind

_SIGNED = {
    INT: "int",
    SHORT: "int",
    SIGNED_CHAR: "int",
    UNSIGNED_SHORT: "int",
    UNSIGNED_CHAR: "int",
}
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
    """Return the counter of a loop over a range; None where only 64 bits are enough."""
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
    """Return the type of a counter up to a number that no vertex changes and 32 bits hold."""
    if not (isinstance(node, ast.Attribute) and is_self(node.value)):
        return None
    field = function.checked.vertex.fields.get(node.attr)
    if field is None or field.writes or field.depth or node in function.facts.constants:
        return None
    return "unsigned" if field.element is UNSIGNED_INT else _SIGNED.get(field.element)
