"""Run programs without data from the host, up to a decision that depends on unknown data.

    device = Decided()
    engine = Engine(graph, program, checks="fast", device=device)
    engine.run()                UninitializedReadError at a decision based on 'more', which is
                                computed from 'limit'
    device.unknown()            Unknown('more', ('limit',), 'what runs', 'step 3 of 7, ...')

Programs whose control flow does not depend on data, not even in vertices, run as on any simulator.

    limit                   unwritten
    more = rest > limit     its vertex reads 'limit', so 'more' is unknown as well
    RepeatWhileTrue(more)   undecided
    for i in range(limit)   undecided, in a vertex whose cycles are counted

Strict checks reject a result that depends on unwritten elements. Here, vertices may read them, and
run once: all elements that a vertex writes count as unwritten if it reads an unwritten element.
So a program may run with arbitrary memory, as long as control flow, in the program or in a vertex,
does not depend on an unwritten element.

A step that changes no fact about memory is not checked again until another step does.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from poplite.errors import UninitializedReadError
from poplite.executable import encoding as op
from poplite.executable.encoding import Code
from poplite.executable.executable import Executable
from poplite.executable.parts import (
    ArenaBlock,
    ComputeStep,
    CopyStep,
    HostFunctionCall,
    RowTransfer,
    StoredVariable,
    Transfer,
    Undefine,
)
from poplite.frozen import frozen
from poplite.jit.kernels_written import GAINED, INCOMPLETE, LOSSY
from poplite.simulator.engine import Simulated, Simulator
from poplite.simulator.reporting import Stretches, accesses_of, bytes_of_fields, moved
from poplite.simulator.run.slot_counts import counting_candidates, deciding_fields
from poplite.simulator.run.touched import FieldElements, gathered_from, ranges, touched
from poplite.simulator.strict.checks import DECIDING, MOST_KEPT, MOST_LOOKS, StrictChecks
from poplite.simulator.strict.error_texts import ProgramRow
from poplite.simulator.strict.looks import LaunchOf
from poplite.simulator.strict.replay import Runner
from poplite.simulator.strict.shadow import (
    Mask,
    Shadow,
    are_written,
    look_at_action,
    shadow_of_written,
)
from poplite.source import SourceLocation
from poplite.text import amount
from poplite.vertex.compute.meaning import meaning_of
from poplite.vertex.vertex import Vertex

if TYPE_CHECKING:
    from poplite.simulator.engine_arguments import Setup, Source


MOST_NAMED = 3
"""Maximum number of variables that a message names."""


@frozen
class Unknown:
    """A decision that depends on unwritten data.

    Attributes:
        name: the variable on which the decision depends.
        sources: variables that are read before they are written, and from which `name` is computed.
        what: the decision: "what runs", or "how long 'Sum' takes".
        where: the step after the decision.
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
        """The unknown data, as text."""
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
        """The error for a run that ends at this decision."""
        return UninitializedReadError(
            f"'{self.name}' decides {self.what}, but {self._lacks}",
            at=self.at,
            where=self.where,
            found="only the program runs here, without earlier calls of engine.write",
            fix=f"give {self._named} an initial_value, or run the script that writes it"
            if self.are_variables
            else f"run the script that writes {self._named}",
        )


class Decided(Simulator):
    """The simulator with checks of the data that control flow depends on.

    With `past_inout`, unwritten elements of InOut fields count as written, since they may be
    working memory. With `by_host`, data from streams and host functions count as written. With
    `ends_loops`, each Loop ends when its iterations write no further elements. Executables with
    strict checks run with strict checks, and their Loops end as well.
    """

    def __init__(
        self, *, past_inout: bool = False, by_host: bool = True, ends_loops: bool = False
    ) -> None:
        self._past_inout, self._by_host, self._ends_loops = past_inout, by_host, ends_loops
        self._loaded: Simulated | None = None

    def load(self, source: Source, setup: Setup) -> Simulated:
        """Prepare programs to run."""
        from poplite.simulator.engine import Simulated

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
        """Return the unknown decision in the first run of the last engine, if there was one."""
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
    """Return the names of the unwritten sources of an element, nearest first.

    The first result has the names of variables, the second those of remote buffers.
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
    for number in pending:  # the list grows
        more = [other for other in makers[number] if other not in seen]
        pending += more
        seen.update(more)
    names = tuple(variables[number].name for number in pending if number in unwritten)
    buffers = tuple(dict.fromkeys(name for n in pending for name in buffers_of[n]))
    if not names and not buffers:  # vertices left Outputs unwritten, here or before
        lacking = _lacking(pending, looks)
        first = [n for n in pending if n in lacking and not (makers[n].keys() - {n}) & lacking]
        names = tuple(variables[number].name for number in first)
        names = names or (undecided.variable.name,)
    return names, buffers


def _lacking(numbers: Iterable[int], looks: Decisions) -> set[int]:
    """Return those of the given variables that had unwritten elements at the end."""
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
    """Return the numbers of the variables whose unwritten elements a step read.

    Also returns the remote buffers whose unwritten rows were copied to a variable. Executed
    steps are traversed once more: elements that a step writes count as written here, for any
    sources.
    """
    executable, layout = looks.executable, looks.executable.layout
    shadow = Shadow(layout)
    found: set[int] = set()
    rows: dict[int, str] = {}  # remote buffers by the unwritten bytes of their blocks
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
    """Return the bytes of a block that are unwritten in a replica at the end."""
    size = block.num_elements * block.element_type.size_bytes
    parts = [part[block.at : block.at + size] for part in looks.shadow.parts]
    lacking = np.any([part == 0 for part in parts], axis=0)
    return [block.at + n for n in np.flatnonzero(lacking).tolist()]


# -- unknown data ----------------------------------------------------------------------------------


Ran = Literal["step", "action", "scalar"]


@frozen(eq=False)
class Undecided:
    """An unknown element on which a decision depends.

    Attributes:
        position: its first byte.
        variable: the variable that contains it.
        what: the decision: "what runs", or "how long 'Sum' takes".
        where: the step after the decision, for messages.
    """

    position: int
    variable: StoredVariable
    what: str
    where: str


def are_decided(executable: Executable) -> bool:
    """Return whether control flow depends on data, or the work of vertices may depend on them."""
    return any(
        np.isin(code.ops[:, 0], DECIDING).any() for code in executable.programs.values()
    ) or any(counting_candidates(executable))


class Decisions(StrictChecks):
    """Checks all data that control flow depends on.

    Attributes:
        executable: the executable that runs.
        undecided: the unknown element on which a decision depended; None if there was none.
        ran: everything that ran, in the order of first executions: steps and actions by number,
            and scalars, including those that vertices returned, by position.
        past_inout: whether unwritten elements of InOut fields count as written, since they may be
            working memory.
        by_host: whether data from streams and host functions count as written.
    """

    undecided: Undecided | None = None
    past_inout = False
    by_host = True

    def __init__(self, executable: Executable, *arguments: Any, **options: Any) -> None:
        super().__init__(executable, *arguments, **options)
        self.executable = executable
        self.ran: dict[tuple[Ran, int], None] = {}
        self._known_of: dict[int, KnownResults] = {}
        self._unknown_results: set[int] = set()
        self._settled = False
        self._undefined_times: Counter[int] = Counter()

    def look(self, code: Code, row: int, calls: Sequence[int], runner: Runner) -> int:
        """Run a row that is checked, like strict checks."""
        kind, number, scalar, size = code.ops[row].tolist()
        if kind in (op.COLLECT, op.ALL):
            self.ran["scalar", scalar if kind == op.COLLECT else number] = None
        if kind == op.COLLECT:
            self._collected(scalar, known=number not in self._unknown_results)
            return row
        if kind in DECIDING and not self.shadow.holds(scalar, 4 if kind == op.SWITCH else size):
            place = self._place(code, row, calls)
            self._decides(scalar, "what runs", place)
            raise place.undecided(scalar)
        return super().look(code, row, calls, runner)

    def _undefined(self, code: Code, row: int, calls: Sequence[int], number: int) -> bool:
        # Unwritten elements may be read.
        self.ran["action", number] = None
        action = self.executable.actions[number]
        if isinstance(action, Undefine):
            if self._undefined_times[number] < MOST_LOOKS:
                self._undefined_times[number] += 1
                self._note(self._undefine(number, action))
            return True
        if self.by_host or not isinstance(action, Transfer | HostFunctionCall):
            look_at_action(self.shadow, action)
        self._note(GAINED)
        return False

    def compiled_look(self, number: int, launch_of: LaunchOf) -> None:
        """Return None: Python records all data that become known."""

    def _copied(self, number: int, step: CopyStep, runner: Runner) -> bool:
        self.ran["step", number] = None
        if number not in self._moving:
            self._moving[number] = self.shadow.moving(step.moves, step.replica_map)
        self._note(flags := self._moving[number]())
        if flags & INCOMPLETE:
            self.copies.note(step)
        self._rest(number, flags)
        runner.run_launches(self._places[number].launches(op.GATHER))
        return True

    def _executed(self, number: int, step: ComputeStep, runner: Runner) -> bool:
        self.ran["step", number] = None
        known = self._known_of.get(number)
        if known is None:
            deciding = deciding_fields(self.executable, number)
            known = KnownResults(step, self.shadow, deciding, past_inout=self.past_inout)
            if self._kept + known.size <= MOST_KEPT:
                self._kept += known.size
                self._known_of[number] = known
        place = self._places[number]
        known.look()
        if (hole := known.hole) is not None:
            what = f"how long '{hole.field.cls.__name__}' takes"
            self._decides(self._position(step, hole), what, place)
            raise place.needed_hole(hole.field, hole.element, hole.replica, hole.count, what)
        flags = known.write(self._run(number, step, runner))
        if (number in self._unknown_results) != known.is_unknown:
            self._unknown_results ^= {number}
            flags |= LOSSY
        self._note(flags)
        self._rest(number, flags)
        return True

    def _run(self, number: int, step: ComputeStep, runner: Runner) -> dict[int, Mask]:
        """Run a compute set; return which of its unwritten Outputs remain unwritten.

        If there are unwritten Outputs, its vertices run once more with different values in them.
        """
        place = self._places[number]
        if self._looks[number] < MOST_LOOKS:
            replay = self._replay(number, step)
            replay.begin(place, runner)
            if replay.has_unwritten_outputs:
                self._looks[number] += 1
                return replay.run_for_outputs()
        phases = place.code.ops[place.row : place.end, 2].tolist()
        runner.run_launches(place.launches(*phases))
        return {}

    def _position(self, step: ComputeStep, hole: Hole) -> int:
        """Return the first byte of a hole, in a variable."""
        position = int(hole.field.elements[hole.element]) * hole.field.size
        if position >= self.shadow.layout.temporary_base:
            position = int(gathered_from(step.gather, np.array([position]))[0])
        return position

    def _decides(self, position: int, what: str, place: ProgramRow) -> None:
        """Record an unknown element on which a decision depends, by its first byte."""
        variable, _ = self.executable.layout.variable_at(position)
        self.undecided = Undecided(position, variable, what, str(place))

    def _collected(self, scalar: int, *, known: bool) -> None:
        """Record whether the result of vertices is known."""
        if self.shadow.holds(scalar, 1) != known:
            for part in self.shadow.parts:
                part[scalar] = known
            self._note(GAINED if known else LOSSY)

    def _note(self, flags: int) -> None:
        """Check steps again if facts about memory that concern them have changed."""
        if flags & LOSSY or (flags & GAINED and self._settled):
            self._settled = False
            self.arm()

    def _rest(self, number: int, flags: int) -> None:
        """Stop checking a step that changed no facts about memory, or left no data unknown."""
        is_complete = not flags & INCOMPLETE
        self._armed[number] = not is_complete and bool(flags & (LOSSY | GAINED))
        self._settled |= not is_complete and not self._armed[number]


@frozen(eq=False)
class Hole:
    """An unwritten element on which the duration of its vertex depends.

    Attributes:
        element: its number in `field.elements`.
        count: the number of unwritten elements of the field.
    """

    field: FieldElements
    element: int
    replica: int
    count: int


class KnownResults:
    """Facts about the results of a compute set.

    `deciding` are the edges whose data determine the cycles of its vertices.

    Attributes:
        size: the number of elements that it accesses.
        is_unknown: whether a vertex read unwritten elements in the last execution.
        hole: the first unwritten element on which the duration of its vertex depends.
    """

    def __init__(
        self,
        step: ComputeStep,
        shadow: Shadow,
        deciding: Mapping[type[Vertex], Collection[str]],
        *,
        past_inout: bool,
    ) -> None:
        self._shadow, self._vertices = shadow, step.num_vertices
        self._fields = touched(step)
        self._past_inout = past_inout
        self._gather, self._scatter = shadow.moving(step.gather), shadow.moving(step.scatter)
        self.size = sum(len(each.elements) for each in self._fields)
        self.is_unknown = False
        self.hole: Hole | None = None
        self._deciding = deciding
        self._may_read = [_may_read(each) for each in self._fields]

    def look(self) -> None:
        """Find the vertices that read unwritten data."""
        self._gather()
        self._unknown = np.zeros((len(self._shadow.parts), self._vertices), np.bool_)
        self.is_unknown = False
        for replica, part in enumerate(self._shadow.parts):
            unknown = self._unknown[replica]
            for n, each in enumerate(self._fields):
                if each.field.reads and not (each.field.writes and self._past_inout):
                    holes = ~are_written(_elements(each, part)[each.elements])
                    holes &= self._may_read[n]
                    unknown[_vertices_of(each)[holes]] = True
                    decides = each.field.name in self._deciding.get(each.cls, ())
                    if self.hole is None and decides and holes.any():
                        first = int(np.argmax(holes))
                        self.hole = Hole(each, first, replica, int(holes.sum()))
            self.is_unknown |= bool(unknown.any())

    def write(self, kept: Mapping[int, Mask]) -> int:
        """Record that results are written, except those in `kept`; return flags."""
        flags = 0
        for replica, part in enumerate(self._shadow.parts):
            for n, each in enumerate(self._fields):
                if each.field.writes:
                    lacking = self._unknown[replica][_vertices_of(each)]
                    if n in kept:
                        lacking |= kept[n][replica]
                    flags |= self._write(each, part, ~lacking)
        is_complete = not self.is_unknown and not any(each.any() for each in kept.values())
        return flags | self._scatter() | (0 if is_complete else INCOMPLETE)

    def _write(self, field: FieldElements, part: Any, after: Any) -> int:
        """Record the elements that vertices write; return the changes, except for temporaries."""
        elements, places = _elements(field, part), field.elements
        before = are_written(elements[places])
        written = shadow_of_written(field.field.element).view(elements.dtype)
        elements[places] = np.where(after, written, 0)
        kept = places * field.size < self._shadow.layout.temporary_base
        flags = LOSSY if (before & ~after & kept).any() else 0
        return flags | (GAINED if (~before & after & kept).any() else 0)


def _elements(field: FieldElements, part: Any) -> Any:
    """Return the bytes of a replica as elements with the size of a field's elements."""
    return part[: len(part) // field.size * field.size].view(f"u{field.size}")


def _may_read(field: FieldElements) -> Mask:
    """Return which elements of a field vertices may read, according to their source text."""
    numbers = (
        meaning_of(field.cls).flow.indices.get(field.field.name) if field.field.depth == 1 else None
    )
    if numbers is None:
        return np.ones(len(field.elements), np.bool_)
    lengths = np.diff(field.end, prepend=0)
    places = np.arange(len(field.elements)) - np.repeat(field.end - lengths, lengths)
    return np.isin(places, list(numbers))


def _vertices_of(field: FieldElements) -> Any:
    """Return the vertex of each element of a field, by its position in the compute set."""
    return np.repeat(field.vertex, np.diff(field.end, prepend=0))
