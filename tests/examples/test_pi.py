"""examples/pi.py: the sum of slices, and a wrong result that fails."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest


def test_small_run_prints_pi(pi: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    pi.main(8, 100)
    assert "pi = 3.14159" in capsys.readouterr().out


def test_full_size_is_within_tolerance(pi: ModuleType) -> None:
    pi.main()


def test_wrong_result_fails_loudly(pi: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(np, "pi", 3.2)
    with pytest.raises(AssertionError, match=r"3\.2"):
        pi.main(2, 50)
