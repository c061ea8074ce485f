"""Errors begin with the user's line, and name what the user can mend."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Literal

import pytest

import poplite as pl
from helpers.depth import interpreted
from poplite import ops
from poplite.vertices import Add


def variables(*names: str) -> tuple[pl.Graph, list[pl.Tensor]]:
    """Return vectors of four elements that nothing has written."""
    graph = pl.Graph(pl.Target(tiles=2))
    return graph, [graph.add_variable(pl.FLOAT, (4,), name, mapping="linear") for name in names]


def test_an_unwritten_element_is_named_where_it_was_made_through_copies() -> None:
    graph, (b, r, v, s) = variables("b", "r", "v", "s")
    with graph.steps() as program:
        ops.copy(b[::-1], r)
        ops.copy(r, v)
        ops.assign(s, v * 2)
    engine = pl.Engine(graph, program, **interpreted())
    with pytest.raises(pl.UninitializedReadError) as caught:
        engine.run()
    error = caught.value
    assert "which is 'v'[0], copied from 'b'[3] by way of 'r'[0], but nothing" in error.what
    assert "test_messages_lead_home.py" in str(error.at)
    assert error.found is not None
    assert error.found.startswith("'b' was made at ")
    assert re.search(r"compute of the vertex: <poplite ", error.found)
    assert error.fix is not None
    assert error.fix.startswith("write 'b'[3] in an earlier step")


def test_what_was_written_after_a_copy_is_not_blamed() -> None:
    """'b' is written by then; the copy of 'c' is what left 'r' unwritten."""
    graph, (b, c, r, s) = variables("b", "c", "r", "s")
    with graph.steps() as program:
        ops.copy(b, r)
        ops.copy(c, r)
        ops.fill(b, 1)
        ops.assign(s, r * 2)
    engine = pl.Engine(graph, program, **interpreted())
    with pytest.raises(pl.UninitializedReadError, match=r"'r'\[0\], copied from 'c'\[0\], but"):
        engine.run()


def test_many_copies_in_between_are_counted() -> None:
    graph, all_of_them = variables(*(f"t{n}" for n in range(9)))
    with graph.steps() as program:
        for source, target in zip(all_of_them[:-2], all_of_them[1:-1], strict=True):
            ops.copy(source, target)
        ops.assign(all_of_them[-1], all_of_them[-2] * 2)
    engine = pl.Engine(graph, program, **interpreted())
    via = r"'t0'\[0\] by way of 't1'\[0\], 't2'\[0\], 't3'\[0\] and 3 more elements, but"
    with pytest.raises(pl.UninitializedReadError, match=via):
        engine.run()


def test_a_decision_names_what_its_scalar_was_copied_from() -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    given, more = (graph.add_variable(pl.BOOL, (), name, mapping=0) for name in ("given", "more"))
    branch = pl.If(more, pl.Copy(more, given), pl.Sequence())
    program = pl.Sequence(pl.Copy(given, more), branch)
    engine = pl.Engine(graph, program)
    with pytest.raises(pl.UninitializedReadError) as caught:
        engine.run()
    assert caught.value.what.startswith("'more', copied from 'given' decides what runs next")
    assert caught.value.fix is not None
    assert caught.value.fix.startswith("write 'given' in")


def warned(engine: pl.Engine, read: pl.Tensor | str | None = None) -> pl.UninitializedWarning:
    """Return the only warning of a run, or of a read after one."""
    with pytest.warns(pl.UninitializedWarning) as caught:  # noqa: PT031
        engine.run()
        if read is not None:
            engine.read(read)
    (warning,) = caught
    assert isinstance(warning.message, pl.UninitializedWarning)
    return warning.message


def test_the_host_hears_where_what_it_reads_was_made_through_copies() -> None:
    graph, (b, r, v, s) = variables("b", "r", "v", "s")
    with graph.steps() as program:
        ops.copy(b[::-1], r)
        ops.copy(r, v)
        ops.fill(s, 1)
        ops.copy(s[:2], v[:2])
    message = warned(pl.Engine(graph, program, **interpreted()), pl.concat([s, v]))
    assert message.what == "engine.read of 'concat(s, v)': nothing has written 2 of 8 elements"
    assert message.at == graph.variables[0].location
    assert message.found is not None
    first, origin, memory = message.found.splitlines()
    assert first == "the first is [6]"
    line = re.escape("'v'[2], copied from 'b'[1] by way of 'r'[2]; 'b' was made at ")
    assert re.match(line + ".*test_messages_lead_home.py", origin)
    assert memory.startswith("memory is zero there now")
    assert message.fix == "write 'b' before, give an initial_value, or leave the elements out"


def test_only_variables_that_the_host_misses_are_named() -> None:
    graph, (a, b, c) = variables("a", "b", "c")
    with graph.steps() as program:
        ops.fill(b, 1)
        ops.fill(a[1:], 1)
    engine = pl.Engine(graph, program, **interpreted())
    engine.run()
    assert engine.read(a[1:]).tolist() == [1, 1, 1]
    message = warned(engine, pl.concat([b, c[:1], a]))
    assert message.what.endswith("nothing has written 2 of 9 elements")
    assert message.found is not None
    made = [line.partition(" at ")[0] for line in message.found.splitlines()]
    assert made == [
        "the first is [4]",
        "'c' was made",
        "'a' was made",
        "memory is zero there now; on a machine it may hold anything",
    ]
    assert message.fix is not None
    assert message.fix.startswith("write 'c', 'a' before")


def test_a_stream_and_a_print_hear_of_it_too() -> None:
    graph, (a, b, c) = variables("a", "b", "c")
    stream = graph.add_device_to_host_fifo("out", pl.FLOAT, 4)
    engine = pl.Engine(graph, pl.Sequence(pl.Copy(a, b), pl.Copy(b, stream)))
    engine.connect_stream_to_callback("out", lambda array: None)
    message = warned(engine)
    assert message.what == "Copy 'b' -> 'out': nothing has written 4 of 4 elements"
    assert "\n'b'[0], copied from 'a'[0]; 'a' was made at " in str(message.found)
    engine = pl.Engine(graph, pl.Sequence(pl.Copy(a, b), pl.PrintTensor("seen", b[2:])))
    engine.print_stream = io.StringIO()
    message = warned(engine)
    assert message.what == "PrintTensor 'seen': nothing has written 2 of 2 elements"
    assert "\n'b'[2], copied from 'a'[2]; 'a' was made at " in str(message.found)


def test_a_saved_executable_says_the_same_by_handle(tmp_path: Path) -> None:
    graph, (a, b) = variables("a", "b")
    graph.create_host_read("result", b)
    pl.Engine(graph, pl.Copy(a[::-1], b)).executable.save(tmp_path / "copied.ppl")
    engine = pl.Engine(pl.Executable.load(tmp_path / "copied.ppl"), checks="strict")
    message = warned(engine, "result")
    assert "'b'[0], copied from 'a'[3]; 'a' was made at " in str(message.found)


@pytest.mark.parametrize("checks", ["strict", "fast"])
def test_a_fault_in_a_class_of_the_library_begins_with_the_users_line(
    checks: Literal["strict", "fast"],
) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.FLOAT, (4,), "x", mapping=0, initial_value=1)
    add = graph.add_compute_set("add")
    graph.add_vertex(add, Add[pl.FLOAT], tile=0, a=x[:1], b=x[:1], out=x[1:])
    engine = pl.Engine(graph, pl.Execute(add), checks=checks)
    with pytest.raises(pl.TensorIndexError) as caught:
        engine.run()
    assert "test_messages_lead_home.py" in str(caught.value.at)
    assert "compute of the vertex: " in str(caught.value.found)


def test_remedies_fit_what_was_written() -> None:
    graph, (v,) = variables("v")
    x = graph.add_variable(pl.FLOAT, (4, 4), "x", mapping=0)
    many = graph.add_variable(pl.BOOL, (16,), "many", mapping=0)
    assert repr(x.T @ x) == "<Expr x.T @ x float32[4, 4]>"
    assert repr(x[:2].T @ x[:2]) == "<Expr x @ x float32[4, 4]>"
    with pytest.raises(pl.ElementTypeError, match=re.escape("(a @ b).T is b.T @ a.T")):
        (x @ x.T).T  # noqa: B018
    with pytest.raises(pl.ElementTypeError, match=re.escape("operands, x.T + y.T, or store")):
        (x + 1).T  # noqa: B018
    with pytest.raises(pl.ElementTypeError, match=r"(?s)transposed.*try: store it first"):
        ops.sum(x, 0).T  # noqa: B018
    with pytest.raises(pl.ControlProgramError, match=r"with graph.steps\(\) as program"):
        pl.Engine(graph, v + v)
    with pytest.raises(pl.TensorIndexError, match=r"(?s)with <Expr v > 0.*ops.where"):
        v[v > 0]  # type: ignore[index]
    for predicate in (many, v > 0):
        with pytest.raises(pl.PopliteError, match=r"ops.map\(ops.any\(t\)\)"):
            pl.RepeatWhileTrue(pl.Sequence(), predicate, pl.Sequence())  # type: ignore[arg-type]
    with pytest.raises(pl.ElementTypeError, match="store it first: t = ops.map"):
        pl.RepeatWhileTrue(pl.Sequence(), ops.sum(v) > 0, pl.Sequence())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("line", "fix"),
    [
        ("self.x[0] = np.float32(self.x[0])", "pl.FLOAT(...)"),
        ("self.x[0] = np.int16(self.x[0])", "pl.SHORT(...)"),
        ("self.x[0] = np.float64(self.x[0])", "float(...)"),
        ("t = np.zeros(3)", "use an InOut[Vector[...]] field for working memory"),
        ("t = np.empty_like(3)", "use an InOut[Vector[...]] field for working memory"),
        ("self.x[0] = np.sum(self.x)", "loop over the elements: total += self.x[i]"),
        ("self.x[0] = TABLE[0]", "pass the values to a field: table: State[Vector[FLOAT]]"),
        ("for i, a in enumerate(self.x, 1): pass", "for i, v in enumerate(self.x), and i + 1"),
    ],
)
def test_remedies_in_compute_name_what_there_is(line: str, fix: str) -> None:
    text = (
        "import numpy as np\nimport poplite as pl\nTABLE = np.ones(2, np.float32)\n"
        "class V(pl.Vertex):\n    x: pl.InOut[pl.Vector[pl.FLOAT]]\n"
        f"    def compute(self):\n        {line}\n"
    )
    graph, (x,) = variables("x")
    only = graph.add_compute_set("only")
    graph.add_vertex(only, pl.vertex_from_source(text, "V"), tile=0, x=x)
    with pytest.raises(pl.VertexCompileError) as caught:
        pl.Engine(graph, pl.Execute(only))
    assert caught.value.fix is not None
    assert caught.value.fix.startswith(fix)
