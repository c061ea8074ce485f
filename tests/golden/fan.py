"""A variable copied to many: what the collapsed dataflow graph is drawn of."""

from poplite import FLOAT, Copy, Graph, Program, Sequence, Target


def build() -> tuple[Graph, Program]:
    """One variable copied to twelve, one of which is copied back; in rows, with trunks."""
    graph = Graph(Target(tiles=4))
    x = graph.add_variable(FLOAT, (8,), "x", mapping="linear")
    copies = []
    for k in range(12):
        with graph.scope(f"part{k % 3}"):
            y = graph.add_variable(FLOAT, (8,), f"y{k}", mapping=k % 4)
        copies.append(Copy(x, y))
    return graph, Sequence(*copies, Copy(y[:4], x[4:]))
