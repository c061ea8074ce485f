"""What Python does for a running program: print, stop it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, TextIO

import numpy as np
import numpy.typing as npt

from poplite.compile.actions import Action, HostTensor, NoCase, Print
from poplite.errors import ApplicationRuntimeError
from poplite.quarter import QuarterMetadata, decode
from poplite.simulator.memory import Arena, Bytes
from poplite.simulator.plain import move_between
from poplite.simulator.printing import format_tensor


class Host:
    """The actions of an executable, ready to run.

    Args:
        actions: what an executable asks for.
        arena: the memory.

    Attributes:
        calls: what runs each action, by its number.
        print_stream: where prints go; None is standard error.
    """

    def __init__(self, actions: Sequence[Action], arena: Arena) -> None:
        self._arena = arena
        self.print_stream: TextIO | None = None
        self.calls = [self._bound(action) for action in actions]

    def _bound(self, action: Action) -> Callable[[], None]:
        match action:
            case Print():
                return lambda: self._print(action)
            case NoCase():
                return lambda: self._stop(action)

    def _print(self, action: Print) -> None:
        text = format_tensor(action.title, read_host(action.tensor, self._arena.bytes))
        print(text, file=self.print_stream or sys.stderr)

    def _stop(self, action: NoCase) -> None:
        value = int(read_host(action.control, self._arena.bytes).item())
        raise ApplicationRuntimeError(
            f"{action.switch}: no case for {value:,}",
            at=action.location,
            found=f"cases: {action.cases}"
            + ("; its default was said to be unreachable" if action.was_unreachable else ""),
            fix=f"switch.add({value}, program), or Switch(control, cases, default=program)",
        )


def read_host(tensor: HostTensor, memory: Bytes) -> npt.NDArray[Any]:
    """Return a copy of a tensor's values; of QUARTER as float32.

    Args:
        tensor: where its elements lie.
        memory: the bytes they lie in.
    """
    stored = np.empty(tensor.shape, tensor.element_type.dtype)
    move_between(tensor.moves, stored.reshape(-1).view(np.uint8), memory)
    if tensor.metadata is None:
        return stored
    return decode(stored, QuarterMetadata.from_byte(int(memory[tensor.metadata])))
