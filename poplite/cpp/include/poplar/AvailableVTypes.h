// The layouts of vectors, all of which are available.

#include <poplar/Vertex.hpp>
