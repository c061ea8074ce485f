// What the C++ type of a field declares, for tests.

#pragma once

#include <poplar/HalfFloat.hpp>
#include <poplar/Vertex.hpp>

#include "model/state.hpp"

namespace stand_in {

template <class T> struct Named;
#define NAMED(type, text) template <> struct Named<type> { static constexpr const char *name = text; };
NAMED(bool, "bool")
NAMED(char, "char")
NAMED(signed char, "signed char")
NAMED(unsigned char, "unsigned char")
NAMED(short, "short")
NAMED(unsigned short, "unsigned short")
NAMED(int, "int")
NAMED(unsigned, "unsigned int")
NAMED(long long, "long long")
NAMED(unsigned long long, "unsigned long long")
NAMED(half, "half")
NAMED(float, "float")
#undef NAMED

template <class T> struct Described {
  static Field field(const char *name) { return {name, 's', 0, Named<T>::name, sizeof(T)}; }
};

template <class T> struct Edge : Described<T> {
  static Field field(const char *name, char role) {
    Field made = Described<T>::field(name);
    made.role = role;
    return made;
  }
};

template <class T, poplar::VectorLayout l, unsigned a, bool i> struct Described<poplar::Vector<T, l, a, i>> {
  static Field field(const char *name) {
    Field made = Described<T>::field(name);
    ++made.depth;
    return made;
  }
};
template <class T> struct Described<poplar::Input<T>> {
  static Field field(const char *name) { return Edge<T>::field(name, 'i'); }
};
template <class T> struct Described<poplar::Output<T>> {
  static Field field(const char *name) { return Edge<T>::field(name, 'o'); }
};
template <class T> struct Described<poplar::InOut<T>> {
  static Field field(const char *name) { return Edge<T>::field(name, 'b'); }
};

template <class T> Field described(const char *name, const T &) { return Described<T>::field(name); }

} // namespace stand_in
