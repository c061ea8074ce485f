"""What interpreted vertices made of what they read, for strict checks that run them once more.

A vertex computes what it writes from what it reads, and from nothing else.  So where a second run
finds all of that as it was, what the first run wrote is put there instead::

    first run     x 1 2 3   total 0 -> 6       all vertices run; stores are noted
    again         x 1 2 3   total 9 -> 6       put there: the vertex does not run
                  x 1 2 NaN total 9            runs

An Output element that the first run did not store keeps what it holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.vertex.vertex import Field, Vertex

Values = Mapping[str, Any]
"""The fields of a vertex, as `InterpretedSelf` takes them."""


class VertexRun:
    """One run of a vertex; `marks` has, for each Output, which elements the run stored."""

    __slots__ = ("_cls", "_read", "_returned", "_written", "marks")

    def __init__(self, cls: type[Vertex], values: Values) -> None:
        self._cls = cls
        self._read = [array.tobytes() for array in _arrays(cls, values, _reads)]
        self.marks = {
            name: _unmarked(values[name]) for name, field in cls.fields.items() if _is_output(field)
        }

    def keep(self, values: Values, *, returned: bool) -> None:
        """Note the fields after the run, and what it returned."""
        self._written = [array.copy() for array in _arrays(self._cls, values, _changes)]
        self._written += [array.copy() for array in _arrays(self._cls, values, _is_output)]
        self._returned = returned

    def is_of(self, values: Values) -> bool:
        """Tell whether the vertex would do the same on these fields."""
        pairs = zip(self._read, _arrays(self._cls, values, _reads), strict=True)
        return all(array.tobytes() == read for read, array in pairs)

    def put(self, values: Values) -> bool:
        """Write what the run wrote, and return what it returned."""
        written = iter(self._written)
        for array in _arrays(self._cls, values, _changes):
            array[...] = next(written)
        marks = _arrays(self._cls, self.marks, _is_output)
        for array, mark in zip(_arrays(self._cls, values, _is_output), marks, strict=True):
            np.copyto(array, next(written), where=mark)
        return self._returned


def _reads(field: Field) -> bool:
    return field.reads


def _changes(field: Field) -> bool:
    return field.reads and field.writes


def _is_output(field: Field) -> bool:
    return field.writes and not field.reads


def _arrays(
    cls: type[Vertex], values: Values, chosen: Callable[[Field], bool]
) -> Iterator[npt.NDArray[Any]]:
    """Yield the memory of some fields, lists row by row."""
    for name, field in cls.fields.items():
        if chosen(field):
            yield from values[name] if field.depth == 2 else (values[name],)


def _unmarked(memory: Any) -> Any:
    if isinstance(memory, list):
        return [np.zeros(len(row), np.bool_) for row in memory]
    return np.zeros(len(memory), np.bool_)
