"""Whether the manifest of a bundle says what its program says.

Each fact about the program is in one file that was made with it: the catalogue has the tools and
toolsets, ``registry.py`` the digest of the catalogue. The manifest repeats them, so that nobody
must open these files to know what is in a bundle; here they are taken from the files again. Nothing
is imported: the files are looked at as text.
"""

from __future__ import annotations

import re
from typing import NoReturn

from hermes_build import layout
from hermes_build.bundle.facts import ANEW, Facts
from hermes_build.bundle.format import LOCK, PROGRAM, RUNTIME, BundleError, Manifest, roots_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_STATED = re.compile(r"""\b(digest|needs|format) ?= ?(?:["']([^"'\n]*)["']|([0-9]+))""")
_RUNTIME = f"{RUNTIME}__init__.py"
_VERSION = re.compile(r"""^__version__ = ["']([^"'\n]+)["']""", re.MULTILINE)


def check_program(manifest: Manifest, read: Callable[[str], bytes]) -> Facts:
    """Hold the manifest against the program, and return what the catalogue says.

    ``read`` returns the content of a file that the manifest lists.

    Raises:
        BundleError: ``HB8004`` the manifest does not list what every bundle holds, ``HB8007`` a
            fact is another, the first of them; and what ``read`` raises.
    """
    catalogue = f"{package_of(manifest)}/{layout.CATALOGUE}"
    registry = f"{package_of(manifest)}/registry.py"
    for path in (LOCK, catalogue, registry, _RUNTIME):
        if path not in manifest.files:
            raise BundleError("HB8004", f"a bundle must hold {path}", path, ANEW)
    _same("roots", manifest.roots, roots_of(manifest.files, manifest.dependencies))
    facts = Facts(read(catalogue), catalogue)
    _same("registry", manifest.registry, facts.digest)
    _same("runtime.format", manifest.runtime.format, facts.format)
    _same("tools", manifest.tools, facts.tools)
    _same("toolsets", manifest.toolsets, tuple(facts.toolsets))
    _check_registry(manifest, read(registry), registry)
    for module in sorted(set(facts.modules.values())):
        path = PROGRAM + module.replace(".", "/")
        if f"{path}.py" not in manifest.files and f"{path}/__init__.py" not in manifest.files:
            misfit(f"{path}.py", f"the handler module {module} is not in the bundle")
    version = _VERSION.search(read(_RUNTIME).decode("utf-8", "replace"))
    _same("runtime.version", manifest.runtime.version, version and version[1])
    return facts


def package_of(manifest: Manifest) -> str:
    """The folder in the bundle of the generated package."""
    return PROGRAM + manifest.package.replace(".", "/")


def _check_registry(manifest: Manifest, data: bytes, path: str) -> None:
    """Hold ``registry.py`` against the manifest; its template may be the project's own."""
    stated = {"digest": manifest.registry, "needs": manifest.runtime.needs}
    wanted = {**stated, "format": str(manifest.runtime.format)}
    seen = set()
    for key, text, number in _STATED.findall(data.decode("utf-8", "replace")):
        seen.add(key)
        if (text or number) != wanted[key]:
            misfit(path, f"{path} states the {key} {text or number}, not {wanted[key]}")
    if "digest" not in seen:
        misfit(path, f"{path} does not state the digest of the catalogue")


def _same(key: str, stated: object, found: object) -> None:
    """Hold a field of the manifest against what the files say."""
    if stated != found:
        what = first_difference(stated, found)
        raise BundleError("HB8007", f"the manifest's `{key}` does not fit: {what}", "", ANEW)


def first_difference(stated: Any, found: Any) -> str:
    """Where two facts differ, as a part of a sentence."""
    if isinstance(stated, dict) and isinstance(found, dict):
        stated = [f"{key}: {value}" for key, value in sorted(stated.items())]
        found = [f"{key}: {value}" for key, value in sorted(found.items())]
    if isinstance(stated, tuple | list) and isinstance(found, tuple | list):
        for one in sorted(set(stated) - set(found)):
            return f"it states `{one}`, which is not there"
        for one in sorted(set(found) - set(stated)):
            return f"it does not state `{one}`"
        return "it states another order"
    return f"it states `{stated}`, and the files say `{found}`"


def misfit(path: str, what: str) -> NoReturn:
    """Refuse a bundle of which one file contradicts another.

    Raises:
        BundleError: ``HB8007``, with the sentence ``what``.
    """
    raise BundleError("HB8007", what, path, ANEW)
