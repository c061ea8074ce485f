// The type `half`: two bytes, rounded after each operation, as on a tile.
//
// Source: Poplar user guide, "Data types".

#ifndef POPLITE_POPLAR_HALF_FLOAT_HPP
#define POPLITE_POPLAR_HALF_FLOAT_HPP

typedef _Float16 half;

#endif
