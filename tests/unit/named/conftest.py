"""Tests of named axes are about expressions and values, whose vertices other tests compile."""

from __future__ import annotations

import pytest

from helpers.depth import interpreted_everywhere


@pytest.fixture(autouse=True)
def _interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in interpreted_everywhere().items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def priced(monkeypatch: pytest.MonkeyPatch, _interpreted: None) -> None:
    """For tests of cycles and memory: engines are as users have them."""
    monkeypatch.delenv("POPLITE_ENGINE_OPTIONS", raising=False)
