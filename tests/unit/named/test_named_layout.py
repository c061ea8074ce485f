"""Layouts and descriptions: what the documents promise, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import poplite as pl
import poplite.named as ng
from poplite.errors import (
    AxisError,
    AxisLengthError,
    MissingAxisError,
    NeedsCopyError,
    ReadOnlyError,
    TensorIndexError,
)
from poplite.named.layout import Digits, fewest_digits, parted_digits

A, B, C = ng.make_axis(5, "A"), ng.make_axis(3, "B"), ng.make_axis(2, "C")
H, W = ng.make_axis(3, "H"), ng.make_axis(4, "W")


def test_the_layouts_of_the_documents() -> None:
    """Seed 000: "if the dimensions of a 3D-tensor are (5, 3, 2) ..."."""
    assert ng.row_major([A, B, C]).strides == (6, 2, 1)
    assert ng.column_major([A, B, C]).strides == (1, 5, 15)
    assert ng.Layout([B, C, A]).strides == (10, 5, 1)


def test_sizes_make_room() -> None:
    """ "We require an additional n-tuple called the size, which is greater than ... the shape"."""
    layout = ng.row_major([H, W], [4, 8])
    assert (layout.strides, layout.size, layout.sizes) == ((8, 1), 32, (4, 8))
    assert ng.column_major([A, B, C], {A: 8}).strides == (1, 8, 24)
    assert repr(layout) == "row-major (H, W) in room for 4 x 8"
    assert ng.row_major([H, W], {W: 4}).is_padded is False
    with pytest.raises(AxisLengthError, match="size 2 is less than the length 3 of axis 'H'"):
        ng.row_major([H, W], [2, 4])
    with pytest.raises(AxisLengthError, match="1 size for 2 axes"):
        ng.row_major([H, W], [4])
    with pytest.raises(MissingAxisError, match="layout: a size: no axis 'A'"):
        ng.Layout([H, W], {A: 8})
    with pytest.raises(AxisLengthError, match="the size for axis 'W' is 2.5"):
        ng.Layout([H, W], {W: 2.5})


def test_a_length_that_comes_later_is_compared_with_its_room() -> None:
    late = ng.make_axis(name="late")
    layout = ng.row_major([late], [4])
    late.length = 5
    with pytest.raises(AxisLengthError, match="size 4 is less than the length 5 of axis 'late'"):
        _ = layout.strides


@pytest.mark.parametrize(
    ("shape", "strides", "expected"),
    [
        # Seed 003: "... if the tensor is contiguous"; dense, or dense but for one stride
        ((3, 4), (4, 1), [(12, 1)]),
        ((3, 4), (8, 2), [(12, 2)]),
        # Room within a row; column-major, which is row-major the other way round
        ((3, 4), (8, 1), [(3, 8), (4, 1)]),
        ((3, 4), (1, 3), [(3, 1), (4, 3)]),
        ((4, 3), (3, 1), [(12, 1)]),
        # All broadcast, or some of it
        ((3, 4), (0, 0), [(12, 0)]),
        ((3, 4), (0, 1), [(3, 0), (4, 1)]),
        ((3, 4), (1, 0), [(3, 1), (4, 0)]),
        # All reversed, or some of it
        ((3, 4), (-4, -1), [(12, -1)]),
        ((3, 4), (-4, 1), [(3, -4), (4, 1)]),
        # Room around rows, and a dense tensor in another order: neighbours go together in part
        ((2, 3, 4), (24, 4, 1), [(2, 24), (12, 1)]),
        ((4, 2, 3), (1, 12, 4), [(4, 1), (6, 4)]),
        # The stride along an axis of length 1 is free; no elements are any view
        ((3, 1, 4), (4, 77, 1), [(12, 1)]),
        ((1, 1), (5, 6), [(1, 0)]),
        ((3, 0), (7, 1), [(0, 0)]),
    ],
)
def test_which_neighbours_have_one_stride(
    shape: tuple[int, ...], strides: tuple[int, ...], expected: list[tuple[int, int]]
) -> None:
    """Seed 003, on flattening; the rows are those of a table of strides by hand."""
    assert fewest_digits([*zip(shape, strides, strict=True)]) == tuple(expected)


@pytest.mark.parametrize(
    ("digits", "lengths", "expected"),
    [
        # A length n of stride s: s times the products of the lengths to the right
        ([(24, 1)], (2, 3, 4), [((2, 12),), ((3, 4),), ((4, 1),)]),
        ([(24, -2)], (6, 4), [((6, -8),), ((4, -2),)]),
        ([(12, 0)], (3, 4), [((3, 0),), ((4, 0),)]),
        # Several digits are cut between them, or within them
        ([(3, 8), (4, 1)], (3, 4), [((3, 8),), ((4, 1),)]),
        ([(3, 8), (4, 1)], (6, 2), [((3, 8), (2, 2)), ((2, 1),)]),
        ([(6, 1)], (1, 6, 1), [((1, 0),), ((6, 1),), ((1, 0),)]),
        ([(0, 0)], (3, 0), [((3, 0),), ((0, 0),)]),
    ],
)
def test_the_strides_of_parts_of_an_axis(
    digits: list[tuple[int, int]], lengths: tuple[int, ...], expected: list[Digits]
) -> None:
    assert parted_digits(tuple(digits), lengths) == expected


def test_a_flattening_that_needs_a_copy_is_refused_where_the_layout_is_known() -> None:
    """Defects 2 and 20, trap 9: the smallest stride is not taken, and padding counts."""
    padded = ng.TensorDescription([H, W], layout=ng.row_major([H, W], {W: 8}), name="x")
    with pytest.raises(NeedsCopyError) as caught:
        padded.flatten()
    assert caught.value.what == (
        "flatten: axis '(H,W)' has no stride: 'H' has stride 8, and 4 = 4 x 1 is needed over 'W'"
    )
    assert caught.value.found.startswith("'x' (H:3, W:4), description made at ")
    assert 'copy="view"' in caught.value.fix
    view = padded.flatten(copy="view")
    assert (view.strides, view.at((5,)).offset) == ((None,), 9)
    assert padded.transpose().flatten([W, H], copy="view").strides == (None,)
    with pytest.raises(NeedsCopyError, match="'W' has stride 1, and 24 = 3 x 8 is needed over 'H'"):
        padded.transpose().flatten()
    rooms = ng.TensorDescription([H, W], layout=ng.row_major([H, W], {H: 8}))
    assert rooms.flatten().strides == (1,)
    free = ng.TensorDescription([H, W])
    assert free.flatten().strides == (None,)
    assert free.flatten().with_layout(ng.row_major([H, W])).strides == (1,)
    assert free.flatten().with_layout(ng.column_major([H, W])).strides == (None,)


def test_a_slice_that_is_reversed_keeps_its_sign() -> None:
    """Defect 3: the offset is `start * stride`, with the sign of the stride."""
    x = ng.TensorDescription([H, W], layout=ng.row_major([H, W]))
    back = x.slice({H: slice(None, None, -1)})
    assert (back.offset, back.strides, back.at((1, 0)).offset) == (8, (-4, 1), 4)
    assert back.at((-2, -4)).offset == back.at((1, 0)).offset
    assert back.slice({H: slice(None, None, -1)}).offset == 0


def test_reading_and_writing_by_descriptions() -> None:
    """The l-tensors and r-tensors of seeds 000 and 003."""
    x, y = ng.variable([H, W], name="x"), ng.placeholder([H, W], name="y")
    kept = (x, x[H, 1:], ng.axes_with_order(x, [W, H]), ng.flatten(x), y)
    assert not any(each.read_only for each in kept)
    assert not any(each.tensor_description.read_only for each in kept)
    computed = (x + y, ng.constant(1.0, [H]), ng.broadcast(x, [A, H, W]), ng.pad(x, {H: 1}))
    assert all(each.read_only for each in (*computed, (x + y)[H, 0], ng.concat([x, y], H)))
    with pytest.raises(ReadOnlyError):
        ng.assign((x + y)[H, 0], 0)


def test_what_a_description_tells() -> None:
    x = ng.variable([H, W], name="x", layout=ng.column_major([H, W]))
    assert x.tensor_description.fixed
    assert x.tensor_description.sizes == (3, 4)
    part = x[H, ::-2].tensor_description
    assert (part.base, part.layout) == (x.tensor_description, x.tensor_description.layout)
    assert part.base is x[W, 0].tensor_description.base
    assert part.explain().splitlines() == [
        "view (H[::-2]:2, W:4) FLOAT",
        "  view of 'x' (H:3, W:4): slice; no copy",
        "  x: column-major (W, H)",
        "  strides -2, 3; offset 2",
    ]
    assert "x                (H:3, W:4) FLOAT  variable, column-major (W, H)" in x.explain()
    assert "a view: strides (-2, 3), offset 2" in x[H, ::-2].explain()
    both = ng.concat([x, x], H).tensor_description
    assert (both.base, both.strides) == (x.tensor_description, (None, None))
    assert "which no strides describe" in both.explain()
    assert not ng.variable([H]).tensor_description.fixed


@pytest.mark.parametrize(
    ("wrong", "error", "match"),
    [
        (lambda x: x.at((3, 0)), TensorIndexError, r"there is no index \(3, 0\)"),
        (lambda x: x.at((0,)), TensorIndexError, r"there is no index \(0,\)"),
        (lambda x: x.slice({H: 3}), TensorIndexError, "length 3: there is no index 3"),
        (lambda x: x.slice({A: 0}), MissingAxisError, "slice: no axis 'A'"),
        (lambda x: x.reorder([H]), MissingAxisError, "axis 'W' is not listed"),
        (lambda x: x.broadcast([A, H]), MissingAxisError, "no axis 'W'"),
        (lambda x: x.broadcast([H.resized(5), W]), AxisLengthError, "'H' has length 3"),
        (lambda x: x.cast([A, B]), AxisLengthError, "'H' has length 3, but 'A' has 5"),
        (lambda x: x.unflatten(), AxisError, "no axis is flattened"),
        (lambda x: x.transpose().flatten([H, W]), AxisError, "are not adjacent in this order"),
        (
            lambda x: x.with_layout(ng.column_major([H, W])),
            AxisError,
            "the layout is already fixed",
        ),
        (lambda x: x.concat([x], A), MissingAxisError, "concat: no axis 'A'"),
        (lambda x: x.view(), AxisError, "0 tensors for 1 allocation"),
        (
            lambda x: x.concat([ng.TensorDescription([H, W.resized(2)])], H),
            AxisLengthError,
            "'W' has length 4 in the left operand and 2",
        ),
        (
            lambda x: x.concat([ng.TensorDescription([H, W], pl.INT)], H),
            AxisError,
            "cannot mix FLOAT and INT",
        ),
        (
            lambda x: x.view(pl.Graph().add_variable(pl.FLOAT, (4, 3), "t")),
            AxisError,
            r"storage has shape \(4, 3\)",
        ),
    ],
)
def test_what_descriptions_refuse(wrong, error, match) -> None:  # type: ignore[no-untyped-def]
    x = ng.TensorDescription([H, W], layout=ng.row_major([H, W]), name="x")
    with pytest.raises(error, match=match):
        wrong(x)


def test_a_border_and_other_tensors_stand_beside_it() -> None:
    x = ng.TensorDescription([H, W], layout=ng.row_major([H, W]), name="x")
    padded = x.pad({H: (1, 2), W: (0, 1)})
    assert (padded.shape, len(padded.bases), padded.read_only) == ((6, 5), 3, True)
    graph = pl.Graph(pl.Target(tiles=1))
    storage = [each.allocated(graph) for each in padded.bases]
    assert padded.view(*storage).shape == (6, 5)
    assert padded.at((1, 0)).base is x
    assert padded.at((0, 0)).base.name == "border"
    assert padded.pad({H: (0, 0)}) is padded
    with pytest.raises(AxisError, match="with_layout: the view shows 3 allocations, not one"):
        padded.with_layout(ng.row_major([H, W]))
    with pytest.raises(AxisLengthError, match="pad: a width of axis 'H' is -1"):
        x.pad({H: (-1, 0)})


@pytest.mark.parametrize("value", [ng.column_major([H, W]), ng.row_major([H, W], {W: 8})])
@pytest.mark.parametrize("hint", [None, {H: "tiles"}, {W: 2}, 1])
def test_tensors_are_stored_as_their_layout_says(value: ng.Layout, hint: object) -> None:
    first = np.arange(12).reshape(3, 4)
    x = ng.variable([H, W], first, name="x", layout=value, map=hint)
    y = ng.placeholder([H, W], name="y", layout=value, map=hint)
    work = ng.make_transformer(tiles=3).computation([ng.sum(x * y, [H]), ng.assign(x, y)], y)
    numbers = np.arange(12).reshape(3, 4) % 5
    assert work(numbers)[0].tolist() == (first * numbers).sum(0).tolist()
    assert work(numbers)[0].tolist() == (numbers * numbers).sum(0).tolist()
    assert work.description(x).strides == value.strides
    assert work.tensor(x).shape == (3, 4)
    assert work.tensor(ng.flatten(x)[2:9:3]).shape == (3,)


def test_a_layout_is_checked() -> None:
    with pytest.raises(AxisError, match="w: layout is 'C'") as caught:
        ng.variable([H], name="w", layout="C")  # type: ignore[arg-type]
    assert caught.value.fix.startswith("pass ng.row_major([H])")
    with pytest.raises(MissingAxisError, match=r"layout \(H\): its order: no axis 'W'"):
        ng.variable([H, W], layout=ng.row_major([H]))
    with pytest.raises(MissingAxisError, match=r"layout \(H, W\): no axis 'W'"):
        ng.variable([H], layout=ng.row_major([H, W]))


def order(work: ng.Computation, op: ng.Op) -> tuple[str, ...]:
    layout = work.description(op).layout
    assert layout is not None
    return layout.order.names


def test_readers_vote_for_the_innermost_axis() -> None:
    x, y = ng.placeholder([A, B], name="x"), ng.placeholder([A, B], name="y")
    work = ng.make_transformer(tiles=2).computation(ng.sum(x * y, [A]), x, y)
    assert order(work, x) == order(work, y) == ("B", "A")
    assert "column-major (B, A): votes: A 30; linear over 1 tile" in work.explain()
    values = np.arange(15.0).reshape(5, 3)
    assert work(values, values + 1).tolist() == (values * (values + 1)).sum(0).tolist()

    tied = ng.placeholder([A, B], name="tied")
    both = [ng.sum(tied, [A]), ng.sum(tied, [B])]
    work = ng.make_transformer(tiles=2).computation(both, tied)
    assert order(work, tied) == ("A", "B")
    assert "row-major (A, B): a tie of votes: A 15, B 15" in work.explain()

    alone = ng.placeholder([A, B], name="alone")
    work = ng.make_transformer(tiles=2).computation(alone + 1, alone)
    assert "row-major (A, B): no votes" in work.explain()


def test_an_axis_that_is_cut_stays_outermost() -> None:
    x = ng.placeholder([A, B], name="x", map={A: "tiles"})
    work = ng.make_transformer(tiles=2).computation(ng.sum(x, [A]), x)
    assert order(work, x) == ("A", "B")


def test_a_product_wants_rows_of_both_matrices() -> None:
    x, y = ng.placeholder([A, B], name="x"), ng.placeholder([C, A], name="y")
    work = ng.make_transformer(tiles=2).computation(ng.dot(x, y, axes=[A]), x, y)
    assert {order(work, x), order(work, y)} == {("B", "A"), ("A", "C")}
    given = ng.placeholder([A, B], name="given", layout=ng.row_major([A, B]))
    work = ng.make_transformer(tiles=2).computation(ng.dot(given, y, axes=[A]), given, y)
    assert "copied: 'given' (A:5, B:3), 60 B: dot at " in work.explain()
    assert "reads rows along 'A', whose elements are 3 apart" in work.explain()
    one, other = np.arange(15.0).reshape(5, 3), np.arange(10.0).reshape(2, 5)
    assert work(one, other).tolist() == (one.T @ other.T).tolist()


def test_votes_of_all_computations_count_and_storage_stays() -> None:
    """Trap 23: a later computation votes too, as long as the tensor is not stored."""
    x = ng.placeholder([A, B], name="x")
    device = ng.make_transformer(tiles=2)
    first = device.computation(ng.sum(x, [B]), x)
    device.computation([ng.sum(x, [A]), ng.sum(x * 2, [A])], x)
    assert order(first, x) == ("B", "A")
    z = ng.placeholder([A, B], name="z")
    before = device.computation(ng.sum(z, [B]), z)
    assert order(before, z) == ("A", "B")
    later = device.computation([ng.sum(z, [A]), ng.sum(z * 2, [A])], z)
    assert order(later, z) == ("A", "B")
    values = np.arange(15.0).reshape(5, 3)
    assert later(values)[0].tolist() == values.sum(0).tolist()
    new = ng.placeholder([A, B], name="new")
    assert order(device.computation(ng.sum(new, [A]), new), new) == ("B", "A")


def test_results_lie_as_what_they_are_computed_of() -> None:
    x = ng.variable([A, B], 1.0, name="x")
    work = ng.make_transformer(tiles=2).computation([x * 2, ng.sum(x, [A]), ng.assign(x, x + 1)])
    assert order(work, x) == ("B", "A")
    assert work()[0].tolist() == [[2.0] * 3] * 5
    assert work()[0].tolist() == [[4.0] * 3] * 5
    result = work.results[0]
    assert result is not None
    assert result.T.is_contiguous()
