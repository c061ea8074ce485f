// A stand-in for what Poplar says of a machine.

#pragma once

namespace poplar {

enum class TargetType { IPU, IPU_MODEL, CPU };

class Target {
public:
  unsigned getTilesPerIPU() const;

  unsigned num_tiles = 0; // of the stand-in
  bool is_model = false;  // of the stand-in
};

} // namespace poplar
