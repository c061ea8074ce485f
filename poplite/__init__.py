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
    ControlProgramError,
    ElementTypeError,
    FileLoadError,
    GraphConnectionError,
    GraphCycleError,
    GraphRecursionError,
    InvalidMachineModel,
    InvalidTileMapping,
    PopliteError,
    SizeOverflowError,
    TensorCreationError,
    TensorIndexError,
    TensorMetadataError,
    UnknownField,
    UnknownName,
    VertexCompileError,
    VertexDefinitionError,
)

if TYPE_CHECKING:
    from poplite.clone import TensorCloneDuplicationMethod, TensorCloneMethod
    from poplite.compute_set import ComputeSet, VertexInstance
    from poplite.graph import Graph
    from poplite.joining import append, concat
    from poplite.mapping import TileMapping
    from poplite.program import (
        Call,
        Copy,
        Execute,
        Function,
        If,
        PrintTensor,
        Program,
        Repeat,
        RepeatWhileFalse,
        RepeatWhileTrue,
        Sequence,
        Switch,
    )
    from poplite.quarter import QuarterFormat, QuarterMetadata
    from poplite.rearrange import TensorRearranger
    from poplite.report import Report
    from poplite.simulator.engine import Engine
    from poplite.sorted_regions import SortedRegions, TileRegions
    from poplite.source import SourceLocation
    from poplite.target import Target
    from poplite.tensor import Tensor, UpsampleMethod
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
    )
    from poplite.var_regions import VariableInterval, VarRegions
    from poplite.variable import Variable
    from poplite.vertex import InOut, Input, MultiVertex, Output, State, Vector, Vertex
    from poplite.vertex_block import VertexBlock
    from poplite.view import Interval, Intervals

__version__ = "0.1.0"

_HOMES = {
    "clone": "TensorCloneDuplicationMethod TensorCloneMethod",
    "compute_set": "ComputeSet VertexInstance",
    "graph": "Graph",
    "joining": "append concat",
    "mapping": "TileMapping",
    "program": "Call Copy Execute Function If PrintTensor Program Repeat RepeatWhileFalse "
    "RepeatWhileTrue Sequence Switch",
    "quarter": "QuarterFormat QuarterMetadata",
    "rearrange": "TensorRearranger",
    "report": "Report",
    "simulator.engine": "Engine",
    "sorted_regions": "SortedRegions TileRegions",
    "source": "SourceLocation",
    "target": "Target",
    "tensor": "Tensor UpsampleMethod",
    "types": "BOOL CHAR FLOAT HALF INT LONGLONG QUARTER QUARTER_METADATA SHORT SIGNED_CHAR "
    "UNSIGNED_CHAR UNSIGNED_INT UNSIGNED_LONGLONG UNSIGNED_SHORT ElementType",
    "var_regions": "VarRegions VariableInterval",
    "variable": "Variable",
    "vertex": "InOut Input MultiVertex Output State Vector Vertex",
    "vertex_block": "VertexBlock",
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
    "ApplicationRuntimeError",
    "Call",
    "ComputeSet",
    "ControlProgramError",
    "Copy",
    "ElementType",
    "ElementTypeError",
    "Engine",
    "Execute",
    "FileLoadError",
    "Function",
    "Graph",
    "GraphConnectionError",
    "GraphCycleError",
    "GraphRecursionError",
    "If",
    "InOut",
    "Input",
    "Interval",
    "Intervals",
    "InvalidMachineModel",
    "InvalidTileMapping",
    "MultiVertex",
    "Output",
    "PopliteError",
    "PrintTensor",
    "Program",
    "QuarterFormat",
    "QuarterMetadata",
    "Repeat",
    "RepeatWhileFalse",
    "RepeatWhileTrue",
    "Report",
    "Sequence",
    "SizeOverflowError",
    "SortedRegions",
    "SourceLocation",
    "State",
    "Switch",
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
    "UnknownField",
    "UnknownName",
    "UpsampleMethod",
    "VarRegions",
    "Variable",
    "VariableInterval",
    "Vector",
    "Vertex",
    "VertexBlock",
    "VertexCompileError",
    "VertexDefinitionError",
    "VertexInstance",
    "append",
    "concat",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'poplite' has no attribute '{name}'")
    value = getattr(import_module(f"poplite.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
