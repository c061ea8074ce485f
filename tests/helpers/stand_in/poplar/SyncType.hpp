// A stand-in for the kinds of synchronisation.

#pragma once

namespace poplar {

enum class SyncType { INTERNAL, EXTERNAL, GLOBAL };

} // namespace poplar
