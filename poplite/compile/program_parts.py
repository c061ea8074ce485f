"""The parts of programs: found, lowered, numbered.

    programs  ->  parts     compute sets, copies, what the host does, what scalars decide
    parts     ->  lowered   the steps and actions that each becomes
    lowered   ->  numbers   by which ops name those steps and actions

Steps are those of compute sets, then of copies, then the copies around what the host does.  Actions
are those for replicas that disagree, then what Python does alone, then what moves data for the
host.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from poplite.compile.host_steps import (
    HOSTED,
    HostLowering,
    HostStep,
    Place,
    action_of,
    agreement_on,
)
from poplite.compile.lower import lower_compute_sets, lower_copy
from poplite.executable.actions import Action, Equal
from poplite.executable.layout import ArenaLayout
from poplite.executable.step import ComputeStep, CopyStep
from poplite.graph.compute_sets.compute_set import ComputeSet
from poplite.graph.compute_sets.edge_table import EdgeTable
from poplite.graph.graph import Graph
from poplite.program import (
    Call,
    CrossReplicaCopy,
    CycleStamp,
    Execute,
    Mark,
    Program,
    TensorCopy,
    children_first,
    distinct_decisions,
)

AnyCopy = TensorCopy | CrossReplicaCopy


@dataclass(frozen=True, slots=True, eq=False)
class ProgramParts:
    """What programs consist of, each part once.

    Attributes:
        leaves: programs without programs in them.
        compute_sets: those that the leaves execute.
        copies: the leaves that copy between tensors.
        decisions: programs in which a scalar decides what runs.
        hosted: programs that may need the host.
    """

    leaves: Sequence[Program]
    compute_sets: Sequence[ComputeSet]
    copies: Sequence[AnyCopy]
    decisions: Sequence[Program]
    hosted: Sequence[Program]


@dataclass(frozen=True, slots=True, eq=False)
class LoweredParts:
    """Steps and actions by what they were made from, in the order of their numbers.

    Attributes:
        agreements: what Python does where replicas disagree on the scalar that decides.
        actions: what Python does for leaves and decisions that need no data moved.
        host_steps: what Python does between copies.
    """

    compute_sets: Mapping[ComputeSet, ComputeStep]
    copies: Mapping[AnyCopy, CopyStep]
    agreements: Mapping[Program, Equal]
    actions: Mapping[Program, Action]
    host_steps: Mapping[Program, HostStep]

    def all_steps(self) -> tuple[ComputeStep | CopyStep, ...]:
        """Return the steps of the executable."""
        around = (copy for host in self.host_steps.values() for copy in host.copies.values())
        return (*self.compute_sets.values(), *self.copies.values(), *around)

    def all_actions(self) -> tuple[Action, ...]:
        """Return the actions of the executable."""
        hosted = (host.action for host in self.host_steps.values())
        return (*self.agreements.values(), *self.actions.values(), *hosted)

    def priced_programs(self) -> list[Program | None]:
        """Return the program of each action that takes cycles; None for the others."""
        stamps = [each if isinstance(each, CycleStamp) else None for each in self.actions]
        # A Call that only makes sure that the code of its function is there moves nothing.
        moves = [None if isinstance(each, Call) else each for each in self.host_steps]
        return [*[None] * len(self.agreements), *stamps, *moves]


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """The numbers by which ops name steps and actions.

    Attributes:
        steps: step numbers of compute sets and copies.
        host_copies: step numbers of what is copied before or after the host does its part.
        agreements: action numbers, by the program in which a scalar decides.
        actions: action numbers of all other programs.
    """

    steps: Mapping[ComputeSet | AnyCopy, int]
    host_copies: Mapping[tuple[Program, Place], int]
    agreements: Mapping[Program, int]
    actions: Mapping[Program, int]


def parts_of(programs: Iterable[Program]) -> ProgramParts:
    """Find the parts of programs, in the order in which they are first met."""
    listed = list(programs)
    nodes = dict.fromkeys([node for each in listed for node in children_first(each)])
    leaves = [node for node in nodes if node.num_steps and not node.children]
    return ProgramParts(
        leaves=leaves,
        compute_sets=list(
            dict.fromkeys(leaf.compute_set for leaf in leaves if isinstance(leaf, Execute))
        ),
        copies=[leaf for leaf in leaves if isinstance(leaf, AnyCopy)],
        decisions=list(
            dict.fromkeys(step.program for each in listed for step in distinct_decisions(each))
        ),
        hosted=[node for node in nodes if isinstance(node, HOSTED)],
    )


def lower_parts(
    parts: ProgramParts,
    graph: Graph,
    edges_of: Callable[[ComputeSet], EdgeTable],
    layout: ArenaLayout,
    *,
    saved: Sequence[bool],
    keep_marks: bool,
) -> LoweredParts:
    """Lower all parts, and reserve in the layout what they need.

    `saved` says of each compute set whether what it writes is saved first, as vertices may fail in
    the middle of it.  Marks for strict checks are left out unless `keep_marks`.
    """
    host = HostLowering(parts.hosted, graph, layout)  # first, as blocks lie before state
    with_edges = [(compute_set, edges_of(compute_set)) for compute_set in parts.compute_sets]
    compute_steps = lower_compute_sets(with_edges, layout, saved)
    acting = [
        each
        for each in (*parts.leaves, *parts.decisions)
        if keep_marks or not isinstance(each, Mark)
    ]
    agreements = {each: agreement_on(each, layout) for each in parts.decisions}
    actions = {each: action_of(each, layout) for each in acting}
    host_steps = {each: host.lowered(each) for each in parts.hosted}
    return LoweredParts(
        compute_sets=dict(zip(parts.compute_sets, compute_steps, strict=True)),
        copies={copy: lower_copy(copy, layout) for copy in parts.copies},
        agreements={each: it for each, it in agreements.items() if it is not None},
        actions={each: it for each, it in actions.items() if it is not None},
        host_steps={each: it for each, it in host_steps.items() if it is not None},
    )


def numbers_of(lowered: LoweredParts) -> Numbers:
    """Number steps and actions in the order of `all_steps` and `all_actions`."""
    step, action = count(), count()
    return Numbers(
        steps={each: next(step) for each in (*lowered.compute_sets, *lowered.copies)},
        host_copies={
            (program, place): next(step)
            for program, host in lowered.host_steps.items()
            for place in host.copies
        },
        agreements={each: next(action) for each in lowered.agreements},
        actions={each: next(action) for each in (*lowered.actions, *lowered.host_steps)},
    )
