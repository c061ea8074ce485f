"""`poplite-viz doctor`: check the installation.

Packages are imported, not only looked up: a package that is installed but cannot be imported
counts as missing, and the reason is shown.
"""

from __future__ import annotations

import importlib
import os
import platform
import sys

from poplite.frozen import frozen
from poplite.tools.viz.flags import fitted, terminal_columns
from poplite.tools.viz.output import write_stdout


@frozen
class DoctorLine:
    """One line of the report.

    Attributes:
        remedy: the remedy; empty if none is needed.
        fault: whether poplite cannot work in this state.
    """

    name: str
    state: str
    remedy: str = ""
    fault: bool = False


PACKAGES = {"numpy": "arrays", "numba": "compiles vertices"}
"""Packages that poplite needs, and their purpose."""


def doctor(_: object = None) -> int:
    """Print the findings; return 1 if a package that poplite needs is missing.

    The variable COLUMNS gives the width of lines.
    """
    findings = examine()
    width = max(len(finding.name) for finding in findings)
    lines = []
    for finding in findings:
        mark = "!" if finding.fault else " "
        lines.append(f"{mark} {finding.name:<{width}}  {finding.state}")
        if finding.remedy:
            lines.append(f"  {'':<{width}}    try: {finding.remedy}")
    write_stdout(fitted("\n".join(lines), terminal_columns()))
    faults = [finding.name for finding in findings if finding.fault]
    if faults:
        print(f"poplite: not working: {', '.join(faults)}", file=sys.stderr)
    return 1 if faults else 0


def examine() -> list[DoctorLine]:
    """Check everything that poplite uses.

    >>> examine()[0].name
    'poplite'
    """
    import poplite

    python = f"{platform.python_version()} ({platform.system()} {platform.machine()})"
    return [
        DoctorLine("poplite", poplite.__version__),
        DoctorLine("python", f"{python}  {sys.executable}"),
        *(package(name, use) for name, use in PACKAGES.items()),
        layout(),
        png(),
        cache(),
    ]


def package(name: str, use: str) -> DoctorLine:
    """Import a package and report its version.

    >>> package("numpy", "arrays").fault
    False
    >>> package("no_such_package", "nothing").state
    'missing, needed: nothing'
    """
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        reason = "" if error.name == name else f" ({error})"
        state = f"missing, needed: {use}{reason}"
        return DoctorLine(name, state, f"pip install {name}", fault=True)
    except Exception as error:  # any error of a broken package is shown
        state = f"cannot be imported, needed: {use} ({type(error).__name__}: {error})"
        return DoctorLine(name, state, f"pip install --force-reinstall {name}", fault=True)
    return DoctorLine(name, getattr(module, "__version__", "version unknown"))


def layout() -> DoctorLine:
    """Draw a graph to report which layout engine is available; one engine is built in.

    >>> layout().fault
    False
    """
    from poplite.viz.draw.layouts import graphviz_links, graphviz_picture

    content, reason = graphviz_picture("digraph { a -> b }", "svg")
    if content is not None:
        return DoctorLine("graphviz", ", ".join(name for name, _ in graphviz_links()))
    state = f"{reason}: graphs use the built-in layout, and cannot be drawn as pdf"
    return DoctorLine("graphviz", state, 'pip install "poplite[dot]", or install Graphviz')


def png() -> DoctorLine:
    """Report whether pictures can be written in PNG format.

    >>> png().fault
    False
    """
    from poplite.viz.draw.svg import INSTALL, is_possible

    if is_possible():
        return DoctorLine("png", "resvg_py")
    return DoctorLine("png", "resvg_py is missing: pictures are written as text and svg", INSTALL)


def cache() -> DoctorLine:
    """Write to the folder of compiled vertices and read from it, and report on it.

    A folder that cannot be written is not a fault: engines run without it.

    >>> cache().name
    'cache folder'
    """
    try:
        from poplite.jit import object_cache
    except ImportError as error:
        return DoctorLine("cache folder", f"unknown ({error})", "pip install numba", fault=True)
    fault = object_cache.write_fault()
    try:
        folder = object_cache.cache_folder()
        files = object_cache.cached_files()
        closed = sum(not os.access(file, os.R_OK) for file in files)
        kept = f"{len(files)} compiled"
    except (OSError, RuntimeError):  # the folder is inaccessible or missing: `fault` reports it
        closed, kept = 0, "none compiled"
    unread = f", {closed} of them for other users only" if closed else ""
    if fault is None and folder.is_dir() and (found := object_cache.danger(folder)):
        danger, remedy = found
        return DoctorLine("cache folder", f"{folder}  writable, {kept}{unread}; {danger}", remedy)
    if fault is None:
        remedy = "ask their owner to let you read them (chmod a+r), or delete them"
        return DoctorLine(
            "cache folder", f"{folder}  writable, {kept}{unread}", remedy if unread else ""
        )
    reason, remedy = fault
    slow = f"{kept}{unread}; each process compiles the remaining vertices"
    return DoctorLine("cache folder", f"{reason} ({slow})", remedy)
