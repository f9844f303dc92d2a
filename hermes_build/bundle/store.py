"""Installed bundles: a folder that keeps each bundle once, and knows the current one of each name.

    installed.json          which versions there are of each name, and which is the current one
    bundles/DIGEST.hermes   each version's archive, by the digest of its bundle
    lock                    held by whoever changes something

``installed.json`` alone decides: it is replaced in one step, so that a reader, who needs no lock,
sees the state before a change or the one after it. An archive is there before the list names it,
and goes after the list has ceased to. So whatever a killed process leaves is an archive, or a part
of one, that the list does not name; the next that changes something removes it.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from json import dumps, loads

from hermes_build.bundle.archive import write_archive
from hermes_build.bundle.copying import entries_of
from hermes_build.bundle.format import SUFFIX, BundleError, is_name
from hermes_build.bundle.locking import held
from hermes_build.bundle.placing import placed
from hermes_build.bundle.verifying import Opened, verify

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any, NoReturn

FORMAT = 1
"""The format of ``installed.json``: it grows when an older reader could misread a newer one."""

_LIST = "installed.json"
_LOCK = "lock"
_BUNDLES = "bundles"

_DIGEST = re.compile(r"[0-9a-f]{64}")
_ARCHIVE = re.compile(rf"([0-9a-f]{{64}}){re.escape(SUFFIX)}")
_PART = re.compile(
    rf"\.(?:{re.escape(_LIST)}|[0-9a-f]{{64}}{re.escape(SUFFIX)})\.[0-9a-f]{{12}}\.part"
)
_MAX_LIST = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Installed:
    """One name, and the digests of its versions.

    ``versions`` are in the order in which one goes back: each replaced the one before it. Those
    behind ``current`` were gone back from. Digests are of bundles, in 64 hexadecimal digits.
    """

    name: str
    current: str
    versions: tuple[str, ...]

    @property
    def earlier(self) -> tuple[str, ...]:
        """The versions before the current one, the oldest first."""
        return self.versions[: self.versions.index(self.current)]


@dataclass(frozen=True, slots=True)
class Removed:
    """What `Store.gc` removed: digests, of bundles that were in the list, and bytes on the disk."""

    digests: tuple[str, ...]
    bytes: int


def default_folder() -> str:
    """Where bundles are installed: ``$XDG_DATA_HOME/hermes-build``, or its default."""
    home = os.environ.get("XDG_DATA_HOME", "")
    if not os.path.isabs(home):  # as the specification of these folders has it
        home = os.path.join(os.path.expanduser("~"), ".local", "share")
    return os.path.join(home, "hermes-build")


class Store:
    """The bundles that are installed in a folder; nothing is read or made before it is needed.

    Args:
        folder: where they are; `default_folder` by default.
        on_wait: called when something else changes the folder, and it must be waited for.
    """

    __slots__ = ("_on_wait", "folder")

    def __init__(
        self,
        folder: str | os.PathLike[str] | None = None,
        on_wait: Callable[[], None] | None = None,
    ) -> None:
        self.folder = default_folder() if folder is None else os.fspath(folder)
        self._on_wait = on_wait

    def installed(self) -> tuple[Installed, ...]:
        """Return every name that is installed, sorted; nothing where there is no folder.

        Raises:
            BundleError: ``HB8020``, the list cannot be read.
            OSError: the system does not let it be read.
        """
        return tuple(self._read().values())

    def find(self, name: str) -> Installed:
        """Return what is installed of one name.

        Raises:
            BundleError: ``HB8021`` nothing is, or what `installed` raises.
        """
        found = self._read()
        if name not in found:
            _not_installed(name, found)
        return found[name]

    def archive(self, digest: str) -> str:
        """Return where the archive of a digest stands, if it is installed."""
        return os.path.join(self.folder, _BUNDLES, digest + SUFFIX)

    def path(self, name: str) -> str:
        """Return the archive of a name's current version.

        Raises:
            BundleError: ``HB8021`` there is none, or what `installed` raises.
        """
        path = self.archive(self.find(name).current)
        if not os.path.isfile(path):
            raise BundleError(
                "HB8021", f"the archive of `{name}` is gone: {path}", "", "install it again"
            )
        return path

    def install(self, opened: Opened) -> Installed:
        """Keep a bundle that was verified, and make it the current one of its name.

        Its contents are read from what is open, and held against the manifest once more. One that
        is kept already gets the signatures of this one, if it has any.

        Raises:
            BundleError: ``HB8020`` the list cannot be read, ``HB8006`` a file of the bundle was
                changed meanwhile; nothing is changed.
            OSError: the folder cannot be written; nothing is changed.
        """
        name, digest = opened.manifest.name, opened.digest
        self._make()
        with self._held():
            before = self._read()
            self._sweep(before)
            if not self._holds(opened):
                write_archive(entries_of(opened), self.archive(digest))
            versions: tuple[str, ...] = (digest,)
            if name in before:
                versions = _with(before[name], digest)
            made = Installed(name, digest, versions)
            self._write({**before, name: made})
        return made

    def rollback(self, name: str, to: str = "") -> Installed:
        """Make an earlier version the current one: the one before, or the one that ``to`` begins.

        Raises:
            BundleError: ``HB8022`` there is no earlier one; ``HB8021`` none has this digest, more
                than one begins with it, or its archive is gone; ``HB8020``. Nothing is changed.
            OSError: the folder cannot be written; nothing is changed.
        """
        self.find(name)
        with self._held():
            before = self._read()
            if name not in before:
                _not_installed(name, before)
            found = before[name]
            digest = _chosen(found, to)
            if not os.path.isfile(self.archive(digest)):
                raise BundleError(
                    "HB8021", f"the archive of `{name}` {digest} is gone", "", "install it again"
                )
            made = Installed(name, digest, found.versions)
            self._sweep(before)
            if made != found:
                self._write({**before, name: made})
        return made

    def gc(self, keep: int | None = None) -> Removed:
        """Remove what nobody needs.

        That is what killed processes have left and, with ``keep``, every version but the current
        one of each name and the ``keep`` ones before it. A version that two names have stays while
        one of them needs it. Programs that have an archive open can read on.

        Raises:
            BundleError: ``HB8020``; nothing is removed.
            OSError: the folder cannot be written.
        """
        if not os.path.isdir(self.folder):
            return Removed((), 0)
        with self._held():
            before = after = self._read()
            if keep is not None:
                after = {name: _trimmed(found, keep) for name, found in before.items()}
                if after != before:
                    self._write(after)
            size = self._sweep(after)
        return Removed(tuple(sorted(_digests(before) - _digests(after))), size)

    def _make(self) -> None:
        os.makedirs(os.path.join(self.folder, _BUNDLES), exist_ok=True)

    def _held(self) -> held:
        return held(os.path.join(self.folder, _LOCK), self._on_wait)

    def _holds(self, opened: Opened) -> bool:
        """Whether the archive is there, whole, and no signature would be lost."""
        try:
            with verify(self.archive(opened.digest)) as there:
                if there.digest != opened.digest:
                    return False
                return opened.signatures in (None, there.signatures)
        except (BundleError, OSError):
            return False

    def _read(self) -> dict[str, Installed]:
        path = os.path.join(self.folder, _LIST)
        try:
            with open(path, "rb") as file:
                data = file.read(_MAX_LIST)
        except FileNotFoundError:
            return {}
        return _parsed(data, path)

    def _write(self, installed: Mapping[str, Installed]) -> None:
        document = {
            "format": FORMAT,
            "bundles": {
                name: {"current": one.current, "versions": one.versions}
                for name, one in installed.items()
            },
        }
        text = dumps(document, indent=2, sort_keys=True) + "\n"
        # The archive and its name are on the disk by now, as `placed` leaves them.
        with placed(os.path.join(self.folder, _LIST)) as write:
            write(text.encode())

    def _sweep(self, installed: Mapping[str, Installed]) -> int:
        """Remove files of ours that the list does not name; return how many bytes they took."""
        kept = _digests(installed)
        size = 0
        for folder in (self.folder, os.path.join(self.folder, _BUNDLES)):
            for entry in _listed(folder):
                archive = _ARCHIVE.fullmatch(entry.name) if folder != self.folder else None
                if not _PART.fullmatch(entry.name) and (archive is None or archive[1] in kept):
                    continue
                try:
                    taken = entry.stat(follow_symlinks=False).st_size
                    os.unlink(entry.path)
                except (FileNotFoundError, IsADirectoryError):
                    continue
                except PermissionError:
                    if os.name != "nt":
                        raise
                    continue  # somebody has it open, which forbids it there; the next time, then
                size += taken
        return size


def resolve(name_or_path: str, folder: str | os.PathLike[str] | None = None) -> str:
    """Return the file or folder that somebody means by the name of an installed bundle, or a path.

    What can be a name is one, if it is installed; else, and with a separator or the suffix of an
    archive or a wheel, it is a path: ``./tools`` is a path in any case.

    Raises:
        BundleError: ``HB8021`` there is neither, or what `Store.path` raises.
    """
    is_path = not is_name(name_or_path) or name_or_path.endswith((SUFFIX, ".whl"))
    if not is_path:
        store = Store(folder)
        found = [one.name for one in store.installed()]
        if name_or_path in found:
            return store.path(name_or_path)
    if os.path.lexists(name_or_path):
        return name_or_path
    if is_path:
        raise BundleError("HB8021", f"there is no file or folder {name_or_path}")
    _not_installed(name_or_path, found)


def _with(found: Installed, digest: str) -> tuple[str, ...]:
    """The versions of a name after ``digest`` has replaced its current one."""
    if digest == found.current:
        return found.versions
    versions = [one for one in found.versions if one != digest]
    versions.insert(versions.index(found.current) + 1, digest)
    return tuple(versions)


def _trimmed(found: Installed, keep: int) -> Installed:
    earlier = found.earlier
    kept = earlier[max(len(earlier) - keep, 0) :]
    return Installed(found.name, found.current, (*kept, found.current))


def _chosen(found: Installed, to: str) -> str:
    if not to:
        if not found.earlier:
            raise BundleError(
                "HB8022",
                f"there is no version of `{found.name}` before {found.current[:12]}",
                "",
                "`hermes-build install FILE` installs another one",
            )
        return found.earlier[-1]
    start = to.lower().removeprefix("sha256:")
    fitting = [one for one in found.versions if one.startswith(start)]
    if len(fitting) != 1 or not start:
        kept = ", ".join(one[:12] for one in found.versions)
        what = "more than one digest begins" if fitting else "no version has a digest that begins"
        raise BundleError("HB8021", f"{what} with {to}", "", f"these are kept: {kept}")
    return fitting[0]


def _digests(installed: Mapping[str, Installed]) -> set[str]:
    return {digest for one in installed.values() for digest in one.versions}


def _listed(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return list(found)
    except FileNotFoundError:
        return []


def _parsed(data: bytes, path: str) -> dict[str, Installed]:
    try:
        document: Any = loads(data.decode())
        found = document["format"]
        if type(found) is int and found > FORMAT:
            raise BundleError(
                "HB8020",
                f"{path} is of format {found}, and this hermes-build reads {FORMAT}",
                "",
                "install the hermes-build that wrote it, or a newer one",
            )
        if found != FORMAT:
            raise ValueError
        return {
            name: _row(name, one["current"], one["versions"])
            for name, one in sorted(document["bundles"].items())
        }
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise BundleError(
            "HB8020", f"{path} is not as hermes-build writes it", "", "undo what changed it"
        ) from error


def _row(name: str, current: str, versions: Iterable[str]) -> Installed:
    row = Installed(name, current, tuple(versions))
    fits = all(map(_DIGEST.fullmatch, row.versions)) and current in row.versions
    if not is_name(name) or not fits or len(set(row.versions)) != len(row.versions):
        raise ValueError
    return row


def _not_installed(name: str, found: Iterable[str]) -> NoReturn:
    from hermes_build.nearest import nearest

    close = nearest(name, found)
    raise BundleError(
        "HB8021",
        f"no bundle `{name}` is installed",
        "",
        f"did you mean `{close}`?" if close else "`hermes-build installed` lists those that are",
    )
