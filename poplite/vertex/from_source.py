r"""Vertex classes without a class statement: from source text, or only from their fields.

    vertex_from_source("import poplite as pl\nclass Double(pl.Vertex): ...", "Double")

The text is run as a separate module.  It is registered with `linecache`, under a name that is not
that of a file, so that the checks of `compute`, messages and tracebacks can show its lines::

    <poplite Double 3f2a91c0>:7

Equal texts give the same class, as long as it is referenced.

A saved graph contains the names of its vertex classes, their fields and digests of their code, but
not the code itself.  If a class is missing, one with the same fields replaces it: connections can
be drawn and queried, but `poplite.vertex.compute` does not compile it.

    >>> from poplite.types import FLOAT
    >>> cls = stand_in("Scale", "heat", [Field("x", "inout", FLOAT, 1)], why="is not there")
    >>> [str(field) for field in cls.fields.values()], why_missing(cls)
    (['x: InOut[Vector[FLOAT]]'], 'is not there')
"""

from __future__ import annotations

import linecache
import traceback
import weakref
from collections.abc import Iterable, Mapping
from threading import RLock
from types import CodeType
from typing import Annotated, Any

from poplite.errors import ElementTypeError, PopliteError, VertexDefinitionError, did_you_mean
from poplite.source import SourceLocation
from poplite.text import clipped, of_type
from poplite.vertex.fields import PLAIN, ROLES, Field, Vector
from poplite.vertex.vertex import MultiVertex, Vertex


def vertex_from_source(text: str, name: str) -> type[Vertex]:
    """Create a vertex class from the source text of a module.

    The text is executed and can do anything that Python can, so it should come from the program
    itself. Executables with such a class are saved like others. Loading them does not execute
    code from the file, so the class must first be created from the same text.

    Args:
        text: the text of a module: its imports, constants, functions, and the class.
        name: the name of the class.

    Returns:
        The class; the same one for the same text and name, while it is in use.

    Raises:
        ElementTypeError: if the text or the name is not a string.
        VertexDefinitionError: if the text is not valid Python, fails when it is run, or does not
            define a vertex class of that name; or if the class declares invalid fields.

    >>> import poplite as pl
    >>> text = '''
    ... import poplite as pl
    ...
    ... class Double(pl.Vertex):
    ...     x: pl.InOut[pl.Vector[pl.FLOAT]]
    ...
    ...     def compute(self) -> None:
    ...         for i in range(len(self.x)):
    ...             self.x[i] *= 2.0
    ... '''
    >>> Double = pl.vertex_from_source(text, "Double")
    >>> Double is pl.vertex_from_source(text, "Double"), list(Double.fields)
    (True, ['x'])
    """
    values: tuple[object, ...] = text, name
    for value in values:
        if not isinstance(value, str):
            raise ElementTypeError(
                f"vertex_from_source: {clipped(value, 60)} is not a string",
                found=of_type(value),
                fix="vertex_from_source('import poplite as pl ...', 'Double')",
            )
    return made_from_source(text, name, "")


def made_from_source(text: str, name: str, shown: str) -> type[Vertex]:
    """Create a vertex class from the text of a module; `shown` is its name in messages, or "".

    Its qualified name is the one in the text, which files and C++ use.
    """
    with _lock:
        known = _classes.get((text, name))
        if known is not None:
            return known
        file = _file_of(text, name, shown)
        linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
        try:
            cls = _class_of(text, name, file)
        except BaseException:
            linecache.cache.pop(file, None)
            raise
        if shown:
            cls.__name__ = shown
            _generated.add(cls)
        weakref.finalize(cls, linecache.cache.pop, file, None)
        _classes[text, name] = cls
        return cls


def is_generated(cls: type[Vertex]) -> bool:
    """Return whether poplite generated a class with a name for messages."""
    return cls in _generated


_generated: weakref.WeakSet[type[Vertex]] = weakref.WeakSet()

_classes: weakref.WeakValueDictionary[tuple[str, str], type[Vertex]] = weakref.WeakValueDictionary()
"""The classes created so far, by text and name."""

_lock = RLock()
"""Held while a class is created, so that threads share it; reentrant, as calls can nest."""


def _file_of(text: str, name: str, shown: str) -> str:
    """Return the unique file name of a text in messages."""
    if shown and f"<poplite {shown}>" not in linecache.cache:
        return f"<poplite {shown}>"
    import hashlib  # here, as it takes 3 ms and few programs have such classes

    digest = hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()
    return f"<poplite {shown or name} {digest[:16]}>"


def _class_of(text: str, name: str, file: str) -> type[Vertex]:
    # No module of that name is imported, and `here()` treats it as the user's code.
    names: dict[str, object] = {"__name__": file, "__file__": file}
    try:
        exec(_compiled(text, name, file), names)
    except PopliteError:
        raise
    except Exception as error:
        frames = traceback.walk_tb(error.__traceback__)
        line = [number for frame, number in frames if frame.f_code.co_filename == file][-1]
        raise VertexDefinitionError(
            f"vertex_from_source '{name}': running the text failed: {clipped(error, 200)}",
            found=f"{_shown(text, file, line)}",
            fix="write a complete module, with imports of all names that it uses",
        ) from error
    found = names.get(name)
    if isinstance(found, type) and found.__module__ == file:
        if issubclass(found, Vertex):
            return found
        raise VertexDefinitionError(
            f"vertex_from_source '{name}': class {name} of the text is not a vertex class",
            found=f"its bases are {', '.join(base.__name__ for base in found.__bases__)}",
            fix=f"class {name}(pl.Vertex)",
        )
    classes = [n for n, v in names.items() if isinstance(v, type) and v.__module__ == file]
    raise VertexDefinitionError(
        f"vertex_from_source: the text defines no class '{name}'{did_you_mean(name, classes)}",
        found=f"its classes: {', '.join(classes) or 'none'}",
        fix=f"class {name}(pl.Vertex): ...",
    )


def _compiled(text: str, name: str, file: str) -> CodeType:
    try:
        return compile(text, file, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:  # ValueError: a null character
        line = getattr(error, "lineno", None) or 1
        raise VertexDefinitionError(
            f"vertex_from_source '{name}': the text is not valid Python: "
            f"{getattr(error, 'msg', None) or error}",
            found=_shown(text, file, line),
        ) from None


def _shown(text: str, file: str, line: int) -> str:
    lines = text.splitlines()
    shown = lines[line - 1].strip() if line <= len(lines) else ""
    return f"{SourceLocation(file, line, '<module>')}: {clipped(shown, 80)}"


# -- classes with known fields only ----------------------------------------------------------------


_WHY, _SAVED = "@why_missing", "@saved_as"  # not identifiers, so no user's name can hide them

_BY_ROLE: dict[str, Any] = {role: cls for cls, role in ROLES.items()}


def stand_in(
    name: str,
    module: str,
    fields: Iterable[Field],
    *,
    is_multi: bool = False,
    why: str,
    saved: Any = None,
) -> type[Vertex]:
    """Return a class with these fields; `why` is the reason for replacing another class.

    `saved` is the record of the original class in the file, which is saved again for this one.
    Raises VertexDefinitionError for invalid fields.
    """
    members = {_WHY: why, _SAVED: saved}
    return class_of_fields(name, module, fields, is_multi=is_multi, members=members)


def class_of_fields(
    name: str,
    module: str,
    fields: Iterable[Field],
    *,
    is_multi: bool,
    members: Mapping[str, Any],
    of_graph: bool = False,
) -> type[Vertex]:
    """Return a class with these fields, other members, and a `compute` without a text.

    With `of_graph`, only graphs that have the class know its name. Raises VertexDefinitionError
    for invalid fields.
    """
    base = MultiVertex if is_multi else Vertex
    own = [f for f in fields if not f.is_implicit and f != base.fields.get(f.name)]

    def compute(self: Any) -> None:
        raise NotImplementedError

    def compute_of_worker(self: Any, worker: int) -> None:
        raise NotImplementedError

    compute_of_worker.__name__ = "compute"
    given = {
        "__module__": module,
        "__qualname__": name,
        "__annotations__": {f.name: _annotation(f) for f in own},
        "compute": compute_of_worker if is_multi else compute,
        **members,
    }
    made = type(name, (base,), given)
    if of_graph:
        _of_graphs.add(made)
    return made


_of_graphs: weakref.WeakSet[type[Vertex]] = weakref.WeakSet()

_REFUSED = "@refused"


def is_of_graph(cls: type[Vertex]) -> bool:
    """Return whether only graphs that have a class know its name."""
    return cls in _of_graphs


def refuse_vertices(cls: type[Vertex], error: VertexDefinitionError) -> None:
    """Set the error that is raised when a vertex of a class is added."""
    setattr(cls, _REFUSED, error)


def refusal_of_vertices(cls: type[Vertex]) -> VertexDefinitionError | None:
    """Return the error that is raised when a vertex of a class is added; None for most classes."""
    error: VertexDefinitionError | None = vars(cls).get(_REFUSED)
    return error


def why_missing(cls: type[Vertex]) -> str | None:
    """Return the reason why a class replaces a missing one, or None for ordinary classes."""
    why: str | None = vars(cls).get(_WHY)
    return why


def saved_as(cls: type[Vertex]) -> Any:
    """Return the record in the file of the class that this one replaces."""
    return vars(cls)[_SAVED]


def _annotation(field: Field) -> Any:
    inner: Any = field.element
    for _ in range(field.depth):
        inner = Vector[inner]
    annotation = _BY_ROLE[field.role][inner]
    return annotation if field.layout == PLAIN else Annotated[annotation, field.layout]
