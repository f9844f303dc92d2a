"""What a tool's spec requires of the machine, and which of it is not here.

Nothing is imported to find out, neither handlers nor the packages that they need, and no value of
an environment variable is ever part of an answer.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

_PLATFORMS = {"darwin": "macos", "win32": "windows"}


def platform() -> str:
    """This operating system as specs name it: ``linux``, ``macos``, ``windows`` or another."""
    return _PLATFORMS.get(sys.platform, sys.platform)


def importable(module: str) -> bool:
    """Whether an import of a module, by its dotted name, would find it; nothing is imported.

    ``importlib.util.find_spec`` imports the packages around a module, and so it is asked for the
    first part of the name only. The other parts are looked for in the folders of the part before.
    """
    from importlib.util import find_spec

    first, *others = module.split(".")
    path = first
    try:
        if sys.modules.get(module) is not None:
            return True
        found = find_spec(first)
        for part in others:
            if found is None or found.submodule_search_locations is None:
                return False
            path = f"{path}.{part}"
            folders = found.submodule_search_locations
            asked = (finder.find_spec(path, folders) for finder in sys.meta_path)
            found = next((one for one in asked if one is not None), None)
    except (ImportError, AttributeError, ValueError):  # a finder of the program, or a broken module
        return False
    return found is not None


def on_path(command: str) -> bool:
    """Whether a command can be started by its bare name."""
    from shutil import which

    return which(command) is not None


def unmet(
    requires: Mapping[str, Any],
    environ: Mapping[str, str] | None = None,
    has_module: Callable[[str], bool] = importable,
    has_command: Callable[[str], bool] = on_path,
) -> tuple[str, ...]:
    """What a tool requires and this machine does not have.

    Args:
        requires: the ``requires`` of a tool's record. Its ``check`` is not looked at.
        environ: the variables to look among; by default those of this process, as they are now.
        has_module: tells whether a module can be imported.
        has_command: tells whether a command is on PATH.

    Returns:
        A sentence for each kind of requirement that is not met, which says what to do. Empty when
        all are met.
    """
    environ = os.environ if environ is None else environ
    found = []
    platforms = requires.get("platforms", ())
    if platforms and (here := platform()) not in platforms:
        found.append(f"runs on {_listed(platforms, 'and')}, not on {here}")
    lacking = [name for name in requires.get("env", ()) if not environ.get(name)]
    if lacking:
        found.append(_set(lacking, "and", environ))
    choice = requires.get("any_env", ())
    if choice and not any(environ.get(name) for name in choice):
        found.append(_set(choice, "or", environ))
    modules = [name for name in requires.get("python", ()) if not has_module(name)]
    if modules:
        # Not "install `yaml`": a package may have another name than its module, and somebody else
        # may have taken the module's name at the index.
        noun = "package that provides" if len(modules) == 1 else "packages that provide"
        found.append(f"install the Python {noun} {_quoted(modules)}")
    commands = [name for name in requires.get("commands", ()) if not has_command(name)]
    if commands:
        verb = "is" if len(commands) == 1 else "are"
        found.append(f"install {_quoted(commands)}, which {verb} not on PATH")
    return tuple(found)


def _set(names: Iterable[str], word: str, environ: Mapping[str, str]) -> str:
    empty = [name for name in names if name in environ]
    verb = "is" if len(empty) == 1 else "are"
    aside = f" ({_listed(empty, 'and')} {verb} set, and empty)" if empty else ""
    return f"set {_listed(names, word)}{aside}"


def _quoted(names: Iterable[str]) -> str:
    return _listed([f"`{name}`" for name in names], "and")


def _listed(names: Iterable[str], word: str) -> str:
    """``A``, ``A and B``, ``A, B and C``."""
    *others, last = names
    return f"{', '.join(others)} {word} {last}" if others else last
