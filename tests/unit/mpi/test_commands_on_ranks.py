"""`poplite run -n 4 FILE:build`, and scripts under `mpiexec`."""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.depth import deep
from helpers.ranks import ended, needs_mpi, on_ranks
from helpers.running import LIMIT, ROOT, python
from poplite.mpi.endings import ENDED, LENGTH, FirstEnd, left, lost
from poplite.tools.command import main


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
