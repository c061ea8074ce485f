// Saves what the stand-in recorded, and reads it again; codelets are loaded from their library.

#include <poplar/Executable.hpp>
#include <poplar/Type.hpp>
#include <poplar/exceptions.hpp>

#include <type_traits>

#include "interpreter.hpp"

namespace stand_in {

namespace {

const char MAGIC[] = "stand-in 1";

// Writes what it is given, or reads it.
class Archive {
public:
  explicit Archive(std::ostream &to) : out(&to) {}
  explicit Archive(std::istream &from) : in(&from) {}

  template <class... All> void operator()(All &...all) { (one(all), ...); }

private:
  void bytes(void *data, std::size_t size) {
    if (out) out->write(static_cast<const char *>(data), static_cast<std::streamsize>(size));
    else if (!in->read(static_cast<char *>(data), static_cast<std::streamsize>(size)))
      throw poplar::file_load_error("the executable ends too early");
  }

  template <class T> std::enable_if_t<std::is_trivially_copyable_v<T>> one(T &value) {
    bytes(&value, sizeof value);
  }
  void one(std::string &text) {
    std::size_t size = text.size();
    one(size);
    text.resize(size);
    bytes(text.data(), size);
  }
  template <class T> void one(std::vector<T> &all) {
    std::size_t size = all.size();
    one(size);
    all.resize(size);
    for (T &each : all) one(each);
  }
  template <class T> void one(std::map<std::string, T> &all) {
    std::vector<std::string> names;
    for (const auto &[name, value] : all) names.push_back(name);
    one(names);
    for (const std::string &name : names) one(all[name]);
  }
  template <class A, class B> void one(std::pair<A, B> &both) { (*this)(both.first, both.second); }

  void one(const Kind *&kind) {
    std::string name = kind ? kind->name : "";
    one(name);
    for (const poplar::Type &type :
         {poplar::BOOL, poplar::CHAR, poplar::SIGNED_CHAR, poplar::UNSIGNED_CHAR, poplar::SHORT,
          poplar::UNSIGNED_SHORT, poplar::INT, poplar::UNSIGNED_INT, poplar::LONGLONG,
          poplar::UNSIGNED_LONGLONG, poplar::HALF, poplar::FLOAT})
      if (type.kind->name == name) kind = type.kind;
  }
  void one(View &view) { (*this)(view.kind, view.shape, view.elements); }
  void one(Variable &v) { (*this)(v.name, v.kind, v.shape, v.constant, v.tiles, v.data); }
  void one(Stream &stream) { (*this)(stream.name, stream.kind, stream.count, stream.is_input); }
  void one(Called &called) { (*this)(called.name, called.inputs, called.outputs); }
  void one(ComputeSet &set) { (*this)(set.name, set.vertices); }
  void one(Vertex &vertex) {
    std::string name = vertex.codelet ? vertex.codelet->name : "";
    (*this)(name, vertex.tile, vertex.estimate, vertex.edges, vertex.states);
    vertex.codelet = &state->codelets.at(name);
  }
  void one(Tree &tree) {
    Node node = tree ? *tree : Node{};
    (*this)(node.what, node.parts, node.views, node.numbers, node.text);
    tree = std::make_shared<Node>(std::move(node));
  }

public:
  void whole(State &all, std::vector<Tree> &programs) {
    state = &all;
    std::string magic = MAGIC;
    (*this)(magic, all.libraries, all.num_tiles);
    if (magic != MAGIC) throw poplar::file_load_error("no executable");
    if (in) for (const std::string &path : all.libraries) load_codelets(all, path);
    (*this)(all.variables, all.compute_sets, all.streams, all.called, all.functions, all.buffered, all.reads,
            all.writes, programs);
  }

private:
  std::ostream *out = nullptr;
  std::istream *in = nullptr;
  State *state = nullptr;
};

} // namespace

} // namespace stand_in

namespace poplar {

Executable::Executable() : state(std::make_shared<stand_in::State>()) {}

void Executable::serialize(std::ostream &out) const {
  if (state->is_model) throw poplar_error("an executable of a model cannot be saved");
  auto trees = programs;
  stand_in::Archive(out).whole(*state, trees);
}

Executable Executable::deserialize(std::istream &in) {
  Executable made;
  stand_in::Archive(in).whole(*made.state, made.programs);
  return made;
}

} // namespace poplar
