"""A report as text, in the layout of Poplar's profile summary, after a short summary.

    Summary:             cycles by activity, the fullest tile
    Target:              the machine
    Graph:               counts
    Memory Usage:        totals, sums by category, a histogram of tiles
    Execution:           cycles, and averages over tiles by activity
    Sent between ranks:  bytes and messages, if there are ranks
    Cycles by vertex type, Operations, Largest steps, Insights

A sentence replaces numbers that are not modelled.  If nothing ran, cycles are those of one run as
compiled.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from poplite.report.execution import PHASE_KINDS, BetweenRanks, Execution, ExecutionStep
from poplite.report.findings import NAME, insights_text, where
from poplite.report.memory import Memory, MemoryCategories
from poplite.text import amount, shortened

if TYPE_CHECKING:
    from poplite.report.compilation import Compilation
    from poplite.report.report import Report

MOST_TYPES = 20
"""Maximum number of vertex classes that are listed."""

MOST_STEPS = 10
"""Maximum number of steps that are listed."""

STARS = 40
"""Number of stars in the longest bar of a histogram."""

MOST_BARS = 10

UNBALANCED = 1.25
"""The fullest tiles are listed if the bytes of the fullest exceed this multiple of the mean."""

FULLEST, LARGEST = 5, 4
"""Number of the fullest tiles that are listed, and of categories for each."""

NOT_MODELLED = "not modelled: leave the option debug.instrument=False out"

_PHASE_WORDS = {
    "exchange": "IPU exchange cycles",
    "copy": "on-tile copy cycles",
    "global exchange": "global exchange cycles",
    "host exchange": "host exchange cycles",
}


def report_text(report: Report) -> str:
    """Return a report as text."""
    parts = [
        ("Summary", _summary(report)),
        ("Target", _target(report.compilation)),
        ("Graph", _graph(report.compilation)),
        ("Memory Usage", _memory(report.compilation)),
        ("Execution", _execution(report)),
    ]
    if report.measured:
        parts.append(("Measured on a device", list(map(str, report.measured))))
    if report.between_ranks:
        parts.append(("Sent between ranks", _between_ranks(report.between_ranks)))
    if report.shown.steps:
        parts += [
            ("Cycles by vertex type", _types(report.shown)),
            *_operations(report),
            ("Largest steps", _steps(report.shown)),
            ("Insights", insights_text(report.insights)),
        ]
    texts = (f"{title}:\n" + "\n".join(f"  {line}" for line in lines) for title, lines in parts)
    return "\n\n".join(text.rstrip() for text in texts)


def facts(report: Report) -> dict[str, str]:
    """Return the most important numbers of a report, as text by name."""
    memory = report.compilation.modelled
    several = {"counts are for each of": amount(report.replicas, "replica")}
    again = {"repeated by checks": amount(report.runs_again, "compute set")}
    fullest = "" if memory is None else f"{memory.including_gaps.most:,} B"
    return {
        **(several if report.replicas > 1 else {}),
        "tiles": f"{report.tiles:,}",
        "fullest tile": fullest or NOT_MODELLED,
        "runs": f"{report.runs:,}",
        "steps run": f"{report.steps:,}",
        **(again if report.runs_again else {}),
        "vertices run": f"{report.vertices:,}",
        "bytes copied": f"{report.bytes_copied:,} B",
        "cycles": _total_cycles(report),
    }


def rows_text(rows: Mapping[str, str]) -> list[str]:
    """Return names and values in two columns, with the numbers aligned to the right.

    >>> rows_text({"Tiles": "1,472", "Clock": "1,330.0 MHz"})
    ['Tiles:   1,472', 'Clock: 1,330.0 MHz']
    """
    width = max(len(name) for name in rows) + 2
    number = max(len(value.split(" ")[0]) for value in rows.values())
    return [
        f"{name + ':':<{width}}{' ' * (number - len(value.split(' ')[0]))}{value}"
        for name, value in rows.items()
    ]


def _summary(report: Report) -> list[str]:
    """Return the most important numbers."""
    execution, memory = report.shown, report.compilation.modelled
    rows = {"Total cycles": _total_cycles(report)}
    if report.run_note and execution.steps:
        rows["Cycles are"] = report.run_note
    if execution.cycles:
        largest = max(execution.steps, key=lambda step: step.cycles)
        share = _percent(largest.cycles, execution.cycles)
        rows["Spent on"] = ", ".join(_shares(execution, execution.cycles))
        rows["Largest step"] = f"{_named(largest, execution)}, {share} of total"
        if types := execution.vertex_types():
            rows["Vertex cycles"] = ", ".join(dict.fromkeys(each.source for each in types))
    if memory is not None and (worst := memory.including_gaps.worst_tile) is not None:
        most, limit = memory.including_gaps.most, report.compilation.target.tile_memory_bytes
        rows["Fullest tile"] = f"{most:,} of {limit:,} B, on tile {worst:,}"
    width = max(map(len, rows)) + 2
    return [f"{name + ':':<{width}}{text}" for name, text in rows.items()]


def _shares(execution: Execution, whole: int) -> Iterator[str]:
    """Yield the activities of a tile on average and their shares of the time, the largest first."""
    spent = execution.time_parts()
    for part in sorted(spent, key=lambda part: -spent[part]):
        if (share := _percent(spent[part], whole)) != "0.0%":
            words = "waiting for other tiles" if part == "waiting" else part
            yield f"{_PHASE_WORDS.get(part, words).removesuffix(' cycles')} {share}"


def _percent(part: float, whole: int) -> str:
    return f"{100 * part / whole:.1f}%"


def _target(compilation: Compilation) -> list[str]:
    target = compilation.target
    rows = {
        "Number of IPUs": f"{target.ipus:,}",
        "Tiles per IPU": f"{target.tiles_per_ipu:,}",
        "Total Tiles": f"{target.tiles:,}",
        "Memory Per-Tile": f"{target.tile_memory_bytes:,} B",
        "Total Memory": f"{target.memory_bytes:,} B",
        "Clock Speed (approx)": f"{target.clock_hz / 1e6:,.1f} MHz",
    }
    if compilation.replicas > 1:
        rows["Number of Replicas"] = f"{compilation.replicas:,} (all numbers are per replica)"
    return rows_text(rows)


def _graph(compilation: Compilation) -> list[str]:
    graph = compilation.graph
    least, most = graph.elements_per_tile
    return rows_text(
        {
            "Number of vertices": f"{graph.num_vertices:,}",
            "Number of edges": f"{graph.num_edges:,}",
            "Number of variables": f"{graph.num_variables:,}",
            "Number of compute sets": f"{graph.num_compute_sets:,}",
            "Elements per tile": f"{least:,} to {most:,}",
        }
    )


def _total_cycles(report: Report) -> str:
    execution = report.shown
    if execution.cycles is None:
        return _without_cycles(report)
    planned = ", as compiled" if execution.steps and not report.is_run else ""
    return f"{execution.cycles:,} (approx {_time(execution.seconds or 0)}{planned})"


def _without_cycles(report: Report) -> str:
    """Return the reason why a report has no cycles."""
    return report.note if report.instrumentation.is_modelled else NOT_MODELLED


def _time(seconds: float) -> str:
    for limit, factor, unit in ((1e-3, 1e6, "microseconds"), (1, 1e3, "milliseconds")):
        if seconds < limit:
            return f"{seconds * factor:,.1f} {unit}"
    return f"{seconds:,.1f} seconds"


SHARED = "  (items that no step needs at the same time share memory: the sum exceeds the total)"
"""The note under bytes by category whose sum exceeds the memory needed."""


def _memory(compilation: Compilation) -> list[str]:
    """Return the contents of the tiles' memory as lines."""
    memory, limit = compilation.modelled, compilation.target.tile_memory_bytes
    if memory is None:
        return [NOT_MODELLED]
    totals = {
        "Including Gaps": f"{memory.including_gaps.total:,} B",
        "Excluding Gaps": f"{memory.excluding_gaps.total:,} B",
    }
    used = {name: each.total for name, each in memory.categories().items() if each.total}
    by_type = {name.replace("_", " "): f"{total:,} B" for name, total in used.items()}
    return [
        "Total:",
        *(f"  {line}" for line in rows_text(totals)),
        *(["By Data Type:"] if by_type else []),
        *(f"  {line}" for line in (rows_text(by_type) if by_type else [])),
        *([SHARED] if sum(used.values()) > memory.excluding_gaps.total else []),
        "By Tile (Including Gaps):",
        *(f"  {line}" for line in _histogram(memory)),
        *(f"  {line}" for line in _fullest(memory)),
        f"  {amount(memory.num_over(limit), 'tile')} out of memory",
        *_fullest_tiles(memory),
    ]


def _fullest_tiles(memory: Memory) -> list[str]:
    """Return the contents of the fullest tiles, if their bytes far exceed the mean."""
    used = memory.including_gaps
    if used.most <= UNBALANCED * used.mean:
        return []
    order, tiles = np.argsort(-used.array(), kind="stable"), memory.tiles()
    rows = {
        f"Tile {tile:,}": f"{used[tile]:,} B: {_largest(tiles[tile].category)}"
        for tile in order[:FULLEST].tolist()
    }
    return ["Fullest Tiles (Including Gaps):", *(f"  {line}" for line in rows_text(rows))]


def _largest(kinds: MemoryCategories) -> str:
    """Return the categories with the most bytes on a tile."""
    found = sorted(kinds.items(), key=lambda kind: -kind[1].total)[:LARGEST]
    return ", ".join(f"{name.replace('_', ' ')} {each.total:,}" for name, each in found)


def _fullest(memory: Memory) -> Iterator[str]:
    for name, each in (
        ("Including Gaps", memory.including_gaps),
        ("Excluding Gaps", memory.excluding_gaps),
        ("Always Live", memory.always_live),
        ("Not Always Live", memory.not_always_live),
    ):
        where = "" if each.worst_tile is None else f" on tile {each.worst_tile:,}"
        yield f"Maximum ({name}): {each.most:,} B{where}"


def _histogram(memory: Memory) -> list[str]:
    """Return a histogram of tiles by memory.

    Range (KiB) Histogram                                Count (tiles)
          4 - 5 *******                                              1
          5 - 6 ****************************************             6
    """
    kibibytes = memory.including_gaps.array() / 1024
    width = _bar_width(float(kibibytes.min()), float(kibibytes.max()))
    number, counts = np.unique((kibibytes // width).astype(np.int64), return_counts=True)
    first = int(number[0])
    tiles = np.zeros(int(number[-1]) - first + 1, np.int64)
    tiles[number - first] = counts
    bars = [f"{(first + k) * width:,} - {(first + k + 1) * width:,}" for k in range(len(tiles))]
    left = max(len("Range (KiB)"), *map(len, bars))
    lines = [f"{'Range (KiB)':>{left}} {'Histogram':<{STARS}} Count (tiles)"]
    for bar, count in zip(bars, tiles.tolist(), strict=True):
        stars = "*" * -(-count * STARS // int(tiles.max()))
        lines.append(f"{bar:>{left}} {stars:<{STARS}} {count:>13,}")
    return lines


def _bar_width(least: float, most: float) -> int:
    """Return the least of 1, 2, 5, 10, 20, ... KiB for which there are few bars."""
    width = 1
    for factor in (2, 2.5, 2) * 12:
        if most // width - least // width < MOST_BARS:
            break
        width = round(width * factor)
    return width


def _execution(report: Report) -> list[str]:
    execution, on = report.execution, report.instrumentation
    checks = f"{on.checks}, {'interpreted' if on.interpreted else 'compiled'}"
    if on.faster:
        checks += f", with faster forms {', '.join(on.faster)}"
    if execution.runs_again:
        checks += f"; {amount(execution.runs_again, 'compute set')} run again"
    ran = {
        "Programs executed": f"{execution.runs:,}",
        "Steps run": f"{execution.num_steps:,}",
        "Vertices run": f"{execution.vertices:,}",
        "Bytes copied": f"{execution.bytes_copied:,} B",
        "Bytes gathered": f"{execution.bytes_gathered:,} B (by the simulator)",
        "Checks": checks,
    }
    execution = report.shown
    if execution.cycles is None:
        return [*rows_text(ran), f"Total cycles: {_without_cycles(report)}"]
    average = execution.phase_cycles()
    taken = {
        "compute cycles (including idle threads)": average["compute"],
        "compute cycles (excluding idle threads)": execution.worker_cycles(),
        "compute cycles (excluding idle tiles)": execution.active_cycles(),
        **{_PHASE_WORDS[kind]: average[kind] for kind in PHASE_KINDS if kind != "compute"},
        "sync cycles": execution.sync_cycles,
    }
    whole = execution.cycles or 1
    averages = {
        f"Tile average {name}": f"{cycles:,.1f} ({_percent(cycles, whole)} of total)"
        for name, cycles in taken.items()
    }
    return [*rows_text(ran), *rows_text({"Total cycles": _total_cycles(report), **averages})]


def _types(execution: Execution) -> list[str]:
    types = execution.vertex_types()
    if not types:
        return ["none"]
    rows = [
        (
            f"{shortened(each.name, NAME)} ({amount(each.vertices, 'instance')}):",
            f"{each.cycles:,}",
            each.source,
        )
        for each in types[:MOST_TYPES]
    ]
    name, cycles = (max(len(row[column]) for row in rows) for column in (0, 1))
    lines = [f"{row[0]:<{name}}  {row[1]:>{cycles}}  {row[2]}" for row in rows]
    return lines + _more(len(types) - MOST_TYPES)


def _operations(report: Report) -> list[tuple[str, list[str]]]:
    """Return the section about operations, if there are any."""
    found, whole = report.shown.operations(), report.shown.cycles or 1
    made = {each.name: each for each in report.compilation.operations}
    rows = [
        (
            f"{each.cycles:,}",
            _percent(each.cycles, whole),
            f"{each.steps:,}",
            f"{each.bytes_received:,}",
            f"{made[each.name].result_bytes + made[each.name].temporary_bytes:,}",
            shortened(each.name, NAME) + where(made[each.name].at),
        )
        for each in found[:MOST_STEPS]
    ]
    heading = ("cycles", "of total", "steps", "received B", "memory B", "operation")
    lines = _table([heading, *rows]) + _more(len(found) - MOST_STEPS)
    return [("Operations", lines)] if found else []


def _steps(execution: Execution) -> list[str]:
    steps = sorted(execution.steps, key=lambda step: -step.cycles)
    whole = execution.cycles or 1
    rows = [("cycles", "of total", "times", "balance", "step")]
    rows += [
        (
            f"{step.cycles:,}",
            _percent(step.cycles, whole),
            f"{step.executions:,}",
            f"{100 * step.tile_balance:.1f}%",
            _named(step, execution) + where(step.at),
        )
        for step in steps[:MOST_STEPS]
    ]
    return _table(rows) + _more(len(steps) - MOST_STEPS)


def _between_ranks(sent: Sequence[BetweenRanks]) -> list[str]:
    """Return the messages between ranks, the places that sent the most first."""
    rows = [("bytes", "messages", "times", "step")]
    rows += [
        (
            f"{each.bytes:,}",
            f"{each.messages:,}",
            f"{each.executions:,}",
            shortened(each.name, NAME) + where(each.at),
        )
        for each in sorted(sent, key=lambda each: -each.bytes)[:MOST_STEPS]
    ]
    total, messages = sum(each.bytes for each in sent), sum(each.messages for each in sent)
    whole = f"{total:,} B in {amount(messages, 'message')}"
    return [whole, *_table(rows), *_more(len(sent) - MOST_STEPS)]


def _named(step: ExecutionStep, execution: Execution) -> str:
    """Return the name of a step, with its program if steps of several programs ran."""
    name = shortened(step.name, NAME)
    if all(each.program_name == step.program_name for each in execution.steps):
        return name
    return f"{shortened(step.program_name, NAME)}: {name}"


def _table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Return rows as lines; all columns but the last are numbers, aligned to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    lines = []
    for row in rows:
        numbers = [f"{text:>{width}}" for text, width in zip(row, widths, strict=False)]
        lines.append("  ".join([*numbers, row[-1]]))
    return lines


def _more(number: int) -> list[str]:
    return [f"... {number:,} more"] if number > 0 else []
