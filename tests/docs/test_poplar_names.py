"""docs/poplar-names.md and the classes agree, both ways."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import poplite as pl
from poplite.graph.compute_sets.compute_set import ComputeSet, FieldRef, VertexInstance

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/poplar-names.md").read_text()
ROWS = re.findall(r"^\| (\w+) \| (\w+) \| (\w+) \|$", PAGE, re.M)
TABLE = [row for row in ROWS if row[0] != "class"]
CALLS = re.findall(r"^\| Target \| (\w+) \| (\w+)\((?:\"(\w+)\"|pl\.(\w+))\) \|$", PAGE, re.M)
CLASSES: dict[str, type] = {
    cls.__name__: cls
    for cls in (
        pl.Tensor, pl.Graph, FieldRef, pl.Program, pl.Engine, pl.Target, ComputeSet,
        VertexInstance, pl.QuarterMetadata, pl.TileMapping, pl.Variable, pl.Sequence, pl.Repeat,
        pl.RepeatWhileTrue, pl.RepeatWhileFalse, pl.Loop, pl.If, pl.Switch, pl.Call, pl.Function,
        pl.Execute, pl.Copy, pl.PrintTensor, pl.PrintTensorFormat, pl.Block, pl.Sync, pl.WriteUndef,
        pl.Abort, pl.AbortOnCondition, pl.ErrorProgram, pl.CrossReplicaCopy,
        pl.AssumeEqualAcrossReplicas,
        pl.Report, pl.TensorRearranger, pl.DataStream, pl.RemoteBuffer,
        pl.HostFunction, pl.FunctionBuffer, pl.StreamCallback, pl.FieldData,
    )
}  # fmt: skip


@pytest.mark.parametrize(("owner", "poplar", "ours"), TABLE)
def test_row_names_the_same_thing_twice(owner: str, poplar: str, ours: str) -> None:
    cls = CLASSES[owner]
    alias, member = getattr(cls, poplar), getattr(cls, ours, None)
    if alias != member:  # an attribute: its alias is a method that returns it
        assert alias.__code__.co_names == (ours,)
        assert alias.__code__.co_varnames == ("self",)


@pytest.mark.parametrize(("poplar", "ours", "name", "element_type"), CALLS)
def test_row_is_a_call_of_a_target(poplar: str, ours: str, name: str, element_type: str) -> None:
    target = pl.Target(costs={name: 24} if name else {"data_path_bytes": 16})
    argument = name or getattr(pl, element_type)
    assert getattr(target, poplar)() == getattr(target, ours)(argument) != 0
    assert type(getattr(target, poplar)()) is int


def test_every_alias_is_listed() -> None:
    listed = {(owner, poplar) for owner, poplar, _ in TABLE}
    listed |= {("Target", poplar) for poplar, *_ in CALLS}
    programs = [name for name, cls in CLASSES.items() if issubclass(cls, pl.Program)]
    inherited = {(name, "isEmpty") for name in programs if name != "Program"}
    found = {
        (name, member)
        for name, cls in CLASSES.items()
        for base in cls.__mro__
        for member in vars(base)
        if re.match(r"[a-z]+[A-Z]", member)
    }
    assert found - inherited == listed
