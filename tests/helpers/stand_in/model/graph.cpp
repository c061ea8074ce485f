// The stand-in's graph: records what it is told, and refuses what Poplar's documentation refuses.

#include <poplar/CSRFunctions.hpp>
#include <poplar/CycleCount.hpp>
#include <poplar/DeviceManager.hpp>
#include <poplar/Graph.hpp>
#include <poplar/IPUModel.hpp>
#include <poplar/exceptions.hpp>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

void stand_in::load_codelets(State &state, const std::string &path) {
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) throw poplar::file_load_error(dlerror());
  using Listing = void (*)(std::map<std::string, Codelet> &);
  auto *list = reinterpret_cast<Listing>(dlsym(library, "stand_in_codelets"));
  if (!list) throw poplar::graph_object_load_error(path + " holds no codelets");
  list(state.codelets);
}

namespace poplar {

// ---- Devices

unsigned Target::getTilesPerIPU() const { return num_tiles; }
const Target &Device::getTarget() const { return target; }

bool Device::attach() const {
  const char *path = std::getenv("STAND_IN_DEVICE"); // a file that stands for the only device
  if (path && !target.is_model) {
    const int file = open(path, O_RDWR | O_CREAT, 0600); // until the process ends
    if (file < 0 || flock(file, LOCK_EX | LOCK_NB) != 0) return false;
  }
  return is_attached = true;
}

DeviceManager DeviceManager::createDeviceManager() { return {}; }

std::vector<Device> DeviceManager::getDevices(TargetType type, unsigned requiredNumIPUs) const {
  std::vector<Device> devices;
  const char *given = std::getenv("STAND_IN_TILES");
  Target target;
  target.num_tiles = given ? static_cast<unsigned>(std::atoi(given)) : 1472;
  if (type == TargetType::IPU && requiredNumIPUs == 1 && target.num_tiles > 0) devices.emplace_back(target);
  return devices;
}

Device IPUModel::createDevice() const {
  if (numIPUs != 1 || tilesPerIPU == 0) throw invalid_machine_model("no model of that size");
  Target target;
  target.num_tiles = tilesPerIPU;
  target.is_model = true;
  Device device(target);
  device.attach();
  return device;
}

// ---- Variables

Graph::Graph(const Target &target) : state(std::make_shared<stand_in::State>()), num_tiles(target.num_tiles) {
  state->num_tiles = target.num_tiles;
  state->is_model = target.is_model;
}

bool Graph::addCodelets(StringRef src) {
  stand_in::load_codelets(*state, src);
  state->libraries.push_back(src);
  return true;
}

Graph Graph::createVirtualGraph(unsigned lowerTile, unsigned upperTile) {
  if (lowerTile >= upperTile || upperTile > num_tiles)
    throw invalid_tile_mapping("a virtual graph of no tiles");
  Graph made(*this);
  made.first_tile = first_tile + lowerTile;
  made.num_tiles = upperTile - lowerTile;
  return made;
}

namespace {

Tensor added(stand_in::State &state, const Type &type, ArrayRef<std::size_t> shape,
             const DebugContext &context, bool constant) {
  Tensor made;
  made.view.kind = type.kind;
  std::size_t count = 1;
  for (const std::size_t size : shape) {
    made.view.shape.push_back(size);
    count *= size;
  }
  const auto number = static_cast<std::uint32_t>(state.variables.size());
  for (std::size_t k = 0; k < count; ++k)
    made.view.elements.push_back({number, static_cast<std::uint32_t>(k)});
  state.variables.push_back({context.name, type.kind, made.view.shape, constant, std::vector<int>(count, -1),
                             std::vector<unsigned char>(count * type.kind->size)});
  return made;
}

void store(stand_in::State &state, const Tensor &t, const void *values, std::size_t count,
           std::size_t width) {
  if (count != t.numElements()) throw tensor_creation_error("another number of values than elements");
  if (width != t.view.kind->size) throw type_error("values of another size than the elements");
  for (std::size_t k = 0; k < count; ++k) {
    const stand_in::Element at = t.view.elements[k];
    std::memcpy(&state.variables[at.variable].data[at.index * width],
                static_cast<const char *>(values) + k * width, width);
  }
}

} // namespace

Tensor Graph::addVariable(const Type &type, ArrayRef<std::size_t> shape, const DebugContext &debugContext) {
  return added(*state, type, shape, debugContext, false);
}

template <class T>
Tensor Graph::addConstant(const Type &type, ArrayRef<std::size_t> shape, ArrayRef<T> values,
                          const DebugContext &debugContext) {
  if (type == HALF) throw type_error("values of a constant of halves are given by their bits");
  Tensor made = added(*state, type, shape, debugContext, true);
  store(*state, made, values.begin(), values.size(), sizeof(T));
  return made;
}

Tensor Graph::addConstantHalf(const Type &type, ArrayRef<std::size_t> shape, const std::uint16_t *values,
                              const DebugContext &debugContext) {
  if (!(type == HALF)) throw type_error("a constant of halves has another type");
  Tensor made = added(*state, type, shape, debugContext, true);
  store(*state, made, values, made.numElements(), 2);
  return made;
}

void Graph::setTileMapping(const Tensor &t, unsigned tileNum) {
  if (tileNum >= num_tiles)
    throw invalid_tile_mapping("tile " + std::to_string(tileNum) + " of " + std::to_string(num_tiles));
  for (const stand_in::Element at : t.view.elements)
    state->variables[at.variable].tiles[at.index] = static_cast<int>(first_tile + tileNum);
}

void Graph::setTileMapping(const Tensor &t, const std::vector<std::vector<Interval>> &mapping) {
  const Tensor flat = t.flatten();
  for (std::size_t tile = 0; tile < mapping.size(); ++tile)
    for (const Interval &part : mapping[tile])
      setTileMapping(flat.slice(part.begin(), part.end()), static_cast<unsigned>(tile));
}

template <class T> void Graph::setInitialValue(const Tensor &t, ArrayRef<T> values) {
  if (t.elementType() == HALF) throw type_error("first values of halves are given by their bits");
  store(*state, t, values.begin(), values.size(), sizeof(T));
}

void Graph::setInitialValueHalf(const Tensor &t, ArrayRef<std::uint16_t> values) {
  if (!(t.elementType() == HALF)) throw type_error("first values of halves for another type");
  store(*state, t, values.begin(), values.size(), 2);
}

// ---- Vertices

namespace {

stand_in::Vertex &vertex_of(stand_in::State &state, std::size_t set, std::size_t vertex) {
  return state.compute_sets.at(set).vertices.at(vertex);
}

const stand_in::Field &field_of(stand_in::State &state, const FieldRef &field) {
  const stand_in::Codelet &codelet = *vertex_of(state, field.set, field.vertex).codelet;
  for (const stand_in::Field &each : codelet.fields)
    if (each.name == field.name) return each;
  throw unknown_field(codelet.name + " has no field " + field.name);
}

void check_edge(const stand_in::Field &field, const Tensor &t) {
  if (field.role == 's') throw graph_connection_error(field.name + " is a state");
  if (t.view.kind->name != field.kind)
    throw type_error(field.name + " is of " + field.kind + ", not " + t.view.kind->name);
  if (field.depth == 0 ? t.numElements() != 1 : t.rank() != 1)
    throw graph_connection_error("another shape than " + field.name);
}

void connected(stand_in::State &state, const FieldRef &at, std::vector<stand_in::View> views) {
  auto &edges = vertex_of(state, at.set, at.vertex).edges;
  if (!edges.emplace(at.name, std::move(views)).second)
    throw graph_connection_error(at.name + " is connected twice");
}

void set_state(stand_in::State &state, const FieldRef &at, int depth, const void *values, std::size_t size,
               bool is_half, std::size_t width) {
  const stand_in::Field &field = field_of(state, at);
  if (field.role != 's') throw graph_connection_error(at.name + " is no state");
  if (field.depth != depth) throw graph_connection_error(at.name + " has another depth");
  if (is_half != (field.kind == "half")) throw type_error(at.name + " is of " + field.kind);
  const auto *bytes = static_cast<const unsigned char *>(values);
  const std::vector<unsigned char> data(bytes, bytes + size * width);
  if (!vertex_of(state, at.set, at.vertex).states.emplace(at.name, data).second)
    throw graph_connection_error(at.name + " has a value already");
}

} // namespace

FieldRef VertexRef::operator[](StringRef fieldName) const {
  FieldRef made;
  made.set = set;
  made.vertex = vertex;
  made.name = std::string(fieldName);
  return made;
}

ComputeSet Graph::addComputeSet(const DebugContext &debugContext) {
  ComputeSet made;
  made.number = state->compute_sets.size();
  state->compute_sets.push_back({debugContext.name, {}});
  return made;
}

VertexRef Graph::addVertex(ComputeSet cs, StringRef vertexType) {
  const auto found = state->codelets.find(vertexType);
  if (found == state->codelets.end()) throw unknown_vertex_type(vertexType);
  auto &vertices = state->compute_sets.at(cs.number).vertices;
  VertexRef made;
  made.set = cs.number;
  made.vertex = vertices.size();
  stand_in::Vertex vertex;
  vertex.codelet = &found->second;
  vertices.push_back(vertex);
  return made;
}

void Graph::setTileMapping(const VertexRef &v, unsigned tileNum) {
  if (tileNum >= num_tiles)
    throw invalid_tile_mapping("tile " + std::to_string(tileNum) + " of " + std::to_string(num_tiles));
  vertex_of(*state, v.set, v.vertex).tile = static_cast<int>(first_tile + tileNum);
}

void Graph::connect(FieldRef field, const Tensor &tensor) {
  const stand_in::Field &declared = field_of(*state, field);
  if (declared.depth == 2) throw graph_connection_error(field.name + " is a list of edges");
  check_edge(declared, tensor);
  connected(*state, field, {tensor.view});
}

void Graph::connect(FieldRef field, ArrayRef<Tensor> tensors) {
  const stand_in::Field &declared = field_of(*state, field);
  if (declared.depth != 2) throw graph_connection_error(field.name + " is one edge");
  std::vector<stand_in::View> views;
  for (const Tensor &each : tensors) {
    check_edge(declared, each);
    views.push_back(each.view);
  }
  connected(*state, field, views);
}

template <class T> void Graph::setInitialValue(FieldRef field, T val) {
  set_state(*state, field, 0, &val, 1, false, sizeof(T));
}

template <class T> void Graph::setInitialValue(FieldRef field, ArrayRef<T> values) {
  set_state(*state, field, 1, values.begin(), values.size(), false, sizeof(T));
}

void Graph::setInitialValueHalf(FieldRef field, std::uint16_t val) {
  set_state(*state, field, 0, &val, 1, true, 2);
}

void Graph::setInitialValueHalf(FieldRef field, ArrayRef<std::uint16_t> values) {
  set_state(*state, field, 1, values.begin(), values.size(), true, 2);
}

void Graph::setPerfEstimate(const VertexRef &v, std::uint64_t cycles, std::uint64_t flops) {
  vertex_of(*state, v.set, v.vertex).estimate = {cycles, flops};
}

#define INSTANTIATE(T)                                                                                       \
  template Tensor Graph::addConstant<T>(const Type &, ArrayRef<std::size_t>, ArrayRef<T>,                    \
                                        const DebugContext &);                                               \
  template void Graph::setInitialValue<T>(const Tensor &, ArrayRef<T>);                                      \
  template void Graph::setInitialValue<T>(FieldRef, T);                                                      \
  template void Graph::setInitialValue<T>(FieldRef, ArrayRef<T>);
INSTANTIATE(bool)
INSTANTIATE(char)
INSTANTIATE(signed char)
INSTANTIATE(unsigned char)
INSTANTIATE(short)
INSTANTIATE(unsigned short)
INSTANTIATE(int)
INSTANTIATE(unsigned)
INSTANTIATE(long long)
INSTANTIATE(unsigned long long)
INSTANTIATE(float)
#undef INSTANTIATE

// ---- What programs and the host need

Function Graph::addFunction(const program::Program &program) {
  Function made;
  made.number = state->functions.size();
  state->functions.push_back(program.tree);
  return made;
}

FunctionBuffer Graph::addFunctionBuffer(const Function &function, FunctionBufferMappingType) {
  FunctionBuffer made;
  made.function = function.number;
  state->buffered.push_back(function.number);
  return made;
}

namespace {

DataStream streamed(stand_in::State &state, const std::string &name, const Type &type, std::size_t count,
                    bool is_input) {
  for (const stand_in::Stream &each : state.streams)
    if (each.name == name) throw stream_connection_error("two streams are named " + name);
  DataStream made;
  made.number = state.streams.size();
  state.streams.push_back({name, type.kind, count, is_input});
  return made;
}

} // namespace

DataStream Graph::addHostToDeviceFIFO(StringRef handle, const Type &elementType, std::size_t numElements) {
  return streamed(*state, handle, elementType, numElements, true);
}

DataStream Graph::addDeviceToHostFIFO(StringRef handle, const Type &elementType, std::size_t numElements) {
  return streamed(*state, handle, elementType, numElements, false);
}

HostFunction Graph::addHostFunction(StringRef handle, ArrayRef<HostFunctionArgument> inputs,
                                    ArrayRef<HostFunctionArgument> outputs) {
  stand_in::Called called{handle, {}, {}};
  for (const stand_in::Called &each : state->called)
    if (each.name == called.name) throw stream_connection_error("two host functions are named " + each.name);
  for (const auto &[type, count] : inputs) called.inputs.emplace_back(type.kind, count);
  for (const auto &[type, count] : outputs) called.outputs.emplace_back(type.kind, count);
  HostFunction made;
  made.number = state->called.size();
  state->called.push_back(called);
  return made;
}

void Graph::createHostRead(StringRef handle, const Tensor &t) {
  if (!state->reads.emplace(handle, t.view).second)
    throw stream_connection_error("two host reads have one name");
}

void Graph::createHostWrite(StringRef handle, const Tensor &t) {
  if (!state->writes.emplace(handle, t.view).second)
    throw stream_connection_error("two host writes have one name");
}

namespace {

void added(program::Sequence &prog, stand_in::Node node) {
  program::Program step;
  step.tree = std::make_shared<stand_in::Node>(std::move(node));
  prog.add(step);
}

} // namespace

Tensor cycleStamp(Graph &graph, program::Sequence &prog, unsigned tile, SyncType syncType) {
  const Tensor stamp = graph.addVariable(UNSIGNED_INT, {2}, "cycleStamp");
  graph.setTileMapping(stamp, tile);
  added(prog, {"cycle stamp", {}, {stamp.view}, {static_cast<std::int64_t>(syncType)}, ""});
  return stamp;
}

Tensor cycleCount(Graph &graph, program::Sequence &prog, unsigned tile, SyncType) {
  const Tensor counter = graph.addVariable(UNSIGNED_INT, {2}, "cycleCount");
  graph.setTileMapping(counter, tile);
  auto counted = std::make_shared<stand_in::Node>();
  counted->what = "count cycles";
  counted->parts = {prog.tree};
  counted->views = {counter.view};
  auto all = std::make_shared<stand_in::Node>();
  all->what = "sequence";
  all->parts = {counted};
  prog.tree = all;
  return counter;
}

namespace {

std::vector<std::int64_t> bits(const FloatingPointBehaviour &behaviour) {
  return {std::begin(behaviour.modes), std::end(behaviour.modes)};
}

} // namespace

FloatingPointBehaviour::FloatingPointBehaviour(bool inv, bool div0, bool oflo, bool esr, bool nanoo)
    : modes{inv, div0, oflo, esr, nanoo} {}

void setFloatingPointBehaviour(Graph &, program::Sequence &prog, const FloatingPointBehaviour &behaviour) {
  added(prog, {"set floating point", {}, {}, bits(behaviour), ""});
}

Tensor getAndModifyFloatingPointBehaviour(Graph &graph, program::Sequence &prog,
                                          const FloatingPointBehaviour &clear,
                                          const FloatingPointBehaviour &set) {
  const Tensor before = graph.addVariable(UNSIGNED_INT, {graph.num_tiles}, "behaviour");
  for (unsigned tile = 0; tile < graph.num_tiles; ++tile)
    graph.setTileMapping(before.slice(tile, tile + 1), tile);
  std::vector<std::int64_t> numbers = bits(clear);
  for (const std::int64_t bit : bits(set)) numbers.push_back(bit);
  added(prog, {"modify floating point", {}, {}, numbers, ""});
  return before;
}

void setStochasticRounding(Graph &, program::Sequence &prog, bool behaviour) {
  added(prog, {"set stochastic rounding", {}, {}, {behaviour}, ""});
}

} // namespace poplar
