"""Real IPUs behind `Engine`: a process that drives one, and what Python keeps of it."""
