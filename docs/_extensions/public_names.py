"""Reference pages: public names from their docstrings, with Poplar's spelling.

    ```{names} poplite
    Graph Tensor Variable
    ```

A page lists the names that belong together; what is said of each comes from its docstring. The
build warns of a public name that the pages of its package leave out, and of a namespace of PopLibs
that no page lists. A name in backquotes in a docstring is a link where it is public.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Sequence
from enum import Enum
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.addnodes import desc_annotation, pending_xref
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from poplite.poplar.declarations import TEXTS, declared_rows
from poplite.poplar.spelling import names_here

if TYPE_CHECKING:
    from sphinx.application import Sphinx

log = logging.getLogger(__name__)


class Names(SphinxDirective):
    """Documents the names in its content, which are those of the package that it is given."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the nodes that autodoc makes of each name."""
        package = import_module(self.arguments[0])
        source, line = self.get_source_info()
        text = StringList(["````{eval-rst}"], source)  # the page is Markdown, docstrings are not
        shown = _shown(self.env)
        listed = shown.setdefault(package.__name__, set())
        for name in " ".join(self.content).split():
            for each in _directive(package, name, is_repeated=_is_shown(shown, package, name)):
                text.append(each, source, line)
            listed.add(name)
        text.append("````", source, line)
        node = nodes.section()
        node.document = self.state.document
        self.state.nested_parse(text, self.content_offset, node, match_titles=True)
        return node.children


def _is_shown(shown: dict[str, set[str]], package: ModuleType, name: str) -> bool:
    """Return whether another package shows the same class by this name."""
    others = (import_module(other) for other, names in shown.items() if name in names)
    return any(getattr(other, name) is getattr(package, name) for other in others)


def _directive(package: ModuleType, name: str, *, is_repeated: bool) -> Iterator[str]:
    """Yield the directive of autodoc for a name."""
    value = getattr(package, name)
    is_class = isinstance(value, type)
    kind = "class" if is_class else "function" if callable(value) else "data"
    if is_class and issubclass(value, Exception):
        kind = "exception"
    yield f".. auto{kind}:: {package.__name__}.{name}"
    if kind == "class":
        yield "   :members:"
        if is_repeated:
            yield "   :no-index:"
    yield ""


def _shown(env: Any) -> dict[str, set[str]]:
    """Return the names that pages document, by package."""
    if not hasattr(env, "public_names"):
        env.public_names = {}
    shown: dict[str, set[str]] = env.public_names
    return shown


def missing_names(app: Sphinx, env: Any) -> None:
    """Warn of public names that no page documents, and of namespaces of PopLibs."""
    for namespace in sorted(_namespaces(COMPAT) - _shown(env).keys()):
        log.warning("no page documents the namespace %s", namespace)
    for package, names in _shown(env).items():
        left = set(_public(package)) - names
        left -= {name for name in left if name == "__version__" or name in names_here()}
        if left:
            log.warning("no page documents these names of %s: %s", package, " ".join(sorted(left)))


@cache
def _public(package: str) -> Sequence[str]:
    """Return the public names of a package that are not modules."""
    whole = import_module(package)
    return [name for name in whole.__all__ if not inspect.ismodule(getattr(whole, name))]


COMPAT = "poplite.compat"
"""The package of PopLibs' namespaces."""


def _namespaces(package: str) -> set[str]:
    """Return the public modules within a package, and within these."""
    whole = import_module(package)
    modules = {f"{package}.{n}" for n in whole.__all__ if inspect.ismodule(getattr(whole, n))}
    return modules.union(*map(_namespaces, modules))


# -- Poplar's spelling -----------------------------------------------------------------------------


def skip_poplar_spelling(
    app: Sphinx, what: str, name: str, value: Any, skip: bool, options: Any
) -> bool | None:
    """Leave out members in Poplar's spelling, and nested names of classes that are public."""
    is_alias = what == "class" and isinstance(value, type) and not skip
    return True if is_alias or name in _spellings() else None


@cache
def _spellings() -> frozenset[str]:
    rows = (row for owner in TEXTS for row in declared_rows(owner))
    return frozenset(row.member for row in rows if row.member != row.member.lower())


def skip_fields_of_tuples(
    app: Sphinx, what: str, name: str, value: Any, skip: bool, options: Any
) -> bool | None:
    """Leave out fields of a named tuple, which its docstring describes."""
    return True if type(value).__name__ == "_tuplegetter" else None


def plain_signature(
    app: Sphinx, what: str, name: str, value: Any, options: Any, signature: str, result: str
) -> tuple[str, str] | None:
    """Show an enumeration without its call, and aliases within unions by their names."""
    if isinstance(value, type) and issubclass(value, Enum):
        return "", ""  # the call looks a member up
    if not signature:
        return None
    plain = re.sub(r"TypeAliasForwardRef\('([\w.]+)'\)", r"\1", signature)
    return plain.replace("npt.", ""), (result or "").replace("npt.", "")


def say_which_error(
    app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]
) -> None:
    """Name the class before `whatever f raises`, where a section needs one."""
    lines[:] = [re.sub(r"^( +)(?=whatever )", r"\1PopliteError: ", line) for line in lines]


def add_poplar_declarations(
    app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]
) -> None:
    """Add Poplar's declarations to the docstring of what implements them."""
    owner, _, member = name.removeprefix("poplite.").rpartition(".")
    if owner in TEXTS:
        rows = [r for r in declared_rows(owner) if (r.ours.partition("(")[0] or r.member) == member]
        lines += ["", *(f"| Poplar: ``{row.declaration}``" for row in rows), ""]


def add_link_to_rules(
    app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]
) -> None:
    """Add a link to the page with the rules to the docstring of a function in PopLibs' spelling."""
    if what in ("function", "method") and name.startswith(f"{COMPAT}."):
        lines += ["", ":doc:`Rules and forms </poplar-names>`", ""]


def keep_first_lines(
    app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]
) -> None:
    """Keep napoleon from reading what is before a colon as the type of a property."""
    if what in ("property", "attribute", "data") and lines:
        lines.insert(0, "\\")  # an escaped end of line, of which nothing is shown


# -- names in docstrings ---------------------------------------------------------------------------

PACKAGES = ("ops", "ops.nn", "ops.linalg", "ops.random", "named", "testing", "viz")
"""Packages whose names docstrings write as `ops.map`."""


def name_role(
    role: str, raw: str, text: str, line: int, inliner: Any, *rest: Any
) -> tuple[list[nodes.Node], list[nodes.system_message]]:
    """Return text in backquotes as code, with a link to the public name that it is."""
    code = nodes.literal(raw, text, classes=["code"])
    env = inliner.document.settings.env
    target = _target(text, env.ref_context.get("py:module", "poplite"))
    if target is None:
        return [code], []
    link = pending_xref(
        raw, code, refdomain="py", reftype="obj", reftarget=target, refdoc=env.docname
    )
    return [link], []


@cache
def _target(text: str, package: str) -> str | None:
    """Return the whole name of the public object that a docstring names so, or None."""
    if not re.fullmatch(r"[A-Za-z_.\d]+(\(.*\))?", text):
        return None
    path = text.partition("(")[0].removeprefix("pl.").removeprefix("poplite.")
    path = re.sub(r"^ng\.", "named.", path)
    *before, name = path.split(".")
    for owner in (package, "poplite"):
        first = path.split(".")[0]
        if first in _public(owner) and len(before) < 2:
            is_there = not before or hasattr(getattr(import_module(owner), first), name)
            return f"{owner}.{path}" if is_there else None
    owner = ".".join(before)
    return f"poplite.{path}" if owner in PACKAGES and name in _public(f"poplite.{owner}") else None


def resolve_types_exactly(app: Sphinx, doctree: nodes.document) -> None:
    """Keep types in signatures from becoming links to members of the same name."""
    for link in doctree.findall(pending_xref):
        link.attributes.pop("refspecific", None)


def leave_out_objects(app: Sphinx, doctree: nodes.document) -> None:
    """Leave out values of attributes that are not numbers or text: they say nothing to a reader."""
    for shown in list(doctree.findall(desc_annotation)):
        if re.match(r" = .*\(", shown.astext(), re.DOTALL):
            shown.parent.remove(shown)


# -- links to files outside the site ---------------------------------------------------------------

PLACES = {
    "../CONTRIBUTING.md": "contributing.md",
    "../CHANGELOG.md": "changelog.md",
    "../examples": "gallery.md",
    "../tools/errors.md": "errors-by-name.md",
}
"""Files that pages link to as they are read in a repository, and their pages on the site."""


def lead_to_pages(app: Sphinx, page: str, source: list[str]) -> None:
    """Replace links to files of the repository by links to their pages."""
    for path, place in PLACES.items():
        source[0] = source[0].replace(f"]({path})", f"]({place})")


def load_notebook_style_where_used(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Leave the style of notebooks out of other pages."""
    if not str(app.env.doc2path(page)).endswith(".ipynb"):
        context["css_files"] = [f for f in context["css_files"] if "mystnb" not in str(f)]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive, the role, and what is checked."""
    app.add_directive("names", Names)
    app.add_role("name", name_role)
    app.connect("autodoc-skip-member", skip_poplar_spelling)
    app.connect("autodoc-skip-member", skip_fields_of_tuples)
    app.connect("autodoc-process-signature", plain_signature)
    app.connect("autodoc-process-docstring", say_which_error, priority=100)
    app.connect("autodoc-process-docstring", keep_first_lines, priority=100)
    app.connect("autodoc-process-docstring", add_poplar_declarations, priority=900)
    app.connect("autodoc-process-docstring", add_link_to_rules, priority=900)
    app.connect("doctree-read", resolve_types_exactly)
    app.connect("doctree-read", leave_out_objects)
    app.connect("source-read", lead_to_pages)
    app.connect("html-page-context", load_notebook_style_where_used, priority=900)
    app.connect("env-check-consistency", missing_names)
    return {"parallel_read_safe": False}
