"""The texts of errors of strict checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from poplite.errors import (
    PopliteError,
    UninitializedReadError,
    UnwrittenOutputWarning,
    VertexDefinitionError,
    WorkerRaceError,
)
from poplite.executable import encoding as op
from poplite.executable.encoding import Code
from poplite.executable.executable import Executable
from poplite.executable.parts import ComputeStep, NamedVertex, StoredVariable, action_text
from poplite.simulator.run.arena import Conflict
from poplite.simulator.run.touched import FieldElements, element_name, gathered_from
from poplite.simulator.strict.looks import Mask
from poplite.simulator.strict.shadow import CopyOrigin, UnwrittenCopies
from poplite.text import amount, same_problem
from poplite.vertex.compute.meaning import FasterForm


@dataclass(frozen=True, eq=False)
class ProgramRow:
    """A row of a program that is checked; `calls` are the rows of open CALLs.

    `copies` gives the origins of unwritten elements.
    """

    executable: Executable
    code: Code
    row: int
    calls: tuple[int, ...]
    copies: UnwrittenCopies | None = None
    _launches: dict[tuple[int, ...], Code] = field(default_factory=dict, repr=False, compare=False)

    def is_at(self, code: Code, row: int, calls: Sequence[int]) -> bool:
        """Return whether this is the same row of a program, called from the same rows."""
        return self.row == row and self.code is code and self.calls == tuple(calls)

    @cached_property
    def step(self) -> int:
        """Number of the lowered step that a LAUNCH runs."""
        return int(self.code.ops[self.row, 1])

    @cached_property
    def end(self) -> int:
        """The row after the launches of the step, without the sum of slots."""
        return self.code.end_of_launches(self.row)

    def launches(self, *phases: int) -> Code:
        """Return the given phases of the step as a program, in the given order."""
        if phases not in self._launches:
            ops = [*([op.LAUNCH, self.step, phase, 0] for phase in phases), [op.END, 0, 0, 0]]
            self._launches[phases] = replace(
                self.code,
                ops=np.array(ops, np.int64),
                step_numbers=np.full(len(ops), self.step_number),
                step_rows=np.zeros(0, np.int64),
                num_loops=0,
                num_functions=0,
            )
        return self._launches[phases]

    @property
    def step_number(self) -> int:
        """Number of the program's step."""
        return int(self.code.step_numbers[[self.row, *self.calls]].sum())

    def __str__(self) -> str:
        number = self.step_number
        kind = int(self.code.ops[self.row, 0])
        if kind == op.LAUNCH:
            return self.code.step_text(number, f"Execute '{self._step().name}'")
        if kind == op.CALLBACK:
            action = self.executable.actions[int(self.code.ops[self.row, 1])]
            return self.code.step_text(number, action_text(action))
        return self.code.step_text(number, "a scalar", decides=True)

    def _step(self) -> ComputeStep:
        step = self.executable.steps[self.step]
        assert isinstance(step, ComputeStep)
        return step

    def _vertex(self, field: FieldElements, number: int) -> NamedVertex:
        return self.executable.origins[self.step][field.vertex_of(number)]

    def _of_replica(self, replica: int) -> str:
        return f", replica {replica}" if self.executable.layout.replicas > 1 else ""

    def _element(self, field: FieldElements, number: int) -> tuple[str, StoredVariable]:
        """Return the name of an element in the graph, and its variable."""
        variable, index = self.executable.layout.variable_at(self._byte(field, number))
        return element_name(variable, index), variable

    def _origin(self, position: int) -> CopyOrigin:
        """Return the origin of an unwritten element, by its first byte."""
        assert self.copies is not None
        return self.copies.origin(position)

    def _byte(self, field: FieldElements, number: int) -> int:
        """Return the first byte of an element of a variable."""
        byte = int(field.elements[number]) * field.size
        if byte >= self.executable.layout.temporary_base:
            byte = int(gathered_from(self._step().gather, np.array([byte]))[0])
        return byte

    # -- errors ------------------------------------------------------------------------------------

    def undecided(self, position: int) -> UninitializedReadError:
        """Return the error for a scalar, by first byte, used in a decision before it is written."""
        origin = self._origin(position)
        return UninitializedReadError(
            f"{origin.missed}{origin.copied} decides what runs next{origin.lack}",
            at=origin.variable.location,
            where=str(self),
            found="\n".join([*origin.passed, _MEMORY]),
            fix=origin.fix("in an earlier step"),
        )

    def dependent(self, field: FieldElements, number: int, value: str) -> str:
        """Return text for a result that depends on unwritten elements."""
        name, _ = self._element(field, number)
        return f"{field.name(number)}, which is {name}, depends on it: {value} with current memory"

    def needed_hole(
        self, field: FieldElements, number: int, replica: int, count: int, why: str
    ) -> UninitializedReadError:
        """Return the error for an unwritten element that a result depends on.

        `count` is the number of unwritten elements of the field in all vertices; `why` describes
        the result.
        """
        vertex = self._vertex(field, number)
        name, _ = self._element(field, number)
        origin = self._origin(self._byte(field, number))
        lines = [
            *origin.passed,
            origin.made,
            why,
            f"{amount(count, 'element')} of '{field.cls.__name__}.{field.field.name}' "
            f"{'is' if count == 1 else 'are'} not written",
            f"compute of the vertex: {vertex.vertex_class.location}",
        ]
        return UninitializedReadError(
            f"{vertex}{self._of_replica(replica)} reads {field.name(number)}, which is {name}"
            f"{origin.copied}{origin.lack}",
            at=vertex.location,
            where=str(self),
            found="\n".join(lines),
            fix=origin.fix("in an earlier step or by engine.write"),
        )

    def read_output(self, field: FieldElements, number: int, why: str) -> UninitializedReadError:
        """Return the error for a result that depends on the old values of Outputs."""
        vertex = self._vertex(field, number)
        name, _ = self._element(field, number)
        return UninitializedReadError(
            f"{vertex} reads an Output: {field.name(number)}, which is {name}, depends on it",
            at=vertex.location,
            where=str(self),
            found=f"{why}\ncompute of the vertex: {vertex.vertex_class.location}",
            fix="declare it InOut, or write it before it is read",
        )

    def worker_race(
        self, field: FieldElements, number: int, replica: int, count: int, conflict: Conflict
    ) -> WorkerRaceError:
        """Return the error for a worker that depends on another worker, or overwrites its result.

        `count` is the number of elements of the field with such a conflict; only this one is shown.
        """
        name, _ = self._element(field, number)
        vertex = self._vertex(field, number)
        more = f"; {same_problem(count - 1, 'more element', ' of that field')}"
        does, did = _CONFLICTS[conflict.kind]
        return WorkerRaceError(
            f"{vertex}{self._of_replica(replica)}: worker {conflict.worker} {does} "
            f"{field.name(number)}, which worker {conflict.other} {did}",
            at=vertex.vertex_class.location,
            where=str(self),
            found=f"the vertex was added at {vertex.location}; the element is {name}"
            + (more if count > 1 else ""),
            fix="let each worker write its own elements, such as partials[worker], and add them "
            "up in the next compute set",
        )

    def other_form(
        self,
        form: FasterForm,
        field: FieldElements,
        number: int,
        replica: int,
        count: int,
        defined: str,
        faster: str,
        before: str,
    ) -> VertexDefinitionError:
        """Return the error for a faster form that differs from its definition.

        `count` is the number of results of the field that differ; the values are those of one of
        them. If the field is an Output, the value was `before` at first.
        """
        name, _ = self._element(field, number)
        vertex = self._vertex(field, number)
        more = f"; {amount(count - 1, 'more element')} of that field" if count > 1 else ""
        more += " differ" if count > 2 else " differs" if count == 2 else ""
        return self._unequal(
            [form],
            f"{vertex}{self._of_replica(replica)}: {field.name(number)} is {defined} in compute, "
            f"but {faster} in the faster form {form}",
            f"the vertex was added at {vertex.location}; the element is {name}{more}"
            + ("" if field.field.reads else f"\nits previous value was {before} in both forms"),
        )

    def faster_fault(
        self, forms: Sequence[FasterForm], error: PopliteError
    ) -> VertexDefinitionError:
        """Return the error for a step that ends differently with its faster forms.

        An error in a vertex names its form; a different result may be due to any form.
        """
        forms = [each for each in forms if each.ran in error.found] or forms
        which = "the faster form" if len(forms) == 1 else "one of the faster forms"
        names = ", ".join(map(str, forms))
        return self._unequal(forms, f"in {which} {names} only: {error.what}", error.found)

    def _unequal(self, forms: Sequence[FasterForm], what: str, found: str) -> VertexDefinitionError:
        checks = " or ".join(
            f"poplite.testing.check_faster({each.vertex.__name__})" for each in forms
        )
        return VertexDefinitionError(
            what,
            at=forms[0].location,
            where=str(self),
            found=found,
            fix=f"{checks} finds the smallest fields that differ; "
            "Engine(..., faster=False) runs compute",
        )

    # -- warnings ----------------------------------------------------------------------------------

    def kept_output(self, field: FieldElements, kept: Mask) -> UnwrittenOutputWarning:
        """Return the warning about an Output that retains old values in `kept`, bool[elements]."""
        number = int(np.flatnonzero(kept)[0])
        vertex = self._vertex(field, number)
        name, variable = self._element(field, number)
        lines = [f"that is {name}, of the variable made at {variable.location}"]
        if (more := int(kept.sum()) - 1) > 0:
            lines.append(same_problem(more, "more element", " of that field"))
        lines.append("here they retain their values; on a machine they may become undefined")
        return UnwrittenOutputWarning(
            f"{vertex} leaves {field.name(number)} unwritten",
            at=vertex.location,
            where=str(self),
            found="\n".join(lines),
            fix=f"write every element, or declare {field.field.name} InOut",
        )


_MEMORY = "memory is zero there now; on a machine it is undefined"

_CONFLICTS = {
    op.READ_WRITTEN: ("reads", "wrote"),
    op.CHANGED_WRITTEN: ("changes", "wrote"),
    op.WROTE_READ: ("writes", "read"),
}
"""The access of a worker to an element, and the earlier access of the other one."""
