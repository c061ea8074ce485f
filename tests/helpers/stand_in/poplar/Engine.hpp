// A stand-in for Poplar's engines, which run what a graph recorded.

#pragma once

#include <functional>
#include <memory>

#include <poplar/ArrayRef.hpp>
#include <poplar/Device.hpp>
#include <poplar/Executable.hpp>
#include <poplar/Graph.hpp>
#include <poplar/HostFunctionCallback.hpp>
#include <poplar/Program.hpp>

namespace stand_in {
class Interpreter;
}

namespace poplar {

Executable compileGraph(const Graph &graph, ArrayRef<program::Program> progs);

class Engine {
public:
  explicit Engine(Executable &&exe);
  ~Engine();
  void load(const Device &device);
  void run(unsigned prog = 0);
  void stop();
  void writeTensor(StringRef handle, const void *buf, const void *bufEnd);
  void readTensor(StringRef handle, void *buf, void *bufEnd);
  void connectHostFunction(StringRef functionHandle, unsigned indexReplica, HostCallbackHandle f);
  void connectStreamToCallback(StringRef handle, const std::function<void(void *)> &callback);

private:
  std::unique_ptr<stand_in::Interpreter> interpreter;
};

} // namespace poplar
