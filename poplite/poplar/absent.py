"""Members of Poplar or PopLibs that poplite lacks, each with the reason.

    graph.addCodelets(...)       poplite has no Graph.addCodelets
    pl.compileModule             poplite has no pl.compileModule
    popops.sequenceSlice         poplite has no popops.sequenceSlice

A line has names, their common reason, and an alternative, if there is one. Members of classes
become `poplite.errors.Absent` when the class is defined; a namespace rejects its absent names when
they are looked up.
"""

# ruff: noqa: E501  # a table with one line per reason

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any, NoReturn

from poplite.errors import AbsentMember, did_you_mean

MEMBERS: Mapping[str, str] = MappingProxyType(
    {
        "Graph": """
addExternalVariable | an executable has no separate modules, so a variable cannot belong to another one | graph.add_variable(...)
ConnectionDesc | a connection is a pair of a field name and a tensor | ("x", tensor)
addExternalExchangeVertex | exchange code of a tile cannot be written by hand | pl.Copy(source, destination)
""",
        "Engine": """
TimerTimePoint | points in time are numbers of seconds | engine.getTimeStamp()
insertSimulatedError eraseSimulatedError clearSimulatedErrors getSimulatedErrorLocations | hardware faults are not simulated
""",
        "Target": """
getNumTilesPerXBContext getNumContextsPerXB | contexts of the exchange block are not modelled | target.getTilesPerSharedExchangeBus()
getTileHostExchangeXB getTileHostExchangeContext getTileHostExchangeContextPosition | contexts of the exchange block are not modelled
makeFpIctlValue | registers of the machine are not modelled | pl.FloatingPointBehaviour(...)
getFpIctlRegIndex | registers of the machine are not modelled | pl.set_floating_point_behaviour(...)
getDbgDataRegIndex | registers of the machine are not modelled | pl.PrintTensor(x)
""",
        "Device": """
getDriverVersion | a device is simulated | pl.version_string()
getNumaTopology getNumaNodesUsedForIPUs | a device is simulated
reset | a device is simulated | engine.load()
""",
        "IPUModel": """
supportsSuperTileSendReceive | the version determines it | Target(costs={'pair_tiles': 2})
globalExchangeConstraints | links are modelled by their lanes | Target(ipus=2)
interleavedMemoryElementIndex | the version determines it | Target(costs={'interleaved_begin_bytes': 212_992})
memoryElementOffsets | the version determines it | Target(costs={'memory_element_bytes': 16_384})
fp8InFp16OutConvUnitsPerTile fp16InFp16OutConvUnitsPerTile fp32InFp32OutConvUnitsPerTile fp8ConvUnitMaxPipelineDepth fp8ConvUnitInputLoadElemsPerCycle fp16ConvUnitMaxPipelineDepth fp16ConvUnitInputLoadElemsPerCycle fp32ConvUnitMaxPipelineDepth fp32ConvUnitInputLoadElemsPerCycle | the version determines it | Target(costs={'amp_outputs': 16})
fp16InFp32OutConvUnitsPerTile | the version determines it | Target(costs={'amp_mixed_outputs': 8})
""",
        "OptionFlags": """
iterator begin | options are a Python dictionary | for name, value in flags.items(): ...
""",
        "VertexInstance": """
getId | vertices are numbered within their compute set | vertex.index
""",
        "FieldData": """
SizeT | sizes are numbers | vertex.field_info("x").size
""",
    }
)
"""Members, by our name for their class."""

NAMES: Mapping[str, str] = MappingProxyType(
    {
        "pl": """
compileModule Module | an executable is compiled at once; it has no separate modules | pl.compile_graph(graph, program)
Preallocations | addresses are chosen when a program is compiled
DebugContext | names are strings, and the line that created each object is recorded automatically | with graph.scope("layer"): ...
DebugNameAndId | names are strings | with graph.scope("layer"): ...
DebugInfo DebugSerializationFormat | the line that created each object is recorded automatically | with graph.scope("layer"): ...
ProfileValue getAsProfileValue | a profile consists of Python values | engine.report().to_json()
LegacyStreamCallback StreamCallbackHandle | any function can be connected | engine.connect_stream_to_callback(handle, function)
ResumableStreamCallback | callbacks run in the thread that calls engine.run, and end before it continues | pl.StreamCallback
StreamCallbackWithMetadata | the metadata of a QUARTER stream is passed when it is connected | engine.connect_stream(handle, codes, metadata=...)
SupervisorVertex SupervisorVertexIf | the supervisor thread of a tile is not modelled | class MyVertex(pl.MultiVertex)
ExternalExchangeVertex | exchange code of a tile cannot be written by hand | pl.Copy(source, destination)
getCodeletFileType getExtensionFromFileType getLanguageOption | only C++ files are read | graph.add_codelets("codelets.cpp")
LONG | Poplar has this type, but tiles cannot store it | pl.LONGLONG
UNSIGNED_LONG | Poplar has this type, but tiles cannot store it | pl.UNSIGNED_LONGLONG
DOUBLE | Poplar has this type, but tiles cannot store it | pl.FLOAT
equivalent_device_type | element types and NumPy dtypes are accepted for every type | pl.FLOAT, or np.float32
TypeTraits | the traits are attributes of an element type | pl.FLOAT.size_bytes
ArrayRef | lists and arrays are passed directly | [x, y]
StringRef | names are strings | "x"
replication_factor | it is a plain number | pl.Graph(target, replication_factor=2)
compilePreallocations | addresses are chosen when a program is compiled | pl.compile_graph(graph, program)
HostCallback | any function can be connected | engine.connect_host_function(handle, function)
HostCallbackHandle | a function is connected by its handle | engine.connect_host_function(handle, function)
errorCodeToString | an error code is an enumeration | pl.ErrorCode.TRAP.name
errorCodeFromString | an error code is an enumeration | pl.ErrorCode[name]
ErrorLocation | an error contains the step and the line of the program | error.where, error.at
isDeviceToHost | a stream has a type attribute | stream.type is pl.DataStreamType.DEVICE_TO_HOST_FIFO
isRemoteBuffer | a remote buffer is of a separate class | isinstance(x, pl.RemoteBuffer)
isHostToDevice | a stream has a type attribute | stream.type is pl.DataStreamType.HOST_TO_DEVICE_FIFO
GlobalExchangeFlow GlobalExchangeConstraint | links are modelled by their lanes | pl.Target(ipus=2)
VertexEdgeInfo | a vertex returns the sizes of its fields | vertex.field_info("x")
link_error | nothing is linked | pl.VertexCompileError
graph_object_creation_error | vertex classes are Python | pl.VertexCompileError
graph_object_load_error | vertex classes are Python; object files are not read | pl.FileLoadError
no_environment | nothing has to be installed besides the package | pl.PopliteError
missing_perf_estimate | the cycles of a vertex without an estimate are computed from its code | pl.PopliteError
missing_profile_data missing_graph_profile | a report is always complete | pl.ProfilingDisabled
tensor_io_state_error | any view can be read and written by the host | pl.GraphConnectionError
runtime_error | errors of a program and of a device have separate classes | except (pl.ApplicationRuntimeError, pl.DeviceRuntimeError)
recoverable_runtime_error unrecoverable_runtime_error unknown_runtime_error RecoveryAction | hardware faults are not simulated | pl.DeviceRuntimeError
packageHash | poplite is identified by its version | pl.version_string()
""",
        "popops": """
allReduce reduceScatter allGather replicatedAllReduce replicatedAllReduceInPlace replicatedAllReduceWithOutput replicatedReduceScatter replicatedAllGather allToAllPersonalizedExchange CollectiveOperator collectives | replicas exchange values by copies | pl.CrossReplicaCopy(x, y, replica_map)
countedLoop countedForLoop CountedLoopBodyType addForLoopCounterVertex | a loop is created together with its body | pl.counted_loop(graph, begin, end, step, body)
gather createGatherInput GatherParams | rows are read by their indices | popops.multiSlice, or pl.ops.take_along_axis(x, indices)
scatter UpdateComputationFunc | rows are updated by their indices | popops.multiUpdate, popops.multiUpdateAdd
groupedMultiSlice groupedMultiUpdate groupedMultiUpdateAdd groupedMultiUpdateMax groupedMultiUpdateMul createGroupedIndicesTensor createGroupedSliceTensor createGroupedSliceableTensor | each group needs a separate call | popops.multiSlice of each group
createSliceTensor createIndicesTensor createSliceableTensorFromSlice createDynamicSliceOutput createHostSliceableTensor getSliceMapping | slices and indices may be mapped in any way | graph.add_variable(..., mapping="linear")
createHostTransferableTensor createNormaliseImageInput createOutputForElementWiseOp createTopKInput | operations take tensors of any mapping, and create their results | graph.add_variable(..., mapping="linear")
SlicePlan SlicePlanInternal IndicesAndTensor | a plan is returned by a function | popops.embedding.plan(graph, ...)
ScaledAddSpecialisation | each expression is compiled separately | popops.scaledAddTo
checkAccuracyWhenCast checkTypes | a cast rounds as the machine does | popops.cast, and compare what engine.read returns
sequenceSlice CircBuf | rows at an index computed by the program are sliced and updated | popops.dynamicSlice, popops.dynamicUpdate
normaliseImage | it is an expression | pl.ops.map((x - mean) * scale)
splineBasis splineWeighting | no operation computes splines | class Spline(pl.Vertex)
outputGeneratedCodelet | expressions are compiled without C++ source text | pl.ops.explain(result)
padding | padding is constant | popops.pad(graph, t, lower, upper, val)
rearrange | operations take views in any order | pl.detect_innermost_grouping(graph, t), graph.reorder_to_simplify(t)
""",
        "popops.embedding": """
planMultiple SlicePlanningParameters | each table is planned separately | popops.embedding.plan(graph, ...)
""",
        "poplin": """
preplan preplanConvolutions preplanMatMuls MatMulParams MatMulPlanParams ConvPlanParams MatMulToConvOptions matMulGetConvPlanParams getMatMulPrePlanParameters getCholeskyMatMulPrePlanParameters getTriangularSolveMatMulPrePlanParameters | plans are computed when they are needed, and cached | pl.ops.plan_matmul, pl.ops.plan_convolution
Plan PlanCosts PlanningCacheImpl reportPlanInfo reportPlanEstimatedCosts reportWeightUpdatePlanInfo | a plan is an object that prints itself | print(pl.ops.plan_convolution(...))
matMulGroupedReportPlan | plans of groups are reported by the same call | poplin.matMulReportPlan(...)
multiconv | operations share compute sets within a `with` statement | with pl.ops.together(): ...
fc fullyConnectedWeightTranspose | a fully connected layer is a product | poplin.matMul(graph, x, w.transpose(), prog)
preArrangeMatMulInputRHS preArrangeMatMulGroupedInputRHS | a function creates the right matrix with the mapping of the plan | poplin.createMatMulInputRHS(...)
matmulValidateOptions convolutionValidateOptions | options are checked by the operation that takes them | poplin.matMul(..., options), poplin.convolution(..., options)
createNormBeta createNormGamma createNormParams normGradients normParamGradients normStatistics normStatisticsGradients normWhiten normalise | norms are functions of popnn | popnn.bn.batchNormStatistics(...)
DistributedNormReduceCallback distributedNormStatistics distributedNormStatisticsGradients | statistics are computed on one replica | popnn.bn.batchNormStatistics(...)
getFwdFlops getBwdFlops getWuFlops getFwdPerfectCycleCount getBwdPerfectCycleCount getWuPerfectCycleCount | the report contains the cycles | engine.report()
getDilatedSize getInputIndex getInputRange getKernelIndex getKernelRange getOutputRangeForInputIndex getOutputRangeForInputRange getOutputRangeForKernelIndex getOutputRangeForKernelRange | sizes are attributes and methods of the parameters | poplin.ConvParams(...)
getWeightUpdateParams | a weight update takes the parameters of its convolution | poplin.convolutionWeightUpdate(...)
hash_value | poplite caches plans | pl.ops.plan_convolution
""",
        "poprand": """
logUniform | it is an expression of uniform numbers | pl.ops.exp(pl.ops.random.uniform(key, shape))
shapedDropout | it is a product with random numbers of a smaller shape | x * pl.ops.random.bernoulli(key, shape)
""",
        "popnn": """
experimental | its functions are not stable | pl.ops.nn
spatialSoftMax2D | it is an expression of a softmax | pl.ops.nn.softmax(x)
ctc ctc_infer | no operation computes or decodes the loss of CTC | class Loss(pl.Vertex)
rnn rnnFwdSequence rnnBwdSequence | layers of any cell are written with loops | popnn.lstm, popnn.gru, or pl.counted_loop(graph, begin, end, step, body)
createNormBeta createNormGamma createNormParams | each norm has its own function | popnn.bn.createBatchNormParams(...)
getNormFwdFlops getNormBwdFlops getNormWuFlops | the report contains the numbers of operations | engine.report()
asString | an enumeration has a name | popnn.NonLinearityType.RELU.name
""",
        "popnn.bn": """
distributedBatchNormStatistics distributedBatchNormGradients | statistics are computed on one replica | popnn.bn.batchNormStatistics(...)
""",
        "popnn.in_": """
getFwdFlops getBwdFlops getWuFlops | the report contains the numbers of operations | engine.report()
""",
        "popnn.pooling": """
getFwdFlops getBwdFlops getFwdPerfectCycleCount getBwdPerfectCycleCount | the report contains the numbers of operations and cycles | engine.report()
getOutputFieldShape | it is a method of the parameters | params.getOutputFieldShape()
asString | an enumeration has a name | popnn.PoolingType.MAX.name
""",
        "popnn.gru": """
auGruFwd auGruBwd auGruBwdWithWU auGruWU createAttention | gates have no attention | pl.ops.nn.gru(...)
gruBwd gruWU | the gradients of data and weights are computed together | popnn.gru.gruBwdWithWU(...)
createWeightsKernel createWeightsBiases | kernel and biases are created together | popnn.gru.createWeights(...)
getBasicGruCellFwdFlops getBasicGruCellBwdFlops getBasicGruCellWuFlops | the report contains the numbers of operations | engine.report()
""",
        "popnn.lstm": """
lstmBwd lstmWU | the gradients of data and weights are computed together | popnn.lstm.lstmBwdWithWU(...)
createWeightsKernel createWeightsBiases | kernel and biases are created together | popnn.lstm.createWeights(...)
createInitialCellState createInitialOutput zeroInitialState | output and cell state are created together | popnn.lstm.createInitialState(...)
getMatMulPrePlanParameters | plans are computed when they are needed, and cached | pl.ops.nn.plan_lstm
getBasicLstmCellFwdFlops getBasicLstmCellBwdFlops getBasicLstmCellWuFlops | the report contains the numbers of operations | engine.report()
""",
        "gcl": """
allReduce allReduceInPlace allReduceToDestination allReduceCrossReplica allReduceInPlaceCrossReplica allReduceToDestinationCrossReplica | replicas exchange values by copies, and each adds up the values it received | pl.CrossReplicaCopy(x, y, replica_map), pl.ops.assign(x, x + y)
reduceScatter reduceScatterCrossReplica | replicas exchange values by copies, and each adds up the values it received | pl.CrossReplicaCopy(x[part], y, replica_map), pl.ops.assign(x[part], x[part] + y)
allGather allGatherCrossReplica allToAll allToAllCrossReplica broadcast broadcastCrossReplica | replicas exchange values by copies | pl.CrossReplicaCopy(x, y, replica_map)
CommGroup CommGroupType CollectiveOperator | a copy specifies for each replica which one it reads | pl.CrossReplicaCopy(x, y, replica_map)
""",
        "popsparse": """
dynamic SparsityParams | patterns are known when a graph is built | pl.ops.sparse_matmul(pattern, values, x)
static_ CSRMatrix CSCMatrix COOMatrix | sparse products have their own class of patterns | pl.ops.SparsePattern, pl.ops.sparse_matmul(pattern, values, x)
experimental Block | a pattern has single elements, not blocks | pl.ops.sparse_matmul(pattern, values, x)
""",
        "poputil": """
calcLinearTileMapping calcLinearTileMappingAndNewOffset chooseMappingOffset transformTileIndex invTransformTileIndex | a mapping is set, and can be queried afterwards | poputil.mapTensorLinearlyWithOffset(...), graph.tile_mapping(t)
cloneToIpu copyToIpu createIpuCopy cloneToGraph cloneAndExpandAliasing | a clone can have any mapping | graph.clone(t), graph.set_tile_mapping(t, mapping), pl.Copy(a, b)
cloneN | it is a method of a graph | graph.clone_n(t, n)
detectInnermostGrouping detectDimGroupings GroupingInfo | a function returns the innermost group | pl.detect_innermost_grouping(graph, t)
templateVertex templateVertexParams VertexTemplateToString | a vertex class is a template itself | Add[pl.FLOAT]
expandToMatchRanks | operands broadcast as NumPy's do | t[None], or poputil.broadcastToMatch(...)
TensorUseTracker TensorUseTrackerState | a tensor can be mapped like the tensor that it is used with | pl.map_like(graph, t, other)
createPartitionableTensor iterateTensorPartitions balancedPartition | a function maps blocks to tiles | pl.map_blocks(graph, t)
dimIsSplitOverIPUs dimIsSplitOverTiles getTileImbalance | the mapping has the tile of each element | graph.tile_mapping(t)
flattenIndex unflattenIndex | NumPy functions use the same row-major order | np.ravel_multi_index(index, shape), np.unravel_index(n, shape)
factorDims unfactorDims | a view can have any shape | t.reshape(shape), t.dim_shuffle(permutation)
flattenIntervals mergeAdjacentRegions intervalSequenceNumElements calculateUnshufflingIntervals | intervals are arrays | graph.sorted_contiguous_regions(t)
castToDeviceHalfValue checkAccuracyWhenCast | NumPy has float16 | np.float16(value)
createConstantMetadataTensor createVariableMetadataTensor TensorMetaData TensorMetaDataBase | metadata belong to a variable | graph.add_variable(pl.QUARTER, shape, metadata=pl.QuarterMetadata("F143", 0))
OpDebugInfo PoplibsOpDebugInfo toProfileValue | the line that created each object is recorded automatically | with graph.scope("layer"): ...
poplibs_error | all errors have classes of poplite | pl.PopliteError
graphfn ArgType | a Python function becomes a function of the graph | @pl.graph_function
""",
    }
)
"""Names, by namespace."""


@cache
def absent_members(owner: str) -> Mapping[str, tuple[str, str]]:
    """Return the absent members of a class, each with its reason and the alternative."""
    return _read(MEMBERS.get(owner, ""))


@cache
def absent_names(namespace: str) -> Mapping[str, tuple[str, str]]:
    """Return the absent names of a namespace, each with its reason and the alternative."""
    return _read(NAMES.get(namespace, ""))


def absent(namespace: str, name: str) -> AbsentMember | None:
    """Return the error for a name that is absent from a namespace, or None for any other name."""
    if name not in absent_names(namespace):
        return None
    reason, instead = absent_names(namespace)[name]
    return AbsentMember(f"poplite has no {namespace}.{name}", found=reason, fix=instead)


def shown(module: dict[str, Any], names: str | Sequence[str], namespace: str = "") -> list[str]:
    """Return `__all__` for a module of PopLibs' names, and set its `__dir__` and `__getattr__`.

    Args:
        module: its globals.
        names: the names that it has.
        namespace: the namespace whose absent names are rejected with a reason; "" for none.
    """
    known = names.split() if isinstance(names, str) else list(names)

    def refuse(name: str) -> NoReturn:
        if error := absent(namespace, name):
            raise error
        near = did_you_mean(name, [*known, *absent_names(namespace)])
        text = f"module {namespace!r} has no attribute {name!r}{near}"
        raise AttributeError(text, name=name)  # without `obj`, so that Python adds no hint

    module["__dir__"] = lambda: known
    if namespace:
        module["__getattr__"] = refuse  # hidden from type checkers, which report unknown names
    return known


def _read(text: str) -> Mapping[str, tuple[str, str]]:
    found: dict[str, tuple[str, str]] = {}
    for line in text.strip().splitlines():
        names, reason, *instead = (part.strip() for part in line.split(" | "))
        found |= dict.fromkeys(names.split(), (reason, "".join(instead)))
    return MappingProxyType(found)
