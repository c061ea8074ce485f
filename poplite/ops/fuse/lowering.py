"""Lowers expressions to steps.

For example:

    x - mean(x)       1  mean: reduced, and stored where the reduction computes it
                      2  map:  x - mean, in one vertex class
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from poplite.expr.tree import (
    Applied,
    Contraction,
    ElementClass,
    Expr,
    IotaExpr,
    Leaf,
    Number,
    Reduction,
    Shape,
    ViewExpr,
    step_name,
)
from poplite.graph.graph import Graph, mapping_graph
from poplite.graph.tensor.tensor import Tensor
from poplite.ops import products, reductions
from poplite.ops.fuse import contractions, maps
from poplite.ops.fuse.pricing import Remembered
from poplite.ops.fuse.recipe import Note, Straight, in_order, straight
from poplite.ops.fuse.storing import (
    MOST_FIELDS,
    IndependentSteps,
    Root,
    all_parts,
    cut,
    decide,
    interned,
    is_view,
    levels,
    read_once,
    split_positions,
    with_operands,
)
from poplite.program.recording import Recorder
from poplite.view import storages

_PRICES = Remembered[contractions.ProductPrices](most=64)
"""Cached prices of products by one row or column, by everything that they depend on."""

MOST_REDUCED = 64
"""Maximum number of lines of an operand that is reduced without being stored: the text of its class
repeats each line 25 times."""


@dataclass(slots=True, eq=False)
class Lowering:
    """Records the steps for the given roots.

    Attributes:
        recorder: receives the steps.
        mappings: the mappings of tensors.
        stored: the tensors that hold the expressions stored so far.
        notes: notes on what was done.
    """

    recorder: Recorder
    mappings: maps.Mappings
    stored: dict[Expr, Tensor] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)
    _kept: set[Expr] = field(default_factory=set)
    _epilogues: dict[Expr, list[Contraction]] = field(default_factory=dict)
    _left: set[Contraction] = field(default_factory=set)
    _prices: dict[Contraction, contractions.ProductPrices] = field(default_factory=dict)
    _sums: dict[Reduction, reductions.FusedReduction] = field(
        default_factory=dict
    )  # priced, not yet recorded
    _first: int = 0  # the number of the first variable that is created here

    @property
    def graph(self) -> Graph:
        """The graph of all tensors."""
        return self.recorder.graph

    def lower(self, roots: Sequence[Root]) -> list[Tensor]:
        """Store the roots in order: each sees the results of the roots before it.

        Values stored for a tensor are discarded when a root writes it; a root without `out` does
        not alias existing tensors, so a later write does not change its result.
        """
        exprs = [root.expr for root in roots]
        kinds = {*map(type, all_parts(exprs))}
        if Contraction in kinds:
            exprs = contractions.with_dots(exprs)
        exprs = read_once(exprs)
        if IotaExpr in kinds:
            exprs = split_positions(self.mappings, exprs)
        exprs = interned(exprs)
        parts = all_parts(exprs)
        kept: set[Expr] = {
            node
            for node in parts
            if isinstance(node, Reduction | IotaExpr | Contraction | ViewExpr)
        }
        groups = [each for each in exprs if each not in kept]
        groups += [node.operands[0] for node in parts if isinstance(node, Reduction)]
        for node in parts:
            if isinstance(node, Contraction | ViewExpr):
                made_first = [each for each in node.operands if isinstance(each, Applied)]
                groups += [each for each in made_first if each not in kept]
                kept.update(made_first)
        decisions = decide(groups, kept)
        for decision in decisions:
            what: Literal["stored", "computed again"]
            what = "stored" if decision.is_stored else "computed again"
            why = str(decision).partition(": ")[2]
            self.notes.append(Note.of(what, decision.expr, why))
        for part in cut([*groups, *[each.expr for each in decisions if each.is_stored]], kept):
            why = f"a vertex has at most {MOST_FIELDS} tensors and numbers"
            self.notes.append(Note.of("stored", part, why))
        self._kept = kept
        if Contraction in kinds:
            self._epilogues = contractions.products_of_epilogues(parts, exprs, kept)
        self._left = {product for each in self._epilogues.values() for product in each}
        self._first = len(self.graph.space.variables)
        at_once: dict[int, Tensor] = {}
        if type(self.recorder) is Recorder and all(root.out is None for root in roots):
            at_once = self._at_once(roots, exprs)
        made = []
        for number, (root, expr) in enumerate(zip(roots, exprs, strict=True)):
            if number in at_once:
                made.append(at_once[number])
                continue
            made.append(self._root(root, expr))
            if root.out is not None:
                self._overwritten(root.out)
        for root, tensor in zip(roots, made, strict=True):
            if root.out is None:
                assert self._is_own(tensor), f"'{root.name}' shows what later steps may write"
        return made

    def _at_once(self, roots: Sequence[Root], exprs: Sequence[Expr]) -> dict[int, Tensor]:
        """Store independent parts in shared steps; return the roots that are stored."""
        made: dict[int, Tensor] = {}
        copied = [self._is_copied(root, expr) for root, expr in zip(roots, exprs, strict=True)]
        for tasks in levels(exprs, self._kept - self._left, copied):
            steps = IndependentSteps(self.recorder)
            around, self.recorder = self.recorder, steps
            before, fresh = self.stored, dict(self.stored)
            for expr, number, is_root in sorted(tasks, key=is_view):
                steps.begin()
                # Views show tensors stored in the level; its other tasks do not read these.
                is_shown = isinstance(expr, ViewExpr) and not (is_root and copied[number])
                self.stored = fresh if is_shown else dict(before)
                root = roots[number]
                if is_root:
                    made[number] = self._result(root, expr)
                elif (same := self._with_other_dims(expr, fresh)) is not None:
                    self.stored[expr] = same
                else:
                    name = step_name(expr) or "value"
                    self._store(expr, Root(expr, name=f"{root.name}/{name}"))
                fresh.update(self.stored)
            self.stored, self.recorder = fresh, around
            steps.end()
        return made

    def _overwritten(self, out: Tensor) -> None:
        """Discard stored parts whose tensors have been overwritten since."""
        for node in [*self.stored]:
            leaves = [each for each in all_parts([node]) if isinstance(each, Leaf)]
            if any(_tensor(each).intersects_with(out) for each in leaves):
                del self.stored[node]

    def _root(self, root: Root, expr: Expr) -> Tensor:
        for node in in_order(expr, {}):
            if node is expr or node not in self._kept or node in self.stored or node in self._left:
                continue
            same = self._with_other_dims(node, self.stored)
            if same is not None:
                self.stored[node] = same
            else:
                self._store(node, Root(node, name=f"{root.name}/{step_name(node) or 'value'}"))
        return self._result(root, expr)

    def _result(self, root: Root, expr: Expr) -> Tensor:
        """Store a root whose parts are stored, in a tensor of its own."""
        is_copied = self._is_copied(root, expr) and expr not in self.stored
        if isinstance(expr, ViewExpr) and is_copied:
            self.stored[expr] = self._viewed(expr)
        if expr in self.stored:
            return self._copied(root, self.stored[expr])
        return self._store(expr, root)

    def _is_copied(self, root: Root, expr: Expr) -> bool:
        """Return whether a root is a view that has its own mapping or whose source may change."""
        if not isinstance(expr, ViewExpr):
            return False
        return root.out is not None or root.mapping is not None or self._shows_others(expr)

    def _shows_others(self, view: ViewExpr) -> bool:
        """Return whether a view shows tensors, other than constants, that are not created here."""
        shown: list[Expr] = [view]
        while shown:
            node = shown.pop()
            if isinstance(node, ViewExpr):
                shown += node.operands
            elif isinstance(node, Leaf) and not self._is_own(_tensor(node)):
                return True
        return False

    def _is_own(self, tensor: Tensor) -> bool:
        """Return whether only the steps recorded here write a tensor."""
        owners = map(self.graph.variable_of, storages(tensor.view))
        return all(each.constant or each.id >= self._first for each in owners)

    @staticmethod
    def _with_other_dims(expr: Expr, stored: Mapping[Expr, Tensor]) -> Tensor | None:
        """Return a reduction that was stored with or without the dimensions of size 1."""
        if isinstance(expr, Reduction):
            for node, tensor in stored.items():
                if isinstance(node, Reduction) and _is_same(node, expr):
                    return tensor.reshape(expr.shape)
        return None

    def _store(self, expr: Expr, root: Root) -> Tensor:
        """Store a node whose parts are stored; a result in an existing tensor is not remembered."""
        if isinstance(expr, Reduction):
            made = self._reduced(expr, root)
        elif isinstance(expr, Contraction):
            made = self._multiplied(expr, root)
        elif isinstance(expr, ViewExpr):
            made = self._viewed(expr)
        elif isinstance(expr, Leaf):
            made = self._copied(root, _tensor(expr))
        elif isinstance(expr, Number | IotaExpr):
            made = self._filled(expr, root)
        else:
            unmade = [each for each in self._epilogues.get(expr, ()) if each not in self.stored]
            made = self._with_products(root, expr, unmade) if unmade else self._mapped(expr, root)
        if root.out is None:
            self.stored[expr] = made
        return made

    def _viewed(self, expr: ViewExpr) -> Tensor:
        """Return the view of tensors that are stored."""
        sources = [
            _tensor(each) if isinstance(each, Leaf) else self.stored[each] for each in expr.operands
        ]
        made = expr.how(*sources)
        assert isinstance(made, Tensor)
        return made

    def _mapped(self, expr: Expr, root: Root) -> Tensor:
        body = straight(expr, self.stored)
        out = root.out
        if out is not None and any(t != out and t.intersects_with(out) for t in body.tensors):
            made = self._mapped(expr, Root(expr, name=f"{root.name}/temporary"))
            return self._copied(root, made, "out shares elements with an operand")
        shape = expr.shape if out is None else out.shape
        if out is None:
            out = self._variable(expr.element_type, shape, root)
        where = "mapping="
        if root.out is not None:
            where = "out"
            maps.complete(self.mappings, out, body.tensors)
        elif root.mapping is None:
            where = maps.place(self.mappings, out, shape, body.tensors)
        if out.num_elements:
            compute_set = self.recorder.compute_set(f"{root.name}[{where}]")
            vertex = maps.add_map(self.mappings, compute_set, body, out)
            place_of = where if root.out is None else f"where '{root.out.name}' is"
            self._note("stored", expr, f"a result, {place_of}", vertex, out, body)
        return out

    def _multiplied(self, expr: Contraction, root: Root) -> Tensor:
        """Store a product where its plan makes it, or in an existing tensor."""
        root = self._with_variable(root)
        if (total := self._as_sum(expr, root.out)) is not None:
            return self._reduced(total, root)
        work = self._multiplication(expr)
        flat = self._flat_out(root, expr, work, ())
        if flat is not None and root.out is not None:
            with self.graph.scope(root.name):
                work.products(flat)
            self._note("multiplied", expr, self._planned(expr, work.layout), "", root.out)
            return root.out
        name = root.name if root.out is None else f"{root.name}/product"
        made = self._product(expr, work, name)
        return made if root.out is None else self._copied(root, made)

    def _with_variable(self, root: Root) -> Root:
        """Return a root with the variable for the mapping that it requests."""
        if root.out is not None or root.mapping is None:
            return root
        out = self._variable(root.expr.element_type, root.expr.shape, root)
        return Root(root.expr, out, name=root.name)

    def _variable(self, element: ElementClass, shape: Shape, root: Root) -> Tensor:
        """Return a new variable, with the mapping that the user requested or without a mapping."""
        if root.mapping is None:
            return self.graph.add_variable(element, shape, root.name)
        graph = mapping_graph(self.graph)
        return graph.add_variable(element, shape, root.name, mapping=root.mapping)

    def _flat_out(
        self, root: Root, expr: Expr, work: products.Multiplication, operands: Sequence[Tensor]
    ) -> Tensor | None:
        """Return `out` as blocks, if vertices can write it while operands are read."""
        out = root.out
        if out is None or out.shape != expr.shape or not out.num_elements:
            return None
        others = [work.left, work.right, *(each for each in operands if each != out)]
        if any(out.intersects_with(each) for each in others):
            return None
        maps.complete(self.mappings, out, [])
        request = work.layout.request
        return work.layout.product.flat(out.reshape((request.groups, request.m, request.n)))

    def _as_sum(
        self, expr: Contraction, out: Tensor | None = None, behind: Expr | None = None
    ) -> Reduction | None:
        """Return a product by one row or column as a sum, if that is cheaper; otherwise None.

        Args:
            expr: the product.
            out: the tensor for the product, or for the computation on it; None for a new tensor.
            behind: the computation on the product, which is a map after its sum or is fused with
                the sums of its plan.
        """
        if not contractions.is_vector_product(expr) or not expr.num_elements:
            return None
        left, right = self._operands(expr)
        total = contractions.as_sum(with_operands(expr, (Leaf(left), Leaf(right))))
        fused = self._fused(total, out if behind is None else None)
        if fused is None:  # it has no price, usually because it has a single element
            return total if contractions.is_dot(expr) else None
        use = contractions.UseOfProduct.of(self.mappings, expr, out, behind, self.stored)
        key = fused.key and use.key and (fused.key, expr.how, use.key)
        prices = _PRICES.of(key, lambda: contractions.prices_of(use, expr, fused, left, right))
        self._prices[expr] = prices
        if not prices.is_sum:
            return None
        self.notes.append(Note.of("reduced", expr, str(prices)))
        self._sums[total] = fused
        return total

    def _planned(self, expr: Contraction, layout: products.ProductLayout) -> str:
        """Return a description of where a product is made, and why it is not a sum."""
        prices = self._prices.get(expr)
        return contractions.made_where(layout) + (f"; {prices}" if prices else "")

    def _operands(self, expr: Contraction) -> list[Tensor]:
        """Return the stored operands of a product."""
        return [
            _tensor(each) if isinstance(each, Leaf) else self.stored[each] for each in expr.operands
        ]

    def _multiplication(self, expr: Contraction) -> products.Multiplication:
        one, other = contractions.as_matrices(expr, *self._operands(expr))
        graph, layout = contractions.layout_of(self.graph, expr)
        return products.Multiplication(graph, self.recorder, layout, one, other)

    def _product(self, expr: Contraction, work: products.Multiplication, name: str) -> Tensor:
        """Store a product in a new tensor, where the plan makes it."""
        flat = products.product_of(work.graph, work.layout, name, expr.element_type)
        with self.graph.scope(name):
            work.products(flat)
        made = work.layout.product.matrices(flat).reshape(expr.shape)
        self._note("multiplied", expr, self._planned(expr, work.layout), "", made)
        return made

    def _with_products(self, root: Root, expr: Expr, nodes: Sequence[Contraction]) -> Tensor:
        """Store an expression around products without other readers, where their sums are made."""
        left: list[Contraction] = []
        for each in nodes:
            is_alone = each is nodes[-1] and not left
            total = self._as_sum(each, *((root.out, expr) if is_alone else ()))
            if total is None:
                left.append(each)
                continue
            name = f"{root.name}/{step_name(each) or 'value'}"
            self.stored[each] = self._reduced(total, Root(total, name=name))
        made = self._with_product(root, expr, *left) if left else self._mapped(expr, root)
        for each in nodes:
            self.stored.pop(each, None)
        return made

    def _with_product(
        self, root: Root, expr: Expr, node: Contraction, *others: Contraction
    ) -> Tensor:
        """Store an expression around products where the sums of one are made."""
        root = self._with_variable(root)
        for number, each in enumerate(others, 1):
            name = f"{root.name}/matmul{number}"
            self.stored[each] = self._product(each, self._multiplication(each), name)
        work = self._multiplication(node)
        made = self._summed(root, expr, node, work)
        if made is None and root.out is None and node.element_type is expr.element_type:
            self.stored[node] = made = self._product(node, work, root.name)
            self._store(expr, Root(expr, made, name=root.name))
        elif made is None:
            self.stored[node] = self._product(node, work, f"{root.name}/product")
            made = self._store(expr, root)
        return made

    def _summed(
        self, root: Root, expr: Expr, node: Contraction, work: products.Multiplication
    ) -> Tensor | None:
        """Store an expression in the vertices that add up slices of k, if that is cheaper."""
        layout, out = work.layout, root.out
        if not layout.has_partials or not node.num_elements:
            return None
        with self.graph.scope(root.name):
            epilogue, body = contractions.epilogue_of(expr, node, work, self.stored, self._kept)
        if epilogue.by_rows and products.rows_cost_more(self.graph.target, layout):
            return None
        operands = [each for each in body.tensors if each is not work.partials]
        flat = self._flat_out(root, expr, work, operands)
        if flat is None:
            name = root.name if out is None else f"{root.name}/value"
            element, rows = expr.element_type, epilogue.by_rows
            flat = products.product_of(work.graph, layout, name, element, by_rows=rows)
            out = layout.product.matrices(flat).reshape(node.shape)
        assert out is not None
        with self.graph.scope(root.name):
            work.products(flat, epilogue)
        self._note("multiplied", node, self._planned(node, layout), "", work.partials)
        why = f"by the vertices that add up {layout.grid[1]} slices of k"
        self._note("stored", expr, why, epilogue.vertex.__name__, out, body)
        return out if root.out in (None, out) else self._copied(root, out)

    def _reduced(self, expr: Reduction, root: Root) -> Tensor:
        root = self._with_variable(root)
        operand = expr.operands[0]
        made = None
        if isinstance(operand, Leaf):
            source = _tensor(operand)
        elif operand in self.stored:
            source = self.stored[operand]
        else:
            made = self._reduced_in_one(expr, root)
            if made is None:
                source = self._store(operand, Root(operand, name=f"{root.name}/operand"))
        if made is None:
            target = self._target(expr, root.out, [source])
            made = reductions.reduce_into(
                self.recorder, source, expr.dims, expr.how, target, root.name, expr.element_type
            )
            self._note("reduced", expr, "a reduction", "", made)
        made = made.reshape(expr.shape)
        return made if root.out in (None, made) else self._copied(root, made)

    def _target(
        self, expr: Reduction, out: Tensor | None, sources: Sequence[Tensor]
    ) -> Tensor | None:
        """Return the `out` of a reduction without its kept dimensions; None to make a new one."""
        if out is None or out.shape != expr.shape:
            return None
        if any(out.intersects_with(each) for each in sources):
            return None
        maps.complete(self.mappings, out, [])
        sizes = enumerate(expr.operands[0].shape)
        return out.reshape(tuple(size for d, size in sizes if d not in expr.dims))

    def _reduced_in_one(self, expr: Reduction, root: Root) -> Tensor | None:
        """Reduce an expression without storing it; None if that is impossible or costs more."""
        fused = self._sums.pop(expr, None) or self._fused(expr, root.out)
        if fused is None or not fused.is_in_one:
            return None
        made = fused.build(root.name)
        why = "with its operand, which is not stored"
        self._note("reduced", expr, why, "", made, fused.body)
        return made

    def _fused(self, expr: Reduction, out: Tensor | None) -> reductions.FusedReduction | None:
        """Return a reduction of an expression that need not be stored.

        None if no tensor of the expression can give it a mapping, or if the expression is long:
        storing it then costs little in comparison.
        """
        operand = expr.operands[0]
        if operand.num_elements < 2:
            return None
        body = straight(operand, self.stored)
        if len(body.body.lines) > MOST_REDUCED:
            return None
        main = maps.like(self.mappings, operand.shape, body.tensors)
        if main is None:
            return None
        order = reductions.ordered(main, expr.dims)
        operands = [
            each.reshape(()) if each.num_elements == 1 else maps.broadcast_to(each, operand.shape)
            for each in body.tensors
        ]
        shares = [maps.share_of(self.mappings, each, main) for each in body.tensors]
        new_mapping = maps.spread(self.mappings, operand.shape, body.tensors, operand.element_type)
        output = self._target(expr, out, body.tensors)
        return reductions.FusedReduction(
            self.recorder,
            reductions.Fused(body, operand.element_type, expr.how, main, order, operands, shares),
            main,
            order,
            expr.dims,
            expr.how,
            output,
            expr.element_type,
            maps.sent_to(self.mappings, main, body.tensors) if new_mapping else maps.Sending(),
            new_mapping or (self.mappings.of(main), maps.Sending()),
            self.mappings.key(*body.tensors, *([] if output is None else [output])),
        )

    def _copied(self, root: Root, source: Tensor, why: str = "as it is") -> Tensor:
        out = root.out
        if out is None:
            out = self._variable(source.element_type, source.shape, root)
            if root.mapping is None:
                maps.place(self.mappings, out, source.shape, [source])
        else:
            maps.complete(self.mappings, out, [source])
            if out != source and out.intersects_with(source):
                source = self._copied(Root(root.expr, name=f"{root.name}/temporary"), source)
        if out.num_elements and out != source:
            maps.add_copy(self.recorder, self.mappings, source, out, root.name)
        copied = Leaf(source)
        copied.origin = root.expr.origin
        self._note("copied", copied, why, "", out)
        return out

    def _filled(self, expr: Number | IotaExpr, root: Root) -> Tensor:
        """Store numbers that are computed without any tensor."""
        out = root.out
        if out is None:
            out = self._variable(expr.element_type, expr.shape, root)
        if root.out is not None:
            maps.complete(self.mappings, out, [])
        elif root.mapping is None:
            maps.place(self.mappings, out, expr.shape, [])
        if not maps.is_made_in_place(expr, out):
            return self._copied_from_constant(expr, Root(expr, out, name=root.name))
        ranges = out
        if isinstance(expr, Number):  # the same in any order
            (ranges,) = self.graph.reorder_to_simplify(out, require_simplest_order=False)
        vertex = maps.add_filling(self.mappings, self.recorder.compute_set(root.name), expr, ranges)
        self._note("filled", expr, "each tile makes its own", vertex, out)
        return out

    def _copied_from_constant(self, expr: Number | IotaExpr, root: Root) -> Tensor:
        """Store numbers by copying a constant, mapped like the result if the shapes agree."""
        out, why = root.out, "numbers by position"
        assert out is not None
        if isinstance(expr, Number):
            values, why = np.full(out.shape, expr.value), "a number"
        else:
            values = maps.positions(expr).reshape(expr.shape)
        name = f"{root.name}/value"
        constant = self.graph.add_constant(expr.element_type, values.shape, values, name)
        maps.place(self.mappings, constant, constant.shape, [out])
        return self._copied(root, constant, why)

    def _note(
        self,
        what: Any,
        expr: Expr,
        why: str,
        vertex: str,
        made: Tensor,
        body: Straight | None = None,
    ) -> None:
        size = made.num_elements * made.element_type.size_bytes
        lines = None if body is None else body.body
        self.notes.append(Note.of(what, expr, why, vertex, size, lines, made.name))


def _is_same(a: Reduction, b: Reduction) -> bool:
    """Return whether two reductions are equal except for kept dimensions of size 1."""
    one, other = ((each.how, each.dims, each.element_type) for each in (a, b))
    return a.operands[0] is b.operands[0] and one == other


def _tensor(leaf: Leaf) -> Tensor:
    assert isinstance(leaf.tensor, Tensor)
    return leaf.tensor
