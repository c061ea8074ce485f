// A stand-in for Poplar's graphs.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include <poplar/ArrayRef.hpp>
#include <poplar/DebugContext.hpp>
#include <poplar/GraphElements.hpp>
#include <poplar/Interval.hpp>
#include <poplar/Program.hpp>
#include <poplar/StringRef.hpp>
#include <poplar/Target.hpp>
#include <poplar/Tensor.hpp>

namespace poplar {

class Graph {
public:
  using HostFunctionArgument = std::tuple<Type, std::size_t>;
  explicit Graph(const Target &target);
  bool addCodelets(StringRef src);
  Graph createVirtualGraph(unsigned lowerTile, unsigned upperTile);
  Tensor addVariable(const Type &type, ArrayRef<std::size_t> shape, const DebugContext &debugContext = {});
  template <class T> Tensor addConstant(const Type &type, ArrayRef<std::size_t> shape, ArrayRef<T> values, const DebugContext &debugContext = {});
  Tensor addConstantHalf(const Type &type, ArrayRef<std::size_t> shape, const std::uint16_t *values, const DebugContext &debugContext = {});
  void setTileMapping(const Tensor &t, unsigned tileNum);
  void setTileMapping(const Tensor &t, const std::vector<std::vector<Interval>> &mapping);
  void setTileMapping(const VertexRef &v, unsigned tileNum);
  ComputeSet addComputeSet(const DebugContext &debugContext = {});
  VertexRef addVertex(ComputeSet cs, StringRef vertexType);
  void connect(FieldRef field, const Tensor &tensor);
  void connect(FieldRef field, ArrayRef<Tensor> tensors);
  template <class T> void setInitialValue(const Tensor &t, ArrayRef<T> values);
  void setInitialValueHalf(const Tensor &t, ArrayRef<std::uint16_t> values);
  template <class T> void setInitialValue(FieldRef field, T val);
  template <class T> void setInitialValue(FieldRef field, ArrayRef<T> values);
  void setInitialValueHalf(FieldRef field, std::uint16_t val);
  void setInitialValueHalf(FieldRef field, ArrayRef<std::uint16_t> values);
  void setPerfEstimate(const VertexRef &v, std::uint64_t cycles, std::uint64_t flops = 0);
  Function addFunction(const program::Program &program);
  FunctionBuffer addFunctionBuffer(const Function &function, FunctionBufferMappingType mappingType);
  DataStream addHostToDeviceFIFO(StringRef handle, const Type &elementType, std::size_t numElements);
  DataStream addDeviceToHostFIFO(StringRef handle, const Type &elementType, std::size_t numElements);
  HostFunction addHostFunction(StringRef handle, ArrayRef<HostFunctionArgument> inputs, ArrayRef<HostFunctionArgument> outputs);
  void createHostRead(StringRef handle, const Tensor &t);
  void createHostWrite(StringRef handle, const Tensor &t);

  std::shared_ptr<stand_in::State> state; // of the stand-in
  unsigned first_tile = 0, num_tiles = 0; // of the stand-in
};

} // namespace poplar
