import linecache
import sys
import types

_made = {}


def vertex_from_source(text, name):
    key = (text, name)
    if key not in _made:
        file = f"<poplite {name}>"
        linecache.cache[file] = (len(text), None, text.splitlines(True), file)
        module = types.ModuleType(f"poplite_generated_{name}")
        module.__file__ = file
        sys.modules[module.__name__] = module
        exec(compile(text, file, "exec"), module.__dict__)
        _made[key] = getattr(module, name)
    return _made[key]
