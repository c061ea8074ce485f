"""Numbers of tiles in files: many at a time are written and read as each alone is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from helpers.depth import examples
from poplite.arrays.series import Listed, Rising, Runs, Series, Steps, compact, constant
from poplite.codec.archive import ArrayReader
from poplite.codec.codec import ItemsCoder, Json, Reader, Writer, decoded
from poplite.codec.file_formats import Malformed
from poplite.report import json_form
from poplite.report.json_form import (
    FARTHEST,
    FEW,
    MOST,
    MOST_FAR,
    PerTileCoder,
    read_tile_sets,
    written_tile_sets,
)
from poplite.report.per_tile import PerTile

OF_TILES = PerTileCoder(range(MOST), of_tiles=True)
OF_PIECES = PerTileCoder(range(-1, MOST))

numbers = st.one_of(
    st.integers(0, 3), st.integers(0, 300), st.integers(0, 1 << 17), st.integers(0, 1 << 40)
)


@st.composite
def tile_sets(draw: st.DrawFn) -> Any:
    """Some tiles in one of their forms."""
    apart = draw(st.lists(st.sampled_from([1, 1, 1, 2, 700, 1 << 20]), min_size=1, max_size=60))
    first = draw(st.integers(0, 300))
    tiles = first + np.cumsum([0, *apart])
    ends = np.flatnonzero(np.diff(tiles) != 1)
    runs = Runs(tiles[np.append(0, ends + 1)], tiles[np.append(ends, len(apart))] + 1)
    distances = np.diff(tiles, prepend=0)
    forms = [compact(tiles), Listed(0, tiles), runs, Rising(distances)]
    if first == 0:
        forms.append(Steps(0, ((len(tiles), draw(st.integers(1, 9))),)))
    return draw(st.sampled_from(forms))


@st.composite
def spreads(draw: st.DrawFn, least: int) -> PerTile:
    """Numbers of some tiles, at least `least`, in any of their forms."""
    tiles = draw(tile_sets())
    size = int(tiles.array()[-1]) + draw(st.integers(1, 9))
    if draw(st.booleans()):
        return PerTile(size, tiles, constant(draw(numbers), tiles.count))
    values = draw(st.lists(numbers, min_size=tiles.count, max_size=tiles.count))
    array = np.array(values, np.int64) + least
    forms: list[Series] = [compact(array), Listed(0, array)]
    if array.max() < 256 and least == 0:
        forms.append(Listed(0, array.astype(np.uint8)))
    return PerTile(size, tiles, draw(st.sampled_from(forms)))


def written(some: Sequence[PerTile | None], to: Writer, by: PerTileCoder) -> tuple[Json, Json]:
    """The JSON of numbers of tiles, and of the sets of tiles."""
    data = by.encode_all(some, to)
    return data, written_tile_sets(to)


def reader(to: Writer, sets: Json) -> Reader:
    """A reader of what a writer wrote, with these sets of tiles."""
    flat = {name: np.frombuffer(b"".join(parts), name) for name, parts in to.arrays.parts().items()}
    of = Reader(ArrayReader(flat), (), (), ())
    of.looks = 1 << 30
    read_tile_sets(json.loads(json.dumps(sets)), of)
    return of


@examples(200, quick=20)
@given(st.lists(spreads(-1), max_size=8), st.sampled_from([1, 100, 1 << 18]))
def test_all_are_read_as_they_were(some: list[PerTile], at_once: int) -> None:
    to = Writer()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_form, "AT_ONCE", at_once)
        data, sets = json.loads(json.dumps(written(some, to, OF_PIECES)))
        found = OF_PIECES.decode_all(data, reader(to, sets))
    assert found == some
    assert [each.num_tiles for each in found] == [each.num_tiles for each in some]
    again = Writer()
    made = json.loads(json.dumps(written(found, again, OF_PIECES)))
    assert made == [data, sets]  # whatever form they had
    assert again.arrays.parts() == to.arrays.parts()


@examples(100, quick=10)
@given(st.lists(spreads(0), min_size=1, max_size=8))
def test_many_are_written_as_each_alone(some: list[PerTile]) -> None:
    together = Writer()
    data, sets = json.loads(json.dumps(written(some, together, OF_PIECES)))
    read = []
    for one in some:
        alone = Writer()
        [each], own = json.loads(json.dumps(written([one], alone, OF_PIECES)))
        read.append(OF_PIECES.decode(each, reader(alone, own)))
    assert read == OF_PIECES.decode_all(data, reader(together, sets))


def test_nothing_and_none_are_zero_on_every_tile() -> None:
    data, sets = written([None, PerTile.nothing(9)], Writer(), OF_TILES)
    assert (data, sets) == ([{"tiles": [], "values": 0}] * 2, [])
    of = reader(Writer(), sets)
    of.lent["target"] = SimpleNamespace(tiles=9)
    assert OF_TILES.decode_all(data, of) == [PerTile.nothing(9)] * 2


def test_few_ranges_are_plain_to_read_and_many_are_in_the_arrays() -> None:
    few = PerTile(99, compact(np.array([0, 3])), constant(7, 2))
    many = PerTile(99, Listed(0, np.append(5, 9 + 2 * np.arange(FEW))), constant(7, FEW + 1))
    some = PerTile(99, compact(np.array([0, 3, 5, 7, 9])), constant(7, 5))
    data, sets = json.loads(json.dumps(written([few, many, some, few, many], Writer(), OF_PIECES)))
    assert data == [
        {"of": 99, "tiles": [[0, 0], [3, 3]], "values": 7},
        {"of": 99, "tiles": 0, "values": 7},
        {"of": 99, "tiles": 1, "values": 7},
        {"of": 99, "tiles": [[0, 0], [3, 3]], "values": 7},
        {"of": 99, "tiles": 0, "values": 7},
    ]
    assert sets == [["uint8", 0, [FEW + 1]], [[each, each] for each in (0, 3, 5, 7, 9)]]


def refused(tiles: Json, values: Json = 1, **flat: Any) -> str:
    """Return why numbers of 99 tiles are refused, the second of three."""
    good = {"of": 99, "tiles": [[0, 3]], "values": 5}
    of = Reader(ArrayReader(flat), (), (), ())
    of.looks = 1 << 30
    with pytest.raises(Malformed) as caught:
        OF_PIECES.decode_all([good, {"of": 99, "tiles": tiles, "values": values}, good], of)
    return str(caught.value)


@pytest.mark.parametrize(
    ("tiles", "values", "told"),
    [
        ([[3, 2]], 1, "ranges of tiles must ascend; found 3 to 2"),
        ([[0, 2], [2, 3]], 1, "ranges of tiles must ascend; found 2 to 3"),
        ([[-1, 2]], 1, "ranges of tiles must ascend; found -1 to 2"),
        ([[0, 99]], 1, "tile numbers must be less than 99; found 99"),
        ([[0, 1, 2]], 1, "is not a valid range of tiles"),
        ([[0, True]], 1, "is not a valid range of tiles"),
        ([[0, 1 << 63]], 1, "numbers must be less than 99; found 9,223,372,036,854,775,808"),
        (3, 1, "3 is not a valid list"),
        (True, 1, "True is not a valid list"),
        (-1, 1, "-1 is not a valid list"),
        ([[0, 1]], [1], "2 numbers are needed; found 1: [1]"),
        ([[0, 1]], [1, True], "is not a list of whole numbers"),
        ([[0, 1]], [1, 1 << 63], "is not a list of whole numbers"),
        ([[0, 1]], [1, -2], "has numbers below -1"),
        ([[0, 1]], -2, "has numbers below -1"),
        ([[0, 1]], True, "True is not a number or a list of numbers"),
        ([[0, 1]], ["int64", 1, [2]], "has numbers below -1"),
        ([[0, 2]], ["int64", 1, [2]], "3 numbers are needed; found 2: ['int64', 1, [2]]"),
        (["uint8", 0, [4]], 1, "tiles must ascend; found the distances "),
        (["uint8", 0, [0]], 1, "is not in the file"),
        (["uint8", 1, [4]], 1, "is not in the file"),
        (["uint8", -1, [2]], 1, "is not in the file"),
        (["uint8", 2, [2]], 1, "tile numbers must be less than 99; found 200"),
        (["int64", 0, [2]], 1, "distances between tiles may be stored as int64, none"),
        (["int64", 1, [2]], 1, "tiles must ascend; found the distances "),
        (["float32", 0, [2]], 1, "is not in the file"),
        (["uint8", 0, [2], [3]], 1, "is not a valid reference to numbers of the tables"),
        (["uint8", 0, 2], 1, "is not in the file|is not a valid reference"),
        (["uint8"], 1, "is not a valid reference to numbers of the tables"),
    ],
)
def test_wrong_numbers_are_refused(tiles: Json, values: Json, told: str) -> None:
    found = refused(
        tiles,
        values,
        uint8=np.array([5, 0, 100, 100], np.uint8),
        int64=np.array([FARTHEST + 1, -7, 3]),
        float32=np.array([1, 2, 3], np.float32),
    )
    assert any(each in found for each in told.split("|"))


def test_sums_of_many_large_distances_do_not_wrap() -> None:
    found = refused(["int64", 0, [MOST_FAR + 1]], int64=np.full(MOST_FAR + 1, FARTHEST))
    assert found == (
        f"at most {MOST_FAR:,} distances between tiles may be stored as int64, none of them above "
        f"{FARTHEST:,}"
    )
    assert "less than 99" in refused(["int64", 0, [MOST_FAR]], int64=np.full(MOST_FAR, FARTHEST))


def test_equal_numbers_on_one_range_are_read_once() -> None:
    def of(tiles: Json, values: Json, size: Json = 9) -> Json:
        return {"of": size, "tiles": tiles, "values": values}

    data = [of([[0, 1]], 5), of([[0, 1]], 5), of([[0, 2]], 5), of([[0, 1]], 5, 8), of([[0, 1]], 6)]
    reader = Reader(ArrayReader({}), (), (), ())
    one, same, *others = OF_PIECES.decode_all(data, reader)
    assert one is same
    assert [each is one for each in others] == [False] * 3
    assert [(len(each), list(each[:3])) for each in (one, *others)] == [
        (9, [5, 5, 0]),
        (9, [5, 5, 5]),
        (8, [5, 5, 0]),
        (9, [6, 6, 0]),
    ]
    # What is equal in Python, but wrong, is not hidden by what is right.
    for wrong in (of([[0, True]], 5), of([[0, 1]], 5.0), of([[0, 1]], 5, 9.0)):
        with pytest.raises(Malformed):
            OF_PIECES.decode_all([data[0], wrong], reader)


def test_the_message_says_where() -> None:
    data = [{"of": 9, "tiles": [[0, 8]], "values": 1}, {"of": 9, "tiles": [[0, 9]], "values": 1}]
    of = Reader(ArrayReader({}), (), (), ())
    with pytest.raises(Malformed, match=r"^\[1\]: tile numbers must be less than 9; found 9$"):
        decoded(ItemsCoder(tuple, OF_PIECES), data, of)
    assert not of.one_by_one
