"""What tests of named axes share: interpreted vertices, and messages that name axes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from helpers.depth import interpreted_everywhere
from helpers.named_messages import fault_of, raising_frame
from poplite.errors import PopliteError


@pytest.fixture(autouse=True)
def _interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in interpreted_everywhere().items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def priced(monkeypatch: pytest.MonkeyPatch, _interpreted: None) -> None:
    """For tests of cycles and memory: engines are as users have them."""
    monkeypatch.delenv("POPLITE_ENGINE_OPTIONS", raising=False)


@pytest.fixture(autouse=True)
def _messages_name_axes(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fail where a message names no axis, or something that only we call so."""
    faults = []
    original = PopliteError.__init__

    def made(self: PopliteError, *args: Any, **parts: Any) -> None:
        original(self, *args, **parts)
        frame = raising_frame()
        fault = None if frame is None else fault_of(self, frame)
        if fault is not None:
            faults.append(f"{fault}: {self}")

    monkeypatch.setattr(PopliteError, "__init__", made)
    yield
    assert faults == []
