"""One compiled driver per vertex class: it walks runs of vertices and calls `compute`.

A driver is a C function `driver(arena, rows, low, high, faults)`.  It reads descriptor rows
`low` to `high` (`poplite.compile.descriptor`), builds `self` in registers for every vertex
of a run and runs the inlined `compute` on it, once for each worker of a `MultiVertex`.  The
interpreter calls it through a pointer.

Importing this module imports Numba.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from numba.core import cgutils, types
from numba.core.typing.templates import signature

from poplite.compile.descriptor import Column, Forms, columns, positions, width
from poplite.jit.context import compile_inlined, emitted
from poplite.quarter import metadata_edge
from poplite.simulator import functions  # noqa: F401  (importing it registers them)
from poplite.simulator.accesses import load_element
from poplite.simulator.fields import (
    INDEX,
    RowsType,
    ScalarType,
    SelfType,
    VectorType,
    element_access,
    storage_type,
)
from poplite.vertex import MultiVertex, Vertex

if TYPE_CHECKING:
    from llvmlite import ir

WORDS = types.CPointer(types.int64)
ARGUMENTS = (types.voidptr, WORDS, types.int64, types.int64, WORDS)
"""arena, rows, low, high, faults."""


def driver_source(
    cls: type[Vertex], forms: Forms, checked: bool
) -> tuple[Callable[..., Any], Sequence[Any], Any]:
    """Return what `poplite.jit.build` compiles for a vertex class.

    Args:
        cls: the vertex class.
        forms: form of each list field.
        checked: whether indices are checked.

    Returns:
        Function, Numba argument types and result type.
    """
    kind = SelfType(cls, forms, checked)

    def emit(context: Any, builder: ir.IRBuilder, args: Any) -> None:
        _Emitter(context, builder, kind, *args).emit()

    walk = emitted(emit, ARGUMENTS, types.none)

    def driver(arena: Any, rows: Any, low: int, high: int, faults: Any) -> None:
        walk(arena, rows, low, high, faults)

    return driver, ARGUMENTS, types.none


class _Emitter:
    """Emits the loops of one driver."""

    def __init__(
        self,
        context: Any,
        builder: ir.IRBuilder,
        kind: SelfType,
        arena: Any,
        rows: Any,
        low: Any,
        high: Any,
        faults: Any,
    ) -> None:
        self.context, self.builder, self.kind = context, builder, kind
        self.arena, self.rows, self.low, self.high, self.faults = arena, rows, low, high, faults
        self.fields = list(kind.cls.fields.values())
        self.columns: list[Column] = columns(self.fields, kind.forms)
        self.worker = [types.int64] if issubclass(kind.cls, MultiVertex) else []
        arguments = [kind, *self.worker]
        self.compute = compile_inlined(context, kind.cls.compute, arguments, types.none)

    def emit(self) -> None:
        builder = self.builder
        row_width = INDEX(width(self.columns))
        with cgutils.for_range_slice(builder, self.low, self.high, INDEX(1)) as (number, _):
            row = builder.gep(self.rows, [builder.mul(number, row_width)])
            words = [self._word(row, i) for i in range(width(self.columns))]
            with cgutils.for_range(builder, words[0]) as vertex:
                self._emit_vertex(words, vertex.index)

    def _word(self, row: Any, index: int) -> Any:
        return self.builder.load(self.builder.gep(row, [INDEX(index)]))

    def _emit_vertex(self, words: list[Any], k: Any) -> None:
        builder = self.builder

        def along(word: int) -> Any:
            return builder.add(words[word], builder.mul(k, words[word + 1]))

        parts = {
            (column.field, column.part): along(at) if column.affine else words[at]
            for column, at in positions(self.columns)
        }
        vertex = along(1)
        proxy = cgutils.create_struct_proxy(self.kind)(self.context, builder)
        for number, (name, member) in enumerate(self.kind.members):
            mine = {part: value for (field, part), value in parts.items() if field == number}
            if self.fields[number].element.requires_metadata:
                beside = [field.name for field in self.fields].index(metadata_edge(name))
                mine["metadata"] = parts[beside, "start"]
            setattr(proxy, name, self._member(number, member, mine, vertex))
        if not self.worker:
            self._call([proxy._getvalue()])
            return
        with cgutils.for_range(builder, proxy.num_workers) as worker:
            self._call([proxy._getvalue(), worker.index])

    def _call(self, values: list[Any]) -> None:
        called = signature(types.none, self.kind, *self.worker)
        self.context.call_internal(self.builder, self.compute, called, values)

    def _member(self, number: int, member: Any, parts: dict[str, Any], vertex: Any) -> Any:
        builder, field = self.builder, self.fields[number]
        pointer = storage_type(field.element).as_pointer()
        base = builder.bitcast(self.arena, pointer)
        start = parts.get("start")
        data = base if start is None else builder.gep(base, [start], inbounds=True)
        if field.role == "state" and field.depth == 0:
            return load_element(self.context, builder, element_access(self.kind.cls, field), data)
        proxy = cgutils.create_struct_proxy(member)(self.context, builder)
        proxy.data = data
        if "metadata" in parts:
            proxy.metadata = builder.load(builder.gep(self.arena, [parts["metadata"]]))
        if isinstance(member, VectorType):
            proxy.length = parts["length"]
        elif isinstance(member, RowsType):
            proxy.rows = parts["rows"]
            if member.form == "stride":
                proxy.stride, proxy.length = parts["stride"], parts["length"]
            else:
                proxy.table = builder.gep(self.rows, [parts["table"]])
        if self.kind.checked and not isinstance(member, ScalarType):
            proxy.faults, proxy.vertex = self.faults, vertex
        return proxy._getvalue()
