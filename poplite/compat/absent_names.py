"""Names of Poplar's namespace that poplite does not have: each is refused with the reason.

    pl.compileModule        poplite has no pl.compileModule: an executable is whole ...

What classes do not have stands in the classes, as `poplite.errors.Absent`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

NAMES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "compileModule": (
            "an executable is whole: modules that are linked later are not compiled alone",
            "pl.compile_graph(graph, program)",
        ),
        "Preallocations": ("addresses are chosen when a program is compiled", ""),
        "DebugContext": (
            "names are strings, and the lines of the program that made each object are kept",
            'with graph.scope("layer"): ...',
        ),
        "DebugNameAndId": ("names are strings", 'with graph.scope("layer"): ...'),
        "DebugInfo": (
            "the lines of the program that made each object are kept by themselves",
            'with graph.scope("layer"): ...',
        ),
        "ProfileValue": ("a profile is made of Python's own values", "engine.report().to_json()"),
        "LegacyStreamCallback": (
            "any function can be connected",
            "engine.connect_stream_to_callback(handle, function)",
        ),
        "ResumableStreamCallback": (
            "callbacks run in the thread that calls engine.run, and end before it goes on",
            "pl.StreamCallback",
        ),
        "StreamCallbackWithMetadata": (
            "the metadata of a QUARTER stream is given when it is connected",
            "engine.connect_stream(handle, codes, metadata=...)",
        ),
        "SupervisorVertex": (
            "what runs on a tile's supervisor is not modelled",
            "class MyVertex(pl.MultiVertex)",
        ),
        "SupervisorVertexIf": (
            "what runs on a tile's supervisor is not modelled",
            "class MyVertex(pl.MultiVertex)",
        ),
        "ExternalExchangeVertex": (
            "tiles have no exchange code of their own",
            "pl.Copy(source, destination)",
        ),
        "CodeletFileType": (
            "vertex classes are Python; C++, assembly and .gp files are not read",
            "class MyVertex(pl.Vertex)",
        ),
        "LONG": ("Poplar names it, and tiles cannot hold it", "pl.LONGLONG"),
        "UNSIGNED_LONG": (
            "Poplar names it, and tiles cannot hold it",
            "pl.UNSIGNED_LONGLONG",
        ),
        "DOUBLE": ("Poplar names it, and tiles cannot hold it", "pl.FLOAT"),
        "equivalent_device_type": (
            "element types and NumPy's are taken wherever a type is",
            "pl.FLOAT, or np.float32",
        ),
        "TypeTraits": ("an element type has what they tell as attributes", "pl.FLOAT.size_bytes"),
        "ArrayRef": ("lists and arrays are passed as they are", "[x, y]"),
        "StringRef": ("names are strings", '"x"'),
        "replication_factor": ("it is a number", "pl.Graph(target, replication_factor=2)"),
        "Module": (
            "an executable is whole: modules that are linked later are not compiled alone",
            "pl.compile_graph(graph, program)",
        ),
        "compilePreallocations": (
            "addresses are chosen when a program is compiled",
            "pl.compile_graph(graph, program)",
        ),
        "HostCallback": (
            "any function can be connected",
            "engine.connect_host_function(handle, function)",
        ),
        "HostCallbackHandle": (
            "a function is connected by its handle",
            "engine.connect_host_function(handle, function)",
        ),
        "errorCodeToString": ("an error code is an enumeration", "pl.ErrorCode.TRAP.name"),
        "errorCodeFromString": ("an error code is an enumeration", "pl.ErrorCode[name]"),
        "ErrorLocation": (
            "an error names the step and the line of the program",
            "error.where, error.at",
        ),
        "getAsProfileValue": (
            "a profile is made of Python's own values",
            "engine.report().to_json()",
        ),
        "isDeviceToHost": (
            "a stream has a type",
            "stream.type is pl.DataStreamType.DEVICE_TO_HOST_FIFO",
        ),
        "isRemoteBuffer": (
            "a remote buffer is a class of its own",
            "isinstance(x, pl.RemoteBuffer)",
        ),
        "getCodeletFileType": (
            "vertex classes are Python; C++, assembly and .gp files are not read",
            "class MyVertex(pl.Vertex)",
        ),
        "getExtensionFromFileType": (
            "vertex classes are Python; C++, assembly and .gp files are not read",
            "class MyVertex(pl.Vertex)",
        ),
        "getLanguageOption": (
            "vertex classes are Python; C++, assembly and .gp files are not read",
            "class MyVertex(pl.Vertex)",
        ),
        "isHostToDevice": (
            "a stream has a type",
            "stream.type is pl.DataStreamType.HOST_TO_DEVICE_FIFO",
        ),
        "GlobalExchangeFlow": ("links are modelled by their lanes", "pl.Target(ipus=2)"),
        "GlobalExchangeConstraint": ("links are modelled by their lanes", "pl.Target(ipus=2)"),
        "DebugSerializationFormat": (
            "the lines of the program that made each object are kept by themselves",
            'with graph.scope("layer"): ...',
        ),
        "VertexEdgeInfo": ("fields of a vertex tell their sizes", 'vertex.field_info("x")'),
        "StreamCallbackHandle": (
            "any function can be connected",
            "engine.connect_stream_to_callback(handle, function)",
        ),
        "link_error": ("nothing is linked", "pl.VertexCompileError"),
        "graph_object_creation_error": ("vertex classes are Python", "pl.VertexCompileError"),
        "graph_object_load_error": (
            "vertex classes are Python; object files are not read",
            "pl.FileLoadError",
        ),
        "no_environment": ("nothing has to be installed beside the package", "pl.PopliteError"),
        "missing_perf_estimate": (
            "a vertex without an estimate is priced by its code",
            "pl.PopliteError",
        ),
        "missing_profile_data": ("a report is always whole", "pl.ProfilingDisabled"),
        "missing_graph_profile": ("a report is always whole", "pl.ProfilingDisabled"),
        "tensor_io_state_error": (
            "any view can be read and written by the host",
            "pl.GraphConnectionError",
        ),
        "runtime_error": (
            "a program and a device fail with classes of their own",
            "except (pl.ApplicationRuntimeError, pl.DeviceRuntimeError)",
        ),
        "recoverable_runtime_error": (
            "the machine that is simulated does not fail",
            "pl.DeviceRuntimeError",
        ),
        "unrecoverable_runtime_error": (
            "the machine that is simulated does not fail",
            "pl.DeviceRuntimeError",
        ),
        "unknown_runtime_error": (
            "the machine that is simulated does not fail",
            "pl.DeviceRuntimeError",
        ),
        "RecoveryAction": ("the machine that is simulated does not fail", "pl.DeviceRuntimeError"),
        "packageHash": ("the version tells which poplite it is", "pl.version_string()"),
    }
)
"""Names of Poplar's namespace that poplite does not have: why, and what to write instead."""
