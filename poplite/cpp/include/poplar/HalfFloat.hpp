// The type `half`: 16 bits, rounded after each operation, as on a tile.

#ifndef POPLITE_HALFFLOAT_HPP
#define POPLITE_HALFFLOAT_HPP

typedef _Float16 half;

#endif
