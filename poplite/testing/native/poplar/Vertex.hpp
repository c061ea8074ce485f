// A stand-in for the C++ types of codelets, to compile and run them without an SDK.
//
// Written from public documentation (Poplar user guide, "Understanding vertices" and "Vertex vector
// types"). It has no conversion and no member that they do not name, and checks every index.

#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>

namespace poplar {

enum class VectorLayout { SPAN, SHORT_SPAN, ONE_PTR, SCALED_PTR32, SCALED_PTR64, SCALED_PTR128, COMPACT_PTR };

template <class T, VectorLayout layout = VectorLayout::SPAN, unsigned alignment = alignof(T),
          bool interleaved = false>
class Vector;

} // namespace poplar

namespace stand_in {

struct Binding;

// References to elements, or to fields of elements.
template <class T> class Span {
public:
  std::size_t size() const { return count; }

protected:
  T &at(std::size_t i) const {
    if (i >= count) throw std::out_of_range("an index is outside of a field");
    return first[i];
  }

private:
  friend struct Binding;
  T *first = nullptr;
  std::size_t count = 0;
};

template <class T> class Scalar {
public:
  T &operator*() const { return *first; }

private:
  friend struct Binding;
  T *first = nullptr;
};

template <class T> class Elements : public Span<T> {
public:
  T &operator[](std::size_t i) const { return this->at(i); }
};

} // namespace stand_in

namespace poplar {

template <class T, VectorLayout layout, unsigned alignment, bool interleaved>
class Vector : public stand_in::Elements<T> {};

template <class T> class Input : public stand_in::Scalar<const T> {};
template <class T> class Output : public stand_in::Scalar<T> {};
template <class T> class InOut : public stand_in::Scalar<T> {};

template <class T, VectorLayout layout, unsigned alignment, bool interleaved>
class Input<Vector<T, layout, alignment, interleaved>> : public stand_in::Elements<const T> {};
template <class T, VectorLayout layout, unsigned alignment, bool interleaved>
class Output<Vector<T, layout, alignment, interleaved>> : public stand_in::Elements<T> {};
template <class T, VectorLayout layout, unsigned alignment, bool interleaved>
class InOut<Vector<T, layout, alignment, interleaved>> : public stand_in::Elements<T> {};

class Vertex {};

class MultiVertex {
public:
  static unsigned numWorkers() { return workers; }

private:
  friend struct stand_in::Binding;
  static inline unsigned workers = 6;
};

} // namespace poplar
