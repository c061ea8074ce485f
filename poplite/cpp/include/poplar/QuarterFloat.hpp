// The type `quarter`, as a name alone: codelets with fields of it are refused.

#ifndef POPLITE_QUARTERFLOAT_HPP
#define POPLITE_QUARTERFLOAT_HPP

struct quarter {
  unsigned char bits;
};

#endif
