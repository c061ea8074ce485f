"""Sums of products of several operands, whose dimensions have labels: `numpy.einsum`.

An expression is computed by pairs of operands, in the order in which results stay small. Of a pair

    batch          labels of both that are still needed
    contracted     labels of both that are not
    left, right    labels of one that are still needed; the others are summed first

and the product is `ops.matmul` of [batch, left, contracted] and [batch, contracted, right], or,
without contracted labels, without others, or for integers, a sum of elementwise products.
Dimensions of size 1 take no part: they are left out first, and inserted into the result.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Sequence as List
from functools import reduce
from itertools import combinations
from typing import NamedTuple, TypeGuard

import poplite.ops.operands as checks
from poplite.errors import ElementTypeError, InvalidOption, TensorCreationError
from poplite.expr.build import apply, iota, reduction
from poplite.expr.operand import Operand
from poplite.expr.tree import Expr
from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.fuse.recipe import NOTES, Note
from poplite.ops.operands import FLOATS, NUMBERS, Given
from poplite.ops.products.matmul import matmul
from poplite.ops.record import map as stored, one_operation
from poplite.program import Sequence
from poplite.text import amount, clipped, integer_or_none, items_or_none

Labels = tuple[str, ...]
"""A label for each dimension: a letter, or a number for a dimension of an ellipsis."""


class Factor(NamedTuple):
    """An operand with the labels of its dimensions."""

    labels: Labels
    x: Given


def einsum(
    expression: str, *operands: Operand, name: str = "einsum", program: Sequence | None = None
) -> Tensor:
    """Record steps for a sum of products, given by labels of dimensions: `numpy.einsum`.

    Of several operands, the two whose product needs the least memory beyond theirs are multiplied
    first; then the same is done with the result and the others. The order depends only on shapes,
    and `ops.explain` of the result shows it. Products of matrices are those of `ops.matmul`; each
    result is rounded to the element type.

    Args:
        expression: the labels of each operand, letters, separated by commas, and "->" with those
            of the result: "ij,jk->ik". A repeated label of an operand means its diagonal. "..."
            stands for any number of dimensions, which are broadcast. Without "->", the result has
            the dimensions of "...", and then the labels that occur once, in alphabetical order.
        *operands: tensors or expressions of one number type, with a dimension for each label. A
            size of 1 is broadcast.
        name: the name of the new variables and of the steps.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Returns:
        The result; a view of the operand if only dimensions are permuted, or a diagonal taken.

    Raises:
        InvalidOption: for an expression that is not valid, or not one for these operands.
        ElementTypeError: for operands that are not numbers of one type.
        TensorCreationError: for sizes that differ, but are not 1.
        ControlProgramError: if `program` is omitted outside any block of steps.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> a = graph.add_variable(pl.FLOAT, (2, 3), "a", mapping=0, initial_value=[[1, 2, 3]] * 2)
    >>> b = graph.add_variable(pl.FLOAT, (3, 4), "b", mapping=0, initial_value=2)
    >>> c = graph.add_variable(pl.FLOAT, (4,), "c", mapping=0, initial_value=[1, 0, 0, 1])
    >>> y = einsum("ij,jk,k->i", a, b, c, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(y)
    array([24., 24.], dtype=float32)
    """
    call = _Call("ops.einsum", operands, name, program)
    inputs, output = _parsed(expression, call)
    return call.summed(inputs, output)


def tensordot(
    a: Operand,
    b: Operand,
    axes: int | List[int] | List[List[int]] = 2,
    *,
    name: str = "tensordot",
    program: Sequence | None = None,
) -> Tensor:
    """Record steps for the sum of products over dimensions of two operands: `numpy.tensordot`.

    Args:
        a: a tensor or an expression of numbers.
        b: the same, of the same element type.
        axes: a number n, for the last n dimensions of a and the first n of b; or dimensions of a
            and dimensions of b, each one number or a list.
        name: the name of the new variables and of the steps.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Returns:
        The result, with the other dimensions of a, then those of b.

    Raises:
        ElementTypeError: for operands that are not numbers of one type.
        InvalidOption: for axes of another form, or of which one is listed twice.
        TensorIndexError: for a dimension that an operand does not have.
        TensorCreationError: for dimensions of different sizes.
        ControlProgramError: if `program` is omitted outside any block of steps.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=4))
    >>> a = graph.add_variable(pl.FLOAT, (2, 3, 4), "a", mapping=0)
    >>> b = graph.add_variable(pl.FLOAT, (4, 3, 5), "b", mapping=0)
    >>> tensordot(a, b, ([1, 2], [1, 0]), program=pl.Sequence()).shape
    (2, 5)
    """
    call = _Call("ops.tensordot", (a, b), name, program)
    left, right = call.operands
    pairs = _axes(call, axes)
    letters = [chr(ord("a") + d) for d in range(left.rank + right.rank)]
    labels = [letters[: left.rank], letters[left.rank :]]
    for one, other in pairs:
        if left.shape[one] != right.shape[other]:
            raise call.misfit(f"axes={clipped(axes)}", left.shape[one], right.shape[other])
        labels[1][other] = labels[0][one]
    output = tuple(label for label in labels[0] + labels[1] if _occurs_once(label, labels))
    return call.summed([tuple(each) for each in labels], output)


def einsum_gradient(
    expression: str,
    gradient: Operand,
    *operands: Operand,
    of: int = 0,
    name: str = "einsum_gradient",
    program: Sequence | None = None,
) -> Tensor:
    """Record the gradient of an `ops.einsum` with respect to one of its operands.

    It is a sum of products of the gradient and the other operands, planned as `ops.einsum` plans.

    Args:
        expression: as in `ops.einsum`.
        gradient: the gradient with respect to the result, of its shape and type.
        *operands: those of `ops.einsum`, floats; values of the operand itself are not read.
        of: the number of the operand, from 0.
        name: the name of the new variable and of the steps.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Returns:
        The gradient, with the shape of the operand.

    Raises:
        PopliteError: as `ops.einsum`, and for a gradient of another shape or type.
        SizeOverflowError: for a number that is not one of an operand.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> a = graph.add_variable(pl.FLOAT, (2, 3), "a", mapping=0, initial_value=[[1, 2, 3]] * 2)
    >>> b = graph.add_variable(pl.FLOAT, (3,), "b", mapping=0)
    >>> g = graph.add_variable(pl.FLOAT, (2,), "g", mapping=0, initial_value=[1, 10])
    >>> by_b = einsum_gradient("ij,j->i", g, a, b, of=1, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(by_b)
    array([11., 22., 33.], dtype=float32)
    """
    call = _Call("ops.einsum_gradient", operands, name, program)
    inputs, output = _parsed(expression, call)
    sizes = call.sizes(inputs)
    number = checks.count_of(call.what, "of", of, 0, len(operands))
    x, labels = call.operands.pop(number), inputs.pop(number)
    checks.check_type(call.what, x, FLOATS)
    shape = tuple(sizes[label] for label in output)
    own = "operand", x
    given = checks.operand_beside(call.what, call.graph, program, "gradient", gradient, shape, own)
    call.operands.insert(0, given)
    return call.recorded([output, *inputs], sizes, labels, x.shape)


def _occurs_once(label: str, labels: Iterable[Iterable[str]]) -> bool:
    return sum(each == label for own in labels for each in own) == 1


class _Call:
    """A call on operands of one number type; all is checked before anything is recorded."""

    def __init__(
        self, what: str, operands: List[Operand], name: str, program: Sequence | None
    ) -> None:
        self.what, self.name, self.program = what, name, program
        if not operands:
            raise InvalidOption(f"{what}: there are no operands", fix=f'{what}("ij,jk", a, b)')
        self.operands = [checks.operand(what, each, program) for each in operands]
        first = self.operands[0]
        self.graph: Graph = checks.graph_of(what, first, program, *self.operands[1:])
        for each in self.operands:
            checks.own_operand(what, self.graph, each, program)
            checks.check_type(what, each, NUMBERS)
            checks.check_placed(each)
            if each.element_type is not first.element_type:
                raise ElementTypeError(
                    f"{what}: {checks.called(first)} is {first.element_type!r}, "
                    f"{checks.called(each)} is {each.element_type!r}",
                    found="all operands must have the same element type",
                    fix="convert one of them with ops.cast",
                )
        self.place = checks.steps_for(what, self.graph, name, program)

    def invalid(self, expression: object, fault: str) -> InvalidOption:
        """Return the error for an expression that has a fault."""
        found = ", ".join(f"{checks.called(x)} of shape {x.shape}" for x in self.operands)
        return InvalidOption(
            f"{self.what}: {clipped(expression)} {fault}",
            found=found,
            fix=f'pass labels as in {self.what}("ij,jk->ik", a, b)',
        )

    def misfit(self, what: str, one: int, other: int) -> TensorCreationError:
        """Return the error for two sizes that should be equal."""
        return TensorCreationError(
            f"{self.what}: {what} pairs a dimension of size {one:,} with one of size {other:,}",
            found=", ".join(f"{checks.called(x)} has shape {x.shape}" for x in self.operands),
            fix="pair dimensions of the same size",
        )

    def summed(self, inputs: List[Labels], output: Labels) -> Tensor:
        """Record the steps, and return the result in the order of the output's labels."""
        sizes = self.sizes(inputs)
        return self.recorded(inputs, sizes, output, tuple(sizes[label] for label in output))

    def recorded(
        self, inputs: List[Labels], sizes: dict[str, int], output: Labels, shape: tuple[int, ...]
    ) -> Tensor:
        """Record the steps of a sum of products, spread to labels that no operand has.

        Of a label that the output has twice, only the diagonal is not 0.
        """
        notes: list[Note] = []
        with one_operation(self.graph, self.name, self.place):
            terms = self._terms(inputs)
            shown = {label for term in terms for label in term.labels}
            wide = (n for n, size in zip(output, shape, strict=True) if size != 1)
            wanted = dict.fromkeys(label for label in wide if label in shown)
            found = _contracted(terms, tuple(wanted), sizes, notes)
            result = _spread(found, [*wanted], output, shape)
        if notes:
            place = NOTES.setdefault(self.graph.top_level_graph, {})
            place[result.name, result.shape] = notes
        return result

    def sizes(self, inputs: List[Labels]) -> dict[str, int]:
        """Return the size of each label; 1 is broadcast to any other, but not on a diagonal."""
        sizes: dict[str, int] = {}
        for labels, x in zip(inputs, self.operands, strict=True):
            own: dict[str, int] = {}
            for label, size in zip(labels, x.shape, strict=True):
                if own.setdefault(label, size) != size:
                    raise self.misfit(f"label {label!r}", own[label], size)
                if sizes.setdefault(label, size) == 1:
                    sizes[label] = size
                elif size not in (1, sizes[label]):
                    raise self.misfit(f"label {label!r}", sizes[label], size)
        return sizes

    def _terms(self, inputs: List[Labels]) -> list[Factor]:
        """Return the operands without repeated labels, and without dimensions of size 1."""
        terms = []
        for number, (labels, x) in enumerate(zip(inputs, self.operands, strict=True)):
            kept = tuple(label for label, size in zip(labels, x.shape, strict=True) if size != 1)
            if len(kept) < len(labels) or len({*kept}) < len(kept):
                x = as_tensor(x, f"operand {number}")
                x = x.reshape(tuple(size for size in x.shape if size != 1))
            while len({*kept}) < len(kept):
                kept, x = _diagonal(kept, as_tensor(x, f"operand {number}"))
            terms.append(Factor(kept, x))
        return terms


def as_tensor(x: Given, name: str) -> Tensor:
    """Return a tensor as it is; an expression is stored, to be viewed in another order."""
    return stored(x, name=name) if isinstance(x, Expr) else x


def _diagonal(labels: Labels, x: Tensor) -> tuple[Labels, Tensor]:
    """Return the elements with equal indices in two dimensions that have the same label."""
    label = next(each for each in labels if labels.count(each) > 1)
    one = labels.index(label)
    two = labels.index(label, one + 1)
    others = [d for d in range(x.rank) if d not in (one, two)]
    square = x.dim_shuffle([*others, one, two]).flatten(len(others))
    found = square.sub_sample(x.shape[one] + 1, len(others))
    return (*(labels[d] for d in others), label), found


def _spread(x: Tensor, labels: List[str], output: Labels, shape: tuple[int, ...]) -> Tensor:
    """Return a tensor with dimensions for further labels, and for repeated ones."""
    new = [d for d, n in enumerate(output) if n not in labels or output.index(n) < d]
    found = x.reshape(tuple(1 if d in new else size for d, size in enumerate(shape)))
    for d in new:
        found = found.broadcast(shape[d], d)
    masks = [
        _is_diagonal(shape, output.index(n), d) for d, n in enumerate(output) if output.index(n) < d
    ]
    if masks:
        is_kept = reduce(lambda one, other: apply("logical_and", one, other), masks)
        return stored(apply("select", found, 0, is_kept), name="result")
    return stored(found, name="result") if found.contains_aliases() else found


def _is_diagonal(shape: tuple[int, ...], one: int, other: int) -> Expr:
    """Return where the indices in two dimensions are equal."""
    first, second = (
        iota([size if d == at else 1 for d, size in enumerate(shape)]) for at in (one, other)
    )
    return apply("equal", first, second)


# -- labels ----------------------------------------------------------------------------------------


def _parsed(expression: object, call: _Call) -> tuple[list[Labels], Labels]:
    """Return the labels of the operands and of the result; ellipses count from the last."""
    if not isinstance(expression, str):
        raise call.invalid(expression, "is not text")
    text = expression.replace(" ", "")
    left, arrow, right = text.partition("->")
    parts = left.split(",")
    for part in (*parts, right):
        if not re.fullmatch(r"[a-zA-Z]*(\.\.\.)?[a-zA-Z]*", part):
            raise call.invalid(expression, f"has {part!r}, which is not letters and one '...'")
    if len(parts) != len(call.operands):
        raise call.invalid(
            expression,
            f"is for {amount(len(parts), 'operand')}; found {len(call.operands)}",
        )
    inputs = [
        _labels(expression, part, x.rank, call)
        for part, x in zip(parts, call.operands, strict=True)
    ]
    return inputs, _output(expression, inputs, right if arrow else None, call)


def _labels(expression: str, part: str, rank: int, call: _Call) -> Labels:
    before, dots, after = part.partition("...")
    hidden = rank - len(before + after)
    if hidden < 0 or (hidden and not dots):
        raise call.invalid(expression, f"has {part!r} for an operand of rank {rank}")
    return (*before, *_hidden(hidden), *after)


def _hidden(count: int) -> Labels:
    """Return the labels of the dimensions of an ellipsis, which are aligned at the last one."""
    return tuple(str(count - 1 - d) for d in range(count))


def _output(expression: str, inputs: list[Labels], text: str | None, call: _Call) -> Labels:
    found = {label for labels in inputs for label in labels}
    hidden = _hidden(sum(label.isdigit() for label in found))
    if text is None:
        once = sorted(label for label in found if _occurs_once(label, inputs))
        return (*hidden, *(label for label in once if label.isalpha()))
    before, dots, after = text.partition("...")
    if hidden and not dots:
        raise call.invalid(expression, "has no '...' in the result for the dimensions of '...'")
    for label in before + after:
        if label not in found or (before + after).count(label) > 1:
            why = "which no operand has" if label not in found else "twice"
            raise call.invalid(expression, f"has {label!r} in the result, {why}")
    return (*before, *hidden, *after)


def _axes(call: _Call, axes: object) -> list[tuple[int, int]]:
    """Return the dimensions that are summed, as pairs."""
    left, right = call.operands
    count = integer_or_none(axes)
    if count is not None:
        checks.count_of(call.what, "axes", axes, 0, min(left.rank, right.rank) + 1)
        return [(left.rank - count + d, d) for d in range(count)]
    sides = items_or_none(axes) or []
    listed = [
        [each] if integer_or_none(each) is not None else items_or_none(each) for each in sides
    ]
    if len(listed) != 2 or not _are_lists(listed) or len(listed[0]) != len(listed[1]):
        raise checks.invalid_value(
            call.what, "axes", axes, "a number, or dimensions of a and as many of b"
        )
    ones, others = (
        [checks.dimension(call.what, x, d) for d in dims]
        for x, dims in zip(call.operands, listed, strict=True)
    )
    if len({*ones}) < len(ones) or len({*others}) < len(others):
        raise checks.invalid_value(call.what, "axes", axes, "each dimension once")
    return list(zip(ones, others, strict=True))


def _are_lists(listed: List[object]) -> TypeGuard[List[List[object]]]:
    return all(isinstance(each, list | tuple) for each in listed)


# -- products of pairs -----------------------------------------------------------------------------


def _contracted(
    terms: list[Factor], output: Labels, sizes: dict[str, int], notes: list[Note]
) -> Tensor:
    """Record the products of pairs, and return the sum of the last term as a view."""
    total = len(terms) - 1
    while len(terms) > 1:
        i, j = _next_pair(terms, output, sizes)
        one, other = terms[i], terms[j]
        terms = [each for k, each in enumerate(terms) if k not in (i, j)]
        kept = {*output, *(label for each in terms for label in each.labels)}
        labels, product = _product(one, other, kept, output)
        name = f"product {total - len(terms)}" if terms else "result"
        work = math.prod(sizes[label] for label in {*one.labels, *other.labels})
        why = f"product {total - len(terms)} of {total}, {work:,} multiplications"
        notes.append(Note("multiplied", _written(one, other, labels), why))
        made = stored(product, name=name)
        notes += NOTES[made.graph][made.name, made.shape]
        made = made.reshape(tuple(sizes[label] for label in labels))
        terms.append(Factor(labels, made))
    (last,) = terms
    own = [label for label in output if label in last.labels]
    found = _arranged(last, [[label] for label in own], own)
    if isinstance(found, Expr):
        found = stored(found, name="result")
        notes += NOTES[found.graph][found.name, found.shape]
    return found


def _written(one: Factor, other: Factor, labels: Labels) -> str:
    left, right, result = ("".join(each) for each in (one.labels, other.labels, labels))
    return f"{left},{right}->{result} of {checks.called(one.x)} and {checks.called(other.x)}"


def _next_pair(terms: list[Factor], output: Labels, sizes: dict[str, int]) -> tuple[int, int]:
    """Return the pair whose product has the fewest elements more than both, then the cheapest."""

    def cost(pair: tuple[int, int]) -> tuple[int, int]:
        others = [each.labels for k, each in enumerate(terms) if k not in pair]
        own = {label for k in pair for label in terms[k].labels}
        kept = own & {*output, *(label for labels in others for label in labels)}
        more = _size(kept, sizes) - sum(_size(terms[k].labels, sizes) for k in pair)
        return more, _size(own, sizes)

    return min(combinations(range(len(terms)), 2), key=lambda pair: (cost(pair), pair))


def _size(labels: Iterable[str], sizes: dict[str, int]) -> int:
    return math.prod(sizes[label] for label in labels)


def _product(
    one: Factor, other: Factor, kept: Collection[str], output: Labels
) -> tuple[Labels, Expr]:
    """Return the labels of a product in the order of its expression, and the expression."""
    both = {*one.labels} & {*other.labels}
    batch = [n for n in one.labels if n in both and n in kept]
    summed = [n for n in one.labels if n in both and n not in kept]
    left, right = ([n for n in each.labels if n in kept and n not in both] for each in (one, other))
    if not summed or not (left or right) or one.x.element_type not in FLOATS:
        order = [n for n in output if n in {*batch, *left, *right}]
        order += [n for n in (*batch, *left, *right) if n not in order]
        groups = [[label] for label in (*order, *summed)]
        factors = [_arranged(each, groups, [*order, *summed]) for each in (one, other)]
        terms = apply("multiply", *factors)
        dims = range(len(order), len(groups))
        return tuple(order), reduction("add", terms, dims, False)
    if _is_turned(one, summed[0], left) and not _is_turned(other, summed[0], right):
        one, other, left, right = other, one, right, left
    sides = [batch, left, summed], [batch, summed, right]
    a, b = (
        _arranged(each, own if batch else own[1:], [n for group in own for n in group])
        for each, own in zip((one, other), sides, strict=True)
    )
    return (*batch, *left, *right), matmul(a, b)


def _is_turned(factor: Factor, summed: str, others: List[str]) -> bool:
    """Return whether a factor has a contracted label before its other ones, as a right matrix."""
    return bool(others) and factor.labels.index(summed) < factor.labels.index(others[0])


def _arranged(term: Factor, groups: List[List[str]], used: List[str]) -> Tensor | Expr:
    """Return a term with a dimension for each group of labels, of size 1 for those it lacks.

    Labels that are not used are summed.
    """
    labels, x = term
    rest = [label for label in labels if label not in used]
    wanted = [label for label in used if label in labels] + rest
    sizes = dict(zip(labels, x.shape, strict=True))
    shape = tuple(_size([n for n in group if n in sizes], sizes) for group in groups)
    shape += tuple(sizes[label] for label in rest)
    if isinstance(x, Tensor) or [*labels] != wanted or x.shape != shape:
        x = as_tensor(x, "operand").dim_shuffle([labels.index(n) for n in wanted]).reshape(shape)
    return reduction("add", x, range(len(groups), len(shape)), False) if rest else x
