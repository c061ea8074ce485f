"""The vertex classes of a graph's file: what it says of them, and which classes are meant.

A file names a class by its module and its name there, a template with its element types, and lists
the fields that it declares and what its code is.  It is looked up among the classes that the user
gives, then among those that are defined already in that module, then among those of
`poplite.vertices`; nothing that a file names is ever imported.  A function may have made several
classes of one name, so the one with the same code is meant.  Where none has, a class without code
takes its place (`poplite.vertex.from_source`).  Of `poplite.vertices` the name is enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from poplite.codec.loading import Malformed
from poplite.errors import FileLoadError, VertexCompileError, VertexDefinitionError
from poplite.executable.file.vertex_classes import (
    LIBRARY,
    VertexSource,
    classes_of_user,
    defined_classes,
    library_classes,
    local_name,
    template_of,
)
from poplite.frozen import frozen
from poplite.ops.fuse.classes import class_of, recipe_of
from poplite.ops.fuse.recipe import MapRecipe, ReductionRecipe, SumRecipe, fault_of
from poplite.types import ElementType
from poplite.vertex.compute import ClassCode, code_of
from poplite.vertex.compute.identity import cycles_code
from poplite.vertex.fields import PLAIN, Field, Layout, Role
from poplite.vertex.from_source import saved_code, stand_in, why_missing
from poplite.vertex.templates import specialise
from poplite.vertex.vertex import MultiVertex, Vertex


@frozen(eq=False)
class DeclaredField:
    """A field as a class declares it."""

    name: str
    role: Role
    element: type[ElementType[Any]]
    depth: int
    layout: Layout = PLAIN


@frozen(eq=False)
class DeclaredClass:
    """A vertex class as a file names it.

    Attributes:
        module: where it is defined.
        name: within its module, or within the function that defines it.
        elements: element types of a template.
        fields: what it declares.
        is_multi: whether all workers run it.
        recipe: what it was generated from; None for a class that somebody wrote.
        code: what `compute` and `cycles` of such a class do; None where it cannot be compiled.
    """

    module: str
    name: str
    elements: tuple[type[ElementType[Any]], ...]
    fields: tuple[DeclaredField, ...]
    is_multi: bool = False
    recipe: MapRecipe | ReductionRecipe | SumRecipe | None = None
    code: ClassCode | None = None

    @property
    def full_name(self) -> str:
        """Its name with its element types."""
        return self.name + (f"[{', '.join(map(repr, self.elements))}]" if self.elements else "")

    @property
    def declaration(self) -> tuple[object, ...]:
        """A key that two classes share if vertices can have either of them."""
        fields = tuple((f.name, f.role, f.element, f.depth, f.layout) for f in self.fields)
        return fields, self.is_multi, self.elements

    def is_of_library_as(self, other: DeclaredClass) -> bool:
        """Return whether both are of one module of `poplite.vertices`, where names are unique."""
        return self.module == other.module and self.module.startswith(f"{LIBRARY}.")


def declared_class(cls: type[Vertex]) -> DeclaredClass:
    """Return how a file names a class; refuse a template whose types are open.

    >>> from poplite.types import HALF
    >>> from poplite.vertices.elementwise import Add
    >>> declared_class(Add[HALF]).full_name
    'Add[HALF]'
    """
    if cls.type_variables:
        variables = ", ".join(str(each) for each in cls.type_variables)
        raise FileLoadError(
            f"a graph with a vertex of template '{cls.__name__}' cannot be saved yet",
            at=cls.location,
            found=f"nothing says which types {variables} are",
            fix="connect the fields that decide it, or save a graph without the vertex",
        )
    template, elements = template_of(cls)
    fields = tuple(
        DeclaredField(each.name, each.role, each.element, each.depth, each.layout)
        for each in cls.fields.values()
        if not each.is_implicit
    )
    is_multi = issubclass(cls, MultiVertex)
    name, recipe = local_name(template), recipe_of(cls)
    code = None if recipe is not None else _code_of(cls)
    return DeclaredClass(template.__module__, name, elements, fields, is_multi, recipe, code)


def _code_of(cls: type[Vertex]) -> ClassCode | None:
    if why_missing(cls) is not None:
        code: ClassCode | None = saved_code(cls)
        return code
    try:
        code = code_of(cls)
    except VertexCompileError:
        return None
    return replace(code, functions=(*code.functions, *cycles_code(cls)))


def known_classes(
    declared: Sequence[DeclaredClass], sources: Iterable[VertexSource]
) -> list[type[Vertex]]:
    """Return the classes that a file names, or replacements of missing ones."""
    given = list(classes_of_user(sources, "Graph.load"))
    defined = list(dict.fromkeys(defined_classes(Vertex)))
    found = []
    for each in declared:
        cls, why = _first_alike(each, _candidates(each, given, defined))
        found.append(cls or _stand_in(each, why))
    return found


def _candidates(
    declared: DeclaredClass, given: Iterable[type[Vertex]], defined: Iterable[type[Vertex]]
) -> Iterator[type[Vertex]]:
    if declared.recipe is not None:
        fault = fault_of(declared.recipe)
        if fault is not None:
            raise Malformed(f"vertex class {declared.full_name}: {fault}")
        yield class_of(declared.recipe)
    yield from (cls for cls in given if local_name(cls) == declared.name)
    for cls in defined:
        if local_name(cls) == declared.name and cls.__module__ == declared.module:
            yield cls
    if declared.module.startswith(f"{LIBRARY}."):
        yield from (cls for cls in library_classes() if local_name(cls) == declared.name)


def _first_alike(
    declared: DeclaredClass, candidates: Iterable[type[Vertex]]
) -> tuple[type[Vertex] | None, str]:
    """Return the first class that declares the same and has the same code; else why none has."""
    why = "no class of that name was given or imported when its graph was loaded"
    others: list[tuple[type[Vertex], ClassCode | None]] = []
    for candidate in candidates:
        try:
            is_template = bool(candidate.type_variables and declared.elements)
            cls = specialise(candidate, declared.elements) if is_template else candidate
            own = None if cls.type_variables else declared_class(cls)
        except VertexDefinitionError as error:
            why = error.what
            continue
        if own is None or own.declaration != declared.declaration:
            why = f"{cls.__name__} ({cls.location}) declares other fields"
        elif own.code == declared.code or own.is_of_library_as(declared):
            return cls, ""
        else:
            others.append((cls, own.code))
    return _of_others(declared, others) if others else (None, why)


def _of_others(
    declared: DeclaredClass, others: Sequence[tuple[type[Vertex], ClassCode | None]]
) -> tuple[type[Vertex] | None, str]:
    """Return the class that a file without code means, or why none of other code is meant."""
    cls, code = others[0]
    if declared.code is not None:
        difference = "it cannot be compiled"
        if code is not None:
            difference = code.differences(declared.code)[0]
        return None, (
            f"{cls.__name__} ({cls.location}) has other code than when the graph was saved, "
            f"{difference}"
        )
    if all(own == code for _, own in others):
        return cls, ""
    differing = next(other for other, own in others if own != code)
    return None, (
        f"{cls.__name__} ({cls.location}) and another one ({differing.location}) have that name, "
        "and the file does not say which"
    )


def _stand_in(declared: DeclaredClass, why: str) -> type[Vertex]:
    deepest = max((each.depth for each in declared.fields), default=0)
    if not 0 <= deepest <= 2:
        raise Malformed(f"vertex class {declared.full_name}: a field nests {deepest:,} vectors")
    fields = [Field(f.name, f.role, f.element, f.depth, layout=f.layout) for f in declared.fields]
    try:
        return stand_in(
            declared.full_name,
            declared.module,
            fields,
            is_multi=declared.is_multi,
            why=why,
            code=declared.code,
        )
    except VertexDefinitionError as error:
        raise Malformed(error.what) from None
