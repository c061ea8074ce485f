"""What Poplar and PopLibs have and poplite does not: why not, and what to use instead.

    graph.addCodelets(...)       poplite has no Graph.addCodelets
    pl.compileModule             poplite has no pl.compileModule

A line has names, the reason that they share, and what to use instead, if anything. Members of
classes become `poplite.errors.Absent` when the class is defined; a namespace refuses its names when
they are looked up.
"""

# ruff: noqa: E501  # one line a reason reads as the table that it is

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from poplite.errors import AbsentMember
from poplite.source import here

_MEMBERS: Mapping[str, str] = MappingProxyType(
    {
        "Graph": """
addCodelets | vertex classes are Python; C++, assembly and .gp files are not read | class MyVertex(pl.Vertex)
addExternalVariable | an executable is whole: no variable is of another module | graph.add_variable(...)
ConnectionDesc | a connection is a pair of a name and what it is connected to | ("x", tensor)
addExternalExchangeVertex | tiles have no exchange code of their own | pl.Copy(source, destination)
""",
        "Engine": """
TimerTimePoint | points in time are seconds | engine.getTimeStamp()
insertSimulatedError eraseSimulatedError clearSimulatedErrors getSimulatedErrorLocations | the machine that is simulated has no faults
""",
        "Target": """
getNumTilesPerXBContext getNumContextsPerXB | contexts of the exchange block are not modelled | target.getTilesPerSharedExchangeBus()
getTileHostExchangeXB getTileHostExchangeContext getTileHostExchangeContextPosition | contexts of the exchange block are not modelled
makeFpIctlValue | registers of the machine are not modelled | pl.FloatingPointBehaviour(...)
getFpIctlRegIndex | registers of the machine are not modelled | pl.set_floating_point_behaviour(...)
getDbgDataRegIndex | registers of the machine are not modelled | pl.PrintTensor(x)
""",
        "Device": """
getDriverVersion | a device is a machine to simulate | pl.version_string()
getNumaTopology getNumaNodesUsedForIPUs | a device is a machine to simulate
reset | a device is a machine to simulate | engine.load()
""",
        "IPUModel": """
supportsSuperTileSendReceive | the version decides it | Target(costs={'pair_tiles': 2})
globalExchangeConstraints | links are modelled by their lanes | Target(ipus=2)
interleavedMemoryElementIndex | the version decides it | Target(costs={'interleaved_begin_bytes': 212_992})
memoryElementOffsets | the version decides it | Target(costs={'memory_element_bytes': 16_384})
fp8InFp16OutConvUnitsPerTile fp16InFp16OutConvUnitsPerTile fp32InFp32OutConvUnitsPerTile fp8ConvUnitMaxPipelineDepth fp8ConvUnitInputLoadElemsPerCycle fp16ConvUnitMaxPipelineDepth fp16ConvUnitInputLoadElemsPerCycle fp32ConvUnitMaxPipelineDepth fp32ConvUnitInputLoadElemsPerCycle | the version decides it | Target(costs={'amp_outputs': 16})
fp16InFp32OutConvUnitsPerTile | the version decides it | Target(costs={'amp_mixed_outputs': 8})
""",
        "OptionFlags": """
iterator begin | options are those of a dictionary | for name, value in flags.items(): ...
""",
        "VertexInstance": """
getId | vertices are numbered within their compute set | vertex.index
""",
        "FieldData": """
SizeT | sizes are numbers | vertex.field_info("x").size
""",
    }
)
"""Members, by our name of their class."""

_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "pl": """
compileModule Module | an executable is whole: modules that are linked later are not compiled alone | pl.compile_graph(graph, program)
Preallocations | addresses are chosen when a program is compiled
DebugContext | names are strings, and the lines of the program that made each object are kept | with graph.scope("layer"): ...
DebugNameAndId | names are strings | with graph.scope("layer"): ...
DebugInfo DebugSerializationFormat | the lines of the program that made each object are kept by themselves | with graph.scope("layer"): ...
ProfileValue getAsProfileValue | a profile is made of Python's own values | engine.report().to_json()
LegacyStreamCallback StreamCallbackHandle | any function can be connected | engine.connect_stream_to_callback(handle, function)
ResumableStreamCallback | callbacks run in the thread that calls engine.run, and end before it goes on | pl.StreamCallback
StreamCallbackWithMetadata | the metadata of a QUARTER stream is given when it is connected | engine.connect_stream(handle, codes, metadata=...)
SupervisorVertex SupervisorVertexIf | what runs on a tile's supervisor is not modelled | class MyVertex(pl.MultiVertex)
ExternalExchangeVertex | tiles have no exchange code of their own | pl.Copy(source, destination)
CodeletFileType getCodeletFileType getExtensionFromFileType getLanguageOption | vertex classes are Python; C++, assembly and .gp files are not read | class MyVertex(pl.Vertex)
LONG | Poplar names it, and tiles cannot hold it | pl.LONGLONG
UNSIGNED_LONG | Poplar names it, and tiles cannot hold it | pl.UNSIGNED_LONGLONG
DOUBLE | Poplar names it, and tiles cannot hold it | pl.FLOAT
equivalent_device_type | element types and NumPy's are taken wherever a type is | pl.FLOAT, or np.float32
TypeTraits | an element type has what they tell as attributes | pl.FLOAT.size_bytes
ArrayRef | lists and arrays are passed as they are | [x, y]
StringRef | names are strings | "x"
replication_factor | it is a number | pl.Graph(target, replication_factor=2)
compilePreallocations | addresses are chosen when a program is compiled | pl.compile_graph(graph, program)
HostCallback | any function can be connected | engine.connect_host_function(handle, function)
HostCallbackHandle | a function is connected by its handle | engine.connect_host_function(handle, function)
errorCodeToString | an error code is an enumeration | pl.ErrorCode.TRAP.name
errorCodeFromString | an error code is an enumeration | pl.ErrorCode[name]
ErrorLocation | an error names the step and the line of the program | error.where, error.at
isDeviceToHost | a stream has a type | stream.type is pl.DataStreamType.DEVICE_TO_HOST_FIFO
isRemoteBuffer | a remote buffer is a class of its own | isinstance(x, pl.RemoteBuffer)
isHostToDevice | a stream has a type | stream.type is pl.DataStreamType.HOST_TO_DEVICE_FIFO
GlobalExchangeFlow GlobalExchangeConstraint | links are modelled by their lanes | pl.Target(ipus=2)
VertexEdgeInfo | fields of a vertex tell their sizes | vertex.field_info("x")
link_error | nothing is linked | pl.VertexCompileError
graph_object_creation_error | vertex classes are Python | pl.VertexCompileError
graph_object_load_error | vertex classes are Python; object files are not read | pl.FileLoadError
no_environment | nothing has to be installed beside the package | pl.PopliteError
missing_perf_estimate | a vertex without an estimate is priced by its code | pl.PopliteError
missing_profile_data missing_graph_profile | a report is always whole | pl.ProfilingDisabled
tensor_io_state_error | any view can be read and written by the host | pl.GraphConnectionError
runtime_error | a program and a device fail with classes of their own | except (pl.ApplicationRuntimeError, pl.DeviceRuntimeError)
recoverable_runtime_error unrecoverable_runtime_error unknown_runtime_error RecoveryAction | the machine that is simulated does not fail | pl.DeviceRuntimeError
packageHash | the version tells which poplite it is | pl.version_string()
""",
    }
)
"""Names, by their namespace."""


@cache
def absent_members(owner: str) -> Mapping[str, tuple[str, str]]:
    """Return each member of a class that is absent: why, and what to use instead."""
    return _read(_MEMBERS.get(owner, ""))


@cache
def absent_names(namespace: str) -> Mapping[str, tuple[str, str]]:
    """Return each name of a namespace that is absent: why, and what to use instead."""
    return _read(_NAMES.get(namespace, ""))


def owners() -> tuple[str, ...]:
    """Return our names of the classes that Poplar has more members of."""
    return tuple(_MEMBERS)


def absent(namespace: str, name: str) -> AbsentMember | None:
    """Return the error for a name that is absent from a namespace; None for any other name."""
    if name not in absent_names(namespace):
        return None
    reason, instead = absent_names(namespace)[name]
    return AbsentMember(f"poplite has no {namespace}.{name}", at=here(), found=reason, fix=instead)


def _read(text: str) -> Mapping[str, tuple[str, str]]:
    found: dict[str, tuple[str, str]] = {}
    for line in text.strip().splitlines():
        names, reason, *instead = (part.strip() for part in line.split(" | "))
        found |= dict.fromkeys(names.split(), (reason, "".join(instead)))
    return MappingProxyType(found)
