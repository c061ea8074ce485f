"""The common base of all programs: declaration of a kind, parts, steps, functions.

A kind of program is declared once, by fields with roles; the rest follows from them::

    @declared()
    class If(Program):
        _title = "If '{predicate.name}'"
        predicate: Tensor = decides()            is read; its one element decides which body runs
        true_body: Program = part("then")        runs below it, and may not change any more
        false_body: Program = part("else")
        name: InitVar[str] = ""                  an argument, as in Poplar, that is not stored

        children, decided_by, reads, writes, num_steps, is_empty    from the roles
        str and repr                                                from the title
        `same_as`, and the data in a saved graph                    from all fields not derived

Values that do not fit a role are refused when a program is created; the method `_check` of a kind
makes further checks and fills in derived fields.  A leaf is one step.

Steps are the leaves, numbered from 1 in the order in which they are written (the body of a Repeat
once, both bodies of an If, a function in each place that calls it), so that a message can say
`step 3 of 5: Execute 'blur'`.  No function is recursive: a program built as
`program = Sequence(program, next)` may be as deep as it is long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import MISSING, field, fields
from functools import lru_cache, partial, wraps
from operator import attrgetter
from string import Formatter
from types import MappingProxyType
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    TypeVar,
    dataclass_transform,
    overload,
)

import numpy as np

from poplite.display import Displayed
from poplite.errors import ControlProgramError, ElementTypeError, made_by, not_called, refuse_copies
from poplite.expr.operand import Operand, as_read
from poplite.expr.tree import has_many, stored_first
from poplite.frozen import frozen
from poplite.graph.compute_sets.compute_set import ComputeSet
from poplite.graph.host import HostFunction
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tensor.tensor_text import type_and_shape
from poplite.poplar.callable_values import CalledText
from poplite.poplar.declarations import declared_rows
from poplite.poplar.spelling import binder_of
from poplite.source import SourceLocation, here
from poplite.text import amount, clipped, fitted, items_or_none, of_type, printable
from poplite.types import BOOL, INT, UNSIGNED_INT
from poplite.walks import bottom_up

if TYPE_CHECKING:
    from poplite.graph.graph import Graph
    from poplite.program.copy import HostCall
    from poplite.program.recording import RecordedSteps

OPEN: ContextVar[tuple[RecordedSteps, ...]] = ContextVar("open steps", default=())
"""The open blocks of steps, the innermost last."""

NUMBERS = INT, UNSIGNED_INT
"""Element types that can control a Switch."""


class Roles(NamedTuple):
    """The fields of a kind of program, by role.

    Attributes:
        parts: programs that run below it, with a word for the role of each.
        read: fields that it reads: tensors, or other sources.
        written: fields that it writes: tensors, or other destinations.
        checks: functions that convert an argument to a field's value, or refuse it.
        compared: the fields that are equal in two programs that do the same.
        saved: the fields that a saved graph stores, in the order in which they are written.
        own_steps: 1 for a leaf.
        called: Poplar's name of the kind, for messages.
    """

    parts: Mapping[str, str] = MappingProxyType({})
    read: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    checks: tuple[tuple[str, Callable[[Any], object]], ...] = ()
    compared: tuple[str, ...] = ()
    saved: tuple[str, ...] = ()
    own_steps: int = 0
    called: str = "Program"


# Compared by identity: trees share sub-trees, and comparing those by content would visit
# each of them once for every path that leads to it.
@refuse_copies("build it once more, or use it twice, since a program may be in several places")
@frozen(eq=False, repr=False)
class Program(Displayed):
    """A program that does nothing; base of all other programs.

    Attributes:
        location: the user's line that created it.
        num_steps: number of leaves below it, counted in each place, however often they run.
        is_empty: whether it does nothing.

    >>> Program()
    <Program empty>
    """

    _roles: ClassVar[Roles] = Roles()
    _title: ClassVar[str] = "Program empty"
    _block_instead: ClassVar[str] = "graph.steps() as program"
    location: SourceLocation = field(init=False, compare=False)
    num_steps: int = field(init=False, compare=False)
    is_empty: bool = field(init=False, compare=False)

    def __post_init__(self, *arguments: object) -> None:
        """Check the fields by their roles, and count the steps below.

        If there are arguments that are not stored, the last of them may be a name.
        """
        roles, at = self._roles, here()
        if arguments:
            check_name(arguments[-1], roles.called)
        for name, check in roles.checks:
            given = getattr(self, name)
            value = check(given)
            if value is not given:
                object.__setattr__(self, name, value)
        self._check()
        steps, is_empty = roles.own_steps, False
        if not steps:
            for each in self.children:
                each.mark_used(at)
                steps += each.num_steps
            is_empty = self._does_nothing()
        object.__setattr__(self, "location", at)
        object.__setattr__(self, "num_steps", steps)
        object.__setattr__(self, "is_empty", is_empty)
        if blocks := OPEN.get():
            blocks[-1].note_made(self)

    def _check(self) -> None:
        """Refuse values that do not fit each other, and fill in derived fields."""

    def _does_nothing(self) -> bool:
        return all([each.is_empty for each in self.children])

    @property
    def children(self) -> tuple[Program, ...]:
        """The programs directly under it, in order."""
        return ()

    @property
    def decided_by(self) -> Tensor | None:
        """The scalar that decides which of its children runs next, if there is one."""
        return None

    @property
    def reads(self) -> tuple[Tensor, ...]:
        """Tensors that it reads, excluding those that vertices read."""
        return ()

    @property
    def writes(self) -> tuple[Tensor, ...]:
        """Tensors that it writes, excluding those that vertices write."""
        return ()

    def __enter__(self) -> Any:
        """Refuse a `with` block: only those of a Sequence and of operations collect steps."""
        raise ControlProgramError(
            f"{self!r} cannot be used in a `with` statement",
            fix=f"use `with {self._block_instead}:`, whose operations become its steps",
        )

    def __exit__(self, *failure: object) -> None:
        """End the `with` block of a program that can have one."""

    def mark_used(self, at: SourceLocation) -> None:
        """Record that it has become part of another program, so that it may not change any more."""

    def _titled(self) -> str:
        """Return the pattern of its title, with `{field.name}` for fields."""
        return self._title

    def _detail(self) -> str:
        """Return the text after the title in its repr."""
        return f", {amount(self.num_steps, 'step')}" if self.children else ""

    def __str__(self) -> str:
        pattern, names_of = _parsed(self._titled())
        return pattern.format(*names_of(self))

    def __repr__(self) -> str:
        pattern, names = title_parts(self)
        return fitted(f"<{pattern}{self._detail()}>", *names)

    def same_as(self, other: Program) -> bool:
        """Return whether another program does the same with the same tensors, in the same order.

        `==` is true only for a program and itself. Programs of different structure, such as a
        nested Sequence and a flat one, are not the same. Only names of Blocks are compared, and
        the order of the cases of a Switch does not matter.

        Args:
            other: any program.

        >>> from poplite.program import Repeat
        >>> Repeat(2, Program()).same_as(Repeat(2, Program())), Repeat(2, Program()) == Program()
        (True, False)
        """
        pending: list[tuple[Any, Any]] = [(self, other)]
        seen: set[tuple[int, int]] = set()
        while pending:
            a, b = pending.pop()
            if a is b or (id(a), id(b)) in seen:
                continue
            parts = _parts_to_compare(a, b)
            if parts is None:
                return False
            if isinstance(a, Program):  # other values may be temporary, and their ids reused
                seen.add((id(a), id(b)))
            pending += parts
        return True

    def isEmpty(self) -> bool:
        """C++ spelling of `is_empty`."""
        return self.is_empty


def title_parts(program: Program) -> tuple[str, tuple[str, ...]]:
    """Return the title of a program with `{}` for each name in it, and the names.

    >>> title_parts(Program())
    ('Program empty', ())
    """
    pattern, names_of = _parsed(program._titled())
    return pattern, tuple(map(str, names_of(program)))


@lru_cache(maxsize=256)
def _parsed(title: str) -> tuple[str, Callable[[Program], tuple[object, ...]]]:
    """Return a title with `{}` for each name in it, and a function that returns the names."""
    parsed = [(text, name) for text, name, *_ in Formatter().parse(title)]
    texts = [
        text.replace("{", "{{").replace("}", "}}") + "{}" * bool(name) for text, name in parsed
    ]
    return "".join(texts), _values_of(*[name for _, name in parsed if name])


def _parts_to_compare(a: Any, b: Any) -> list[tuple[Any, Any]] | None:
    """Return pairs of parts that must be equal for both to be equal; None if they differ."""
    if type(a) is not type(b):
        return None
    if isinstance(a, Program):
        return [(getattr(a, name), getattr(b, name)) for name in a._roles.compared]
    if isinstance(a, Mapping):
        return [(a[key], b[key]) for key in a] if a.keys() == b.keys() else None
    if isinstance(a, list | tuple):
        return list(zip(a, b, strict=True)) if len(a) == len(b) else None
    same = np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b
    return [] if same else None


# -- kinds of programs -----------------------------------------------------------------------------

C = TypeVar("C", bound=type[Program])

KINDS: list[type[Program]] = [Program]
"""The kinds of programs, each after its bases."""


def part(word: str = "") -> Any:
    """Declare a program that runs below; `word` names its role in pictures, if it is not ""."""
    return field(metadata={"role": "part", "word": word})


def decides() -> Any:
    """Declare a tensor whose single element decides which part runs next."""
    return field(metadata={"role": "decides"})


def reads(*, default: Any = MISSING) -> Any:
    """Declare one or several tensors that are read; values of other types are ignored."""
    return field(default=default, metadata={"role": "reads"})


def writes(*, default: Any = MISSING) -> Any:
    """Declare one or several tensors that are written; values of other types are ignored."""
    return field(default=default, metadata={"role": "writes"})


def derived(*, init: Literal[False] = False) -> Any:
    """Declare a field that follows from other fields."""
    return field(init=init, compare=False)


def noted(name: str, *, init: Literal[False] = False) -> Any:
    """Declare a field that other code sets; a saved graph stores the attribute `name` for it."""
    return field(init=init, compare=False, metadata={"saved": name})


@dataclass_transform(
    frozen_default=True,
    eq_default=False,
    field_specifiers=(field, part, decides, reads, writes, derived, noted),
)
def declared(*, init: bool = True, binds: bool = True) -> Callable[[C], C]:
    """Make a class a kind of program, by the roles of its fields.

    Args:
        init: whether `__init__` takes the fields, unless the class defines `__init__`.
        binds: whether it takes arguments in Poplar's order, by the declarations of its class.
    """

    def decorated(cls: C) -> C:
        own = init and "__init__" not in vars(cls)
        new: Any = frozen(eq=False, repr=False, init=own)(cls)
        for name, each in new.__dataclass_fields__.items():
            if str(each.type).startswith("InitVar") and name in vars(new):
                delattr(new, name)  # the default of an argument should not be an attribute
        new._roles = roles = _roles_of(new)
        if roles.parts and "children" not in vars(cls):
            new.children = _as_in_base("children", _values_of(*roles.parts))
        if roles.read:
            new.reads = _as_in_base("reads", _tensors(*roles.read))
        if roles.written:
            new.writes = _as_in_base("writes", _tensors(*roles.written))
        for each in fields(new):
            if each.metadata.get("role") == "decides":
                new.decided_by = _as_in_base("decided_by", attrgetter(each.name))
        KINDS.append(new)
        is_callable = init and _declared_bases(new)
        kind: C = _bound(new) if binds and is_callable else new
        return kind

    return decorated


def _as_in_base(name: str, get: Callable[[Any], Any]) -> property:
    """Return a property with the docstring of the property of `Program` with this name."""
    return property(get, doc=getattr(Program, name).__doc__)


def _declared_bases(kind: type) -> list[type]:
    """Return a kind and its bases, as far as Poplar declares them."""
    return [base for base in kind.__mro__ if base is not Program and declared_rows(base.__name__)]


def _roles_of(kind: type[Program]) -> Roles:
    known = {each.name: each.metadata.get("role") for each in fields(kind)}
    saved = [each.metadata.get("saved", each.name if each.init else "") for each in fields(kind)]
    checks: dict[str, Callable[[Any], object]] = {}
    for name, role in known.items():
        if role == "decides":
            checks = {name: partial(deciding_tensor, program=kind.__name__, role=name), **checks}
        elif role == "part":
            word = "" if name == "program" else f", {name.replace('_', ' ')}"
            checks[name] = _part_check(f"{kind.__name__}{word}")
    words = {each.name: each.metadata.get("word", "") for each in fields(kind)}
    parts = {name: words[name] for name, role in known.items() if role == "part"}
    return Roles(
        parts,
        tuple(name for name, role in known.items() if role in ("decides", "reads")),
        tuple(name for name, role in known.items() if role == "writes"),
        tuple(checks.items()),
        tuple(each.name for each in fields(kind) if each.compare),
        tuple(filter(None, saved)),
        int(not parts and kind.children is Program.children),
        next((base.__name__ for base in _declared_bases(kind)), kind.__name__),
    )


def _values_of(*names: str) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that returns the values of fields, or of attributes of fields."""
    if not names:
        return lambda program: ()
    get: Any = attrgetter(*names)
    return get if names[1:] else lambda program: (get(program),)


def _tensors(*names: str) -> Callable[[Program], tuple[Tensor, ...]]:
    """Return a function that returns the tensors in fields with one or several tensors."""
    get: Any = attrgetter(*names)

    def of_one(program: Program) -> tuple[Tensor, ...]:
        value = get(program)
        if isinstance(value, Tensor):
            return (value,)
        return value if isinstance(value, tuple) else ()

    def of_several(program: Program) -> tuple[Tensor, ...]:
        several = [each if isinstance(each, tuple) else (each,) for each in get(program)]
        return tuple([each for some in several for each in some if isinstance(each, Tensor)])

    return of_several if names[1:] else of_one


def _part_check(where: str) -> Callable[[object], object]:
    return lambda value: value if isinstance(value, Program) else checked(value, where)


def _bound(cls: C) -> C:
    """Let a class take arguments in Poplar's order, by its declarations."""
    make: Any = cls.__init__
    kind = cls._roles.called
    names = make.__code__.co_varnames[1 : make.__code__.co_argcount]

    @wraps(make)
    def __init__(self: Program, *arguments: Any, **named: Any) -> None:
        binder = binder_of(kind, kind)
        if len(arguments) in binder.counts_in_our_order and not named:
            make(self, *arguments)
            return
        ordered, others = binder.in_our_order(arguments, named, as_ours=True)
        check_name({**dict(zip(names, ordered, strict=False)), **others}.get("name", ""), kind)
        try:
            make(self, *ordered, **others)
        except TypeError:
            misfit = binder.refusal(make, (self, *ordered), others, 1, (arguments, named))
            if misfit is None:
                raise
            raise misfit from None

    cls.__init__ = __init__  # type: ignore[method-assign]
    return cls


def fill(program: Program, /, **attributes: object) -> None:
    """Set attributes of a frozen program."""
    for name, value in attributes.items():
        object.__setattr__(program, name, value)


def set_once(program: Program, /, **attributes: object) -> None:
    """Set fields of a frozen program during construction, then everything derived from them."""
    for name, value in attributes.items():
        object.__setattr__(program, name, value)
    program.__post_init__()


def made_kinds() -> list[type[Program]]:
    """Return poplite's kinds of programs, without those that are only bases of other kinds.

    >>> made_kinds()[0].__name__
    'Program'
    """
    own = [kind for kind in KINDS if kind.__module__.startswith(f"{__package__}.")]
    bases = {base for kind in own for base in kind.__mro__[1:]} - {Program}
    return [kind for kind in own if kind not in bases]


def saved_fields(kind: type[Program]) -> tuple[str, ...]:
    """Return the fields that a saved graph stores for a kind, in the order of writing."""
    return kind._roles.saved


def words_of_parts(program: Program) -> list[str]:
    """Return a word for the role of each program directly below a program, or "".

    >>> words_of_parts(Program())
    []
    """
    words = list(program._roles.parts.values())
    return words if len(words) == len(program.children) else [""] * len(program.children)


def unknown_kind(program: Program, what: str) -> ControlProgramError:
    """Return the error for a program of an unknown kind; `{}` in `what` names it.

    >>> unknown_kind(Program(), "no picture shows what {} does").what
    'no picture shows what a Program does'
    """
    name = type(program).__name__
    return ControlProgramError(
        what.format(f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"),
        at=program.location,
        found=printable(str(program)),
        fix="build programs from the classes in poplite.program",
    )


# -- arguments -------------------------------------------------------------------------------------


def check_name(name: object, program: str) -> None:
    """Refuse a program's name that is not a string; Poplar's last argument, it has no effect."""
    if not isinstance(name, str):
        raise ControlProgramError(
            f"{program}: name {clipped(name, 60)} is not a string",
            found=of_type(name),
            fix='use pl.Block(program, "forward") for a name in messages, drawings and profiles',
        )


def checked(value: object, where: str) -> Program:
    """Return the user's argument if it is a program; `where` names the call and the argument.

    >>> checked(Program(), "Repeat, body")
    <Program empty>
    """
    if isinstance(value, Program):
        return value
    fix = "pass a program, such as Execute(compute_set) or Sequence(a, b)"
    if isinstance(value, Operand):
        fix = "use an operation on it: with graph.steps() as program: ops.assign(...)"
    if where == "Repeat, body" and isinstance(value, int):
        fix = f"pass the number first: Repeat({value}, program)"
    raise ControlProgramError(
        f"{where}: {clipped(value, 80)} is not a program", found=of_type(value), fix=fix
    )


def programs_or_none(value: object) -> list[Any] | None:
    """Return the items of a list of programs; None for other iterables, such as tensors.

    >>> programs_or_none((Program(),)), programs_or_none(Program())
    ([<Program empty>], None)
    """
    return None if isinstance(value, Operand | ComputeSet) else items_or_none(value)


def checked_tensor(value: object, what: str, fix: str) -> Tensor:
    """Return the user's argument if it is a tensor; `what` names the call and the argument."""
    if isinstance(value, Tensor):
        return value
    raise ElementTypeError(
        f"{what} {clipped(value, 60)} is not a tensor",
        found=of_type(value),
        fix=stored_first(value, fix),
    )


_ONE_OF_ALL = "reduce it to one element: ops.map(ops.any(t)), ops.map(ops.all(t))"


def deciding_tensor(tensor: object, program: str, role: str) -> Tensor:
    """Return a tensor that controls a program; refuse any other type or number of elements.

    `program` is the kind of program; `role` is "predicate", or "control" for a Switch, which
    cannot be BOOL.

    >>> from poplite.graph import Graph
    >>> x = Graph().add_variable("float32", (), "x")
    >>> deciding_tensor(x, "If", "predicate")
    Traceback (most recent call last):
    ...
    poplite.errors.ElementTypeError: If: predicate 'x' is FLOAT, not BOOL, INT or UNSIGNED_INT...
    """
    types = NUMBERS if role == "control" else (BOOL, *NUMBERS)
    tensor = as_read(tensor)
    if not isinstance(tensor, Tensor):
        fix = f"{role} = graph.add_variable({types[0]!r}, (), mapping=0), which a vertex writes"
        raise ElementTypeError(
            f"{program}: {role} {clipped(tensor, 60)} is not a tensor",
            found=of_type(tensor),
            fix=_ONE_OF_ALL if has_many(tensor) else stored_first(tensor, fix),
        )
    if tensor.element_type not in types:
        *others, last = map(repr, types)
        raise ElementTypeError(
            f"{program}: {role} '{tensor.name}' is {tensor.element_type!r}, "
            f"not {', '.join(others)} or {last}",
            found=type_and_shape(tensor),
            fix="compare in a vertex, and write the result to such a scalar",
        )
    if tensor.num_elements != 1:
        raise ControlProgramError(
            f"{program}: {role} '{tensor.name}' has {amount(tensor.num_elements, 'element')}, "
            "not one",
            found=type_and_shape(tensor),
            fix=f"pass one element, t[0], or {_ONE_OF_ALL}",
        )
    return tensor


# -- step by step ----------------------------------------------------------------------------------


@made_by("pl.program.walk(program)")
@frozen(repr=False, eq=False)
class Step:
    """A leaf of a program in one place, or a program in which a scalar decides which part runs.

    Attributes:
        number: its number, from 1; for a program that decides, the number of the first step below.
        total: number of steps of the program.
        program: the leaf, or the program that decides.
    """

    number: int
    total: int
    program: Program

    def __repr__(self) -> str:
        return fitted("<Step {}>", str(self))

    def __str__(self) -> str:
        first, last = self.number, self.number + self.program.num_steps - 1
        if not self.program.children:
            return f"step {first:,} of {self.total:,}: {self.program}"
        if last < first:
            return str(self.program)
        steps = f"step {first:,}" if last == first else f"steps {first:,}-{last:,}"
        return f"{steps} of {self.total:,}, which {self.program} decides on"


def walk(program: Program) -> Iterator[Step]:
    """Yield every step of a program; those of a shared sub-tree occur in each of its places.

    Args:
        program: the root of the tree.

    >>> from poplite.graph import Graph
    >>> from poplite.program import Execute, Repeat, Sequence
    >>> blur = Execute(Graph().add_compute_set("blur"))
    >>> [str(step) for step in walk(Sequence(blur, Repeat(9, blur)))]
    ["step 1 of 2: Execute 'blur'", "step 2 of 2: Execute 'blur'"]
    """
    return _steps(program, once=False)


def distinct_steps(program: Program) -> Iterator[Step]:
    """Yield every leaf of a program once, at its first place.

    The time depends on the number of distinct sub-trees, not on how often they are shared.

    Args:
        program: the root of the tree.

    >>> from poplite.graph import Graph
    >>> from poplite.program import Execute, Sequence
    >>> blur = Execute(Graph().add_compute_set("blur"))
    >>> [str(step) for step in distinct_steps(Sequence(blur, Sequence(blur)))]
    ["step 1 of 2: Execute 'blur'"]
    """
    return _steps(program, once=True)


def distinct_decisions(program: Program) -> Iterator[Step]:
    """Yield every program with a predicate once, at its first place.

    Args:
        program: the root of the tree.

    >>> from poplite.graph import Graph
    >>> from poplite.program import Execute, If, Program, Sequence
    >>> graph = Graph()
    >>> blur = Execute(graph.add_compute_set("blur"))
    >>> large = graph.add_variable("bool", (), "large")
    >>> list(distinct_decisions(Sequence(blur, If(large, blur, Program()))))
    [<Step step 2 of 2, which If 'large' decides on>]
    """
    for number, node in _nodes(program, once=True):
        if node.decided_by is not None:
            yield Step(number, program.num_steps, node)


def _steps(program: Program, once: bool) -> Iterator[Step]:
    for number, node in _nodes(program, once):
        if node.num_steps and not node.children:
            yield Step(number, program.num_steps, node)


def children_first(program: Program) -> list[Program]:
    """Return each distinct sub-tree once, after the sub-trees below it.

    Args:
        program: the root of the tree.

    >>> from poplite.program import Repeat, Sequence
    >>> children_first(Sequence(part := Repeat(2, Program()), part))
    [<Program empty>, <Repeat 2 times, 0 steps>, <Sequence 0 steps>]
    """
    return bottom_up([checked(program, "children_first")], attrgetter("children"))


def _nodes(program: Program, once: bool) -> Iterator[tuple[int, Program]]:
    """Yield every node before the nodes below it, with the number of its first step."""
    seen: set[int] = set()
    number = 1
    pending = [program]
    while pending:
        node = pending.pop()
        if once and id(node) in seen:
            number += node.num_steps
            continue
        seen.add(id(node))
        yield number, node
        if node.children:
            pending.extend(reversed(node.children))
        else:
            number += node.num_steps


# -- functions -------------------------------------------------------------------------------------
# Programs that can run from many places:
#
#     blur = graph.add_function(Sequence(horizontal, vertical), "blur")
#     Sequence(Call(blur), Copy(a, b), Call(blur))
#
# Functions have no arguments: data is passed in variables. A program can only call functions that
# were created before it, so no function can call itself.


@made_by("graph.add_function(program)")
@refuse_copies("call graph.add_function(function.program) for another function")
@frozen(eq=False, repr=False)
class Function:
    """A program that `Call` runs; created by `graph.add_function`.

    Attributes:
        graph: the graph.
        name: unique among the graph's functions.
        program: the program that it runs.
        location: the user's line that created it.

    >>> from poplite.graph import Graph
    >>> Graph().add_function(Program(), "blur")
    <Function 'blur' 0 steps>
    """

    graph: Graph
    name: str
    program: Program
    location: SourceLocation

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", CalledText(self.name))

    def __repr__(self) -> str:
        steps = amount(self.program.num_steps, "step")
        return fitted(f"<Function '{{}}' {steps}>", self.name)

    def getId(self) -> int:
        """Return its position among the functions of the graph."""
        return self.graph.space.names.number("function", self.name)


@made_by("graph.add_function_buffer(function)")
@frozen(eq=False, repr=False)
class FunctionBuffer:
    """The code of a function, stored on the host until a Copy loads it.

    Created by `graph.add_function_buffer`. A Call of the function before the Copy is refused.

    Attributes:
        function: the function.
        location: the user's line that created it.

    >>> from poplite.graph import Graph
    >>> graph = Graph()
    >>> graph.add_function_buffer(graph.add_function(Program(), "blur"))
    <FunctionBuffer of 'blur'>
    """

    function: Function
    location: SourceLocation

    @property
    def name(self) -> str:
        """The name of the function."""
        return CalledText(f"code of {self.function.name}")

    def __repr__(self) -> str:
        return fitted("<FunctionBuffer of '{}'>", self.function.name)

    def getId(self) -> int:
        """Return the number of the function, which has at most one buffer."""
        return self.function.getId()


def function_of(graph: Graph, name: str, program: object, at: SourceLocation) -> Function:
    """Return a function of a graph; see `graph.add_function`."""
    part = checked(program, "add_function")
    for node in children_first(part):
        if isinstance(node, FunctionCall) and node.function.graph is not graph:
            raise ControlProgramError(
                f"add_function '{name}': it calls function '{node.function.name}' of another graph",
                found=f"that belongs to {node.function.graph!r} ({node.function.location})",
                fix="add both functions to the same graph: graph.add_function(program)",
            )
    part.mark_used(here())
    return Function(graph, name, part, at)


def buffer_of(graph: Graph, function: object, at: SourceLocation) -> FunctionBuffer:
    """Return a buffer for the code of a function; see `graph.add_function_buffer`."""
    if not isinstance(function, Function) or function.graph is not graph:
        raise ControlProgramError(
            f"add_function_buffer: {clipped(function, 80)} is not a function of this graph",
            fix="graph.add_function_buffer(graph.add_function(program))",
        )
    return FunctionBuffer(function, at)


@declared(init=False)
class Call(Program):
    """Runs a function, or a host function: `Call(host_function, inputs, outputs)`.

    Args:
        function: the function.
        inputs: for a host function, a tensor for each of its inputs.
        outputs: for a host function, a tensor for each of its outputs.
        name: as in Poplar; it has no effect.

    Raises:
        ControlProgramError: when it is not a function, or tensors are passed to a function of the
            graph; for a host function, when the number of tensors or elements is wrong, or the
            graphs differ.
        ElementTypeError: for a wrong element type, or anything but a tensor.
        GraphConnectionError: when an output may not be written or contains an element twice, or
            two outputs share elements.

    >>> from poplite.graph import Graph
    >>> Call(Graph().add_function(Program(), "blur"))
    <Call 'blur', 0 steps>
    """

    _title = "Call '{function.name}'"
    function: Function | HostFunction

    @overload
    def __new__(cls, function: Function, inputs: str = "", *, name: str = "") -> FunctionCall: ...
    @overload
    def __new__(
        cls,
        function: HostFunction,
        inputs: Iterable[Tensor] = (),
        outputs: Iterable[Tensor] = (),
        name: str = "",
    ) -> HostCall: ...
    # Any: the overloads above are the signature.
    def __new__(
        cls, function: Any = None, inputs: Any = (), outputs: Any = (), name: Any = ""
    ) -> Any:
        """Return a call of a function, or of a host function."""
        from poplite.program.copy import HostCall  # it derives from Call

        if cls is not Call:
            raise not_called(cls.__name__, "Call(function)", is_empty=function is None)
        form = HostCall if isinstance(function, HostFunction) else FunctionCall
        return object.__new__(form)


@declared()
class FunctionCall(Call):
    """Runs a function of the graph; created by `Call`."""

    function: Function

    def __init__(self, function: Function, *tensors: object, name: str = "") -> None:
        if len(tensors) == 1 and isinstance(tensors[0], str):
            tensors = ()
        if not isinstance(function, Function):
            raise ControlProgramError(
                f"Call: {clipped(function, 80)} is not a function",
                found=of_type(function),
                fix="Call(graph.add_function(program)), or use a program without Call",
            )
        if tensors:
            raise ControlProgramError(
                f"Call '{function.name}': a function of the graph has no inputs or outputs",
                found=f"{amount(len(tensors), 'argument')} after {function!r}",
                fix="copy to the variables that it uses before the Call, or use a host function "
                "(graph.add_host_function), which has inputs and outputs",
            )
        set_once(self, function=function)

    @property
    def children(self) -> tuple[Program, ...]:
        """The program of the function."""
        return (self.function.program,)


def written_steps(program: Program) -> int:
    """Return the number of steps of a program as compiled, with each function counted once.

    >>> from poplite.graph import Graph
    >>> from poplite.program import Execute, Sequence
    >>> graph = Graph()
    >>> blur = graph.add_function(Sequence([Execute(graph.add_compute_set())] * 1_000), "blur")
    >>> written_steps(Sequence([Call(blur)] * 5_000))
    6000
    """
    written: dict[int, int] = {}
    functions: dict[Function, None] = {}
    for node in children_first(program):
        if isinstance(node, FunctionCall):
            functions[node.function] = None
            written[id(node)] = 1
        elif node.children:
            written[id(node)] = sum(written[id(part)] for part in node.children)
        else:
            written[id(node)] = node.num_steps
    return written[id(program)] + sum(written[id(each.program)] for each in functions)


def functions_between(program: Program, inner: Program) -> list[Function] | None:
    """Return the functions through which a program runs `inner`; None if it does not run it.

    >>> from poplite.graph import Graph
    >>> inner = Program()
    >>> blur = Graph().add_function(inner, "blur")
    >>> functions_between(Call(blur), inner), functions_between(Program(), inner)
    ([<Function 'blur' 0 steps>], None)
    """
    seen = {id(program)}
    pending: list[tuple[Program, list[Function]]] = [(program, [])]
    while pending:
        node, path = pending.pop()
        if node is inner:
            return path
        for below in node.children:
            if id(below) not in seen:
                seen.add(id(below))
                through = [node.function] if isinstance(node, FunctionCall) else []
                pending.append((below, [*path, *through]))
    return None
