"""What is made of several operations bears the name of the function that a user called."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import poplite as pl
import poplite.named as ng

H, W = ng.make_axes({"H": 6, "W": 4})
x = ng.placeholder([H, W], name="x")
t = ng.placeholder([H, W], name="t")

PAGE = Path(pl.__file__).resolve().parents[1] / "docs" / "named.md"


def test_the_page_lists_all_names() -> None:
    table = PAGE.read_text().partition("## All names")[2].partition("\n## ")[0]
    rows = [line.split("|")[2] for line in table.splitlines() if line.startswith("|")][2:]
    listed = [name for row in rows for name in re.findall(r"`(\w+)", row)]
    assert sorted(listed) == ng.__all__


COMPOSITES: dict[str, Callable[[], ng.Op]] = {
    "mean": lambda: ng.mean(x, [H]),
    "variance": lambda: ng.variance(x, [H]),
    "squared_L2": lambda: ng.squared_L2(x, [H]),
    "L2_norm": lambda: ng.L2_norm(x, [H]),
    "L1_norm": lambda: ng.L1_norm(x, [H]),
    "softmax": lambda: ng.softmax(x, [H]),
    "log_softmax": lambda: ng.log_softmax(x, [H]),
    "safelog": lambda: ng.safelog(x),
    "cross_entropy_multi": lambda: ng.cross_entropy_multi(ng.softmax(x, [H]), t, [H]),
    "cross_entropy_binary": lambda: ng.cross_entropy_binary(ng.sigmoid(x), t),
}


@pytest.mark.parametrize("name", COMPOSITES)
def test_a_function_gives_its_name_to_what_is_stored(name: str) -> None:
    made = COMPOSITES[name]()
    assert repr(made).startswith(f"<{name} (")
    assert f", {name} made at" in made.text
    assert f"{name}" in made.explain().splitlines()[-1]
    work = ng.make_transformer(tiles=2).computation(made, "all")
    assert work.tensor(made).name == name
    assert any(line.strip().startswith(f"stored: {name} = ") for line in lines_of(work, name))


def lines_of(work: ng.Computation, name: str) -> list[str]:
    """Return what explain says; a sum is reduced, and so stored in its place."""
    return work.explain().replace(f"reduced: {name} = ", f"stored: {name} = ").splitlines()


def test_what_stands_within_another_one_has_its_own_name() -> None:
    made = ng.tanh(ng.dot(ng.softmax(x, [H]), ng.variable([W, H.fresh("G")], 0.5, name="w")))
    work = ng.make_transformer(tiles=2).computation(made, x)
    assert work.program
    names = [each.name for each in work.graph.variables]
    assert any(name.endswith("/softmax") for name in names)
    assert not any(name.endswith("/divide") for name in names)
    assert any("/softmax[" in each.name for each in work.graph.compute_sets)


def test_axes_in_another_order_keep_the_name() -> None:
    G = ng.make_axis(3, "G")
    y = ng.placeholder([G, H, W], name="y")
    made = ng.mean(y, reduction_axes=[H], out_axes=[W, G])
    assert repr(made) == "<mean (W:4, G:3) FLOAT>"
    work = ng.make_transformer(tiles=2).computation(made, y)
    assert work(np.ones((3, 6, 4))).tolist() == np.ones((4, 3)).tolist()
    assert work.tensor(made).name == "mean"


def test_what_a_user_wrote_is_left_as_it_is() -> None:
    one = x / 2
    for function in (ng.mean, ng.variance, ng.L1_norm, ng.L2_norm, ng.softmax):
        function(one, [H])
    ng.cross_entropy_binary(one, t)
    assert repr(one) == "<divide (H:6, W:4) FLOAT>"


def test_dots_may_stand_for_no_axis() -> None:
    assert x[..., 0, 1].axes == x[0, 1, ...].axes == x[0, ..., 1].axes == ng.make_axes()
