"""Run vertices as plain Python.

This is for debugging: breakpoints in `compute` work, and errors have ordinary tracebacks. The
descriptor rows are the same as for compiled code. Numba is not needed.

The outputs of a vertex depend only on its inputs. If strict checks run a vertex again and all its
inputs are unchanged, the results of the first run are written instead::

    first run     x 1 2 3   total 0 -> 6       all vertices run; stores are recorded
    again         x 1 2 3   total 9 -> 6       written: the vertex does not run
                  x 1 2 NaN total 9            runs

An Output element that the first run did not store keeps its value.
"""

from __future__ import annotations

from bdb import BdbQuit
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.errors import VertexCompileError
from poplite.executable import encoding as op
from poplite.executable.encoding import Code, Moves
from poplite.executable.executable import Executable
from poplite.executable.steps import ComputeStep, Vertices
from poplite.simulator.run.arena import AccessLog, Arena, Bytes, Floats, typed
from poplite.simulator.run.touched import FieldRows, GroupRows, numbers_and_rows, ranges
from poplite.vertex.compute import InterpretedSelf
from poplite.vertex.vertex import Field, MultiVertex, Vertex

# -- vertices that ran before ----------------------------------------------------------------------


Values = Mapping[str, Any]
"""The fields of a vertex, in the form for `InterpretedSelf`."""


class VertexRun:
    """One run of a vertex; `marks` has, for each Output, which elements the run stored."""

    __slots__ = ("_cls", "_read", "_returned", "_written", "marks")

    def __init__(self, cls: type[Vertex], values: Values) -> None:
        self._cls = cls
        self._read = [array.tobytes() for array in _arrays(cls, values, _reads)]
        self.marks = {
            name: _unmarked(values[name]) for name, field in cls.fields.items() if _is_output(field)
        }

    def keep(self, values: Values, *, returned: bool) -> None:
        """Save the fields after the run, and its result."""
        self._written = [array.copy() for array in _arrays(self._cls, values, _changes)]
        self._written += [array.copy() for array in _arrays(self._cls, values, _is_output)]
        self._returned = returned

    def is_of(self, values: Values) -> bool:
        """Return whether a run on the given fields would have the same results."""
        pairs = zip(self._read, _arrays(self._cls, values, _reads), strict=True)
        return all(array.tobytes() == read for read, array in pairs)

    def put(self, values: Values) -> bool:
        """Write the results of the run to memory, and return its return value."""
        written = iter(self._written)
        for array in _arrays(self._cls, values, _changes):
            array[...] = next(written)
        marks = _arrays(self._cls, self.marks, _is_output)
        for array, mark in zip(_arrays(self._cls, values, _is_output), marks, strict=True):
            np.copyto(array, next(written), where=mark)
        return self._returned


def _reads(field: Field) -> bool:
    return field.reads


def _changes(field: Field) -> bool:
    return field.reads and field.writes


def _is_output(field: Field) -> bool:
    return field.writes and not field.reads


def _arrays(
    cls: type[Vertex], values: Values, chosen: Callable[[Field], bool]
) -> Iterator[npt.NDArray[Any]]:
    """Yield the memory of the selected fields, lists row by row."""
    for name, field in cls.fields.items():
        if chosen(field):
            yield from values[name] if field.depth == 2 else (values[name],)


def _unmarked(memory: Any) -> Any:
    if isinstance(memory, list):
        return [np.zeros(len(row), np.bool_) for row in memory]
    return np.zeros(len(memory), np.bool_)


# -- vertices --------------------------------------------------------------------------------------


Compute = Callable[..., bool | None]
"""Takes an `InterpretedSelf`, and for a `MultiVertex` the number of a worker."""


def move(moves: Moves, arena: Arena) -> None:
    """Run copies in the memory of each replica."""
    for memory in arena.parts:
        move_between(moves, memory, memory)


PIECES = 1 << 14
"""Number of pieces that are moved at once."""


def move_between(moves: Moves, destination: Bytes, source: Bytes) -> None:
    """Run copies from one block of bytes to another."""
    for to, start, rows, size, far, near in moves.records.tolist():
        if size:
            kind = f"u{size}" if size in (1, 2, 4, 8) else f"V{size}"
            there: npt.NDArray[Any] = np.ndarray(rows, kind, destination, to, (far,))
            there[...] = np.ndarray(rows, kind, source, start, (near,))
            continue
        for first in range(far, far + rows, PIECES):
            pieces = moves.pieces[first : min(first + PIECES, far + rows)].astype(np.int64)
            moved = source[ranges(start + pieces[:, 1], pieces[:, 2])]
            destination[ranges(to + pieces[:, 0], pieces[:, 2])] = moved


class VertexFault(Exception):
    """An error that `compute` raised, with its vertex.

    Attributes:
        number: position of the vertex in its compute set.
        worker: number of the worker, for a `MultiVertex`.
    """

    def __init__(self, number: int, error: Exception, worker: int | None = None) -> None:
        super().__init__(number, error, worker)
        self.number, self.error, self.worker = number, error, worker
        self.replica = 0

    @property
    def place(self) -> tuple[int, int]:
        """Replica and number, the key by which faults are ordered."""
        return self.replica, self.number


def run_vertices(
    group: Vertices,
    memory: Bytes,
    compute: Compute,
    *,
    floats: Floats,
    only: int | None = None,
    before: int | None = None,
    watch: Callable[[], None] = lambda: None,
    known: dict[int, VertexRun] | None = None,
    log: AccessLog | None = None,
    rows: GroupRows | None = None,
) -> bool:
    """Run vertices of a group as plain Python, in order; return whether none returned false.

    Runs only vertex `only`, or only vertices before number `before`; `watch` is called before each.
    A vertex does not run if `known` has a run of it with the same inputs; all other runs are added
    to `known`. Workers record accesses in `log`; `rows` are those of the group, if known. Raises
    `VertexFault` if a vertex indexes outside a field or raises an exception.
    """
    returned, stores = True, floats.stores if floats.mode else _to_nearest
    has_workers = issubclass(group.cls, MultiVertex)
    with np.errstate(all="ignore"):
        for number, values in described(group, memory, only, rows):
            if before is not None and number >= before:
                continue
            watch()
            run = None
            if known is not None:
                if number not in known:
                    run = VertexRun(group.cls, values)
                elif known[number].is_of(values):
                    returned &= known[number].put(values)
                    continue
            marks = None if run is None else run.marks
            vertex = InterpretedSelf(group.cls, values, stores(number, 0), marks)
            own = True
            if has_workers:
                for worker in range(vertex.num_workers):
                    accesses = None if log is None else log.of_worker(group.cls, values, worker)
                    of_worker = InterpretedSelf(
                        group.cls, values, stores(number, worker), marks, accesses
                    )
                    own &= _run(compute, number, of_worker, worker)
            else:
                own = _run(compute, number, vertex)
            returned &= own
            if known is not None and run is not None:
                run.keep(values, returned=own)
                known[number] = run
    return returned


def _to_nearest(vertex: int, worker: int) -> None:
    """Do nothing, because floats are rounded to nearest by default."""


def _run(compute: Compute, number: int, vertex: InterpretedSelf, *worker: int) -> bool:
    try:
        returned = compute(vertex, *worker)
        return returned is None or bool(returned)
    except (BdbQuit, VertexCompileError):  # the user left the debugger; there is no form to run
        raise
    except Exception as error:
        raise VertexFault(number, error, *worker) from error


def described(
    group: Vertices, memory: Bytes, only: int | None = None, rows: GroupRows | None = None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number of each vertex of a group, and its fields as views of memory."""
    numbers, fields = rows or numbers_and_rows(group, with_state=True)
    names = list(enumerate(group.cls.fields))
    values = [_vectors(field, numbers, typed(memory, field.field.element)) for field in fields]
    for number, own in zip(numbers.tolist(), zip(*values, strict=True), strict=True):
        if only is None or number == only:
            yield number, {name: own[k] for k, name in names}


def _vectors(rows: FieldRows, numbers: Int64, elements: npt.NDArray[Any]) -> Iterator[Any]:
    """Return a field of each vertex, as views of memory: a vector, or a list of them."""
    ends = (rows.start + rows.length).tolist()
    vectors = (elements[a:b] for a, b in zip(rows.start.tolist(), ends, strict=True))
    if rows.field.depth < 2:
        return vectors
    owner = np.searchsorted(numbers, rows.vertex, sorter=(order := np.argsort(numbers)))
    counts = np.bincount(order[owner], minlength=len(numbers))
    return (list(islice(vectors, count)) for count in counts.tolist())


# -- compute sets ----------------------------------------------------------------------------------


class InterpretedSteps:
    """Runs the interpreted vertices of compute sets; `classes` are their classes in each step."""

    def __init__(
        self,
        executable: Executable,
        arena: Arena,
        computes: Mapping[type[Vertex], Compute],
        classes: Sequence[Collection[type[Vertex]]],
    ) -> None:
        self.classes = tuple(frozenset(of_step) for of_step in classes)
        self._arena, self._computes = arena, computes
        self._groups: dict[int, list[Vertices]] = {
            number: [group for group in step.groups if group.cls in classes[number]]
            for number, step in enumerate(executable.steps)
            if isinstance(step, ComputeStep) and classes[number]
        }
        self._returned = [[True] * len(arena.parts) for _ in executable.steps]
        self._rows: dict[tuple[int, int], GroupRows] = {}
        self._known: dict[tuple[int, int], dict[int, VertexRun]] | None = None

    def __iter__(self) -> Iterator[int]:
        """Yield the steps that have interpreted vertices."""
        return iter(self._groups)

    def others(
        self, number: int, parts: Sequence[Moves | Vertices]
    ) -> tuple[Moves | Vertices, ...]:
        """Return the parts of a step that Python does not run."""
        in_python = self.classes[number]
        return tuple(p for p in parts if isinstance(p, Moves) or p.cls not in in_python)

    def returned(self, number: int) -> list[bool]:
        """Return, for each replica, whether no interpreted vertex of a step returned false."""
        return list(self._returned[number])

    def set_returned(self, number: int, returned: Sequence[bool]) -> None:
        """Set the result of the vertices of a step, for each replica."""
        self._returned[number] = list(returned)

    def remember(self, code: Code) -> None:
        """Save the runs of vertices in a launch of strict checks, which may run them again.

        `code` is about to run; if its first launch is that of the vertices, they run again.
        """
        is_first = code.ops.item(0, 2) not in (op.COMPUTE, op.DEFINED)
        self._known = {} if is_first or self._known is None else self._known

    def forget(self) -> None:
        """Discard saved runs."""
        self._known = None

    def run(self, number: int, watch: Callable[[], None]) -> VertexFault | None:
        """Run the interpreted vertices of a step; return the first fault, by replica and vertex.

        Vertices after the fault may not have run. An error in `watch` ends the run.
        """
        first: VertexFault | None = None
        for replica, memory in enumerate(self._arena.parts):
            # Each group has one class, so a later group may contain an earlier vertex.
            for place, group in enumerate(self._groups[number]):
                known = (
                    None if self._known is None else self._known.setdefault((replica, place), {})
                )
                if (number, place) not in self._rows:
                    self._rows[number, place] = numbers_and_rows(group, with_state=True)
                try:
                    self._returned[number][replica] &= run_vertices(
                        group,
                        memory,
                        self._computes[group.cls],
                        before=None if first is None else first.number,
                        watch=watch,
                        floats=self._arena.floats,
                        known=known,
                        log=None if known is None else self._arena.accesses,
                        rows=self._rows[number, place],
                    )
                except VertexFault as fault:
                    fault.replica = replica
                    first = fault
            if first is not None:
                return first
        return None
