"""README and docs/poplar-names.md name as absent only what cannot be imported."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import poplite as pl
from poplite import compat
from poplite.compat import poplin, popnn, popops, poprand, poputil

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
NAMES = (ROOT / "docs/poplar-names.md").read_text()

NOT_YET = {
    "stalls of supervisors, memory banks": (),
    "supervisor vertices, assembly": ("SupervisorVertex", "Graph.addCodelets"),
    "several IPUs, replicas and remote buffers there": (),
    "random numbers in vertices": ("urand", "grand"),
}
"""What the last column of README's table says, and names that would be there if it were wrong."""

LIBRARIES = {
    "popops": popops,
    "poplin": poplin,
    "popnn": popnn,
    "poprand": poprand,
    "poputil": poputil,
}


def has(owner: object, path: str) -> bool:
    """Return whether an object has an attribute of an attribute of it."""
    for name in path.split("."):
        if not hasattr(owner, name):
            return False
        owner = getattr(owner, name)
    return True


def test_what_is_not_yet_modelled_is_not_there() -> None:
    table = README[README.index("| modelled | not yet |") :].partition("\n\n")[0]
    said = {row.split("|")[2].strip() for row in table.splitlines()[2:]}
    assert said - {""} == set(NOT_YET)
    assert not [name for names in NOT_YET.values() for name in names if has(pl, name)]


@pytest.mark.parametrize("name", re.findall(r"`(\w+::\w+)`", README))
def test_what_readme_calls_absent_is_absent(name: str) -> None:
    owner, _, member = name.partition("::")
    if owner in LIBRARIES:
        assert not has(LIBRARIES[owner], member)
        assert member in NAMES
    elif hasattr(pl, owner):
        assert not has(pl, f"{owner}.{member}")
    else:
        assert not has(compat, owner) or not has(compat, f"{owner}.{member}")


def absent_of_libraries() -> list[tuple[str, str]]:
    """Each library of the last table of docs/poplar-names.md, and names that it says are absent."""
    table = NAMES[NAMES.index("| library | not in poplite |") :]
    return [
        (library, name)
        for row in table.splitlines()[2:]
        for library in LIBRARIES
        if row.startswith(f"| {library}")
        for name in re.findall(r"`([a-z]\w*[A-Z]\w*)`", row)
    ]


def test_what_the_libraries_lack_is_absent() -> None:
    found = absent_of_libraries()
    assert len(found) > 25
    assert not [(library, name) for library, name in found if has(LIBRARIES[library], name)]
