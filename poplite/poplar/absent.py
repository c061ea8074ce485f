"""Members of Poplar or PopLibs that poplite lacks, each with the reason.

    graph.addCodelets(...)       poplite has no Graph.addCodelets
    pl.compileModule             poplite has no pl.compileModule
    popops.histogram             poplite has no popops.histogram

A line has names, their common reason, and what to use instead, if anything. Members of
classes become `poplite.errors.Absent` when the class is defined; a namespace refuses its absent
names when they are looked up.
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
"""Members, by our name for their class."""

NAMES: Mapping[str, str] = MappingProxyType(
    {
        "pl": """
compileModule Module | an executable is whole: modules that are linked later are not compiled alone | pl.compile_graph(graph, program)
Preallocations | addresses are chosen when a program is compiled
DebugContext | names are strings, and the lines of the program that made each object are kept | with graph.scope("layer"): ...
DebugNameAndId | names are strings | with graph.scope("layer"): ...
DebugInfo DebugSerializationFormat | the lines of the program that made each object are kept by themselves | with graph.scope("layer"): ...
ProfileValue getAsProfileValue | a profile is made of Python's own values | engine.report().to_json()
LegacyStreamCallback StreamCallbackHandle | any function can be connected | engine.connect_stream_to_callback(handle, function)
ResumableStreamCallback | callbacks run in the thread that calls engine.run, and end before it continues | pl.StreamCallback
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
        "popops": """
allReduce reduceScatter allGather replicatedAllReduce replicatedAllReduceInPlace replicatedAllReduceWithOutput replicatedReduceScatter replicatedAllGather allToAllPersonalizedExchange CollectiveOperator collectives | replicas exchange values by copies | pl.CrossReplicaCopy(x, y, replica_map)
countedLoop countedForLoop CountedLoopBodyType addForLoopCounterVertex | a loop is made with its body | pl.counted_loop(graph, begin, end, step, body)
gather createGatherInput GatherParams | rows are taken by their numbers | popops.multiSlice, or pl.ops.take_along_axis(x, indices)
scatter UpdateComputationFunc | rows are changed by their numbers | popops.multiUpdate, popops.multiUpdateAdd
groupedMultiSlice groupedMultiUpdate groupedMultiUpdateAdd groupedMultiUpdateMax groupedMultiUpdateMul createGroupedIndicesTensor createGroupedSliceTensor createGroupedSliceableTensor | each group is a call of its own | popops.multiSlice of each group
createSliceTensor createIndicesTensor createSliceableTensorFromSlice createDynamicSliceOutput createHostSliceableTensor getSliceMapping | slices and indices may be mapped in any way | graph.add_variable(..., mapping="linear")
createHostTransferableTensor createNormaliseImageInput createOutputForElementWiseOp createTopKInput | operations take tensors of any mapping, and make their results | graph.add_variable(..., mapping="linear")
SlicePlan SlicePlanInternal IndicesAndTensor | a plan is made by a call | popops.embedding.plan(graph, ...)
ScaledAddSpecialisation | expressions are compiled for what they are | popops.scaledAddTo
checkAccuracyWhenCast checkTypes | a cast rounds as the machine does | popops.cast, and compare what engine.read returns
hasNaN | it is a sum of a test | pl.ops.any(pl.ops.is_nan(x))
hasNaNOrInf | it is a sum of a test | pl.ops.any(pl.ops.logical_not(pl.ops.is_finite(x)))
histogram | a count is a sum of a comparison | pl.ops.sum(pl.ops.cast(pl.ops.less(x, level), pl.INT))
sequenceSlice CircBuf | rows whose number is known as the program runs are sliced and updated | popops.dynamicSlice, popops.dynamicUpdate
normaliseImage | it is an expression | pl.ops.map((x - mean) * scale)
splineBasis splineWeighting | no operation computes splines | class Spline(pl.Vertex)
outputGeneratedCodelet | expressions are compiled without any text of C++ | pl.ops.explain(result)
padding | only constants are padded with | popops.pad(graph, t, lower, upper, val)
rearrange | operations take views in any order | pl.detect_innermost_grouping(graph, t), graph.reorder_to_simplify(t)
""",
        "popops.embedding": """
planMultiple SlicePlanningParameters | each table is planned alone | popops.embedding.plan(graph, ...)
""",
        "poplin": """
preplan preplanConvolutions preplanMatMuls MatMulParams MatMulPlanParams ConvPlanParams MatMulToConvOptions matMulGetConvPlanParams getMatMulPrePlanParameters getCholeskyMatMulPrePlanParameters getTriangularSolveMatMulPrePlanParameters | plans are made when they are needed, and kept | pl.ops.plan_matmul, pl.ops.plan_convolution
Plan PlanCosts PlanningCacheImpl reportPlanInfo reportPlanEstimatedCosts reportWeightUpdatePlanInfo | a plan is an object that prints itself | print(pl.ops.plan_convolution(...))
matMulGroupedReportPlan | plans of groups are reported by the same call | poplin.matMulReportPlan(...)
multiconv | operations share compute sets within a `with` statement | with pl.ops.together(): ...
fc fullyConnectedWeightTranspose | a fully connected layer is a product | poplin.matMul(graph, x, w.transpose(), prog)
preArrangeMatMulInputRHS preArrangeMatMulGroupedInputRHS | a plan makes the right matrix where it wants it | poplin.createMatMulInputRHS(...)
matmulValidateOptions convolutionValidateOptions | options are checked where they are used | poplin.matMul(..., options), poplin.convolution(..., options)
createNormBeta createNormGamma createNormParams normGradients normParamGradients normStatistics normStatisticsGradients normWhiten normalise | norms are those of popnn | popnn.bn.batchNormStatistics(...)
DistributedNormReduceCallback distributedNormStatistics distributedNormStatisticsGradients | statistics are those of one replica | popnn.bn.batchNormStatistics(...)
getFwdFlops getBwdFlops getWuFlops getFwdPerfectCycleCount getBwdPerfectCycleCount getWuPerfectCycleCount | cycles are those of the report | engine.report()
getDilatedSize getInputIndex getInputRange getKernelIndex getKernelRange getOutputRangeForInputIndex getOutputRangeForInputRange getOutputRangeForKernelIndex getOutputRangeForKernelRange | sizes are those of the parameters | poplin.ConvParams(...)
getWeightUpdateParams | a weight update takes the parameters of its convolution | poplin.convolutionWeightUpdate(...)
hash_value | plans are kept by poplite | pl.ops.plan_convolution
""",
        "poprand": """
logUniform | it is an expression of uniform numbers | pl.ops.exp(pl.ops.random.uniform(key, shape))
shapedDropout | it is a product with few random numbers | x * pl.ops.random.bernoulli(key, shape)
""",
        "popnn": """
experimental | its functions are not declared as stable | pl.ops.nn
spatialSoftMax2D | it is an expression of a softmax | pl.ops.nn.softmax(x)
ctc ctc_infer | no operation computes or decodes the loss of CTC | class Loss(pl.Vertex)
rnn rnnFwdSequence rnnBwdSequence | layers of any cell are written with loops | popnn.lstm, popnn.gru, or pl.counted_loop(graph, begin, end, step, body)
createNormBeta createNormGamma createNormParams | each norm makes its own | popnn.bn.createBatchNormParams(...)
getNormFwdFlops getNormBwdFlops getNormWuFlops | operations are those of the report | engine.report()
asString | an enumeration has a name | popnn.NonLinearityType.RELU.name
""",
        "popnn.bn": """
distributedBatchNormStatistics distributedBatchNormGradients | statistics are those of one replica | popnn.bn.batchNormStatistics(...)
""",
        "popnn.in_": """
getFwdFlops getBwdFlops getWuFlops | operations are those of the report | engine.report()
""",
        "popnn.pooling": """
getFwdFlops getBwdFlops getFwdPerfectCycleCount getBwdPerfectCycleCount | operations and cycles are those of the report | engine.report()
getOutputFieldShape | a method of the parameters has it | params.getOutputFieldShape()
asString | an enumeration has a name | popnn.PoolingType.MAX.name
""",
        "popnn.gru": """
auGruFwd auGruBwd auGruBwdWithWU auGruWU createAttention | gates are without attention | pl.ops.nn.gru(...)
gruBwd gruWU | the gradients of data and weights are computed together | popnn.gru.gruBwdWithWU(...)
createWeightsKernel createWeightsBiases | kernel and biases are made together | popnn.gru.createWeights(...)
getBasicGruCellFwdFlops getBasicGruCellBwdFlops getBasicGruCellWuFlops | operations are those of the report | engine.report()
""",
        "popnn.lstm": """
lstmBwd lstmWU | the gradients of data and weights are computed together | popnn.lstm.lstmBwdWithWU(...)
createWeightsKernel createWeightsBiases | kernel and biases are made together | popnn.lstm.createWeights(...)
createInitialCellState createInitialOutput zeroInitialState | output and cell state are made together | popnn.lstm.createInitialState(...)
getMatMulPrePlanParameters | plans are made when they are needed, and kept | pl.ops.nn.plan_lstm
getBasicLstmCellFwdFlops getBasicLstmCellBwdFlops getBasicLstmCellWuFlops | operations are those of the report | engine.report()
""",
        "gcl": """
allReduce allReduceInPlace allReduceToDestination allReduceCrossReplica allReduceInPlaceCrossReplica allReduceToDestinationCrossReplica | replicas exchange values by copies, and each adds up what it has got | pl.CrossReplicaCopy(x, y, replica_map), pl.ops.assign(x, x + y)
reduceScatter reduceScatterCrossReplica | replicas exchange values by copies, and each adds up what it has got | pl.CrossReplicaCopy(x[part], y, replica_map), pl.ops.assign(x[part], x[part] + y)
allGather allGatherCrossReplica allToAll allToAllCrossReplica broadcast broadcastCrossReplica | replicas exchange values by copies | pl.CrossReplicaCopy(x, y, replica_map)
CommGroup CommGroupType CollectiveOperator | a copy says for each replica which one it reads | pl.CrossReplicaCopy(x, y, replica_map)
""",
        "popsparse": """
dynamic SparsityParams | patterns are known when a graph is built | pl.ops.sparse_matmul(pattern, values, x)
static_ CSRMatrix CSCMatrix COOMatrix | a pattern is an object of the products' own | pl.ops.SparsePattern, pl.ops.sparse_matmul(pattern, values, x)
experimental Block | elements are single, not blocks | pl.ops.sparse_matmul(pattern, values, x)
""",
        "poputil": """
calcLinearTileMapping calcLinearTileMappingAndNewOffset chooseMappingOffset transformTileIndex invTransformTileIndex | mappings are set, and then asked for | poputil.mapTensorLinearlyWithOffset(...), graph.tile_mapping(t)
cloneToIpu copyToIpu createIpuCopy cloneToGraph cloneAndExpandAliasing | a clone is mapped as one likes | graph.clone(t), graph.set_tile_mapping(t, mapping), pl.Copy(a, b)
cloneN | it is a method of a graph | graph.clone_n(t, n)
detectInnermostGrouping detectDimGroupings GroupingInfo | the innermost group is found by a function | pl.detect_innermost_grouping(graph, t)
templateVertex templateVertexParams VertexTemplateToString | a vertex class is a template itself | Add[pl.FLOAT]
expandToMatchRanks | operands broadcast as NumPy's do | t[None], or poputil.broadcastToMatch(...)
TensorUseTracker TensorUseTrackerState | what reads a tensor decides its tiles by a mapping of yours | pl.map_like(graph, t, other)
createPartitionableTensor iterateTensorPartitions balancedPartition | blocks are mapped by a function | pl.map_blocks(graph, t)
dimIsSplitOverIPUs dimIsSplitOverTiles getTileImbalance | a mapping tells where elements are | graph.tile_mapping(t)
flattenIndex unflattenIndex | NumPy counts in row-major order | np.ravel_multi_index(index, shape), np.unravel_index(n, shape)
factorDims unfactorDims | views have any shape | t.reshape(shape), t.dim_shuffle(permutation)
flattenIntervals mergeAdjacentRegions intervalSequenceNumElements calculateUnshufflingIntervals | intervals are arrays | graph.sorted_contiguous_regions(t)
castToDeviceHalfValue checkAccuracyWhenCast | NumPy has half | np.float16(value)
createConstantMetadataTensor createVariableMetadataTensor TensorMetaData TensorMetaDataBase | metadata belong to a variable | graph.add_variable(pl.QUARTER, shape, metadata=pl.QuarterMetadata("F143", 0))
OpDebugInfo PoplibsOpDebugInfo toProfileValue | the lines of the program that made each object are kept by themselves | with graph.scope("layer"): ...
poplibs_error | errors are those of poplite | pl.PopliteError
graphfn ArgType | a function of Python becomes one of the graph | @pl.graph_function
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
    """Return the error for a name that is absent from a namespace; None for any other name."""
    if name not in absent_names(namespace):
        return None
    reason, instead = absent_names(namespace)[name]
    return AbsentMember(f"poplite has no {namespace}.{name}", found=reason, fix=instead)


def shown(module: dict[str, Any], names: str | Sequence[str], namespace: str = "") -> list[str]:
    """Return `__all__` for a module of PopLibs' names, and give it `__dir__` and `__getattr__`.

    Args:
        module: its globals.
        names: the names that it has.
        namespace: the namespace whose absent names are refused with a reason; "" for none.
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
        module["__getattr__"] = refuse  # hidden from type checkers, which refuse unknown names
    return known


def _read(text: str) -> Mapping[str, tuple[str, str]]:
    found: dict[str, tuple[str, str]] = {}
    for line in text.strip().splitlines():
        names, reason, *instead = (part.strip() for part in line.split(" | "))
        found |= dict.fromkeys(names.split(), (reason, "".join(instead)))
    return MappingProxyType(found)
