// A stand-in for Poplar's references to texts.

#pragma once

#include <string>

namespace poplar {

class StringRef {
public:
  StringRef(const std::string &text) : text(text) {}
  StringRef(const char *text) : text(text) {}
  operator std::string() const { return text; }

private:
  std::string text;
};

} // namespace poplar
