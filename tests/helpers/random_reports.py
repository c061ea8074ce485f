"""Reports of random numbers: everything that a report can hold, of any size."""

from __future__ import annotations

import numpy as np

from helpers.made import made
from poplite.machine.target import Target
from poplite.report.compilation import (
    Compilation,
    ComputeSet,
    ComputeSetVertices,
    GraphCounts,
    VertexType,
)
from poplite.report.execution import (
    PHASE_KINDS,
    Cause,
    Execution,
    ExecutionStep,
    Phase,
    TilePairs,
    TypeCycles,
)
from poplite.report.memory import Held, Memory, MemoryStep, Operation
from poplite.report.per_tile import PerTile
from poplite.report.program_tree import Program, Programs, ProgramType
from poplite.report.report import Instrumentation, Report

MARKUP = "</script><!--<script>"


def random_report(tiles: int, steps: int, seed: int, *, names: str = MARKUP) -> Report:
    """Return a report whose names hold `names`, and whose numbers are random on every tile."""
    rng = np.random.default_rng(seed)
    target = Target(tiles=tiles)

    def numbers(high: int) -> PerTile:
        shape = rng.integers(4)
        if shape == 0:
            return PerTile.nothing(tiles)
        if shape == 1:
            return PerTile.of(np.full(tiles, rng.integers(high)))
        return PerTile.of(rng.integers(0, high, tiles))

    def phase(kind: int) -> Phase:
        busy = numbers(5000)
        pairs = rng.integers(0, 9, min(tiles, 8) ** 2) * (rng.random(min(tiles, 8) ** 2) < 0.5)
        return Phase(
            PHASE_KINDS[kind % len(PHASE_KINDS)],
            busy.most and busy.most + int(rng.integers(3)),
            int(rng.integers(2) * 90),
            busy,
            numbers(300),
            numbers(2**33),
            numbers(70_000),
            (Cause(f"field {names}", "comes from other tiles", "work/model.py:3", 12),),
            TilePairs(-(-tiles // 8), PerTile.of(pairs), ((0, tiles - 1, 5),)),
        )

    leaves = tuple(
        Program(ProgramType.EXECUTE, f"step {number} {names}", number, (), "work/model.py:1", "", 3)
        for number in range(steps)
    )
    programs = Programs(lambda: {"0": Program(ProgramType.SEQUENCE, "0", 0, leaves)})
    ran = tuple(
        ExecutionStep(
            name=leaf.name,
            kind="execute",
            program_name="0",
            row=leaf.row,
            at=leaf.at,
            executions=3,
            cycles=int(rng.integers(40_000)),
            phases=tuple(map(phase, range(3))),
            vertex_types=(TypeCycles("Add", 7, "formula", 70, None),),
            target=target,
            programs=programs,
            operation="op",
            number=leaf.row + 1,
            compute_set=leaf.row % 2,
        )
        for leaf in leaves
    )
    held = tuple(
        Held(
            *(f"thing {number} {names}", numbers(50_000), ("variable", "message")[number % 2]),
            None if number % 3 == 0 or not steps else ((number % steps, number % steps),),
            *("work/model.py:2", (3, 4), "FLOAT"),
        )
        for number in range(steps + 3)
    )
    memory = Memory(
        *(PerTile.of(50_000 + numbers(650_000).array()), numbers(9_000), held),
        tuple(
            MemoryStep("0", f"Execute '{leaf.name}'", leaf.at, 5, 0, leaf.row + 1, (leaf.row,))
            for leaf in leaves
        ),
        tuple(numbers(600_000) for _ in held),
    )
    compute_sets = tuple(
        ComputeSet(f"set {number}", (ComputeSetVertices("Add", numbers(9), "work/model.py:2"),))
        for number in range(2)
    )
    compilation = Compilation(
        *(target, 1, GraphCounts(7, 9, len(held), 2, (0, 9)), (VertexType("Add", 7),)),
        *(compute_sets, programs, memory, (Operation("op", "work/model.py:1", (0,), 5, 6),)),
    )
    cycles = sum(step.cycles for step in ran)
    execution = Execution(1, 3 * steps, 7, 12, 0, 0, ran, cycles, target)
    order = ((0, 3),) if steps else ()
    return made(Report, compilation, execution, Instrumentation(True, "fast", False), order)
