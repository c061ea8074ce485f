"""What two reports are called above their columns."""

from __future__ import annotations

from pathlib import Path

from poplite.viz.draw.units import name_text


def column_names(before: str, after: str) -> tuple[str, str]:
    """Return the names of two files without their folders, unless they are the same then.

    >>> column_names("runs/base.json", "runs/pr.json"), column_names("a/run.json", "b/run.json")
    (('base.json', 'pr.json'), ('a/run.json', 'b/run.json'))
    """
    names = Path(before).name, Path(after).name
    shown = (before, after) if names[0] == names[1] else names
    return name_text(shown[0]), name_text(shown[1])
