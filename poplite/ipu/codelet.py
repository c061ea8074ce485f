"""The public function that makes C++ of vertex classes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from poplite.errors import ElementTypeError
from poplite.ipu.codelets.file_text import codelet_file
from poplite.text import clipped, items_or_none
from poplite.vertex.vertex import Vertex


def codelet_text(classes: type[Vertex] | Iterable[type[Vertex]]) -> str:
    """Return vertex classes as C++ codelets, for the compiler of Poplar's SDK.

    The file includes Poplar's headers and nothing else of poplite. Equal classes give an equal
    text. `@pl.faster` forms are left out. A class may have the body of `compute` in C++ of its own,
    as the text `cpp`; it is taken as it is, and stands beside fields that are declared as always.

    Args:
        classes: a vertex class, or several; of a template, classes with element types.

    Raises:
        ElementTypeError: for what is no vertex class.
        VertexCompileError: when a `compute` is outside the dialect, has no text, prints, or works
            on QUARTER; with the line.

    >>> import poplite as pl
    >>> class Axpy(pl.Vertex):
    ...     factor: pl.State[pl.FLOAT]
    ...     x: pl.Input[pl.Vector[pl.FLOAT]]
    ...     y: pl.InOut[pl.Vector[pl.FLOAT]]
    ...     def compute(self) -> None:
    ...         for i in range(len(self.y)):
    ...             self.y[i] += self.factor * self.x[i]
    >>> text = pl.ipu.codelet_text(Axpy)
    >>> print(text[text.index("class Axpy") :])
    class Axpy : public poplar::Vertex {
    public:
      float factor;
      poplar::Input<poplar::Vector<float>> x;
      poplar::InOut<poplar::Vector<float>> y;
    <BLANKLINE>
      bool compute() {
        for (unsigned i = 0; i < y.size(); ++i) {
          y[i] = y[i] + factor * x[i];
        }
        return true;
      }
    };
    <BLANKLINE>
    """
    items = items_or_none(classes)
    listed: list[Any] = [classes] if items is None else items
    for each in listed:
        if not (isinstance(each, type) and issubclass(each, Vertex)):
            raise ElementTypeError(
                f"codelet_text: {clipped(each)} is no vertex class",
                fix="codelet_text(Axpy), or codelet_text([Axpy, Scale[pl.FLOAT]])",
            )
    return codelet_file(listed).text
