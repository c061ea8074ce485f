// A stand-in for what graphs consist of: vertices, fields, compute sets, functions, streams.

#pragma once

#include <cstddef>
#include <string>

#include <poplar/StringRef.hpp>

namespace poplar {

class ComputeSet {
public:
  std::size_t number = 0; // of the stand-in
};

class Function {
public:
  std::size_t number = 0; // of the stand-in
};

enum class FunctionBufferMappingType { REMOTE };

class FunctionBuffer {
public:
  std::size_t function = 0; // of the stand-in
};

class HostFunction {
public:
  std::size_t number = 0; // of the stand-in
};

class DataStream {
public:
  std::size_t number = 0; // of the stand-in
};

class FieldRef {
public:
  std::size_t set = 0, vertex = 0; // of the stand-in
  std::string name;                // of the stand-in
};

class VertexRef {
public:
  FieldRef operator[](StringRef fieldName) const;

  std::size_t set = 0, vertex = 0; // of the stand-in
};

} // namespace poplar
