"""Tables as comma-separated values, for spreadsheets and data frames."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence


def csv_text(heading: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    r"""Return a table as comma-separated values; names that hold commas or quotes are quoted.

    >>> csv_text(["step", "bytes"], [["a, b", 4]])
    'step,bytes\n"a, b",4\n'
    """
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows([heading, *rows])
    return file.getvalue()
