"""Compilation to native code, once per machine.

`poplite.jit.build` is the entry point: it finds code in the cache folder, or has it compiled and
puts it there.  Numba is imported only to compile.

Only this package uses private parts of Numba (`tests/packaging/test_layers.py`); all other packages
use the following modules instead, and from Numba itself only `types` and `TypingError`, which are
public:

    rules           registrations of types and functions: how they are held, typed, emitted;
                    calls of Python functions, compiled with their callers
    numba_context   common types, types of calls, functions that are replaced by others; the
                    interface of emitters; modules made from Python functions; the target processor
    build           the threads that share a loop

Check these before the bound in `pyproject.toml` is raised.  The private parts, and what breaks with
each:

    typing.Context, cpu.CPUContext   subclassed for weak numbers and watched operations: a method
                                     that Numba renames is silently not called, and numbers are
                                     double, or traps missing (docs/arithmetic.md)
    RegistryLoader, _registries,     rules that are functions in Python are left out, which saves
    _Overload*Template, _defns       0.3 s; helpers are registered while code is compiled
    callconv.CPUCallConv,            statuses in place of exceptions, -1 and 1 of which are Numba's
    _return_errcode_raw              own (`kernel_code`): a fault would have another name
    compiler, passes, Flags          a pipeline that prunes no branches, which would change types
    templates, datamodel, imputils   rules, code and members of poplite's types
    Conversion, BoundFunction        lanes of two widths in one variable; methods
    cgutils.create_struct_proxy      members on the stack, as other code for them is longer
    codegen, _final_module, config   text before LLVM optimizes it, and the processor, by NUMBA_OPT
                                     and the like: code for another one is slower, or stops
    compiler_lock                    Numba compiles in one thread at a time
    np.ufunc.parallel                starts threads; native code calls its `numba_parallel_for` and
                                     `get_num_threads`

`.ci/run` tests the oldest supported version on a few tests, and the newest on all;
`.github/workflows/checks.yml` tests the newest available version each week, past the bound.
"""

from poplite.jit.object_cache import cache_folder as cache_folder, digest as digest
