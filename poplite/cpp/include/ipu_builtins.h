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

// Random bits: one sequence for the process, which differs from that of a tile.
__attribute__((weak)) uint64_t poplite_random;
inline uint64_t __builtin_ipu_urand64() {
  uint64_t bits = poplite_random += 0x9E3779B97F4A7C15u;
  bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9u;
  bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBu;
  return bits ^ (bits >> 31);
}
inline uint32_t __builtin_ipu_urand32() { return static_cast<uint32_t>(__builtin_ipu_urand64() >> 32); }

#endif
