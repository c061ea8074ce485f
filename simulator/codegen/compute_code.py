"""LLVM code for `compute` of a vertex class, made once for all its uses.

    compute_code(cls)        text with declared accessors, typed and lowered by Numba, or cached
    linked_compute(cls)      a module that defines them for one use, ready to be optimized

Work that does not depend on the use is done once: engines with and without strict checks or
counting, and the pricing of vertices, all start from the same text. A class has one driver for each
`Variant`; the slots of its vertices are a function of their shapes.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import zip_longest
from typing import TYPE_CHECKING, Literal

from poplite.frozen import frozen
from poplite.jit import digest
from poplite.jit.build import is_kept, kept_text
from poplite.machine.floating_point import OVERFLOW_NAN, STORES, TRAPS
from poplite.simulator.running import announcer
from poplite.types import HALF, QUARTER
from poplite.vertex.compute.meaning import meaning_of
from poplite.vertex.compute.typed_facts import Checked
from poplite.vertex.fields import ShapeKind, fields_of
from poplite.vertex.vertex import MultiVertex, Vertex

if TYPE_CHECKING:
    import llvmlite.binding as llvm

    from poplite.executable.encoding import Forms

# -- uses ------------------------------------------------------------------------------------------


MOST_COUNTED = 1 << 31
"""Maximum number of slots of a vertex that are counted while it runs: ten seconds on a machine."""


@frozen
class Counting:
    """The way in which a driver counts the slots of each vertex.

    Attributes:
        on_copies: whether it only counts, on copies of the data, while other drivers or Python run
            the vertices.
        checked: whether indices are compared with lengths.
        costs: the machine facts from which prices are computed.
    """

    on_copies: bool
    costs: tuple[tuple[str, float], ...]
    checked: bool = False


@frozen(eq=False)
class Variant:
    """The variant of a driver among those of its class.

    Attributes:
        logged: whether workers log their accesses to fields that they write. Such a driver runs
            only during strict checks, and is optimized less.
        fetched: name of the field whose loads also fetch memory that is read later, the rows of a
            faster form (`StridedRows`); None if there is none.
        scattered: name of the vector of the next vertex that a driver fetches while a vertex runs;
            None if there is none.
        modes: the modes of floating-point arithmetic from which it selects when it runs; empty for
            the default.
        counting: how it counts the slots of each vertex; None if it does not.
    """

    checked: bool = False
    logged: bool = False
    modes: tuple[int, ...] = ()
    fetched: str | None = None
    scattered: str | None = None
    counting: Counting | None = None


def modes_of(cls: type[Vertex], modes: Iterable[int]) -> tuple[int, ...]:
    """Return the modes, ascending, that a driver of the class must distinguish.

    Bits that make no difference to the class are omitted; () means only the default mode.
    """
    bits = relevant(cls)
    different = {mode & bits for mode in modes}
    return tuple(sorted(different)) if different != {0} else ()


def relevant(cls: type[Vertex]) -> int:
    """Return the bits of a mode that make a difference to a class."""
    rounds = any(field.writes and field.element in (HALF, QUARTER) for field in cls.fields.values())
    return TRAPS | STORES if rounds else TRAPS


# -- priced code -----------------------------------------------------------------------------------
# A shape contains the arguments of `compute`:
#
#     x: Input[Vector[FLOAT]]             ptr x, its length
#     rows: Input[Vector[Vector[HALF]]]   ptr rows, their count, stride in elements, length
#         if they are uneven              ptr rows, their count, ptr to a table of start and length
#     first: State[INT]                   its value
#     a: Input[FLOAT], k: State[FLOAT]    ptr
#     worker of a MultiVertex             its number
#
# Shapes are those of `poplite.graph.compute_sets.perf_estimates`. The rows of a list are assumed to
# have equal lengths, except in counted vertices.

PARTS = 64
"""Number of units in a slot: costs are integers, so that sums do not depend on the order."""

OVER = -1
"""Returned instead of a cost that exceeds the budget."""

MOST_SLOTS = 1 << 27
"""Budget for an estimate, for loops that might never end."""

DATA = "data"
"""Represents all loaded data among the names of arguments."""

PRICED = "priced"
"""Name of the function that is priced."""

What = Literal["data", "length", "rows", "stride", "pairs", "wide", "value", "worker"]

POINTERS: tuple[What, ...] = ("data", "pairs", "wide")
"""Parameters that are addresses; all others are numbers."""

_OF: dict[ShapeKind, tuple[What, ...]] = {
    "nothing": ("data",),
    "length": ("data", "length"),
    "rows": ("data", "rows", "stride", "length"),
    "value": ("value",),
}


@frozen(eq=False)
class Parameter:
    """One argument of the function that is priced.

    Attributes:
        field: name of the field; "self" for the number of a worker.
        what: which number or address of the field it is.
        kind: the kind of information about the field in a shape.
        word: the first word of the field in a shape.
    """

    field: str
    what: What
    kind: ShapeKind
    word: int

    @property
    def name(self) -> str:
        """Its name in the function; the name of the field if it is the field's only argument."""
        return self.field if self.what in ("data", "value") else f"{self.field}.{self.what}"

    @property
    def declared(self) -> str:
        """Its type and name in LLVM's syntax."""
        return f"{'ptr' if self.what in POINTERS else 'i64'} %{self.name}"


def parameters_of(cls: type[Vertex], forms: Forms = ()) -> tuple[Parameter, ...]:
    """Return the arguments of the function that is priced; rows are evenly spaced by default."""
    parameters = [
        Parameter(field.name, what, field.kind, field.first_word)
        for field, form in zip_longest(fields_of(cls), forms)
        for what in (("data", "rows", form) if form in ("pairs", "wide") else _OF[field.kind])
    ]
    if issubclass(cls, MultiVertex):
        parameters.append(Parameter("self", "worker", "nothing", 0))
    return tuple(parameters)


# -- code ------------------------------------------------------------------------------------------


def compute_code(cls: type[Vertex], mode: int = 0) -> str:
    """Return `compute` of a class as the text of an LLVM module.

    Raises `VertexCompileError` if it is outside the dialect.
    """
    meaning, code_mode = meaning_of(cls), _code_mode(mode)

    def lower(checked: Checked) -> str:
        from poplite.simulator.codegen.lowered import lowered_text

        return lowered_text(checked, code_mode)

    def lowered() -> str:
        if (announcing := announcer()) is not None:
            announcing.tell_class(cls)
        return meaning.lowered(lower)

    def made() -> str:
        return kept_text(_name(cls, code_mode), lowered)

    return meaning.remembered(("compute", code_mode), made)


def is_lowered(cls: type[Vertex], mode: int = 0) -> bool:
    """Return whether the code of a class exists already."""
    return is_kept(_name(cls, _code_mode(mode)))


def _code_mode(mode: int) -> int:
    """Return the part of a mode on which this code depends, without the mode of stores."""
    return mode & (TRAPS | OVERFLOW_NAN) if mode & TRAPS else 0


def _name(cls: type[Vertex], mode: int) -> str:
    return digest([__name__], "compute", meaning_of(cls).identity, mode)


def linked_compute(
    cls: type[Vertex],
    name: str,
    forms: Forms,
    mode: int = 0,
    *,
    checked: bool = False,
    logged: bool = False,
    fetched: str | None = None,
    priced: bool = False,
    counts_turns: bool = False,
    marked: bool = False,
) -> llvm.ModuleRef:
    """Return a module with `compute` as function `name`, and the accessors of one use.

    `forms` gives the form of the rows of each list; `priced` code accesses elements as the IPU's
    compiler would; `logged` and `fetched` are as in `Variant`, `counts_turns` and `marked` as in
    `Use`. Raises `VertexCompileError` if `compute` is outside the dialect.
    """
    import llvmlite.binding as llvm

    from poplite.jit.native_code import simplify
    from poplite.jit.numba_context import processor
    from poplite.simulator.codegen.accessors import (
        COMPUTE,
        LANES,
        SET_LANES,
        Use,
        accessors,
        longs_in_hardware,
    )
    from poplite.simulator.codegen.numbered_accessors import (
        ENTER,
        numbered_accessors,
        with_exit,
    )

    module = llvm.parse_assembly(compute_code(cls, mode))
    declared = {each.name for each in module.functions if each.is_declaration}
    has_lanes = any(each.startswith((LANES, SET_LANES)) for each in declared)
    if has_lanes and not priced:
        simplify(module, processor())
    hardware = converts_halves(), longs_in_hardware(processor().features)
    use = Use(mode, checked, logged, fetched, priced, *hardware, counts_turns, marked)
    module.link_in(llvm.parse_assembly(accessors(declared, cls, forms, use)))
    if ENTER in declared:
        module.link_in(llvm.parse_assembly(numbered_accessors(cls, forms, use)))
        if checked:
            with_exit(module)
        if logged:
            from poplite.simulator.codegen.logged_text import with_logged_accesses

            module = with_logged_accesses(module, cls.fields)
    if has_lanes:
        from poplite.simulator.codegen.lane_accessors import lane_accessors, masks_in_hardware

        masked = masks_in_hardware(processor().features)
        module.link_in(llvm.parse_assembly(lane_accessors(declared, cls, use, masked=masked)))
    for each in module.functions:
        if each.name == COMPUTE:
            each.name = name
        elif not each.is_declaration:
            each.linkage = "internal"
    return module


def converts_halves() -> bool:
    """Return whether the processor for which code is compiled converts halves."""
    import llvmlite.binding as llvm

    from poplite.jit.numba_context import processor
    from poplite.simulator.codegen.codecs import half_in_hardware

    return half_in_hardware(llvm.get_process_triple(), processor().features)
