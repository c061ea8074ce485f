"""Drawn expressions of integers: fused, one by one, and in Python."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from helpers.depth import deep, thinned
from poplite.expr.operations import OPERATIONS
from poplite.testing.fuzz_integers import Drawing, check, in_order, main


@pytest.mark.parametrize("number", thinned(range(1, 60), 3))
def test_fused_is_one_by_one_is_python(number: int) -> None:
    assert check(44, number, compiled=0).failure == ""


@deep
def test_compiled_is_python() -> None:
    assert check(44, 0, compiled=1).failure == ""


def test_a_wrong_kind_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("popcount", "shift_right_logical"):
        monkeypatch.setitem(OPERATIONS, name, replace(OPERATIONS[name], other_kind=()))
    failure = check(44, 19, compiled=0).failure
    assert "seed 44, graph 19, fused, interpreted: " in failure
    assert "popcount" in failure


def test_all_operations_and_types_are_drawn() -> None:
    nodes = [n for k in range(100) for root in Drawing(0, k).expressions for n in in_order(root)]
    whole = {n for n, o in OPERATIONS.items() if {"int", "bool", "unsigned"} & o.text.keys()}
    drawn = {node.text.split("[")[0] for node in nodes}
    assert drawn >= whole - {"select"} | {
        "where",
        "cast",
        "sum",
        "prod",
        "min",
        "max",
        "all",
        "any",
    }
    types: set[Any] = {node.element for node in nodes}
    assert len(types) == 11


def test_the_command_says_what_it_did(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--operations", "9", "--seed", "3", "--compiled", "0"]) == 0
    assert " operations in 1 graphs, 0 of them compiled, no mismatch" in capsys.readouterr().out
