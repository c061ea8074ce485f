"""Calls with one argument exchanged for a value of another kind, and what is wrong with their ends.

A call is a text; `exchanged` compiles it once for each of its arguments, with the name `wrong` in
the place of the argument. A call ends well with a result, with an error of poplite in four parts,
or with Python's refusal of arguments that fit no signature.
"""

from __future__ import annotations

import ast
import contextlib
import re
import traceback
from collections.abc import Iterable, Iterator
from copy import copy
from itertools import islice, product
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

import poplite as pl
import poplite.named as ng
from helpers.public_calls import around
from poplite import errors, ops
from poplite.compat import arguments
from poplite.expr import numpy_names
from poplite.testing import addressed, vertices

_OTHER = pl.Graph(pl.Target(tiles=2))
_H = ng.make_axis(3, "H")


def _loop_index() -> Any:
    with _OTHER.steps(), ops.repeat(3) as index:
        return index


def _deep(levels: int) -> list[Any]:
    """Return a list in a list, more of them than Python may call functions."""
    made: list[Any] = []
    for _ in range(levels):
        made = [made]
    return made


WRONG: dict[str, Any] = {
    "None": None,
    "truth": True,
    "number": 3,
    "negative": -1,
    "huge": 2**70,
    "many": 2**40,
    "many_twice": (2**40, 2**40),
    "fraction": 1.5,
    "no_number": float("nan"),
    "complex": 1j,
    "text": "text",
    "no_text": "",
    "octets": b"x",
    "empty": [],
    "numbers": [1, 2],
    "nested": [[None], 3],
    "deep": _deep(3000),
    "texts": ["a", "b"],
    "no_tuple": (),
    "pair": (1, 1),
    "dictionary": {"a": 1},
    "no_dictionary": {},
    "set": {1},
    "scalar": np.array(1),
    "array": np.arange(3),
    "complexes": np.zeros((2, 2), np.complex64),
    "numpy_number": np.float64(0.5),
    "dates": np.array(["2020-01-01"], "M8[D]"),
    "beyond_floats": 10**400,
    "thing": object(),
    "a_class": pl.Interval,
    "function": lambda: None,
    "generator": (each for each in (1, 2)),
    "module": np,
    "kind": pl.INT,
    "quarter": pl.QUARTER,
    "graph": _OTHER,
    "other": _OTHER.add_variable(pl.INT, (6,), "other", mapping=0),
    "scalar_tensor": _OTHER.add_variable(pl.BOOL, (), "other_flag", mapping=0),
    "expression": _OTHER.add_variable(pl.FLOAT, (2, 3), "other_x", mapping=0) * 2,
    "argument": ops.arg(0),
    "loop_index": _loop_index(),
    "program": pl.Sequence(),
    "axis": _H,
    "op": ng.variable([_H], 1, name="other_op"),
}
"""What takes the place of an argument, by a name."""


class Exchanged(NamedTuple):
    """A call with the name `wrong` in the place of an argument."""

    text: str
    code: CodeType


def exchanged(call: str, not_ours: frozenset[str]) -> Iterator[Exchanged]:
    """Yield a call once for each argument of each of its calls, and with one more.

    Calls of functions that are not poplite's stay as they are.
    """
    tree = ast.parse(call, mode="eval")
    wrong = ast.Name("wrong", ast.Load())
    for node in [each for each in ast.walk(tree) if isinstance(each, ast.Call)]:
        if ast.unparse(node.func).split(".")[0].split("(")[0] in not_ours:
            continue
        for place, argument in enumerate(node.args):
            is_spread = isinstance(argument, ast.Starred)
            node.args[place] = ast.Starred(wrong, ast.Load()) if is_spread else wrong
            if not is_spread:
                yield _exchanged(tree)
            node.args[place] = argument
        node.args.append(wrong)
        yield _exchanged(tree)
        node.args.pop()
        for keyword in node.keywords:
            argument, keyword.value = keyword.value, wrong
            yield _exchanged(tree)
            keyword.value = argument


def _exchanged(tree: ast.Expression) -> Exchanged:
    whole = ast.fix_missing_locations(tree)
    return Exchanged(ast.unparse(whole), compile(whole, __file__, "eval"))


_NO_SIGNATURE = re.compile(
    r"takes .*argument|takes no|expected \d+ arg|missing \d+ required"
    r"|unexpected keyword|multiple values|not all arguments converted"
)
"""Python's words for arguments that fit no signature, and for `%` of a text."""

_CALLERS = (
    *("<string>", __file__, around.__file__, contextlib.__file__),
    *(errors.__file__, arguments.__file__, numpy_names.__file__),
    *(addressed.__file__, vertices.__file__),
)
"""Files in whose lines Python refuses a call: blocks, wrappers, and what calls users' functions."""


def fault_of(text: str, code: CodeType | str, names: dict[str, Any], *callers: str) -> str:
    """Return what is wrong with the error of a call; nothing where it ends as it should.

    Args:
        text: the call, for the message.
        code: the same, compiled or not.
        names: what it uses.
        callers: files in whose lines Python may also refuse members of what was exchanged.
    """
    try:
        eval(code, names)
    except pl.PopliteError as error:
        parts = error.what and error.at is not None and (error.found or error.fix)
        return "" if parts else f"{text}: {error}"
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        is_refused = isinstance(error, TypeError) and _NO_SIGNATURE.search(str(error))
        if is_refused and frame.filename in (*_CALLERS, *callers):
            return ""
        if isinstance(error, TypeError | AttributeError) and frame.filename in callers:
            return ""
        if isinstance(error, AssertionError) and frame.filename == addressed.__file__:
            return ""  # what a test finds
        return f"{text}: {type(error).__name__}: {error} [{frame.filename}:{frame.lineno}]"
    return ""


def faults_of(
    calls: Iterable[str],
    names: dict[str, Any],
    not_ours: frozenset[str],
    part: int,
    parts: int,
    *callers: str,
) -> tuple[list[str], int]:
    """Return the faults of one of several equal parts of the exchanged calls, and their number.

    Args:
        calls: texts.
        names: what they use.
        not_ours: functions whose arguments stay.
        part: which part is tried.
        parts: how many there are.
        callers: as of `fault_of`.
    """
    faults, count = [], 0
    for number, call in enumerate(calls):
        every = product(exchanged(call, not_ours), WRONG.items())
        for each, (kind, value) in islice(every, (part + number) % parts, None, parts):
            count += 1
            names["wrong"] = copy(value) if isinstance(value, dict | list | set) else value
            if fault := fault_of(f"{each.text}, wrong={kind}", each.code, names, *callers):
                faults.append(fault)
    return faults, count
