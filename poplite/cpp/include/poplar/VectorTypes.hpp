// Vectors of numbers, and functions of them that tiles have instructions for.
//
// Written from the public documentation of the IPU's C++ intrinsics; see also `ipudef.h`.

#ifndef POPLITE_POPLAR_VECTOR_TYPES_HPP
#define POPLITE_POPLAR_VECTOR_TYPES_HPP

#include "HalfFloat.hpp"

#ifdef __clang__
typedef float float2 __attribute__((ext_vector_type(2)));
typedef float float4 __attribute__((ext_vector_type(4)));
typedef half half2 __attribute__((ext_vector_type(2)));
typedef half half4 __attribute__((ext_vector_type(4)));
typedef int int2 __attribute__((ext_vector_type(2)));
typedef int int4 __attribute__((ext_vector_type(4)));
typedef unsigned uint2 __attribute__((ext_vector_type(2)));
typedef unsigned uint4 __attribute__((ext_vector_type(4)));
typedef short short2 __attribute__((ext_vector_type(2)));
typedef short short4 __attribute__((ext_vector_type(4)));
typedef unsigned short ushort2 __attribute__((ext_vector_type(2)));
typedef unsigned short ushort4 __attribute__((ext_vector_type(4)));
typedef signed char char2 __attribute__((ext_vector_type(2)));
typedef signed char char4 __attribute__((ext_vector_type(4)));
typedef unsigned char uchar2 __attribute__((ext_vector_type(2)));
typedef unsigned char uchar4 __attribute__((ext_vector_type(4)));
#endif

typedef unsigned rptsize_t;

#endif
