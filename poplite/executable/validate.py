"""Check every number of a loaded executable that compiled code would trust.

    moves       blocks and pieces are inside the arena
    vertices    all elements of every field are inside the arena; tables have all rows' entries
    ops         rows, steps, phases, actions, loops and scalars exist; calls end

Checks are vectorized, so a million vertices take milliseconds.  A file may still compute nonsense,
but it cannot make the simulator read or write outside its memory.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.arrays.series import Listed, Series, limits
from poplite.codec.file_formats import Malformed, at, shown
from poplite.cost.step_cost import StepCost, VertexCosts
from poplite.executable import encoding as op
from poplite.executable.encoding import COUNT_WORD, PIECE_WORDS, RECORD_WORDS, Code, Moves
from poplite.executable.executable import Executable
from poplite.executable.parts import (
    ALIGNMENT,
    MOST_PIECES,
    Action,
    ArenaBlock,
    ArenaLayout,
    ComputeStep,
    CopyStep,
    HostAction,
    HostTensor,
    Origins,
    RowTransfer,
    Stamp,
    StoredVariable,
    Transfer,
)
from poplite.executable.program_trees import program_trees
from poplite.executable.validate_code import check_code, check_vertex_tiles, check_vertices
from poplite.graph.compute_sets.perf_estimates import MOST
from poplite.graph.space import COMMON, Variable
from poplite.machine.target import MOST_REPLICAS
from poplite.report.memory import Category
from poplite.report.validate import Known, check_parts
from poplite.types import UNSIGNED_INT
from poplite.vertex.fields import WORDS, fields_of
from poplite.vertex.vertex import Vertex

CHECKED = (
    *("steps", "layout", "origins", "programs", "costs", "action_costs", "memory"),
    *("operations", "joined"),
)
"""Fields of an executable that contain no tensors or blocks of the host."""

CATEGORIES = frozenset(get_args(Category))
"""Categories that executables may have; reports from other versions may have others."""

FLOAT_MODES = 1 << 6
"""Number of modes of floating-point arithmetic: all combinations of its bits."""

MOST_BYTES = 1 << 56
"""Maximum size of an arena in bytes, so that these checks compute positions in 64 bits."""


def validate(executable: Executable) -> None:
    """Check an executable from a file, whose types are correct, but whose numbers are unchecked."""
    with at(".layout"):
        _check_layout(executable.layout, executable.target.tiles)
    arena = executable.layout.size_bytes
    for number, step in enumerate(executable.steps):
        with at(f".steps[{number}]"):
            if isinstance(step, CopyStep):
                _check_copy(step, executable.layout)
            else:
                _check_compute(step, arena)
    sets = [step for step in executable.steps if isinstance(step, ComputeStep)]
    if tuple(map(type, executable.steps[: len(sets)])) != (ComputeStep,) * len(sets):
        raise Malformed("steps: compute sets must precede copies")
    if len(executable.origins) != len(sets):
        raise Malformed(
            f"origins: {len(sets)} compute sets must have them; found {len(executable.origins)}"
        )
    for number, (origins, step) in enumerate(zip(executable.origins, sets, strict=True)):
        with at(f".origins[{number}]"):
            _check_origins(origins, step.num_vertices)
    if not executable.float_modes or not _all_below(executable.float_modes, FLOAT_MODES):
        raise Malformed(f"float_modes: {executable.float_modes!r:.60} are not valid")
    if not executable.programs:
        raise Malformed("it has no programs")
    for name, code in executable.programs.items():
        with at(f".programs[{name!r}]"):
            check_code(
                code,
                executable.steps,
                executable.float_modes,
                num_actions=len(executable.actions),
                arena=arena,
            )
    _check_costs(executable)
    _check_joined(executable)
    known = Known.of(
        program_trees(executable),
        executable.memory,
        tiles=executable.target.tiles,
        compute_sets=len(executable.origins),
    )
    _check_trees(executable, known)
    _check_parts_of_reports(executable, known)
    for field in dataclasses.fields(executable):
        if field.name not in CHECKED:
            with at(f".{field.name}"):
                _check_deep(getattr(executable, field.name), arena)


def _check_joined(executable: Executable) -> None:
    """Check that joined Copies are Copies with known costs, and check the cost of each join."""
    steps = executable.steps[: len(executable.costs)]
    for number, joined in enumerate(executable.joined):
        with at(f".joined[{number}]"):
            if len(joined.steps) < 2 or not _all_below(joined.steps, len(steps)):
                raise Malformed(f"steps {joined.steps!r:.60} are not valid")
            if not all(isinstance(steps[each], CopyStep) for each in joined.steps):
                raise Malformed("a compute set is joined")
            check_copy_cost(joined.cost)


def _check_trees(executable: Executable, known: Known) -> None:
    """Check that the trees of programs, on which reports rely, contain all steps with costs."""
    for name, code in executable.programs.items():
        with at(f".programs[{name!r}]"):
            for row in _costly_rows(executable, code):
                if (name, row) not in known.rows:
                    raise Malformed(f"row {row:,} is not a valid step of the program")
            _check_numbers(code, known.programs[name])


def _check_parts_of_reports(executable: Executable, known: Known) -> None:
    """Check the parts that reports copy: memory, operations, and pairs of tiles."""
    memory = executable.memory
    check_parts(executable, known, ("costs", "action_costs", "memory", "operations", "joined"))
    for number, each in enumerate(() if memory is None else memory.held):
        if each.category not in CATEGORIES:
            what = f"{shown(each.category)} is not a category of things in memory"
            raise Malformed(f"memory.held[{number}]: {what}")
    acting = {name: set(code.acting_rows) for name, code in executable.programs.items()}
    for number, step in enumerate(() if memory is None else memory.steps):
        if not acting[step.program].issuperset(step.rows):
            raise Malformed(f"memory.steps[{number}]: rows {step.rows!r:.60} do no work")


def _check_numbers(code: Code, count: int) -> None:
    """Check that steps are numbered in tree order; a call adds the steps of its function."""
    if code.num_steps != count:
        raise Malformed(f"num_steps must be {count:,}; found {code.num_steps:,}")
    _check_within(code.step_numbers, count)  # their sums must not wrap around
    _check_within(code.first_numbers, count)


def _check_within(numbers: npt.NDArray[np.int64], count: int) -> None:
    low, high = int(numbers.min()), int(numbers.max())
    if not 0 <= low <= high <= count:
        raise Malformed(f"step_numbers must be from 0 to {count:,}; found {low:,} to {high:,}")


def _costly_rows(executable: Executable, code: Code) -> list[int]:
    """Return the rows of steps and actions with known costs."""
    works = code.step_rows[code.ops[code.step_rows, 1] < len(executable.costs)]
    actions = np.flatnonzero(code.ops[:, 0] == op.CALLBACK)
    costs = executable.action_costs or (None,) * len(executable.actions)
    costly = [row for row in actions.tolist() if costs[code.ops[row, 1]] is not None]
    return [*works.tolist(), *costly]


def _check_costs(executable: Executable) -> None:
    costs, action_costs = executable.costs, executable.action_costs
    if executable.memory is None:
        if costs or action_costs:
            raise Malformed("there are costs, but no memory")
        return
    tiles, arena = executable.target.tiles, executable.layout.size_bytes
    check_step_costs(costs, executable.steps, tiles=tiles, arena=arena)
    check_action_costs(action_costs, executable.actions)
    for name, code in executable.programs.items():
        with at(f".programs[{name!r}]"):
            check_slot_sums(code)


def _check_deep(value: Any, arena: int) -> None:
    """Check the tensors and blocks that the host reads and writes, at any depth of a value."""
    if isinstance(value, Stamp):
        _check_stamp(value)
    elif isinstance(value, Transfer):
        _check_transfer(value, arena)
    elif isinstance(value, RowTransfer):
        _check_rows(value)
    if isinstance(value, HostTensor):
        _check_host(value, arena)
    elif isinstance(value, ArenaBlock):
        size = value.num_elements * value.element_type.size_bytes
        if value.num_elements < 0 or not 0 <= value.at <= arena - size:
            raise Malformed(
                f"a block of {value.num_elements:,} elements at {value.at:,} is outside the arena"
            )
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            _check_deep(getattr(value, field.name), arena)
    elif isinstance(value, (tuple, list)):
        for each in value:
            _check_deep(each, arena)
    elif isinstance(value, Mapping):
        for each in value.values():
            _check_deep(each, arena)


def _check_stamp(stamp: Stamp) -> None:
    for tensor in (stamp.tensor, stamp.since):
        if tensor is not None and (tensor.shape, tensor.element_type) != ((2,), UNSIGNED_INT):
            found = f"{tensor.element_type!r}{list(tensor.shape)}"
            raise Malformed(f"'{tensor.name}' is {found:.60}, which cannot store a cycle counter")


def _check_transfer(copy: Transfer, arena: int) -> None:
    if copy.stream.element_type is not copy.block.element_type:
        raise Malformed(f"'{copy.program}' moves different elements than its stream")
    if (copy.metadata is not None) != copy.stream.element_type.requires_metadata:
        raise Malformed(f"'{copy.program}': only QUARTER must have metadata")
    if copy.metadata is not None and not 0 <= copy.metadata < arena:
        raise Malformed(f"'{copy.program}' has metadata outside of memory")


def _check_rows(copy: RowTransfer) -> None:
    buffer, block = copy.buffer, copy.block
    if (
        buffer.element_type is not block.element_type
        or min(buffer.num_elements, buffer.repeats) < 1
    ):
        raise Malformed(f"'{copy.program}' moves different elements than its buffer")
    if block.num_elements % buffer.num_elements:
        raise Malformed(f"'{copy.program}' moves a part of a row")


def _check_layout(layout: ArenaLayout, tiles: int) -> None:
    end, room = None, MOST_PIECES
    for number, variable in enumerate(layout.variables):
        with at(f".variables[{number}]"):
            shape = variable.shape
            if min(shape, default=0) < 0 or math.prod(shape) != variable.num_elements:
                raise Malformed(f"'{variable.name}' has an invalid shape {shape!r:.60}")
            if end is not None and variable.base < end:
                raise Malformed(f"'{variable.name}' overlaps the variable before it")
            end = variable.base + variable.num_elements
            room -= _check_tiles(variable, tiles, room)
            for values in (variable.initial_value, *variable.replica_values.values()):
                if values is not None and (
                    values.dtype != variable.element_type.dtype
                    or values.size > variable.num_elements
                ):
                    raise Malformed(f"'{variable.name}' has an initial value that does not fit")
            check_with_value(variable.with_value, variable)
    if layout.temporary_bytes < 0 or layout.temporary_bytes % ALIGNMENT:
        raise Malformed(f"{layout.temporary_bytes:,} B of temporaries are not valid")
    if not 1 <= layout.replicas <= MOST_REPLICAS:
        raise Malformed(f"{layout.replicas:,} is not a valid number of replicas")
    if layout.replicas * layout.size_bytes > MOST_BYTES:
        raise Malformed(f"memory of {layout.replicas * layout.size_bytes:,} B is too large")


def check_with_value(
    packed: Mapping[int, npt.NDArray[Any]] | None, variable: StoredVariable | Variable
) -> None:
    """Check which elements of a variable have an initial value."""
    for replica, bits in (packed or {}).items():
        values = variable.replica_values.get(replica)
        if replica == COMMON:
            values = variable.initial_value
        is_bits = bits.dtype == np.uint8 and bits.shape == (-(-variable.num_elements // 8),)
        if values is None or not is_bits:
            raise Malformed(f"'{variable.name}' does not say which elements have a value")


def _check_tiles(variable: StoredVariable, tiles: int, room: int) -> int:
    """Check the tiles of a variable, and return its number of pieces, at most `room`."""
    pieces = variable.pieces
    if pieces is None:
        return 0
    count = series_count(pieces.first)
    if not 1 <= count <= min(room, variable.num_elements) or series_count(pieces.tile) != count:
        raise Malformed(f"'{variable.name}' has an invalid number of pieces, {count:,}")
    check_rising(pieces.first, variable.num_elements - 1, "pieces")
    if pieces.first.low or not -1 <= pieces.tile.low <= pieces.tile.high < tiles:
        raise Malformed(f"'{variable.name}' has tiles that do not exist")
    return count


def _check_copy(step: CopyStep, layout: ArenaLayout) -> None:
    check_moves(step.moves, layout.size_bytes, layout.size_bytes)
    to = step.replica_map
    if to is not None and (len(to) != layout.replicas or not _all_below(to, layout.replicas)):
        raise Malformed(f"replica_map {to!r:.60} is not valid for {layout.replicas} replicas")


def _all_below(numbers: tuple[int, ...], limit: int) -> bool:
    return all(0 <= number < limit for number in numbers)


def _check_compute(step: ComputeStep, arena: int) -> None:
    for name in ("gather", "save", "scatter", "restore"):
        with at(f".{name}"):
            check_moves(getattr(step, name), arena, arena)
    total = 0
    for number, group in enumerate(step.groups):
        with at(f".groups[{number}]"):
            total += check_vertices(group, arena, step.num_vertices)
    if total != step.num_vertices:
        raise Malformed(f"{step.num_vertices:,} vertices must be described; found {total:,}")


def check_moves(moves: Moves, destination: int, source: int) -> None:
    """Check that moves write within `destination` bytes and read within `source` bytes."""
    records, pieces = moves.records, moves.pieces
    if records.shape[1:] != (RECORD_WORDS,) or pieces.shape[1:] != (PIECE_WORDS,):
        raise Malformed(f"records have shape {records.shape}, pieces have shape {pieces.shape}")
    if not len(records) or _are_inside(records, destination, source):
        return
    words, memory = np.ascontiguousarray(records.T), np.array([[destination], [source]])
    first, rows, size, step = words[:2], words[2], words[3], words[4:]
    listed = size == 0
    # Floats do not wrap around: after this check, the integer sums below cannot do so either.
    reach, moved = (rows - 1.0) * step, rows.astype(np.float64) * size
    reach[:, listed] = 0
    inside = (first >= 0) & (first <= memory) & (size >= 0) & (size <= memory)
    if not (inside & (abs(reach) <= memory)).all():
        raise Malformed(f"a record exceeds the memory of {memory.min():,} B")
    if not ((rows >= 1) & (moved <= destination)).all():  # no byte is written twice
        raise Malformed(
            f"records have invalid numbers of blocks, {int(rows.min()):,} to {int(rows.max()):,}"
        )
    span = np.where(listed, 0, (rows - 1) * step)
    low, high = first + np.minimum(span, 0), first + np.maximum(span, 0) + size
    if not ((low >= 0) & (high <= memory)).all():
        raise Malformed(f"a record exceeds the memory of {memory.min():,} B")
    if listed.any():
        _check_pieces(records[listed], pieces, destination, source)


def _are_inside(records: npt.NDArray[np.int64], destination: int, source: int) -> bool:
    """Return whether blocks stay in memory even if each were as large as all blocks together."""
    least, most = records.min(axis=0).tolist(), records.max(axis=0).tolist()
    rows, size = most[2], most[3]
    if least[2] < 1 or least[3] < 1 or rows * size > destination:
        return False
    for word, memory in enumerate((destination, source)):
        before, behind = (rows - 1) * least[4 + word], (rows - 1) * most[4 + word]
        if least[word] + min(before, 0) < 0 or most[word] + max(behind, 0) + size > memory:
            return False
    return True


def _check_pieces(
    lists: npt.NDArray[np.int64], pieces: npt.NDArray[np.uint32], destination: int, source: int
) -> None:
    if int(lists[:, 2].sum()) > len(pieces):
        raise Malformed(f"records refer to {int(lists[:, 2].sum()):,} of {len(pieces):,} pieces")
    for to, start, count, _, first, _ in lists.tolist():
        if not 0 <= first <= len(pieces) - count:
            raise Malformed(
                f"a record refers to pieces {first:,} to {first + count:,} of {len(pieces):,}"
            )
        own = pieces[first : first + count]
        size = own[:, 2]
        for begin, offset, memory in ((to, own[:, 0], destination), (start, own[:, 1], source)):
            # Each maximum is quick to find; sums are needed only if both are large.
            if begin + int(offset.max()) + int(size.max()) > memory:
                ends = offset.astype(np.int64) + size
                if begin + int(ends.max()) > memory:
                    raise Malformed(f"a piece exceeds the memory of {memory:,} B")


def _check_origins(origins: Origins, count: int) -> None:
    limits = {
        "class_of": len(origins.classes),
        "tile_of": origins.tile_of.num_tiles,
        "location_of": len(origins.locations),
    }
    for name, limit in limits.items():
        with at(f".{name}"):
            check_vertex_tiles(getattr(origins, name), count, limit)


def _check_host(tensor: HostTensor, arena: int) -> None:
    size = math.prod(tensor.shape) * tensor.element_type.size_bytes
    if any(extent < 0 for extent in tensor.shape) or size > MOST_BYTES:
        raise Malformed(f"'{tensor.name}' has an invalid shape {tensor.shape!r:.60}")
    if tensor.metadata is not None and not 0 <= tensor.metadata < arena:
        raise Malformed(f"'{tensor.name}' has metadata outside of memory")
    with at(f" '{tensor.name}'"):
        check_moves(tensor.moves, size, arena)
        if tensor.moves.size_bytes != size:  # bytes without moves would be read as zeros
            raise Malformed(
                f"moves of {tensor.moves.size_bytes:,} B do not fill shape {tensor.shape!r:.60}"
            )


# -- costs -----------------------------------------------------------------------------------------
# The costs of a loaded executable must have existing tiles, and the vertices of the steps.
#
#     numbers     tiles of the target, ascending; no negative numbers
#     vertices    the number of each class in the step; every tile and every shape exists
#     shapes      the number of words of the class; no length beyond memory
# Reports add up these numbers, partly in compiled code. Numbers in compact form in the file are
# not expanded by these checks.


def check_step_costs(
    costs: Sequence[StepCost], steps: Sequence[ComputeStep | CopyStep], *, tiles: int, arena: int
) -> None:
    """Check the costs of the first steps, at least all compute sets; `steps` are checked."""
    sets = sum(isinstance(step, ComputeStep) for step in steps)
    if not sets <= len(costs) <= len(steps):
        raise Malformed(f"it has costs for {len(costs):,} of {len(steps):,} steps")
    for number, (cost, step) in enumerate(zip(costs, steps, strict=False)):
        with at(f".costs[{number}]"):
            _check_families(cost, step if isinstance(step, ComputeStep) else None, tiles, arena)


def check_action_costs(costs: Sequence[StepCost | None], actions: Sequence[Action]) -> None:
    """Check the cost of each action; None for those that cost nothing."""
    if len(costs) != len(actions):
        raise Malformed(f"it has costs for {len(costs):,} of {len(actions):,} actions")
    for number, (cost, action) in enumerate(zip(costs, actions, strict=True)):
        if cost is not None:
            with at(f".action_costs[{number}]"):
                if not isinstance(action, HostAction | Stamp):
                    raise Malformed(f"{type(action).__name__} must not have a cost")
                _check_families(cost, None, 0, 0)


def check_copy_cost(cost: StepCost) -> None:
    """Check the cost of a Copy."""
    if cost.vertices or cost.after:
        raise Malformed("a Copy runs vertices")


def check_slot_sums(code: Code) -> None:
    """Check that slots are summed for the step that was launched last; ops have been checked."""
    ops = code.ops
    sums = np.flatnonzero((ops[:, 0] == op.LAUNCH) & (ops[:, 2] == op.SUM_SLOTS))
    rows = np.sort(code.step_rows)
    before = np.searchsorted(rows, sums) - 1
    if (before < 0).any() or (ops[rows[before], 1] != ops[sums, 1]).any():
        raise Malformed("it sums slots of a step that was not launched before")


def _check_families(cost: StepCost, step: ComputeStep | None, tiles: int, arena: int) -> None:
    if step is None:
        if cost.vertices:
            raise Malformed("it has costs of vertices, but runs none")
        return
    found = Counter[type[Vertex]]()
    for number, family in enumerate(cost.vertices):
        with at(f".vertices[{number}]"):
            found[family.cls] += _check_vertices(family, step.num_vertices, tiles, arena)
    there = Counter[type[Vertex]]()
    for group in step.groups:
        there[group.cls] += int(group.rows[:, COUNT_WORD].sum())
    if found != there:
        raise Malformed(f"the costs do not match the classes of {step.num_vertices:,} vertices")
    # Counts of single vertices are written to a table with one entry for each vertex.
    if found and max(each.numbers.high for each in cost.vertices) < step.num_vertices - 1:
        raise Malformed(f"no vertex has number {step.num_vertices - 1:,}")


def _check_vertices(family: VertexCosts, num_vertices: int, num_tiles: int, arena: int) -> int:
    count = series_count(family.numbers)
    if not 1 <= count <= num_vertices:
        raise Malformed(f"a family has {count:,} of {num_vertices:,} vertices")
    _check_all_within(family.numbers, num_vertices - 1)
    if family.tiles.num_tiles != num_tiles:
        raise Malformed(f"its tiles are those of a target with {family.tiles.num_tiles:,} tiles")
    with at(".tiles"):
        check_vertex_tiles(family.tiles, count, num_tiles)
    is_priced = family.slots is not None
    if is_priced == (family.source == "automatic"):
        raise Malformed(f"slots do not match their source {family.source!r}")
    for name, series in (("slots", family.slots), ("flops", family.flops)):
        if series is not None:
            with at(f".{name}"):
                _check_series(series, count, MOST)
    if not is_priced:
        if family.shapes is None or family.shape is None:
            raise Malformed("it has neither slots nor shapes")
        with at(".shapes"):
            _check_shapes(family.cls, family.shapes, count, arena)
        with at(".shape"):
            _check_series(family.shape, count, len(family.shapes) - 1)
    elif family.shapes is not None or family.shape is not None:
        raise Malformed("it has both slots and shapes")
    return count


def _check_shapes(cls: type[Vertex], shapes: Int64, count: int, arena: int) -> None:
    fields = fields_of(cls)
    words = sum(WORDS[field.kind] for field in fields)
    if shapes.ndim != 2 or shapes.shape[1] != words or not 1 <= len(shapes) <= count:
        raise Malformed(f"{words} words are needed; found shape {shapes.shape}")
    if not shapes.flags.c_contiguous or (not words and len(shapes) > 1):
        raise Malformed("a shape is listed more than once")
    for field in fields:
        most = arena if field.kind == "length" else MOST
        for word in range(WORDS[field.kind] if field.kind != "value" else 0):
            own = shapes[:, field.first_word + word]
            if int(own.min()) < 0 or int(own.max()) > most:
                raise Malformed(
                    f"'{field.name}' has lengths from {int(own.min()):,} to {int(own.max()):,}"
                )


def _check_series(series: Series, count: int, most: int) -> None:
    """Check that there are `count` numbers, all of them in [0, most]."""
    if series_count(series) != count:
        raise Malformed(f"{count:,} numbers are needed; found {series_count(series):,}")
    _check_all_within(series, most)


def check_rising(series: Series, most: int, what: str) -> None:
    """Check that the numbers of a series, which is not empty, ascend within [0, most]."""
    if isinstance(series, Listed):
        rise = _rise(series.offset)
        low, high = series.at(0), series.at(-1)
    else:
        low, high = series.low, series.high
        step = 1 if series.count == 1 else series.step
        rise = 0 <= low <= high <= most and (_rise(series.array()) if step is None else step > 0)
    if not rise and 0 <= low <= high <= most:
        raise Malformed(f"its {what} are not ascending")
    _check_bounds(low, high, most)


def _rise(numbers: npt.NDArray[np.integer[Any]]) -> bool:
    return bool((numbers[1:] > numbers[:-1]).all())


def _check_all_within(series: Series, most: int) -> None:
    """Check that the numbers of a series, which is not empty, are in [0, most]."""
    low, high = limits(series)
    if not 0 <= low <= high <= most:
        _check_bounds(series.low, series.high, most)


def _check_bounds(low: int, high: int, most: int) -> None:
    if not 0 <= low <= high <= most:
        raise Malformed(f"numbers must be from 0 to {most:,}; found {low:,} to {high:,}")


def series_count(series: Series) -> int:
    """Return the count of numbers of a series; -1 if it is malformed."""
    if isinstance(series, Listed):
        return len(series.offset) if series.offset.ndim == 1 else -1
    return -1 if any(extent < 0 for extent, _ in series.digits) else series.count
