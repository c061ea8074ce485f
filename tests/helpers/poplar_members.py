"""Names of Poplar that have no declaration: enumerations with their members, types, errors.

Source: the list of bindings that was generated from the SDK's headers for Julia (JuliaIPU/IPUToolkit.jl,
deps/wrapper/gen_inline.cpp in its history); what it leaves out, members that take streams, and
constructors and operators that every class has, is as the Poplar API reference has them. Types of
arguments are left out, names stand for their number.
"""

# ruff: noqa: E501  # one line a class reads as the list that it is

from __future__ import annotations

ENUMERATIONS = {
    "TargetType": "IPU IPU_MODEL CPU",
    "IpuLinkConfiguration": "Default SlidingWindow BarleyTwist",
    "IpuLinkTopology": "Mesh Torus Line",
    "DataStreamType": "HostToDeviceFIFO DeviceToHostFIFO HostToDeviceBuffer DeviceToHostBuffer",
    "ReplicatedStreamMode": "REPLICATE BROADCAST",
    "CodeletFileType": "Auto CppSource PreprocessedCppSource",
    "SerializationFormat": "Binary JSON",
    "FunctionBufferMappingType": "REMOTE",
    "SyncType": "INTERNAL EXTERNAL GLOBAL",
    "UpsampleMethod": "REPEAT",
    "VariableMappingMethod": "NONE LINEAR",
    "TensorCloneMethod": """PRESERVE_ORDER_AND_ALIASES CREATE_NEW_ORDER PRESERVE_ORDER_UNLESS_ALIASES
        GATHER_AND_PRESERVE_TILE_ORDER_AND_ALIASES""",
    "TensorCloneDuplicationMethod": "DUPLICATE_BY_OUTER_DIMENSION DUPLICATE_BY_TILE_CONTIGUOUS_REGION",
    "ErrorCode": """NONE UNKNOWN TRAP FLOATING_POINT_INVALID_OPERATION FLOATING_POINT_DIVIDE_BY_ZERO
        FLOATING_POINT_OVERFLOW TILE_MEMORY_BANK_CONFLICT INVALID_EXCHANGE_CONFIGURATION INVALID_ADDRESS INVALID_OPERAND
        INVALID_PROGRAM_COUNTER INVALID_INSTRUCTION EXCHANGE_ERROR MEMORY_ERROR IPUSOFTERR LINK_DOWN HOST_LINK_DOWN
        HOST_SYNC_TIMEOUT IPU_MEMORY_FAILURE""",
    "IPUModel.RelativeSyncDelayType": "AUTO NO_DELAY",
    "StreamCallback.Result": "Success NotAvailable",
    "QuarterMetadata.Format": "F143 F152",
    "PrintTensorFmt.FloatFormat": "Auto Fixed Scientific None_",
    "layout.Vector": "NotAVector Span ShortSpan OnePtr ScaledPtr32 ScaledPtr64 ScaledPtr128",
    "layout.VectorList": "NotAVector OnePtr ScaledPtr32 ScaledPtr64 ScaledPtr128 DeltaN DeltaNElements",
}
"""Enumerations and their members; `None`, a keyword of Python, has a line behind it."""

NAMES = [
    # types
    *(
        "BOOL",
        "CHAR",
        "SIGNED_CHAR",
        "UNSIGNED_CHAR",
        "SHORT",
        "SIGNED_SHORT",
        "UNSIGNED_SHORT",
        "INT",
    ),
    *("SIGNED_INT", "SIGNED", "UNSIGNED_INT", "UNSIGNED", "LONG", "UNSIGNED_LONG", "LONGLONG"),
    *(
        "UNSIGNED_LONGLONG",
        "QUARTER",
        "QUARTER_METADATA",
        "HALF",
        "FLOAT",
        "DOUBLE",
        "equivalent_device_type",
    ),
    *(
        "TypeTraits",
        "ArrayRef",
        "StringRef",
        "replication_factor",
    ),
    # vertices
    *(
        "Vertex",
        "MultiVertex",
        "SupervisorVertex",
        "SupervisorVertexIf",
        "ExternalExchangeVertex",
        "Input",
    ),
    *(
        "Output",
        "InOut",
        "Vector",
        "VectorLayout",
        "VectorListLayout",
    ),
    # classes that are refused, and namespaces
    *("GlobalExchangeFlow", "GlobalExchangeConstraint", "ProfileValue"),
    *("DebugSerializationFormat", "DebugInfo", "DebugNameAndId", "DebugContext", "ErrorLocation"),
    *(
        "RecoveryAction",
        "VertexEdgeInfo",
        "HostCallback",
        "HostCallbackHandle",
        "Module",
        "Preallocations",
    ),
    *(
        "StreamCallbackBase",
        "StreamCallbackHandle",
        "StreamCallbackWithMetadata",
        "ResumableStreamCallback",
    ),
    *(
        "LegacyStreamCallback",
        "program",
        "layout",
    ),
    # errors
    *("poplar_error", "graph_program_compilation_error", "graph_object_creation_error"),
    *("graph_object_load_error", "no_environment", "unknown_vertex_type", "unknown_field"),
    *(
        "control_program_error",
        "type_error",
        "index_error",
        "no_size_specified",
        "graph_connection_error",
    ),
    *(
        "graph_cycle_error",
        "graph_recursion_error",
        "graph_replication_error",
        "profiling_disabled",
    ),
    *(
        "missing_profile_data",
        "missing_graph_profile",
        "missing_perf_estimate",
        "invalid_tile_mapping",
    ),
    *(
        "tensor_creation_error",
        "tensor_io_state_error",
        "tensor_metadata_error",
        "stream_connection_error",
    ),
    *("overflow_error", "memory_elem_constraints_error", "graph_memory_allocation_error"),
    *("stream_memory_allocation_error", "invalid_machine_model", "invalid_option", "link_error"),
    *(
        "runtime_error",
        "application_runtime_error",
        "system_runtime_error",
        "recoverable_runtime_error",
    ),
    *(
        "unrecoverable_runtime_error",
        "unknown_runtime_error",
        "symbol_error",
        "file_load_error",
        "parse_error",
    ),
]
"""Names of the namespace that are not functions, and neither enumerations nor classes above."""

NESTED = (
    "Graph.ConnectionDesc",
    "Engine.TimerTimePoint",
    "FieldData.SizeT",
    "OptionFlags.iterator",
)
"""Classes within classes."""
