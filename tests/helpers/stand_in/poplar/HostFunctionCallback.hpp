// A stand-in for what a program calls on the host.

#pragma once

#include <functional>
#include <utility>

#include <poplar/ArrayRef.hpp>

namespace poplar {

class HostCallbackHandle {
public:
  template <class F> HostCallbackHandle(F &&callback) : call(std::forward<F>(callback)) {}

  std::function<void(ArrayRef<const void *>, ArrayRef<void *>)> call; // of the stand-in
};

} // namespace poplar
