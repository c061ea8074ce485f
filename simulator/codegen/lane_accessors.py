"""Define the functions through which `compute` accesses lanes.

FLOAT has the same representation in memory and in lanes: one instruction loads or stores all lanes,
with a mask for absent lanes, if the processor has such instructions. All other types are converted
element by element, in a loop that LLVM vectorizes. Priced code loads, stores and converts all lanes
at once, for any representation in memory.

Loads of a field that is read row by row also fetch memory that is read later, since processors
themselves fetch neither the next page nor the next columns of a hundred rows::

    row after row         fetch two pages ahead       | a a a a a a a . . . f f f
    few columns of rows   fetch what the next         | a a . f . . .
                          vertex reads of each row    | a a . f . . .

Sums of the columns of 40 MB take 0.8 of the time.

Importing this module imports llvmlite, not Numba.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from llvmlite import ir

from poplite.executable import encoding as op
from poplite.simulator.codegen.accessors import (
    ABOUT_FAULTS,
    ABOUT_VERTEX,
    CACHE_LINE,
    INDEX,
    LANES,
    NARROW,
    SET_LANES,
    SPAN,
    TRUTH,
    FieldAccess,
    Use,
    access_of,
    fetch_line,
    record_fault,
    seen_type,
    storage_type,
)
from poplite.types import BOOL, FLOAT, HALF
from poplite.vertex.compute.lanes import WIDTH

if TYPE_CHECKING:
    from poplite.vertex.vertex import Vertex

# -- vectors ---------------------------------------------------------------------------------------


BYTE, PLACE = ir.IntType(8), ir.IntType(32)

PAGES_AHEAD, BESIDE = 8192, 128
"""Distances in bytes to the memory that is fetched: from lanes that fill a cache line, and from
fewer lanes."""


def present(builder: ir.IRBuilder, count: Any, width: int = WIDTH) -> Any:
    """Emit a mask of the lanes whose indices are less than a count: <width x i1>."""
    some = splat(builder, builder.trunc(count, BYTE), width)
    return builder.icmp_signed("<", _numbers(width), some)


@cache
def _numbers(width: int) -> ir.Constant:
    return ir.Constant(ir.VectorType(BYTE, width), list(range(width)))


@cache
def _zeros(width: int) -> ir.Constant:
    return ir.Constant(ir.VectorType(PLACE, width), [0] * width)


def splat(builder: ir.IRBuilder, value: Any, width: int = WIDTH) -> Any:
    """Emit a vector whose elements are all equal to a value."""
    kind = ir.VectorType(value.type, width)
    if isinstance(value, ir.Constant):
        return ir.Constant(kind, [value] * width)
    one = builder.insert_element(ir.Constant(kind, ir.Undefined), value, PLACE(0))
    return builder.shuffle_vector(one, ir.Constant(kind, ir.Undefined), _zeros(width))


def widened(builder: ir.IRBuilder, values: Any, width: int) -> Any:
    """Emit a vector padded with zeros to `width` elements."""
    count = values.type.count
    if count == width:
        return values
    places = [min(place, count) for place in range(width)]
    kind = ir.VectorType(PLACE, width)
    return builder.shuffle_vector(values, ir.Constant(values.type, None), ir.Constant(kind, places))


def smaller_of(builder: ir.IRBuilder, a: Any, b: Any) -> Any:
    """Emit the smaller of two counts."""
    return a if a is b else builder.select(builder.icmp_signed("<", a, b), a, b)


@contextmanager
def loop(builder: ir.IRBuilder, count: Any) -> Iterator[Any]:
    """Emit a loop that LLVM vectorizes, instead of 64 copies of its body."""
    before = builder.basic_block
    head, body, end = (builder.append_basic_block(f"lanes.{name}") for name in ("", "body", "end"))
    builder.branch(head)
    builder.position_at_end(head)
    turn = builder.phi(INDEX)
    builder.cbranch(builder.icmp_signed("<", turn, count), body, end)
    builder.position_at_end(body)
    yield turn
    following = builder.add(turn, INDEX(1), flags=("nuw", "nsw"))
    last = builder.branch(head)
    unrolls_not = builder.module.add_metadata(["llvm.loop.unroll.disable"])
    last.set_metadata("llvm.loop", builder.module.add_metadata([unrolls_not]))
    turn.add_incoming(INDEX(0), before)
    turn.add_incoming(following, builder.basic_block)
    builder.position_at_end(end)


def array_of(builder: ir.IRBuilder, value: Any) -> Any:
    """Emit an array on the stack with the elements of a vector; truth values become bytes."""
    kind = value.type
    if kind.element == TRUTH:
        kind = ir.VectorType(BYTE, kind.count)
        value = builder.zext(value, kind)
    with builder.goto_entry_block():
        array = builder.alloca(ir.ArrayType(kind.element, kind.count))
    builder.store(value, builder.bitcast(array, kind.as_pointer()), align=4)
    return array


def vector_of(builder: ir.IRBuilder, array: Any, kind: ir.VectorType) -> Any:
    """Emit the load of an array as a vector."""
    stored = kind if kind.element != TRUTH else ir.VectorType(BYTE, kind.count)
    values = builder.load(builder.bitcast(array, stored.as_pointer()), align=4)
    return values if stored is kind else builder.trunc(values, kind)


# -- accessors -------------------------------------------------------------------------------------


def masks_in_hardware(features: str) -> bool:
    """Return whether a processor with these LLVM features has masked loads and stores.

    >>> masks_in_hardware("+sse4.2,+avx"), masks_in_hardware("+neon")
    (True, False)
    """
    return "+avx" in features.split(",")


def lane_accessors(declared: Collection[str], cls: type[Vertex], use: Use, *, masked: bool) -> str:
    """Return the text of a module that defines the `declared` lane accessors of a class."""
    module = ir.Module()
    for number, field in enumerate(cls.fields.values()):
        access = access_of(cls, field, use)
        at, about = storage_type(field.element).as_pointer(), INDEX.as_pointer()
        if f"{SPAN}{number}" in declared:
            kind = ir.FunctionType(TRUTH, [INDEX, INDEX, INDEX, about])
            define_span(_begun(module, kind, f"{SPAN}{number}"), number, checked=use.checked)
        for prefix in (LANES, SET_LANES):
            for name in sorted(n for n in declared if n.startswith(f"{prefix}{number}.")):
                lanes = LaneAccess(access, int(name.rpartition(".")[2]), masked=masked)
                if prefix == LANES:
                    kind = ir.FunctionType(lanes.seen, [at, INDEX, about])
                    lanes.define_load(_begun(module, kind, name))
                else:
                    kind = ir.FunctionType(NARROW, [at, lanes.seen, INDEX, about])
                    lanes.define_store(_begun(module, kind, name))
    return str(module)


def _begun(module: ir.Module, kind: ir.FunctionType, name: str) -> ir.IRBuilder:
    """Return the builder for the body of an accessor."""
    function = ir.Function(module, kind, name)
    function.attributes.add("alwaysinline")
    return ir.IRBuilder(function.append_basic_block())


def define_span(builder: ir.IRBuilder, number: int, *, checked: bool) -> None:
    """Define the check that lanes are within a field.

    It takes the first index, the number of lanes, the length of the field, and the vertex record.
    """
    if not checked:
        builder.ret(TRUTH(1))
        return
    first, count, length, about = builder.function.args
    is_count = builder.icmp_unsigned("<=", count, INDEX(WIDTH))
    left = builder.sub(length, first)
    begins = builder.icmp_unsigned("<=", first, length)
    ends = builder.icmp_signed("<=", count, left)
    is_inside = builder.and_(is_count, builder.and_(begins, ends))
    with builder.if_then(builder.not_(is_inside), likely=False):
        place = builder.load(builder.gep(about, [INDEX(ABOUT_FAULTS)]))
        vertex = builder.load(builder.gep(about, [INDEX(ABOUT_VERTEX)]))
        last = builder.sub(builder.add(first, count), INDEX(1))
        index = builder.select(builder.icmp_unsigned("<", first, length), last, first)
        no_count = builder.and_(begins, builder.not_(is_count))
        index = builder.select(no_count, count, index)
        length = builder.select(no_count, INDEX(op.OF_LANES), length)
        faults = builder.inttoptr(place, INDEX.as_pointer())
        record_fault(builder, faults, vertex, INDEX(number), index, length)
    builder.ret(is_inside)


class LaneAccess:
    """Loads and stores lanes of one field; `access` converts each element.

    Attributes:
        seen: LLVM type of the lanes in `compute`.
    """

    def __init__(self, access: FieldAccess, width: int, *, masked: bool) -> None:
        self._access, self._width, self._masked = access, width, masked
        self._stored = ir.VectorType(storage_type(access.element), width)
        self.seen = ir.VectorType(seen_type(access.element), width)

    def define_load(self, builder: ir.IRBuilder) -> None:
        """Define the load of `count` lanes at an address."""
        at, count, about = builder.function.args
        access = self._access
        if access.own is None:
            builder.ret(self._widened(builder, self._loaded(builder, at, count)))
        elif self._is_one_access():
            if access.fetched:
                self._fetch(builder, at)
            builder.ret(access.mark(builder, self._loaded(builder, at, count)))
        else:
            array = array_of(builder, ir.Constant(self.seen, None))
            with loop(builder, count) as place:
                number = access.load(builder, builder.gep(at, [place], inbounds=True), about)
                if access.element is BOOL:
                    number = builder.zext(number, ir.IntType(8))
                builder.store(number, builder.gep(array, [INDEX(0), place], inbounds=True))
            builder.ret(vector_of(builder, array, self.seen))

    def _fetch(self, builder: ir.IRBuilder, at: Any) -> None:
        """Emit fetches of memory that is read later; they may be of any address."""
        size, pointer = self._width * self._access.element.size_bytes, BYTE.as_pointer()
        begin, at = PAGES_AHEAD if size >= CACHE_LINE else BESIDE, builder.bitcast(at, pointer)
        for line in range(begin, begin + size, CACHE_LINE):
            fetch_line(builder, builder.gep(at, [INDEX(line)]))

    def define_store(self, builder: ir.IRBuilder) -> None:
        """Define the store of `count` lanes; it returns the same status as stores of elements."""
        at, values, count, about = builder.function.args
        access = self._access
        if access.own is None:
            self._stores(builder, self._narrowed(builder, values), at, count)
            builder.ret(NARROW(0))
            return
        if self._is_one_access():
            access.mark(builder, self._stores(builder, values, at, count))
            builder.ret(NARROW(0))
            return
        array, place = array_of(builder, values), builder.alloca(NARROW)
        builder.store(NARROW(0), place)
        with loop(builder, count) as turn:
            number = builder.load(builder.gep(array, [INDEX(0), turn], inbounds=True))
            if access.element is BOOL:
                number = builder.trunc(number, TRUTH)
            target = builder.gep(at, [turn], inbounds=True)
            found = access.store(builder, target, number, about)
            builder.store(builder.or_(builder.load(place), found), place)
        builder.ret(builder.load(place))

    def _is_one_access(self) -> bool:
        """Return whether all lanes are loaded or stored by one instruction."""
        return self._access.element is FLOAT and self._masked and not self._access.logged

    def _vector(self, builder: ir.IRBuilder, at: Any) -> Any:
        return builder.bitcast(at, self._stored.as_pointer())

    def _loaded(self, builder: ir.IRBuilder, at: Any, count: Any) -> Any:
        zeros = ir.Constant(self._stored, None)
        there = present(builder, count, self._width)
        arguments = [self._vector(builder, at), self._align(), there, zeros]
        return self._call(builder, "load", self._stored, arguments)

    def _stores(self, builder: ir.IRBuilder, values: Any, at: Any, count: Any) -> Any:
        there = present(builder, count, self._width)
        arguments = [values, self._vector(builder, at), self._align(), there]
        return self._call(builder, "store", ir.VoidType(), arguments)

    def _align(self) -> Any:
        return NARROW(self._access.element.size_bytes)

    def _call(self, builder: ir.IRBuilder, what: str, result: ir.Type, arguments: list[Any]) -> Any:
        """Emit a masked load or store."""
        name = f"llvm.masked.{what}.v{self._width}{self._stored.element.intrinsic_name}.p0"
        kind = ir.FunctionType(result, [each.type for each in arguments])
        return builder.call(builder.module.declare_intrinsic(name, (), kind), arguments)

    def _widened(self, builder: ir.IRBuilder, values: Any) -> Any:
        element = self._access.element
        if element is FLOAT:
            return values
        if element is HALF:
            halves = builder.bitcast(values, ir.VectorType(ir.HalfType(), self._width))
            return builder.fpext(halves, self.seen)
        if element is BOOL:
            return builder.trunc(values, self.seen)
        widen = builder.zext if element.dtype.kind == "u" else builder.sext
        return values if self._stored == self.seen else widen(values, self.seen)

    def _narrowed(self, builder: ir.IRBuilder, values: Any) -> Any:
        element = self._access.element
        if element is FLOAT or self._stored == self.seen:
            return values
        if element is HALF:
            halves = builder.fptrunc(values, ir.VectorType(ir.HalfType(), self._width))
            return builder.bitcast(halves, self._stored)
        convert = builder.zext if element is BOOL else builder.trunc
        return convert(values, self._stored)
