"""A faster form of a vertex class compared with its `compute`, on random fields.

check_faster(Total)                                          any lengths, any values
check_faster(Product, lambda n: {"a": (3, n), ...})          lengths that fit each other
check_faster(Shift, values={"places": range(8)})             values that make sense
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from poplite.errors import PopliteError, TensorIndexError
from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import Tensor
from poplite.machine.target import Target
from poplite.program import Execute
from poplite.simulator.engine import Engine
from poplite.simulator.strict.replay import differing
from poplite.testing.addressed import checked
from poplite.testing.drawn_fields import (
    DrawnFields,
    Rows,
    Shapes,
    classes_of,
    drawn_fields,
    fields_text,
    smallest_difference,
)
from poplite.text import amount
from poplite.types import BOOL, QUARTER, UNSIGNED_CHAR, QuarterMetadata
from poplite.vertex.compute import FasterForm, check, faster_form
from poplite.vertex.fields import Field, definition_error
from poplite.vertex.vertex import Vertex

METADATA = QuarterMetadata("F143", scale=1)
"""Of all QUARTER fields."""

RESULT = "the returned value"


@checked
def check_faster(
    vertex: type[Vertex],
    shapes: Shapes | None = None,
    *,
    values: Mapping[str, Sequence[Any]] | None = None,
    examples: int = 150,
    seed: int = 0,
) -> None:
    """Check that the faster form of a vertex class does what its `compute` does.

    Both run compiled, on the same drawn fields: of no, one, few and many elements, with NaN,
    infinities, the smallest numbers, zeros of both signs and the ends of integers among them. Those
    for which `compute` indexes outside of a field are left out. A template is checked for all
    element types that its `compute` can have.

    Args:
        vertex: the class.
        shapes: returns for a size the length of each vector, and rows and columns of each list of
            vectors, by field; by default they are drawn.
        values: what some fields are drawn from, by name. By default numbers of State are small, if
            they are integers.
        examples: how many vertices are tried, for each element type.
        seed: chooses the fields; the same seed gives the same ones.

    Raises:
        AssertionError: for results that differ in a bit, or by more than the form's `rtol`, with
            the smallest fields that were found; and when `compute` stops for all drawn fields.
        VertexDefinitionError: when the class has no faster form.
        VertexCompileError: when one of them cannot be compiled.

    >>> import poplite as pl
    >>> class Last(pl.Vertex):
    ...     x: pl.Input[pl.Vector[pl.FLOAT]]
    ...     y: pl.Output[pl.FLOAT]
    ...     def compute(self) -> None:
    ...         for i in range(len(self.x)):
    ...             self.y = self.x[i]
    ...     @pl.faster(bits="equal")
    ...     def only_last(self) -> None:
    ...         if len(self.x) > 0:
    ...             self.y = self.x[len(self.x) - 1]
    >>> check_faster(Last)
    """
    __tracebackhide__ = True
    for cls in classes_of(vertex):
        form = faster_form(cls)
        if form is None:
            fix = 'mark a method of it with @pl.faster(bits="equal")'
            raise definition_error(cls, "it has no faster form", fix)
        rng = np.random.default_rng(seed)
        drawn = drawn_fields(cls, rng, shapes, values or {}, examples)
        _compare(form, cls, drawn, f"of {examples} vertices, seed {seed}")


# -- both forms ------------------------------------------------------------------------------------


class _Vertices:
    """Vertices of one class, each in a compute set and a program of its own."""

    def __init__(self, cls: type[Vertex], drawn: Sequence[DrawnFields]) -> None:
        self._cls = cls
        self._graph = Graph(Target(tiles=1))
        self._written: list[dict[str, Sequence[Tensor]]] = []
        self._programs: dict[str, Execute] = {}
        for number, fields in enumerate(drawn):
            self._add(number, fields)

    def _add(self, number: int, fields: DrawnFields) -> None:
        compute_set = self._graph.add_compute_set(f"vertex {number}")
        declared, written, connected = self._cls.fields, {}, {}
        for name, rows in fields.edges.items():
            tensors = self._tensors(declared[name], rows)
            connected[name] = tensors if declared[name].depth == 2 else tensors[0]
            if declared[name].writes:
                written[name] = tensors
        self._graph.add_vertex(compute_set, self._cls, tile=0, **fields.state, **connected)
        result = None
        if check(self._cls).result is not None:
            result = self._graph.add_variable(BOOL, (), RESULT, mapping=0)
            written[RESULT] = [result]
        self._written.append(written)
        self._programs[str(number)] = Execute(compute_set, result)

    def _tensors(self, field: Field, rows: Rows) -> Sequence[Tensor]:
        """Return the edges of a field; rows of one length are those of a matrix."""
        is_matrix = field.depth == 2 and len({len(row) for row in rows}) < 2
        arrays = [np.array(rows).reshape(len(rows), -1 if rows else 1)] if is_matrix else rows
        tensors = []
        for array in arrays:
            shape = () if field.depth == 0 else array.shape
            metadata = METADATA if field.element is QUARTER else None
            tensor = self._graph.add_variable(
                field.element, shape, field.name, mapping=0, metadata=metadata
            )
            self._graph.set_initial_value(_codes(tensor), array.reshape(shape))
            tensors.append(tensor)
        return list(tensors[0]) if is_matrix else tensors

    def engine(self, *, is_faster: bool) -> Engine:
        """Return an engine that runs one of the forms."""
        options = {"debug.instrument": False, "debug.allowOutOfMemory": True}
        return Engine(
            self._graph,
            self._programs,
            checks="fast",
            faster="tolerant" if is_faster else False,
            options=options,
        )

    def run(self, engine: Engine, number: int) -> dict[str, Rows] | PopliteError:
        """Run a vertex; return what its writable fields hold, or what stopped it."""
        try:
            engine.run(number)
        except PopliteError as error:
            engine.load()
            return error
        return {
            name: [engine.read(_codes(each)).reshape(-1) for each in tensors]
            for name, tensors in self._written[number].items()
        }


def _codes(tensor: Tensor) -> Tensor:
    return tensor.reinterpret(UNSIGNED_CHAR) if tensor.element_type is QUARTER else tensor


def _compare(form: FasterForm, cls: type[Vertex], drawn: Sequence[DrawnFields], which: str) -> None:
    __tracebackhide__ = True

    def differences(drawn: Sequence[DrawnFields]) -> Iterator[str | None]:
        vertices = _Vertices(cls, drawn)
        definition, faster = (vertices.engine(is_faster=each) for each in (False, True))
        for number in range(len(drawn)):
            defined = vertices.run(definition, number)
            if isinstance(defined, TensorIndexError):
                yield None
            else:
                yield _difference(form, cls, defined, vertices.run(faster, number))

    call = f"check_faster({cls.__name__}"
    if found := smallest_difference(drawn, differences, f"{form}: compute", which, call):
        fields, why = found
        raise AssertionError(f"{form} is not {cls.__name__}.compute: {why}\n{fields_text(fields)}")


def _difference(
    form: FasterForm,
    cls: type[Vertex],
    defined: dict[str, Rows] | PopliteError,
    faster: dict[str, Rows] | PopliteError,
) -> str:
    """Return in which way results differ; empty where they do not."""
    if isinstance(defined, PopliteError) or isinstance(faster, PopliteError):
        if isinstance(defined, PopliteError) and isinstance(faster, PopliteError):
            return ""  # what compute raises is raised for both
        if isinstance(faster, PopliteError):
            return f"only the faster form stops, {faster.what}"
        return f"only compute stops, {defined.what}" if isinstance(defined, PopliteError) else ""
    for name, rows in defined.items():
        for row, (want, got) in enumerate(zip(rows, faster[name], strict=True)):
            wrong = np.flatnonzero(differing(want, got, form.rtol))
            if len(wrong):
                at = int(wrong[0])
                depth = cls.fields[name].depth if name in cls.fields else 0
                field = f"{name}[{row}]" if depth == 2 else name
                index = f"[{at}]" if depth else ""
                more = f" ({amount(len(wrong), 'element')} of {len(want):,})" if index else ""
                return f"'{field}'{index} is {want[at]!s} by compute, and {got[at]!s}{more}"
    return ""
