"""The simulator: an arena of memory, compiled drivers, and the engine that runs them."""

if __name__ == "simulator":  # imported from a checkout, this would be a second copy of its classes
    raise ImportError("simulator is a part of poplite: import poplite.simulator")

from typing import TYPE_CHECKING

from poplite.public import loaded_on_use

if TYPE_CHECKING:
    from poplite.simulator.pricing.class_slots import slots_of as slots_of

__all__, __getattr__, __dir__ = loaded_on_use(__name__)
