"""Compiled code: drivers of vertices, the launcher, the interpreter of programs."""
