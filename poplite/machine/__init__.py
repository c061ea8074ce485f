"""The modelled machine: its parts, its costs, and the sources of the numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poplite.public import loaded_on_use

if TYPE_CHECKING:
    from poplite.machine.device import Device as Device

__all__, __getattr__, __dir__ = loaded_on_use(__name__)
