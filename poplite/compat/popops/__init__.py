"""popops: elementwise operations, maps, reductions, slices, sorting, casts and fills.

    popops::map(graph, _1 * Const(2) + _2, {a, b}, prog)
    popops.map(graph, expr._1 * expr.Const(2) + expr._2, [a, b], prog)

Arguments have the order of the C++ functions: the graph first, then operands, the program, the
debug name and options. No option changes a result: options that PopLibs knows are accepted and
ignored.

Source: PopLibs, `popops/ElementWise.hpp`, `popops/Expr.hpp`, `popops/Reduce.hpp`,
`popops/ScaledAdd.hpp`, `popops/Cast.hpp`, `popops/Fill.hpp`, `popops/Zero.hpp`, `popops/Sort.hpp`,
`popops/TopK.hpp`, `popops/Pad.hpp`, `popops/DynamicSlice.hpp`.
"""

from poplite.compat.arguments import library_codelets as _library_codelets
from poplite.compat.popops import embedding as embedding, expr as expr
from poplite.compat.popops.along_dimensions import (
    Operation as Operation,
    ReduceParams as ReduceParams,
    SingleReduceOp as SingleReduceOp,
    SortOrder as SortOrder,
    TopKParams as TopKParams,
    createSliceableTensor as createSliceableTensor,
    dynamicSlice as dynamicSlice,
    dynamicSliceWithOutput as dynamicSliceWithOutput,
    dynamicUpdate as dynamicUpdate,
    encodeOneHot as encodeOneHot,
    hasNaN as hasNaN,
    hasNaNOrInf as hasNaNOrInf,
    histogram as histogram,
    multiSlice as multiSlice,
    multiUpdate as multiUpdate,
    multiUpdateAdd as multiUpdateAdd,
    multiUpdateMax as multiUpdateMax,
    multiUpdateMul as multiUpdateMul,
    reduce as reduce,
    reduceMany as reduceMany,
    reduceWithOutput as reduceWithOutput,
    selectScalarFromRows as selectScalarFromRows,
    sort as sort,
    sortInPlace as sortInPlace,
    sortKeyValue as sortKeyValue,
    sortKeyValueInPlace as sortKeyValueInPlace,
    topK as topK,
    topKKeyValue as topKKeyValue,
    topKWithPermutation as topKWithPermutation,
    updateScalarInRows as updateScalarInRows,
)
from poplite.compat.popops.elementwise import (
    allTrue as allTrue,
    cast as cast,
    castWithOutput as castWithOutput,
    fill as fill,
    forms as _forms,
    iota as iota,
    map as map,
    mapInPlace as mapInPlace,
    mapWithOutput as mapWithOutput,
    pad as pad,
    scaledAddTo as scaledAddTo,
    scaledSubtractFrom as scaledSubtractFrom,
    zero as zero,
)
from poplite.compat.popops.expr import (
    BinaryOpType as _B,
    TernaryOpType as _T,
    UnaryOpType as _U,
)
from poplite.poplar.absent import shown as _shown
from poplite.public import names_of

addCodelets = _library_codelets("popops")

abs, absInPlace, absWithOutput = _forms("abs", _U.ABSOLUTE)  # noqa: A001
asin, asinInPlace, asinWithOutput = _forms("asin", _U.ASIN)
bitwiseNot, bitwiseNotInPlace, bitwiseNotWithOutput = _forms("bitwiseNot", _U.BITWISE_NOT)
cbrt, cbrtInPlace, cbrtWithOutput = _forms("cbrt", _U.CBRT)
ceil, ceilInPlace, ceilWithOutput = _forms("ceil", _U.CEIL)
cos, cosInPlace, cosWithOutput = _forms("cos", _U.COS)
countLeadingZeros, countLeadingZerosInPlace, countLeadingZerosWithOutput = _forms(
    "countLeadingZeros", _U.COUNT_LEADING_ZEROS
)
erf, erfInPlace, erfWithOutput = _forms("erf", _U.ERF)
exp, expInPlace, expWithOutput = _forms("exp", _U.EXPONENT)
exp2, exp2InPlace, exp2WithOutput = _forms("exp2", _U.EXPONENT2)
expm1, expm1InPlace, expm1WithOutput = _forms("expm1", _U.EXPONENT_MINUS_ONE)
floor, floorInPlace, floorWithOutput = _forms("floor", _U.FLOOR)
geluErf, geluErfInPlace, geluErfWithOutput = _forms("geluErf", _U.GELU_ERF)
inv, invInPlace, invWithOutput = _forms("inv", _U.INVERSE)
log, logInPlace, logWithOutput = _forms("log", _U.LOGARITHM)
log1p, log1pInPlace, log1pWithOutput = _forms("log1p", _U.LOGARITHM_ONE_PLUS)
logicalNot, logicalNotInPlace, logicalNotWithOutput = _forms("logicalNot", _U.LOGICAL_NOT)
nearbyint, nearbyintInPlace, nearbyintWithOutput = _forms("nearbyint", _U.NEARBY_INT)
neg, negInPlace, negWithOutput = _forms("neg", _U.NEGATE)
popcount, popcountInPlace, popcountWithOutput = _forms("popcount", _U.POPCOUNT)
round, roundInPlace, roundWithOutput = _forms("round", _U.ROUND)  # noqa: A001
rsqrt, rsqrtInPlace, rsqrtWithOutput = _forms("rsqrt", _U.RSQRT)
sigmoid, sigmoidInPlace, sigmoidWithOutput = _forms("sigmoid", _U.SIGMOID)
signum, signumInPlace, signumWithOutput = _forms("signum", _U.SIGNUM)
sin, sinInPlace, sinWithOutput = _forms("sin", _U.SIN)
sqrt, sqrtInPlace, sqrtWithOutput = _forms("sqrt", _U.SQRT)
square, squareInPlace, squareWithOutput = _forms("square", _U.SQUARE)
tan, tanInPlace, tanWithOutput = _forms("tan", _U.TAN)
tanh, tanhInPlace, tanhWithOutput = _forms("tanh", _U.TANH)
isFinite, _, isFiniteWithOutput = _forms("isFinite", _U.IS_FINITE)

add, addInPlace, addWithOutput = _forms("add", _B.ADD)
atan2, atan2InPlace, atan2WithOutput = _forms("atan2", _B.ATAN2)
bitwiseAnd, bitwiseAndInPlace, bitwiseAndWithOutput = _forms("bitwiseAnd", _B.BITWISE_AND)
bitwiseOr, bitwiseOrInPlace, bitwiseOrWithOutput = _forms("bitwiseOr", _B.BITWISE_OR)
bitwiseXor, bitwiseXorInPlace, bitwiseXorWithOutput = _forms("bitwiseXor", _B.BITWISE_XOR)
bitwiseXnor, bitwiseXnorInPlace, bitwiseXnorWithOutput = _forms("bitwiseXnor", _B.BITWISE_XNOR)
div, divInPlace, divWithOutput = _forms("div", _B.DIVIDE)
eq, eqInPlace, eqWithOutput = _forms("eq", _B.EQUAL)
gt, gtInPlace, gtWithOutput = _forms("gt", _B.GREATER_THAN)
gteq, gteqInPlace, gteqWithOutput = _forms("gteq", _B.GREATER_THAN_EQUAL)
invStdDevToVariance, invStdDevToVarianceInPlace, invStdDevToVarianceWithOutput = _forms(
    "invStdDevToVariance", _B.INV_STD_DEV_TO_VARIANCE
)
logicalAnd, logicalAndInPlace, logicalAndWithOutput = _forms("logicalAnd", _B.LOGICAL_AND)
logicalOr, logicalOrInPlace, logicalOrWithOutput = _forms("logicalOr", _B.LOGICAL_OR)
lt, ltInPlace, ltWithOutput = _forms("lt", _B.LESS_THAN)
lteq, lteqInPlace, lteqWithOutput = _forms("lteq", _B.LESS_THAN_EQUAL)
max, maxInPlace, maxWithOutput = _forms("max", _B.MAXIMUM)  # noqa: A001
min, minInPlace, minWithOutput = _forms("min", _B.MINIMUM)  # noqa: A001
mul, mulInPlace, mulWithOutput = _forms("mul", _B.MULTIPLY)
neq, neqInPlace, neqWithOutput = _forms("neq", _B.NOT_EQUAL)
pow, powInPlace, powWithOutput = _forms("pow", _B.POWER)  # noqa: A001
rem, remInPlace, remWithOutput = _forms("rem", _B.REMAINDER)
shiftLeft, shiftLeftInPlace, shiftLeftWithOutput = _forms("shiftLeft", _B.SHIFT_LEFT)
shiftRight, shiftRightInPlace, shiftRightWithOutput = _forms("shiftRight", _B.SHIFT_RIGHT)
shiftRightSignExtend, shiftRightSignExtendInPlace, shiftRightSignExtendWithOutput = _forms(
    "shiftRightSignExtend", _B.SHIFT_RIGHT_SIGN_EXTEND
)
sub, subInPlace, subWithOutput = _forms("sub", _B.SUBTRACT)
varianceToInvStdDev, varianceToInvStdDevInPlace, varianceToInvStdDevWithOutput = _forms(
    "varianceToInvStdDev", _B.VARIANCE_TO_INV_STD_DEV
)

clamp, clampInPlace, clampWithOutput = _forms("clamp", _T.CLAMP)
select, selectInPlace, selectWithOutput = _forms("select", _T.SELECT)

__all__ = _shown(globals(), names_of(globals(), "embedding expr"), "popops")
