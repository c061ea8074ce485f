"""Poplar's devices, options and queries of a target: what they refuse, and what follows."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import poplite as pl


def test_numbers_of_a_model_become_those_of_the_target() -> None:
    model = pl.IPUModel("ipu1")
    model.numIPUs, model.tilesPerIPU, model.numWorkerContexts = 2, 8, 4
    model.memoryBytesPerTile, model.tileClockFrequency = 1024, 1e9
    model.minIPUSyncDelay = 7
    model.relativeSyncDelay = pl.RelativeSyncDelayType.NO_DELAY
    target = model.createDevice().getTarget()
    assert (target.tiles, target.ipus, target.workers) == (16, 2, 4)
    assert (target.tile_memory_bytes, target.clock_hz) == (1024, 1e9)
    assert target.architecture == "gc2"
    assert (target.getMinIPUSyncDelay(), target.getMaxIPUSyncDelay()) == (7, 7)


def test_a_model_refuses_other_numbers_and_another_version() -> None:
    model = pl.IPUModel()
    with pytest.raises(pl.InvalidMachineModel, match="there is no number 'tilesPerIpu'"):
        model.tilesPerIpu = 3
    model.IPUVersion = "ipu1"
    with pytest.raises(pl.InvalidMachineModel, match="created with 'ipu2'"):
        model.createDevice()
    with pytest.raises(pl.InvalidMachineModel, match="'ipu9' is not known"):
        pl.IPUModel("ipu9")


def test_every_version_of_the_model_is_the_architecture_itself() -> None:
    for version, architecture in (("ipu1", "gc2"), ("ipu2", "gc200"), ("ipu21", "bow")):
        target = pl.IPUModel(version).createDevice().getTarget()
        assert target == pl.Target(architecture=architecture)  # type: ignore[arg-type]
        assert target.getTargetArchString() == version


def test_devices_that_are_not_there() -> None:
    manager = pl.DeviceManager.createDeviceManager()
    with pytest.raises(pl.UnknownName, match=r"there is no device 7(?s:.*)devices are 0 to 6"):
        manager.getDevice(7)
    assert manager.getDevices(pl.TargetType.IPU, 3)[0].getTarget().ipus == 3
    with pytest.raises(pl.InvalidMachineModel, match="has 1,472"):
        manager.getDevice(0).createVirtualDevice(2000)


def test_a_cpu_target_runs_any_program_on_one_tile() -> None:
    target = pl.Target.createCPUTarget()
    assert target.getTargetType() is pl.TargetType.CPU
    assert target.getTargetArchString() == "cpu"
    graph = pl.Graph(target)
    x = graph.add_variable(pl.FLOAT, (1 << 20,), "x", mapping="linear", initial_value=1)
    y = graph.add_variable(pl.FLOAT, (1 << 20,), "y", mapping="linear")
    engine = pl.Engine(graph, pl.Copy(x, y))
    engine.run()
    assert engine.read(y).sum() == 1 << 20


def test_a_program_is_loaded_on_a_device_of_its_machine() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    x = graph.add_variable(pl.INT, (4,), "x", mapping=0, initial_value=3)
    engine = pl.Engine(graph, pl.WriteUndef(x))
    device = pl.Device(pl.Target(tiles=4))
    with pytest.raises(pl.InvalidMachineModel, match="is not attached"):
        engine.load(device)
    device.attach()
    engine.write(x, 5)
    engine.load(device)
    assert engine.read(x).tolist() == [3, 3, 3, 3]
    with pytest.raises(pl.InvalidMachineModel, match=r"compiled for <Target 4 tiles"):
        engine.load(pl.Device(pl.Target(tiles=8)))
    with pytest.raises(pl.InvalidMachineModel, match="4 is not a device"):
        engine.load(4)  # type: ignore[arg-type]


def test_a_replicated_program_is_loaded_on_the_whole_machine() -> None:
    device = pl.Device(pl.Target(tiles=8, ipus=2))
    device.attach()
    graph = pl.Graph(device, 2)
    x = graph.add_variable(pl.INT, (4,), "x", mapping=0)
    pl.Engine(graph, pl.WriteUndef(x)).load(device)


def test_options_read_from_json(monkeypatch: pytest.MonkeyPatch) -> None:
    flags = pl.OptionFlags()
    monkeypatch.setenv("SOME_OPTIONS", '{"debug.instrument": false}')
    pl.read_json_from_env("SOME_OPTIONS", flags)
    assert flags.at("debug.instrument") is False
    with pytest.raises(pl.InvalidOption, match=r"'debug.instrumen' is not set.*debug.instrument"):
        flags.at("debug.instrumen")
    with pytest.raises(pl.ParseError, match="is not a JSON object"):
        pl.read_json("[1]", flags)
    monkeypatch.setenv("SOME_OPTIONS", "{")
    with pytest.raises(pl.ParseError, match="environment variable SOME_OPTIONS"):
        pl.read_json_from_env("SOME_OPTIONS", flags)


def test_options_of_a_run_are_those_of_poplar() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    x = graph.add_variable(pl.INT, (4,), "x", mapping=0)
    engine = pl.Engine(graph, pl.WriteUndef(x))
    engine.run(0, "name", pl.RuntimeOptions({"target.hostSyncTimeout": "300"}))
    with pytest.raises(pl.InvalidOption, match=r"did you mean 'target.hostSyncTimeout'"):
        engine.run(0, "name", {"target.hostSyncTimeou": "300"})
    with pytest.raises(pl.InvalidOption, match="runtime options are 3"):
        engine.run(0, "name", 3)  # type: ignore[arg-type]


def test_arrays_of_another_size_or_type_are_not_filled() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    x = graph.add_variable(pl.INT, (2, 2), "x", mapping=0, initial_value=[[1, 2], [3, 4]])
    graph.create_host_read("x", x)
    engine = pl.Engine(graph, pl.WriteUndef(x))
    flat = np.zeros(4, np.int32)
    assert engine.readTensor("x", flat) is flat
    assert flat.tolist() == [1, 2, 3, 4]
    for wrong in (np.zeros(3, np.int32), np.zeros(4, np.int64)):
        with pytest.raises(pl.TensorCreationError, match="must have 4 elements of int32"):
            engine.readTensor("x", wrong)
    flat.flags.writeable = False
    with pytest.raises(pl.TensorCreationError, match="read-only"):
        engine.readTensor("x", flat)


@pytest.mark.parametrize("scale", [-32, -3, 0, 31])
@pytest.mark.parametrize("format", list(pl.QuarterFormat))
def test_codes_of_quarter_are_the_nearest(format: pl.QuarterFormat, scale: int) -> None:
    metadata = pl.QuarterMetadata(format, scale)
    codes = np.delete(np.arange(256, dtype=np.uint8), 0x80)
    values = pl.convert_from_quarter(codes, metadata)
    assert pl.convert_to_quarter(values, metadata).tolist() == codes.tolist()
    beyond = np.float32(values.max()) * np.float32(4)
    assert np.isnan(pl.convert_from_quarter(pl.convert_to_quarter(beyond, metadata), metadata))
    most = pl.convert_to_quarter(beyond, metadata, saturate=True)
    assert pl.convert_from_quarter(most, metadata) == values.max() == metadata.largest


@pytest.mark.parametrize("greatest", [1e-6, 0.3, 240.0, 241.0, 5e9])
def test_metadata_for_values_hold_them_and_no_less_would(greatest: float) -> None:
    metadata = pl.quarter_metadata_for([0.0, -greatest, np.inf, np.nan])
    assert greatest <= metadata.largest
    assert greatest > pl.QuarterMetadata("F143", metadata.scale - 1).largest


@pytest.mark.parametrize("codes", [[300], [-1], [1.7], [True], "a", [[1], [1, 2]], [None]])
def test_codes_of_quarter_are_whole_numbers_of_a_byte(codes: Any) -> None:
    metadata = pl.QuarterMetadata("F143")
    with pytest.raises(pl.ElementTypeError, match="convert_from_quarter: .* are no"):
        pl.convert_from_quarter(codes, metadata)
    assert pl.convert_from_quarter([], metadata).size == 0


RECORDS = np.zeros(2, [("a", "f4")])


@pytest.mark.parametrize(
    "values", ["a", [1 + 2j], [None], ["1"], [[1], [1, 2]], [10**400], RECORDS]
)
def test_what_becomes_quarter_is_real_numbers(values: Any) -> None:
    metadata = pl.QuarterMetadata("F143")
    for convert in (pl.quarter_metadata_for, lambda v: pl.convert_to_quarter(v, metadata)):
        with pytest.raises(pl.ElementTypeError, match="are not real numbers"):
            convert(values)
    for call in (pl.convert_to_quarter, pl.convert_from_quarter):
        with pytest.raises(pl.TensorMetadataError, match="3 is not a QuarterMetadata"):
            call([1], 3)  # type: ignore[arg-type]


def test_halves_on_their_way_refuse_short_arrays_and_other_types() -> None:
    target, floats = pl.Target(), np.ones(3, np.float32)
    with pytest.raises(pl.TensorCreationError, match=r"3 elements(?s:.*)destination 2"):
        pl.copy_float_to_device_half(target, floats, np.zeros(2, np.uint16))
    bits, shown = np.zeros(3, np.uint16), np.zeros((3, 2), np.float32)
    for to_half, source, destination, match in (
        (True, floats, floats, "destination has type float32"),
        (True, floats.astype(np.int32), bits, "source has type int32"),
        (True, floats, bits[::-1], "destination is not C-contiguous"),
        (False, floats, floats, "source has type float32"),
        (False, bits, np.zeros(3, np.int32), "destination has type int32"),
        (False, bits, shown[:, 0], "destination is not C-contiguous"),
        (False, bits, np.broadcast_to(np.float32(0), (3,)), "C-contiguous"),
    ):
        convert = pl.copy_float_to_device_half if to_half else pl.copy_device_half_to_float
        with pytest.raises(pl.TensorCreationError, match=match):
            convert(target, source, destination)
    for n in (-1, 1.5, "2"):
        with pytest.raises(pl.ElementTypeError, match="not a non-negative whole number"):
            pl.copy_float_to_device_half(target, floats, bits, n)  # type: ignore[arg-type]
    with pytest.raises(pl.ElementTypeError, match="is not an array"):
        pl.copy_device_half_to_float(target, bits, [0.0] * 3)  # type: ignore[arg-type]
    bits.flags.writeable = False
    with pytest.raises(pl.TensorCreationError, match="read-only"):
        pl.copy_float_to_device_half(target, floats, bits)


def test_the_matrix_unit_has_three_types() -> None:
    older, newer = pl.Target(), pl.Target(architecture="ipu21")
    pairs = [(a, b) for a in (pl.FLOAT, pl.HALF, pl.QUARTER) for b in (pl.FLOAT, pl.HALF)]
    assert [older.getNumConvUnits(*pair) for pair in pairs] == [16, 0, 8, 16, 0, 0]
    assert [newer.getNumConvUnits(*pair) for pair in pairs] == [16, 0, 8, 16, 0, 16]
    assert older.getNumConvUnits(False, True) == older.getNumConvUnits(pl.HALF, pl.FLOAT)
    for target, quarters in ((older, 0), (newer, 32)):
        assert target.getWeightsPerConvUnit(pl.QUARTER) == quarters
        assert target.getFp8ConvUnitInputLoadElemsPerCycle() == quarters // 4
        assert target.getFp8ConvUnitMaxPipelineDepth() == quarters // 8
        for type_ in (pl.FLOAT, pl.HALF, pl.QUARTER):  # as PopLibs reckons
            loads = target.getConvUnitInputLoadElemsPerCycle(type_)
            depth = target.getConvUnitMaxPipelineDepth(type_)
            assert depth * loads == target.getWeightsPerConvUnit(type_)
    with pytest.raises(pl.ElementTypeError, match="the matrix unit does not support INT"):
        older.getWeightsPerConvUnit(pl.INT)


def test_devices_have_a_number_and_a_type_that_programs_look_for() -> None:
    manager = pl.DeviceManager()
    (three,) = manager.getDevices(pl.TargetType.IPU, 3)
    assert manager.getDevice(three.getId()) is three
    assert manager.getDevices(pl.TargetType.IPU, 3) == [three]
    three.attach()
    assert manager.getDevice(three.getId()).isAttached()
    assert three.getTarget().getTargetType() is pl.TargetType.IPU
    assert [d.getTarget().ipus for d in manager.getDevices(pl.TargetType.CPU)] == [1]
    assert pl.TargetType.CPU not in [
        d.getTarget().getTargetType() for d in manager.getDevices(pl.TargetType.IPU)
    ]
    assert manager.getNumDevices() == 9
    assert pl.Target(tiles=1, workers=1).getTargetType() is pl.TargetType.IPU
    with pytest.raises(pl.InvalidMachineModel, match="'ipu' is not in TargetType"):
        manager.getDevices("ipu", 2)
    with pytest.raises(pl.InvalidMachineModel, match="ipus=0"):
        manager.getDevices(pl.TargetType.IPU, 0)
    with pytest.raises(pl.InvalidMachineModel, match="3 is not a target"):
        pl.Device(3)  # type: ignore[arg-type]
    for wrong in (-1, "x", 1.5):
        with pytest.raises(pl.InvalidMachineModel, match="is not a device number"):
            pl.IPUModel().createDevice({}, True, wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("tilesPerIPU", 0, "a positive whole number"),
        ("numIPUs", 1.5, "a positive whole number"),
        ("dataPathWidth", 63, "a multiple of 8"),
        ("tileClockFrequency", "a", "a finite number of at least 1"),
        ("minIPUSyncDelay", -1, "a finite number of at least 0"),
        ("compileIPUCode", "yes", "True or False"),
    ],
)
def test_numbers_of_a_model_are_checked_when_they_are_set(
    name: str, value: object, wanted: str
) -> None:
    model = pl.IPUModel()
    before = getattr(model, name)
    with pytest.raises(pl.InvalidMachineModel, match=f"{name} is .*, not {wanted}"):
        setattr(model, name, value)
    assert getattr(model, name) == before
    with pytest.raises(pl.InvalidMachineModel, match="3 is not in RelativeSyncDelayType"):
        model.relativeSyncDelay = 3  # type: ignore[assignment]
    with pytest.raises(pl.InvalidMachineModel, match="version 2 is not a string"):
        pl.IPUModel(2)  # type: ignore[arg-type]


def test_devices_of_other_machines_are_refused_wherever_they_are_given() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    engine = pl.Engine(graph, pl.WriteUndef(graph.add_variable(pl.INT, (4,), "x", mapping=0)))
    other, own = pl.Device(pl.Target(tiles=8)), pl.Device(pl.Target(tiles=4))
    for call in (engine.prepare, engine.loadAndRun):
        for device, match in (
            (3, "3 is not a device"),
            (other, "compiled for"),
            (own, "not attached"),
        ):
            with pytest.raises(pl.InvalidMachineModel, match=match):
                call(device)  # type: ignore[arg-type]
    own.attach()
    engine.prepare(own)
    engine.loadAndRun(own, 0)
    with pytest.raises(pl.ControlProgramError, match="is a simulated machine") as caught:
        pl.Engine(graph, pl.Program(), device=own)  # type: ignore[arg-type]
    assert "engine.load(device)" in caught.value.fix


def test_options_of_an_engine_are_those_that_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    program = pl.WriteUndef(graph.add_variable(pl.INT, (4,), "x", mapping=0))
    given = {"debug.instrument": "false", "debug.floatPointOpException": "true"}
    executable = pl.compile_graph(graph, program, options=given)
    assert pl.Engine(executable).getEngineOptions() == given
    monkeypatch.setenv("POPLITE_ENGINE_OPTIONS", '{"exchange.enablePrefetch": false}')
    engine = pl.Engine(graph, program)
    assert engine.getEngineOptions() == {"exchange.enablePrefetch": "false"}


def test_every_way_to_set_an_option_of_a_run_is_checked() -> None:
    flags = pl.RuntimeOptions()
    ways: list[Callable[[], object]] = [
        lambda: flags.update({"nope": 1}),
        lambda: flags.setdefault("nope", 1),
        lambda: flags.__setitem__("nope", 1),
        lambda: flags.__ior__({"nope": 1}),
    ]
    for way in ways:
        with pytest.raises(pl.InvalidOption, match="there is no run option 'nope'"):
            way()
    flags.update({"target.hostSyncTimeout": "3"})
    assert type(flags.copy()) is pl.RuntimeOptions
    assert flags.copy() == flags == {"target.hostSyncTimeout": "3"}
    assert type(pl.OptionFlags({"a": 1}).copy()) is pl.OptionFlags


def test_arguments_without_effect_are_checked_all_the_same() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    x = graph.add_variable(pl.INT, (4,), "x", mapping=0)
    engine = pl.Engine(graph, pl.WriteUndef(x))
    wrong: Any = 3
    options: list[Callable[[], object]] = [
        lambda: pl.Target.createIPUTarget(1, "ipu2", wrong),
        lambda: pl.Target.createIPUTarget(1, "ipu2", "POD16"),
        lambda: pl.DeviceManager().getDevices(pl.TargetType.IPU, 1, wrong),
        lambda: pl.IPUModel().createDevice(wrong),
        lambda: engine.printProfileSummary(io.StringIO(), wrong),
        lambda: engine.printProfileSummary(io.StringIO(), {"showExecutionStep": "true"}),
        lambda: engine.run(0, {"nope": 1}),  # type: ignore[arg-type]
        lambda: pl.OptionFlags(wrong),
        lambda: pl.OptionFlags().set(["a"], 1),  # type: ignore[list-item]
        lambda: pl.read_json("{}", {}),  # type: ignore[arg-type]
    ]
    for call in options:
        with pytest.raises(pl.InvalidOption):
            call()
    others: list[Callable[[], object]] = [
        lambda: engine.setPrintStream(wrong),
        lambda: engine.reportTiming("a", "b"),
        lambda: pl.Target().getTypeLimitsMaxAs(pl.QUARTER),
    ]
    for call in others:
        with pytest.raises(pl.ElementTypeError):
            call()
    with pytest.raises(pl.InvalidMachineModel):
        pl.Target().createVirtualTarget("a", 2)  # type: ignore[arg-type]
    with pytest.raises(pl.InvalidMachineModel):
        pl.Target.createIPUTarget(3, 1.5)  # type: ignore[arg-type]
    with pytest.raises(pl.InvalidMachineModel, match="createIPUTarget: system 'POD16' is not"):
        pl.Target.createIPUTarget(1, "POD16")


def test_numbers_that_a_version_decides_are_neither_read_nor_set() -> None:
    model = pl.IPUModel()
    with pytest.raises(pl.AbsentMember, match="the version determines it"):
        model.memoryElementOffsets = [0]
    with pytest.raises(pl.AbsentMember, match="IPUModel.fp16InFp16OutConvUnitsPerTile"):
        _ = model.fp16InFp16OutConvUnitsPerTile  # type: ignore[attr-defined]


def test_reports_count_from_the_last_reset() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    x, y = (graph.add_variable(pl.INT, (4,), name, mapping=k) for k, name in enumerate("xy"))
    engine = pl.Engine(graph, [pl.Copy(x, y), pl.Copy(y, x[::-1])], checks="fast")
    engine.run(0)
    once = engine.report().execution
    engine.run(1)
    engine.resetExecutionProfile()
    assert engine.report().execution.num_steps == engine.report().execution.cycles == 0
    engine.run(0)
    again = engine.report().execution
    assert (again.runs, again.num_steps, again.cycles) == (1, 1, once.cycles)
    assert [step.name for step in again.steps] == [
        step.name for step in once.steps if step.executions
    ]


def test_reports_leave_out_what_ran_while_profiling_was_disabled() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    x, y = (graph.add_variable(pl.INT, (4,), name, mapping=k) for k, name in enumerate("xy"))
    programs = [pl.Copy(x, y), pl.Copy(y, x[::-1]), pl.Copy(y[1:], x[1:])]
    engine, always = (pl.Engine(graph, programs, checks="fast") for _ in range(2))

    def count(*programs: int) -> None:
        for program in programs:
            engine.run(program)
            always.run(program)

    count(0, 1)
    for left_out in ([1, 2, 0], [], [2, 2]):
        engine.disableExecutionProfiling()
        before = str(engine.report())
        for program in left_out:
            engine.run(program)
        engine.disableExecutionProfiling()  # once is enough
        assert str(engine.report()) == before
        engine.enableExecutionProfiling()
        engine.enableExecutionProfiling()
        count(1, 2)
        assert engine.report() == always.report()
    engine.disableExecutionProfiling()
    engine.resetExecutionProfile()
    engine.run(0)
    assert engine.report().runs == 0
    engine.add_program(pl.Copy(x[:1], y[:1]))
    engine.run(0)
    assert engine.report().runs == 0  # still disabled
    engine.enableExecutionProfiling()
    engine.run(0)
    assert (engine.report().runs, engine.report().steps) == (1, 1)


def test_profiling_is_refused_where_cycles_are_not_modelled() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    off = pl.Engine(graph, pl.Sequence(), {"debug.instrument": "false"})
    for name in ("reset", "enable", "disable"):
        with pytest.raises(pl.ProfilingDisabled, match=f"{name}Exec.*: cycles are not modelled"):
            getattr(off, f"{name}ExecutionProfil{'e' if name == 'reset' else 'ing'}")()


def test_places_that_the_host_reads_and_writes_are_tensors_or_names() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    x = graph.add_variable(pl.INT, (4,), "x", mapping=0)
    engine = pl.Engine(graph, pl.WriteUndef(x))
    with pytest.raises(pl.ElementTypeError, match="3 is neither a tensor nor a handle"):
        engine.writeTensor(3, np.zeros(4, np.int32))  # type: ignore[arg-type]
    with pytest.raises(pl.ElementTypeError, match="3 is neither a tensor nor a handle"):
        engine.readTensor(3)  # type: ignore[arg-type]
    data = np.zeros(4, np.int32)
    calls: list[Callable[[], object]] = [
        lambda: engine.connectStream("in", data, data[-1:]),  # type: ignore[call-arg]
        lambda: engine.writeTensor("x", data, data[-1:]),
        lambda: engine.readTensor("x", data, data[-1:]),
    ]
    for call in calls:
        with pytest.raises(
            pl.ElementTypeError, match=r"must be the last argument|end is .*, but is a pointer"
        ):
            call()
    with pytest.raises(pl.ElementTypeError, match="but is a pointer in C"):
        x[0].getConstantValue(data)  # type: ignore[call-arg]
    with pytest.raises(pl.ElementTypeError, match=r"isComplete is \[\], but is a pointer in C"):
        graph.getTileMapping(x, [])  # type: ignore[arg-type]
