"""Compiled code: drivers for vertices, the launcher, the interpreter for programs."""
