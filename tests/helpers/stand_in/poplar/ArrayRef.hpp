// A stand-in for Poplar's references to arrays.

#pragma once

#include <cstddef>
#include <initializer_list>
#include <vector>

namespace poplar {

template <class T> class ArrayRef {
public:
  ArrayRef(const T *data, std::size_t length) : first(data), count(length) {}
  ArrayRef(const std::vector<T> &values) : first(values.data()), count(values.size()) {}
  ArrayRef(const std::initializer_list<T> &values) : first(values.begin()), count(values.size()) {}
  const T *begin() const { return first; }
  const T *end() const { return first + count; }
  std::size_t size() const { return count; }
  const T &operator[](std::size_t index) const { return first[index]; }

private:
  const T *first;
  std::size_t count;
};

} // namespace poplar
