"""Every message that a test of named axes provokes names axes, and nothing that only we call so."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest

from helpers.named_messages import fault_of, raising_frame
from poplite.errors import PopliteError
from poplite.source import here, is_outside


@pytest.fixture(autouse=True)
def _messages_name_axes(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    faults = []
    original = PopliteError.__init__

    def made(self: PopliteError, *args: Any, **parts: Any) -> None:
        if "at" not in parts and not is_outside(sys._getframe(1)):
            parts["at"] = here(2)  # as without this function between
        original(self, *args, **parts)
        frame = raising_frame()
        fault = None if frame is None else fault_of(self, frame)
        if fault is not None:
            faults.append(f"{fault}: {self}")

    monkeypatch.setattr(PopliteError, "__init__", made)
    yield
    assert faults == []
