"""A view as text selects what NumPy selects, or says what is wrong with it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from poplite.errors import TensorIndexError
from poplite.viz.tensor.selection import Index, parse_view, select

shapes = st.lists(st.integers(1, 6), min_size=1, max_size=4).map(tuple)


@st.composite
def views(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[Index, ...]]:
    """A shape, and an index for some of its axes."""
    shape = draw(shapes)
    ends = st.none() | st.integers(-8, 8)
    entries: list[Index] = [
        draw(
            st.integers(-extent, extent - 1)
            | st.builds(slice, ends, ends, st.none() | st.sampled_from([1, 2, 3, -1, -2]))
        )
        for extent in shape[: draw(st.integers(0, len(shape)))]
    ]
    if draw(st.booleans()) and entries:
        entries[draw(st.integers(0, len(entries) - 1))] = ...
    return shape, tuple(entries) or (...,)


def spelled(entry: Index) -> str:
    """Write an index entry as a user would."""
    if isinstance(entry, slice):
        parts = ["" if n is None else str(n) for n in (entry.start, entry.stop, entry.step)]
        return ":".join(parts if parts[2] else parts[:2])
    return "..." if entry is ... else str(entry)


@given(views())
def test_selects_what_numpy_selects(case: tuple[tuple[int, ...], tuple[Index, ...]]) -> None:
    shape, index = case
    expected = np.arange(np.prod(shape)).reshape(shape)[index]
    text = ", ".join(spelled(entry) for entry in index)
    if not expected.size:
        with pytest.raises(TensorIndexError, match="selects no element"):
            select(shape, text)
        return
    for view in (index, text):
        chosen = select(shape, view)
        assert chosen.shape == expected.shape
        pieces = [np.arange(b, b + n) for b, n in zip(chosen.begin, chosen.length, strict=True)]
        assert np.array_equal(np.concatenate(pieces), np.sort(expected, axis=None))
        assert (chosen.begin[1:] > chosen.begin[:-1] + chosen.length[:-1]).all()  # maximal


def test_whole_rows_are_one_run() -> None:
    assert select((10**6, 100), "1000:900000").length.tolist() == [899_000 * 100]


def test_reads_spaces_and_signs() -> None:
    assert parse_view(" -3 , : , 1 : -1 : 2 ") == (-3, slice(None), slice(1, -1, 2))


@pytest.mark.parametrize(
    ("view", "match"),
    [
        ("", "'' is not an index"),
        ("x:y", "'x' is neither an integer nor a slice"),
        ("1.5", r"'1\.5' is neither"),
        ("True", "'True' is neither"),
        ("[1, 2]", r"'\[1, 2\]' is neither"),
        ("None", "'None' is neither"),
        ("1][0", "is not an index"),
        ("__import__('os')", "is neither an integer nor a slice"),
        ("2:5 ::2", "is not an index"),
        ("\x00", "is not an index"),
        ("::0", "has a step of 0"),
        ("9, 0", r"index 9 lies outside axis 0 of 4(.|\n)*shape is \[4, 6\](.|\n)*from 0 to 3"),
        ("0, -7", "index -7 lies outside axis 1 of 6"),
        ("0, 1, 2", r"names 3 axes but the tensor has 2"),
        ("..., ...", "has 2 ellipses"),
        ("3:3", "selects no element"),
        ("100:200", "selects no element"),
    ],
)
def test_bad_views_say_what_is_wrong(view: str, match: str) -> None:
    with pytest.raises(TensorIndexError, match=match):
        select((4, 6), view)


def test_views_of_large_tensors() -> None:
    shape = (10**6, 10**6)
    for view, begin, length in (
        (":", 0, 10**12),
        ("::-1, :", 0, 10**12),
        ("5:, :", 5 * 10**6, 10**12 - 5 * 10**6),
        ("7, 3:999_999", 7 * 10**6 + 3, 10**6 - 4),
    ):
        chosen = select(shape, view)
        assert (chosen.begin.tolist(), chosen.length.tolist()) == ([begin], [length])
    chosen = select((10**12,), f"9:{10**11}")
    assert (chosen.begin.tolist(), chosen.length.tolist()) == ([9], [10**11 - 9])
    with pytest.raises(TensorIndexError, match=r"is 500,000,000,000 pieces, but at most 16,777,21"):
        select(shape, ":, ::2")
    with pytest.raises(TensorIndexError, match="is 500,000,000,000 pieces"):
        select((10**12,), "::2")


def test_a_scalar_is_selected_by_an_ellipsis() -> None:
    chosen = select((), "...")
    assert (chosen.begin.tolist(), chosen.length.tolist(), chosen.shape) == ([0], [1], ())
