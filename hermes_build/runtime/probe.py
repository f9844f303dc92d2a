"""``python -m hermes_build.runtime.probe PACKAGE``: import every handler, report as JSON.

`hermes-build check` runs this in a process of its own, since handlers are foreign code, with the
project's root as its working directory. JSON goes to standard output, a line each, whatever the
handlers print: their output is sent to standard error.

Before each import, a line says what is imported now, since it may end or block the process:
``{"importing": MODULE, "tools": [...]}``. The last line is the report. It has ``ok``;
``mismatches``, each with ``tool``, ``kind``, ``code``, ``message`` and the
places ``spec`` and ``handler`` (``path`` and ``line``, or null); ``failures``, each with
``module``, ``error``, ``tools``, ``path`` and ``line``, of which one may be the registry's own; and
``imported``, the source files that all this ran. The exit code is 0 when ``ok``, else 1.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from hermes_build.runtime.errors import LoadError, SchemaDriftError, describe
from hermes_build.runtime.telling import Say, tell


def probe(package: str, say: Say) -> bool:
    """Import ``PACKAGE.registry``, load all its handlers, and say what came of it.

    Returns:
        Whether all is well.
    """
    from importlib import import_module

    name = f"{package}.registry"
    mismatches: list[Any] = []
    failures: list[Any] = []
    try:
        say({"importing": name, "tools": []})
        registry = import_module(name).registry
        registry.root = os.getcwd()
        modules = registry.handler_modules()
        registry.load(started=lambda one: say({"importing": one, "tools": modules[one]}))
    except SchemaDriftError as error:
        mismatches = [one.to_json() for one in error.mismatches]
        if isinstance(error, LoadError):
            failures = [one.to_json() for one in error.failures]
    except Exception as error:  # whatever stops the registry itself is to be reported as well
        path = getattr(sys.modules.get(name), "__file__", None)
        path = path and os.path.relpath(path).replace(os.sep, "/")
        failures.append(
            {"module": name, "error": describe(error), "tools": [], "path": path, "line": None}
        )
    files = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
    is_well = not (mismatches or failures)
    say(
        {
            "ok": is_well,
            "mismatches": mismatches,
            "failures": failures,
            "imported": sorted(os.path.abspath(one) for one in files if isinstance(one, str)),
        }
    )
    return is_well


if __name__ == "__main__":
    tell("hermes_build.runtime.probe", probe)
