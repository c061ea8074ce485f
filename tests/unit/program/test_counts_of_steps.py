"""Programs of many steps in few functions: compiled once, run and told in each place."""

from __future__ import annotations

from pathlib import Path

import pytest

import poplite as pl
from helpers.running import both_forms
from helpers.vertices import Count
from poplite.program.function import written_steps


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
    with pytest.raises(pl.ControlProgramError, match="more than .* steps, which have no numbers"):
        pl.Engine(graph, pl.Sequence(part, count))
    shared = pl.Sequence([pl.Sequence([count] * (1 << 11))] * (1 << 11))
    with pytest.raises(pl.ControlProgramError, match="has 4,194,305 steps, more than 4,194,304"):
        pl.Engine(graph, pl.Sequence(shared, count))
