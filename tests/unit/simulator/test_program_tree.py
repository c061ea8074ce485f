"""Trees from ops: what was written down is found again, by errors of runs too."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Literal

import pytest

import poplite as pl
from helpers.depth import interpreted
from helpers.running import both_forms
from poplite import ops
from poplite.compile.compiler import compile_graph
from poplite.report.program_tree import Program, num_steps
from poplite.simulator.reporting import compilation_of
from poplite.vertices import Add


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


# -- messages lead to the user's line --------------------------------------------------------------


def variables(*names: str) -> tuple[pl.Graph, list[pl.Tensor]]:
    """Return vectors of four elements that nothing has written."""
    graph = pl.Graph(pl.Target(tiles=2))
    return graph, [graph.add_variable(pl.FLOAT, (4,), name, mapping="linear") for name in names]


def test_an_unwritten_element_is_named_where_it_was_made_through_copies() -> None:
    graph, (b, r, v, s) = variables("b", "r", "v", "s")
    with graph.steps() as program:
        ops.copy(b[::-1], r)
        ops.copy(r, v)
        ops.assign(s, v * 2)
    engine = pl.Engine(graph, program, **interpreted())
    with pytest.raises(pl.UninitializedReadError) as caught:
        engine.run()
    error = caught.value
    assert "which is 'v'[0], copied from 'b'[3] by way of 'r'[0], but nothing" in error.what
    assert "test_program_tree.py" in str(error.at)
    assert error.found is not None
    assert error.found.startswith("'b' was made at ")
    assert re.search(r"compute of the vertex: <poplite ", error.found)
    assert error.fix is not None
    assert error.fix.startswith("write 'b'[3] in an earlier step")


def test_what_was_written_after_a_copy_is_not_blamed() -> None:
    """'b' is written by then; the copy of 'c' is what left 'r' unwritten."""
    graph, (b, c, r, s) = variables("b", "c", "r", "s")
    with graph.steps() as program:
        ops.copy(b, r)
        ops.copy(c, r)
        ops.fill(b, 1)
        ops.assign(s, r * 2)
    engine = pl.Engine(graph, program, **interpreted())
    with pytest.raises(pl.UninitializedReadError, match=r"'r'\[0\], copied from 'c'\[0\], but"):
        engine.run()


def test_many_copies_in_between_are_counted() -> None:
    graph, all_of_them = variables(*(f"t{n}" for n in range(9)))
    with graph.steps() as program:
        for source, target in zip(all_of_them[:-2], all_of_them[1:-1], strict=True):
            ops.copy(source, target)
        ops.assign(all_of_them[-1], all_of_them[-2] * 2)
    engine = pl.Engine(graph, program, **interpreted())
    via = r"'t0'\[0\] by way of 't1'\[0\], 't2'\[0\], 't3'\[0\] and 3 more elements, but"
    with pytest.raises(pl.UninitializedReadError, match=via):
        engine.run()


def test_a_decision_names_what_its_scalar_was_copied_from() -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    given, more = (graph.add_variable(pl.BOOL, (), name, mapping=0) for name in ("given", "more"))
    branch = pl.If(more, pl.Copy(more, given), pl.Sequence())
    program = pl.Sequence(pl.Copy(given, more), branch)
    engine = pl.Engine(graph, program)
    with pytest.raises(pl.UninitializedReadError) as caught:
        engine.run()
    assert caught.value.what.startswith("'more', copied from 'given' decides what runs next")
    assert caught.value.fix is not None
    assert caught.value.fix.startswith("write 'given' in")


def warned(engine: pl.Engine, read: pl.Tensor | str | None = None) -> pl.UninitializedWarning:
    """Return the only warning of a run, or of a read after one."""
    with pytest.warns(pl.UninitializedWarning) as caught:  # noqa: PT031
        engine.run()
        if read is not None:
            engine.read(read)
    (warning,) = caught
    assert isinstance(warning.message, pl.UninitializedWarning)
    return warning.message


def test_the_host_hears_where_what_it_reads_was_made_through_copies() -> None:
    graph, (b, r, v, s) = variables("b", "r", "v", "s")
    with graph.steps() as program:
        ops.copy(b[::-1], r)
        ops.copy(r, v)
        ops.fill(s, 1)
        ops.copy(s[:2], v[:2])
    message = warned(pl.Engine(graph, program, **interpreted()), pl.concat([s, v]))
    assert message.what == "engine.read of 'concat(s, v)': nothing has written 2 of 8 elements"
    assert message.at == graph.variables[0].location
    assert message.found is not None
    first, origin, memory = message.found.splitlines()
    assert first == "the first is [6]"
    line = re.escape("'v'[2], copied from 'b'[1] by way of 'r'[2]; 'b' was made at ")
    assert re.match(line + ".*test_program_tree.py", origin)
    assert memory.startswith("memory is zero there now")
    assert message.fix == "write 'b' before, give an initial_value, or leave out the elements"


def test_only_variables_that_the_host_misses_are_named() -> None:
    graph, (a, b, c) = variables("a", "b", "c")
    with graph.steps() as program:
        ops.fill(b, 1)
        ops.fill(a[1:], 1)
    engine = pl.Engine(graph, program, **interpreted())
    engine.run()
    assert engine.read(a[1:]).tolist() == [1, 1, 1]
    message = warned(engine, pl.concat([b, c[:1], a]))
    assert message.what.endswith("nothing has written 2 of 9 elements")
    assert message.found is not None
    made = [line.partition(" at ")[0] for line in message.found.splitlines()]
    assert made == [
        "the first is [4]",
        "'c' was made",
        "'a' was made",
        "memory is zero there now; on a machine it is undefined",
    ]
    assert message.fix is not None
    assert message.fix.startswith("write 'c', 'a' before")


def test_a_stream_and_a_print_hear_of_it_too() -> None:
    graph, (a, b, c) = variables("a", "b", "c")
    stream = graph.add_device_to_host_fifo("out", pl.FLOAT, 4)
    engine = pl.Engine(graph, pl.Sequence(pl.Copy(a, b), pl.Copy(b, stream)))
    engine.connect_stream_to_callback("out", lambda array: None)
    message = warned(engine)
    assert message.what == "Copy 'b' -> 'out': nothing has written 4 of 4 elements"
    assert "\n'b'[0], copied from 'a'[0]; 'a' was made at " in str(message.found)
    engine = pl.Engine(graph, pl.Sequence(pl.Copy(a, b), pl.PrintTensor("seen", b[2:])))
    engine.print_stream = io.StringIO()
    message = warned(engine)
    assert message.what == "PrintTensor 'seen': nothing has written 2 of 2 elements"
    assert "\n'b'[2], copied from 'a'[2]; 'a' was made at " in str(message.found)


def test_a_saved_executable_says_the_same_by_handle(tmp_path: Path) -> None:
    graph, (a, b) = variables("a", "b")
    graph.create_host_read("result", b)
    pl.Engine(graph, pl.Copy(a[::-1], b)).executable.save(tmp_path / "copied.ppl")
    engine = pl.Engine(pl.Executable.load(tmp_path / "copied.ppl"), checks="strict")
    message = warned(engine, "result")
    assert "'b'[0], copied from 'a'[3]; 'a' was made at " in str(message.found)


@pytest.mark.parametrize("checks", ["strict", "fast"])
def test_a_fault_in_a_class_of_the_library_begins_with_the_users_line(
    checks: Literal["strict", "fast"],
) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.FLOAT, (4,), "x", mapping=0, initial_value=1)
    add = graph.add_compute_set("add")
    graph.add_vertex(add, Add[pl.FLOAT], tile=0, a=x[:1], b=x[:1], out=x[1:])
    engine = pl.Engine(graph, pl.Execute(add), checks=checks)
    with pytest.raises(pl.TensorIndexError) as caught:
        engine.run()
    assert "test_program_tree.py" in str(caught.value.at)
    assert "compute of the vertex: " in str(caught.value.found)


def test_remedies_fit_what_was_written() -> None:
    graph, (v,) = variables("v")
    x = graph.add_variable(pl.FLOAT, (4, 4), "x", mapping=0)
    many = graph.add_variable(pl.BOOL, (16,), "many", mapping=0)
    assert repr(x.T @ x) == "<Expr x.T @ x float32[4, 4]>"
    assert repr(x[:2].T @ x[:2]) == "<Expr x @ x float32[4, 4]>"
    with pytest.raises(
        pl.ElementTypeError, match=re.escape("use b.T @ a.T, which equals (a @ b).T")
    ):
        (x @ x.T).T  # noqa: B018
    with pytest.raises(pl.ElementTypeError, match=re.escape("operands, x.T + y.T, or store")):
        (x + 1).T  # noqa: B018
    with pytest.raises(pl.ElementTypeError, match=r"(?s)transposed.*try: store it first"):
        ops.sum(x, 0).T  # noqa: B018
    with pytest.raises(pl.ControlProgramError, match=r"with graph.steps\(\) as program"):
        pl.Engine(graph, v + v)
    with pytest.raises(pl.TensorIndexError, match=r"(?s)with <Expr v > 0.*ops.where"):
        v[v > 0]  # type: ignore[index]
    for predicate in (many, v > 0):
        with pytest.raises(pl.PopliteError, match=r"ops.map\(ops.any\(t\)\)"):
            pl.RepeatWhileTrue(pl.Sequence(), predicate, pl.Sequence())  # type: ignore[arg-type]
    with pytest.raises(pl.ElementTypeError, match="store it first: t = ops.map"):
        pl.RepeatWhileTrue(pl.Sequence(), ops.sum(v) > 0, pl.Sequence())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("line", "fix"),
    [
        ("self.x[0] = np.float32(self.x[0])", "use pl.FLOAT(...)"),
        ("self.x[0] = np.int16(self.x[0])", "use pl.SHORT(...)"),
        ("self.x[0] = np.float64(self.x[0])", "float(...)"),
        ("t = np.zeros(3)", "use an InOut[Vector[...]] field for working memory"),
        ("t = np.empty_like(3)", "use an InOut[Vector[...]] field for working memory"),
        ("self.x[0] = np.sum(self.x)", "loop over the elements: total += self.x[i]"),
        ("self.x[0] = TABLE[0]", "pass the values to a field: table: State[Vector[FLOAT]]"),
        ("for i, a in enumerate(self.x, 1): pass", "for i, v in enumerate(self.x), and i + 1"),
    ],
)
def test_remedies_in_compute_name_what_there_is(line: str, fix: str) -> None:
    text = (
        "import numpy as np\nimport poplite as pl\nTABLE = np.ones(2, np.float32)\n"
        "class V(pl.Vertex):\n    x: pl.InOut[pl.Vector[pl.FLOAT]]\n"
        f"    def compute(self):\n        {line}\n"
    )
    graph, (x,) = variables("x")
    only = graph.add_compute_set("only")
    graph.add_vertex(only, pl.vertex_from_source(text, "V"), tile=0, x=x)
    with pytest.raises(pl.VertexCompileError) as caught:
        pl.Engine(graph, pl.Execute(only))
    assert caught.value.fix is not None
    assert caught.value.fix.startswith(fix)
