// The stand-in's programs: words with parts, checked as Poplar's documentation says.

#include <poplar/Program.hpp>
#include <poplar/exceptions.hpp>

#include <set>

namespace poplar {
namespace program {

namespace {

stand_in::Node node(const std::string &what, std::vector<stand_in::Tree> parts = {},
                    std::vector<stand_in::View> views = {}, std::vector<std::int64_t> numbers = {},
                    const std::string &text = "") {
  return {what, std::move(parts), std::move(views), std::move(numbers), text};
}

const stand_in::View &deciding(const Tensor &t) {
  const std::string kind = t.view.kind->name;
  if (t.rank() != 0) throw control_program_error("what decides is no scalar");
  if (kind != "bool" && kind != "int" && kind != "unsigned int")
    throw type_error("what decides is of " + kind);
  return t.view;
}

} // namespace

Program::Program() : Program(node("sequence")) {}
Program::Program(stand_in::Node node) : tree(std::make_shared<stand_in::Node>(std::move(node))) {}

Sequence::Sequence() : Program(node("sequence")) {}

void Sequence::add(const Program &p) {
  auto longer = std::make_shared<stand_in::Node>(*tree); // who has a copy keeps the shorter one
  longer->parts.push_back(p.tree);
  tree = longer;
}

Execute::Execute(ComputeSet cs) : Program(node("execute", {}, {}, {static_cast<std::int64_t>(cs.number)})) {}

Execute::Execute(ComputeSet cs, Tensor t)
    : Program(node("execute", {}, {t.view}, {static_cast<std::int64_t>(cs.number)})) {
  if (!(t.elementType() == BOOL) || t.numElements() != 1)
    throw type_error("the result of an Execute is one BOOL");
}

Copy::Copy(Tensor src, Tensor dst) : Program(node("copy", {}, {src.view, dst.view})) {
  if (src.view.kind != dst.view.kind) throw type_error("a copy between two types");
  if (src.numElements() != dst.numElements())
    throw control_program_error("a copy to another number of elements");
  std::set<std::pair<std::uint32_t, std::uint32_t>> written;
  for (const stand_in::Element at : dst.view.elements)
    if (!written.emplace(at.variable, at.index).second)
      throw control_program_error("a copy writes an element twice");
  for (const stand_in::Element at : src.view.elements)
    if (written.count({at.variable, at.index})) throw control_program_error("a copy to what it reads");
}

Copy::Copy(const DataStream &stream, Tensor dst)
    : Program(node("from host", {}, {dst.view}, {static_cast<std::int64_t>(stream.number)})) {}

Copy::Copy(Tensor src, const DataStream &stream)
    : Program(node("to host", {}, {src.view}, {static_cast<std::int64_t>(stream.number)})) {}

Copy::Copy(const FunctionBuffer &src, const Function &dst)
    : Program(node("load code", {}, {}, {static_cast<std::int64_t>(dst.number)})) {
  if (src.function != dst.number) throw control_program_error("the code of another function");
}

Repeat::Repeat(unsigned count, const Program &prog) : Program(node("repeat", {prog.tree}, {}, {count})) {}

RepeatWhileTrue::RepeatWhileTrue(const Program &cond, Tensor predicate, const Program &body)
    : Program(node("while true", {cond.tree, body.tree}, {deciding(predicate)})) {}

RepeatWhileFalse::RepeatWhileFalse(const Program &cond, Tensor predicate, const Program &body)
    : Program(node("while false", {cond.tree, body.tree}, {deciding(predicate)})) {}

Loop::Loop(const Program &body) : Program(node("loop", {body.tree})) {}

If::If(Tensor predicate, const Program &trueBody, const Program &falseBody)
    : Program(node("if", {trueBody.tree, falseBody.tree}, {deciding(predicate)})) {}

Switch::Switch(Tensor control, const std::vector<std::pair<std::int32_t, Program>> &cases,
               const Program &defaultCaseBody)
    : Program(node("switch", {defaultCaseBody.tree}, {deciding(control)})) {
  auto all = std::make_shared<stand_in::Node>(*tree);
  for (const auto &[value, body] : cases) {
    all->numbers.push_back(value);
    all->parts.push_back(body.tree);
  }
  tree = all;
}

Call::Call(Function f) : Program(node("call", {}, {}, {static_cast<std::int64_t>(f.number)})) {}

Call::Call(HostFunction f, ArrayRef<Tensor> inputs, ArrayRef<Tensor> outputs)
    : Program(node("host call", {}, {}, {static_cast<std::int64_t>(f.number)})) {
  auto all = std::make_shared<stand_in::Node>(*tree);
  for (const Tensor &each : inputs) all->views.push_back(each.view);
  for (const Tensor &each : outputs) all->views.push_back(each.view);
  tree = all;
}

Abort::Abort(const std::string &message) : Program(node("abort", {}, {}, {}, message)) {}

AbortOnCondition::AbortOnCondition(Tensor predicate, const std::string &message)
    : Program(node("abort on", {}, {deciding(predicate)}, {}, message)) {}

ErrorProgram::ErrorProgram(StringRef message, Tensor debugTensor)
    : Program(node("error", {}, {debugTensor.view}, {}, message)) {}

Sync::Sync(SyncType type) : Program(node("sync", {}, {}, {static_cast<std::int64_t>(type)})) {}

WriteUndef::WriteUndef(Tensor t) : Program(node("write undef", {}, {t.view})) {}

} // namespace program
} // namespace poplar
