"""Compile code to native code, once per machine.

`build` is the only door: it finds the code in the cache folder, or compiles it and puts
it there.  Numba is imported only to compile.
"""

from poplite.jit.build import build as build
from poplite.jit.object_cache import cache_folder as cache_folder
from poplite.jit.object_cache import digest as digest
