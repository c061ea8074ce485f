// `printf`, which prints where the simulator runs.

#include <stdio.h>
