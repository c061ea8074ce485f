"""A program with every kind of step and every way to arrange them."""

import poplite as pl


class Settled(pl.Vertex):
    """Stands for any vertex that returns something."""

    x: pl.InOut[pl.INT]

    def compute(self) -> bool:
        """Tell whether the value is settled."""
        return self.x == 0


def build() -> tuple[pl.Graph, pl.Program]:
    """Everything once, on two tiles."""
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.INT, (4,), "x", mapping=0)
    y = graph.add_variable(pl.INT, (4,), "y", mapping=1)
    row = graph.add_variable(pl.UNSIGNED_INT, (), "row", mapping=0)
    done = graph.add_variable(pl.BOOL, (), "done", mapping=1)
    work = graph.add_compute_set("work")
    graph.add_vertex(work, Settled, tile=0, x=x[0])
    into = graph.add_host_to_device_fifo("images", pl.INT, 4)
    out = graph.add_device_to_host_fifo("results", pl.INT, 4)
    table = graph.add_remote_buffer("table", pl.INT, 4, repeats=3)
    sort = graph.add_host_function("sort", [(pl.INT, 4)], [(pl.INT, 4)])
    step = pl.Execute(work)
    shared = graph.add_function(step, "shared")
    data = pl.Block(
        pl.Sequence(
            pl.Copy(into, x),
            pl.Copy(x, y),
            pl.Copy(table, y, row),
            pl.Copy(y, table),
            pl.Copy(y, out),
            pl.CrossReplicaCopy(x, y, [0]),
            pl.Copy(graph.add_function_buffer(shared), shared),
            pl.Call(sort, [x], [y]),
        ),
        "data",
    )
    marks = pl.Sequence(
        pl.Sync(pl.SyncType.GLOBAL),
        pl.WriteUndef(y),
        pl.AssumeEqualAcrossReplicas(x),
        name="marks",
    )
    marks.add(pl.SetStochasticRounding(True))
    behaviour = pl.FloatingPointBehaviour()
    marks.add(pl.SetFloatingPointBehaviour(behaviour))
    marks.add(pl.ModifyFloatingPointBehaviour(behaviour, behaviour))
    pl.cycle_stamp(graph, marks)
    loops = pl.Sequence(
        pl.RepeatWhileFalse(pl.Execute(work, done), done, pl.Program()),
        pl.RepeatWhileTrue(pl.Sequence(), row, step),
        pl.Repeat(3, pl.PrintTensor("all of x", x)),
        pl.counted_loop(graph, 0, row, 1, pl.Call(shared)),
        name="loops",
    )
    stops = pl.Switch(
        row,
        {
            0: pl.Abort("no rows"),
            7: pl.AbortOnCondition(done, "diverged"),
            9: pl.ErrorProgram("bad row", row),
        },
    )
    return graph, pl.Sequence(data, marks, loops, pl.If(done, stops, pl.Loop(step)), name="every")
