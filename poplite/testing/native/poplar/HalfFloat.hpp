// A stand-in for the type `half`: two bytes, rounded to nearest, ties to even.

#pragma once

#include <cstdint>
#include <cstring>

class half {
public:
  half() = default;
  explicit half(float value) : bits(rounded(value)) {}
  explicit operator float() const { return widened(bits); }

private:
  std::uint16_t bits = 0;

  static std::uint32_t bits_of(float value) {
    std::uint32_t found;
    std::memcpy(&found, &value, sizeof found);
    return found;
  }
  static float float_of(std::uint32_t from) {
    float value;
    std::memcpy(&value, &from, sizeof value);
    return value;
  }
  static std::uint16_t rounded(float value) {
    const std::uint32_t all = bits_of(value), sign = all >> 16 & 0x8000, magnitude = all & 0x7FFFFFFF;
    if (magnitude > 0x7F800000) return static_cast<std::uint16_t>(sign | 0x7E00);
    if (magnitude >= 0x477FF000) return static_cast<std::uint16_t>(sign | 0x7C00);
    if (magnitude < 0x38800000) { // a multiple of 2^-24: the addition rounds to it
      const float shifted = float_of(magnitude) + 0.5f;
      return static_cast<std::uint16_t>(sign | (bits_of(shifted) - 0x3F000000));
    }
    const std::uint32_t even = magnitude + 0xFFF + (magnitude >> 13 & 1);
    return static_cast<std::uint16_t>(sign | ((even - 0x38000000) >> 13));
  }
  static float widened(std::uint16_t from) {
    const std::uint32_t sign = (from & 0x8000u) << 16, magnitude = from & 0x7FFF;
    if (magnitude >= 0x7C00) return float_of(sign | 0x7F800000 | (magnitude & 0x3FF) << 13);
    if (magnitude < 0x400) { // 2^-24 for each unit
      const float value = static_cast<float>(magnitude) * 5.9604644775390625e-08f;
      return float_of(sign | bits_of(value));
    }
    return float_of(sign | ((magnitude << 13) + 0x38000000));
  }
};
