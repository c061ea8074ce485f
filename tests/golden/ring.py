"""Steps of 40 tiles that exchange, copy, wait and repeat: what pictures of reports are of."""

import poplite as pl


class Mix(pl.Vertex):
    """Stands for any vertex."""

    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        """Copy what is there."""
        for i in range(len(self.y)):
            self.y[i] = self.x[i]


def build(most: int = 900) -> tuple[pl.Graph, pl.Program]:
    """A ring of neighbours, a step on few tiles, a transposed copy; names of all kinds."""
    graph = pl.Graph(pl.Target(tiles=40))
    with graph.scope("ring"):
        a, b = (
            graph.add_variable(pl.FLOAT, (40, 4), name, mapping="linear", initial_value=1)
            for name in ("a", "<script>b\n</script>")
        )
        turn = graph.add_compute_set("turn")
    for tile in range(40):
        vertex = graph.add_vertex(turn, Mix, tile=tile, x=a[(tile + 1) % 40], y=b[tile])
        graph.set_perf_estimate(vertex, 100 + most * (tile % 7) // 6)
    with graph.scope("ring/sum"):
        sums = graph.add_variable(pl.FLOAT, (3, 4), "sums", mapping=0)
        few = graph.add_compute_set("few")
    for tile in range(3):
        vertex = graph.add_vertex(few, Mix, tile=tile, x=b[13 * tile], y=sums[tile])
        graph.set_perf_estimate(vertex, 60)
    back = pl.Copy(b.transpose().reshape((40, 4)), a)
    return graph, pl.Sequence(pl.Repeat(6, pl.Sequence(pl.Execute(turn), back)), pl.Execute(few))
