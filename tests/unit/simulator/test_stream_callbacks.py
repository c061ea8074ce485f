"""Callbacks of streams: the order of calls, exceptions, working ahead, replicas."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers.running import both_forms, made
from poplite.graph.host import StreamCallback

NOT_AVAILABLE, SUCCESS = StreamCallback.Result.NOT_AVAILABLE, StreamCallback.Result.SUCCESS
Int = np.int32


# The order of calls


class Recorded(StreamCallback):
    """Notes what is called; fills blocks with their numbers."""

    def __init__(self, ahead: int = 0) -> None:
        self.calls: list[str] = []
        self.next, self.ahead = 0, ahead

    def fetch(self, array: Any) -> None:
        self.calls.append("fetch")
        self._fill(array)

    def prefetch(self, array: Any) -> Any:
        if not self.ahead:
            self.calls.append("prefetch no")
            return NOT_AVAILABLE
        self.ahead -= 1
        self.calls.append("prefetch")
        self._fill(array)
        return SUCCESS

    def complete(self) -> None:
        self.calls.append("complete")

    def invalidate_prefetched(self) -> None:
        self.calls.append("invalidate")

    def _fill(self, array: Any) -> None:
        array[:] = self.next
        self.next += 1

    def taken(self) -> list[str]:
        calls, self.calls = self.calls, []
        return calls


@both_forms
def test_order_without_anything_ahead(interpret: bool) -> None:
    engine, _ = made(times=2, interpret=interpret)
    callback, taken = Recorded(), np.zeros(8, Int)
    engine.connect_stream("out", taken)
    engine.connect_stream_to_callback("in", callback)
    assert callback.taken() == []
    engine.run()
    assert callback.taken() == ["fetch", "complete", "prefetch no"] * 2
    assert taken.tolist() == [0] * 4 + [1] * 4


@both_forms
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_order_when_blocks_are_ready(interpret: bool, depth: int) -> None:
    engine, _ = made(times=4, depth=depth, interpret=interpret)
    callback, taken = Recorded(ahead=100), np.zeros(16, Int)
    engine.connect_stream("out", taken)
    engine.connect_stream_to_callback("in", callback)
    engine.run()
    assert callback.taken() == (
        ["fetch", "complete", *["prefetch"] * depth] + ["complete", "prefetch"] * 3
    )
    assert taken[::4].tolist() == [0, 1, 2, 3]
    engine.run()  # what is ready stays so between runs
    assert callback.taken() == ["complete", "prefetch"] * 4
    assert taken[::4].tolist() == [4, 5, 6, 7]


@both_forms
def test_order_when_it_runs_dry(interpret: bool) -> None:
    engine, _ = made(times=4, depth=2, interpret=interpret)
    callback, taken = Recorded(ahead=2), np.zeros(16, Int)
    engine.connect_stream("out", taken)
    engine.connect_stream_to_callback("in", callback)
    engine.run()
    assert callback.taken() == [
        *["fetch", "complete", "prefetch", "prefetch"],
        *["complete", "prefetch no"],
        *["complete", "prefetch no"],
        *["fetch", "complete", "prefetch no"],
    ]
    assert taken[::4].tolist() == [0, 1, 2, 3]


@both_forms
def test_connecting_again_drops_what_is_ready(interpret: bool) -> None:
    engine, x = made(depth=2, interpret=interpret)
    first, second = Recorded(ahead=9), Recorded()
    engine.connect_stream("out", np.zeros(4, Int))
    engine.connect_stream_to_callback("in", first)
    engine.run()
    first.taken()
    engine.connect_stream_to_callback("in", second)
    assert first.taken() == ["invalidate"]
    engine.run()
    assert first.taken() == []
    assert second.taken() == ["fetch", "complete", "prefetch no"]
    assert engine.read(x).tolist() == [0] * 4


@both_forms
def test_connecting_while_working_ahead_ends_that(interpret: bool) -> None:
    engine, x = made(times=2, depth=3, interpret=interpret)

    class Leaves(Recorded):
        def prefetch(self, array: Any) -> Any:
            engine.connect_stream("in", np.full(4, 9, Int))
            return super().prefetch(array)

    callback = Leaves(ahead=9)
    engine.connect_stream("out", np.zeros(4, Int))
    engine.connect_stream_to_callback("in", callback)
    engine.run()
    assert callback.taken() == ["fetch", "complete", "invalidate", "prefetch"]
    assert engine.read(x).tolist() == [9] * 4


def test_buffers_are_made_as_they_are_filled() -> None:
    engine, x = made(times=3, depth=1 << 60)
    engine.connect_stream("out", np.zeros(4, Int))
    engine.connect_stream_to_callback("in", Recorded(ahead=5))
    engine.run()
    assert engine.read(x).tolist() == [2] * 4


@both_forms
def test_order_of_a_stream_to_the_host(interpret: bool) -> None:
    engine, _ = made(times=2, interpret=interpret)

    class Sink(Recorded):
        def _fill(self, array: Any) -> None:
            self.calls.append(str(array.tolist()))
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1

    sink = Sink(ahead=9)
    engine.connect_stream("in", np.arange(8, dtype=Int))
    engine.connect_stream_to_callback("out", sink)
    engine.run()
    assert sink.taken() == [
        *["fetch", "[0, 1, 2, 3]", "complete"],
        *["fetch", "[4, 5, 6, 7]", "complete"],
    ]


def test_prefetch_must_say_whether_it_filled() -> None:
    engine, _ = made()

    class Silent(StreamCallback):
        def fetch(self, array: Any) -> None:
            array[:] = 1

        def prefetch(self, array: Any) -> Any:
            array[:] = 2

    engine.connect_stream("out", np.zeros(4, Int))
    engine.connect_stream_to_callback("in", Silent())
    with pytest.raises(pl.ElementTypeError, match="prefetch must return a bool; found None"):
        engine.run()


# Callbacks that go wrong


@both_forms
def test_an_exception_reaches_run_as_it_is(interpret: bool) -> None:
    engine, x = made(times=3, interpret=interpret)
    error = ZeroDivisionError("block 1")
    blocks: list[int] = []

    def callback(array: Any) -> None:
        array[:] = len(blocks)
        blocks.append(1)
        if len(blocks) == 2:
            raise error

    engine.connect_stream_to_callback("in", callback)
    engine.connect_stream("out", np.zeros(4, Int))
    with pytest.raises(ZeroDivisionError) as caught:
        engine.run()
    assert caught.value is error
    (note,) = error.__notes__
    assert "at step 1 of 2" in note
    assert "the callback of stream 'in', made at" in note
    assert "helpers/running.py:" in note
    assert engine.read(x).tolist() == [0] * 4  # the block that failed did not arrive
    engine.run()
    assert engine.read(x).tolist() == [4] * 4


@both_forms
def test_an_exception_while_taking(interpret: bool) -> None:
    engine, x = made(interpret=interpret)

    def callback(array: Any) -> None:
        raise KeyError("no room")

    engine.connect_stream("in", np.arange(4, dtype=Int))
    engine.connect_stream_to_callback("out", callback)
    with pytest.raises(KeyError, match="no room") as caught:
        engine.run()
    assert (
        "at step 2 of 2: Copy 'x' -> 'out', in the callback of stream" in caught.value.__notes__[0]
    )
    assert engine.read(x).tolist() == [0, 1, 2, 3]


@both_forms
def test_a_callback_may_not_run_the_engine(interpret: bool) -> None:
    engine, _ = made(interpret=interpret)
    engine.connect_stream_to_callback("in", lambda array: engine.run())
    engine.connect_stream("out", np.zeros(4, Int))
    with pytest.raises(pl.ControlProgramError, match="already running") as caught:
        engine.run()
    assert "called while the callback of stream 'in'" in caught.value.found
    engine.connect_stream("in", np.zeros(4, Int))
    engine.run()


@both_forms
def test_a_callback_cannot_write_beyond_its_block(interpret: bool) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.INT, (4,), "x", mapping=0)
    y = graph.add_variable(pl.INT, (4,), "y", mapping=0, initial_value=[9] * 4)
    stream = graph.add_host_to_device_fifo("in", pl.INT, 4)
    engine = pl.Engine(
        graph, pl.Sequence(pl.Copy(stream, x), pl.PrintTensor(y)), interpret=interpret
    )

    def wrong_shape(array: Any) -> None:
        assert (array.shape, array.dtype) == ((4,), np.dtype(Int))
        array[:] = np.ones(5)

    def wrong_place(array: Any) -> None:
        array[4] = 1

    for callback, error in ((wrong_shape, ValueError), (wrong_place, IndexError)):
        engine.connect_stream_to_callback("in", callback)
        with pytest.raises(error):
            engine.run()
        assert engine.read(y).tolist() == [9] * 4


@both_forms
def test_connecting_within_a_callback_counts_from_the_next_block(interpret: bool) -> None:
    engine, _ = made(times=3, interpret=interpret)
    taken = np.zeros(12, Int)

    def callback(array: Any) -> None:
        array[:] = 1
        engine.connect_stream("in", np.full(4, 2, Int))

    engine.connect_stream("out", taken)
    engine.connect_stream_to_callback("in", callback)
    engine.run()
    assert taken[::4].tolist() == [1, 2, 2]


def test_callables_that_cannot_be_hashed_or_compared() -> None:
    class Odd:
        __hash__ = None  # type: ignore[assignment]

        def __eq__(self, other: object) -> bool:
            raise AssertionError("compared")

        def __call__(self, array: Any) -> None:
            array[:] = 8

    engine, x = made()
    engine.connect_stream("out", np.zeros(4, Int))
    for _ in range(2):
        engine.connect_stream_to_callback("in", Odd())
    engine.run()
    engine.load()
    engine.run()
    assert engine.read(x).tolist() == [8] * 4


# Loading anew


@both_forms
def test_load_begins_with_the_first_block_and_drops_what_is_ready(interpret: bool) -> None:
    engine, x = made(depth=2, interpret=interpret)
    callback, taken = Recorded(ahead=9), np.zeros(8, Int)
    engine.connect_stream("out", taken)
    engine.connect_stream_to_callback("in", callback)
    engine.run()
    callback.taken()
    engine.load()
    assert callback.taken() == ["invalidate"]
    assert engine.read(x).tolist() == [0] * 4
    engine.run()
    assert callback.taken() == ["fetch", "complete", "prefetch", "prefetch"]
    assert taken.tolist() == [3] * 4 + [0] * 4  # the ring begins anew


# Leaving a run early


@both_forms
def test_ctrl_c_in_a_callback(interpret: bool) -> None:
    engine, x = made(times=3, interpret=interpret)
    blocks: list[int] = []

    def callback(array: Any) -> None:
        blocks.append(1)
        array[:] = len(blocks)
        if len(blocks) == 2:
            raise KeyboardInterrupt

    engine.connect_stream("out", np.zeros(4, Int))
    engine.connect_stream_to_callback("in", callback)
    with pytest.raises(KeyboardInterrupt):
        engine.run()
    assert engine.read(x).tolist() == [1] * 4
    engine.run()
    assert engine.read(x).tolist() == [5] * 4


@both_forms
def test_stop_in_a_callback(interpret: bool) -> None:
    engine, _ = made(times=10, interpret=interpret)
    taken: list[int] = []

    def callback(array: Any) -> None:
        taken.append(int(array[0]))
        if len(taken) == 3:
            engine.stop()

    engine.connect_stream("in", np.arange(20, dtype=Int))
    engine.connect_stream_to_callback("out", callback)
    engine.run()
    assert taken == [0, 4, 8]


@both_forms
def test_an_exception_while_working_ahead(interpret: bool) -> None:
    engine, x = made(times=2, interpret=interpret)

    class Fails(Recorded):
        def prefetch(self, array: Any) -> Any:
            raise OSError("disk")

    callback = Fails()
    engine.connect_stream("out", np.zeros(4, Int))
    engine.connect_stream_to_callback("in", callback)
    with pytest.raises(OSError, match="disk"):
        engine.run()
    assert callback.taken() == ["fetch", "complete"]
    assert engine.read(x).tolist() == [0] * 4
    engine.connect_stream("in", np.full(4, 3, Int))
    engine.run()
    assert engine.read(x).tolist() == [3] * 4


# What callbacks return and leave


def test_a_callback_that_returns_what_it_should_fill_in_is_refused() -> None:
    engine, x = made()
    engine.connect_stream("out", np.zeros(4, Int))

    def load(array: Any) -> Any:
        return np.arange(4, dtype=Int)

    engine.connect_stream_to_callback("in", load)
    with pytest.raises(pl.ElementTypeError) as caught:
        engine.run()
    assert (
        caught.value.what == "stream 'in': callback 'load' returned an array of int32, shape (4,)"
    )
    assert "array[:] = values" in caught.value.fix
    (note,) = caught.value.__notes__
    assert "step 1 of 2: Copy 'in' -> 'x', in the callback of stream 'in'" in note
    engine.connect_stream_to_callback("in", lambda array: 4)
    with pytest.raises(pl.ElementTypeError, match="stream 'in': the callback returned 4"):
        engine.run()
    assert engine.read(x).tolist() == [0] * 4


def test_a_fetch_that_returns_something_is_refused() -> None:
    class Source(StreamCallback):
        def fetch(self, array: Any) -> Any:
            return [1, 2, 3, 4]

    engine, _ = made()
    engine.connect_stream("out", np.zeros(4, Int))
    engine.connect_stream_to_callback("in", Source())
    with pytest.raises(pl.ElementTypeError) as caught:
        engine.run()
    assert caught.value.what == "stream 'in': callback 'Source.fetch' returned [1, 2, 3, 4]"


def test_the_array_itself_may_be_returned_and_a_sink_may_return_anything() -> None:
    engine, x = made()
    engine.connect_stream_to_callback("in", lambda array: np.add(3, 4, out=array))
    engine.connect_stream_to_callback("out", lambda array: array.copy())
    engine.run()
    assert engine.read(x).tolist() == [7] * 4


def test_code_that_has_not_run_is_refused() -> None:
    engine, x = made()

    async def later(array: Any) -> None:
        array[:] = 1

    def piecewise(array: Any) -> Any:
        yield array

    class Lazy(StreamCallback):
        async def fetch(self, array: Any) -> None:  # type: ignore[override]
            pass

    engine.connect_stream("in", np.full(4, 7, Int))
    for callback, said in (
        (later, "callback 'later' returned a coroutine"),
        (piecewise, "callback 'piecewise' returned a generator"),
        (Lazy(), "callback 'Lazy.fetch' returned a coroutine"),
    ):
        engine.connect_stream_to_callback("out", callback)
        with pytest.raises(pl.ElementTypeError) as caught:
            engine.run()
        assert caught.value.what.endswith(said)
    engine.connect_stream("out", np.zeros(4, Int))
    engine.connect_stream_to_callback("in", later)
    with pytest.raises(pl.ElementTypeError, match="stream 'in': callback 'later' returned a cor"):
        engine.run()


@pytest.mark.parametrize("to_device", [False, True])
def test_complete_returns_nothing(to_device: bool) -> None:
    class Counts(StreamCallback):
        def fetch(self, array: Any) -> None:
            if to_device:
                array[:] = 1

        def complete(self) -> Any:
            return 3

    engine, _ = made()
    engine.connect_stream("out" if to_device else "in", np.zeros(4, Int))
    handle = "in" if to_device else "out"
    engine.connect_stream_to_callback(handle, Counts())
    message = f"stream '{handle}': callback 'Counts.complete' returned 3"
    with pytest.raises(pl.ElementTypeError, match=message):
        engine.run()


def left_by(element: Any, size: int, filled: int, runs: int, **options: Any) -> list[str]:
    """The warnings of runs whose callback fills the first elements."""
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(element, (size,), "x", mapping=0)
    stream = graph.add_host_to_device_fifo("in", element, size)
    engine = pl.Engine(graph, pl.Copy(stream, x), **options)

    def load(array: Any) -> None:
        array[:filled] = 1

    engine.connect_stream_to_callback("in", load)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(runs):
            engine.run()
    return [str(warning.message) for warning in caught]


@pytest.mark.parametrize(("element", "runs"), [(pl.FLOAT, 1), (pl.BOOL, 1), (pl.UNSIGNED_CHAR, 4)])
def test_elements_left_unfilled_are_reported_once(element: Any, runs: int) -> None:
    """One byte may hold the noise by chance, so that several blocks have to."""
    (text,) = left_by(element, 8, filled=7, runs=runs + 3)
    assert text.startswith("stream 'in': callback 'load' left 1 of 8 elements unfilled  (")
    assert "at step 1 of 1" in text
    assert "elements [7, 8)" in text
    assert len(left_by(element, 8, filled=7, runs=runs)) == 1


def test_what_is_filled_is_not_reported() -> None:
    """Random bytes are noise as well: each is what it was before once in 256 blocks."""
    engine, _ = made(times=300, size=1000)
    random = np.random.default_rng(1)

    def load(array: Any) -> None:
        array.view(np.uint8)[:] = random.integers(0, 256, 4 * len(array))

    engine.connect_stream("out", np.zeros(1000, Int))
    engine.connect_stream_to_callback("in", load)
    engine.run()
    assert left_by(pl.UNSIGNED_CHAR, 1000, filled=1000, runs=300) == []
    assert left_by(pl.FLOAT, 8, filled=7, runs=3, checks="fast") == []


def test_a_prefetch_is_looked_at_where_it_has_a_block() -> None:
    class Short(Recorded):
        def _fill(self, array: Any) -> None:
            array[: 4 - self.next] = 5
            self.next = 1

    engine, _ = made()
    engine.connect_stream("out", np.zeros(4, Int))
    engine.connect_stream_to_callback("in", Short())
    engine.run()
    engine.connect_stream_to_callback("in", Short(ahead=1))
    with pytest.warns(pl.UnwrittenOutputWarning) as caught:
        engine.run()
    assert "callback 'Recorded.prefetch' left 1 of 4 elements" in str(caught[0].message)


@both_forms
def test_a_step_inside_a_function_is_numbered_where_it_is_called(interpret: bool) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.INT, (4,), "x", mapping=0)
    stream = graph.add_host_to_device_fifo("in", pl.INT, 4)
    body = graph.add_function(pl.Copy(stream, x), "body")
    program = pl.Sequence(pl.Call(body), pl.Call(body))
    engine = pl.Engine(graph, program, interpret=interpret)
    calls: list[int] = []

    def callback(array: Any) -> None:
        calls.append(1)
        array[:] = 1
        if len(calls) == 2:
            raise ValueError("second")

    engine.connect_stream_to_callback("in", callback)
    with pytest.raises(ValueError, match="second") as caught:
        engine.run()
    assert "at step 2 of 2" in caught.value.__notes__[0]


# Replicas


@both_forms
def test_each_replica_has_callbacks_of_its_own(interpret: bool) -> None:
    graph = pl.Graph(pl.Target(tiles=2, ipus=2), replication_factor=2)
    x = graph.add_variable(pl.INT, (4,), "x", mapping=0)
    own = graph.add_host_to_device_fifo("own", pl.INT, 4)
    same = graph.add_host_to_device_fifo("same", pl.INT, 4, pl.ReplicatedStreamMode.BROADCAST)
    assert (own.replication_factor, same.replicated_mode.value) == (2, "broadcast")
    programs = {"own": pl.Copy(own, x), "same": pl.Copy(same, x)}
    engine = pl.Engine(graph, programs, interpret=interpret)
    engine.connect_stream_to_callback("own", lambda array: array.fill(5), replica=1)
    with pytest.raises(pl.StreamConnectionError, match="stream 'own' is not connected") as caught:
        engine.run("own")
    assert "not in replica 0" in caught.value.found
    first = Recorded(ahead=9)
    engine.connect_stream_to_callback("own", first, replica=0)
    engine.run("own")
    assert engine.read(x).tolist() == [[0] * 4, [5] * 4]
    first.taken()
    engine.connect_stream_to_callback("own", lambda array: array.fill(6), replica=1)
    assert first.taken() == []  # what is ready for the other replica stays
    engine.run("own")
    assert first.taken() == ["complete", "prefetch"]
    assert engine.read(x).tolist() == [[1] * 4, [6] * 4]
    calls: list[int] = []

    def once(array: Any) -> None:
        calls.append(1)
        array[:] = 7

    engine.connect_stream_to_callback("same", once)
    engine.run("same")
    assert engine.read(x).tolist() == [[7] * 4, [7] * 4]
    assert len(calls) == 1
