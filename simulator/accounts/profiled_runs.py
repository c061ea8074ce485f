"""Which runs of an engine its reports count: all of them, until Poplar's calls say otherwise.

    runs            1   2   3   4   5
    disabled            |-------|
    reports count   1               5

An engine counts everything that runs. What a report leaves out is a difference of two reports, so
that counting costs the same whether or not it is looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from poplite.report.report import Report


class ProfiledRuns:
    """Makes reports of an engine's counted runs from reports of all its runs."""

    def __init__(self) -> None:
        self._left_out: Report | None = None
        self._until_then: Report | None = None

    @property
    def are_left_out(self) -> bool:
        """Whether runs are left out now."""
        return self._until_then is not None

    def of(self, now: Report) -> Report:
        """Return the report of the runs that count.

        Args:
            now: the report of all runs until now.
        """
        if self._until_then is not None:
            return self._until_then
        return now if self._left_out is None else _since(now, self._left_out)

    def disable(self, now: Report) -> None:
        """Leave out what runs from now on.

        Args:
            now: the report of all runs until now.
        """
        self._until_then = self.of(now)

    def enable(self, now: Report) -> None:
        """Count what runs from now on.

        Args:
            now: the report of all runs until now.
        """
        if self._until_then is not None:
            self._left_out, self._until_then = _since(now, self._until_then), None

    def reset(self, now: Report) -> None:
        """Leave out all that ran until now.

        Args:
            now: the report of all runs until now.
        """
        if self._until_then is not None:
            self._until_then = _since(now, now)
        else:
            self._left_out = now


def _since(now: Report, earlier: Report) -> Report:
    from poplite.report.diff import report_since  # engines start sooner without it

    return report_since(now, earlier)
