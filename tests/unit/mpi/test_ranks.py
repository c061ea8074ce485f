"""Programs on ranks: commands, ends, equal bits; and what is said where there is no MPI."""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers.depth import deep, thinned
from helpers.rank_cases import CASES
from helpers.ranks import differences, ended, needs_mpi, on_ranks
from helpers.running import LIMIT, ROOT, python
from poplite.executable import encoding as op
from poplite.executable.executable import Executable
from poplite.executable.parts import ComputeStep
from poplite.mpi.device import between_ranks
from poplite.mpi.message_packing import EVERYONE, owners_of
from poplite.mpi.rank_plan import RankPlan, equal_cut, rank_plan
from poplite.mpi.ranks import ENDED, LENGTH, FirstEnd, left, lost, text_of
from poplite.simulator.run.touched import vertex_numbers
from poplite.tools.command import main

# -- commands --------------------------------------------------------------------------------------


def test_a_target_runs_in_this_process(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(ROOT / "examples/heat.py:build"), "--arg", "double_steps=1"]) == 0
    assert "Total cycles:" in capsys.readouterr().out


@deep
@needs_mpi
def test_ranks_print_the_report_that_one_process_prints() -> None:
    command = "-m", "poplite.tools.command", "run", "examples/heat.py:build"
    alone = python(ROOT, *command)
    for count in ("1", "4"):
        done = python(ROOT, *command, "-n", count)
        report, sections = re.subn(r"Sent between ranks:\n(  .*\n)+\n", "", done.stdout)
        assert report == alone.stdout
        assert sections == (count != "1")


@deep
@needs_mpi
def test_the_example_runs_on_ranks() -> None:
    done = ended(on_ranks(2, "examples/heat.py", "--mpi"))
    assert done.returncode == 0, done.stderr
    assert len(re.findall("^sum 1115.33", done.stdout, re.MULTILINE)) == 1


KILLED = """
import os, pathlib, signal, threading, time
import poplite as pl

def die():
    own = pathlib.Path(os.environ["POPLITE_LAST_STEPS"], "1")
    while not (own.exists() and "engine.run" in own.read_text()):
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGKILL)

class Step(pl.Vertex):
    x: pl.Input[pl.INT]
    y: pl.Output[pl.INT]

    def compute(self) -> None:
        self.y = self.x + 1

def build():
    graph = pl.Graph(pl.Target(tiles=3))
    x, y = (graph.add_variable(pl.INT, (3,), n, mapping="linear", initial_value=0) for n in "xy")
    work = graph.add_compute_set("work")
    for tile in range(3):
        graph.add_vertex(work, Step, tile=tile, x=x[2 - tile], y=y[tile])
    if os.environ.get("PMI_RANK") == "2":
        threading.Thread(target=die, daemon=True).start()
    return graph, pl.Loop(pl.Sequence(pl.Execute(work), pl.Copy(y, x)))
"""


@pytest.mark.skipif(not hasattr(select, "epoll"), reason="only Linux tells the order")
def test_the_rank_that_ends_first_is_known(tmp_path: Path) -> None:
    said, output = os.pipe()
    with contextlib.closing(FirstEnd(tmp_path, 12, said)) as watched:
        open_ = [os.open(tmp_path / f"{rank}.pipe", os.O_WRONLY) for rank in range(12)]
        os.write(output, b"begun")
        watched.wait()
        assert (os.read(said, 99), watched.rank) == (b"begun", "")
        for rank in (10, 1, 0):  # the one that is killed, and those that `mpiexec` ends
            os.close(open_.pop(rank))
        (tmp_path / "1").write_text("8122 at 1".ljust(LENGTH))
        (tmp_path / "10").write_text("8123 engine.run('main') at step 3 of 7".ljust(LENGTH))
        os.write(output, b"=   PID 8122 RUNNING AT host")
        watched.wait()
        named = lost(os.read(said, 99).decode(), tmp_path, watched.rank)
    for number in (*open_, said, output):
        os.close(number)
    assert named == "rank 10 was lost, last seen in engine.run('main') at step 3 of 7"


@deep
@needs_mpi
def test_a_rank_that_is_killed_is_named_with_its_step(tmp_path: Path) -> None:
    (tmp_path / "killed.py").write_text(KILLED)
    target = f"{tmp_path / 'killed.py'}:build"
    words = [sys.executable, "-m", "poplite.tools.command", "run", "-n", "3", target]
    done = subprocess.run(
        words, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT, check=False
    )
    assert done.returncode == 9
    said = r"poplite: rank 2 was lost, last seen in engine.run\('0'\) at step [12] of 2"
    assert re.search(said, done.stderr), done.stderr


ENDLESS = """
import os, pathlib, threading, time
import poplite as pl

def say():
    own = pathlib.Path(os.environ["POPLITE_LAST_STEPS"], "0")
    while not (own.exists() and "engine.run" in own.read_text()):
        time.sleep(0.01)
    print("begun", flush=True)

def build():
    graph = pl.Graph(pl.Target(tiles=2))
    x, y = (graph.add_variable(pl.INT, (2,), n, mapping="linear", initial_value=0) for n in "xy")
    if os.environ.get("PMI_RANK") == "0":
        threading.Thread(target=say, daemon=True).start()
    return graph, pl.Loop(pl.Copy(x.reverse(0), y))
"""


@deep
@needs_mpi
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_ranks_end_with_the_command_that_started_them(tmp_path: Path, number: int) -> None:
    (tmp_path / "endless.py").write_text(ENDLESS)
    target = f"{tmp_path / 'endless.py'}:build"
    words = [sys.executable, "-m", "poplite.tools.command", "run", "-n", "2", target]
    process = subprocess.Popen(
        words, cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        process.send_signal(number)  # to it alone
        assert process.communicate(timeout=LIMIT)[0] == ""  # all have closed it
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == (-number if number == signal.SIGKILL else 128 + number)


LEFT = """
import ctypes, os
import poplite as pl

def build():
    graph = pl.Graph(pl.Target(tiles=2))
    x, y = (graph.add_variable(pl.INT, (2,), n, mapping="linear", initial_value=0) for n in "xy")
    if os.environ.get("PMI_RANK") == "1":
        ctypes.CDLL(None)._exit(0)
    return graph, pl.Copy(x.reverse(0), y)
"""


@deep
@needs_mpi
def test_a_rank_that_leaves_as_if_all_were_well_is_named(tmp_path: Path) -> None:
    (tmp_path / "left.py").write_text(LEFT)
    target = f"{tmp_path / 'left.py'}:build"
    words = [sys.executable, "-m", "poplite.tools.command", "run", "-n", "2", target]
    done = subprocess.run(
        words, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    said = "poplite: rank 1 ended early with exit status 0, last seen before its first run\n"
    assert said in done.stderr


def test_who_left_is_the_first_of_those_that_are_not_at_their_end(tmp_path: Path) -> None:
    for rank, where in enumerate((ENDED, "engine.run('main') at step 3 of 7", "before its first")):
        (tmp_path / str(rank)).write_text(f"812{rank} {where}".ljust(LENGTH))
    said = "rank {} ended early with exit status 0, last seen {}"
    assert left(tmp_path, 1) == ""
    assert left(tmp_path, 3, "2") == said.format(2, "before its first")
    assert left(tmp_path, 3, "0") == said.format(1, "in engine.run('main') at step 3 of 7")
    assert left(tmp_path, 2) == said.format(1, "in engine.run('main') at step 3 of 7")


def test_no_number_of_ranks(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["run", "-n", "0", "heat.py:build"])
    assert "must be a number of ranks, at least 1; found '0'" in capsys.readouterr().err


# -- ends of runs ----------------------------------------------------------------------------------


TOGETHER = [
    "refused", "different", "damaged", "many_devices", "stopped_by_callback", "faulted",
    "interrupted",
]  # fmt: skip
STRICT = ["undone", "unwritten", "raced", "stopped_by_callback:strict", "interrupted:strict"]
COMPILED = [f"{name}:compiled" for name in (*TOGETHER, *STRICT)]


@needs_mpi
@pytest.mark.parametrize(
    "names", thinned([[*TOGETHER, *STRICT], COMPILED], keep=[[*TOGETHER, *STRICT]])
)
def test_runs_end_alike_and_engines_go_on(names: list[str]) -> None:
    done = ended(on_ranks(2, "-m", "helpers.rank_faults", *names))
    assert done.returncode == 0, done.stdout + done.stderr
    said = done.stdout
    assert all(f"{name} on rank {rank}" in said for name in names for rank in range(2)), said


@needs_mpi
def test_an_exception_on_one_rank_ends_the_job_with_its_traceback() -> None:
    done = ended(on_ranks(2, "-m", "helpers.rank_faults", "raising"))
    assert done.returncode == 1
    assert "poplite: rank 1 of 2 raised:" in done.stderr
    assert "ValueError: between two calls" in done.stderr
    assert "rank 0 of 2 raised" not in done.stderr


@deep
@needs_mpi
def test_a_killed_rank_ends_the_job() -> None:
    assert ended(on_ranks(2, "-m", "helpers.rank_faults", "killed")).returncode == 9


WAITED = "poplite: rank 0 waited for rank 1 in "
LATE = "poplite: rank 0 waited 1 s for rank 1 in "
ENDS = {
    "before:raising": "ValueError: before",
    "before:leaving": f"{WAITED}pl.mpi.Device(), but it has ended",
    "before:hanging": f"{LATE}pl.mpi.Device()\n  all ranks",
    "before:hanging beside": f"{LATE}pl.mpi.Device()\n  all ranks",
    "leaving": f"{WAITED}engine.run('few'), but it has ended",
    "lost": "poplite: rank 1 of 2 ended by os._exit(0)  (",
    "lost_bound": "poplite: rank 1 of 2 ended by os._exit(0)  (",
    "lost_execed": "poplite: rank 1 of 2 ended by os.execv('/bin/true')  (",
    "hanging": f"{LATE}engine.run('few')",
}


@needs_mpi
@pytest.mark.parametrize("names", thinned(ENDS, keep=["before:raising", "lost"]))
def test_a_rank_that_ends_or_never_comes_ends_the_job_and_is_named(names: str) -> None:
    done = ended(on_ranks(2, "-m", "helpers.rank_faults", *names.split()))
    assert done.returncode != 0
    assert ENDS[names] in done.stderr


# -- equal bits ------------------------------------------------------------------------------------


NAMES = [case.__name__ for case in CASES]
QUICK = [
    "bfs",
    "moved:compiled",
    "varying",
    "returned",
    "hosted",
    "replicas",
    "quarters",
    "states",
    "growing",
    "shelf",
    "1",
    "bfs:strict",
    "states:strict",
]
FULL = [
    *NAMES,
    *(f"{name}:compiled" for name in NAMES if name != "quarters"),
    *(f"{name}:strict" for name in NAMES),
    *(f"{name}:strict:compiled" for name in NAMES if name != "quarters"),
    *(f"{seed}:strict" for seed in range(30, 40)),
    *map(str, range(2, 20)),
    *(f"{seed}:compiled" for seed in range(20, 30)),
]

NINE = ("returned", "bfs", "30:strict")
"""Programs that data decide, on so many ranks that these hand on what decides."""


@cache
def found(count: int, cases: tuple[str, ...]) -> dict[str, str]:
    """Run all cases at once, in processes that start once."""
    return differences(count, cases)


@needs_mpi
@pytest.mark.parametrize("count", thinned([3, 2, 1, 4], keep=1))
@pytest.mark.parametrize("name", QUICK)
def test_ranks_do_what_the_simulator_does(count: int, name: str) -> None:
    assert found(count, tuple(QUICK))[name] == ""


@deep
@needs_mpi
@pytest.mark.parametrize("name", NINE)
def test_nine_ranks_do_what_the_simulator_does(name: str) -> None:
    assert found(9, NINE)[name] == ""


@deep
@needs_mpi
@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("name", FULL)
def test_ranks_do_in_all_forms_what_the_simulator_does(count: int, name: str) -> None:
    assert found(count, tuple(FULL))[name] == ""


# -- ranks as Poplar's device ----------------------------------------------------------------------


AS_IN_POPLAR = """
import sys

import poplite as pl

device = pl.mpi.Device(target=pl.Target(tiles=4))
assert isinstance(device, pl.Device) and device.getTarget() == pl.Target(tiles=4)
graph = pl.Graph(device)
x = graph.add_variable(pl.INT, (4,), "x", mapping="linear", initial_value=range(4))
y = graph.clone(x, "y")
program = pl.Copy(x.reverse(0), y)
engine = pl.Engine(graph, program, device=device)
try:
    engine.load(device)
    raise SystemExit("a device that is not attached was taken")
except pl.InvalidMachineModel as error:
    assert "is not attached" in error.what, error
assert device.attach()
engine.prepare(device, pl.RuntimeOptions())
engine.deploy()
engine.loadAndRun(device, 0)
report = engine.report()
(sent,) = report.between_ranks
assert report.cut == (2,), report.cut
assert (sent.name, sent.executions, sent.messages, sent.bytes) == ("x to y", 1, 2, 16), sent
assert "16 B in 2 messages" in str(report) and pl.Report.from_json(report.to_json()) == report
engine.resetExecutionProfile()
assert engine.report().between_ranks == ()
sys.stdout.write(str(engine.read(y).tolist()).replace(" ", "") + "\\n")  # one piece a rank
sys.stdout.flush()
try:
    pl.Engine(graph, program).load(device)
    raise SystemExit("an engine on the simulator was loaded on ranks")
except pl.InvalidMachineModel as error:
    assert "it runs on the simulator" in error.found, error
"""
"""What every rank runs."""


@needs_mpi
def test_ranks_are_a_device_where_poplar_has_one() -> None:
    done = ended(on_ranks(2, "-c", AS_IN_POPLAR))
    assert (done.returncode, done.stdout.split()) == (0, ["[3,2,1,0]"] * 2), done.stderr


# -- without MPI -----------------------------------------------------------------------------------


def test_a_device_says_what_brings_mpi(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    with pytest.raises(pl.DeviceRuntimeError, match=r"pip install 'poplite\[mpi\]'"):
        pl.mpi.Device()


def test_one_process_is_rank_0() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.INT, (2,), "x", mapping=0, initial_value=[1, 2])
    engine = pl.Engine(graph, pl.Sequence())
    values = engine.read(x, root=0)
    assert values is not None
    assert values.tolist() == [1, 2]
    with pytest.raises(pl.ControlProgramError, match=r"root must be one of 1 rank; found 1"):
        engine.read(x, root=1)


@pytest.mark.parametrize(
    ("timeout", "shown"),
    [(True, "True"), (10**400, "about 10^400"), (float("nan"), "nan"), (-1, "-1"), ("x", "'x'")],
)
def test_a_timeout_is_a_number_of_seconds(timeout: Any, shown: str) -> None:
    with pytest.raises(pl.InvalidOption) as caught:
        pl.mpi.Device(timeout=timeout)
    assert caught.value.what == f"Device: timeout must be a number of seconds; found {shown}"
    assert caught.value.found == f"it is of type {type(timeout).__name__}"


# -- what each rank runs, by the plan alone --------------------------------------------------------


ROWS, COLUMNS, TILES = 16, 10, 8


class Blur(pl.Vertex):
    """Reads a row above and below its own."""

    x: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    y: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.y)):
            self.y[i] = self.x[0][i] + self.x[1][i] + self.x[2][i]


def plate(program: str = "") -> Executable:
    """Return steps on rows in bands, two on each tile."""
    graph = pl.Graph(pl.Target(tiles=TILES))
    x, y = (graph.add_variable(pl.FLOAT, (ROWS, COLUMNS), name, mapping="linear") for name in "xy")
    flag = graph.add_variable(pl.BOOL, (), "flag", mapping=5)
    constant = graph.add_constant(pl.FLOAT, (COLUMNS,), range(COLUMNS), name="c", mapping=0)
    work = graph.add_compute_set("blur")
    for row in range(1, ROWS - 1):
        graph.add_vertex(work, Blur, tile=row // 2, x=x[row - 1 : row + 2], y=y[row])
    blur, copy = pl.Execute(work), pl.Copy(y, x)
    programs: dict[str, pl.Program] = {
        "": pl.Sequence(blur, copy),
        "shuffled": pl.Copy(x.reverse(0), y),
        "constant": pl.Copy(constant, y[15]),
        "decided": pl.Repeat(3, pl.If(flag, pl.Sequence(blur, copy), copy)),
    }
    options = {"debug.instrument": False}
    return pl.compile_graph(graph, programs[program], "fast", options=options)


def plans(executable: Executable, cut: list[int]) -> list[RankPlan]:
    owners = owners_of(executable.layout, cut)
    return [rank_plan(executable, owners, rank) for rank in range(len(cut) + 1)]


def sent(plan: RankPlan) -> list[tuple[int, int, int]]:
    """Return sender, receiver and bytes of all that is sent, in order."""
    return [
        (int(a), int(b), int(size))
        for exchange in plan.exchanges
        for a, b, size in zip(
            exchange.messages.sender, exchange.messages.receiver, exchange.messages.pieces.size,
            strict=True,
        )
    ]  # fmt: skip


def test_ranks_send_the_rows_at_their_common_edge_and_no_byte_more() -> None:
    row = 4 * COLUMNS
    first, second = plans(plate(), [4])
    assert sent(first) == sent(second) == [(0, 1, row), (1, 0, row)]


def test_reports_tell_what_each_place_sent() -> None:
    executable, row = plate("decided"), 4 * COLUMNS
    code = executable.programs["0"]
    counts = np.arange(100, 100 + len(code.ops))
    first, second = (
        between_ranks(executable, plan.exchanges, plan.places, {"0": counts}, lambda number: True)
        for plan in plans(executable, [4])
    )
    assert first == second
    flag, blur, *copies = first
    assert code.ops[flag.row, 0] == op.JUMP_IF_ZERO
    assert (flag.name, flag.messages) == ("a control-flow scalar", counts[flag.row])
    assert flag.bytes == flag.messages  # a BOOL
    assert (blur.name, blur.row) == ("blur", code.step_rows[0])
    assert (blur.executions, blur.messages) == (counts[blur.row], 2 * counts[blur.row])
    assert blur.bytes == 2 * row * blur.executions
    assert copies == []  # x lies as y does


def test_what_the_host_gives_and_takes_is_sent_at_its_own_row() -> None:
    graph = pl.Graph(pl.Target(tiles=TILES))
    x = graph.add_variable(pl.INT, (8,), "x", mapping="linear", initial_value=0)
    at = graph.add_variable(pl.INT, (1,), "at", mapping=7, initial_value=0)
    both = graph.add_host_function("both", [(pl.INT, 8)] * 2, [(pl.INT, 8)])
    gives = graph.add_host_function("gives", [], [(pl.INT, 8)])
    takes = graph.add_host_function("takes", [(pl.INT, 8)], [])
    rows = graph.add_remote_buffer("rows", pl.INT, 8, repeats=2)
    every, half = x[7:].broadcast(8, 0), 4 * 4
    expected = {  # messages and bytes between rank 0, which is the host, and rank 1
        pl.Call(both, [x.reverse(0), every], [x]): (2, half + 4 * 8 + half),
        pl.Call(gives, [], [x.reverse(0)]): (1, half),
        pl.Call(takes, [x], []): (1, half),
        pl.Copy(graph.add_host_to_device_fifo("in", pl.INT, 8), x.reverse(0)): (1, half),
        pl.Copy(x[::2], graph.add_device_to_host_fifo("out", pl.INT, 4)): (1, half // 2),
        pl.Copy(x.reverse(0), rows, at): (2, half + 4),
        pl.PrintTensor("x", x): (1, half),
    }
    executable = pl.compile_graph(graph, pl.Sequence(*expected), "fast")
    counts = np.ones(len(executable.programs["0"].ops), np.int64)
    (plan, _) = plans(executable, [4])
    found = between_ranks(
        executable, plan.exchanges, plan.places, {"0": counts}, lambda number: True
    )
    by_number: dict[int, tuple[int, int]] = {}
    for each in found:
        messages, size = by_number.get(each.number, (0, 0))
        by_number[each.number] = messages + each.messages, size + each.bytes
    assert by_number == dict(enumerate(expected.values(), 1))
    assert [each.name for each in found[:3]] == ["Call 'both'", "Call 'gives'", "Call 'takes'"]


def test_every_vertex_runs_on_the_rank_of_its_tile() -> None:
    executable = plate()
    cut, found = [2, 5], []
    for rank, plan in enumerate(plans(executable, cut)):
        (step,) = (each for each in plan.executable.steps if isinstance(each, ComputeStep))
        numbers = np.concatenate([vertex_numbers(group) for group in step.groups])
        tiles = executable.origins[0].tile_of.array()[numbers]
        assert (np.searchsorted(cut, tiles, side="right") == rank).all()
        assert step.num_vertices == len(numbers)
        found += numbers.tolist()
    assert sorted(found) == list(range(ROWS - 2))


def test_ranks_without_vertices_still_know_their_classes() -> None:
    plan = plans(plate(), [TILES])[1]
    (step,) = (each for each in plan.executable.steps if isinstance(each, ComputeStep))
    assert [group.cls for group in step.groups] == [Blur]
    assert [len(group.rows) for group in step.groups] == [0]


def test_a_copy_goes_straight_from_owner_to_owner() -> None:
    plan = plans(plate("shuffled"), [4])[0]
    half = 4 * COLUMNS * ROWS // 2
    by_pair = {(0, 1): 0, (1, 0): 0}
    for a, b, size in sent(plan):
        by_pair[a, b] += size
    assert by_pair == {(0, 1): half, (1, 0): half}
    assert [step.moves.size_bytes for step in plan.executable.steps] == [0]  # type: ignore[union-attr]


def test_constants_are_everywhere_and_never_sent() -> None:
    plan = plans(plate("constant"), [4])[1]
    assert sent(plan) == []
    assert (plan.executable.programs["0"].ops[:, 0] != op.EXCHANGE).all()


def test_every_byte_of_a_variable_has_one_owner() -> None:
    executable = plate()
    owners = owners_of(executable.layout, [2, 5])
    assert owners.begin[0] == 0
    assert (np.diff(owners.begin) > 0).all()
    for variable in executable.layout.variables:
        at = executable.layout.byte_position(variable.base)
        last = at + variable.size_bytes - 1
        ranks = {owners.of_byte(position) for position in (at, last)}
        expected = {"x": {0, 2}, "y": {0, 2}, "flag": {2}, "c": {EVERYONE}}
        assert ranks == expected[variable.name]


@pytest.mark.parametrize("ranks", [9, 16])
def test_many_ranks_hand_on_what_decides(ranks: int) -> None:
    executable = plate("decided")
    plan = plans(executable, [min(rank, 5) for rank in range(1, ranks)])[0]
    code = executable.programs["0"]
    (decides,) = np.flatnonzero(code.ops[:, 0] == op.JUMP_IF_ZERO)
    known = {ranks - 1}  # the last of those at tile 5
    rounds = [number for row, number in plan.places["0"] if row == decides]
    assert len(rounds) == 4
    for number in rounds:
        found = plan.exchanges[number].messages
        assert set(found.sender.tolist()) <= known  # from ranks that have it by then
        assert known.isdisjoint(found.receiver.tolist())
        assert len(set(found.sender.tolist())) == len(found)  # each to one
        known |= set(found.receiver.tolist())
    assert known == set(range(ranks))


@pytest.mark.parametrize("cut", [[4], [2, 5], [0, 8]])
def test_jumps_land_on_the_first_row_that_was_put_in_front(cut: list[int]) -> None:
    executable = plate("decided")
    before, (plan, *others) = executable.programs["0"].ops, plans(executable, cut)
    after, place = plan.executable.programs["0"].ops, plan.rows["0"]
    assert (after[place, 0] == before[:, 0]).all()
    for other in others:  # all ranks have the same rows
        assert (other.executable.programs["0"].ops == after).all()
    for row, kind in enumerate(before[:, 0].tolist()):
        word = {op.JUMP: 1, op.JUMP_IF_ZERO: 1, op.REPEAT: 3, op.AGAIN: 2}.get(kind)
        if word is None:
            continue
        target, meant = int(after[place[row], word]), int(place[before[row, word]])
        assert (after[target:meant, 0] == op.EXCHANGE).all()
        assert target == 0 or after[target - 1, 0] != op.EXCHANGE or target - 1 in place
    decides = int(place[np.flatnonzero(before[:, 0] == op.JUMP_IF_ZERO)[0]])
    assert after[decides - 1, 0] == op.EXCHANGE


def test_the_work_is_cut_in_equal_parts() -> None:
    assert equal_cut(plate(), 2) == [4]
    assert equal_cut(plate(), 4) == [2, 4, 6]


class Costs(pl.Vertex):
    """Says what it takes, whatever its elements."""

    cost: pl.State[pl.INT]
    x: pl.InOut[pl.INT]

    def compute(self) -> None:
        self.x += self.cost

    def cycles(self, target: pl.Target) -> int:
        return int(self.cost)


def test_the_work_is_modelled_cycles_as_often_as_steps_run() -> None:
    graph = pl.Graph(pl.Target(tiles=8, ipus=2))
    x = graph.add_variable(pl.INT, (8,), "x", mapping="linear")
    steps = {}
    for name, costs in {"once": [9000] + [1] * 7, "often": [100] * 5 + [400, 100, 100]}.items():
        work = graph.add_compute_set(name)
        for tile, cost in enumerate(costs):
            graph.add_vertex(work, Costs, tile=tile, x=x[tile], cost=cost)
        steps[name] = pl.Execute(work)
    function = graph.add_function(pl.Repeat(4, steps["often"]))
    often = pl.Repeat(5, pl.Sequence(pl.Call(function), pl.Call(function)))

    def cut(*programs: pl.Program, instrument: bool = True) -> list[int]:
        options = {"debug.instrument": instrument}
        return equal_cut(pl.compile_graph(graph, [*programs], "fast", options=options), 2)

    assert cut(steps["once"]) == [1]
    assert cut(steps["often"]) == [5]
    assert cut(steps["once"], steps["often"]) == [1]
    assert cut(steps["once"], often) == [4]  # 40 times: 9,000 + 4 x 4,000 on the left
    assert cut(often, instrument=False) == [4]  # elements


def test_an_error_whose_text_fails_is_named_all_the_same() -> None:
    class Unsaid(Exception):
        def __str__(self) -> str:
            raise ValueError("no text")

    assert text_of(Unsaid()) == "Unsaid: its text cannot be produced: ValueError"
