"""The report page: one HTML file that shows a report, and needs no other file."""

from poplite.viz.page.document import report_page

__all__ = ["report_page"]
