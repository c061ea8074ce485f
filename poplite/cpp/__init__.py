"""Poplar's C++ codelets as vertex classes."""
