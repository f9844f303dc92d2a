"""Installed bundles: a folder that keeps each bundle once, and knows the current one of each name.

    installed.json          which versions there are of each name, and which is the current one
    bundles/DIGEST.hermes   each version's archive, by the digest of its bundle
    lock                    held by whoever changes something

``installed.json`` alone decides: it is replaced in one step, so that a reader, who needs no lock,
sees the state before a change or the one after it. An archive is there before the list names it,
and goes after the list has ceased to. So whatever a killed process leaves is an archive, or a part
of one, that the list does not name; the next that changes something removes it. The list itself is
there before the first archive: where it is gone, nobody can tell what may go, and nothing does.

An archive is named by the digest of its bundle, and held to it whenever it is used.
"""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass

from hermes_build.bundle.archive import write_archive
from hermes_build.bundle.copying import entries_of
from hermes_build.bundle.format import SUFFIX, BundleError, is_name
from hermes_build.bundle.installed import Installed, digests, parsed, written
from hermes_build.bundle.locking import held
from hermes_build.bundle.placing import placed
from hermes_build.bundle.verifying import Opened, verify

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import NoReturn

_LIST = "installed.json"
_LOCK = "lock"
_BUNDLES = "bundles"

_ARCHIVE = re.compile(rf"([0-9a-f]{{64}}){re.escape(SUFFIX)}")
_PART = re.compile(
    rf"\.(?:{re.escape(_LIST)}|[0-9a-f]{{64}}{re.escape(SUFFIX)})\.[0-9a-f]{{12}}\.part"
)
_AGAIN = "install it again"
_MAX_LIST = 32 * 1024 * 1024
_AT_ONCE = getattr(os, "O_NONBLOCK", 0)


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
        """Return where the archive of a name's current version stands.

        Raises:
            BundleError: ``HB8021`` nothing of the name is installed, or what `installed` raises.
        """
        return self.archive(self.find(name).current)

    def open(self, name: str, digest: str = "") -> Opened:
        """Verify the archive of a version, by default of a name's current one, and return it open.

        Raises:
            BundleError: ``HB8021`` it is not installed, or its archive is gone; ``HB8006`` it holds
                another bundle; or what `verify` raises of it, and what `installed` raises.
            OSError: it cannot be read.
        """
        digest = digest or self.find(name).current
        path = self.archive(digest)
        what = f"the archive of `{name}` {digest[:12]}"
        try:
            opened = verify(path)
        except FileNotFoundError as error:
            raise BundleError("HB8021", f"{what} is gone: {path}", "", _AGAIN) from error
        except BundleError as error:
            message = f"{what} is damaged: {error.message}"
            raise BundleError(error.code, message, error.path, _AGAIN) from error
        if opened.digest != digest:
            opened.close()
            raise BundleError(
                "HB8006", f"{what} holds another bundle, sha256:{opened.digest}", "", _AGAIN
            )
        return opened

    def install(
        self, opened: Opened, joined: Callable[[bytes, bytes], bytes] | None = None
    ) -> Installed:
        """Keep a bundle that was verified, and make it the current one of its name.

        Its contents are read from what is open, and held against the manifest once more. The
        signatures of one that is kept already stay, as nobody here can tell good ones from others;
        it gets those of the new one where it has none.

        Args:
            opened: the bundle.
            joined: given where somebody has checked the signatures of the new one: makes one
                envelope of these and of those that are there.

        Raises:
            BundleError: ``HB8020`` the list cannot be read, ``HB8006`` a file of the bundle was
                changed meanwhile; nothing is changed.
            OSError: the folder cannot be written; nothing is changed.
        """
        name, digest = opened.manifest.name, opened.digest
        os.makedirs(os.path.join(self.folder, _BUNDLES), exist_ok=True)
        with self._held():
            before = self._read()
            if not os.path.exists(os.path.join(self.folder, _LIST)):
                self._write(before)
            self._sweep(before)
            signatures = opened.signatures
            there = self._kept(name, digest)
            if there is not None and there.signatures is not None:
                old = there.signatures
                signatures = old if signatures is None or not joined else joined(signatures, old)
            if there is None or there.signatures != signatures:
                write_archive(entries_of(opened, signatures), self.archive(digest))
            made = Installed(name, digest, (digest,))
            if name in before:
                made = before[name].with_version(digest)
            self._write({**before, name: made})
        return made

    def rollback(self, name: str, to: str = "") -> Installed:
        """Make an earlier version the current one: the one before, or the one that ``to`` begins.

        Raises:
            BundleError: ``HB8022`` there is no earlier one; ``HB8021`` none has this digest, or
                more than one begins with it; or what `open` raises. Nothing is changed.
            OSError: the folder cannot be written; nothing is changed.
        """
        self.find(name)
        with self._held():
            before = self._read()
            if name not in before:
                _not_installed(name, before)
            found = before[name]
            digest = found.chosen(to)
            self.open(name, digest).close()
            made = Installed(name, digest, found.versions)
            self._sweep(before)
            if made != found:
                self._write({**before, name: made})
        return made

    def uninstall(self, name: str) -> Removed:
        """Remove a name and its versions; those that another name has stay.

        Programs that have an archive open can read on.

        Raises:
            BundleError: ``HB8021`` nothing of the name is installed, or ``HB8020``; nothing is
                changed.
            OSError: the folder cannot be written.
        """
        self.find(name)
        with self._held():
            before = self._read()
            if name not in before:
                _not_installed(name, before)
            after = {one: found for one, found in before.items() if one != name}
            self._write(after)
            size = self._sweep(after)
        return Removed(tuple(sorted(digests(before) - digests(after))), size)

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
                after = {name: found.trimmed(keep) for name, found in before.items()}
                if after != before:
                    self._write(after)
            size = self._sweep(after)
        return Removed(tuple(sorted(digests(before) - digests(after))), size)

    def _held(self) -> held:
        return held(os.path.join(self.folder, _LOCK), self._on_wait)

    def _kept(self, name: str, digest: str) -> Opened | None:
        """What is kept of a digest, if it is there and whole; closed, for what is known of it."""
        try:
            opened = self.open(name, digest)
        except (BundleError, OSError):
            return None
        opened.close()
        return opened

    def _read(self) -> dict[str, Installed]:
        path = os.path.join(self.folder, _LIST)
        data = _content(path)
        if data is None:
            archives = os.path.join(self.folder, _BUNDLES)
            if not any(_ARCHIVE.fullmatch(entry.name) for entry in _listed(archives)):
                return {}
            data = _content(path)  # the list comes before the first archive: it may have just come
        if data is None:
            raise BundleError(
                "HB8020",
                f"{path} is gone, which alone knows what is installed there",
                "",
                f"put it back; or move {archives} away, and install the bundles in it again, the "
                "current one of each name last",
            )
        return parsed(data, path)

    def _write(self, installed: Mapping[str, Installed]) -> None:
        # The archive and its name are on the disk by now, as `placed` leaves them.
        with placed(os.path.join(self.folder, _LIST)) as write:
            write(written(installed))

    def _sweep(self, installed: Mapping[str, Installed]) -> int:
        """Remove files of ours that the list does not name; return how many bytes they took."""
        kept = digests(installed)
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


@dataclass(frozen=True, slots=True)
class Meant:
    """What somebody means by a word: a path, or the current version of an installed bundle.

    ``path`` is a file or a folder, of whatever kind; ``name`` and ``digest`` are those of an
    installed bundle, and empty for a path.
    """

    path: str
    store: Store
    name: str = ""
    digest: str = ""

    def open(self) -> Opened:
        """Verify it, and return it open; an installed one is held to its digest.

        Raises what `Store.open` raises.
        """
        return self.store.open(self.name, self.digest) if self.name else verify(self.path)


def resolve(name_or_path: str, folder: str | os.PathLike[str] | None = None) -> Meant:
    """Return what somebody means by the name of an installed bundle, or a path.

    What can be a name is one, if it is installed; else, and with a separator or the suffix of an
    archive or a wheel, it is a path: ``./tools`` is a path in any case.

    Raises:
        BundleError: ``HB8021`` there is neither, or what `Store.installed` raises.
    """
    store = Store(folder)
    is_path = not is_name(name_or_path) or name_or_path.endswith((SUFFIX, ".whl"))
    if not is_path:
        found = {one.name: one.current for one in store.installed()}
        if name_or_path in found:
            digest = found[name_or_path]
            return Meant(store.archive(digest), store, name_or_path, digest)
    if os.path.lexists(name_or_path):
        return Meant(name_or_path, store)
    if is_path:
        raise BundleError("HB8021", f"there is no file or folder {name_or_path}")
    _not_installed(name_or_path, found)


def _content(path: str) -> bytes | None:
    try:
        # Opening a pipe would wait for somebody to write to it.
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | _AT_ONCE)) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise BundleError("HB8020", f"{path} is no regular file", "", "put the list back")
            return file.read(_MAX_LIST)
    except FileNotFoundError:
        return None


def _listed(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return list(found)
    except FileNotFoundError:
        return []


def _not_installed(name: str, found: Iterable[str]) -> NoReturn:
    from hermes_build.nearest import nearest

    close = nearest(name, found)
    raise BundleError(
        "HB8021",
        f"no bundle `{name}` is installed",
        "",
        f"did you mean `{close}`?" if close else "`hermes-build installed` lists those that are",
    )
