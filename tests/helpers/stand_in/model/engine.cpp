// The stand-in's engine, and the interpreter behind it.

#include <poplar/Engine.hpp>
#include <poplar/exceptions.hpp>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>

#include "interpreter.hpp"

namespace stand_in {

namespace {
// Fails as a file says, for tests: "run index_error", "compile exit", "run bad_alloc".
void fail_as_told(const std::string &place) {
  const char *path = std::getenv("STAND_IN_FAILS");
  std::string where, how;
  if (!path || !(std::ifstream(path) >> where >> how) || where != place) return;
  const std::string text = how + "\nas a file says";
  if (how == "exit") {
    std::cerr << "the last words" << std::endl;
    std::_Exit(7);
  }
  if (how == "bad_alloc") throw std::bad_alloc();
  if (how == "poplar_error") throw poplar::poplar_error(text);
#define POPLAR_ERROR(name, base) if (how == #name) throw poplar::name(text);
#include <poplar/exceptions.hpp>
  throw std::logic_error("no way to fail: " + how);
}
} // namespace

Interpreter::Interpreter(std::shared_ptr<State> given, std::vector<Tree> trees)
    : state(std::move(given)), programs(std::move(trees)) {
  check();
}

void Interpreter::check() const {
  for (const ComputeSet &set : state->compute_sets)
    for (const Vertex &vertex : set.vertices) {
      const std::string what = vertex.codelet->name + " of " + set.name;
      if (vertex.tile < 0) throw poplar::invalid_tile_mapping(what + " has no tile");
      if (state->is_model && vertex.estimate.empty()) throw poplar::missing_perf_estimate(what);
      for (const Field &field : vertex.codelet->fields) {
        const bool is_there =
            field.role == 's' ? vertex.states.count(field.name) : vertex.edges.count(field.name);
        if (!is_there) throw poplar::graph_connection_error(what + ": nothing behind " + field.name);
      }
      for (const auto &[name, views] : vertex.edges)
        for (const View &view : views) check_mapped(view, what + "." + name);
    }
  for (const Tree &each : programs) check_tree(each);
}

void Interpreter::check_mapped(const View &view, const std::string &what) const {
  for (const Element at : view.elements)
    if (state->variables[at.variable].tiles[at.index] < 0)
      throw poplar::invalid_tile_mapping(what + ": " + state->variables[at.variable].name + " has no tile");
}

void Interpreter::check_tree(const Tree &tree) const {
  for (const View &view : tree->views) check_mapped(view, tree->what);
  for (const Tree &part : tree->parts) check_tree(part);
}

std::vector<unsigned char> Interpreter::gathered(const View &view) const {
  const std::size_t width = view.kind->size;
  std::vector<unsigned char> data(view.elements.size() * width);
  for (std::size_t k = 0; k < view.elements.size(); ++k) {
    const Element at = view.elements[k];
    std::memcpy(&data[k * width], &state->variables[at.variable].data[at.index * width], width);
  }
  return data;
}

void Interpreter::scatter(const View &view, const unsigned char *data) {
  const std::size_t width = view.kind->size;
  for (std::size_t k = 0; k < view.elements.size(); ++k) {
    const Element at = view.elements[k];
    if (state->variables[at.variable].constant) throw poplar::graph_connection_error("a constant is written");
    std::memcpy(&state->variables[at.variable].data[at.index * width], data + k * width, width);
  }
}

std::int64_t Interpreter::number(const View &view) const {
  const auto data = gathered(view);
  if (view.kind->name == "bool") return data[0] != 0;
  std::int32_t value;
  std::memcpy(&value, data.data(), sizeof value);
  return value;
}

void Interpreter::run(unsigned number) {
  if (!is_loaded) throw poplar::runtime_error("run before load");
  is_stopped = false;
  fail_as_told("run");
  walk(*programs.at(number));
}

void Interpreter::walk(const Node &node) {
  if (is_stopped) return;
  const std::string &what = node.what;
  ++steps;
  if (what == "sequence") {
    for (const Tree &part : node.parts) walk(*part);
  } else if (what == "execute") {
    execute(node);
  } else if (what == "copy") {
    scatter(node.views[1], gathered(node.views[0]).data());
  } else if (what == "from host" || what == "to host") {
    const Stream &stream = state->streams.at(static_cast<std::size_t>(node.numbers[0]));
    const auto callback = callbacks.find(stream.name);
    if (callback == callbacks.end()) throw poplar::stream_connection_error(stream.name + " is not connected");
    if (stream.count != node.views[0].elements.size())
      throw poplar::control_program_error(stream.name + " has another size");
    auto data = gathered(node.views[0]);
    callback->second(data.data());
    if (what == "from host" && !is_stopped) scatter(node.views[0], data.data());
  } else if (what == "repeat") {
    for (std::int64_t k = 0; k < node.numbers[0] && !is_stopped; ++k) walk(*node.parts[0]);
  } else if (what == "while true" || what == "while false") {
    for (walk(*node.parts[0]); !is_stopped && (number(node.views[0]) != 0) == (what == "while true");
         walk(*node.parts[0]))
      walk(*node.parts[1]);
  } else if (what == "loop") {
    while (!is_stopped) walk(*node.parts[0]);
  } else if (what == "if") {
    walk(*node.parts[number(node.views[0]) != 0 ? 0 : 1]);
  } else if (what == "switch") {
    std::size_t chosen = 0;
    for (std::size_t k = 0; k < node.numbers.size(); ++k)
      if (node.numbers[k] == number(node.views[0])) chosen = k + 1;
    walk(*node.parts[chosen]);
  } else if (what == "load code") {
    loaded.insert(static_cast<std::size_t>(node.numbers[0]));
  } else if (what == "call") {
    const auto number = static_cast<std::size_t>(node.numbers[0]);
    for (const std::size_t buffered : state->buffered)
      if (buffered == number && !loaded.count(number))
        throw poplar::application_runtime_error("the code of the function is not loaded");
    walk(*state->functions.at(static_cast<std::size_t>(node.numbers[0])));
  } else if (what == "abort" || what == "error") {
    throw poplar::application_runtime_error(node.text);
  } else if (what == "abort on") {
    if (number(node.views[0]) != 0) throw poplar::application_runtime_error(node.text);
  } else if (what == "host call") {
    call_host(node);
  } else if (what == "cycle stamp") {
    const std::uint32_t words[2] = {static_cast<std::uint32_t>(steps),
                                    static_cast<std::uint32_t>(steps >> 32)};
    scatter(node.views[0], reinterpret_cast<const unsigned char *>(words));
  } else if (what == "count cycles") {
    const std::uint64_t before = steps;
    walk(*node.parts[0]);
    const std::uint64_t taken = steps - before;
    const std::uint32_t words[2] = {static_cast<std::uint32_t>(taken),
                                    static_cast<std::uint32_t>(taken >> 32)};
    scatter(node.views[0], reinterpret_cast<const unsigned char *>(words));
  } else if (what != "sync" && what != "write undef" && what != "set floating point" &&
             what != "modify floating point" && what != "set stochastic rounding") {
    throw poplar::runtime_error("the stand-in does not know '" + what + "'");
  }
}

void Interpreter::call_host(const Node &node) {
  const Called &function = state->called.at(static_cast<std::size_t>(node.numbers[0]));
  const auto callback = called.find(function.name);
  if (callback == called.end()) throw poplar::stream_connection_error(function.name + " is not connected");
  auto kinds = function.inputs;
  kinds.insert(kinds.end(), function.outputs.begin(), function.outputs.end());
  if (kinds.size() != node.views.size())
    throw poplar::control_program_error(function.name + " has another number of arguments");
  std::vector<std::vector<unsigned char>> blocks;
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    const View &view = node.views[k];
    if (view.kind != kinds[k].first || view.elements.size() != kinds[k].second)
      throw poplar::control_program_error(function.name + " has another argument");
    blocks.push_back(gathered(view));
  }
  const std::size_t split = function.inputs.size();
  std::vector<const void *> inputs;
  std::vector<void *> outputs;
  for (std::size_t k = 0; k < split; ++k) inputs.push_back(blocks[k].data());
  for (std::size_t k = split; k < blocks.size(); ++k) outputs.push_back(blocks[k].data());
  callback->second(inputs, outputs);
  for (std::size_t k = split; k < blocks.size() && !is_stopped; ++k) scatter(node.views[k], blocks[k].data());
}

void Interpreter::execute(const Node &node) {
  bool all = true;
  for (const Vertex &vertex : state->compute_sets.at(static_cast<std::size_t>(node.numbers[0])).vertices)
    all = compute(vertex) && all;
  const unsigned char result = all;
  if (!node.views.empty()) scatter(node.views[0], &result);
}

bool Interpreter::compute(const Vertex &vertex) {
  std::vector<std::vector<unsigned char>> blocks;
  std::vector<std::size_t> sizes;
  std::vector<bool> is_list;
  const auto add = [&](std::vector<unsigned char> data, std::size_t size, bool list) {
    data.resize(data.size() + 16);
    blocks.push_back(std::move(data));
    sizes.push_back(size);
    is_list.push_back(list);
  };
  std::vector<std::pair<const View *, std::size_t>> written;
  for (const Field &field : vertex.codelet->fields) {
    if (field.role == 's') {
      const auto &data = vertex.states.at(field.name);
      add(data, data.size() / field.width, false);
      continue;
    }
    const auto &views = vertex.edges.at(field.name);
    if (field.depth == 2) add({}, views.size(), true);
    for (const View &view : views) {
      if (field.role != 'i') written.emplace_back(&view, blocks.size());
      // What an output held before is not promised to a vertex.
      const std::size_t size = view.elements.size();
      add(field.role == 'o' ? std::vector<unsigned char>(size * view.kind->size, 0xA5) : gathered(view), size,
          false);
    }
  }
  std::vector<void *> data;
  for (std::size_t k = 0; k < blocks.size(); ++k) data.push_back(is_list[k] ? nullptr : blocks[k].data());
  const int found = vertex.codelet->run(data.data(), sizes.data(), 6);
  if (found == 2) throw poplar::application_runtime_error(vertex.codelet->name + " stopped");
  if (found == 3)
    throw poplar::application_runtime_error(vertex.codelet->name + ": an index is outside of a field");
  for (const auto &[view, block] : written) scatter(*view, blocks[block].data());
  return found != 0;
}

} // namespace stand_in

namespace poplar {

Executable compileGraph(const Graph &graph, ArrayRef<program::Program> progs) {
  stand_in::fail_as_told("compile");
  Executable made;
  made.state = graph.state;
  for (const program::Program &each : progs) made.programs.push_back(each.tree);
  const stand_in::Interpreter checked(made.state, made.programs);
  if (const char *path = std::getenv("STAND_IN_RECORD"))
    stand_in::record(*made.state, made.programs, path);
  return made;
}

Engine::Engine(Executable &&exe)
    : interpreter(std::make_unique<stand_in::Interpreter>(exe.state, exe.programs)) {}

Engine::~Engine() = default;

void Engine::load(const Device &device) {
  if (!device.is_attached) throw runtime_error("the device is not attached");
  interpreter->is_loaded = true;
}

void Engine::run(unsigned prog) { interpreter->run(prog); }
void Engine::stop() { interpreter->is_stopped = true; }

namespace {

const stand_in::View &handle(const std::map<std::string, stand_in::View> &all, const std::string &name,
                             std::ptrdiff_t size) {
  const auto found = all.find(name);
  if (found == all.end()) throw stream_connection_error("no handle " + name);
  const auto bytes = found->second.elements.size() * found->second.kind->size;
  if (static_cast<std::size_t>(size) != bytes)
    throw stream_connection_error("the buffer of " + name + " has another size");
  return found->second;
}

} // namespace

void Engine::writeTensor(StringRef name, const void *buf, const void *bufEnd) {
  const auto *begin = static_cast<const unsigned char *>(buf);
  interpreter->scatter(
      handle(interpreter->state->writes, name, static_cast<const unsigned char *>(bufEnd) - begin), begin);
}

void Engine::readTensor(StringRef name, void *buf, void *bufEnd) {
  auto *begin = static_cast<unsigned char *>(buf);
  const auto data = interpreter->gathered(
      handle(interpreter->state->reads, name, static_cast<unsigned char *>(bufEnd) - begin));
  std::memcpy(buf, data.data(), data.size());
}

void Engine::connectHostFunction(StringRef functionHandle, unsigned indexReplica, HostCallbackHandle f) {
  if (indexReplica != 0) throw stream_connection_error("there is no such replica");
  interpreter->called[functionHandle] = f.call;
}

void Engine::connectStreamToCallback(StringRef name, const std::function<void(void *)> &callback) {
  for (const stand_in::Stream &each : interpreter->state->streams)
    if (each.name == std::string(name)) {
      interpreter->callbacks[name] = callback;
      return;
    }
  throw stream_connection_error("no stream " + std::string(name));
}

} // namespace poplar
