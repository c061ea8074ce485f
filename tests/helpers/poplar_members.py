"""Poplar's own members: each class with the signatures of SDK 3.3, and each enumeration.

Source: the list of bindings that was generated from the SDK's headers for Julia (JuliaIPU/IPUToolkit.jl,
deps/wrapper/gen_inline.cpp in its history); what it leaves out, members that take streams, and
constructors and operators that every class has, is as the Poplar API reference has them. Types of
arguments are left out, names stand for their number.
"""

# ruff: noqa: E501  # one line a class reads as the list that it is

from __future__ import annotations

from typing import NamedTuple


class Signature(NamedTuple):
    """A member with its arguments.

    Attributes:
        owner: the class, or empty for a free function.
        name: the member; that of the class for a constructor.
        arguments: how many there are, with those that may be left out.
    """

    owner: str
    name: str
    arguments: int


_CLASSES = {
    "Type": "toString() hash() isFloatingPoint() requiresMetadata()",
    "Interval": "begin() end() size()",
    "VariableRef": "hash()",
    "VariableInterval": "VariableInterval(a,b) var interval",
    "OptionFlags": "OptionFlags(a) set(a,b) at(a) find(a) size() clear() begin() end()",
    "RuntimeOptions": "RuntimeOptions(a)",
    "SourceLocation": "getFunctionName() getFileName() getLineNumber() isValid() Current()",
    "Target": """hash() getTargetType() getTargetSystemString() getTargetArchString() getNumIPUs() getTilesPerIPU()
        getNumWorkerContexts() getBytesPerTile() getExchangeBytesPerCycle() getMemcpyBytesPerCycle() getMinIPUSyncDelay()
        getGlobalSyncCycles() getMemoryElementOffsets() getInterleavedMemoryElementIndex() getNumStrideBits()
        getDataPathWidth() getFp8ConvUnitMaxPipelineDepth() getFp16ConvUnitMaxPipelineDepth()
        getFp32ConvUnitMaxPipelineDepth() getFp8ConvUnitInputLoadElemsPerCycle() getFp16ConvUnitInputLoadElemsPerCycle()
        getFp32ConvUnitInputLoadElemsPerCycle() getFp16InFp16OutConvUnitsPerTile() getFp16InFp32OutConvUnitsPerTile()
        getFp32InFp32OutConvUnitsPerTile() getFp8InFp16OutConvUnitsPerTile() getConvUnitCoeffLoadBytesPerCycle()
        getRptCountMax() supportsExchangeBusSharing() getTilesPerSharedExchangeBus() getNumTiles() getMemoryBytes()
        getFloatVectorWidth() getHalfVectorWidth() getQuarterVectorWidth() getVectorWidth(a) getWeightsPerConvUnit(a)
        getConvUnitInputLoadElemsPerCycle(a) getConvUnitMaxPipelineDepth(a) getNumConvUnits(a,b) getMaxIPUSyncDelay()
        getTileClockFrequency() getNumTilesPerXBContext() getNumContextsPerXB() getTileHostExchangeXB(a)
        getTileHostExchangeContext(a) getTileHostExchangeContextPosition(a) getTypeSize(a) getAtomicStoreGranularity()
        makeFpIctlValue(a,b,c,d,e) getFpIctlRegIndex() getDbgDataRegIndex() getIpuLinkConfiguration() getIpuLinkTopology()
        getIpuLinkDomainSize() getInstanceSize() getGatewayMode() createVirtualTarget(a,b) createCPUTarget(a,b)
        createIPUTarget(a,b) createIPUTarget(a,b,c) createIPUTarget(a,b,c,d) getTypeLimitsMaxAs(a)
        getTypeLimitsLowestAs(a)""",
    "Device": """getId() getTarget() attach() isAttached() detach() getDriverVersion(a,b,c) supportsRemoteBuffers()
        hasGateway() getAttributes() getNumaTopology() getNumaNodesUsedForIPUs() getDriverIDs() reset()
        createVirtualDevice(a) createCPUDevice(a) createSimulatorDevice(a,b)""",
    "DeviceManager": """getNumDevices() getDevices() getDevices(a,b,c) getDevice(a,b) getChildDeviceIds(a,b)
        createDeviceManager()""",
    "IPUModel": """IPUModel(a) createDevice(a,b,c) IPUVersion numIPUs tilesPerIPU numWorkerContexts memoryBytesPerTile
        tileClockFrequency exchangeBytesPerCycle dataPathWidth memcpyBytesPerCycle minIPUSyncDelay relativeSyncDelay
        globalSyncCycles numStrideBits rptCountMax atomicStoreGranularity instructionBytes
        convUnitCoeffLoadBytesPerCycle tilesPerSuperTile compileIPUCode supportsSuperTileSendReceive
        globalExchangeConstraints interleavedMemoryElementIndex memoryElementOffsets fp8InFp16OutConvUnitsPerTile
        fp16InFp16OutConvUnitsPerTile fp16InFp32OutConvUnitsPerTile fp32InFp32OutConvUnitsPerTile
        fp8ConvUnitMaxPipelineDepth fp8ConvUnitInputLoadElemsPerCycle fp16ConvUnitMaxPipelineDepth
        fp16ConvUnitInputLoadElemsPerCycle fp32ConvUnitMaxPipelineDepth fp32ConvUnitInputLoadElemsPerCycle""",
    "Executable": "serialize(a) deserialize(a)",
    "DataStream": "handle() numElements() replicationFactor() replicatedMode() type() elementType()",
    "RemoteBuffer": """handle() getIpuToHostStream() getHostToIpuStream() numElements() getRepeats() elementType()
        isRearrangeOnHost() isOptimisedForMemory()""",
    "StreamCallback": "prefetch(a) fetch(a) complete() invalidatePrefetched()",
    "VertexRef": "getId()",
    "FieldRef": "isIndexed() getIndex()",
    "ComputeSet": "getId()",
    "Function": "getId()",
    "FunctionBuffer": "getId()",
    "HostFunction": "getId()",
    "VertexIntrospector": "getFieldInfo(a)",
    "FieldData": """rank() size() getSizeAtIndex(a) getProfilerVectorLayout(a) getProfilerVectorListLayout() name()
        getInitialValue(a) getInitialValues(a)""",
    "VertexPerfEstimate": "VertexPerfEstimate(a,b)",
    "QuarterMetadata": "QuarterMetadata(a,b) getBinary()",
    "TensorRearranger": """rearrange(a) rearrange(a) undoRearrangement(a) undoRearrangement(a) valid()""",
    "FloatingPointBehaviour": "FloatingPointBehaviour(a,b,c,d,e)",
    "poplar_error": "what() attachSourceLocation(a)",
    "Tensor": """elementType() operator[](a) operator[](a) slice(a,b,c) slice(a,b) slice(a,b) slices(a,b) slices(a,b)
        slices(a,b) index(a) flatten() flatten(a,b) reshape(a) dimShuffle(a) dimShufflePartial(a,b) dimRoll(a,b)
        reshapePartial(a,b,c) expand(a) squeeze(a) transpose() subSample(a,b) upsample(a,b,c) broadcast(a,b)
        reinterpret(a) reverse(a) numElements() dim(a) shape() rank() isContiguous() containsAliases() containsConstant()
        isParallelWriteable() getContiguousRegions() getVarRegions() intersectsWith(a) shapeToString() dump()
        dumpRegions() output(a) outputRegions(a) getVarStr() getDebugStr() valid() getConstantValue(a) getMetadata()
        hasMetadata() operator==(a)""",
    "Graph": """Graph(a,b) Graph(a,b) getTarget() addCodelets(a,b,c,d) addCodelets(a,b,c) addVertex(a,b) addVertex(a,b,c)
        addExternalExchangeVertex(a,b,c,d,e) addVariable(a,b,c) addVariable(a,b,c,d) addVariable(a,b,c,d)
        addVariable(a,b,c,d,e) addExternalVariable(a,b,c,d) addConstant(a,b,c,d) addConstant(a,b,c,d)
        addConstant(a,b,c,d,e) addConstantHalf(a,b,c,d) addConstantHalf(a,b,c,d) clone(a,b,c) clone(a,b,c,d) clone(a,b,c,d)
        clone(a,b,c,d,e) cloneN(a,b,c,d,e) cloneN(a,b,c,d,e,f) cloneN(a,b,c,d,e,f) cloneN(a,b,c,d,e,f,g) connect(a,b)
        connect(a,b) connect(a,b) setPerfEstimate(a,b,c) setPerfEstimate(a,b) getPerfEstimate(a) registerPerfEstimator(a,b)
        getNumVertices() addComputeSet(a) setFieldSize(a,b) getFieldSize(a) getMaxFieldDim(a,b,c)
        getMaxVertexFieldValue(a,b) getMaxVertexFieldValueAs(a,b) setInitialValue(a,b) setInitialValue(a,b)
        setInitialValue(a,b) setInitialValue(a,b) setInitialValue(a,b) setInitialValueHalf(a,b) setInitialValueHalf(a,b)
        setInitialValueHalf(a,b) setInitialValueHalf(a,b) createHostWrite(a,b,c) createHostRead(a,b,c)
        addHostToDeviceFIFO(a,b,c,d,e) addDeviceToHostFIFO(a,b,c,d) addRemoteBuffer(a,b,c,d,e,f) setTileMapping(a,b)
        setTileMapping(a,b) setTileMapping(a,b) getTileMapping(a,b,c) getTileMapping(a,b,c) getVariableTileMapping(a) getVariable(a) isConstant(a)
        getSortedContiguousRegions(a,b,c,d) reorderToSimplify(a,b,c) getSimplifyingRearranger(a) findUnbroadcastTensor(a)
        createVirtualGraph(a) createVirtualGraph(a,b) createVirtualGraph(a) getTopLevelGraph() getReplicationFactor()
        addReplicationIndexConstant(a) addFunction(a) addFunctionBuffer(a,b) addHostFunction(a,b,c)
        convertTileToTopLevelGraphTile(a) convertTopLevelGraphTileToTile(a) convertVirtualTileToPhysicalTile(a)
        convertPhysicalTileToVirtualTile(a) convertPhysicalTileToVirtualTile(a,b) hasCodelet(a) outputVertexGraph(a,b)
        outputComputeGraph(a,b) serialize(a,b) serialize(a,b,c) serializeTensors(a,b,c) deserializeTensors(a,b)""",
    "Program": "Program() isEmpty() operator==(a)",
    "Execute": "Execute(a,b) Execute(a,b,c)",
    "Sequence": "Sequence(a,b) add(a)",
    "Repeat": "Repeat(a,b,c)",
    "RepeatWhileFalse": "RepeatWhileFalse(a,b,c,d)",
    "RepeatWhileTrue": "RepeatWhileTrue(a,b,c,d)",
    "Loop": "Loop(a,b)",
    "If": "If(a,b,c,d)",
    "Switch": """Switch(a,b,c) Switch(a,b,c,d) Switch(a,b) Switch(a,b,c) add(a,b) switchWithBoundsChecking(a,b,c)
        switchWithUnreachableDefault(a,b)""",
    "Copy": """Copy(a,b,c,d) Copy(a,b,c,d) Copy(a,b,c,d) Copy(a,b,c) Copy(a,b,c,d) Copy(a,b,c) Copy(a,b,c,d)
        Copy(a,b,c)""",
    "CrossReplicaCopy": "CrossReplicaCopy(a,b,c,d)",
    "WriteUndef": "WriteUndef(a,b)",
    "AssumeEqualAcrossReplicas": "AssumeEqualAcrossReplicas(a,b)",
    "Block": "Block(a,b)",
    "Sync": "Sync(a,b)",
    "Call": "Call(a,b) Call(a,b,c,d)",
    "PrintTensor": "PrintTensor(a,b,c) PrintTensor(a,b,c,d) PrintTensor(a,b) PrintTensor(a,b,c)",
    "ErrorProgram": "ErrorProgram(a,b,c)",
    "Abort": "Abort(a) Abort(a,b)",
    "AbortOnCondition": "AbortOnCondition(a,b) AbortOnCondition(a,b,c)",
    "PrintTensorFmt": "PrintTensorFmt(a,b,c,d,e,f,g,h) disableFormatting()",
    "Engine": """Engine(a,b,c,d,e) Engine(a,b) prepare(a,b) deploy() load(a) run(a,b) run(a,b,c) stop() loadAndRun(a,b)
        getTimeStamp() reportTiming(a,b) resetExecutionProfile() disableExecutionProfiling() enableExecutionProfiling()
        readTensor(a,b) readTensor(a,b,c) writeTensor(a,b) writeTensor(a,b,c) connectStream(a,b) connectStream(a,b,c)
        connectStreamToCallback(a,b) connectStreamToCallback(a,b,c) connectHostFunction(a,b,c)
        copyFromRemoteBuffer(a,b,c,d) copyToRemoteBuffer(a,b,c,d) listStreams() getEngineOptions() getReport(a)
        printProfileSummary(a,b) setPrintStream(a) setPrintTensorStream(a) insertSimulatedError(a,b)
        eraseSimulatedError(a) clearSimulatedErrors() getSimulatedErrorLocations(a,b)""",
    "": """concat(a,b) concat(a,b,c) append(a,b,c) append(a,b) compileGraph(a,b,c,d,e) compileGraph(a,b,c,d,e,f)
        compileModule(a,b,c,d,e) compileModule(a,b,c,d,e,f) setFloatingPointBehaviour(a,b,c,d)
        setFloatingPointBehaviour(a,b,c,d) setStochasticRounding(a,b,c,d) getAndModifyFloatingPointBehaviour(a,b,c,d,e)
        cycleCount(a,b,c,d,e) cycleStamp(a,b,c,d,e) dumpProgram(a,b,c) versionString() packageHash() getAsProfileValue(a)
        readJSON(a,b) readJSONFromEnv(a,b) copyDeviceHalfToFloat(a,b,c,d) copyFloatToDeviceHalf(a,b,c,d)
        copyDeviceHalfToDouble(a,b,c,d) copyDoubleToDeviceHalf(a,b,c,d) getCodeletFileType(a) getExtensionFromFileType(a)
        getLanguageOption(a) isDeviceToHost(a) isHostToDevice(a) isRemoteBuffer(a) errorCodeToString(a)
        errorCodeFromString(a)""",
    "layout": "to_string(a) to_string(a)",
}

ENUMERATIONS = {
    "TargetType": "IPU IPU_MODEL CPU",
    "IpuLinkConfiguration": "Default SlidingWindow BarleyTwist",
    "IpuLinkTopology": "Mesh Torus Line",
    "DataStreamType": "HostToDeviceFIFO DeviceToHostFIFO HostToDeviceBuffer DeviceToHostBuffer",
    "ReplicatedStreamMode": "REPLICATE BROADCAST",
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
    *("GlobalExchangeFlow", "GlobalExchangeConstraint", "CodeletFileType", "ProfileValue"),
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
"""Names of the namespace that are no functions, and neither enumerations nor classes above."""

NESTED = (
    "Graph.ConnectionDesc",
    "Engine.TimerTimePoint",
    "FieldData.SizeT",
    "OptionFlags.iterator",
)
"""Classes within classes."""


def _signatures() -> list[Signature]:
    found = []
    for owner, text in _CLASSES.items():
        for word in text.split():
            name, _, arguments = word.partition("(")
            arguments = arguments.removesuffix(")")
            found.append(Signature(owner, name, len(arguments.split(",")) if arguments else 0))
    return found


SIGNATURES = _signatures()
"""All members of classes, and the free functions."""
