// The layouts of vectors.

#include <poplar/Vertex.hpp>
