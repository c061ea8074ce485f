"""What a graph is made of and what runs took: finished numbers, no drawing.

As in `poplite`, a name's module is imported when the name is first used: engines count what runs
without what reads, writes and compares reports.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from poplite.report.diff import Change as Change, ReportDiff as ReportDiff
    from poplite.report.execution import Execution as Execution, ExecutionStep as ExecutionStep
    from poplite.report.findings import Finding as Finding, Insights as Insights
    from poplite.report.program_tree import ProgramVisitor as ProgramVisitor
    from poplite.report.report import Instrumentation as Instrumentation, Report as Report
    from poplite.report.traces.trace import Trace as Trace

_HOME = {
    "Change": "diff",
    "Execution": "execution",
    "ExecutionStep": "execution",
    "Finding": "findings",
    "Insights": "findings",
    "Instrumentation": "report",
    "ProgramVisitor": "program_tree",
    "Report": "report",
    "ReportDiff": "diff",
    "Trace": "trace",
}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'poplite.report' has no attribute '{name}'")
    value = getattr(import_module(f"poplite.report.{_HOME[name]}"), name)
    globals()[name] = value
    return value
