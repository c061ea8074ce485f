"""A report written by hand: every kind of thing in memory, gaps, three steps, and odd names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from helpers.made import made
from poplite.arrays.intervals import Int64
from poplite.machine.target import Target
from poplite.report.compilation import Compilation, ComputeSet, ComputeSetVertices, GraphCounts
from poplite.report.execution import Execution, ExecutionStep, Phase, PhaseKind
from poplite.report.memory import Held, Memory, MemoryStep, Steps
from poplite.report.per_tile import PerTile
from poplite.report.program_tree import Program, Programs, ProgramType
from poplite.report.report import Instrumentation, Report

TILES = 6
HERE = "model/net.py:12 in build, called at main.py:3"


_PROGRAM = (
    Program(ProgramType.COPY, "x to y", 1),
    Program(ProgramType.REPEAT, "5 times", 0, (Program(ProgramType.EXECUTE, "scale", 2),)),
    Program(ProgramType.EXECUTE, "sum <b>", 3),
)


def small_report(*, tile_memory_bytes: int = 4096, tiles: int = TILES, replicas: int = 1) -> Report:
    """The report of six tiles, or of a multiple of them that are all alike.

    On tile 1 most is needed in step 2, on the others in step 3; tile 5 is nearly empty.
    """
    target = Target(tiles=tiles, tile_memory_bytes=tile_memory_bytes)
    tree = Programs(lambda: {"main": Program(ProgramType.SEQUENCE, "main", 0, _PROGRAM)})
    steps = tuple(_steps(target, tree))
    sets = (
        ComputeSet(
            "scale", (ComputeSetVertices("Scale", _per_tile(tiles, 2, 2, 2, 2, 2, 0), "heat.py:9"),)
        ),
        ComputeSet(
            "sum <b>",
            (ComputeSetVertices("Sum", _per_tile(tiles, 1, 0, 0, 0, 0, 0), "heat.py:12"),),
        ),
    )
    compilation = Compilation(
        target=target,
        replicas=replicas,
        graph=GraphCounts(11, 24, 3, 2, (0, 50)),
        vertex_types=(),
        compute_sets=sets,
        programs=tree,
        modelled=_memory(tiles),
    )
    cycles = sum(step.cycles for step in steps)
    execution = Execution(1, 7, 11, 96, 0, 0, steps, cycles, target)
    return made(Report, compilation, execution, Instrumentation(True, "fast", False))


def without_addresses(report: Report) -> Report:
    """The same as a report of version 1, which knew no addresses."""
    memory = replace(report.compilation.memory, addresses=())
    return replace(report, compilation=replace(report.compilation, modelled=memory))


def not_modelled(report: Report) -> Report:
    """The same of a graph that was compiled without the models."""
    return replace(report, compilation=replace(report.compilation, modelled=None))


def _per_tile(tiles: int, *sizes: int) -> PerTile:
    return PerTile.of(np.array(sizes * (tiles // TILES), np.int64))


def _memory(tiles: int) -> Memory:
    always: list[tuple[str, str, Sequence[int]]] = [
        ("stacks", "stack", (800,) * TILES),
        ("control code", "control_code", (120,) * TILES),
        ("Scale", "vertex_code", (200, 200, 200, 200, 200, 0)),
        ("Scale", "vertex_instance_state", (24, 24, 24, 24, 24, 0)),
        ("clock", "future_category", (16, 0, 0, 0, 0, 0)),
        ("table", "constant", (64, 64, 64, 64, 0, 0)),
        ("weights\n</script>", "variable", (400, 300, 300, 300, 100, 0)),
    ]
    shared: list[tuple[str, str, Steps, Sequence[int]]] = [
        ("hidden", "variable", ((1, 2),), (256, 256, 256, 256, 0, 0)),
        ("Execute 'scale'", "message", ((1, 1),), (64, 900, 64, 64, 0, 0)),
        ("Execute 'sum <b>'", "rearrangement", ((2, 2),), (512, 96, 96, 96, 0, 0)),
        ("Copy 'x' -> 'y'", "message", ((0, 0),), (0, 0, 0, 0, 48, 0)),
    ]
    held = [_held(tiles, name, kind, None, sizes) for name, kind, sizes in always]
    held += [_held(tiles, name, kind, steps, sizes) for name, kind, steps, sizes in shared]
    steps = [
        MemoryStep("main", "step 1 of 3: Copy 'x' -> 'y'", HERE, 48, 4, 1, (1,)),
        MemoryStep("main", "step 2 of 3: Execute 'scale'", HERE, 1156, 1, 2, (2,)),
        MemoryStep("main", "step 3 of 3: Execute 'sum <b>'", "", 768, 0, 3, (3,)),
    ]
    addresses, end = _addresses(held)
    beside = np.max([_live(held, step) for step in range(3)], axis=0)
    return Memory(PerTile.of(end), PerTile.of(beside), tuple(held), tuple(steps), addresses)


def _held(tiles: int, name: str, category: str, steps: Steps | None, sizes: Sequence[int]) -> Held:
    of_user = category in ("variable", "constant")
    shape, element_type = ((5, 20), "FLOAT") if of_user else (None, "")
    at = "" if category in ("stack", "control_code") else HERE
    return Held(name, _per_tile(tiles, *sizes), category, steps, at, shape, element_type)


def _live(held: Sequence[Held], step: int) -> Int64:
    live: Int64 = np.sum([each.bytes.array() for each in held if each.is_in(step)], axis=0)
    return live


def _addresses(
    held: Sequence[Held],
) -> tuple[list[PerTile], Int64]:
    """Place what is always live below, with gaps of 8 bytes, and all of a step above it."""
    found: list[PerTile] = []
    base = end = np.zeros(len(held[0].bytes), np.int64)
    for each in held:
        size = each.bytes.array()
        if each.steps is None:
            found.append(PerTile.of(base * (size > 0)))
            base = base + size + 8 * (size > 0)
            end = base
    tops = [base] * 3
    for each in held:
        if each.steps is None:
            continue
        size = each.bytes.array()
        steps = [k for first, last in each.steps for k in range(first, last + 1)]
        begin = np.max([tops[k] for k in steps], axis=0)
        found.append(PerTile.of(begin * (size > 0)))
        for k in steps:
            tops[k] = begin + size
        end = np.maximum(end, begin + size)
    return found, end


def _steps(target: Target, programs: Programs) -> list[ExecutionStep]:
    tiles = target.tiles

    def step(name: str, number: int, place: int | None, *phases: Phase) -> ExecutionStep:
        kind = "copy" if place is None else "execute"
        cycles = sum(phase.cycles + phase.sync for phase in phases)
        times = (1, 5, 1)[number - 1]
        ran = (name, kind, "main", number, HERE, times, cycles, phases, (), target, programs)
        return ExecutionStep(*ran, number=number, compute_set=place)  # type: ignore[arg-type]

    def phase(kind: PhaseKind, sync: int, busy: Sequence[int], moved: Sequence[int]) -> Phase:
        on_tiles, none = _per_tile(tiles, *moved), PerTile.nothing(tiles)
        sent = PerTile.of(on_tiles.array()[::-1].copy()) if kind == "exchange" else none
        received, copied = (on_tiles, none) if kind == "exchange" else (none, on_tiles)
        cycles = _per_tile(tiles, *busy)
        return Phase(kind, max(busy), sync, cycles, received, sent, copied, ())

    nothing = (0,) * TILES
    moved, blocks = (0, 0, 0, 0, 48, 0), (512, 96, 96, 96, 0, 0)
    computed = (700, 730, 720, 710, 705, 0)
    return [
        step("x to y", 1, None, phase("exchange", 30, (0, 0, 0, 0, 40, 0), moved)),
        step(
            *("scale", 2, 0),
            phase("exchange", 150, (80, 900, 80, 80, 0, 0), (64, 900, 64, 64, 0, 0)),
            phase("compute", 150, computed, nothing),
        ),
        step(
            *("sum <b>", 3, 1),
            phase("copy", 30, (300, 60, 60, 60, 0, 0), blocks),
            phase("compute", 0, (200, 0, 0, 0, 0, 0), nothing),
        ),
    ]
