// Names of the tile's memory and functions that codelets use, with no effect on other processors.

#ifndef POPLITE_IPUDEF_H
#define POPLITE_IPUDEF_H

#include <poplar/HalfFloat.hpp>
#include <poplar/VectorTypes.hpp>

typedef unsigned rptsize_t;

#define __SUPERVISOR__
#define __WORKER__

#endif
