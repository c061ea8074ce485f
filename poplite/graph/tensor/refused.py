"""Operations that a tensor refuses, since it holds no values.

    t[0] = 1        graph.set_initial_value(t, value), engine.write(t, value) or Copy
    bool(t)         a tensor has no truth value

The error of each says what to do instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn, TypeVar

from poplite.errors import ElementTypeError, PopliteError
from poplite.expr.operand import Operand
from poplite.expr.tree import stored_first
from poplite.graph.tensor.indexing import NamedView, described
from poplite.text import clipped

T = TypeVar("T")

_COMPUTE = "functions of poplite.ops compute, as ops.sqrt(t) does; or engine.read(t) after a run"
_REFUSED = {
    "divmod rdivmod": ("divmod of a tensor", "t // u and t % u are expressions"),
    "pos": ("unary '+' of a tensor", "the tensor as it is"),
    "round": ("round of a tensor", "ops.round(t) is an expression"),
    "contains": ("'in' a tensor", "ops.any(ops.equal(t, value)) is an expression"),
    "float": ("a tensor is no float", _COMPUTE),
    "int": ("a tensor is no int", _COMPUTE),
    "complex": ("a tensor is no complex number", _COMPUTE),
    "index": ("a tensor is no whole number", _COMPUTE),
}
_ASSIGN = "graph.set_initial_value(t, value), engine.write(t, value), or Copy(source, t)"


def refuse_operators(tensor_class: type[T]) -> type[T]:
    """Add operators and conversions that raise an error to a class.

    They are not written in the class, so that a type checker refuses them without running anything.
    """
    for names, (what, fix) in _REFUSED.items():
        for name in names.split():
            setattr(tensor_class, f"__{name}__", _refused(what, fix))
    for name in ("setitem", "delitem"):
        refused = _refused("elements of a tensor are not set", _ASSIGN)
        setattr(tensor_class, f"__{name}__", refused)
    return tensor_class


def _refused(what: str, fix: str) -> Callable[..., NoReturn]:
    def method(self: NamedView, *_: object) -> NoReturn:
        raise no_values(what, self, fix)

    return method


def no_values(
    what: str,
    tensor: NamedView,
    fix: str = "engine.read(t) returns the values after a run; t.num_elements counts them",
) -> PopliteError:
    """Return the error for an operation that needs the values of a tensor."""
    return ElementTypeError(
        f"{what}: it holds no values while a graph is built", found=described(tensor), fix=fix
    )


def no_length(tensor: NamedView) -> PopliteError:
    """Return the error for the length of a tensor of rank 0."""
    return ElementTypeError(
        "a tensor of rank 0 has no length",
        found=described(tensor),
        fix="t.num_elements is 1; t.reshape((1,)) has length 1",
    )


def no_tensor(what: str, value: object, fix: str = "") -> PopliteError:
    """Return the error for a value where a call, `what`, needs a tensor."""
    kind = value._kind if isinstance(value, Operand) else type(value).__name__
    fix = fix or "graph.add_variable(...) and graph.add_constant(...) return tensors"
    if isinstance(value, list | tuple) and any(isinstance(each, Operand) for each in value):
        fix = "pl.stack([i, j]) makes one tensor of several, and pl.concat([a, b]) joins them"
    return ElementTypeError(
        f"{what}: {kind} is not a tensor",
        found=f"given {clipped(value, 80)}",
        fix=stored_first(value, fix),
    )
