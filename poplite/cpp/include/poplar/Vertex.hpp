// The types of codelets, for vertices that run on this machine.
//
// Written from the public documentation: Poplar user guide, "Understanding vertices" and "Vertex
// vector types"; Poplar API reference, "Vertex". A field holds the address of its elements, their
// number, and its own number, which functions of the simulator get with every index.

#ifndef POPLITE_POPLAR_VERTEX_HPP
#define POPLITE_POPLAR_VERTEX_HPP

#ifdef POPLITE_STANDARD_ITERATORS
#include <iterator>
#endif

#include "HalfFloat.hpp"
#include "VectorTypes.hpp"

namespace __poplite {

typedef long long word;

extern "C" int __poplite_inside(void *, word field, word index, word length) __asm__("vertex.inside");
extern "C" [[noreturn]] void __poplite_outside(void *, word field, word index, word length, const char *,
                                               word line) __asm__("vertex.outside");
extern "C" word __poplite_row_start(word field, word stride, word length, void *table,
                                    word row) __asm__("vertex.row_start");
extern "C" word __poplite_row_length(word field, word stride, word length, void *table,
                                     word row) __asm__("vertex.row_length");

// An index with the place in the text where it is used. Numbers convert to it as to an integer.
struct Index {
  word at;
  const char *file;
  word line;

  template <class I>
  constexpr Index(const I &index, const char *file = __builtin_FILE(), int line = __builtin_LINE())
      : at(widened(+index)), file(file), line(line) {}

  static constexpr word widened(int i) { return i; }
  static constexpr word widened(unsigned i) { return i; }
  static constexpr word widened(long i) { return i; }
  static constexpr word widened(unsigned long i) { return static_cast<word>(i); }
  static constexpr word widened(long long i) { return i; }
  static constexpr word widened(unsigned long long i) { return static_cast<word>(i); }
  static constexpr word widened(float i) { return static_cast<word>(i); }
  static constexpr word widened(double i) { return static_cast<word>(i); }
};

#ifdef POPLITE_STANDARD_ITERATORS
typedef std::random_access_iterator_tag random_access;
#else
struct random_access {};
#endif

// A position in a vector; like an index, it is compared with the length when it is used.
template <class V, class T> class Iterator {
public:
  typedef random_access iterator_category;
  typedef T value_type;
  typedef word difference_type;
  typedef T *pointer;
  typedef T &reference;

  Iterator() : of(nullptr), at(0), file(""), line(0) {}
  Iterator(const V *of, const Index &index) : of(of), at(index.at), file(index.file), line(index.line) {}

  T &operator*() const { return (*of)[Index(at, file, static_cast<int>(line))]; }
  T *operator->() const { return __builtin_addressof(**this); }
  T &operator[](Index i) const { return (*of)[Index(at + i.at, i.file, static_cast<int>(i.line))]; }

  Iterator &operator++() { ++at; return *this; }
  Iterator &operator--() { --at; return *this; }
  Iterator operator++(int) { Iterator old = *this; ++at; return old; }
  Iterator operator--(int) { Iterator old = *this; --at; return old; }
  Iterator &operator+=(Index i) { at += i.at; return placed(i); }
  Iterator &operator-=(Index i) { at -= i.at; return placed(i); }
  friend Iterator operator+(Iterator it, Index i) { return it += i; }
  friend Iterator operator+(Index i, Iterator it) { return it += i; }
  friend Iterator operator-(Iterator it, Index i) { return it -= i; }
  friend word operator-(const Iterator &a, const Iterator &b) { return a.at - b.at; }
  friend bool operator==(const Iterator &a, const Iterator &b) { return a.at == b.at; }
  friend bool operator!=(const Iterator &a, const Iterator &b) { return a.at != b.at; }
  friend bool operator<(const Iterator &a, const Iterator &b) { return a.at < b.at; }
  friend bool operator>(const Iterator &a, const Iterator &b) { return a.at > b.at; }
  friend bool operator<=(const Iterator &a, const Iterator &b) { return a.at <= b.at; }
  friend bool operator>=(const Iterator &a, const Iterator &b) { return a.at >= b.at; }

private:
  Iterator &placed(const Index &i) { file = i.file; line = i.line; return *this; }

  const V *of;
  word at;
  const char *file;
  word line;
};

// The elements of a field or of one row, whose layout does not store their number.
template <class T> class Unsized {
public:
  typedef T value_type;

  T &operator[](Index i) const {
    if (__builtin_expect(!__poplite_inside(about, field, i.at, count), 0))
      __poplite_outside(about, field, i.at, count, i.file, i.line);
    return first[i.at];
  }
  Iterator<Unsized, T> begin(const char *file = __builtin_FILE(), int line = __builtin_LINE()) const {
    return Iterator<Unsized, T>(this, Index(0, file, line));
  }
  T &operator*() const { return (*this)[0]; }
  T *data() const { return first; }

  void __poplite_fill(T *at, word length, int number, void *of) const {
    Unsized *own = const_cast<Unsized *>(this);
    own->first = at;
    own->count = static_cast<unsigned>(length);
    own->field = number;
    own->about = of;
  }

protected:
  T *first;
  unsigned count;
  int field;
  void *about;
};

// The elements of a field or of one row, with their number, which is of 32 bits as on a tile.
template <class T> class Sized : public Unsized<T> {
public:
  unsigned size() const { return this->count; }
  bool empty() const { return this->count == 0; }
  Iterator<Unsized<T>, T> end(const char *file = __builtin_FILE(), int line = __builtin_LINE()) const {
    return Iterator<Unsized<T>, T>(this, Index(this->count, file, line));
  }
};

// Rows, each a field of its own. The object of a row is filled when the row is used, and stays
// where it is, so that the text may refer to it.
template <class Row, class T> class UnsizedRows {
public:
  typedef Row value_type;

  Row &operator[](Index i) const {
    if (__builtin_expect(!__poplite_inside(about, field, i.at, rows), 0))
      __poplite_outside(about, field, i.at, rows, i.file, i.line);
    Row &row = objects[i.at];
    row.__poplite_fill(first + __poplite_row_start(field, stride, length, table, i.at),
                       __poplite_row_length(field, stride, length, table, i.at), field, about);
    return row;
  }
  Iterator<UnsizedRows, Row> begin(const char *file = __builtin_FILE(),
                                   int line = __builtin_LINE()) const {
    return Iterator<UnsizedRows, Row>(this, Index(0, file, line));
  }

  void __poplite_fill(T *at, word count, word distance, word size, void *ends, int number, void *of,
                      void *room) const {
    UnsizedRows *own = const_cast<UnsizedRows *>(this);
    own->first = at;
    own->rows = static_cast<unsigned>(count);
    own->stride = distance;
    own->length = size;
    own->table = ends;
    own->field = number;
    own->about = of;
    own->objects = static_cast<Row *>(room);
  }

protected:
  T *first;
  unsigned rows;
  int field;
  word stride, length;
  void *table, *about;
  Row *objects;
};

template <class Row, class T> class SizedRows : public UnsizedRows<Row, T> {
public:
  unsigned size() const { return this->rows; }
  bool empty() const { return this->rows == 0; }
  Iterator<UnsizedRows<Row, T>, Row> end(const char *file = __builtin_FILE(),
                                         int line = __builtin_LINE()) const {
    return Iterator<UnsizedRows<Row, T>, Row>(this, Index(this->rows, file, line));
  }
};

// A scalar field.
template <class T> class Scalar {
public:
  typedef T value_type;

  operator T &() const { return *first; }
  T &operator*() const { return *first; }
  T *operator->() const { return first; }
  T *operator&() const { return first; }

  void __poplite_fill(T *at) const { const_cast<Scalar *>(this)->first = at; }

protected:
  T *first;
};

template <class T> class Assigned : public Scalar<T> {
public:
  template <class V> T &operator=(const V &value) const { return *this->first = static_cast<T>(value); }
  T &operator=(const Assigned &other) const { return *this->first = *other.first; }
  template <class V> T &operator+=(const V &value) const { return *this->first += value; }
  template <class V> T &operator-=(const V &value) const { return *this->first -= value; }
  template <class V> T &operator*=(const V &value) const { return *this->first *= value; }
  template <class V> T &operator/=(const V &value) const { return *this->first /= value; }
};

template <class T> T &value(const T &place) { return const_cast<T &>(place); }

} // namespace __poplite

namespace poplar {

enum class VectorLayout { NOT_VECTOR, SPAN, SHORT_SPAN, ONE_PTR, SCALED_PTR32, SCALED_PTR64, SCALED_PTR128, COMPACT_PTR };

} // namespace poplar

namespace __poplite {

template <poplar::VectorLayout> struct Has {
  template <class T> using elements = Unsized<T>;
  template <class Row, class T> using rows = UnsizedRows<Row, T>;
};
template <> struct Has<poplar::VectorLayout::SPAN> {
  template <class T> using elements = Sized<T>;
  template <class Row, class T> using rows = SizedRows<Row, T>;
};
template <> struct Has<poplar::VectorLayout::SHORT_SPAN> : Has<poplar::VectorLayout::SPAN> {};

} // namespace __poplite

namespace poplar {

// A vector of state, or the type of a field's elements; the alignment is a requirement on tiles.
template <class T, VectorLayout layout = VectorLayout::SPAN, unsigned alignment = alignof(T),
          bool interleaved = false>
class Vector : public __poplite::Has<layout>::template elements<T> {};

template <class T> class Input : public __poplite::Scalar<T> {};
template <class T> class Output : public __poplite::Assigned<T> {
public:
  using __poplite::Assigned<T>::operator=;
};
template <class T> class InOut : public __poplite::Assigned<T> {
public:
  using __poplite::Assigned<T>::operator=;
};

template <class T, VectorLayout layout, unsigned alignment, bool interleaved>
class Input<Vector<T, layout, alignment, interleaved>>
    : public __poplite::Has<layout>::template elements<T> {};
template <class T, VectorLayout layout, unsigned alignment, bool interleaved>
class Output<Vector<T, layout, alignment, interleaved>>
    : public __poplite::Has<layout>::template elements<T> {};
template <class T, VectorLayout layout, unsigned alignment, bool interleaved>
class InOut<Vector<T, layout, alignment, interleaved>>
    : public __poplite::Has<layout>::template elements<T> {};

template <class T, VectorLayout inner, unsigned a, bool i, VectorLayout layout, unsigned alignment,
          bool interleaved>
class Vector<Input<Vector<T, inner, a, i>>, layout, alignment, interleaved>
    : public __poplite::Has<layout>::template rows<Input<Vector<T, inner, a, i>>, T> {};
template <class T, VectorLayout inner, unsigned a, bool i, VectorLayout layout, unsigned alignment,
          bool interleaved>
class Vector<Output<Vector<T, inner, a, i>>, layout, alignment, interleaved>
    : public __poplite::Has<layout>::template rows<Output<Vector<T, inner, a, i>>, T> {};
template <class T, VectorLayout inner, unsigned a, bool i, VectorLayout layout, unsigned alignment,
          bool interleaved>
class Vector<InOut<Vector<T, inner, a, i>>, layout, alignment, interleaved>
    : public __poplite::Has<layout>::template rows<InOut<Vector<T, inner, a, i>>, T> {};

class Vertex {};

class SupervisorVertex {};

// Its compute runs once for each worker of its tile.
class MultiVertex {
public:
  unsigned numWorkers() const { return __poplite_workers; }

  unsigned __poplite_workers;
};

} // namespace poplar

#endif
