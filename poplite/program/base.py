"""What all programs have in common: their base, their parts, and the scalars that decide."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import wraps
from types import TracebackType
from typing import Any, ClassVar, TypeVar

import numpy as np

from poplite.display import Displayed
from poplite.errors import ControlProgramError, ElementTypeError
from poplite.expr.operand import Operand, as_read
from poplite.expr.tree import has_many, stored_first
from poplite.graph.compute_sets.compute_set import ComputeSet
from poplite.graph.storage.copies import refuse_copies
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tensor.tensor_text import type_and_shape
from poplite.poplar.declarations import rows_of
from poplite.poplar.spelling import binder_of
from poplite.source import SourceLocation, here
from poplite.text import amount, clipped, items_or_none, of_type
from poplite.types import BOOL, INT, UNSIGNED_INT

NUMBERS = INT, UNSIGNED_INT
"""Element types that can control a Switch."""


# Compared by identity: trees share sub-trees, and comparing those by content would visit
# each of them once for every path that leads to it.
@refuse_copies("build it once more, or use it twice: a program may stand in several places")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Program(Displayed):
    """A program that does nothing; base of the others.

    Attributes:
        location: the user's line that made it.
        num_steps: leaves under it, each place counted, whether and how often they run or not.
        is_empty: whether it does nothing.

    >>> Program()
    <Program empty>
    """

    _name_counts: ClassVar[bool] = False
    _block_instead: ClassVar[str] = "graph.steps() as program"
    location: SourceLocation = field(init=False)
    num_steps: int = field(init=False)
    is_empty: bool = field(init=False)

    def __post_init__(self) -> None:
        set_once(self, num_steps=0)

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
        """Tensors that it reads itself, without those that vertices read."""
        return () if self.decided_by is None else (self.decided_by,)

    @property
    def writes(self) -> tuple[Tensor, ...]:
        """Tensors that it writes itself, without those that vertices write."""
        return ()

    def __enter__(self) -> Any:
        """Refuse a `with` block: those of a Sequence and of operations take steps."""
        raise ControlProgramError(
            f"{self!r} cannot be the subject of a `with` statement",
            fix=f"with {self._block_instead}: operations are its steps",
        )

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End a `with` block, of a program that can have one."""

    def mark_used(self, at: SourceLocation) -> None:
        """Note that it became part of another program, so that it does not change any more."""

    def __repr__(self) -> str:
        return "<Program empty>"

    def same_as(self, other: Program) -> bool:
        """Whether another program does the same with the same tensors, in the same order.

        `==` is true only of a program and itself. Programs that differ in how they are built, as
        a Sequence in a Sequence, are not the same. Names count where they are those of a Block,
        and the cases of a Switch in any order.

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
            parts = _parts_alike(a, b)
            if parts is None:
                return False
            if isinstance(a, Program):  # the values between them may be made anew, at equal places
                seen.add((id(a), id(b)))
            pending += parts
        return True

    def isEmpty(self) -> bool:
        """C++ spelling of `is_empty`."""
        return self.is_empty


_NOT_COMPARED = {"location", "used_at", "num_steps", "is_empty", "_made", "times"}


def _parts_alike(a: Any, b: Any) -> list[tuple[Any, Any]] | None:
    """Return pairs of parts, all of which must be the same for both to be; None if they differ."""
    if isinstance(a, Program):
        if type(a) is not type(b):
            return None
        left_out = _NOT_COMPARED if a._name_counts else _NOT_COMPARED | {"name"}
        compared = [f.name for f in fields(a) if f.name not in left_out]
        return [(getattr(a, name), getattr(b, name)) for name in compared]
    if type(a) is not type(b):
        return None
    if isinstance(a, Mapping):
        return [(a[key], b[key]) for key in a] if a.keys() == b.keys() else None
    if isinstance(a, list | tuple):
        return list(zip(a, b, strict=True)) if len(a) == len(b) else None
    same = np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b
    return [] if same else None


C = TypeVar("C", bound=type[Program])


def declared(cls: C) -> C:
    """Let a program be made with arguments in Poplar's order, by the declarations of its class."""
    fill: Any = cls.__init__
    kind = next(each.__name__ for each in cls.__mro__ if rows_of(each.__name__))
    names = fill.__code__.co_varnames[1 : fill.__code__.co_argcount]
    in_our_order: list[int] = []  # such numbers of arguments, whichever declaration is meant

    @wraps(fill)
    def __init__(self: Program, *arguments: Any, **named: Any) -> None:
        if len(arguments) in in_our_order and not named:
            fill(self, *arguments)
            return
        binder = binder_of(kind, kind)
        in_our_order[:] = binder.counts_in_our_order
        ordered, others = binder.in_our_order(arguments, named, as_ours=True)
        check_name({**dict(zip(names, ordered, strict=False)), **others}.get("name", ""), kind)
        try:
            fill(self, *ordered, **others)
        except TypeError:
            misfit = binder.refusal(fill, (self, *ordered), others, 1, (arguments, named))
            if misfit is None:
                raise
            raise misfit from None

    cls.__init__ = __init__  # type: ignore[method-assign]
    return cls


def check_name(name: object, program: str) -> None:
    """Refuse a name of a program that is no text; Poplar's last argument, it has no effect."""
    if not isinstance(name, str):
        raise ControlProgramError(
            f"{program}: name {clipped(name, 60)} is no text",
            found=of_type(name),
            fix='pl.Block(program, "forward") has a name in messages, drawings and profiles',
        )


def set_once(program: Program, /, **attributes: object) -> None:
    """Fill in a frozen program while it is being made; adds the user's location."""
    object.__setattr__(program, "location", here())
    for name, value in {"is_empty": not attributes["num_steps"], **attributes}.items():
        object.__setattr__(program, name, value)


def child(value: object, where: str) -> Program:
    """Return a program that becomes part of another, and cannot change from then on.

    `where` names the call and the argument, for the message.

    >>> child(Program(), "Repeat, body")
    <Program empty>
    """
    return parts([(value, where)])[0]


def parts(values: Iterable[tuple[object, str]]) -> list[Program]:
    """Return programs that become part of another; none of them does where one is no program.

    >>> parts([(Program(), "If, true body"), (Program(), "If, false body")])
    [<Program empty>, <Program empty>]
    """
    programs = [checked(value, where) for value, where in values]
    at = here()
    for program in programs:
        program.mark_used(at)
    return programs


def checked(value: object, where: str) -> Program:
    """Return what the user passed, if it is a program; `where` names the call and the argument.

    >>> checked(Program(), "Repeat, body")
    <Program empty>
    """
    if isinstance(value, Program):
        return value
    fix = "wrap a compute set in Execute(cs); build sequences as Sequence(a, b)"
    if isinstance(value, Operand):
        fix = "with graph.steps() as program: ops.assign(...) or another operation on it"
    raise ControlProgramError(
        f"{where}: {clipped(value, 80)} is no program", found=of_type(value), fix=fix
    )


def programs_or_none(value: object) -> list[Any] | None:
    """Return the items of a list of programs; None for what only iterates as a list, as tensors.

    >>> programs_or_none((Program(),)), programs_or_none(Program())
    ([<Program empty>], None)
    """
    return None if isinstance(value, Operand | ComputeSet) else items_or_none(value)


_ONE_OF_ALL = "store one of all: ops.map(ops.any(t)), ops.map(ops.all(t))"


def deciding(tensor: object, program: str, role: str) -> Tensor:
    """Return a tensor that a program reads to decide, if it has one element of a type that decides.

    `program` is its kind, `role` "predicate", or "control" of a Switch, which cannot be BOOL.

    >>> from poplite.graph import Graph
    >>> x = Graph().add_variable("float32", (), "x")
    >>> deciding(x, "If", "predicate")
    Traceback (most recent call last):
    ...
    poplite.errors.ElementTypeError: If: predicate 'x' is of FLOAT, not BOOL, INT or UNSIGNED_INT...
    """
    types = NUMBERS if role == "control" else (BOOL, *NUMBERS)
    *others, last = map(repr, types)
    names = f"{', '.join(others)} or {last}"
    tensor = as_read(tensor)
    if not isinstance(tensor, Tensor):
        fix = f"{role} = graph.add_variable({types[0]!r}, (), mapping=0); a vertex writes it"
        raise ElementTypeError(
            f"{program}: {role} {clipped(tensor, 60)} is not a tensor",
            found=of_type(tensor),
            fix=_ONE_OF_ALL if has_many(tensor) else stored_first(tensor, fix),
        )
    if tensor.element_type not in types:
        raise ElementTypeError(
            f"{program}: {role} '{tensor.name}' is of {tensor.element_type!r}, not {names}",
            found=type_and_shape(tensor),
            fix="let a vertex compare, and write the outcome to such a scalar",
        )
    if tensor.num_elements != 1:
        raise ControlProgramError(
            f"{program}: {role} '{tensor.name}' has {amount(tensor.num_elements, 'element')}, "
            "but one decides",
            found=type_and_shape(tensor),
            fix=f"one element, t[0], or {_ONE_OF_ALL}",
        )
    return tensor
