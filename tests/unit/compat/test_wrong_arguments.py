"""Calls in Poplar's spelling with wrong arguments end in an error with four parts, or in a result.

Each call is one of the table of signatures with one argument exchanged, added or left out.
"""

from __future__ import annotations

import ast
import io
import traceback
from collections.abc import Iterator
from contextlib import redirect_stdout
from itertools import islice
from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers import poplar_world
from helpers.depth import thinned
from helpers.poplar_signatures import ROWS

WRONG: dict[str, Any] = {
    "None": None,
    "number": 3,
    "negative": -1,
    "fraction": 1.5,
    "truth": True,
    "text": "x",
    "no_text": "",
    "empty": [],
    "numbers": [1, 2],
    "nested": [[None], 3],
    "dictionary": {"a": 1},
    "thing": object(),
    "function": lambda: None,
    "array": np.zeros((2, 2), np.complex64),
    "kind": pl.FLOAT,
    "huge": 2**80,
    "no_number": float("nan"),
    "octets": b"x",
    "texts": ["a", "b"],
    "a_class": pl.Interval,
    "other": pl.Graph(pl.Target(tiles=2)).add_variable(pl.INT, (6,), "other"),
}
"""What takes the place of an argument, by a name."""


NOT_OURS = {"np", "int", "list", "sorted", "print", "type", "str", "float", "len", "dict"}
"""What rows call beside poplite."""


def mutants(call: str) -> Iterator[ast.Expression]:
    """Yield a call with each argument exchanged, with one more, one less and an unknown keyword.

    It is one tree, changed in place until the next.
    """
    tree = ast.parse(call, mode="eval")
    for node in [each for each in ast.walk(tree) if isinstance(each, ast.Call)]:
        if ast.unparse(node.func).split(".")[0] in NOT_OURS:
            continue
        args = node.args
        for place in range(len(args) + 1):
            for name in WRONG:
                node.args = [*args[:place], ast.Name(name, ast.Load()), *args[place + 1 :]]
                yield tree
        node.args = args[:-1]
        yield tree
        node.args = args
        node.keywords.append(ast.keyword("nonsense", ast.Constant(1)))
        yield tree
        node.keywords.pop()


def fault_of(call: str, names: dict[str, Any]) -> str:
    """Return what is wrong with the error of a call; nothing where it ends as it should."""
    try:
        eval(call, names)
    except pl.PopliteError as error:
        parts = error.what and error.at is not None and (error.found or error.fix)
        return "" if parts else f"{call}: {error}"
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        # Python refuses calls that fit no signature in the caller's own line, and members of
        # what rows work on that was exchanged for something else.
        is_refused = isinstance(error, TypeError | AttributeError)
        if is_refused and frame.filename in ("<string>", poplar_world.__file__):
            return ""
        return f"{call}: {type(error).__name__}: {error} [{frame.filename}:{frame.lineno}]"
    return ""


PARTS = 8
"""Of the calls of a class, which are tried one part at a time."""

OWNERS = sorted({row.owner for row in ROWS})
CASES = [(owner, part) for part in range(PARTS) for owner in OWNERS]


@pytest.mark.filterwarnings("ignore::poplite.PopliteWarning")
@pytest.mark.parametrize(("owner", "part"), thinned(CASES, len(OWNERS)))
def test_no_wrong_argument_ends_in_a_bare_error(owner: str, part: int) -> None:
    rows = [row.camel for row in ROWS if row.owner == owner]
    faults, count, names = [], 0, {**poplar_world.world(owner), **WRONG}
    with redirect_stdout(io.StringIO()):
        for number, call in enumerate(rows):
            for changed in islice(mutants(call), (part + number) % PARTS, None, PARTS):
                count += 1
                if fault := fault_of(ast.unparse(changed), names):
                    faults.append(fault)
    assert count > len(rows)
    assert not faults
