"""Trees from ops: what was written down is found again."""

from __future__ import annotations

import pytest

import poplite as pl
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
