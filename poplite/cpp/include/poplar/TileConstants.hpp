// Constants of the tile, none of which has a meaning here.

#include <poplar/Vertex.hpp>
