"""A faster form of a vertex: a second method with the effect of `compute`, faster on this machine.

A class declares it with a decorator::

    class Total(Vertex):
        def compute(self) -> None: ...          the definition, which determines cycles

        @faster(bits="equal")
        def blocked(self) -> None: ...          compiled engines run this one instead
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import field
from types import FunctionType
from typing import Any, Literal, TypeVar

from poplite.errors import VertexDefinitionError
from poplite.frozen import frozen
from poplite.text import clipped, of_type
from poplite.vertex.fields import definition_error

Method = TypeVar("Method", bound=Callable[..., bool | None])

_MARK = "_poplite_faster"


@frozen
class Promise:
    """Facts about a faster form.

    Attributes:
        rtol: largest relative difference from the results of `compute`; 0 for equal bits.
        wide: numbers of the class with different values on processors with many long registers.
    """

    rtol: float
    wide: Mapping[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"rtol={self.rtol!r}" if self.rtol else 'bits="equal"'


def faster(
    *,
    bits: Literal["equal"] | None = None,
    rtol: float | None = None,
    wide: Mapping[str, int] | None = None,
) -> Callable[[Method], Method]:
    """Declare a method of a vertex class as a faster form of its `compute`.

    Compiled engines run it instead of `compute`, with the same fields and arguments. Everything
    else uses `compute`: cycles, memory of code, interpreted vertices, strict checks, errors. A
    subclass that overrides `compute`, or a method or number of its bases, does not inherit it.

    Args:
        bits: "equal" if no result differs in any bit, except for the bits of NaN.
        rtol: otherwise, the largest relative difference of results; such a form runs only in
            `Engine(..., faster="tolerant")`.
        wide: numbers of the class that have a different value in this form on processors with 32
            registers of 64 bytes (AVX-512), for instance the number of lanes.

    Raises:
        VertexDefinitionError: unless exactly one of `bits` and `rtol` is passed, and if it does not
            decorate a method.

    >>> from poplite.vertex.vertex import InOut, Vertex
    >>> from poplite.types import FLOAT
    >>> class Half(Vertex):
    ...     x: InOut[FLOAT]
    ...     def compute(self) -> None:
    ...         self.x = self.x / 2.0
    ...     @faster(bits="equal")
    ...     def multiplied(self) -> None:
    ...         self.x = self.x * 0.5
    """
    promise = _promise(bits, rtol, {} if wide is None else wide)

    def mark(method: Method) -> Method:
        is_method = isinstance(method, FunctionType) and "." in method.__qualname__
        if not is_method or method.__qualname__.endswith("<locals>." + method.__name__):
            raise VertexDefinitionError(
                f"faster: {clipped(method)} is not a method of a vertex class",
                fix="decorate a method: "
                f"class V(pl.Vertex): ... @pl.faster({promise}) def blocked(self) -> None: ...",
            )
        setattr(method, _MARK, promise)
        return method

    return mark


def _promise(bits: object, rtol: object, wide: object) -> Promise:
    fix = 'pl.faster(bits="equal"), or pl.faster(rtol=1e-6)'
    if (bits is None) == (rtol is None):
        passed = "neither bits nor rtol is" if bits is None else "both bits and rtol are"
        raise VertexDefinitionError(f"faster: {passed} passed", fix=fix)
    if bits is not None and not (isinstance(bits, str) and bits == "equal"):
        what = f'faster: bits={clipped(bits)}, but it must be "equal"'
        raise VertexDefinitionError(what, fix=fix)
    is_number = isinstance(rtol, int | float) and not isinstance(rtol, bool)
    if rtol is not None and not (is_number and 0 < rtol <= sys.float_info.max):  # type: ignore[operator]
        what = f"faster: rtol={clipped(rtol)} is not a number above 0"
        raise VertexDefinitionError(what, fix=fix)
    if not isinstance(wide, Mapping):
        what = f"faster: wide={clipped(wide)} is not a dictionary of numbers of the class"
        raise VertexDefinitionError(what, fix='wide={"LANES": 32}')
    for each in wide:
        if not isinstance(each, str):
            raise VertexDefinitionError(
                f"faster: wide has the key {clipped(each)}, not a name",
                found=f"{of_type(each)}; keys are names of numbers of the class",
                fix='wide={"LANES": 32}',
            )
    return Promise(0.0 if rtol is None else float(rtol), dict(wide))  # type: ignore[arg-type]


def promise_of(method: object) -> Promise | None:
    """Return the promise of a method that is a faster form, or None for other methods."""
    if isinstance(method, staticmethod | classmethod):
        method = method.__func__
    found: Promise | None = vars(method).get(_MARK) if isinstance(method, FunctionType) else None
    return found


def faster_method(cls: type) -> FunctionType | None:
    """Return the faster form of a vertex class, its own or an inherited one."""
    for position, owner in enumerate(cls.__mro__):
        for method in _declared(owner).values():
            before = cls.__mro__[:position]
            changed = {each for base in before for each in vars(base) if _is_used(each)}
            return None if any(hasattr(owner, each) for each in changed) else method
    return None


_NOT_USED = frozenset(
    {"constraints", "cycles", "fields", "location", "memory_constraints", "type_variables"}
    | {"strided_rows", "_scattered", "_specialised"}
)
"""Attributes of vertex classes that `compute` cannot use."""


def _is_used(name: str) -> bool:
    """Return whether a class with such an attribute may compute different values from its base."""
    return name not in _NOT_USED and not name.startswith(("__", "@"))


def check_faster_methods(
    cls: type, arguments: tuple[str, ...], has_compute: Callable[[Any], bool]
) -> None:
    """Reject invalid faster forms of a class; a valid one has the `arguments` of compute.

    Raises `VertexDefinitionError`.
    """
    declared = _declared(cls)
    if len(declared) > 1:
        raise definition_error(
            cls,
            f"it has {len(declared)} faster forms: {', '.join(declared)}",
            "remove all except the fastest one",
        )
    for name, method in declared.items():
        parameters = ", ".join(arguments)
        fix = f"declare it like compute: def {name}({parameters}) -> None: ..."
        if not isinstance(method, FunctionType) or inspect.iscoroutinefunction(method):
            kind = "async" if isinstance(method, FunctionType) else type(method).__name__
            raise definition_error(cls, f"its faster form {name} is {kind}, not a method", fix)
        if name == "compute":
            what = "compute is the definition, so it cannot be a faster form"
            raise definition_error(cls, what, "write a second method, decorated with pl.faster")
        if tuple(inspect.signature(method).parameters) != arguments:
            found = f"its faster form {name}{inspect.signature(method)} has different arguments"
            raise definition_error(cls, f"{found} from compute", fix)
        promise = promise_of(method)
        assert promise is not None, "declared methods have one"
        for each, number in promise.wide.items():
            if type(getattr(cls, each, None)) is not int or type(number) is not int:
                what = f"its faster form {name} has wide={clipped({each: number})}"
                numbers = [key for key, known in vars(cls).items() if type(known) is int]
                which = ", ".join(numbers) or f"{each} = 16, say"
                raise definition_error(cls, what, f"use an int for an int of the class: {which}")
        if not has_compute(cls):
            what = f"it has the faster form {name}, but no compute"
            raise definition_error(cls, what, "define compute, which both must agree with")


def _declared(owner: type) -> dict[str, Any]:
    """Return the faster forms that a class itself declares, by name."""
    return {name: each for name, each in vars(owner).items() if promise_of(each) is not None}
