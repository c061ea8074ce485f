"""Streams and printed tensors: what goes through them, how it is written, what is refused."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import poplite as pl
from helpers.running import both_forms, made
from poplite.simulator.run.host_actions import format_tensor

# -- streams ---------------------------------------------------------------------------------------


Int = np.int32


# What is moved


@both_forms
def test_rings_go_round_and_stay_where_they_are(interpret: bool) -> None:
    engine, x = made(times=5, interpret=interpret)
    given, taken = np.arange(12, dtype=Int).reshape(3, 4), np.zeros(8, Int)
    engine.connect_stream("in", given)
    engine.connect_stream("out", taken)
    engine.run()  # blocks 0 1 2 0 1
    assert engine.read(x).tolist() == [4, 5, 6, 7]
    assert taken.tolist() == [4, 5, 6, 7, 0, 1, 2, 3]
    given[2] = 9  # in place: the next block is this one
    engine.run()  # 2 0 1 2 0
    assert taken.tolist() == [9, 9, 9, 9, 0, 1, 2, 3]


@both_forms
def test_an_array_of_one_block_is_the_same_place_each_time(interpret: bool) -> None:
    engine, _ = made(times=3, interpret=interpret)
    block, taken = np.full(4, 7, Int), np.zeros(4, Int)
    engine.connect_stream("in", block)
    engine.connect_stream("out", taken)
    engine.run()
    assert taken.tolist() == [7] * 4
    block[:] = [1, 2, 3, 4]
    engine.run()
    assert taken.tolist() == [1, 2, 3, 4]


@both_forms
@pytest.mark.parametrize("kind", [pl.FLOAT, pl.HALF, pl.BOOL, pl.UNSIGNED_CHAR, pl.LONGLONG])
def test_every_element_type_and_any_view(interpret: bool, kind: Any) -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    zeros = np.zeros((5, 6), kind.dtype)
    whole = graph.add_variable(kind, (5, 6), "x", mapping="linear", initial_value=zeros)
    view = pl.concat([whole[1:3, ::2].T.flatten(), whole[4].reverse(0)])
    source = graph.add_host_to_device_fifo("in", kind, 12)
    sink = graph.add_device_to_host_fifo("out", kind, 12)
    program = pl.Sequence(pl.Copy(source, view), pl.Copy(view, sink))
    engine = pl.Engine(graph, program, interpret=interpret)
    given = np.arange(12).astype(kind.dtype)
    taken = np.zeros_like(given)
    engine.connect_stream("in", given)
    engine.connect_stream("out", taken)
    engine.run()
    assert taken.tolist() == given.tolist()
    expected = np.zeros((5, 6), kind.dtype)
    expected[1:3, ::2] = given[:6].reshape(3, 2).T
    expected[4] = given[6:][::-1]
    assert engine.read(whole).tolist() == expected.tolist()


@both_forms
def test_functions_fill_and_take_in_loops_branches_and_functions(interpret: bool) -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.INT, (2,), "x", mapping=0, initial_value=0)
    go = graph.add_variable(pl.BOOL, (), "go", mapping=1, initial_value=False)
    fill = graph.add_host_to_device_fifo("x", pl.INT, 2)
    more = graph.add_host_to_device_fifo("go", pl.BOOL, 1)
    sink = graph.add_device_to_host_fifo("out", pl.INT, 2)
    body = graph.add_function(pl.Sequence(pl.Copy(fill, x), pl.Copy(x, sink)), "body")
    program = pl.RepeatWhileTrue(pl.Copy(more, go), go, pl.If(go, pl.Call(body), pl.Copy(x, sink)))
    engine = pl.Engine(graph, program, interpret=interpret)
    left, taken = iter([True, True, True, False]), []
    engine.connect_stream_to_callback("go", lambda array: array.fill(next(left)))
    numbers = iter(range(10))
    engine.connect_stream_to_callback("x", lambda array: array.fill(next(numbers)))
    engine.connect_stream_to_callback("out", lambda array: taken.append(array.tolist()))
    engine.run()
    assert taken == [[0, 0], [1, 1], [2, 2]]


@both_forms
def test_five_runs_of_five_blocks(interpret: bool) -> None:
    """The second program of Graphcore's prefetch example."""

    class AddOne(pl.Vertex):
        x: pl.InOut[pl.Vector[pl.FLOAT]]

        def compute(self) -> None:
            for i in range(len(self.x)):
                self.x[i] += 1.0

    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.FLOAT, (8,), "x", mapping=0, initial_value=0)
    add = graph.add_compute_set("add")
    graph.add_vertex(add, AddOne, tile=0, x=x)
    source = graph.add_host_to_device_fifo("in", pl.FLOAT, 8)
    sink = graph.add_device_to_host_fifo("out", pl.FLOAT, 8)
    body = pl.Sequence(pl.Copy(source, x), pl.Execute(add), pl.Copy(x, sink))
    engine = pl.Engine(graph, pl.Repeat(5, body), interpret=interpret)
    calls: list[tuple[str, float]] = []

    def fill(value: float) -> Callable[[Any], None]:
        def callback(array: Any) -> None:
            calls.append(("in", value))
            array[:] = value

        return callback

    engine.connect_stream_to_callback("out", lambda a: calls.append(("out", set(a.tolist()).pop())))
    for value in (1.0, 3.0, 3.0, 9.0, 9.0):
        engine.connect_stream_to_callback("in", fill(value))
        engine.run()
    assert len(calls) == 50
    assert [value for name, value in calls if name == "out"][::5] == [2.0, 4.0, 4.0, 10.0, 10.0]


@both_forms
def test_strict_checks_know_what_came_from_the_host(interpret: bool) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x, y = (graph.add_variable(pl.INT, (4,), name, mapping=0, initial_value=0) for name in "xy")
    source = graph.add_host_to_device_fifo("in", pl.INT, 4)
    double = graph.add_host_function("double", [(pl.INT, 4)], [(pl.INT, 4)])
    buffer = graph.add_remote_buffer("rows", pl.INT, 4)

    class Sum(pl.Vertex):
        x: pl.Input[pl.Vector[pl.INT]]
        total: pl.Output[pl.INT]

        def compute(self) -> None:
            total = 0
            for i in range(len(self.x)):
                total += self.x[i]
            self.total = total

    sums, totals = graph.add_compute_set("sums"), graph.add_variable(pl.INT, (2,), "t", mapping=0)
    graph.add_vertex(sums, Sum, tile=0, x=x, total=totals[0])
    graph.add_vertex(sums, Sum, tile=0, x=y, total=totals[1])
    fill = pl.Sequence(pl.Copy(source, x), pl.Call(double, [x], [y]))
    programs = {"all": pl.Sequence(fill, pl.Execute(sums)), "rows": pl.Copy(buffer, y)}
    engine = pl.Engine(graph, programs, checks="strict", interpret=interpret)
    engine.connect_stream("in", np.arange(4, dtype=Int))
    engine.connect_host_function("double", lambda ins, outs: np.copyto(outs[0], 2 * ins[0]))
    for _ in range(2):
        engine.run("all")
        assert engine.read(totals).tolist() == [6, 12]
        engine.copy_to_remote_buffer([7] * 4, "rows", 0)
        engine.run("rows")
        assert engine.read(y).tolist() == [7] * 4
        engine.load()


# What is refused


def test_what_is_not_connected_is_named_before_anything_runs() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.INT, (4,), "x", mapping=0, initial_value=[5] * 4)
    one, two = (graph.add_host_to_device_fifo(name, pl.INT, 4) for name in ("one", "two"))
    programs = {"a": pl.Sequence(pl.Copy(one, x), pl.Copy(two, x)), "b": pl.Copy(one, x)}
    engine = pl.Engine(graph, programs)
    assert engine.list_streams() == ["one", "two"]
    with pytest.raises(pl.StreamConnectionError, match="2 streams") as caught:
        engine.run("a")
    assert "stream 'one', made at" in caught.value.found
    assert "used by 2 programs 'a', 'b'" in caught.value.found
    assert "used by program 'a'" in caught.value.found
    engine.connect_stream("one", np.zeros(4, Int))
    with pytest.raises(
        pl.StreamConnectionError, match="program 'a': stream 'two' is not connected"
    ):
        engine.run("a")
    assert engine.read(x).tolist() == [5] * 4
    engine.run("b")
    assert engine.read(x).tolist() == [0] * 4


@pytest.mark.parametrize(
    ("array", "error", "text"),
    [
        (
            np.zeros(6, Int),
            pl.StreamConnectionError,
            "multiple of 4 elements, the size of a block; found 6",
        ),
        (np.zeros(0, Int), pl.StreamConnectionError, "; found 0"),
        (
            np.zeros(4, np.float32),
            pl.ElementTypeError,
            r"the stream needs an array of int32 \(.*found an array of float32",
        ),
        (np.zeros(4, np.int64), pl.ElementTypeError, "an array of int64"),
        ([0, 0, 0, 0], pl.ElementTypeError, r"needs an array of int32 .*; found \[0, 0, 0, 0\]"),
        (np.zeros((4, 4), Int)[:, :2], pl.StreamConnectionError, "is not C-contiguous"),
        (print, pl.ElementTypeError, "built-in function print"),
    ],
)
def test_arrays_that_do_not_fit(array: Any, error: type[Exception], text: str) -> None:
    engine, _ = made()
    with pytest.raises(error, match=text):
        engine.connect_stream("in", array)


def test_an_array_that_takes_blocks_is_writeable() -> None:
    engine, _ = made()
    array = np.zeros(4, Int)
    array.flags.writeable = False
    engine.connect_stream("in", array)
    with pytest.raises(pl.StreamConnectionError, match="the array is read-only"):
        engine.connect_stream("out", array)


def test_unknown_handles_and_callbacks() -> None:
    engine, _ = made()
    with pytest.raises(
        pl.StreamConnectionError, match=r"a stream 'inn' \(did you mean 'in'\?\)"
    ) as e:
        engine.connect_stream("inn", np.zeros(4, Int))
    assert "'in', 'out'" in e.value.found
    with pytest.raises(pl.StreamConnectionError, match="a stream 3"):
        engine.connect_stream_to_callback(3, print)  # type: ignore[arg-type]
    with pytest.raises(pl.ElementTypeError, match="7 is not a function"):
        engine.connect_stream_to_callback("in", 7)  # type: ignore[arg-type]
    with pytest.raises(pl.ElementTypeError, match="does not take an array"):
        engine.connect_stream_to_callback("in", lambda: None)  # type: ignore[arg-type, misc]
    with pytest.raises(
        pl.ElementTypeError, match="(?s)is not a function.*a class, not an instance"
    ):
        engine.connect_stream_to_callback("in", pl.StreamCallback)  # type: ignore[arg-type]
    with pytest.raises(pl.GraphReplicationError, match="no replica 1"):
        engine.connect_stream_to_callback("in", print, replica=1)
    with pytest.raises(pl.TensorMetadataError, match="a stream of INT has no metadata"):
        engine.connect_stream("in", np.zeros(4, Int), metadata=pl.QuarterMetadata("F143"))


def test_streams_that_cannot_be_made() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    graph.add_host_to_device_fifo("in", pl.INT, 4)
    with pytest.raises(
        pl.StreamConnectionError, match="stream 'in': the name is already in use"
    ) as e:
        graph.add_device_to_host_fifo("in", pl.INT, 4)
    assert "made at" in e.value.found
    with pytest.raises(pl.StreamMemoryAllocationError, match="149,766,584 B, but one transfer mov"):
        graph.add_host_to_device_fifo("big", pl.FLOAT, 37_441_646)
    with pytest.raises(MemoryError, match="at most 134,217,728 B"):
        graph.add_device_to_host_fifo("big", pl.UNSIGNED_CHAR, (128 << 20) + 1)
    graph.add_device_to_host_fifo("just", pl.UNSIGNED_CHAR, 128 << 20)
    for count in (0, -1, 2.5, True, "4"):
        with pytest.raises(
            pl.TensorCreationError, match="elements in a block, but at least 1 is needed"
        ):
            graph.add_host_to_device_fifo("none", pl.INT, count)  # type: ignore[arg-type]
    for handle in ("", 7, None):
        with pytest.raises(pl.TensorCreationError, match="a handle must be a string"):
            graph.add_host_to_device_fifo(handle, pl.INT, 4)  # type: ignore[arg-type]
    with pytest.raises(pl.TensorCreationError, match="0 blocks of buffering"):
        graph.add_host_to_device_fifo("none", pl.INT, 4, buffering_depth=0)
    with pytest.raises(pl.ElementTypeError, match="'BROAD' is not in ReplicatedStreamMode"):
        graph.add_host_to_device_fifo("none", pl.INT, 4, "BROAD")
    with pytest.raises(pl.ElementTypeError):
        graph.add_host_to_device_fifo("none", np.float64, 4)


def test_copies_that_do_not_fit() -> None:
    graph, other = pl.Graph(pl.Target(tiles=1)), pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.INT, (4,), "x", mapping=0, initial_value=0)
    source = graph.add_host_to_device_fifo("in", pl.INT, 4)
    sink = graph.add_device_to_host_fifo("out", pl.INT, 4)
    with pytest.raises(pl.ControlProgramError, match="the tensor has 3 elements, a block has 4"):
        pl.Copy(source, x[:3])
    with pytest.raises(pl.ControlProgramError, match="the tensor has 3 elements, a block has 4"):
        pl.Copy(x[:3], sink)
    floats = graph.add_variable(pl.FLOAT, (4,), "f", mapping=0, initial_value=0)
    with pytest.raises(
        pl.ElementTypeError, match="the tensor is FLOAT, but the host's side is INT"
    ):
        pl.Copy(source, floats)
    with pytest.raises(
        pl.ControlProgramError, match="the direction of the stream is device to host"
    ):
        pl.Copy(sink, x)
    with pytest.raises(
        pl.ControlProgramError, match="the direction of the stream is host to device"
    ):
        pl.Copy(x, source)
    foreign = other.add_variable(pl.INT, (4,), "x", mapping=0)
    with pytest.raises(pl.ControlProgramError, match="belong to two graphs"):
        pl.Copy(source, foreign)
    constant = graph.add_constant(pl.INT, (4,), 1, mapping=0)
    with pytest.raises(pl.GraphConnectionError, match="the tensor is constant|constant"):
        pl.Copy(source, constant)
    with pytest.raises(pl.GraphConnectionError):
        pl.Copy(source, x[:1].broadcast(4, 0))
    pl.Copy(constant, sink)
    with pytest.raises(pl.ElementTypeError, match="is <DataStream 'out'.*not a tensor"):
        pl.Copy(source, sink)  # type: ignore[call-overload]
    with pytest.raises(pl.ControlProgramError, match="offset 3, but neither side is a remote"):
        pl.Copy(source, x, 3)  # type: ignore[call-overload]


def test_a_copy_of_a_stream_is_a_copy() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.INT, (2, 2), "x", mapping=0, initial_value=0)
    source = graph.add_host_to_device_fifo("in", pl.INT, 4)
    copy = pl.Copy(source, x)
    assert isinstance(copy, pl.Copy)
    assert repr(copy) == "<Copy 'in' -> 'x' 4 elements, 16 B>"
    assert (copy.reads, copy.writes) == ((), (x,))
    assert repr(source) == "<DataStream 'in' host to device, int32[4], 16 B>"


# QUARTER


@both_forms
def test_quarter_streams_move_codes_of_known_metadata(interpret: bool) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    metadata = pl.QuarterMetadata("F143", scale=1)
    x = graph.add_variable(pl.QUARTER, (3,), "x", mapping=0, metadata=metadata)
    stream = graph.add_host_to_device_fifo("in", pl.QUARTER, 3)
    engine = pl.Engine(graph, pl.Copy(stream, x), interpret=interpret)
    codes = np.array([0, 64, 72], np.uint8)
    with pytest.raises(pl.TensorMetadataError, match="a stream of QUARTER needs metadata"):
        engine.connect_stream("in", codes)
    engine.connect_stream("in", codes, metadata=metadata)
    engine.run()
    assert engine.read(x.reinterpret(pl.UNSIGNED_CHAR)).tolist() == codes.tolist()
    engine.connect_stream("in", codes, metadata=pl.QuarterMetadata("F152"))
    with pytest.raises(pl.TensorMetadataError, match="'F143', scale=1.*'F152', scale=0"):
        engine.run()


# -- printed tensors -------------------------------------------------------------------------------


def text(values: npt.ArrayLike, dtype: npt.DTypeLike = np.float32, **style: Any) -> str:
    written = format_tensor("t", np.array(values, dtype), pl.PrintTensorFormat(**style))
    assert written.startswith("t: ")
    return written.removeprefix("t: ")


@both_forms
def test_programs_print_in_their_format(interpret: bool) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.FLOAT, (3,), "x", mapping=0, initial_value=[1, -2.5, 1000])
    few, bare = pl.PrintTensorFormat(digits=5), pl.PrintTensorFormat.disable_formatting()
    program = pl.Sequence(
        pl.PrintTensor(x),
        pl.PrintTensor("few", x, few),
        pl.PrintTensor(x, bare),
        pl.PrintTensor("one", x[1], format=few),
    )
    engine = pl.Engine(graph, program, interpret=interpret)
    engine.print_stream = io.StringIO()
    engine.run()
    assert engine.print_stream.getvalue().splitlines() == [
        "x: [   1.0000   -2.5000 1000.0000]",
        "few: [   1.0   -2.5 1000.0]",
        "x: [1.0 -2.5 1000.0]",
        "one: -2.5000",
    ]


def test_the_form_follows_the_values() -> None:
    assert text([1, 1.5]) == "[1.0000000 1.5000000]"
    assert text([0, 0]) == "[0.0000000 0.0000000]"
    assert text([12345.678, 0.5]) == "[12345.678     0.500]"
    assert text([1e8, 1]) == "[1.0000000e+08 1.0000000e+00]"
    assert text([1e-5, 1]) == "[9.9999997e-06 1.0000000e+00]"
    assert text([1e-4, 1]) == "[9.9999997e-05 1.0000000e+00]"
    assert text([1e-3, 1]) == "[0.0010000 1.0000000]"
    assert text([np.nan, -np.inf, 2]) == "[      nan      -inf 2.0000000]"
    assert text([]) == "[]"
    assert text(2.5) == "2.5000000"
    assert text([[1]]) == "[\n  [1.0000000]\n]"


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("fixed", "[0.00001 1.50000]"),
        ("scientific", "[1.00000e-05 1.50000e+00]"),
        ("none", "[1e-05   1.5]"),
        ("auto", "[1.00000e-05 1.50000e+00]"),
        ("Fixed", "[0.00001 1.50000]"),
        (pl.PrintTensorFormat.FloatFormat("None_"), "[1e-05   1.5]"),
    ],
)
def test_forms_of_floats(kind: str, expected: str) -> None:
    assert text([1e-5, 1.5], digits=6, float_format=kind) == expected


def test_integers_have_all_their_digits() -> None:
    assert text([1, -20, 3_000_000_000], np.int64, digits=2) == "[         1        -20 3000000000]"
    assert text([True, False], np.bool_) == "[ True False]"
    assert text([1, -20], np.int32, digits=0) == "[1 -20]"


def test_long_tensors_are_summarised() -> None:
    many = np.arange(1001)
    assert text(many, np.int32) == "[   0    1    2 ...  998  999 1000]"
    assert text(many, np.int32, edge_items=1) == "[   0 ... 1000]"
    assert text(many[:7], np.int32, summarise_threshold=6) == "[0 1 2 ... 4 5 6]"
    assert "..." not in text(many[:1000], np.int32)
    assert "..." not in text(many, np.int32, summarise_threshold=0)
    grid = np.arange(64).reshape(8, 8)
    assert text(grid, np.int32, summarise_threshold=1, edge_items=2).splitlines() == [
        "[",
        "  [ 0  1 ...  6  7]",
        "  [ 8  9 ... 14 15]",
        "  ...",
        "  [48 49 ... 54 55]",
        "  [56 57 ... 62 63]",
        "]",
    ]


def test_long_lines_go_on_below() -> None:
    lines = text(np.arange(60), np.int32).splitlines()
    assert lines[0] == "[" + " ".join(f"{k:2}" for k in range(25))
    assert lines[1].startswith(" 25 26 ")
    assert all(len(line) <= 75 for line in lines)
    assert text(np.arange(60), np.int32, max_line_width=0).count("\n") == 0
    narrow = text(np.arange(8).reshape(2, 4), np.int32, max_line_width=7).splitlines()
    assert narrow == ["[", "  [0 1", "   2 3]", "  [4 5", "   6 7]", "]"]
    assert text([1000, 2000], np.int32, max_line_width=3) == "[1000\n 2000]"


def test_every_element_is_written_once() -> None:
    for shape in ((3,), (2, 3), (2, 1, 4), (0, 3), (3, 0), (40, 3)):
        values = np.arange(np.prod(shape)).reshape(shape)
        words = text(values, np.int64).replace("[", " ").replace("]", " ").split()
        assert words == [str(k) for k in values.ravel()]


def test_tensors_without_elements() -> None:
    assert text(np.zeros((0, 2)), np.int32) == "[]"
    assert text(np.zeros((2, 0)), np.int32) == "[\n  []\n  []\n]"
    assert text(np.zeros((1, 0, 2)), np.int32) == "[\n  []\n]"
    graph = pl.Graph(pl.Target(tiles=1))
    empty = graph.add_variable(pl.FLOAT, (0,), "empty", mapping=0)
    engine = pl.Engine(graph, pl.Sequence(pl.PrintTensor(empty), pl.PrintTensor("none", empty)))
    engine.print_stream = io.StringIO()
    engine.run()
    assert engine.print_stream.getvalue() == "empty: []\nnone: []\n"


@both_forms
@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 3), (2, 2, 2)])
@pytest.mark.parametrize(
    "element",
    [pl.FLOAT, pl.HALF, pl.BOOL, pl.CHAR, pl.SIGNED_CHAR, pl.UNSIGNED_CHAR, pl.SHORT,
     pl.UNSIGNED_SHORT, pl.INT, pl.UNSIGNED_INT, pl.LONGLONG, pl.UNSIGNED_LONGLONG, pl.QUARTER],
)  # fmt: skip
def test_every_type_and_rank(
    element: type[pl.ElementType[Any]], shape: tuple[int, ...], interpret: bool
) -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    metadata = pl.QuarterMetadata("F143", -1) if element is pl.QUARTER else None
    x = graph.add_variable(element, shape, "x", mapping=0, metadata=metadata)
    given = np.arange(x.num_elements).reshape(shape) % 2
    engine = pl.Engine(graph, pl.PrintTensor(x), interpret=interpret)
    engine.write(x, given.astype(bool) if element is pl.BOOL else given)
    engine.print_stream = io.StringIO()
    engine.run()
    word = "{}.0000000" if element in (pl.FLOAT, pl.HALF, pl.QUARTER) else "{}"
    values = given.astype(bool) if element is pl.BOOL else given
    words = [word.format(value) for value in values.ravel().tolist()]
    written = engine.print_stream.getvalue().removeprefix("x: ")
    assert written.replace("[", " ").replace("]", " ").split() == words
    assert (
        written.count("[")
        == written.count("]")
        == sum(int(np.prod(shape[:rank])) for rank in range(len(shape)))
    )


def test_separators_and_brackets() -> None:
    style = {"separator": ", ", "open_bracket": "{", "close_bracket": "}"}
    assert text([1, 2], np.int32, **style) == "{1, 2}"
    assert text([[1, 2], [3, 4]], np.int32, **style) == "{\n  {1, 2},\n  {3, 4}\n}"
    assert text([1, 2], np.int32, separator="[") == "[1[2]"


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (
            "digits",
            -1,
            r"(?s)digits=-1, but a non-negative whole number .*type int.*default, digits=8",
        ),
        ("digits", 1 << 31, r"digits=2147483648, but at most 1,000 is needed"),
        ("edge_items", 2.5, "(?s)edge_items=2.5, but a non-negative whole number.*type float"),
        (
            "summarise_threshold",
            True,
            "(?s)summarise_threshold=True, but a non-negative whole.*type bool",
        ),
        (
            "max_line_width",
            "75",
            "(?s)max_line_width='75'.*type str.*default, max_line_width=75",
        ),
        ("float_format", "Fix", "float_format='Fix', but one of 'auto', 'fixed', 'scientific'"),
        ("separator", None, "(?s)separator=None, but a string is needed.*NoneType.*separator=' '"),
    ],
)
def test_bad_formats(name: str, value: object, message: str) -> None:
    with pytest.raises(pl.ControlProgramError, match=message):
        pl.PrintTensorFormat(**{name: value})  # type: ignore[arg-type]


def test_bad_arguments() -> None:
    x = pl.Graph().add_variable(pl.INT, (2,), "x")
    with pytest.raises(
        pl.ElementTypeError, match=r"(?s)PrintTensor 'x': 8 is not a format.*type int"
    ):
        pl.PrintTensor("x", x, 8)  # type: ignore[arg-type]
    with pytest.raises(pl.ElementTypeError, match="has no tensor to print"):
        pl.PrintTensor("x", pl.PrintTensorFormat())
    with pytest.raises(pl.ElementTypeError, match="the title must precede"):
        pl.PrintTensor(x, "x")  # type: ignore[arg-type]


def test_poplars_names() -> None:
    assert pl.PrintTensorFmt is pl.PrintTensorFormat
    assert pl.PrintTensorFmt.disableFormatting() == pl.PrintTensorFormat(0, 3, 0, 0, "none")
