"""The shadow of an arena, which records for each byte whether it is written, or where it came from.

It has the layout of the arena, so every move of data moves the shadow in the same way::

    arena     x: 1.5  0.0  0.0      y: 0.0  0.0  0.0
    shadow    x: 1    0    0        y: 0    0    0          1: written, in each byte of an element
    Copy(x, y)
    shadow    x: 1    0    0        y: 1    0    0

Data that the host writes count as written; a warning reports unwritten elements that it reads.
`uninitialized` names those elements::

    engine.read of 'x': nothing has written 2 of its 8 elements
      the first is [6]
      'x' was made at model.py:8

Moves of unwritten elements are recorded, so that messages can say where these come from::

    1  Copy(b, a)   recorded: b is unwritten, so a is now unwritten
    2  zero(b)      not recorded
    3  a * 2        reads a, moved by step 1 from b, to which no unwritten element moved before

An unwritten element has not been written since the last recorded step that moved an element to it,
so that step made it unwritten, for any current content of its source. So recorded steps are
traversed backwards after an error. If vertices passed elements on, one of their elements is
followed. The blocks of streams and host functions are followed like variables, but not named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.errors import SHOWN_FAULTS, UninitializedWarning, listed
from poplite.executable.encoding import PIECE_WORDS, RECORD_WORDS, Moves
from poplite.executable.executable import Executable
from poplite.executable.parts import (
    Action,
    ArenaBlock,
    ComputeStep,
    CopyStep,
    HostFunctionCall,
    HostTensor,
    Print,
    Remote,
    RowTransfer,
    Stamp,
    Transfer,
    Undefine,
    action_text,
)
from poplite.frozen import frozen
from poplite.graph.tile_mapping import ranges
from poplite.jit.build import BoundKernel
from poplite.jit.kernels_written import MOVED, carry, moved_are_written
from poplite.simulator.run.arena import Arena
from poplite.simulator.run.host_connections import view_of
from poplite.simulator.run.host_tensors import bytes_of
from poplite.simulator.run.interpreted_vertices import move_between
from poplite.simulator.run.touched import (
    MOST_ELEMENTS,
    element_name,
    gathered_from,
    moved_from,
    touched,
)
from poplite.source import SourceLocation
from poplite.text import amount
from poplite.types import ElementType

Mask = npt.NDArray[np.bool_]


@frozen(eq=False)
class Moving:
    """Moves the shadow of bytes that a step moves.

    Attributes:
        calls: the kernel calls, one for each replica.
    """

    calls: tuple[BoundKernel, ...]

    def __call__(self) -> int:
        """Move it; return INCOMPLETE if bytes are unwritten, LOSSY if these replace written."""
        flags = 0
        for call in self.calls:
            flags |= call()
        return flags


class Shadow(Arena):
    """The written bytes of an arena: at first those of initial values, constants and state."""

    def _fill(self) -> None:
        """Mark the data that are written at first."""
        for replica, part in enumerate(self.parts):
            for at, values in self.layout.initial_values(replica):
                part[at : at + values.nbytes] = 1
            for at, has in self.layout.with_values(replica):
                part[at : at + len(has)] = has
            part[self.layout.blocks] = 1  # written by the host before they are copied

    def holds(self, position: int, size: int) -> bool:
        """Return whether a scalar is written, in every replica."""
        return all(bool(part[position : position + size].all()) for part in self.parts)

    def write_scalar(self, position: int) -> None:
        """Mark the BOOL at a byte position as written."""
        for part in self.parts:
            part[position] = 1

    def moving(
        self, moves: Moves, replica_map: Sequence[int] | None = None, *, known: int = MOVED
    ) -> Moving:
        """Return the function that moves the shadow like the data.

        `replica_map` gives the replica whose memory each replica writes. By default the shadow of
        the source is moved; otherwise all bytes that the moves write become `known`.
        """
        if not len(moves.records):
            return Moving(())
        kept = Moves(*map(np.ascontiguousarray, (moves.records, moves.pieces)))
        to = range(len(self.parts)) if replica_map is None else replica_map
        table = kept.records, len(kept.records), kept.pieces, known
        words = [part[: len(part) // 8 * 8].view(np.int64) for part in self.parts]
        calls = [
            BoundKernel(carry, *table, self.parts[other], part, words[other], own)
            for other, part, own in zip(to, self.parts, words, strict=True)
        ]
        return Moving(tuple(calls))

    def checking(self, moves: Moves) -> list[BoundKernel]:
        """Return kernels that return whether all bytes that moves read are written, per replica."""
        kept = Moves(*map(np.ascontiguousarray, (moves.records, moves.pieces)))
        table = kept.records, len(kept.records), kept.pieces
        return [BoundKernel(moved_are_written, *table, part) for part in self.parts]

    def undefining(self, tensor: HostTensor) -> Moving:
        """Return the function that marks all elements of a tensor as unwritten."""
        return self.moving(tensor.moves.reversed(), known=0)


def are_written(shadows: npt.NDArray[Any]) -> Mask:
    """Return which elements are written, a bool array with the shape of their shadows."""
    size = shadows.itemsize
    return np.asarray(shadows.view(f"u{size}") == _full(size))


def shadow_of_written(element: type[ElementType[Any]]) -> Any:
    """Return the shadow of a written element."""
    return _full(element.size_bytes).view(element.dtype)


@cache
def _full(size: int) -> Any:
    return np.ones(size, np.uint8).view(f"u{size}")[0]


# -- accesses of the host --------------------------------------------------------------------------


class Read(NamedTuple):
    """A read that the host is about to perform.

    Attributes:
        what: the call or the program that reads.
        at: the user's line of a program; None for the line that made the missing data.
        written: the written elements, for each replica.
        bytes_of: returns the first bytes of elements, given by number.
    """

    what: str
    at: SourceLocation | None
    written: list[Mask]
    bytes_of: Callable[[Int64], Int64]


def look_at_action(shadow: Shadow, action: Action) -> list[Read]:
    """Mark the data that an action is about to write; return its reads."""
    reads: list[Read] = []
    match action:
        case Print(title=title, tensor=tensor):
            reads.append(_of_tensor(f"PrintTensor '{title}'", None, shadow, tensor))
        case Stamp(tensor=tensor, since=since):
            if since is not None:
                reads.append(_of_tensor(action.program, action.location, shadow, since))
            _write_tensor(shadow, tensor)
        case Transfer(stream=stream, block=block) if stream.to_device:
            _write(shadow, block)
        case RowTransfer(to_device=True):
            pass  # remote buffers track their own written elements
        case Transfer(program=program, location=at, block=block):
            reads.append(_of_block(program, at, shadow, block))
        case RowTransfer(program=program, location=at, block=block):
            reads.append(_of_block(program, at, shadow, block))
        case HostFunctionCall(program=program, location=at, inputs=inputs, outputs=outputs):
            reads += [_of_block(program, at, shadow, block) for block in inputs]
            for block in outputs:
                _write(shadow, block)
    return reads


def uninitialized(
    read: Read, copies: UnwrittenCopies, where: str = "", *, has_run: bool = True
) -> UninitializedWarning | None:
    """Return the warning about unwritten elements that are read, or None.

    `where` is the step of the program, for the message, and `has_run` whether a program has run.
    """
    if all(own.all() for own in read.written):
        return None
    each = np.stack(read.written)
    lacking = ~each.all(axis=0)
    count, first = int(lacking.sum()), np.argwhere(lacking)[0].tolist()
    found = [f"the first is [{', '.join(f'{i:,}' for i in first)}]"] if first else []
    if len(each) > 1:
        some = [n for n, own in enumerate(each) if not own.all()]
        found.append(f"in {'replica' if len(some) == 1 else 'replicas'} {ranges(some)}")
    number = np.flatnonzero(lacking)[:MOST_ELEMENTS]
    origins = copies.origins(read.bytes_of(number))
    made = [f"{o.missed}{o.copied}; {o.made}" if o.copied else o.made for o in origins]
    found += [listed(made, "variables")] if made else []
    found += dict.fromkeys(text for origin in origins[:SHOWN_FAULTS] for text in origin.passed)
    names = ", ".join(str(origin.variable) for origin in origins[:SHOWN_FAULTS])
    run = "" if has_run else "call engine.run() first, or "
    value = ", give an initial_value" if all(each.takes_value for each in origins) else ""
    return UninitializedWarning(
        f"{read.what}: nothing has written {count:,} of {amount(each[0].size, 'element')}",
        at=read.at or next((origin.variable.location for origin in origins), None),
        where=where,
        found="\n".join([*found, "memory is zero there now; on a machine it is undefined"]),
        fix=f"{run}write {names or 'them'} before{value}, or leave out the elements",
    )


def _of_tensor(what: str, at: SourceLocation | None, shadow: Shadow, tensor: HostTensor) -> Read:
    found = []
    for part in shadow.parts:
        stored = np.empty(tensor.shape, tensor.element_type.dtype)
        move_between(tensor.moves, stored.reshape(-1).view(np.uint8), part)
        found.append(are_written(stored))
    return Read(what, at, found, partial(bytes_of, tensor))


def _of_block(what: str, at: SourceLocation | None, shadow: Shadow, block: ArenaBlock) -> Read:
    written = [are_written(view_of(block, part)) for part in shadow.parts]
    size = block.element_type.size_bytes
    return Read(what, at, written, lambda number: block.at + number * size)


def _write_tensor(shadow: Shadow, tensor: HostTensor) -> None:
    element = tensor.element_type
    written = np.full(tensor.shape, shadow_of_written(element), element.dtype)
    for part in shadow.parts:
        move_between(tensor.moves.reversed(), part, written.reshape(-1).view(np.uint8))


def _write(shadow: Shadow, block: ArenaBlock) -> None:
    for part in shadow.parts:
        view_of(block, part)[...] = shadow_of_written(block.element_type)


# -- origins ---------------------------------------------------------------------------------------


MOST_NOTED = 1 << 22
"""Maximum number of recorded numbers; beyond that, all are discarded."""

NOWHERE = -1
"""In place of the source of an element that was not moved."""


# -- records ---------------------------------------------------------------------------------------


class RowsMoved(NamedTuple):
    """Rows of a remote buffer that moved in a replica; the buffer's places start at `begin`."""

    action: RowTransfer
    replica: int
    rows: Int64
    begin: int

    @property
    def moves(self) -> Moves:
        """The bytes that moved."""
        size, block = _row_bytes(self.action.buffer), self.action.block
        records = np.zeros((len(self.rows), RECORD_WORDS), np.int64)
        records[:, 0] = block.at + size * np.arange(len(self.rows))
        records[:, 1] = self.begin + size * self.rows
        records[:, 2:4] = 1, size
        moves = Moves(records, np.zeros((0, PIECE_WORDS), np.uint32))
        return moves if self.action.to_device else moves.reversed()


def _row_bytes(buffer: Remote) -> int:
    return buffer.num_elements * buffer.element_type.size_bytes


@frozen(eq=False)
class PassedOn:
    """An execution of a compute set whose vertices passed unwritten elements on.

    Attributes:
        results: the first bytes of elements that became unwritten, or remained so.
        holes: the first bytes of unwritten elements that vertices read, one for each edge.
    """

    number: int
    step: ComputeStep
    results: Int64
    holes: Int64

    def taken(self, positions: Int64) -> tuple[Int64, Int64]:
        """Return the vertices of the given results, and all elements that they may have passed on.

        The vertex is -1 for results that were not passed on. Elements are given as [vertex, first
        byte]; elements that vertices only read are first.
        """
        made = moved_from(self.step.scatter, positions)
        made = np.where(made < 0, positions, made)
        vertices, taken = np.full(len(positions), NOWHERE), []
        for field in sorted(touched(self.step), key=lambda each: each.field.writes):
            places = field.elements * field.size
            vertex = np.repeat(field.vertex, np.diff(field.end, prepend=0))
            if field.field.writes:
                order = np.argsort(places, kind="stable")
                near = np.searchsorted(places, made, sorter=order)
                near = order[np.minimum(near, len(order) - 1)]
                is_here = (places[near] == made) & np.isin(made, self.results)
                vertices = np.where(is_here, vertex[near], vertices)
            if field.field.reads:
                is_hole = np.isin(places, self.holes)
                taken.append(np.stack([vertex[is_hole], places[is_hole]]))
        return vertices, np.concatenate(taken, axis=1)


Noted = CopyStep | RowsMoved | PassedOn | Undefine


# -- origins ---------------------------------------------------------------------------------------


class Owner(NamedTuple):
    """A variable, or a remote buffer, that has unwritten elements."""

    name: str
    location: SourceLocation
    has_values: bool = False
    kind: str = ""

    def __str__(self) -> str:
        return f"{self.kind}'{self.name}'"


class CopyOrigin(NamedTuple):
    """The origin of an unwritten element.

    Attributes:
        elements: the names of the element and its sources, each copied from the next.
        variable: the owner of the original element.
        name: the name of the data that must be written.
        when: the time by which it must be written, as text; empty if any earlier step suffices.
        since: the time since which the element is unwritten, as text; empty if it never was
            written.
        is_late: whether the original element was written afterwards.
        takes_value: whether an initial value would help.
        passed: text for each execution in which vertices passed it on.
    """

    elements: tuple[str, ...]
    variable: Owner
    name: str
    when: str
    since: str
    is_late: bool
    takes_value: bool
    passed: tuple[str, ...]

    @property
    def missed(self) -> str:
        """Name of the element itself."""
        return self.elements[0]

    @property
    def made(self) -> str:
        """Text for the line that made its variable."""
        return f"{self.variable} was made at {self.variable.location}"

    @property
    def copied(self) -> str:
        """Text for the element from which it was copied; empty if it was not copied."""
        is_early = self.is_late and not self.passed
        return _copied(self.elements) + f" before {self.elements[-1]} was written" * is_early

    @property
    def lack(self) -> str:
        """Text for the fault of the element."""
        return f", but nothing has written it{self.since}"

    def fix(self, how: str) -> str:
        """Return the remedy; `how` describes a way to write the element."""
        if self.variable.kind:
            how = "by a Copy to it or by engine.copy_to_remote_buffer"
        write = f"write {self.name} {self.when or how}"
        return f"{write}, or give it an initial_value" if self.takes_value else write


def _copied(elements: tuple[str, ...]) -> str:
    """Return text for the source of the first element; empty if it was not copied."""
    if len(elements) == 1:
        return ""
    between = [*reversed(elements[1:-1])]
    several = "" if len(between) < 4 else f" and {amount(len(between) - 3, 'more element')}"
    via = f" by way of {', '.join(between[:3])}{several}" if between else ""
    return f", copied from {elements[-1]}{via}"


def _when(owner: Owner, undefined: str, *, is_late: bool) -> tuple[str, str]:
    """Return text for when an element must be written, and since when it is unwritten."""
    if undefined:
        return f"after {undefined}", f" since {undefined}"
    if is_late:
        return "before it is moved", " since"
    if owner.has_values:  # records were discarded, or made on another rank
        return "", " since unwritten elements were moved there"
    return "", ""


class UnwrittenCopies:
    """The moves of unwritten elements since loading, in order."""

    def __init__(self, executable: Executable, shadow: Arena) -> None:
        self._executable, self._shadow = executable, shadow
        self._begins: dict[str, int] = {}  # of remote buffers, after the arena
        self._buffers: dict[int, Remote] = {}  # by the start of their places
        self._end = executable.layout.size_bytes
        self.forget()

    def forget(self) -> None:
        """Discard all records."""
        self._noted: list[Noted] = []
        self._size = 0  # count of recorded numbers
        self._passed_on: dict[int, PassedOn] = {}  # the last execution of each step

    def note(self, what: Noted, size: int = 1) -> None:
        """Record a step that moved unwritten elements or undefined some, in `size` numbers."""
        if self._noted and self._noted[-1] is what:
            return
        if self._size > MOST_NOTED:
            self.forget()
        self._size += size
        self._noted.append(what)

    def note_passed(self, number: int, results: Int64, holes: Int64) -> None:
        """Record that vertices have just passed on unwritten elements, if there are `results`."""
        if not len(results):
            return
        last, size = self._passed_on.get(number), 1
        if last is None or last.results is not results:
            step = self._executable.steps[number]
            assert isinstance(step, ComputeStep)
            last, size = PassedOn(number, step, results, holes), len(results) + len(holes)
        self.note(last, size)
        self._passed_on[number] = last

    def note_rows(self, action: RowTransfer, replica: int, rows: Int64) -> None:
        """Record that rows, some of them unwritten, have just moved in a replica."""
        if (begin := self._begins.get(action.buffer.handle)) is None:
            begin = self._begins[action.buffer.handle] = self._end
            self._buffers[begin] = action.buffer
            self._end += action.buffer.repeats * _row_bytes(action.buffer)
        self.note(RowsMoved(action, replica, rows, begin), len(rows) + 1)

    def origin(self, position: int) -> CopyOrigin:
        """Return the origin of an unwritten element, by its first byte."""
        parts: list[list[int]] = [[position]]
        passed: list[PassedOn] = []
        undefined = ""
        for (at,), (replica,), noted in self._followed(np.array([position])):
            part = self._shadow.parts[replica]
            if isinstance(noted, PassedOn):
                passed.append(noted)
                parts.append([int(at)])
            elif isinstance(noted, Undefine):
                undefined = action_text(noted)
            elif noted is not None:
                parts[-1].append(int(at))
        last, names = parts[-1][-1], [self._names(each) for each in parts]
        texts = [
            self._passing(each, parts[k][-1], names[k + 1], parts[k + 1][0])
            for k, each in enumerate(passed)
        ]
        owner = self._owner(last) or self._variable(position)
        is_late = not undefined and last < len(part) and bool(part[last])
        when, since = _when(owner, undefined, is_late=is_late)
        if passed:
            since = f" since Execute '{passed[0].step.name}' left it unwritten"
        name = str(owner) if passed else names[0][-1]
        takes_value = not (undefined or owner.has_values or owner.kind)
        return CopyOrigin(names[0], owner, name, when, since, is_late, takes_value, tuple(texts))

    def origins(self, positions: Int64) -> list[CopyOrigin]:
        """Return one origin for each variable of unwritten elements, given by first bytes.

        Origins are in the order of the elements. A block to which no variable was copied has none.
        """
        *_, (last, _, _) = self._followed(positions)
        layout = self._executable.layout
        buffers = np.searchsorted([*self._buffers], last, side="right") + len(layout.variables) - 1
        owners = np.where(last < layout.size_bytes, layout.owners(last), buffers)
        owners, first = np.unique(owners, return_index=True)
        return [self.origin(int(positions[each])) for each in sorted(first[owners >= 0])]

    def _followed(self, positions: Int64) -> Iterator[tuple[Int64, Int64, Noted | None]]:
        """Yield the positions and replicas of unwritten elements, and the step that moved them."""
        lacking = [part[positions] == 0 for part in self._shadow.parts]
        replicas = np.argmax(lacking, axis=0)
        is_followed, idle = np.ones(len(positions), np.bool_), set[int]()
        yield positions, replicas, None
        for noted in reversed(self._noted):
            if id(noted) in idle:  # it moved none of the elements
                continue
            source = self._moved_from(noted, positions)
            is_moved = is_followed & (source != NOWHERE)
            if isinstance(noted, RowsMoved):
                is_moved &= replicas == noted.replica
            if not is_moved.any():
                idle.add(id(noted))
                continue
            idle.clear()
            if isinstance(noted, Undefine):
                is_followed &= ~is_moved
            elif isinstance(noted, CopyStep) and noted.replica_map is not None:
                replicas = np.where(is_moved, np.argsort(noted.replica_map)[replicas], replicas)
            positions = np.where(is_moved, source, positions)
            yield positions, replicas, noted

    def _moved_from(self, noted: Noted, positions: Int64) -> Int64:
        """Return the sources of moved elements, NOWHERE for others; undefined elements stay."""
        if isinstance(noted, Undefine):
            undefined = moved_from(noted.tensor.moves.reversed(), positions) != NOWHERE
            return np.where(undefined, positions, NOWHERE)
        if not isinstance(noted, PassedOn):
            return moved_from(noted.moves, positions)
        makers, (vertices, places) = noted.taken(positions)
        vertices, first = np.unique(vertices, return_index=True)
        found = np.full(noted.step.num_vertices + 1, NOWHERE)  # the last one belongs to no vertex
        found[vertices] = self._at_home(noted, places[first])
        return found[makers]

    def _at_home(self, noted: PassedOn, places: Int64) -> Int64:
        """Return the positions of elements that vertices read, before the gather."""
        places, base = places.copy(), self._executable.layout.temporary_base
        is_gathered = places >= base
        places[is_gathered] = gathered_from(noted.step.gather, places[is_gathered])
        return places

    # -- text --------------------------------------------------------------------------------------

    def _passing(self, noted: PassedOn, result: int, elements: tuple[str, ...], at: int) -> str:
        """Return text for vertices that left a result unwritten: they read one at `at`."""
        (vertex,), (vertices, places) = noted.taken(np.array([result]))
        taken = self._at_home(noted, places[vertices == vertex])
        owners = [str(owner) for each in taken.tolist() if (owner := self._owner(each))]
        others = [each for each in dict.fromkeys(owners) if each != str(self._owner(at))]
        more = f"; others are of {', '.join(others)}" if others else ""
        line = self._executable.origins[noted.number][vertex].location
        return (
            f"Execute '{noted.step.name}' left it unwritten: its vertex, added at {line}, takes "
            f"unwritten elements, such as {elements[0]}{_copied(elements)}{more}"
        )

    def _names(self, positions: list[int]) -> tuple[str, ...]:
        """Return the names of elements that were copied from each other, without repetitions."""
        last = positions[-1]
        start = positions.index(last)
        names = map(self._name, dict.fromkeys([*positions[:start], last]))
        return tuple(name for name in names if name) or (self._element(positions[0]),)

    def _name(self, position: int) -> str:
        layout = self._executable.layout
        if position < layout.end_of_variables(len(layout.variables)):
            return self._element(position)
        for begin, buffer in reversed(self._buffers.items()):
            if position >= begin:
                row = (position - begin) // _row_bytes(buffer)
                return f"row {row:,} of remote buffer '{buffer.handle}'"
        return ""

    def _element(self, position: int) -> str:
        """Return the element at a byte, which in a damaged file may be after all variables."""
        return element_name(*self._executable.layout.variable_at(position))

    def _owner(self, position: int) -> Owner | None:
        """Return the owner of an element; None for blocks."""
        layout = self._executable.layout
        if position < layout.end_of_variables(len(layout.variables)):
            return self._variable(position)
        for begin, buffer in reversed(self._buffers.items()):
            if position >= begin:
                return Owner(buffer.handle, buffer.location, kind="remote buffer ")
        return None

    def _variable(self, position: int) -> Owner:
        variable, _ = self._executable.layout.variable_at(position)
        has_values = variable.initial_value is not None or bool(variable.replica_values)
        return Owner(variable.name, variable.location, has_values)
