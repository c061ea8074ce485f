"""The report of an engine: what it ran since it was made."""

from __future__ import annotations

from dataclasses import dataclass

from poplite.words import counted


@dataclass(frozen=True, slots=True, repr=False)
class Report:
    """Counts of an engine's runs so far, and the balance of its graph.

    Attributes:
        runs: calls of `Engine.run` that reached the end.
        steps: Execute and Copy steps run.
        vertices: vertices run.
        bytes_copied: bytes moved by Copy steps.
        bytes_gathered: bytes moved to and from temporaries, because fields were not
            contiguous.
        tiles: tiles of the target.
        elements_per_tile: fewest and most variable elements on one tile.
        cycles: tile cycles; None, as they are not modelled yet.
        replicas: how many replicas do all of this, and have as many tiles.
        runs_again: how often strict checks ran the vertices of a compute set once more.

    >>> print(Report(1, 2, 128, 0, 0, 64, (1, 1)))
    runs                  1
    steps run             2
    vertices run          128
    bytes copied          0 B
    bytes gathered        0 B
    elements per tile     1 to 1 (64 tiles)
    cycles                not modelled yet
    >>> Report(1, 1, 2000, 0, 0, 1, (1, 1))
    <Report 1 run, 1 step, 2,000 vertices>
    """

    runs: int
    steps: int
    vertices: int
    bytes_copied: int
    bytes_gathered: int
    tiles: int
    elements_per_tile: tuple[int, int]
    cycles: int | None = None
    replicas: int = 1
    runs_again: int = 0

    def rows(self) -> dict[str, str]:
        """Return each count as words, by its name."""
        least, most = self.elements_per_tile
        cycles = "not modelled yet" if self.cycles is None else f"{self.cycles:,}"
        again = {"run again by checks": counted(self.runs_again, "compute set")}
        several = {"counts are of each of": f"{self.replicas:,} replicas"}
        return {
            **(several if self.replicas > 1 else {}),
            "runs": f"{self.runs:,}",
            "steps run": f"{self.steps:,}",
            **(again if self.runs_again else {}),
            "vertices run": f"{self.vertices:,}",
            "bytes copied": f"{self.bytes_copied:,} B",
            "bytes gathered": f"{self.bytes_gathered:,} B",
            "elements per tile": f"{least:,} to {most:,} ({counted(self.tiles, 'tile')})",
            "cycles": cycles,
        }

    def __str__(self) -> str:
        return "\n".join(f"{name:<22}{value}" for name, value in self.rows().items())

    def _repr_html_(self) -> str:
        from poplite.viz.notebook import report_cell

        return report_cell(self)

    def __repr__(self) -> str:
        runs, steps = counted(self.runs, "run"), counted(self.steps, "step")
        return f"<Report {runs}, {steps}, {counted(self.vertices, 'vertex', 'vertices')}>"
