"""`Sync`, `WriteUndef` and `Block`: steps and names that change no values."""

from __future__ import annotations

import pytest

import poplite as pl
from helpers.running import both_forms, simulated
from poplite.compile.compiler import compile_graph
from poplite.executable import opcodes as op
from poplite.program import walk


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


def test_bad_input(x: pl.Tensor) -> None:
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
        pl.ControlProgramError, match=r"(?s)Block: '' is not a name.*Sequence 0 steps"
    ):
        pl.Block(pl.Sequence(), "")
    with pytest.raises(pl.ControlProgramError, match=r"(?s)Block: 3 is not a name.*type int"):
        pl.Block(pl.Sequence(), 3)  # type: ignore[arg-type]
