"""Write, check, run and draw programs for tile machines on an ordinary computer.

    graph = Graph(Target(tiles=64))                 the machine
    x = graph.add_variable(FLOAT, (64,), "x")       data, spread over tiles
    class Double(Vertex): ...                       the work of one worker
    graph.add_vertex(compute_set, Double, ...)      one piece of work, on some of the data
    engine = Engine(graph, Execute(compute_set))    checked, compiled, run

Importing this package loads little: a name's module is imported when the name is first
used (PEP 562), so that a command that only prints its help starts at once.  Numba is
loaded when something has to be compiled.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from poplite import errors
from poplite.errors import (
    AbsentMember as AbsentMember,
    ApplicationRuntimeError as ApplicationRuntimeError,
    AxisError as AxisError,
    AxisLengthError as AxisLengthError,
    CacheWarning as CacheWarning,
    ConstantRemappedWarning as ConstantRemappedWarning,
    ControlProgramError as ControlProgramError,
    CopyError as CopyError,
    DeviceRuntimeError as DeviceRuntimeError,
    DuplicateAxisError as DuplicateAxisError,
    ElementTypeError as ElementTypeError,
    EmptyComputeSetWarning as EmptyComputeSetWarning,
    ErrorCode as ErrorCode,
    ExportError as ExportError,
    FileLoadError as FileLoadError,
    FloatingPointTrap as FloatingPointTrap,
    GraphConnectionError as GraphConnectionError,
    GraphCycleError as GraphCycleError,
    GraphMemoryAllocationError as GraphMemoryAllocationError,
    GraphRecursionError as GraphRecursionError,
    GraphReplicationError as GraphReplicationError,
    ImplicitOuterProductError as ImplicitOuterProductError,
    InvalidMachineModel as InvalidMachineModel,
    InvalidOption as InvalidOption,
    InvalidTileMapping as InvalidTileMapping,
    MemoryElemConstraintsError as MemoryElemConstraintsError,
    MissingAxisError as MissingAxisError,
    NeedsCopyError as NeedsCopyError,
    NoSizeSpecified as NoSizeSpecified,
    ParseError as ParseError,
    PopliteError as PopliteError,
    PopliteWarning as PopliteWarning,
    ProfilingDisabled as ProfilingDisabled,
    ReadOnlyError as ReadOnlyError,
    SizeOverflowError as SizeOverflowError,
    StreamConnectionError as StreamConnectionError,
    StreamMemoryAllocationError as StreamMemoryAllocationError,
    TensorCreationError as TensorCreationError,
    TensorIndexError as TensorIndexError,
    TensorMetadataError as TensorMetadataError,
    UninitializedReadError as UninitializedReadError,
    UninitializedWarning as UninitializedWarning,
    UnknownField as UnknownField,
    UnknownName as UnknownName,
    UnknownVertexType as UnknownVertexType,
    UnsetLengthError as UnsetLengthError,
    UnwrittenOutputWarning as UnwrittenOutputWarning,
    VertexCompileError as VertexCompileError,
    VertexDefinitionError as VertexDefinitionError,
    WorkerRaceError as WorkerRaceError,
)
from poplite.public import imported_for_types

if TYPE_CHECKING:
    from poplite import ipu as ipu, mpi as mpi, ops as ops, program as program
    from poplite.compat import layout as layout
    from poplite.compile.compiler import compile_graph as compile_graph
    from poplite.display import (
        dump_program as dump_program,
    )
    from poplite.executable.executable import Executable as Executable
    from poplite.expr.tree import Expr as Expr
    from poplite.graph.compute_sets.compute_set import (
        ComputeSet as ComputeSet,
        FieldRef as FieldRef,
        VertexInstance as VertexInstance,
    )
    from poplite.graph.compute_sets.perf_estimates import (
        FieldData as FieldData,
        VertexPerfEstimate as VertexPerfEstimate,
    )
    from poplite.graph.compute_sets.vertex_block import VertexBlock as VertexBlock
    from poplite.graph.graph import Graph as Graph
    from poplite.graph.host import (
        DataStream as DataStream,
        DataStreamType as DataStreamType,
        HostFunction as HostFunction,
        RemoteBuffer as RemoteBuffer,
        ReplicatedStreamMode as ReplicatedStreamMode,
        StreamCallback as StreamCallback,
    )
    from poplite.graph.partitioners import (
        cut as cut,
        detect_innermost_grouping as detect_innermost_grouping,
        grid_blocks as grid_blocks,
        halo_blocks as halo_blocks,
        map_blocks as map_blocks,
        map_by_weights as map_by_weights,
        map_like as map_like,
        map_linearly as map_linearly,
        map_round_robin as map_round_robin,
        near_square_grid as near_square_grid,
        split_among_workers as split_among_workers,
        split_regions as split_regions,
        spread as spread,
    )
    from poplite.graph.saving import (
        SerializationFormat as SerializationFormat,
    )
    from poplite.graph.space import Variable as Variable
    from poplite.graph.tensor.concat import (
        append as append,
        concat as concat,
        stack as stack,
    )
    from poplite.graph.tensor.rearrange import (
        TensorCloneDuplicationMethod as TensorCloneDuplicationMethod,
        TensorCloneMethod as TensorCloneMethod,
        TensorRearranger as TensorRearranger,
    )
    from poplite.graph.tensor.regions import (
        SortedRegions as SortedRegions,
        TileRegions as TileRegions,
        VariableInterval as VariableInterval,
        VarRegions as VarRegions,
    )
    from poplite.graph.tensor.tensor import (
        Tensor as Tensor,
        UpsampleMethod as UpsampleMethod,
    )
    from poplite.graph.tile_mapping import TileMapping as TileMapping
    from poplite.machine.device import (
        Device as Device,
        DeviceManager as DeviceManager,
        IPUModel as IPUModel,
        RelativeSyncDelayType as RelativeSyncDelayType,
    )
    from poplite.machine.floating_point import (
        FloatingPointBehaviour as FloatingPointBehaviour,
        convert_from_quarter as convert_from_quarter,
        convert_to_quarter as convert_to_quarter,
        copy_device_half_to_float as copy_device_half_to_float,
        copy_float_to_device_half as copy_float_to_device_half,
        quarter_metadata_for as quarter_metadata_for,
    )
    from poplite.machine.option_flags import (
        OptionFlags as OptionFlags,
        RuntimeOptions as RuntimeOptions,
        read_json as read_json,
        read_json_from_env as read_json_from_env,
    )
    from poplite.machine.poplar_queries import (
        IpuLinkConfiguration as IpuLinkConfiguration,
        IpuLinkTopology as IpuLinkTopology,
        TargetType as TargetType,
    )
    from poplite.machine.target import Target as Target
    from poplite.ops.control import counted_loop as counted_loop, graph_function as graph_function
    from poplite.poplar.binder import (
        CodeletFileType as CodeletFileType,
        FunctionBufferMappingType as FunctionBufferMappingType,
        VariableMappingMethod as VariableMappingMethod,
    )
    from poplite.program import (
        Abort as Abort,
        AbortOnCondition as AbortOnCondition,
        AssumeEqualAcrossReplicas as AssumeEqualAcrossReplicas,
        Block as Block,
        Call as Call,
        Copy as Copy,
        CrossReplicaCopy as CrossReplicaCopy,
        ErrorProgram as ErrorProgram,
        Execute as Execute,
        Function as Function,
        If as If,
        Loop as Loop,
        PrintTensor as PrintTensor,
        PrintTensorFormat as PrintTensorFormat,
        Program as Program,
        Repeat as Repeat,
        RepeatWhileFalse as RepeatWhileFalse,
        RepeatWhileTrue as RepeatWhileTrue,
        Sequence as Sequence,
        Switch as Switch,
        Sync as Sync,
        SyncType as SyncType,
        WriteUndef as WriteUndef,
    )
    from poplite.program.base import FunctionBuffer as FunctionBuffer
    from poplite.program.steps import (
        ModifyFloatingPointBehaviour as ModifyFloatingPointBehaviour,
        SetFloatingPointBehaviour as SetFloatingPointBehaviour,
        SetStochasticRounding as SetStochasticRounding,
        cycle_count as cycle_count,
        cycle_stamp as cycle_stamp,
        get_and_modify_floating_point_behaviour as get_and_modify_floating_point_behaviour,
        set_floating_point_behaviour as set_floating_point_behaviour,
        set_stochastic_rounding as set_stochastic_rounding,
    )
    from poplite.report import Report as Report
    from poplite.report.sweep import Sweep as Sweep
    from poplite.simulator.engine import Engine as Engine
    from poplite.simulator.poplar_only import compileGraph as compileGraph
    from poplite.simulator.sweeps import sweep as sweep
    from poplite.source import SourceLocation as SourceLocation
    from poplite.types import (
        BOOL as BOOL,
        CHAR as CHAR,
        FLOAT as FLOAT,
        HALF as HALF,
        INT as INT,
        LONGLONG as LONGLONG,
        QUARTER as QUARTER,
        QUARTER_METADATA as QUARTER_METADATA,
        SHORT as SHORT,
        SIGNED_CHAR as SIGNED_CHAR,
        UNSIGNED_CHAR as UNSIGNED_CHAR,
        UNSIGNED_INT as UNSIGNED_INT,
        UNSIGNED_LONGLONG as UNSIGNED_LONGLONG,
        UNSIGNED_SHORT as UNSIGNED_SHORT,
        ElementType as ElementType,
        QuarterFormat as QuarterFormat,
        QuarterMetadata as QuarterMetadata,
    )
    from poplite.vertex.compute import lanes as lanes
    from poplite.vertex.compute.number_functions import (
        float_bits as float_bits,
        float_from_bits as float_from_bits,
        fma as fma,
        half_bits as half_bits,
        half_from_bits as half_from_bits,
    )
    from poplite.vertex.fields import (
        Layout as Layout,
        ProfilerVectorLayout as ProfilerVectorLayout,
        ProfilerVectorListLayout as ProfilerVectorListLayout,
        VectorLayout as VectorLayout,
        VectorListLayout as VectorListLayout,
    )
    from poplite.vertex.from_source import vertex_from_source as vertex_from_source
    from poplite.vertex.vertex import (
        InOut as InOut,
        Input as Input,
        MultiVertex as MultiVertex,
        Output as Output,
        State as State,
        Vector as Vector,
        Vertex as Vertex,
        faster as faster,
    )
    from poplite.view import (
        Interval as Interval,
        Intervals as Intervals,
    )

    # Poplar's names for objects that have a different name here, for type checkers;
    # `__getattr__` takes them from `poplite.poplar.declarations` and `errors`.

    PrintTensorFmt = PrintTensorFormat
    SIGNED = INT
    SIGNED_INT = INT
    SIGNED_SHORT = SHORT
    StreamCallbackBase = StreamCallback
    UNSIGNED = UNSIGNED_INT
    VariableRef = Variable
    VertexIntrospector = VertexInstance
    VertexRef = VertexInstance
    copyDeviceHalfToDouble = copy_device_half_to_float
    copyDeviceHalfToFloat = copy_device_half_to_float
    copyDoubleToDeviceHalf = copy_float_to_device_half
    copyFloatToDeviceHalf = copy_float_to_device_half
    cycleCount = cycle_count
    cycleStamp = cycle_stamp
    dumpProgram = dump_program
    getAndModifyFloatingPointBehaviour = get_and_modify_floating_point_behaviour
    readJSON = read_json
    readJSONFromEnv = read_json_from_env
    setFloatingPointBehaviour = set_floating_point_behaviour
    setStochasticRounding = set_stochastic_rounding
    application_runtime_error = ApplicationRuntimeError
    control_program_error = ControlProgramError
    file_load_error = FileLoadError
    graph_connection_error = GraphConnectionError
    graph_cycle_error = GraphCycleError
    graph_memory_allocation_error = GraphMemoryAllocationError
    graph_program_compilation_error = VertexCompileError
    graph_recursion_error = GraphRecursionError
    graph_replication_error = GraphReplicationError
    index_error = TensorIndexError
    invalid_machine_model = InvalidMachineModel
    invalid_option = InvalidOption
    invalid_tile_mapping = InvalidTileMapping
    memory_elem_constraints_error = MemoryElemConstraintsError
    no_size_specified = NoSizeSpecified
    overflow_error = SizeOverflowError
    parse_error = ParseError
    poplar_error = PopliteError
    profiling_disabled = ProfilingDisabled
    stream_connection_error = StreamConnectionError
    stream_memory_allocation_error = StreamMemoryAllocationError
    symbol_error = UnknownName
    system_runtime_error = DeviceRuntimeError
    tensor_creation_error = TensorCreationError
    tensor_metadata_error = TensorMetadataError
    type_error = ElementTypeError
    unknown_field = UnknownField
    unknown_vertex_type = UnknownVertexType

__version__ = "0.1.0"


def version_string() -> str:
    """Return the version, as `__version__`.

    >>> version_string().split(".")[0]
    '0'
    """
    return __version__


if TYPE_CHECKING:
    versionString = version_string

_MODULES = {
    **{name: name for name in ("compat", "ipu", "mpi", "named", "ops", "program", "testing")},
    **{name: name for name in ("vertices", "viz")},
    "layout": "compat.layout",
}
"""Modules that are loaded when they are first used; `layout` and `program` are Poplar's too."""

_HOME = {
    name: module for name, module in imported_for_types(__name__).items() if name not in _MODULES
}
"""The packages that define the public names."""

_OWN = ["__version__", "errors", "version_string"]

__all__ = sorted([*_OWN, *_HOME, *_MODULES, *(n for n in errors.__all__ if n in globals())])


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return import_module(f"poplite.{_MODULES[name]}")
    if error := errors.error_of_poplar(name):
        return error
    if name not in _HOME:
        spelling = import_module("poplite.poplar.spelling")
        if name in spelling.names_here():
            ours = getattr(import_module(__name__), spelling.names_here()[name])
            globals()[name] = spelling.declared_function(name, ours)
            return globals()[name]
        if error := import_module("poplite.poplar.absent").absent("pl", name):
            raise error
        raise import_module("poplite.expr.numpy_names").absent_function("pl", name)
    with import_module("poplite.jit.build").no_collection():  # the objects of modules live on
        value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
