// A stand-in for Poplar's cycle counters; its counter counts steps.

#pragma once

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>
#include <poplar/SyncType.hpp>

namespace poplar {

Tensor cycleCount(Graph &graph, program::Sequence &prog, unsigned tile, SyncType syncType);
Tensor cycleStamp(Graph &graph, program::Sequence &prog, unsigned tile, SyncType syncType);

} // namespace poplar
