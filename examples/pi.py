"""Pi by the midpoint rule: 64 tiles with a thousand slices each."""

import numpy as np

import poplite as pl


class Slice(pl.Vertex):
    """Midpoint rule over one slice of [0, 1]."""

    first: pl.State[pl.INT]
    count: pl.State[pl.INT]
    step: pl.State[pl.FLOAT]
    partial: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        total = 0.0
        for i in range(self.first, self.first + self.count):
            x = (i + 0.5) * self.step
            total += 4.0 / (1.0 + x * x)
        self.partial = total * self.step


def build(tiles: int = 64, slices: int = 1000) -> tuple[pl.Graph, pl.Program, pl.Tensor]:
    graph = pl.Graph(pl.Target(tiles=tiles))
    partials = graph.add_variable(pl.FLOAT, (tiles,), mapping="linear", name="partials")
    work = graph.add_compute_set("slices")
    step = 1 / (slices * tiles)
    for tile, partial in enumerate(partials):
        first = slices * tile
        graph.add_vertex(
            work, Slice, tile=tile, first=first, count=slices, step=step, partial=partial
        )
    return graph, pl.Execute(work), partials


def main(tiles: int = 64, slices: int = 1000) -> None:
    graph, program, partials = build(tiles, slices)
    engine = pl.Engine(graph, program)
    engine.run()
    pi = engine.read(partials).sum()
    print(f"pi = {pi:.5f}")
    print(engine.report())
    np.testing.assert_allclose(pi, np.pi, atol=1e-4)


if __name__ == "__main__":
    main()
