"""What an engine asks of a device: the seam behind which the simulator and other machines stand.

    device.options(asked)         which options it takes, and its own defaults
    device.load(source, setup)    programs of an executable, ready to run there: `LoadedPrograms`

`Engine` is the face of one `LoadedPrograms`, and knows nothing else of a device. The simulator is
one (`poplite.simulator.engine`), real IPUs are another (`poplite.ipu.device`). A device
that spreads a program over processes makes of the executable that of its own rank, and has a
`Simulated` run it: that takes an executable and needs no graph.

What the host connects is the same everywhere: `HostLinks` fills and takes blocks of bytes, wherever
a device says that these lie.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

from poplite.frozen import frozen

if TYPE_CHECKING:
    from poplite.compile.options import EngineOptions, Interpret
    from poplite.report.report import Report
    from poplite.report.trace import Trace
    from poplite.simulator.engine_arguments import Source
    from poplite.simulator.host.handles import HostLinks
    from poplite.simulator.progress import Progress
    from poplite.simulator.run.arena import Arena


@frozen(eq=False)
class Setup:
    """How programs are to run, beside what was compiled.

    Attributes:
        options: all that was asked for.
        seed: of stochastic rounding.
        interpret: whether vertices run as plain Python, or which of them.
        progress: where to say what is being done.
    """

    options: EngineOptions
    seed: int
    interpret: Interpret
    progress: Progress


class LoadedPrograms(Protocol):
    """Programs on a device; the methods are those of `Engine` with the same names."""

    @property
    def links(self) -> HostLinks:
        """The streams, remote buffers and host functions."""

    @property
    def form(self) -> str:
        """How vertices run, for the text of an engine."""

    def run(self, program: object, *, progress: bool = False) -> None:
        """Run a program, by name or position."""

    def stop(self) -> None:
        """End the run that is in progress, if there is one."""

    def load(self) -> None:
        """Restore memory and streams to their state in the beginning."""

    def check_idle(self, call: str) -> None:
        """Refuse the user's `call` while a program runs."""

    def write(self, tensor: object, array: object, replica: int | None) -> None:
        """Write host values to a tensor, a handle or a variable by name."""

    def read(self, tensor: object, replica: int | None, root: int | None) -> Any:
        """Return a copy of the values of a tensor, a handle or a variable by name.

        On several ranks all return it, or that of number `root`, and the others None.
        """

    def continue_from(self, other: LoadedPrograms) -> None:
        """Take over what memory and remote buffers of the same graph hold."""

    def memory(self, call: str) -> Arena:
        """Return what all variables hold now, for the user's `call`."""

    def save_state(self, path: object) -> None:
        """Write all that the programs hold to a file."""

    def load_state(self, path: object) -> None:
        """Go on with what a file holds."""

    def handed_over(self) -> AbstractContextManager[None]:
        """Make the machine free for programs that go on with this memory, unless they fail."""

    def report(self, options: tuple[tuple[str, str], ...]) -> Report:
        """Return what was compiled and what ran; `options` are those to name in it."""

    def tracing(self, limit: int) -> AbstractContextManager[Trace]:
        """Record the steps that run in a `with` statement."""


@frozen(eq=False)
class InPlaceOf:
    """A device on which programs take the place of others, where there may be no second one."""

    device: ExecutableDevice
    before: LoadedPrograms

    def options(self, asked: EngineOptions) -> EngineOptions:
        """Return the options of an engine on this device."""
        return self.device.options(asked)

    def load(self, source: Source, setup: Setup) -> LoadedPrograms:
        """Make programs ready to run, in place of those before."""
        with self.before.handed_over():
            return self.device.load(source, setup)


class ExecutableDevice(Protocol):
    """A machine that runs executables."""

    def options(self, asked: EngineOptions) -> EngineOptions:
        """Return the options of an engine on this device, or refuse those that it cannot have."""

    def load(self, source: Source, setup: Setup) -> LoadedPrograms:
        """Make programs ready to run."""
