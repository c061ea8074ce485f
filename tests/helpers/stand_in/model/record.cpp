// What a stand-in graph holds, as JSON.

#include <fstream>

#include "interpreter.hpp"

namespace stand_in {

namespace {

std::string quoted(const std::string &text) {
  std::string made = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') made += '\\';
    made += c;
  }
  return made + '"';
}

std::string hex(const std::vector<unsigned char> &bytes) {
  static const char digits[] = "0123456789abcdef";
  std::string made;
  for (const unsigned char byte : bytes) {
    made += digits[byte / 16];
    made += digits[byte % 16];
  }
  return quoted(made);
}

template <class All, class F> void list(std::ostream &out, const All &all, F each) {
  out << '[';
  const char *between = "";
  for (const auto &one : all) {
    out << between;
    each(one);
    between = ",";
  }
  out << ']';
}

template <class All> void numbers(std::ostream &out, const All &all) {
  list(out, all, [&](auto number) { out << number; });
}

// The elements of a view: variable, index, variable, index, ...
void elements(std::ostream &out, const View &view) {
  std::vector<std::uint32_t> flat;
  for (const Element at : view.elements) {
    flat.push_back(at.variable);
    flat.push_back(at.index);
  }
  numbers(out, flat);
}

void tree(std::ostream &out, const Tree &node) {
  out << "{\"what\":" << quoted(node->what) << ",\"text\":" << quoted(node->text) << ",\"numbers\":";
  numbers(out, node->numbers);
  out << ",\"views\":";
  list(out, node->views, [&](const View &view) { elements(out, view); });
  out << ",\"parts\":";
  list(out, node->parts, [&](const Tree &part) { tree(out, part); });
  out << '}';
}

void vertex(std::ostream &out, const Vertex &each) {
  out << "{\"class\":" << quoted(each.codelet->name) << ",\"tile\":" << each.tile << ",\"edges\":{";
  const char *between = "";
  for (const auto &[name, views] : each.edges) {
    out << between << quoted(name) << ':';
    list(out, views, [&](const View &view) { elements(out, view); });
    between = ",";
  }
  out << "},\"estimate\":";
  numbers(out, each.estimate);
  out << ",\"states\":{";
  between = "";
  for (const auto &[name, data] : each.states) {
    out << between << quoted(name) << ':' << hex(data);
    between = ",";
  }
  out << "}}";
}

void handles(std::ostream &out, const std::map<std::string, View> &all) {
  out << '{';
  const char *between = "";
  for (const auto &[name, view] : all) {
    out << between << quoted(name) << ':';
    elements(out, view);
    between = ",";
  }
  out << '}';
}

} // namespace

void record(const State &state, const std::vector<Tree> &programs, const std::string &path) {
  std::ofstream out(path);
  out << "{\"variables\":";
  list(out, state.variables, [&](const Variable &each) {
    out << "{\"name\":" << quoted(each.name) << ",\"type\":" << quoted(each.kind->name)
        << ",\"constant\":" << each.constant << ",\"shape\":";
    numbers(out, each.shape);
    out << ",\"tiles\":";
    numbers(out, each.tiles);
    out << ",\"data\":" << hex(each.data) << '}';
  });
  out << ",\"compute_sets\":";
  list(out, state.compute_sets, [&](const ComputeSet &each) {
    out << "{\"name\":" << quoted(each.name) << ",\"vertices\":";
    list(out, each.vertices, [&](const Vertex &one) { vertex(out, one); });
    out << '}';
  });
  out << ",\"streams\":";
  list(out, state.streams, [&](const Stream &each) {
    out << '[' << quoted(each.name) << ',' << quoted(each.kind->name) << ',' << each.count << ','
        << each.is_input << ']';
  });
  out << ",\"called\":";
  list(out, state.called, [&](const Called &each) {
    out << '[' << quoted(each.name) << ',' << each.inputs.size() << ',' << each.outputs.size() << ']';
  });
  out << ",\"reads\":";
  handles(out, state.reads);
  out << ",\"writes\":";
  handles(out, state.writes);
  out << ",\"functions\":";
  list(out, state.functions, [&](const Tree &each) { tree(out, each); });
  out << ",\"programs\":";
  list(out, programs, [&](const Tree &each) { tree(out, each); });
  out << "}\n";
}

} // namespace stand_in
