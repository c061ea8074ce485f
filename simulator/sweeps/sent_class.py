"""A vertex class of a script, as it goes to other processes: its statement, run there again.

    class Scale(pl.Vertex):                the text that the file has, found by its line
        x: pl.Input[pl.FLOAT]              names of the statement: `pl`
        def compute(self) -> None:
            self.y = FACTOR * self.x       names of its functions: `FACTOR`, with its value now

So the class has its lines there, is checked as here, and finds the same code in the cache.  The
names go in two parts, as functions may name what names the class.
"""

from __future__ import annotations

import ast
import builtins
import dis
import linecache
import sys
from collections.abc import Iterator
from types import CellType, CodeType, FunctionType
from typing import Any

from poplite.errors import ControlProgramError
from poplite.vertex.compute.parse.source_text import nested, why_no_text
from poplite.vertex.vertex import Vertex

_LOADS = frozenset({"LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS"})
_GIVEN = frozenset(
    {"__name__", "__module__", "__qualname__", "__class__", "__annotations__"}
    | {".type_params", ".generic_base"}
)
"""Names that a class statement has by itself."""

_SCALARS = (bool, int, float, complex, str, bytes, type(None))


def reduced(cls: type[Vertex]) -> tuple[object, ...]:
    """Return what `pickle` makes a class of that cannot be imported.

    Raises `ControlProgramError` where its statement has no text, or names what only a function
    around it knew.
    """
    file = cls.location.file
    own = {name: each for name, each in vars(cls).items() if isinstance(each, FunctionType)}
    here = {name: each for name, each in own.items() if each.__code__.co_filename == file}
    linecache.checkcache(file)
    statement = _statement(file, cls.__name__, cls.location.line)
    if statement is None:
        if here:
            raise _refusal(cls, *why_no_text(next(iter(here.values()))))
        raise _refusal(cls, f"it is not in the text of '{file}'", "put it into a module")
    node, code, parts = statement
    last = node.end_lineno or node.lineno
    given = dict(own)  # to the class, behind its statement, or by a decorator
    for name, function in here.items():
        if node.lineno <= function.__code__.co_firstlineno <= last:
            if function.__code__ not in parts:
                raise _refusal(cls, *why_no_text(function))
            del given[name]
    known = dict(vars(sys.modules[cls.__module__])) if cls.__module__ in sys.modules else {}
    for function in here.values():
        known |= function.__globals__ | dict(_closed_over(function))
    known = {name: value for name, value in known.items() if value is not cls}
    outer, inner = _names(node, code)
    for name in sorted(outer - set(known) - set(dir(builtins)) - {cls.__name__}):
        raise _refusal(
            cls,
            f"it names '{name}' of the function around it",
            "put it at the top of the script, or into a module",
        )
    namespace = {name: known[name] for name in sorted(outer & set(known))}
    namespace["__name__"] = cls.__module__
    later = {name: known[name] for name in sorted(inner & set(known) - set(namespace))}
    place = file, cls.__name__, cls.location.line, cls.__qualname__
    state = namespace, later, given, _values(cls)
    return _made, (*place, namespace), state, None, None, _complete


def _refusal(cls: type[Vertex], found: str, fix: str) -> ControlProgramError:
    return ControlProgramError(
        f"sweep: vertex class '{cls.__name__}' of the script cannot be sent to workers",
        found=f"class {cls.__name__} ({cls.location}): {found}",
        fix=f"{fix}; workers=1 runs all here",
    )


def _statement(
    file: str, name: str, line: int
) -> tuple[ast.ClassDef, CodeType, list[CodeType]] | None:
    """Return a class statement, its code with the future of its file, and all code in the file."""
    try:
        module = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return None
    for node in ast.walk(module):
        if isinstance(node, ast.ClassDef) and node.name == name:
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            if first <= line <= node.lineno:
                future = [
                    each
                    for each in module.body
                    if isinstance(each, ast.ImportFrom) and each.module == "__future__"
                ]
                whole, alone = (
                    compile(each, file, "exec", dont_inherit=True)
                    for each in (module, ast.Module([*future, node], []))
                )
                return node, alone, nested(whole)
    return None


def _closed_over(function: FunctionType) -> Iterator[tuple[str, object]]:
    names = function.__code__.co_freevars
    for name, cell in zip(names, function.__closure__ or (), strict=True):
        if name != "__class__" and cell != CellType():
            yield name, cell.cell_contents


def _names(node: ast.ClassDef, code: CodeType) -> tuple[set[str], set[str]]:
    """Return the names that a statement needs of its module at once, and its functions later."""
    outer, inner = set(_annotated(node)), set[str]()
    own: set[str] = set()
    for each in (code, *nested(code)):
        is_outer = each is code or each.co_name == node.name or each.co_name.startswith("<generic")
        for step in dis.get_instructions(each):
            if step.opname in _LOADS:
                (outer if is_outer else inner).add(step.argval)
            elif is_outer and step.opname == "STORE_NAME":
                own.add(step.argval)
    return outer - own - _GIVEN, inner - _GIVEN


def _annotated(node: ast.AST) -> Iterator[str]:
    """Yield the names in the annotations of fields, also of those that are texts."""
    for each in ast.walk(node):
        if isinstance(each, ast.AnnAssign):
            yield from _named(each.annotation)


def _named(annotation: ast.AST) -> Iterator[str]:
    for each in ast.walk(annotation):
        if isinstance(each, ast.Name):
            yield each.id
        elif isinstance(each, ast.Constant) and isinstance(each.value, str):
            try:
                inner = ast.parse(each.value, mode="eval")
            except SyntaxError:  # a text of `Literal` or `Annotated`
                continue
            yield from _named(inner)


def _values(cls: type[Vertex]) -> list[str]:
    """Return what a class has of numbers and fields, which depends on more than its text."""
    found = [f"field {field}" for field in cls.fields.values()]
    for name, value in sorted(vars(cls).items()):
        if isinstance(value, FunctionType):
            value = value.__defaults__
        parts = value if isinstance(value, tuple) else (value,)
        if not name.startswith(("__", "@")) and all(isinstance(part, _SCALARS) for part in parts):
            found.append(f"{name} = {value!r}")
    return found


def _made(
    file: str, name: str, line: int, qualname: str, namespace: dict[str, Any]
) -> type[Vertex]:
    statement = _statement(file, name, line)
    assert statement is not None, "the text came with it"
    exec(statement[1], namespace)  # the statement that ran where it comes from
    made: type[Vertex] = namespace[name]
    made.__qualname__ = qualname
    return made


def _complete(cls: type[Vertex], state: tuple[Any, ...]) -> None:
    namespace, later, given, values = state
    namespace |= later
    for name, function in given.items():
        setattr(cls, name, function)
    differing = sorted(set(_values(cls)) ^ set(values))
    if differing:
        raise _refusal(
            cls,
            f"its statement makes another class when it runs again: {', '.join(differing)}",
            "values that stay as they are once the class is made",
        )
