"""No path of a call leaves the workspace, and wrong paths are answered with the right ones."""

from __future__ import annotations

import multiprocessing
import os
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.files import workspace as module
from handlers.files.nearest import missing
from handlers.files.patching import apply_patch, replace
from handlers.files.reading import read_file
from handlers.files.searching import Query, search_files
from handlers.files.workspace import Place, Workspace
from handlers.files.writing import write_file
from handlers.refusal import Refusal


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    (tmp_path / "outside").mkdir()
    file = tmp_path / "outside" / "secret.txt"
    file.write_text("secret\n")
    return file


TOOLS: dict[str, Callable[[Workspace, str], object]] = {
    "read": read_file,
    "write": lambda workspace, path: write_file(workspace, path, "stolen\n"),
    "replace": lambda workspace, path: replace(workspace, path, "secret", "stolen"),
    "patch": lambda workspace, path: apply_patch(
        workspace, f"--- {path}\n+++ {path}\n@@ -1 +1 @@\n-secret\n+stolen\n"
    ),
    "delete": lambda workspace, path: apply_patch(
        workspace, f"--- {path}\n+++ /dev/null\n@@ -1 +0,0 @@\n-secret\n"
    ),
    "search": lambda workspace, path: search_files(workspace, Query("secret", path=path), None),
}


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize(
    "path",
    [
        "../outside/secret.txt",
        "{outside}/secret.txt",
        "a/../../outside/secret.txt",
        "file_link",
        "folder_link/secret.txt",
        "chain/secret.txt",
        "folder_link/../outside/secret.txt",
        "./folder_link/./secret.txt",
        "{root}/folder_link/secret.txt",
    ],
)
def test_no_tool_follows_a_path_out_of_the_workspace(
    workspace: Workspace, root: Path, secret: Path, tool: str, path: str
) -> None:
    (root / "a").mkdir()
    (root / "file_link").symlink_to(secret)
    (root / "folder_link").symlink_to(secret.parent)
    (root / "chain").symlink_to("folder_link")
    with pytest.raises(Refusal, match="leads out of the workspace"):
        TOOLS[tool](workspace, path.format(outside=secret.parent, root=root))
    assert secret.read_text() == "secret\n"
    assert [one.name for one in secret.parent.iterdir()] == ["secret.txt"]


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize(
    "path",
    [
        "",
        " ",
        "a\0b",
        "\ud800",
        "~",
        "~/x",
        "~root/x",
        "/",
        "/etc/passwd",
        "/proc/self/environ",
        "..",
    ],
)
def test_paths_that_are_none_are_refused(workspace: Workspace, tool: str, path: str) -> None:
    with pytest.raises(Refusal):
        TOOLS[tool](workspace, path)
    assert os.listdir(workspace.root) == []


@pytest.mark.parametrize("tool", ["read", "write", "replace", "search"])
@pytest.mark.parametrize("kind", ["pipe", "socket", "device"])
def test_special_files_are_refused_without_opening_them(
    workspace: Workspace, root: Path, tool: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)
    if kind == "pipe":
        os.mkfifo("special")
    elif kind == "socket":
        socket.socket(socket.AF_UNIX).bind("special")
    else:
        try:
            os.mknod("special", 0o020666, os.makedev(1, 5))  # what /dev/zero is
        except PermissionError:
            pytest.skip("only root makes devices")
    started = time.monotonic()
    with pytest.raises(Refusal, match=r"a named pipe|a socket|a device"):
        TOOLS[tool](workspace, "special")
    assert time.monotonic() - started < 2


def test_pseudo_file_systems_are_refused_even_inside_the_root() -> None:
    everything = Workspace.at("/")
    for path in (
        "/proc/self/environ",
        "/dev/zero",
        "proc/self/root/proc/1/environ",
        "/sys/kernel/mm",
    ):
        with pytest.raises(Refusal, match="holds no ordinary files"):
            read_file(everything, path)
    with pytest.raises(Refusal):
        read_file(everything, "/proc/1/root/proc/1/environ")
    assert everything.locate("etc/passwd").shown == "etc/passwd"


def test_links_inside_the_workspace_are_followed(workspace: Workspace, root: Path) -> None:
    (root / "real").mkdir()
    (root / "real" / "a.txt").write_text("one\n")
    (root / "link").symlink_to("real")
    (root / "a.txt").symlink_to("link/a.txt")
    assert read_file(workspace, "a.txt").startswith("    1|one\n")
    write_file(workspace, "a.txt", "two\n")
    assert (root / "a.txt").is_symlink()
    assert (root / "real" / "a.txt").read_text() == "two\n"


def test_a_link_to_nowhere_inside_is_written_through(workspace: Workspace, root: Path) -> None:
    (root / "later").symlink_to("made/now.txt")
    assert write_file(workspace, "later", "x")["path"] == "made/now.txt"
    assert (root / "later").read_text() == "x"


@pytest.mark.parametrize("tool", ["read", "write", "replace", "search"])
def test_links_in_a_circle_are_refused(workspace: Workspace, root: Path, tool: str) -> None:
    (root / "one").symlink_to("two")
    (root / "two").symlink_to("one")
    with pytest.raises(Refusal, match="circle"):
        TOOLS[tool](workspace, "one")


def test_a_root_that_is_a_link_and_absolute_paths_inside_it(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "alias").symlink_to("real")
    workspace = Workspace.at(str(tmp_path / "alias"))
    write_file(workspace, str(tmp_path / "alias" / "a.txt"), "x\n")
    assert read_file(workspace, str(tmp_path / "real" / "a.txt")).startswith("    1|x\n")


def test_a_sibling_that_shares_the_roots_name_is_outside(tmp_path: Path) -> None:
    for name in ("root", "root-2"):
        (tmp_path / name).mkdir()
    (tmp_path / "root-2" / "a").write_text("x")
    with pytest.raises(Refusal, match="leads out"):
        read_file(Workspace.at(str(tmp_path / "root")), "../root-2/a")


def test_the_environment_names_the_root_and_a_wrong_one_is_refused(tmp_path: Path) -> None:
    assert Workspace.from_environment({module.VARIABLE: str(tmp_path)}).root == str(tmp_path)
    assert Workspace.from_environment({}).root == os.path.realpath(".")
    assert Workspace.from_environment({module.VARIABLE: ""}).root == os.path.realpath(".")
    with pytest.raises(Refusal, match=module.VARIABLE):
        Workspace.from_environment({module.VARIABLE: str(tmp_path / "nowhere")})


def test_a_link_put_in_place_after_the_check_is_not_followed(
    workspace: Workspace, root: Path, secret: Path
) -> None:
    """The attack on every check-then-open: the folder becomes a link in between."""
    (root / "folder").mkdir()
    (root / "folder" / "secret.txt").write_text("mine\n")
    place = workspace.locate("folder/secret.txt")
    (root / "folder").rename(root / "moved")
    (root / "folder").symlink_to(secret.parent)
    with pytest.raises(Refusal), workspace.open_file(place):
        pass
    with pytest.raises(OSError), workspace.folder(place.parent):
        pass


def test_a_swapping_folder_never_leaks_or_harms(
    workspace: Workspace, root: Path, secret: Path
) -> None:
    (root / "inside").mkdir()
    (root / "inside" / "secret.txt").write_text("mine\n")
    (root / "spot").symlink_to("inside")
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            for target in ("inside", str(secret.parent)):
                os.symlink(target, root / "fresh")
                os.replace(root / "fresh", root / "spot")

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        done = 0
        for _ in range(300):
            try:
                assert "secret" not in read_file(workspace, "spot/secret.txt").split("[")[0]
                write_file(workspace, "spot/secret.txt", "mine\n")
                done += 1
            except Refusal:
                continue
    finally:
        stop.set()
        swapper.join()
    assert done
    assert secret.read_text() == "secret\n"


@given(st.text(max_size=40))
def test_any_text_is_a_place_inside_or_a_refusal(path: str) -> None:
    workspace = Workspace.at(os.path.dirname(__file__))
    try:
        place = workspace.locate(path)
    except Refusal:
        return
    assert ".." not in place.parts
    assert os.path.realpath(os.path.join(workspace.root, *place.parts)).startswith(workspace.root)


def test_a_wrong_path_names_its_neighbours_and_its_namesakes(
    workspace: Workspace, root: Path
) -> None:
    (root / "src" / "app").mkdir(parents=True)
    (root / "src" / "app" / "settings.py").write_text("")
    (root / ".cache").mkdir()
    (root / ".cache" / "settings.py").write_text("")

    def suggestions(path: str) -> list[str]:
        found: list[str] = missing(workspace, workspace.locate(path)).fields["did_you_mean"]
        return found

    assert suggestions("src/app/setting.py") == ["src/app/settings.py"]
    assert suggestions("scr/app/settings.py") == ["src/app/settings.py"]
    assert suggestions("settings.py") == ["src/app/settings.py"]
    assert suggestions("quite/other.txt") == []


def test_names_of_any_bytes_can_be_told(workspace: Workspace, root: Path) -> None:
    try:
        os.close(os.open(os.fsencode(root) + b"/caf\xe9.txt", os.O_CREAT))
    except OSError:
        pytest.skip("this file system takes only UTF-8 names")
    with pytest.raises(Refusal) as caught:
        read_file(workspace, "caf.txt")
    str(caught.value).encode()


def _hold(root: str, ready: multiprocessing.synchronize.Event, seconds: float) -> None:
    with Workspace(root).editing():
        ready.set()
        time.sleep(seconds)


def test_an_edit_waits_for_that_of_another_process(workspace: Workspace) -> None:
    context = multiprocessing.get_context("fork")
    ready = context.Event()
    process = context.Process(target=_hold, args=(workspace.root, ready, 0.3))
    process.start()
    assert ready.wait(10)
    started = time.monotonic()
    with workspace.editing():
        assert time.monotonic() - started > 0.1
    process.join()


def test_an_edit_that_never_ends_is_not_waited_for(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOCK_SECONDS", 0.05)
    with workspace.editing(), pytest.raises(Refusal, match="Another edit"), workspace.editing():
        pass


def test_a_place_is_shown_relative_to_the_root() -> None:
    assert Place(()).shown == "."
    assert Place(("a", "b")).shown == "a/b"
