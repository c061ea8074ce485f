// A stand-in for Poplar's element types.

#pragma once

#include <string>

#include "../model/state.hpp"

namespace poplar {

class Type {
public:
  std::string toString() const;
  bool operator==(const Type &other) const;

  explicit Type(const stand_in::Kind *kind) : kind(kind) {} // of the stand-in
  const stand_in::Kind *kind;
};

extern const Type BOOL, CHAR, SIGNED_CHAR, UNSIGNED_CHAR, SHORT, UNSIGNED_SHORT, INT, UNSIGNED_INT;
extern const Type LONGLONG, UNSIGNED_LONGLONG, HALF, FLOAT;

} // namespace poplar
