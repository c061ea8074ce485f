r"""Data of pictures as text: JSON, the same outer form for all, or comma-separated values.

Keys are sorted and everything outside ASCII is escaped, so equal data gives equal bytes,
whatever is written to; names come back verbatim.

    >>> print(json_text("tiles", {"title": "caf\u00e9"}), end="")
    {
     "poplite": "tiles",
     "title": "caf\u00e9",
     "version": 1
    }
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

VERSION = 1
"""Rises when a reader of the earlier form would go wrong."""


def json_text(kind: str, data: Mapping[str, object]) -> str:
    """Return the data of one kind of picture as JSON.

    >>> json.loads(json_text("program", {"steps": 3}))["steps"]
    3
    """
    outer = {"poplite": kind, "version": VERSION, **data}
    return json.dumps(outer, indent=1, sort_keys=True, allow_nan=False) + "\n"


def by_field(row: Any, *without: str) -> dict[str, Any]:
    """Return the values of a dataclass by the names of its fields, without some."""
    return {each.name: getattr(row, each.name) for each in fields(row) if each.name not in without}


def as_data(value: Any) -> Any:
    """Return a value as data of JSON: dataclasses by field, arrays and sequences as lists.

    >>> as_data({"tiles": (np.arange(2), 0.5)})
    {'tiles': [[0, 1], 0.5]}
    """
    if isinstance(value, np.ndarray):
        return value.tolist()
    if is_dataclass(value):
        value = by_field(value)
    if isinstance(value, Mapping):
        return {key: as_data(each) for key, each in value.items()}
    return [as_data(each) for each in value] if isinstance(value, list | tuple) else value


def csv_text(heading: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    r"""Return a table as comma-separated values; names that hold commas or quotes are quoted.

    >>> csv_text(["step", "bytes"], [["a, b", 4]])
    'step,bytes\n"a, b",4\n'
    """
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows([heading, *rows])
    return file.getvalue()
