// A stand-in for the names that Poplar's objects have in messages and profiles.

#pragma once

#include <string>

namespace poplar {

class DebugContext {
public:
  DebugContext() = default;
  DebugContext(const char *name) : name(name) {}
  DebugContext(std::string name) : name(name) {}

  std::string name; // of the stand-in
};

} // namespace poplar
