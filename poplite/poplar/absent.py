"""What Poplar and PopLibs have and poplite does not: why not, and what to use instead."""

from __future__ import annotations

from collections.abc import Mapping


def absent_members(owner: str) -> Mapping[str, tuple[str, str]]:
    """Return the members of a class that are absent: why, and what to use instead."""
    return {}
