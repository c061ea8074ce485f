"""What `explain()` of a computation tells: operations by their axes, decisions, and copies."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import poplite as pl
import poplite.named as ng

H, W = ng.make_axis(3, "H"), ng.make_axis(2, "W")
FILE = Path(__file__).name


class Turned(pl.Vertex):
    """A row from its end to its beginning."""

    row: pl.Input[pl.Vector[pl.FLOAT]]
    out: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for n in range(len(self.row)):
            self.out[n] = self.row[len(self.row) - 1 - n]


def test_explain_tells_what_is_stored_and_why() -> None:
    x, y = ng.placeholder([H], name="x"), ng.placeholder([H], name="y")
    distance = ng.sum((x - y) ** 2, [H])
    work = ng.make_transformer(tiles=2).computation(distance, x, y)
    told = work.explain().splitlines()
    assert told[0] == (
        "computation 'computation0' (x, y): 1 compute set, 1 vertex class, 24 B of tensors, "
        "4 B beside them"
    )
    assert told[1].split()[:6] == ["x", "(H:3)", "FLOAT", "placeholder,", "12", "B"]
    assert told[2] == "    row-major (H): no votes; linear over 1 tile"
    reduced, line = told[5].split("  ")[1:]
    assert reduced == (
        "reduced: sum((x - y) ** 2, [H]) (), 4 B (with its operand, which is not stored)"
    )
    assert FILE in line


def test_operations_are_named_with_their_axes_and_lines() -> None:
    """What the library calls its vertices, and the parts of a step, stand in no line."""
    x, y = ng.placeholder([H, W], name="x"), ng.placeholder([W, H], name="y")
    near = x - y
    roots = [
        *(ng.softmax(near, [W]), ng.dot(near, near, axes=[H]), ng.argmax(x, [W])),
        *(ng.sum(ng.concat([x, y], H), ...), ng.flatten(x) * 2, ng.keep(ng.exp(x))[H, ::-1]),
        *(ng.cross_entropy_binary(ng.sigmoid(x), y), ng.cast(x, pl.INT) ** 2, -x),
        ng.nmap(Turned, x, axes=[W]),
    ]
    work = ng.make_transformer(tiles=2).computation(roots, x, y)
    words = "stored|reduced|multiplied|copied|computed again"
    told = [line for line in work.explain().splitlines() if re.match(f"  ({words}): ", line)]
    assert len(told) > len(roots)
    for line in told:
        axes, size = r"\((\(H,W\):\d+|[HW]:\d+|, )*\)", r"(, \d+ B)?"
        assert re.search(rf" {axes}{size}(: | \(.+\)  ).*{FILE}:\d+", line), line
        assert not re.search(r"Map_|Sum|view\(|_softplus|[ak]\d|/value|\bpart\b", line), line
    text = "\n".join(told)
    assert "stored: -x (H:3, W:2), 24 B (a result, like x)" in text
    assert "stored: flatten(x) * 2 ((H,W):6), 24 B (a result, like x)" in text
    assert "stored: cast(x, INT) ** 2 (H:3, W:2)" in text
    assert "copied: nmap" not in text


A, B, C, N = ng.make_axes({"A": 5, "B": 3, "C": 2, "N": 4})


@pytest.mark.parametrize("tiles", [1, 3])
@pytest.mark.parametrize(
    ("left", "right"),
    [
        ([A, B], [C, A]),
        ([B, A], [A, C]),
        ([A, B], [A]),
        ([A, N, B], [C, N, A]),
        ([N, B, A], [N, A]),
    ],
)
def test_what_is_copied_is_what_the_engine_gathers(
    left: list[ng.Axis], right: list[ng.Axis], tiles: int
) -> None:
    """Of tensors whose layouts are given, and of what is computed of them."""
    x = ng.placeholder(left, name="x", layout=ng.row_major(left))
    y = ng.placeholder(right, name="y", layout=ng.row_major(right))
    for first in (x, ng.tanh(x)):
        work = ng.make_transformer(tiles=tiles).computation(ng.dot(first, y, axes=[A]), x, y)
        work(np.ones(x.shape), np.ones(y.shape))
        lines = re.findall(r"  copied: .* \(.*\), ([\d,]+) B: .*", work.explain())
        assert sum(int(each.replace(",", "")) for each in lines) == work.report().bytes_gathered


def test_what_is_copied_has_its_reader_and_the_reason() -> None:
    x, y = ng.placeholder([A, B], name="x"), ng.placeholder([C, A], name="y")
    work = ng.make_transformer(tiles=1).computation(ng.dot(x, y, axes=[A]), x, y)
    assert " copied: " not in work.explain()
    given = ng.placeholder([A, B], name="given", layout=ng.row_major([A, B]))
    work = ng.make_transformer(tiles=1).computation(ng.dot(given, y, axes=[A]), given, y)
    (line,) = [each for each in work.explain().splitlines() if " copied: " in each]
    assert line.startswith("  copied: 'given' (A:5, B:3), 60 B: dot at ")
    assert line.endswith("reads rows along 'A', whose elements lie 3 apart")


def test_each_reader_is_told_of_what_it_gathers_and_no_view_of_that_is_free() -> None:
    x = ng.variable([A, C], 1, name="x", layout=ng.column_major([A, C], {A: 6, C: 4}))
    even, free = x[A, ::2] + 0, ng.axes_with_order(x, [C, A])[C, 0]
    roots = [even, ng.flatten(x) * 2, free]
    work = ng.make_transformer(tiles=1).computation(roots)
    work()
    told = work.explain()
    first, line = told.splitlines()[:2]
    assert ", 96 B of tensors, " in first
    assert "variable, 96 B, 40 B without the room" in line
    found = re.findall(rf"  copied: 'x' \(A:5, C:2\), (\d+) B: (.*) at \S*{FILE}:.* reads", told)
    assert sorted(found) == [("24", "x[A, ::2] + 0"), ("40", "flatten(x) * 2")]
    assert work.report().bytes_gathered == 64
    assert "slice; gathered, as described below" in told
    assert "flatten; gathered, as described below" in told
    assert "slice; no copy\n    strides 1; offset 0" in told


def test_a_description_without_a_name_has_no_quotes() -> None:
    view = ng.TensorDescription([A, B], layout=ng.row_major([A, B])).transpose()
    assert "  view of (A:5, B:3): transpose; no copy" in view.explain()


def test_what_has_a_tensor_of_its_own_is_a_result_there() -> None:
    x = ng.placeholder([H, W], name="x")
    placed, turned = ng.place(x, 1), ng.nmap(Turned, x, axes=[W])
    work = ng.make_transformer(tiles=2).computation([placed, turned, turned + placed], x)
    values = np.arange(6.0).reshape(3, 2)
    found = work(values)
    assert [each.tolist() for each in found[:2]] == [values.tolist(), values[:, ::-1].tolist()]
    assert found[2].tolist() == (values[:, ::-1] + values).tolist()
    assert work.report().bytes_copied == 24  # by `place`
    assert [each.num_elements for each in work.graph.variables] == [6] * 4
