"""The types of C++ fields as those of our fields, and names of types as Poplar writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from poplite.cpp.codelets import CodeletField
from poplite.types import (
    BOOL,
    CHAR,
    FLOAT,
    HALF,
    INT,
    LONGLONG,
    SHORT,
    SIGNED_CHAR,
    UNSIGNED_CHAR,
    UNSIGNED_INT,
    UNSIGNED_LONGLONG,
    UNSIGNED_SHORT,
    ElementType,
)
from poplite.vertex.fields import PLAIN, Layout, Role, VectorLayout, VectorListLayout

if TYPE_CHECKING:
    from clang.cindex import Cursor, Type


def library() -> Any:
    """Return the functions of libclang for which its Python classes have no method."""
    from clang.cindex import conf  # optional: the extra `cpp`

    return conf.lib


ELEMENTS: dict[str, type[ElementType[Any]]] = {
    "bool": BOOL,
    "char": CHAR,
    "signed char": SIGNED_CHAR,
    "unsigned char": UNSIGNED_CHAR,
    "short": SHORT,
    "unsigned short": UNSIGNED_SHORT,
    "int": INT,
    "unsigned int": UNSIGNED_INT,
    "long long": LONGLONG,
    "unsigned long long": UNSIGNED_LONGLONG,
    "float": FLOAT,
    "_Float16": HALF,
}
"""Element types by their names in C++."""

LONGS = {"long": INT, "unsigned long": UNSIGNED_INT}
"""Types that have 32 bits on a tile, but 64 here: plain members may have them, edges may not."""

ROLES: dict[str, Role] = {
    "poplar::Input": "input",
    "poplar::Output": "output",
    "poplar::InOut": "inout",
}

VECTOR, LIST = "poplar::Vector", "poplar::VectorList"


class Unsupported(Exception):
    """The reason why a member cannot be a field."""


def qualified(cursor: Cursor) -> str:
    """Return the name of a declaration with its namespaces and classes."""
    names = []
    while cursor is not None and cursor.kind.name != "TRANSLATION_UNIT":
        # A namespace without a name, or an inline one of the standard library, has no part.
        if cursor.spelling and "(anonymous" not in cursor.spelling:
            names.append(cursor.spelling)
        cursor = cursor.semantic_parent
    return "::".join(reversed(names))


# -- fields ----------------------------------------------------------------------------------------


def field_of(cursor: Cursor) -> CodeletField:
    """Return a field from its declaration in a class; raise `Unsupported` for other members."""
    role, element, depth, layout = _parts(cursor.type.get_canonical(), cursor.spelling)
    if cursor.is_bitfield():
        raise Unsupported(f"field '{cursor.spelling}' is a bit field")
    kind, align, interleaved = layout.vector.name, layout.min_align, layout.interleaved
    return CodeletField(cursor.spelling, role, element, depth, kind, align, interleaved)


def _parts(kind: Type, name: str) -> tuple[Role, type[ElementType[Any]], int, Layout]:
    """Return role, element, depth and layout of a type."""
    outer, inner = template(kind)
    if outer in ROLES:
        return ROLES[outer], *_edge(inner, name)
    if outer != VECTOR:
        return "state", _plain(kind, name), 0, PLAIN
    role_of_row, row = template(inner)
    if role_of_row in ROLES:
        element, depth, layout = _edge(row, name)
        if depth == 1:
            return ROLES[role_of_row], element, 2, layout
        raise Unsupported(f"field '{name}' is a list of scalars, {_written(kind)}")
    if role_of_row == VECTOR:
        raise Unsupported(f"field '{name}' is a list of vectors that are not connected")
    return "state", _element(inner, name), 1, _layout(kind)


def _edge(kind: Type, name: str) -> tuple[type[ElementType[Any]], int, Layout]:
    """Return element, depth and layout of what is inside of Input, Output or InOut."""
    outer, inner = template(kind)
    if outer == VECTOR:
        return _element(inner, name), 1, _layout(kind)
    if outer == LIST:
        return _element(inner, name), 2, _layout(kind)
    return _element(kind, name), 0, PLAIN


def template(kind: Type) -> tuple[str, Type]:
    """Return the name of a class and its first argument, which is the type if there is none."""
    declared = kind.get_declaration()
    if declared.get_num_template_arguments() > 0:
        return qualified(declared), declared.get_template_argument_type(0).get_canonical()
    return qualified(declared), kind


def _layout(kind: Type) -> Layout:
    """Return the layout of a vector; the alignment of its element is the default."""
    declared = kind.get_declaration()
    chosen, align, interleaved = (declared.get_template_argument_value(n) for n in (1, 2, 3))
    kinds = VectorListLayout if qualified(declared) == LIST else VectorLayout
    natural = declared.get_template_argument_type(0).get_align()
    return Layout(list(kinds)[chosen], 1 if align == natural else align, bool(interleaved))


def _element(kind: Type, name: str) -> type[ElementType[Any]]:
    found = ELEMENTS.get(bare(kind))
    if found is None:
        raise _unsupported(kind, name)
    return found


def _plain(kind: Type, name: str) -> type[ElementType[Any]]:
    """Return the element type of a member without a role."""
    declared = kind.get_declaration()
    if declared.kind.name == "ENUM_DECL":
        kind = declared.enum_type.get_canonical()
    found = ELEMENTS.get(bare(kind)) or LONGS.get(bare(kind))
    if found is None:
        raise _unsupported(kind, name)
    return found


def bare(kind: Type) -> str:
    """Return the name of a type without qualifiers."""
    return str(kind.spelling).replace("const ", "").replace("volatile ", "")


def _unsupported(kind: Type, name: str) -> Unsupported:
    written = _written(kind)
    if bare(kind) == "quarter":
        return Unsupported(f"field '{name}' is of quarter, whose metadata C++ codelets lack")
    if bare(kind) in LONGS:
        return Unsupported(f"field '{name}' is of {written}, which has other sizes on a tile")
    return Unsupported(f"field '{name}' has the type {written}, which no field can have")


def _written(kind: Type) -> str:
    """Return a type as users write it."""
    return str(kind.spelling).replace("_Float16", "half").replace(" *", "*")


# -- names of classes ------------------------------------------------------------------------------


def pattern_of(cursor: Cursor) -> Cursor:
    """Return the template whose instantiation a class is, or the class itself."""
    return library().clang_getSpecializedCursorTemplate(cursor) or cursor


def class_name(cursor: Cursor) -> str:
    """Return the name of a class as C++ text, with `half` as Poplar writes it.

    clang prints enumerators with varying qualification, so that the name is built from
    declarations.
    """
    count = max(0, cursor.get_num_template_arguments())
    arguments = [_argument(cursor, number) for number in range(count)]
    return qualified(cursor) + (f"<{','.join(arguments)}>" if arguments else "")


def _argument(cursor: Cursor, number: int) -> str:
    """Return an argument of the template of a class."""
    if cursor.get_template_argument_kind(number).name == "TYPE":
        return _type(cursor.get_template_argument_type(number).get_canonical())
    parameters = [c for c in pattern_of(cursor).get_children() if c.kind.name in PARAMETERS]
    value = cursor.get_template_argument_value(number)
    if number >= len(parameters):
        return str(value)
    declared = parameters[number].type.get_canonical()
    if declared.kind.name == "BOOL":
        return "true" if value else "false"
    if declared.kind.name in _UNSIGNED:
        return str(cursor.get_template_argument_unsigned_value(number))
    for each in declared.get_declaration().get_children():
        if each.kind.name == "ENUM_CONSTANT_DECL" and each.enum_value == value:
            return qualified(each)
    return str(value)


PARAMETERS = (
    "TEMPLATE_TYPE_PARAMETER",
    "TEMPLATE_NON_TYPE_PARAMETER",
    "TEMPLATE_TEMPLATE_PARAMETER",
)

_UNSIGNED = (
    *("UCHAR", "USHORT", "UINT"),
    *("ULONG", "ULONGLONG", "CHAR_U"),
)


def _type(kind: Type) -> str:
    """Return a type that is an argument."""
    declared = kind.get_declaration()
    if declared.kind.name == "NO_DECL_FOUND":
        return str(kind.spelling).replace("_Float16", "half")
    return class_name(declared)
