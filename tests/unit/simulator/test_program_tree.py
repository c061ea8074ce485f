"""Trees from ops: what was written down is found again, by errors of runs too."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

import poplite as pl
from helpers.running import both_forms
from poplite.compile.compiler import compile_graph
from poplite.report.program_tree import Program, num_steps
from poplite.simulator.accounts.reporting import compilation_of


class Bench:
    """A graph with steps to arrange."""

    def __init__(self, replicas: int = 1) -> None:
        target = pl.Target(tiles=2 * replicas, ipus=replicas)
        self.graph = pl.Graph(target, replication_factor=replicas)
        self.n = self.graph.add_variable(pl.INT, (), "n", mapping=0, initial_value=0)
        self.x, self.y = (
            self.graph.add_variable(pl.INT, (2,), name, mapping=0, initial_value=0) for name in "xy"
        )

    def copy(self, name: str) -> pl.Program:
        """Return a Copy that is called after its source."""
        source = self.graph.add_variable(pl.INT, (2,), name, mapping=1, initial_value=0)
        return pl.Copy(source, self.x)


def drawn(program: Program, depth: int = 0) -> list[str]:
    """Return a tree as lines, names cut before the blank."""
    name = program.name.split(" to ")[0]
    lines = [f"{' ' * depth}{program.type.value} {name}".rstrip()]
    return lines + [line for child in program.children for line in drawn(child, depth + 1)]


def lines_of(bench: Bench, program: pl.Program) -> list[str]:
    """Return the tree of a compiled program as lines, without its root."""
    unmeant = {"debug.allowOutOfMemory": True}
    executable = compile_graph(bench.graph, {"main": program}, "fast", options=unmeant)
    (tree,) = compilation_of(executable).programs.values()
    assert (tree.type.value, tree.name) == ("Sequence", "main")
    return [line[1:] for line in drawn(tree)[1:]]


@pytest.fixture
def bench() -> Bench:
    """A graph with steps to arrange."""
    return Bench()


def test_repeats_within_repeats(bench: Bench) -> None:
    a, b, c = map(bench.copy, "abc")
    body = pl.Sequence(a, pl.Repeat(3, pl.Repeat(1, b)), pl.Repeat(0, c))
    assert lines_of(bench, pl.Sequence(pl.Repeat(2, body), c)) == [
        "Repeat 2 times",
        " Copy a",
        " Repeat 3 times",
        "  Repeat 1 time",
        "   Copy b",
        " Repeat 0 times",
        "  Copy c",
        "Copy c",
    ]


@pytest.mark.parametrize("replicas", [1, 2])
def test_branches(replicas: int) -> None:
    bench = Bench(replicas)
    a, b, c, d = map(bench.copy, "abcd")
    n, nothing = bench.n, pl.Sequence()
    both = pl.If(n, pl.If(n, a, nothing), pl.If(n, nothing, b))
    switch = pl.Switch(n, {7: a, -1: pl.Sequence(b, c), 3: nothing})
    last = pl.If(n, pl.Switch(n, {1: c}), nothing)
    default = pl.Switch(n, {1: switch}, default=d)
    assert lines_of(bench, pl.Sequence(both, switch, last, default, d)) == [
        "If n",
        " Sequence",
        "  If n",
        "   Copy a",
        " Sequence",
        "  If n",
        "   Sequence",
        "   Sequence",
        "    Copy b",
        "Switch n",
        " Sequence 7",
        "  Copy a",
        " Sequence -1",
        "  Copy b",
        "  Copy c",
        " Sequence 3",
        "If n",
        " Switch n",
        "  Sequence 1",
        "   Copy c",
        "Switch n",
        " Sequence 1",
        "  Switch n",
        "   Sequence 7",
        "    Copy a",
        "   Sequence -1",
        "    Copy b",
        "    Copy c",
        "   Sequence 3",
        " Sequence default",
        "  Copy d",
        "Copy d",
    ]


@pytest.mark.parametrize("replicas", [1, 2])
def test_loops_that_test(replicas: int) -> None:
    bench = Bench(replicas)
    a, b, c = map(bench.copy, "abc")
    inner = pl.RepeatWhileFalse(b, bench.n, pl.Sequence())
    outer = pl.RepeatWhileTrue(a, bench.n, pl.Sequence(inner, c))
    assert lines_of(bench, pl.If(bench.n, outer, pl.Sequence())) == [
        "If n",
        " RepeatWhile n",
        "  Copy a",
        "  RepeatWhile n",
        "   Copy b",
        "  Copy c",
    ]


def test_loops_without_end(bench: Bench) -> None:
    a, b = map(bench.copy, "ab")
    loop = pl.Loop(pl.Sequence(pl.Loop(a), b))
    assert lines_of(bench, pl.Sequence(pl.Loop(loop), b)) == [
        "Loop",
        " Loop",
        "  Loop",
        "   Copy a",
        "  Copy b",
        "Copy b",
    ]


def test_functions_stand_under_each_call_and_are_one(bench: Bench) -> None:
    a, b = map(bench.copy, "ab")
    inner = bench.graph.add_function(pl.Repeat(2, a))
    outer = bench.graph.add_function(pl.Sequence(pl.Call(inner), b))
    program = pl.Sequence(pl.Call(outer), pl.Call(inner))
    assert lines_of(bench, program) == [
        "Call",
        " Sequence",
        "  Call",
        "   Sequence",
        "    Repeat 2 times",
        "     Copy a",
        "  Copy b",
        "Call",
        " Sequence",
        "  Repeat 2 times",
        "   Copy a",
    ]
    tree = compilation_of(compile_graph(bench.graph, program)).programs["0"]
    first, second = tree.children
    assert first.children[0].children[0].children[0] is second.children[0]
    assert sum(node.type.value == "Copy" for node in tree.walk()) == 2


def test_many_functions_that_call_twice_stay_small(bench: Bench) -> None:
    function = bench.graph.add_function(bench.copy("a"))
    for _ in range(20):
        function = bench.graph.add_function(pl.Sequence(pl.Call(function), pl.Call(function)))
    executable = compile_graph(bench.graph, pl.Call(function))
    tree = compilation_of(executable).programs["0"]
    assert sum(1 for _ in tree.walk()) == 1 + 1 + 21 + 2 * 20 + 1


def test_what_the_host_does(bench: Bench) -> None:
    graph, x, n = bench.graph, bench.x, bench.n
    there = graph.add_host_to_device_fifo("in", pl.INT, 2)
    back = graph.add_device_to_host_fifo("out", pl.INT, 2)
    sort = graph.add_host_function("sort", [(pl.INT, 2)], [(pl.INT, 2)])
    program = pl.Sequence(
        pl.Copy(there, x),
        pl.Copy(x, back),
        pl.Call(sort, [x], [x]),
        pl.PrintTensor(n),
        pl.AbortOnCondition(n),
        pl.If(n, pl.Abort("stop"), pl.Sequence()),
        pl.Sync(pl.SyncType.INTERNAL),
    )
    assert lines_of(bench, program) == [
        "HostCopy Copy 'in' -> 'x'",
        "HostCopy Copy 'x' -> 'out'",
        "HostCall Call 'sort'",
        "HostAction PrintTensor 'n'",
        "HostAction AbortOnCondition 'n'",
        "If n",
        " HostAction Abort",
        "Mark",
    ]


def test_what_a_switch_does_without_a_case_is_no_step(bench: Bench) -> None:
    a, b = map(bench.copy, "ab")
    switch = pl.Switch.with_bounds_checking(bench.n, {1: pl.Sequence(a, b)})
    executable = compile_graph(bench.graph, {"main": switch}, "fast")
    report = pl.Engine(executable).report()
    tree = report.compilation.programs["main"]
    assert num_steps(tree) == executable.programs["main"].num_steps == 2
    names = [(each.kind, each.name) for each in report.compilation.accesses]
    assert names == [("control", "Switch"), ("copy", "a to x"), ("copy", "b to x")]


# -- errors of a run name the step and, of several, the program, as errors of compiling do ---------


class Reach(pl.Vertex):
    at: pl.Input[pl.INT]
    x: pl.InOut[pl.Vector[pl.INT]]

    def compute(self) -> None:
        if self.at < 5:
            raise ValueError("small")
        self.x[self.at] = 1


def programs(at: int = 4) -> tuple[pl.Graph, dict[str, pl.Program]]:
    """Return a graph and programs, each of which fails in its own way."""
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.INT, (4,), "x", mapping=0, initial_value=[0] * 4)
    place = graph.add_variable(pl.INT, (), "place", mapping=0, initial_value=at)
    unset = graph.add_variable(pl.INT, (4,), "unset", mapping=0)
    loose = graph.add_variable(pl.BOOL, (), "loose", mapping=0)
    reach = graph.add_compute_set("reach")
    graph.add_vertex(reach, Reach, tile=0, at=place, x=x)
    out = graph.add_device_to_host_fifo("out", pl.INT, 4)
    rows = graph.add_remote_buffer("rows", pl.INT, 4, repeats=2)
    step = pl.PrintTensor(x)
    function = graph.add_function(pl.Sequence(step, pl.Execute(reach)))
    return graph, {
        "reach": pl.Sequence(step, pl.Call(function)),
        "abort": pl.Sequence(step, pl.AbortOnCondition(place, "stop")),
        "send": pl.Sequence(pl.Copy(x, out)),
        "remote": pl.Sequence(step, step, pl.Copy(x, rows, place.reshape((1,)))),
        "switch": pl.Sequence(step, pl.Switch.with_bounds_checking(place, [(1, step)])),
        "print": pl.PrintTensor("title", unset),
        "if": pl.Sequence(step, pl.If(loose, step, step)),
        "around nothing": pl.RepeatWhileTrue(pl.Program(), loose, pl.Program()),
    }


WHERE = {
    "reach": "step 3 of 3: Execute 'reach', of program 'reach'",
    "abort": "step 2 of 2: AbortOnCondition 'place', of program 'abort'",
    "send": "step 1 of 1: Copy 'x' -> 'out', of program 'send', in the callback of stream 'out'",
    "remote": "step 3 of 3: Copy 'x' -> 'rows', of program 'remote'",
    "switch": "step 2 of 2, which Switch 'place' decides on, of program 'switch'",
    "print": "step 1 of 1: PrintTensor 'title', of program 'print'",
    "if": "step 2 of 3, which a scalar decides on, of program 'if'",
    "around nothing": "what a scalar decides on, of program 'around nothing'",
}


def message(engine: pl.Engine, name: str) -> str:
    """Return what is said when a program fails."""

    def refuse(values: object) -> None:
        raise RuntimeError("refused")

    engine.print_stream = io.StringIO()
    if "out" in engine.list_streams():
        engine.connect_stream_to_callback("out", refuse)
    with pytest.raises(Exception) as caught:  # noqa: PT011
        engine.run(name)
    return "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])


@both_forms
@pytest.mark.parametrize("name", WHERE)
def test_the_program_is_named_where_there_are_several(interpret: bool, name: str) -> None:
    graph, several = programs()
    engine = pl.Engine(graph, several, interpret=interpret)
    assert f"\n  at {WHERE[name]}" in "\n" + message(engine, name)
    alone = message(pl.Engine(graph, several[name], interpret=interpret), name="0")
    assert f"\n  at {WHERE[name].replace(f', of program {name!r}', '')}" in "\n" + alone


@both_forms
def test_the_fault_of_an_index_names_the_program(interpret: bool) -> None:
    graph, several = programs(at=6)
    said = message(pl.Engine(graph, several, interpret=interpret), "reach")
    assert "'Reach.x': index 6 of 4 elements" in said
    assert f"\n  at {WHERE['reach']}\n" in said


def test_a_loaded_executable_names_programs_too(tmp_path: Path) -> None:
    graph, several = programs()
    pl.compile_graph(graph, several).save(tmp_path / "several")
    engine = pl.Engine(pl.Executable.load(tmp_path / "several", [Reach]))
    assert f"\n  at {WHERE['reach']}\n" in message(engine, "reach")
