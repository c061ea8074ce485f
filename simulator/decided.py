"""Runs of programs whose host has written nothing: what decides, and is not known, ends them.

    device = Decided()
    engine = Engine(graph, program, checks="fast", device=device)
    engine.run()                UninitializedReadError where 'more' decides, made from 'limit'
    device.unknown()            Unknown('more', ('limit',), 'what runs', 'step 3 of 7, ...')

Programs in which no data decide, nor in their vertices, run as on any simulator.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from poplite.errors import UninitializedReadError
from poplite.executable.actions import ArenaBlock, RowTransfer, Undefine
from poplite.executable.step import ComputeStep
from poplite.simulator.accounts.accesses import Stretches, accesses_of, bytes_of_fields, moved
from poplite.simulator.engine import Simulator
from poplite.simulator.run.touched import ranges
from poplite.simulator.strict.checks import StrictChecks
from poplite.simulator.strict.decisions import Decisions, Undecided, are_decided
from poplite.simulator.strict.host import look_at_action
from poplite.simulator.strict.shadow import Shadow
from poplite.source import SourceLocation
from poplite.text import amount

if TYPE_CHECKING:
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
        sources: variables that are read before anything writes them, from which it is made.
        what: what it decides: "what runs", or "how long 'Sum' takes".
        where: the step that it decides on.
        at: the user's line that made the variable.
        are_variables: whether all sources are variables; others are remote buffers.
    """

    name: str
    sources: tuple[str, ...]
    what: str
    where: str
    at: SourceLocation
    are_variables: bool = True

    @property
    def why(self) -> str:
        """What is not known, in words."""
        if self.name in self.sources:
            return f"nothing has written '{self.name}', which decides {self.what}"
        return f"nothing has written {self._named}, on which it depends {self.what}"

    @property
    def _named(self) -> str:
        named = ", ".join(f"'{name}'" for name in self.sources[:MOST_NAMED])
        more = len(self.sources) - MOST_NAMED
        return f"{named} and {amount(more, 'other variable')}" if more > 0 else named

    @property
    def _lacks(self) -> str:
        if self.name in self.sources:
            return "nothing has written it"
        return f"depends on {self._named}, which nothing has written"

    @property
    def error(self) -> UninitializedReadError:
        """The error of a run that ends there."""
        return UninitializedReadError(
            f"'{self.name}' decides {self.what}, but {self._lacks}",
            at=self.at,
            where=self.where,
            found="only the program runs here: engine.write is not called before",
            fix=f"give {self._named} an initial_value, or run the script that writes it"
            if self.are_variables
            else f"run the script that writes {self._named}",
        )


class Decided(Simulator):
    """The simulator, which looks at what decides what runs.

    `past_inout` takes unwritten elements of InOut fields as written, as those of working memory
    may be.  What streams and host functions give counts as written `by_host`, or as nothing.  With
    `ends_loops` each Loop ends when its rounds change no more what is written; executables with
    strict checks have these, and their Loops end as well.
    """

    def __init__(
        self, *, past_inout: bool = False, by_host: bool = True, ends_loops: bool = False
    ) -> None:
        self._past_inout, self._by_host, self._ends_loops = past_inout, by_host, ends_loops
        self._loaded: Simulated | None = None

    def load(self, source: Source, setup: Setup) -> Simulated:
        """Make programs ready to run."""
        from poplite.simulator.simulated import Simulated

        executable = source.executable
        is_strict = executable.checks == "strict"
        if not is_strict and not are_decided(executable):
            return super().load(source, setup)
        looking = partial(StrictChecks if is_strict else Decisions, ends_loops=self._ends_loops)
        self._loaded = Simulated(executable, source.graph, setup, looking=looking)
        if isinstance(looks := self._loaded.strict, Decisions):
            looks.past_inout, looks.by_host = self._past_inout, self._by_host
            if not self._by_host:
                for part in looks.shadow.parts:
                    part[looks.shadow.layout.blocks] = 0
        return self._loaded

    def unknown(self) -> Unknown | None:
        """Return what the first run of the last engine found to be unknown; None where nothing."""
        looks = None if self._loaded is None else self._loaded.strict
        if not isinstance(looks, Decisions) or looks.undecided is None:
            return None
        found = looks.undecided
        variables, buffers = _sources(found, looks)
        return Unknown(
            found.variable.name,
            variables + buffers,
            found.what,
            found.where,
            found.variable.location,
            are_variables=not buffers,
        )


def _sources(undecided: Undecided, looks: Decisions) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of what an element is made from and nothing had written, nearest first.

    The first are those of variables, the others those of remote buffers.
    """
    variables = looks.executable.layout.variables
    makers: dict[int, dict[int, None]] = defaultdict(dict)
    for step in accesses_of(looks.executable):
        read = [each.variable for each in step.accesses if each.read]
        for each in step.accesses:
            if each.written:
                makers[each.variable] |= dict.fromkeys(read)
    unwritten, buffers_of = _read_unwritten(undecided, looks)
    pending = [variables.index(undecided.variable)]
    seen = set(pending)
    for number in pending:  # which grows
        more = [other for other in makers[number] if other not in seen]
        pending += more
        seen.update(more)
    names = tuple(variables[number].name for number in pending if number in unwritten)
    buffers = tuple(dict.fromkeys(name for n in pending for name in buffers_of[n]))
    if not names and not buffers:  # vertices left Outputs unwritten, here or on the way
        lacking = _lacking(pending, looks)
        first = [n for n in pending if n in lacking and not (makers[n].keys() - {n}) & lacking]
        names = tuple(variables[number].name for number in first)
        names = names or (undecided.variable.name,)
    return names, buffers


def _lacking(numbers: Iterable[int], looks: Decisions) -> set[int]:
    """Return which of some variables had unwritten elements when all ended."""
    layout, parts, found = looks.executable.layout, looks.shadow.parts, set()
    for number in numbers:
        variable = layout.variables[number]
        begin = layout.byte_position(variable.base)
        if not all(part[begin : begin + variable.size_bytes].all() for part in parts):
            found.add(number)
    return found


def _read_unwritten(
    undecided: Undecided, looks: Decisions
) -> tuple[set[int], dict[int, dict[str, None]]]:
    """Return the numbers of variables of which a step read elements that nothing had written.

    Returned is as well which remote buffers had unwritten rows that were copied to a variable.
    What ran is gone through once more: what a step writes counts as written here, whatever it is
    made from.
    """
    executable, layout = looks.executable, looks.executable.layout
    shadow = Shadow(layout)
    found: set[int] = set()
    rows: dict[int, str] = {}  # remote buffers by the bytes of their blocks that are unwritten
    buffers_of: dict[int, dict[str, None]] = defaultdict(dict)

    def read(some: Stretches) -> None:
        places = ranges(some.begin, some.size)
        for part in shadow.parts:
            found.update(layout.owners(places[part[places] == 0]).tolist())

    def write(some: Stretches) -> None:
        places = ranges(some.begin, some.size)
        for part in shadow.parts:
            part[places] = 1

    for kind, number in looks.ran:
        if kind == "scalar":
            shadow.write_scalar(number)
        elif kind == "action":
            action = executable.actions[number]
            if isinstance(action, Undefine):
                shadow.undefining(action.tensor)()
            elif isinstance(action, RowTransfer) and action.to_device:
                rows |= dict.fromkeys(_unwritten(action.block, looks), action.buffer.handle)
            else:
                look_at_action(shadow, action)
        elif isinstance(step := executable.steps[number], ComputeStep):
            fields = list(bytes_of_fields(step, layout))
            for field in fields:
                read(field.read)
            for field in fields:
                write(field.written)
        else:
            written, copied = moved(step.moves)
            read(copied)
            write(written)
            if rows:
                owners = set(layout.owners(written.begin).tolist())
                for at in ranges(copied.begin, copied.size).tolist():
                    if at in rows:
                        for owner in owners:
                            buffers_of[owner][rows[at]] = None
    read(Stretches(np.array([undecided.position]), np.array([1])))
    return found, buffers_of


def _unwritten(block: ArenaBlock, looks: Decisions) -> list[int]:
    """Return the bytes of a block that are unwritten in a replica, when all ended."""
    size = block.num_elements * block.element_type.size_bytes
    parts = [part[block.at : block.at + size] for part in looks.shadow.parts]
    lacking = np.any([part == 0 for part in parts], axis=0)
    return [block.at + n for n in np.flatnonzero(lacking).tolist()]
