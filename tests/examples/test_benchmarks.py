"""The benchmarks run in a tiny size: results agree, every row prints, nothing is judged."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import numpy.typing as npt
import pytest

import poplite as pl
from helpers.cpp import needs_cpp
from helpers.depth import deep
from helpers.running import python, script
from poplite.graph.partitioners import grid_blocks

ENGINE = [
    *["photo", "R1", "R2", "R14", "R21", "R26", "R27", "R28"],
    *["R3", "R4", "R16"] + ["R19"] * 2 + ["memory"] * 2,
    *["R5", "R6", "R7"]
    + ["R8"] * 2
    + ["faster form"]
    + ["R9", "R10", "R11", "R22", "R23", "R24", "R25", "R12", "R13"],
    *["axpy"] * 2 + ["R15"] * 2 + ["matmul", "axpy"] + ["R29"] * 3 + ["R30"],
]

VERBS = ["save", "load"]

VIEWS = [
    *["T1"] * 2 + ["T2"] * 7 + ["T3", "T16"],
    *["T4"] * 2 + ["T5"] + ["T6"] * 3 + ["T7"] + ["T8"] * 2,
    *["T9"] * 2 + ["T10"] + ["T11"] * 2 + ["T13"] * 2 + ["T12"] * 2 + ["T14"] * 3 + ["T15"] * 2,
]


@pytest.mark.parametrize(
    ("script", "names"),
    [
        pytest.param("engine.py", ENGINE, marks=deep),
        pytest.param(
            "executable.py",
            [
                *[f"{verb} {kind} vertices" for kind in ("regular", "irregular") for verb in VERBS],
                *[
                    f"{verb} {what} of 600 steps"
                    for what in ("an executable", "a report")
                    for verb in VERBS
                ],
            ],
            marks=deep,
        ),
        pytest.param(
            "ipu.py",
            [
                *["bytes of 2,000 regular vertices", "time to write regular vertices"],
                *["bytes of an irregular vertex", "time to write irregular vertices"],
                "export of examples/photo.py",
            ],
            marks=deep,
        ),
        ("host.py", ["stream callback", "ring buffer", "remote row", "write by handle"]),
        pytest.param(
            "startup.py",
            [
                *["import poplite", "poplite-viz --help", "examples/pi.py"],
                *["11 vertex classes, cold, strict", "11 vertex classes, cold, fast"],
                *["11 vertex classes from a full cache", "first engine on a machine"],
                *["first product of FLOAT"] * 2,
                *["first product of HALF"] * 2,
                *["5 classes, cold", "5 classes, from the cache"],
            ],
            marks=deep,
        ),
        pytest.param(
            "compilation.py",
            [
                *["R17"] * 2 + ["R18"] * 2 + ["Copy of 10 elements", "add_vertex with two slices"],
                *["100 compute sets of one vertex, built"] * 2,
                *["1,000 variables of one element", "1,000 Executes of 100 compute sets"],
            ],
            marks=deep,
        ),
        pytest.param(
            "pictures.py",
            [
                *["tile map of 1,472 tiles"] * 2,
                *["report of 1,472 tiles"] * 2,
                *["report page of photo.py"] * 2,
                *["report page of 1,472 tiles"] * 2,
                *["report page of photo.py"] * 3,
                *["report page of 1,472 tiles"] * 3,
                *["report page of 300 steps"] * 5,
                *["report page of 1,000 variables"] * 5,
                "report of 1,000 variables",
            ],
            marks=deep,
        ),
        pytest.param(
            "named.py",
            [
                *["order of operands", "== of axes", "is_sub_set", "Axes of 4"],
                *["a + b", "a - b", "a | b", "a & b"],
                *["an elementwise node", "a node of dot", "a node of sum"],
                *["reorder of", "slice of", "flatten of"],
                *["300 operations: "] * 4,
                "20 200 operations",
                *["logistic regression: cycles", "logistic regression: sets of one"],
                *["logistic regression: call", "another rate, length, place: compiled"],
                *["sum((x - y) ** 2): named", "dot(x - y", "(H, W)", "(x - b) * c"],
                *["sum((x - y) ** 2): bytes"] * 3,
                *["dot(x - y, x - y): bytes"] * 3,
                *["(H, W) + (W, H): xarray", "(H, W) + (W,): xarray"],
                *["value and gradient", "dot of matrices"],
            ],
            marks=deep,
        ),
        ("views.py", VIEWS),
        pytest.param(
            "scale.py",
            ["S1 64 mappings", *["S2 64 IPUs"] * 2, *["S3 64 IPUs"] * 2, "S4 step", "S5 plan"],
            marks=deep,
        ),
        pytest.param(
            "scale_ranks.py",
            ["M1 heat", "M2 bytes", "M3 small remote", "M4 small own", "M5 resident"],
            marks=deep,
        ),
        pytest.param(
            "cpp.py",
            [
                *["axpy, 12 vertices"] * 3,
                *["a file of twelve", "the same, again"],
                *["price of "] * 12,
                "classes of 12",
            ],
            marks=[deep, needs_cpp],
        ),
        pytest.param(
            "ops_shelf.py",
            [
                *["einsum, chain", "einsum, bthd", "tensordot over"],
                *["hypot", "logaddexp", "std of rows"],
                *["searchsorted", "bincount", "weighted", "histogram", "cumulative_max"],
                *["sums of 9 x 9", "maxima of 9 x 9"],
                *["has_nan_or_inf", "rms_norm", "clip_by_global_norm", "categorical"],
            ],
            marks=deep,
        ),
        pytest.param(
            "ops.py",
            [
                *["sums of rows", "sums of columns", "sums of short rows", "sums of few columns"],
                *["7 sum", "8 sums of rows", "8 sums of columns", "8 the same, in two stages"],
                *["1 six", "2 six", "3 (x - b)", "4 the same", "5 a new", "6 another", "9 sum"],
                *["10 the same", "11 value", "16 graph", "17 graph", "10 small operations"],
                *["exp of", "sin of", "softmax of rows", "12 softmax"],
                *["uniform numbers", "normal numbers"],
                *["13 matmul"] * 2 + ["14 matmul", "15 plan", "15 256^3"] + ["21 cycles"] * 2,
                *["an epoch of", "LSTM of", "GRU of"],
                *["22 top 16", "22 top 128"],
                *["gather", "scatter-add"],
                *["20 mixed operations, layers"] * 2,
                *["convolution 3 x 3", "plan of a convolution"] + ["plan and price of 7 x 7"] * 2,
                "multigrid 31 x 31",
                "1 % of 64 x 64",
            ],
            marks=deep,
        ),
    ],
)
def test_every_row_prints_its_target(
    root: Path, tmp_path: Path, script: str, names: list[str]
) -> None:
    file = tmp_path / "rows.json"
    options = ("--small", "--samples=1", "--json", file)
    done = python(tmp_path, root / "benchmarks" / script, *options)
    lines = done.stdout.splitlines()
    assert len(lines) == len(names)
    for line, name in zip(lines, names, strict=True):
        assert line.startswith(name)
        assert "= " in line or line.endswith("skipped, not installed")
    rows = json.loads(file.read_text())["rows"]
    for row, line in zip(rows, lines, strict=True):
        sampled = min(len(row["ours"]), len(row["baseline"])) > 0
        assert sampled != line.endswith("skipped, not installed")


@pytest.mark.parametrize(
    ("value", "sense", "reached"),
    [(1.5, "<=", True), (1.51, "<=", False), (6.0, ">=", True), (5.9, ">=", False)],
)
def test_verdict_follows_the_target(
    rows: ModuleType,
    capsys: pytest.CaptureFixture[str],
    value: float,
    sense: str,
    reached: bool,
) -> None:
    row = rows.Row("name", value, "x", sense, 6.0 if sense == ">=" else 1.5, [1.0], [2.0])
    assert row.reached is reached
    assert rows.run("title", lambda small, samples: [row], []) == (0 if reached else 1)
    assert capsys.readouterr().out.endswith("  ok\n" if reached else "  MISSED\n")
    assert rows.run("title", lambda small, samples: [row], ["--small"]) == 0


def test_samples_alternate_after_a_warm_up(rows: ModuleType) -> None:
    calls: list[str] = []
    ours, baseline = rows.in_turn(lambda: calls.append("a"), lambda: calls.append("b"), 3)
    assert calls == ["a", "b"] * 4
    assert (len(ours), len(baseline)) == (3, 3)


def test_a_row_without_its_baseline_says_so_and_misses_nothing(
    rows: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    row = rows.Row.skipped("unions / portion")
    assert row.reached
    assert rows.run("title", lambda small, samples: [row], []) == 0
    assert capsys.readouterr().out.endswith("  skipped, not installed\n")


OF_OTHERS = {"engine_axpy", "engine_kernels", "ops_maps", "ops_multigrid", "startup_classes"}
"""Scripts whose rows are those of others, or that others run."""


def test_development_names_the_command_of_every_script(root: Path) -> None:
    page = (root / "docs" / "development.md").read_text()
    named = set(re.findall(r"^\S+ benchmarks/(\w+)\.py$", page, re.MULTILINE))
    texts = {path.stem: path.read_text() for path in (root / "benchmarks").glob("*.py")}
    scripts = {name for name, text in texts.items() if '__name__ == "__main__"' in text}
    assert named == scripts - OF_OTHERS - {"compare"}
    assert scripts >= OF_OTHERS


def test_whole_scripts_are_compared_by_default(root: Path) -> None:
    compared = set(script(root / "benchmarks" / "compare.py").WHOLE)
    assert len(compared) == 11
    assert all((root / "benchmarks" / f"{name}.py").exists() for name in compared)
    assert compared & OF_OTHERS == set()


SCRIPT = """
import json, sys
sense, values = json.loads({content!r})
rows = [
    {{"name": name, "value": value, "unit": "x", "sense": sense, "target": 2, "ours": [1.0]}}
    for name, value in values.items()
]
open(sys.argv[sys.argv.index("--json") + 1], "w").write(json.dumps({{"rows": rows}}))
sys.exit(1)  # a target is missed
"""


@pytest.mark.parametrize(
    ("sense", "verdicts"),
    [("<=", ["WORSE", "as good", "better"]), (">=", ["better", "as good", "WORSE"])],
)
def test_two_commits_are_compared_row_by_row(
    root: Path, tmp_path: Path, sense: str, verdicts: list[str]
) -> None:
    compare = tmp_path / "benchmarks" / "compare.py"
    compare.parent.mkdir()
    shutil.copy(root / "benchmarks" / "compare.py", compare)
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run([*git, "init", "-q"], check=True)
    for first, last in ((1.0, 1.2), (1.2, 1.0)):
        content = json.dumps([sense, {"first": first, "same": 1.0, "last": last}])
        (tmp_path / "benchmarks" / "speed.py").write_text(SCRIPT.format(content=content))
        subprocess.run([*git, "add", "."], check=True)
        subprocess.run([*git, "commit", "-qm", "values"], check=True)
    done = subprocess.run(
        [sys.executable, compare, "HEAD~1", "--only", "speed", "absent"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    *lines, sums = done.stdout.splitlines()
    assert [line.partition("target 2: ")[2].rpartition(" (")[0] for line in lines] == verdicts
    assert lines[0].startswith("speed: first: 1, now 1.2 x")
    assert sums == "rows that are worse by more than 1.1 times: 1"
    kept = subprocess.run([*git, "worktree", "list"], capture_output=True, text=True, check=True)
    assert len(kept.stdout.splitlines()) == 1


# -- programs of benchmarks/engine.py --------------------------------------------------------------


Floats = npt.NDArray[np.float32]

ON_THREADS = '''
"""Run small programs, every launch shared by threads as soon as possible; print what they leave."""
import hashlib

import numpy as np

import engine, engine_axpy, engine_kernels
import poplite as pl
from poplite.simulator.run import launches

launches.pays_ns()  # starts them
launches.LEAST_NS, launches.pays_ns = 0, lambda: 0

plate = np.random.default_rng(1).random((34, 40), np.float32)
axpy, y, *_ = engine_axpy.axpy_engine(100, 9, 3, 4)
values, positions = engine_kernels.inputs(1000)
regular, random = engine_kernels.Sums(values), engine_kernels.Sums(values, positions)
a, b = engine_kernels.operands(128, 32)
x = np.random.default_rng(2).random(6 * 6 * 50, np.float32)
graph = pl.Graph(pl.Target(tiles=4))
source = graph.add_variable(pl.FLOAT, (50, 3000), "source", mapping="linear", initial_value=2.5)
source = pl.concat([source[:, 1000:], source[:, :1000]], 1)
target = graph.add_variable(pl.FLOAT, (3000, 50), "target", mapping="linear")
programs = {
    "axpy": (axpy, y),
    "regular sums": (regular.engine(), regular.tensors[2]),
    "random sums": (random.engine(), random.tensors[2]),
    "plain heat": engine_kernels.plain_engine(plate, (4, 3), 2),
    "tiled heat": engine_kernels.Tiled(plate, (4, 3)).engine(2),
    "matmul": engine_kernels.matmul_engine(a, b, engine_kernels.SquareProduct),
    "reduction": engine.tree(x, (36, 6, 2, 1), 6),
    "copy": (pl.Engine(graph, pl.Copy(source.dim_shuffle((1, 0)), target)), target),
}
for name, (made, tensor) in programs.items():
    for _ in range(6):  # the first runs are measured on one thread
        made.run()
    (program,) = made._loaded.runs.programs.values()
    shared = any(len(launch.shares) > 1 for launch in program._steps.table.launches)
    print(name, shared, hashlib.sha256(made.read(tensor).tobytes()).hexdigest(), sep=": ")
'''


def left(root: Path, threads: int) -> list[list[str]]:
    """Run the programs on so many threads; return name, whether shared, and digest of each."""
    path = f"{root}{os.pathsep}{root / 'benchmarks'}"
    numbers = {"NUMBA_NUM_THREADS": str(threads), "PYTHONPATH": path}
    done = python(root, "-c", ON_THREADS, **numbers)
    return [line.split(": ") for line in done.stdout.splitlines()]


@deep  # tests/unit/simulator/test_interrupts.py has fewer programs
@pytest.mark.parametrize("threads", [2, 3])
def test_results_do_not_depend_on_the_number_of_threads(root: Path, threads: int) -> None:
    on_one = left(root, 1)
    assert len(on_one) == 8
    assert not any(shared == "True" for _, shared, _ in on_one)
    on_several = left(root, threads)
    assert all(shared == "True" for _, shared, _ in on_several), on_several
    assert [each[::2] for each in on_several] == [each[::2] for each in on_one]


Store = Callable[[pl.Graph, Floats], pl.Tensor]


def _variable(graph: pl.Graph, values: Floats) -> pl.Tensor:
    return graph.add_variable(pl.FLOAT, values.shape, mapping="linear", initial_value=values)


def _plain(graph: pl.Graph, plate: Floats) -> pl.Tensor:
    return _variable(graph, plate)


def _transposed(graph: pl.Graph, plate: Floats) -> pl.Tensor:
    return _variable(graph, plate.T.copy()).T


def _reversed(graph: pl.Graph, plate: Floats) -> pl.Tensor:
    return _variable(graph, plate[:, ::-1].copy())[:, ::-1]


def _every_second(graph: pl.Graph, plate: Floats) -> pl.Tensor:
    return _variable(graph, np.repeat(plate, 2, axis=1)).sub_sample(2, 1)


def _in_columns(graph: pl.Graph, plate: Floats) -> pl.Tensor:
    cut = [_variable(graph, plate[:, c : c + 3].copy()) for c in range(0, plate.shape[1], 3)]
    return pl.concat(cut, 1)


def _odd_rows_first(graph: pl.Graph, plate: Floats) -> pl.Tensor:
    odd, even = (_variable(graph, plate[first::2].copy()) for first in (1, 0))
    rows = [(odd if row % 2 else even)[row // 2 : row // 2 + 1] for row in range(len(plate))]
    return pl.concat(rows)


STORES: list[Store] = [_transposed, _reversed, _every_second, _in_columns, _odd_rows_first]


@pytest.mark.parametrize("interpret", [False, True])
@pytest.mark.parametrize("checks", ["strict", "fast"])
@pytest.mark.parametrize("store", STORES, ids=lambda store: store.__name__.strip("_"))
def test_results_do_not_depend_on_contiguity(
    heat: ModuleType, store: Store, checks: str, interpret: bool
) -> None:
    plate = np.random.default_rng(1).random((11, 14), np.float32)

    def after(store: Store) -> tuple[bytes, int]:
        graph = pl.Graph(pl.Target(tiles=6))
        buffers = [store(graph, plate) for _ in "ab"]
        steps = []
        for old, new in (buffers, buffers[::-1]):
            step = graph.add_compute_set("step")
            for tile, (r, c) in enumerate(grid_blocks((9, 12), (2, 3))):
                inside = new[r.start + 1 : r.stop + 1, c.start + 1 : c.stop + 1]
                around = old[r.start : r.stop + 2, c.start : c.stop + 2]
                graph.add_vertex(step, heat.Diffuse, tile=tile, old=around, new=inside)
            steps.append(pl.Execute(step))
        program = pl.Repeat(3, pl.Sequence(*steps))
        engine = pl.Engine(graph, program, checks=checks, interpret=interpret)  # type: ignore[arg-type]
        engine.run()
        return engine.read(buffers[0]).tobytes(), engine.report().bytes_gathered

    contents, gathered = after(_plain)
    stored, gathered_there = after(store)
    assert gathered == 0
    assert (gathered_there > 0) == (store is not _odd_rows_first)  # rows may lie anywhere
    assert stored == contents
