"""The simulator as a device: what engines run on by default."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from poplite.compile.options import EngineOptions
    from poplite.simulator.device import Setup
    from poplite.simulator.engine_arguments import Source
    from poplite.simulator.simulated import Simulated


class Simulator:
    """The device that engines run on by default."""

    def options(self, asked: EngineOptions) -> EngineOptions:
        """Return the options as they are: the simulator has all of them."""
        return asked

    def load(self, source: Source, setup: Setup) -> Simulated:
        """Make programs ready to run."""
        from poplite.simulator.simulated import Simulated  # `import poplite` takes less without it

        return Simulated(source.executable, source.graph, setup)

    def __repr__(self) -> str:
        return "the simulator"
