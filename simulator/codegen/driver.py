"""Compiled drivers: loops that call `compute` for runs of vertices.

A driver is a C function `driver(arena, rows, low, high, first, last, faults)`.  It reads
descriptor rows `low` to `high` (`poplite.executable.encoding`), gathers the arguments of
`compute` for every vertex of a run and runs the inlined `compute` on them, once for each worker of
a `MultiVertex`. In the first row it skips the vertices before `first`, and in the last row those
from `last` on, so that work can be cut between any two vertices.  The interpreter calls it through
a pointer.

Each class has its own drivers, with `compute` inlined. One driver for all classes with the same
fields, which calls `compute` by its address, would save a tenth of LLVM's time for a class
(measured for eleven classes of 30 lines: 12 of 126 ms), but would add a call for every vertex.

Importing this module imports Numba.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir

from poplite.executable import encoding as op
from poplite.executable.encoding import (
    COUNT_WORD,
    NUMBER,
    Column,
    Columns,
    forms_of,
    positions,
    width,
)
from poplite.jit.build import Job, exported
from poplite.jit.kernel_code import RAISED_STATUS, TRAPPED_STATUS, count_up, on_stack
from poplite.jit.native_code import Effort
from poplite.jit.numba_context import processor
from poplite.machine.floating_point import STOCHASTIC
from poplite.simulator.codegen.accessors import (
    ABOUT_FAULTS,
    ABOUT_LOG,
    ABOUT_VERTEX,
    ABOUT_WORDS,
    ABOUT_WORKER,
    CACHE_LINE,
    INDEX,
    NARROW,
    RESULT,
    DriverArgument,
    Use,
    access_of,
    arguments_of,
    fetch_line,
    random_of,
    record_fault,
    storage_type,
)
from poplite.simulator.codegen.codecs import begin, launch_key, vertex_key
from poplite.simulator.codegen.compute_code import (
    Variant,
    converts_halves,
    linked_compute,
    relevant,
)
from poplite.simulator.codegen.lane_accessors import smaller_of
from poplite.types import metadata_edge
from poplite.vertex.compute.meaning import meaning_of
from poplite.vertex.vertex import MultiVertex, Vertex

_BYTES, _WORDS = ir.IntType(8).as_pointer(), INDEX.as_pointer()
DRIVER = ir.FunctionType(ir.VoidType(), [_BYTES, _WORDS, *[INDEX] * 4, _WORDS])
"""arena, rows, low, high, first, last, faults."""

MOST_FETCHED = 4096
"""Maximum number of bytes that are fetched for a vertex, which may access few of many bytes."""


def driver_job(name: str, cls: type[Vertex], columns: Columns, variant: Variant) -> Job:
    """Return the job that compiles the driver of a vertex class, for rows with given columns."""
    forms, bits = forms_of(columns, len(cls.fields)), relevant(cls)
    modes = variant.modes or (0,)
    module = ir.Module()
    function = ir.Function(module, DRIVER, exported(name))
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    kind = ir.FunctionType(RESULT, [each.kind for each in arguments_of(cls)])
    computes = [ir.Function(module, kind, f"compute.{mode}") for mode in modes]
    for mode, compute in zip(modes, computes, strict=True):
        emitter = DriverEmitter(builder, cls, columns, variant, mode, compute, *function.args)
        if len(modes) < 2:  # no choice is needed
            emitter.emit()
            continue
        place = builder.gep(floats_of(builder, function.args[-1]), [INDEX(op.FLOAT_MODE)])
        now = builder.and_(builder.load(place), INDEX(bits))
        with builder.if_then(builder.icmp_unsigned("==", now, INDEX(mode))):
            emitter.emit()
    builder.ret_void()
    linked = llvm.parse_assembly(str(module))
    for mode in modes:
        own = f"compute.{mode}"
        compute = linked_compute(
            *(cls, own, forms, mode),
            checked=variant.checked,
            logged=variant.logged,
            fetched=variant.fetched,
        )
        linked.link_in(compute)
    effort: Effort = "little" if variant.logged else "full"
    arguments = (str(linked), processor().words(), effort)
    return Job(name, "poplite.jit.native_code:optimized_object", arguments)


def floats_of(builder: ir.IRBuilder, faults: Any) -> Any:
    """Emit the address of the floating-point state, which precedes the fault in a chunk."""
    place = builder.gep(faults, [INDEX(op.CHUNK_FLOATS - op.FAULT_WORD)])
    return builder.inttoptr(builder.load(place), INDEX.as_pointer())


class VertexWalk:
    """Emits a driver's loops over rows and vertices; the driver's arguments come last."""

    def __init__(
        self, builder: ir.IRBuilder, cls: type[Vertex], columns: Columns, *arguments: Any
    ) -> None:
        self.builder, self.cls, self.columns = builder, cls, columns
        self.arena, self._rows, self._low, self._high, self._first, self._last, self.faults = (
            arguments
        )
        self.fields = list(cls.fields.values())
        self.has_workers = issubclass(cls, MultiVertex)

    def emit(self) -> None:
        """Emit the loops over rows and vertices."""
        builder = self.builder
        row_width = INDEX(width(self.columns))
        with count_up(builder, self._high, self._low) as number:
            row = builder.gep(self._rows, [builder.mul(number, row_width)])
            words = self._words(row)
            is_first = builder.icmp_unsigned("==", number, self._low)
            is_last = builder.icmp_unsigned("==", builder.add(number, INDEX(1)), self._high)
            begin = builder.select(is_first, self._first, INDEX(0))
            end = builder.select(is_last, self._last, words[COUNT_WORD])
            with count_up(builder, end, begin) as vertex:
                parts = {
                    (column.field, column.part): self._number(column, words[at:], vertex)
                    for column, at in positions(self.columns)
                }
                self.emit_vertex(parts)

    def emit_vertex(self, parts: dict[tuple[int, str], Any]) -> None:
        """Emit the code for one vertex; `parts` contains its words by field and part."""
        raise NotImplementedError

    def _words(self, row: Any) -> list[Any]:
        """Load the words of a row; addresses of tables become pointers."""
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
        """Emit the value of a column for vertex `k` of a run."""
        builder = self.builder
        if column.kind == "affine":
            return builder.add(words[0], builder.mul(k, words[1]))
        if column.kind == "flat":
            # An alias scope for tables, which vertices do not write, would let LLVM load and store
            # for several vertices at once, by gathers and scatters, which is twice as slow.
            offset = builder.load(builder.gep(words[1], [k]))
            return builder.add(words[0], builder.zext(offset, INDEX))
        return words[0]


class DriverEmitter(VertexWalk):
    """Emits the loops of a driver that runs vertices, for one mode of floating-point arithmetic."""

    def __init__(
        self,
        builder: ir.IRBuilder,
        cls: type[Vertex],
        columns: Columns,
        variant: Variant,
        mode: int,
        compute: ir.Function,
        *arguments: Any,
    ) -> None:
        super().__init__(builder, cls, columns, *arguments)
        self._variant, self._mode, self._compute = variant, mode, compute
        self._forms = forms_of(columns, len(cls.fields))
        self._returns = meaning_of(cls).returns
        self._before_it_ends: Callable[[], None] | None = None
        self._use = Use(half_in_hardware=converts_halves())
        self._about = on_stack(builder, INDEX, ABOUT_WORDS)
        faults = builder.ptrtoint(self.faults, INDEX)
        builder.store(faults, builder.gep(self._about, [INDEX(ABOUT_FAULTS)]))
        if variant.logged:
            log = builder.load(builder.gep(self.faults, [INDEX(op.CHUNK_LOG - op.FAULT_WORD)]))
            builder.store(log, builder.gep(self._about, [INDEX(ABOUT_LOG)]))
        if mode & STOCHASTIC:
            self._launch = launch_key(builder, floats_of(builder, self.faults))

    def emit_vertex(self, parts: dict[tuple[int, str], Any]) -> None:
        """Emit the code that runs one vertex; `parts` contains its words by field and part."""
        arguments = self.arguments(parts)
        if self._variant.scattered is not None:
            self._fetch_next(self._variant.scattered, arguments)
        self.run(parts[NUMBER, "number"], arguments)

    def _fetch_next(self, field: str, arguments: Mapping[str, Any]) -> None:
        """Emit fetches of the memory behind a vector, where the next vertex usually has its own.

        Loads in no order are not predicted by the processor, and the next vertex would wait for a
        few of them at a time.
        """
        builder, line_size = self.builder, INDEX(CACHE_LINE)
        length = arguments[f"{field}.length"]
        behind = builder.bitcast(builder.gep(arguments[field], [length]), _BYTES)
        size = builder.mul(length, INDEX(self.cls.fields[field].element.size_bytes))
        size = smaller_of(builder, size, INDEX(MOST_FETCHED))
        with count_up(builder, builder.udiv(size, line_size)) as line:
            fetch_line(builder, builder.gep(behind, [builder.mul(line, line_size)]))

    def arguments(self, parts: dict[tuple[int, str], Any]) -> dict[str, Any]:
        """Emit the arguments of `compute`, by name."""
        return {each.name: self._argument(each, parts) for each in arguments_of(self.cls)}

    def run(
        self,
        vertex: Any,
        arguments: dict[str, Any],
        before_it_ends: Callable[[], None] | None = None,
    ) -> None:
        """Emit the code that runs one vertex; if it stops, `before_it_ends` precedes the return."""
        builder = self.builder
        builder.store(vertex, builder.gep(self._about, [INDEX(ABOUT_VERTEX)]))
        self._before_it_ends = before_it_ends
        if not self.has_workers:
            self._call(vertex, INDEX(0), arguments)
            return
        workers = arguments["num_workers.value"]
        with count_up(builder, workers) as worker:
            self._call_worker(vertex, worker, arguments)

    def _call_worker(self, vertex: Any, worker: Any, arguments: dict[str, Any]) -> None:
        arguments["self.worker"] = worker
        if self._variant.logged:
            place = self.builder.gep(self._about, [INDEX(ABOUT_WORKER)])
            number, most = self.builder.add(worker, INDEX(1)), INDEX((1 << op.LOG_BITS) - 1)
            fits = self.builder.icmp_unsigned("<", number, most)
            self.builder.store(self.builder.select(fits, number, most), place)
        self._call(vertex, worker, arguments)

    def _call(self, vertex: Any, worker: Any, arguments: dict[str, Any]) -> None:
        """Call `compute`; if it stops, the driver stops as well."""
        builder = self.builder
        if self._mode & STOCHASTIC:
            key = vertex_key(builder, self._launch, vertex, worker)
            begin(builder, random_of(builder, self._about), key)
        result = builder.call(self._compute, list(arguments.values()))
        status, returned = (builder.extract_value(result, number) for number in range(2))
        with builder.if_then(builder.icmp_signed("!=", status, NARROW(0)), likely=False):
            # Smaller codes are from index checks, which have recorded their fault.
            stopped = builder.icmp_signed(">=", status, RAISED_STATUS)
            with builder.if_then(stopped):
                trapped = builder.icmp_signed("==", status, TRAPPED_STATUS)
                field = builder.select(trapped, INDEX(op.TRAPPED), INDEX(op.RAISED))
                record_fault(builder, self.faults, vertex, field, INDEX(0), INDEX(0))
            if self._before_it_ends is not None:
                self._before_it_ends()
            builder.ret_void()
        if self._returns:  # no other thread runs this chunk
            with builder.if_then(builder.not_(returned)):
                place = builder.gep(self.faults, [INDEX(op.CHUNK_FALSE - op.FAULT_WORD)])
                builder.store(INDEX(1), place)

    def _argument(self, argument: DriverArgument, parts: Mapping[tuple[int, str], Any]) -> Any:
        """Emit an argument of `compute`; it is undefined if the form of a list does not need it."""
        builder, number, part = self.builder, argument.field, argument.part
        if number is None:
            return self._about if part == "about" else None
        field = self.fields[number]
        if part in ("data", "value"):
            base = builder.bitcast(self.arena, storage_type(field.element).as_pointer())
            start = "start" if (number, "start") in parts else "base"
            data = builder.gep(base, [parts[number, start]], inbounds=start == "start")
            if part == "data":
                return data
            return access_of(self.cls, field, self._use).load(builder, data)
        if part == "metadata":
            beside = [each.name for each in self.fields].index(metadata_edge(field.name))
            return builder.load(builder.gep(self.arena, [parts[beside, "start"]]))
        form = self._forms[number]
        if part == "table" and form in ("pairs", "wide"):
            first = builder.shl(parts[number, "first"], INDEX(1))
            return builder.bitcast(builder.gep(parts[number, form], [first]), argument.kind)
        if (number, part) in parts:
            return parts[number, part]
        return ir.Constant(argument.kind, ir.Undefined)
