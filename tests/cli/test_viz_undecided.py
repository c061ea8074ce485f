"""Programs in which what nothing has written decides what runs: shown as compiled, and refused."""

from __future__ import annotations

import html
import json
from pathlib import Path

import pytest

import poplite as pl
from helpers.ranks import needs_mpi
from helpers.running import go_to
from poplite.errors import FileLoadError
from poplite.tools.command import main as poplite
from poplite.tools.viz.load_report import load
from poplite.tools.viz.main import main

SCRIPT = """
import poplite as pl
from poplite import ops

class Less(pl.Vertex):
    x: pl.Input[pl.Vector[pl.INT]]
    out: pl.Output[pl.BOOL]

    def compute(self) -> None:
        total = 0
        for i in range(len(self.x)):
            total += self.x[i]
        self.out = total < 7

class Seven(pl.Vertex):
    x: pl.Input[pl.INT]
    out: pl.Output[pl.BOOL]

    def compute(self) -> None:
        self.out = self.x == 7

class Positive(pl.Vertex):
    x: pl.Input[pl.Vector[pl.INT]]

    def compute(self) -> bool:
        return self.x[0] > 0

class Count(pl.Vertex):
    n: pl.InOut[pl.INT]
    more: pl.Output[pl.BOOL]

    def compute(self) -> None:
        self.n += 1
        self.more = self.n < 5

class Filled(pl.Vertex):
    room: pl.InOut[pl.Vector[pl.INT]]
    x: pl.Input[pl.INT]
    out: pl.Output[pl.BOOL]

    def compute(self) -> None:
        self.room[0] = self.x
        self.out = self.room[0] > 1

class Race(pl.MultiVertex):
    x: pl.InOut[pl.Vector[pl.INT]]

    def compute(self, worker: int) -> None:
        self.x[0] += worker + 1

class Times(pl.Vertex):
    n: pl.Input[pl.INT]
    k: pl.Input[pl.INT]
    out: pl.Output[pl.INT]

    def compute(self) -> None:
        total = 0
        for i in range(self.n):
            for j in range(i):
                if (i * j) % 7 == 3:
                    total += self.k
        self.out = total

class Large(pl.Vertex):
    x: pl.Input[pl.Vector[pl.INT]]
    out: pl.Output[pl.INT]

    def compute(self) -> None:
        i = 0
        while i < len(self.x) and self.x[i] < 7:
            i += 1
        self.out = i

class Add(pl.Vertex):
    x: pl.Input[pl.Vector[pl.INT]]
    y: pl.InOut[pl.Vector[pl.INT]]

    def compute(self) -> None:
        for i in range(len(self.y)):
            self.y[i] += self.x[i]

class First(pl.Vertex):
    x: pl.Input[pl.INT]
    out: pl.Output[pl.Vector[pl.INT]]

    def compute(self) -> None:
        self.out[0] = self.x + 0

class Place(pl.Vertex):
    i: pl.Input[pl.INT]
    out: pl.Output[pl.Vector[pl.INT]]

    def compute(self) -> None:
        self.out[self.i] = 0

class Parts:
    def __init__(self, value=None):
        self.graph = graph = pl.Graph(pl.Target(tiles=2))
        self.x = graph.add_variable(pl.INT, (4,), "x", mapping=0, initial_value=value)
        self.y = graph.add_variable(pl.INT, (4,), "y", mapping=1, initial_value=0)
        self.c = graph.add_variable(pl.BOOL, (), "c", mapping=0)
        self.n = graph.add_variable(pl.INT, (), "n", mapping=0)
        self.dear = pl.Repeat(1000, pl.Copy(self.x, self.y))
        self.cheap = pl.Copy(self.x[0], self.y[1])

    def add(self, cls, **fields):
        compute_set = self.graph.add_compute_set(cls.__name__)
        self.graph.add_vertex(compute_set, cls, tile=0, **fields)
        return pl.Execute(compute_set)

def branch():
    p = Parts()
    return p.graph, pl.If(p.c, p.dear, p.cheap)

def loop():
    p = Parts()
    return p.graph, pl.RepeatWhileTrue(pl.Sequence(), p.c, p.dear)

def loop_false():
    p = Parts()
    return p.graph, pl.RepeatWhileFalse(pl.Sequence(), p.c, p.dear)

def switch():
    p = Parts()
    return p.graph, pl.Switch(p.n, {1: p.dear}, p.cheap)

def abort():
    p = Parts()
    return p.graph, pl.Sequence(p.cheap, pl.AbortOnCondition(p.c, "diverged"))

def vertex():
    p = Parts()
    return p.graph, pl.Sequence(p.add(Less, x=p.x, out=p.c), pl.If(p.c, p.cheap, p.dear))

def equal():
    p = Parts()
    return p.graph, pl.Sequence(p.add(Seven, x=p.n, out=p.c), pl.If(p.c, p.cheap, p.dear))

def copied():
    p = Parts()
    z = p.graph.add_variable(pl.INT, (4,), "z", mapping=1)
    steps = pl.Copy(p.x, z), p.add(Less, x=z, out=p.c)
    return p.graph, pl.Sequence(*steps, pl.If(p.c, p.cheap, p.dear))

def returned():
    p = Parts()
    compute_set = p.graph.add_compute_set("positive")
    p.graph.add_vertex(compute_set, Positive, tile=0, x=p.x)
    return p.graph, pl.Sequence(pl.Execute(compute_set, p.c), pl.If(p.c, p.dear, p.cheap))

def counter():
    p = Parts()
    return p.graph, pl.RepeatWhileTrue(p.add(Count, n=p.n, more=p.c), p.c, p.dear)

def called():
    p = Parts()
    function = p.graph.add_function(pl.If(p.c, p.dear, p.cheap))
    return p.graph, pl.Sequence(p.cheap, pl.Call(function))

def later():
    p = Parts()
    d = p.graph.add_variable(pl.BOOL, (), "d", mapping=0, initial_value=True)
    return p.graph, pl.RepeatWhileTrue(pl.Sequence(), d, pl.Sequence(p.dear, pl.Copy(p.c, d)))

def recorded():
    graph = pl.Graph(pl.Target(tiles=2))
    b = graph.add_variable(pl.FLOAT, (8,), "b", mapping="linear")
    with graph.steps() as steps:
        with ops.while_(ops.sum(b) > 1):
            ops.assign(b, b / 2)
    return graph, steps

def part():
    p = Parts()
    write = pl.Copy(p.y[0], p.x[0])
    return p.graph, pl.Sequence(write, p.add(Less, x=p.x, out=p.c), pl.If(p.c, p.cheap, p.dear))

def rounds(n=None):
    p = Parts()
    if n is not None:
        p.graph.set_initial_value(p.n, n)
    return p.graph, p.add(Times, n=p.n, k=p.x[0], out=p.y[0])

def gathered():
    p = Parts()
    return p.graph, p.add(Large, x=pl.concat([p.x[3:], p.y[:1], p.x[:1]]), out=p.y[1])

def moved():
    p = Parts()
    z = p.graph.add_variable(pl.INT, (4,), "z", mapping=1)
    return p.graph, pl.Sequence(pl.Copy(p.x, z), p.add(Large, x=z, out=p.y[1]))

def endless():
    p = Parts()
    return p.graph, pl.Loop(pl.Sequence(p.cheap, pl.AbortOnCondition(p.c, "ended")))

def later_round():
    p = Parts()
    d, e = (p.graph.add_variable(pl.BOOL, (), name, mapping=0) for name in "de")
    no = p.graph.add_constant(pl.BOOL, (), False, mapping=0)
    steps = pl.AbortOnCondition(d, "ended"), pl.Copy(e, d), pl.Copy(p.c, e)
    return p.graph, pl.Sequence(pl.Copy(no, d), pl.Copy(no, e), pl.Loop(pl.Sequence(*steps)))

def turning():
    p = Parts()
    a, t = (p.graph.add_variable(pl.INT, (), name, mapping=0, initial_value=1) for name in "at")
    b = p.graph.add_variable(pl.INT, (), "b", mapping=0)
    d = p.graph.add_variable(pl.BOOL, (), "d", mapping=0, initial_value=False)
    turn = pl.Copy(a, t), pl.Copy(b, a), pl.Copy(t, b)
    loop = pl.Loop(pl.Sequence(pl.AbortOnCondition(d, "ended"), *turn))
    return p.graph, {"first": loop, "other": pl.If(p.c, p.dear, p.cheap)}

def beside_values():
    p = Parts()
    b = p.graph.add_variable(pl.INT, (8,), "b", mapping=0)
    p.graph.set_initial_value(b[:4], 1)
    return p.graph, pl.Switch(b[5], {1: p.dear}, p.cheap)

def fed_count():
    p = Parts()
    stream = p.graph.add_host_to_device_fifo("count", pl.INT, 1)
    return p.graph, pl.Sequence(pl.Copy(stream, p.n), p.add(Times, n=p.n, k=p.x[0], out=p.y[0]))

def racing():
    p = Parts()
    room = p.graph.add_variable(pl.INT, (2,), "room", mapping=0)
    fill = p.add(Filled, room=room, x=p.y[0], out=p.c)
    race = p.add(Race, x=p.y)
    return p.graph, pl.Sequence(fill, pl.If(p.c, p.dear, p.cheap), race)

def unwritten_row(stored=False):
    p = Parts()
    rows = p.graph.add_remote_buffer("rows", pl.INT, 1, 2)
    store = pl.Copy(p.y[0], rows) if stored else pl.Sequence()
    return p.graph, pl.Sequence(store, pl.Copy(rows, p.n), pl.Switch(p.n, {1: p.dear}, p.cheap))

def stored_row():
    return unwritten_row(stored=True)

def undefined():
    p = Parts()
    d = p.graph.add_variable(pl.BOOL, (), "d", mapping=0, initial_value=True)
    return p.graph, pl.Sequence(pl.WriteUndef(d), pl.If(d, p.dear, p.cheap))

def redefined():
    p = Parts()
    d = p.graph.add_variable(pl.INT, (), "d", mapping=0, initial_value=0)
    count = pl.Sequence(pl.WriteUndef(p.c), p.add(Count, n=d, more=p.c))
    return p.graph, pl.RepeatWhileTrue(count, p.c, p.cheap)

def output(element=2):
    p = Parts()
    write = p.add(First, x=p.y[0], out=p.x)
    return p.graph, pl.Sequence(write, pl.Switch(p.x[element], {1: p.dear}, p.cheap))

def written_output():
    return output(0)

def read_output():
    p = Parts()
    steps = p.add(First, x=p.y[0], out=p.x), p.add(Less, x=p.x, out=p.c)
    return p.graph, pl.Sequence(*steps, pl.If(p.c, p.dear, p.cheap))

def outputs_in_turn():
    p = Parts()
    i = p.graph.add_variable(pl.INT, (), "i", mapping=0, initial_value=0)
    turns = pl.Repeat(3, pl.Sequence(p.add(Place, i=i, out=p.x), p.add(Count, n=i, more=p.c)))
    return p.graph, pl.Sequence(turns, pl.Switch(p.x[2], {1: p.dear}, p.cheap))

def first_read(element=0):
    p = Parts()
    compute_set = p.graph.add_compute_set("positive")
    p.graph.add_vertex(compute_set, Positive, tile=0, x=p.x)
    steps = pl.Copy(p.y[0], p.x[element]), pl.Execute(compute_set, p.c)
    return p.graph, pl.Sequence(*steps, pl.If(p.c, p.dear, p.cheap))

def other_written():
    return first_read(1)

def second():
    graph, program = branch()
    return graph, {"first": pl.Sequence(), "second": program}

def straight():
    p = Parts()
    return p.graph, pl.Repeat(3, pl.Sequence(p.cheap, p.add(Add, x=p.x, y=p.y)))

def initial():
    p = Parts(value=[1, 2, 3, 4])
    return p.graph, pl.Sequence(p.add(Less, x=p.x, out=p.c), pl.If(p.c, p.dear, p.cheap))

def before():
    p = Parts(value=1)
    write = p.add(Less, x=p.x, out=p.c)
    return p.graph, {"write": write, "branch": pl.If(p.c, p.dear, p.cheap)}

def room():
    p = Parts(value=1)
    room = p.graph.add_variable(pl.INT, (2,), "room", mapping=0)
    fill = p.add(Filled, room=room, x=p.x[0], out=p.c)
    return p.graph, pl.Sequence(fill, pl.If(p.c, p.dear, p.cheap))

def beside():
    p = Parts()
    d = p.graph.add_variable(pl.INT, (), "d", mapping=0, initial_value=0)
    count = p.add(Count, n=d, more=p.c)
    body = pl.Sequence(p.add(Add, x=p.x, y=p.y), p.cheap)
    return p.graph, pl.RepeatWhileTrue(count, p.c, body)

def fed():
    p = Parts()
    stream = p.graph.add_host_to_device_fifo("flag", pl.BOOL, 1)
    return p.graph, pl.Sequence(pl.Copy(stream, p.c), pl.If(p.c, p.dear, p.cheap))
"""

UNDECIDED = {
    "branch": "nothing has written 'c', which decides what runs",
    "loop": "nothing has written 'c', which decides what runs",
    "loop_false": "nothing has written 'c', which decides what runs",
    "switch": "nothing has written 'n', which decides what runs",
    "abort": "nothing has written 'c', which decides what runs",
    "vertex": "nothing has written 'x', on which it depends what runs",
    "equal": "nothing has written 'n', on which it depends what runs",
    "copied": "nothing has written 'x', on which it depends what runs",
    "returned": "nothing has written 'x', on which it depends what runs",
    "counter": "nothing has written 'n', on which it depends what runs",
    "called": "nothing has written 'c', which decides what runs",
    "later": "nothing has written 'c', on which it depends what runs",
    "recorded": "nothing has written 'b', on which it depends what runs",
    "part": "nothing has written 'x', on which it depends what runs",
    "rounds": "nothing has written 'n', which decides how long 'Times' takes",
    "gathered": "nothing has written 'x', which decides how long 'Large' takes",
    "moved": "nothing has written 'x', on which it depends how long 'Large' takes",
    "beside_values": "nothing has written 'b', which decides what runs",
    "second": "nothing has written 'c', which decides what runs",
    "unwritten_row": "nothing has written 'rows', on which it depends what runs",
    "output": "nothing has written 'x', which decides what runs",
    "read_output": "nothing has written 'x', on which it depends what runs",
    "other_written": "nothing has written 'x', on which it depends what runs",
    "undefined": "nothing has written 'd', which decides what runs",
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with `work.py`, which is where we are."""
    return go_to(tmp_path, monkeypatch, work=SCRIPT)


@pytest.mark.parametrize("target", UNDECIDED)
def test_what_nothing_has_written_decides(target: str) -> None:
    loaded = load(f"work.py:{target}")
    assert not loaded.report.is_run
    assert UNDECIDED[target] in loaded.report.note
    assert loaded.report == pl.Report.from_json(loaded.report.to_json())
    planned = load(f"work.py:{target}", run=False).report
    assert loaded.report.places == planned.places
    what = f"work.py:{target} is shown as compiled, since {loaded.report.note}; --run"
    assert what in loaded.note


@pytest.mark.parametrize(
    "target",
    [
        "straight",
        "initial",
        "before",
        "room",
        "beside",
        "stored_row",
        "redefined",
        "written_output",
        "outputs_in_turn",
        "first_read",
    ],
)
def test_what_is_known_runs(target: str) -> None:
    loaded = load(f"work.py:{target}")
    assert (loaded.report.is_run, loaded.report.note, loaded.note) == (True, "", "")
    assert load(f"work.py:{target}", run=True).report == loaded.report


def test_what_decides_is_that_of_the_run() -> None:
    assert [each.executions for each in load("work.py:initial").report.places] == [1, 1]
    assert load("work.py:beside").report.step("Add").executions == 4


def test_zeros_decide_when_asked_to() -> None:
    loaded = load("work.py:branch", run=True)
    assert [(step.number, step.executions) for step in loaded.report.places] == [(2, 1)]
    assert loaded.report.note == "with zeros: " + UNDECIDED["branch"]
    assert loaded.note == f"work.py:branch is run with zeros: {UNDECIDED['branch']}"
    assert loaded.report.run_note in str(loaded.report)
    fed = load("work.py:fed", run=True)
    why = "with zeros from the host, on which it depends what runs"
    assert (fed.report.runs, fed.report.note, fed.note) == (1, why, f"work.py:fed is run {why}")
    counted = load("work.py:fed_count", run=True).report
    assert counted.note == "with zeros from the host, on which it depends how long 'Times' takes"
    assert "1 stream or host function needs data ('flag')" in load("work.py:fed").report.note


@pytest.mark.parametrize(
    ("words", "file"),
    [
        (["report", "-f", "txt"], ""),
        (["report", "-f", "svg"], ""),
        (["steps"], ""),
        (["steps", "--timeline"], ""),
        (["steps", "-f", "json"], ""),
        (["ops"], ""),
        (["exchange"], ""),
        (["tiles", "--by", "cycles"], ""),
        (["report", "-o", "r.html"], "r.html"),
        (["report", "-o", "r.json"], "r.json"),
    ],
)
def test_each_surface_says_so(
    words: list[str], file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([words[0], "work.py:branch", *words[1:], "--width", "200"]) == 0
    said = capsys.readouterr()
    assert "is shown as compiled, since nothing has written 'c'" in said.err
    text = Path(file).read_text() if file else said.out
    note = "nothing has written 'c', which decides what runs"
    assert note in html.unescape(text)


def test_a_saved_report_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    main(["report", "work.py:branch", "-o", "r.json", "-q"])
    for words in (["summary"], ["steps"], ["report", "-f", "txt"]):
        main([words[0], "r.json", *words[1:], "--width", "200"])
        assert "nothing has written 'c', which decides" in capsys.readouterr().out


def test_run_refuses_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert poplite(["run", "work.py:vertex"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert "'c' decides what runs, but depends on 'x', which nothing has written" in said.err
    assert "try: give 'x' an initial_value" in said.err
    assert poplite(["run", "work.py:initial"]) == 0
    assert "Total cycles:" in capsys.readouterr().out


@needs_mpi
def test_run_refuses_it_before_any_rank_starts(capsys: pytest.CaptureFixture[str]) -> None:
    assert poplite(["run", "-n", "2", "work.py:abort"]) == 1
    assert "'c' decides what runs, but nothing has written it" in capsys.readouterr().err


def test_run_says_that_zeros_of_streams_decide(capsys: pytest.CaptureFixture[str]) -> None:
    assert poplite(["run", "work.py:fed"]) == 0
    said = capsys.readouterr()
    why = "with zeros from the host, on which it depends what runs"
    assert f"poplite: work.py:fed is run {why}" in said.err
    assert why in said.out


@needs_mpi
@pytest.mark.parametrize(
    ("target", "lacks"),
    [
        ("endless", "'c' decides what runs, but nothing has written it"),
        ("later_round", "'d' decides what runs, but depends on 'c', which nothing has written"),
        ("turning", "'c' decides what runs, but nothing has written it"),
    ],
)
def test_run_looks_at_loops_before_any_rank_starts(
    target: str, lacks: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert poplite(["run", "-n", "2", f"work.py:{target}"]) == 1
    assert lacks in capsys.readouterr().err


def test_vertices_that_data_decide_run_where_these_are_known() -> None:
    loaded = load("work.py:rounds", [("n", 100)])
    assert (loaded.report.is_run, loaded.note, loaded.report.cycles) == (True, "", 8_147_047)
    assert load("work.py:rounds").report.run_note == (
        "as compiled, of one run; nothing has written 'n', which decides how long 'Times' takes"
    )


def test_other_faults_are_said() -> None:
    with pytest.raises(FileLoadError, match="worker"):
        load("work.py:racing")


def test_a_trace_says_first_why_nothing_is_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", "work.py:branch"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("poplite-viz: 'work.py:branch' is not run: nothing has written 'c', whi")
    assert "poplite-viz trace work.py:branch --run" in said


# -- what one run as compiled is -------------------------------------------------------------------


def test_a_repeat_in_a_branch_counts_in_full(capsys: pytest.CaptureFixture[str]) -> None:
    report = load("work.py:branch", run=False).report
    taken, other = report.places
    assert (taken.executions, other.executions) == (1000, 1)
    (not_taken,) = load("work.py:branch", run=True).report.places
    assert (taken.cycles, other.cycles) == (152_000, not_taken.cycles)
    assert report.shown.cycles == taken.cycles + other.cycles
    assert report.run_note == "as compiled, of one run with all branches"
    assert report.compilation.programs["0"].children[0].children[0].children[0].count is None
    main(["program", "work.py:branch", "--counts", "-f", "json"])
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [(row["runs"], row["as_compiled"]) for row in rows] == [
        (1, 1),
        (None, 1),
        (None, 1000),
        (None, 1),
    ]
    main(["program", "work.py:branch", "--counts"])
    assert "   1  1,000?  " in capsys.readouterr().out
