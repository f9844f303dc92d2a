"""What an open bundle holds of the process, and how that is given back."""

from __future__ import annotations

import gc
import os
import sys
import threading
import warnings
import weakref
from pathlib import Path
from typing import Any

import pytest

from hermes_build.bundle.archive import open_archive
from hermes_build.bundle.format import BundleError
from hermes_build.bundle.held import Held
from hermes_build.bundle.isolation import Space
from hermes_build.runtime.bundles import open_bundle
from hermes_build.runtime.errors import CatalogueError
from tests.bundle.containers import CONTAINERS, entries
from tests.bundle.making import archive, program, whole

DESCRIPTORS = Path("/proc/self/fd")


@pytest.fixture(params=CONTAINERS)
def small(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A small bundle, in each container."""
    return CONTAINERS[request.param](tmp_path, entries())


def held_of(path: Path) -> list[str]:
    """The descriptors of this process that are open for files at a path or below it."""
    found = []
    for one in DESCRIPTORS.iterdir():
        try:
            target = os.readlink(one)
        except OSError:
            continue
        if target.startswith(str(path)):
            found.append(target)
    return found


def private_modules() -> set[str]:
    return {name for name in sys.modules if name.startswith("hermes_bundle_")}


@pytest.mark.skipif(not DESCRIPTORS.is_dir(), reason="the system does not list descriptors")
@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize("use", ["nothing", "a look", "a call", "a session", "hooks"])
def test_what_nobody_holds_any_more_is_closed(small: Path, verify: bool, use: str) -> None:
    before = private_modules()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        registry: Any = open_bundle(small, verify=verify)
        if use == "a look":
            registry.find("ping")
        elif use == "a call":
            assert registry.call("ping", {}) == "pong"
        elif use == "a session":
            assert registry.session(["small"]).call("ping", {}) == "pong"
        elif use == "hooks":
            assert registry.hooks.is_idle
            assert registry.call("ping", {}) == "pong"
        gone = weakref.ref(registry)
        del registry
        gc.collect()
        gc.collect()  # modules go when the registry has gone, and the file when they have
    assert gone() is None
    assert private_modules() == before
    assert held_of(small) == []


def test_who_holds_a_session_holds_the_bundle_open(small: Path) -> None:
    session = open_bundle(small).session(["small"])
    gc.collect()
    assert session.call("ping", {}) == "pong"


def test_a_handler_that_calls_tools_of_its_own_registry_is_answered(tmp_path: Path) -> None:
    handler = (
        "from generated.registry import registry\n"
        "from hermes_build.runtime import ToolRegistry\n"
        "assert isinstance(registry, ToolRegistry)\n"
        "SEEN = []\n"
        "@registry.handler('ping')\n"
        "def handler(args, **context):\n"
        "    SEEN.append(1)\n"
        "    if len(SEEN) == 3:\n"
        "        return 'enough'\n"
        "    return registry.session(['small']).call('ping', {}) if len(SEEN) == 2 else (\n"
        "        registry.call('ping', {}))\n"
    )
    files = {**program(), "program/handlers/ping.py": handler.encode()}
    with open_bundle(archive(tmp_path / "a.hermes", whole(files))) as registry:
        assert registry.call("ping", {}) == "enough"


@pytest.mark.skipif(not DESCRIPTORS.is_dir(), reason="the system does not list descriptors")
def test_a_closed_bundle_holds_nothing(small: Path) -> None:
    before = private_modules()
    registry = open_bundle(small)
    assert registry.call("ping", {}) == "pong"
    registry.close()
    assert private_modules() == before
    assert held_of(small) == []
    with pytest.raises(CatalogueError, match="closed"):
        registry.find("ping")


class Memory:
    """The files of a program in memory."""

    def __init__(self, **sources: str) -> None:
        self._files = {f"program/{name}.py": text.encode() for name, text in sources.items()}

    def names(self) -> list[str]:
        return list(self._files)

    def read(self, name: str) -> bytes:
        return self._files[name]


def test_a_space_that_is_closed_amid_an_import_shares_no_module_with_the_next() -> None:
    gate = threading.Event()
    reached = threading.Event()
    waiting = "import builtins_of_test\nbuiltins_of_test.reached.set()\n"
    waiting += "builtins_of_test.gate.wait(30)\nimport later\n"
    shared: Any = type(sys)("builtins_of_test")
    shared.gate, shared.reached = gate, reached
    sys.modules["builtins_of_test"] = shared
    failed: list[BaseException] = []

    def importing() -> None:
        try:
            old.import_module("slow")
        except ImportError as error:
            failed.append(error)

    try:
        old = Space(Memory(slow=waiting, later=""), ["slow", "later"], "v1", path="/nowhere/a")
        thread = threading.Thread(target=importing)
        thread.start()
        assert reached.wait(30)
        old.close()
        new = Space(Memory(slow="WORD = 'new'"), ["slow"], "v1", path="/nowhere/a")
        assert new.package != old.package
        module: Any = new.import_module("slow")
        assert module.WORD == "new"
        gate.set()
        thread.join()
        assert failed
        assert sys.modules[new.private("slow")] is module
        assert not [name for name in sys.modules if name.startswith(old.package + ".")]
        # Now that nobody is in it, the name is free.
        third = Space(Memory(slow="WORD = 'third'"), ["slow"], "v1", path="/nowhere/a")
        assert third.package == old.package
        old.close()
        assert third.import_module("slow").WORD == "third"
        old.close()
        assert third.private("slow") in sys.modules
        new.close()
        third.close()
    finally:
        gate.set()
        del sys.modules["builtins_of_test"]


def test_nothing_is_imported_from_the_folder_of_a_space_that_was_closed(tmp_path: Path) -> None:
    (tmp_path / "program" / "inner").mkdir(parents=True)
    (tmp_path / "program" / "inner" / "evil.py").write_text("raise SystemExit('run')\n")
    space = Space(Memory(**{"inner/__init__": ""}), ["inner"], "v1", path=str(tmp_path))
    package: Any = space.import_module("inner")
    space.close()
    # As for a thread that has looked for the package before it was closed.
    sys.modules[package.__name__] = package
    try:
        with pytest.raises(ModuleNotFoundError, match="closed"):
            __import__(f"{package.__name__}.evil")
    finally:
        del sys.modules[package.__name__]


@pytest.mark.skipif(os.name == "nt", reason="there a number is not taken again at once")
def test_an_archive_neither_reads_nor_closes_a_descriptor_that_is_another_files(
    tmp_path: Path,
) -> None:
    opened = open_archive(archive(tmp_path / "a.hermes"))
    other = archive(tmp_path / "b.hermes")
    number = opened._file._descriptor
    with other.open("rb") as file:
        os.dup2(file.fileno(), number)  # what a program does that closes all and opens anew
    with pytest.raises(OSError, match="somebody else"):
        opened.read("program/handlers/ping.py")
    opened.close()
    os.fstat(number)
    os.close(number)


def test_a_file_that_is_closed_while_others_read_gives_its_bytes_or_an_error(
    tmp_path: Path,
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_bytes(b"1" * 5000)
    second.write_bytes(b"2" * 5000)
    seen: set[bytes] = set()

    def read(held: Held) -> None:
        try:
            while True:
                seen.add(held.read(0, 5000))
        except OSError:
            pass

    for _ in range(50):
        held = Held(str(first))
        readers = [threading.Thread(target=read, args=(held,)) for _ in range(3)]
        for one in readers:
            one.start()
        held.close()
        with second.open("rb"), second.open("rb"):  # these get the number that has become free
            for one in readers:
                one.join()
    assert seen <= {b"1" * 5000}


def test_a_file_is_read_in_a_finalizer_that_runs_within_a_read(tmp_path: Path) -> None:
    """The collector of garbage comes at any moment, and what it runs may call a tool."""
    held = Held(str(archive(tmp_path / "a.hermes")))
    with held._lock:
        assert held.read(0, 2) == b"PK"
    held.close()


@pytest.mark.skipif(os.name == "nt", reason="there are no pipes in folders")
def test_the_opener_of_a_package_is_a_file_of_its_size(tmp_path: Path) -> None:
    package = CONTAINERS["package"](tmp_path, entries())
    opener = package / "__init__.py"
    real = opener.read_bytes()
    opener.unlink()
    os.mkfifo(opener)
    with pytest.raises(BundleError, match="HB8001"):
        open_bundle(package)
    opener.unlink()
    (tmp_path / "elsewhere.py").write_bytes(real)
    opener.symlink_to(tmp_path / "elsewhere.py")
    with pytest.raises(BundleError, match="HB8003"):
        open_bundle(package)
    opener.unlink()
    with opener.open("wb") as file:
        file.truncate(10**10)
    with pytest.raises(BundleError, match="HB8006"):
        open_bundle(package)
