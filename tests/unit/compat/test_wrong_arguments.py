"""Calls in Poplar's spelling with wrong arguments end in an error with four parts, or in a result.

Each call is one of the table of signatures with one argument exchanged, added or left out.
"""

from __future__ import annotations

import ast
import copy
import traceback
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers.poplar_signatures import ROWS, Row
from unit.compat.test_poplar_signatures import world

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
}
"""What takes the place of an argument, by a name."""


def mutants(call: str) -> Iterator[str]:
    """Yield a call with each argument exchanged, with one more, one less and an unknown keyword."""
    tree = ast.parse(call, mode="eval")
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    for number, found in enumerate(calls):
        for place in range(len(found.args)):
            for name in WRONG:
                changed, node = _copied(tree, number)
                node.args[place] = ast.Name(name, ast.Load())
                yield ast.unparse(changed)
        for name in WRONG:
            changed, node = _copied(tree, number)
            node.args.append(ast.Name(name, ast.Load()))
            yield ast.unparse(changed)
        changed, node = _copied(tree, number)
        if node.args:
            node.args.pop()
            yield ast.unparse(changed)
        changed, node = _copied(tree, number)
        node.keywords.append(ast.keyword("nonsense", ast.Constant(1)))
        yield ast.unparse(changed)


def _copied(tree: ast.Expression, number: int) -> tuple[ast.Expression, ast.Call]:
    changed = copy.deepcopy(tree)
    calls = [node for node in ast.walk(changed) if isinstance(node, ast.Call)]
    return changed, calls[number]


def fault_of(call: str, names: dict[str, Any]) -> str:
    """Return what is wrong with the error of a call; nothing where it ends as it should."""
    try:
        eval(call, names)
    except pl.PopliteError as error:
        parts = error.what and error.at is not None and (error.found or error.fix)
        return "" if parts else f"{call}: {error}"
    except Exception as error:
        inside = [frame for frame in traceback.extract_tb(error.__traceback__)][1:]
        # Python itself refuses a call that does not fit a signature, in the line of the caller.
        if isinstance(error, TypeError) and all(f.filename == "<string>" for f in inside):
            return ""
        frame = inside[-1]
        return f"{call}: {type(error).__name__}: {error} [{frame.filename}:{frame.lineno}]"
    return ""
