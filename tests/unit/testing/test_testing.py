"""The public test helpers: they make what they say, and notice every wrong answer."""

from __future__ import annotations

import inspect
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings, strategies as st

import poplite as pl
from helpers.running import python
from poplite import testing
from poplite.graph.mapping.tile_mapping import TileMapping
from poplite.graph.tensor.regions import SortedRegions
from poplite.graph.tensor.tensor import Tensor
from poplite.testing import (
    AddressedTensor,
    check_tensor,
    graphs_with_variables,
    random_tensor,
    random_variables,
    tensors,
    tile_mappings,
    variables,
)
from poplite.view import Cat


@given(tensors())
def test_the_lines_of_a_tensor_make_it_again(t: AddressedTensor) -> None:
    names: dict[str, Any] = {}
    exec(str(t), names)
    again = names["t"]
    check_tensor(again, t.addresses)
    graph = t.tensor.graph
    assert names["graph"].tile_mapping(again, False) == graph.tile_mapping(t.tensor, False)


def test_a_seed_names_a_tensor() -> None:
    def drawn() -> str:
        random = Random(11)
        return str(random_tensor(random, random_variables(random)))

    assert drawn() == drawn()


def test_all_kinds_of_tensors_are_drawn() -> None:
    drawn = []
    for seed in range(300):
        random = Random(seed)
        drawn.append(random_tensor(random, random_variables(random), 10))
    found = Counter(kind for t in drawn for kind in kinds(t))
    assert min(found[kind] for kind in KINDS) >= 5, found


KINDS = (
    "rank 0", "rank 4", "empty", "extent 1", "several digits", "steps back", "inner concatenation",
    "concatenation of concatenations", "aliases", "constants and variables", "append", "slices",
)  # fmt: skip


def kinds(t: AddressedTensor) -> Iterator[str]:
    """Everything that a tensor is, of what tests need now and then."""
    tensor, program = t.tensor, str(t)
    yield f"rank {tensor.rank}"
    yield from [word for word in ("append", "slices") if f".{word}(" in program]
    if not tensor.num_elements:
        yield "empty"
        return
    if 1 in tensor.shape:
        yield "extent 1"
    if any([type(dim) is tuple for dim in tensor.view.dims]):
        yield "several digits"
    if -1 in np.diff(t.addresses.reshape(-1)):
        yield "steps back"
    space = tensor.view.space
    if isinstance(space, Cat):
        if space.outer > 1:
            yield "inner concatenation"
        if any([isinstance(kid.space, Cat) for kid in space.kids]):
            yield "concatenation of concatenations"
    if tensor.contains_aliases():
        yield "aliases"
    if {variable.constant for variable, _, _ in tensor.var_regions()} == {True, False}:
        yield "constants and variables"


@given(st.data())
def test_tensors_of_one_graph_and_mappings_that_fit_them(data: st.DataObject) -> None:
    sources = data.draw(graphs_with_variables(num_tiles=3))
    a, b = data.draw(tensors(sources)), data.draw(tensors(sources))
    graph = a.tensor.graph
    assert b.tensor.graph is graph
    assert graph.target.tiles == 3
    mapping = data.draw(tile_mappings(a.tensor.num_elements, 3))
    with warnings.catch_warnings():  # constants may be mapped already
        warnings.simplefilter("ignore", pl.ConstantRemappedWarning)
        graph.set_tile_mapping(a.tensor, mapping)
    check_tensor(b.tensor, b.addresses)


def test_a_failing_example_prints_as_a_program() -> None:
    @settings(phases=[Phase.generate])  # the smallest example would take long to find
    @given(tensors())
    def fails(t: AddressedTensor) -> None:
        assert t.tensor.num_elements == 0

    with pytest.raises(AssertionError) as raised:
        fails()
    notes = "\n".join(raised.value.__notes__)
    assert "t=import poplite as pl\n" in notes
    assert "graph = pl.Graph(pl.Target(tiles=4))" in notes


def test_an_operation_that_raises_tells_its_expression() -> None:
    (x,) = variables({"x": (2, 3)})
    with pytest.raises(pl.TensorIndexError) as raised:
        x.call("reverse", 0).call("slice", 1, 5, 0)
    assert raised.value.__notes__ == ["in: t = x.reverse(0).slice(1, 5, 0)"]


WRONG = {
    "contains_aliases": (Tensor, lambda self: False),
    "contains_constant": (Tensor, lambda self: False),
    "is_parallel_writeable": (Tensor, lambda self: True),
    "is_contiguous": (Tensor, lambda self: True),
    "intersects_with": (Tensor, lambda self, other: False),
    "contiguous_regions": (Tensor, lambda self: [(0, self.num_elements)]),
    "var_regions": (Tensor, lambda self: []),
    "elements_per_tile": (TileMapping, property(lambda self: np.zeros(len(self), np.int64))),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_answer_is_noticed_and_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, answer = WRONG[name]
    x, c = variables({"x": (4,), "c": (2,)}, constants=["c"], mappings={"x": [[(0, 4)]]})
    t = testing.concatenated([x.call("reverse", 0), c, x], 0)
    check_tensor(t.tensor, t.addresses)
    monkeypatch.setattr(owner, name, answer)
    with pytest.raises(AssertionError, match=rf"{name}.* is .*, expected "):
        check_tensor(t.tensor, t.addresses)


@pytest.mark.parametrize("column", ["begin", "length", "ptr", "aliases"])
def test_wrong_groups_are_noticed(column: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (x,) = variables({"x": (2, 3)})
    t = x.call("dim_shuffle", [1, 0])
    made = inspect.unwrap(SortedRegions.__init__)

    def spoilt(self: SortedRegions, *args: Any) -> None:
        made(self, *args)
        values = getattr(self, column)
        if values is not None:
            setattr(self, column, np.roll(values, 1) if column != "length" else values * 2)

    monkeypatch.setattr(SortedRegions, "__init__", spoilt)
    with pytest.raises(AssertionError):
        testing.check_sorted_regions(t.tensor, t.addresses, np.zeros(6, np.int64))


def test_all_but_the_strategies_work_without_hypothesis(root: Path) -> None:
    program = (
        "import sys; sys.modules['hypothesis'] = None\n"
        "from poplite.testing import check_tensor, variables\n"
        "x, = variables({'x': (2,)}); check_tensor(x.tensor, x.addresses)\n"
        "import inspect, poplite as pl\n"
        "from poplite.testing import *\n"
        "assert hasattr(pl.testing, 'tensors') and inspect.getmembers(pl.testing)\n"
        "try:\n    tensors()\n"
        "except pl.AbsentMember as error:\n    print(error.what, error.fix, sep='; ')\n"
        "inspect.getdoc(tensors) and print(inspect.getdoc(tensors))\n"
    )
    assert python(root, "-c", program).stdout == (
        "poplite.testing.tensors needs hypothesis, which is not installed; "
        "pip install hypothesis\n"
        "Refused: it needs hypothesis, which is not installed.\n"
    )


def test_public_names() -> None:
    assert [name for name in testing.__all__ if not hasattr(testing, name)] == []
    with pytest.raises(AttributeError, match="module 'poplite.testing' has no attribute 'tensor'"):
        testing.tensor  # noqa: B018  (the lookup is the test)
