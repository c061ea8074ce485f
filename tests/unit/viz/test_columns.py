"""Columns of text that hold whatever names are made of."""

from __future__ import annotations

import pytest

from poplite.viz.draw.columns import cells, cut, filled, quoted, wrapped


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        ("abc", 3),
        ("広い", 4),
        ("😀", 2),
        ("e\u0301", 1),
        ("\u200e", 0),
        ("\uff41\uff42", 4),
    ],
)
def test_cells(text: str, expected: int) -> None:
    assert cells(text) == expected


@pytest.mark.parametrize("text", ["model/block4/weights", "広い名前の変数" * 3, "a広" * 9, "short"])
@pytest.mark.parametrize("room", range(3, 24))
def test_a_cut_text_fits_and_keeps_both_ends(text: str, room: int) -> None:
    short = cut(text, room)
    assert cells(short) <= room
    if cells(text) <= room:
        assert short == text
    else:
        head, _, tail = short.partition("...")
        assert text.startswith(head)
        assert text.endswith(tail)
        assert cells(short) >= room - 2  # a wide letter may not fit the last cell of either end


def test_names_share_the_room_there_is() -> None:
    long = "x" * 50
    assert filled("Copy {} -> {}", ("a", "b"), 80) == "Copy 'a' -> 'b'"
    assert cells(filled("Copy {} -> {}", (long, "b"), 40)) == 40
    assert cells(filled("Copy {} -> {}", (long, long), 40)) in (39, 40)
    assert filled("Copy {} -> {}", (long, "b"), 5) == "Copy 'xxx...xx' -> 'b'"


def test_a_mark_closes_names_from_right_to_left() -> None:
    assert quoted("שלום", 20) == "'שלום\u200e'"
    assert quoted("abc", 20) == "'abc'"


def test_lines_break_between_words() -> None:
    assert wrapped("", 10) == [""]
    assert wrapped("one two three", 7) == ["one two", "three"]
    assert wrapped("広い 広い 広い", 9) == ["広い 広い", "広い"]
    assert wrapped("a " + "x" * 20, 10) == ["a", "xxxx...xxx"]
