"""Checks of what changed, such as `cycles>+5%`: a check fails when what it says is the case.

    cycles>+5%          more than five percent more than before
    fullest>600000      more than that, whatever it was before
    balance<-2          more than two percent points less
    step:blur>+100      the step named blur takes over a hundred cycles more

A number that one of the reports does not have fails its check: what is gone is no improvement.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from poplite.errors import UnknownName, did_you_mean
from poplite.frozen import frozen
from poplite.report.diff import execution_of
from poplite.report.execution import PHASE_KINDS

if TYPE_CHECKING:
    from poplite.report import Report

_FORM = re.compile(
    r"\s*(?P<name>.+?)\s*(?P<op>[<>])\s*(?P<sign>[+-]?)"
    r"(?P<number>\d[\d,_]*(\.\d+)?)\s*(?P<percent>%?)\s*"
)
BALANCE = "balance"


@frozen
class Check:
    """What may not be the case.

    Attributes:
        text: as it was written.
        name: of the number that is looked at.
        more: whether it may not be more, else not less.
        of: what is compared: the later number, its change, or that in percent.
        amount: what it is compared with.
    """

    text: str
    name: str
    more: bool
    of: Literal["value", "change", "percent"]
    amount: float

    def fails(self, before: float, after: float) -> bool:
        """Return whether it is the case.

        >>> parsed("cycles>+5%").fails(100, 106), parsed("cycles>+5%").fails(100, 105)
        (True, False)
        """
        limits = {
            "value": self.amount,
            "change": before + self.amount,
            "percent": before + before * self.amount / 100,
        }
        limit = limits[self.of]
        return after > limit if self.more else after < limit


@frozen
class CheckOutcome:
    """What came out of a check.

    Attributes:
        check: what was checked.
        before: the earlier number; None where there is none.
        after: the later one.
    """

    check: Check
    before: float | None
    after: float | None

    @property
    def failed(self) -> bool:
        """Whether it failed: what is not there fails."""
        if self.before is None or self.after is None:
            return True
        return self.check.fails(self.before, self.after)

    def text(self, names: tuple[str, str]) -> str:
        """Return it on one line, with both numbers; `names` are those of the reports."""
        numbers = (self.before, self.after)
        missing = [name for name, number in zip(names, numbers, strict=True) if number is None]
        verdict = "FAILED" if self.failed else "passed"
        told = " -> ".join("none" if number is None else _number(number) for number in numbers)
        why = f" (not in {' and '.join(missing)})" if missing else ""
        return f"{verdict}  {self.check.text}: {told}{why}"


def parsed(text: str) -> Check:
    """Return a check as it is written: NAME, `>` or `<`, and an amount.

    Raises ValueError where it is not written so.

    >>> parsed("fullest > 600,000").amount, parsed("balance<-2").of, parsed("sync>+10%").of
    (600000.0, 'change', 'percent')
    """
    found = _FORM.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not NAME>AMOUNT or NAME<AMOUNT, for instance cycles>+5%")
    name, sign, percent = found["name"], found["sign"], found["percent"]
    if percent and not sign and name != BALANCE:
        raise ValueError(f"{text!r} is percent of what? Write {name}{found['op']}+... for a change")
    amount = float(found["number"].replace(",", "").replace("_", ""))
    of: Literal["value", "change", "percent"] = "change" if sign else "value"
    if sign and percent:
        of = "percent"
    return Check(text.strip(), name, found["op"] == ">", of, -amount if sign == "-" else amount)


def outcomes(before: Report, after: Report, checks: Sequence[Check]) -> list[CheckOutcome]:
    """Return what comes out of checks of two reports.

    Raises UnknownName for a number that neither report has.
    """
    found = numbers_of(before), numbers_of(after)
    known = list(dict.fromkeys(name for numbers in found for name in numbers))
    for check in checks:
        if check.name not in known:
            raise UnknownName(
                f"there is no number {check.name!r} to check{did_you_mean(check.name, known)}",
                at=None,
                found=f"there are {', '.join(name for name in known if ':' not in name)}, "
                "step:NAME and kind:NAME",
                fix=f"--fail-if '{known[0]}>+5%'",
            )
    return [
        CheckOutcome(check, *(numbers.get(check.name) for numbers in found)) for check in checks
    ]


def numbers_of(report: Report) -> Mapping[str, float | None]:
    """Return the numbers that checks may name; None where the report does not model them.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=4))
    >>> a, b = (graph.add_variable(pl.INT, (3,), name, mapping=0) for name in "ab")
    >>> numbers = numbers_of(pl.Engine(graph, pl.Copy(a, b)).report())
    >>> numbers["cycles"] == numbers["copy"] * 4 == numbers["step:a to b"]
    True
    """
    execution, memory = execution_of(report), report.compilation.modelled
    modelled = execution.cycles is not None
    busy = execution.tile_cycles
    most = int(busy.max(initial=0))
    found: dict[str, float | None] = {
        "cycles": execution.cycles,
        "fullest": None if memory is None else memory.including_gaps.most,
        "bytes": None if memory is None else memory.including_gaps.total,
        BALANCE: 100 * float(busy.mean()) / most if most else (100.0 if modelled else None),
        "sync": execution.sync_cycles if modelled else None,
    }
    phases = execution.phase_cycles()
    found |= {kind: phases[kind] if modelled else None for kind in PHASE_KINDS}
    spent = execution.time_parts()
    found |= {part: spent[part] if modelled else None for part in spent if part not in found}
    for step in execution.steps:
        name = f"step:{step.name}"
        found[name] = (found.get(name) or 0) + step.cycles
    if memory is not None:
        found |= {f"kind:{name}": each.total for name, each in memory.categories().items()}
    return found


def _number(number: float) -> str:
    return f"{number:,.1f}" if isinstance(number, float) else f"{number:,}"
