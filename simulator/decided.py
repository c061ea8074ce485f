"""Runs of programs whose host has written nothing: what decides, and is not known, ends them.

    device = Decided()
    engine = Engine(graph, program, checks="fast", device=device)
    engine.run()                UninitializedReadError where 'more' decides, made from 'limit'
    device.unknown()            Unknown('more', ('limit',), 'step 3 of 7, which ... decides on')

Programs in which no data decide run as on any simulator.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from poplite.errors import UninitializedReadError
from poplite.simulator.accounts.accesses import accesses_of
from poplite.simulator.default_device import Simulator
from poplite.source import SourceLocation
from poplite.text import amount

if TYPE_CHECKING:
    from poplite.executable.executable import Executable
    from poplite.executable.layout import StoredVariable
    from poplite.simulator.device import Setup
    from poplite.simulator.engine_arguments import Source
    from poplite.simulator.simulated import Simulated

MOST_NAMED = 3
"""Most variables that a message names."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """What decides what runs, and depends on what nothing has written.

    Attributes:
        name: the variable that decides.
        sources: variables that nothing ever writes, from which it is made; nothing where it is
            itself read before anything writes it.
        where: what it decides on.
        at: the user's line that made the variable.
    """

    name: str
    sources: tuple[str, ...]
    where: str
    at: SourceLocation

    @property
    def why(self) -> str:
        """What is not known, in words."""
        if self.name in self.sources:
            return f"nothing has written '{self.name}', which decides what runs"
        if not self.sources:
            return f"'{self.name}' decides what runs, and is made from what nothing has written"
        return f"nothing has written {self._named}, on which it depends what runs"

    @property
    def _named(self) -> str:
        named = ", ".join(f"'{name}'" for name in self.sources[:MOST_NAMED])
        more = len(self.sources) - MOST_NAMED
        return f"{named} and {amount(more, 'other variable')}" if more > 0 else named

    @property
    def _lacks(self) -> str:
        if self.name in self.sources:
            return "nothing has written it"
        return f"depends on {self._named or 'elements'}, which nothing has written"

    @property
    def error(self) -> UninitializedReadError:
        """The error of a run that ends there."""
        return UninitializedReadError(
            f"'{self.name}' decides what runs next, but {self._lacks}",
            at=self.at,
            where=self.where,
            found="only the program runs here: engine.write is not called before",
            fix=f"give {self._named if self.sources else repr(self.name)} an initial_value, or run "
            "the script that writes it",
        )


class Decided(Simulator):
    """The simulator, which looks at what decides what runs.

    `past_inout` takes unwritten elements of InOut fields as written, as those of working memory
    may be.
    """

    def __init__(self, *, past_inout: bool = False) -> None:
        self._past_inout = past_inout
        self._loaded: Simulated | None = None

    def load(self, source: Source, setup: Setup) -> Simulated:
        """Make programs ready to run."""
        from poplite.simulator.simulated import Simulated
        from poplite.simulator.strict.decisions import Decisions, are_decided

        if not are_decided(source.executable):
            return super().load(source, setup)
        self._loaded = Simulated(source.executable, source.graph, setup, looking=Decisions)
        if isinstance(looks := self._loaded.strict, Decisions):
            looks.past_inout = self._past_inout
        return self._loaded

    def unknown(self) -> Unknown | None:
        """Return what the first run of the last engine found to be unknown; None where nothing."""
        from poplite.simulator.strict.decisions import Decisions

        looks = None if self._loaded is None else self._loaded.strict
        if not isinstance(looks, Decisions) or looks.undecided is None:
            return None
        variable = looks.undecided.variable
        sources = _sources(variable, looks.executable)
        return Unknown(variable.name, sources, looks.undecided.where, variable.location)


def _sources(variable: StoredVariable, executable: Executable) -> tuple[str, ...]:
    """Return the names of what a variable is made from and nothing writes, the nearest first."""
    variables = executable.layout.variables
    makers: dict[int, dict[int, None]] = defaultdict(dict)
    written = {
        number
        for number, each in enumerate(variables)
        if each.initial_value is not None or each.replica_values
    }
    for step in accesses_of(executable):
        read = [each.variable for each in step.accesses if each.read]
        for each in step.accesses:
            if each.written:
                written.add(each.variable)
                makers[each.variable] |= dict.fromkeys(read)
    pending = [variables.index(variable)]
    seen = set(pending)
    for number in pending:  # which grows
        more = [other for other in makers[number] if other not in seen]
        pending += more
        seen.update(more)
    return tuple(variables[number].name for number in pending if number not in written)
