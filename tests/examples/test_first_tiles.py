"""examples/first_tiles.py: what it prints, and a wrong vertex that fails."""

from __future__ import annotations

from types import ModuleType

import pytest


def test_all_parts_are_as_expected(
    first_tiles: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    first_tiles.main()
    printed = capsys.readouterr()
    assert "[0.  1.  1.5 2. ]" in printed.out
    assert "p + q.T =\n[[5.  3.5]\n [5.  3.5]]" in printed.out
    assert "suffix sums of p = [7.  6.  4.5 2.5]" in printed.out
    lines = printed.err.splitlines()
    assert [line for line in lines if not line.startswith("poplite: compiling")] == [
        "n: [0 1 2 3 4 5 6 7 8 9]",
        f"n: {[*range(10, 20)]}".replace(",", ""),
    ]


def test_wrong_result_fails_loudly(
    first_tiles: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, program, turned, sums = first_tiles.build()
    monkeypatch.setattr(first_tiles, "build", lambda: (graph, program, turned, turned.flatten()))
    with pytest.raises(AssertionError, match="not equal"):
        first_tiles.main()
    assert sums.shape == (4,)
