"""Calls in Poplar's spelling with wrong arguments end in an error with four parts, or in a result.

Each call is one of the table of signatures with one argument exchanged, added or left out.
"""

from __future__ import annotations

import ast
import io
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from helpers import poplar_world, wrong_arguments
from helpers.depth import thinned
from helpers.poplar_signatures import ROWS
from helpers.wrong_arguments import fault_of, faults_of

NOT_OURS = frozenset(
    {"np", "int", "list", "sorted", "print", "type", "str", "float", "len", "dict", "data"}
)
"""What rows call beside poplite."""


def mutants(call: str) -> Iterator[str]:
    """Yield a call with one argument more, one less and an unknown keyword."""
    tree = ast.parse(call, mode="eval")
    for node in [each for each in ast.walk(tree) if isinstance(each, ast.Call)]:
        if ast.unparse(node.func).split(".")[0] in NOT_OURS:
            continue
        args = node.args
        node.args = [*args, ast.Constant(3)]
        yield ast.unparse(tree)
        node.args = args[:-1]
        yield ast.unparse(tree)
        node.args = args
        node.keywords.append(ast.keyword("nonsense", ast.Constant(1)))
        yield ast.unparse(tree)
        node.keywords.pop()


LENIENT = ("<string>", wrong_arguments.__file__, poplar_world.__file__)
"""Files in whose lines Python may refuse members of what a row was given instead."""

PARTS = 8
"""Of the calls of a class, which are tried one part at a time."""

OWNERS = sorted({row.owner for row in ROWS})
CASES = [(owner, part) for part in range(PARTS) for owner in OWNERS]


@pytest.mark.filterwarnings("ignore::poplite.PopliteWarning")
@pytest.mark.parametrize(("owner", "part"), thinned(CASES, len(OWNERS)))
def test_no_wrong_argument_ends_in_a_bare_error(
    owner: str, part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [each for row in ROWS if row.owner == owner for each in (row.camel, row.ours) if each]
    names = poplar_world.world(owner)
    with redirect_stdout(io.StringIO()):
        faults, count = faults_of(rows, names, NOT_OURS, part, PARTS, *LENIENT)
        for call in (each for row in rows[part::PARTS] for each in mutants(row)):
            faults.append(fault_of(call, call, names, *LENIENT))
    assert count > len(rows)
    assert not list(filter(None, faults))
