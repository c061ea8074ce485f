"""docs/poplar-names.md and the classes agree, both ways."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import poplite as pl
from poplite.graph.compute_sets.compute_set import ComputeSet, FieldRef, VertexInstance

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/poplar-names.md").read_text()
ABSENT = PAGE[PAGE.index("## What Poplar has and poplite does not") :]
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


def names_in(rows: str) -> list[str]:
    """Return what stands in code in the first column."""
    first = re.findall(r"^\| (.*?) \| ", rows, re.M)
    return re.findall(r"`([^`]+)`", " ".join(first))


def test_what_is_said_to_be_absent_is() -> None:
    members = [name.split("::") for name in names_in(ABSENT) if "::" in name]
    assert len(members) > 40
    assert {owner for owner, _ in members} <= {
        "Engine",
        "Graph",
        "Tensor",
        "Target",
        "RemoteBuffer",
    }
    for owner, member in members:
        snake = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", member).lower()
        found = {member, snake, snake.removeprefix("get_")} & set(dir(CLASSES[owner]))
        assert not found, (owner, member)
    for name in names_in(ABSENT):
        assert not hasattr(pl, name), name


def test_no_operation_of_the_libraries_is_said_to_be_absent_that_is_there() -> None:
    libraries = ABSENT[ABSENT.index("### Libraries") :]
    said = {word for row in re.findall(r"^\| .* \| (.*) \|$", libraries, re.M)
            for word in re.findall(r"`(\w+)`", row)}  # fmt: skip
    assert {"sequenceSlice", "groupedMultiSlice", "convolution", "logUniform", "pool"} <= said
    assert not said & set(vars(pl.ops))


@pytest.mark.parametrize("name", ["Device", "SupervisorVertex", "poprand", "popnn", "popsparse"])
def test_both_pages_name_what_is_looked_for_most(name: str) -> None:
    readme = (ROOT / "README.md").read_text()
    assert name in ABSENT
    assert (
        re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower().removesuffix(" vertex") in readme.lower()
    )
