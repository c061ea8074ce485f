"""Kinds of programs: marks, stops, counted loops, and many steps in few functions."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import poplite as pl
from helpers.running import both_forms, simulated
from helpers.vertices import Count
from poplite.compile.compiler import compile_graph
from poplite.executable import encoding as op
from poplite.program import walk
from poplite.program.base import written_steps
from poplite.vertices.filling import count_reference

# -- `Sync`, `WriteUndef`, `Block` -----------------------------------------------------------------


@pytest.fixture
def x() -> pl.Tensor:
    graph = pl.Graph(pl.Target(tiles=2))
    return graph.add_variable(pl.INT, (3,), "x", mapping=0, initial_value=[1, 2, 3])


@both_forms
def test_they_are_steps_that_change_nothing(x: pl.Tensor, interpret: bool) -> None:
    y = x.graph.add_variable(pl.INT, (3,), "y", mapping=1)
    z = x.graph.add_variable(pl.INT, (3,), "z", mapping=1)
    marks = [pl.Sync(kind) for kind in pl.SyncType] + [pl.WriteUndef(z[1:])]
    program = pl.Sequence(pl.Repeat(2, pl.Sequence(marks)), pl.Copy(x, y))
    engine = pl.Engine(x.graph, program, interpret=interpret)
    engine.run()
    assert engine.read(y).tolist() == [1, 2, 3]
    assert [str(step) for step in walk(program)][:4] == [
        "step 1 of 5: Sync INTERNAL",
        "step 2 of 5: Sync EXTERNAL",
        "step 3 of 5: Sync GLOBAL",
        "step 4 of 5: WriteUndef 'z'",
    ]


def test_the_engine_counts_them(x: pl.Tensor) -> None:
    program = pl.Repeat(7, pl.Sequence(pl.Sync(pl.SyncType.GLOBAL), pl.WriteUndef(x)))
    code = compile_graph(x.graph, program, "fast").programs["0"]
    marks = code.ops[:, 0] == op.MARK
    assert code.step_numbers[marks].tolist() == [1, 2]
    for interpret in (False, True):
        engine = pl.Engine(x.graph, program, checks="fast", interpret=interpret)
        engine.run()
        assert simulated(engine).runs.counts["0"][marks].tolist() == [7, 7]


class Increase(pl.Vertex):
    n: pl.InOut[pl.INT]

    def compute(self) -> None:
        self.n += 1


@both_forms
def test_what_is_undefined_is_not_read_with_strict_checks(x: pl.Tensor, interpret: bool) -> None:
    cs = x.graph.add_compute_set("increase")
    x.graph.add_vertex(cs, Increase, tile=0, n=x[1])
    y = x.graph.add_variable(pl.INT, (3,), "y", mapping=1)
    step = pl.Execute(cs)
    programs = {
        "another": pl.Sequence(step, pl.WriteUndef(x[::2]), step),
        "itself": pl.Sequence(pl.Copy(x, y), pl.WriteUndef(x[1:]), step),
        "again": pl.Sequence(pl.WriteUndef(x), pl.Copy(y, x), step),
    }
    engine = pl.Engine(x.graph, programs, interpret=interpret)
    engine.run("another")
    with pytest.warns(pl.UninitializedWarning, match="nothing has written 2 of 3 elements"):
        engine.read(x)
    engine.write(x, [1, 2, 3])
    with pytest.raises(pl.UninitializedReadError, match=r"reads 'Increase.n', which is 'x'\[1\]"):
        engine.run("itself")
    assert engine.read(y).tolist() == [1, 2, 3]
    engine.run("again")
    assert engine.read(x).tolist() == [1, 3, 3]


def test_what_they_read_and_write(x: pl.Tensor) -> None:
    undefined = pl.WriteUndef(x)
    assert (undefined.reads, undefined.writes, undefined.num_steps) == ((), (x,), 1)
    sync = pl.Sync(pl.SyncType.EXTERNAL)
    assert (sync.reads, sync.writes, sync.num_steps) == ((), (), 1)
    assert repr(sync) == "<Sync EXTERNAL>"
    assert repr(undefined) == "<WriteUndef 'x' int32[3]>"
    unmapped = x.graph.add_variable(pl.INT, (2,), "unmapped")
    with pytest.raises(pl.InvalidTileMapping, match="(?s)'unmapped'.*step 1 of 1: WriteUndef 'unm"):
        pl.Engine(x.graph, pl.WriteUndef(unmapped))


def test_bad_marks(x: pl.Tensor) -> None:
    with pytest.raises(
        pl.ElementTypeError,
        match=r"(?s)Sync: 'global' is not in SyncType.*type str.*SyncType.INTERN",
    ):
        pl.Sync("global")
    with pytest.raises(pl.ElementTypeError, match="(?s)WriteUndef: 3 is not a tensor.*type int"):
        pl.WriteUndef(3)  # type: ignore[arg-type]
    constant = x.graph.add_constant(pl.INT, (2,), 0, "zeros")
    with pytest.raises(
        pl.GraphConnectionError, match=r"(?s)'zeros': a constant is always.*int32\[2\].*variable"
    ):
        pl.WriteUndef(constant)


@both_forms
def test_a_block_runs_what_is_in_it(x: pl.Tensor, interpret: bool) -> None:
    y = x.graph.add_variable(pl.INT, (3,), "y", mapping=1)
    block = pl.Block(pl.Sequence(pl.Copy(x, y), pl.Sync(pl.SyncType.INTERNAL)), "forward")
    engine = pl.Engine(x.graph, pl.Repeat(2, block), interpret=interpret)
    engine.run()
    assert engine.read(y).tolist() == [1, 2, 3]
    assert engine.report().steps == 2
    assert (repr(block), str(block)) == ("<Block 'forward' 2 steps>", "Block 'forward'")
    assert pl.Block(pl.Sequence(), "nothing").is_empty


def test_a_block_has_a_program_and_a_name() -> None:
    with pytest.raises(pl.ControlProgramError, match="Block: 'forward' is not a program"):
        pl.Block("forward", pl.Sequence())  # type: ignore[arg-type]
    with pytest.raises(
        pl.ControlProgramError, match=r"(?s)Block: '' is not a valid name.*Sequence 0 steps"
    ):
        pl.Block(pl.Sequence(), "")
    with pytest.raises(pl.ControlProgramError, match=r"(?s)Block: 3 is not a valid name.*type int"):
        pl.Block(pl.Sequence(), 3)  # type: ignore[arg-type]


# -- programs that end the run ---------------------------------------------------------------------


class Bench:
    def __init__(self) -> None:
        self.graph = pl.Graph(pl.Target(tiles=2))
        self.n = self.scalar(pl.INT, "n")
        cs = self.graph.add_compute_set("count")
        self.graph.add_vertex(cs, Count, tile=0, n=self.n)
        self.count = pl.Execute(cs)

    def scalar(self, element: type[pl.ElementType[int]], name: str) -> pl.Tensor:
        zero = np.zeros((), element.dtype)
        return self.graph.add_variable(element, (), name, mapping=0, initial_value=zero)


@pytest.fixture
def bench() -> Bench:
    return Bench()


@both_forms
def test_abort_ends_the_run_at_its_step(bench: Bench, interpret: bool) -> None:
    stop = pl.Abort("not reached")
    program = pl.Sequence(bench.count, pl.Repeat(3, pl.Sequence(bench.count, stop)), bench.count)
    engine = pl.Engine(bench.graph, {"a": program, "b": bench.count}, interpret=interpret)
    for runs in (1, 2):
        with pytest.raises(pl.ApplicationRuntimeError, match="not reached") as caught:
            engine.run("a")
        assert caught.value.where == "step 3 of 4: Abort, of program 'a'"
        assert caught.value.at == stop.location
        assert caught.value.at.function == "test_abort_ends_the_run_at_its_step"
        assert engine.read(bench.n) == 2 * runs
    engine.run("b")
    assert engine.read(bench.n) == 5


@both_forms
def test_steps_are_counted_through_functions(bench: Bench, interpret: bool) -> None:
    function = bench.graph.add_function(pl.Sequence(bench.count, pl.Abort()), "f")
    go = bench.scalar(pl.BOOL, "go")
    program = pl.Sequence(pl.If(go, pl.Call(function), pl.Program()), pl.Call(function))
    engine = pl.Engine(bench.graph, program, interpret=interpret)
    for value, step in ((False, 4), (True, 2)):
        engine.write(bench.n, 0)
        engine.write(go, value)
        with pytest.raises(pl.ApplicationRuntimeError, match="Abort stopped the run") as caught:
            engine.run()
        assert caught.value.where == f"step {step} of 4: Abort"
        assert engine.read(bench.n) == 1


@both_forms
@pytest.mark.parametrize(
    ("element", "yes", "no"),
    [
        (pl.BOOL, [True], [False]),
        (pl.INT, [1, -1, 256, -(2**31)], [0]),
        (pl.UNSIGNED_INT, [2**31], [0]),
    ],
)
def test_abort_on_condition(
    bench: Bench,
    interpret: bool,
    element: type[pl.ElementType[int]],
    yes: list[int],
    no: list[int],
) -> None:
    bad = bench.scalar(element, "bad")
    program = pl.Sequence(pl.AbortOnCondition(bad, "diverged"), bench.count)
    engine = pl.Engine(bench.graph, program, interpret=interpret)
    for value in yes:
        engine.write(bad, value)
        with pytest.raises(pl.ApplicationRuntimeError, match="diverged") as caught:
            engine.run()
        assert caught.value.where == "step 1 of 2: AbortOnCondition 'bad'"
    assert engine.read(bench.n) == 0
    for value in no:
        engine.write(bad, value)
        engine.run()
    assert engine.read(bench.n) == len(no)


@both_forms
def test_an_abort_ends_a_loop(bench: Bench, interpret: bool) -> None:
    class AtFive(pl.Vertex):
        n: pl.Input[pl.INT]
        yes: pl.Output[pl.BOOL]

        def compute(self) -> None:
            self.yes = self.n == 5

    yes = bench.scalar(pl.BOOL, "yes")
    cs = bench.graph.add_compute_set("at five")
    bench.graph.add_vertex(cs, AtFive, tile=0, n=bench.n, yes=yes)
    body = pl.Sequence(bench.count, pl.Execute(cs), pl.AbortOnCondition(yes))
    engine = pl.Engine(bench.graph, pl.Loop(body), interpret=interpret)
    with pytest.raises(pl.ApplicationRuntimeError, match="'yes' stopped the run"):
        engine.run()
    assert engine.read(bench.n) == 5


@both_forms
def test_an_error_program_shows_a_tensor(bench: Bench, interpret: bool) -> None:
    x = bench.graph.add_variable(pl.FLOAT, (2,), "x", mapping=0, initial_value=[1, 2.5])
    program = pl.ErrorProgram("bad values", x[::-1])
    engine = pl.Engine(bench.graph, {"a": program, "b": bench.count}, interpret=interpret)
    with pytest.raises(pl.ApplicationRuntimeError, match="bad values") as caught:
        engine.run("a")
    assert caught.value.found.endswith(": [2.5000000 1.0000000]")
    assert caught.value.found.startswith("x")
    assert caught.value.where.startswith("step 1 of 1: ErrorProgram 'x")
    engine.run("b")
    assert engine.read(bench.n) == 1


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda t: pl.Abort(3),  # type: ignore[arg-type]
            pl.ControlProgramError,
            r"(?s)Abort: message 3 .*type int.*Abort",
        ),
        (
            lambda t: pl.AbortOnCondition(t, None),  # type: ignore[arg-type]
            pl.ControlProgramError,
            r"(?s)AbortOnCondition: message None is not a "
            r"string.*AbortOnCondition\(predicate, 'div",
        ),
        (
            lambda t: pl.AbortOnCondition(True),  # type: ignore[arg-type]
            pl.ElementTypeError,
            "AbortOnCondition: predicate True is not a tensor",
        ),
        (
            lambda t: pl.ErrorProgram(t, t),
            pl.ControlProgramError,
            r"(?s)ErrorProgram: message <Tensor.* is not a string.*type "
            r"Tensor.*'diverged', tensor\)",
        ),
        (
            lambda t: pl.ErrorProgram("text", 3),  # type: ignore[arg-type]
            pl.ElementTypeError,
            r"(?s)debug_tensor 3 is not a tensor.*type int.*Abort\(message\)",
        ),
    ],
)
def test_bad_stops(
    bench: Bench,
    make: Callable[[pl.Tensor], object],
    error: type[pl.PopliteError],
    message: str,
) -> None:
    with pytest.raises(error, match=message):
        make(bench.scalar(pl.BOOL, "flag"))


def test_the_predicate_is_one_element_of_a_deciding_type(bench: Bench) -> None:
    x = bench.graph.add_variable(pl.FLOAT, (), "x")
    with pytest.raises(pl.ElementTypeError, match="predicate 'x' is FLOAT, not BOOL, INT or"):
        pl.AbortOnCondition(x)
    flags = bench.graph.add_variable(pl.BOOL, (3,), "flags")
    with pytest.raises(pl.ControlProgramError, match="predicate 'flags' has 3 elements"):
        pl.AbortOnCondition(flags)


@pytest.mark.parametrize(
    ("base", "fix"),
    [
        (pl.program.Stop, r"^Abort\(message\), or ErrorProgram\(message, tensor\)$"),
        (pl.program.SetMode, r"^SetFloatingPointBehaviour\(behaviour\), or SetStochasticRounding"),
    ],
)
@pytest.mark.parametrize("arguments", [(), ("diverged",), (1, 2)])
def test_bases_say_what_makes_their_kinds(
    base: Callable[..., object], fix: str, arguments: tuple[object, ...]
) -> None:
    with pytest.raises(pl.PopliteError, match=base.__name__) as of:
        base(*arguments)
    assert of.value.at is not None
    assert of.value.at.file == __file__
    assert re.search(fix, of.value.fix)


# -- `counted_loop` --------------------------------------------------------------------------------


class Append(pl.Vertex):
    """Writes a number behind those already in `log`."""

    number: pl.Input[pl.UNSIGNED_INT]
    size: pl.InOut[pl.INT]
    log: pl.InOut[pl.Vector[pl.UNSIGNED_INT]]

    def compute(self) -> None:
        self.log[self.size] = self.number
        self.size += 1


class LoopBench:
    """A graph with a log that vertices write an index to."""

    def __init__(self) -> None:
        self.graph = pl.Graph(pl.Target(tiles=4))
        self.size = self.graph.add_variable(pl.INT, (), "size", mapping=0, initial_value=0)
        self.log = self.graph.add_variable(
            pl.UNSIGNED_INT, (40,), "log", mapping=0, initial_value=0
        )

    def append(self, index: pl.Tensor) -> pl.Program:
        cs = self.graph.add_compute_set("append")
        self.graph.add_vertex(cs, Append, tile=0, number=index, size=self.size, log=self.log)
        return pl.Execute(cs)

    def bound(self, name: str = "end", tile: int = 3) -> pl.Tensor:
        return self.graph.add_variable(pl.UNSIGNED_INT, (), name, mapping=tile, initial_value=0)

    def logged(self, engine: pl.Engine) -> list[int]:
        numbers: list[int] = engine.read(self.log)[: engine.read(self.size)].tolist()
        engine.write(self.size, 0)
        return numbers


@pytest.fixture
def loop_bench() -> LoopBench:
    return LoopBench()


@both_forms
@pytest.mark.parametrize(
    ("begin", "end", "step"),
    [
        (0, 5, 1),
        (0, 0, 1),
        (5, 3, 1),
        (2, 9, 3),
        (2, 8, 3),
        (7, 8, 100),
        (2**32 - 4, 2**32 - 1, 1),
        (2**32 - 6, 2**32 - 1, 4),
        (0, 2**32 - 1, 2**31),
        (1, 2**32 - 1, 2**32 - 1),
    ],
)
def test_the_body_sees_every_index(
    loop_bench: LoopBench, interpret: bool, begin: int, end: int, step: int
) -> None:
    loop = pl.counted_loop(loop_bench.graph, begin, end, step, loop_bench.append)
    engine = pl.Engine(loop_bench.graph, loop, interpret=interpret)
    for _ in range(2):
        engine.run()
        assert loop_bench.logged(engine) == count_reference(begin, end, step)


@both_forms
def test_bounds_known_when_it_runs(loop_bench: LoopBench, interpret: bool) -> None:
    begin, end = loop_bench.bound("begin"), loop_bench.bound("end")
    loop = pl.counted_loop(loop_bench.graph, begin, end, 2, loop_bench.append)
    engine = pl.Engine(loop_bench.graph, loop, interpret=interpret)
    for first, last in ((0, 7), (3, 4), (4, 3), (0, 0), (2**32 - 3, 2**32 - 1)):
        engine.write(begin, np.uint32(first))
        engine.write(end, np.uint32(last))
        engine.run()
        assert loop_bench.logged(engine) == list(range(first, last, 2))


@both_forms
def test_the_end_is_read_before_each_iteration(loop_bench: LoopBench, interpret: bool) -> None:
    """The first iteration moves the end from 9 to 2."""
    two = loop_bench.graph.add_constant(pl.UNSIGNED_INT, (), 2, mapping=0)
    end = loop_bench.bound()

    def body(index: pl.Tensor) -> pl.Program:
        return pl.Sequence(loop_bench.append(index), pl.Copy(two, end))

    engine = pl.Engine(
        loop_bench.graph, pl.counted_loop(loop_bench.graph, 0, end, 1, body), interpret=interpret
    )
    engine.write(end, np.uint32(9))
    engine.run()
    assert loop_bench.logged(engine) == [0, 1]


@both_forms
def test_loops_nest(loop_bench: LoopBench, interpret: bool) -> None:
    """Triangle: the end of the inner loop is the index of the outer one."""
    loop = pl.counted_loop(
        loop_bench.graph,
        1,
        4,
        1,
        lambda i: pl.counted_loop(loop_bench.graph, 0, i, 1, loop_bench.append),
    )
    engine = pl.Engine(loop_bench.graph, loop, interpret=interpret)
    engine.run()
    assert loop_bench.logged(engine) == [0, 0, 1, 0, 1, 2]


@both_forms
def test_a_body_without_index(loop_bench: LoopBench, interpret: bool) -> None:
    one = loop_bench.graph.add_constant(pl.UNSIGNED_INT, (), 1, mapping=0)
    loop = pl.counted_loop(loop_bench.graph, 0, 3, 1, loop_bench.append(one))
    engine = pl.Engine(loop_bench.graph, loop, interpret=interpret)
    engine.run()
    assert loop_bench.logged(engine) == [1, 1, 1]


def test_the_index_lies_beside_its_bounds(loop_bench: LoopBench) -> None:
    found: dict[str, tuple[type[object], tuple[int, ...], list[int], str]] = {}
    begin, end = loop_bench.bound("begin", 2), loop_bench.bound("end", 3).reshape((1,))
    several: dict[str, tuple[pl.Tensor | int, pl.Tensor | int]] = {
        "end": (begin, end),
        "begin": (begin, 5),
        "none": (0, 5),
    }
    for key, bounds in several.items():

        def body(index: pl.Tensor, key: str = key) -> pl.Program:
            tiles = loop_bench.graph.tile_mapping(index).tiles.tolist()
            found[key] = index.element_type, index.shape, tiles, index.name
            return pl.Sequence()

        pl.counted_loop(loop_bench.graph, *bounds, 1, body, name="rows")
    uint = pl.UNSIGNED_INT
    assert found == {
        "end": (uint, (), [3], "rows/index"),
        "begin": (uint, (), [2], "rows/index_1"),
        "none": (uint, (), [0], "rows/index_2"),
    }


@pytest.mark.parametrize("step", [0, -1, 2.5, "1", 2**32])
def test_steps_are_whole_numbers_from_1(loop_bench: LoopBench, step: object) -> None:
    with pytest.raises(
        pl.ControlProgramError,
        match=f"(?s)step must be a whole number from 1 to 4,294,967,295; found {step!r}",
    ):
        pl.counted_loop(loop_bench.graph, 0, 3, step, pl.Sequence())  # type: ignore[arg-type]


def test_bad_bounds(loop_bench: LoopBench) -> None:
    graph, body = loop_bench.graph, pl.Sequence()
    message = "begin is -1, but an index is from 0 to 4,294,967"
    with pytest.raises(pl.SizeOverflowError, match=message):
        pl.counted_loop(graph, -1, 3, 1, body)
    with pytest.raises(pl.SizeOverflowError, match="end is 4,294,967,296, but an index is from 0"):
        pl.counted_loop(graph, 0, 2**32, 1, body)
    with pytest.raises(
        pl.ElementTypeError, match="(?s)end 2.5 is neither a number nor a tensor.*type float"
    ):
        pl.counted_loop(graph, 0, 2.5, 1, body)  # type: ignore[arg-type]
    with pytest.raises(pl.ElementTypeError, match=r"(?s)end 'size' is INT, not UNSIGNED_INT.*int"):
        pl.counted_loop(graph, 0, loop_bench.size, 1, body)
    with pytest.raises(pl.ControlProgramError, match="begin 'log' has 40 elements, not 1"):
        pl.counted_loop(graph, loop_bench.log, 3, 1, body)
    foreign = pl.Graph().add_variable(pl.UNSIGNED_INT, (), "foreign", mapping=0)
    with pytest.raises(pl.GraphConnectionError, match="end 'foreign' belongs to another graph"):
        pl.counted_loop(graph, 0, foreign, 1, body)
    unmapped = graph.add_variable(pl.UNSIGNED_INT, (), "unmapped")
    with pytest.raises(pl.InvalidTileMapping, match="'unmapped'"):
        pl.counted_loop(graph, 0, unmapped, 1, body)


def test_the_body_is_or_makes_a_program(loop_bench: LoopBench) -> None:
    with pytest.raises(
        pl.ControlProgramError, match=r"(?s)body\(index\) is None, which is not a program.*NoneType"
    ):
        pl.counted_loop(loop_bench.graph, 0, 3, 1, lambda index: None)  # type: ignore[arg-type,return-value]
    with pytest.raises(pl.ControlProgramError, match="body is 3, which is not a program"):
        pl.counted_loop(loop_bench.graph, 0, 3, 1, 3)  # type: ignore[arg-type]


# -- many steps in few functions -------------------------------------------------------------------


def counting(graph: pl.Graph, number: int) -> tuple[list[pl.Execute], pl.Tensor]:
    """Executes of compute sets that count each an element of their own."""
    counts = graph.add_variable(pl.INT, (number,), "counts", mapping="linear", initial_value=0)
    executes = []
    for i in range(number):
        step = graph.add_compute_set(f"step{i}")
        graph.add_vertex(step, Count, tile=0, n=counts[i])
        executes.append(pl.Execute(step))
    return executes, counts


def test_a_function_that_many_calls_run_is_compiled_once() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    executes, counts = counting(graph, 10)
    many = graph.add_function(pl.Sequence(executes * 100), "many")
    program = pl.Sequence([pl.Call(many)] * 5_000)
    assert program.num_steps == 5_000_000
    assert written_steps(program) == 6_000
    engine = pl.Engine(graph, program, checks="fast")
    assert len(engine.executable.programs["0"].ops) < 7_000
    engine.run()
    assert (engine.read(counts) == 500_000).all()
    report = engine.report()
    assert report.execution.num_steps == 5_000_000
    assert report.step("step3", program="0", row=5034).executions == 5_000


def test_functions_in_functions(tmp_path: Path) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    executes, counts = counting(graph, 100)
    part: pl.Program = pl.Sequence(executes)
    for name in ("rows", "pages", "books"):
        part = pl.Sequence([pl.Call(graph.add_function(part, name))] * 22)
    assert part.num_steps == 100 * 22**3
    engine = pl.Engine(graph, {"read": part, "one": executes[99]}, checks="fast")
    assert len(engine.executable.programs["read"].ops) < 300
    engine.executable.save(tmp_path / "read")
    loaded = pl.Engine(pl.Executable.load(tmp_path / "read", [Count]))
    for each in (engine, loaded):
        each.run("read")
        assert each.report().execution.num_steps == part.num_steps
    assert engine.read(counts).tolist() == [22**3] * 100


@both_forms
def test_the_number_of_a_step_past_any_limit_of_what_is_written(interpret: bool) -> None:
    """A program that ends in its first function, of 2^60 steps."""
    graph = pl.Graph(pl.Target(tiles=1))
    (count,), counts = counting(graph, 1)
    part: pl.Program = pl.Sequence(count, pl.Abort("enough"))
    for k in range(59):
        call = pl.Call(graph.add_function(part, f"f{k}"))
        part = pl.Sequence(call, call)
    engine = pl.Engine(graph, part, interpret=interpret)
    match = rf"(?s)enough.*at step 2 of {2**60:,}"
    with pytest.raises(pl.ApplicationRuntimeError, match=match):
        engine.run()
    assert engine.read(counts).tolist() == [1]


def test_what_is_refused() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    (count,), _ = counting(graph, 1)
    part: pl.Program = count
    for k in range(62):
        call = pl.Call(graph.add_function(part, f"f{k}"))
        part = pl.Sequence(call, call)
    pl.Engine(graph, part)
    with pytest.raises(
        pl.ControlProgramError, match="more than .* steps, the greatest step number"
    ):
        pl.Engine(graph, pl.Sequence(part, count))
    shared = pl.Sequence([pl.Sequence([count] * (1 << 11))] * (1 << 11))
    with pytest.raises(
        pl.ControlProgramError, match="has 4,194,305 steps, but may have at most 4,194,304"
    ):
        pl.Engine(graph, pl.Sequence(shared, count))
