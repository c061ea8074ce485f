// Sizes of stacks for Poplar's linker, which have no meaning here.

#ifndef POPLITE_STACKSIZEDEFS_HPP
#define POPLITE_STACKSIZEDEFS_HPP

#define DEF_STACK_USAGE(...)
#define DEF_STACK_SIZE_OWN(...)
#define DEF_FUNCTION_POINTERS(...)
#define DEF_FUNC_CALL_PTRS(...)
#define DEF_FUNC_TAIL_CALL_PTRS(...)
#define DEF_FUNC_CALLS(...)
#define DEF_RECURSIVE_FUNCTION(...)

#endif
