"""Each documented signature, in Poplar's order and in ours, does the same."""

from __future__ import annotations

import copy
import io
import json
import pickle
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers.poplar_signatures import ROWS, Example
from helpers.poplar_world import world


def picture(value: Any) -> Any:
    """Return what can be compared of a value that two worlds made."""
    if isinstance(value, pl.Tensor):
        regions = [(v.name, begin, end) for v, begin, end in value.var_regions()]
        mapping = value.graph.tile_mapping(value, require_complete=False)
        tiles = [list(intervals) for intervals in mapping]
        return value.element_type, value.shape, regions, tiles
    if isinstance(value, pl.Graph):
        return state_of(value)
    if isinstance(value, np.ndarray):
        return value.dtype, value.shape, value.tolist()
    if isinstance(value, Mapping):
        return {key: picture(each) for key, each in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [picture(each) for each in value]
    if isinstance(value, io.StringIO):
        return value.getvalue()
    return value if isinstance(value, int | float | type | pl.Target) else repr(value)


def state_of(graph: pl.Graph) -> Any:
    """Return what a graph holds."""
    variables = [
        (picture(graph.getVariable(v)), v.initial_value, v.replica_values) for v in graph.variables
    ]
    vertices = [
        (repr(v), {name: picture(t) for name, t in v.connections.items()}, repr(v.state), v.tile)
        for compute_set in graph.compute_sets
        for v in compute_set.vertices
    ]
    handles = sorted(graph.host_reads), sorted(graph.host_writes), sorted(graph.function_buffers)
    return repr(graph), repr(variables), repr(vertices), handles


@pytest.mark.parametrize("row", ROWS, ids=[f"{r.owner}::{r.poplar}" for r in ROWS])
def test_both_spellings_do_the_same(row: Example, capsys: pytest.CaptureFixture[str]) -> None:
    made: dict[str, Any] = {}
    seen: dict[str, tuple[Any, ...]] = {}
    for call in filter(None, (row.camel, row.ours, row.expected)):
        names = world(row.owner)
        made[call] = eval(call, names)
        result = picture(made[call])
        printed = capsys.readouterr().out, names["out"].getvalue()
        seen[call] = result, printed, state_of(names["graph"])
    assert row.ours or row.expected, "the row says nothing of what the call returns"
    assert not row.ours or seen[row.ours] == seen[row.camel]
    assert not row.expected or seen[row.expected][0] == seen[row.camel][0]
    if isinstance(made[row.camel], pl.Program) and "FunctionBuffer(" not in row.camel:
        # What it prints as hides its parts.
        names = world(row.owner)
        assert eval(row.camel, names).same_as(eval(row.ours or row.camel, names))


def test_functions_of_one_word_are_called_as_in_cpp() -> None:
    for row in ROWS:
        is_function = "(" in row.poplar and "operator" not in row.poplar
        name = row.member.rpartition(".")[2]
        assert not is_function or f"{name}(" in row.camel, row.poplar


def test_what_answers_to_a_call_is_a_plain_value() -> None:
    x = pl.Graph().add_variable(pl.FLOAT, (2, 3), "x")
    assert repr(x.shape) == "(2, 3)"
    assert x.shape() == x.shape
    assert json.loads(json.dumps({"shape": x.shape, "rank": x.rank()})) == {
        "shape": [2, 3],
        "rank": 2,
    }
    assert (
        np.zeros(x.shape()).shape == copy.deepcopy(x.shape) == pickle.loads(pickle.dumps(x.shape))
    )
    odd: Any = pl.Interval("a", 2.5)  # type: ignore[arg-type]
    assert (odd.begin, odd.end) == ("a", 2.5)  # whoever uses it says what is wrong
