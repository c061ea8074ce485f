"""examples/pi.py: the sum of slices, and a wrong result that fails."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest


def test_small_run_prints_pi(pi: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert pi.main(["--tiles", "8", "--slices", "100"]) == 0
    assert "pi = 3.14159" in capsys.readouterr().out


def test_full_size_is_within_tolerance(pi: ModuleType) -> None:
    assert pi.main([]) == 0


def test_wrong_result_fails_loudly(
    pi: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(np, "pi", 3.2)
    assert pi.main(["--tiles", "2", "--slices", "50"]) == 1
    assert "WRONG: off by -5.8" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--tiles", "--slices"])
def test_counts_below_one_are_usage_errors(
    pi: ModuleType, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    with pytest.raises(SystemExit, match="2"):
        pi.main([option, "0"])
    assert f"argument {option}: invalid positive value: '0'" in capsys.readouterr().err
