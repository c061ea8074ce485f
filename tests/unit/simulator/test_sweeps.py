"""Sweeps: a row for each point, whoever computes it, and pictures of them."""

from __future__ import annotations

import importlib
import json
import math
import pickle
import runpy
import subprocess
import sys
import warnings
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from pathlib import Path
from pickle import PicklingError
from threading import Lock
from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers.depth import deep
from poplite.tools.viz import main
from poplite.viz.compare import sweep_grid


def build(tiles: int, form: str = "copy") -> Any:
    """Programs of which some do not fit, some run into an error, and one is an engine."""
    graph = pl.Graph(pl.Target(tiles=tiles))
    x, y = (graph.add_variable(pl.INT, (64,), name, mapping="linear") for name in "xy")
    if form == "broken":
        raise ValueError(f"no {form} for {tiles}\nand more")
    if form == "unmapped":
        graph.add_variable(pl.INT, (8,), "z")
        return graph, pl.Copy(graph.tensor("z"), x[:8])
    program = pl.Copy(x, y.reverse(0))
    return (
        pl.Engine(graph, {"a": program, "b": program}) if form == "engine" else (graph, program, x)
    )


GRID: dict[str, list[Any]] = {"tiles": [1, 2, np.int64(4)], "form": ["copy", "broken", "engine"]}


def test_every_point_has_a_row_in_the_order_of_the_grid() -> None:
    found = pl.sweep(build, GRID)
    assert found["tiles"].tolist() == [1, 1, 1, 2, 2, 2, 4, 4, 4]
    assert found["form"].tolist() == ["copy", "broken", "engine"] * 3
    engine = pl.Engine(*build(4)[:2])
    engine.run()
    assert found["cycles"][6] == engine.report().cycles
    assert found["cycles"][8] == 2 * found["cycles"][6]
    assert found["received"][[0, 3, 5]].tolist() == [0, 256, 512]
    assert found["error"][4] == "ValueError: no broken for 2\nand more"
    assert found.num_failed == 3
    assert np.isnan(found["run_seconds"][1])
    assert (found["run_seconds"][[0, 2]] > 0).all()
    assert found.best("received") == {"tiles": 1, "form": "copy"}
    assert repr(found) == "<Sweep of 9 points over tiles, form, 3 failed>"


def rows(found: pl.Sweep) -> list[object]:
    """All that does not depend on time."""
    return [values.tolist() for name, values in found.items() if "seconds" not in name]


def test_others_find_the_same() -> None:
    points: list[dict[str, Any]] = [{"tiles": 1, "form": "copy"}, {"tiles": 3, "form": "unmapped"}]
    with ThreadPoolExecutor(2) as client:  # as a dask client is one
        assert str(rows(pl.sweep(build, points, workers=client))) == str(
            rows(pl.sweep(build, points))
        )


@deep
def test_processes_find_the_same() -> None:
    pytest.importorskip("joblib")
    assert str(rows(pl.sweep(build, GRID, workers=2))) == str(rows(pl.sweep(build, GRID)))


def test_progress_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    pl.sweep(build, {"tiles": [1, 2]}, progress=True)
    assert "poplite: sweep: 2 of 2 points" in capsys.readouterr().err


SCRIPT = """
from __future__ import annotations
from threading import Lock
import poplite as pl

own = Lock()  # another than that of a function

class Base(pl.Vertex):
    x: pl.InOut[pl.INT]
    def cycles(self, target):
        own = STEP
        return max(own for _ in range(1))

class InScript(Base):
    FACTOR = 2
    def compute(self) -> None:
        self.x = STEP + self.FACTOR * self.x
    def cycles(self, target):
        return super().cycles(target) + InScript.FACTOR

def build(k):
    class Inside(Base):
        def compute(self) -> None:
            self.x = self.x + k
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.INT, (2,), "x", mapping="linear", initial_value=1)
    work = graph.add_compute_set("c")
    graph.add_vertex(work, InScript, tile=0, x=x[0])
    graph.add_vertex(work, Inside, tile=1, x=x[1])
    if k == 3:
        raise ValueError(f"k is {STEP}")
    return graph, pl.Execute(work)

STEP = 1

class Other(pl.Vertex):
    x: pl.InOut[pl.INT]
    OWN = STEP
    def compute(self) -> None:
        self.x = self.OWN

def one(vertex, **state):
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.INT, (), "x", mapping=0, initial_value=1)
    work = graph.add_compute_set("c")
    graph.add_vertex(work, vertex, tile=0, x=x, **state)
    return graph, pl.Execute(work)

def setting(k):
    global STEP
    STEP = 100 * k
    return one(InScript)

MADE = []

class Base(Base):
    OWN = STEP
    def __init_subclass__(cls):
        super().__init_subclass__()
        MADE.append(cls)

def around(n):
    kind = pl.INT
    class Around(Base):
        y: pl.State[kind]
        def compute(self) -> None:
            self.x = self.OWN + self.y
        @staticmethod
        def price(times):
            return 50 * times * n
        price_of_one = property(lambda self: n)
        @classmethod
        def cost(cls):
            return cls.price(2)
        def cycles(self, target):
            return self.cost() + self.price_of_one + super().OWN
    Around.price_of_all = [n]
    def build(k):
        nonlocal n
        n += k
        graph, program = one(Around, y=k)
        n -= k
        class Inside(Base):
            y: pl.State[KIND]
            OWN = PRICE
        if k == 2:
            engine = pl.Engine(graph, program)
            engine.run()
            made = MADE.index(Around), MADE.count(Around)
            raise ValueError(engine.read(graph.tensor("x")), Inside.OWN, *made)
        return graph, program
    return build

shared = around(7)
KIND, PRICE = pl.INT, 60
n = 1000
if __name__ == "__main__":
    STEP = 500
    for workers in (1, 2):
        found = pl.sweep(build, {"k": [1, 2, 3]}, workers=workers)
        print(*found["cycles"], *found["error"])
"""


class Pickling:
    """A client that sends what it runs to itself."""

    def submit(self, function: Any, *arguments: Any) -> Future[Any]:
        function, arguments = pickle.loads(pickle.dumps((function, arguments)))
        done: Future[Any] = Future()
        done.set_result(function(*arguments))
        return done


def test_vertex_classes_of_a_script_are_sent_with_their_text(tmp_path: Path) -> None:
    pytest.importorskip("cloudpickle")
    (path := tmp_path / "swept.py").write_text(SCRIPT)
    script = runpy.run_path(str(path))
    script["build"].__globals__["STEP"] = 500  # as a script does below its `if __name__`
    one, two = (
        rows(pl.sweep(script["build"], {"k": [1, 2, 3]}, workers=each)) for each in (1, Pickling())
    )
    assert str(one) == str(two)
    assert str(6 * 502.0) in str(two)  # worker threads take turns
    assert "k is 500" in str(two)
    for name in ("setting", "shared"):
        one, two = (
            rows(pl.sweep(script[name], {"k": [1, 2]}, workers=each)) for each in (1, Pickling())
        )
        assert str(one) == str(two)
    assert "ValueError: (array(3, dtype=int32), 60, 0, 1)" in str(two)
    path.write_text(SCRIPT.replace("STEP + self", "2 + self"))
    with pytest.raises(pl.ControlProgramError, match="changed since it was imported"):
        pl.sweep(script["build"], {"k": [1]}, workers=Pickling())
    with pytest.raises(pl.DeviceRuntimeError, match=r"cannot be sent to workers.*\n  .*lock"):
        pl.sweep(partial(dict, form=Lock()), {"tiles": [1]}, workers=Pickling())


@deep
def test_a_script_sweeps_its_own_classes_in_processes(tmp_path: Path) -> None:
    pytest.importorskip("joblib")
    (path := tmp_path / "swept.py").write_text(SCRIPT)
    run = subprocess.run([sys.executable, path], capture_output=True, text=True, check=True)
    one, two = run.stdout.replace("[", "").splitlines()
    assert one == two
    assert "k is 500" in one


SWEPT_ON_IMPORT = """
import sys
import poplite as pl

def build(n):
    graph = pl.Graph(pl.Target(tiles=1))
    x, y = (graph.add_variable(pl.INT, (n,), name, mapping=0) for name in "xy")
    return graph, pl.Copy(x, y)

if hasattr(sys, "poplite_sweeps"):
    pl.sweep(build, {"n": [1]}, workers=2)
"""


def test_a_worker_that_imports_the_call_itself_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each worker would start more workers."""
    pytest.importorskip("cloudpickle")
    (tmp_path / "swept_on_import.py").write_text(SWEPT_ON_IMPORT)
    monkeypatch.syspath_prepend(tmp_path)
    build = importlib.import_module("swept_on_import").build
    monkeypatch.setattr(sys, "poplite_sweeps", True, raising=False)

    class Importing(Pickling):
        """A worker that has not imported the module."""

        def submit(self, *given: Any) -> Any:
            sys.modules.pop("swept_on_import", None)
            return super().submit(*given)

    with pytest.raises(
        pl.ControlProgramError, match=r"made the same call again.*\(.*swept_on_import.py:"
    ):
        pl.sweep(build, {"n": [4]}, workers=Importing())


COUNT: list[int] = []


def test_a_point_that_is_another_one_in_a_worker_is_refused() -> None:
    pytest.importorskip("cloudpickle")

    def growing(k: int) -> Any:
        COUNT.append(k)  # of this module, in which other functions see it too
        return build(len(COUNT))

    def breaking(k: int) -> Any:
        COUNT.append(k)
        return build(2, "broken" if len(COUNT) == 4 else "copy")

    for point, message in (
        (growing, r"different cycles or bytes in a worker.*\n  cycles \d+ here, \d+ there\n"),
        (breaking, r"\n  error none here, ValueError there\n"),
    ):
        with pytest.raises(pl.ControlProgramError, match=message):
            pl.sweep(point, {"k": [1]}, workers=Pickling())


def test_workers_warn_as_here(recwarn: pytest.WarningsRecorder) -> None:
    pytest.importorskip("cloudpickle")

    def warning(tiles: int) -> Any:
        graph, program, _ = build(tiles)
        warnings.warn("of the build", DeprecationWarning, stacklevel=1)
        return graph, pl.Sequence(program, pl.Execute(graph.add_compute_set("empty")))

    for rule in ("default", "ignore"):
        warnings.simplefilter(rule)
        assert not pl.sweep(warning, {"tiles": [1, 2]}, workers=Pickling()).num_failed
    first, second = recwarn.list
    assert (str(first.message), first.category) == ("of the build", DeprecationWarning)
    assert second.category is pl.EmptyComputeSetWarning
    assert (first.filename, second.filename) == (__file__, __file__)
    warnings.simplefilter("error")
    found = pl.sweep(warning, {"tiles": [1, 2]}, workers=Pickling())
    assert found["error"].tolist() == ["DeprecationWarning: of the build"] * 2


@deep
def test_a_dask_client_sweeps(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    (path := tmp_path / "swept.py").write_text(SCRIPT)
    script = runpy.run_path(str(path))
    with (
        distributed.LocalCluster(n_workers=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        for build_, grid in ((build, GRID), (script["build"], {"k": [1, 2, 3]})):
            assert str(rows(pl.sweep(build_, grid, workers=client))) == str(
                rows(pl.sweep(build_, grid))
            )


def test_only_what_a_sweep_runs_is_measured() -> None:
    calls: list[int] = []

    def ran(k: int) -> pl.Engine:
        calls.append(k)
        engine = pl.Engine(*build(2)[:2])
        for _ in range(k):
            engine.run()
        if k == 3:
            raise SystemExit("no more")
        return engine

    found = pl.sweep(ran, {"k": [0, 2, 3, 1]})
    assert calls == [0, 0, 2, 3, 1]  # the first one fills the cache, and is not measured
    assert (
        found["cycles"][[0, 1, 3]].tolist()
        == pl.sweep(build, {"tiles": [2] * 3})["cycles"].tolist()
    )
    assert np.isnan(found["compile_seconds"]).all()
    assert found["error"].tolist() == ["", "", "SystemExit: no more", ""]


class Failing:
    """A client whose workers do not answer."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def submit(self, *_: object) -> Future[Any]:
        failed: Future[Any] = Future()
        failed.set_exception(self._error)
        return failed


def test_sweeps_are_equal_when_their_columns_are() -> None:
    rows = [{"n": 1, "cycles": 70.0, "error": ""}, {"n": 2, "error": "no"}]
    found = pl.Sweep(("n",), rows)
    assert found == pl.Sweep(("n",), rows)  # NaN, too
    assert found != pl.Sweep(("n",), [rows[0], {**rows[1], "cycles": 1.0}])
    assert found != pl.Sweep(("n",), rows[:1])
    assert found != pl.Sweep(("k",), [{**row, "k": 1} for row in rows])
    assert found != dict(found)


REFUSED: list[tuple[str, tuple[object, ...], dict[str, Any]]] = [
    ("build 7 is not a function", (7, GRID), {}),
    ("grid 7 is not a grid", (build, 7), {}),
    ("'tiles' must have a list; found 4", (build, {"tiles": 4}), {}),
    (r"'tiles' must have a list; found array\(3\)", (build, {"tiles": np.array(3)}), {}),
    ("'tiles' must have a list; found b'ab'", (build, {"tiles": b"ab"}), {}),
    ("the grid has no points", (build, {"tiles": []}), {}),
    ("the grid has no points", (build, {}), {}),
    ("parameter 1 is not a name", (build, [{1: 2}]), {}),
    ("must be numbers or text; found None", (build, {"tiles": [None]}), {}),
    ("must have the parameters of the first", (build, [{"tiles": 1}, {"form": "copy"}]), {}),
    ("does not take the parameters of the grid", (build, {"tile": [1]}), {}),
    ("'cycles' has the name of a measure", (dict, {"cycles": [1]}), {}),
    ("workers must be a number of processes; found 0", (build, GRID), {"workers": 0}),
    (
        "a worker ended without a result.*\n  it was terminated\n",
        (build, GRID),
        {"workers": Failing(BrokenProcessPool("it was terminated\nby a signal"))},
    ),
    (
        "build cannot be sent to workers.*\n  no lock",
        (build, GRID),
        {"workers": Failing(PicklingError("no lock"))},
    ),
]


@pytest.mark.parametrize(("message", "arguments", "options"), REFUSED)
def test_what_is_no_sweep_is_refused(
    message: str, arguments: tuple[Any, ...], options: dict[str, Any]
) -> None:
    with pytest.raises(pl.PopliteError, match=message):
        pl.sweep(*arguments, **options)


def test_what_build_returns_is_checked_point_by_point() -> None:
    found = pl.sweep(lambda tiles: tiles, {"tiles": [3]})
    assert found["error"][0].startswith(
        "ElementTypeError: sweep: build must return a graph and a program; found 3"
    )
    with pytest.raises(pl.ControlProgramError, match="no point has 'cycles'"):
        found.best()
    with pytest.raises(pl.UnknownName, match="does not measure 'tile'"):
        found.best("tile")
    with pytest.raises(pl.UnknownName, match=r"no column 'cycle' \(did you mean 'cycles'"):
        found["cycle"]
    with pytest.raises(pl.UnknownName, match="no column 3"):
        found[3]  # type: ignore[index]
    with pytest.raises(pl.UnknownName, match="does not measure 3"):
        found.best(3)  # type: ignore[arg-type]
    with pytest.raises(pl.ElementTypeError, match=r"Sweep.load: None is not a path"):
        pl.Sweep.load(None)  # type: ignore[arg-type]


def test_ranks_and_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "joblib", None)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(pl.DeviceRuntimeError, match=r"pip install 'poplite\[sweep\]'"):
        pl.sweep(build, GRID, workers=2)
    with pytest.raises(pl.ControlProgramError, match=r"pip install 'poplite\[sweep\]'"):
        pl.sweep(build, {"tiles": [1]}).to_pandas()
    monkeypatch.setenv("PMI_SIZE", "3")
    with pytest.raises(pl.ControlProgramError, match="one of 3 ranks"):
        pl.sweep(build, GRID)


# -- files and pictures ----------------------------------------------------------------------------


def made(rows: list[dict[str, Any]]) -> pl.Sweep:
    return pl.Sweep(list(rows[0])[:-2], rows)


TWO = made(
    [
        {"w": w, "h": h, "cycles": 100.0 * w + len(h), "error": ""}
        if w + len(h) != 4
        else {"w": w, "h": h, "cycles": math.nan, "error": "E: full\nthere"}
        for w in (1, 2, 3)
        for h in ("a", "bb")
    ]
)


def test_files_hold_all_of_it(tmp_path: Path) -> None:
    TWO.save(path := tmp_path / "sweep.json")
    again = pl.Sweep.load(path)
    assert {name: str(values.tolist()) for name, values in again.items()} == {
        name: str(values.tolist()) for name, values in TWO.items()
    }
    data = json.loads(path.read_text())
    measured = data["measured"]
    changes: list[tuple[dict[str, Any], str]] = [
        ({"poplite": "report"}, "its header is not that of a sweep"),
        ({"version": 1}, "it has version 1, but this version of poplite reads 2"),
        ({"measured": measured[1:]}, "its columns must be those of a sweep"),
        ({"parameters": [["cycles", [1] * 6]]}, "its columns must be those of a sweep"),
        ({"parameters": [["w", [1]]]}, "its columns must have equal lengths"),
        ({"parameters": [["w", [None] * 6]]}, "None is not a valid parameter value"),
        ({"measured": [["cycles", ["x"] * 6], *measured[1:]]}, "'x' is not a number"),
        ({"error": [1] * 6}, "1 is not of type str"),
    ]
    for change, told in changes:
        path.write_text(json.dumps(data | change))
        with pytest.raises(pl.FileLoadError, match=f"cannot be loaded as a sweep: .*{told}"):
            pl.Sweep.load(path)
    path.write_text("[]")
    with pytest.raises(pl.FileLoadError, match="cannot be loaded as a sweep"):
        pl.Sweep.load(path)


def test_values_that_json_or_text_cannot_tell_apart(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"v": v, "w": w, "cycles": cycles, "error": ""}
        for v, w, cycles in ((1, 0, 9.0), ("1", 2, 5.0), (1, 2, 5.0), (-math.inf, 0, 7.0))
    ]
    made(rows).save(path := tmp_path / "sweep.json")
    found = pl.Sweep.load(path)
    assert found["v"].tolist() == [1, "1", 1, -math.inf]
    grid = sweep_grid(found)
    assert grid.values == (("1", "'1'", "-inf"), ("0", "2"))
    assert grid.best == (1, 1)  # of equals the first, in the picture as in the text
    assert grid.facts[1] == "least: 5 at v = '1', w = 2"


def test_pictures_show_the_least_and_what_failed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    TWO.save(path := tmp_path / "sweep.json")
    assert main(["sweep", str(path)]) == 0
    assert capsys.readouterr().out == (
        "cycles by w and h\n6 points\nleast: 101 at w = 1, h = a\n2 failed: E: full\n\n"
        "  h \\ w    1       2       3\n"
        "      a  101     201  failed\n"
        "     bb  102  failed     302\n"
    )
    assert main(["sweep", str(path), "--over", "w", "--width", "60"]) == 0
    assert "1     101  █" in capsys.readouterr().out
    assert main(["sweep", str(path), "-f", "csv"]) == 0
    assert capsys.readouterr().out.splitlines()[4].startswith("2,bb,,,")
    assert main(["sweep", str(path), "-f", "json", "--over", "h"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["values"], data["least"]) == ([["a", "bb"]], [101.0, 102.0])
    for over, message in (("x", "no parameter 'x'"), ("w w", "not w w")):
        assert main(["sweep", str(path), "--over", *over.split()]) == 1
        assert message in capsys.readouterr().err


@pytest.mark.parametrize("seconds", [1e308, -1e308])
def test_numbers_of_any_size_have_bars(
    seconds: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{"k": k, "build_seconds": v, "error": ""} for k, v in ((1, seconds), (2, 1.0))]
    made(rows).save(path := tmp_path / "sweep.json")
    assert main(["sweep", str(path), "--by", "build_seconds", "--width", "60"]) == 0
    bars = [line.count("█") for line in capsys.readouterr().out.splitlines()[-2:]]
    assert bars == ([40, 1] if seconds > 1 else [1, 40])


def test_squares_and_bars_say_what_they_are() -> None:
    squares = sweep_grid(TWO).svg()
    assert squares.count("<title>") == 6
    assert "w 1, h a: 101" in squares
    assert squares.count('class="mark"') == 1  # the least
    assert ">101<" in squares
    assert "w 2, h bb: failed" in squares
    many = made([{"k": k, "cycles": 900.0 - k, "error": ""} for k in range(800)])
    bars = sweep_grid(many).svg()
    assert "k 0 to 2: 898" in bars
    assert "k 798 to 799: 101" in bars
    nothing = made([{"k": 1, "cycles": math.nan, "error": "E"}])
    assert "k 1: failed" in sweep_grid(nothing).svg()


def test_parameters_of_several_kinds_are_saved_as_numbers(tmp_path: Path) -> None:
    values = [np.int64(1), 2.0, np.float32("inf"), np.bool_(True), "x"]
    pl.Sweep(("a",), [{"a": a, "error": ""} for a in values]).save(path := tmp_path / "sweep.json")
    assert pl.Sweep.load(path)["a"].tolist() == [1, 2.0, np.inf, True, "x"]


@pytest.mark.parametrize("name", ["cycles", "error"])
def test_no_parameter_of_a_sweep_is_called_like_what_is_measured(name: str) -> None:
    with pytest.raises(pl.ControlProgramError, match=f"'{name}' has the name of a measure"):
        pl.Sweep((name,), [{name: "", "error": ""}])


def test_a_sweep_has_parameters(tmp_path: Path) -> None:
    with pytest.raises(pl.ControlProgramError, match="Sweep: there are no parameters"):
        pl.Sweep([], [{"cycles": 7, "error": ""}])
    pl.Sweep(["n"], [{"n": 1, "cycles": 7, "error": ""}]).save(path := tmp_path / "sweep.json")
    data = json.loads(path.read_text())
    path.write_text(json.dumps(data | {"parameters": []}))
    with pytest.raises(pl.FileLoadError, match="its columns must be those of a sweep"):
        pl.Sweep.load(path)
