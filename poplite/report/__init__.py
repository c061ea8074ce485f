"""What a graph is made of and what runs took: finished numbers, no drawing."""

from poplite.report.diff import Change as Change
from poplite.report.diff import ReportDiff as ReportDiff
from poplite.report.execution import Execution as Execution
from poplite.report.execution import ExecutionStep as ExecutionStep
from poplite.report.insights import Insights as Insights
from poplite.report.program import ProgramVisitor as ProgramVisitor
from poplite.report.run import Instrumentation as Instrumentation
from poplite.report.run import Report as Report
from poplite.report.trace import Trace as Trace
