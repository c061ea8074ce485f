// Lanes: up to 64 numbers at a time; absent lanes are ignored.

namespace pl {

template <class T> struct Lanes;
template <class T, class F> inline Lanes<T> joined(F join, const Lanes<T> &a, const Lanes<T> &b);
template <class T, class F> inline Lanes<T> joined(F join, const Lanes<T> &a, T b);
template <class T, class F> inline Lanes<T> joined(F join, T a, const Lanes<T> &b);

template <class T> constexpr T added(T a, T b) { return a + b; }
template <class T> constexpr T subtracted(T a, T b) { return a - b; }
template <class T> constexpr T multiplied(T a, T b) { return a * b; }
template <class T> constexpr T divided(T a, T b) { return a / b; }
template <class T> constexpr T both(T a, T b) { return a & b; }
template <class T> constexpr T either(T a, T b) { return a | b; }
template <class T> constexpr T one_of(T a, T b) { return a ^ b; }
template <class T> constexpr T negative(T a) { return -a; }

template <class T> struct Lanes {
  T value[64];
  unsigned count = 0;

  Lanes() = default;
  explicit Lanes(T number) : count(64) {
    for (T &each : value) each = number;
  }
};

template <class T, class V> inline Lanes<T> load(const V &vector, Int first, Int count) {
  const Int size = vector.size();
  if (first < 0 || first > size || count < 0 || count > 64 || first + count > size) PL_STOP();
  Lanes<T> lanes;
  lanes.count = static_cast<unsigned>(count.value);
  for (unsigned j = 0; j < lanes.count; ++j) lanes.value[j] = T(vector[index(first + j)]);
  return lanes;
}
template <class T, class V> inline Lanes<T> load(const V &vector, Int first) {
  return load<T>(vector, first, minimum<Int>(64, Int(vector.size()) - first));
}
template <class E, class V, class T> inline void store(V &vector, Int first, const Lanes<T> &lanes) {
  const Int size = vector.size();
  if (first < 0 || first + lanes.count > size) PL_STOP();
  for (unsigned j = 0; j < lanes.count; ++j) vector[index(first + j)] = static_cast<E>(lanes.value[j]);
}

// Joins lanes. A lane that only one operand has is unchanged; a number is an operand of all lanes.
template <class T, class F> inline Lanes<T> joined(F join, const Lanes<T> &a, const Lanes<T> &b) {
  Lanes<T> result = a.count > b.count ? a : b;
  const unsigned both = minimum(a.count, b.count);
  for (unsigned j = 0; j < both; ++j) result.value[j] = join(a.value[j], b.value[j]);
  return result;
}
template <class R, class F, class... T> inline Lanes<R> each(F function, const Lanes<T> &...lanes) {
  Lanes<R> result;
  result.count = 64;
  ((result.count = minimum(result.count, lanes.count)), ...);
  for (unsigned j = 0; j < result.count; ++j) result.value[j] = function(lanes.value[j]...);
  return result;
}
template <class T, class F> inline Lanes<T> joined(F join, const Lanes<T> &a, T b) {
  Lanes<T> result = a;
  for (unsigned j = 0; j < a.count; ++j) result.value[j] = join(a.value[j], b);
  return result;
}
template <class T, class F> inline Lanes<T> joined(F join, T a, const Lanes<T> &b) {
  Lanes<T> result = b;
  for (unsigned j = 0; j < b.count; ++j) result.value[j] = join(a, b.value[j]);
  return result;
}

// x * y + z for lanes and numbers, rounded once. If x or y lacks a lane, z's is unchanged; if z
// lacks a lane, -0 is added, which has no effect.
constexpr unsigned NUMBER = ~0U; // a number has as many lanes as are needed
constexpr unsigned count_of(float) { return NUMBER; }
inline unsigned count_of(const Lanes<float> &lanes) { return lanes.count; }
constexpr float lane_of(float number, unsigned) { return number; }
inline float lane_of(const Lanes<float> &lanes, unsigned j) { return lanes.value[j]; }
template <class X, class Y, class Z> inline Lanes<float> fused(const X &x, const Y &y, const Z &z) {
  const unsigned third = count_of(z);
  unsigned both = minimum(count_of(x), count_of(y));
  if (both == NUMBER) both = third;
  Lanes<float> result;
  result.count = third == NUMBER ? both : maximum(both, third);
  for (unsigned j = 0; j < both; ++j)
    result.value[j] = fma(lane_of(x, j), lane_of(y, j), j < third ? lane_of(z, j) : -0.0f);
  for (unsigned j = both; j < result.count; ++j) result.value[j] = lane_of(z, j);
  return result;
}

// Joins all lanes, the second half with the first, until one remains.
template <class T, class F> inline T folded(F join, Lanes<T> lanes, T of_none) {
  for (unsigned half = 32; half != 0; half /= 2) {
    for (unsigned j = 0; j < half && j + half < lanes.count; ++j)
      lanes.value[j] = join(lanes.value[j], lanes.value[j + half]);
    lanes.count = minimum(lanes.count, half);
  }
  return lanes.count == 0 ? of_none : lanes.value[0];
}

} // namespace pl
