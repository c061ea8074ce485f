"""One axis: identity, lengths that come later, parts, other lengths, flattened axes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import poplite.named as ng
from poplite.errors import AxisError, AxisLengthError, UnsetLengthError


def test_an_axis_is_its_root_not_its_name_or_length() -> None:
    """Seed 002: "The op-graph uses the identity of Axis objects to pair and specify dimensions"."""
    H, other = ng.make_axis(3, "H"), ng.make_axis(3, "H")
    assert H == H.resized(7) == H.slice(slice(1, 2))
    assert len({H, H.resized(7), H.slice(slice(2)), other}) == 2
    assert other != H
    assert H.fresh() != H
    assert H != "H"


def test_the_hash_stays_when_the_length_comes() -> None:
    """Defect 5: it was made of the name and the length."""
    H = ng.make_axis(name="H")
    known = {H: 1}
    H.length = 5
    assert known[H] == 1


def test_axes_without_names_never_clash() -> None:
    one, other = ng.make_axis(3), ng.make_axis(3)
    assert one.name != other.name
    assert len(ng.make_axes([one, other, one.fresh(), other.fresh()])) == 4


def test_lengths_may_come_later_and_parts_follow() -> None:
    """Seed 002: "We can also delay the specification of the axis length"."""
    H = ng.make_axis(name="H")
    part, twin, again = H.slice(slice(1, None, 2)), H.fresh("G"), H.slice(slice(-2, None))
    assert (H.length, part.length, twin.length, repr(H)) == (None, None, None, "H:?")
    H.length = 6
    assert (H.length, part.length, twin.length, again.length) == (6, 3, 6, 2)
    H.length = 3
    assert (part.length, part.slice(slice(None, None, -1)).length) == (1, 1)
    assert repr(part) == "H[1::2]:1"


@pytest.mark.parametrize("part", [slice(9, 12), slice(3, 1), slice(0, 0)])
def test_parts_have_pythons_length(part: slice) -> None:
    assert ng.make_axis(4).slice(part).length == len(range(4)[part]) == 0


@pytest.mark.parametrize("length", [-1, 2.5, "3", True, [3]])
def test_lengths_are_whole_numbers(length: Any) -> None:
    with pytest.raises(AxisLengthError, match="axis 'H': a length of ") as caught:
        ng.make_axis(length, "H")
    assert caught.value.fix == "a whole number from 0"
    with pytest.raises(AxisLengthError):
        ng.make_axis(3).length = length
    with pytest.raises(AxisLengthError):
        ng.make_axis(3).resized(length)
    with pytest.raises(AxisLengthError):
        ng.make_axis(3).length = None  # type: ignore[assignment]


def test_the_length_of_a_part_is_not_set() -> None:
    H = ng.make_axis(5, "H")
    with pytest.raises(AxisLengthError, match=re.escape("length of 'H[1:3]' follows that of 'H'")):
        H.slice(slice(1, 3)).length = 4
    with pytest.raises(AxisLengthError, match="length of 'G' follows that of 'H'"):
        H.fresh("G").length = 4


def test_a_length_that_is_stored_stays() -> None:
    H = ng.make_axis(5, "H")
    H.slice(slice(1, 3)).keep_length("'x' (H:5)")
    H.length = 5
    with pytest.raises(AxisLengthError) as caught:
        H.length = 6
    assert caught.value.what == (
        "axis 'H' has length 5, and 'x' (H:5) relies on it; it cannot become 6"
    )
    assert __file__ in caught.value.found or "test_axis.py" in caught.value.found
    assert caught.value.fix == "H.resized(6), or another axis"


def test_an_unknown_length_names_the_axis_and_who_needs_it() -> None:
    H = ng.make_axis(name="H")
    with pytest.raises(UnsetLengthError, match="storing 'x': the length of axis 'H' has not") as e:
        H.slice(slice(2)).known_length("storing 'x'")
    assert e.value.fix == "H.length = 16"
    H.length = 1
    assert H.slice(slice(2)).known_length("storing 'x'") == 1


def test_an_axis_is_true_and_no_sequence() -> None:
    """Defect 7: an axis of length 0 was false, one without a length raised."""
    H = ng.make_axis(0, "H")
    assert H
    uses: list[Callable[[Any], object]] = [len, list, lambda axis: axis[0]]
    for use in uses:
        with pytest.raises(AxisError, match="'H': "):
            use(H)


@pytest.mark.parametrize("part", [3, "ab", slice(0.5, 1), slice(0, 3, 0)])
def test_parts_are_slices_of_whole_numbers(part: Any) -> None:
    with pytest.raises(AxisError, match="axis 'H'"):
        ng.make_axis(3, "H").slice(part)


def test_names_are_texts() -> None:
    with pytest.raises(AxisError, match="an axis is named 3") as caught:
        ng.make_axis(3, 3)  # type: ignore[arg-type]
    assert caught.value.fix.startswith('make_axis(3, "H")')


def test_flattened_axes_are_their_parts_in_order() -> None:
    """Defect 6: only as many parts as the shorter one has were compared."""
    H, W, N = (ng.make_axis(length, name) for length, name in ((3, "H"), (4, "W"), (8, "N")))
    one = ng.FlattenedAxis(H + W)
    assert one == ng.FlattenedAxis(H + W.resized(9))
    assert one != ng.FlattenedAxis(W + H)
    assert one != ng.FlattenedAxis(H + W + N)
    assert ng.FlattenedAxis(ng.make_axes(H)) != ng.FlattenedAxis(ng.make_axes())
    assert (one.length, ng.FlattenedAxis(ng.make_axes()).length) == (12, 1)
    assert repr(ng.make_axes([[H, W], N])) == "((H,W):12, N:8)"
    assert ng.make_axes([[H, W], N]).full_lengths == ((3, 4), 8)
    with pytest.raises(AxisLengthError, match="is that of its parts"):
        one.length = 5


def test_a_flattened_length_follows_its_parts() -> None:
    H, W = ng.make_axis(name="H"), ng.make_axis(4, "W")
    one = (H + W).flatten()
    assert repr(one) == "(H,W):?"
    H.length = 2
    assert one.length == 8
    one.keep_length("'x'")
    with pytest.raises(AxisLengthError):
        W.length = 5


def test_flatten_returns_a_single_axis_unless_forced() -> None:
    H = ng.make_axis(3, "H")
    assert ng.make_axes(H).flatten() is H
    assert isinstance(ng.make_axes(H).flatten(force=True), ng.FlattenedAxis)
    assert ng.make_axes().flatten().length == 1
