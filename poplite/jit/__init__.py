"""Compile code to native code, once per machine.

`poplite.jit.build` is the entry point: it finds code in the cache folder, or has it made and
puts it there.  Numba is imported only to compile.
"""

from poplite.jit.object_cache import cache_folder as cache_folder, digest as digest
