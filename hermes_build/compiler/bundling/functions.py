"""Functions that look things up by names, and how a source is seen to use one."""

from __future__ import annotations

import ast

from hermes_build.compiler.bundling.names import Names, attribute

BY_NAME = ("import_module", "__import__")
"""Functions that import a module by its name."""

_ANYWHERE = {
    **{name: name for name in BY_NAME},
    "spec_from_file_location": "from_file",
    "SourceFileLoader": "from_file",
    "SourcelessFileLoader": "from_file",
    "ExtensionFileLoader": "from_file",
    "zipimporter": "from_file",
    "extend_path": "extend_path",
}
"""Functions that are known by their last name, whatever they are taken of."""

_BUILTIN = {"exec": "run", "eval": "run", "compile": "compile"}

_KNOWN = {
    **{f"builtins.{name}": kind for name, kind in _BUILTIN.items()},
    **{f"__builtins__.{name}": kind for name, kind in _BUILTIN.items()},
    "importlib.util.find_spec": "find_spec",
    "importlib.find_loader": "find_spec",
    "pkgutil.find_loader": "find_spec",
    "pkgutil.get_loader": "find_spec",
    "pkgutil.resolve_name": "resolve_name",
    "pkgutil.iter_modules": "list",
    "pkgutil.walk_packages": "list",
    "pkgutil.get_data": "resource",
    **{
        f"importlib.resources.{name}": "resource"
        for name in ("is_resource", "open_binary", "open_text", "path", "read_binary", "read_text")
    },
    "importlib.resources.files": "files",
    "importlib.resources.contents": "files",
    "importlib_resources.files": "files",
    "runpy.run_path": "from_file",
    "runpy.run_module": "run_module",
    **{f"unittest.mock.patch{name}": "text" for name in ("", ".dict", ".multiple")},
    **{f"mock.patch{name}": "text" for name in ("", ".dict", ".multiple")},
    "sys.modules.get": "text",
    "sys.modules.pop": "text",
    "logging.config.dictConfig": "configuration",
    **{f"inspect.{name}": "path" for name in ("getfile", "getsourcefile", "getabsfile")},
    **{
        f"pkg_resources.resource_{name}": "path"
        for name in ("exists", "filename", "isdir", "listdir", "stream", "string")
    },
    **{f"multiprocessing.{name}": "process" for name in ("Pool", "Process", "get_context")},
    "multiprocessing.pool.Pool": "process",
    "multiprocessing.process.BaseProcess": "process",
    "concurrent.futures.ProcessPoolExecutor": "process",
    "concurrent.futures.process.ProcessPoolExecutor": "process",
    "site.addsitedir": "search",
    **{
        f"sys.{name}.{change}": "search"
        for name in ("meta_path", "path", "path_hooks")
        for change in ("append", "clear", "extend", "insert", "pop", "remove", "reverse")
    },
}
"""Functions that are known by where they come from."""

_FIRST = {
    "run": ("source",),
    "list": ("path",),
    "run_module": ("mod_name",),
    "text": ("target", "in_dict"),
    "configuration": ("config",),
    "path": ("object",),
    "resource": ("package",),
    "files": ("anchor", "package"),
}
"""What the first parameter is called, where it is not ``name``."""


_MARKS = (
    *("importlib", "pkgutil", "runpy", "pkg_resources", "builtins", "zipimporter", "FileLoader"),
    *("import_module", "__import__", "spec_from_file_location", "__getattr__", "addsitedir"),
    *("exec(", "eval(", "exec,", "eval,", "exec)", "eval)", "= exec", "= eval"),
    *("sys.modules", "sys.path", "sys.meta_path", "from sys", "sys as", "submodule_search"),
    *("__file__", "__path__", "__spec__", "getfile", "getsourcefile", "getabsfile"),
    *("mock", "dictConfig", "multiprocessing", "ProcessPoolExecutor", '"-m"', "'-m'"),
)
_DYNAMIC = tuple(mark.encode() for mark in _MARKS)


def may_look_up(source: bytes) -> bool:
    """Whether a source holds what looks things up by names; most modules hold none of it."""
    return any(mark in source for mark in _DYNAMIC)


def kind_of(names: Names, node: ast.expr) -> str:
    """Which kind of function that looks up by name this leads to; empty for any other."""
    last = attribute(node)[1]
    if last in _ANYWHERE:
        return _ANYWHERE[last]
    origins = names.origins(node)
    for origin in sorted(origins) if len(origins) > 1 else origins:
        if origin in _BUILTIN or origin in BY_NAME:
            return _BUILTIN.get(origin, origin)
        home, _, last = origin.rpartition(".")
        kind = _KNOWN.get(origin) or (_ANYWHERE.get(last) if home else "")
        if kind:
            return kind
    return ""


def first_argument(call: ast.Call, kind: str) -> ast.expr | None:
    """What a function of a kind is given first, by whatever name it takes it."""
    return argument(call, 0, *_FIRST.get(kind, ("name",)))


def argument(call: ast.Call, position: int, *names: str) -> ast.expr | None:
    """What a call gives for a parameter; None where it gives nothing, or nothing that is seen."""
    for keyword in call.keywords:
        if keyword.arg in names:
            return keyword.value
    if len(call.args) > position and not any(isinstance(one, ast.Starred) for one in call.args):
        return call.args[position]
    return None


def shown(node: ast.expr) -> str:
    """How a function is called in the source, as far as that is names."""
    inner, name = attribute(node)
    if inner is None:
        return getattr(node, "id", "")
    above = shown(inner)
    return f"{above}.{name}" if above else name
