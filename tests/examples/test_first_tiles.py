"""examples/first_tiles.py: every hand-worked number, and a wrong one that fails."""

from __future__ import annotations

from types import ModuleType

import pytest


def test_all_parts_are_as_expected(
    first_tiles: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    assert first_tiles.main([]) == 0
    printed = capsys.readouterr().out
    assert "WRONG" not in printed
    row = "[0.0, 0.0, 0.0, 0.0]"
    assert f"v3: [{row}, [0.0, 1.0, 1.5, 2.0], {row}, {row}]  as expected" in printed
    assert "v4: [10, 11, 12, 13, 14, 15, 16, 17, 18, 19]  as expected" in printed
    assert "p + q + q: [[9.0, 7.5], [6.0, 4.5]]  as expected" in printed
    assert "suffix sums: [7.0, 6.0, 4.5, 2.5]  as expected" in printed


def test_a_stream_is_copied_and_printed_twice(
    first_tiles: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    found = {title: got.tolist() for title, got, _ in first_tiles.copies()}
    assert found["v1"] == found["v2"] == [1, 1.5, 2, 2.5]
    assert found["v3"] == [[0, 0, 0, 0], [0, 1, 1.5, 2], [0, 0, 0, 0], [0, 0, 0, 0]]
    assert found["v4"] == list(range(10, 20))
    printed = [line for line in capsys.readouterr().err.splitlines() if line.startswith("v4")]
    assert printed == ["v4: [0 1 2 3 4 5 6 7 8 9]", "v4: [10 11 12 13 14 15 16 17 18 19]"]


def test_wrong_result_fails_loudly(
    first_tiles: ModuleType,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    right = first_tiles.suffix_sums()
    monkeypatch.setattr(
        first_tiles, "suffix_sums", lambda: [(t, got + 1, want) for t, got, want in right]
    )
    assert first_tiles.main([]) == 1
    assert "suffix sums: [8.0, 7.0, 5.5, 3.5]  WRONG" in capsys.readouterr().out
