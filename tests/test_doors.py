"""What stands where a file must stand and is none: a finding, and no command ever waits for it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.command_line import LOCK, contents, hermes, process, project, spec, write

if not hasattr(os, "mkfifo"):
    pytest.skip("there are no named pipes here", allow_module_level=True)


def _pipe(place: Path) -> None:
    os.mkfifo(place)


def _endless(place: Path) -> None:
    place.symlink_to("/dev/zero")


def _folder(place: Path) -> None:
    place.mkdir()


KINDS = [_pipe, _endless, _folder]

PLACES = {
    "tool_specs/f.yaml": "HB0001",
    "toolsets/f.yaml": "HB0001",
    "templates/tool.py.jinja": "HB5007",
    "generated/registry.py": "HB5003",
    "generated/tools/read_file.py": "HB5003",
    LOCK: "HB5005",
    "pyproject.toml": "HB1403",
    "hermes-build.toml": "HB1403",
}


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = project(tmp_path_factory.mktemp("doors"), "read_file")
    assert hermes(root, "compile").code == 0
    return root


@pytest.fixture
def root(compiled: Path, tmp_path: Path) -> Path:
    return shutil.copytree(compiled, tmp_path / "project")


@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize("path", PLACES)
def test_what_is_no_file_is_one_finding_and_no_command_waits_for_it(
    root: Path, path: str, make: Callable[[Path], None]
) -> None:
    place = root / path
    place.parent.mkdir(exist_ok=True)
    if place.exists():
        place.unlink()
    if make is _endless and path.startswith("generated/"):
        pytest.skip("a link of that name is replaced, and never followed")
    make(place)
    before = contents(root)
    for arguments in (["check"], ["check"], ["compile"], ["compile", "--check"]):
        done = hermes(root, *arguments, "--format", "concise")
        assert (done.code, done.codes) == (1, [PLACES[path]])
    hermes(root, "compile", "--diff")
    hermes(root, "lint")
    assert hermes(root, "doctor").code == 1 or path.startswith(("t", "generated"))
    assert contents(root) == before


@pytest.mark.parametrize("name", ["verdict", "memory.json", "journal", "clock"])
def test_a_pipe_in_what_is_remembered_is_not_waited_for(root: Path, name: str) -> None:
    hermes(root, "check")
    place = root / ".hermes-build" / name
    place.unlink(missing_ok=True)
    os.mkfifo(place)
    assert process(root, "check").code == 0
    assert hermes(root, "check").code == 0


def test_a_link_to_a_device_in_the_generated_package_is_replaced(root: Path) -> None:
    place = root / "generated/registry.py"
    text = place.read_bytes()
    place.unlink()
    place.symlink_to("/dev/zero")
    assert hermes(root, "check", "--format", "concise").codes == ["HB5001"]
    assert hermes(root, "compile").code == 0
    assert place.read_bytes() == text


def test_init_in_a_folder_with_a_pipe_says_so(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "README.md")
    done = hermes(tmp_path, "init")
    assert done.code == 2
    assert "README.md cannot be read: it is not a file" in done.err


def test_unreadable_settings_above_do_not_hide_a_project_further_up(root: Path) -> None:
    inner = root / "inner"
    (inner / "pyproject.toml").mkdir(parents=True)
    assert hermes(inner, "check").code == 0


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read all")
@pytest.mark.parametrize("path", ["pyproject.toml", LOCK])
def test_a_file_that_may_not_be_read_is_one_finding(root: Path, path: str) -> None:
    (root / "tool_specs/more.yaml").write_text(spec("more"))
    (root / path).chmod(0)
    code = PLACES[path]
    assert hermes(root, "compile", "--format", "concise").codes == [code]
    found = hermes(root, "check", "--format", "concise").codes
    assert found.count(code) == 1
    assert "HB5003" not in found


def test_a_lock_that_cannot_be_opened_says_nothing_against_good_files(root: Path) -> None:
    (root / LOCK).unlink()
    (root / LOCK).mkdir()
    write(root, {"tool_specs/read_file.yaml": spec("read_file", "emoji: x")})
    assert hermes(root, "check", "--format", "concise").codes == ["HB5005"]
    done = hermes(root, "compile", "--format", "concise")
    assert (done.code, done.codes) == (1, ["HB5005"])
