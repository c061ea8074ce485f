"""Write, check, run and draw programs for tile machines on an ordinary computer.

    graph = Graph(Target(tiles=64))                 the machine
    x = graph.add_variable(FLOAT, (64,), "x")       what it holds, and on which tiles
    class Double(Vertex): ...                       what one worker does
    graph.add_vertex(compute_set, Double, ...)      who does it to what
    engine = Engine(graph, Execute(compute_set))    checked, compiled, run

Importing this package loads little: a name's module is imported when the name is first
used (PEP 562), so that a command line that only prints its help starts at once.  Numba is
loaded when something has to be compiled.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from poplite.errors import (
    ApplicationRuntimeError,
    CacheWarning,
    ConstantRemappedWarning,
    ControlProgramError,
    CopyError,
    ElementTypeError,
    EmptyComputeSetWarning,
    ErrorCode,
    FileLoadError,
    FloatingPointTrap,
    GraphConnectionError,
    GraphCycleError,
    GraphMemoryAllocationError,
    GraphRecursionError,
    GraphReplicationError,
    InvalidMachineModel,
    InvalidOption,
    InvalidTileMapping,
    MemoryElemConstraintsError,
    NoSizeSpecified,
    PopliteError,
    PopliteWarning,
    SizeOverflowError,
    StreamConnectionError,
    StreamMemoryAllocationError,
    TensorCreationError,
    TensorIndexError,
    TensorMetadataError,
    UninitializedReadError,
    UninitializedWarning,
    UnknownField,
    UnknownName,
    UnwrittenOutputWarning,
    VertexCompileError,
    VertexDefinitionError,
    WorkerRaceError,
)

if TYPE_CHECKING:
    from poplite import ops as ops
    from poplite.compile.compiler import compile_graph
    from poplite.executable.executable import Executable
    from poplite.expr.tree import Expr
    from poplite.graph.clone import TensorCloneDuplicationMethod, TensorCloneMethod
    from poplite.graph.compute_sets.compute_set import ComputeSet, VertexInstance
    from poplite.graph.compute_sets.perf_estimates import FieldData, VertexPerfEstimate
    from poplite.graph.compute_sets.vertex_block import VertexBlock
    from poplite.graph.graph import Graph
    from poplite.graph.host.remote import HostFunction, RemoteBuffer
    from poplite.graph.host.streams import (
        DataStream,
        DataStreamType,
        ReplicatedStreamMode,
        StreamCallback,
    )
    from poplite.graph.mapping.tile_mapping import TileMapping
    from poplite.graph.partition import (
        cut,
        detect_innermost_grouping,
        grid_blocks,
        map_blocks,
        map_linearly,
        near_square_grid,
        spread,
    )
    from poplite.graph.storage.variable import Variable
    from poplite.graph.tensor.concat import append, concat
    from poplite.graph.tensor.memory_regions import SortedRegions, TileRegions
    from poplite.graph.tensor.rearrange import TensorRearranger
    from poplite.graph.tensor.tensor import Tensor, UpsampleMethod
    from poplite.graph.tensor.variable_regions import VariableInterval, VarRegions
    from poplite.machine.floating_point import FloatingPointBehaviour
    from poplite.machine.target import Target
    from poplite.ops.graph_function import graph_function
    from poplite.ops.loop import counted_loop
    from poplite.program import (
        Abort,
        AbortOnCondition,
        AssumeEqualAcrossReplicas,
        Block,
        Call,
        Copy,
        CrossReplicaCopy,
        ErrorProgram,
        Execute,
        Function,
        If,
        Loop,
        PrintTensor,
        PrintTensorFmt,
        PrintTensorFormat,
        Program,
        Repeat,
        RepeatWhileFalse,
        RepeatWhileTrue,
        Sequence,
        Switch,
        Sync,
        SyncType,
        WriteUndef,
    )
    from poplite.program.cycles import cycle_count, cycle_stamp
    from poplite.program.floating_point import (
        ModifyFloatingPointBehaviour,
        SetFloatingPointBehaviour,
        SetStochasticRounding,
        get_and_modify_floating_point_behaviour,
        set_floating_point_behaviour,
        set_stochastic_rounding,
    )
    from poplite.program.function import FunctionBuffer
    from poplite.report import Report
    from poplite.simulator.engine import Engine
    from poplite.source import SourceLocation
    from poplite.types import (
        BOOL,
        CHAR,
        FLOAT,
        HALF,
        INT,
        LONGLONG,
        QUARTER,
        QUARTER_METADATA,
        SHORT,
        SIGNED_CHAR,
        UNSIGNED_CHAR,
        UNSIGNED_INT,
        UNSIGNED_LONGLONG,
        UNSIGNED_SHORT,
        ElementType,
        QuarterFormat,
        QuarterMetadata,
    )
    from poplite.vertex.from_source import vertex_from_source
    from poplite.vertex.layouts import Layout, VectorLayout, VectorListLayout
    from poplite.vertex.vertex import InOut, Input, MultiVertex, Output, State, Vector, Vertex
    from poplite.view import Interval, Intervals

__version__ = "0.1.0"

_HOMES = {
    "compile.compiler": "compile_graph",
    "executable.executable": "Executable",
    "expr.tree": "Expr",
    "graph.clone": "TensorCloneDuplicationMethod TensorCloneMethod",
    "graph.compute_sets.compute_set": "ComputeSet VertexInstance",
    "graph.compute_sets.perf_estimates": "FieldData VertexPerfEstimate",
    "graph.compute_sets.vertex_block": "VertexBlock",
    "graph.graph": "Graph",
    "graph.host.remote": "HostFunction RemoteBuffer",
    "graph.host.streams": "DataStream DataStreamType ReplicatedStreamMode StreamCallback",
    "graph.mapping.tile_mapping": "TileMapping",
    "graph.partition": "cut detect_innermost_grouping grid_blocks map_blocks map_linearly "
    "near_square_grid spread",
    "graph.storage.variable": "Variable",
    "graph.tensor.concat": "append concat",
    "graph.tensor.memory_regions": "SortedRegions TileRegions",
    "graph.tensor.rearrange": "TensorRearranger",
    "graph.tensor.tensor": "Tensor UpsampleMethod",
    "graph.tensor.variable_regions": "VarRegions VariableInterval",
    "machine.floating_point": "FloatingPointBehaviour",
    "machine.target": "Target",
    "ops.graph_function": "graph_function",
    "ops.loop": "counted_loop",
    "program": "Abort AbortOnCondition AssumeEqualAcrossReplicas Block Call Copy CrossReplicaCopy "
    "ErrorProgram Execute Function If Loop PrintTensor PrintTensorFmt PrintTensorFormat Program "
    "Repeat RepeatWhileFalse RepeatWhileTrue Sequence Switch Sync SyncType WriteUndef",
    "program.cycles": "cycle_count cycle_stamp",
    "program.floating_point": "ModifyFloatingPointBehaviour SetFloatingPointBehaviour "
    "SetStochasticRounding get_and_modify_floating_point_behaviour set_floating_point_behaviour "
    "set_stochastic_rounding",
    "program.function": "FunctionBuffer",
    "report": "Report",
    "simulator.engine": "Engine",
    "source": "SourceLocation",
    "types": "BOOL CHAR FLOAT HALF INT LONGLONG QUARTER QUARTER_METADATA SHORT SIGNED_CHAR "
    "UNSIGNED_CHAR UNSIGNED_INT UNSIGNED_LONGLONG UNSIGNED_SHORT ElementType QuarterFormat "
    "QuarterMetadata",
    "vertex.layouts": "Layout VectorLayout VectorListLayout",
    "vertex.from_source": "vertex_from_source",
    "vertex.vertex": "InOut Input MultiVertex Output State Vector Vertex",
    "view": "Interval Intervals",
}
"""Where the public names are made, by module; what a type checker reads is above."""

_HOME = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = [
    "BOOL",
    "CHAR",
    "FLOAT",
    "HALF",
    "INT",
    "LONGLONG",
    "QUARTER",
    "QUARTER_METADATA",
    "SHORT",
    "SIGNED_CHAR",
    "UNSIGNED_CHAR",
    "UNSIGNED_INT",
    "UNSIGNED_LONGLONG",
    "UNSIGNED_SHORT",
    "Abort",
    "AbortOnCondition",
    "ApplicationRuntimeError",
    "AssumeEqualAcrossReplicas",
    "Block",
    "CacheWarning",
    "Call",
    "ComputeSet",
    "ConstantRemappedWarning",
    "ControlProgramError",
    "CopyError",
    "Copy",
    "CrossReplicaCopy",
    "DataStream",
    "DataStreamType",
    "ElementType",
    "ElementTypeError",
    "EmptyComputeSetWarning",
    "Engine",
    "ErrorCode",
    "ErrorProgram",
    "Executable",
    "Execute",
    "Expr",
    "FieldData",
    "FileLoadError",
    "FloatingPointBehaviour",
    "FloatingPointTrap",
    "Function",
    "FunctionBuffer",
    "Graph",
    "GraphConnectionError",
    "GraphCycleError",
    "GraphMemoryAllocationError",
    "GraphRecursionError",
    "GraphReplicationError",
    "HostFunction",
    "If",
    "InOut",
    "Input",
    "Interval",
    "Intervals",
    "InvalidMachineModel",
    "InvalidOption",
    "InvalidTileMapping",
    "Layout",
    "Loop",
    "MemoryElemConstraintsError",
    "ModifyFloatingPointBehaviour",
    "MultiVertex",
    "NoSizeSpecified",
    "Output",
    "PopliteError",
    "PopliteWarning",
    "PrintTensor",
    "PrintTensorFmt",
    "PrintTensorFormat",
    "Program",
    "QuarterFormat",
    "QuarterMetadata",
    "RemoteBuffer",
    "Repeat",
    "RepeatWhileFalse",
    "RepeatWhileTrue",
    "ReplicatedStreamMode",
    "Report",
    "Sequence",
    "SetFloatingPointBehaviour",
    "SetStochasticRounding",
    "SizeOverflowError",
    "SortedRegions",
    "SourceLocation",
    "State",
    "StreamCallback",
    "StreamConnectionError",
    "StreamMemoryAllocationError",
    "Switch",
    "Sync",
    "SyncType",
    "Target",
    "Tensor",
    "TensorCloneDuplicationMethod",
    "TensorCloneMethod",
    "TensorCreationError",
    "TensorIndexError",
    "TensorMetadataError",
    "TensorRearranger",
    "TileMapping",
    "TileRegions",
    "UninitializedReadError",
    "UninitializedWarning",
    "UnknownField",
    "UnknownName",
    "UnwrittenOutputWarning",
    "UpsampleMethod",
    "VarRegions",
    "Variable",
    "VariableInterval",
    "Vector",
    "VectorLayout",
    "VectorListLayout",
    "Vertex",
    "VertexBlock",
    "VertexCompileError",
    "VertexDefinitionError",
    "VertexInstance",
    "VertexPerfEstimate",
    "WorkerRaceError",
    "WriteUndef",
    "append",
    "compile_graph",
    "concat",
    "counted_loop",
    "cut",
    "cycle_count",
    "cycle_stamp",
    "detect_innermost_grouping",
    "get_and_modify_floating_point_behaviour",
    "graph_function",
    "grid_blocks",
    "map_blocks",
    "map_linearly",
    "near_square_grid",
    "set_floating_point_behaviour",
    "set_stochastic_rounding",
    "spread",
    "vertex_from_source",
]


def __getattr__(name: str) -> object:
    if name == "ops":
        return import_module("poplite.ops")
    if name not in _HOME:
        raise AttributeError(f"module 'poplite' has no attribute '{name}'")
    value = getattr(import_module(f"poplite.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
