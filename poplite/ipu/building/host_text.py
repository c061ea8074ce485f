"""The texts of the host program: what is compiled where a device is, and what is exported."""

from __future__ import annotations

from importlib.resources import files

FOLDER = files("poplite.ipu").joinpath("host")


def host_text(name: str) -> str:
    """Return a text that goes beside the tables of every graph."""
    return FOLDER.joinpath(name).read_text(encoding="utf-8")


def host_files() -> dict[str, str]:
    """Return the texts of the host program by their names; `host.cpp` is the one to compile."""
    names = sorted(each.name for each in FOLDER.iterdir() if each.is_file())
    return {name: host_text(name) for name in names if name.endswith((".cpp", ".hpp"))}
