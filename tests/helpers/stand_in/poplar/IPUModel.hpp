// A stand-in for the model of an IPU that comes with Poplar.

#pragma once

#include <poplar/Device.hpp>

namespace poplar {

class IPUModel {
public:
  unsigned numIPUs = 1;
  unsigned tilesPerIPU = 1472;
  Device createDevice() const;
};

} // namespace poplar
