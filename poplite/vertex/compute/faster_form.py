"""The faster form of a vertex class, as a vertex class of its own that no graph knows.

Its `compute` is the faster method of the class, from which it derives, so that whatever is made
from what a class computes can be made from it: its text is checked, typed and lowered alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import FunctionType, MappingProxyType, new_class
from typing import Any

from poplite.errors import VertexDefinitionError
from poplite.source import SourceLocation
from poplite.vertex.compute.identity import check
from poplite.vertex.faster import faster_method, promise_of
from poplite.vertex.vertex import Vertex

_KNOWN = "@faster"  # no identifier, so no name of the user's can hide it


@dataclass(frozen=True, slots=True, eq=False)
class FasterForm:
    """The faster form of a vertex class.

    Attributes:
        vertex: the class whose `compute` it is.
        method: the method.
        rtol: largest relative difference of results; 0 where their bits are equal.
    """

    vertex: type[Vertex]
    method: FunctionType
    rtol: float

    def __str__(self) -> str:
        return f"{self.vertex.__name__}.{self.method.__name__}"

    @property
    def location(self) -> SourceLocation:
        """Where the method was defined."""
        code = self.method.__code__
        return SourceLocation(code.co_filename, code.co_firstlineno, code.co_name)


def faster_form(cls: type[Vertex]) -> FasterForm | None:
    """Return the faster form of a vertex class; None where it has none.

    Raises `VertexCompileError` where it is outside the dialect, and `VertexDefinitionError` where
    it cannot do what `compute` does: return the same, and stop for the same reasons.

    >>> from poplite.vertices import Add
    >>> from poplite.types import FLOAT
    >>> faster_form(Add[FLOAT]) is None
    True
    """
    method = faster_method(cls)
    if method is None:
        return None
    form: FasterForm | None = vars(cls).get(_KNOWN)
    if form is None or form.method is not method:
        promise = promise_of(method)
        assert promise is not None, "faster methods have one"
        wide = promise.wide if promise.wide and has_long_registers() else {}
        form = FasterForm(_class_of(cls, method, wide), method, promise.rtol)
        setattr(cls, _KNOWN, form)
    _refuse_other_ends(cls, form)
    return form


def has_long_registers() -> bool:
    """Return whether the processor has 32 registers of 64 bytes."""
    from poplite.jit.native_code import host  # which imports llvmlite

    return "+avx512vl" in host().features.split(",")


def _class_of(cls: type[Vertex], method: FunctionType, numbers: Mapping[str, int]) -> type[Vertex]:
    namespace: dict[str, Any] = {
        **numbers,
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
        "__doc__": cls.__doc__,
    }
    made: type[Vertex] = new_class(cls.__name__, (cls,), None, lambda body: body.update(namespace))
    made.location, made.compute = cls.location, method
    # It may read what it has written.
    made.fields = MappingProxyType(
        {
            name: replace(field, role="inout") if field.role == "output" else field
            for name, field in cls.fields.items()
        }
    )
    return made


def _refuse_other_ends(cls: type[Vertex], form: FasterForm) -> None:
    definition, faster = check(cls), check(form.vertex)
    what, fix = "", ""
    if (definition.result is None) != (faster.result is None):
        returns = ["nothing" if each.result is None else "a bool" for each in (faster, definition)]
        what = f"it returns {returns[0]}, and compute {returns[1]}"
        fix = f"let {form.method.__name__} return what compute returns"
    elif faster.raises and not definition.raises:
        what = "it may raise an exception, and compute raises none"
        fix = f"leave raise and assert out of {form.method.__name__}"
    if what:
        raise VertexDefinitionError(f"faster form {form}: {what}", at=form.location, fix=fix)
