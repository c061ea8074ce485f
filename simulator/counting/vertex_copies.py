"""Copies of what a vertex changes, for code that counts it and must leave memory as it is.

    arena    | x ........... | rows[0] ..    rows[1] ..    |       tables    | start length | ...
    copies   | x ........... | rows[0] .. rows[1] .. |                       | 0 length | ...

They lie in memory of their own, which is allocated before a vertex and freed behind it.  Tables of
rows are copied as well, also of lists that are only read: the code that counts may read the arena
and the copies, and nothing else.

Importing this module imports llvmlite.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from llvmlite import ir

from poplite.executable.descriptor import RowForm
from poplite.jit.instructions import call_named, count_up, on_stack
from poplite.simulator.codegen.accessors import INDEX, pair_type
from poplite.vertex.vertex import Field

BYTES = ir.IntType(8).as_pointer()

_Copy = tuple[Any, Callable[[Any], None]]
"""The bytes of a copy, and what emits it once its address is known."""


class VertexCopies:
    """Emits the copies of one vertex; they replace those in `arguments` of what counts.

    Attributes:
        memory: address of the copies, once they are made.
        size: their bytes.
    """

    def __init__(self, builder: ir.IRBuilder, arguments: list[Any]) -> None:
        self._builder, self._arguments = builder, arguments
        self._pending: list[_Copy] = []
        self.memory: Any = None
        self.size: Any = INDEX(0)

    def add(self, field: Field, form: RowForm | None, first: int) -> None:
        """Have the memory of an edge or vector of state copied, if its field needs a copy.

        `first` is the number of its first argument, the address; `form` says how rows are found.
        """
        builder = self._builder
        for size, put in self._copies(field, form, first):
            self._pending.append((self.size, put))
            # Each copy begins at a multiple of 8 bytes, as any element may.
            end = builder.add(builder.add(self.size, size), INDEX(7))
            self.size = builder.and_(end, INDEX(-8))

    def make(self) -> None:
        """Emit all copies."""
        builder = self._builder
        size = builder.add(self.size, INDEX(8))
        self.memory = call_named(builder, "malloc", BYTES, [size])
        for begin, put in self._pending:
            put(builder.gep(self.memory, [begin]))

    def free(self) -> None:
        """Emit what frees their memory."""
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
                rows, stride, length = arguments[k + 1 : k + 4]
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
        size = builder.mul(arguments[k + 1], INDEX(2 * number.width // 8))

        def put(own: Any) -> None:
            self._copy(own, arguments[k + 2], size)
            arguments[k + 2] = own

        return size, put

    def _uneven_rows(self, k: int, number: ir.IntType, element: Any) -> _Copy:
        """Return the copy of rows that a table lists; it changes the copy of that table."""
        builder, arguments = self._builder, self._arguments

        def pair(row: Any) -> tuple[Any, Any, Any]:
            """Return where the pair of a row is, and its start and length in bytes."""
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
