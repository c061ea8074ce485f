// The types of codelets, as public documentation describes them (Poplar user guide, "Understanding
// vertices" and "Vertex vector types"); no text of an SDK.
//
// A field is a plain object: an address, a length, the number of the field, and the record of the
// vertex. No constructor runs: `poplite_fill` sets these members before `compute` is called.
// Every subscript calls `vertex.inside`, with its file and line in `vertex.outside`; both are
// declared here and defined for each use of the code. Names that are not Poplar's begin with
// `poplite_`, since users' macros and names must not change them.

#ifndef POPLITE_VERTEX_HPP
#define POPLITE_VERTEX_HPP

#include <cstring>
#include <math.h>
#include <stddef.h>
#include <stdint.h>

#if __has_include(<__iterator/iterator_traits.h>)
#include <__iterator/iterator_traits.h>
#elif __has_include(<bits/stl_iterator_base_types.h>)
#include <bits/stl_iterator_base_types.h>
#else
#include <iterator>
#endif

namespace poplar {

enum class VectorLayout { SPAN, SHORT_SPAN, ONE_PTR, SCALED_PTR32, SCALED_PTR64, SCALED_PTR128, COMPACT_PTR };
enum class VectorListLayout { DELTANELEMENTS, DELTAN, COMPACT_DELTAN };

template <class T, VectorLayout layout = VectorLayout::SPAN, unsigned alignment = alignof(T),
          bool interleaved = false>
class Vector;
template <class T, VectorListLayout layout = VectorListLayout::DELTANELEMENTS,
          unsigned alignment = alignof(T), bool interleaved = false>
class VectorList;
template <class T> class Input;
template <class T> class Output;
template <class T> class InOut;

} // namespace poplar

namespace poplite_cpp {

extern "C" {
int poplite_inside(void *about, long long field, long long index, long long length) __asm__("vertex.inside");
[[noreturn]] void poplite_outside(void *about, long long field, long long index, long long length,
                                  const char *file, long long line) __asm__("vertex.outside");
long long poplite_row_start(long long field, long long stride, long long length, void *table,
                            long long row) __asm__("vertex.row_start");
long long poplite_row_length(long long field, long long stride, long long length, void *table,
                             long long row) __asm__("vertex.row_length");
}

// The place of an access, "0" for the first file.
struct poplite_place {
  const char *file;
  long long line;
  static constexpr poplite_place here(const char *file = __builtin_FILE(),
                                      long long line = __builtin_LINE()) {
    return poplite_place{file, line};
  }
};

// An index of any type that converts to an integer, and the place of the subscript.
struct poplite_index {
  long long at;
  poplite_place place;
  template <class I>
  constexpr poplite_index(I index, poplite_place place = poplite_place::here())
      : at(static_cast<long long>(index)), place(place) {}
};

// -- one element ----------------------------------------------------------------------------------

template <class T> struct poplite_scalar {
  typedef T poplite_item;
  T *poplite_data;
  T &operator*() const { return *poplite_data; }
  T *operator->() const { return poplite_data; }
  T *operator&() const { return poplite_data; }
  operator T &() const { return *poplite_data; }
};

template <class T> struct poplite_written : poplite_scalar<T> {
  const poplite_written &operator=(const T &value) const {
    *this->poplite_data = value;
    return *this;
  }
};

template <class T> inline void poplite_fill(const poplite_scalar<T> &field, T *data) {
  const_cast<poplite_scalar<T> &>(field).poplite_data = data;
}
template <class T, class V> inline void poplite_state(const T &member, V value) {
  const_cast<T &>(member) = static_cast<T>(value);
}

// -- vectors --------------------------------------------------------------------------------------

// Iterators are indices, since addresses cannot be compared in code to be priced. Their elements
// have the line of the call that made or moved them, as a dereference cannot know its own.
template <class Owner, class T> class poplite_iterator {
public:
  typedef std::random_access_iterator_tag iterator_category;
  typedef T value_type;
  typedef ptrdiff_t difference_type;
  typedef T *pointer;
  typedef T &reference;

  poplite_iterator() : owner(), at(), place() {}
  poplite_iterator(const Owner *owner, difference_type at, poplite_place place)
      : owner(owner), at(at), place(place) {}
  T &operator*() const { return (*owner)[poplite_index(at, place)]; }
  T *operator->() const { return __builtin_addressof(**this); }
  T &operator[](poplite_index i) const { return *(*this + i); }
  poplite_iterator &operator++() { return ++at, *this; }
  poplite_iterator &operator--() { return --at, *this; }
  poplite_iterator operator++(int) { return poplite_iterator(owner, at++, place); }
  poplite_iterator operator--(int) { return poplite_iterator(owner, at--, place); }
  poplite_iterator &operator+=(poplite_index i) { return at += i.at, moved(i.place); }
  poplite_iterator &operator-=(poplite_index i) { return at -= i.at, moved(i.place); }
  poplite_iterator operator+(poplite_index i) const { return poplite_iterator(*this) += i; }
  poplite_iterator operator-(poplite_index i) const { return poplite_iterator(*this) -= i; }
  difference_type operator-(const poplite_iterator &other) const { return at - other.at; }
  bool operator==(const poplite_iterator &other) const { return at == other.at; }
  bool operator!=(const poplite_iterator &other) const { return at != other.at; }
  bool operator<(const poplite_iterator &other) const { return at < other.at; }
  bool operator>(const poplite_iterator &other) const { return at > other.at; }
  bool operator<=(const poplite_iterator &other) const { return at <= other.at; }
  bool operator>=(const poplite_iterator &other) const { return at >= other.at; }

private:
  // Standard algorithms move iterators, too: their files are named `~`.
  poplite_iterator &moved(poplite_place by) {
    if (*by.file != '~') place = by;
    return *this;
  }

  const Owner *owner;
  difference_type at;
  poplite_place place;
};

template <class Owner, class T>
inline poplite_iterator<Owner, T> operator+(poplite_index i, const poplite_iterator<Owner, T> &it) {
  return it + i;
}

// What layouts with a length have besides a subscript. The length has 32 bits, as on a tile.
template <class Base> struct poplite_sized : Base {
  typedef poplite_iterator<Base, typename Base::poplite_item> iterator;
  typedef iterator const_iterator;
  unsigned size() const { return this->poplite_count; }
  bool empty() const { return this->poplite_count == 0; }
  iterator begin(poplite_place place = poplite_place::here()) const { return iterator(this, 0, place); }
  iterator end(poplite_place place = poplite_place::here()) const { return iterator(this, size(), place); }
};

inline void poplite_check(void *about, unsigned field, const poplite_index &i, unsigned length) {
  if (!poplite_inside(about, field, i.at, length))
    poplite_outside(about, field, i.at, length, i.place.file, i.place.line);
}

// Elements that follow one another in memory. Those of an Input are not const: codelets cast their
// address to that of vectors.
template <class T> struct poplite_span {
  typedef T poplite_item;
  T *poplite_data;
  unsigned poplite_count, poplite_field;
  void *poplite_about;
  T &operator[](poplite_index i) const {
    poplite_check(poplite_about, poplite_field, i, poplite_count);
    return poplite_data[i.at];
  }
};

template <class T>
inline void poplite_fill(const poplite_span<T> &field, T *data, long long length, unsigned number,
                         void *about) {
  poplite_span<T> &filled = const_cast<poplite_span<T> &>(field);
  filled.poplite_data = data;
  filled.poplite_count = static_cast<unsigned>(length);
  filled.poplite_field = number;
  filled.poplite_about = about;
}

// Rows, which are objects of their own, so that references to them and their addresses are valid.
// A row is filled in whenever it is accessed: no loop fills them all.
template <class Row> struct poplite_rows {
  typedef Row poplite_item;
  typedef typename Row::poplite_item poplite_element;
  poplite_element *poplite_data;
  unsigned poplite_count, poplite_field;
  void *poplite_about;
  long long poplite_stride, poplite_length;
  void *poplite_table;
  Row *poplite_objects;
  Row &operator[](poplite_index i) const {
    poplite_check(poplite_about, poplite_field, i, poplite_count);
    long long start = poplite_row_start(poplite_field, poplite_stride, poplite_length, poplite_table, i.at);
    long long length = poplite_row_length(poplite_field, poplite_stride, poplite_length, poplite_table, i.at);
    poplite_fill(poplite_objects[i.at], poplite_data + start, length, poplite_field, poplite_about);
    return poplite_objects[i.at];
  }
};

template <class Row>
inline void poplite_fill(const poplite_rows<Row> &field, typename Row::poplite_item *data,
                         long long rows, long long stride, long long length, void *table,
                         unsigned number, void *about, void *objects) {
  poplite_rows<Row> &filled = const_cast<poplite_rows<Row> &>(field);
  filled.poplite_data = data;
  filled.poplite_count = static_cast<unsigned>(rows);
  filled.poplite_field = number;
  filled.poplite_about = about;
  filled.poplite_stride = stride;
  filled.poplite_length = length;
  filled.poplite_table = table;
  filled.poplite_objects = static_cast<Row *>(objects);
  static_assert(sizeof(Row) == 24, "the simulator makes room for rows of this size");
}

template <class T> struct poplite_vector { typedef poplite_span<T> type; };
template <class V> struct poplite_vector<poplar::Input<V>> { typedef poplite_rows<poplar::Input<V>> type; };
template <class V> struct poplite_vector<poplar::Output<V>> { typedef poplite_rows<poplar::Output<V>> type; };
template <class V> struct poplite_vector<poplar::InOut<V>> { typedef poplite_rows<poplar::InOut<V>> type; };
template <class T, poplar::VectorLayout layout, unsigned alignment, bool interleaved>
struct poplite_vector<poplar::Vector<T, layout, alignment, interleaved>> {
  typedef poplite_rows<poplar::Vector<T, layout, alignment, interleaved>> type;
};

template <class Base, bool has_length> struct poplite_with_length { typedef poplite_sized<Base> type; };
template <class Base> struct poplite_with_length<Base, false> { typedef Base type; };

constexpr bool poplite_has_length(poplar::VectorLayout layout) {
  return layout == poplar::VectorLayout::SPAN || layout == poplar::VectorLayout::SHORT_SPAN;
}

// A vector as a field: `x->size()` is `x.size()`.
template <class V> struct poplite_field : V {
  const V *operator->() const { return this; }
};

// -- what `compute` returns -----------------------------------------------------------------------

// `(v.compute(), poplite_ended())` is the truth value that compute returns, or 1 if it returns none.
struct poplite_ended {
  operator long long() const { return 1; }
};
inline long long operator,(bool returned, poplite_ended) { return returned; }

} // namespace poplite_cpp

namespace poplar {

template <class T, VectorLayout layout, unsigned alignment, bool interleaved>
class Vector : public poplite_cpp::poplite_with_length<typename poplite_cpp::poplite_vector<T>::type,
                                                       poplite_cpp::poplite_has_length(layout)>::type {};

template <class T> class Input : public poplite_cpp::poplite_scalar<T> {};
template <class T> class Output : public poplite_cpp::poplite_written<T> {
public:
  using poplite_cpp::poplite_written<T>::operator=;
};
template <class T> class InOut : public poplite_cpp::poplite_written<T> {
public:
  using poplite_cpp::poplite_written<T>::operator=;
};

template <class T, VectorLayout layout, unsigned alignment, bool interleaved>
class Input<Vector<T, layout, alignment, interleaved>> : public poplite_cpp::poplite_field<Vector<T, layout, alignment, interleaved>> {};
template <class T, VectorLayout layout, unsigned alignment, bool interleaved>
class Output<Vector<T, layout, alignment, interleaved>> : public poplite_cpp::poplite_field<Vector<T, layout, alignment, interleaved>> {};
template <class T, VectorLayout layout, unsigned alignment, bool interleaved>
class InOut<Vector<T, layout, alignment, interleaved>> : public poplite_cpp::poplite_field<Vector<T, layout, alignment, interleaved>> {};

// A list of vectors in one descriptor; its rows are those of a list of edges.
template <class T, VectorListLayout layout, unsigned alignment, bool interleaved>
class Input<VectorList<T, layout, alignment, interleaved>> : public poplite_cpp::poplite_field<Vector<Input<Vector<T>>>> {};
template <class T, VectorListLayout layout, unsigned alignment, bool interleaved>
class Output<VectorList<T, layout, alignment, interleaved>> : public poplite_cpp::poplite_field<Vector<Output<Vector<T>>>> {};
template <class T, VectorListLayout layout, unsigned alignment, bool interleaved>
class InOut<VectorList<T, layout, alignment, interleaved>> : public poplite_cpp::poplite_field<Vector<InOut<Vector<T>>>> {};

class Vertex {};
class SupervisorVertex {};
class MultiVertex {
public:
  unsigned numWorkers() const { return poplite_workers; }

  unsigned poplite_workers;
};

template <bool is_supervisor> class SupervisorVertexIf : public SupervisorVertex {};
template <> class SupervisorVertexIf<false> : public Vertex {};

} // namespace poplar

#include <ipu_builtins.h>
#include <ipudef.h>
#include <poplar/HalfFloat.hpp>
#include <poplar/QuarterFloat.hpp>
#include <poplar/VectorTypes.hpp>

#endif
