"""Whether exactly this state of a project was judged before, and what the judgement was.

The run that finds nothing changed ends here, so this module imports next to nothing and opens no
file that its status says is unchanged. As in git's index, a status is size, times and inode; where
it differs, or is so young that a change could hide behind it, the content's digest decides.

What is watched is looked at before it is read (`Watch.add`), and looked at again when the verdict
is remembered: a file that somebody saved in between was not judged, and nothing is remembered.

A verdict counts only in the very folder where it was written: it names the inode and change time
of a file beside it, which no copy, archive or checkout can carry. Otherwise a commit could bring
its own clean verdict along.
"""

from __future__ import annotations

import os
import sys
from zlib import crc32

import hermes_build
from hermes_build.compiler.regular import read_regular
from hermes_build.compiler.state import STATE, open_state, replace, seat
from hermes_build.compiler.status import (
    MISSING,
    REGULAR,
    Unwatchable,
    content_digest,
    is_young,
    look,
)

TYPE_CHECKING = False  # `typing` would cost more than everything else here together
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

FILE = "verdict"
_MAGIC = b"hermes-build verdict 2"
_PACKAGES = (
    "click-",
    "datamodel_code_generator-",
    "jinja2-",
    "jsonschema-",
    "jsonschema_rs-",
    "pyyaml-",
)


_SITES = ("site-packages", "dist-packages")


class Watch:
    """The status of everything that a judgement depends on, taken before it is read."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = os.fspath(root)
        self.inputs: list[str] = []
        self.seen: dict[str, str] | None = {}
        self.seals: dict[str, str] = {}  # digests of files so young that a status cannot tell
        self._clock = _now(self.root)

    def add(self, *inputs: str) -> None:
        """Watch files and whole folders, as paths in the project; what is missing is watched too.

        Inside a folder, hidden files and compiled Python are passed over.
        """
        for path in inputs:
            if path in self.inputs or self.seen is None:
                continue
            self.inputs.append(path)
            try:
                for name, status in look(self.root, [path]).items():
                    self.seen[name] = status
                    if status.startswith(REGULAR) and is_young(status, self._clock):
                        self.seals[name] = content_digest(self.root, name)
            except (OSError, Unwatchable):
                self.seen = None

    def add_read(self, *inputs: str) -> None:
        """Watch files that somebody has read since the watch began.

        One that was saved since then may not be what was read: then nothing is remembered.
        """
        self.add(*inputs)
        statuses = (self.seen or {}).get
        for status in (statuses(path, MISSING) for path in inputs):
            if status.startswith(REGULAR) and is_young(status, self._clock):
                self.seen = None
                return


def stamp(*more: str, environment: bool = False) -> str:
    """Return a text that is another when the tool is another: its code, and what it stands on.

    ``more`` are the choices of this run that can change a judgement. With ``environment``, so can
    every installed package, because handlers are imported: also one without metadata, whose
    coming and going the time of its folder shows.
    """
    home = os.path.dirname(hermes_build.__file__)
    try:
        own = [f"{path} {status}" for path, status in look(home, ["."]).items()]
    except (OSError, Unwatchable):
        own = [f"{os.getpid()} {os.times().elapsed}"]  # a stamp that no other run has
    found = []
    for folder in dict.fromkeys(sys.path):
        try:
            names = os.listdir(folder) if folder else []
            if environment and folder.endswith(_SITES):
                found.append(f"{folder} {os.stat(folder).st_mtime_ns}")
        except OSError:
            continue
        infos = (name.lower() for name in names if name.endswith("-info"))
        found += sorted(name for name in infos if environment or name.startswith(_PACKAGES))
    if environment:
        found.append(os.environ.get("PYTHONPATH", ""))
    parts = [hermes_build.__version__, sys.version, *own, *found, *more]
    return " ".join(parts).replace("\n", " ")


def remembered(root: str | os.PathLike[str], stamp: str) -> str | None:
    """Return the verdict remembered under ``stamp``, if every watched input is as it was then.

    A verdict that is missing, damaged, of another stamp or from another place is None.
    """
    root = os.fspath(root)
    try:
        record = _Record.parse(read_regular(os.path.join(root, STATE, FILE)))
        if record.stamp != stamp or record.seat != seat(root):
            return None
        if not record.young and _pack(look(root, record.inputs)) == record.statuses:
            return record.verdict
        return _look_closer(root, record)
    except (OSError, ValueError, IndexError, Unwatchable):
        return None


def remember(watch: Watch, stamp: str, verdict: str) -> bool:
    """Remember the judgement on what ``watch`` saw; False where it cannot be, or must not be.

    ``verdict`` is any text, such as the findings in JSON. Everything must be as it was when it was
    added to the watch.
    """
    root = watch.root
    if watch.seen is None:
        return False
    try:
        clock = _now(root)
        now = look(root, watch.inputs)
        known = _known_digests(root)
        digests = {}
        for path in now.keys() | watch.seen.keys():
            status = now.get(path, "")
            before = watch.seen.get(path, "")
            if status.startswith(REGULAR):
                digests[path] = known.get(f"{path}\t{status}") or content_digest(root, path)
            seal = digests.get(path)
            if status != before or watch.seals.get(path, seal) != seal:
                return False
        _write(root, stamp, verdict, watch.inputs, now, digests, clock)
    except (OSError, ValueError, Unwatchable):
        return False
    return True


def _look_closer(root: str, record: _Record) -> str | None:
    """Let the contents decide, and note the new statuses so that the next look is quick again."""
    clock = _now(root)
    now = look(root, record.inputs)
    old = record.table()
    if now.keys() != old.keys():
        return None
    digests = {}
    for path, status in now.items():
        before, seal = old[path]
        if status.startswith(REGULAR) != bool(seal):
            return None
        if not seal:
            if status != before:
                return None
            continue
        doubtful = status != before or is_young(status, record.clock)
        if doubtful and content_digest(root, path) != seal:
            return None
        digests[path] = seal
    try:
        _write(root, record.stamp, record.verdict, record.inputs, now, digests, clock)
    except OSError:
        pass  # only the next run's time is lost
    return record.verdict


def _pack(statuses: Mapping[str, str]) -> bytearray:
    packed = bytearray()
    for path, status in statuses.items():  # no list of so many rows: it takes twice the room
        packed += f"{path}\t{status}\0".encode("utf-8", "surrogateescape")
    return packed[:-1]


def _now(root: str) -> int:
    """The time by the clock of the project's file system, in nanoseconds; 0 if it is read-only."""
    try:
        path = os.path.join(open_state(root), "clock")
        # A pipe of that name would be waited for, and a link would touch a file somewhere else.
        careful = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | careful, 0o666))
        os.utime(path)
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0


def _known_digests(root: str) -> dict[str, str]:
    """The digests of the last verdict, by path and status, of what was not young then."""
    try:
        record = _Record.parse(read_regular(os.path.join(root, STATE, FILE)))
        if record.seat != seat(root):
            return {}
        return {
            f"{path}\t{status}": seal
            for path, (status, seal) in record.table().items()
            if seal and not is_young(status, record.clock)
        }
    except (OSError, ValueError, IndexError):
        return {}


class _Record:
    """A verdict's file: a head line, then parts whose lengths the head gives."""

    def __init__(self, clock: int, young: bool, parts: list[memoryview]) -> None:
        self.clock = clock
        self.young = young
        self.stamp, self.seat = _text(parts[0]), _text(parts[1])
        self.inputs = _text(parts[2]).split("\0") if parts[2] else []
        self.verdict = _text(parts[3])
        self.statuses, self.digests = parts[4], parts[5]

    @staticmethod
    def parse(data: bytes) -> _Record:
        start = data.index(b"\n") + 1
        head, body = data[: start - 1], memoryview(data)[start:]  # of a large one, no copies
        magic, _, rest = head.partition(b": ")
        check, clock, young, *lengths = (int(word) for word in rest.split(b" "))
        if magic != _MAGIC or len(lengths) != 6 or sum(lengths) != len(body):
            raise ValueError("not a verdict")
        if check != crc32(body, crc32(rest.partition(b" ")[2])):
            raise ValueError("a damaged verdict")
        parts = []
        at = 0
        for length in lengths:
            parts.append(body[at : at + length])
            at += length
        return _Record(clock, bool(young), parts)

    def table(self) -> dict[str, tuple[str, str]]:
        """Each watched path with its status and its content's digest, empty for no file."""
        rows = _text(self.statuses).split("\0") if self.statuses else []
        seals = bytes(self.digests).decode("ascii").split("\n") if rows else []
        found = {}
        for row, seal in zip(rows, seals, strict=True):
            path, _, status = row.rpartition("\t")
            found[path] = (status, seal)
        return found


def _text(data: memoryview) -> str:
    return bytes(data).decode("utf-8", "surrogateescape")


def _write(
    root: str,
    stamp: str,
    verdict: str,
    inputs: Iterable[str],
    statuses: Mapping[str, str],
    digests: Mapping[str, str],
    clock: int,
) -> None:
    folder = open_state(root)
    texts = (stamp, seat(root), "\0".join(inputs), verdict)
    parts: list[bytes | bytearray] = [text.encode("utf-8", "surrogateescape") for text in texts]
    parts.append(_pack(statuses))
    parts.append("\n".join(digests.get(path, "") for path in statuses).encode("ascii"))
    young = any(is_young(statuses[path], clock) for path in digests)
    words = [clock, int(young), *map(len, parts)]
    head = " ".join(map(str, words)).encode("ascii")
    body = b"".join(parts)
    whole = b"%s: %d %s\n%s" % (_MAGIC, crc32(body, crc32(head)), head, body)
    replace(os.path.join(folder, FILE), [whole])
