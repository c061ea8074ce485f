// Runs what a stand-in graph recorded, element by element.

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include <poplar/Graph.hpp>

namespace stand_in {

class Interpreter {
public:
  Interpreter(std::shared_ptr<State> state, std::vector<Tree> programs);

  void run(unsigned number);

  std::shared_ptr<State> state;
  std::map<std::string, std::function<void(void *)>> callbacks;
  std::map<std::string, std::function<void(poplar::ArrayRef<const void *>, poplar::ArrayRef<void *>)>> called;
  bool is_loaded = false;
  bool is_stopped = false;

  std::vector<unsigned char> gathered(const View &view) const;
  void scatter(const View &view, const unsigned char *data);

private:
  void check() const;
  void check_mapped(const View &view, const std::string &what) const;
  void check_tree(const Tree &tree) const;
  void walk(const Node &node);
  void execute(const Node &node);
  void call_host(const Node &node);
  bool compute(const Vertex &vertex);
  std::int64_t number(const View &view) const;

  std::vector<Tree> programs;
  std::uint64_t steps = 0;
  std::set<std::size_t> loaded; // functions whose code was loaded
};

// Writes a graph and its programs as JSON, for tests to compare.
void record(const State &state, const std::vector<Tree> &programs, const std::string &path);

} // namespace stand_in
