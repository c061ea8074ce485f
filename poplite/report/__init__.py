"""Reports: the results of modelling a graph or its runs, as numbers and text.

As in `poplite`, the module of a name is imported when the name is first used, so that engines can
count executions without loading the code that reads, writes and compares reports.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from poplite.public import loaded_on_use

if TYPE_CHECKING:
    from poplite.report.diff import Change as Change, ReportDiff as ReportDiff
    from poplite.report.execution import Execution as Execution, ExecutionStep as ExecutionStep
    from poplite.report.findings import Finding as Finding, Insights as Insights
    from poplite.report.program_tree import ProgramVisitor as ProgramVisitor
    from poplite.report.report import Instrumentation as Instrumentation, Report as Report
    from poplite.report.trace import Trace as Trace

__all__, __getattr__, __dir__ = loaded_on_use(__name__)
