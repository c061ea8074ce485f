"""Poplar's C++ surface as data.

declarations    each member of Poplar's classes as declared, and its counterpart here
spelling        gives our classes the C++ spelling of their members when they are defined
binder          checks arguments in the order of a declaration, and passes them in ours
absent          what Poplar and PopLibs have and poplite does not, why, and what to use instead
callable_values attributes that answer to a call as well, since sizes and names are functions in C++
spellings       the same members once more, written by a test's helper for type checkers alone
"""
