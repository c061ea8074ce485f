"""What a vertex class computes, as data that is equal wherever the code is.

The text of `compute` and of all functions that it calls is compared as syntax trees, without line
numbers, comments, docstrings and annotations, so neither formatting nor the version of Python
counts.  Numbers outside the text that it names are listed with their values::

    TAPS = 9

    class Blur(Vertex):                      fields     x: Input[FLOAT], ...
        def compute(self) -> None:           compute    <digest of its tree>, TAPS 9
            self.y = weight(self.x) / TAPS   weight     <digest of its tree>
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from poplite.vertex.compute.interpreted.interpret import check
from poplite.vertex.compute.typing.facts import Checked, in_order
from poplite.vertex.vertex import Vertex

_SAYS_NOTHING = frozenset(
    {"annotation", "ctx", "decorator_list", "defaults", "kind", "returns", "type_comment"}
    | {"type_ignores", "type_params"}
)
"""Parts of a syntax tree that do not change what is computed; defaults count by their values."""


@dataclass(frozen=True, slots=True)
class FunctionCode:
    """A function that a vertex runs.

    Attributes:
        name: what it is called.
        digest: of its text.
        numbers: the numbers that its text names, by name.
    """

    name: str
    digest: str
    numbers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ClassCode:
    """What a vertex class computes.

    Attributes:
        arguments: the parameters of `compute`.
        fields: what it declares.
        functions: `compute`, and what it calls.
    """

    arguments: tuple[str, ...]
    fields: tuple[str, ...]
    functions: tuple[FunctionCode, ...]

    def differences(self, other: ClassCode) -> list[str]:
        """Return in what another class differs, in words.

        Args:
            other: what was there when this one was saved.
        """
        found = []
        if (self.arguments, self.fields) != (other.arguments, other.fields):
            found.append(_told("fields", self.fields, other.fields))
        mine, others = ([f.name for f in code.functions] for code in (self, other))
        if mine != others:
            return [*found, _told("functions", mine, others)]
        for function, saved in zip(self.functions, other.functions, strict=True):
            for name in sorted({*function.numbers, *saved.numbers}):
                numbers = [each.numbers.get(name, "not used") for each in (function, saved)]
                if numbers[0] != numbers[1]:
                    found.append(_told(f"'{name}' in {function.name}", numbers[:1], numbers[1:]))
            if function.digest != saved.digest:
                found.append(f"the text of {function.name} differs")
        return found


def _told(what: str, here: Any, saved: Any) -> str:
    return f"{what}: {', '.join(here) or 'none'}; saved with {', '.join(saved) or 'none'}"


def code_of(cls: type[Vertex]) -> ClassCode:
    """Return what a vertex class computes.

    Args:
        cls: the class; no template.

    Raises:
        VertexCompileError: when its `compute` has no text, or is outside the dialect.

    >>> from poplite.types import FLOAT
    >>> from poplite.vertices import Add
    >>> code_of(Add[FLOAT]).functions[0].name
    'compute'
    """
    functions: dict[object, Checked] = {}
    for checked in check(cls).functions():  # one is there once for each kinds of its arguments
        functions.setdefault(checked.function, checked)
    return ClassCode(
        cls._arguments,
        tuple(str(field) for field in cls.fields.values()),
        tuple(map(_function, functions.values())),
    )


def _function(checked: Checked) -> FunctionCode:
    facts = checked.facts
    text = repr(
        (
            _tree(checked.text.tree),
            [repr(default) for default in checked.function.__defaults__ or ()],
            in_order(facts.calls),
            [callee.function.__name__ for callee in in_order(facts.helpers)],
        )
    )
    return FunctionCode(
        checked.function.__name__,
        hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:32],
        dict(sorted((ast.unparse(node), repr(value)) for node, value in facts.constants.items())),
    )


def _tree(node: Any) -> Any:
    """Return a syntax tree as tuples and texts, without what says nothing."""
    if isinstance(node, list):
        return [_tree(each) for each in node]
    if isinstance(node, ast.Constant):
        return repr(node.value)
    if not isinstance(node, ast.AST):
        return repr(node)
    parts: list[Any] = [type(node).__name__]
    for name in node._fields:
        part = getattr(node, name, None)
        if name in _SAYS_NOTHING or part is None or part == []:
            continue
        if name == "body" and isinstance(node, ast.FunctionDef) and ast.get_docstring(node, False):
            part = part[1:]
        parts.append((name, _tree(part)))
    return parts
