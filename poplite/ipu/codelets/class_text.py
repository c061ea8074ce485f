"""One vertex class as the text of a codelet.

class Axpy : public poplar::Vertex {
public:
  float factor;
  poplar::Input<poplar::Vector<float>> x;
  poplar::InOut<poplar::Vector<float>> y;

  bool compute() {
    for (unsigned i = 0; i < y.size(); ++i) {
      y[i] = y[i] + factor * x[i];
    }
    return true;
  }
};

Which outputs a `compute` writes completely, whatever its fields hold.

What a real machine leaves in elements of an `Output` that are not written is not promised; so all
others are exported as `InOut`. The text alone decides::

    self.y = ...                                        outside of branches and loops
    for i in range(len(self.out)): self.out[i] = ...    the same, in every turn
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator, Sequence

from poplite.errors import VertexCompileError
from poplite.ipu.codelets.function import CodeletFunction, member
from poplite.ipu.codelets.statements import function_text
from poplite.ipu.codelets.terms import ELEMENTS, identifier, unused
from poplite.text import clipped
from poplite.types import QUARTER, QUARTER_METADATA
from poplite.vertex.compute.arithmetic import Kind
from poplite.vertex.compute.identity import check, code_identity
from poplite.vertex.compute.typing.facts import Checked, ElementsValue
from poplite.vertex.fields import ROLE_NAMES, Field, VectorLayout
from poplite.vertex.vertex import MultiVertex, Vertex


def class_text(
    vertex: type[Vertex],
    name: str,
    mathematics: set[tuple[str, Kind]],
    *,
    stops_outside: bool,
) -> str:
    """Return the codelet of a vertex class under a name, and note what it calls of `math`.

    With `stops_outside`, an index outside of a field stops the vertex.

    Raises `VertexCompileError` for what a codelet cannot have.
    """
    _check_fields(vertex)
    checked = check(vertex)
    own = own_text(vertex)
    is_multi = issubclass(vertex, MultiVertex)
    code_identity(vertex)  # refuses what prints
    completely = set() if own is not None else written_completely(checked)
    if own is None:
        functions = _functions(checked, mathematics, is_multi=is_multi, stops_outside=stops_outside)
    else:
        worker = f"unsigned {identifier(checked.scope.parameters[0])}" if is_multi else ""
        body = textwrap.indent(textwrap.dedent(own).strip("\n"), "  ")
        functions = [[f"bool compute({worker}) {{", *body.split("\n"), "}"]]
    lines = [f"// {line}" for line in _summary(vertex)]
    limits = "".join(f'[[poplar::constraint("{text}")]] ' for text in vertex.constraints)
    lines += [f"class {limits}{name} : public poplar::{'Multi' * is_multi}Vertex {{"]
    lines += ["public:"]
    for field in declared_fields(vertex):
        lines.append(f"  {field_type(field, field.name in completely)} {member(field.name)};")
    for number, function in enumerate(functions):
        lines += [""] if number or declared_fields(vertex) else []
        lines += [f"  {line}" if line else "" for line in function]
    return "\n".join([*lines, "};"])


def own_text(vertex: type[Vertex]) -> str | None:
    """Return the C++ that a class gives for its `compute`, `cpp`; None where it gives none.

    A class that has another `compute` than the one beside `cpp` does not inherit it.
    """
    for cls in vertex.__mro__:
        if "cpp" in vars(cls):
            text = vars(cls)["cpp"]
            if isinstance(text, str):
                return text
            raise VertexCompileError(
                f"'{vertex.__name__}.cpp' is {clipped(text)}, not a text",
                at=vertex.location,
                fix='cpp = """...""", the body of compute in C++',
            )
        if "compute" in vars(cls):
            return None
    return None


def declared_fields(vertex: type[Vertex]) -> list[Field]:
    """Return the fields of a class that its codelet has."""
    is_multi = issubclass(vertex, MultiVertex)
    return [
        field
        for name, field in vertex.fields.items()
        if not field.is_implicit and not (is_multi and name == "num_workers")
    ]


def field_type(field: Field, is_complete: bool) -> str:
    """Return the C++ type of a field; an output that is not written completely is an InOut.

    >>> from poplite.types import FLOAT
    >>> field_type(Field("x", "input", FLOAT, 2), False)
    'poplar::Vector<poplar::Input<poplar::Vector<float>>>'
    """
    element = ELEMENTS[field.element]
    if not field.is_edge:
        return f"poplar::Vector<{element}>" if field.depth else element
    role = "InOut" if field.role == "output" and not is_complete else ROLE_NAMES[field.role]
    if field.depth == 0:
        return f"poplar::{role}<{element}>"
    edge = f"poplar::{role}<poplar::Vector<{element}{_layout(field)}>>"
    return edge if field.depth == 1 else f"poplar::Vector<{edge}>"


def _layout(field: Field) -> str:
    """Return the arguments of a vector type for a layout; all have a length."""
    layout = field.layout
    is_short = layout.vector is VectorLayout.SHORT_SPAN
    name = "SHORT_SPAN" if is_short else "SPAN"
    if layout.interleaved or layout.min_align > 1:
        align = max(layout.min_align, field.element.size_bytes)
        interleaved = ", true" if layout.interleaved else ""
        return f", poplar::VectorLayout::{name}, {align}{interleaved}"
    return f", poplar::VectorLayout::{name}" if is_short else ""


def _check_fields(vertex: type[Vertex]) -> None:
    for field in vertex.fields.values():
        if field.variable is not None:
            raise VertexCompileError(
                f"'{vertex.__name__}' is a template, and field '{field.name}' has no element type",
                at=vertex.location,
                found=f"declared: {field}",
                fix=f"name the element types: {vertex.__name__}[pl.FLOAT]",
            )
        if field.element in (QUARTER, QUARTER_METADATA):
            raise VertexCompileError(
                f"'{vertex.__name__}.{field.name}': a codelet cannot compute with QUARTER yet",
                at=vertex.location,
                found=f"declared: {field}",
                fix="declare a field of HALF",
            )


def _functions(
    checked: Checked, mathematics: set[tuple[str, Kind]], *, is_multi: bool, stops_outside: bool
) -> list[list[str]]:
    """Return the text of `compute` and of all that it calls, callees first."""
    names = dict(_names(checked))
    return [
        function_text(
            CodeletFunction(each, names, mathematics, stops_outside=stops_outside),
            is_multi=is_multi,
        )
        for each in reversed(list(checked.functions()))
    ]


def _names(checked: Checked) -> Iterator[tuple[Checked, str]]:
    taken = {"compute", *map(member, checked.vertex.fields)}
    for each in checked.functions():
        own = "compute"
        if each is not checked:
            own = unused(identifier(each.function.__name__), taken)
        taken.add(own)
        yield each, own


def _summary(vertex: type[Vertex]) -> list[str]:
    """Return the first paragraph of the docstring of a class."""
    doc = vars(vertex).get("__doc__") or vars(vertex.__bases__[0]).get("__doc__")
    if vertex.__bases__[0] in (Vertex, MultiVertex):
        doc = vars(vertex).get("__doc__")
    text = (doc or "").strip().split("\n\n")[0]
    return [line.strip().rstrip("\\") for line in text.splitlines()]


# -- written ---------------------------------------------------------------------------------------


def written_completely(checked: Checked) -> set[str]:
    """Return the outputs of which every element is written."""
    if issubclass(checked.vertex, MultiVertex) or checked.raises:
        return set()
    return {
        name
        for name, field in checked.vertex.fields.items()
        if field.role == "output" and _covers(checked, checked.text.tree.body, name, field.depth)
    }


def _covers(checked: Checked, body: Sequence[ast.stmt], name: str, depth: int) -> bool:
    for statement in body:
        if any(isinstance(node, ast.Return) for node in ast.walk(statement)):
            return False
        if depth == 0 and _stores(statement, name):
            return True
        if depth and isinstance(statement, ast.For):
            owner = _length_of(checked, statement)
            if owner is not None and _is_of(checked, owner, name, depth):
                return _each_turn(checked, statement, name, depth)
    return False


def _stores(statement: ast.stmt, name: str) -> bool:
    return isinstance(statement, ast.Assign) and any(
        isinstance(target, ast.Attribute) and target.attr == name for target in statement.targets
    )


def _length_of(checked: Checked, loop: ast.For) -> ast.expr | None:
    """Return the vector whose indices a loop goes through, all of them."""
    call = loop.iter
    if not isinstance(call, ast.Call) or checked.facts.calls.get(call) != "indices":
        return None
    stop = call.args[0]
    if len(call.args) == 1 and isinstance(stop, ast.Call) and stop not in checked.facts.calls:
        return stop.args[0] if stop not in checked.facts.helpers else None
    return None


def _is_of(checked: Checked, node: ast.expr, name: str, depth: int) -> bool:
    value = checked.facts.containers.get(node)
    return isinstance(value, ElementsValue) and (value.field.name, value.depth) == (name, depth)


def _each_turn(checked: Checked, loop: ast.For, name: str, depth: int) -> bool:
    """Return whether each turn writes its element, or all of its row."""
    target = loop.target
    if not isinstance(target, ast.Name) or any(_leaves(loop.body)) or _assigns(loop, target.id):
        return False
    for statement in loop.body:
        if depth == 1 and isinstance(statement, ast.Assign):
            places = (each for each in statement.targets if isinstance(each, ast.Subscript))
            if any(_is_element(checked, each, name, target.id) for each in places):
                return True
        if depth == 2 and isinstance(statement, ast.For):
            row = _length_of(checked, statement)
            if row is not None and _is_row(checked, row, name, target.id):
                return _each_turn(checked, statement, name, 1)
    return False


def _is_element(checked: Checked, place: ast.Subscript, name: str, index: str) -> bool:
    is_index = isinstance(place.slice, ast.Name) and place.slice.id == index
    return is_index and _is_of(checked, place.value, name, 1)


def _is_row(checked: Checked, row: ast.expr, name: str, index: str) -> bool:
    """Return whether a vector is the row of this turn, or a local that holds it."""
    if not _is_of(checked, row, name, 1):
        return False
    if isinstance(row, ast.Name):
        found = [
            each.value
            for each in ast.walk(checked.text.tree)
            if isinstance(each, ast.Assign)
            and any(isinstance(t, ast.Name) and t.id == row.id for t in each.targets)
        ]
        if len(found) != 1:
            return False
        row = found[0]
    is_index = isinstance(row, ast.Subscript) and isinstance(row.slice, ast.Name)
    return is_index and row.slice.id == index  # type: ignore[attr-defined]


def _leaves(statements: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield what may end a turn early."""
    for statement in statements:
        for node in ast.walk(statement):
            if isinstance(node, ast.Break | ast.Continue | ast.Return | ast.Raise | ast.While):
                yield statement


def _assigns(loop: ast.For, name: str) -> bool:
    return any(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
        for statement in loop.body
        for node in ast.walk(statement)
    )
