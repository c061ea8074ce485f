"""What is known about a `compute` once it is typed, and about the functions it calls.

Each function is typed once for each kinds of its arguments, as Numba does, so a helper that
is called with an int and with a float32 appears twice::

    compute ──┬── clamp(a float32, a Python float)
              └── clamp(an int, an int) ──── larger(an int, an int)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import FunctionType
from typing import TypeVar

from poplite.vertex.compute.parse.constants import Constant
from poplite.vertex.compute.parse.dialect import Scope
from poplite.vertex.compute.parse.source_text import SourceText
from poplite.vertex.compute.typing.kinds import Kind
from poplite.vertex.compute.typing.values import ElementsValue, LanesOf, Result, Value
from poplite.vertex.vertex import Vertex

N = TypeVar("N", bound=ast.expr)
T = TypeVar("T")


@dataclass(slots=True, eq=False)
class Facts:
    """What is known about the nodes of one function.

    Attributes:
        kinds: the kind of every number expression.
        containers: what every other expression stands for: a vector, a list of them, or lanes.
        casts: expressions whose value is widened after it is computed.
        constants: names of numbers that are fixed at compile time.
        calls: calls of number functions, by the name in `poplite.vertex.compute.arithmetic`.
        helpers: calls of the user's own functions.
        lanes: the kind of every expression that makes lanes of numbers or other lanes.
        lane_accesses: calls that load or store lanes of a vector.
        mapped: the call for one lane that a call of `pl.lanes.map` stands for.
        folds: calls of methods that make a number of lanes, by name.
        debugging: calls of `print` and `breakpoint`, by that name.
        exceptions: the classes that are raised, by the node that names them.
        raises: whether it may stop its vertex, by `raise` or `assert`.
    """

    kinds: dict[ast.expr, Kind] = field(default_factory=dict)
    containers: dict[ast.expr, ElementsValue | LanesOf] = field(default_factory=dict)
    casts: dict[ast.expr, Kind] = field(default_factory=dict)
    constants: dict[ast.expr, Constant] = field(default_factory=dict)
    calls: dict[ast.Call, str] = field(default_factory=dict)
    helpers: dict[ast.Call, Checked] = field(default_factory=dict)
    lanes: dict[ast.expr | ast.AugAssign, Kind] = field(default_factory=dict)
    lane_accesses: set[ast.Call] = field(default_factory=set)
    mapped: dict[ast.Call, ast.Call] = field(default_factory=dict)
    folds: dict[ast.Call, str] = field(default_factory=dict)
    debugging: dict[ast.Call, str] = field(default_factory=dict)
    exceptions: dict[ast.expr, type[Exception]] = field(default_factory=dict)
    raises: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Checked:
    """A `compute`, or a function it calls, that keeps to the dialect.

    Attributes:
        arguments: those of the call, without `self`.
        result: the number that it returns, or the lanes, or None.
    """

    scope: Scope
    arguments: tuple[Value, ...]
    facts: Facts
    result: Result

    @property
    def vertex(self) -> type[Vertex]:
        """The vertex class."""
        return self.scope.vertex

    @property
    def text(self) -> SourceText:
        """The text of the function."""
        return self.scope.text

    @property
    def function(self) -> FunctionType:
        """The function itself."""
        return self.scope.text.function

    @property
    def raises(self) -> bool:
        """Whether the function, or one that it calls, may stop its vertex."""
        return any(checked.facts.raises for checked in self.functions())

    @property
    def shows(self) -> bool:
        """Whether the function, or one that it calls, prints or stops at a breakpoint."""
        return any(checked.facts.debugging for checked in self.functions())

    def functions(self) -> Iterator[Checked]:
        """Yield this function and all that it calls, each once, in the order of the text."""
        seen: dict[Checked, None] = {}
        waiting = [self]
        while waiting:
            checked = waiting.pop()
            if checked not in seen:
                seen[checked] = None
                waiting += reversed(in_order(checked.facts.helpers))
        yield from seen


def in_order(found: Mapping[N, T]) -> list[T]:
    """Return what is known of nodes of one function, in the order of the text.

    >>> node = ast.parse("a + b", mode="eval").body
    >>> in_order({node.right: "second", node.left: "first"})
    ['first', 'second']
    """
    nodes = sorted(found, key=lambda node: (node.lineno, node.col_offset))
    return [found[node] for node in nodes]
