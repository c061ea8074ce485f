// A stand-in for Poplar's programs.

#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <poplar/GraphElements.hpp>
#include <poplar/SyncType.hpp>
#include <poplar/Tensor.hpp>

namespace poplar {
namespace program {

class Program {
public:
  Program();

  stand_in::Tree tree; // of the stand-in

protected:
  explicit Program(stand_in::Node node);
};

class Sequence : public Program {
public:
  Sequence();
  void add(const Program &p);
};

class Execute : public Program {
public:
  explicit Execute(ComputeSet cs);
  Execute(ComputeSet cs, Tensor t);
};

class Copy : public Program {
public:
  Copy(Tensor src, Tensor dst);
  Copy(const DataStream &stream, Tensor dst);
  Copy(Tensor src, const DataStream &stream);
  Copy(const FunctionBuffer &src, const Function &dst);
};

class Repeat : public Program {
public:
  Repeat(unsigned count, const Program &prog);
};

class RepeatWhileTrue : public Program {
public:
  RepeatWhileTrue(const Program &cond, Tensor predicate, const Program &body);
};

class RepeatWhileFalse : public Program {
public:
  RepeatWhileFalse(const Program &cond, Tensor predicate, const Program &body);
};

class Loop : public Program {
public:
  explicit Loop(const Program &body);
};

class If : public Program {
public:
  If(Tensor predicate, const Program &trueBody, const Program &falseBody);
};

class Switch : public Program {
public:
  Switch(Tensor control, const std::vector<std::pair<std::int32_t, Program>> &cases, const Program &defaultCaseBody);
};

class Call : public Program {
public:
  explicit Call(Function f);
  Call(HostFunction f, ArrayRef<Tensor> inputs, ArrayRef<Tensor> outputs);
};

class Abort : public Program {
public:
  explicit Abort(const std::string &message);
};

class AbortOnCondition : public Program {
public:
  AbortOnCondition(Tensor predicate, const std::string &message);
};

class ErrorProgram : public Program {
public:
  ErrorProgram(StringRef message, Tensor debugTensor);
};

class Sync : public Program {
public:
  explicit Sync(SyncType type);
};

class WriteUndef : public Program {
public:
  explicit WriteUndef(Tensor t);
};

} // namespace program
} // namespace poplar
