"""Annotations of a class as objects: those written as text are resolved.

Text is resolved when the class is made, against all that the class statement could see: the module,
the functions around it, the class itself, and the variables of `class Blur[T]`.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any, ClassVar, get_origin

from poplite.vertex.fields import definition_error

_CLASS_VARIABLE = re.compile(r"\s*(\w+\s*\.\s*)*ClassVar\b")
"""How the annotation of a class variable starts, as text; its type may be unknown at run time."""


def annotations_of(cls: type, owner: type, frame: FrameType) -> Iterator[tuple[str, Any]]:
    """Yield by name the annotations of `owner`, `cls` or a base of it, without class variables.

    `frame` is the call that makes `cls`.  Raises `VertexDefinitionError` when a name in an
    annotation cannot be found.
    """
    namespaces: tuple[dict[str, Any], dict[str, Any]] | None = None
    for name, annotation in inspect.get_annotations(owner).items():
        for _ in range(2):  # text of text: quotes under `from __future__ import annotations`
            if isinstance(annotation, str) and not _CLASS_VARIABLE.match(annotation):
                namespaces = namespaces or _defining_namespaces(owner, frame)
                annotation = _resolve(cls, name, annotation, *namespaces)
        if not _is_class_variable(annotation):
            yield name, annotation


def _is_class_variable(annotation: Any) -> bool:
    if isinstance(annotation, str):
        return _CLASS_VARIABLE.match(annotation) is not None
    return ClassVar in (get_origin(annotation), annotation)


def _defining_namespaces(cls: type, caller: FrameType) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the names visible to the class statement: module globals, enclosing locals.

    Among the calls in progress, only those count whose functions enclose the class in the text: a
    caller elsewhere may use the same names for other things.
    """
    frame: FrameType | None = caller
    while frame is not None and not _is_of(frame.f_globals, cls):
        frame = frame.f_back
    # Variables of `class Add[T](Vertex)` belong neither to the module nor to the class.
    own = {variable.__name__: variable for variable in getattr(cls, "__type_params__", ())}
    own |= vars(cls)
    if frame is None:  # made by other means than a class statement
        module = sys.modules.get(cls.__module__)
        return dict(vars(module)) if module else {}, own
    defining, enclosing = frame, dict(frame.f_locals)
    while frame is not None:
        function = f"{frame.f_code.co_qualname}.<locals>."
        if frame.f_globals is defining.f_globals and cls.__qualname__.startswith(function):
            enclosing = dict(frame.f_locals) | enclosing
        frame = frame.f_back
    return dict(defining.f_globals), enclosing | own


def _is_of(globals_: dict[str, Any], cls: type) -> bool:
    # Code that exec runs with globals of its own has no __name__ but that of the built-ins.
    return bool(globals_.get("__name__", "builtins") == cls.__module__)


def _resolve(
    cls: type, name: str, text: str, globals_: dict[str, Any], locals_: dict[str, Any]
) -> Any:
    try:
        return eval(text, globals_, locals_)  # the class's own annotation, as typing does
    except Exception as error:
        raise definition_error(
            cls,
            f"field '{name}': annotation {text!r} cannot be resolved: {error}",
            "import the names it uses before the class, at run time",
        ) from error
