"""Programs that run one of several programs, which a scalar chooses.

If(is_large, shrink, grow)
Switch(mode, {0: forward, 1: backward}, default=report)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from operator import index as whole_number
from types import MappingProxyType
from typing import Any, ClassVar, Literal, Self

from poplite.errors import ControlProgramError, SizeOverflowError
from poplite.graph.tensor.tensor import Tensor
from poplite.program.base import (
    Program,
    check_name,
    checked,
    child,
    deciding,
    declared,
    parts,
    programs_or_none,
    set_once,
)
from poplite.program.sequence import Growing
from poplite.text import amount, clipped, fitted, of_type
from poplite.types import INT

Cases = Mapping[int, Program] | Iterable[tuple[int, Program]]


@declared
@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class If(Program):
    """One of two programs.

    Args:
        predicate: one element of BOOL, INT or UNSIGNED_INT, true when it is not 0.
        true_body: what runs when it is true.
        false_body: what runs when it is false; `Sequence()` for nothing.
        name: as in Poplar; it has no effect.

    Raises:
        ControlProgramError: when a body is no program, or the predicate not one element.
        ElementTypeError: when the predicate is no tensor of these types.

    >>> from poplite.graph import Graph
    >>> large = Graph().add_variable("bool", (), "large")
    >>> If(large, Program(), Program())
    <If 'large', 0 steps>
    """

    _block_instead: ClassVar[str] = "ops.if_(predicate)"
    predicate: Tensor
    true_body: Program
    false_body: Program

    def __init__(
        self, predicate: Tensor, true_body: Program, false_body: Program, name: str = ""
    ) -> None:
        scalar = deciding(predicate, "If", "predicate")
        bodies = parts([(true_body, "If, true body"), (false_body, "If, false body")])
        set_once(
            self,
            predicate=scalar,
            true_body=bodies[0],
            false_body=bodies[1],
            num_steps=sum(body.num_steps for body in bodies),
            is_empty=all(body.is_empty for body in bodies),
        )

    @property
    def children(self) -> tuple[Program, ...]:
        """Both bodies, the one for true first."""
        return self.true_body, self.false_body

    @property
    def decided_by(self) -> Tensor:
        """The predicate."""
        return self.predicate

    def __str__(self) -> str:
        return f"If '{self.predicate.name}'"

    def __repr__(self) -> str:
        return fitted(f"<If '{{}}', {amount(self.num_steps, 'step')}>", self.predicate.name)


@declared
@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class Switch(Growing):
    """The program whose number a scalar holds.

    Cases may be added until the Switch becomes part of another program, a function or an engine.

    Args:
        control: one element of INT or UNSIGNED_INT.
        cases: programs by the value that chooses them, or pairs of both.
        default: what runs for any other value; left out, nothing. As in Poplar it may follow the
            control, where cases are added later.
        name: as in Poplar; it has no effect.

    Attributes:
        unmatched: what any other value means: "default", "error", or "unreachable".

    Raises:
        ControlProgramError: when a value is no whole number or comes twice, a case no program,
            or the control not one element.
        ElementTypeError: when the control is no tensor of these types.
        SizeOverflowError: when the control can never have a value.

    >>> from poplite.graph import Graph
    >>> mode = Graph().add_variable("int32", (), "mode")
    >>> Switch(mode, {0: Program()}).add(1, Program()).add(2, Program())
    <Switch 'mode', 3 cases, 0 steps>
    """

    control: Tensor
    default: Program
    unmatched: Literal["default", "error", "unreachable"]
    _cases: dict[int, Program]

    def __init__(
        self,
        control: Tensor,
        cases: Cases | Program | str = (),
        default: Program | str | None = None,
        name: str = "",
    ) -> None:
        other: Any = Program() if default is None else default
        if default is None and isinstance(cases, Program):
            other, cases = cases, ()
        self._fill(control, cases, "default", other)

    @classmethod
    def with_bounds_checking(cls, control: Tensor, cases: Cases = (), name: str = "") -> Self:
        """Make a Switch that stops the run with an error when no case matches.

        Args:
            control: one element of INT or UNSIGNED_INT.
            cases: programs by the value that chooses them, or pairs of both.
            name: as in Poplar; it has no effect.
        """
        check_name(name, "Switch")
        switch = cls.__new__(cls)
        switch._fill(control, cases, "error", Program())
        return switch

    @classmethod
    def with_unreachable_default(
        cls, control: Tensor, cases: Cases | str = (), name: str = ""
    ) -> Self:
        """Make a Switch of which you know that a case always matches.

        On a machine anything may happen when none does; here the run stops with an error.

        Args:
            control: one element of INT or UNSIGNED_INT.
            cases: programs by the value that chooses them, or pairs of both; as in Poplar the
                name may follow the control, where cases are added later.
            name: as in Poplar; it has no effect.
        """
        if isinstance(cases, str):  # a name follows the control
            name, cases = cases, ()
        check_name(name, "Switch")
        switch = cls.__new__(cls)
        switch._fill(control, cases, "unreachable", Program())
        return switch

    def _fill(self, control: Tensor, cases: Any, unmatched: str, default: Program) -> None:
        scalar = deciding(control, "Switch", "control")
        pairs = list(cases.items()) if isinstance(cases, Mapping) else _pairs(cases)
        part = child(default, "Switch, default")
        set_once(
            self,
            control=scalar,
            default=part,
            unmatched=unmatched,
            used_at=None,
            _cases={},
            num_steps=part.num_steps,
            is_empty=part.is_empty and unmatched == "default",
        )
        for value, program in pairs:
            self.add(value, program)

    def add(self, value: int, program: Program) -> Self:
        """Add a case.

        Args:
            value: what chooses it.
            program: what runs.

        Returns:
            The Switch, so that calls can be chained.

        Raises:
            ControlProgramError: when the value is no whole number or has a case already,
                `program` is no program, or the Switch is part of another program.
            SizeOverflowError: when the control can never have that value.
            GraphRecursionError: when the program runs this very Switch.
        """
        number, part = self._number(value), checked(program, f"Switch, case {clipped(value)}")
        if self.used_at is None and number in self._cases:
            raise ControlProgramError(
                f"Switch '{self.control.name}': two programs for the value {number:,}",
                found=f"cases: {self.values_text()}",
                fix="Sequence(first, second) runs both",
            )
        self._adopt(part, f"case {number:,}")
        self._cases[number] = part
        return self

    def _number(self, value: object) -> int:
        try:
            number = whole_number(value)  # type: ignore[arg-type]
        except TypeError:
            raise ControlProgramError(
                f"Switch: a case for {clipped(value)}, which is no whole number",
                found=of_type(value),
                fix="Switch(control, {0: program})",
            ) from None
        low, high = (-(1 << 31), 1 << 31) if self.control.element_type is INT else (0, 1 << 32)
        if not low <= number < high:
            raise SizeOverflowError(
                f"Switch '{self.control.name}': a case for {number:,}, but "
                f"{self.control.element_type!r} holds {low:,} to {high - 1:,}",
                found=f"cases so far: {self.values_text()}",
                fix="a value in that range",
            )
        return number

    def values_text(self) -> str:
        """Return the values of the cases, the first few of many."""
        values = [f"{value:,}" for value in self._cases]
        more = f" and {len(values) - MOST_VALUES:,} more" if len(values) > MOST_VALUES else ""
        return ", ".join(values[:MOST_VALUES]) + more if values else "none"

    @property
    def cases(self) -> Mapping[int, Program]:
        """The programs by the value that chooses them, in the order in which they were added."""
        return MappingProxyType(self._cases)

    @property
    def children(self) -> tuple[Program, ...]:
        """The programs of the cases, then the default if there is one."""
        default = [self.default] if self.unmatched == "default" else []
        return (*self._cases.values(), *default)

    @property
    def decided_by(self) -> Tensor:
        """The control."""
        return self.control

    def __str__(self) -> str:
        return f"Switch '{self.control.name}'"

    def __repr__(self) -> str:
        numbers = f"{amount(len(self._cases), 'case')}, {amount(self.num_steps, 'step')}"
        return fitted(f"<Switch '{{}}', {numbers}>", self.control.name)

    switchWithBoundsChecking = with_bounds_checking
    switchWithUnreachableDefault = with_unreachable_default


def _pairs(cases: object) -> list[tuple[int, Program]]:
    found = programs_or_none(cases)
    for pair in [cases] if found is None else found:
        if found is None or not isinstance(pair, tuple | list) or len(pair) != 2:
            what = "cases" if found is None else "a value and its program"
            raise ControlProgramError(
                f"Switch: {clipped(pair, 60)} in place of {what}",
                found=of_type(pair),
                fix="Switch(control, {0: program}), or Switch(control, default=program)",
            )
    return found or []


MOST_VALUES = 8
"""Values of cases that a message lists."""
