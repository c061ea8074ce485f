// A stand-in for Poplar's exceptions.
// Whoever defines POPLAR_ERROR reads their list again.

#ifndef STAND_IN_EXCEPTIONS
#define STAND_IN_EXCEPTIONS

#include <stdexcept>
#include <string>

namespace poplar {

struct poplar_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

} // namespace poplar

#define POPLAR_ERROR(name, base)                                                                  \
  namespace poplar {                                                                              \
  struct name : base {                                                                            \
    using base::base;                                                                             \
  };                                                                                              \
  }
#endif

#ifdef POPLAR_ERROR
POPLAR_ERROR(graph_program_compilation_error, poplar_error)
POPLAR_ERROR(graph_object_creation_error, poplar_error)
POPLAR_ERROR(graph_object_load_error, poplar_error)
POPLAR_ERROR(file_load_error, poplar_error)
POPLAR_ERROR(no_environment, poplar_error)
POPLAR_ERROR(unknown_vertex_type, poplar_error)
POPLAR_ERROR(unknown_field, poplar_error)
POPLAR_ERROR(type_error, poplar_error)
POPLAR_ERROR(index_error, poplar_error)
POPLAR_ERROR(tensor_creation_error, poplar_error)
POPLAR_ERROR(tensor_io_state_error, poplar_error)
POPLAR_ERROR(tensor_metadata_error, poplar_error)
POPLAR_ERROR(no_size_specified, poplar_error)
POPLAR_ERROR(control_program_error, poplar_error)
POPLAR_ERROR(memory_elem_constraints_error, poplar_error)
POPLAR_ERROR(overflow_error, poplar_error)
POPLAR_ERROR(symbol_error, poplar_error)
POPLAR_ERROR(parse_error, poplar_error)
POPLAR_ERROR(invalid_option, poplar_error)
POPLAR_ERROR(invalid_machine_model, poplar_error)
POPLAR_ERROR(graph_connection_error, poplar_error)
POPLAR_ERROR(graph_cycle_error, poplar_error)
POPLAR_ERROR(graph_recursion_error, poplar_error)
POPLAR_ERROR(graph_replication_error, poplar_error)
POPLAR_ERROR(invalid_tile_mapping, poplar_error)
POPLAR_ERROR(graph_memory_allocation_error, poplar_error)
POPLAR_ERROR(stream_memory_allocation_error, poplar_error)
POPLAR_ERROR(link_error, poplar_error)
POPLAR_ERROR(missing_perf_estimate, poplar_error)
POPLAR_ERROR(profiling_disabled, poplar_error)
POPLAR_ERROR(stream_connection_error, poplar_error)
POPLAR_ERROR(runtime_error, poplar_error)
POPLAR_ERROR(application_runtime_error, runtime_error)
POPLAR_ERROR(system_runtime_error, runtime_error)
POPLAR_ERROR(recoverable_runtime_error, system_runtime_error)
POPLAR_ERROR(unrecoverable_runtime_error, system_runtime_error)
POPLAR_ERROR(unknown_runtime_error, system_runtime_error)
#undef POPLAR_ERROR
#endif
