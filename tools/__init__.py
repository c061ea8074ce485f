"""Commands: `poplite-viz` draws graphs and mappings; and how scripts end."""

if __name__ == "tools":  # from a checkout: a second copy of its classes
    raise ImportError("tools is a part of poplite: import poplite.tools")
