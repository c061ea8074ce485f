// The short vectors of codelets, as clang's own vectors with members .x, .y and so on.

#ifndef POPLITE_VECTORTYPES_HPP
#define POPLITE_VECTORTYPES_HPP

#define POPLITE_VECTORS(name, type)                                                                \
  typedef type name##2 __attribute__((ext_vector_type(2)));                                        \
  typedef type name##4 __attribute__((ext_vector_type(4)));

POPLITE_VECTORS(float, float)
POPLITE_VECTORS(half, _Float16)
POPLITE_VECTORS(char, signed char)
POPLITE_VECTORS(uchar, unsigned char)
POPLITE_VECTORS(short, short)
POPLITE_VECTORS(ushort, unsigned short)
POPLITE_VECTORS(int, int)
POPLITE_VECTORS(uint, unsigned)
POPLITE_VECTORS(longlong, long long)

typedef _Float16 half8 __attribute__((ext_vector_type(8)));

#undef POPLITE_VECTORS

#endif
