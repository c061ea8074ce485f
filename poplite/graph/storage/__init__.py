"""Variables in one space of addresses, their names and initial values."""
