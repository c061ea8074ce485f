"""Declarations of Poplar's public C++ interface, each with its counterpart here.

    Tensor dimShuffle(ArrayRef<unsigned> permutation) const -> dim_shuffle
    void createHostWrite(StringRef handle, const Tensor &t, ...) -> create_host_write(handle, t)

The text after the arrow is one of these; after `//` there is a note in Markdown about
other differences in Python:

    nothing                    the class has a member of this name, or `poplite.poplar.absent` has
                               the reason why there is none
    dim_shuffle                an attribute of ours, or a method with its arguments in this order
    create_host_write(handle)  a call of ours, by the names of the declaration's parameters

A pointer that our call does not take is rejected with the note, which may end with ` | ` and the
alternative.

Parameter types are from the Julia bindings that were generated from the headers of SDK 3.3
(JuliaIPU/IPUToolkit.jl, deps/wrapper/gen_inline.cpp in its history). Results, names and
defaults are from the public reference (docs.graphcore.ai/projects/poplar-api), and from
headers that repeat them (graphcore/tensorflow, extended_graph.h and extended_tensor.h).
A line that begins with `~` could not be compared with these sources: its result, names or defaults
are from notes; with `?` its types are, too, since the bindings omit it. Deleted functions, moves,
destructors and operations that Python provides are left out.
"""

# ruff: noqa: E501  # a table with one line per declaration

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

_REFERENCE = "https://docs.graphcore.ai/projects/poplar-api/en/latest/"

_PAGES: Mapping[str, str] = MappingProxyType(
    {
        "Tensor": "poplar/graph/Tensor.html",
        "Graph": "poplar/graph/Graph.html",
        "Target": "poplar/device/Target.html",
        "Executable": "poplar/execution/Executable.html",
        "Copy": "doxygen/classpoplar_1_1program_1_1Copy.html",
        **dict.fromkeys(("DataStream", "RemoteBuffer"), "poplar/graph/DataStream.html"),
        **dict.fromkeys(("VariableRef", "VariableInterval"), "poplar/graph/VariableRef.html"),
        **dict.fromkeys(("ComputeSet", "FieldRef"), "poplar/graph/GraphElements.html"),
    }
)
"""Pages of the public reference that were read, by class."""

TENSOR = """
Type elementType() const -> element_type
Tensor operator[](std::size_t i) const & // `x[i]`
? Tensor operator[](const Interval &region) const & // `x[begin:end]`
~ Tensor index(ArrayRef<std::size_t> indices) const // `x[i, j]`
Tensor slice(std::size_t begin, std::size_t end, unsigned dimension = 0) const & // `x[begin:end]`
Tensor slice(const Interval &region, unsigned dimension = 0) const // `x[begin:end]`
~ Tensor slice(ArrayRef<std::size_t> begins, ArrayRef<std::size_t> ends) const // `x[i:j, k:l]`
std::vector<Tensor> slices(ArrayRef<Interval> intervals, unsigned dimension = 0) const
std::vector<Tensor> slices(const std::vector<std::vector<Interval>> &intervals, unsigned dimension = 0) const
std::vector<Tensor> slices(const ArrayRef<unsigned> &indices, unsigned dimension = 0) const
Tensor flatten() const
Tensor flatten(unsigned dimBegin, unsigned dimEnd) const
Tensor reshape(ArrayRef<std::size_t> shape) const
Tensor dimShuffle(ArrayRef<unsigned> permutation) const -> dim_shuffle
Tensor dimShufflePartial(ArrayRef<unsigned> source, ArrayRef<unsigned> destination) const -> dim_shuffle_partial
Tensor dimRoll(unsigned dimIdx, unsigned newIdx = 0) const -> dim_roll
Tensor reshapePartial(unsigned beginIndex, unsigned endIndex, ArrayRef<std::size_t> newDims) const -> reshape_partial
~ Tensor expand(ArrayRef<std::size_t> indices) const // `x[None]`
~ Tensor squeeze(ArrayRef<std::size_t> indices) const
~ Tensor transpose() const // `x.T`
~ Tensor subSample(unsigned stride, unsigned dimension) const -> sub_sample // `x[::stride]`
~ Tensor upsample(unsigned scale, unsigned dimension, UpsampleMethod method) const
~ Tensor broadcast(unsigned n, unsigned dimension) const
Tensor reinterpret(const Type &type) const
~ Tensor reverse(unsigned dimension) const // `x[::-1]`
~ std::size_t numElements() const -> num_elements
~ std::size_t dim(unsigned i) const
~ std::vector<std::size_t> shape() const
~ unsigned rank() const
~ bool isContiguous() const -> is_contiguous
bool containsAliases() const -> contains_aliases
bool containsConstant() const -> contains_constant
~ bool isParallelWriteable() const -> is_parallel_writeable
const std::vector<Interval> getContiguousRegions() const -> contiguous_regions
~ const std::vector<VariableInterval> getVarRegions() const -> var_regions
? template <typename T> bool getConstantValue(T *val) const -> constant_value() // the value is returned; None for anything but a constant of one element
bool intersectsWith(const Tensor &other) const -> intersects_with
std::string shapeToString() const -> shape_to_string
~ void dump() const
~ void dumpRegions() const -> dump_regions
? std::ostream &output(std::ostream &os) const
? std::ostream &outputRegions(std::ostream &os) const -> output_regions
~ std::string getVarStr() const -> var_str
~ std::string getDebugStr() const -> debug_str
~ bool valid() const
~ Tensor getMetadata() const -> metadata
~ bool hasMetadata() const -> has_metadata
bool operator==(const Tensor &a, const Tensor &b) // `x == y`
"""


GRAPH = """
Graph(const Target &target, replication_factor r = replication_factor(1))
Graph(const Device &device, replication_factor r = replication_factor(1))
const Target &getTarget() const -> target
bool addCodelets(StringRef src, CodeletFileType type = CodeletFileType::Auto, StringRef compileFlags = "", StringRef targetName = "") -> add_codelets(src, compileFlags) // the classes by name are returned
~ bool addCodelets(ArrayRef<std::string> xs, StringRef compileFlags = "", StringRef targetName = "") -> add_codelets(xs, compileFlags)
void addCodelets(std::stringstream &stream, StringRef compileFlags = "", CodeletFileType type = CodeletFileType::CppSource, StringRef targetName = "") -> add_codelets(stream, compileFlags)
VertexRef addVertex(ComputeSet cs, StringRef vertexType) // `graph.add_vertex(cs, Scale, x=x, tile=3)`
VertexRef addVertex(ComputeSet cs, StringRef vertexType, ArrayRef<ConnectionDesc> connections)
~ VertexRef addExternalExchangeVertex(ComputeSet cs, StringRef vertexType, unsigned incomingDownCount, bool usesEastEdge, bool sendsXReq)
Tensor addVariable(const Type &type, ArrayRef<std::size_t> shape, VariableMappingMethod mappingMethod, const DebugContext &debugContext = {}) -> add_variable(type, shape, debugContext, mapping=mappingMethod)
Tensor addVariable(const Type &type, ArrayRef<std::size_t> shape, const DebugContext &debugContext = {}) -> add_variable(type, shape, debugContext)
~ Tensor addVariable(const Type &type, const Tensor &metadata, ArrayRef<std::size_t> shape, VariableMappingMethod mappingMethod, const DebugContext &debugContext = {}) -> add_variable(type, shape, debugContext, metadata=metadata, mapping=mappingMethod)
~ Tensor addVariable(const Type &type, const Tensor &metadata, ArrayRef<std::size_t> shape, const DebugContext &debugContext = {}) -> add_variable(type, shape, debugContext, metadata=metadata)
~ Tensor addExternalVariable(const Type &type, ArrayRef<std::size_t> shape, StringRef handle, const DebugContext &debugContext = {})
template <typename T> Tensor addConstant(const Type &type, ArrayRef<std::size_t> shape, ArrayRef<T> values, const DebugContext &debugContext = {"<const>"}) -> add_constant(type, shape, values, debugContext)
template <typename T> Tensor addConstant(const Type &type, ArrayRef<std::size_t> shape, T val, const DebugContext &debugContext = {"<const>"}) -> add_constant(type, shape, val, debugContext)
~ template <typename T> Tensor addConstant(const Type &type, const Tensor &metadata, ArrayRef<std::size_t> shape, T val, const DebugContext &debugContext = {"<const>"}) -> add_constant(type, shape, val, debugContext, metadata=metadata)
Tensor addConstantHalf(const Type &type, ArrayRef<std::size_t> shape, uint16_t val, const DebugContext &debugContext = {"<const>"}) // `add_constant` with values
Tensor addConstantHalf(const Type &type, ArrayRef<std::size_t> shape, const uint16_t *val, const DebugContext &debugContext = {"<const>"})
Tensor clone(const Type &type, const Tensor &t, const DebugContext &debugContext = {}, TensorCloneMethod method = TensorCloneMethod::PRESERVE_ORDER_UNLESS_ALIASES) -> clone(t, debugContext, method, element_type=type)
~ Tensor clone(const Type &type, const Tensor &metadata, const Tensor &t, const DebugContext &debugContext = {}, TensorCloneMethod method = TensorCloneMethod::PRESERVE_ORDER_UNLESS_ALIASES) -> clone(t, debugContext, method, element_type=type, metadata=metadata)
Tensor clone(const Tensor &t, const DebugContext &debugContext = {}, TensorCloneMethod method = TensorCloneMethod::PRESERVE_ORDER_UNLESS_ALIASES) -> clone(t, debugContext, method)
~ Tensor clone(const Tensor &metadata, const Tensor &t, const DebugContext &debugContext = {}, TensorCloneMethod method = TensorCloneMethod::PRESERVE_ORDER_UNLESS_ALIASES) -> clone(t, debugContext, method, metadata=metadata)
~ Tensor cloneN(const Tensor &t, std::size_t N, const DebugContext &debugContext = {}, TensorCloneMethod method = TensorCloneMethod::PRESERVE_ORDER_UNLESS_ALIASES, TensorCloneDuplicationMethod duplicationMethod = TensorCloneDuplicationMethod::DUPLICATE_BY_OUTER_DIMENSION) -> clone_n(t, N, debugContext, method=method, duplication=duplicationMethod)
~ Tensor cloneN(const Type &type, const Tensor &t, std::size_t N, const DebugContext &debugContext = {}, TensorCloneMethod method = TensorCloneMethod::PRESERVE_ORDER_UNLESS_ALIASES, TensorCloneDuplicationMethod duplicationMethod = TensorCloneDuplicationMethod::DUPLICATE_BY_OUTER_DIMENSION) -> clone_n(t, N, debugContext, method=method, duplication=duplicationMethod, element_type=type)
~ Tensor cloneN(const Tensor &metadata, const Tensor &t, std::size_t N, const DebugContext &debugContext = {}, TensorCloneMethod method = TensorCloneMethod::PRESERVE_ORDER_UNLESS_ALIASES, TensorCloneDuplicationMethod duplicationMethod = TensorCloneDuplicationMethod::DUPLICATE_BY_OUTER_DIMENSION) -> clone_n(t, N, debugContext, method=method, duplication=duplicationMethod, metadata=metadata)
~ Tensor cloneN(const Type &type, const Tensor &metadata, const Tensor &t, std::size_t N, const DebugContext &debugContext = {}, TensorCloneMethod method = TensorCloneMethod::PRESERVE_ORDER_UNLESS_ALIASES, TensorCloneDuplicationMethod duplicationMethod = TensorCloneDuplicationMethod::DUPLICATE_BY_OUTER_DIMENSION) -> clone_n(t, N, debugContext, method=method, duplication=duplicationMethod, element_type=type, metadata=metadata)
void connect(FieldRef field, const Tensor &tensor)
~ template <typename T> void connect(FieldRef field, T v)
~ void connect(FieldRef field, ArrayRef<Tensor> tensors)
void setPerfEstimate(const VertexRef &v, std::uint64_t cycles, std::uint64_t flops = 0) -> set_perf_estimate
~ void setPerfEstimate(const VertexRef &v, const VertexPerfEstimate &estimate) -> set_perf_estimate
~ VertexPerfEstimate getPerfEstimate(const VertexRef &v) const -> perf_estimate
~ void registerPerfEstimator(StringRef vertexTypeName, PerfEstimateFunc f) -> register_perf_estimator
~ unsigned getNumVertices() const -> num_vertices
ComputeSet addComputeSet(const DebugContext &debugContext = {}) -> add_compute_set
~ void setFieldSize(FieldRef field, std::size_t size) -> set_field_size
~ std::size_t getFieldSize(FieldRef field) const -> field_size
~ std::size_t getMaxFieldDim(StringRef vertexName, StringRef fieldName, unsigned dimIndex) const -> max_field_dim
~ double getMaxVertexFieldValue(StringRef vertexName, StringRef fieldName) const -> max_vertex_field_value
template <typename T> T getMaxVertexFieldValueAs(StringRef vertexName, StringRef fieldName) const -> max_vertex_field_value
~ template <typename T> void setInitialValue(FieldRef field, T val) -> set_initial_value
~ template <typename T> void setInitialValue(FieldRef field, ArrayRef<T> values) -> set_initial_value
~ template <typename T> void setInitialValue(const Tensor &t, T val) -> set_initial_value
template <typename T> void setInitialValue(const Tensor &t, ArrayRef<T> values) -> set_initial_value
~ void setInitialValue(const Tensor &t, const std::map<unsigned, unsigned> &values) -> set_initial_value
~ void setInitialValueHalf(FieldRef field, uint16_t val)
~ void setInitialValueHalf(FieldRef field, ArrayRef<uint16_t> values)
~ void setInitialValueHalf(const Tensor &t, uint16_t val)
void setInitialValueHalf(const Tensor &t, ArrayRef<uint16_t> values)
void createHostWrite(StringRef handle, const Tensor &t, bool rearrangeOnHost = false) -> create_host_write(handle, t)
void createHostRead(StringRef handle, const Tensor &t, bool rearrangeOnHost = false) -> create_host_read(handle, t)
DataStream addHostToDeviceFIFO(StringRef handle, const Type &elementType, std::size_t numElements, ReplicatedStreamMode replicatedMode = ReplicatedStreamMode::REPLICATE, const OptionFlags &options = {}) // `add_host_to_device_fifo(..., buffering_depth=2)`
DataStream addDeviceToHostFIFO(StringRef handle, const Type &elementType, std::size_t numElements, const OptionFlags &options = {}) // `add_device_to_host_fifo(...)`
~ RemoteBuffer addRemoteBuffer(StringRef handle, const Type &elementType, std::size_t numElements, std::size_t repeats = 1, bool rearrangeOnHost = false, bool optimiseMemory = false) -> add_remote_buffer
void setTileMapping(VertexRef v, unsigned tileNum) -> set_tile_mapping
void setTileMapping(const Tensor &t, unsigned tileNum) -> set_tile_mapping
~ TileToTensorMapping getTileMapping(const Tensor &t, bool requireComplete = true, bool allowExternal = false) const -> tile_mapping(t, requireComplete)
~ TileToTensorMapping getTileMapping(const Tensor &t, bool *isComplete, bool allowExternal = false) const -> tile_mapping(t) // Poplar has a pointer there, which receives whether all elements have a tile | graph.getTileMapping(tensor, False)
~ TileToTensorMapping getVariableTileMapping(const Tensor &t) const -> variable_tile_mapping
void setTileMapping(const Tensor &t, const TileToTensorMapping &mapping) -> set_tile_mapping
~ Tensor getVariable(VariableRef v) const // `graph.tensor("x")`
~ bool isConstant(VariableRef var) const // `variable.constant`
std::vector<std::vector<Interval>> getSortedContiguousRegions(const Tensor &t, ArrayRef<Interval> regions, bool removeAliasedIntervals = false, std::vector<std::size_t> *aliases = nullptr) const -> sorted_contiguous_regions
~ void reorderToSimplify(Tensor *t, ArrayRef<Tensor *> ts, bool requireSimplestOrder = true) const -> reorder_to_simplify // the new tensors are returned
~ TensorRearranger getSimplifyingRearranger(const Tensor &t) const -> simplifying_rearranger
~ Tensor findUnbroadcastTensor(const Tensor &t) const // `find_unbroadcast_tensor(t)`, which is None where nothing is broadcast
~ Graph createVirtualGraph(unsigned numTilesPerIPU) -> create_virtual_graph
Graph createVirtualGraph(unsigned lowerTile, unsigned upperTile) -> create_virtual_graph
Graph createVirtualGraph(const std::vector<unsigned> &perIpuTiles) -> create_virtual_graph
Graph getTopLevelGraph() -> top_level_graph
~ unsigned getReplicationFactor() const -> replication_factor
Tensor addReplicationIndexConstant(const DebugContext &debugContext = {}) -> add_replication_index_constant
~ Function addFunction(const program::Program &program) -> add_function
~ FunctionBuffer addFunctionBuffer(const Function &function, FunctionBufferMappingType location = FunctionBufferMappingType::REMOTE) -> add_function_buffer(function)
HostFunction addHostFunction(StringRef handle, ArrayRef<HostFunctionArgument> inputs, ArrayRef<HostFunctionArgument> outputs) -> add_host_function
~ unsigned convertTileToTopLevelGraphTile(unsigned tile) const -> convert_tile_to_top_level_graph_tile
~ unsigned convertTopLevelGraphTileToTile(unsigned tile) const -> convert_top_level_graph_tile_to_tile
~ unsigned convertVirtualTileToPhysicalTile(unsigned virtualTileId) const -> convert_virtual_tile_to_physical_tile
~ unsigned convertPhysicalTileToVirtualTile(unsigned physicalTileId) const -> convert_physical_tile_to_virtual_tile
~ unsigned convertPhysicalTileToVirtualTile(unsigned ipuId, unsigned physicalTileId) const -> convert_physical_tile_to_virtual_tile
~ bool hasCodelet(StringRef codeletName) const
? void outputVertexGraph(std::ostream &outputStream, ArrayRef<program::Program> progs = {}) const -> output_vertex_graph
? void outputComputeGraph(std::ostream &outputStream, ArrayRef<program::Program> progs = {}) const -> output_vertex_graph
? void serialize(std::ostream &out, SerializationFormat format) const
? void serialize(std::ostream &out, ArrayRef<program::Program> progs, SerializationFormat format) const
? void serializeTensors(std::ostream &out, ArrayRef<Tensor> tensors, SerializationFormat format) const -> serialize_tensors
? std::vector<Tensor> deserializeTensors(std::istream &in, SerializationFormat format) -> deserialize_tensors
ConnectionDesc
"""

ENGINE = """
~ Engine(const Graph &graph, ArrayRef<program::Program> progs, const OptionFlags &opt = {}, ProgressFunc progressCallBack = nullptr, const DebugContext &debugContext = {})
~ Engine(Executable &&exe, const OptionFlags &opt = {})
~ void prepare(const Device &device, const RuntimeOptions &runtimeOptions = {})
~ void deploy()
~ void load(const Device &device)
~ void run(unsigned prog = 0, const std::string &debugName = "")
~ void run(unsigned prog, const std::string &debugName, const RuntimeOptions &runtimeOptions)
~ void stop()
~ void loadAndRun(const Device &device, unsigned prog = 0)
~ TimerTimePoint getTimeStamp() const
~ std::string reportTiming(const TimerTimePoint &start, const TimerTimePoint &end)
~ void resetExecutionProfile()
? void resetExecutionProfiling() -> resetExecutionProfile // the name in older versions
~ void disableExecutionProfiling()
~ void enableExecutionProfiling()
? void printProfileSummary(std::ostream &outputStream, const OptionFlags &opt = {})
? pva::Report getReport(bool reportExecution = true) -> report()
~ void readTensor(StringRef handle, void *buf, void *bufEnd) const
~ template <typename T> void readTensor(StringRef handle, ArrayRef<T> values) const // `engine.read(x)`
~ void writeTensor(StringRef handle, const void *buf, const void *bufEnd) const
~ template <typename T> void writeTensor(StringRef handle, ArrayRef<T> values) const // `engine.write(x, array)`
~ template <typename T> void connectStream(StringRef handle, const ArrayRef<T> &values) -> connect_stream(handle, values)
~ void connectStream(StringRef handle, void *begin, void *end) -> connect_stream(handle, begin) // C++ has a pointer to the end; a NumPy array has a size | engine.connectStream('in', array)
? void connectStreamToCallback(StringRef handle, StreamCallbackHandle f) -> connect_stream_to_callback(handle, f)
? void connectStreamToCallback(StringRef handle, unsigned index, StreamCallbackHandle f) -> connect_stream_to_callback(handle, f, replica=index)
? void connectHostFunction(StringRef handle, HostCallbackHandle f) -> connect_host_function(handle, f) // the replica may be left out here
? void connectHostFunction(StringRef handle, unsigned index, HostCallbackHandle f) -> connect_host_function(handle, f, replica=index)
~ void copyFromRemoteBuffer(StringRef handle, void *w, uint64_t repeatIndex, unsigned replicationIndex = 0) // `copy_from_remote_buffer(handle, row, replica)`
~ void copyToRemoteBuffer(void *w, StringRef handle, uint64_t repeatIndex, unsigned replicationIndex = 0) -> copy_to_remote_buffer
~ std::vector<std::string> listStreams() const -> list_streams
~ OptionFlags getEngineOptions() const
? void setPrintStream(std::ostream &stream) // `engine.print_stream = stream`
? void setPrintTensorStream(std::ostream &stream)
~ void insertSimulatedError(ErrorCode errorCode, const ErrorLocation &location)
~ void eraseSimulatedError(const ErrorLocation &location)
~ void clearSimulatedErrors()
~ std::vector<ErrorLocation> getSimulatedErrorLocations(unsigned ipu, unsigned tile) const
TimerTimePoint
"""

TARGET = """
std::size_t hash() const
TargetType getTargetType() const
std::string getTargetSystemString() const -> architecture
StringRef getTargetArchString() const
unsigned getNumIPUs() const -> ipus
unsigned getTilesPerIPU() const -> tiles_per_ipu
unsigned getNumWorkerContexts() const -> workers
unsigned getBytesPerTile() const -> tile_memory_bytes
unsigned getExchangeBytesPerCycle() const -> exchange_bytes_per_cycle
unsigned getMemcpyBytesPerCycle() const -> cost("memcpy_bytes_per_cycle")
unsigned getMinIPUSyncDelay() const -> cost("sync_cycles")
unsigned getGlobalSyncCycles() const -> cost("global_sync_cycles")
const std::vector<unsigned> &getMemoryElementOffsets() const -> memory_element_offsets
unsigned getInterleavedMemoryElementIndex() const -> interleaved_memory_element
~ unsigned getNumStrideBits() const -> cost("stride_bits")
unsigned getDataPathWidth() const -> data_path_bits
unsigned getFp8ConvUnitMaxPipelineDepth() const -> getConvUnitMaxPipelineDepth(QUARTER)
unsigned getFp16ConvUnitMaxPipelineDepth() const -> getConvUnitMaxPipelineDepth(HALF)
~ unsigned getFp32ConvUnitMaxPipelineDepth() const -> getConvUnitMaxPipelineDepth(FLOAT)
~ unsigned getFp8ConvUnitInputLoadElemsPerCycle() const -> getConvUnitInputLoadElemsPerCycle(QUARTER)
~ unsigned getFp16ConvUnitInputLoadElemsPerCycle() const -> getConvUnitInputLoadElemsPerCycle(HALF)
~ unsigned getFp32ConvUnitInputLoadElemsPerCycle() const -> getConvUnitInputLoadElemsPerCycle(FLOAT)
~ unsigned getFp8InFp16OutConvUnitsPerTile() const -> getNumConvUnits(QUARTER, HALF)
~ unsigned getFp16InFp16OutConvUnitsPerTile() const -> getNumConvUnits(HALF, HALF)
~ unsigned getFp16InFp32OutConvUnitsPerTile() const -> getNumConvUnits(HALF, FLOAT)
~ unsigned getFp32InFp32OutConvUnitsPerTile() const -> getNumConvUnits(FLOAT, FLOAT)
~ unsigned getConvUnitCoeffLoadBytesPerCycle() const -> cost("weight_load_bytes_per_cycle")
~ unsigned getRptCountMax() const -> cost("repeat_limit")
~ bool supportsExchangeBusSharing() const
~ unsigned getTilesPerSharedExchangeBus() const -> cost("pair_tiles")
~ unsigned getNumTiles() const -> tiles
~ std::uint64_t getMemoryBytes() const -> memory_bytes
~ unsigned getFloatVectorWidth() const -> vector_width(FLOAT)
~ unsigned getHalfVectorWidth() const -> vector_width(HALF)
~ unsigned getQuarterVectorWidth() const -> vector_width(QUARTER)
~ unsigned getVectorWidth(const Type &type) const -> vector_width
~ unsigned getWeightsPerConvUnit(const Type &inputType) const
~ unsigned getConvUnitInputLoadElemsPerCycle(const Type &inputType) const
~ unsigned getConvUnitMaxPipelineDepth(const Type &partialsType) const
~ unsigned getNumConvUnits(const Type &inputType, const Type &partialsType) const
~ unsigned getMaxIPUSyncDelay() const
~ double getTileClockFrequency() const -> clock_hz
~ unsigned getNumTilesPerXBContext() const
~ unsigned getNumContextsPerXB() const
~ unsigned getTileHostExchangeXB(unsigned tile) const
~ unsigned getTileHostExchangeContext(unsigned tile) const
~ unsigned getTileHostExchangeContextPosition(unsigned tile) const
~ std::size_t getTypeSize(const Type &type) const // `type.size_bytes`
~ unsigned getAtomicStoreGranularity() const -> cost("atomic_store_bytes")
~ std::uint32_t makeFpIctlValue(bool inv, bool div0, bool oflo, bool esr, bool nanoo) const
~ unsigned getFpIctlRegIndex() const
~ unsigned getDbgDataRegIndex() const
~ IpuLinkConfiguration getIpuLinkConfiguration() const
~ IpuLinkTopology getIpuLinkTopology() const
~ unsigned getIpuLinkDomainSize() const -> ipus
~ unsigned getInstanceSize() const -> ipus
~ bool getGatewayMode() const
~ Target createVirtualTarget(unsigned numIPUs, unsigned tilesPerIPU) const
~ static Target createCPUTarget(bool accurateHalf = false, unsigned numIPUs = 1)
~ static Target createIPUTarget(unsigned numIPUs, unsigned tilesPerIPU, StringRef systemType, const OptionFlags &opts = {}) // `Target(tiles=..., ipus=numIPUs)`
~ static Target createIPUTarget(unsigned numIPUs, StringRef systemType, const OptionFlags &opts = {}) // `Target(ipus=numIPUs, architecture=systemType)`
~ static Target createIPUTarget(StringRef systemType, const OptionFlags &opts = {}) // `Target(architecture=systemType)`
template <typename T> T getTypeLimitsMaxAs(const Type &t) const
template <typename T> T getTypeLimitsLowestAs(const Type &t) const
"""

OTHERS = {
    "Type": """
~ std::string toString() const
~ std::size_t hash() const
~ bool isFloatingPoint() const // `type.is_floating_point`
~ bool requiresMetadata() const // `type.requires_metadata`
? bool operator<(const Type &other) const
""",
    "Interval": """
? std::size_t begin() const
? std::size_t end() const
? std::size_t size() const
""",
    "VariableRef": """
~ std::size_t hash() const
""",
    "VariableInterval": """
VariableInterval(VariableRef var, Interval interval)
VariableRef var
Interval interval
""",
    "OptionFlags": """
? OptionFlags(initializer_list<OptionFlag> &&initList)
~ void set(StringRef option, StringRef value)
? void set(initializer_list<OptionFlag> &&initList)
~ StringRef at(StringRef option) const // `flags[option]`
~ iterator find(StringRef option) const // `flags.get(option)`
~ std::size_t size() const // `len(flags)`
~ void clear()
~ iterator begin() const
~ iterator end() const
iterator
""",
    "RuntimeOptions": """
~ RuntimeOptions(const OptionFlags &options)
""",
    "SourceLocation": """
~ StringRef getFunctionName() const // `location.function`
~ StringRef getFileName() const // `location.file`
~ unsigned getLineNumber() const // `location.line`
~ bool isValid() const
~ static SourceLocation Current(const char *functionName = "", const char *fileName = "", unsigned lineNumber = 0)
""",
    "Device": """
~ unsigned getId() const
~ const Target &getTarget() const
~ bool attach() const
~ bool isAttached() const
~ void detach() const
~ void getDriverVersion(unsigned &major, unsigned &minor, unsigned &point) const
~ bool supportsRemoteBuffers() const
~ bool hasGateway() const
~ std::map<std::string, std::string> getAttributes() const
~ std::string getNumaTopology() const
~ std::set<int> getNumaNodesUsedForIPUs() const
~ std::vector<int> getDriverIDs() const
~ void reset() const
~ Device createVirtualDevice(unsigned tilesPerIPU)
~ static Device createCPUDevice(unsigned numIPUs = 1)
~ static Device createSimulatorDevice(const Target &target, const OptionFlags &options = {})
""",
    "DeviceManager": """
~ std::size_t getNumDevices() const
? std::vector<Device> getDevices(const OptionFlags &opts = {}) const
? std::vector<Device> getDevices(TargetType type, unsigned requiredNumIPUs, const OptionFlags &opts = {}) const
~ Device getDevice(unsigned deviceManagerId, const OptionFlags &opts = {}) const
~ std::vector<unsigned> getChildDeviceIds(unsigned parentId, unsigned numChildDeviceIPUs = 1) const
~ static DeviceManager createDeviceManager()
""",
    "IPUModel": """
~ IPUModel(const char *IPUVersion = "ipu2")
~ Device createDevice(OptionFlags opts = {}, bool accurateHalf = false, unsigned deviceManagerId = 0) const
~ std::string IPUVersion
~ unsigned numIPUs
~ unsigned tilesPerIPU
~ unsigned numWorkerContexts
~ unsigned memoryBytesPerTile
~ double tileClockFrequency
~ unsigned exchangeBytesPerCycle
~ unsigned dataPathWidth
~ unsigned memcpyBytesPerCycle
~ unsigned minIPUSyncDelay
~ RelativeSyncDelayType relativeSyncDelay
~ unsigned globalSyncCycles
~ unsigned numStrideBits
~ unsigned rptCountMax
~ unsigned atomicStoreGranularity
~ unsigned instructionBytes
~ unsigned convUnitCoeffLoadBytesPerCycle
~ unsigned tilesPerSuperTile
~ bool compileIPUCode
~ bool supportsSuperTileSendReceive
~ std::vector<GlobalExchangeConstraint> globalExchangeConstraints
~ unsigned interleavedMemoryElementIndex
~ std::vector<unsigned> memoryElementOffsets
~ unsigned fp8InFp16OutConvUnitsPerTile
~ unsigned fp16InFp16OutConvUnitsPerTile
~ unsigned fp16InFp32OutConvUnitsPerTile
~ unsigned fp32InFp32OutConvUnitsPerTile
~ unsigned fp8ConvUnitMaxPipelineDepth
~ unsigned fp8ConvUnitInputLoadElemsPerCycle
~ unsigned fp16ConvUnitMaxPipelineDepth
~ unsigned fp16ConvUnitInputLoadElemsPerCycle
~ unsigned fp32ConvUnitMaxPipelineDepth
~ unsigned fp32ConvUnitInputLoadElemsPerCycle
""",
    "Executable": """
void serialize(std::ostream &out) const
static Executable deserialize(std::istream &in)
""",
    "DataStream": """
std::string handle() const
std::size_t numElements() const -> num_elements
unsigned replicationFactor() const -> replication_factor
ReplicatedStreamMode replicatedMode() const -> replicated_mode
DataStreamType type() const
Type elementType() const -> element_type
""",
    "RemoteBuffer": """
std::string handle() const
DataStream getIpuToHostStream() const
DataStream getHostToIpuStream() const
size_t numElements() const -> num_elements
size_t getRepeats() const -> repeats
Type elementType() const -> element_type
bool isRearrangeOnHost() const -> rearrange_on_host
bool isOptimisedForMemory() const -> optimise_memory
""",
    "StreamCallback": """
~ Result prefetch(void *p)
~ void fetch(void *p)
? void complete()
? void invalidatePrefetched() -> invalidate_prefetched
""",
    "VertexRef": """
~ unsigned getId() const
""",
    "FieldRef": """
bool isIndexed() const -> is_indexed
std::size_t getIndex() const -> index
""",
    "ComputeSet": """
unsigned getId() const
""",
    "Function": """
~ unsigned getId() const
""",
    "FunctionBuffer": """
~ unsigned getId() const
""",
    "HostFunction": """
~ unsigned getId() const
""",
    "VertexIntrospector": """
? FieldData getFieldInfo(const std::string &name) const -> field_info
""",
    "FieldData": """
~ unsigned rank() const
~ std::size_t size() const
~ std::size_t getSizeAtIndex(std::size_t i) const -> size_at
~ layout::Vector getProfilerVectorLayout(std::size_t nestingLevel) const
~ layout::VectorList getProfilerVectorListLayout() const
~ std::string name() const
? template <typename T> T getInitialValue(const Target &target) const // `field.initial_value`
? template <typename T> std::vector<T> getInitialValues(const Target &target) const // `field.initial_values`
SizeT
""",
    "VertexPerfEstimate": """
? VertexPerfEstimate(std::uint64_t cycles, std::uint64_t flops = 0)
""",
    "QuarterMetadata": """
? QuarterMetadata(Format format, int scale)
? std::uint8_t getBinary() const // `metadata.to_byte()`
""",
    "TensorRearranger": """
~ Tensor rearrange(const Tensor &t) const
~ std::vector<Interval> rearrange(ArrayRef<Interval> is) const
~ Tensor undoRearrangement(const Tensor &t) const -> undo
~ std::vector<Interval> undoRearrangement(ArrayRef<Interval> is) const -> undo
~ bool valid() const
""",
    "FloatingPointBehaviour": """
~ FloatingPointBehaviour(bool inv, bool div0, bool oflo, bool esr, bool nanoo)
""",
    "poplar_error": """
? const char *what() const
? void attachSourceLocation(const SourceLocation &loc)
""",
    "Program": """
? Program()
~ bool isEmpty() const // `program.is_empty`
? bool operator==(const Program &p) const // `program.same_as(other)`
""",
    "Execute": """
~ Execute(ComputeSet cs, Tensor t, const DebugContext &debugContext = {}) -> Execute(cs, t, name=debugContext)
~ Execute(ComputeSet cs, const DebugContext &debugContext = {}) -> Execute(cs, name=debugContext)
""",
    "Sequence": """
? Sequence(initializer_list<Program> programs, const DebugContext &debugContext = {}) // `Sequence(a, b)`
~ void add(const Program &p)
""",
    "Repeat": """
~ Repeat(unsigned count, const Program &prog, const DebugContext &debugContext = {}) -> Repeat(count, prog, name=debugContext)
""",
    "RepeatWhileFalse": """
~ RepeatWhileFalse(const Program &cond, Tensor predicate, const Program &body, const DebugContext &debugContext = {}) -> RepeatWhileFalse(cond, predicate, body, name=debugContext)
""",
    "RepeatWhileTrue": """
~ RepeatWhileTrue(const Program &cond, Tensor predicate, const Program &body, const DebugContext &debugContext = {}) -> RepeatWhileTrue(cond, predicate, body, name=debugContext)
""",
    "Loop": """
~ Loop(const Program &body, const DebugContext &debugContext = {}) -> Loop(body, name=debugContext)
""",
    "If": """
~ If(Tensor predicate, const Program &trueBody, const Program &falseBody, const DebugContext &debugContext = {}) -> If(predicate, trueBody, falseBody, name=debugContext)
""",
    "Switch": """
~ Switch(Tensor control, const std::vector<std::pair<std::int32_t, Program>> &cases, const DebugContext &debugContext = {}) -> Switch(control, cases, name=debugContext)
~ Switch(Tensor control, const std::vector<std::pair<std::int32_t, Program>> &cases, const Program &defaultCaseBody, const DebugContext &debugContext = {}) -> Switch(control, cases, defaultCaseBody, name=debugContext)
~ Switch(Tensor control, const DebugContext &debugContext = {}) -> Switch(control, name=debugContext)
~ Switch(Tensor control, const Program &defaultCaseBody, const DebugContext &debugContext = {}) -> Switch(control, default=defaultCaseBody, name=debugContext)
~ Switch &add(std::int32_t value, const Program &body)
~ static Switch switchWithBoundsChecking(Tensor control, const std::vector<std::pair<std::int32_t, Program>> &cases, const DebugContext &debugContext = {}) // `Switch.with_bounds_checking(control, cases)`
~ static Switch switchWithUnreachableDefault(Tensor control, const DebugContext &debugContext = {}) // `Switch.with_unreachable_default(control, cases)`
""",
    "Copy": """
Copy(Tensor src, Tensor dst, bool dontOutline = false, const DebugContext &debugContext = {})
Copy(const DataStream &stream, Tensor dst, bool optimiseMemory = false, const DebugContext &debugContext = {})
Copy(Tensor src, const DataStream &stream, bool optimiseMemory = false, const DebugContext &debugContext = {})
Copy(const RemoteBuffer &buffer, Tensor dst, const DebugContext &debugContext = {})
Copy(const RemoteBuffer &buffer, Tensor dst, Tensor offset, const DebugContext &debugContext = {})
Copy(Tensor src, const RemoteBuffer &buffer, const DebugContext &debugContext = {})
Copy(Tensor src, const RemoteBuffer &buffer, Tensor offset, const DebugContext &debugContext = {})
Copy(const FunctionBuffer &buffer, const Function &function, const DebugContext &debugContext = {})
""",
    "CrossReplicaCopy": """
~ CrossReplicaCopy(Tensor src, Tensor dst, std::map<unsigned, unsigned> replicaMap, const DebugContext &debugContext = {}) -> CrossReplicaCopy(src, dst, replicaMap, name=debugContext)
""",
    "WriteUndef": """
~ WriteUndef(Tensor t, const DebugContext &debugContext = {}) -> WriteUndef(t, name=debugContext)
""",
    "AssumeEqualAcrossReplicas": """
~ AssumeEqualAcrossReplicas(Tensor t, const DebugContext &debugContext = {}) -> AssumeEqualAcrossReplicas(t, name=debugContext)
""",
    "Block": """
~ Block(const Program &p, const DebugContext &debugContext = {})
""",
    "Sync": """
~ Sync(SyncType type, const DebugContext &debugContext = {}) -> Sync(type, name=debugContext)
""",
    "Call": """
~ Call(Function f, const DebugContext &debugContext = {})
~ Call(HostFunction f, ArrayRef<Tensor> inputs, ArrayRef<Tensor> outputs, const DebugContext &debugContext = {})
""",
    "PrintTensor": """
~ PrintTensor(Tensor t, const DebugContext &debugContext) // refused: the title comes first, PrintTensor('n', t)
~ PrintTensor(Tensor t, const PrintTensorFmt &fmt = {}, const DebugContext &debugContext = {}) -> PrintTensor(t, format=fmt, name=debugContext)
~ PrintTensor(StringRef title, Tensor t, const PrintTensorFmt &fmt = {}, const DebugContext &debugContext = {}) -> PrintTensor(title, t, fmt, name=debugContext)
~ PrintTensor(StringRef title, Tensor t, const DebugContext &debugContext) -> PrintTensor(title, t, name=debugContext)
""",
    "ErrorProgram": """
~ ErrorProgram(StringRef message, Tensor debugTensor, const DebugContext &debugContext = {}) -> ErrorProgram(message, debugTensor, name=debugContext)
""",
    "Abort": """
~ Abort(const std::string &message, const DebugContext &debugContext = {}) -> Abort(message, name=debugContext)
~ Abort(const DebugContext &debugContext = {}) -> Abort(name=debugContext)
""",
    "AbortOnCondition": """
~ AbortOnCondition(Tensor predicate, const std::string &message, const DebugContext &debugContext = {}) -> AbortOnCondition(predicate, message, name=debugContext)
~ AbortOnCondition(Tensor predicate, const DebugContext &debugContext = {}) -> AbortOnCondition(predicate, name=debugContext)
""",
    "PrintTensorFmt": """
~ PrintTensorFmt(unsigned summariseThreshold = 1000, unsigned edgeItems = 3, unsigned maxLineWidth = 75, unsigned digits = 8, FloatFormat floatFormat = FloatFormat::Auto, char separator = ' ', char openBracket = '[', char closeBracket = ']')
~ static PrintTensorFmt disableFormatting() // `PrintTensorFormat.disable_formatting()`
""",
    "layout": """
? std::string to_string(const Vector layout) // `layout.Vector.SPAN.name`
? std::string to_string(const VectorList layout)
""",
    "": """
? extern Type SIGNED -> INT
? extern Type SIGNED_INT -> INT
? extern Type SIGNED_SHORT -> SHORT
? extern Type UNSIGNED -> UNSIGNED_INT
? class PrintTensorFmt -> PrintTensorFormat
? class StreamCallbackBase -> StreamCallback
? class VariableRef -> Variable
? class VertexIntrospector -> VertexInstance
? class VertexRef -> VertexInstance
Tensor concat(ArrayRef<Tensor> ts, unsigned dimension = 0)
Tensor concat(const Tensor &first, const Tensor &second, unsigned dimension = 0)
Tensor append(const Tensor &first, const Tensor &second, unsigned dimension)
Tensor append(const Tensor &first, const Tensor &second)
~ Executable compileGraph(const Graph &graph, ArrayRef<program::Program> progs, const OptionFlags &opt = {}, ProgressFunc progressCallBack = nullptr, const DebugContext &debugContext = {}) -> compile_graph(graph, progs, options=opt)
~ Executable compileGraph(const Graph &graph, ArrayRef<program::Program> progs, bool checkOptionFlags, const OptionFlags &opt = {}, ProgressFunc progressCallBack = nullptr, const DebugContext &debugContext = {}) -> compile_graph(graph, progs, options=opt)
~ Executable compileModule(const Graph &graph, program::Program prog, const OptionFlags &opt = {}, ProgressFunc progressCallBack = nullptr, const DebugContext &debugContext = {})
~ Executable compileModule(const Graph &graph, program::Program prog, const Preallocations &prealloc, const OptionFlags &opt = {}, ProgressFunc progressCallBack = nullptr, const DebugContext &debugContext = {})
~ void setFloatingPointBehaviour(Graph &graph, program::Sequence &prog, const FloatingPointBehaviour &behaviour, const DebugContext &debugContext = {}) -> set_floating_point_behaviour
~ void setFloatingPointBehaviour(Graph &graph, program::Sequence &prog, const Tensor &behaviour, const DebugContext &debugContext = {}) // refused: here the behaviour is known
~ void setStochasticRounding(Graph &graph, program::Sequence &prog, bool enable, const DebugContext &debugContext = {}) -> set_stochastic_rounding
~ Tensor getAndModifyFloatingPointBehaviour(Graph &graph, program::Sequence &prog, const FloatingPointBehaviour &clear, const FloatingPointBehaviour &set, const DebugContext &debugContext = {}) -> get_and_modify_floating_point_behaviour
? Tensor cycleCount(Graph &graph, program::Sequence &prog, unsigned tile, SyncType syncType, const DebugContext &debugContext = {}) -> cycle_count
? Tensor cycleStamp(Graph &graph, program::Sequence &prog, unsigned tile, SyncType syncType, const DebugContext &debugContext = {}) -> cycle_stamp
? void dumpProgram(const Graph &graph, const program::Program &program, std::ostream &out) -> dump_program
StringRef versionString() -> version_string
StringRef packageHash()
~ ProfileValue getAsProfileValue(const OptionFlags &flags)
~ void readJSON(StringRef string, OptionFlags &flags) -> read_json
~ void readJSONFromEnv(StringRef environmentVariable, OptionFlags &flags) -> read_json_from_env
void copyDeviceHalfToFloat(const Target &target, const void *src, float *dst, std::size_t numElements) -> copy_device_half_to_float
void copyFloatToDeviceHalf(const Target &target, const float *src, void *dst, std::size_t numElements) -> copy_float_to_device_half
void copyDeviceHalfToDouble(const Target &target, const void *src, double *dst, std::size_t numElements) -> copy_device_half_to_float
void copyDoubleToDeviceHalf(const Target &target, const double *src, void *dst, std::size_t numElements) -> copy_float_to_device_half
~ CodeletFileType getCodeletFileType(const char *path)
~ std::string getExtensionFromFileType(CodeletFileType type)
~ std::string getLanguageOption(CodeletFileType type)
~ bool isDeviceToHost(DataStreamType type)
~ bool isHostToDevice(DataStreamType type)
~ bool isRemoteBuffer(DataStreamType type)
~ StringRef errorCodeToString(ErrorCode code)
~ ErrorCode errorCodeFromString(StringRef code)
""",
}


# -- PopLibs ---------------------------------------------------------------------------------------
# A function with a single declaration takes its arguments in that order, and annotations give their
# types; `poplite.compat` checks those. Listed here are the functions with several declarations: the
# function's only signature follows the arrow. Types, names and defaults are from the public headers
# (graphcore/poplibs, include).


_MATMULS = "const std::vector<std::size_t> &aShape, const std::vector<std::size_t> &bShape, const DebugContext &debugContext, const OptionFlags &options = {}, PlanningCache *cache = nullptr"
_END = "const DebugContext &debugContext = {}, const OptionFlags &options = {}"


def _of_shapes(*names: str) -> str:
    """Return the declarations of the functions that make operands and results of products."""
    return "".join(
        f"{'+ ' if 'Grouped' in name else ''}Tensor {name}(Graph &graph, const Type &inputType, {_MATMULS})"
        f" -> {name}(graph, inputType, aShape, bShape, debugContext, options, cache)\n"
        f"Tensor {name}(Graph &graph, const Type &inputType, const Type &outputType, {_MATMULS})"
        f" -> {name}(graph, inputType, aShape, bShape, debugContext, options, cache, output_type=outputType)\n"
        for name in names
    )


def _scaled(name: str) -> str:
    """Return the declarations of a function that adds a product."""
    return f"""
void {name}(Graph &graph, Tensor A, Tensor B, float scaleB, program::Sequence &prog, {_END}) -> {name}(graph, A, B, scaleB, prog, debugContext, options)
void {name}(Graph &graph, Tensor A, Tensor B, Tensor scaleB, program::Sequence &prog, {_END}) -> {name}(graph, A, B, scaleB, prog, debugContext, options)
void {name}(Graph &graph, Tensor A, Tensor scaleA, Tensor B, Tensor scaleB, program::Sequence &prog, {_END}) -> {name}(graph, A, B, scaleB, prog, debugContext, options, scale=scaleA)
void {name}(Graph &graph, Tensor A, float scaleA, Tensor B, float scaleB, program::Sequence &prog, {_END}) -> {name}(graph, A, B, scaleB, prog, debugContext, options, scale=scaleA)
"""


LIBRARIES: Mapping[str, str] = MappingProxyType(
    {
        "popops": f"""
Tensor createSliceableTensor(Graph &graph, const Type &type, const std::vector<size_t> &shape, const std::vector<size_t> &dims, const std::vector<size_t> &sizes, std::size_t minGrainSize = 0, const DebugContext &debugContext = {{}}) -> createSliceableTensor(graph, type, shape, dims, sizes, minGrainSize, debug_context=debugContext)
Tensor createSliceableTensor(Graph &graph, const Type &type, const std::vector<size_t> &shape, const std::vector<size_t> &dims, const std::vector<size_t> &sizes, const SlicePlan &plan, const OptionFlags &options, const DebugContext &debugContext = {{}}) -> createSliceableTensor(graph, type, shape, dims, sizes, plan, options, debugContext)
template <typename FillValueType> void fill(Graph &graph, const Tensor &t, program::Sequence &prog, FillValueType fillValue, const DebugContext &debugContext = {{}}) -> fill(graph, t, prog, fillValue, debugContext)
template <typename FillValueType> void fill(Graph &graph, Tensor t, const std::vector<Interval> &tileRegions, unsigned tile, ComputeSet fillCS, FillValueType fillValue) -> fill(graph, t, None, fillValue, cs=fillCS, tile=tile, regions=tileRegions)
template <typename FillValueType> void fill(Graph &graph, const Tensor &t, unsigned tile, ComputeSet fillCS, FillValueType fillValue) -> fill(graph, t, None, fillValue, cs=fillCS, tile=tile)
template <typename FillValueType> void fill(Graph &graph, const Tensor &t, const std::vector<std::vector<Interval>> &mapping, ComputeSet fillCS, FillValueType fillValue) -> fill(graph, t, None, fillValue, cs=fillCS, mapping=mapping)
Tensor reduce(Graph &graph, const Tensor &in, const std::vector<std::size_t> &dims, ReduceParams params, program::Sequence &prog, {_END}) -> reduce(graph, in_, dims, params, prog, debugContext, options)
Tensor reduce(Graph &graph, const Tensor &in, const Type &outType, const std::vector<std::size_t> &dims, ReduceParams params, program::Sequence &prog, {_END}) -> reduce(graph, in_, dims, params, prog, debugContext, options, output_type=outType)
Tensor reduce(Graph &graph, const Tensor &in, const std::vector<std::size_t> &dims, ReduceParams params, std::vector<ComputeSet> &css, {_END}) -> reduce(graph, in_, dims, params, css, debugContext, options)
Tensor reduce(Graph &graph, const Tensor &in, const Type &outType, const std::vector<std::size_t> &dims, ReduceParams params, std::vector<ComputeSet> &css, {_END}) -> reduce(graph, in_, dims, params, css, debugContext, options, output_type=outType)
void zero(Graph &graph, const Tensor &t, program::Sequence &prog, const DebugContext &debugContext = {{}}) -> zero(graph, t, prog, debugContext)
void zero(Graph &graph, Tensor t, const std::vector<Interval> &tileRegions, unsigned tile, ComputeSet zeroCS) -> zero(graph, t, None, cs=zeroCS, tile=tile, regions=tileRegions)
void zero(Graph &graph, const Tensor &t, unsigned tile, ComputeSet zeroCS) -> zero(graph, t, None, cs=zeroCS, tile=tile)
void zero(Graph &graph, const Tensor &t, const std::vector<std::vector<Interval>> &mapping, ComputeSet zeroCS) -> zero(graph, t, None, cs=zeroCS, mapping=mapping)
"""
        + _scaled("scaledAddTo")
        + _scaled("scaledSubtractFrom"),
        "poplin": f"""
Tensor matMul(Graph &graph, const Tensor &A, const Tensor &B, program::Sequence &prog, {_END}, PlanningCache *cache = nullptr) -> matMul(graph, A, B, prog, debugContext, options, cache)
Tensor matMul(Graph &graph, const Tensor &A, const Tensor &B, program::Sequence &prog, const Type &outputType, {_END}, PlanningCache *cache = nullptr) -> matMul(graph, A, B, prog, debugContext, options, cache, output_type=outputType)
+ Tensor matMulGrouped(Graph &graph, const Tensor &A, const Tensor &B, program::Sequence &prog, {_END}, PlanningCache *cache = nullptr) -> matMulGrouped(graph, A, B, prog, debugContext, options, cache)
Tensor matMulGrouped(Graph &graph, const Tensor &A, const Tensor &B, program::Sequence &prog, const Type &outputType, {_END}, PlanningCache *cache = nullptr) -> matMulGrouped(graph, A, B, prog, debugContext, options, cache, output_type=outputType)
"""
        + _of_shapes("createMatMulInputLHS", "createMatMulInputRHS", "createMatMulOutput")
        + _of_shapes("createMatMulGroupedInputLHS", "createMatMulGroupedInputRHS")
        + _of_shapes("createMatMulGroupedOutput"),
        "popnn": """
program::Program calcLoss(Graph &graph, const Tensor &modelOutputs, const Tensor &expected, const Tensor &loss, const Tensor &deltas, LossType lossType, const DebugContext &debugContext = {}) -> calcLoss(graph, modelOutputs, expected, loss, deltas, lossType, debugContext)
program::Program calcLoss(Graph &graph, const Tensor &modelOutputs, const Tensor &expected, const Tensor &loss, const Tensor &deltas, const Tensor &numCorrect, LossType lossType, const DebugContext &debugContext = {}) -> calcLoss(graph, modelOutputs, expected, loss, deltas, lossType, debugContext, num_correct=numCorrect)
program::Program calcLoss(Graph &graph, const Tensor &modelOutputs, const Tensor &expected, const Tensor &loss, const Tensor &deltas, const Tensor &deltasScale, const Tensor &modelOutputScaling, LossType lossType, const DebugContext &debugContext = {}) -> calcLoss(graph, modelOutputs, expected, loss, deltas, lossType, debugContext, deltas_scale=deltasScale, model_output_scaling=modelOutputScaling)
program::Program calcLoss(Graph &graph, const Tensor &modelOutputs, const Tensor &expected, const Tensor &loss, const Tensor &deltas, const Tensor &deltasScale, const Tensor &modelOutputScaling, const Tensor &numCorrect, LossType lossType, const DebugContext &debugContext = {}) -> calcLoss(graph, modelOutputs, expected, loss, deltas, lossType, debugContext, deltas_scale=deltasScale, model_output_scaling=modelOutputScaling, num_correct=numCorrect)
""",
        "poputil": """
void mapTensorLinearlyWithOffset(Graph &graph, const Tensor &t, unsigned offset = 0, bool ascendingOrder = true) -> mapTensorLinearlyWithOffset(graph, t, offset, ascendingOrder)
void mapTensorLinearlyWithOffset(Graph &graph, const Tensor &t, unsigned minElementsPerTile, unsigned grainSize, unsigned offset, bool ascendingOrder = true) -> mapTensorLinearlyWithOffset(graph, t, offset, ascendingOrder, min_elements_per_tile=minElementsPerTile, grain_size=grainSize)
""",
    }
)
"""Declarations by namespace."""


# -- rows ------------------------------------------------------------------------------------------


class Row(NamedTuple):
    """One declaration.

    Attributes:
        owner: the class; empty for a function of the namespace.
        declaration: in C++, as the reference has it.
        ours: the counterpart here, as described in the module docstring.
        note: other differences in Python.
        mark: "~" or "?" if its text could not be compared, as described above; "+" for a member
            that C++ does not declare.
    """

    owner: str
    declaration: str
    ours: str
    note: str
    mark: str

    @property
    def page(self) -> str:
        """The page of the class in the public reference; empty if that was not read."""
        return _REFERENCE + _PAGES[self.owner] if self.owner in _PAGES else ""

    @property
    def called(self) -> str:
        """Its name in messages: a function of PopLibs has its namespace."""
        return f"{self.owner}.{self.member}" if self.owner in LIBRARIES else self.member

    @property
    def member(self) -> str:
        """Its name."""
        before = self.declaration.partition("(")[0].partition(" = ")[0]
        return before.split()[-1].lstrip("&*")


TEXTS: Mapping[str, str] = MappingProxyType(
    {"Tensor": TENSOR, "Graph": GRAPH, "Engine": ENGINE, "Target": TARGET, **OTHERS}
)
"""Declarations by class."""


@cache
def declared_rows(owner: str) -> tuple[Row, ...]:
    """Return the declarations of a class, or of a namespace of PopLibs, in their order."""
    text = TEXTS.get(owner) or LIBRARIES.get(owner, "")
    return tuple(_row(owner, line) for line in text.split("\n") if line)


def _row(owner: str, line: str) -> Row:
    text, _, note = line.partition(" // ")
    declaration, _, ours = text.partition(" -> ")
    mark = declaration[0] if declaration[0] in "~?+" else ""
    return Row(owner, declaration.removeprefix(f"{mark} "), ours, note, mark)
