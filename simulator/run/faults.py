"""Faults of vertices: restore memory, and raise an error that names the line.

A vertex stops if it indexes outside a field, or if its `compute` raises an exception. With strict
checks, or if exceptions may be raised, the elements that its compute set writes in place have been
saved. They are restored, the vertex runs once more as plain Python, which raises at the exact line
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

from collections.abc import Mapping
from typing import Any, NoReturn

from poplite.errors import (
    ApplicationRuntimeError,
    FloatingPointTrap,
    PopliteError,
    TensorIndexError,
)
from poplite.executable import encoding as op
from poplite.executable.encoding import Code
from poplite.executable.executable import Executable
from poplite.executable.steps import ComputeStep, NamedVertex
from poplite.frozen import frozen
from poplite.simulator.run.arena import Arena
from poplite.simulator.run.interpreted_vertices import (
    Compute,
    VertexFault,
    move,
    run_vertices,
)
from poplite.simulator.run.touched import behind_field
from poplite.source import SourceLocation, is_shipped
from poplite.vertex.compute import FasterForm, FasterForms, OutsideField, calls_in, no_count
from poplite.vertex.from_source import is_generated
from poplite.vertex.vertex import Vertex


@frozen(eq=False)
class Record:
    """The record that a compiled vertex leaves when it stops.

    Attributes:
        vertex: position of the vertex in its compute set.
        field: position in the vertex class of the field whose index is out of range; RAISED
            if `compute` raised an exception, TRAPPED if arithmetic stopped it.
        index: that index, or the number of requested lanes.
        length: number of elements of the field, or rows of the list; OF_LANES for lanes.
    """

    replica: int
    vertex: int
    field: int
    index: int
    length: int


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
        at, added = _places(vertex, vertex.vertex_class.location)
        found = [*self._behind_record(record), added]
        found += [form.ran] if form else []
        found.append("memory is now undefined, since fast checks do not save it")
        return TensorIndexError(
            f"{self._named(vertex, record.replica)}: {_index_text(vertex.vertex_class, record)}",
            at=at,
            where=self._where(),
            found="\n".join(found),
            fix='pass checks="strict" to get the line and to preserve memory',
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
