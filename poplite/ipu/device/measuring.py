"""What runs on a device took, beside what the model of the simulator says of the same programs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from poplite.executable.executable import Executable
from poplite.executable.program_trees import planned_counts, program_trees
from poplite.report.measured import Measured
from poplite.report.report import Report
from poplite.simulator.accounts.accounts import Accounts
from poplite.simulator.accounts.reporting import report_of


class Measuring:
    """Counts runs of an executable's programs, and what they took on a device."""

    def __init__(self, executable: Executable, *, are_cycles_counted: bool) -> None:
        self._executable, self._are_cycles_counted = executable, are_cycles_counted
        self._took: dict[str, list[tuple[int, float]]] = {}

    def add(self, program: str, cycles: int, seconds: float) -> None:
        """Add a run that reached its end."""
        self._took.setdefault(program, []).append((cycles, seconds))

    def report(self, options: tuple[tuple[str, str], ...]) -> Report:
        """Return a report in which steps are those of the model, as often as programs ran.

        Steps whose number data decide are counted once a run.
        """
        trees, counts = program_trees(self._executable), {}
        decided: dict[str, bool] = {}
        for name, code in self._executable.programs.items():
            runs = len(self._took.get(name, ()))
            counts[name] = runs * planned_counts(code, trees[name]).astype(np.int64)
            decided[name] = any(node.count is None for node in trees[name].walk())
        accounts = Accounts(self._executable, counts)
        report = report_of(
            self._executable,
            accounts,
            runs=sum(map(len, self._took.values())),
            runs_again=0,
            interpret=False,
            faster=(),
            options=options,
        )
        modelled = dict.fromkeys(counts, 0)
        for step in report.execution.steps:
            modelled[step.program_name] += step.cycles
        return replace(
            report,
            measured=tuple(
                Measured(
                    name,
                    len(took),
                    sum(cycles for cycles, _ in took) if self._are_cycles_counted else None,
                    sum(seconds for _, seconds in took),
                    None if decided[name] or not accounts.are_kept else modelled[name],
                )
                for name, took in self._took.items()
            ),
        )
