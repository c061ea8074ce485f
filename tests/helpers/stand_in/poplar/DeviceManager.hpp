// A stand-in for Poplar's list of devices; STAND_IN_TILES says how many tiles its only one has.

#pragma once

#include <vector>

#include <poplar/Device.hpp>

namespace poplar {

class DeviceManager {
public:
  static DeviceManager createDeviceManager();
  std::vector<Device> getDevices(TargetType type, unsigned requiredNumIPUs) const;
};

} // namespace poplar
