"""What the functions of a C++ text do, as far as a vertex depends on it.

    bodies = Bodies()
    bodies.add(cursor, ...)         each function that the text declares or defines
    bodies.reached_from(usr)        a function, and all that it calls

A function is named by clang's USR. Calls that clang cannot resolve before a template is used are
followed by name. Nothing is executed, so a call that never happens counts as well.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from poplite.cpp.codelets import HEADERS, CppLine, Refusal
from poplite.cpp.field_types import library
from poplite.walks import top_down

if TYPE_CHECKING:
    from clang.cindex import Cursor, Type

ASSIGNMENTS = range(22, 33)
"""Kinds of assigning binary operators in libclang, from `=` to `|=`."""

COMPARISONS = (*range(11, 15), 16)
"""Kinds of `<`, `>`, `<=`, `>=` and `!=`."""

STEPS = range(1, 5)
"""Kinds of `++` and `--`."""

ADDRESS, CONTENT = 5, 6
"""Kinds of the unary operators `&` and `*`."""

_ASSIGNING = re.compile(r"operator(\+\+|--|(<<|>>|[-+*/%&|^])?=)")
_SUBSCRIPTS = "operator[]", "operator*", "operator->"
_LOOPS = "FOR_STMT", "WHILE_STMT", "DO_STMT", "GOTO_STMT", "INDIRECT_GOTO_STMT"
_CALLED = "CALL_EXPR", "DECL_REF_EXPR", "MEMBER_REF_EXPR"

# Comments and strings may contain words that are not code.
_NO_CODE = re.compile(rb"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"", re.DOTALL)
_ASSEMBLY = re.compile(rb"\b(?:asm|__asm__|__asm)\b\s*(?:volatile|__volatile__|goto|inline|\()")
_WORKERS = re.compile(rb"\b(?:runall|__runCodelet\w+|runOnAll\w*|RUN_ALL)\b")
_INSTRUCTION = re.compile(rb"\b__builtin_(?:ipu|colossus)_\w+")


@dataclass
class Store:
    """A store to a member of the own class, or to a variable.

    Attributes:
        is_subscripted: whether an element of the member is stored, not the member itself.
    """

    name: str
    is_member: bool
    is_subscripted: bool
    at: CppLine


@dataclass
class FunctionBody:
    """The body of a function.

    Attributes:
        span: where it begins and ends in its file, in bytes.
        refused: why it cannot run here.
        calls: the functions that it names, by their USR.
        unresolved: names of functions that it may call.
        may_not_end: whether it has a loop that is not counted.
    """

    usr: str
    parent: str
    name: str
    at: CppLine
    file: str
    span: tuple[int, int]
    refused: Refusal | None = None
    calls: set[str] = field(default_factory=set)
    unresolved: set[str] = field(default_factory=set)
    stores: list[Store] = field(default_factory=list)
    statics: list[CppLine] = field(default_factory=list)
    may_not_end: bool = False


class Bodies:
    """The functions that texts define, by USR."""

    def __init__(self) -> None:
        self.by_usr: dict[str, FunctionBody] = {}
        self.declared: set[str] = set()
        self._by_name: dict[str, list[FunctionBody]] = {}
        self._special: dict[str, list[str]] = {}  # of templates

    def add(self, cursor: Cursor, content: bytes, place: Callable[[Any], CppLine]) -> None:
        """Read a function in a file with the given content; `place` makes a place for it."""
        if not cursor.is_default_method() and not cursor.is_pure_virtual_method():
            self.declared.add(cursor.get_usr())
        block = next((c for c in cursor.get_children() if c.kind.name == "COMPOUND_STMT"), None)
        if block is None or cursor.get_usr() in self.by_usr:
            return
        parent = cursor.semantic_parent.get_usr() if cursor.semantic_parent else ""
        span = block.extent.start.offset, block.extent.end.offset
        at = place(cursor.location)
        found = FunctionBody(
            cursor.get_usr(), parent, cursor.spelling, at, str(block.location.file), span
        )
        self.by_usr[found.usr] = found
        self._by_name.setdefault(found.name, []).append(found)
        self._special.setdefault(usr_of(cursor), []).append(found.usr)
        text = content[span[0] : span[1]]
        found.refused = _refusal_of_text(found.name, text, place(block.location))
        _Reader(found, place).read(cursor)

    def reached_from(self, usrs: Iterable[str]) -> list[FunctionBody]:
        """Return the bodies of functions, and of all functions that they may call."""
        known = [each for usr in usrs for each in self._defined(usr)]
        return [self.by_usr[usr] for usr in top_down(known, self._called)]

    def _defined(self, usr: str) -> list[str]:
        """Return a function if it is defined, and the special forms of a template."""
        own = [usr] if usr in self.by_usr else []
        return list(dict.fromkeys([*own, *self._special.get(usr, ())]))

    def _called(self, usr: str) -> list[str]:
        body = self.by_usr[usr]
        named = [each.usr for name in body.unresolved for each in self._by_name.get(name, ())]
        return [*(d for each in sorted(body.calls) for d in self._defined(each)), *sorted(named)]

    def recurs(self, reached: Iterable[FunctionBody]) -> bool:
        """Return whether one of the functions may call itself, directly or indirectly."""
        return any(each.usr in top_down(self._called(each.usr), self._called) for each in reached)

    def needed(self, reached: Iterable[FunctionBody]) -> list[str]:
        """Return the functions that are called, but only declared here.

        Functions of C are left out, since the process may have them.
        """
        called = {usr for each in reached for usr in each.calls if "#" in usr}
        return sorted(usr for usr in called & self.declared if not self._defined(usr))

    def unusable(self) -> list[str]:
        """Return the functions that cannot run here, or call one that cannot."""
        return sorted(
            usr
            for usr in self.by_usr
            if any(each.refused is not None for each in self.reached_from([usr]))
        )

    def refused(self) -> Iterator[FunctionBody]:
        """Yield the functions that cannot run here."""
        return (each for each in self.by_usr.values() if each.refused)


@cache
def known_instructions() -> frozenset[bytes]:
    """Return the instructions that our headers define."""
    text = (HEADERS / "ipu_builtins.h").read_bytes()
    return frozenset(_INSTRUCTION.findall(text))


def _refusal_of_text(name: str, text: bytes, at: CppLine) -> Refusal | None:
    """Return why the text of a body cannot run here."""

    def line_of(match: re.Match[bytes]) -> CppLine:
        return CppLine(at.file, at.line + code[: match.start()].count(b"\n"))

    code = _NO_CODE.sub(lambda found: b"\n" * found[0].count(b"\n"), text)
    if found := _ASSEMBLY.search(code):
        return Refusal(f"{name}: it contains inline assembly", line_of(found))
    for found in _INSTRUCTION.finditer(code):
        if found[0] not in known_instructions():
            why = f"{name}: it calls the intrinsic {found[0].decode()}, which only a tile has"
            return Refusal(why, line_of(found))
    if found := _WORKERS.search(code):
        return Refusal(f"{name}: it starts workers", line_of(found))
    return None


class _Reader:
    """Reads the statements of one body."""

    def __init__(self, body: FunctionBody, place: Callable[[Any], CppLine]) -> None:
        self._body, self._place = body, place

    def read(self, cursor: Cursor) -> None:
        for each in cursor.walk_preorder():
            kind = each.kind.name
            if kind == "ASM_STMT" and self._body.refused is None:
                at = self._place(each.location)
                why = f"{self._body.name}: it contains inline assembly"
                self._body.refused = Refusal(why, at)
            elif kind in _LOOPS:
                self._body.may_not_end |= not _is_counted(each)
            elif kind == "VAR_DECL":
                self._read_variable(each)
            elif kind == "OVERLOADED_DECL_REF":
                self._read_overloads(each)
            elif kind in _CALLED:
                self._read_name(each)
            if target := assigned(each):
                self._store(target)

    def _read_variable(self, cursor: Cursor) -> None:
        if cursor.storage_class.name == "STATIC" and not is_constant(cursor.type):
            self._body.statics.append(self._place(cursor.location))
        if _may_be_written(cursor):
            for value in list(cursor.get_children())[-1:]:
                self._lend(value)

    def _read_overloads(self, cursor: Cursor) -> None:
        for number in range(library().clang_getNumOverloadedDecls(cursor)):
            self._body.calls.add(usr_of(library().clang_getOverloadedDecl(cursor, number)))

    def _read_name(self, cursor: Cursor) -> None:
        function = cursor.referenced
        if function is None:
            name = cursor.spelling or last_word(cursor)
            self._body.unresolved.add(name)
            return
        if function.kind.name in ("FUNCTION_DECL", "CXX_METHOD", "FUNCTION_TEMPLATE"):
            self._body.calls.add(usr_of(function))
        if cursor.kind.name == "CALL_EXPR":
            self._read_arguments(cursor, function)

    def _read_arguments(self, call: Cursor, function: Cursor) -> None:
        """Count members that are passed by a reference that is not const as assigned."""
        for given, taken in zip(call.get_arguments(), function.get_arguments(), strict=False):
            if given is not None and taken is not None and _may_be_written(taken):
                self._lend(given)

    def _lend(self, target: Cursor) -> None:
        """Count a member to which a reference is made as assigned; elements are not followed."""
        found = root(target)
        if found is not None and not found[2]:
            self._store(target)

    def _store(self, target: Cursor) -> None:
        if (found := root(target)) is not None:
            self._body.stores.append(Store(*found, self._place(target.location)))


def _may_be_written(reference: Cursor) -> bool:
    """Return whether a variable is a reference that is not const."""
    kind = reference.type  # cindex has no name for the kind of half
    is_reference = kind.spelling.endswith("&") and not kind.spelling.endswith("&&")
    return is_reference and not kind.get_pointee().is_const_qualified()


def is_constant(kind: Type) -> bool:
    """Return whether a type is const, or an array of such a type."""
    element = kind.get_array_element_type()
    return bool(kind.is_const_qualified()) or (bool(element.spelling) and is_constant(element))


def usr_of(function: Cursor) -> str:
    """Return the USR of a function; that of its template if it was made from one."""
    template = library().clang_getSpecializedCursorTemplate(function)
    return str((template or function).get_usr())


def last_word(cursor: Cursor) -> str:
    """Return the last word of an expression, which names a member that is not resolved."""
    words = [token.spelling for token in cursor.get_tokens()]
    return words[-1] if words else ""


def assigned(cursor: Cursor) -> Cursor | None:
    """Return the target of an assignment, of a step, or of an operator that takes an address."""
    kind = cursor.kind.name
    if kind in ("BINARY_OPERATOR", "COMPOUND_ASSIGNMENT_OPERATOR"):
        changes = library().clang_getCursorBinaryOperatorKind(cursor) in ASSIGNMENTS
    elif kind == "UNARY_OPERATOR":
        operator = library().clang_getCursorUnaryOperatorKind(cursor)
        changes = operator in STEPS or (operator == ADDRESS and _is_whole(cursor))
    else:
        changes = kind == "CALL_EXPR" and bool(_ASSIGNING.fullmatch(cursor.spelling))
    return next(cursor.get_children(), None) if changes else None


def _is_whole(address: Cursor) -> bool:
    """Return whether the address of a member itself is taken, not that of an element."""
    found = root(next(address.get_children()))
    return found is not None and not found[2]


def root(cursor: Cursor) -> tuple[str, bool, bool] | None:
    """Return the member or variable behind an expression, and whether subscripts lead to it.

    It is a name, whether it is a member of the own class, and whether an element of it is meant.
    """
    is_subscripted = False
    while True:
        inner = next(cursor.get_children(), None)
        kind = cursor.kind.name
        if kind == "DECL_REF_EXPR":
            return cursor.spelling, False, is_subscripted
        if kind == "MEMBER_REF_EXPR" and (inner is None or not inner.kind.is_expression()):
            return cursor.spelling, True, is_subscripted
        if inner is None:
            return None
        if kind == "MEMBER_REF_EXPR" and inner.kind.name == "CXX_THIS_EXPR":
            return cursor.spelling or last_word(cursor), True, is_subscripted
        if kind == "ARRAY_SUBSCRIPT_EXPR" or _is_content(cursor):
            is_subscripted = True
        elif kind not in ("UNEXPOSED_EXPR", "PAREN_EXPR", "MEMBER_REF_EXPR"):
            return None
        cursor = inner


def bare(expression: Cursor) -> Cursor:
    """Return an expression without parentheses and implicit conversions."""
    while expression.kind.name in ("UNEXPOSED_EXPR", "PAREN_EXPR"):
        inner = next(expression.get_children(), None)
        if inner is None:
            break
        expression = inner
    return expression


def _is_content(cursor: Cursor) -> bool:
    if cursor.kind.name == "UNARY_OPERATOR":
        return bool(library().clang_getCursorUnaryOperatorKind(cursor) == CONTENT)
    return cursor.kind.name == "CALL_EXPR" and cursor.spelling in _SUBSCRIPTS


def _is_counted(loop: Cursor) -> bool:
    """Return whether a loop is `for (...; i < n; i += k)`, and its body changes neither i nor n."""
    parts = list(loop.get_children())
    if loop.kind.name != "FOR_STMT" or len(parts) != 4:
        return False
    condition, step, body = bare(parts[1]), bare(parts[2]), parts[3]
    compares = condition.kind.name == "CALL_EXPR" or (
        library().clang_getCursorBinaryOperatorKind(condition) in COMPARISONS
    )
    if not compares or assigned(step) is None:
        return False
    compared = {each.spelling for each in condition.walk_preorder() if each.kind.name in _CALLED}
    targets = filter(None, map(assigned, body.walk_preorder()))
    changed = {found[0] for found in map(root, targets) if found and not found[2]}
    return not compared & changed
