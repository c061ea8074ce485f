"""`poplite run -n 4 FILE:build`, and scripts under `mpiexec`."""

from __future__ import annotations

import re

import pytest

from helpers.depth import deep
from helpers.ranks import ended, needs_mpi, on_ranks
from helpers.running import ROOT, python
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
        assert done.stdout == alone.stdout


@deep
@needs_mpi
def test_the_example_runs_on_ranks() -> None:
    done = ended(on_ranks(2, "examples/heat.py", "--mpi"))
    assert done.returncode == 0, done.stderr
    assert len(re.findall("^sum 1115.33", done.stdout, re.MULTILINE)) == 1


def test_no_number_of_ranks(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["run", "-n", "0", "heat.py:build"])
    assert "'0' is no number of ranks; the least is 1" in capsys.readouterr().err
