"""Series in files: short, and nothing else is taken for one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from poplite.arrays.series import Listed, Series, Steps, compact
from poplite.codec.archive import ArrayReader
from poplite.codec.codec import coder_of
from poplite.codec.coders import Reader, Writer
from poplite.codec.loading import Malformed

OF = Reader(ArrayReader({"uint32": np.array([4, 0, 9], np.uint32)}), (), (), ())


@pytest.mark.parametrize(
    ("series", "data"),
    [
        (Steps(-5, ((3, 1),)), [-5, 3, 1]),
        (Steps(np.int64(7), ((2, 8), (np.int64(4), 0))), [7, 2, 8, 4, 0]),  # type: ignore[arg-type]
        (Steps(1, ()), [1]),
    ],
)
def test_steps(series: Steps, data: list[int]) -> None:
    encoded = coder_of(Series).encode(series, Writer())
    assert encoded == data
    assert {type(each) for each in encoded} == {int}
    assert coder_of(Series).decode(data, OF) == series


def test_listed_numbers() -> None:
    made = coder_of(Series | None).encode(compact(np.array([14, 10, 19])), Writer())
    assert made == [10, ["uint32", 0, [3]]]
    found = coder_of(Series | None).decode(made, OF)
    assert isinstance(found, Listed)
    assert found.array().tolist() == [14, 10, 19]
    assert coder_of(Series | None).decode(None, OF) is None


@pytest.mark.parametrize(
    "data",
    [
        *([], [1, 2], [1, 2, 3, 4], [True], [1, 2.0, 3], [1 << 63], [1, "2", 3], None, 5, {}),
        *([1 << 63, ["uint32", 0, [3]]], [True, ["uint32", 0, [3]]], [1, [1]], [1, [2, 3]]),
    ],
)
def test_anything_else_is_refused(data: Any) -> None:
    with pytest.raises(Malformed):
        coder_of(Series).decode(data, OF)
