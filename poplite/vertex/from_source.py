"""Vertex classes from text: generated code that is read, checked and shown like any other.

    text = '''
    import poplite as pl

    class Double(pl.Vertex):
        x: pl.InOut[pl.Vector[pl.FLOAT]]

        def compute(self) -> None:
            for i in range(len(self.x)):
                self.x[i] += self.x[i]
    '''
    Double = pl.vertex_from_source(text, "Double")

The text is that of a module. Its lines stand in messages and tracebacks, as `<poplite Double>:8`.
"""

from __future__ import annotations

import hashlib
import linecache
import sys
import textwrap
from types import ModuleType

from poplite.errors import VertexDefinitionError
from poplite.source import here
from poplite.text import clipped, of_type
from poplite.vertex.vertex import Vertex

_MADE: dict[tuple[str, str], type[Vertex]] = {}
"""The class of each text and name."""


def vertex_from_source(text: str, name: str) -> type[Vertex]:
    """Return a vertex class that a text defines.

    The text is executed, as a module that is imported: take it from your own program, not from a
    file of somebody else's. The same text and name give the same class.
    What is compiled of it is kept in the cache by what it computes, as for every class.

    Args:
        text: of a module: imports, constants, helper functions, and the class.
        name: of the class in it.

    Raises:
        VertexDefinitionError: when the text is no Python, fails when it is executed, or has no
            vertex class of that name.

    >>> text = '''
    ... from poplite.types import FLOAT
    ... from poplite.vertex import InOut, Vertex
    ...
    ... class Negate(Vertex):
    ...     x: InOut[FLOAT]
    ...
    ...     def compute(self) -> None:
    ...         self.x = -self.x
    ... '''
    >>> vertex_from_source(text, "Negate") is vertex_from_source(text, "Negate")
    True
    """
    for value, what in ((text, "text"), (name, "name")):
        if not isinstance(value, str):
            raise VertexDefinitionError(
                f"vertex_from_source: the {what} is {clipped(value)}",
                at=here(),
                found=of_type(value),
                fix='vertex_from_source("class Double(Vertex): ...", "Double")',
            )
    made = _MADE.get((text, name))
    if made is None:
        made = _MADE[text, name] = _made(text, name)
    return made


def _made(text: str, name: str) -> type[Vertex]:
    lines = textwrap.dedent(text)
    digest = hashlib.sha256(lines.encode("utf-8", "backslashreplace")).hexdigest()[:12]
    file = f"<poplite {name}>"
    if file in linecache.cache:  # another text with a class of that name
        file = f"<poplite {name} {digest}>"
    module = ModuleType(f"poplite_source_{digest}_{name}")
    module.__file__ = file
    # Without a time of its last change, these lines are never looked for on disk.
    linecache.cache[file] = (len(lines), None, lines.splitlines(keepends=True), file)
    sys.modules[module.__name__] = module  # where annotations are looked up
    try:
        exec(compile(lines, file, "exec"), vars(module))
    except Exception as error:
        line = error.lineno if isinstance(error, SyntaxError) else _line_of(error, file)
        del sys.modules[module.__name__]
        shown = lines.splitlines()[line - 1].strip() if line else ""
        raise VertexDefinitionError(
            f"vertex_from_source: the text of '{name}' fails: {type(error).__name__}: {error}",
            at=here(),
            found=f"line {line}: {shown}" if line else "",
            fix="text of a module that can be imported",
        ) from error
    found = vars(module).get(name)
    if not (isinstance(found, type) and issubclass(found, Vertex)):
        raise VertexDefinitionError(
            f"vertex_from_source: the text has no vertex class '{name}'",
            at=here(),
            found="" if found is None else of_type(found),
            fix=f"class {name}(pl.Vertex): ...",
        )
    return found


def _line_of(error: BaseException, file: str) -> int | None:
    """Return the innermost line of a text in which an error was raised."""
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line
