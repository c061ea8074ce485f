// A stand-in for Poplar's half-open intervals.

#pragma once

#include <cstddef>

namespace poplar {

class Interval {
public:
  Interval(std::size_t begin, std::size_t end);
  std::size_t begin() const;
  std::size_t end() const;

private:
  std::size_t first, last;
};

} // namespace poplar
