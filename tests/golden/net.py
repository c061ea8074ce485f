"""A graph that does not fit, and its program: what the summary and the tree are drawn of."""

from poplite import (
    FLOAT,
    Copy,
    Execute,
    Graph,
    InOut,
    PrintTensor,
    Program,
    Repeat,
    Sequence,
    Target,
    Vertex,
)


class Blur(Vertex):
    """Stands for any vertex."""

    x: InOut[FLOAT]

    def compute(self) -> None:
        """Leave the value as it is."""


def build() -> tuple[Graph, Program]:
    """Three variables and a constant on four tiles; names of all kinds; a shared block."""
    graph = Graph(Target(tiles=4, tile_memory_bytes=3674))
    image = graph.add_variable(FLOAT, (3, 4), "image", mapping="linear")
    with graph.scope("model/block4/conv/branch2/temporaries"):
        a = graph.add_variable(FLOAT, (12,), "widened_activations", mapping=[[(0, 10)], [(10, 12)]])
    b = graph.add_variable(FLOAT, (17,), "広い <&\n'b'>", mapping=2)
    graph.add_constant(FLOAT, (12,), 1.5, "משקל", mapping=2)
    there, back = graph.add_compute_set("there"), graph.add_compute_set("back")
    for tile in range(4):
        graph.add_vertex(there, Blur, tile=tile, x=a[tile])
        graph.add_vertex(back, Blur, tile=tile, x=a[tile])
    block = Sequence(
        Execute(there),
        Copy(a, b[5:]),
        PrintTensor("b: \x1b", b),
        name="block",
    )
    program = Sequence(
        Copy(image, a),
        Repeat(100, Sequence(block, Execute(back), name="loop")),
        block,
        Sequence(),
        name="main",
    )
    return graph, program
