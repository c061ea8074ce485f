"""Scripts by which a shell completes a command, made by shtab from the command's parser.

shtab writes a script once; nothing of Python runs while a user types, so a completion is not slower
than the shell. Subcommands, options and their choices are completed, and names of files.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from poplite.public import optional_package

SHELLS = ("bash", "zsh", "fish")

_FILES = ("TARGET", "SAVED", "FILE")
"""Words in the names of arguments that are files; a callable follows the file of a TARGET."""


def completion_script(parser: argparse.ArgumentParser, shell: str) -> str:
    """Return the script by which a shell completes the command of a parser.

    Raises ControlProgramError if shtab is not installed.
    """
    shtab = optional_package("shtab", "completion", "completion", at=None)
    for action in _arguments(parser):
        name = str(action.metavar)
        if any(word in name for word in _FILES):
            action.complete = shtab.FILE  # type: ignore[attr-defined]  # where shtab looks
        elif name == "FOLDER":
            action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
    script: str = shtab.complete(parser, shell=shell)
    return script


def _arguments(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Return the arguments of a command and of its subcommands."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from _arguments(below)
