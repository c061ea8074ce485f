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

from poplite.compute.constants import Constant
from poplite.compute.dialect import Scope
from poplite.compute.kinds import Kind
from poplite.compute.source_text import SourceText
from poplite.compute.values import Number, Value
from poplite.vertex import Vertex

N = TypeVar("N", bound=ast.expr)
T = TypeVar("T")


@dataclass(slots=True)
class Facts:
    """What is known about the nodes of one function.

    Attributes:
        kinds: kind of every number expression.
        casts: expressions whose value is widened after it is computed.
        constants: names that stand for a number fixed at compile time.
        calls: calls by the function's name in `poplite.compute.arithmetic`.
        helpers: calls of the user's own functions.
        debugging: calls of `print` and `breakpoint`, by that name.
        exceptions: names of what is raised.
        raises: whether it may stop its vertex, by `raise` or `assert`.
    """

    kinds: dict[ast.expr, Kind] = field(default_factory=dict)
    casts: dict[ast.expr, Kind] = field(default_factory=dict)
    constants: dict[ast.expr, Constant] = field(default_factory=dict)
    calls: dict[ast.Call, str] = field(default_factory=dict)
    helpers: dict[ast.Call, Checked] = field(default_factory=dict)
    debugging: dict[ast.Call, str] = field(default_factory=dict)
    exceptions: dict[ast.expr, type[Exception]] = field(default_factory=dict)
    raises: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Checked:
    """A `compute`, or a function it calls, that keeps to the dialect.

    Attributes:
        scope: the function.
        arguments: what it is called with, `self` left out.
        facts: what is known about its text.
        result: the number that it returns; None for nothing.
    """

    scope: Scope
    arguments: tuple[Value, ...]
    facts: Facts
    result: Number | None

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
    """Return what nodes of one function stand for, in the order of the text.

    >>> node = ast.parse("a + b", mode="eval").body
    >>> in_order({node.right: "second", node.left: "first"})
    ['first', 'second']
    """
    nodes = sorted(found, key=lambda node: (node.lineno, node.col_offset))
    return [found[node] for node in nodes]
