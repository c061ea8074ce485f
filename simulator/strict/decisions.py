"""Which data that decide what runs, and for how long, depend on what nothing has written.

    limit                   nothing has written it
    more = rest > limit     its vertex reads 'limit', so nothing knows 'more' either
    RepeatWhileTrue(more)   undecided
    for i in range(limit)   undecided, in a vertex whose cycles are counted

Strict checks refuse a result that depends on unwritten elements.  Here vertices may read them, and
run once: what a vertex writes that reads an unwritten element counts as unwritten too.  So a
program may run with memory as it is, as long as nothing that is unwritten decides what runs, in
the program or in a vertex.

A step that changes nothing of what is known about memory is not looked at again, until another
one does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from poplite.executable import opcodes as op
from poplite.executable.actions import HostFunctionCall, Transfer, Undefine
from poplite.executable.executable import Executable
from poplite.executable.layout import StoredVariable
from poplite.executable.opcodes import Code
from poplite.executable.step import ComputeStep, CopyStep
from poplite.jit.kernels.written import GAINED, INCOMPLETE, LOSSY
from poplite.simulator.run.field_elements import gathered_from
from poplite.simulator.run.slot_counts import counting_candidates, deciding_fields
from poplite.simulator.run.touched import FieldElements, touched
from poplite.simulator.strict.checks import DECIDING, MOST_KEPT, MOST_LOOKS, StrictChecks
from poplite.simulator.strict.compiled_look import LaunchOf
from poplite.simulator.strict.host import look_at_action
from poplite.simulator.strict.messages import ProgramRow
from poplite.simulator.strict.replay import Runner
from poplite.simulator.strict.shadow import Mask, Shadow, are_written, shadow_of_written
from poplite.vertex.compute import flow_of
from poplite.vertex.vertex import Vertex

Ran = Literal["step", "action", "scalar"]


@dataclass(frozen=True, slots=True, eq=False)
class Undecided:
    """An element that was to decide what runs, and is not known.

    Attributes:
        position: its first byte.
        variable: the one that holds it.
        what: what it decides: "what runs", or "how long 'Sum' takes".
        where: the step that it decides on, for messages.
    """

    position: int
    variable: StoredVariable
    what: str
    where: str


def are_decided(executable: Executable) -> bool:
    """Tell whether data decide what programs run, or may decide what vertices do."""
    return any(
        np.isin(code.ops[:, 0], DECIDING).any() for code in executable.programs.values()
    ) or any(counting_candidates(executable))


class Decisions(StrictChecks):
    """Looks at all that decides what runs.

    Attributes:
        executable: what runs.
        undecided: the element that nothing knew when it decided; None where there was none.
        ran: what ran, in the order of its first times: steps and actions by number, and scalars
            that vertices returned by position.
        past_inout: whether unwritten elements of InOut fields count as written, as those of
            working memory may.
        by_host: whether what streams and host functions give counts as written.
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
        """Run a row that is looked at, as strict checks do."""
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
        """Return nothing: all that becomes known is noted by Python."""

    def _copied(self, number: int, step: CopyStep, runner: Runner) -> bool:
        self.ran["step", number] = None
        if number not in self._moving:
            self._moving[number] = self.shadow.moving(step.moves, step.replica_map)
        self._note(flags := self._moving[number]())
        if flags & INCOMPLETE:
            self._copies.note(number)
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
        """Run a compute set; return which of its Outputs that nothing had written remain so.

        Where there are such Outputs, its vertices run once more with other values in them.
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
        """Return the byte of a variable that a hole begins at."""
        position = int(hole.field.elements[hole.element]) * hole.field.size
        if position >= self.shadow.layout.temporary_base:
            position = int(gathered_from(step.gather, np.array([position]))[0])
        return position

    def _decides(self, position: int, what: str, place: ProgramRow) -> None:
        """Note an element, by its first byte, that nothing knows and that decides."""
        variable, _ = self.executable.layout.variable_at(position)
        self.undecided = Undecided(position, variable, what, str(place))

    def _collected(self, scalar: int, *, known: bool) -> None:
        """Note whether anybody knows what vertices returned."""
        if self.shadow.holds(scalar, 1) != known:
            for part in self.shadow.parts:
                part[scalar] = known
            self._note(GAINED if known else LOSSY)

    def _note(self, flags: int) -> None:
        """Look at all steps again where what is known about memory has changed for them."""
        if flags & LOSSY or (flags & GAINED and self._settled):
            self._settled = False
            self.arm()

    def _rest(self, number: int, flags: int) -> None:
        """Look at a step no more that changed nothing, or left nothing to be known."""
        is_complete = not flags & INCOMPLETE
        self._armed[number] = not is_complete and bool(flags & (LOSSY | GAINED))
        self._settled |= not is_complete and not self._armed[number]


@dataclass(frozen=True, slots=True, eq=False)
class Hole:
    """An unwritten element that decides how long its vertex takes.

    Attributes:
        element: its number in `field.elements`.
        count: how many of the field are unwritten.
    """

    field: FieldElements
    element: int
    replica: int
    count: int


class KnownResults:
    """What is known of the results of a compute set.

    `deciding` are the edges whose data decide the cycles of its vertices.

    Attributes:
        size: how many elements it touches.
        is_unknown: whether a vertex read unwritten elements, the last time.
        hole: the first of these that decides how long its vertex takes.
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
        """Find out which vertices read what is unwritten."""
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
        """Note which results are written, but for those that are `kept`; return flags."""
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
        """Note what vertices write, and return what that changes, but for temporaries."""
        elements, places = _elements(field, part), field.elements
        before = are_written(elements[places])
        written = shadow_of_written(field.field.element).view(elements.dtype)
        elements[places] = np.where(after, written, 0)
        kept = places * field.size < self._shadow.layout.temporary_base
        flags = LOSSY if (before & ~after & kept).any() else 0
        return flags | (GAINED if (~before & after & kept).any() else 0)


def _elements(field: FieldElements, part: Any) -> Any:
    """Return the bytes of a replica as elements of a field's size."""
    return part[: len(part) // field.size * field.size].view(f"u{field.size}")


def _may_read(field: FieldElements) -> Mask:
    """Return which elements of a field vertices may read, by their text."""
    numbers = flow_of(field.cls).indices.get(field.field.name) if field.field.depth == 1 else None
    if numbers is None:
        return np.ones(len(field.elements), np.bool_)
    lengths = np.diff(field.end, prepend=0)
    places = np.arange(len(field.elements)) - np.repeat(field.end - lengths, lengths)
    return np.isin(places, list(numbers))


def _vertices_of(field: FieldElements) -> Any:
    """Return the vertex of each element of a field, by its position in the compute set."""
    return np.repeat(field.vertex, np.diff(field.end, prepend=0))
