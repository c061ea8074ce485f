"""Error classes, each message in four parts.

Every message has four parts, always in this order::

    'bias': elements [96, 128) of 128 have no tile          (model.py:31 in head)
      at step 2 of 5: Execute 'head'
      mapped so far: [0, 96) on tiles 0-2; the graph has 4 tiles
      try: graph.set_tile_mapping(bias[96:128], 3)

Class names are Poplar's in CamelCase, unless that would shadow a Python built-in; each
class also derives from the matching built-in, so that `except IndexError` works.
Source of the hierarchy: Poplar API reference, "Exceptions".
"""

from __future__ import annotations

import difflib
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from functools import wraps
from numbers import Integral, Real
from types import FrameType, MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, NoReturn, ParamSpec, TypeVar

from poplite.poplar.callable_values import CalledText
from poplite.source import SourceLocation, here, is_outside
from poplite.text import clipped, integer_or_none, items_or_none, of_type

T = TypeVar("T")
E = TypeVar("E", bound=Enum)
P = ParamSpec("P")
R = TypeVar("R")
Made = TypeVar("Made")

SHOWN_FAULTS = 5

LONGEST_WORD, LONGEST_LINE, MOST_LINES = 256, 1024, 256
"""Maximum characters in a word and in a line, and maximum lines in a part, of a message."""

USERS_LINE = SourceLocation("<the user's line>", 0, "")
"""Placeholder for the innermost line outside poplite, for errors that poplite itself raises."""


class _InParts(Exception):
    """Base class of poplite's errors: message, location, what was found, how to fix it."""

    what: str
    at: SourceLocation | None
    where: str
    found: str
    fix: str

    def __init__(
        self,
        what: str,
        *,
        at: SourceLocation | None = USERS_LINE,
        where: str = "",
        found: str = "",
        fix: str = "",
    ) -> None:
        if at is USERS_LINE:
            at = None if is_outside(_creating_frame(self)) else here()
        # Truncate: names can be arbitrarily long.
        given: Iterable[object] = (what, where, found, fix)
        parts = [each if isinstance(each, str) else clipped(each) for each in given]
        what, where, found, fix = (shortened_lines(part) for part in parts)
        self.what, self.at = CalledText(what), at
        self.where, self.found, self.fix = where, found, fix
        super().__init__(self._message())

    def _message(self) -> str:
        lines = [self.what if self.at is None else f"{self.what}  ({self.at})"]
        lines += [f"  at {self.where}"] if self.where else []
        lines += [f"  {line}" for line in self.found.splitlines()]
        lines += [f"  try: {self.fix}"] if self.fix else []
        return "\n".join(lines)

    def __str__(self) -> str:
        return self._message()

    # Exceptions pickle by calling the class with `args`; keyword parts would be lost.
    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.what, self.at, self.where, self.found, self.fix)


def _creating_frame(error: _InParts) -> FrameType:
    """Return the frame that creates an error, above the constructors of its class and bases."""
    frame = sys._getframe(1)
    while frame.f_code.co_name == "__init__" and frame.f_locals.get("self") is error:
        assert frame.f_back is not None  # something calls a constructor
        frame = frame.f_back
    return frame


def _rebuild(
    cls: type[_InParts],
    what: str,
    at: SourceLocation | None,
    where: str,
    found: str,
    fix: str,
) -> _InParts:
    return cls(what, at=at, where=where, found=found, fix=fix)


class Absent:
    """A Poplar class member that poplite does not implement.

    Args:
        reason: why it has no meaning here, as a sentence without a full stop.
        instead: what to write instead, if anything.

    Raises:
        AbsentMember: when it is looked up, on an object or on the class.

    >>> class Engine:
    ...     reset = Absent("there is no device")
    >>> Engine().reset
    Traceback (most recent call last):
    poplite.errors.AbsentMember: poplite has no Engine.reset  (...)
      there is no device
    """

    reason: str
    instead: str

    def __init__(self, reason: str, instead: str = "") -> None:
        self.reason, self.instead = reason, instead

    def __set_name__(self, owner: type, name: str) -> None:
        self.name: str = f"{owner.__name__}.{name}"

    def __get__(self, instance: object, owner: type | None = None) -> NoReturn:
        what = f"poplite has no {self.name}"
        raise AbsentMember(what, found=self.reason, fix=self.instead)


def present_names(cls: type, names: Iterable[str]) -> list[str]:
    """Return attribute names of a class without those that only raise `AbsentMember`."""
    members = {name: value for base in cls.__mro__[::-1] for name, value in vars(base).items()}
    return sorted(name for name in names if not isinstance(members.get(name), Absent))


if TYPE_CHECKING:
    ListsPresent = type  # type checkers infer less for classes with a custom metaclass
else:

    class ListsPresent(type):
        """The type of classes with many absent members, which `dir` and `help` do not list."""

        def __dir__(cls) -> list[str]:
            return present_names(cls, type.__dir__(cls))


class PopliteError(_InParts):
    """Base class of all errors that poplite raises.

    Args:
        what: the mistake, with both numbers (found and allowed).
        at: the user's line that made the object at fault; by default, if poplite raises the
            error, the line that called poplite.
        where: the program step, or another place inside the program.
        found: further facts, such as the value found instead.
        fix: one concrete thing to try.

    >>> print(PopliteError("tile 9 of 4", found="tiles are 0-3", fix="use tile 3"))
    tile 9 of 4
      tiles are 0-3
      try: use tile 3
    """

    poplar: ClassVar[str] = "poplar_error"
    """Name of the corresponding Poplar exception."""

    attachSourceLocation: ClassVar[Absent] = Absent(
        "an error stores its source location already", "error.at"
    )


class TensorIndexError(PopliteError, IndexError):
    """An index, range or dimension is malformed, or outside a tensor or a field."""

    poplar = "index_error"


class TensorCreationError(PopliteError, ValueError):
    """The arguments of a view operation or a variable do not describe a valid tensor."""

    poplar = "tensor_creation_error"


class ElementTypeError(PopliteError, TypeError):
    """An element type, or the type of an argument, is wrong."""

    poplar = "type_error"


class TensorMetadataError(PopliteError, TypeError):
    """The format and scale of a QUARTER tensor are missing or wrong."""

    poplar = "tensor_metadata_error"


class SizeOverflowError(PopliteError, OverflowError):
    """A size or address does not fit the integer type that stores it."""

    poplar = "overflow_error"


class InvalidTileMapping(PopliteError, ValueError):
    """Elements or vertices have no tile, or a tile that does not exist."""

    poplar = "invalid_tile_mapping"


class InvalidMachineModel(PopliteError, ValueError):
    """A target cannot be built, or an object is not a target."""

    poplar = "invalid_machine_model"


class VertexDefinitionError(PopliteError, TypeError):
    """A vertex class declares its fields, its `compute` or a faster form wrongly."""

    poplar = "graph_program_compilation_error"


class VertexCompileError(PopliteError, TypeError):
    """A `compute` uses something outside the supported subset of Python."""

    poplar = "graph_program_compilation_error"


class UnknownVertexType(ElementTypeError):
    """Not a vertex class."""

    poplar = "unknown_vertex_type"


class UnknownField(PopliteError, AttributeError):
    """A vertex has no field of that name."""

    poplar = "unknown_field"


class GraphConnectionError(PopliteError, ValueError):
    """An edge is missing or duplicated, has the wrong shape or graph, or must not be written."""

    poplar = "graph_connection_error"


class NoSizeSpecified(GraphConnectionError):
    """A list of edges or a vector of state has no size, and nothing determines it."""

    poplar = "no_size_specified"


class MemoryElemConstraintsError(PopliteError, ValueError):
    """The memory constraints of a vertex class cannot be satisfied, or name unknown fields."""

    poplar = "memory_elem_constraints_error"


class GraphMemoryAllocationError(PopliteError, MemoryError):
    """A tile does not have enough memory for the graph and its programs."""

    poplar = "graph_memory_allocation_error"


class GraphCycleError(PopliteError, ValueError):
    """Vertices of one compute set race: one writes what another reads or writes."""

    poplar = "graph_cycle_error"


class ControlProgramError(PopliteError, ValueError):
    """A program tree is malformed, or is run incorrectly."""

    poplar = "control_program_error"


class ProfilingDisabled(ControlProgramError):
    """A report, a trace or a cycle counter needs cycles or memory that are not modelled."""

    poplar = "profiling_disabled"


class GraphRecursionError(PopliteError, RecursionError):
    """A function would call itself."""

    poplar = "graph_recursion_error"


class StreamConnectionError(PopliteError, ValueError):
    """A stream, remote buffer or host function is not connected, or not to a matching object."""

    poplar = "stream_connection_error"


class StreamMemoryAllocationError(PopliteError, MemoryError):
    """A transfer between host and device exceeds the largest possible size."""

    poplar = "stream_memory_allocation_error"


class GraphReplicationError(PopliteError, ValueError):
    """A replica does not exist, or replicas differ where they must agree."""

    poplar = "graph_replication_error"


class ApplicationRuntimeError(PopliteError, RuntimeError):
    """A vertex raised an exception while the program ran, or the program stopped itself."""

    poplar = "application_runtime_error"


class DeviceRuntimeError(PopliteError, RuntimeError):
    """A device, or the process that drives it, failed."""

    poplar = "system_runtime_error"


class Enumeration(Enum):
    """An enumeration whose members can also be looked up by name: `SyncType("GLOBAL")`."""

    @classmethod
    def _missing_(cls, value: object) -> Enum:
        return checked_member(value, cls, cls.__name__, error=InvalidOption)


class ErrorCode(Enumeration):
    """The cause of an error on a tile, by Poplar's names."""

    NONE = "none"
    """No error."""
    UNKNOWN = "unknown"
    """The cause is not known."""
    TRAP = "trap"
    """A vertex stopped the tile, for a reason without a code of its own."""
    FLOATING_POINT_INVALID_OPERATION = "invalid floating-point operation"
    """For example 0 / 0 or the square root of -1."""
    FLOATING_POINT_DIVIDE_BY_ZERO = "floating-point division by zero"
    """A finite number other than 0 was divided by 0."""
    FLOATING_POINT_OVERFLOW = "floating-point overflow"
    """A result is too large for its element type."""
    TILE_MEMORY_BANK_CONFLICT = "tile memory bank conflict"
    """Two accesses to one memory element in the same cycle; never raised here."""
    INVALID_EXCHANGE_CONFIGURATION = "invalid exchange configuration"
    """The exchange is set up wrongly; never raised here."""
    INVALID_ADDRESS = "invalid address"
    """An access outside the memory of the tile; never raised here."""
    INVALID_OPERAND = "invalid operand"
    """An instruction has an invalid operand; never raised here."""
    INVALID_PROGRAM_COUNTER = "invalid program counter"
    """A jump to an address without code; never raised here."""
    INVALID_INSTRUCTION = "invalid instruction"
    """An instruction that the tile does not have; never raised here."""
    EXCHANGE_ERROR = "exchange error"
    """A fault during the exchange; never raised here."""
    MEMORY_ERROR = "memory error"
    """A fault of the memory of a tile; never raised here."""
    IPUSOFTERR = "soft error"
    """A fault of the hardware from which a reset recovers; never raised here."""
    LINK_DOWN = "link down"
    """A link between IPUs failed; never raised here."""
    HOST_LINK_DOWN = "host link down"
    """The link to the host failed; never raised here."""
    HOST_SYNC_TIMEOUT = "host sync timeout"
    """The host did not answer in time; never raised here."""
    IPU_MEMORY_FAILURE = "memory failure"
    """The memory of an IPU failed; never raised here."""


class FloatingPointTrap(ApplicationRuntimeError, FloatingPointError):
    """A vertex performed an operation that the program's floating-point behaviour forbids.

    Args:
        what: the mistake.
        code: which floating-point exception it is.
        parts: the other parts of the error, see `poplite.PopliteError`.
    """

    poplar = "application_runtime_error"

    def __init__(self, what: str, *, code: ErrorCode = ErrorCode.TRAP, **parts: Any) -> None:
        super().__init__(what, **parts)
        self.code = code

    def __reduce__(self) -> tuple[object, ...]:
        return *super().__reduce__(), {"code": self.code}


class UnknownName(PopliteError, LookupError):
    """A name given by the user (a program, a tensor) is not known."""

    poplar = "symbol_error"


class AbsentMember(PopliteError, AttributeError):
    """A member of Poplar's API that poplite does not implement."""


class InvalidOption(PopliteError, ValueError):
    """An option has an unknown name, or a value it cannot take."""

    poplar = "invalid_option"


class ParseError(InvalidOption):
    """A string of options cannot be parsed."""

    poplar = "parse_error"


class CopyError(PopliteError, TypeError):
    """A graph, an object that belongs to one, or an engine cannot be copied or pickled."""


class FileLoadError(PopliteError, OSError):
    """A file cannot be read, run or written."""

    poplar = "file_load_error"


class ExportError(PopliteError, NotImplementedError):
    """This graph or program uses a feature not yet supported on real IPUs."""


class UninitializedReadError(PopliteError, RuntimeError):
    """A result depends on elements that nothing has written."""


class WorkerRaceError(PopliteError, RuntimeError):
    """A worker of a MultiVertex reads or changes elements that another one writes."""


class AxisError(PopliteError, ValueError):
    """Named axes are wrong, or do not fit the operation."""


class DuplicateAxisError(AxisError):
    """An axis, or the name of one, occurs twice where it may occur only once."""


class AxisLengthError(AxisError):
    """Mismatched axis lengths, or an invalid length."""


class MissingAxisError(AxisError, LookupError):
    """An axis is not among the axes of a tensor or a list."""


class UnsetLengthError(AxisError):
    """The length of an axis is needed, and has not been set yet."""


class ReadOnlyError(AxisError, TypeError):
    """A value is assigned to a named tensor that does not accept assignments."""


class NeedsCopyError(AxisError):
    """A view needs a single stride, but its elements have several and would have to be copied."""


class ImplicitOuterProductError(AxisError):
    """Under `strict`, neither operand of an operation has all the axes of the result."""


class PopliteWarning(_InParts, UserWarning):
    """Base class of all warnings that poplite issues; their parts are those of an error.

    >>> print(PopliteWarning("'x' has 3 elements that nothing has written", fix="write them"))
    'x' has 3 elements that nothing has written
      try: write them
    """


class UninitializedWarning(PopliteWarning):
    """Elements that nothing has written are read on the host, or copied to it."""


class UnwrittenOutputWarning(PopliteWarning):
    """A vertex leaves elements of an Output unwritten, or a callback those of its block."""


class EmptyComputeSetWarning(PopliteWarning):
    """A program executes a compute set without vertices."""


class ConstantRemappedWarning(PopliteWarning):
    """Elements of a constant that already have a tile are mapped to another one."""


class CacheWarning(PopliteWarning):
    """Compiled code cannot be stored in the cache folder, so each process compiles it."""


def warn(warning: PopliteWarning) -> None:
    """Issue a warning at the innermost line outside the package.

    Args:
        warning: the warning.
    """
    place = here()
    warnings.warn_explicit(warning, None, place.file, place.line)


def listed(faults: Sequence[str], noun: str) -> str:
    """Join the first faults, one per line, and count the rest.

    Args:
        faults: the faults, one line of text for each.
        noun: a noun for the faults, in the plural.

    Returns:
        At most five lines and `... and N more <noun>`.

    >>> print(listed(["a", "b"], "races"))
    a
    b
    """
    shown = list(faults[:SHOWN_FAULTS])
    more = len(faults) - len(shown)
    return "\n".join([*shown, f"... and {more:,} more {noun}"] if more else shown)


BY_POPLAR_NAME: dict[str, type[PopliteError]] = {
    cls.poplar: cls
    for cls in reversed([c for c in [*vars().values()] if isinstance(c, type)])
    if issubclass(cls, PopliteError) and "poplar" in vars(cls)
} | {VertexCompileError.poplar: VertexCompileError}
"""Classes by Poplar's names; if several share a name, the one that vertex authors meet first."""


def error_of_poplar(name: str) -> type[PopliteError] | None:
    """Return the class for a Poplar error, by Poplar's name, or None.

    >>> error_of_poplar("graph_cycle_error").__name__, error_of_poplar("poplar_error").__name__
    ('GraphCycleError', 'PopliteError')
    """
    return BY_POPLAR_NAME.get(name)


def is_truth_value(value: object) -> bool:
    """Return whether a value is a bool of Python or NumPy, without importing NumPy."""
    return type(value).__name__ in ("bool", "bool_")


def checked_truth(value: object, what: str) -> bool:
    """Convert a bool of Python or NumPy, 0 or 1 to a bool; refuse anything else.

    Args:
        value: the value to check.
        what: the call and the argument, for the message.

    Raises:
        ElementTypeError: for anything else.

    >>> checked_truth(1, "getTileMapping: allowExternal")
    True
    """
    if is_truth_value(value) or (isinstance(value, int) and value in (0, 1)):
        return bool(value)
    raise ElementTypeError(
        f"{what} is {clipped(value)}, not True or False",
        found=of_type(value),
        fix="pass True or False",
    )


def checked_integer(value: object, what: str, least: int | None = None) -> int:
    """Return an integer of Python or NumPy as an int; refuse other values and smaller numbers.

    Args:
        value: the value to check.
        what: the call and the argument, for the message.
        least: the smallest number allowed; None for any.

    Raises:
        ElementTypeError: for anything but a whole number.
        TensorCreationError: for a number less than `least`.

    >>> checked_integer(3, "spread: tiles", 1)
    3
    """
    number = integer_or_none(value)
    if number is None or (least is not None and number < least):
        kind = ElementTypeError if number is None else TensorCreationError
        asked = "a whole number" if least is None else f"a whole number of at least {least}"
        raise kind(f"{what} is {clipped(value)}", found=of_type(value), fix=f"pass {asked}")
    return number


def checked_kind(
    value: object,
    kind: type[T],
    what: str,
    fix: str,
    noun: str = "",
    *,
    error: type[PopliteError] = ElementTypeError,
) -> T:
    """Return an object of a class; refuse anything else.

    Args:
        value: the value to check.
        kind: the class.
        what: the call and the argument, for the message.
        fix: a valid argument.
        noun: what the value is not, after it in the message; by default the message ends with it.
        error: the class of the error.

    Raises:
        ElementTypeError: for anything else, unless `error` is another class.

    >>> checked_kind("heat", str, "report.to_html: title", 'title="heat"')
    'heat'
    """
    if not isinstance(value, kind):
        text = f"{what} {clipped(value)} is not {noun}" if noun else f"{what} is {clipped(value)}"
        raise error(text, found=of_type(value), fix=fix)
    return value


def checked_member(
    value: object,
    kind: type[E],
    what: str,
    *,
    error: type[PopliteError] = ElementTypeError,
) -> E:
    """Return a member of an enumeration, given as the member or its name; refuse anything else.

    Args:
        value: the value to check.
        kind: the enumeration.
        what: the call and the argument, for the message.
        error: the class of the error.

    >>> checked_member("NONE", ErrorCode, "tile 3")
    <ErrorCode.NONE: 'none'>
    """
    if isinstance(value, kind):
        return value
    known = kind.__members__
    if isinstance(value, str) and value in known:
        return known[value]
    first = next(iter(kind)).name
    raise error(
        f"{what}: {clipped(value)} is not in {kind.__name__}{did_you_mean(value, known)}",
        found=f"{of_type(value)}; the members are {', '.join(each.name for each in kind)}",
        fix=f"pass {kind.__name__}.{first}, or {first!r}",
    )


def checked_items(value: object, what: str, fix: str) -> list[Any]:
    """Return the items of a list, or of any other iterable except a string; refuse the rest.

    Args:
        value: the value to check.
        what: the call and the argument, for the message.
        fix: a valid list.

    Raises:
        ElementTypeError: for anything else.

    >>> checked_items((1, 2), "ops.lower: roots", "[x + y]")
    [1, 2]
    """
    items = items_or_none(value)
    if items is None:
        raise ElementTypeError(
            f"{what} is {clipped(value)}, not a list", found=of_type(value), fix=fix
        )
    return items


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Return ` (did you mean 'x'?)` with the known name closest to `name`, or "".

    >>> did_you_mean("parital", ["partial", "first"])
    " (did you mean 'partial'?)"
    """
    close = closest(name, known) if isinstance(name, str) else ""
    return f" (did you mean '{close}'?)" if close else ""


def closest(name: str, known: Iterable[str]) -> str:
    """Return the known name closest to `name`, or "" if none is close.

    >>> closest("parital", ["partial", "first"]), closest("x", ["partial", "first"])
    ('partial', '')
    """
    near = [other for other in known if len(other) <= LONGEST_WORD]
    return next(iter(difflib.get_close_matches(name[:LONGEST_WORD], near, n=1)), "")


def shortened_lines(text: str) -> str:
    """Return a message without long lines: long words are shortened in the middle, then lines.

    >>> len(shortened_lines(f"{'x' * 10**6}: no tile")), shortened_lines("no tile")
    (135, 'no tile')
    """
    if len(text) <= LONGEST_LINE:
        return text
    lines = text.splitlines()
    more = ["..."] if len(lines) > MOST_LINES else []
    return "\n".join([*map(_shortened_line, lines[:MOST_LINES]), *more])


def _shortened_line(line: str) -> str:
    if len(line) <= LONGEST_LINE:
        return line
    words = [_ends(word, LONGEST_WORD // 2) for word in line.split(" ")]
    return _ends(" ".join(words), LONGEST_LINE)


def _ends(text: str, length: int) -> str:
    if len(text) <= length:
        return text
    half = (length - len("...")) // 2
    return f"{text[:half]}...{text[-half:]}"


# -- restrictions on calls of classes --------------------------------------------------------------

NONE: Any = None
"""Default of an argument of any type that was left out."""

_OWN = frozenset({"poplite", "dataclasses"})
"""Packages that may call these classes; `dataclasses.replace` starts from an existing object."""


def refuse_empty(instead: str) -> Callable[[type[Made]], type[Made]]:
    """Make a class refuse calls without arguments or with invalid ones; `instead` is a valid call.

    >>> import poplite as pl
    >>> pl.VertexPerfEstimate()  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    poplite.errors.AbsentMember: poplite has no empty VertexPerfEstimate  (...)
      use None for a missing value
      try: VertexPerfEstimate(cycles, flops)
    """

    def decorated(cls: type[Made]) -> type[Made]:
        make: Any = cls.__init__

        @wraps(make)
        def checked(self: Made, *arguments: Any, **named: Any) -> None:
            if not arguments and not named:
                raise no_empty(cls.__name__, instead)
            try:
                make(self, *arguments, **named)
            except TypeError as error:
                if error.__traceback__ is not None and error.__traceback__.tb_next is not None:
                    raise  # the error comes from a call inside the constructor
                found = str(error).removeprefix(f"{cls.__name__}.__init__() ")
                raise _invalid_call(cls.__name__, found, instead) from None

        cls.__init__ = checked  # type: ignore[method-assign, assignment]
        return cls

    return decorated


def made_by(instead: str) -> Callable[[type[Made]], type[Made]]:
    """Make a class refuse every call except poplite's own; `instead` is the call for users.

    Derived classes are not affected.

    >>> import poplite as pl
    >>> exec("pl.ComputeSet(pl.Graph(), 'add')", {"pl": pl})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    poplite.errors.ElementTypeError: ComputeSet: invalid arguments  (...)
      only poplite calls this class
      try: graph.add_compute_set(name)
    """

    def decorated(cls: type[Made]) -> type[Made]:
        make: Any = cls.__init__

        @wraps(make)
        def checked(self: Made, *arguments: Any, **named: Any) -> None:
            caller = sys._getframe(1).f_globals.get("__name__", "")
            if caller.partition(".")[0] not in _OWN and type(self) is cls:
                raise not_called(cls.__name__, instead, is_empty=not arguments and not named)
            make(self, *arguments, **named)

        cls.__init__ = checked  # type: ignore[method-assign, assignment]
        return cls

    return decorated


def refuse_methods(cls: type, names: str, refusal: Callable[[Any], Exception]) -> None:
    """Make special methods of a class raise the error for an object.

    They are not written in the class body, so that type checkers refuse them too.
    """

    def method(self: object, *_: object) -> NoReturn:
        raise refusal(self)

    for name in names.split():
        setattr(cls, f"__{name}__", method)


def refuse_copies(fix: str) -> Callable[[type[Made]], type[Made]]:
    """Make a class refuse `copy.copy`, `copy.deepcopy` and `pickle`; `fix` says what to do instead.

    >>> import copy, poplite as pl
    >>> copy.deepcopy(pl.Graph())  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    poplite.errors.CopyError: a Graph cannot be copied or pickled...
    """

    def refused(self: object, *_: object) -> NoReturn:
        name = type(self).__name__
        raise CopyError(
            f"{'an' if name[0] in 'AEIOU' else 'a'} {name} cannot be copied or pickled",
            at=None,
            found="everything that belongs to a graph, such as tensors and programs, refers to it; "
            "an engine uses memory of this process",
            fix=fix,
        )

    def decorated(cls: type[Made]) -> type[Made]:
        for name in ("__copy__", "__deepcopy__", "__reduce_ex__"):
            setattr(cls, name, refused)
        return cls

    return decorated


def not_called(
    name: str, instead: str, *, is_empty: bool = False
) -> AbsentMember | ElementTypeError:
    """Return the error for a user's call of a class that only poplite may call."""
    if is_empty:
        return no_empty(name, instead)
    return _invalid_call(name, "only poplite calls this class", instead)


def no_empty(name: str, instead: str) -> AbsentMember:
    """Return the error for a call of a class without arguments."""
    found = "use None for a missing value"
    return AbsentMember(f"poplite has no empty {name}", found=found, fix=instead)


def _invalid_call(name: str, found: str, instead: str) -> ElementTypeError:
    message = f"{name}: invalid arguments"
    return ElementTypeError(message, found=found, fix=instead)


# -- functions whose arguments are checked by their annotations ------------------------------------


class ArgumentKind(NamedTuple):
    """The values that an annotation allows: a test for them, and words for messages."""

    fits: Callable[[object], bool]
    asked: str


def instance_of(cls: type | tuple[type, ...], asked: str) -> ArgumentKind:
    """Return the kind for an annotation that names a class.

    >>> instance_of(str, "a string").fits(3)
    False
    """
    return ArgumentKind(lambda value: isinstance(value, cls), asked)


def one_of(*texts: str) -> ArgumentKind:
    """Return the kind for an annotation that lists strings.

    >>> one_of("tile", "size").fits("size"), one_of("tile", "size").asked
    (True, "'tile' or 'size'")
    """
    return ArgumentKind(
        lambda value: isinstance(value, str) and value in texts, " or ".join(map(repr, texts))
    )


def items_of(cls: type, asked: str) -> ArgumentKind:
    """Return the kind for a list, or another sequence, of objects of a class.

    >>> items_of(str, "a list of names").fits(["x"]), items_of(str, "a list of names").fits("x")
    (True, False)
    """

    def fits(value: object) -> bool:
        items = items_or_none(value) if hasattr(value, "__len__") else None
        return items is not None and all(isinstance(item, cls) for item in items)

    return ArgumentKind(fits, asked)


def _is_number(value: object, kind: type) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


_PLAIN: Mapping[str, ArgumentKind] = MappingProxyType(
    {
        "None": ArgumentKind(lambda value: value is None, "None"),
        "bool": ArgumentKind(is_truth_value, "True or False"),
        "int": ArgumentKind(lambda value: _is_number(value, Integral), "a whole number"),
        "float": ArgumentKind(lambda value: _is_number(value, Real), "a number"),
        "str": instance_of(str, "a string"),
        "range": instance_of(range, "a range, such as range(4)"),
    }
)


def annotated(
    room: str, kinds: Mapping[str, ArgumentKind]
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a function check its arguments by their annotations before anything else.

    Errors that the function raises without a line get the line of the call. An annotation with an
    alternative that neither this module nor `kinds` knows is left to the function.

    Args:
        room: prefix of the function's name in messages.
        kinds: further kinds, by the text of the annotation.
    """
    known = {**_PLAIN, **kinds}

    def decorated(function: Callable[P, R]) -> Callable[P, R]:
        code: Any = function
        what = f"{room}.{code.__name__}"
        names = code.__code__.co_varnames[: code.__code__.co_argcount]
        asked = {
            name: [known[part] for part in parts]
            for name, text in code.__annotations__.items()
            for parts in [text.split(" | ")]
            if all(part in known for part in parts)
        }

        @wraps(function)
        def checked(*args: P.args, **kwargs: P.kwargs) -> R:
            __tracebackhide__ = True
            for name, value in (*zip(names, args, strict=False), *kwargs.items()):
                if name in asked and not any(kind.fits(value) for kind in asked[name]):
                    raise _refused(f"{what}: {name}", value, asked[name])
            try:
                return function(*args, **kwargs)
            except PopliteError as error:
                error.at = error.at or here()
                raise

        return checked

    return decorated


def _refused(what: str, value: object, asked: list[ArgumentKind]) -> ElementTypeError:
    return ElementTypeError(
        f"{what} is {clipped(value)}",
        found=of_type(value),
        fix="pass " + " or ".join(kind.asked for kind in asked),
    )


__all__ = sorted(
    name
    for name, value in globals().items()
    if not name.startswith("_")
    and isinstance(value, type)
    and issubclass(value, (_InParts, ErrorCode))
)


def __dir__() -> list[str]:
    return __all__
