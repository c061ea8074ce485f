"""Streams, named programs, and a compiled program that is loaded without its graph.

Of four programs over one graph, `write` streams x and y in, `custom` adds them by a vertex of our
own, `library` by an operation, and `read` streams z out; the host chooses which of them run.  They
are saved, loaded and run again: names of programs and handles of streams are all it takes then.
In a loop on the machine, functions of the host give and take a block in each round.
"""

import tempfile

import numpy as np

import poplite as pl
from poplite import ops


class Add(pl.Vertex):
    """z = x + y."""

    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Input[pl.Vector[pl.FLOAT]]
    z: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.z)):
            self.z[i] = self.x[i] + self.y[i]


def build() -> tuple[pl.Graph, dict[str, pl.Program]]:
    graph = pl.Graph(pl.Target(tiles=3))
    x, y, z = (graph.add_variable(pl.FLOAT, (4,), "xyz"[k], mapping=k) for k in range(3))
    x_in, y_in = (graph.add_host_to_device_fifo(f"{n} in", pl.FLOAT, 4) for n in "xy")
    write = pl.Sequence(pl.Copy(x_in, x), pl.Copy(y_in, y))
    add = graph.add_compute_set("add")
    graph.add_vertex(add, Add, tile=2, x=x, y=y, z=z)
    with graph.steps("library") as library:
        ops.map(x + y, out=z)
    read = pl.Copy(z, graph.add_device_to_host_fifo("z out", pl.FLOAT, 4))
    return graph, {"write": write, "custom": pl.Execute(add), "library": library, "read": read}


def run_both(engine: pl.Engine) -> None:
    result = np.zeros(4, np.float32)
    engine.connect_stream("x in", np.array([1, 2, 3, 4], np.float32))
    engine.connect_stream("y in", np.array([4, 3, 2, 1], np.float32))
    engine.connect_stream("z out", result)
    for program in ("custom", "library"):
        for name in ("write", program, "read"):
            engine.run(name)
        print(f"x + y by {program}: {result}")
        np.testing.assert_array_equal(result, 5)


def run_callbacks() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.FLOAT, (8,), "x", mapping=0)
    blocks_in = graph.add_host_to_device_fifo("in", pl.FLOAT, 8)
    blocks_out = graph.add_device_to_host_fifo("out", pl.FLOAT, 8)
    with graph.steps() as program, ops.repeat(5):
        program.add(pl.Copy(blocks_in, x))
        ops.assign(x, x + 1)
        program.add(pl.Copy(x, blocks_out))
    engine, taken = pl.Engine(graph, program), list[np.ndarray]()
    engine.connect_stream_to_callback("in", lambda block: block.fill(len(taken)))
    engine.connect_stream_to_callback("out", lambda block: taken.append(block.copy()))
    engine.run()
    np.testing.assert_array_equal(np.mean(taken, axis=1), [1, 2, 3, 4, 5])


def main() -> None:
    engine = pl.Engine(*build())
    run_both(engine)
    with tempfile.TemporaryDirectory() as folder:
        engine.executable.save(f"{folder}/programs.poplite")
        run_both(pl.Engine(pl.Executable.load(f"{folder}/programs.poplite")))
    run_callbacks()


if __name__ == "__main__":
    main()
