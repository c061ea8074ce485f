"""C++ codelets in tests, which are skipped where libclang or a clang is missing.

`POPLITE_CPP=required` makes them fail instead: CI installs the extra `cpp`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import poplite as pl
from poplite.cpp.compilers import codelet_compiler
from poplite.errors import FileLoadError


@cache
def _missing() -> str:
    if os.environ.get("POPLITE_CPP") == "required":
        return ""
    try:
        import clang.cindex  # noqa: F401

        codelet_compiler()
    except ImportError:
        return "the package libclang is not installed (the extra cpp)"
    except FileLoadError as error:
        return error.what
    return ""


needs_cpp = pytest.mark.skipif(bool(_missing()), reason=_missing() or "there is one")


def skip_without_cpp() -> None:
    """Skip the test that calls it if libclang or a clang is missing."""
    if why := _missing():
        pytest.skip(why)


HEAD = "#include <poplar/Vertex.hpp>\nusing namespace poplar;\n"


class OneVertex:
    """A graph with one vertex of a C++ class on tile 1.

    Arrays become tensors of the field's type; lists of arrays become rows. Numbers are state.
    """

    def __init__(self, text: str, name: str, given: Mapping[str, Any], **options: Any) -> None:
        self.graph = pl.Graph(pl.Target(tiles=2))
        self.cls = self.graph.add_codelets(text)[name.replace(" ", "")]
        self.tensors: dict[str, Any] = {}
        fields = {n: self._connected(n, value) for n, value in given.items()}
        compute_set = self.graph.add_compute_set("step")
        self.vertex = self.graph.add_vertex(compute_set, name, tile=1, **fields)
        self.engine = pl.Engine(self.graph, pl.Execute(compute_set), **options)

    def _connected(self, name: str, value: Any) -> Any:
        field = self.cls.fields[name]
        if not field.is_edge:
            return value
        if field.depth == 2:
            rows = [self._tensor(field, row, f"{name}{n}") for n, row in enumerate(value)]
            self.tensors[name] = rows
            return rows
        self.tensors[name] = self._tensor(field, value, name)
        return self.tensors[name]

    def _tensor(self, field: Any, value: Any, name: str) -> pl.Tensor:
        array = np.asarray(value).astype(field.element.dtype)
        initial = array if field.reads else None
        return self.graph.add_variable(
            field.element, array.shape, name, mapping=1, initial_value=initial
        )

    def read(self, name: str) -> Any:
        """Return a field after a run: an array, or a list of arrays."""
        tensors = self.tensors[name]
        if isinstance(tensors, list):
            return [self.engine.read(each) for each in tensors]
        return self.engine.read(tensors)

    def ran(self) -> OneVertex:
        """Return it after a run."""
        self.engine.run()
        return self


def same(found: npt.NDArray[Any], expected: npt.ArrayLike) -> bool:
    """Return whether two arrays have equal elements, NaN included."""
    return bool(np.array_equal(found, np.asarray(expected, found.dtype), equal_nan=True))
