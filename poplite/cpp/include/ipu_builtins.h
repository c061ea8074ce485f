// Instructions that have a meaning on other processors; codelets that use others are refused.

#ifndef POPLITE_IPU_BUILTINS_H
#define POPLITE_IPU_BUILTINS_H

#include <math.h>
#include <stdint.h>

template <class T> inline T __builtin_ipu_max(T a, T b) { return __builtin_elementwise_max(a, b); }
template <class T> inline T __builtin_ipu_min(T a, T b) { return __builtin_elementwise_min(a, b); }
template <class T> inline T __builtin_ipu_clamp(T value, T least, T most) {
  return __builtin_ipu_min(__builtin_ipu_max(value, least), most);
}

inline float __builtin_ipu_exp(float x) { return expf(x); }
inline float __builtin_ipu_exp2(float x) { return exp2f(x); }
inline float __builtin_ipu_ln(float x) { return logf(x); }
inline float __builtin_ipu_log2(float x) { return log2f(x); }
inline float __builtin_ipu_tanh(float x) { return tanhf(x); }
inline float __builtin_ipu_sigm(float x) { return 1.0f / (1.0f + expf(-x)); }
inline float __builtin_ipu_sqrt(float x) { return sqrtf(x); }
inline float __builtin_ipu_oorx(float x) { return 1.0f / sqrtf(x); }
inline int __builtin_ipu_popc(unsigned x) { return __builtin_popcount(x); }
inline int __builtin_ipu_clz(unsigned x) { return x ? __builtin_clz(x) : 32; }

#endif
