"""What a run cost: finished numbers, no drawing."""

from poplite.report.run import Report as Report
