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

import pytest

import poplite as pl
from helpers.depth import deep, thinned
from helpers.rank_cases import CASES
from helpers.ranks import differences, ended, needs_mpi, on_ranks
from helpers.running import LIMIT, ROOT, python
from poplite.mpi.endings import ENDED, LENGTH, FirstEnd, left, lost
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
    said = "poplite: rank 1 ended as if all were well, last seen before its first run\n"
    assert said in done.stderr


def test_who_left_is_the_first_of_those_that_are_not_at_their_end(tmp_path: Path) -> None:
    for rank, where in enumerate((ENDED, "engine.run('main') at step 3 of 7", "before its first")):
        (tmp_path / str(rank)).write_text(f"812{rank} {where}".ljust(LENGTH))
    said = "rank {} ended as if all were well, last seen {}"
    assert left(tmp_path, 1) == ""
    assert left(tmp_path, 3, "2") == said.format(2, "before its first")
    assert left(tmp_path, 3, "0") == said.format(1, "in engine.run('main') at step 3 of 7")
    assert left(tmp_path, 2) == said.format(1, "in engine.run('main') at step 3 of 7")


def test_no_number_of_ranks(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["run", "-n", "0", "heat.py:build"])
    assert "'0' is not a number of ranks; the least is 1" in capsys.readouterr().err


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
    with pytest.raises(pl.ControlProgramError, match=r"root=1 of 1 rank"):
        engine.read(x, root=1)


@pytest.mark.parametrize(
    ("timeout", "shown"),
    [(True, "True"), (10**400, "about 10^400"), (float("nan"), "nan"), (-1, "-1"), ("x", "'x'")],
)
def test_a_timeout_is_a_number_of_seconds(timeout: Any, shown: str) -> None:
    with pytest.raises(pl.InvalidOption) as caught:
        pl.mpi.Device(timeout=timeout)
    assert caught.value.what == f"Device: timeout={shown} is not a number of seconds"
    assert caught.value.found == f"it is of type {type(timeout).__name__}"
