"""Compilation to native code, once per machine.

`poplite.jit.build` is the entry point: it finds code in the cache folder, or compiles it and stores
it there. Numba is imported only to compile.

Only this package uses private parts of Numba (`tests/packaging/test_layers.py`); all other packages
use the following modules instead, and from Numba itself only `types` and `TypingError`, which are
public:

    rules           registrations of types and functions: storage, typing, emitted code;
                    calls to Python functions, compiled with their callers
    numba_context   common types, types of calls, functions that are replaced by others; the
                    interface of emitters; modules made from Python functions; the target processor
    build           the threads that share a loop

Check these modules before you raise the bound in `pyproject.toml`. The private parts that they use
are listed here, with the reason for their use or the effect of a change:

    typing.Context, cpu.CPUContext   subclassed for weak numbers and watched operations: if Numba
                                     renames a method, it is silently not called, and numbers are
                                     double, or traps are missing (docs/arithmetic.md)
    RegistryLoader, _registries,     rules that are functions in Python are not loaded, which saves
    _Overload*Template, _defns       0.3 s; helpers are registered while code is compiled
    callconv.CPUCallConv,            statuses in place of exceptions; -1 and 1 are Numba's own
    _return_errcode_raw              (`kernel_code`), so a fault would have the wrong name
    compiler, passes, Flags          a pipeline that prunes no branches, which would change types
    templates, datamodel, imputils   rules, code and members of poplite's types
    Conversion, BoundFunction        lanes of two widths in one variable; methods
    cgutils.create_struct_proxy      members on the stack, since any other code for them is longer
    codegen, _final_module, config   text before LLVM optimizes it; the processor from NUMBA_OPT and
                                     related variables: code for another one is slower, or crashes
    compiler_lock                    Numba compiles in one thread at a time
    np.ufunc.parallel                starts threads; native code calls `numba_parallel_for` and
                                     `get_num_threads`

`.ci/run` runs a few tests with the oldest supported version, and all tests with the newest;
`.github/workflows/checks.yml` tests the newest available version each week, even past the bound.
"""

from poplite.jit.cache_key import digest as digest
from poplite.jit.object_cache import cache_folder as cache_folder
