"""The tables of docs/poplar-names.md, made of the table of signatures and of what is absent.

python tests/helpers/names_page.py        writes them anew
"""

from __future__ import annotations

import re
import sys
from functools import reduce
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

import poplite as pl  # noqa: E402
from helpers.poplar_members import ENUMERATIONS  # noqa: E402
from helpers.poplar_signatures import REFUSALS, ROWS, Example  # noqa: E402
from poplite.poplar.absent import MEMBERS, NAMES, absent_members, absent_names  # noqa: E402
from poplite.poplar.binder import parameters_of  # noqa: E402
from poplite.poplar.declarations import (  # noqa: E402
    LIBRARIES,  # noqa: E402
    TEXTS,
    Row,
    declared_rows,
)
from poplite.poplar.spelling import names_here  # noqa: E402

PAGE = ROOT / "docs/poplar-names.md"


def signatures() -> str:
    """Return the table of declarations, and the names that have none."""
    lines = ["| class | Poplar | poplite | for example |", "| --- | --- | --- | --- |"]
    for row in (row for owner in TEXTS for row in declared_rows(owner)):
        if row.member not in absent_members(ABSENT_OF.get(row.owner, row.owner)):
            example = _example(row)
            ours = "; ".join(filter(None, (row.ours and f"`{row.ours}`", row.note)))
            ours = ours.replace(" | ", ": ")
            owner = f"[{row.owner}]({row.page})" if row.page else row.owner
            declaration = row.declaration.replace("[](", "[] (")  # which is no link
            lines.append(
                f"| {owner} | `{declaration}` {row.mark} | {ours} "
                f"| {f'`{example.ours or example.camel}`' if example else ''} |"
            )
    for other in ROWS:
        if "(" not in other.poplar and not other.owner and other.member not in names_here():
            lines.append(f"| | `{other.poplar}` | `{other.ours}` | |")
    return "\n".join(lines)


ABSENT_OF = {"VertexIntrospector": "VertexInstance", "": "pl"}
"""Under which names the absent members of a class of Poplar are listed."""


def _example(row: Row) -> Example | None:
    """Return a call of a declaration, if its number of arguments tells which one is meant."""
    fitting = [other for other in declared_rows(row.owner) if other.member == row.member]
    for example in ROWS:
        name, _, rest = example.poplar.replace("operator[] ", "operator[]").partition("(")
        is_same = name.rpartition(".")[2].strip() == row.member
        given = rest.partition(")")[0]
        count = len(given.split(",")) if given else 0
        is_same = is_same and example.owner in (row.owner, "Program")
        if is_same and [other for other in fitting if count in _counts(other)] == [row]:
            return example
    return None


def _counts(row: Row) -> range:
    """Return how many arguments a declaration takes."""
    parameters = parameters_of(row.declaration)
    least = sum(not each.default for each in parameters) - row.member.startswith("operator=")
    return range(least, len(parameters) + 1)


def absences() -> str:
    """Return the table of what is refused."""
    rows = [
        (f"{owner}::{name}", *why)
        for owner in MEMBERS
        for name, why in absent_members(owner).items()
    ]
    of_errors = vars(pl.PopliteError)["attachSourceLocation"]  # they are made before the table
    rows.append(("PopliteError::attachSourceLocation", of_errors.reason, of_errors.instead))
    rows += [
        (f"{each.owner}::{each.poplar}".removeprefix("::"), each.reason, each.instead)
        for each in REFUSALS
    ]
    rows += [(name, *why) for name, why in absent_names("pl").items()]
    lines = ["| Poplar | why not | instead |", "| --- | --- | --- |"]
    for name, reason, instead in rows:
        lines.append(f"| `{name}` | {reason} | {instead and f'`{instead}`'} |")
    return "\n".join(lines)


def libraries() -> str:
    """Return the table of PopLibs' names that are refused."""
    lines = ["| library | not in poplite | why | instead |", "| --- | --- | --- | --- |"]
    for namespace in NAMES:
        names: dict[tuple[str, str], list[str]] = {}
        for name, why in absent_names(namespace).items():
            names.setdefault(why, []).append(f"`{name}`")
        if namespace != "pl":
            lines += [
                f"| {namespace} | {', '.join(each)} | {reason} | `{instead}` |"
                for (reason, instead), each in names.items()
            ]
    return "\n".join(lines)


def overloads() -> str:
    """Return the table of PopLibs' functions with several declarations."""
    lines = ["| library | PopLibs | poplite |", "| --- | --- | --- |"]
    for owner in LIBRARIES:
        for row in declared_rows(owner):
            lines.append(f"| {owner} | `{row.declaration}` {row.mark} | `{row.ours}` |")
    return "\n".join(lines)


def enumerations() -> str:
    """Return the table of the members of enumerations that are spelled otherwise here."""
    lines = ["| enumeration | Poplar | poplite |", "| --- | --- | --- |"]
    for path, names in ENUMERATIONS.items():
        members = reduce(getattr, path.split("."), pl)
        for name in names.split():
            ours = getattr(members, name).name
            if ours != name:
                lines.append(f"| {path} | `{name}` | `{ours}` |")
    return "\n".join(lines)


def made(page: str) -> str:
    """Return a page with its tables made anew."""
    tables = (
        ("signatures", signatures()),
        ("enumerations", enumerations()),
        ("absent", absences()),
        ("libraries", libraries()),
        ("overloads", overloads()),
    )
    for name, table in tables:
        pattern = rf"(<!-- {name} -->\n).*?(\n<!-- end -->)"
        found = re.search(pattern, page, re.S)
        assert found is not None, name
        page = page.replace(found[0], found[1] + table + found[2])
    return page


if __name__ == "__main__":
    PAGE.write_text(made(PAGE.read_text()))
