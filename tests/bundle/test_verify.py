"""Verifying: what is whole is opened, in an archive and in a folder, and what is not has a code."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hermes_build.bundle.archive import open_archive
from hermes_build.bundle.folder import Folder
from hermes_build.bundle.format import LOCK, MANIFEST, SIGNATURES, BundleError, Runtime
from hermes_build.bundle.verifying import open_files, verify, verify_container
from hermes_build.lock import read, render
from tests.bundle import making
from tests.command_line import hermes

FILES = making.program()
ENTRIES = making.whole(FILES)
HANDLER = "program/handlers/ping.py"

Make = Callable[..., Path]


@pytest.fixture(params=["archive", "folder"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    """Makes a bundle of given entries, in both containers in turn."""
    makers: dict[str, Make] = {"archive": making.archive, "folder": making.unpacked}
    number = itertools.count()
    return lambda entries=None: makers[request.param](tmp_path / f"made{next(number)}", entries)


# What is whole.


def test_a_whole_bundle_is_opened(make: Make) -> None:
    with verify(make()) as opened:
        assert opened.manifest == making.manifest(FILES)
        assert opened.digest == opened.manifest.digest
        assert opened.names() == tuple(sorted(FILES))
        assert {name: opened.read(name) for name in opened.names()} == FILES
        assert opened.signatures is None
        assert opened.path == os.fspath(opened.container.path)


def test_both_containers_have_one_digest(tmp_path: Path) -> None:
    archive, folder = making.archive(tmp_path / "a"), making.unpacked(tmp_path / "b")
    with verify(archive) as one, verify(folder) as other:
        assert one.digest == other.digest == making.manifest(FILES).digest
        assert (one.container.kind, other.container.kind) == ("archive", "folder")


def test_what_zip_tools_unpack_is_whole(tmp_path: Path) -> None:
    shutil.unpack_archive(making.archive(tmp_path / "a"), tmp_path / "b", "zip")
    verify(tmp_path / "b").close()


def test_signatures_are_handed_on_unjudged(make: Make) -> None:
    with verify(make({**ENTRIES, SIGNATURES: b"\0 whatever"})) as opened:
        assert opened.signatures == b"\0 whatever"
        assert opened.digest == making.manifest(FILES).digest
        assert SIGNATURES not in opened.names()


def test_files_of_a_project_are_found_in_its_source_folder(make: Make) -> None:
    lock = read(FILES[LOCK].decode().replace("file generated/", "file src/generated/"))
    files = {**FILES, LOCK: render(lock)}
    verify(make(making.whole(files, source="src"))).close()


def test_a_compiled_project_fits(make: Make) -> None:
    root = Path(__file__).parents[2]
    lock = read((root / LOCK).read_text("utf-8"))
    files = {f"program/{path}": (root / path).read_bytes() for path in lock.owned()}
    for one in lock.tools:
        assert one.handler is not None
        files[f"program/{one.handler.replace('.', '/')}.py"] = b""
    files[LOCK] = (root / LOCK).read_bytes()
    files[making.VERSION] = (root / "hermes_build/__init__.py").read_bytes()
    files["specs/tool_specs/any.yaml"] = b""
    with verify(
        make(
            making.whole(
                files,
                tools=[one.name for one in lock.tools],
                toolsets=[one.name for one in lock.toolsets],
            )
        )
    ) as opened:
        assert "read_file" in opened.manifest.tools


# What is not.


def test_a_missing_file_is_named(make: Make) -> None:
    error = _refused(make({k: v for k, v in ENTRIES.items() if k != HANDLER}), "HB8004")
    assert error.path == HANDLER


def test_a_surplus_file_is_named(make: Make) -> None:
    for path in ("program/handlers/more.py", "__pycache__/x.pyc", "x"):
        assert _refused(make({**ENTRIES, path: b""}), "HB8005").path == path


def test_a_changed_file_is_named(make: Make) -> None:
    changed = FILES[HANDLER].replace(b"pong", b"PONG")
    error = _refused(make({**ENTRIES, HANDLER: changed}), "HB8006")
    assert error.path == HANDLER
    assert "bytes" not in error.message
    error = _refused(make({**ENTRIES, HANDLER: b""}), "HB8006")
    assert "(0 bytes, not 116)" in error.message


def test_a_bundle_without_a_manifest_is_none(make: Make) -> None:
    _refused(make(FILES), "HB8001")


def test_a_manifest_that_lists_itself_is_refused(make: Make) -> None:
    for name in (MANIFEST, SIGNATURES):
        entries = making.whole({**FILES, name: b""})
        entries[MANIFEST] = making.manifest({**FILES, name: b""}).to_bytes()
        assert _refused(make(entries), "HB8004").path == name


def test_a_manifest_that_lists_an_unsafe_name_is_refused(make: Make) -> None:
    for name in ("../x", "program/handlers/PING.py", "a\\b", "program/handlers"):
        entries = {MANIFEST: making.manifest({**FILES, name: b""}).to_bytes(), **FILES}
        assert name in _refused(make(entries), "HB8003").message.replace("\\\\", "\\")


def test_a_file_in_no_place_of_a_bundle_is_refused(make: Make) -> None:
    for name in ("sitecustomize.py", "runtime/json.py", "hermes_build/x.py"):
        assert _refused(make(making.whole({**FILES, name: b""})), "HB8007").path == name


@pytest.mark.parametrize("path", [LOCK, making.CATALOGUE, making.REGISTRY, making.VERSION])
def test_what_every_bundle_holds_must_be_listed(make: Make, path: str) -> None:
    files = {name: data for name, data in FILES.items() if name != path}
    whole = making.manifest(FILES)
    listed = making.manifest(FILES, files={name: whole.files[name] for name in files})
    assert _refused(make({MANIFEST: listed.to_bytes(), **files}), "HB8004").path == path


FIELDS: dict[str, Any] = {
    "package": "handlers",
    "source": "src",
    "roots": ["generated"],
    "toolsets": ["small", "large"],
    "tools": [],
    "registry": "0" * 64,
    "runtime": Runtime(2, "0.1.0", "0.1.0"),
}


@pytest.mark.parametrize("field", FIELDS)
def test_a_field_that_does_not_fit_is_refused_whatever_the_digests_say(
    make: Make, field: str
) -> None:
    path = make(making.whole(FILES, **{field: FIELDS[field]}))
    error = _refused(path, "HB8004" if field == "package" else "HB8007")
    if field not in ("package", "source"):
        assert f"`{field}" in error.message


def test_the_version_that_registry_py_needs_is_held_against_the_manifest(make: Make) -> None:
    error = _refused(make(making.whole(FILES, runtime=Runtime(1, "9", "0.1.0"))), "HB8007")
    assert error.message == f"{making.REGISTRY} states the needs 0.1.0, not 9"


def test_the_version_of_the_runtime_is_that_of_its_files(make: Make) -> None:
    files = {**FILES, making.VERSION: b'__version__ = "1.2.3"\n'}
    error = _refused(make(making.whole(files)), "HB8007")
    assert "it states `0.1.0`, and the files say `1.2.3`" in error.message
    verify(make(making.whole(files, runtime=Runtime(1, "0.1.0", "1.2.3")))).close()


@pytest.mark.parametrize("source", ["", "/", "..", "a/../b", "C:", "./src", "src/"])
def test_a_source_folder_that_leads_elsewhere_is_refused(make: Make, source: str) -> None:
    _refused(make(making.whole(FILES, source=source)), "HB8001")


def test_the_generated_package_holds_what_the_lock_names_and_nothing_else(make: Make) -> None:
    files = {**FILES, "program/generated/more.py": b""}
    error = _refused(make(making.whole({**files, LOCK: FILES[LOCK]})), "HB8007")
    assert error.path == "program/generated/more.py"
    verify(make(making.whole({**files, LOCK: render(making.lock(files))}))).close()


def test_a_handler_module_must_be_there(make: Make) -> None:
    files = {name: data for name, data in FILES.items() if name != HANDLER}
    error = _refused(make(making.whole(files)), "HB8007")
    assert error.message == "the handler module handlers.ping is not in the bundle"
    files["program/handlers/ping/__init__.py"] = b""
    verify(make(making.whole(files))).close()


CATALOGUES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "no header": lambda data: data.partition(b"\n")[2],
    "another count": lambda data: data.replace(b'"tools":1', b'"tools":2', 1),
    "a number that is none": lambda data: data.replace(b'"format":1', b'"format":true', 1),
    "a header with more": lambda data: data.replace(b'"format":1', b'"format":1,"x":1', 1),
    "a header with spaces": lambda data: data.replace(b'"format":1', b'"format": 1', 1),
    "CRLF": lambda data: data.replace(b"\n", b"\r\n"),
    "cut off": lambda data: data[:-1],
    "the header alone": lambda data: data.partition(b"\n")[0],
    "a record twice": lambda data: data + data.split(b"\n")[-2] + b"\n",
    "an empty line": lambda data: data + b"\n",
    "a changed record": lambda data: data.replace(b"The tool", b"A tool", 1),
    "a toolset of no list": lambda data: data.replace(b'"resolved":["ping"]', b'"resolved":"ping"'),
    "deep": lambda data: data + b"toolset/x\t" + b"[" * 99_999 + b"\n",
}


@pytest.mark.parametrize("what", CATALOGUES)
def test_a_damaged_catalogue_is_refused_whatever_the_digests_say(make: Make, what: str) -> None:
    data = CATALOGUES[what](FILES[making.CATALOGUE])
    assert data != FILES[making.CATALOGUE]
    files = {**FILES, making.CATALOGUE: data}
    _refused(make(making.whole({**files, LOCK: render(making.lock(files))})), "HB8007")


def _catalogue_with(old: bytes, new: bytes) -> dict[str, bytes]:
    """The program with another text in its records, every digest made anew."""
    header, _, body = FILES[making.CATALOGUE].partition(b"\n")
    assert old in body
    body = b"\n".join(sorted(body.replace(old, new).splitlines())) + b"\n"
    mark = making.digest(body)[7:]
    parts = json.loads(header[2:])
    parts["digest"] = mark
    first = json.dumps(parts, separators=(",", ":")).encode()
    files = {
        **FILES,
        making.CATALOGUE: b"!\t" + first + b"\n" + body,
        making.REGISTRY: making.registry_module(mark),
    }
    return {**files, LOCK: render(making.lock(files))}


def test_a_catalogue_of_other_toolsets_than_the_lock_is_refused(make: Make) -> None:
    files = _catalogue_with(b'"resolved":["ping"]', b'"resolved":[]')
    error = _refused(make(making.whole(files)), "HB8007")
    assert error.path == LOCK
    assert "toolsets of the lock" in error.message


def test_a_catalogue_of_other_handlers_than_the_lock_is_refused(make: Make) -> None:
    files = _catalogue_with(b"module/handlers.ping", b"module/handlers")
    error = _refused(make(making.whole(files)), "HB8007")
    assert "handlers of the lock" in error.message


def test_the_same_rebuilding_without_a_change_is_whole(make: Make) -> None:
    verify(make(making.whole(_catalogue_with(b"The tool", b"A tool")))).close()


LOCKS: dict[str, tuple[str, str]] = {
    "no lock": ("# Written", "Written"),
    "another header": ("# Written", "# written"),
    "another format": ("format 1", "format 2"),
    "another runtime": ("runtime 1", "runtime 2"),
    "another tool": ("tool ping\n  source", "tool pong\n  source"),
    "another handler": ("handler handlers.ping", "handler handlers.pong"),
    "no handler": ("  handler handlers.ping\n", ""),
    "another toolset": ("toolset small", "toolset large"),
    "another tool in a toolset": ("  tool ping", "  tool pong"),
    "another digest of a file": (making.digest(FILES[making.REGISTRY]), making.digest(b"other")),
    "another path": ("generated/registry.py", "generated/registri.py"),
    "no registry": ("file generated/registry.py", "# generated/registry.py"),
    "a path outside": ("file generated/__init__.py", "file ../generated/__init__.py"),
    "CRLF": ("\n", "\r\n"),
    "a space at an end": ("ping\n", "ping \n"),
    "an empty line": ("\n\n", "\n\n\n"),
    "a merge conflict": ("format 1", "<<<<<<< a\nformat 1"),
}


@pytest.mark.parametrize("what", LOCKS)
def test_a_lock_that_does_not_fit_is_refused_whatever_the_digests_say(
    make: Make, what: str
) -> None:
    text = FILES[LOCK].decode()
    old, new = LOCKS[what]
    changed = text.replace(old, new, 1)
    assert changed != text
    _refused(make(making.whole({**FILES, LOCK: changed.encode()})), "HB8007")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'digest="', b'digest="0'),
        (b"digest=", b"digesting="),
        (b"format=1", b"format=2"),
        (b'needs="0.1.0"', b"needs='0.2.0'"),
    ],
)
def test_a_registry_module_that_states_something_else_is_refused(
    make: Make, old: bytes, new: bytes
) -> None:
    files = {**FILES, making.REGISTRY: FILES[making.REGISTRY].replace(old, new)}
    files[LOCK] = render(making.lock(files))
    assert _refused(make(making.whole(files)), "HB8007").path == making.REGISTRY


def test_a_huge_manifest_is_refused_unread(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    from hermes_build.bundle import archive, verifying

    path = make()
    for room in (archive, verifying):
        monkeypatch.setattr(room, "MAX_MANIFEST", 100)
    _refused(path, "HB8008")


def test_huge_signatures_are_refused_unread(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    from hermes_build.bundle import verifying

    path = make({**ENTRIES, SIGNATURES: bytes(5000)})
    monkeypatch.setattr(verifying, "MAX_MANIFEST", 4000)
    _refused(path, "HB8008")


# Reading later.


def test_a_file_that_is_changed_after_it_was_verified_is_not_read(tmp_path: Path) -> None:
    folder = making.unpacked(tmp_path / "made")
    with verify(folder) as opened:
        (folder / HANDLER).write_bytes(FILES[HANDLER].replace(b"pong", b"PONG"))
        with pytest.raises(BundleError) as caught:
            opened.read(HANDLER)
        assert (caught.value.code, caught.value.path) == ("HB8006", HANDLER)
        (folder / HANDLER).write_bytes(FILES[HANDLER] + b"#")
        with pytest.raises(BundleError) as caught:
            opened.read(HANDLER)
        assert caught.value.code == "HB8006"


def test_an_archive_that_is_changed_after_it_was_verified_is_not_read(tmp_path: Path) -> None:
    path = making.archive(tmp_path / "made")
    with verify(path) as opened:
        place = path.read_bytes().index(b"pong")
        with path.open("r+b") as file:
            file.seek(place)
            file.write(b"PONG")
        with pytest.raises(BundleError) as caught:
            opened.read(HANDLER)
        assert caught.value.code == "HB8002"
        assert opened.read(LOCK) == FILES[LOCK]


def test_opening_without_verifying_holds_each_file_against_the_manifest_when_it_is_read(
    make: Make,
) -> None:
    changed = {**ENTRIES, HANDLER: FILES[HANDLER].replace(b"pong", b"PONG")}
    with open_files(make(changed)) as opened:
        assert opened.read(LOCK) == FILES[LOCK]
        with pytest.raises(BundleError) as caught:
            opened.read(HANDLER)
        assert caught.value.code == "HB8006"
    missing = {name: data for name, data in ENTRIES.items() if name != LOCK}
    with pytest.raises(BundleError) as caught:
        open_files(make(missing))
    assert caught.value.code in ("HB8004", "HB8006")


def test_only_what_the_manifest_lists_can_be_read(make: Make) -> None:
    with verify(make({**ENTRIES, SIGNATURES: b"x"})) as opened:
        for name in (MANIFEST, SIGNATURES, "other", "../x"):
            with pytest.raises(KeyError):
                opened.read(name)


# Folders.


def _links(place: Path, target: str) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(target)


needs_links = pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")


@needs_links
def test_links_are_refused_and_never_followed(tmp_path: Path) -> None:
    folder = making.unpacked(tmp_path / "made")
    (tmp_path / "outside.py").write_bytes(FILES[HANDLER])
    (folder / HANDLER).unlink()
    for target in ("../../../outside.py", "nowhere", str(folder / HANDLER)):
        (folder / HANDLER).unlink(missing_ok=True)
        _links(folder / HANDLER, target)
        error = _refused(folder, "HB8003")
        assert error.path == HANDLER
        assert "is a link" in error.message


@needs_links
def test_a_link_to_a_folder_is_refused(tmp_path: Path) -> None:
    folder = making.unpacked(tmp_path / "made")
    shutil.move(folder / "program/handlers", tmp_path / "handlers")
    _links(folder / "program/handlers", "../../handlers")
    assert _refused(folder, "HB8003").path == "program/handlers"


@needs_links
def test_a_link_to_itself_is_no_endless_walk(tmp_path: Path) -> None:
    folder = making.unpacked(tmp_path / "made")
    _links(folder / "program/again", "..")
    assert _refused(folder, "HB8003").path == "program/again"


@needs_links
def test_a_manifest_that_is_a_link_is_refused(tmp_path: Path) -> None:
    folder = making.unpacked(tmp_path / "made")
    shutil.move(folder / MANIFEST, tmp_path / "manifest")
    _links(folder / MANIFEST, "../manifest")
    assert _refused(folder, "HB8003").path == MANIFEST


@needs_links
def test_the_folder_itself_may_be_reached_by_a_link(tmp_path: Path) -> None:
    making.unpacked(tmp_path / "made")
    _links(tmp_path / "current", "made")
    verify(tmp_path / "current").close()


@needs_links
def test_a_file_that_becomes_a_link_is_not_followed(tmp_path: Path) -> None:
    folder = making.unpacked(tmp_path / "made")
    with verify(folder) as opened:
        shutil.move(folder / HANDLER, tmp_path / "outside.py")
        _links(folder / HANDLER, str(tmp_path / "outside.py"))
        with pytest.raises(BundleError) as caught:
            opened.read(HANDLER)
        assert caught.value.code == "HB8003"


@pytest.mark.skipif(sys.platform == "win32", reason="there are no named pipes")
def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    folder = making.unpacked(tmp_path / "made")
    (folder / HANDLER).unlink()
    os.mkfifo(folder / HANDLER)
    assert _refused(folder, "HB8003").path == HANDLER


def test_an_empty_folder_is_surplus(tmp_path: Path) -> None:
    folder = making.unpacked(tmp_path / "made")
    (folder / "program/json").mkdir()
    assert _refused(folder, "HB8005").path == "program/json"


@pytest.mark.skipif(sys.platform != "linux", reason="other systems take no such name")
def test_a_name_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    folder = making.unpacked(tmp_path / "made")
    Path(os.fsdecode(os.fsencode(folder) + b"/program/\xff.py")).write_bytes(b"")
    _refused(folder, "HB8003")


def test_a_folder_that_is_too_large_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hermes_build.bundle import folder as room

    folder = making.unpacked(tmp_path / "made")
    monkeypatch.setattr(room, "MAX_FILES", 3)
    _refused(folder, "HB8008")
    monkeypatch.undo()
    monkeypatch.setattr(room, "MAX_BYTES", 1000)
    _refused(folder, "HB8008")


def test_an_empty_or_missing_path_is_an_error(tmp_path: Path) -> None:
    _refused(tmp_path, "HB8001")
    with pytest.raises(FileNotFoundError):
        verify(tmp_path / "none")


# Containers.


class Prefixed:
    """A container of its own: the tree below a folder of an archive, as a wheel has it."""

    kind = "wheel"

    def __init__(self, path: Path, prefix: str) -> None:
        self._inner, self._prefix = open_archive(path), prefix
        self.path = os.fspath(path)

    def names(self) -> tuple[str, ...]:
        found = (name for name in self._inner.names() if name.startswith(self._prefix))
        return tuple(name.removeprefix(self._prefix) for name in found)

    def size(self, name: str) -> int:
        return self._inner.size(self._prefix + name)

    def read(self, name: str) -> bytes:
        return self._inner.read(self._prefix + name)

    def pieces(self, name: str) -> Any:
        return self._inner.pieces(self._prefix + name)

    def digests(self) -> Any:
        for name, digest in self._inner.digests():
            if name.startswith(self._prefix):
                yield name.removeprefix(self._prefix), digest

    def close(self) -> None:
        self._inner.close()


def test_another_container_of_the_same_tree_is_verified_alike(tmp_path: Path) -> None:
    entries = {f"small_tools/{name}": data for name, data in ENTRIES.items()}
    path = making.archive(tmp_path / "a.whl", {**entries, "small_tools.dist-info/RECORD": b""})
    with verify_container(Prefixed(path, "small_tools/")) as opened:
        assert opened.digest == making.manifest(FILES).digest
        assert opened.read(HANDLER) == FILES[HANDLER]
    _refused(path, "HB8001")


def test_a_refused_bundle_leaves_no_file_open(tmp_path: Path) -> None:
    closed = []

    class Watched(Prefixed):
        def close(self) -> None:
            closed.append(self.path)
            super().close()

    path = making.archive(tmp_path / "a", {f"x/{name}": data for name, data in FILES.items()})
    with pytest.raises(BundleError):
        verify_container(Watched(path, "x/"))
    assert closed == [os.fspath(path)]


# The command.


def test_the_command_says_what_is_whole(make: Make, tmp_path: Path) -> None:
    path = make()
    done = hermes(tmp_path, "verify", path.name)
    digest = making.manifest(FILES).digest
    assert done.out == f"small is whole: 8 files, 1 tool, 1 toolset\nbundle sha256:{digest}\n"
    assert (done.code, done.err) == (0, "")
    assert hermes(tmp_path, "verify", path.name, "--format", "concise").out == ""
    report = json.loads(hermes(tmp_path, "verify", path.name, "--format", "json").out)
    assert report["summary"] == {"errors": 0, "warnings": 0, "infos": 0, "files": 8}


def test_the_command_names_the_first_difference_and_its_code(make: Make, tmp_path: Path) -> None:
    path = make({**ENTRIES, HANDLER: b""})
    done = hermes(tmp_path, "verify", path.name)
    assert done.code == 1
    assert "error[HB8006]: program/handlers/ping.py is not the file that the mani" in done.out
    assert "--> program/handlers/ping.py:1:1" in done.out
    assert f"note: the bundle is {path.name}" in done.out
    done = hermes(tmp_path, "verify", path.name, "--format", "concise")
    assert done.out.startswith("program/handlers/ping.py:1:1: error[HB8006] ")
    done = hermes(tmp_path, "verify", path.name, "--format", "json")
    assert [one["code"] for one in json.loads(done.out)["findings"]] == ["HB8006"]


def test_the_command_shows_nothing_of_what_is_in_a_refused_bundle(tmp_path: Path) -> None:
    folder = making.unpacked(tmp_path / "made", {**ENTRIES, "secret": b"do not show\n"})
    done = hermes(tmp_path, "verify", "made")
    assert (done.code, done.codes) == (1, ["HB8005"])
    assert "do not show" not in done.out
    assert (folder / "secret").exists()


def test_the_command_takes_the_digest_that_a_bundle_must_have(make: Make, tmp_path: Path) -> None:
    path = make()
    digest = making.manifest(FILES).digest
    for right in (digest, f"sha256:{digest}", digest.upper()):
        assert hermes(tmp_path, "verify", path.name, "--digest", right).code == 0
    for wrong in ("0" * 64, digest[:12], "sha256:"):
        done = hermes(tmp_path, "verify", path.name, "--digest", wrong)
        assert (done.code, done.codes) == (1, ["HB8006"])


def test_the_command_cannot_decide_where_there_is_nothing(tmp_path: Path) -> None:
    done = hermes(tmp_path, "verify", "none.hermes")
    assert (done.code, done.out) == (2, "")
    assert "none.hermes: No such file or directory" in done.err


def test_verifying_imports_no_part_of_the_compiler_or_of_the_bundle(tmp_path: Path) -> None:
    making.archive(tmp_path / "made")
    code = (
        "import sys; from hermes_build.bundle.verifying import verify; verify('made').close();"
        "print(*sorted(sys.modules))"
    )
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    modules = done.stdout.split()
    ours = {name for name in modules if name.startswith("hermes_build")}
    assert {name.split(".")[1] for name in ours if "." in name} == {"bundle", "layout", "lock"}
    assert not {"generated", "handlers", "asyncio", "zipfile", "yaml", "click"} & set(modules)


def test_a_folder_is_a_container(tmp_path: Path) -> None:
    found = Folder(making.unpacked(tmp_path / "made"))
    assert found.names()[0] == MANIFEST
    assert {name: found.read(name) for name in found.names()} == ENTRIES
    assert LOCK in found
    assert {name: f"sha256:{digest}" for name, digest in found.digests()} == {
        name: making.digest(data) for name, data in ENTRIES.items()
    }


def _refused(path: Path, code: str) -> BundleError:
    with pytest.raises(BundleError) as caught:
        verify(path)
    assert caught.value.code == code, caught.value.message
    return caught.value
