"""Opening bundles as registries of a running program."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from hermes_build.bundle.archive import write_archive
from hermes_build.bundle.format import (
    MANIFEST,
    SIGNATURES,
    BundleError,
    Runtime,
    roots_of,
)
from hermes_build.bundle.glance import Glance
from hermes_build.runtime.bundles import open_bundle
from hermes_build.runtime.errors import CatalogueError, HandlerImportError, SchemaDriftError
from tests.bundle.containers import CONTAINERS, entries
from tests.bundle.making import CATALOGUE, PARAMETERS, archive, manifest, program, unpacked, whole
from tests.runtime_program import tool, write_program
from tests.test_runtime_imports import HEAVY, modules_after

PING = "program/handlers/ping.py"


def holding(handler: str, **more: str) -> dict[str, bytes]:
    """A whole bundle of one tool, `ping`, with this handler module; ``more`` are its neighbours."""
    files = {**program(), PING: handler.encode()}
    files.update({f"program/handlers/{name}.py": text.encode() for name, text in more.items()})
    return whole(files)


@pytest.fixture(params=CONTAINERS)
def small(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A small bundle, in each container."""
    return CONTAINERS[request.param](tmp_path, entries())


@pytest.mark.parametrize("verify", [True, False])
def test_a_bundle_is_a_registry_like_any_other(small: Path, verify: bool) -> None:
    with open_bundle(small, verify=verify) as registry:
        assert registry.get_all_tool_names() == ["ping"]
        assert registry.resolve_toolset("small") == ["ping"]
        assert registry.get_definition("ping") == {
            "type": "function",
            "function": {
                "name": "ping", "description": "The tool ping.", "parameters": PARAMETERS
            },
        }  # fmt: skip
        assert registry.call("ping", {}) == "pong"
        assert asyncio.run(registry.acall("ping", {})) == "pong"
        assert registry.session(["small"]).call("ping", {}) == "pong"
        assert "Invalid arguments for ping" in registry.call("ping", {"more": 1})
        registry.load()
        registry.verify()
        assert registry.bundle.manifest.name == "small"


def test_the_name_may_be_relative_and_the_folder_may_change(
    small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(small.parent)
    with open_bundle(small.name) as registry:
        monkeypatch.chdir("/")
        assert registry.call("ping", {}) == "pong"


def test_typed_decorators_bind_to_the_registry_that_was_opened(tmp_path: Path) -> None:
    source = (
        "from {generated}.tools import read_file\n"
        "from hermes_build.runtime import ToolRegistry, tool_result\n"
        "from {generated}.registry import registry\n"
        "@read_file.implements\n"
        "def handler(args: read_file.Args, **context):\n"
        "    return tool_result(path=args['path'], limit=args['limit'],\n"
        "                       own=isinstance(registry, ToolRegistry))\n"
    )
    made = write_program(tmp_path, [tool("read_file", module="m")], handlers={"m": source})
    files = {
        f"program/{path.relative_to(tmp_path).as_posix()}": path.read_bytes()
        for path in tmp_path.rglob("*.*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    listed = manifest(
        {**files, **program()},  # the names of its own are replaced
        package=made.package,
        registry=made.digest,
        tools=["read_file"],
        toolsets=[],
    )
    whole_bundle = {MANIFEST: listed.to_bytes(), **files, **program()}
    target = tmp_path / "typed.hermes"
    write_archive(whole_bundle, target)
    with open_bundle(target, verify=False) as registry:
        answer = json.loads(registry.call("read_file", {"path": "a"}))
        assert answer == {"path": "a", "limit": 500, "own": True}
        inside = registry.space.import_module(f"{made.package}.registry")
        assert inside.registry == registry  # by a proxy, which keeps nothing open
        assert inside.registry != made.registry
        assert registry.binding("read_file").module == registry.space.private(f"{made.handlers}.m")
        assert made.registry.binding("read_file").module == f"{made.handlers}.m"


def test_two_versions_run_at_once_and_a_program_changes_over(tmp_path: Path) -> None:
    paths = [
        archive(tmp_path / f"{word}.hermes", whole(program(result=word))) for word in ("old", "new")
    ]
    old, new = map(open_bundle, paths)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda n: (old, new)[n % 2].call("ping", {}), range(100)))
    assert found == ["old", "new"] * 50
    old.close()
    assert new.call("ping", {}) == "new"
    new.close()
    for package in (old.space.package, new.space.package):
        assert not [name for name in sys.modules if name.startswith(package)]


def test_one_bundle_is_opened_by_many_threads_at_once(small: Path) -> None:
    def use(_: int) -> Any:
        with open_bundle(small, verify=False) as registry:
            return registry.call("ping", {})

    before = {name for name in sys.modules if name.startswith("hermes_bundle_")}
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(use, range(40))) == {"pong"}
    assert {name for name in sys.modules if name.startswith("hermes_bundle_")} == before


def test_a_file_that_is_replaced_while_it_is_open_changes_nothing(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.hermes", whole(program(result="old")))
    newer = archive(tmp_path / "b.hermes", whole(program(result="new")))
    for verify in (True, False):
        with open_bundle(path, verify=verify) as registry:
            saved = path.read_bytes()
            os.replace(newer, path)
            assert registry.call("ping", {}) == "old"
            with open_bundle(path) as second:
                assert second.call("ping", {}) == "new"
                assert second.space.place != registry.space.place
        newer.write_bytes(path.read_bytes())
        path.write_bytes(saved)


def test_a_module_that_was_changed_since_is_not_run(small: Path) -> None:
    whole_file = small if small.is_file() else next(small.rglob("ping.py"))
    with open_bundle(small) as registry:
        whole_file.write_bytes(whole_file.read_bytes().replace(b'"pong"', b'"evil"'))
        answer = json.loads(registry.call("ping", {}))
        assert "HB800" in answer["error"] and "ping.py" in answer["error"]
    with pytest.raises(BundleError) as refused:
        open_bundle(small)
    assert refused.value.code in ("HB8002", "HB8006")
    with open_bundle(small, verify=False) as registry:
        assert "HB800" in json.loads(registry.call("ping", {}))["error"]


def test_a_bundle_that_is_none_is_refused_with_its_code(tmp_path: Path) -> None:
    other = tmp_path / "other.hermes"
    other.write_bytes(b"no bundle at all" * 20)
    cut = archive(tmp_path / "cut.hermes")
    cut.write_bytes(cut.read_bytes()[:-1])
    (tmp_path / "empty").mkdir()
    later = archive(tmp_path / "later.hermes")
    later.write_bytes(later.read_bytes().replace(b'"format":1,"left', b'"format":2,"left'))
    for path, code in [(other, "HB8001"), (tmp_path / "empty", "HB8001"), (later, "HB800")]:
        for verify in (True, False):
            with pytest.raises(BundleError, match=code):
                open_bundle(path, verify=verify)
    with pytest.raises(BundleError, match="HB8002"):
        open_bundle(cut)
    for verify in (True, False):
        with pytest.raises(FileNotFoundError):
            open_bundle(tmp_path / "nothing", verify=verify)


def test_a_bundle_for_a_newer_runtime_says_what_to_install(tmp_path: Path) -> None:
    newer = whole(program(), runtime=Runtime(format=2, needs="9.1.0", version="9.2.0"))
    path = archive(tmp_path / "newer.hermes", newer)
    with pytest.raises(CatalogueError, match=r"pip install 'hermes-build>=9\.1\.0'"):
        open_bundle(path, verify=False)


def test_keys_demand_signatures_of_theirs(tmp_path: Path) -> None:
    pytest.importorskip("securesystemslib")
    ed25519 = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519")
    from hermes_build.signing.dsse import sign

    mine, other = (ed25519.Ed25519PrivateKey.generate() for _ in range(2))
    files = whole(program())
    bare = archive(tmp_path / "bare.hermes", files)
    signatures = sign(files[MANIFEST], [mine])
    signed = archive(tmp_path / "signed.hermes", {**files, SIGNATURES: signatures})
    for verify in (True, False):
        with open_bundle(
            signed, keys=[mine.public_key()], require_signature=True, verify=verify
        ) as registry:
            assert registry.call("ping", {}) == "pong"
        with pytest.raises(BundleError, match="HB8010"):
            open_bundle(bare, keys=[mine.public_key()], verify=verify)
        with pytest.raises(BundleError, match="HB8012"):
            open_bundle(signed, keys=[other.public_key()], verify=verify)
        both = [mine.public_key(), other.public_key()]
        with pytest.raises(BundleError, match="HB8014"):
            open_bundle(signed, keys=both, threshold=2, verify=verify)
    with pytest.raises(ValueError, match="no keys"):
        open_bundle(signed, require_signature=True)


@pytest.mark.parametrize("threshold", [2, 0, -1])
@pytest.mark.parametrize("verify", [True, False])
def test_a_threshold_without_keys_is_no_demand_that_is_passed_over(
    tmp_path: Path, threshold: int, verify: bool
) -> None:
    path = archive(tmp_path / "bare.hermes", whole(program()))
    with pytest.raises(ValueError, match="no keys"):
        open_bundle(path, threshold=threshold, verify=verify)


@pytest.mark.parametrize("make", [archive, unpacked])
def test_opening_at_a_glance_imports_next_to_nothing(
    make: Callable[[Path], Path], tmp_path: Path
) -> None:
    small = make(tmp_path / "small.hermes")
    code = (
        "from hermes_build.runtime.bundles import open_bundle\n"
        f"registry = open_bundle({str(small)!r}, verify=False)"
    )
    # -S: what the site folder of a developer imports at start-up is not ours.
    loaded = modules_after(code, tmp_path, "-S")
    assert "hermes_build.bundle.glance" in loaded
    assert loaded.isdisjoint(HEAVY | {"json", "hashlib", "zipfile", "hermes_build.lock"})


def test_a_glance_sees_what_the_manifest_says(tmp_path: Path) -> None:
    files = program()
    tricky = whole(
        files,
        dependencies={"package": "package", "runtime": "registry", "httpx": None},
        left_out=[('handlers."x', ',"package":"evil","registry":"0"')],
    )
    glance = Glance(archive(tmp_path / "tricky.hermes", tricky))
    listed = manifest(files)
    assert (glance.package, glance.registry) == (listed.package, listed.registry)
    assert (glance.format, glance.needs) == (1, "0.1.0")
    assert glance.pythons == listed.requires_python
    held, start = glance.place_of(CATALOGUE)
    assert held.read(start, len(files[CATALOGUE])) == files[CATALOGUE]
    with pytest.raises(BundleError, match="HB8004"):
        glance.place_of("generated/catalogue.jsonl")
    glance.close()


def test_a_closed_registry_answers_with_an_error(small: Path) -> None:
    registry = open_bundle(small)
    assert registry.call("ping", {}) == "pong"
    session = registry.session(["small"])
    registry.close()
    registry.close()
    for answer in (registry.call("ping", {}), session.call("ping", {})):
        assert "closed" in json.loads(answer)["error"]
    with pytest.raises(CatalogueError, match="closed"):
        registry.find("ping")


@pytest.mark.skipif(os.name == "nt", reason="there a number is not taken again at once")
def test_a_descriptor_that_is_another_files_by_now_is_neither_read_nor_closed(
    tmp_path: Path,
) -> None:
    registry = open_bundle(archive(tmp_path / "a.hermes"), verify=False)
    held = registry._glance.held
    assert held is not None
    number = held._descriptor
    (tmp_path / "other").write_bytes(b"x" * 100_000)
    other = os.open(tmp_path / "other", os.O_RDONLY)
    os.dup2(other, number)  # as a program does that becomes a daemon
    with pytest.raises(CatalogueError, match="somebody else"):
        registry.find("ping")
    registry.close()
    os.fstat(number)
    os.close(number)
    os.close(other)


def test_a_handler_that_fails_to_import_is_told_with_its_place(tmp_path: Path) -> None:
    handler = "import handlers.deeper\nimport handlers.nothing\n"
    path = archive(tmp_path / "a.hermes", holding(handler, deeper=""))
    with open_bundle(path) as registry:
        for _ in range(2):
            with pytest.raises(HandlerImportError) as lost:
                registry.binding("ping")
            assert lost.value.module == "handlers.ping" and lost.value.tools == ("ping",)
            assert (lost.value.path, lost.value.line) == ("handlers/ping.py", 2)
            assert "No module named 'handlers.nothing'" in str(lost.value)


def test_drift_is_found_as_in_any_program(tmp_path: Path) -> None:
    handler = (
        "from generated.registry import registry\n\n"
        "@registry.handler('ping')\n"
        "def handler(*, word: str) -> str:\n    return word\n"
    )
    with open_bundle(archive(tmp_path / "a.hermes", holding(handler))) as registry:
        with pytest.raises(SchemaDriftError) as drift:
            registry.load()
        (one,) = drift.value.mismatches
        assert one.handler == ("handlers/ping.py", 3)
        assert one.spec == ("tool_specs/ping.yaml", 1)


def test_a_tool_that_is_taken_from_a_module_twice_is_refused(tmp_path: Path) -> None:
    handler = (
        "from generated.registry import registry\n"
        "@registry.handler('ping')\ndef one(args, **context): return '1'\n"
        "@registry.handler('ping')\ndef two(args, **context): return '2'\n"
    )
    with open_bundle(archive(tmp_path / "a.hermes", holding(handler))) as registry:
        assert "already registered" in registry.call("ping", {})


def test_handlers_see_the_runtime_of_the_program_that_opens_them(tmp_path: Path) -> None:
    handler = (
        "from generated.registry import registry\n"
        "import hermes_build.runtime.result as result\n"
        "from hermes_build.runtime.errors import Unavailable\n"
        "@registry.handler('ping')\n"
        "def handler(args, **context): return result.tool_result(error='no')\n"
    )
    import hermes_build.runtime.errors
    import hermes_build.runtime.result

    with open_bundle(archive(tmp_path / "a.hermes", holding(handler))) as registry:
        assert registry.call("ping", {}) == '{"error": "no"}'
        module = registry.space.import_module("handlers.ping")
        assert module.result is hermes_build.runtime.result
        assert module.Unavailable is hermes_build.runtime.errors.Unavailable


def test_the_roots_are_those_of_the_manifest(small: Path) -> None:
    with open_bundle(small) as registry:
        assert registry.space.roots == frozenset(roots_of(registry.bundle.names()))
        assert registry.space.roots == {"generated", "handlers"}
