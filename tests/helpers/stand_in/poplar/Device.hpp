// A stand-in for Poplar's devices; one can be moved, not copied.

#pragma once

#include <poplar/Target.hpp>

namespace poplar {

class Device {
public:
  Device(Device &&other) = default;
  Device(const Device &other) = delete;
  const Target &getTarget() const;
  bool attach() const;

  explicit Device(const Target &target) : target(target) {} // of the stand-in
  Target target;                                            // of the stand-in
  mutable bool is_attached = false;                         // of the stand-in
};

} // namespace poplar
