"""Installed bundles: each is kept once, and a name leads to its current version."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_build.bundle.format import SIGNATURES, BundleError
from hermes_build.bundle.installed import Installed
from hermes_build.bundle.locking import held
from hermes_build.bundle.store import Store, default_folder, resolve
from hermes_build.bundle.verifying import verify
from tests.bundle.making import archive, program, unpacked, whole


def code_of(act: Callable[[], object]) -> str:
    with pytest.raises(BundleError) as caught:
        act()
    return caught.value.code


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def made(folder: Path, result: str, name: str = "small") -> Path:
    """An archive whose tool gives this result."""
    folder.mkdir(exist_ok=True)
    return archive(folder / f"{name}-{result}.hermes", whole(program(result=result), name=name))


def install(store: Store, path: Path) -> str:
    with verify(path) as opened:
        return store.install(opened).current


def digest_of(path: Path) -> str:
    with verify(path) as opened:
        return opened.digest


def files(store: Store) -> set[str]:
    root = Path(store.folder)
    return {one.relative_to(root).as_posix() for one in root.rglob("*") if one.is_file()}


def kept(*digests: str) -> set[str]:
    return {"installed.json", "lock", *(f"bundles/{one}.hermes" for one in digests)}


def test_an_installed_bundle_is_its_archive_byte_for_byte(store: Store, tmp_path: Path) -> None:
    path = made(tmp_path, "one")
    digest = install(store, path)
    assert Path(store.path("small")).read_bytes() == path.read_bytes()
    assert store.installed() == (Installed("small", digest, (digest,)),)
    assert files(store) == kept(digest)


def test_a_folder_is_installed_as_the_archive_that_it_was(store: Store, tmp_path: Path) -> None:
    path = made(tmp_path, "one")
    folder = unpacked(tmp_path / "unpacked", whole(program(result="one"), name="small"))
    install(store, folder)
    assert Path(store.path("small")).read_bytes() == path.read_bytes()


def test_an_equal_bundle_is_kept_once_and_not_written_again(store: Store, tmp_path: Path) -> None:
    path = made(tmp_path, "one")
    install(store, path)
    before = os.stat(store.path("small"))
    install(store, path)
    after = os.stat(store.path("small"))
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
    assert len(store.find("small").versions) == 1


def test_a_bundle_that_is_kept_gets_the_signatures_of_an_equal_one(
    store: Store, tmp_path: Path
) -> None:
    plain = made(tmp_path, "one")
    entries = whole(program(result="one"), name="small")
    signed = archive(tmp_path / "signed.hermes", {**entries, SIGNATURES: b"signatures\n"})
    assert install(store, plain) == install(store, signed)
    assert Path(store.path("small")).read_bytes() == signed.read_bytes()
    install(store, plain)
    assert Path(store.path("small")).read_bytes() == signed.read_bytes()


def test_signatures_that_are_kept_are_not_lost_to_those_that_nobody_has_checked(
    store: Store, tmp_path: Path
) -> None:
    entries = whole(program(result="one"), name="small")
    good, bad = (
        archive(tmp_path / f"{name}.hermes", {**entries, SIGNATURES: name.encode()})
        for name in ("good", "bad")
    )
    install(store, good)
    install(store, bad)
    assert Path(store.path("small")).read_bytes() == good.read_bytes()
    # What is damaged holds nothing that could be lost.
    Path(store.path("small")).write_bytes(good.read_bytes()[:-1])
    install(store, bad)
    assert Path(store.path("small")).read_bytes() == bad.read_bytes()
    with verify(good) as opened:
        store.install(opened, lambda new, old: new + b" and " + old)
    assert verify(store.path("small")).signatures == b"good and bad"


def test_an_archive_is_held_to_the_digest_that_it_is_named_by(store: Store, tmp_path: Path) -> None:
    one, two = (made(tmp_path, name) for name in ("one", "two"))
    first, second = install(store, one), install(store, two)
    Path(store.archive(first)).write_bytes(two.read_bytes())
    with store.open("small") as opened:
        assert opened.digest == second
    for act in (lambda: store.open("small", first), lambda: store.rollback("small")):
        with pytest.raises(BundleError, match="holds another bundle") as caught:
            act()
        assert (caught.value.code, caught.value.help) == ("HB8006", "install it again")
    Path(store.archive(first)).write_bytes(b"PK garbage")
    with pytest.raises(BundleError, match=f"the archive of `small` {first[:12]} is damaged"):
        store.rollback("small", first)
    assert store.find("small") == Installed("small", second, (first, second))
    install(store, one)
    assert store.rollback("small", first).current == first


def test_without_its_list_a_folder_of_archives_stays_as_it_is(store: Store, tmp_path: Path) -> None:
    one = made(tmp_path, "one")
    digest = install(store, one)
    (Path(store.folder) / "installed.json").unlink()
    for act in (
        lambda: store.installed(),
        lambda: install(store, made(tmp_path, "two")),
        lambda: store.rollback("small"),
        lambda: store.gc(keep=0),
    ):
        with pytest.raises(BundleError, match=r"installed\.json is gone") as caught:
            act()
        assert (caught.value.code, "bundles away" in caught.value.help) == ("HB8020", True)
    assert files(store) == {"lock", f"bundles/{digest}.hermes"}
    # As the help says.
    (Path(store.folder) / "bundles").rename(tmp_path / "away")
    assert install(store, tmp_path / f"away/{digest}.hermes") == digest


def test_the_list_is_there_before_the_first_archive(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError("no room")

    monkeypatch.setattr("hermes_build.bundle.store.write_archive", full)
    with pytest.raises(OSError, match="no room"):
        install(store, made(tmp_path, "one"))
    assert store.installed() == () and files(store) == kept()


def test_an_archive_that_was_damaged_is_mended_by_installing_it_again(
    store: Store, tmp_path: Path
) -> None:
    path = made(tmp_path, "one")
    install(store, path)
    Path(store.path("small")).write_bytes(path.read_bytes()[:-1])
    install(store, path)
    assert Path(store.path("small")).read_bytes() == path.read_bytes()


def test_going_back_leads_through_what_was_replaced(store: Store, tmp_path: Path) -> None:
    one, two, three = (install(store, made(tmp_path, name)) for name in ("one", "two", "three"))
    assert store.find("small") == Installed("small", three, (one, two, three))
    assert store.rollback("small").current == two
    four = install(store, made(tmp_path, "four"))
    # What was given up is not on the way back.
    assert store.find("small").earlier == (one, two)
    assert store.rollback("small").current == two
    assert store.rollback("small").current == one
    assert code_of(lambda: store.rollback("small")) == "HB8022"
    assert store.find("small").current == one
    for wanted in (four, three[:12], "sha256:" + two, one):
        assert store.rollback("small", wanted).current.startswith(wanted.removeprefix("sha256:"))


def test_installing_an_earlier_version_again_goes_forward_to_it(
    store: Store, tmp_path: Path
) -> None:
    one, two = (install(store, made(tmp_path, name)) for name in ("one", "two"))
    install(store, made(tmp_path, "one"))
    assert store.find("small") == Installed("small", one, (two, one))
    assert store.rollback("small").current == two


def test_there_is_nothing_before_the_oldest_version(store: Store, tmp_path: Path) -> None:
    digest = install(store, made(tmp_path, "one"))
    with pytest.raises(BundleError, match="HB8022"):
        store.rollback("small")
    assert store.find("small").current == digest


def test_a_name_or_a_version_that_is_not_there_is_said(store: Store, tmp_path: Path) -> None:
    assert store.installed() == ()
    with pytest.raises(BundleError, match="HB8021"):
        store.path("small")
    assert code_of(lambda: store.rollback("small")) == "HB8021"
    assert not Path(store.folder).exists()
    one = install(store, made(tmp_path, "one"))
    with pytest.raises(BundleError, match="no bundle `smal` is installed") as caught:
        store.find("smal")
    assert caught.value.help == "did you mean `small`?"
    for wanted in ("0" * 64, "sha256:", "xyz", "/"):
        assert code_of(lambda wanted=wanted: store.rollback("small", wanted)) == "HB8021"  # type: ignore[misc]
    os.unlink(store.archive(one))
    assert code_of(lambda: store.open("small")) == "HB8021"


def test_the_beginning_of_two_digests_is_none(store: Store, tmp_path: Path) -> None:
    digests = [install(store, made(tmp_path, str(number))) for number in range(17)]
    # Of seventeen digests, two begin with one digit.
    first = [one[0] for one in digests]
    twice = next(one for one in first if first.count(one) > 1)
    with pytest.raises(BundleError, match="more than one digest begins"):
        store.rollback("small", twice)


def test_gc_keeps_every_version_that_the_list_names(store: Store, tmp_path: Path) -> None:
    digests = [install(store, made(tmp_path, name)) for name in ("one", "two", "three")]
    store.rollback("small")
    assert store.gc().digests == ()
    assert files(store) == kept(*digests)


def test_gc_with_a_number_keeps_the_current_version_and_so_many_before_it(
    store: Store, tmp_path: Path
) -> None:
    names = ("one", "two", "three", "four")
    one, two, three, four = (install(store, made(tmp_path, name)) for name in names)
    store.rollback("small")  # to three
    size = sum(os.path.getsize(store.archive(each)) for each in (one, four))
    removed = store.gc(keep=1)
    assert removed.digests == tuple(sorted((one, four)))
    assert removed.bytes == size
    assert files(store) == kept(two, three)
    assert store.find("small") == Installed("small", three, (two, three))
    assert store.gc(keep=0).digests == (two,)
    assert files(store) == kept(three)
    assert verify(store.path("small")).manifest.name == "small"


def test_gc_knows_the_names_apart(store: Store, tmp_path: Path) -> None:
    mine = [install(store, made(tmp_path, result)) for result in ("one", "two")]
    other = [install(store, made(tmp_path, result, "other")) for result in ("one", "two")]
    assert len({*mine, *other}) == 4
    store.gc(keep=0)
    assert files(store) == kept(mine[1], other[1])
    assert [one.name for one in store.installed()] == ["other", "small"]


def test_uninstalling_removes_every_version_of_one_name_and_no_other(
    store: Store, tmp_path: Path
) -> None:
    mine = [install(store, made(tmp_path, result)) for result in ("one", "two")]
    other = install(store, made(tmp_path, "one", "other"))
    assert store.uninstall("small").digests == tuple(sorted(mine))
    assert files(store) == kept(other)
    assert [one.name for one in store.installed()] == ["other"]
    with pytest.raises(BundleError, match="HB8021"):
        store.uninstall("small")
    store.uninstall("other")
    assert files(store) == kept()
    assert store.installed() == ()


def test_gc_and_installing_remove_our_own_litter_and_nothing_else(
    store: Store, tmp_path: Path
) -> None:
    digest = install(store, made(tmp_path, "one"))
    root = Path(store.folder)
    litter = [
        root / "bundles" / f"{'0' * 64}.hermes",
        root / "bundles" / f".{'0' * 64}.hermes.0123456789ab.part",
        root / ".installed.json.0123456789ab.part",
    ]
    mine = ["note.txt", "bundles/note.txt", "bundles/.note.part", f"{'0' * 64}.hermes"]
    for name in mine:
        (root / name).write_text("mine")
    for act in (lambda: store.gc(), lambda: install(store, made(tmp_path, "one"))):
        for place in litter:
            place.write_bytes(b"12345")
        act()
        assert files(store) == kept(digest) | set(mine)


def test_gc_of_nothing_makes_nothing(store: Store) -> None:
    assert store.gc(keep=0).digests == ()
    assert not Path(store.folder).exists()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"format": 1}',
        '{"format": 2, "bundles": {}}',
        '{"format": "1", "bundles": {}}',
        '{"format": true, "bundles": {}}',
        '{"format": 1.0, "bundles": {}}',
        '{"format": 1, "bundles": []}',
        '{"format": 1, "bundles": {"small": {}}}',
        '{"format": 1, "bundles": {"small": {"current": "x", "versions": ["x"]}}}',
        '{"format": 1, "bundles": {"small": {"current": "DIGEST", "versions": []}}}',
        '{"format": 1, "bundles": {"../up": {"current": "DIGEST", "versions": ["DIGEST"]}}}',
        '{"format": 1, "bundles": {"s": {"current": "DIGEST", "versions": ["DIGEST", "DIGEST"]}}}',
        '{"format": 1, "bundles": {"s": {"current": "DIGEST", "versions": "DIGEST"}}}',
    ],
)
def test_a_list_that_cannot_be_read_stops_every_change(
    text: str, store: Store, tmp_path: Path
) -> None:
    path = made(tmp_path, "one")
    digest = install(store, path)
    (Path(store.folder) / "installed.json").write_text(text.replace("DIGEST", digest))
    before = {name: (Path(store.folder) / name).read_bytes() for name in files(store)}
    for act in (
        lambda: store.installed(),
        lambda: store.path("small"),
        lambda: install(store, path),
        lambda: store.rollback("small"),
        lambda: store.gc(keep=0),
    ):
        with pytest.raises(BundleError, match="HB8020"):
            act()
    assert {name: (Path(store.folder) / name).read_bytes() for name in files(store)} == before


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with a name")
def test_a_pipe_in_place_of_the_list_is_refused_and_not_waited_for(
    store: Store, tmp_path: Path
) -> None:
    install(store, made(tmp_path, "one"))
    path = Path(store.folder) / "installed.json"
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(BundleError, match=r"HB8020.*no regular file"):
        store.installed()


def test_the_list_of_a_newer_version_says_so(store: Store, tmp_path: Path) -> None:
    install(store, made(tmp_path, "one"))
    (Path(store.folder) / "installed.json").write_text('{"format": 2}')
    with pytest.raises(BundleError, match="is of format 2") as caught:
        store.installed()
    assert "newer" in caught.value.help


def test_a_bundle_that_changes_while_it_is_installed_leaves_the_old_state(
    store: Store, tmp_path: Path
) -> None:
    old = install(store, made(tmp_path, "one"))
    folder = unpacked(tmp_path / "unpacked", whole(program(result="two"), name="small"))
    with verify(folder) as opened:
        place = folder / "program/handlers/ping.py"
        place.write_bytes(place.read_bytes().replace(b"two", b"owt"))
        with pytest.raises(BundleError, match="HB8006"):
            store.install(opened)
    assert store.find("small") == Installed("small", old, (old,))
    assert files(store) == kept(old)


def test_a_program_reads_on_in_a_version_that_gc_removed(store: Store, tmp_path: Path) -> None:
    install(store, made(tmp_path, "one"))
    with verify(store.path("small")) as opened:
        install(store, made(tmp_path, "two"))
        store.gc(keep=0)
        if os.name != "nt":
            assert not os.path.exists(opened.path)
        assert b'return "one"' in opened.read("program/handlers/ping.py")


def test_a_name_means_what_is_installed_and_a_path_is_a_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path / "data" / "hermes-build")
    path = made(tmp_path, "one")
    install(store, path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert default_folder() == store.folder
    assert resolve("small").path == store.path("small")
    assert resolve(str(path)).path == str(path)
    assert resolve(path.name).path == path.name
    # A folder of the project that is called like the bundle does not come before it.
    (tmp_path / "small").mkdir()
    assert resolve("small").path == store.path("small")
    assert resolve("./small").path == "./small"
    (tmp_path / "other").mkdir()
    assert resolve("other").path == "other"
    for missing in ("another", "./another", "another.hermes", "a/b", ""):
        with pytest.raises(BundleError, match="HB8021"):
            resolve(missing)


def test_the_default_folder_is_below_home_where_nothing_else_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    for value in ("", "relative/folder"):
        monkeypatch.setenv("XDG_DATA_HOME", value)
        assert default_folder() == str(tmp_path / ".local" / "share" / "hermes-build")


def test_the_list_is_sorted_text_that_people_can_read(store: Store, tmp_path: Path) -> None:
    for name in ("b", "a"):
        install(store, made(tmp_path, "one", name))
    text = (Path(store.folder) / "installed.json").read_text()
    assert text.endswith("}\n")
    assert list(json.loads(text)["bundles"]) == ["a", "b"]


def test_whoever_waits_for_the_lock_is_told_and_gets_it(tmp_path: Path) -> None:
    waiting, order = threading.Event(), []

    def second() -> None:
        with held(str(tmp_path / "lock"), waiting.set):
            order.append("second")

    with held(str(tmp_path / "lock")):
        thread = threading.Thread(target=second)
        thread.start()
        assert waiting.wait(60)
        order.append("first")
    thread.join(60)
    assert order == ["first", "second"]
