"""One compiled driver per vertex class: it walks runs of vertices and calls `compute`.

A driver is a C function `driver(arena, rows, low, high, first, last, faults)`.  It reads
descriptor rows `low` to `high` (`poplite.executable.descriptor`), builds `self` in registers for
every vertex of a run and runs the inlined `compute` on it, once for each worker of a
`MultiVertex`.  Of the first row it leaves out the vertices before `first`, of the last row those
from `last` on, so that work can be cut between any two vertices.  The interpreter calls it
through a pointer.

Importing this module imports Numba.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from weakref import ref

from numba.core import cgutils, types
from numba.core.typing.templates import signature

from poplite.executable.descriptor import (
    COUNT,
    NUMBER,
    Column,
    Columns,
    forms_of,
    positions,
    width,
)
from poplite.executable.opcodes import (
    CHUNK_FALSE,
    CHUNK_FLOATS,
    FAULT_WORD,
    FLOAT_MODE,
    RAISED,
    TRAPPED,
)
from poplite.jit.numba_context import compile_inlined, emitted, referred
from poplite.machine.floating_point import STOCHASTIC, TRAPS
from poplite.simulator.codegen import functions  # noqa: F401  (importing it registers them)
from poplite.simulator.codegen.accesses import load_element, record_fault
from poplite.simulator.codegen.field_types import (
    INDEX,
    NARROW,
    RowsType,
    ScalarType,
    SelfType,
    VectorType,
    element_access,
    storage_type,
)
from poplite.simulator.codegen.rounding import begin, launch_key, vertex_key
from poplite.simulator.codegen.traps import TRAP_STATUS, Traps
from poplite.simulator.codegen.variant import Variant, relevant
from poplite.types import metadata_edge
from poplite.vertex.compute import check, compiled_form
from poplite.vertex.vertex import MultiVertex, Vertex

if TYPE_CHECKING:
    from llvmlite import ir

WORDS = types.CPointer(types.int64)
ARGUMENTS = (types.voidptr, WORDS, *[types.int64] * 4, WORDS)
"""arena, rows, low, high, first, last, faults."""


def driver_source(
    cls: type[Vertex], columns: Columns, variant: Variant
) -> tuple[Callable[..., Any], Sequence[Any], Any]:
    """Return what `poplite.jit.build` compiles for a vertex class.

    Args:
        cls: the vertex class.
        columns: what the words of a row are.
        variant: what the driver does.

    Returns:
        Function, Numba argument types and result type.
    """
    forms = forms_of(columns, len(cls.fields))
    held, bits = ref(cls), relevant(cls)  # Numba keeps for ever what emits

    def emit_in(mode: int, context: Any, builder: ir.IRBuilder, args: Any) -> None:
        kind = SelfType(referred(held), forms, variant, mode)
        DriverEmitter(context, builder, kind, columns, *args).emit()

    def emit(context: Any, builder: ir.IRBuilder, args: Any) -> None:
        if len(variant.modes) < 2:  # nothing to choose
            emit_in(variant.modes[0] if variant.modes else 0, context, builder, args)
            return
        place = builder.gep(floats_of(builder, args[-1]), [INDEX(FLOAT_MODE)])
        now = builder.and_(builder.load(place), INDEX(bits))
        for mode in variant.modes:
            with builder.if_then(builder.icmp_unsigned("==", now, INDEX(mode))):
                emit_in(mode, context, builder, args)

    return emitted_source(emit)


def emitted_source(
    emit: Callable[[Any, ir.IRBuilder, Sequence[Any]], None],
) -> tuple[Callable[..., Any], Sequence[Any], Any]:
    """Return a driver that is emitted, as `poplite.jit.build` takes it.

    Args:
        emit: called with target context, builder and the values of `ARGUMENTS`.
    """
    walk = emitted(emit, ARGUMENTS, types.none)

    def driver(
        arena: Any, rows: Any, low: int, high: int, first: int, last: int, faults: Any
    ) -> None:
        walk(arena, rows, low, high, first, last, faults)

    return driver, ARGUMENTS, types.none


def floats_of(builder: ir.IRBuilder, faults: Any) -> Any:
    """Emit the address of the floating-point state, which stands in the chunk before the fault."""
    place = builder.gep(faults, [INDEX(CHUNK_FLOATS - FAULT_WORD)])
    return builder.inttoptr(builder.load(place), INDEX.as_pointer())


class DriverEmitter:
    """Emits the loops of one driver, for one mode of floating-point arithmetic."""

    def __init__(
        self,
        context: Any,
        builder: ir.IRBuilder,
        kind: SelfType,
        columns: Columns,
        arena: Any,
        rows: Any,
        low: Any,
        high: Any,
        first: Any,
        last: Any,
        faults: Any,
    ) -> None:
        self.context, self.builder, self.kind = context, builder, kind
        self.arena, self.rows, self.faults = arena, rows, faults
        self.low, self.high, self.first, self.last = low, high, first, last
        self.fields = list(kind.cls.fields.values())
        self.columns = columns
        self.worker = [types.int64] if issubclass(kind.cls, MultiVertex) else []
        self.prepare()

    def prepare(self) -> None:
        """Compile `compute`, to be called."""
        context, builder, kind = self.context, self.builder, self.kind
        arguments = [kind, *self.worker]
        checked = check(kind.cls)
        traps = kind.mode & TRAPS
        self.raises = checked.raises or traps
        self.result = types.none if checked.result is None else types.boolean
        typing = context.typing_context
        typing.forms = {each.function: compiled_form(each) for each in checked.functions()}
        typing.inlined = {}
        typing.watch = Traps(traps, at_once=checked.may_not_end) if traps else None
        try:
            self.compute = compile_inlined(context, kind.cls.compute, arguments, self.result)
        finally:
            typing.watch = None
        if kind.mode & STOCHASTIC:
            self.random = cgutils.alloca_once(builder, NARROW, size=3)
            self.launch = launch_key(builder, floats_of(builder, self.faults))

    def emit(self) -> None:
        """Emit the loops over rows and vertices."""
        builder = self.builder
        row_width = INDEX(width(self.columns))
        with cgutils.for_range_slice(builder, self.low, self.high, INDEX(1)) as (number, _):
            row = builder.gep(self.rows, [builder.mul(number, row_width)])
            words = self._words(row)
            is_first = builder.icmp_unsigned("==", number, self.low)
            is_last = builder.icmp_unsigned("==", builder.add(number, INDEX(1)), self.high)
            begin = builder.select(is_first, self.first, INDEX(0))
            end = builder.select(is_last, self.last, words[COUNT])
            with cgutils.for_range(builder, end, start=begin) as vertex:
                parts = {
                    (column.field, column.part): self._number(column, words[at:], vertex.index)
                    for column, at in positions(self.columns)
                }
                self.emit_vertex(parts)

    def _words(self, row: Any) -> list[Any]:
        """Load the words of a row; what is the address of a table becomes a pointer."""
        builder = self.builder
        words = [builder.load(builder.gep(row, [INDEX(i)])) for i in range(width(self.columns))]
        for column, at in positions(self.columns):
            if column.kind == "flat":
                words[at + 1] = builder.inttoptr(words[at + 1], NARROW.as_pointer())
            elif column.kind == "table":
                pair = NARROW if column.part == "pairs" else INDEX
                words[at] = builder.inttoptr(words[at], pair.as_pointer())
        return words

    def _number(self, column: Column, words: list[Any], k: Any) -> Any:
        """Emit what a column says of vertex `k` of a run."""
        builder = self.builder
        if column.kind == "affine":
            return builder.add(words[0], builder.mul(k, words[1]))
        if column.kind == "flat":
            # Not marked as apart from what vertices write: LLVM would load and store several
            # vertices at once, which gathers and scatters make twice as slow.
            offset = builder.load(builder.gep(words[1], [k]))
            return builder.add(words[0], builder.zext(offset, INDEX))
        return words[0]

    def emit_vertex(self, parts: dict[tuple[int, str], Any]) -> None:
        """Emit what runs one vertex.

        Args:
            parts: what the columns say of it, by field and part.
        """
        builder = self.builder
        vertex = parts[NUMBER, "number"]
        proxy = cgutils.create_struct_proxy(self.kind)(self.context, builder)
        for number, (name, member) in enumerate(self.kind.members):
            mine = {part: value for (field, part), value in parts.items() if field == number}
            if self.fields[number].element.requires_metadata:
                beside = [field.name for field in self.fields].index(metadata_edge(name))
                mine["metadata"] = parts[beside, "start"]
            setattr(proxy, name, self._member(number, member, mine, vertex))
        if not self.worker:
            self._begin(vertex, INDEX(0))
            self._call(vertex, [proxy._getvalue()])
            return
        workers = proxy.num_workers
        with cgutils.for_range(builder, workers) as worker:
            number = worker.index
            if self.kind.variant.falling:
                number = builder.sub(builder.sub(workers, INDEX(1)), number)
            self._begin(vertex, number)
            self._call(vertex, [proxy._getvalue(), number])

    def _begin(self, vertex: Any, worker: Any) -> None:
        """Emit where the random numbers of a worker begin."""
        if self.kind.mode & STOCHASTIC:
            key = vertex_key(self.builder, self.launch, vertex, worker)
            begin(self.builder, self.random, key)

    def _call(self, vertex: Any, values: list[Any]) -> None:
        """Call `compute`; when it stops, the driver does as well."""
        context, builder = self.context, self.builder
        call = (builder, self.compute, signature(self.result, self.kind, *self.worker), values)
        if not self.raises:
            self._note(context.call_internal(*call))
            return
        status, returned = context.call_internal_no_propagate(*call)
        with cgutils.if_unlikely(builder, status.is_error):
            with builder.if_then(status.is_user_exc):  # otherwise an index check, which recorded it
                trapped = builder.icmp_unsigned("==", status.code, TRAP_STATUS)
                field = builder.select(trapped, INDEX(TRAPPED), INDEX(RAISED))
                record_fault(builder, self.faults, vertex, field, INDEX(0), INDEX(0))
            context.call_conv.return_status_propagate(builder, status)
        self._note(returned)

    def _note(self, returned: Any) -> None:
        """Write down in the chunk when a vertex returns false; no other thread has that chunk."""
        builder = self.builder
        if self.result is types.boolean:
            with builder.if_then(builder.not_(returned)):
                place = builder.gep(self.faults, [INDEX(CHUNK_FALSE - FAULT_WORD)])
                builder.store(INDEX(1), place)

    def _member(self, number: int, member: Any, parts: dict[str, Any], vertex: Any) -> Any:
        builder, field = self.builder, self.fields[number]
        pointer = storage_type(field.element).as_pointer()
        base = builder.bitcast(self.arena, pointer)
        start = parts["start"] if "start" in parts else parts["base"]
        data = builder.gep(base, [start], inbounds="start" in parts)
        if field.role == "state" and field.depth == 0:
            return load_element(self.context, builder, element_access(self.kind.cls, field), data)
        proxy = cgutils.create_struct_proxy(member)(self.context, builder)
        proxy.data = data
        if "metadata" in parts:
            proxy.metadata = builder.load(builder.gep(self.arena, [parts["metadata"]]))
        vector = getattr(member, "vector", member)
        if vector.is_random:
            proxy.random = self.random
        if isinstance(member, VectorType):
            proxy.length = parts["length"]
        elif isinstance(member, RowsType):
            proxy.rows = parts["rows"]
            if member.form == "stride":
                proxy.stride, proxy.length = parts["stride"], parts["length"]
            else:
                pair = builder.shl(parts["first"], INDEX(1))
                proxy.table = builder.gep(parts[member.form], [pair])
        if self.kind.variant.checked and not isinstance(member, ScalarType):
            proxy.faults, proxy.vertex = self.faults, vertex
        return proxy._getvalue()
