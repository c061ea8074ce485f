// A stand-in for what Poplar's compiler makes; one can be moved, and saved for hardware.

#pragma once

#include <istream>
#include <memory>
#include <ostream>
#include <vector>

#include "model/state.hpp"

namespace poplar {

class Executable {
public:
  Executable();
  Executable(Executable &&other) = default;
  void serialize(std::ostream &out) const;
  static Executable deserialize(std::istream &in);

  std::shared_ptr<stand_in::State> state; // of the stand-in
  std::vector<stand_in::Tree> programs;   // of the stand-in
};

} // namespace poplar
