r"""Data of a picture as JSON, the same outer form for all of them.

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

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

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
