// A stand-in for Poplar's tensors: a list of elements, and a shape.

#pragma once

#include <cstddef>
#include <vector>

#include <poplar/ArrayRef.hpp>
#include <poplar/Type.hpp>

namespace poplar {

class Tensor {
public:
  std::size_t numElements() const;
  std::size_t rank() const;
  Type elementType() const;
  Tensor flatten() const;
  Tensor reshape(ArrayRef<std::size_t> shape) const;
  Tensor slice(std::size_t begin, std::size_t end, unsigned dimension = 0) const;
  Tensor subSample(unsigned stride, unsigned dimension) const;
  Tensor reverse(unsigned dimension) const;
  Tensor reinterpret(const Type &type) const;
  Tensor broadcast(unsigned N, unsigned dimension) const;

  stand_in::View view; // of the stand-in
};

Tensor concat(ArrayRef<Tensor> ts, unsigned dimension = 0);

} // namespace poplar
