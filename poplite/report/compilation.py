"""The compiled part of a report: machine, graph, programs, their accesses, memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import field
from typing import ClassVar, Literal

import numpy as np

from poplite.display import ReportPart
from poplite.errors import ProfilingDisabled
from poplite.frozen import frozen
from poplite.machine.target import MOST_REPLICAS, Target
from poplite.report.execution import ExecutionStep
from poplite.report.memory import LivenessStep, Memory, MemoryVariable, Operation, TileMemory
from poplite.report.per_tile import MOST_PIECES, LazySequence, PerPiece, PerTile, TilePerPiece
from poplite.report.program_tree import Programs
from poplite.report.validate import (
    LARGEST_ELEMENT,
    MOST_TOTAL,
    Known,
    Rule,
    checked,
    in_compute_sets,
    in_program,
    is_element_type,
)
from poplite.source import Line, SourceFile

# -- accesses of steps -----------------------------------------------------------------------------
# Which tiles hold a variable's elements, and which steps read and write it.
#
#     variable   x      float32[8]     elements [0, 4) on tile 0, [4, 8) on tile 1
#     step       Copy 'x' -> 'y'       reads 32 B of x, writes 32 B of y
# Pictures of variables and of the dataflow need these numbers if there is no graph.


def _are_pieces(variable: Variable, known: Known) -> bool:
    """Return whether the pieces of a variable ascend within it, each on one tile or none."""
    if variable.first is None or variable.tiles is None:
        return variable.first is variable.tiles
    first, tiles, count = variable.first, variable.tiles, variable.first.num_tiles
    if count != tiles.num_tiles or not 0 < count <= MOST_PIECES or first.num_used < count - 1:
        return False  # only the first piece begins at 0
    if count == 1:  # of nearly all small variables
        is_at_0 = not first.num_used or first.values.only == 0
        return is_at_0 and math.prod(variable.shape) > 0 and tiles.most < known.tiles
    if first.num_used > 2 and first.values.only is not None:
        return False  # several equal numbers do not ascend
    ends = np.append(first.array(), math.prod(variable.shape))
    return bool(ends[0] == 0 and (np.diff(ends) > 0).all()) and tiles.most < known.tiles


def _are_places(places: tuple[tuple[str, int], ...], known: Known) -> bool:
    # The place of a condition before the first step is 0 if all replicas have the same value.
    return all(0 <= number <= known.programs.get(name, -1) for name, number in places)


@frozen
class Variable:
    """A variable or constant of one replica.

    Attributes:
        name: its name, with scopes.
        element_type: the type of its elements, such as "FLOAT".
        shape: its shape.
        constant: whether programs only read it.
        at: the user's line.
        first: the first element of each piece, which is on one tile; None if unknown.
        tiles: the tile of each piece, -1 for none; None if unknown.
    """

    RULES: ClassVar[tuple[Rule, ...]] = (
        ("pieces must ascend, each on a tile of the target", _are_pieces),
    )

    name: str
    element_type: str = field(metadata=checked(is_element_type))
    shape: tuple[int, ...]
    constant: bool
    at: Line
    first: PerPiece | None = None
    tiles: TilePerPiece | None = None


@frozen
class Access:
    """The bytes of a variable that one execution of a step reads and writes.

    Attributes:
        variable: its position in `Compilation.variables`.
        field: the field of vertices to which it is connected; empty for other steps.
        read: bytes read; an element that several vertices read counts once for each.
        written: bytes written.
    """

    variable: int = field(metadata=checked(lambda number, known: number < known.variables))
    field: str
    read: int
    written: int


@frozen
class StepAccesses:
    """The variables that a step reads and writes, in all its places in programs.

    Attributes:
        name: the name of the compute set, the source and target of a copy, or the work of the host;
            for a condition, its kind, such as "If".
        kind: the kind of the step; "control" for a condition.
        places: program, and number of the step in it from 1; for a condition, the first step that
            depends on it.
        compute_set: position in `Compilation.compute_sets`; None unless it is an Execute.
        at: the user's line.
        accesses: its reads and writes.
    """

    name: str
    kind: Literal["execute", "copy", "host", "control"]
    places: tuple[tuple[str, int], ...] = field(metadata=checked(_are_places))
    compute_set: int | None = field(metadata=checked(in_compute_sets))
    at: Line
    accesses: tuple[Access, ...]


@frozen
class GraphCounts:
    """The size of one replica of a graph.

    Attributes:
        num_vertices: vertices of the compute sets that programs execute.
        num_edges: connected fields of these vertices; each row of a list of edges is one.
        num_variables: variables and constants.
        num_compute_sets: compute sets that programs execute.
        elements_per_tile: minimum and maximum number of variable elements on one tile.
    """

    num_vertices: int
    num_edges: int
    num_variables: int
    num_compute_sets: int
    elements_per_tile: tuple[int, int]


@frozen
class JoinedCopies:
    """Adjacent Copies of a Sequence that could be one Copy, as none depends on another.

    Attributes:
        program_name: the name of the program that contains them.
        rows: their rows in that program's code.
        cycles: the cycles of one execution as one Copy.
        code_bytes: the code of that Copy on the fullest tile.
        apart_bytes: the code of the separate Copies on the fullest tile.
    """

    program_name: str = field(metadata=checked(in_program))
    rows: tuple[int, ...]
    cycles: int
    code_bytes: int
    apart_bytes: int


@frozen
class VertexType:
    """A vertex class.

    Attributes:
        name: the name of the class.
        vertices: the number of its vertices.
    """

    name: str
    vertices: int


@frozen
class ComputeSetVertices:
    """The vertices of one class of a compute set that were added at one line.

    Attributes:
        type: the name of the class.
        count_by_tile: the number of vertices on each tile.
        at: the user's line.
    """

    type: str
    count_by_tile: PerTile
    at: Line


@frozen
class ComputeSet:
    """A compute set.

    Attributes:
        name: its name.
        vertices: the vertices that run in it.
    """

    name: str
    vertices: tuple[ComputeSetVertices, ...]


@frozen
class Tile:
    """A tile.

    Attributes:
        number: its number.
        memory: the contents of its memory.
    """

    number: int
    memory: TileMemory


@frozen
class LoweredVariables:
    """The contents of the tiles.

    Attributes:
        memory: the memory of all tiles.
    """

    memory: Memory

    def for_tile(self, tile: int) -> tuple[MemoryVariable, ...]:
        """Return the contents of a tile."""
        return self.memory.variables(tile)


@frozen
class Compilation(ReportPart):
    """The compiled graph and programs.

    Attributes:
        target: the machine of one replica; all numbers are those of one replica.
        replicas: the number of replicas of the graph, each with separate tiles.
        graph: the size of the graph.
        vertex_types: its vertex classes.
        compute_sets: its compute sets.
        programs: its programs by name, as trees.
        modelled: the contents of the tiles' memory; None if it is not modelled.
        operations: the operations that functions of `poplite.ops` recorded, in order.
        options: the engine options that the user passed, with their values.
        planned: the cost of each place of each program in one run of it, in the order of
            `Execution.steps`. Every branch is taken whenever it is reached, and loops that end
            depending on data have one iteration. Empty if anything has run.
        variables: variables and constants, with the tiles of their elements; empty in reports saved
            without them.
        accesses: the accesses of steps to these, in the order of the programs; empty in reports
            saved without them.
        joined: adjacent Copies that could be one Copy; empty in reports saved without them.
        sources: the files of the user's lines that are known as they were when the lines were
            recorded; they do not make reports different.
    """

    RULES: ClassVar[tuple[Rule, ...]] = (
        (
            "the number of variables must be that of its graph",
            lambda each, _: len(each.variables) in (0, each.graph.num_variables),
        ),
        (
            "the total of the bytes of variables is too large",
            lambda each, _: (
                sum(math.prod(one.shape) for one in each.variables) * LARGEST_ELEMENT < MOST_TOTAL
            ),
        ),
    )

    target: Target = field(metadata={"lends": True})
    replicas: int = field(metadata=checked(lambda number, _: 1 <= number <= MOST_REPLICAS))
    graph: GraphCounts
    vertex_types: tuple[VertexType, ...]
    compute_sets: Sequence[ComputeSet]
    programs: Programs = field(repr=False, metadata={"lends": True})
    modelled: Memory | None = field(repr=False)
    operations: tuple[Operation, ...] = ()
    options: tuple[tuple[str, str], ...] = ()
    planned: Sequence[ExecutionStep] = field(default=(), repr=False)
    variables: Sequence[Variable] = field(default=(), repr=False)
    accesses: Sequence[StepAccesses] = field(default=(), repr=False)
    joined: Sequence[JoinedCopies] = field(default=(), repr=False)
    sources: Sequence[SourceFile] = field(default=(), repr=False, compare=False)

    @property
    def program_names(self) -> list[str]:
        """The names of programs in the order in which they were passed.

        In saved reports programs are sorted by name; their order is reconstructed from the memory
        steps.
        """
        accessed = (name for step in self.accesses for name, _ in step.places)
        return list(dict.fromkeys((*accessed, *self.programs)))

    @property
    def memory(self) -> Memory:
        """The contents of the tiles' memory."""
        if self.modelled is None:
            raise ProfilingDisabled(
                "report.compilation: memory is not modelled here",
                found="the graph was compiled with debug.instrument=False",
                fix="leave that option out: Engine(graph, program)",
            )
        return self.modelled

    @property
    def tiles(self) -> Sequence[Tile]:
        """Every tile with its memory."""
        memory = self.memory.tiles()
        return LazySequence(len(memory), lambda tile: Tile(tile, memory[tile]))

    @property
    def liveness_program_steps(self) -> Sequence[LivenessStep]:
        """Memory that each step needs in addition to always-live memory."""
        return self.memory.liveness()

    @property
    def lowered_variables(self) -> LoweredVariables:
        """The contents of the tiles."""
        return LoweredVariables(self.memory)

    def always_live_variables_for_tile(self, tile: int) -> list[MemoryVariable]:
        """Return the always-live variables of a tile."""
        return [each for each in self.memory.variables(tile) if each.is_always_live]
