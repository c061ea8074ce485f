"""Every signature of Poplar's classes: how it is called in C++ order, and in ours.

A row is a member with its arguments as Poplar documents them, a call of the C++ spelling with
Poplar's order, and the call of ours that does the same. `helpers.names_page` makes the tables of
docs/poplar-names.md of them.

Calls are evaluated in a `World`, whose attributes are the names that they use.
Source: Poplar API reference, SDK 3.3, page of each class.
"""

# ruff: noqa: E501  # one line a signature reads as the table that it is

from __future__ import annotations

from typing import NamedTuple


class Example(NamedTuple):
    """A signature.

    Attributes:
        owner: Poplar's class; empty for a free function.
        poplar: the member and its arguments, as Poplar names them.
        camel: a call of the C++ spelling.
        ours: a call of ours that does the same; empty where the C++ spelling is the only one.
        expected: what the call returns, written `= value`; where it is empty, `ours` says it.
    """

    owner: str
    poplar: str
    camel: str
    ours: str = ""
    expected: str = ""

    @property
    def member(self) -> str:
        """Poplar's name of it."""
        return self.poplar.partition("(")[0]


def _rows(owner: str, text: str) -> list[Example]:
    rows = []
    for line in text.strip().splitlines():
        parts = [part.strip() for part in line.split(" | ")]
        expected = parts.pop()[2:] if parts[-1].startswith("= ") else ""
        poplar, camel, ours = [*parts, ""][:3]
        rows.append(Example(owner, poplar, camel, ours, expected))
    return rows


TENSOR = """
elementType() | x.elementType() | x.element_type
numElements() | x.numElements() | x.num_elements
dim(i) | x.dim(1) | x.dim(1)
shape() | x.shape() | x.shape
rank() | x.rank() | x.rank
operator[] (i) | x[1] | x[1]
operator[] (interval) | x[Interval(0, 1)] | x[0:1]
index(indices) | x.index([1, 2]) | x[1, 2]
slice(begin, end, dim) | x.slice(1, 3, 1) | x[:, 1:3]
slice(interval, dim) | x.slice(Interval(1, 3), 1) | x[:, 1:3]
slice(begins, ends) | x.slice([0, 1], [1, 3]) | x[0:1, 1:3]
slices(intervals, dim) | list(x.slices([(0, 1), (1, 3)], 1)) | [x[:, 0:1], x[:, 1:3]]
slices(lists of intervals, dim) | list(x.slices([[(0, 1), (2, 3)]], 1)) | [pl.concat([x[:, 0:1], x[:, 2:3]], 1)]
slices(indices, dim) | list(x.slices([2, 0], 1)) | [x[:, 2:3], x[:, 0:1]]
flatten() | x.flatten() | x.flatten()
flatten(dimBegin, dimEnd) | x.flatten(0, 2) | x.reshape(6)
reshape(shape) | x.reshape([3, 2]) | x.reshape((3, 2))
reshapePartial(begin, end, newDims) | x.reshapePartial(1, 2, [3, 1]) | x.reshape_partial(1, 2, [3, 1])
dimShuffle(permutation) | x.dimShuffle([1, 0]) | x.dim_shuffle([1, 0])
dimShufflePartial(source, destination) | x.dimShufflePartial([0], [1]) | x.dim_shuffle_partial([0], [1])
dimRoll(dim, newIdx) | x.dimRoll(1, 0) | x.dim_roll(1, 0)
transpose() | x.transpose() | x.T
expand(indices) | x.expand([0]) | x.reshape((1, 2, 3))
squeeze(indices) | x[:1].squeeze([0]) | x[0]
subSample(stride, dim) | x.subSample(2, 1) | x.sub_sample(2, 1)
upsample(scale, dim, method) | x.upsample(2, 1, UpsampleMethod.REPEAT) | x.upsample(2, 1)
broadcast(n, dim) | x.broadcast(2, 0) | pl.concat([x, x])
reverse(dim) | x.reverse(1) | x[:, ::-1]
reinterpret(type) | x.reinterpret(FLOAT) | x.reinterpret("float32")
isContiguous() | x.isContiguous() | x.is_contiguous()
containsAliases() | x.broadcast(2, 0).containsAliases() | x.broadcast(2, 0).contains_aliases()
containsConstant() | c.containsConstant() | c.contains_constant()
isParallelWriteable() | x.isParallelWriteable() | x.is_parallel_writeable()
getContiguousRegions() | list(x.T.getContiguousRegions()) | list(x.T.contiguous_regions())
getVarRegions() | list(x.T.getVarRegions()) | list(x.T.var_regions())
intersectsWith(other) | x.intersectsWith(x[0]) | x.intersects_with(x[0])
getConstantValue(pointer) | c[0].getConstantValue() | c[0].constant_value()
getMetadata() | q.getMetadata() | q.metadata
hasMetadata() | q.hasMetadata() | q.has_metadata()
valid() | x.valid() | = True
shapeToString() | x.shapeToString() | x.shape_to_string()
getVarStr() | x.getVarStr() | x.var_str()
getDebugStr() | x.getDebugStr() | x.debug_str()
output(stream) | x.output(out) | x.output(out)
outputRegions(stream) | x.outputRegions(out) | x.output_regions(out)
dump() | x.dump() | x.dump()
dumpRegions() | x.dumpRegions() | x.dump_regions()
operator==(other) | x == x.T.T | x == x.dim_shuffle([0, 1])
"""

GRAPH = """
Graph(target, replicationFactor) | Graph(two_ipus, 2) | Graph(two_ipus, replication_factor=2)
Graph(device, replicationFactor) | Graph(device, 1) | Graph(device.getTarget())
getTarget() | graph.getTarget() | graph.target
getReplicationFactor() | graph.getReplicationFactor() | graph.replication_factor
getNumVertices() | graph.getNumVertices() | graph.num_vertices
getTopLevelGraph() | graph.getTopLevelGraph() | graph.top_level_graph
addCodelets(src, type, compileFlags) | graph.addCodelets(codelets, CodeletFileType.CppSource, "-DN=3") | graph.add_codelets(codelets, "-DN=3")
addCodelets(xs, compileFlags) | graph.addCodelets([codelets], "-DN=3") | graph.add_codelets([codelets], "-DN=3")
addCodelets(stream, compileFlags) | graph.addCodelets(io.StringIO(codelets), "-DN=3") | graph.add_codelets(codelets, "-DN=3")
hasCodelet(name) | graph.hasCodelet("Double"), graph.hasCodelet(Double), graph.hasCodelet("Unheard") | = (True, True, False)
addVariable(type, shape, name) | graph.addVariable(INT, [4], "v") | graph.add_variable(INT, (4,), "v")
addVariable(type, shape, method, name) | graph.addVariable(INT, [4], VariableMappingMethod.LINEAR, "v") | graph.add_variable(INT, (4,), "v", mapping="linear")
addVariable(type, shape, NONE, name) | graph.addVariable(INT, [4], VariableMappingMethod.NONE, "v") | graph.add_variable(INT, (4,), "v")
addVariable(type, metadata, shape, name) | graph.addVariable(QUARTER, metadata, [4], "v") | graph.add_variable(QUARTER, (4,), "v", metadata=metadata)
addVariable(type, metadata, shape, method, name) | graph.addVariable(QUARTER, metadata, [4], VariableMappingMethod.LINEAR, "v") | graph.add_variable(QUARTER, (4,), "v", metadata=metadata, mapping="linear")
addConstant(type, shape, value, name) | graph.addConstant(INT, [2], 7, "k") | graph.add_constant(INT, (2,), 7, "k")
addConstant(type, shape, values, name) | graph.addConstant(INT, [2], [7, 8], "k") | graph.add_constant(INT, (2,), [7, 8], "k")
addConstant(type, metadata, shape, value, name) | graph.addConstant(QUARTER, metadata, [2], 1.0, "k") | graph.add_constant(QUARTER, (2,), 1.0, "k", metadata=metadata)
addConstantHalf(type, shape, bits, name) | graph.addConstantHalf(HALF, [2], [0x3C00, 0xC000], "k") | graph.add_constant(HALF, (2,), [1.0, -2.0], "k")
addConstantHalf(type, shape, value bits, name) | graph.addConstantHalf(HALF, [2], 0x3C00, "k") | graph.add_constant(HALF, (2,), 1.0, "k")
addReplicationIndexConstant(name) | graph.addReplicationIndexConstant("r") | graph.add_replication_index_constant("r")
setInitialValue(tensor, value) | graph.setInitialValue(x, 3) | graph.set_initial_value(x, 3)
setInitialValue(tensor, values) | graph.setInitialValue(x[0], [1, 2, 3]) | graph.set_initial_value(x[0], [1, 2, 3])
setInitialValue(tensor, values by replica) | graph.setInitialValue(x, {0: 5}) | graph.set_initial_value(x, {0: 5})
setInitialValue(field, value) | graph.setInitialValue(scale["factor"], 3) | graph.set_initial_value(scale["factor"], 3)
setInitialValue(field, values) | graph.setInitialValue(weighted["weights"], [1, 2, 3]) | graph.set_initial_value(weighted["weights"], [1, 2, 3])
setInitialValueHalf(tensor, bits) | graph.setInitialValueHalf(h, [0x3C00, 0xC000]) | graph.set_initial_value(h, [1.0, -2.0])
setInitialValueHalf(tensor, value bits) | graph.setInitialValueHalf(h, 0x3C00) | graph.set_initial_value(h, 1.0)
setInitialValueHalf(field, value bits) | graph.setInitialValueHalf(weighted["bias"], 0x3C00) | graph.set_initial_value(weighted["bias"], 1.0)
setInitialValueHalf(field, bits) | graph.setInitialValueHalf(weighted["biases"], [0x3C00, 0xC000]) | graph.set_initial_value(weighted["biases"], [1.0, -2.0])
getVariable(variable) | graph.getVariable(x.var_regions()[0].var) | graph.tensor("x")
isConstant(variable) | graph.isConstant(c.var_regions()[0].var) | c.var_regions()[0].variable.constant
setTileMapping(vertex, tile) | graph.setTileMapping(scale, 2) | graph.set_tile_mapping(scale, 2)
setTileMapping(tensor, tile) | graph.setTileMapping(x, 3) | graph.set_tile_mapping(x, 3)
setTileMapping(tensor, mapping) | graph.setTileMapping(x, [[Interval(0, 2)], [Interval(2, 6)]]) | graph.set_tile_mapping(x, [[(0, 2)], [(2, 6)]])
getTileMapping(tensor, requireComplete, allowExternal) | graph.getTileMapping(x, True, False) | graph.tile_mapping(x)
getTileMapping(tensor, requireComplete) | graph.getTileMapping(u, False) | graph.tile_mapping(u, require_complete=False)
getVariableTileMapping(tensor) | graph.getVariableTileMapping(x[0]) | graph.variable_tile_mapping(x[0])
clone(tensor, name, method) | graph.clone(x, "k", TensorCloneMethod.CREATE_NEW_ORDER) | graph.clone(x, "k", method=TensorCloneMethod.CREATE_NEW_ORDER)
clone(type, tensor, name, method) | graph.clone(FLOAT, x.T, "k", TensorCloneMethod.CREATE_NEW_ORDER) | graph.clone(x.T, "k", element_type=FLOAT, method=TensorCloneMethod.CREATE_NEW_ORDER)
clone(type, tensor) | graph.clone(FLOAT, x) | graph.clone(x, element_type=FLOAT)
clone(type, metadata, tensor, name) | graph.clone(QUARTER, metadata, x, "k") | graph.clone(x, "k", element_type=QUARTER, metadata=metadata)
clone(type, metadata, tensor, name, method) | graph.clone(QUARTER, metadata, x.T, "k", TensorCloneMethod.CREATE_NEW_ORDER) | graph.clone(x.T, "k", element_type=QUARTER, metadata=metadata, method=TensorCloneMethod.CREATE_NEW_ORDER)
cloneN(tensor, n, name, method, duplication) | graph.cloneN(x, 2, "k", TensorCloneMethod.PRESERVE_ORDER_AND_ALIASES, TensorCloneDuplicationMethod.DUPLICATE_BY_TILE_CONTIGUOUS_REGION) | graph.clone_n(x, 2, "k", method=TensorCloneMethod.PRESERVE_ORDER_AND_ALIASES, duplication=TensorCloneDuplicationMethod.DUPLICATE_BY_TILE_CONTIGUOUS_REGION)
clone(metadata, tensor, name, method) | graph.clone(metadata, q, "k", TensorCloneMethod.CREATE_NEW_ORDER) | graph.clone(q, "k", metadata=metadata, method=TensorCloneMethod.CREATE_NEW_ORDER)
cloneN(type, tensor, n, name) | graph.cloneN(FLOAT, x, 2, "k") | graph.clone_n(x, 2, "k", element_type=FLOAT)
cloneN(type, tensor, n, name, method, duplication) | graph.cloneN(FLOAT, x, 2, "k", TensorCloneMethod.PRESERVE_ORDER_AND_ALIASES, TensorCloneDuplicationMethod.DUPLICATE_BY_TILE_CONTIGUOUS_REGION) | graph.clone_n(x, 2, "k", element_type=FLOAT, duplication=TensorCloneDuplicationMethod.DUPLICATE_BY_TILE_CONTIGUOUS_REGION)
cloneN(type, metadata, tensor, n, name) | graph.cloneN(QUARTER, metadata, x, 2, "k") | graph.clone_n(x, 2, "k", element_type=QUARTER, metadata=metadata)
cloneN(metadata, tensor, n, name) | graph.cloneN(metadata, q, 2, "k") | graph.clone_n(q, 2, "k", metadata=metadata)
cloneN(metadata, tensor, n, name, method, duplication) | graph.cloneN(metadata, q, 2, "k", TensorCloneMethod.PRESERVE_ORDER_AND_ALIASES, TensorCloneDuplicationMethod.DUPLICATE_BY_OUTER_DIMENSION) | graph.clone_n(q, 2, "k", metadata=metadata)
cloneN(type, metadata, tensor, n, name, method, duplication) | graph.cloneN(QUARTER, metadata, x, 2, "k", TensorCloneMethod.PRESERVE_ORDER_AND_ALIASES, TensorCloneDuplicationMethod.DUPLICATE_BY_OUTER_DIMENSION) | graph.clone_n(x, 2, "k", element_type=QUARTER, metadata=metadata)
getSortedContiguousRegions(tensor, intervals, removeAliased, aliases) | list(graph.getSortedContiguousRegions(x.T, [(0, 4)], False)) | list(graph.sorted_contiguous_regions(x.T, [(0, 4)]))
reorderToSimplify(tensor, others, requireSimplestOrder) | graph.reorderToSimplify(x.T, [y], True) | graph.reorder_to_simplify(x.T, [y])
getSimplifyingRearranger(tensor) | graph.getSimplifyingRearranger(x.T).rearrange(x.T) | graph.simplifying_rearranger(x.T).rearrange(x.T)
findUnbroadcastTensor(tensor) | graph.findUnbroadcastTensor(x.broadcast(2, 0)), graph.findUnbroadcastTensor(x).valid() | graph.find_unbroadcast_tensor(x.broadcast(2, 0)), False
addComputeSet(name) | graph.addComputeSet("new") | graph.add_compute_set("new")
addVertex(cs, type) | graph.addVertex(cs, Scale) | graph.add_vertex(cs, Scale)
addVertex(cs, type, connections) | graph.addVertex(cs, Scale, {"x": x[0], "factor": 3}) | graph.add_vertex(cs, Scale, x=x[0], factor=3)
addVertex(cs, type, pairs) | graph.addVertex(cs, Join, [("parts", [x[0], x[1]]), ("y", u)]) | graph.add_vertex(cs, Join, parts=[x[0], x[1]], y=u)
connect(field, tensor) | graph.connect(scale["x"], x[0]) | graph.connect((scale, "x"), x[0])
connect(field, tensors) | graph.connect(join["parts"], [x[0], x[1]]) | graph.connect((join, "parts"), [x[0], x[1]])
connect(field, scalar) | graph.connect(scale["k"], 3) | graph.connect((scale, "k"), 3)
setFieldSize(field, size) | graph.setFieldSize(join["parts"], 2) | graph.set_field_size(join["parts"], 2)
getFieldSize(field) | graph.getFieldSize(full["x"]) | graph.field_size(full["x"])
getMaxFieldDim(type, field, dim) | graph.getMaxFieldDim(Scale, "x", 0) | graph.max_field_dim(Scale, "x")
getMaxVertexFieldValueAs(type, field) | graph.getMaxVertexFieldValueAs(Scale, "factor") | graph.max_vertex_field_value(Scale, "factor")
getMaxVertexFieldValue(type, field) | graph.getMaxVertexFieldValue(Scale, "factor") | graph.max_vertex_field_value(Scale, "factor")
setPerfEstimate(vertex, cycles, flops) | graph.setPerfEstimate(full, 20, 3) | graph.set_perf_estimate(full, 20, 3)
setPerfEstimate(vertex, estimate) | graph.setPerfEstimate(full, VertexPerfEstimate(20, 3)) | graph.set_perf_estimate(full, 20, 3)
getPerfEstimate(vertex) | graph.getPerfEstimate(full) | graph.perf_estimate(full)
registerPerfEstimator(type, function) | graph.registerPerfEstimator(Scale, lambda v, t: VertexPerfEstimate(v.getFieldInfo("x").size, 0)), graph.getPerfEstimate(full) | graph.register_perf_estimator(Scale, lambda v, t: v.field_info("x").size), graph.perf_estimate(full)
createVirtualGraph(numTiles) | graph.createVirtualGraph(2).add_variable(INT, [4], mapping="linear") | graph.create_virtual_graph(2).add_variable(INT, [4], mapping="linear")
createVirtualGraph(lowerTile, upperTile) | graph.createVirtualGraph(1, 3).add_variable(INT, [4], mapping="linear") | graph.create_virtual_graph(1, 3).add_variable(INT, [4], mapping="linear")
createVirtualGraph(tiles) | graph.createVirtualGraph([3, 1]).add_variable(INT, [4], mapping="linear") | graph.create_virtual_graph([3, 1]).add_variable(INT, [4], mapping="linear")
convertTileToTopLevelGraphTile(tile) | part.convertTileToTopLevelGraphTile(1) | part.convert_tile_to_top_level_graph_tile(1)
convertTopLevelGraphTileToTile(tile) | part.convertTopLevelGraphTileToTile(3) | part.convert_top_level_graph_tile_to_tile(3)
convertVirtualTileToPhysicalTile(tile) | part.convertVirtualTileToPhysicalTile(1) | part.convert_virtual_tile_to_physical_tile(1)
convertPhysicalTileToVirtualTile(tile) | part.convertPhysicalTileToVirtualTile(3) | part.convert_physical_tile_to_virtual_tile(3)
convertPhysicalTileToVirtualTile(ipu, tile) | part.convertPhysicalTileToVirtualTile(0, 3) | part.convert_physical_tile_to_virtual_tile(0, 3)
addFunction(program) | graph.addFunction(Copy(x, y)) | graph.add_function(Copy(x, y))
addFunctionBuffer(function, mappingType) | graph.addFunctionBuffer(function, FunctionBufferMappingType.REMOTE) | graph.add_function_buffer(function)
addHostFunction(handle, inputs, outputs) | graph.addHostFunction("new", [(INT, 6)], [(INT, 6)]) | graph.add_host_function("new", [(INT, 6)], [(INT, 6)])
addHostToDeviceFIFO(handle, type, numElements, mode, options) | graph.addHostToDeviceFIFO("s", INT, 6, ReplicatedStreamMode.BROADCAST, {"bufferingDepth": "2"}) | graph.add_host_to_device_fifo("s", INT, 6, ReplicatedStreamMode.BROADCAST, buffering_depth=2)
addHostToDeviceFIFO(handle, type, numElements, options) | graph.addHostToDeviceFIFO("s", INT, 6, {"bufferingDepth": "3", "splitLimit": "0"}).buffering_depth | graph.add_host_to_device_fifo("s", INT, 6, buffering_depth=3).buffering_depth
addHostToDeviceFIFO(handle, type, numElements) | graph.addHostToDeviceFIFO("s", INT, 6) | graph.add_host_to_device_fifo("s", INT, 6)
addDeviceToHostFIFO(handle, type, numElements, options) | graph.addDeviceToHostFIFO("s", INT, 6, {"splitLimit": "0"}) | graph.add_device_to_host_fifo("s", INT, 6)
addRemoteBuffer(handle, type, numElements, repeats, rearrangeOnHost, optimiseMemory) | graph.addRemoteBuffer("b", INT, 6, 4, True, True) | graph.add_remote_buffer("b", INT, 6, repeats=4, rearrange_on_host=True, optimise_memory=True)
createHostWrite(handle, tensor, rearrangeOnHost) | graph.createHostWrite("w", x, True) | graph.create_host_write("w", x)
createHostRead(handle, tensor, rearrangeOnHost) | graph.createHostRead("w", x, True) | graph.create_host_read("w", x)
serialize(stream, format) | graph.serialize(out, SerializationFormat.JSON) | = None
serialize(stream, programs, format) | graph.serialize(out, [Copy(x, y)], SerializationFormat.JSON) | graph.serialize(out, Copy(x, y), SerializationFormat.JSON)
serialize(stream, format) | graph.serialize(out, SerializationFormat.JSON) | graph.serialize(out, format=SerializationFormat.JSON)
serializeTensors(stream, tensors, format) | graph.serializeTensors(out, [x.T], SerializationFormat.JSON) | graph.serialize_tensors(out, [x.T])
deserializeTensors(stream, format) | graph.deserializeTensors(saved_tensors, SerializationFormat.JSON) | [x.T, y[1:]]
outputVertexGraph(stream, programs) | graph.outputVertexGraph(out, [there]) | graph.output_vertex_graph(out, [there])
outputComputeGraph(stream, programs) | graph.outputComputeGraph(out, [there]) | graph.output_vertex_graph(out, [there])
"""

PROGRAMS = """
Program() | Program() | Program()
isEmpty() | Program().isEmpty() | Program().is_empty
operator==(other) | Repeat(2, Copy(x, y)).same_as(Repeat(2, Copy(x, y))) | = True
Sequence(programs) | Sequence([Copy(x, y), Copy(y, x)]) | Sequence(Copy(x, y), Copy(y, x))
Sequence(programs, name) | Sequence([Copy(x, y), Copy(y, x)], "n") | Sequence(Copy(x, y), Copy(y, x), name="n")
Execute(cs, name) | Execute(cs, "n") | Execute(cs, name="n")
Execute(cs, tensor, name) | Execute(cs, flag, "n") | Execute(cs, result=flag)
Copy(source, destination, dontOutline, name) | Copy(x, y, False, "n") | Copy(x, y, name="n")
Copy(stream, destination, optimiseMemory, name) | Copy(to_device, x, True, "n") | Copy(to_device, x, name="n")
Copy(remoteBuffer, destination, name) | Copy(buffer, x, "n") | Copy(buffer, x, name="n")
Copy(remoteBuffer, destination, offset, name) | Copy(buffer, x, row, "n") | Copy(buffer, x, offset=row)
Copy(source, stream, optimiseMemory, name) | Copy(x, to_host, True, "n") | Copy(x, to_host, name="n")
Copy(source, remoteBuffer, name) | Copy(x, buffer, "n") | Copy(x, buffer, name="n")
Copy(source, remoteBuffer, offset, name) | Copy(x, buffer, row, "n") | Copy(x, buffer, offset=row)
Copy(functionBuffer, function, name) | Copy(graph.addFunctionBuffer(function), function, "n") | Copy(graph.add_function_buffer(function), function)
Repeat(count, body, name) | Repeat(3, Copy(x, y), "n") | Repeat(3, Copy(x, y), name="n")
RepeatWhileTrue(condition, predicate, body, name) | RepeatWhileTrue(Program(), flag, Copy(x, y), "n") | RepeatWhileTrue(Program(), flag, Copy(x, y))
RepeatWhileFalse(condition, predicate, body, name) | RepeatWhileFalse(Program(), flag, Copy(x, y), "n") | RepeatWhileFalse(Program(), flag, Copy(x, y))
Loop(body, name) | Loop(Copy(x, y), "n") | Loop(body=Copy(x, y))
If(predicate, trueBody, falseBody, name) | If(flag, Copy(x, y), Sequence(), "n") | If(flag, Copy(x, y), Sequence())
Switch(control, cases, default, name) | Switch(row, [(1, Copy(x, y))], Sequence(), "n") | Switch(row, {1: Copy(x, y)}, Sequence())
Switch(control, default, name) | Switch(row, Copy(x, y), "n") | Switch(row, default=Copy(x, y))
Switch(control, name) | Switch(row, "n").add(1, Copy(x, y)) | Switch(row, {1: Copy(x, y)})
Switch(control, cases, name) | Switch(row, [(1, Copy(x, y))], "n") | Switch(row, {1: Copy(x, y)})
Switch.switchWithUnreachableDefault(control, name) | Switch.switchWithUnreachableDefault(row, "n").add(1, Copy(x, y)) | Switch.with_unreachable_default(row, {1: Copy(x, y)})
Switch.switchWithBoundsChecking(control, cases, name) | Switch.switchWithBoundsChecking(row, [(1, Copy(x, y))], "n") | Switch.with_bounds_checking(row, {1: Copy(x, y)})
Call(function, name) | Call(function, "n") | Call(function)
Call(hostFunction, inputs, outputs, name) | Call(host_function, [x], [y], "n") | Call(host_function, [x], [y])
Sync(type, name) | Sync(SyncType.INTERNAL, "n") | Sync(SyncType.INTERNAL)
CrossReplicaCopy(source, destination, map, name) | CrossReplicaCopy(xr, yr, {0: 1, 1: 0}, "n") | CrossReplicaCopy(xr, yr, [1, 0])
AssumeEqualAcrossReplicas(tensor, name) | AssumeEqualAcrossReplicas(x, "n") | AssumeEqualAcrossReplicas(x)
WriteUndef(tensor, name) | WriteUndef(x, "n") | WriteUndef(x)
PrintTensor(title, tensor, format, name) | PrintTensor("title", x, PrintTensorFmt(digits=3), "n") | PrintTensor("title", x, PrintTensorFormat(digits=3))
PrintTensor(tensor, format, name) | PrintTensor(x, PrintTensorFmt(digits=3), "n") | PrintTensor("x", x, PrintTensorFormat(digits=3))
Abort(message, name) | Abort("why", "n") | Abort("why")
Abort(name) | Abort("n") | Abort("n")
AbortOnCondition(predicate, name) | AbortOnCondition(flag, "n") | AbortOnCondition(flag, "n")
PrintTensor(title, tensor, name) | PrintTensor("title", x, "n") | PrintTensor("title", x)
AbortOnCondition(predicate, message, name) | AbortOnCondition(flag, "why", "n") | AbortOnCondition(flag, "why")
ErrorProgram(message, debugTensor, name) | ErrorProgram("why", x, "n") | ErrorProgram("why", x)
Sequence.add(program) | Sequence().add(Copy(x, y)) | Sequence(Copy(x, y))
Execute(cs) | Execute(cs) | Execute(cs)
Execute(cs, tensor) | Execute(cs, flag) | Execute(cs, result=flag)
Copy(source, destination, dontOutline) | Copy(x, y, True) | Copy(x, y)
Copy(stream, destination, optimiseMemory) | Copy(to_device, x, True) | Copy(to_device, x)
Copy(source, stream, optimiseMemory) | Copy(x, to_host, True) | Copy(x, to_host)
Copy(remoteBuffer, destination) | Copy(buffer, x) | Copy(buffer, x)
Copy(remoteBuffer, destination, offset) | Copy(buffer, x, row) | Copy(buffer, x, offset=row)
Copy(source, remoteBuffer, offset) | Copy(x, buffer, row) | Copy(x, buffer, offset=row)
Copy(functionBuffer, function) | Copy(graph.addFunctionBuffer(function), function) | Copy(graph.add_function_buffer(function), function)
Repeat(count, body) | Repeat(3, Copy(x, y)) | Repeat(count=3, body=Copy(x, y))
RepeatWhileTrue(condition, predicate, body) | RepeatWhileTrue(Program(), flag, Copy(x, y)) | RepeatWhileTrue(condition=Program(), predicate=flag, body=Copy(x, y))
RepeatWhileFalse(condition, predicate, body) | RepeatWhileFalse(Program(), flag, Copy(x, y)) | RepeatWhileFalse(condition=Program(), predicate=flag, body=Copy(x, y))
Loop(body) | Loop(Copy(x, y)) | Loop(body=Copy(x, y))
If(predicate, trueBody, falseBody) | If(flag, Copy(x, y), Sequence()) | If(flag, true_body=Copy(x, y), false_body=Sequence())
Switch(control, cases, default) | Switch(row, [(1, Copy(x, y))], Sequence()) | Switch(row, {1: Copy(x, y)}, Sequence())
Switch.add(value, program) | Switch(row).add(1, Copy(x, y)) | Switch(row, {1: Copy(x, y)})
Switch.switchWithBoundsChecking(control, cases) | Switch.switchWithBoundsChecking(row, [(1, Copy(x, y))]) | Switch.with_bounds_checking(row, {1: Copy(x, y)})
Switch.switchWithUnreachableDefault(control, cases) | Switch.switchWithUnreachableDefault(row, [(1, Copy(x, y))]) | Switch.with_unreachable_default(row, {1: Copy(x, y)})
Call(function) | Call(function) | Call(function)
Call(hostFunction, inputs, outputs) | Call(host_function, [x], [y]) | Call(host_function, inputs=[x], outputs=[y])
Sync(type) | Sync(SyncType.INTERNAL) | Sync(SyncType.INTERNAL)
CrossReplicaCopy(source, destination, map) | CrossReplicaCopy(xr, yr, {0: 1, 1: 0}) | CrossReplicaCopy(xr, yr, [1, 0])
AssumeEqualAcrossReplicas(tensor) | AssumeEqualAcrossReplicas(x) | AssumeEqualAcrossReplicas(x)
WriteUndef(tensor) | WriteUndef(x) | WriteUndef(x)
PrintTensor(tensor) | PrintTensor(x) | PrintTensor("x", x)
PrintTensor(tensor, format) | PrintTensor(x, PrintTensorFmt(digits=3)) | PrintTensor("x", x, PrintTensorFormat(digits=3))
PrintTensor(title, tensor) | PrintTensor("title", x) | PrintTensor("title", x)
PrintTensor(title, tensor, format) | PrintTensor("title", x, PrintTensorFmt(digits=3)) | PrintTensor("title", x, PrintTensorFormat(digits=3))
PrintTensorFmt(summariseThreshold, edgeItems, maxLineWidth, digits, floatFormat, separator, openBracket, closeBracket) | PrintTensorFmt(10, 2, 60, 3, "fixed", ",", "(", ")") | PrintTensorFormat(summarise_threshold=10, edge_items=2, max_line_width=60, digits=3, float_format="fixed", separator=",", open_bracket="(", close_bracket=")")
PrintTensorFmt.disableFormatting() | PrintTensorFmt.disableFormatting() | PrintTensorFormat.disable_formatting()
Abort() | Abort() | Abort()
Abort(message) | Abort("why") | Abort(message="why")
AbortOnCondition(predicate, message) | AbortOnCondition(flag, "why") | AbortOnCondition(flag, message="why")
ErrorProgram(message, debugTensor) | ErrorProgram("why", x) | ErrorProgram("why", debug_tensor=x)
Block(program, name) | Block(Copy(x, y), "here") | Block(Copy(x, y), name="here")
"""

ENGINE = """
Engine(graph, program, options) | Engine(graph, Copy(x, y), {"debug.instrument": "false"}).getEngineOptions() | Engine(graph, Copy(x, y), options={"debug.instrument": "false"}).getEngineOptions()
Engine(graph, programs, options) | Engine(graph, [Copy(x, y), Copy(y, x)], no_cycles) | Engine(graph, [Copy(x, y), Copy(y, x)], options=no_cycles)
Engine(graph, programs, options, progress, name) | Engine(graph, [Copy(x, y)], no_cycles, lambda done, total: print(done, total, file=out), "n") | Engine(graph, [Copy(x, y)], options=no_cycles, progress=lambda done, total: print(done, total, file=out))
Engine(executable, options) | Engine(engine.executable, no_cycles) | Engine(engine.executable, options=no_cycles)
prepare(device, runtimeOptions) | engine.prepare(device, RuntimeOptions()) | = None
deploy() | engine.deploy() | engine.load()
load(device) | engine.load(device) | engine.load()
run(program, debugName, runtimeOptions) | engine.run(0, "first", {"target.hostSyncTimeout": "3"}) | engine.run(0)
run(program) | engine.run(1) | engine.run("1")
run(program, debugName) | engine.run(0, "first") | engine.run(0)
loadAndRun(device, program) | engine.loadAndRun(device, 1) | (engine.load(), engine.run(1))[1]
stop() | engine.stop() | engine.stop()
connectStream(handle, array) | engine.connectStream("in", data) | engine.connect_stream("in", data)
connectStreamToCallback(handle, callback) | engine.connectStreamToCallback("in", fill) | engine.connect_stream_to_callback("in", fill)
connectStreamToCallback(handle, replica, callback) | engine.connectStreamToCallback("in", 0, fill) | engine.connect_stream_to_callback("in", fill, replica=0)
connectHostFunction(handle, callback) | engine.connectHostFunction("sort", sort) | engine.connect_host_function("sort", sort)
connectHostFunction(handle, replica, callback) | engine.connectHostFunction("sort", 0, sort) | engine.connect_host_function("sort", sort, replica=0)
writeTensor(handle, array) | (engine.writeTensor("hx", data), engine.read("x"))[1] | (engine.write("x", data.reshape(2, 3)), engine.read("x"))[1]
readTensor(handle, array) | engine.readTensor("x", np.zeros((2, 3), np.int32)) | engine.read("x")
readTensor(handle) | engine.readTensor("x") | engine.read("x")
copyToRemoteBuffer(array, handle, row, replica) | engine.copyToRemoteBuffer(data, "table", 2, 0) | engine.copy_to_remote_buffer(data, "table", row=2, replica=0)
copyFromRemoteBuffer(handle, array, row, replica) | engine.copyFromRemoteBuffer("table", np.zeros(6, np.int32), 1, 0) | engine.copy_from_remote_buffer("table", row=1, replica=0)
copyFromRemoteBuffer(handle, row) | engine.copyFromRemoteBuffer("table", 1) | engine.copy_from_remote_buffer("table", 1)
listStreams() | engine.listStreams() | engine.list_streams()
getEngineOptions() | engine.getEngineOptions() | = {"debug.instrument": "false"}
getTimeStamp() | type(engine.getTimeStamp()) | = float
reportTiming(start, end) | engine.reportTiming(1.0, 1.5) | = "0.500000 s"
printProfileSummary(stream, options) | engine.printProfileSummary(out, {"showExecutionSteps": "true"}) | print(engine.report(), file=out)
getReport() | str(engine.getReport()) | str(engine.report())
resetExecutionProfile() | Engine(graph, Copy(x, y)).resetExecutionProfile() | = None
resetExecutionProfiling() | Engine(graph, Copy(x, y)).resetExecutionProfiling() | = None
getReport(reportExecution) | str(engine.getReport(True)) | str(engine.report())
disableExecutionProfiling() | Engine(graph, Copy(x, y)).disableExecutionProfiling() | = None
enableExecutionProfiling() | Engine(graph, Copy(x, y)).enableExecutionProfiling() | = None
setPrintStream(stream) | (engine.setPrintStream(out), engine.print_stream)[1] | = out
setPrintTensorStream(stream) | (engine.setPrintTensorStream(out), engine.print_stream)[1] | = out
"""

TARGET = """
getTargetType() | target.getTargetType() | = TargetType.IPU
getTargetArchString() | target.getTargetArchString() | = "ipu2"
getTargetSystemString() | target.getTargetSystemString() | target.architecture
hash() | target.hash() == Target(tiles=8, ipus=2).hash() | = True
operator==(other) | target == Target(tiles=8, ipus=2) | = True
getNumIPUs() | target.getNumIPUs() | target.ipus
getTilesPerIPU() | target.getTilesPerIPU() | target.tiles_per_ipu
getNumTiles() | target.getNumTiles() | target.tiles
getNumWorkerContexts() | target.getNumWorkerContexts() | target.workers
getBytesPerTile() | target.getBytesPerTile() | target.tile_memory_bytes
getMemoryBytes() | target.getMemoryBytes() | target.memory_bytes
getInstanceSize() | target.getInstanceSize() | target.ipus
createVirtualTarget(numIPUs, tilesPerIPU) | target.createVirtualTarget(1, 2) | = Target(tiles=2)
createCPUTarget(accurateHalf, numIPUs) | Target.createCPUTarget(True, 2) | = Target(2, 1, 2**40, ipus=2)
createIPUTarget(system, options) | Target.createIPUTarget("ipu2", {}) | = Target()
createIPUTarget(numIPUs, system, options) | Target.createIPUTarget(2, "ipu21", {}) | = Target(ipus=2, architecture="bow")
createIPUTarget(numIPUs, system) | Target.createIPUTarget(2, "ipu21") | = Target(ipus=2, architecture="bow")
createIPUTarget(numIPUs, tilesPerIPU, system, options) | Target.createIPUTarget(2, 4, "ipu2", {}) | = Target(tiles=8, ipus=2)
getTileClockFrequency() | target.getTileClockFrequency() | target.clock_hz
getExchangeBytesPerCycle() | target.getExchangeBytesPerCycle() | target.exchange_bytes_per_cycle
getMemcpyBytesPerCycle() | target.getMemcpyBytesPerCycle() | target.cost("memcpy_bytes_per_cycle")
getMinIPUSyncDelay() | target.getMinIPUSyncDelay() | target.cost("sync_cycles")
getMaxIPUSyncDelay() | target.getMaxIPUSyncDelay() | target.cost("sync_stagger_cycles")
getGlobalSyncCycles() | target.getGlobalSyncCycles() | target.cost("global_sync_cycles")
getMemoryElementOffsets() | target.getMemoryElementOffsets() | target.memory_element_offsets
getInterleavedMemoryElementIndex() | target.getInterleavedMemoryElementIndex() | target.interleaved_memory_element
getAtomicStoreGranularity() | target.getAtomicStoreGranularity() | target.cost("atomic_store_bytes")
getDataPathWidth() | target.getDataPathWidth() | target.data_path_bits
getFloatVectorWidth() | target.getFloatVectorWidth() | target.vector_width(FLOAT)
getHalfVectorWidth() | target.getHalfVectorWidth() | target.vector_width(HALF)
getQuarterVectorWidth() | target.getQuarterVectorWidth() | target.vector_width(QUARTER)
getVectorWidth(type) | target.getVectorWidth(INT) | target.vector_width(INT)
getRptCountMax() | target.getRptCountMax() | target.cost("repeat_limit")
getNumStrideBits() | target.getNumStrideBits() | target.cost("stride_bits")
getNumConvUnits(inputType, partialsType) | target.getNumConvUnits(HALF, FLOAT) | target.cost("amp_mixed_outputs")
getNumConvUnits(floatActivations, floatPartials) | target.getNumConvUnits(False, True) | target.cost("amp_mixed_outputs")
getWeightsPerConvUnit(inputType) | target.getWeightsPerConvUnit(HALF) | target.cost("amp_inputs_bytes") / 2
getConvUnitInputLoadElemsPerCycle(inputType) | target.getConvUnitInputLoadElemsPerCycle(FLOAT) | target.cost("data_path_bytes") / 4
getConvUnitMaxPipelineDepth(partialsType) | target.getConvUnitMaxPipelineDepth(FLOAT) | target.cost("amp_inputs_bytes") / target.cost("data_path_bytes")
getFp8ConvUnitMaxPipelineDepth() | target.getFp8ConvUnitMaxPipelineDepth() | = 0
getFp16ConvUnitMaxPipelineDepth() | target.getFp16ConvUnitMaxPipelineDepth() | target.cost("amp_inputs_bytes") / target.cost("data_path_bytes")
getFp32ConvUnitMaxPipelineDepth() | target.getFp32ConvUnitMaxPipelineDepth() | target.cost("amp_inputs_bytes") / target.cost("data_path_bytes")
getFp8ConvUnitInputLoadElemsPerCycle() | target.getFp8ConvUnitInputLoadElemsPerCycle() | = 0
getFp16ConvUnitInputLoadElemsPerCycle() | target.getFp16ConvUnitInputLoadElemsPerCycle() | target.cost("data_path_bytes") / 2
getFp32ConvUnitInputLoadElemsPerCycle() | target.getFp32ConvUnitInputLoadElemsPerCycle() | target.cost("data_path_bytes") / 4
getFp8InFp16OutConvUnitsPerTile() | target.getFp8InFp16OutConvUnitsPerTile() | = 0
getFp16InFp16OutConvUnitsPerTile() | target.getFp16InFp16OutConvUnitsPerTile() | target.cost("amp_outputs")
getFp16InFp32OutConvUnitsPerTile() | target.getFp16InFp32OutConvUnitsPerTile() | target.cost("amp_mixed_outputs")
getFp32InFp32OutConvUnitsPerTile() | target.getFp32InFp32OutConvUnitsPerTile() | target.cost("amp_outputs")
getConvUnitCoeffLoadBytesPerCycle() | target.getConvUnitCoeffLoadBytesPerCycle() | target.cost("weight_load_bytes_per_cycle")
getIpuLinkConfiguration() | target.getIpuLinkConfiguration() | = IpuLinkConfiguration.DEFAULT
getIpuLinkTopology() | target.getIpuLinkTopology() | = IpuLinkTopology.MESH
getIpuLinkDomainSize() | target.getIpuLinkDomainSize() | target.ipus
getGatewayMode() | target.getGatewayMode() | = False
supportsExchangeBusSharing() | target.supportsExchangeBusSharing() | target.cost("pair_tiles") > 1
getTilesPerSharedExchangeBus() | target.getTilesPerSharedExchangeBus() | target.cost("pair_tiles")
getTypeSize(type) | target.getTypeSize(HALF) | HALF.size_bytes
getTypeLimitsMaxAs(type) | target.getTypeLimitsMaxAs(UNSIGNED_SHORT) | = int(np.iinfo(np.uint16).max)
getTypeLimitsLowestAs(type) | target.getTypeLimitsLowestAs(FLOAT) | = float(np.finfo(np.float32).min)
"""

OTHERS = {
    "Type": """
toString() | FLOAT.toString(), UNSIGNED_INT.toString() | = "float", "unsigned int"
hash() | FLOAT.hash() != HALF.hash() | = True
isFloatingPoint() | HALF.isFloatingPoint(), INT.isFloatingPoint() | HALF.is_floating_point, INT.is_floating_point
operator<(other) | FLOAT < HALF, sorted([INT, FLOAT]) | = True, [FLOAT, INT]
requiresMetadata() | QUARTER.requiresMetadata() | QUARTER.requires_metadata
""",
    "QuarterMetadata": """
QuarterMetadata(format, scale) | QuarterMetadata(QuarterFormat.F143, 2) | QuarterMetadata("F143", scale=2)
getBinary() | metadata.getBinary() | metadata.to_byte()
""",
    "VariableRef": """
hash() | x.var_regions()[0].var.hash() | = 0
""",
    "ComputeSet": """
getId() | cs.getId(), graph.addComputeSet("new").getId() | = (0, 1)
""",
    "Function": """
getId() | function.getId(), graph.addFunction(Copy(x, y)).getId() | = (0, 1)
""",
    "FunctionBuffer": """
getId() | graph.addFunctionBuffer(function).getId() | = 0
""",
    "HostFunction": """
getId() | sorting.getId() | = 1
""",
    "VertexPerfEstimate": """
VertexPerfEstimate(cycles, flops) | VertexPerfEstimate(20, 3) | VertexPerfEstimate(cycles=20, flops=3)
""",
    "FloatingPointBehaviour": """
FloatingPointBehaviour(inv, div0, oflo, esr, nanoo) | FloatingPointBehaviour(True, True, False, True, False) | FloatingPointBehaviour(oflo=False, nanoo=False)
""",
    "SourceLocation": """
getFunctionName() | SourceLocation("model.py", 31, "dense").getFunctionName() | SourceLocation("model.py", 31, "dense").function
getFileName() | SourceLocation("model.py", 31, "dense").getFileName() | SourceLocation("model.py", 31, "dense").file
getLineNumber() | SourceLocation("model.py", 31, "dense").getLineNumber() | SourceLocation("model.py", 31, "dense").line
isValid() | SourceLocation("model.py", 31, "dense").isValid() | = True
Current() | type(SourceLocation.Current()) | = SourceLocation
""",
    "layout": """
to_string(vector) | layout.to_string(layout.Vector.Span) | layout.Vector.SPAN.name
to_string(vectorList) | layout.to_string(layout.VectorList.DeltaN) | layout.VectorList.DELTAN.name
""",
    "poplar_error": """
what() | pl.poplar_error("no tile").what() | = "no tile"
""",
    "VariableInterval": """
VariableInterval(var, interval) | VariableInterval(x.var_regions()[0].var, Interval(0, 6)) | x.var_regions()[0]
var | x.var_regions()[0].var | x.var_regions()[0].variable
interval | x.var_regions()[0].interval | = Interval(0, 6)
""",
    "Interval": """
begin() | Interval(1, 4).begin() | = 1
end() | Interval(1, 4).end() | = 4
size() | Interval(1, 4).size() | = 3
""",
    "TensorRearranger": """
rearrange(tensor) | rearranger.rearrange(x.T) | x.flatten()
rearrange(intervals) | list(rearranger.rearrange([(0, 2), (2, 6)])) | list(graph.simplifying_rearranger(x.T).rearrange([(0, 6)]))
undoRearrangement(tensor) | rearranger.undoRearrangement(x.flatten()) | rearranger.undo(x.flatten())
undoRearrangement(intervals) | list(rearranger.undoRearrangement([(0, 6)])) | list(rearranger.undo([(0, 6)]))
valid() | rearranger.valid() | = True
""",
    "FieldRef": """
getIndex() | join["parts"][1].getIndex() | join["parts"][1].index
isIndexed() | join["parts"][1].isIndexed() | join["parts"][1].is_indexed
""",
    "VertexIntrospector": """
getFieldInfo(name) | full.getFieldInfo("x").size() | full.field_info("x").size
""",
    "FieldData": """
size() | full.field_info("x").size() | full.field_info("x").size
getSizeAtIndex(index) | both.field_info("parts").getSizeAtIndex(1) | both.field_info("parts").size_at(1)
rank() | both.field_info("parts").rank() | both.field_info("parts").rank
name() | full.field_info("x").name() | full.field_info("x").name
getInitialValue(target) | full.field_info("factor").getInitialValue(target) | full.field_info("factor").initial_value
getInitialValues(target) | full.field_info("factor").getInitialValues(target) | full.field_info("factor").initial_values
getProfilerVectorLayout(dim) | full.field_info("x").getProfilerVectorLayout(0) | = ProfilerVectorLayout.SPAN
getProfilerVectorListLayout() | both.field_info("parts").getProfilerVectorListLayout() | = ProfilerVectorListLayout.NOT_A_VECTOR_LIST
""",
    "DataStream": """
handle() | to_device.handle() | to_device.handle
numElements() | to_device.numElements() | to_device.num_elements
elementType() | to_device.elementType() | to_device.element_type
type() | to_device.type() | = DataStreamType.HOST_TO_DEVICE_FIFO
replicatedMode() | to_device.replicatedMode() | to_device.replicated_mode
replicationFactor() | to_device.replicationFactor() | to_device.replication_factor
""",
    "RemoteBuffer": """
handle() | buffer.handle() | buffer.handle
numElements() | buffer.numElements() | buffer.num_elements
elementType() | buffer.elementType() | buffer.element_type
getRepeats() | buffer.getRepeats() | buffer.repeats
isRearrangeOnHost() | buffer.isRearrangeOnHost() | buffer.rearrange_on_host
isOptimisedForMemory() | buffer.isOptimisedForMemory() | buffer.optimise_memory
getIpuToHostStream() | buffer.getIpuToHostStream().type | = DataStreamType.DEVICE_TO_HOST_BUFFER
getHostToIpuStream() | buffer.getHostToIpuStream().type | = DataStreamType.HOST_TO_DEVICE_BUFFER
""",
    "StreamCallback": """
fetch(pointer) | callback.fetch(data) | callback.fetch(data)
prefetch(pointer) | callback.prefetch(data) | callback.prefetch(data)
complete() | callback.complete() | callback.complete()
invalidatePrefetched() | callback.invalidatePrefetched() | callback.invalidate_prefetched()
""",
    "OptionFlags": """
OptionFlags(options) | OptionFlags({"a": "1"}) | = {"a": "1"}
set(name, value) | (flags.set("b", "2"), dict(flags))[1] | = {"a": "1", "b": "2"}
set(options) | (flags.set({"b": "2"}), dict(flags))[1] | = {"a": "1", "b": "2"}
at(name) | flags.at("a") | flags["a"]
find(name) | flags.find("b") | flags.get("b")
size() | flags.size() | len(flags)
clear() | flags.clear() | flags.clear()
end() | flags.find("b") == flags.end() | = True
""",
    "RuntimeOptions": """
RuntimeOptions(options) | RuntimeOptions({"target.hostSyncTimeout": "3"}) | = {"target.hostSyncTimeout": "3"}
""",
    "Device": """
getId() | device.getId() | = 0
getTarget() | device.getTarget() | = graph.target
attach() | device.attach() | = True
isAttached() | device.isAttached() | = True
detach() | (device.detach(), device.isAttached())[1] | = False
supportsRemoteBuffers() | device.supportsRemoteBuffers() | = True
hasGateway() | device.hasGateway() | = False
getAttributes() | device.getAttributes() | = {}
getDriverIDs() | device.getDriverIDs() | = [0]
createVirtualDevice(tilesPerIPU) | device.createVirtualDevice(2).getTarget() | = Target(tiles=2)
createCPUDevice(numIPUs) | Device.createCPUDevice(1).getTarget().getTargetType() | = TargetType.CPU
createSimulatorDevice(target, options) | Device.createSimulatorDevice(target, {}).getTarget() | = target
""",
    "DeviceManager": """
createDeviceManager() | type(DeviceManager.createDeviceManager()) | = DeviceManager
getNumDevices() | DeviceManager().getNumDevices() | = 7
getDevices() | [d.getTarget().ipus for d in DeviceManager().getDevices()] | = [1, 2, 4, 8, 16, 32, 64]
getDevices(type, numIPUs, options) | DeviceManager().getDevices(TargetType.IPU, 2, {})[0].getTarget() | = Target(ipus=2)
getDevice(id, options) | DeviceManager().getDevice(1, {}).getTarget() | = Target(ipus=2)
getChildDeviceIds(parent, numChildIPUs) | DeviceManager().getChildDeviceIds(2, 1) | = [0]
""",
    "IPUModel": """
IPUVersion | IPUModel("ipu1").IPUVersion | = "ipu1"
numIPUs | IPUModel().numIPUs | = Target().ipus
tilesPerIPU | IPUModel().tilesPerIPU | = Target().tiles
numWorkerContexts | IPUModel().numWorkerContexts | = Target().workers
memoryBytesPerTile | IPUModel().memoryBytesPerTile | = Target().tile_memory_bytes
tileClockFrequency | IPUModel().tileClockFrequency | = Target().clock_hz
exchangeBytesPerCycle | IPUModel().exchangeBytesPerCycle | = Target().exchange_bytes_per_cycle
dataPathWidth | IPUModel().dataPathWidth | = Target().data_path_bits
memcpyBytesPerCycle | IPUModel().memcpyBytesPerCycle | = Target().cost("memcpy_bytes_per_cycle")
minIPUSyncDelay | IPUModel().minIPUSyncDelay | = Target().cost("sync_cycles")
relativeSyncDelay | IPUModel().relativeSyncDelay is RelativeSyncDelayType.AUTO | = True
globalSyncCycles | IPUModel().globalSyncCycles | = Target().cost("global_sync_cycles")
numStrideBits | IPUModel().numStrideBits | = Target().cost("stride_bits")
rptCountMax | IPUModel().rptCountMax | = Target().cost("repeat_limit")
atomicStoreGranularity | IPUModel().atomicStoreGranularity | = Target().cost("atomic_store_bytes")
instructionBytes | IPUModel().instructionBytes | = Target().cost("instruction_bytes")
convUnitCoeffLoadBytesPerCycle | IPUModel().convUnitCoeffLoadBytesPerCycle | = Target().cost("weight_load_bytes_per_cycle")
tilesPerSuperTile | IPUModel().tilesPerSuperTile | = Target().cost("pair_tiles")
compileIPUCode | IPUModel().compileIPUCode | = False
IPUModel(version) | IPUModel("ipu21").createDevice().getTarget() | = Target(architecture="bow")
createDevice(options, accurateHalf, deviceManagerId) | IPUModel().createDevice({}, True, 3).getTarget() | = Target()
""",
    "Executable": """
serialize(stream) | Executable.deserialize(saved_executable).programs.keys() | engine.executable.programs.keys()
deserialize(stream) | list(Executable.deserialize(saved_executable).programs) | = ["0", "1", "2"]
""",
    "": """
compileGraph(graph, programs, options, progress, name) | compileGraph(graph, Copy(x, y), no_cycles, None, "n") | compile_graph(graph, Copy(x, y), options=no_cycles)
compileGraph(graph, programs, checkOptionFlags, options, progress, name) | compileGraph(graph, Copy(x, y), False, {"opt.enableInlining": "true", **no_cycles}, None, "n").memory | = None
compileGraph(graph, programs, options, progress) | compileGraph(graph, Copy(x, y), no_cycles, lambda done, total: None) | compile_graph(graph, Copy(x, y), options=no_cycles)
concat(tensors, dim) | concat([x, x], 1) | x.broadcast(2, 1)
concat(first, second, dim) | concat(x, x, 1) | x.broadcast(2, 1)
append(tensor, element, dim) | append(x, x[0], 0) | concat([x, x[:1]])
append(tensor, element) | append(x, x[0]) | concat([x, x[:1]])
cycleCount(graph, sequence, tile, syncType) | pl.cycleCount(graph, sequence, 0, SyncType.INTERNAL) | pl.cycle_count(graph, sequence, 0, SyncType.INTERNAL)
cycleCount(graph, sequence, tile, syncType, name) | pl.cycleCount(graph, sequence, 0, SyncType.INTERNAL, "n") | pl.cycle_count(graph, sequence, 0, SyncType.INTERNAL, "n")
cycleStamp(graph, sequence, tile, syncType) | pl.cycleStamp(graph, sequence, 0, SyncType.INTERNAL) | pl.cycle_stamp(graph, sequence, 0, SyncType.INTERNAL)
cycleStamp(graph, sequence, tile, syncType, name) | pl.cycleStamp(graph, sequence, 0, SyncType.INTERNAL, "n") | pl.cycle_stamp(graph, sequence, 0, SyncType.INTERNAL, "n")
setFloatingPointBehaviour(graph, sequence, behaviour) | pl.setFloatingPointBehaviour(graph, sequence, FloatingPointBehaviour()) | pl.set_floating_point_behaviour(graph, sequence, FloatingPointBehaviour())
setFloatingPointBehaviour(graph, sequence, behaviour, name) | pl.setFloatingPointBehaviour(graph, sequence, FloatingPointBehaviour(), "n") | pl.set_floating_point_behaviour(graph, sequence, FloatingPointBehaviour())
setStochasticRounding(graph, sequence, enable, name) | pl.setStochasticRounding(graph, sequence, True, "n") | pl.set_stochastic_rounding(graph, sequence, True)
setStochasticRounding(graph, sequence, enable) | pl.setStochasticRounding(graph, sequence, True) | pl.set_stochastic_rounding(graph, sequence, True)
getAndModifyFloatingPointBehaviour(graph, sequence, clear, set) | pl.getAndModifyFloatingPointBehaviour(graph, sequence, FloatingPointBehaviour(), FloatingPointBehaviour()) | pl.get_and_modify_floating_point_behaviour(graph, sequence, FloatingPointBehaviour(), FloatingPointBehaviour())
getAndModifyFloatingPointBehaviour(graph, sequence, clear, set, name) | pl.getAndModifyFloatingPointBehaviour(graph, sequence, FloatingPointBehaviour(), FloatingPointBehaviour(), "n") | pl.get_and_modify_floating_point_behaviour(graph, sequence, FloatingPointBehaviour(), FloatingPointBehaviour())
dumpProgram(graph, program, stream) | pl.dumpProgram(graph, Copy(x, y), out) | pl.dump_program(graph, Copy(x, y), out)
versionString() | pl.versionString() | pl.__version__
readJSON(text, flags) | (pl.readJSON('{"b": "2"}', flags), dict(flags))[1] | = {"a": "1", "b": "2"}
readJSONFromEnv(variable, flags) | (pl.readJSONFromEnv("NOT_SET_AT_ALL", flags), dict(flags))[1] | = {"a": "1"}
poplar_error | pl.poplar_error | pl.PopliteError
PrintTensorFmt | pl.PrintTensorFmt | pl.PrintTensorFormat
StreamCallbackBase | pl.StreamCallbackBase | pl.StreamCallback
VariableRef | pl.VariableRef | pl.Variable
VertexIntrospector | pl.VertexIntrospector | pl.VertexInstance
VertexRef | pl.VertexRef | pl.VertexInstance
index_error | pl.index_error | pl.TensorIndexError
tensor_creation_error | pl.tensor_creation_error | pl.TensorCreationError
type_error | pl.type_error | pl.ElementTypeError
tensor_metadata_error | pl.tensor_metadata_error | pl.TensorMetadataError
overflow_error | pl.overflow_error | pl.SizeOverflowError
invalid_tile_mapping | pl.invalid_tile_mapping | pl.InvalidTileMapping
invalid_machine_model | pl.invalid_machine_model | pl.InvalidMachineModel
graph_program_compilation_error | pl.graph_program_compilation_error | pl.VertexCompileError
unknown_vertex_type | pl.unknown_vertex_type | pl.UnknownVertexType
unknown_field | pl.unknown_field | pl.UnknownField
graph_connection_error | pl.graph_connection_error | pl.GraphConnectionError
no_size_specified | pl.no_size_specified | pl.NoSizeSpecified
memory_elem_constraints_error | pl.memory_elem_constraints_error | pl.MemoryElemConstraintsError
graph_memory_allocation_error | pl.graph_memory_allocation_error | pl.GraphMemoryAllocationError
graph_cycle_error | pl.graph_cycle_error | pl.GraphCycleError
control_program_error | pl.control_program_error | pl.ControlProgramError
profiling_disabled | pl.profiling_disabled | pl.ProfilingDisabled
graph_recursion_error | pl.graph_recursion_error | pl.GraphRecursionError
stream_connection_error | pl.stream_connection_error | pl.StreamConnectionError
stream_memory_allocation_error | pl.stream_memory_allocation_error | pl.StreamMemoryAllocationError
graph_replication_error | pl.graph_replication_error | pl.GraphReplicationError
application_runtime_error | pl.application_runtime_error | pl.ApplicationRuntimeError
system_runtime_error | pl.system_runtime_error | pl.DeviceRuntimeError
symbol_error | pl.symbol_error | pl.UnknownName
invalid_option | pl.invalid_option | pl.InvalidOption
parse_error | pl.parse_error | pl.ParseError
file_load_error | pl.file_load_error | pl.FileLoadError
SIGNED | pl.SIGNED | pl.INT
SIGNED_INT | pl.SIGNED_INT | pl.INT
SIGNED_SHORT | pl.SIGNED_SHORT | pl.SHORT
UNSIGNED | pl.UNSIGNED | pl.UNSIGNED_INT
copyFloatToDeviceHalf(target, source, destination, n) | (pl.copyFloatToDeviceHalf(target, floats, halves, 2), halves.tolist())[1] | = floats.astype(np.float16).tolist()
copyDeviceHalfToFloat(target, source, destination, n) | (pl.copyDeviceHalfToFloat(target, halves, floats, 2), floats.tolist())[1] | = [0.0, 0.0]
copyDoubleToDeviceHalf(target, source, destination, n) | (pl.copyDoubleToDeviceHalf(target, doubles, halves, 2), halves.tolist())[1] | = doubles.astype(np.float16).tolist()
copyDeviceHalfToDouble(target, source, destination, n) | (pl.copyDeviceHalfToDouble(target, halves, doubles, 2), doubles.tolist())[1] | = [0.0, 0.0]
""",
}

ROWS = [
    *_rows("Tensor", TENSOR),
    *_rows("Graph", GRAPH),
    *_rows("Program", PROGRAMS),
    *_rows("Engine", ENGINE),
    *_rows("Target", TARGET),
    *(row for owner, text in OTHERS.items() for row in _rows(owner, text)),
]
"""All signatures."""


class Refusal(NamedTuple):
    """A signature that is refused, where other signatures of the member are there.

    Attributes:
        owner: Poplar's class.
        poplar: the member and its arguments, as Poplar names them.
        call: a call of it.
        reason: what the error says of it.
        instead: what it says to write.
    """

    owner: str
    poplar: str
    call: str
    reason: str
    instead: str


_POINTERS = "C++ has a pointer to the end; a NumPy array has a size"

REFUSALS = [
    Refusal(
        "Engine",
        "readTensor(handle, begin, end)",
        'engine.readTensor("x", data, data)',
        _POINTERS,
        "pass engine.readTensor(handle, array)",
    ),
    Refusal(
        "Engine",
        "writeTensor(handle, begin, end)",
        'engine.writeTensor("hx", data, data)',
        _POINTERS,
        "pass engine.writeTensor(handle, array)",
    ),
    Refusal(
        "Engine",
        "connectStream(handle, begin, end)",
        'engine.connectStream("in", data, data)',
        _POINTERS,
        "engine.connectStream('in', array)",
    ),
    Refusal(
        "Graph",
        "getTileMapping(tensor, isComplete, allowExternal)",
        "graph.getTileMapping(x, [False], False)",
        "Poplar has a pointer there, which receives whether all elements have a tile",
        "graph.getTileMapping(tensor, False)",
    ),
    Refusal(
        "Program",
        "PrintTensor(tensor, name)",
        'PrintTensor(x, "n")',
        "the title must precede the tensor",
        "PrintTensor('n', t)",
    ),
    Refusal(
        "",
        "setFloatingPointBehaviour(graph, sequence, tensor, name)",
        'pl.setFloatingPointBehaviour(graph, sequence, x, "n")',
        "Poplar stores a behaviour in a tensor, to restore it; here it is known",
        "pass the earlier behaviour: behaviour=FloatingPointBehaviour(...)",
    ),
]
"""Signatures that are refused; members that are, are `poplite.errors.Absent`."""
