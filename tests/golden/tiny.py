"""Four tiles, two steps, a copy: what pictures of every subcommand are of."""

import poplite as pl


class Add(pl.Vertex):
    """Adds what is beside it."""

    x: pl.Input[pl.Vector[pl.INT]]
    y: pl.InOut[pl.INT]

    def compute(self) -> None:
        """Add."""
        for i in range(len(self.x)):
            self.y += self.x[i]


def build(times: int = 3) -> tuple[pl.Graph, pl.Program]:
    """A ring of neighbours, and what they found, written back."""
    graph = pl.Graph(pl.Target(tiles=4))
    with graph.scope("ring"):
        x = graph.add_variable(pl.INT, (4, 2), "x", mapping="linear", initial_value=1)
        y = graph.add_variable(pl.INT, (4,), "y", mapping="linear", initial_value=0)
        add = graph.add_compute_set("add")
    for tile in range(4):
        graph.add_vertex(add, Add, tile=tile, x=x[(tile + 1) % 4], y=y[tile])
    return graph, pl.Sequence(pl.Repeat(times, pl.Execute(add)), pl.Copy(y, x[:, 1]))
