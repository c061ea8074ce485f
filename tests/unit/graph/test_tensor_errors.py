"""What tensors refuse, in both spellings; many slices at once."""

from __future__ import annotations

import io
import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
import pytest

import poplite as pl
from poplite import (
    BOOL,
    FLOAT,
    INT,
    ElementTypeError,
    Graph,
    PopliteError,
    Tensor,
    TensorCreationError,
    TensorIndexError,
)
from poplite.view import Cat, Storage, addresses
from poplite.view.concatenation import SlicedViews

# -- refusals --------------------------------------------------------------------------------------


REFUSED: list[tuple[Callable[[Any], object], type[PopliteError], str]] = [
    # Python indexing
    (lambda t: t[4], TensorIndexError, r"index 4 in dimension 0 of size 4"),
    (lambda t: t[-5], TensorIndexError, r"index -5 in dimension 0 of size 4"),
    (lambda t: t[1, 6], TensorIndexError, r"index 6 in dimension 1 of size 6(.|\n)*-6 to 5"),
    (lambda t: t[0:0][0], TensorIndexError, r"index 0 in dimension 0 of size 0"),
    (lambda t: t[0, 0, 0], TensorIndexError, r"3 indices for a tensor of rank 2"),
    (lambda t: t[0][0][0][0], TensorIndexError, r"1 index for a tensor of rank 0"),
    (lambda t: t[..., 0, ...], TensorIndexError, r"'...' occurs 2 times"),
    (lambda t: t[[0, 1]], TensorIndexError, r"with list \[0, 1\](.|\n)*ops.embedding"),
    (lambda t: t[np.array([0, 1])], TensorIndexError, r"with ndarray array\(\[0, 1\]\)"),
    (lambda t: t[np.array(1)], TensorIndexError, r"with ndarray array\(1\)"),
    (lambda t: t[True], TensorIndexError, r"with bool True"),
    (lambda t: t[np.True_, 0], TensorIndexError, r"with bool"),
    (lambda t: t[1.0], TensorIndexError, r"with float 1.0"),
    (lambda t: t["x" * 99], TensorIndexError, r"with str 'x{36}\.\.\."),
    (lambda t: t[::0], TensorIndexError, r"begin None, end None, step 0"),
    (lambda t: t[1.5:], TensorIndexError, r"begin 1.5, end None, step None"),
    (lambda t: t[pl.Interval(1, 5)], TensorIndexError, r"slice \[1, 5\) in dimension 0 of size 4"),
    (lambda t: t[pl.Interval(1, 3), 0], TensorIndexError, r"indexed with Interval Interval\(beg"),
    # Poplar's selections
    (lambda t: t.slice(0, 5), TensorIndexError, r"slice \[0, 5\) in dimension 0 of size 4"),
    (lambda t: t.slice(3, 2, 1), TensorIndexError, r"slice \[3, 2\) in dimension 1 of size 6"),
    (lambda t: t.slice(-1, 2), TensorIndexError, r"begin is -1, but the minimum is 0"),
    (lambda t: t.slice(0, 2, 2), TensorIndexError, r"dimension 2 of a tensor of rank 2"),
    (lambda t: t.slice(0, 2, -3), TensorIndexError, r"dimension -3 of a tensor of rank 2"),
    (lambda t: pl.stack([t, t], 3), TensorIndexError, r"dimension 3 of a stack of rank 3"),
    (lambda t: t.slice(0, 1.5), TensorIndexError, r"end is 1.5, not a whole number"),
    (lambda t: t.slice(True, 2), TensorIndexError, r"begin is True, not a whole number"),
    (lambda t: t.slice(1), TensorIndexError, r"end is None, not a whole number"),
    (lambda t: t.slice([0, 1]), TensorIndexError, r"\[0, 1\] is not an interval"),
    (lambda t: t.slice([0], [1, 2]), TensorIndexError, r"1 begin and 2 ends"),
    (lambda t: t.slice([0] * 3, [1] * 3), TensorIndexError, r"3 begins and 3 ends(.|\n)*most 2"),
    (lambda t: t.slice([0], [1], 1), TensorIndexError, r"1 begin and 1 end and dim=1"),
    (lambda t: t.slice([0, 0], [1, 7]), TensorIndexError, r"slice \[0, 7\) in dimension 1 of s"),
    (lambda t: t.slices([(0, 2), (3, 5)]), TensorIndexError, r"slice \[3, 5\) in dimension 0"),
    (lambda t: t.slices([0, 6], 1), TensorIndexError, r"index 6 in dimension 1 of size 6"),
    (lambda t: t.slices([[0, 2]]), TensorIndexError, r"0 is not an interval(.|\n)*pl.Interval"),
    (lambda t: t.slices(3), TensorIndexError, r"3 is not an interval"),
    (lambda t: t.index([1, 6]), TensorIndexError, r"index 6 in dimension 1 of size 6"),
    (lambda t: t.index([0, 0, 0]), TensorIndexError, r"3 indices for a tensor of rank 2"),
    (lambda t: t.index(1), TensorIndexError, r"indices is 1, not a list"),
    (lambda t: t.sub_sample(0, 0), TensorIndexError, r"stride 0, but the minimum is 1"),
    (lambda t: t.sub_sample(2, 5), TensorIndexError, r"dimension 5 of a tensor of rank 2"),
    (lambda t: t.dim(2), TensorIndexError, r"dimension 2 of a tensor of rank 2(.|\n)*dim 0 to 1"),
    (lambda t: t[0, 0].dim(0), TensorIndexError, r"dimension 0 of a tensor of rank 0"),
    # Reordering and reshaping
    (lambda t: t.reverse(2), TensorIndexError, r"dimension 2 of a tensor of rank 2"),
    (lambda t: t.dim_shuffle([0]), TensorCreationError, r"by \[0\] of a tensor of rank 2"),
    (lambda t: t.dim_shuffle([0, 0]), TensorCreationError, r"by \[0, 0\] of a tensor of rank 2"),
    (lambda t: t.dim_shuffle_partial([0], [0, 1]), TensorCreationError, r"\[0\] to \[0, 1\]"),
    (lambda t: t.dim_shuffle_partial([0, 0], [0, 1]), TensorCreationError, r"\[0, 0\] to \[0, 1"),
    (lambda t: t.dim_shuffle_partial([0, 1], [1, 1]), TensorCreationError, r"\[0, 1\] to \[1, 1"),
    (lambda t: t.dim_roll(2), TensorIndexError, r"dimension 2 of a tensor of rank 2"),
    (lambda t: t.dim_roll(0, 3), TensorIndexError, r"dimension 3 of a tensor of rank 2"),
    (lambda t: t[0].transpose(), TensorCreationError, r"of rank 1, but rank 2 is needed"),
    (lambda t: t.reshape((5, 5)), TensorCreationError, r"25 elements, but the tensor has 24"),
    (lambda t: t.reshape_partial(0, 1, [3, -1]), TensorCreationError, r"\(3, -1\): no size"),
    (lambda t: t.reshape((-1, -1)), TensorCreationError, r"\(-1, -1\): 2 sizes are -1, but"),
    (lambda t: t.reshape((4, 6.0)), TensorIndexError, r"shape\[1\] is 6.0, not a whole number"),
    (lambda t: t.reshape_partial(0, 1, [5]), TensorCreationError, r"5 elements, but 4 are rep"),
    (lambda t: t.reshape_partial(1, 1, [2]), TensorCreationError, r"2 elements, but 1 is repl"),
    (lambda t: t.reshape_partial(1, 3, [6]), TensorIndexError, r"\[1, 3\) of a tensor of rank 2"),
    (lambda t: t.flatten(2, 1), TensorIndexError, r"dimensions \[2, 1\) of a tensor of rank 2"),
    (lambda t: t.expand([3]), TensorIndexError, r"dimension 3 of a tensor of rank 2(.|\n)*0 to 2"),
    (lambda t: t.squeeze([1]), TensorIndexError, r"dimension 1 of size 6(.|\n)*t\[:, i\]"),
    (lambda t: t.squeeze([2]), TensorIndexError, r"dimension 2 of a tensor of rank 2"),
    (lambda t: t.broadcast(-1, 0), TensorIndexError, r"n is -1, but the minimum is 0"),
    (lambda t: t.broadcast(2, 2), TensorIndexError, r"dimension 2 of a tensor of rank 2"),
    (lambda t: t.upsample(-2, 0), TensorIndexError, r"scale is -2, but the minimum is 0"),
    (
        lambda t: t.upsample(2, 0, "cubic"),
        TensorCreationError,
        r"upsample: 'cubic' is not in Upsample",
    ),
    (lambda t: t.reinterpret(BOOL), ElementTypeError, r"FLOAT has 4 bytes, but BOOL has 1"),
    # Several tensors
    (lambda t: pl.concat([]), TensorCreationError, r"concat needs at least one tensor"),
    (lambda t: pl.concat([t, cast("Any", 3)]), ElementTypeError, r"concat: int is not a tensor"),
    (lambda t: pl.concat([t, t[0]]), TensorCreationError, r"tensor 1 has shape \(6,\), .*\(4, 6\)"),
    (lambda t: pl.concat([t, t, t[1:]], 1), TensorCreationError, r"tensor 2 has shape \(3, 6\)"),
    (lambda t: pl.concat([t, t.reinterpret(INT)]), ElementTypeError, r"1 is INT, tensor 0 is FLO"),
    (lambda t: pl.concat([t, t], 2), TensorIndexError, r"dimension 2 of a tensor of rank 2"),
    (lambda t: pl.concat([t[0, 0]]), TensorIndexError, r"dimension 0 of a tensor of rank 0"),
    (lambda t: pl.concat(t, Graph().add_variable(FLOAT, (4, 6))), TensorCreationError,
     r"tensor 1 does not belong to the graph of tensor 0"),
    (lambda t: pl.append(t, t), TensorCreationError, r"cannot extend one of rank 2(.|\n)*rank 1"),
    (lambda t: pl.append(t, t[:, 0]), TensorCreationError, r"shape \(1, 4\), tensor 0 has \(4, 6"),
    (lambda t: t[:0].slices([0, 1]), TensorIndexError, r"size 0  (.|\n)*  't' has shape \(0, 6\)"),
    (lambda t: t[4:].T.slices([(0, 7)]), TensorIndexError, r"size 6  (.|\n)*  't' has shape \(6"),
    (lambda t: t[2:2].slice(0, 1), TensorIndexError, r"size 0  (.|\n)*  't' has shape \(0, 6\)"),
    (lambda t: t[:, 3:3][0].slice(0, 1), TensorIndexError, r"  't' has shape \(0,\)"),
    (lambda t: pl.append(t, cast("Any", 1.0)), ElementTypeError, r"append: float is not a tensor"),
    (lambda t: t.intersects_with(3), ElementTypeError, r"intersects_with: int is not a tensor"),
    # What a tensor is not
    (bool, ElementTypeError, r"no truth value(.|\n)*engine.read\(t\)"),
    (np.asarray, ElementTypeError, r"not a NumPy array(.|\n)*engine.read\(t\)"),
    (lambda t: t @ t, TensorCreationError, r"shapes \(4, 6\)(.|\n)*ops.matmul\(t, t.T\)"),
    (round, ElementTypeError, r"round of a tensor(.|\n)*ops.round"),
    (lambda t: np.ones((4, 6)) + t, ElementTypeError, r"'\+': array(.|\n)*add_constant"),
    (lambda t: t + None, ElementTypeError, r"'\+': None is not a valid operand"),
    (lambda t: 1 in t, ElementTypeError, r"'in' a tensor"),
    (lambda t: t.__setitem__(0, 1), ElementTypeError, r"be assigned(.|\n)*set_initial_value"),
    (float, ElementTypeError, r"a tensor is not a float(.|\n)*ops.sqrt(.|\n)*engine.read\(t\)"),
    (int, ElementTypeError, r"a tensor is not an int"),
    (range, ElementTypeError, r"a tensor is not a whole number"),
    (lambda t: len(t[0, 0]), ElementTypeError, r"rank 0 has no length"),
    (lambda t: list(t[0, 0]), ElementTypeError, r"rank 0 has no length"),
]  # fmt: skip


@pytest.fixture
def t() -> Tensor:
    return Graph().add_variable(FLOAT, (4, 6), "t")


@pytest.mark.parametrize(("operation", "error", "message"), REFUSED)
def test_a_refusal_names_both_numbers(
    t: Tensor, operation: Callable[[Any], object], error: type[PopliteError], message: str
) -> None:
    with pytest.raises(error, match=message):
        operation(t)


def test_a_message_has_four_parts(t: Tensor) -> None:
    with pytest.raises(TensorIndexError) as caught:
        t.slice(2, 9, 1)
    first, found, fix = str(caught.value).splitlines()
    assert first.startswith("slice [2, 9) in dimension 1 of size 6  (")
    assert "test_tensor_errors.py:" in first
    assert found == "  't' has shape (4, 6)"
    assert fix == "  try: use 0 <= begin <= end <= 6, or t[begin:end], which clamps"


def test_errors_are_also_the_built_in_that_fits(t: Tensor) -> None:
    with pytest.raises(IndexError, match="index 9"):
        t[9]
    with pytest.raises(ValueError, match="25 elements"):
        t.reshape((5, 5))
    with pytest.raises(TypeError, match="no truth value"):
        bool(t)


def test_numpy_operators_refuse_a_tensor(t: Tensor) -> None:
    with pytest.raises(
        ElementTypeError, match=r"(?s)^'-': array.*not a valid operand.*graph.add_constant"
    ):
        np.ones((4, 6)) - t


# -- many slices -----------------------------------------------------------------------------------


ARRAY = np.arange(40 * 30).reshape(40, 30)


@pytest.fixture
def wide() -> Tensor:
    """Shape (40, 30); element (i, j) is number 30 * i + j of the variable."""
    return Graph().add_variable(FLOAT, (40, 30), "t")


def shuffled(count: int, size: int) -> Any:
    """Return int64[count, 2]: disjoint intervals of a size, in a random order."""
    begin = np.random.default_rng(1).permutation(count) * size
    return np.stack([begin, begin + size], axis=1)


def pieces_of(tensor: Tensor) -> SlicedViews:
    assert isinstance(tensor.view.space, Cat)
    assert isinstance(tensor.view.space.kids, SlicedViews)
    return tensor.view.space.kids


@pytest.mark.parametrize(
    "intervals",
    [
        [(0, 4), (2, 3), (7, 7)],
        [pl.Interval(0, 4), (2, 3), pl.Interval(7, 7)],
        [(np.int32(0), 4), (2, np.int64(3)), (7, 7)],
        np.array([[0, 4], [2, 3], [7, 7]]),
        np.array([[0, 4], [2, 3], [7, 7]], np.uint8),
        np.array([[0, 4], [2, 3], [7, 7]], np.uint64),
    ],
)
def test_intervals_come_as_pairs_or_as_an_array(wide: Tensor, intervals: Any) -> None:
    found = wide.slices(intervals)
    assert found == [wide[0:4], wide[2:3], wide[7:7]]
    assert [wide[0:4], wide[2:3], wide[7:7]] == found
    assert found != [wide[0:4], wide[2:3]]
    assert found != [wide[0:4], wide[2:4], wide[7:7]]
    assert (found[1], found[-1], found[:2]) == (wide[2:3], wide[7:7], [wide[0:4], wide[2:3]])
    assert list(found) == [wide[0:4], wide[2:3], wide[7:7]]


def test_indices_keep_their_dimension(wide: Tensor) -> None:
    assert (
        wide.slices(np.array([3, 0]), 1) == wide.slices([3, 0], 1) == [wide[:, 3:4], wide[:, 0:1]]
    )


def test_a_list_says_what_it_slices(wide: Tensor) -> None:
    shape = list(wide.shape)
    assert (
        repr(wide.slices([(0, 4)] * 1000, 1))
        == f"<1,000 Slices of '{wide.name}' float32{shape} along dimension 1>"
    )


@pytest.mark.parametrize(
    ("items", "message"),
    [
        (np.array([[0, 2], [38, 41]]), r"slice \[38, 41\) in dimension 0 of size 40"),
        (np.array([[0, 2], [3, 1]]), r"slice \[3, 1\) in dimension 0"),
        (np.array([[-1, 2]]), r"begin is -1, but the minimum is 0"),
        (np.array([0, 40]), r"index 40 in dimension 0 of size 40"),
        (np.array([0.0, 1.0]), r"index is (np.float64\()?0.0\)?, not a whole number"),
        (np.array([[1, 2, 3]]), r"1 is not an interval"),
        (np.array(3), r"array\(3\) is not an interval"),
        ([(0, 2**70)], r"slice \[0, 1180591620717411303424\) in dimension 0"),
        ([(0, 2), (True, 3)], r"begin is True, not a whole number"),
        ([(0, 2), (1.0, 3)], r"begin is 1.0, not a whole number"),
        ([[(0, 2)], [(39, 41)]], r"slice \[39, 41\) in dimension 0 of size 40"),
    ],
)
def test_bad_intervals_are_named(wide: Tensor, items: Any, message: str) -> None:
    with pytest.raises(pl.TensorIndexError, match=message):
        wide.slices(items)


def test_an_index_outside_the_list_is_refused(wide: Tensor) -> None:
    with pytest.raises(
        pl.TensorIndexError, match=r"slice 2 does not exist; there are 2(.|\n)*from -2 to 1"
    ):
        wide.slices([1, 2])[2]


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("axis", [0, 1])
def test_a_concatenation_shows_what_numpy_shows(wide: Tensor, dim: int, axis: int) -> None:
    chosen = np.random.default_rng(2).integers(0, wide.shape[dim], 200)
    joined = pl.concat(wide.slices(chosen, dim), axis)
    expected = np.concatenate([ARRAY.take([i], dim) for i in chosen], axis)
    assert len(pieces_of(joined)) > 100
    np.testing.assert_array_equal(addresses(joined.view), expected)


def test_lists_of_intervals_concatenate_like_their_tensors(wide: Tensor) -> None:
    groups = [[(i % 37, i % 37 + 2), (i % 5, i % 5 + 1)] for i in range(80)]
    along, across = pl.concat(wide.slices(groups)), pl.concat(wide.slices(groups), 1)
    rows = [[*range(a, b), *range(c, d)] for (a, b), (c, d) in groups]
    np.testing.assert_array_equal(addresses(along.view), np.concatenate([ARRAY[r] for r in rows]))
    np.testing.assert_array_equal(
        addresses(across.view), np.concatenate([ARRAY[r] for r in rows], 1)
    )
    assert pl.concat(wide.slices([[], [(0, 0)]])).shape == (0, 30)


def test_slices_that_do_not_fit_are_refused(wide: Tensor) -> None:
    with pytest.raises(pl.TensorCreationError, match=r"tensor 2 has shape \(3, 30\), .*\(2, 30\)"):
        pl.concat(wide.slices([(0, 2), (4, 6), (1, 4)]), 1)
    with pytest.raises(pl.TensorCreationError, match="concat needs at least one tensor"):
        pl.concat(wide.slices([]))


def test_all_slices_in_order_are_the_tensor(wide: Tensor) -> None:
    flat = wide.T.flatten()
    for whole, dim in ((wide, 0), (wide, 1), (wide.T, 0), (wide[::-1], 1), (flat, 0)):
        size = whole.shape[dim]
        for step in (1, 2, 5):
            cuts = [(i, i + step) for i in range(0, size, step)]
            joined = pl.concat(whole.slices(cuts, dim), dim)
            assert joined == whole
            assert isinstance(joined.view.space, Storage)


@pytest.mark.parametrize("stride", [2, 3])
def test_regular_slices_are_one_strided_view(stride: int) -> None:
    t = Graph().add_variable(FLOAT, (600, 4), "t")
    rows = t.slices(range(0, 600, stride))
    assert pl.concat(rows) == t.sub_sample(stride, 0)
    backwards = pl.concat(t.slices(np.arange(599, -1, -1)))
    assert backwards == t.reverse(0)
    grid = [(100 * i + 7 * j, 100 * i + 7 * j + 3) for i in range(5) for j in range(14)]
    assert isinstance(pl.concat(t.slices(grid)).view.space, Storage)


def test_few_progressions_among_many_slices_become_digits() -> None:
    t = Graph().add_variable(FLOAT, (4096,), "t")
    starts = [*range(0, 1000, 10), *range(3000, 2000, -5), 4000, 1500]
    joined = pl.concat(t.slices([(i, i + 2) for i in starts]))
    assert isinstance(joined.view.space, Cat)
    assert len(joined.view.space.kids) == 4
    expected = np.array([[i, i + 1] for i in starts]).reshape(-1)
    np.testing.assert_array_equal(addresses(joined.view), expected)


def test_a_concatenation_of_slices_equals_that_of_a_list(wide: Tensor) -> None:
    flat = wide.flatten()
    intervals = shuffled(120, 10)
    lazy = pl.concat(flat.slices(intervals))
    eager = pl.concat([flat[a:b] for a, b in intervals.tolist()])
    assert lazy == eager
    assert eager == lazy
    assert hash(lazy) == hash(eager)
    assert lazy != pl.concat(flat.slices(intervals[::-1]))
    assert lazy.contains_aliases() is False
    assert lazy.var_regions() == eager.var_regions()


def test_pieces_are_a_sequence_of_views(wide: Tensor) -> None:
    pieces = pieces_of(pl.concat(wide.slices(np.random.default_rng(3).permutation(40).repeat(2))))
    views: Sequence[Any] = tuple(pieces)
    assert len(pieces) == len(views)
    assert tuple(pieces[2:5]) == views[2:5]
    assert pieces[-1] == views[-1]
    assert pieces.are_cut_as(pieces[:])
    assert not pieces.are_cut_as(pieces[:-1])
    assert repr(pieces).startswith(f"<{len(pieces)} SlicedViews of View(shape=(1, 40, 30)")


def test_a_million_slices_make_no_object_each() -> None:
    t = Graph().add_variable(FLOAT, (2**24,), "t")
    intervals = shuffled(2**20, 16)
    tracemalloc.start()
    joined = pl.concat(t.slices(intervals))
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(pieces_of(joined)) > 2**20 - 100
    assert size < 40 * 2**20, f"{size:,} bytes"
    expected = np.arange(16) + intervals[100:200, :1]
    np.testing.assert_array_equal(addresses(joined[1600:3200].view), expected.reshape(-1))
    assert joined[1600:1616] == t.slice(*intervals[100].tolist())


def test_concatenations_beyond_all_indices_are_refused() -> None:
    t = Graph().add_variable(FLOAT, (2**61,), "t")
    with pytest.raises(pl.SizeOverflowError, match=r"6,917,529,027,641,081,856 elements"):
        pl.concat([t, t, t])
    with pytest.raises(pl.SizeOverflowError, match=r"230,584,300,921,369,395,200 elements"):
        pl.concat(t.slices([(0, 2**61)] * 100))
    with pytest.raises(pl.SizeOverflowError, match=r"9,223,372,036,854,775,808 elements"):
        t.slices([[(0, 2**61)] * 4])


# -- refusals in the C++ spelling ------------------------------------------------------------------


@pytest.fixture
def graph() -> pl.Graph:
    return pl.Graph(pl.Target(tiles=4))


def test_options_of_streams_are_poplars(graph: pl.Graph) -> None:
    with pytest.raises(pl.InvalidOption, match=r"'bufferingDept' \(did you mean 'bufferingDepth'"):
        graph.addHostToDeviceFIFO("s", pl.INT, 4, {"bufferingDept": "2"})
    with pytest.raises(
        pl.InvalidOption, match="bufferingDepth is 'two', not a non-negative whole number"
    ):
        graph.addHostToDeviceFIFO("s", pl.INT, 4, {"bufferingDepth": "two"})
    with pytest.raises(pl.InvalidOption, match="'-1', not a non-negative whole number"):
        graph.addHostToDeviceFIFO("s", pl.INT, 4, {"bufferingDepth": "-1"}, buffering_depth=2)
    with pytest.raises(pl.InvalidOption, match="options .* and "):
        graph.addHostToDeviceFIFO("s", pl.INT, 4, {"bufferingDepth": "2"}, {"splitLimit": "1"})
    with pytest.raises(pl.InvalidOption, match="options 3 are not a dictionary"):
        graph.addDeviceToHostFIFO("s", pl.INT, 4, 3)  # type: ignore[arg-type]
    with pytest.raises(pl.InvalidOption, match="'depth'"):
        graph.addDeviceToHostFIFO("s", pl.INT, 4, {"depth": "2"})


def test_bits_of_halves_are_16_bits(graph: pl.Graph) -> None:
    assert graph.addConstantHalf(pl.HALF, [0], []).shape == (0,)
    with pytest.raises(pl.ElementTypeError, match="element_type is FLOAT, but must be HALF"):
        graph.addConstantHalf(pl.FLOAT, [1], [0])
    ragged: list[Any] = [[1], [2, 3]]
    for wrong in ([1.5], [1 << 16], [-1], ragged):
        with pytest.raises(pl.TensorCreationError, match="are not the bits of HALF"):
            graph.addConstantHalf(pl.HALF, [1], wrong)


def test_variables_and_ways_to_map_a_buffer_are_checked(graph: pl.Graph) -> None:
    x = graph.add_variable(pl.INT, (2,), "x", mapping=0)
    for call in (graph.getVariable, graph.isConstant):
        with pytest.raises(pl.ElementTypeError, match="is not a variable"):
            call(x)  # type: ignore[arg-type]
    function = graph.add_function(pl.WriteUndef(x))
    with pytest.raises(pl.ElementTypeError, match="3 is not in FunctionBufferMappingType"):
        graph.addFunctionBuffer(function, 3)  # type: ignore[arg-type]


def test_connections_are_a_dictionary(graph: pl.Graph) -> None:
    class Idle(pl.Vertex):
        x: pl.Input[pl.INT]

        def compute(self) -> None:
            pass

    cs, x = graph.add_compute_set("cs"), graph.add_variable(pl.INT, (), "x")
    for wrong, match in (
        (3, "connections 3 are neither a dictionary"),
        ({1: x}, "1 is not the name of a field"),
        ([("x", x, x)], "are neither a dictionary"),
    ):
        with pytest.raises(pl.ElementTypeError, match=match):
            graph.addVertex(cs, Idle, wrong)  # type: ignore[arg-type]
    with pytest.raises(pl.UnknownField, match="'tile', not a valid field name"):
        graph.addVertex(cs, Idle, {"tile": x})
    with pytest.raises(pl.GraphConnectionError, match=r"field 'x'.*twice"):
        graph.addVertex(cs, Idle, [("x", x), ("x", 3)])
    with pytest.raises(pl.GraphConnectionError, match=r"field 'x'.*twice(?s:.*)to 4 and to 3"):
        graph.addVertex(cs, Idle, {"x": 4}, x=3)
    assert not cs.vertices


def test_a_class_can_be_named_where_no_other_has_its_name(graph: pl.Graph) -> None:
    class OnlyHere(pl.Vertex):
        x: pl.Input[pl.Vector[pl.INT]]

        def compute(self) -> None:
            pass

    vertex = graph.addVertex(graph.add_compute_set("cs"), "OnlyHere", tile=1)
    assert vertex.vertex_class is OnlyHere
    assert graph.hasCodelet("OnlyHere")
    assert graph.getMaxFieldDim("OnlyHere", "x", 0) == graph.max_field_dim(OnlyHere, "x")
    graph.registerPerfEstimator("OnlyHere", lambda vertex, target: 7)
    estimate = graph.getPerfEstimate(vertex)
    assert estimate is not None
    assert estimate.cycles == 7
    with pytest.raises(pl.UnknownVertexType, match="0 vertex classes called 'Nowhere'"):
        graph.addVertex(graph.add_compute_set("cs"), "Nowhere")
    same = type("OnlyHere", (OnlyHere,), {})
    with pytest.raises(pl.UnknownVertexType, match="2 vertex classes called 'OnlyHere'"):
        graph.addVertex(graph.add_compute_set("cs"), "OnlyHere")
    assert same.__name__ == "OnlyHere"


def test_streams_of_a_remote_buffer_are_not_copied(graph: pl.Graph) -> None:
    x = graph.add_variable(pl.INT, (4,), "x", mapping=0)
    buffer = graph.add_remote_buffer("table", pl.INT, 4)
    with pytest.raises(pl.ControlProgramError, match="belongs to remote buffer 'table'"):
        pl.Copy(buffer.getHostToIpuStream(), x)


def test_tensors_are_read_by_another_graph_with_the_same_variables(graph: pl.Graph) -> None:
    x = graph.add_variable(pl.INT, (2, 3), "x")
    y = graph.add_variable(pl.INT, (2,), "y")
    views = [x.T, pl.concat([y, x[1, ::2]]), x.reinterpret(pl.FLOAT), y[0]]
    file = io.BytesIO()
    graph.serialize_tensors(file, views, pl.SerializationFormat.BINARY)
    other = pl.Graph()
    x = other.add_variable(pl.INT, (2, 3), "x")
    y = other.add_variable(pl.INT, (2,), "y")
    read = other.deserialize_tensors(io.BytesIO(file.getvalue()))
    assert read == [x.T, pl.concat([y, x[1, ::2]]), x.reinterpret(pl.FLOAT), y[0]]


def test_tensors_of_mixed_types_and_without_elements_are_read(graph: pl.Graph) -> None:
    x, y = graph.add_variable(pl.INT, (6,), "x"), graph.add_variable(pl.FLOAT, (4,), "y")
    mixed = pl.concat(x[::2].reinterpret(pl.FLOAT), y[1:3])
    columns = graph.add_variable(pl.INT, (300, 300), "columns").T
    views = [mixed, x[3:3], columns, pl.concat(x[4:], x[:2]).reverse(0), x.broadcast(2, 0)]
    file = io.StringIO()
    graph.serialize_tensors(file, views)
    assert graph.deserialize_tensors(io.StringIO(file.getvalue())) == views


def test_tensors_are_written_as_a_list_in_a_known_format(graph: pl.Graph) -> None:
    x = graph.add_variable(pl.INT, (6,), "x")
    with pytest.raises(pl.ElementTypeError, match="is not a list of tensors"):
        graph.serialize_tensors(io.StringIO(), x)  # type: ignore[arg-type]
    with pytest.raises(pl.InvalidOption, match="format: 'json' is not in SerializationFormat"):
        graph.serialize_tensors(io.StringIO(), [x], "json")
    with pytest.raises(pl.InvalidOption, match="format: 3 is not in SerializationFormat"):
        graph.deserialize_tensors(io.StringIO(), 3)  # type: ignore[arg-type]


def test_files_of_another_kind_are_refused(graph: pl.Graph) -> None:
    x = graph.add_variable(pl.INT, (6,), "x", mapping=0)
    executable = pl.compile_graph(graph, pl.WriteUndef(x))
    binary = pl.SerializationFormat.BINARY
    calls: list[Callable[[], object]] = [
        lambda: graph.serialize_tensors(io.BytesIO(), [x]),
        lambda: graph.serialize_tensors(io.StringIO(), [x], binary),
        lambda: graph.serialize_tensors("x.json", [x]),  # type: ignore[arg-type]
        lambda: graph.deserialize_tensors("x.json"),  # type: ignore[arg-type]
        lambda: graph.output_vertex_graph(io.BytesIO()),  # type: ignore[arg-type]
        lambda: pl.dump_program(graph, pl.Program(), io.BytesIO()),  # type: ignore[arg-type]
        lambda: executable.serialize(io.StringIO()),  # type: ignore[arg-type]
        lambda: pl.Executable.deserialize(io.StringIO()),  # type: ignore[arg-type]
    ]
    for call in calls:
        with pytest.raises(pl.ElementTypeError, match=r"is not a (text|binary) file to"):
            call()


def test_what_is_drawn_is_a_list_of_programs(graph: pl.Graph) -> None:
    for wrong, match in ((pl.Program(), "are no list"), (3, "are no list"), ([3], "3 is no")):
        with pytest.raises(pl.ControlProgramError, match=match):
            graph.output_vertex_graph(io.StringIO(), wrong)  # type: ignore[arg-type]
    with pytest.raises(pl.ControlProgramError, match="3 is not a program"):
        pl.dump_program(graph, 3, io.StringIO())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    ["", "[]", '{"format": "other"}', '{"format": "poplite tensors 1", "tensors": [{}]}'],
)
def test_other_files_are_no_tensors(graph: pl.Graph, text: str) -> None:
    with pytest.raises(pl.FileLoadError, match="the file contains no tensors"):
        graph.deserialize_tensors(io.StringIO(text))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("[0, 0, 4]", f"[0, 0, {10**30}]"),
        ("[0, 0, 4]", "[0, 0, Infinity]"),
        ("[0, 0, 4]", '[0, 0, "4"]'),
        ("[0, 0, 4]", "[" * 100_000),
        ("[0, 0, 4]", "[1, 0, 4]"),
        ('"shape": [4]', '"shape": [5]'),
        ('"shape": [4]', '"shape": ["4"]'),
        ('"type": "INT"', '"type": "HALF"'),
    ],
)
def test_numbers_that_are_of_no_tensor_are_refused(graph: pl.Graph, old: str, new: str) -> None:
    file = io.StringIO()
    graph.serialize_tensors(file, [graph.add_variable(pl.INT, (4,), "w")])
    assert old in file.getvalue()
    with pytest.raises(pl.FileLoadError, match="the file contains no tensors"):
        graph.deserialize_tensors(io.StringIO(file.getvalue().replace(old, new)))


def test_a_variable_that_is_not_there_is_named(graph: pl.Graph) -> None:
    file = io.StringIO()
    graph.serialize_tensors(file, [graph.add_variable(pl.INT, (2,), "weights")])
    with pytest.raises(pl.UnknownName, match="'weights'"):
        pl.Graph().deserialize_tensors(io.StringIO(file.getvalue()))


def test_a_tensor_outside_a_smaller_variable_is_refused(graph: pl.Graph) -> None:
    file = io.StringIO()
    graph.serialize_tensors(file, [graph.add_variable(pl.INT, (4,), "w")])
    other = pl.Graph()
    other.add_variable(pl.INT, (3,), "w")
    with pytest.raises(pl.FileLoadError, match="the file contains no tensors"):
        other.deserialize_tensors(io.StringIO(file.getvalue()))


def test_a_name_of_a_program_is_text(graph: pl.Graph) -> None:
    x, y = (graph.add_variable(pl.INT, (4,), name, mapping=0) for name in "xy")
    name: Any = 3
    makers: list[Callable[[], object]] = [
        lambda: pl.Copy(x, y, False, name),
        lambda: pl.Repeat(2, pl.Program(), name),
        lambda: pl.WriteUndef(x, name),
        lambda: pl.Sequence(pl.Program(), name=name),
        lambda: pl.PrintTensor("t", x, pl.PrintTensorFormat(), name),
    ]
    for make in makers:
        with pytest.raises(pl.ControlProgramError, match="name 3 is not a string"):
            make()


def test_programs_are_the_same_when_they_do_the_same(graph: pl.Graph) -> None:
    x, y = (graph.add_variable(pl.INT, (4,), name, mapping=0) for name in "xy")
    flag = graph.add_variable(pl.BOOL, (), "flag", mapping=0)
    row = graph.add_variable(pl.INT, (), "row", mapping=0)

    def program(count: int = 3, case: int = 1, source: pl.Tensor = x) -> pl.Program:
        switch = pl.Switch(row, {case: pl.Copy(y, x), 2: pl.PrintTensor("t", x)})
        body = pl.If(flag, pl.Copy(source, y), switch)
        return pl.Sequence(pl.Repeat(count, body), pl.WriteUndef(y), name=f"{count}")

    assert program().same_as(program())
    assert program() != program()
    assert not program().same_as(program(count=4))
    assert not program().same_as(program(case=3))
    assert not program().same_as(program(source=x[::-1]))
    assert not program().same_as(pl.Sequence(program()))
    assert pl.Block(program(), "a").same_as(pl.Block(program(), "a"))
    assert not pl.Block(program(), "a").same_as(pl.Block(program(), "b"))
    one, other_order = pl.Copy(x, y), [(2, pl.Copy(y, x)), (1, pl.Copy(x, y))]
    assert pl.Switch(row, {1: one, 2: pl.Copy(y, x)}).same_as(pl.Switch(row, other_order))
    mapped = [pl.Switch(row, {n: pl.Copy(x, y) for n in range(200)}) for _ in range(2)]
    assert mapped[0].same_as(mapped[1])
    assert not mapped[0].same_as(pl.Switch(row, {n: pl.Copy(y, x) for n in range(200)}))
    shared: pl.Program = pl.Copy(x, y)
    other: pl.Program = pl.Copy(x, y)
    for _ in range(60):  # 2 ** 60 paths
        shared, other = pl.Sequence(shared, shared), pl.Sequence(other, other)
    assert shared.same_as(other)
