"""Drivers that write down what each vertex takes, where data decide that.

    fast checks     the driver itself counts: it runs `compute` as it was priced, block by block
    strict checks   a driver of its own counts, before the one that runs the vertices: it works
                    on copies of what vertices change, and touches nothing else
    interpreted     the same, before Python runs the vertices

Slots stand in a table of the compute set, by the number of the vertex; of a MultiVertex they are
tile cycles.  Importing this module imports Numba.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba.core import cgutils

from poplite.executable.descriptor import NUMBER, Columns, forms_of
from poplite.executable.opcodes import CHUNK_SLOTS, FAULT_WORD
from poplite.simulator.codegen.accesses import load_element
from poplite.simulator.codegen.driver import DriverEmitter, emitted_source
from poplite.simulator.codegen.field_types import INDEX, SelfType, element_access, storage_type
from poplite.simulator.codegen.variant import Counting, Variant
from poplite.simulator.counting.vertex_copies import BYTES, VertexCopies
from poplite.simulator.pricing.measured_slots import running_module
from poplite.simulator.pricing.parameters import POINTERS, Parameter, parameters_of
from poplite.simulator.pricing.schedule import PARTS
from poplite.simulator.pricing.slot_function import MOST_SLOTS, OVER
from poplite.types import BOOL
from poplite.vertex.vertex import Field, Vertex


def counting_source(
    cls: type[Vertex], columns: Columns, counting: Counting
) -> tuple[Callable[..., Any], Sequence[Any], Any]:
    """Return what `poplite.jit.build` compiles for a vertex class that is counted.

    Args:
        cls: the vertex class.
        columns: what the words of a row are.
        counting: how it is counted.

    Returns:
        Function, Numba argument types and result type, as of other drivers.
    """
    # Which refers weakly to the class: Numba keeps for ever what emits.
    kind = SelfType(cls, forms_of(columns, len(cls.fields)), Variant(counting=counting))

    def emit(context: Any, builder: ir.IRBuilder, args: Any) -> None:
        _CountingEmitter(context, builder, kind, columns, *args).emit()

    return emitted_source(emit)


class _CountingEmitter(DriverEmitter):
    """Emits the loops of a driver that counts."""

    def prepare(self) -> None:
        """Compile `compute` as a function that returns what it takes."""
        builder, cls, counting = self.builder, self.kind.cls, self.kind.variant.counting
        assert counting is not None
        self.costs = dict(counting.costs)
        self.parameters = parameters_of(cls, self.kind.forms)
        self.is_on_copies = counting.on_copies
        name = f"counted.{id(cls)}"
        cost, forms = self.costs.__getitem__, self.kind.forms
        library = self.context.codegen().create_library(name)
        library.add_llvm_module(
            running_module(cls, forms, cost, name, on_copies=counting.on_copies)
        )
        library.finalize()
        self.context.active_code_library.add_linking_library(library)
        kinds = [BYTES if p.what in POINTERS else INDEX for p in self.parameters]
        kinds += [INDEX, BYTES, INDEX, BYTES, INDEX] if counting.on_copies else []
        self.compute = ir.Function(builder.module, ir.FunctionType(INDEX, kinds), name)
        # The first word before the table is the size of the arena.
        place = builder.load(builder.gep(self.faults, [INDEX(CHUNK_SLOTS - FAULT_WORD)]))
        self.table = builder.inttoptr(place, INDEX.as_pointer())
        self.most = cgutils.alloca_once(builder, INDEX)

    def emit_vertex(self, parts: dict[tuple[int, str], Any]) -> None:
        """Emit what counts one vertex.

        Args:
            parts: what the columns say of it, by field and part.
        """
        builder = self.builder
        fields = {field.name: (k, field) for k, field in enumerate(self.fields)}
        given = [
            None if p.what == "worker" else self._argument(p, *fields[p.field], parts)
            for p in self.parameters
        ]
        copies = VertexCopies(builder, given)
        apart = self._apart(copies, fields) if self.is_on_copies else []
        builder.store(INDEX(0), self.most)
        if self.worker:
            number = next(p for p in self.parameters if p.field == "num_workers")
            workers = self._argument(number, *fields["num_workers"], parts)
            with cgutils.for_range(builder, workers) as worker:
                self._count([worker.index if p is None else p for p in given], apart)
        else:
            self._count(given, apart)
        if self.is_on_copies:
            copies.free()
        self._write(parts[NUMBER, "number"])

    def _argument(
        self, parameter: Parameter, number: int, field: Field, parts: dict[tuple[int, str], Any]
    ) -> Any:
        """Emit an argument of the function."""
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
        value = load_element(self.context, builder, element_access(self.kind.cls, field), data)
        return builder.zext(value, INDEX) if field.element is BOOL else value

    def _apart(self, copies: VertexCopies, fields: dict[str, tuple[int, Field]]) -> list[Any]:
        """Emit copies of what would be changed; return the arguments for it."""
        for first, parameter in enumerate(self.parameters):
            if parameter.what == "data":
                number, field = fields[parameter.field]
                copies.add(field, self.kind.forms[number], first)
        copies.make()
        arena_bytes = self.builder.load(self.builder.gep(self.table, [INDEX(-1)]))
        budget = INDEX(MOST_SLOTS * PARTS)
        return [budget, self.arena, arena_bytes, copies.memory, copies.size]

    def _count(self, given: list[Any], apart: list[Any]) -> None:
        """Call the function; the slowest worker decides."""
        builder = self.builder
        taken = builder.call(self.compute, [*given, *apart])
        slots = builder.lshr(builder.add(taken, INDEX(PARTS // 2)), INDEX(PARTS.bit_length() - 1))
        over = builder.icmp_signed("==", taken, INDEX(OVER))
        slots = builder.select(over, INDEX(MOST_SLOTS), slots)
        most = builder.load(self.most)
        is_more = builder.icmp_unsigned(">", slots, most)
        builder.store(builder.select(is_more, slots, most), self.most)

    def _write(self, vertex: Any) -> None:
        """Write down what a vertex took."""
        builder, slots = self.builder, self.builder.load(self.most)
        if self.worker:
            cycles = builder.mul(slots, INDEX(int(self.costs["workers"])))
            slots = builder.add(cycles, INDEX(int(self.costs["supervisor_overhead"])))
        builder.store(slots, builder.gep(self.table, [vertex]))
