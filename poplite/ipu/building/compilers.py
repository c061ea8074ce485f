"""Finding a C++ compiler: `$CXX`, then c++, g++ and clang++ on PATH, then the wheel of ziglang.

The wheel comes last: its first build compiles the C++ library, which takes minutes.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from importlib.util import find_spec

from poplite.errors import FileLoadError

NAMES = ("c++", "g++", "clang++")


def cpp_compiler() -> tuple[str, ...]:
    """Return the words that call a C++ compiler.

    Raises `FileLoadError` where there is none, or `$CXX` names none.
    """
    if chosen := os.environ.get("CXX"):
        words = shlex.split(chosen)
        if words and shutil.which(words[0]):
            return tuple(words)
        raise FileLoadError(
            f"there is no C++ compiler {chosen!r}, which CXX names",
            fix="CXX=g++, or leave CXX out for what is on PATH",
        )
    for name in NAMES:
        if found := shutil.which(name):
            return (found,)
    if find_spec("ziglang") is not None:
        return (sys.executable, "-m", "ziglang", "c++")
    raise FileLoadError(
        "there is no C++ compiler",
        found=f"neither CXX is set nor {', '.join(NAMES)} on PATH, nor ziglang installed",
        fix='install one, or pip install "poplite[cpp]"',
    )
