"""Options of an engine: strict names, values, the environment variable, their page; `load`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poplite as pl
from poplite.compile.options import (
    ENVIRONMENT,
    OPTIONS,
    REQUESTED_OTHERWISE,
    WITHOUT_MEANING,
    EngineOptions,
    engine_options,
)

ROOT = Path(__file__).resolve().parents[3]


class Divide(pl.Vertex):
    """`y = 1 / x`."""

    x: pl.Input[pl.FLOAT]
    y: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        """Divide."""
        self.y = 1.0 / self.x


def divide(options: dict[str, Any] | None = None, **arguments: Any) -> pl.Engine:
    graph = pl.Graph(pl.Target(tiles=1))
    x, y = (graph.add_variable(pl.FLOAT, (), name, mapping=0, initial_value=0) for name in "xy")
    work = graph.add_compute_set("work")
    graph.add_vertex(work, Divide, tile=0, x=x, y=y)
    return pl.Engine(graph, pl.Execute(work), options=options, **arguments)


@pytest.mark.parametrize("interpret", [False, True])
@pytest.mark.parametrize("value", [True, "true"])
def test_floating_point_exceptions_stop_from_the_beginning(
    interpret: bool, value: bool | str
) -> None:
    engine = divide({"debug.floatPointOpException": value}, interpret=interpret)
    with pytest.raises(pl.FloatingPointTrap, match="vertex 0 of 'Divide' on tile 0"):
        engine.run()
    divide({"debug.floatPointOpException": False}, interpret=interpret).run()


@pytest.mark.parametrize("interpret", [False, True])
def test_what_is_too_large_becomes_nan(interpret: bool) -> None:
    def stored(options: dict[str, Any]) -> float:
        graph = pl.Graph(pl.Target(tiles=1))
        x = graph.add_variable(pl.HALF, (), "x", mapping=0, initial_value=60000)
        work = graph.add_compute_set("work")
        graph.add_vertex(work, Double, tile=0, x=x)
        engine = pl.Engine(graph, pl.Execute(work), options=options, interpret=interpret)
        engine.run()
        return float(engine.read(x))

    assert np.isnan(stored({"debug.nanOverflowMode": True}))
    assert np.isinf(stored({}))


class Double(pl.Vertex):
    """`x = 2 * x`."""

    x: pl.InOut[pl.HALF]

    def compute(self) -> None:
        """Double."""
        self.x = 2.0 * self.x


class Ahead(pl.StreamCallback):
    """Counts how often it is asked ahead."""

    asked = 0

    def fetch(self, block: Any) -> None:
        """Fill."""
        block[:] = 1

    def prefetch(self, block: Any) -> bool:
        """Fill ahead."""
        self.asked += 1
        block[:] = 1
        return True


@pytest.mark.parametrize(("options", "asks"), [({}, True), ({"exchange.enablePrefetch": 0}, False)])
def test_callbacks_are_asked_ahead(options: dict[str, Any], asks: bool) -> None:
    options = {name: bool(value) for name, value in options.items()}
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.FLOAT, (4,), "x", mapping=0)
    stream = graph.add_host_to_device_fifo("in", pl.FLOAT, 4)
    engine = pl.Engine(graph, pl.Repeat(3, pl.Copy(stream, x)), options=options)
    callback = Ahead()
    engine.connect_stream_to_callback("in", callback)
    engine.run()
    assert (callback.asked > 0) is asks
    assert engine.read(x).tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"debug.floatPointOpExeption": 1}, r"did you mean 'debug.floatPointOpException'\?"),
        (
            {"debug.retainDebugInformatio": True},
            r"\(did you mean 'debug.retainDebugInformation'\?\)",
        ),
        ({"profler.format": "v3"}, r"\(did you mean 'profiler.\*'\?\)"),
        ({"fast": 1}, "there is no option 'fast'"),
        ({5: 1}, "there is no option 5"),
        ({"checks": "fast"}, r"'checks' is an argument of Engine"),
        ({"debug.nanOverflowMode": 3}, "'debug.nanOverflowMode' must be true or false; found 3"),
        ({"debug.nanOverflowMode": None}, "must be true or false; found None"),
    ],
)
def test_names_and_values_are_strict(options: dict[Any, Any], told: str) -> None:
    with pytest.raises(pl.InvalidOption) as caught:
        divide(options)
    assert re.search(told, str(caught.value))
    assert "test_options.py" in str(caught.value.at)


@pytest.mark.parametrize("pattern", WITHOUT_MEANING)
def test_options_of_poplar_without_a_meaning_are_taken(
    monkeypatch: pytest.MonkeyPatch, pattern: str
) -> None:
    name = pattern.replace("*", "Compute")
    assert engine_options({name: "true", "debug.nanOverflowMode": True}).nan_overflow
    assert engine_options({name: 4}) == EngineOptions()
    monkeypatch.setenv(ENVIRONMENT, f'{{"{name}": 1, "checks": "fast"}}')
    assert engine_options() == EngineOptions(checks="fast")


@pytest.mark.parametrize("pattern", REQUESTED_OTHERWISE)
def test_options_whose_effect_is_requested_otherwise_are_refused_with_the_way(
    monkeypatch: pytest.MonkeyPatch, pattern: str
) -> None:
    name = pattern.replace("*", "stochasticRounding")
    assert engine_options({name: "false"}) == engine_options({name: False}) == EngineOptions()
    for value in (True, "true", 7):
        with pytest.raises(pl.InvalidOption, match=f"option '{name}' is {value!r}, but") as caught:
            divide({name: value})
        assert caught.value.fix == REQUESTED_OTHERWISE[pattern]
    monkeypatch.setenv(ENVIRONMENT, f'{{"{name}": true}}')
    with pytest.raises(pl.InvalidOption, match=f"^{ENVIRONMENT}: option '{name}' is True"):
        engine_options()


def test_options_are_a_dictionary() -> None:
    with pytest.raises(pl.InvalidOption, match=r"options must be a dictionary; found \['x'\]"):
        divide(["x"])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "is not valid JSON: "),
        ("[" * 100_000, "is not valid JSON: "),
        ("[]", r"POPLITE_ENGINE_OPTIONS must be a JSON object; found '\[\]'"),
        (
            '{"check": "fast"}',
            r"POPLITE_ENGINE_OPTIONS: there is no option 'check' \(did you mean 'ch",
        ),
        (
            '{"checks": "lax"}',
            """option 'checks' must be "strict", "fast" or "none"; found 'lax'""",
        ),
        (
            '{"seed": true}',
            "option 'seed' must be a whole number from 0 to 2\\*\\*63 - 1; found True",
        ),
        ('{"seed": -1}', "option 'seed' must be a whole number from 0 to 2\\*\\*63 - 1; found -1"),
        (
            '{"interpret": 1}',
            "option 'interpret' must be true or false, or a list of classes and names of steps; "
            "found 1",
        ),
    ],
)
def test_the_environment_is_strict_and_names_the_variable(
    monkeypatch: pytest.MonkeyPatch, text: str, told: str
) -> None:
    monkeypatch.setenv(ENVIRONMENT, text)
    with pytest.raises(pl.InvalidOption, match=told) as caught:
        divide()
    assert ENVIRONMENT in caught.value.what
    assert caught.value.fix


def test_the_environment_comes_before_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(
        ENVIRONMENT, '{"checks": "fast", "interpret": true, "debug.floatPointOpException": "false"}'
    )
    engine = divide({"debug.floatPointOpException": True}, checks="strict")
    assert engine.checks == "fast"
    assert engine.interpret
    engine.run()
    monkeypatch.setenv(ENVIRONMENT, "")
    assert divide(checks="strict").checks == "strict"


def test_options_are_read_once_each() -> None:
    assert engine_options() == EngineOptions()
    assert {option.field for option in OPTIONS.values()} <= set(EngineOptions.__dataclass_fields__)
    assert not set(OPTIONS) & set(WITHOUT_MEANING)


def test_the_page_lists_all_options() -> None:
    text = (ROOT / "docs" / "options.md").read_text()
    rows = re.findall(r"^\| `([\w.*]+)` \| (.+?) \|", text, re.MULTILINE)
    assert [name for name, _ in rows] == [*OPTIONS, *WITHOUT_MEANING, *REQUESTED_OTHERWISE]
    assert {name: f"`{how}`" for name, how in REQUESTED_OTHERWISE.items()}.items() <= dict(
        rows
    ).items()
    assert {name: why for name, why in rows if name in WITHOUT_MEANING} == WITHOUT_MEANING


class TestLoad:
    """`engine.load`."""

    @pytest.mark.parametrize("interpret", [False, True])
    @pytest.mark.parametrize("checks", ["strict", "fast"])
    def test_everything_is_as_at_first(self, interpret: bool, checks: Any) -> None:
        graph = pl.Graph(pl.Target(tiles=2))
        x = graph.add_variable(pl.FLOAT, (3,), "x", mapping=0, initial_value=[1, 2, 3])
        y = graph.add_variable(pl.FLOAT, (3,), "y", mapping=1, initial_value=0)
        total = graph.add_variable(pl.FLOAT, (), "total", mapping=1, initial_value=9)
        half = graph.add_compute_set("half")
        graph.add_vertex(half, Divide, tile=0, x=x[1], y=x[1])
        stream = graph.add_host_to_device_fifo("in", pl.FLOAT, 3)
        rows = graph.add_remote_buffer("rows", pl.FLOAT, 3, 1)
        program = pl.Sequence(
            pl.Execute(half), pl.Copy(stream, y), pl.Copy(x[0], total), pl.Copy(y, rows)
        )
        engine = pl.Engine(graph, program, interpret=interpret, checks=checks)
        blocks = np.arange(6, dtype=np.float32).reshape(2, 3)
        engine.connect_stream("in", blocks)
        for _ in range(2):
            engine.run()
            assert engine.read(x).tolist() == [1, 0.5, 3]
            assert engine.read(y).tolist() == [0, 1, 2]
            engine.load()
            assert engine.read(x).tolist() == [1, 2, 3]
            assert engine.read(y).tolist() == [0, 0, 0]
            assert engine.read(total) == 9
            assert engine.copy_from_remote_buffer("rows").tolist() == [0, 0, 0]
        assert engine.report().runs == 2

    def test_not_while_a_program_runs(self) -> None:
        graph = pl.Graph(pl.Target(tiles=1))
        x = graph.add_variable(pl.FLOAT, (3,), "x", mapping=0, initial_value=0)
        engine = pl.Engine(graph, pl.PrintTensor(x))

        class Loads:
            """A print stream that loads."""

            def write(self, text: str) -> None:
                engine.load()

        engine.print_stream = Loads()  # type: ignore[assignment]
        with pytest.raises(pl.ControlProgramError, match=r"engine.load\(\): a program is running"):
            engine.run()
        engine.load()
