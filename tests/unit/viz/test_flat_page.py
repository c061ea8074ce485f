"""Folding a tensor onto a page: every element lies in the rectangle of its tile."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from poplite.arrays.intervals import Int64
from poplite.viz.tensor.flat_page import (
    MIXED,
    Page,
    Rectangles,
    coarse,
    fold,
    rectangles,
    tick_step,
)

shapes = st.lists(st.integers(1, 7), max_size=4).map(tuple)


def runs(flat: Int64) -> tuple[Int64, Int64, Int64]:
    """Return begin, length and value of the runs of equal neighbours."""
    begin = np.flatnonzero(np.diff(flat, prepend=flat[0] - 1))
    return begin, np.diff(np.append(begin, len(flat))), flat[begin]


def painted(found: Rectangles, rows: int, columns: int) -> Int64:
    """Paint rectangles; fail where two overlap."""
    page = np.full((rows, columns), -9)
    for t, b, lo, hi, value in zip(
        found.top, found.bottom, found.left, found.right, found.value, strict=True
    ):
        assert (page[t:b, lo:hi] == -9).all()
        page[t:b, lo:hi] = value
    return page


@st.composite
def pages(draw: st.DrawFn) -> tuple[Int64, Page]:
    """Tiles of each element, and the page that their tensor folds to."""
    page = fold(draw(shapes))
    count = math.prod(page.shape)
    pieces = draw(st.lists(st.tuples(st.integers(1, 9), st.integers(-1, 3)), min_size=1))
    flat = np.concatenate([np.full(n, tile) for n, tile in pieces])
    return np.resize(flat, count), page


@given(pages())
def test_every_element_lies_in_a_rectangle_of_its_tile(case: tuple[Int64, Page]) -> None:
    flat, page = case
    found = painted(rectangles(*runs(flat), page.columns), page.rows, page.columns)
    assert np.array_equal(found.ravel()[: len(flat)], flat)
    assert (found.ravel()[len(flat) :] == -9).all()


@given(pages())
def test_rectangles_are_joined_downwards_and_sorted(case: tuple[Int64, Page]) -> None:
    flat, page = case
    found = rectangles(*runs(flat), page.columns)
    sides = zip(found.top, found.bottom, found.left, found.right, found.value, strict=True)
    described = [tuple(map(int, side)) for side in sides]
    starts = {(t, lo, hi, value) for t, _, lo, hi, value in described}
    assert not any((b, lo, hi, value) in starts for _, b, lo, hi, value in described)
    assert [(t, lo) for t, _, lo, *_ in described] == sorted((t, lo) for t, _, lo, *_ in described)


def test_whole_rows_are_one_rectangle() -> None:
    found = rectangles(np.array([3]), np.array([20]), np.array([7]), columns=8)
    assert list(zip(found.top, found.bottom, found.left, found.right, strict=True)) == [
        (0, 1, 3, 8),
        (1, 2, 0, 8),
        (2, 3, 0, 7),
    ]


@given(pages(), st.integers(1, 5), st.integers(1, 5))
def test_coarse_cells_show_the_tile_of_all_their_elements(
    case: tuple[Int64, Page], down: int, across: int
) -> None:
    flat, page = case
    down, across = min(down, page.rows), min(across, page.columns)
    found = coarse(rectangles(*runs(flat), page.columns), page.rows, page.columns, (down, across))
    expected = np.full((down, across), -9)
    for element, tile in enumerate(flat.tolist()):
        r, c = divmod(element, page.columns)
        cell = r * down // page.rows, c * across // page.columns
        expected[cell] = tile if expected[cell] in (-9, tile) else MIXED
    assert np.array_equal(painted(found, down, across), expected)


@given(pages(), st.integers(1, 5), st.integers(1, 5))
def test_clipping_keeps_the_corner(case: tuple[Int64, Page], rows: int, columns: int) -> None:
    flat, page = case
    rows, columns = min(rows, page.rows), min(columns, page.columns)
    whole = rectangles(*runs(flat), page.columns)
    expected = painted(whole, page.rows, page.columns)[:rows, :columns]
    assert np.array_equal(painted(whole.clipped(rows, columns), rows, columns), expected)


@pytest.mark.parametrize(
    ("shape", "rows", "columns"),
    [
        ((), 1, 1),
        ((1,), 1, 1),
        ((32,), 1, 32),
        ((64,), 4, 16),
        ((8192,), 64, 128),
        ((64, 128), 64, 128),
        ((1000, 3), 1000, 3),
        ((2, 3, 40), 6, 40),
        ((427, 640, 4), 427, 2560),
    ],
)
def test_shapes_fold_to_readable_pages(shape: tuple[int, ...], rows: int, columns: int) -> None:
    page = fold(shape)
    assert (page.rows, page.columns) == (rows, columns)


@given(shapes)
def test_rows_are_labelled_by_the_index_they_begin_with(shape: tuple[int, ...]) -> None:
    page = fold(shape)
    for row in range(page.rows):
        if page.leading < 0:
            assert page.row_label(row) == str(row * page.columns)
            continue
        index = np.unravel_index(row * page.columns, shape)[: page.leading]
        assert page.row_label(row) == ", ".join(str(i) for i in index)


@given(shapes.filter(lambda shape: len(shape) > 1), st.data())
def test_places_are_indices_of_the_rectangle(shape: tuple[int, ...], data: st.DataObject) -> None:
    page = fold(shape)
    top = data.draw(st.integers(0, page.rows - 1))
    bottom = data.draw(st.integers(top + 1, page.rows))
    left = data.draw(st.integers(0, page.columns - 1))
    right = data.draw(st.integers(left + 1, page.columns))
    place = page.place(top, bottom, left, right)
    elements = np.arange(math.prod(shape)).reshape(shape)
    expected = elements.reshape(page.rows, page.columns)[top:bottom, left:right]
    if place.startswith("["):
        parts = [part.strip().split(":") for part in place[1:-1].split(",")]
        index = tuple(slice(*(int(end) if end else None for end in part)) for part in parts)
        assert np.array_equal(elements[index].ravel(), expected.ravel())
    else:
        assert place == f"rows {top}-{bottom - 1}, columns {left}-{right - 1}"


@given(st.integers(1, 10**6), st.integers(1, 100))
def test_ticks_have_room(extent: int, at_most: int) -> None:
    step = tick_step(extent, at_most)
    assert -(-extent // step) <= at_most
    assert step <= 2 * max(1, 2.5 * extent / at_most)
