"""Finds the vertex classes of a C++ text, by libclang.

Only declarations are read: fields and bases of classes, what `compute` returns, which functions
contain assembly. Errors of the text are left to its compiler, so standard headers that libclang is
too old for do no harm.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from poplite.cpp.codelets import (
    Codelet,
    CodeletField,
    CodeletSource,
    CodeletUnit,
    IncludedFile,
    Refusal,
)
from poplite.errors import FileLoadError, VertexCompileError
from poplite.types import (
    BOOL,
    CHAR,
    FLOAT,
    HALF,
    INT,
    LONGLONG,
    SHORT,
    SIGNED_CHAR,
    UNSIGNED_CHAR,
    UNSIGNED_INT,
    UNSIGNED_LONGLONG,
    UNSIGNED_SHORT,
    ElementType,
)
from poplite.vertex.fields import Role, VectorLayout

HEADERS = Path(__file__).parent / "include"

ELEMENTS: dict[str, type[ElementType[Any]]] = {
    "float": FLOAT, "_Float16": HALF, "int": INT, "unsigned int": UNSIGNED_INT, "short": SHORT,
    "unsigned short": UNSIGNED_SHORT, "char": CHAR, "signed char": SIGNED_CHAR,
    "unsigned char": UNSIGNED_CHAR, "bool": BOOL, "long long": LONGLONG,
    "unsigned long long": UNSIGNED_LONGLONG,
}  # fmt: skip
"""Element types, by their names in C++."""

_ROLES: dict[str, Role] = {
    "poplar::Input": "input",
    "poplar::Output": "output",
    "poplar::InOut": "inout",
}

BASES = {"poplar::Vertex": False, "poplar::MultiVertex": True, "poplar::SupervisorVertex": False}
"""Bases of vertex classes, with whether they run once for each worker."""

PLAIN_INTRINSICS = frozenset({"__builtin_ipu_max", "__builtin_ipu_min", "__builtin_ipu_urand32"})
"""Intrinsics with a meaning on every machine, which our headers define."""


def discovered(source: CodeletSource, folders: Sequence[str]) -> CodeletUnit:
    """Return the codelets of a text; `folders` have the standard headers."""
    cindex = _libclang()
    name = source.path or "codelets.cpp"
    arguments = ["-x", "c++", "-std=c++17", *source.flags, f"-I{HEADERS}", "-D__POPC__"]
    arguments += ["-ferror-limit=0", "-Wno-everything"]
    arguments += ["-nostdinc++", "-nostdlibinc", "-nobuiltininc"]
    arguments += [part for folder in folders for part in ("-isystem", folder)]
    try:
        unit = cindex.Index.create().parse(name, arguments, unsaved_files=[(name, source.text)])
    except cindex.TranslationUnitLoadError:
        raise VertexCompileError(
            f"C++ codelets of {source.shown} cannot be read with the options that were given",
            at=source.at(1, "<module>"),
            found=f"options: {' '.join(source.flags) or 'none'}",
            fix="pass options of a compiler only, such as '-O3 -I include -DN=4'",
        ) from None
    return _Unit(cindex, unit, source, name).file()


def _libclang() -> Any:
    try:
        import clang.cindex
    except ImportError as error:
        raise FileLoadError(
            "C++ codelets need the package libclang",
            found=f"it cannot be imported: {error}",
            fix='run pip install "poplite[cpp]"',
        ) from None
    return clang.cindex


class _Unit:
    """A text that libclang has read."""

    def __init__(self, cindex: Any, unit: Any, source: CodeletSource, name: str) -> None:
        self._kinds, self._unit, self._source, self._name = cindex.CursorKind, unit, source, name

    def file(self) -> CodeletUnit:
        """Return its codelets."""
        trapped = dict(self._trapped())
        found = [self._codelet(each, trapped) for each in self._classes(self._unit.cursor)]
        return CodeletUnit(
            self._source,
            tuple(each for each in found if each is not None),
            tuple(sorted(trapped)),
            tuple(self._includes()),
            tuple(self._notes()),
        )

    # -- classes

    def _classes(self, cursor: Any) -> Iterator[Any]:
        """Yield the definitions of classes, and instantiations of templates, in the text."""
        kinds = self._kinds
        for each in cursor.get_children():
            if each.location.file is None or self._is_of_system(each.location.file):
                continue
            if each.kind in (kinds.NAMESPACE, kinds.LINKAGE_SPEC, kinds.UNEXPOSED_DECL):
                yield from self._classes(each)
            elif each.kind in (kinds.CLASS_DECL, kinds.STRUCT_DECL) and each.is_definition():
                yield each
                yield from self._classes(each)

    def _codelet(self, cursor: Any, trapped: dict[tuple[int, int], Refusal]) -> Codelet | None:
        """Return the codelet of a class, or None if it is not a vertex class."""
        declared = _template_of(cursor)
        base = self._base(declared)
        compute = self._compute(declared)
        if base is None or compute is None:
            return None
        fields, refused = list[CodeletField](), None
        for member in self._members(cursor, declared):
            field = _field(member)
            if isinstance(field, str):
                refused = Refusal(field, member.location.line)
                break
            fields.append(field)
        reached = self._reached(compute, set())
        for extent, refusal in trapped.items():
            if extent in reached:
                refused = refused or refusal
        bodies = [_bare(self._source.text.encode()[a:b].decode()) for a, b in reached]
        for field in fields:
            if field.role == "state" and any(_changes(body, field.name) for body in bodies):
                why = f"compute changes its member '{field.name}', which no state can be"
                refused = refused or Refusal(why, cursor.location.line)
        spelled = cursor.type.get_canonical().spelling
        return Codelet(
            _plain(spelled),
            spelled,
            BASES[base],
            tuple(fields),
            self._returns(compute),
            cursor.location.line,
            self._constraints(declared),
            refused,
            any(map(_may_not_end, bodies)),
        )

    def _base(self, cursor: Any) -> str | None:
        """Return the vertex class of Poplar from which a class derives."""
        for each in cursor.get_children():
            if each.kind == self._kinds.CXX_BASE_SPECIFIER:
                name = each.type.get_canonical().spelling
                if name in BASES:
                    return str(name)
                found = self._base(each.type.get_canonical().get_declaration())
                if found is not None:
                    return found
        return None

    def _compute(self, cursor: Any) -> Any:
        """Return the `compute` of a class or of its bases; None if there is none."""
        kinds = self._kinds
        for each in cursor.get_children():
            if each.kind == kinds.CXX_METHOD and each.spelling == "compute":
                return each.get_definition() or each
        for each in cursor.get_children():
            if each.kind == kinds.CXX_BASE_SPECIFIER:
                base = each.type.get_canonical().get_declaration()
                found = self._compute(_template_of(base))
                if found is not None:
                    return found
        return None

    def _members(self, cursor: Any, declared: Any) -> Iterator[Any]:
        """Yield the members of a class that are data, those of bases first."""
        for each in declared.get_children():
            if each.kind == self._kinds.CXX_BASE_SPECIFIER:
                base = each.type.get_canonical()
                if base.spelling not in BASES:
                    yield from self._members(base.get_declaration(), base.get_declaration())
        yield from cursor.type.get_fields()

    def _returns(self, compute: Any) -> bool:
        """Return whether `compute` returns a value; the result of `auto` is in its body."""
        result = compute.result_type.get_canonical().spelling
        if result != "auto":
            return bool(result != "void")
        tokens = [each.spelling for each in compute.get_tokens()]
        pairs = zip(tokens, tokens[1:], strict=False)
        return any(word == "return" and following != ";" for word, following in pairs)

    def _constraints(self, cursor: Any) -> tuple[str, ...]:
        """Return the texts of `[[poplar::constraint("...")]]` between `class` and the name."""
        begin = cursor.extent.start.offset
        head = self._source.text.encode()[begin : cursor.location.offset].decode()
        found = re.findall(r"poplar::constraint\s*\(((?:\s*\"[^\"]*\"\s*,?)*)\)", head)
        return tuple(text for each in found for text in re.findall(r'"([^"]*)"', each))

    # -- functions that cannot run here

    def _trapped(self) -> Iterator[tuple[tuple[int, int], Refusal]]:
        """Yield the bodies of functions with assembly or intrinsics of tiles."""
        for function, body in self._bodies(self._unit.cursor):
            text = self._source.text.encode()[body[0] : body[1]].decode()
            why = _why_trapped(_bare(text))
            if why:
                yield body, Refusal(f"{function.spelling}: {why}", function.location.line)

    def _bodies(self, cursor: Any) -> Iterator[tuple[Any, tuple[int, int]]]:
        """Yield the functions that the text defines, with the extents of their bodies."""
        kinds = self._kinds
        for each in cursor.get_children():
            if each.location.file is None or each.location.file.name != self._name:
                continue
            if each.kind in (kinds.CXX_METHOD, kinds.FUNCTION_DECL, kinds.FUNCTION_TEMPLATE):
                if (body := self._body(each)) is not None:
                    yield each, body
            else:
                yield from self._bodies(each)

    def _body(self, function: Any) -> tuple[int, int] | None:
        for part in function.get_children():
            if part.kind == self._kinds.COMPOUND_STMT:
                return part.extent.start.offset, part.extent.end.offset
        return None

    def _reached(self, function: Any, found: set[tuple[int, int]]) -> set[tuple[int, int]]:
        """Return the bodies in the text of a function and of all that it calls, by name."""
        names = {each.spelling: body for each, body in self._bodies(self._unit.cursor)}
        own = self._body(function)
        waiting = [own] if own is not None else []
        while waiting:
            body = waiting.pop()
            if body in found:
                continue
            found.add(body)
            text = self._source.text.encode()[body[0] : body[1]].decode()
            called = re.findall(r"(\w+)\s*(?:<[^;{}()]*>)?\s*\(", text)
            waiting += [names[name] for name in called if name in names]
        return found

    # -- the text

    def _includes(self) -> Iterator[IncludedFile]:
        """Yield the user's files that the text includes; standard headers belong to a compiler."""
        seen = set()
        for each in self._unit.get_includes():
            path = Path(each.include.name)
            if path in seen or self._is_of_system(each.include):
                continue
            seen.add(path)
            yield IncludedFile(str(path), hashlib.sha256(path.read_bytes()).hexdigest())

    def _is_of_system(self, file: Any) -> bool:
        path = Path(file.name)
        return (
            HEADERS in path.parents
            or "/include/" in file.name.replace("\\", "/")
            and ("/usr/" in file.name or "ziglang" in file.name or "/lib/" in file.name)
        )

    def _notes(self) -> Iterator[str]:
        if _OF_TILES.search(self._source.text):
            yield "text behind #ifdef __IPU__ is not compiled here"
        if _STATIC.search(self._source.text):
            yield "all tiles share a static variable here; on a machine each tile has its own"


_OF_TILES = re.compile(r"^\s*#\s*if(def\s+|\s+defined\s*\(?\s*)__IPU__", re.MULTILINE)
_STATIC = re.compile(
    r"^\s+static\s+(?!constexpr|const|inline|_)\w[\w:<> ]*\s\w+\s*(=|;)", re.MULTILINE
)


def _template_of(cursor: Any) -> Any:
    """Return the template from which a class was instantiated, or the class itself."""
    from clang.cindex import conf

    found = conf.lib.clang_getSpecializedCursorTemplate(cursor)
    is_there = found is not None and found.kind.is_declaration()
    return found if is_there else cursor


def _plain(name: str) -> str:
    """Return the name of a type for users: without blanks, with `half`.

    >>> _plain("ns::Nms<float, _Float16>")
    'ns::Nms<float,half>'
    """
    return re.sub(r"\b_Float16\b", "half", name).replace(" ", "")


def _bare(text: str) -> str:
    """Return a C++ text without comments and the contents of strings."""
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"', "", text, flags=re.DOTALL)


def _changes(body: str, name: str) -> bool:
    """Return whether a text assigns a member.

    >>> _changes("x[index++] = 1;", "index"), _changes("if (n == 3) y[n] = n;", "n")
    (True, False)
    """
    member = rf"(?<![\w.>])(?:this\s*->\s*)?{name}\b"
    assigned = rf"{member}(?:\[[^][]*\])*\s*(?:\+\+|--|(?:[-+*/%&|^]|<<|>>)?=(?!=))"
    return bool(re.search(rf"{assigned}|(?:\+\+|--)\s*{member}", body))


_LOOP = re.compile(r"\b(while|goto)\b|\bfor\s*\(([^;()]*(?:\([^)]*\))?[^;()]*);([^;]*);([^)]*)\)")


def _may_not_end(body: str) -> bool:
    """Return whether a text has a loop other than `for` with an order comparison and a step.

    >>> _may_not_end("for (int i = 0; i < n; ++i) {}"), _may_not_end("while (x) {}")
    (False, True)
    """
    for match in _LOOP.finditer(body):
        if match[1] or not re.search(r"[<>]", match[3] or "") or not match[4].strip():
            return True
    return False


def _why_trapped(body: str) -> str:
    if re.search(r"\b(asm|__asm__|__asm)\b", body):
        return "it contains inline assembly"
    for name in re.findall(r"\b__builtin_(?:ipu|colossus)_\w+", body):
        if name not in PLAIN_INTRINSICS:
            return f"it calls the intrinsic {name}, which only a tile has"
    if re.search(r"\b(runall|__runCodelet\w+|runOnAll\w*|RUN_ALL)\b", body):
        return "it starts workers"
    return ""


# -- fields ----------------------------------------------------------------------------------------


def _field(member: Any) -> CodeletField | str:
    """Return the field of a member, or why it cannot be one."""
    name, spelled = member.spelling, member.type.get_canonical().spelling.removeprefix("const ")
    role: Role = "state"
    depth, layout, kind = 0, ("SPAN", 1, False), spelled
    head, arguments = _arguments(kind)
    if head in _ROLES:
        role, kind = _ROLES[head], arguments[0]
        head, arguments = _arguments(kind)
    if head == "poplar::Vector":
        depth, kind, own = 1, arguments[0], arguments[1:]
        inner, inside = _arguments(kind)
        if inner in _ROLES and role == "state":
            role = _ROLES[inner]
            vector, arguments = _arguments(inside[0])
            if vector != "poplar::Vector":
                return f"field '{name}' is a list of scalars, {spelled}"
            depth, kind, own = 2, arguments[0], arguments[1:]
        layout = _layout(own)
    element = ELEMENTS.get(kind)
    if element is None:
        return f"field '{name}' has the type {_plain(spelled)}, which no field can have"
    return CodeletField(name, role, element, depth, *layout)


def _arguments(spelled: str) -> tuple[str, list[str]]:
    """Return the name of a template and its arguments.

    >>> _arguments("poplar::Input<poplar::Vector<float, poplar::VectorLayout::SPAN>>")
    ('poplar::Input', ['poplar::Vector<float, poplar::VectorLayout::SPAN>'])
    """
    head, _, rest = spelled.partition("<")
    parts, depth = [""], 0
    for letter in rest[: rest.rfind(">")] if rest else "":
        depth += (letter == "<") - (letter == ">")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return head, [each.strip() for each in parts if each.strip()]


def _layout(arguments: Sequence[str]) -> tuple[str, int, bool]:
    """Return the layout that arguments of a `Vector` behind its element type give."""
    if not arguments:
        return "SPAN", 1, False
    name = arguments[0].rpartition("::")[2]
    number = re.fullmatch(r"\(poplar::VectorLayout\)(\d+)", arguments[0])
    if number:
        name = list(VectorLayout.__members__)[int(number[1]) - 1]
    align = int(arguments[1]) if len(arguments) > 1 else 1
    return name, align, arguments[2:] == ["true"]
