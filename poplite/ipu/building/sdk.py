"""Poplar's SDK on this machine: where it is, and what its compiler makes.

    POPLAR_SDK_ENABLED      the folder with bin, include and lib, which the SDK's enable.sh sets
    popc on PATH            else, the folder above its own

The host program is compiled once for each version of the SDK, and codelets once for each text.
Nothing of this was run by the authors.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from poplite.errors import DeviceRuntimeError
from poplite.ipu.building.built import built, compile_with, kept
from poplite.ipu.building.compilers import cpp_compiler
from poplite.ipu.building.host_text import host_files

if TYPE_CHECKING:
    from poplite.ipu.tables import Tables

VARIABLE = "POPLAR_SDK_ENABLED"

POPLAR_OPTIONS = ("POPLAR_ENGINE_OPTIONS", "POPLAR_TARGET_OPTIONS")
"""Variables by which Poplar compiles the same graph in another way."""

HOST_FLAGS = ("-std=c++17", "-O1")
CODELET_FLAGS = ("-O3", "-ffp-contract=off")


class Toolchain(Protocol):
    """What makes a program that runs tables."""

    def command(
        self, tables: Tables, folder: Path, shared: Path, kind: str, arch: str
    ) -> list[str]:
        """Return what starts the host program on tables, with a shared file.

        `folder` may be written; codelets are for the tiles of `arch`; `kind` is "hardware" or
        "model".
        """


@dataclass(frozen=True, slots=True)
class Sdk:
    """An SDK, by its folder."""

    root: Path

    @staticmethod
    def at(root: Path) -> Sdk:
        """Return the SDK in a folder; raises `DeviceRuntimeError` where there is none."""
        if (root / "bin" / "popc").is_file():
            return Sdk(root.absolute())
        raise _missing(f"in {str(root)!r}", "there is no bin/popc")

    @property
    def popc(self) -> Path:
        """The compiler of codelets."""
        return self.root / "bin" / "popc"

    def version(self) -> str:
        """Return what `popc --version` says."""
        try:
            done = subprocess.run(
                [self.popc, "--version"], capture_output=True, text=True, check=False
            )
        except OSError as error:
            raise DeviceRuntimeError(
                f"{self.popc} cannot be started: {error.strerror}",
                fix=f"set {VARIABLE} to the folder that holds bin/popc",
            ) from error
        return done.stdout.strip() or done.stderr.strip()

    def command(
        self, tables: Tables, folder: Path, shared: Path, kind: str, arch: str
    ) -> list[str]:
        """Return what starts the host program on tables, with a shared file."""
        version = self.version()
        tables.write(folder / "graph.tables")
        host = self.host(version)
        codelets = self.codelets(tables.codelets.text, arch, version)
        words = [host, folder / "graph.tables", codelets, shared, "--device", kind]
        if kind == "hardware":  # Poplar keeps no executables of its model
            digest = hashlib.sha256(tables.data).hexdigest()
            options = [os.environ.get(name, "") for name in POPLAR_OPTIONS]
            parts = (digest, codelets.name, host.name, *options)
            words += ["--executable", kept("executable", parts)]
        return [*map(str, words)]

    def codelets(self, text: str, arch: str, version: str) -> Path:
        """Return compiled codelets."""
        flags = (*CODELET_FLAGS, "--target", arch)

        def build(path: Path) -> None:
            source = path.with_name("codelets.cpp")
            source.write_text(text)
            compile_with([self.popc, *flags, source, "-o", path], "codelets")

        return built("codelets.gp", (text, flags, version), build)

    def host(self, version: str) -> Path:
        """Return the compiled host program."""
        compiler, texts = cpp_compiler(), host_files()
        library = self.root / "lib"
        links = (f"-L{library}", f"-Wl,-rpath,{library}", "-lpoplar", "-pthread")

        def build(path: Path) -> None:
            for name, text in texts.items():
                path.with_name(name).write_text(text)
            include = f"-I{self.root / 'include'}"
            source = path.with_name("host.cpp")
            words: list[str | Path] = [*compiler, *HOST_FLAGS, include, source, "-o", path, *links]
            compile_with(words, "the host program")

        return built("host", (texts, compiler, HOST_FLAGS, links, version), build)


def find_sdk() -> Sdk:
    """Return the SDK of this machine.

    Raises `DeviceRuntimeError` where there is none, which says what to set and how to export.
    """
    if root := os.environ.get(VARIABLE):
        return Sdk.at(Path(root))
    if popc := shutil.which("popc"):
        return Sdk(Path(popc).resolve().parent.parent)
    raise _missing("on this machine", f"{VARIABLE} is not set, and popc is not on PATH")


def _missing(where: str, found: str) -> DeviceRuntimeError:
    return DeviceRuntimeError(
        f"there is no Poplar SDK {where}",
        found=found,
        fix=f"source the SDK's enable.sh, which sets {VARIABLE}; or, for another machine, "
        "poplite export FILE.py:build FOLDER",
    )
