"""docs/poplar-names.md and the classes agree, both ways."""

from __future__ import annotations

import re
from functools import reduce
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import poplite as pl
from helpers import names_page
from helpers.poplar_signatures import ROWS
from poplite.graph.compute_sets.compute_set import ComputeSet, FieldRef, VertexInstance
from poplite.poplar.absent import absent_members, absent_names, namespaces, owners
from poplite.poplar.spelling import names_here

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/poplar-names.md").read_text()
ABSENT = PAGE[PAGE.index("## What Poplar has and poplite does not") :]
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
        pl.HostFunction, pl.FunctionBuffer, pl.StreamCallback, pl.FieldData, pl.Device,
        pl.DeviceManager, pl.IPUModel, pl.OptionFlags, pl.RuntimeOptions, pl.Executable,
        pl.VariableInterval, pl.PopliteError, pl.SourceLocation,
    )
}  # fmt: skip


def test_tables_are_those_of_the_signatures() -> None:
    assert names_page.made(PAGE) == PAGE, "python tests/helpers/names_page.py writes them"


def test_the_page_names_every_exception_of_one_word() -> None:
    words = {"begin", "end", "size", "handle", "type", "shape", "rank", "name", "what"}
    assert not {word for word in words if f"`{word}`" not in PAGE[: PAGE.index("<!-- signatures")]}


SHARED = {
    "FieldRef": FieldRef, "VertexIntrospector": VertexInstance, "Type": pl.FLOAT,
    "PrintTensorFmt": pl.PrintTensorFormat,
}  # fmt: skip
"""Classes that Poplar calls otherwise."""


def test_every_member_in_cpp_spelling_has_a_row() -> None:
    listed = {row.member.rpartition(".")[2] for row in ROWS}
    listed |= {name for owner in owners() for name in absent_members(owner)}
    listed.add("attachSourceLocation")  # of errors, which are made before the table
    found = {
        (name, member)
        for name, cls in (CLASSES | SHARED).items()
        for base in cls.__mro__
        for member in vars(base)
        if re.match(r"[a-z]+[A-Z]", member)
    }
    assert len(found) > 150
    assert not {(name, member) for name, member in found if member not in listed}


def test_every_name_of_the_package_in_cpp_spelling_has_a_row() -> None:
    listed = {row.member for row in ROWS if not row.owner}
    camel = {name for name in (*names_here(), *pl.__all__) if re.match(r"[a-z]+[A-Z]", name)}
    assert camel
    assert not camel - listed


@pytest.mark.parametrize(
    ("owner", "name"), [(owner, name) for owner in owners() for name in absent_members(owner)]
)
def test_absent_member_says_why(owner: str, name: str) -> None:
    assert not hasattr(CLASSES[owner], name)
    with pytest.raises(pl.AbsentMember, match=f"poplite has no {owner}.{name}") as caught:
        getattr(CLASSES[owner], name)
    assert (caught.value.found, caught.value.fix) == absent_members(owner)[name]


@pytest.mark.parametrize("name", sorted(absent_names("pl")))
def test_absent_name_of_the_package_says_why(name: str) -> None:
    assert not hasattr(pl, name)
    with pytest.raises(pl.AbsentMember) as caught:
        getattr(pl, name)
    assert (caught.value.found, caught.value.fix) == absent_names("pl")[name]


LIBRARIES = [
    (namespace, name)
    for namespace in namespaces()
    if namespace != "pl"
    for name in absent_names(namespace)
]


@pytest.mark.parametrize(("namespace", "name"), LIBRARIES)
def test_absent_name_of_a_library_says_what_to_use(namespace: str, name: str) -> None:
    module = import_module(f"poplite.compat.{namespace}")
    assert name not in dir(module)
    with pytest.raises(pl.AbsentMember, match=f"no {namespace}.{name}") as caught:
        getattr(module, name)
    assert (caught.value.found, caught.value.fix) == absent_names(namespace)[name]


def test_names_to_use_instead_exist() -> None:
    texts = [why[1] for namespace in namespaces() for why in absent_names(namespace).values()]
    paths = {path for text in texts for path in re.findall(r"\b(?:pl|pop\w+)(?:\.\w+)+", text)}
    assert len(paths) > 60
    for path in paths:
        reduce(getattr, path.split(".")[1:], pl if path.startswith("pl.") else
               import_module(f"poplite.compat.{path.split('.')[0]}"))  # fmt: skip


def test_unknown_names_of_libraries_suggest_the_nearest() -> None:
    popops: Any = import_module("poplite.compat.popops")
    with pytest.raises(AttributeError, match="did you mean 'reduceMany'"):
        _ = popops.reduceMani


def test_no_operation_of_the_libraries_is_said_to_be_absent_that_is_there() -> None:
    said = {name for _, name in LIBRARIES}
    assert {"sequenceSlice", "groupedMultiSlice", "multiconv", "logUniform", "auGruFwd"} <= said
    assert not said & set(dir(pl.ops))


@pytest.mark.parametrize("name", ["SupervisorVertex", "poprand", "popnn", "popsparse"])
def test_both_pages_name_what_is_looked_for_most(name: str) -> None:
    readme = (ROOT / "README.md").read_text()
    assert name in ABSENT
    assert (
        re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower().removesuffix(" vertex") in readme.lower()
    )
