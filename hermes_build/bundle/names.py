"""Which names the files of a bundle may have: those that are one plain file on every system.

A name is relative, with forward slashes. What one system or another reads as something else is
refused on all of them: a way up, a drive, a stream, a device, an end that Windows drops, a
character that cannot be seen. So are two names that some system takes for one.
"""

from __future__ import annotations

from hermes_build.bundle.format import BundleError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_NAME = 1000
"""The longest name, in bytes of UTF-8."""

_MAX_PART = 240
"""The longest part of a name, in bytes: file systems take 255, some of them a few less."""

_USUAL = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./-"
"""The characters of most names."""

_DEVICES = frozenset(("con", "prn", "aux", "nul", "conin$", "conout$", "clock$")) | {
    f"{port}{number}" for port in ("com", "lpt") for number in "0123456789¹²³"
}
"""What Windows takes for a device, in any case, with any ending."""

_FOREIGN = frozenset('\\:*?"<>|')
"""Characters that Windows gives a meaning, or has no names with."""


def check_names(names: Iterable[str]) -> None:
    """Refuse names that are not plain, and names of which two could meet.

    Raises:
        BundleError: ``HB8003``, with the first that is wrong.
    """
    names = list(names)
    if not all(_are_usual(names[at : at + 1000]) for at in range(0, len(names), 1000)):
        for name in names:
            if fault := _fault(name):
                raise BundleError(
                    "HB8003", f"a name in the bundle {fault}: {name!r}", name, _RENAME
                )
    _check_clashes(names)


def _are_usual(names: list[str]) -> bool:
    """Whether no name can have a fault: so it is in nearly all bundles, and found out quickly."""
    text = "\n".join(names)
    if text.count("\n") != len(names) - 1 or max(map(len, names)) > _MAX_PART:
        return not names
    path = f"/{text}/".replace("\n", "/")
    if path.encode(errors="replace").translate(None, _USUAL) or "//" in path or "./" in path:
        return False
    return _DEVICES.isdisjoint(path.lower().replace(".", "/").split("/"))


def _check_clashes(names: list[str]) -> None:
    fold = str.lower if "".join(names).isascii() else _folded
    folders = _folders(names)
    files, folded = set(map(fold, names)), set(map(fold, folders))
    if len(files) == len(names) and len(folded) == len(folders) and files.isdisjoint(folded):
        return
    seen: dict[str, str] = {}
    for name in (*sorted(folders), *names):
        one = seen.setdefault(_folded(name), name)
        if one != name:
            what = f"two names in the bundle are one on some systems: {one!r} and {name!r}"
            raise BundleError("HB8003", what, name, _RENAME)
    once = folders
    for twice in names:
        if twice in once:
            break
        once.add(twice)
    what = f"the bundle holds one name twice, or as a file and a folder: {twice!r}"
    raise BundleError("HB8003", what, twice, _RENAME)


def _folders(names: list[str]) -> set[str]:
    """The folders that files of these names are in, and the folders of those."""
    found: set[str] = set()
    more = {name.rpartition("/")[0] for name in names}
    while more:
        found |= more
        more = {name.rpartition("/")[0] for name in more} - found
    return found - {""}


_RENAME = "rename the file, and make the bundle anew"


def is_plain(name: str) -> bool:
    """Whether `check_names` accepts this name alone."""
    return not _fault(name)


def _fault(name: str) -> str:
    """What is wrong with a name; empty where nothing is."""
    if not name:
        return "is empty"
    # Escapes as lone surrogates stand for bytes that are not UTF-8.
    if not name.isprintable():
        return "holds characters that cannot be seen"
    if not name.isascii():
        from unicodedata import is_normalized

        if not is_normalized("NFC", name):
            return "is not in the composed form of Unicode (NFC)"
    if len(name.encode()) > MAX_NAME:
        return f"is longer than {MAX_NAME} bytes"
    for found in sorted(_FOREIGN.intersection(name)):
        return f"holds `{found}`"
    for part in name.split("/"):
        if part in ("", ".", ".."):
            return (
                "leads elsewhere" if name.startswith("/") or part == ".." else "has an empty part"
            )
        if part[-1] in ". " or part[0] == " ":
            return "has a part that begins or ends with a space, or ends with a dot"
        if len(part.encode()) > _MAX_PART:
            return f"has a part of more than {_MAX_PART} bytes"
        if part.lower().partition(".")[0].rstrip(" ") in _DEVICES:
            return "is a device on Windows"
    return ""


def _folded(name: str) -> str:
    """What systems that ignore case, or the form of Unicode, have in common of a name."""
    if name.isascii():
        return name.lower()
    from unicodedata import normalize

    return normalize("NFKC", normalize("NFKC", name).casefold())
