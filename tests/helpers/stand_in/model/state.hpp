// What a stand-in graph holds: plain lists of elements, in another form than poplite's own.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace stand_in {

// One element of one variable.
struct Element {
  std::uint32_t variable;
  std::uint32_t index;
};

struct Kind {
  std::string name;
  std::size_t size;
};

struct View {
  const Kind *kind = nullptr;
  std::vector<std::size_t> shape;
  std::vector<Element> elements;
};

struct Variable {
  std::string name;
  const Kind *kind;
  std::vector<std::size_t> shape;
  bool constant;
  std::vector<int> tiles; // -1: none
  std::vector<unsigned char> data;
};

// A field of a codelet, as its C++ type declares it.
struct Field {
  std::string name;
  char role; // s: state, i: input, o: output, b: both
  int depth;
  std::string kind;
  std::size_t width; // bytes of an element
};

// A vertex class in a library of codelets.
struct Codelet {
  std::string name;
  std::vector<Field> fields;
  // Runs one vertex on the data of its fields; 0 and 1: what it returned, 2: it stopped, 3: an
  // index was outside.
  int (*run)(void *const *data, const std::size_t *sizes, unsigned workers);
};

struct Vertex {
  const Codelet *codelet = nullptr;
  int tile = -1;
  std::vector<std::uint64_t> estimate; // cycles and flops, where they are known
  std::map<std::string, std::vector<View>> edges;
  std::map<std::string, std::vector<unsigned char>> states;
};

struct ComputeSet {
  std::string name;
  std::vector<Vertex> vertices;
};

struct Stream {
  std::string name;
  const Kind *kind;
  std::size_t count;
  bool is_input;
};

// A function of the host: types and numbers of elements of what it reads and fills.
struct Called {
  std::string name;
  std::vector<std::pair<const Kind *, std::size_t>> inputs, outputs;
};

// A program: a word, and what it needs.
struct Node {
  std::string what;
  std::vector<std::shared_ptr<const Node>> parts;
  std::vector<View> views;
  std::vector<std::int64_t> numbers;
  std::string text;
};

using Tree = std::shared_ptr<const Node>;

struct State {
  std::vector<Variable> variables;
  std::vector<ComputeSet> compute_sets;
  std::vector<Stream> streams;
  std::vector<Called> called;
  std::vector<Tree> functions;
  std::vector<std::size_t> buffered; // functions whose code is loaded by programs
  std::map<std::string, View> reads, writes;
  std::vector<std::string> libraries; // of codelets
  std::map<std::string, Codelet> codelets;
  unsigned num_tiles = 0;
  bool is_model = false;
};

// Adds the codelets of a library to a graph.
void load_codelets(State &state, const std::string &path);

} // namespace stand_in
