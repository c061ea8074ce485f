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
    assert "p + q + q: [[9.0, 7.5], [6.0, 4.5]]  as expected" in printed
    assert "suffix sums: [7.0, 6.0, 4.5, 2.5]  as expected" in printed


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
