"""Every member that Poplar has is here, with its signature in the table, or is refused by name."""

from __future__ import annotations

from typing import Any

import pytest

import poplite as pl
from helpers.poplar_members import ENUMERATIONS, NAMES, NESTED
from helpers.poplar_signatures import REFUSALS, ROWS, Example, Refusal
from helpers.poplar_world import world
from poplite.poplar.binder import parameters_of
from poplite.poplar.declarations import Row, all_rows
from poplite.poplar.spelling import names_here

TYPE = {"Type": "FLOAT"}
"""What stands for a class of which Poplar has objects."""


def found(path: str) -> Any:
    """Return what a path of Poplar's names leads to; None where poplite refuses it."""
    here: Any = pl
    try:
        for name in path.split("."):
            # The numbers of a model are those of an object.
            here = getattr(pl.IPUModel() if here is pl.IPUModel else here, name)
    except pl.AbsentMember:
        return None
    return here


def path_of(row: Row) -> str:
    """Return the names that lead to a member."""
    owner, name = TYPE.get(row.owner, row.owner), row.member
    name = {"operator[]": "__getitem__", "operator==": "__eq__", "operator<": "__eq__"}.get(
        name, name
    )
    return owner if name == owner else f"{owner}.{name}".removeprefix(".")


def name_of(row: Example | Refusal) -> str:
    """Return the member of a row, without its class."""
    return row.poplar.partition("(")[0].rpartition(".")[2].strip()


def count_of(row: Example | Refusal) -> int:
    """Return the number of arguments of a row."""
    arguments = row.poplar.partition("(")[2].partition(")")[0]
    return len(arguments.split(",")) if arguments else 0


@pytest.mark.parametrize("path", [*NAMES, *NESTED, *ENUMERATIONS])
def test_every_name_is_there_or_refused(path: str) -> None:
    found(path)


@pytest.mark.parametrize("path", ENUMERATIONS)
def test_every_member_of_an_enumeration_is_there(path: str) -> None:
    members = {found(f"{path}.{name}") for name in ENUMERATIONS[path].split()}
    assert None not in members
    assert len(members) == len(ENUMERATIONS[path].split())


def test_every_declaration_has_an_example_or_is_refused() -> None:
    calls: list[Example | Refusal] = [*ROWS, *REFUSALS]
    described = {(each.owner, name_of(each), count_of(each)) for each in calls}
    missing = []
    for row in all_rows():
        is_program = hasattr(pl.program, names_here().get(row.owner, row.owner))
        parameters = parameters_of(row.declaration)
        least = sum(not each.default for each in parameters)
        counts = range(least - row.member.startswith("operator="), len(parameters) + 1)
        has_example = any(
            (owner, row.member, count) in described
            for owner in {row.owner, "Program" if is_program else row.owner}
            for count in counts
        )
        if not has_example and found(path_of(row)) is not None:
            missing.append(row.declaration)
    assert len(all_rows()) > 380
    assert not missing


@pytest.mark.parametrize("refusal", REFUSALS, ids=[each.poplar for each in REFUSALS])
def test_refused_signature_says_why(refusal: Refusal) -> None:
    with pytest.raises(pl.PopliteError) as caught:
        eval(refusal.call, world(refusal.owner))
    assert refusal.reason in f"{caught.value.what} {caught.value.found}"
    assert caught.value.fix == refusal.instead
