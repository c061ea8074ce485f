"""The report page: one HTML file that shows what a report knows, and needs no other file."""

from poplite.viz.page.document import report_page

__all__ = ["report_page"]
