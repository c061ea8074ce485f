"""What the code of a vertex class depends on, as text that is equal when the code is.

Numba does not notice edits outside the function it caches, so everything that ends up in
machine code is part of the name: byte code, fields, the numbers that names in `compute` stand
for, and the functions that it calls.  The dialect allows no other reference.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import CodeType
from typing import Any

from poplite.compute import check
from poplite.vertex import Vertex


def code_identity(cls: type[Vertex]) -> tuple[object, ...]:
    """Return a value whose `repr` is equal for classes that compile to the same code.

    Args:
        cls: the vertex class.

    Raises:
        VertexCompileError: when its `compute` is outside the dialect.
    """
    checked = check(cls)
    assert checked.text.function is cls.compute
    facts = checked.facts
    return (
        cls.__module__,
        cls.__qualname__,
        tuple(str(field) for field in cls.fields.values()),
        _code(checked.text.function.__code__),
        _in_order(facts.constants),
        _in_order(facts.calls),
    )


def _code(code: CodeType) -> tuple[object, ...]:
    constants = tuple(_code(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts)
    return code.co_code, constants, code.co_names, code.co_varnames


def _in_order(found: Mapping[Any, object]) -> list[object]:
    """What nodes stand for, in the order of the text."""
    nodes = sorted(found, key=lambda node: (node.lineno, node.col_offset))
    return [found[node] for node in nodes]
