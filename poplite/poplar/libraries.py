"""PopLibs' functions that have several declarations, as the table of Poplar's has its members.

    Tensor matMul(Graph &graph, ..., const Type &outputType, ...) -> matMul(..., output_type=outputType)

Functions of one declaration have their arguments in its order, and annotations that say their types;
`poplite.compat` checks those. The function's one signature here follows the arrow. `+` marks
what C++ has no declaration for.

Types, names and defaults are those of the public headers (graphcore/poplibs, include).
"""

# ruff: noqa: E501  # one line a declaration reads as the table that it is

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_MATMULS = "const std::vector<std::size_t> &aShape, const std::vector<std::size_t> &bShape, const DebugContext &debugContext, const OptionFlags &options = {}, PlanningCache *cache = nullptr"
_END = "const DebugContext &debugContext = {}, const OptionFlags &options = {}"


def _of_shapes(*names: str) -> str:
    """Return the declarations of functions that make operands and results of products."""
    return "".join(
        f"{'+ ' if 'Grouped' in name else ''}Tensor {name}(Graph &graph, const Type &inputType, {_MATMULS})"
        f" -> {name}(graph, inputType, aShape, bShape, debugContext, options, cache)\n"
        f"Tensor {name}(Graph &graph, const Type &inputType, const Type &outputType, {_MATMULS})"
        f" -> {name}(graph, inputType, aShape, bShape, debugContext, options, cache, output_type=outputType)\n"
        for name in names
    )


def _scaled(name: str) -> str:
    """Return the declarations of a function that adds a product."""
    return f"""
void {name}(Graph &graph, Tensor A, Tensor B, float scaleB, program::Sequence &prog, {_END}) -> {name}(graph, A, B, scaleB, prog, debugContext, options)
void {name}(Graph &graph, Tensor A, Tensor B, Tensor scaleB, program::Sequence &prog, {_END}) -> {name}(graph, A, B, scaleB, prog, debugContext, options)
void {name}(Graph &graph, Tensor A, Tensor scaleA, Tensor B, Tensor scaleB, program::Sequence &prog, {_END}) -> {name}(graph, A, B, scaleB, prog, debugContext, options, scale=scaleA)
void {name}(Graph &graph, Tensor A, float scaleA, Tensor B, float scaleB, program::Sequence &prog, {_END}) -> {name}(graph, A, B, scaleB, prog, debugContext, options, scale=scaleA)
"""


LIBRARIES: Mapping[str, str] = MappingProxyType(
    {
        "popops": f"""
Tensor createSliceableTensor(Graph &graph, const Type &type, const std::vector<size_t> &shape, const std::vector<size_t> &dims, const std::vector<size_t> &sizes, std::size_t minGrainSize = 0, const DebugContext &debugContext = {{}}) -> createSliceableTensor(graph, type, shape, dims, sizes, minGrainSize, debug_context=debugContext)
Tensor createSliceableTensor(Graph &graph, const Type &type, const std::vector<size_t> &shape, const std::vector<size_t> &dims, const std::vector<size_t> &sizes, const SlicePlan &plan, const OptionFlags &options, const DebugContext &debugContext = {{}}) -> createSliceableTensor(graph, type, shape, dims, sizes, plan, options, debugContext)
template <typename FillValueType> void fill(Graph &graph, const Tensor &t, program::Sequence &prog, FillValueType fillValue, const DebugContext &debugContext = {{}}) -> fill(graph, t, prog, fillValue, debugContext)
template <typename FillValueType> void fill(Graph &graph, Tensor t, const std::vector<Interval> &tileRegions, unsigned tile, ComputeSet fillCS, FillValueType fillValue) -> fill(graph, t, None, fillValue, cs=fillCS, tile=tile, regions=tileRegions)
template <typename FillValueType> void fill(Graph &graph, const Tensor &t, unsigned tile, ComputeSet fillCS, FillValueType fillValue) -> fill(graph, t, None, fillValue, cs=fillCS, tile=tile)
template <typename FillValueType> void fill(Graph &graph, const Tensor &t, const std::vector<std::vector<Interval>> &mapping, ComputeSet fillCS, FillValueType fillValue) -> fill(graph, t, None, fillValue, cs=fillCS, mapping=mapping)
Tensor reduce(Graph &graph, const Tensor &in, const std::vector<std::size_t> &dims, ReduceParams params, program::Sequence &prog, {_END}) -> reduce(graph, in_, dims, params, prog, debugContext, options)
Tensor reduce(Graph &graph, const Tensor &in, const Type &outType, const std::vector<std::size_t> &dims, ReduceParams params, program::Sequence &prog, {_END}) -> reduce(graph, in_, dims, params, prog, debugContext, options, output_type=outType)
Tensor reduce(Graph &graph, const Tensor &in, const std::vector<std::size_t> &dims, ReduceParams params, std::vector<ComputeSet> &css, {_END}) -> reduce(graph, in_, dims, params, css, debugContext, options)
Tensor reduce(Graph &graph, const Tensor &in, const Type &outType, const std::vector<std::size_t> &dims, ReduceParams params, std::vector<ComputeSet> &css, {_END}) -> reduce(graph, in_, dims, params, css, debugContext, options, output_type=outType)
void zero(Graph &graph, const Tensor &t, program::Sequence &prog, const DebugContext &debugContext = {{}}) -> zero(graph, t, prog, debugContext)
void zero(Graph &graph, Tensor t, const std::vector<Interval> &tileRegions, unsigned tile, ComputeSet zeroCS) -> zero(graph, t, None, cs=zeroCS, tile=tile, regions=tileRegions)
void zero(Graph &graph, const Tensor &t, unsigned tile, ComputeSet zeroCS) -> zero(graph, t, None, cs=zeroCS, tile=tile)
void zero(Graph &graph, const Tensor &t, const std::vector<std::vector<Interval>> &mapping, ComputeSet zeroCS) -> zero(graph, t, None, cs=zeroCS, mapping=mapping)
"""
        + _scaled("scaledAddTo")
        + _scaled("scaledSubtractFrom"),
        "poplin": f"""
Tensor matMul(Graph &graph, const Tensor &A, const Tensor &B, program::Sequence &prog, {_END}, PlanningCache *cache = nullptr) -> matMul(graph, A, B, prog, debugContext, options, cache)
Tensor matMul(Graph &graph, const Tensor &A, const Tensor &B, program::Sequence &prog, const Type &outputType, {_END}, PlanningCache *cache = nullptr) -> matMul(graph, A, B, prog, debugContext, options, cache, output_type=outputType)
+ Tensor matMulGrouped(Graph &graph, const Tensor &A, const Tensor &B, program::Sequence &prog, {_END}, PlanningCache *cache = nullptr) -> matMulGrouped(graph, A, B, prog, debugContext, options, cache)
Tensor matMulGrouped(Graph &graph, const Tensor &A, const Tensor &B, program::Sequence &prog, const Type &outputType, {_END}, PlanningCache *cache = nullptr) -> matMulGrouped(graph, A, B, prog, debugContext, options, cache, output_type=outputType)
"""
        + _of_shapes("createMatMulInputLHS", "createMatMulInputRHS", "createMatMulOutput")
        + _of_shapes("createMatMulGroupedInputLHS", "createMatMulGroupedInputRHS")
        + _of_shapes("createMatMulGroupedOutput"),
        "popnn": """
program::Program calcLoss(Graph &graph, const Tensor &modelOutputs, const Tensor &expected, const Tensor &loss, const Tensor &deltas, LossType lossType, const DebugContext &debugContext = {}) -> calcLoss(graph, modelOutputs, expected, loss, deltas, lossType, debugContext)
program::Program calcLoss(Graph &graph, const Tensor &modelOutputs, const Tensor &expected, const Tensor &loss, const Tensor &deltas, const Tensor &numCorrect, LossType lossType, const DebugContext &debugContext = {}) -> calcLoss(graph, modelOutputs, expected, loss, deltas, lossType, debugContext, num_correct=numCorrect)
program::Program calcLoss(Graph &graph, const Tensor &modelOutputs, const Tensor &expected, const Tensor &loss, const Tensor &deltas, const Tensor &deltasScale, const Tensor &modelOutputScaling, LossType lossType, const DebugContext &debugContext = {}) -> calcLoss(graph, modelOutputs, expected, loss, deltas, lossType, debugContext, deltas_scale=deltasScale, model_output_scaling=modelOutputScaling)
program::Program calcLoss(Graph &graph, const Tensor &modelOutputs, const Tensor &expected, const Tensor &loss, const Tensor &deltas, const Tensor &deltasScale, const Tensor &modelOutputScaling, const Tensor &numCorrect, LossType lossType, const DebugContext &debugContext = {}) -> calcLoss(graph, modelOutputs, expected, loss, deltas, lossType, debugContext, deltas_scale=deltasScale, model_output_scaling=modelOutputScaling, num_correct=numCorrect)
""",
        "poputil": """
void mapTensorLinearlyWithOffset(Graph &graph, const Tensor &t, unsigned offset = 0, bool ascendingOrder = true) -> mapTensorLinearlyWithOffset(graph, t, offset, ascendingOrder)
void mapTensorLinearlyWithOffset(Graph &graph, const Tensor &t, unsigned minElementsPerTile, unsigned grainSize, unsigned offset, bool ascendingOrder = true) -> mapTensorLinearlyWithOffset(graph, t, offset, ascendingOrder, min_elements_per_tile=minElementsPerTile, grain_size=grainSize)
""",
    }
)
"""Declarations by namespace."""
