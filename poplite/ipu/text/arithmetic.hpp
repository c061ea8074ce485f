// The arithmetic of `compute`: integers of 64 bits that wrap around, division that rounds down,
// conversions that saturate. Floats are C++'s own, and no operations are contracted
// except by `fma`.

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

#ifndef PL_STOP
#define PL_STOP() __builtin_trap() // for `raise` and a failed `assert`
#endif

namespace pl {

using Unsigned = unsigned long long;

struct Int {
  long long value = 0;

  constexpr Int() = default;
  constexpr Int(bool from) : value(from) {}
  constexpr Int(char from) : value(static_cast<signed char>(from)) {}
  constexpr Int(signed char from) : value(from) {}
  constexpr Int(unsigned char from) : value(from) {}
  constexpr Int(short from) : value(from) {}
  constexpr Int(unsigned short from) : value(from) {}
  constexpr Int(int from) : value(from) {}
  constexpr Int(unsigned from) : value(from) {}
  constexpr Int(long from) : value(from) {}
  constexpr Int(unsigned long from) : value(static_cast<long long>(from)) {}
  constexpr Int(long long from) : value(from) {}
  constexpr Int(Unsigned from) : value(static_cast<long long>(from)) {}

  template <class T> constexpr explicit operator T() const { return static_cast<T>(value); }
  constexpr Unsigned bits() const { return static_cast<Unsigned>(value); }

  friend constexpr Int operator+(Int a, Int b) { return a.bits() + b.bits(); }
  friend constexpr Int operator-(Int a, Int b) { return a.bits() - b.bits(); }
  friend constexpr Int operator*(Int a, Int b) { return a.bits() * b.bits(); }
  friend constexpr Int operator-(Int a) { return 0 - a.bits(); }
  friend constexpr Int operator~(Int a) { return ~a.value; }
  friend constexpr Int operator&(Int a, Int b) { return a.value & b.value; }
  friend constexpr Int operator|(Int a, Int b) { return a.value | b.value; }
  friend constexpr Int operator^(Int a, Int b) { return a.value ^ b.value; }
  friend constexpr Int operator<<(Int a, Int b) { return a.bits() << b.value; }
  friend constexpr Int operator>>(Int a, Int b) { return a.value >> b.value; }
  friend constexpr bool operator==(Int a, Int b) { return a.value == b.value; }
  friend constexpr bool operator!=(Int a, Int b) { return a.value != b.value; }
  friend constexpr bool operator<(Int a, Int b) { return a.value < b.value; }
  friend constexpr bool operator<=(Int a, Int b) { return a.value <= b.value; }
  friend constexpr bool operator>(Int a, Int b) { return a.value > b.value; }
  friend constexpr bool operator>=(Int a, Int b) { return a.value >= b.value; }
};

constexpr Int LEAST = 1ULL << 63, MOST = ~(1ULL << 63);

// An index; a negative number becomes an index far outside of any vector.
constexpr unsigned index(Int i) {
  return i.bits() < 0xFFFFFFFFULL ? static_cast<unsigned>(i.value) : 0xFFFFFFFFU;
}

// An element of a vector; an out-of-range index stops the vertex.
template <class V> inline decltype(auto) at(V &vector, unsigned i) {
  if (i >= vector.size()) PL_STOP();
  return vector[i];
}

// Returns a negative number if a < b, zero if a == b, and a positive number if a > b.
constexpr int compared(Int a, Unsigned b) {
  return a < 0 || a.bits() < b ? -1 : a.bits() > b ? 1 : 0;
}
constexpr int compared(Unsigned a, Int b) { return -compared(b, a); }

constexpr Int floor_divide(Int a, Int b) {
  if (b == 0) return 0;
  if (b == -1) return a == LEAST ? Int(0) : -a;
  const long long quotient = a.value / b.value;
  const bool is_above = a.value % b.value != 0 && (a.value < 0) != (b.value < 0);
  return is_above ? quotient - 1 : quotient;
}
constexpr Int modulo(Int a, Int b) {
  if (b == 0 || b == -1) return 0;
  const long long rest = a.value % b.value;
  return rest != 0 && (rest < 0) != (b.value < 0) ? rest + b.value : rest;
}
constexpr Unsigned floor_divide(Unsigned a, Unsigned b) { return b == 0 ? 0 : a / b; }
constexpr Unsigned modulo(Unsigned a, Unsigned b) { return b == 0 ? 0 : a % b; }

inline float floor(float x) { return __builtin_floorf(x); }
inline double floor(double x) { return __builtin_floor(x); }
inline float ceil(float x) { return __builtin_ceilf(x); }
inline double ceil(double x) { return __builtin_ceil(x); }
inline float trunc(float x) { return __builtin_truncf(x); }
inline double trunc(double x) { return __builtin_trunc(x); }
inline float rint(float x) { return __builtin_rintf(x); }
inline double rint(double x) { return __builtin_rint(x); }
inline float sqrt(float x) { return __builtin_sqrtf(x); }
inline double sqrt(double x) { return __builtin_sqrt(x); }
inline float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
inline double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }

// The bits of floats, with one NaN for each type. `H` is Poplar's half.
inline unsigned int float_bits(float x) {
  unsigned int bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  return x != x ? 0x7fc00000U : bits;
}
inline float float_from_bits(unsigned int bits) {
  float x;
  __builtin_memcpy(&x, &bits, sizeof x);
  return x;
}
template <class H> inline unsigned int half_bits(float x) {
  const H rounded = H(x);
  unsigned short bits;
  static_assert(sizeof rounded == sizeof bits, "a half has 16 bits");
  __builtin_memcpy(&bits, &rounded, sizeof bits);
  return x != x ? 0x7e00U : bits;
}
template <class H> inline float half_from_bits(unsigned int bits) {
  const unsigned short low = static_cast<unsigned short>(bits);
  H x;
  __builtin_memcpy(static_cast<void *>(&x), &low, sizeof low);
  const float result = float(x);
  return result != result ? float_from_bits(0x7fc00000U) : result;
}

inline float fmod(float x, float y) { return __builtin_fmodf(x, y); }
inline double fmod(double x, double y) { return __builtin_fmod(x, y); }
inline float copysign(float x, float y) { return __builtin_copysignf(x, y); }
inline double copysign(double x, double y) { return __builtin_copysign(x, y); }
inline float absolute(float x) { return __builtin_fabsf(x); }
inline double absolute(double x) { return __builtin_fabs(x); }
constexpr Int absolute(Int x) { return x < 0 ? -x : x; }
constexpr Unsigned absolute(Unsigned x) { return x; }

template <class F> inline F modulo_of_floats(F a, F b) {
  F rest = fmod(a, b);
  if (b == 0) return rest;
  if (rest == 0) return copysign(F(0), b);
  return (b < 0) != (rest < 0) ? rest + b : rest;
}
template <class F> inline F floor_divide_floats(F a, F b) {
  if (b == 0) return a / b;
  const F rest = fmod(a, b);
  F quotient = (a - rest) / b;
  if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;
  if (quotient == 0) return copysign(F(0), a / b);
  const F whole = floor(quotient);
  return quotient - whole > F(0.5) ? whole + 1 : whole;
}
inline float floor_divide(float a, float b) { return floor_divide_floats(a, b); }
inline double floor_divide(double a, double b) { return floor_divide_floats(a, b); }
inline float modulo(float a, float b) { return modulo_of_floats(a, b); }
inline double modulo(double a, double b) { return modulo_of_floats(a, b); }

// Converts a float to an int: the fraction is dropped, and NaN gives 0.
template <class F> inline Int whole(F x) {
  if (x != x) return 0;
  if (x >= F(9223372036854775808.0)) return MOST;
  if (x < F(-9223372036854775808.0)) return LEAST;
  return static_cast<long long>(x);
}

// The same up to 2^64 - 1, modulo 2^64.
template <class F> inline Unsigned whole_unsigned(F x) {
  const F half = F(9223372036854775808.0);
  if (x >= half) return Unsigned(whole(x - half)) + Unsigned(LEAST);
  return Unsigned(whole(x));
}

template <class T> constexpr T power(T base, unsigned exponent) {
  T result = 1;
  for (; exponent != 0; exponent >>= 1) {
    if (exponent & 1) result = result * base;
    base = base * base;
  }
  return result;
}

// Of equal numbers, the first is returned.
template <class T> constexpr T minimum(T a, T b) { return b < a ? b : a; }
template <class T> constexpr T maximum(T a, T b) { return b > a ? b : a; }

// NaN if either number is NaN.
template <class T> constexpr T smaller(T a, T b) { return a < b || a != a ? a : b; }
template <class T> constexpr T larger(T a, T b) { return a > b || a != a ? a : b; }

// The numbers of range(start, stop, step); empty if stop - start overflows 64 bits.
class Range {
public:
  constexpr Range(Int start, Int stop, Int step) : first{start, step, 0} {
    const Int distance = stop - start;
    const bool is_empty = step < 0 ? distance >= 0 : distance <= 0;
    first.left = is_empty ? 0 : (step < 0 ? -distance : distance).bits();
  }

  struct Place {
    Int value, step;
    Unsigned left; // distance to the end, counted down since a tile emulates divisions
    constexpr Int operator*() const { return value; }
    constexpr bool operator!=(const Place &end) const { return left != end.left; }
    constexpr void operator++() {
      const Unsigned size = (step < 0 ? -step : step).bits();
      value = value + step;
      left = left > size ? left - size : 0;
    }
  };
  constexpr Place begin() const { return first; }
  constexpr Place end() const { return {0, 0, 0}; }

private:
  Place first;
};

} // namespace pl
