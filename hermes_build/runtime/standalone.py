"""What runs when Python is given an archive: ``python FILE call TOOL JSON``.

The archive's own ``__main__.py``, whose text is `hermes_build.bundle.main.TEXT`, imports this from
the runtime inside it, and from nowhere else. The tools come from the archive too; the packages that
they need are those of the Python that runs it.

The archive verifies itself before it runs a tool. That finds damage, and not an archive that
somebody made to deceive: whom it comes from, `hermes-build verify` decides before it is run.
"""

from __future__ import annotations

import json
import os
import sys

from hermes_build.bundle.format import BundleError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from hermes_build.runtime.bundles import BundledRegistry

_USAGE = """\
usage: python {file} call TOOL [JSON]   call a tool; `-` reads the JSON from standard input
       python {file} show [--json]      show what the bundle holds
"""


class _Undecided(Exception):
    """What keeps a command from doing anything: printed, with exit code 2."""


def main(path: str, argv: Sequence[str], digest: str = "") -> int:
    """Run one command of the bundle at ``path``, and return the exit code.

    Where ``digest`` is given, that of a bundle that somebody has looked at, no other one is run.

    The codes are those of ``hermes-build call``: 0 is well, 1 says that the result is an error, and
    2 that nothing was called.
    """
    usage = _USAGE.format(file=_visible(os.path.basename(path)))
    try:
        match list(argv):
            case ["call", tool]:
                return _call(path, digest, tool, "{}")
            case ["call", tool, arguments]:
                return _call(path, digest, tool, arguments)
            case ["show"]:
                return _show(path, digest, as_json=False)
            case ["show", "--json"]:
                return _show(path, digest, as_json=True)
            case [] | ["-h"] | ["--help"]:
                _print(usage)
                return 0 if argv else 2
        sys.stderr.write(usage)
    except (_Undecided, BundleError, OSError) as error:
        _say(f"error: {error}")
        hint = getattr(error, "help", "")
        if hint:
            _say(f"hint: {hint}")
    return 2


def _open(path: str, digest: str) -> BundledRegistry:
    from hermes_build.runtime.bundles import open_bundle
    from hermes_build.runtime.errors import CatalogueError

    try:
        registry = open_bundle(path)
    except CatalogueError as error:
        raise _Undecided(str(error)) from error
    found = registry.bundle.digest
    if digest not in ("", found):
        registry.close()
        raise _Undecided(f"{path} has just been replaced by another bundle, sha256:{found}")
    return registry


def _call(path: str, digest: str, tool: str, text: str) -> int:
    args = _arguments(sys.stdin.buffer.read() if text == "-" else text)
    with _open(path, digest) as registry:
        _demand(registry, "jsonschema_rs")
        record = registry.find(tool)
        if record is not None:
            _demand_imports(registry, record["name"])
        result = registry.call(tool, args)
        _print(shown(result) + "\n")
        return int(is_error(result))


def _demand_imports(registry: BundledRegistry, tool: str) -> None:
    """Import a tool's handler, and say what to install where it needs what is not there.

    Other faults of the handler are for the call to tell.
    """
    try:
        registry.binding(tool)
    except (ImportError, LookupError) as error:
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, ModuleNotFoundError) and cause.name:
                _lacking(registry, cause.name.partition(".")[0])
            cause = cause.__cause__ or cause.__context__


def _demand(registry: BundledRegistry, module: str) -> None:
    from importlib.util import find_spec

    if find_spec(module) is None:
        _lacking(registry, module)


def _lacking(registry: BundledRegistry, module: str) -> None:
    """Refuse to go on without a package that the bundle takes from its surroundings.

    Raises:
        _Undecided: naming what to install.
    """
    known = {"jsonschema_rs": "jsonschema-rs", **registry.bundle.manifest.dependencies}
    if module not in known:
        return
    wanted = known[module]
    python = sys.executable or "python"
    how = f"run `{python} -m pip install {wanted}`" if wanted else "install what has it"
    raise _Undecided(f"this bundle needs the module `{module}`, which is not installed: {how}")


def _show(path: str, digest: str, *, as_json: bool) -> int:
    with _open(path, digest) as registry:
        bundle, manifest = registry.bundle, registry.bundle.manifest
        toolsets = {name: sorted(registry.resolve_toolset(name)) for name in manifest.toolsets}
        tools = [registry.find(name) or {} for name in manifest.tools]
    if as_json:
        document = {
            "name": manifest.name,
            "digest": f"sha256:{bundle.digest}",
            "runtime": manifest.runtime.version,
            "requires_python": manifest.requires_python,
            "dependencies": dict(manifest.dependencies),
            "toolsets": toolsets,
            "tools": [one["schema"] for one in tools],
        }
        _print(_json(document) + "\n")
        return 0
    lines = [f"{manifest.name}  sha256:{bundle.digest}", "", "toolsets"]
    lines += [f"  {name}: {', '.join(names)}" for name, names in toolsets.items()]
    lines += ["", "tools"]
    width = max((len(one["name"]) for one in tools), default=0)
    for one in tools:
        line = f"  {one['name']:{width}}  {' '.join(one['schema']['description'].split())}"
        lines.append(line if len(line) <= 100 else line[:99] + "…")
    needed = sorted(wanted or module for module, wanted in manifest.dependencies.items())
    if needed:
        lines += ["", f"needs {', '.join(needed)}"]
    _print("\n".join(map(_visible, lines)) + "\n")
    return 0


def _arguments(text: str | bytes) -> Any:
    from hermes_build.runtime.decoding import decode

    try:
        return decode(text)
    except ValueError as error:
        raise _Undecided(f"the arguments are not JSON: {error}") from error


def _json(value: Any) -> str:
    """JSON in which every character that a terminal could act on is escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    return "".join(
        one if one.isprintable() or one == "\n" else json.dumps(one)[1:-1] for one in text
    )


def shown(result: Any) -> str:
    """What a call came to, as text: an envelope of several parts is JSON over some lines."""
    return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, indent=2)


def is_error(result: Any) -> bool:
    """Whether what a call came to is an error, as `tool_error` makes it."""
    if isinstance(result, str) and result.startswith("{"):
        try:
            result = json.loads(result)
        except (ValueError, RecursionError):  # text like any other
            return False
    return isinstance(result, dict) and "error" in result


def _visible(line: str) -> str:
    """A line that cannot act on the terminal, whatever texts a bundle holds."""
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in line)


def _print(text: str) -> None:
    sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))
    sys.stdout.buffer.flush()


def _say(line: str) -> None:
    sys.stderr.write(f"{_visible(line)}\n")
