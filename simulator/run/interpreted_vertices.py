"""Run vertices as plain Python, for debugging and to find the line where one stopped.

Breakpoints in `compute` work, and errors have ordinary tracebacks. The
descriptor rows are the same as for compiled code. Numba is not needed.

The outputs of a vertex depend only on its inputs. If strict checks run a vertex again and all its
inputs are unchanged, the results of the first run are written instead::

    first run     x 1 2 3   total 0 -> 6       all vertices run; stores are recorded
    again         x 1 2 3   total 9 -> 6       written: the vertex does not run
                  x 1 2 NaN total 9            runs

An Output element that the first run did not store keeps its value.

A compiled vertex stops if it indexes outside a field, or if its `compute` raises an exception. With
strict checks, or if exceptions may be raised, the elements that its compute set writes in place
have been saved. They are restored, the vertex runs once more here, which raises at the exact line
of `compute`, and memory is restored again, as if the compute set had not run. With fast checks,
elements are not saved, and the error contains only what the compiled vertex recorded.

The error for an exception that `compute` raised is an instance of a poplite class and of the user's
own class. It names the vertex that stopped, the line and the step, and can be caught as either::

    try:
        engine.run()
    except NoRoot as error:                 # class NoRoot(ArithmeticError), say
        error.what                          # "Solve 3 on tile 5: NoRoot: none from 0 to 1"
        error.__cause__                     # the NoRoot that compute raised

It also has the attributes that the exception's own `__init__` set.
"""

from __future__ import annotations

from bdb import BdbQuit
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.errors import (
    ApplicationRuntimeError,
    FloatingPointTrap,
    PopliteError,
    TensorIndexError,
    VertexCompileError,
)
from poplite.executable import encoding as op
from poplite.executable.encoding import Code, Moves
from poplite.executable.executable import Executable
from poplite.executable.parts import ComputeStep, NamedVertex, Vertices
from poplite.frozen import frozen
from poplite.simulator.run.arena import AccessLog, Arena, Bytes, Floats, typed
from poplite.simulator.run.touched import (
    FieldRows,
    GroupRows,
    behind_field,
    numbers_and_rows,
    ranges,
)
from poplite.source import SourceLocation, is_shipped
from poplite.vertex.compute.interpret import calls_in
from poplite.vertex.compute.interpreted_fields import InterpretedSelf, OutsideField, no_count
from poplite.vertex.compute.meaning import FasterForm, FasterForms, meaning_of
from poplite.vertex.from_source import is_generated
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
    A vertex does not run if `known` contains a run of it with the same inputs; all other runs are
    added to `known`. Workers record accesses in `log`; `rows` are those of the group, if known.
    Raises `VertexFault` if a vertex indexes outside a field or raises an exception.
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
                known = None
                if self._known is not None and meaning_of(group.cls).writes_outputs_only:
                    known = self._known.setdefault((replica, place), {})
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


# -- vertices that stopped -------------------------------------------------------------------------


@frozen(eq=False)
class Record:
    """The record that a compiled vertex leaves when it stops.

    Attributes:
        vertex: position of the vertex in its compute set.
        field: position in the vertex class of the field whose index is out of range; RAISED
            if `compute` raised an exception, TRAPPED if arithmetic stopped it.
        index: that index, or the number of requested lanes.
        length: number of elements of the field, or rows of the list; OF_LANES for lanes.
        file: number of the file of the access, for the meaning of the class.
        line: the line of the access; 0 if the record lacks it.
    """

    replica: int
    vertex: int
    field: int
    index: int
    length: int
    file: int
    line: int


@frozen(eq=False)
class StoppedLaunch:
    """The launch of a row in which a vertex stopped."""

    executable: Executable
    code: Code
    row: int
    arena: Arena

    @property
    def step(self) -> ComputeStep:
        """The compute set of the vertex."""
        step = self.executable.steps[self.code.ops[self.row, 1]]
        assert isinstance(step, ComputeStep), "only compute sets have vertices"
        return step

    def raise_fault(
        self,
        record: Record,
        computes: Mapping[type[Vertex], Compute],
        forms: FasterForms,
    ) -> NoReturn:
        """Restore memory and raise the error that a record's vertex raises as plain Python.

        `forms` are the faster forms that ran.
        """
        step, arena = self.step, self.arena
        form = forms.get(self._vertex(record.vertex).vertex_class)
        if not step.may_fault:
            raise self._outside(record, form)
        move(step.restore, arena)
        move(step.gather, arena)
        try:
            for group in step.groups:
                if group.cls is self._vertex(record.vertex).vertex_class:
                    memory = arena.parts[record.replica]
                    compute = computes[group.cls]
                    run_vertices(group, memory, compute, only=record.vertex, floats=arena.floats)
        except VertexFault as fault:
            fault.replica = record.replica
            self.raise_interpreted_fault(fault)
        finally:
            move(step.restore, arena)
        raise self._only_compiled(record, form)

    def raise_interpreted_fault(self, fault: VertexFault) -> NoReturn:
        """Restore memory and raise the error of a vertex that ran as plain Python.

        The error names the vertex, the line of `compute` and the step; if `compute` raised an
        exception, the error is also an instance of the exception's class.
        """
        move(self.step.restore, self.arena)
        vertex, error = self._vertex(fault.number), fault.error
        line, *callers = calls_in(error.__traceback__)
        at, added = _places(vertex, line)
        calls = [f"called from {caller}" for caller in callers]
        who = self._named(vertex, fault.replica)
        who += "" if fault.worker is None else f", worker {fault.worker}"
        parts: dict[str, Any] = {
            "at": at,
            "where": self._where(),
            "found": "\n".join([*calls, added]),
        }
        if isinstance(error, OutsideField):
            label = error.label.removeprefix(f"{vertex.vertex_class.__name__}.")
            field, _, in_list = label.partition("[")
            row = int(in_list[:-1]) if in_list else None
            if behind := self._behind(fault.number, field, row):
                parts["found"] = "\n".join([*calls, f"'{error.label}' is {behind}", added])
            raise TensorIndexError(f"{who}: {error.what}", fix=error.fix, **parts) from None
        if isinstance(error, FloatingPointTrap):
            what = f"{who}: {error.what}"
            raise FloatingPointTrap(what, code=error.code, fix=error.fix, **parts) from None
        text = f": {said}" if (said := _text_of(error)) else ""
        raise raised_error(
            error,
            f"{who}: {type(error).__name__}{text}",
            fix="pass Engine(..., interpret=True), with breakpoint() above that line, to see all "
            "values",
            **parts,
        ) from error

    def _outside(self, record: Record, form: FasterForm | None) -> TensorIndexError:
        """Return the error for an index out of range, if the vertex cannot be replayed."""
        vertex = self._vertex(record.vertex)
        meaning, line = meaning_of(vertex.vertex_class), vertex.vertex_class.location
        at, added = _places(vertex, meaning.place(record.file, record.line) or line)
        found = [*self._behind_record(record), added]
        found += [form.ran] if form else []
        found.append("memory is now undefined, since fast checks do not save it")
        return TensorIndexError(
            f"{self._named(vertex, record.replica)}: {_index_text(vertex.vertex_class, record)}",
            at=at,
            where=self._where(),
            found="\n".join(found),
            fix='pass checks="strict" to preserve memory'
            if record.line
            else 'pass checks="strict" to get the line and to preserve memory',
        )

    def _only_compiled(self, record: Record, form: FasterForm | None) -> PopliteError:
        """Return the error for a vertex that stopped when compiled, but not as plain Python.

        Both forms compute the same bits, so the vertex read data that another vertex wrote before
        the replay, unless a faster form violates its contract.
        """
        vertex = self._vertex(record.vertex)
        cls = vertex.vertex_class
        found: list[str] = []
        kind: type[PopliteError] = ApplicationRuntimeError
        what, cause = "compute raised an exception", "a condition"
        if record.field == op.TRAPPED:
            what = "a floating-point exception stopped it"
        elif record.field != op.RAISED:
            kind, cause = TensorIndexError, "an index"
            what = _index_text(cls, record)
            found = self._behind_record(record)
        at, added = _places(vertex, cls.location)
        found.append(f"{added}; as plain Python, it does not stop")
        fix = f"use checks='strict' to find {cause} that depends on data that another vertex writes"
        if form is not None:
            found.append(form.ran)
            fix = f"call poplite.testing.check_faster({cls.__name__}), or pass faster=False"
        what = f"{self._named(vertex, record.replica)}: {what}"
        return kind(what, at=at, where=self._where(), found="\n".join(found), fix=fix)

    def _vertex(self, number: int) -> NamedVertex:
        return self.executable.origins[int(self.code.ops[self.row, 1])][number]

    def _named(self, vertex: NamedVertex, replica: int) -> str:
        """Return the name of a vertex, with its replica if there are several."""
        return f"{vertex}, replica {replica}" if len(self.arena.parts) > 1 else str(vertex)

    def _where(self) -> str:
        number = int(self.code.step_numbers[self.row])
        return self.code.step_text(number, f"Execute '{self.step.name}'")

    def _behind(self, vertex: int, field: str, row: int | None) -> str:
        """Return text for the elements of a field, or of one row; empty if there are none."""
        return behind_field(self.step, vertex, field, row, self.executable.layout)

    def _behind_record(self, record: Record) -> list[str]:
        """Return the line that names the tensor of a fault's field, if there is one."""
        cls = self._vertex(record.vertex).vertex_class
        field = list(cls.fields)[record.field]
        behind = self._behind(record.vertex, field, None)
        return [f"'{cls.__name__}.{field}' is {behind}"] if behind else []


def _places(vertex: NamedVertex, line: SourceLocation) -> tuple[SourceLocation, str]:
    """Return the user's line for a fault, and text for a second line.

    The user's line is that of `compute` for a class that the user wrote, or the line that added
    the vertex for a class of poplite.
    """
    if is_shipped(line) or is_generated(vertex.vertex_class):
        return vertex.location, f"compute of the vertex: {line}"
    return line, f"the vertex was added at {vertex.location}"


def _index_text(cls: type[Vertex], record: Record) -> str:
    field = list(cls.fields.values())[record.field]
    if record.length == op.OF_LANES:
        return f"'{cls.__name__}.{field.name}': {no_count(record.index)}"
    of = "rows or elements" if field.depth == 2 else "elements"
    return f"'{cls.__name__}.{field.name}': index {record.index} of {record.length} {of}"


# -- users' exceptions -----------------------------------------------------------------------------


def raised_error(
    raised: Exception, what: str, at: SourceLocation | None = None, **parts: Any
) -> ApplicationRuntimeError:
    """Return the error for an exception that the user's code raised.

    >>> error = raised_error(KeyError("key"), "Look 0 on tile 0: KeyError: 'key'")
    >>> isinstance(error, KeyError), str(error)
    (True, "Look 0 on tile 0: KeyError: 'key'")
    """
    kind: Any = type(raised)
    try:
        error = _class_of(kind)(what, at=at, **parts)
    except Exception:  # the class cannot be a base class, or needs arguments
        error = ApplicationRuntimeError(what, at=at, **parts)
    vars(error).update({k: v for k, v in vars(raised).items() if k not in vars(error)})
    return error


def _text_of(raised: Exception) -> str:
    """Return the text of an exception, whose `__str__` is the user's and may fail.

    >>> _text_of(ValueError("no root")), _text_of(ValueError())
    ('no root', '')
    """
    try:
        return str(raised)
    except Exception as error:
        return f"its text cannot be produced: {type(error).__name__}"


def _class_of(raised: Any) -> type[ApplicationRuntimeError]:
    """Return the error class that derives from poplite's class and from the user's class."""
    base = ApplicationRuntimeError
    for known in raised.__subclasses__():  # not kept in a cache: it would keep user classes alive
        if known.__bases__ == (base, raised):
            found: type[ApplicationRuntimeError] = known
            return found
    builtin: Any = next(cls for cls in raised.__mro__ if cls.__module__ == "builtins")

    def new(cls: type[Exception], *args: object, **parts: object) -> Any:
        return builtin.__new__(cls)

    def reduce(self: ApplicationRuntimeError) -> tuple[object, ...]:
        return _rebuild, (raised, self.what, self.at, self.where, self.found, self.fix)

    members = {"__module__": base.__module__, "__new__": new, "__reduce__": reduce}
    return type(f"{base.__name__}[{raised.__name__}]", (base, raised), members)


def _rebuild(raised: Any, what: str, *parts: Any) -> ApplicationRuntimeError:
    names = ("at", "where", "found", "fix")
    return _class_of(raised)(what, **dict(zip(names, parts, strict=True)))
