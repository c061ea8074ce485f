"""Drivers that record the slots of each vertex, if they depend on data.

    fast checks     the driver itself counts: it runs `compute` as it was priced, block by block;
                    if indices may be out of range, each access is compared when it is made or, if
                    that is impossible, `compute` first runs on copies, with checks
    strict checks   a separate driver counts, before the one that runs the vertices: it works
                    on copies of the memory that vertices change, and changes nothing else
    interpreted     a separate driver counts, before Python runs the vertices

Slots are in a table of the compute set, indexed by the number of the vertex; for a MultiVertex they
are tile cycles.

Code that only counts must not change memory, so it works on copies of what a vertex changes::

    arena    | x ........... | rows[0] ..    rows[1] ..    |       tables    | start length | ...
    copies   | x ........... | rows[0] .. rows[1] .. |                       | 0 length | ...

The copies are in separate memory, which is allocated before each vertex and freed after it.  Tables
of rows are copied as well, even for lists that are only read, because the code that counts may read
only the arena and the copies.

Importing this module imports Numba.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import astuple
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir

from poplite.executable import encoding as op
from poplite.executable.encoding import NUMBER, Columns, RowForm, forms_of
from poplite.jit.build import Job, exported
from poplite.jit.kernel_code import call_named, count_up, on_stack
from poplite.jit.numba_context import processor
from poplite.simulator.codegen.accessors import (
    INDEX,
    RESULT,
    Use,
    access_of,
    arguments_of,
    pair_type,
    record_fault,
    storage_type,
)
from poplite.simulator.codegen.compute_code import (
    MOST_COUNTED,
    PARTS,
    POINTERS,
    Counting,
    Parameter,
    Variant,
    converts_halves,
    linked_compute,
    parameters_of,
)
from poplite.simulator.codegen.driver import DRIVER, DriverEmitter, VertexWalk
from poplite.simulator.pricing.blocks import SIZES
from poplite.simulator.pricing.native_slots import COUNTED, priced_text
from poplite.simulator.pricing.slot_function import OUTSIDE
from poplite.types import BOOL
from poplite.vertex.vertex import Field, Vertex

# -- copies ----------------------------------------------------------------------------------------


BYTES = ir.IntType(8).as_pointer()

ALIGNMENT = 8
"""The alignment of each copy in bytes, enough for any element."""

_Copy = tuple[Any, Callable[[Any], None]]
"""The bytes of a copy, and a function that emits it once its address is known."""


class VertexCopies:
    """Emits the copies of one vertex; they replace the originals in `arguments`.

    Attributes:
        memory: address of the copies, once they exist.
        size: total size of the copies in bytes.
    """

    def __init__(self, builder: ir.IRBuilder, arguments: list[Any]) -> None:
        self._builder, self._arguments = builder, arguments
        self._pending: list[_Copy] = []
        self.memory: Any = None
        self.size: Any = INDEX(0)

    def add(self, field: Field, form: RowForm | None, first: int) -> None:
        """Register the memory of an edge or state vector for copying, if its field needs a copy.

        `first` is the number of its first argument, the address; `form` is the form of its rows.
        """
        builder = self._builder
        for size, put in self._copies(field, form, first):
            self._pending.append((self.size, put))
            end = builder.add(builder.add(self.size, size), INDEX(ALIGNMENT - 1))
            self.size = builder.and_(end, INDEX(-ALIGNMENT))

    def make(self) -> None:
        """Emit all copies."""
        builder = self._builder
        size = builder.add(self.size, INDEX(ALIGNMENT))
        self.memory = call_named(builder, "malloc", BYTES, [size])
        for begin, put in self._pending:
            put(builder.gep(self.memory, [begin]))

    def free(self) -> None:
        """Emit the call that frees their memory."""
        call_named(self._builder, "free", ir.VoidType(), [self.memory])

    def _copies(self, field: Field, form: RowForm | None, k: int) -> Iterator[_Copy]:
        arguments, is_changed = self._arguments, field.reads and field.writes
        element = INDEX(field.element.size_bytes)
        if form in ("pairs", "wide"):
            yield self._table(k, pair_type(form))
            if is_changed:
                yield self._uneven_rows(k, pair_type(form), element)
        elif is_changed:
            rows, stride, length = INDEX(1), INDEX(0), INDEX(1)
            if field.depth == 1:
                length = arguments[k + 1]
            elif field.depth == 2:
                rows, stride, length = arguments[k + 1 :][:3]
                arguments[k + 2] = length  # stride between the copies of rows
            yield self._rows(k, element, rows, stride, length)

    def _rows(self, k: int, element: Any, rows: Any, stride: Any, length: Any) -> _Copy:
        """Return the copy of evenly spaced rows."""
        builder, arguments = self._builder, self._arguments
        step, size = builder.mul(stride, element), builder.mul(length, element)

        def put(own: Any) -> None:
            with count_up(builder, rows) as row:
                to = builder.gep(own, [builder.mul(row, size)])
                self._copy(to, builder.gep(arguments[k], [builder.mul(row, step)]), size)
            arguments[k] = own

        return builder.mul(rows, size), put

    def _table(self, k: int, number: ir.IntType) -> _Copy:
        """Return the copy of a table."""
        builder, arguments = self._builder, self._arguments
        size = builder.mul(arguments[k + 1], INDEX(2 * SIZES[str(number)]))

        def put(own: Any) -> None:
            self._copy(own, arguments[k + 2], size)
            arguments[k + 2] = own

        return size, put

    def _uneven_rows(self, k: int, number: ir.IntType, element: Any) -> _Copy:
        """Return the copy of rows listed in a table; it changes the copy of that table."""
        builder, arguments = self._builder, self._arguments

        def pair(row: Any) -> tuple[Any, Any, Any]:
            """Return the address of a row's pair, and the row's start and length in bytes."""
            table = builder.bitcast(arguments[k + 2], number.as_pointer())
            entry = builder.gep(table, [builder.shl(row, INDEX(1))])
            words = builder.load(entry), builder.load(builder.gep(entry, [INDEX(1)]))
            start, length = (builder.mul(builder.zext(word, INDEX), element) for word in words)
            return entry, start, length

        size = on_stack(builder, INDEX)
        builder.store(INDEX(0), size)
        with count_up(builder, arguments[k + 1]) as row:
            builder.store(builder.add(builder.load(size), pair(row)[2]), size)
        total = builder.load(size)

        def put(own: Any) -> None:
            builder.store(INDEX(0), size)
            with count_up(builder, arguments[k + 1]) as row:
                entry, start, length = pair(row)
                begin = builder.load(size)
                self._copy(builder.gep(own, [begin]), builder.gep(arguments[k], [start]), length)
                builder.store(builder.trunc(builder.udiv(begin, element), number), entry)
                builder.store(builder.add(begin, length), size)
            arguments[k] = own

        return total, put

    def _copy(self, to: Any, source: Any, size: Any) -> None:
        call_named(self._builder, "memcpy", BYTES, [to, source, size])


# -- drivers ---------------------------------------------------------------------------------------


def counting_driver_job(name: str, cls: type[Vertex], columns: Columns, counting: Counting) -> Job:
    """Return the job that compiles the counting driver of a vertex class."""
    forms = forms_of(columns, len(cls.fields))
    driver, rehearsing = _driver(name, cls, columns, counting, rehearses=False), ""
    if counting.checked:
        made = llvm.parse_assembly(_driver(name, cls, columns, counting, rehearses=True))
        made.link_in(linked_compute(cls, _REHEARSED, forms, checked=True))
        rehearsing = str(made)
    priced = priced_text(cls, forms), [astuple(each) for each in parameters_of(cls, forms)]
    sizes = {name: field.element.size_bytes for name, field in cls.fields.items()}
    how = sizes, dict(counting.costs), counting.on_copies, processor().words()
    maker = "poplite.simulator.pricing.native_slots:measuring_object"
    return Job(name, maker, (driver, rehearsing, *priced, *how))


def _driver(
    name: str, cls: type[Vertex], columns: Columns, counting: Counting, *, rehearses: bool
) -> str:
    """Return the text of a driver that counts."""
    module = ir.Module()
    function = ir.Function(module, DRIVER, exported(name))
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    _CountingEmitter(builder, cls, columns, counting, rehearses, *function.args).emit()
    builder.ret_void()
    return str(module)


_PARTS = {
    (0, None): ("",),
    (1, None): ("", ".length"),
    (2, "stride"): ("", ".rows", ".stride", ".length"),
    (2, "pairs"): ("", ".rows", ".table"),
    (2, "wide"): ("", ".rows", ".table"),
}
"""The arguments of `compute` for a field, as `VertexCopies` takes them, by depth and form."""

_MOST_PARTS = MOST_COUNTED * PARTS

OUTSIDE_WORDS = 3
"""Field, index and length, recorded by the counting function."""

_REHEARSED = "rehearsed"
"""Name of `compute` as it runs on copies, with indices checked."""


class _CountingEmitter(VertexWalk):
    """Emits the loops of a driver that counts."""

    def __init__(
        self,
        builder: ir.IRBuilder,
        cls: type[Vertex],
        columns: Columns,
        counting: Counting,
        rehearses: bool,
        *arguments: Any,
    ) -> None:
        super().__init__(builder, cls, columns, *arguments)
        self._costs = dict(counting.costs)
        self._forms = forms_of(columns, len(cls.fields))
        self._parameters = parameters_of(cls, self._forms)
        self._is_on_copies = counting.on_copies
        kinds = [BYTES if p.what in POINTERS else INDEX for p in self._parameters]
        kinds += [INDEX, BYTES, INDEX, BYTES, INDEX] if counting.on_copies else []
        self._outside: Any = None
        if counting.checked and not rehearses:
            self._outside = on_stack(builder, INDEX, OUTSIDE_WORDS)
            kinds.append(INDEX.as_pointer())
        self._compute = ir.Function(builder.module, ir.FunctionType(INDEX, kinds), COUNTED)
        place = builder.load(builder.gep(self.faults, [INDEX(op.CHUNK_SLOTS - op.FAULT_WORD)]))
        # The first word before the table is the size of the arena.
        self._table = builder.inttoptr(place, INDEX.as_pointer())
        self._most = on_stack(builder, INDEX)
        self._rehearsal: DriverEmitter | None = None
        if rehearses:
            kind = ir.FunctionType(RESULT, [each.kind for each in arguments_of(cls)])
            compute, checked = ir.Function(builder.module, kind, _REHEARSED), Variant(checked=True)
            self._rehearsal = DriverEmitter(builder, cls, columns, checked, 0, compute, *arguments)

    def emit_vertex(self, parts: dict[tuple[int, str], Any]) -> None:
        """Emit the code that counts one vertex; `parts` are its words, by field and part."""
        builder = self.builder
        if self._rehearsal is not None:
            self._rehearse(self._rehearsal, parts)
        fields = {field.name: (k, field) for k, field in enumerate(self.fields)}
        arguments = [
            None if p.what == "worker" else self._argument(p, *fields[p.field], parts)
            for p in self._parameters
        ]
        copies = VertexCopies(builder, arguments)
        copied = self._copied(copies, fields) if self._is_on_copies else []
        builder.store(INDEX(0), self._most)
        if self.has_workers:
            number = next(p for p in self._parameters if p.field == "num_workers")
            workers = self._argument(number, *fields["num_workers"], parts)
            with count_up(builder, workers) as worker:
                own = [worker if p is None else p for p in arguments]
                self._count(parts[NUMBER, "number"], own, copied)
        else:
            self._count(parts[NUMBER, "number"], arguments, copied)
        if self._is_on_copies:
            copies.free()
        self._write(parts[NUMBER, "number"])

    def _rehearse(self, rehearsal: DriverEmitter, parts: dict[tuple[int, str], Any]) -> None:
        """Emit a run on copies of the accessed fields; if it stops, the driver stops too."""
        builder, arguments = self.builder, rehearsal.arguments(parts)
        changed = [
            (number, field)
            for number, field in enumerate(self.fields)
            if field.is_edge and field.reads and field.writes
        ]
        if not changed:
            rehearsal.run(parts[NUMBER, "number"], arguments)
            return
        words: list[Any] = []
        copies, names = VertexCopies(builder, words), []
        for number, field in changed:
            first = len(words)
            names += [f"{field.name}{part}" for part in _PARTS[field.depth, self._forms[number]]]
            for name in names[first:]:
                word = arguments[name]
                words.append(builder.bitcast(word, BYTES) if word.type.is_pointer else word)
            copies.add(field, self._forms[number], first)
        copies.make()
        for name, word in zip(names, words, strict=True):
            kind = arguments[name].type
            arguments[name] = builder.bitcast(word, kind) if kind.is_pointer else word
        rehearsal.run(parts[NUMBER, "number"], arguments, copies.free)
        copies.free()

    def _argument(
        self, parameter: Parameter, number: int, field: Field, parts: dict[tuple[int, str], Any]
    ) -> Any:
        """Emit an argument of the counting function."""
        builder = self.builder
        if parameter.what in ("pairs", "wide"):
            first = builder.shl(parts[number, "first"], INDEX(1))
            return builder.bitcast(builder.gep(parts[number, parameter.what], [first]), BYTES)
        if parameter.what not in ("data", "value"):
            return parts[number, parameter.what]
        base = builder.bitcast(self.arena, storage_type(field.element).as_pointer())
        where = "base" if (number, "base") in parts else "start"
        data = builder.gep(base, [parts[number, where]])
        if parameter.what == "data":
            return builder.bitcast(data, BYTES)
        access = access_of(self.cls, field, Use(half_in_hardware=converts_halves()))
        value = access.load(builder, data)
        return builder.zext(value, INDEX) if field.element is BOOL else value

    def _copied(self, copies: VertexCopies, fields: dict[str, tuple[int, Field]]) -> list[Any]:
        """Emit copies of the memory that the vertex changes; return the arguments for them."""
        for first, parameter in enumerate(self._parameters):
            if parameter.what == "data":
                number, field = fields[parameter.field]
                copies.add(field, self._forms[number], first)
        copies.make()
        arena_bytes = self.builder.load(self.builder.gep(self._table, [INDEX(-1)]))
        return [INDEX(_MOST_PARTS), self.arena, arena_bytes, copies.memory, copies.size]

    def _count(self, vertex: Any, arguments: list[Any], copied: list[Any]) -> None:
        """Call the counting function; the slots are those of the slowest worker."""
        builder, outside = self.builder, self._outside
        if outside is None:
            taken = builder.call(self._compute, [*arguments, *copied])
        else:
            taken = builder.call(self._compute, [*arguments, outside])
            stops = builder.icmp_signed("==", taken, INDEX(OUTSIDE))
            with builder.if_then(stops, likely=False):
                places = (builder.gep(outside, [INDEX(k)]) for k in range(OUTSIDE_WORDS))
                record_fault(builder, self.faults, vertex, *map(builder.load, places))
                builder.ret_void()
        slots = builder.lshr(builder.add(taken, INDEX(PARTS // 2)), INDEX(PARTS.bit_length() - 1))
        is_cut = builder.icmp_unsigned(">", taken, INDEX(_MOST_PARTS))  # so is OVER
        slots = builder.select(is_cut, INDEX(MOST_COUNTED), slots)
        most = builder.load(self._most)
        is_more = builder.icmp_unsigned(">", slots, most)
        builder.store(builder.select(is_more, slots, most), self._most)

    def _write(self, vertex: Any) -> None:
        """Record the slots of a vertex."""
        builder, slots = self.builder, self.builder.load(self._most)
        if self.has_workers:
            cycles = builder.mul(slots, INDEX(int(self._costs["workers"])))
            slots = builder.add(cycles, INDEX(int(self._costs["supervisor_overhead"])))
        builder.store(slots, builder.gep(self._table, [vertex]))
