"""The commands `poplite` and `poplite-viz`."""

if __name__ == "tools":  # imported from a checkout, this would be a second copy of its classes
    raise ImportError("tools is a part of poplite: import poplite.tools")

from typing import TYPE_CHECKING

from poplite.public import loaded_on_use

if TYPE_CHECKING:
    from poplite.tools import command as command, viz as viz

__all__, __getattr__, __dir__ = loaded_on_use(__name__)
