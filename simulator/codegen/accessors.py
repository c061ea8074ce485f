"""Define, for one use, the small functions that a lowered `compute` calls, such as for its fields.

                     running                           priced
    inside.0         true; checked: index < length     true
    row.1            by the form of the list           by the form of the list
    even.1           the length of each row; 0 if lengths differ
    load.0, store.2  marked: fields do not overlap     not marked; halves take one conversion
    state.3          the value, loaded beforehand      loaded from memory if it is a float
    guard.holds      true; checked: the guard          true

The marks are alias scopes on every load and store: the race check proves that fields of one
compute set do not overlap. Code to be priced resembles the output of the IPU's compiler, which
does not know that fields do not overlap.

A lowered `compute` takes these arguments::

    x: Input[Vector[FLOAT]]             x, x.length
    rows: Input[Vector[Vector[HALF]]]   rows, rows.rows, rows.stride, rows.length, rows.table
    y: Output[QUARTER]                  y, y.byte, its metadata
    n: State[INT]                       n, n.value
    the vertex itself                   self.about; for a MultiVertex also self.worker

Importing this module imports llvmlite.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, Literal

import numpy as np
from llvmlite import ir

from poplite.executable import encoding as op
from poplite.executable.encoding import Forms, RowForm
from poplite.frozen import frozen
from poplite.machine.floating_point import STOCHASTIC
from poplite.simulator.codegen import codecs
from poplite.simulator.codegen.codecs import half_by_mode, quarter_by_mode, random_bits
from poplite.types import BOOL, FLOAT, HALF, QUARTER, ElementType
from poplite.vertex.compute.mathematics import DOUBLES, KERNELS, PAIRS
from poplite.vertex.vertex import Field, MultiVertex, Vertex

INDEX, NARROW = ir.IntType(64), ir.IntType(32)
TRUTH = ir.IntType(1)

COMPUTE = "vertex.compute"
"""Name of the lowered `compute`, see `poplite.simulator.codegen.lowered`."""

INSIDE, ROW, EVEN, LOAD, STORE, STATE = (
    f"field.{name}." for name in ("inside", "row", "even", "load", "store", "state")
)
"""Names of accessors, followed by the number of the field."""

SPAN, LANES, SET_LANES = "field.span.", "field.lanes.", "field.set_lanes."
"""Names of accessors of lanes, likewise (`poplite.simulator.codegen.lane_accessors`)."""

HOLDS = "guard.holds"
"""Name of a function of a loop's guard; see `poplite.vertex.compute.identity`."""

NUMBER = "number."
"""Prefix of the name of a function of float32, followed by `half` or a function of `math`."""

OF_DOUBLE = ".double"
"""Suffix of the name of a function of double."""

(
    ABOUT_FAULTS, ABOUT_VERTEX, ABOUT_RANDOM, ABOUT_LOG, ABOUT_WORKER, ABOUT_EXIT, ABOUT_WORDS,
) = 0, 1, 2, 4, 5, 6, 7  # fmt: skip
"""Words of a vertex record: address of the fault record, number of the vertex, random bits; if
accesses are logged, also the chunk's word for the log, and the number of the worker, from 1; the
address of the place to which a vertex returns when it stops (`numbered_accessors`). The last
constant is the size of the record in words."""


CACHE_LINE = 64
"""Size of a cache line in bytes."""


def storage_type(element: type[ElementType[Any]]) -> ir.Type:
    """Return the LLVM type of an element in memory."""
    return ir.FloatType() if element is FLOAT else ir.IntType(8 * element.size_bytes)


def seen_type(element: type[ElementType[Any]]) -> ir.Type:
    """Return the LLVM type of an element in `compute`."""
    if element.is_floating_point:
        return ir.FloatType()
    return TRUTH if element is BOOL else INDEX


@frozen(eq=False)
class Use:
    """The use for which accessors are defined.

    Attributes:
        mode: how stores behave (`poplite.machine.floating_point`).
        checked: whether indices are compared with lengths.
        logged: whether accesses are recorded in the log of workers' accesses.
        fetched: as in `Variant`.
        priced: whether the code is to be priced, not run.
        half_in_hardware: whether the processor converts halves.
        longs_in_hardware: whether it converts a vector of int64 to doubles.
        counts_turns: whether iterations of loops are counted, and end the vertex at a limit.
        marked: whether each index is passed to a function that the module declares.
    """

    mode: int = 0
    checked: bool = False
    logged: bool = False
    fetched: str | None = None
    priced: bool = False
    half_in_hardware: bool = False
    longs_in_hardware: bool = False
    counts_turns: bool = False
    marked: bool = False


@frozen(eq=False)
class FieldAccess:
    """Loads and stores of elements of a field.

    Attributes:
        own: name of the field, for its alias scope; None for code to be priced.
        others: names of other fields of the class, none of which overlaps this field: all other
            fields if it is written, otherwise only the written ones.
        mode: how stores behave (`poplite.machine.floating_point`).
        half_in_hardware: whether the processor converts halves.
        logged: whether accesses are recorded in the log of workers' accesses.
        fetched: whether loads of lanes also fetch memory that is read later.
    """

    element: type[ElementType[Any]]
    own: str | None
    others: tuple[str, ...]
    mode: int
    half_in_hardware: bool
    logged: bool = False
    fetched: bool = False

    def load(
        self, builder: ir.IRBuilder, address: Any, about: Any = None, metadata: Any = None
    ) -> Any:
        """Emit a load of one element, widened to what `compute` sees.

        `about` is the vertex record, which only logged loads need; `metadata` is an i8.
        """
        element = self.element
        if self.logged:
            log_load(builder, address, about)
        stored = self.mark(builder, builder.load(address, align=element.size_bytes))
        if element is FLOAT:
            return stored
        if self.own is None and element in (HALF, QUARTER):
            return codecs.decode_in_one(builder, stored)
        if element is HALF:
            return codecs.decode_half(builder, stored, hardware=self.half_in_hardware)
        if element is QUARTER:
            return codecs.decode_quarter(builder, stored, metadata)
        if element is BOOL:
            return builder.icmp_unsigned("!=", stored, stored.type(0))
        widen = builder.zext if element.dtype.kind == "u" else builder.sext
        return widen(stored, INDEX)

    def store(
        self, builder: ir.IRBuilder, address: Any, value: Any, about: Any, metadata: Any = None
    ) -> Any:
        """Emit a store of one value, narrowed to the element type; `about` is the vertex record.

        Returns an i32 that is negative if the value was too large and the mode checks for that.
        """
        element, found = self.element, NARROW(0)
        if self.own is None and element in (HALF, QUARTER):
            value = codecs.encode_in_one(builder, value, storage_type(element))
        elif element in (HALF, QUARTER):
            value, found = self._encoded(builder, value, about, metadata)
        elif element is BOOL:
            value = builder.zext(value, ir.IntType(8))
        elif element is not FLOAT:
            value = builder.trunc(value, storage_type(element))
        if self.logged:
            before = self.mark(builder, builder.load(address, align=element.size_bytes))
            log_store(builder, address, about, before, value)
        self.mark(builder, builder.store(value, address, align=element.size_bytes))
        return found

    def _encoded(
        self, builder: ir.IRBuilder, value: Any, about: Any, metadata: Any
    ) -> tuple[Any, Any]:
        """Emit the HALF or QUARTER for a float, by the mode of stores."""
        random = None
        if self.mode & STOCHASTIC:
            random = random_bits(builder, random_of(builder, about))
        if self.element is HALF:
            hardware, by_mode = self.half_in_hardware, half_by_mode
            code = codecs.encode_half(builder, value, hardware=hardware, random=random)
        else:
            by_mode = quarter_by_mode
            code = codecs.encode_quarter(builder, value, metadata, random)
        if not self.mode & ~STOCHASTIC:
            return code, NARROW(0)
        return by_mode(builder, code, value, self.mode)

    def mark(self, builder: ir.IRBuilder, access: Any) -> Any:
        """Mark an instruction as accessing only this field."""
        if self.own is None:
            return access
        module = builder.module
        domain = module.add_metadata(["poplite"])

        def scopes(names: Iterable[str]) -> Any:
            return module.add_metadata([module.add_metadata([name, domain]) for name in names])

        access.set_metadata("alias.scope", scopes((self.own,)))
        if self.others:
            access.set_metadata("noalias", scopes(self.others))
        return access


def access_of(cls: type[Vertex], field: Field, use: Use) -> FieldAccess:
    """Return the loads and stores of elements of a field."""
    rounds = field.writes and field.element in (HALF, QUARTER)
    how = use.mode if rounds else 0, use.half_in_hardware
    if use.priced:
        return FieldAccess(field.element, None, (), *how)
    # Loads may always be reordered with loads, so only pairs with a store matter; a class may have
    # hundreds of fields that are only loaded.
    others = tuple(
        name
        for name, other in cls.fields.items()
        if other is not field and (field.writes or other.writes)
    )
    logged = use.logged and field.writes  # fields do not overlap: no store changes other fields
    return FieldAccess(
        field.element, field.name, others, *how, logged, fetched=field.name == use.fetched
    )


def log_load(builder: ir.IRBuilder, address: Any, about: Any) -> None:
    """Emit the record that a worker reads an element."""
    entry, word, writer, reader, me = _logged(builder, address, about)
    is_first = builder.icmp_unsigned("==", reader, NARROW(0))
    first = builder.shl(me, NARROW(op.LOG_BITS))
    noted = builder.or_(word, builder.select(is_first, first, NARROW(0)))
    found = builder.select(_is_other(builder, writer, me), NARROW(op.READ_WRITTEN), NARROW(0))
    _note_fault(builder, entry, word, noted, me, found)


def log_store(builder: ir.IRBuilder, address: Any, about: Any, before: Any, value: Any) -> None:
    """Emit the record that a worker replaces `before` by a value, both as stored in memory."""
    entry, word, writer, reader, me = _logged(builder, address, about)
    if isinstance(value.type, ir.FloatType):
        before, value = (builder.bitcast(each, NARROW) for each in (before, value))
    is_first = builder.icmp_unsigned("==", writer, NARROW(0))
    noted = builder.or_(word, builder.select(is_first, me, NARROW(0)))
    differs = builder.icmp_unsigned("!=", before, value)
    changes = builder.and_(_is_other(builder, writer, me), differs)
    found = builder.select(_is_other(builder, reader, me), NARROW(op.WROTE_READ), NARROW(0))
    found = builder.select(changes, NARROW(op.CHANGED_WRITTEN), found)
    _note_fault(builder, entry, word, noted, me, found)


def _logged(builder: ir.IRBuilder, address: Any, about: Any) -> tuple[Any, Any, Any, Any, Any]:
    """Emit an element's position in the log, its entry, writer and reader, and this worker."""
    log, worker = (
        builder.load(builder.gep(about, [INDEX(word)])) for word in (ABOUT_LOG, ABOUT_WORKER)
    )
    at = builder.shl(builder.ptrtoint(address, INDEX), INDEX(2))
    entry = builder.inttoptr(builder.add(log, at), NARROW.as_pointer())
    word, mask = builder.load(entry), NARROW((1 << op.LOG_BITS) - 1)
    reader = builder.and_(builder.lshr(word, NARROW(op.LOG_BITS)), mask)
    return entry, word, builder.and_(word, mask), reader, builder.trunc(worker, NARROW)


def _is_other(builder: ir.IRBuilder, worker: Any, me: Any) -> Any:
    is_there = builder.icmp_unsigned("!=", worker, NARROW(0))
    return builder.and_(is_there, builder.icmp_unsigned("!=", worker, me))


def _note_fault(
    builder: ir.IRBuilder, entry: Any, word: Any, noted: Any, me: Any, found: Any
) -> None:
    """Emit the store of a word of the log, with the conflict if it is the element's first."""
    is_wrong = builder.icmp_unsigned("!=", found, NARROW(0))
    is_first = builder.icmp_unsigned("<", word, NARROW(1 << 2 * op.LOG_BITS))
    fault = builder.or_(builder.shl(found, NARROW(op.LOG_BITS)), me)
    fault = builder.shl(fault, NARROW(2 * op.LOG_BITS))
    fault = builder.select(builder.and_(is_wrong, is_first), fault, NARROW(0))
    builder.store(builder.or_(noted, fault), entry)


def random_of(builder: ir.IRBuilder, about: Any) -> Any:
    """Emit the address of the random bits in a vertex record."""
    return builder.bitcast(builder.gep(about, [INDEX(ABOUT_RANDOM)]), NARROW.as_pointer())


def record_fault(builder: ir.IRBuilder, faults: Any, *words: Any) -> None:
    """Emit the stores of a fault record: vertex, field, index, length; perhaps file and line."""
    for number, word in enumerate((INDEX(1), *words)):
        builder.store(word, builder.gep(faults, [INDEX(number)]))


def fetch_line(builder: ir.IRBuilder, at: Any) -> None:
    """Emit the fetch of a cache line by the address of a byte, which may be any number."""
    kind = ir.FunctionType(ir.VoidType(), [at.type, *[NARROW] * 3])
    fetch = builder.module.declare_intrinsic("llvm.prefetch", [at.type], kind)
    is_store, locality, is_data = 0, 3, 1
    builder.call(fetch, [at, *map(NARROW, (is_store, locality, is_data))])


def pair_type(form: RowForm) -> ir.Type:
    """Return the LLVM type of the numbers in a table of rows."""
    return NARROW if form == "pairs" else INDEX


def accessors(declared: Collection[str], cls: type[Vertex], forms: Forms, use: Use) -> str:
    """Return the text of a module that defines the `declared` accessors of a class."""
    module = ir.Module()
    if HOLDS in declared:
        function = ir.Function(module, ir.FunctionType(TRUTH, [TRUTH]), HOLDS)
        function.attributes.add("alwaysinline")
        builder = ir.IRBuilder(function.append_basic_block())
        builder.ret(function.args[0] if use.checked else TRUTH(1))
    for name in sorted(each for each in declared if each.startswith(NUMBER)):
        _define_number(module, name, use)
    for number, field in enumerate(cls.fields.values()):
        of_field = _Accessors(module, field, number, access_of(cls, field, use))
        if f"{INSIDE}{number}" in declared:
            of_field.inside(checked=use.checked)
        if f"{ROW}{number}" in declared:
            of_field.row(forms[number] or "stride", is_invariant=use.priced)
        if f"{EVEN}{number}" in declared:
            of_field.even(forms[number] or "stride")
        if f"{LOAD}{number}" in declared:
            of_field.load()
        if f"{STORE}{number}" in declared:
            of_field.store()
        if f"{STATE}{number}" in declared:
            of_field.state(in_memory=use.priced and field.element.is_floating_point)
    return str(module)


def _define_number(module: ir.Module, name: str, use: Use) -> None:
    """Define a function of floats: poplite's own code, or a library call in priced code."""
    of = name.removeprefix(NUMBER).removesuffix(OF_DOUBLE)
    is_double = name.endswith(OF_DOUBLE)
    kind = ir.DoubleType() if is_double else ir.FloatType()
    kind = ir.FunctionType(kind, [kind] * (2 if of in PAIRS else 1))
    function = ir.Function(module, kind, name)
    # For float32 it becomes part of a vectorized loop; for double it is too long.
    function.attributes.add("noinline" if is_double and not use.priced else "alwaysinline")
    builder = ir.IRBuilder(function.append_basic_block())
    if of == "half":
        (value,) = function.args
        if use.priced:
            code = codecs.encode_in_one(builder, value, ir.IntType(16))
            builder.ret(codecs.decode_in_one(builder, code))
            return
        code = codecs.encode_half(builder, value, hardware=use.half_in_hardware)
        builder.ret(codecs.decode_half(builder, code, hardware=use.half_in_hardware))
        return
    if use.priced:
        called = ir.Function(module, kind, of if is_double else f"{of}f")
        builder.ret(builder.call(called, function.args))
        return
    made = define_mathematics(builder, of, function.args, converts_longs=use.longs_in_hardware)
    builder.ret(made)


class _Accessors:
    """Defines the accessors of one field."""

    def __init__(self, module: ir.Module, field: Field, number: int, access: FieldAccess) -> None:
        self._module, self._number, self._access = module, number, access
        self._at = storage_type(field.element).as_pointer()
        self._seen = seen_type(field.element)
        self._metadata = [ir.IntType(8)] if field.element.requires_metadata else []
        self._about = INDEX.as_pointer()

    def _define(
        self, prefix: str, result: ir.Type, arguments: Sequence[ir.Type]
    ) -> tuple[ir.IRBuilder, Sequence[Any]]:
        function = ir.Function(
            self._module, ir.FunctionType(result, arguments), f"{prefix}{self._number}"
        )
        function.attributes.add("alwaysinline")
        return ir.IRBuilder(function.append_basic_block()), function.args

    def inside(self, *, checked: bool) -> None:
        builder, (index, length, about) = self._define(INSIDE, TRUTH, [INDEX, INDEX, self._about])
        if not checked:
            builder.ret(TRUTH(1))
            return
        is_inside = builder.icmp_unsigned("<", index, length)
        with builder.if_then(builder.not_(is_inside), likely=False):
            place = builder.load(builder.gep(about, [INDEX(ABOUT_FAULTS)]))
            vertex = builder.load(builder.gep(about, [INDEX(ABOUT_VERTEX)]))
            faults = builder.inttoptr(place, INDEX.as_pointer())
            record_fault(builder, faults, vertex, INDEX(self._number), index, length)
        builder.ret(is_inside)

    def row(self, form: RowForm, *, is_invariant: bool) -> None:
        place = ir.LiteralStructType([INDEX, INDEX])
        kinds = [INDEX, INDEX, ir.IntType(8).as_pointer(), INDEX]
        builder, (stride, length, table, index) = self._define(ROW, place, kinds)
        if form == "stride":
            offset = builder.mul(index, stride)
        else:
            pairs = builder.bitcast(table, pair_type(form).as_pointer())
            entry = builder.gep(pairs, [builder.shl(index, INDEX(1))])
            pair = builder.load(entry), builder.load(builder.gep(entry, [INDEX(1)]))
            if is_invariant:  # no store changes a table, but no alias scope expresses this
                for word in pair:
                    word.set_metadata("invariant.load", self._module.add_metadata([]))
            offset, length = (builder.zext(word, INDEX) for word in pair)
        row = builder.insert_value(place(ir.Undefined), offset, 0)
        builder.ret(builder.insert_value(row, length, 1))

    def even(self, form: RowForm) -> None:
        """Define the length of all rows; 0 if they may differ."""
        builder, (length,) = self._define(EVEN, INDEX, [INDEX])
        builder.ret(length if form == "stride" else INDEX(0))

    def load(self) -> None:
        builder, arguments = self._define(
            LOAD, self._seen, [self._at, self._about, *self._metadata]
        )
        builder.ret(self._access.load(builder, *arguments))

    def store(self) -> None:
        kinds = [self._at, self._seen, self._about, *self._metadata]
        builder, arguments = self._define(STORE, NARROW, kinds)
        builder.ret(self._access.store(builder, *arguments))

    def state(self, *, in_memory: bool) -> None:
        builder, (value, at) = self._define(STATE, self._seen, [self._seen, self._at])
        builder.ret(self._access.load(builder, at) if in_memory else value)


# -- arguments of compute --------------------------------------------------------------------------


RESULT = ir.LiteralStructType([ir.IntType(32), TRUTH])
"""The result of `compute`: its status, and its return value; true if it returns nothing."""

Part = Literal["data", "value", "length", "rows", "stride", "table", "metadata", "about", "worker"]

_PARTS: tuple[tuple[Part, ...], ...] = (
    ("data",),
    ("data", "length"),
    ("data", "rows", "stride", "length", "table"),
)


@frozen(eq=False)
class DriverArgument:
    """An argument: the number of its field (None for the vertex itself), and the field's part."""

    name: str
    field: int | None
    part: Part
    kind: ir.Type


def arguments_of(cls: type[Vertex]) -> list[DriverArgument]:
    """Return the arguments of a lowered `compute`, in order."""
    found = [
        DriverArgument(_argument_name(name, part), number, part, _argument_kind(field, part))
        for number, (name, field) in enumerate(cls.fields.items())
        for part in _argument_parts(field)
    ]
    found.append(DriverArgument("self.about", None, "about", INDEX.as_pointer()))
    if issubclass(cls, MultiVertex):
        found.append(DriverArgument("self.worker", None, "worker", INDEX))
    return found


def _argument_name(field: str, part: Part) -> str:
    # The metadata of field x is a separate field with the name x.metadata.
    return field if part == "data" else f"{field}.{'byte' if part == 'metadata' else part}"


def _argument_parts(field: Field) -> tuple[Part, ...]:
    parts = _PARTS[field.depth]
    if field.role == "state" and not field.depth:
        parts = (*parts, "value")
    return (*parts, "metadata") if field.element.requires_metadata else parts


def _argument_kind(field: Field, part: Part) -> ir.Type:
    if part == "data":
        return storage_type(field.element).as_pointer()
    if part == "value":
        return seen_type(field.element)
    if part == "metadata":
        return ir.IntType(8)
    return ir.IntType(8).as_pointer() if part == "table" else INDEX


# -- functions of `math` ---------------------------------------------------------------------------
# A kernel of `poplite.vertex.compute.mathematics` is called once, with values whose operations each
# emit an instruction:
#
#     x * 0.5 + 1.0       %1 = fmul float %x, 0.5
#                         %2 = fadd float %1, 1.0
#
# No flags let LLVM contract or reorder operations.

SINGLE, DOUBLE = ir.FloatType(), ir.DoubleType()
_INTEGERS = {SINGLE: ir.IntType(32), DOUBLE: ir.IntType(64)}
_FLOATS = {32: SINGLE, 64: DOUBLE}


def longs_in_hardware(features: str) -> bool:
    """Return whether a processor with these LLVM features converts a vector of int64 to doubles.

    >>> longs_in_hardware("+avx2,+avx512dq"), longs_in_hardware("+avx2,-avx512dq")
    (True, False)
    """
    return "+avx512dq" in features.split(",")


def define_mathematics(
    builder: ir.IRBuilder, name: str, arguments: Sequence[Any], *, converts_longs: bool
) -> Any:
    """Emit a function of float32 or double values, and return its result.

    `converts_longs` is the result of `longs_in_hardware`; it does not affect the result's bits.
    """
    kernels = KERNELS if arguments[0].type == SINGLE else DOUBLES
    values = (_Value(builder, each) for each in arguments)
    return kernels[name](_Evaluator(builder, converts_longs=converts_longs), *values).emitted


class _Value:
    """A value of emitted code, with the operators of numbers."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, builder: ir.IRBuilder, emitted: Any) -> None:
        self.builder, self.emitted = builder, emitted

    def made(self, emitted: Any) -> _Value:
        """Return another value of the same code."""
        return _Value(self.builder, emitted)

    def beside(self, other: Any) -> Any:
        """Return another operand; a plain number gets the type of this value."""
        if isinstance(other, _Value):
            return other.emitted
        return self.emitted.type(float(other) if self.emitted.type in _INTEGERS else int(other))

    def _operation(self, floats: str, integers: str, other: Any) -> _Value:
        name = floats if self.emitted.type in _INTEGERS else integers
        return self.made(getattr(self.builder, name)(self.emitted, self.beside(other)))

    def __add__(self, other: Any) -> _Value:
        return self._operation("fadd", "add", other)

    def __sub__(self, other: Any) -> _Value:
        return self._operation("fsub", "sub", other)

    def __mul__(self, other: Any) -> _Value:
        return self._operation("fmul", "mul", other)

    def __truediv__(self, other: Any) -> _Value:
        return self._operation("fdiv", "", other)

    def __radd__(self, other: Any) -> _Value:
        return self.made(self.beside(other)) + self

    def __rsub__(self, other: Any) -> _Value:
        return self.made(self.beside(other)) - self

    def __rmul__(self, other: Any) -> _Value:
        return self.made(self.beside(other)) * self

    def __rtruediv__(self, other: Any) -> _Value:
        return self.made(self.beside(other)) / self

    def __lshift__(self, other: int) -> _Value:
        return self._operation("", "shl", other)

    def __rshift__(self, other: int) -> _Value:
        return self._operation("", "ashr", other)

    def __and__(self, other: Any) -> _Value:
        return self._operation("", "and_", other)

    def __or__(self, other: Any) -> _Value:
        return self._operation("", "or_", other)

    def __xor__(self, other: Any) -> _Value:
        return self._operation("", "xor", other)

    def __neg__(self) -> _Value:
        return self.made(self.builder.fneg(self.emitted))

    def __abs__(self) -> _Value:
        intrinsic = self.builder.module.declare_intrinsic("llvm.fabs", [self.emitted.type])
        return self.made(self.builder.call(intrinsic, [self.emitted]))

    def _compared(self, sign: str, other: Any) -> _Value:
        operands = self.emitted, self.beside(other)
        if self.emitted.type not in _INTEGERS:
            return self.made(self.builder.icmp_signed(sign, *operands))
        compare = self.builder.fcmp_unordered if sign == "!=" else self.builder.fcmp_ordered
        return self.made(compare(sign, *operands))

    def __lt__(self, other: Any) -> _Value:
        return self._compared("<", other)

    def __gt__(self, other: Any) -> _Value:
        return self._compared(">", other)

    def __eq__(self, other: object) -> Any:
        return self._compared("==", other)

    def __ne__(self, other: object) -> Any:
        return self._compared("!=", other)


def _bits_of(number: float) -> int:
    """Return the bits of a double."""
    return int(np.float64(number).view(np.int64))


class _Evaluator:
    """Emits the functions that kernels call; see `poplite.vertex.compute.mathematics_singles`."""

    def __init__(self, builder: ir.IRBuilder, *, converts_longs: bool) -> None:
        self._builder, self._converts_longs = builder, converts_longs
        self._tables: dict[Sequence[int], Any] = {}

    def choose(self, condition: _Value, one: Any, other: Any) -> _Value:
        strong = one if isinstance(one, _Value) else other
        return strong.made(
            self._builder.select(condition.emitted, strong.beside(one), strong.beside(other))
        )

    def bits(self, value: _Value) -> _Value:
        kind = _INTEGERS[value.emitted.type]
        return value.made(self._builder.bitcast(value.emitted, kind))

    def floats(self, bits: _Value) -> _Value:
        kind = _FLOATS[bits.emitted.type.width]
        return bits.made(self._builder.bitcast(bits.emitted, kind))

    def double(self, value: _Value) -> _Value:
        if value.emitted.type == SINGLE:
            return value.made(self._builder.fpext(value.emitted, DOUBLE))
        if self._converts_longs:
            return value.made(self._builder.sitofp(value.emitted, DOUBLE))
        return self._double_of_integer(value)

    def _double_of_integer(self, value: _Value) -> _Value:
        """Emit the conversion of an int64 to double, in operations that all processors vectorize.

        Both halves become exact doubles, in the lowest digits of a large double: 2^52 plus the
        lower half, and 2^84 plus 2^32 times the sum of the upper half and 2^31. Only the sum of the
        two is rounded.
        """
        half = (1 << 32) - 1
        lower = self.floats((value & half) | _bits_of(2.0**52))
        raised = value ^ -(1 << 63)
        upper = self.floats(((raised >> 32) & half) | _bits_of(2.0**84))
        return (upper - (2.0**84 + 2.0**63 + 2.0**52)) + lower

    def single(self, value: _Value) -> _Value:
        return value.made(self._builder.fptrunc(value.emitted, SINGLE))

    def sqrt(self, value: _Value) -> _Value:
        return self._intrinsic("llvm.sqrt", value)

    def rint(self, value: _Value) -> _Value:
        return self._intrinsic("llvm.rint", value)

    def _intrinsic(self, name: str, value: _Value) -> _Value:
        intrinsic = self._builder.module.declare_intrinsic(name, [value.emitted.type])
        return value.made(self._builder.call(intrinsic, [value.emitted]))

    def lookup(self, table: Sequence[int], index: _Value) -> _Value:
        place = self._builder.gep(
            self._table(table), [ir.IntType(64)(0), index.emitted], inbounds=True
        )
        return index.made(self._builder.load(place))

    def _table(self, table: Sequence[int]) -> Any:
        if table not in self._tables:
            module = self._builder.module
            kind = ir.ArrayType(ir.IntType(64), len(table))
            constant = ir.GlobalVariable(module, kind, f"table.{len(module.globals)}")
            constant.global_constant, constant.linkage = True, "private"
            constant.initializer = ir.Constant(kind, list(table))
            self._tables[table] = constant
        return self._tables[table]
