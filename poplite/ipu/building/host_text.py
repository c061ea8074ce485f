"""The files of the host program, which are compiled where a device is."""

from __future__ import annotations

from importlib.resources import files


def host_files() -> dict[str, str]:
    """Return the texts of the host program by their names; `host.cpp` is the one to compile."""
    folder = files("poplite.ipu").joinpath("host")
    named = sorted((each.name, each) for each in folder.iterdir() if each.is_file())
    return {
        name: each.read_text(encoding="utf-8")
        for name, each in named
        if name.endswith((".cpp", ".hpp"))
    }
