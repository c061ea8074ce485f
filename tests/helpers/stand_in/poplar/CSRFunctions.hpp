// A stand-in for the modes of floating-point arithmetic.

#pragma once

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

namespace poplar {

class FloatingPointBehaviour {
public:
  FloatingPointBehaviour(bool inv, bool div0, bool oflo, bool esr, bool nanoo);

  bool modes[5]; // of the stand-in
};

void setFloatingPointBehaviour(Graph &graph, program::Sequence &prog, const FloatingPointBehaviour &behaviour);
Tensor getAndModifyFloatingPointBehaviour(Graph &graph, program::Sequence &prog, const FloatingPointBehaviour &clear, const FloatingPointBehaviour &set);
void setStochasticRounding(Graph &graph, program::Sequence &prog, bool behaviour);

} // namespace poplar
