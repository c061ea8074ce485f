"""What the code of a vertex class depends on, as text that is equal when the code is.

Numba does not notice edits outside the function it caches, so everything that ends up in
machine code is part of the name: byte code, fields, the numbers that names in `compute` stand
for, and the same of all functions that it calls.  The dialect allows no other reference.
"""

from __future__ import annotations

from types import CodeType

from poplite.vertex.compute import check, compiled_form
from poplite.vertex.compute.typing.facts import Checked, in_order
from poplite.vertex.vertex import Vertex


def code_identity(cls: type[Vertex]) -> tuple[object, ...]:
    """Return a value whose `repr` is equal for classes that compile to the same code.

    Args:
        cls: the vertex class.

    Raises:
        VertexCompileError: when its `compute` is outside the dialect, or prints.
    """
    checked = check(cls)
    assert checked.function is cls.compute
    functions = list(checked.functions())
    return (
        cls.__module__,
        cls.__qualname__,
        tuple(str(field) for field in cls.fields.values()),
        *(_function(function, functions) for function in functions),
    )


def _function(checked: Checked, functions: list[Checked]) -> tuple[object, ...]:
    facts = checked.facts
    for node, name in facts.debugging.items():
        checked.scope.refuse(
            node,
            f"{name}(...) runs in the interpreted form only",
            "run it with Engine(..., interpret=True), or store the value in an Output field",
        )
    return (
        _code(compiled_form(checked).__code__),
        checked.function.__defaults__,
        tuple(map(str, checked.arguments)),
        in_order(facts.constants),
        in_order(facts.calls),
        [functions.index(callee) for callee in in_order(facts.helpers)],
    )


def _code(code: CodeType) -> tuple[object, ...]:
    constants = tuple(_code(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts)
    return code.co_code, constants, code.co_names, code.co_varnames
