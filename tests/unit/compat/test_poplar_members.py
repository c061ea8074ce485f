"""Every member that Poplar has is here, with its signature in the table, or is refused by name."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import poplite as pl
from helpers.poplar_members import ENUMERATIONS, NAMES, NESTED, SIGNATURES, Signature
from helpers.poplar_signatures import REFUSALS, ROWS, Refusal, Row
from helpers.poplar_world import world

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


def path_of(signature: Signature) -> str:
    """Return the names that lead to a member."""
    owner, name, _ = signature
    owner = TYPE.get(owner, owner)
    name = {"operator[]": "__getitem__", "operator==": "__eq__"}.get(name, name)
    return owner if name == owner else f"{owner}.{name}".removeprefix(".")


def name_of(row: Row | Refusal) -> str:
    """Return the member of a row, without its class."""
    return row.poplar.partition("(")[0].rpartition(".")[2].strip()


def count_of(row: Row | Refusal) -> int:
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


def test_every_signature_has_a_row_or_is_refused() -> None:
    described: list[Row | Refusal] = [*ROWS, *REFUSALS]
    rows = Counter((each.owner, name_of(each), count_of(each)) for each in described)
    missing = []
    for signature, number in Counter(SIGNATURES).items():
        is_program = hasattr(pl.program, pl._SPELLINGS.get(signature.owner, signature.owner))
        owner = "Program" if is_program else signature.owner
        has_rows = rows[owner, signature.name, signature.arguments] + rows[signature] >= number
        if not has_rows and found(path_of(signature)) is not None:
            missing.append(signature)
    assert len(SIGNATURES) > 400
    assert not missing


@pytest.mark.parametrize("refusal", REFUSALS, ids=[each.poplar for each in REFUSALS])
def test_refused_signature_says_why(refusal: Refusal) -> None:
    with pytest.raises(pl.PopliteError) as caught:
        eval(refusal.call, world(refusal.owner))
    assert refusal.reason in f"{caught.value.what} {caught.value.found}"
    assert caught.value.fix == refusal.instead
