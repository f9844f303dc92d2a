"""``hermes-build bundle`` as people run it: what it refuses, says and writes."""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import jsonschema_rs
import pytest

from hermes_build.bundle.verifying import verify
from hermes_build.cli.verdicts import verdict
from hermes_build.compiler.publish import SCHEMAS
from tests.bundling.programs import FILES, program
from tests.command_line import PROGRAM, edit, handler, hermes, process, write

OFFLINE = ["--no-deps-lock"]
"""Without it, a package index is asked for what the runtime and the program need."""

REPORT = jsonschema_rs.Draft202012Validator(SCHEMAS["output"]())


def test_a_bundle_is_written_beside_and_called_like_the_project_or_the_toolset(
    tmp_path: Path,
) -> None:
    root = program(tmp_path)
    assert hermes(root, "bundle", *OFFLINE).code == 0
    assert hermes(root, "bundle", *OFFLINE, "-t", "talk").code == 0
    assert hermes(root, "bundle", *OFFLINE, "-t", "talk", "-t", "file", "-o", "more.zip").code == 0
    names = {name for name in os.listdir(root) if name.endswith((".hermes", ".zip"))}
    assert names == {"agent.hermes", "talk.hermes", "more.zip"}
    with verify(root / "agent.hermes") as one, verify(root / "more.zip") as other:
        assert one.digest == other.digest


def test_the_report_says_what_was_made(tmp_path: Path) -> None:
    more = {"handlers/tell.py": FILES["handlers/tell.py"] + "import click\n"}
    root = program(tmp_path, {**more, "handlers/other.py": "", "handlers/deep/one.py": ""})
    done = hermes(root, "bundle", "-t", "talk", "-o", "x.hermes", *OFFLINE)
    with verify(root / "x.hermes") as opened:
        digest, files = opened.digest, len(opened.manifest.files)
    size = (root / "x.hermes").stat().st_size
    assert done.out.splitlines() == [
        f"x.hermes: 1 tool of 1 toolset in {files} files, {size:,} bytes",
        f"sha256:{digest}",
        "needs click",
        "left out 4 modules:",
        "  handlers.count: it registers `count`",
        "  handlers.deep.one: no tool of the bundle needs it",
        "  handlers.other: no tool of the bundle needs it",
        "  handlers.words: no tool of the bundle needs it",
    ]
    report = json.loads(hermes(root, "bundle", "-t", "talk", "--format", "json", *OFFLINE).out)
    REPORT.validate(report)
    assert report["bundle"]["digest"] == digest
    assert report["bundle"]["dependencies"] == {"click": "click"}
    assert report["bundle"]["tools"] == ["tell"]
    assert {one["module"] for one in report["bundle"]["left_out"]} == {
        *("handlers.count", "handlers.deep.one", "handlers.other", "handlers.words")
    }


@pytest.mark.parametrize(
    ("path", "old", "new", "codes"),
    [
        ("tool_specs/tell.yaml", "name: tell", "name: [", ["HB0002"]),
        ("tool_specs/tell.yaml", "how many", "how few", ["HB5004"]),
        ("generated/tools/tell.py", "tell", "told", ["HB5001"]),
        ("handlers/tell.py", "@tell.implements", "", ["HB3001"]),
        ("handlers/tell.py", "\n\n\n", "\n\nraise OSError\n\n\n", ["HB3008"]),
    ],
)
def test_what_check_refuses_is_refused(
    tmp_path: Path, path: str, old: str, new: str, codes: list[str]
) -> None:
    root = program(tmp_path)
    if "how many" in old:
        old, new = "How many", "How few"
    edit(root, path, old, new)
    check = hermes(root, "check", "--format", "concise")
    done = hermes(root, "bundle", *OFFLINE, "--format", "concise")
    assert (done.code, done.out) == (1, check.out)
    assert sorted(set(done.codes)) == sorted(set(codes))
    assert "no bundle was written" in done.err
    assert not list(root.glob("*.hermes"))


def test_a_refused_bundle_is_reported_as_json_too(tmp_path: Path) -> None:
    root = program(tmp_path)
    edit(root, "handlers/words.py", "three", "three'\n")
    done = hermes(root, "bundle", *OFFLINE, "--format", "json")
    report = json.loads(done.out)
    REPORT.validate(report)
    assert (done.code, report["bundle"]) == (1, None)


def test_handlers_are_imported_unless_this_state_was_judged_before(tmp_path: Path) -> None:
    root = program(tmp_path / "p")
    mark = tmp_path / "imported"
    edit(root, "handlers/count.py", "from typing", f"open({str(mark)!r}, 'a').close()\nfrom typing")
    assert hermes(root, "bundle", *OFFLINE).code == 0
    assert mark.exists()
    mark.unlink()
    assert hermes(root, "check").code == 0
    assert hermes(root, "bundle", *OFFLINE).code == 0
    assert not mark.exists()
    edit(root, "handlers/count.py", "from typing", "from  typing")
    assert hermes(root, "check").code == 0
    mark.unlink()
    assert hermes(root, "bundle", *OFFLINE).code == 0
    assert not mark.exists()
    assert hermes(root, "bundle", *OFFLINE, "--no-cache").code == 0
    assert mark.exists()


def test_a_warning_fails_a_strict_bundle_and_no_other(tmp_path: Path) -> None:
    more = handler("tell", "import surely_not_installed", "return ''")
    root = program(tmp_path, {"handlers/tell.py": more})
    done = hermes(root, "bundle", "--strict", "--format", "concise", *OFFLINE)
    assert (done.code, done.codes) == (1, ["HB8104"])
    assert not list(root.glob("*.hermes"))
    done = hermes(root, "bundle", *OFFLINE)
    assert (done.code, done.codes) == (0, ["HB8104"])
    assert "needs surely_not_installed (of no known distribution)" in done.out


def test_a_toolset_that_there_is_not_is_named_with_the_nearest(tmp_path: Path) -> None:
    done = hermes(program(tmp_path), "bundle", *OFFLINE, "-t", "tolk")
    assert done.code == 2
    assert "there is no toolset `tolk`; did you mean `talk`?" in done.err


def test_a_secret_is_shown_by_nobody(tmp_path: Path) -> None:
    secret = "hunter" + "2"
    root = program(tmp_path)
    edit(root, "handlers/words.py", "WORD", f'password = "{secret}"\nWORD')
    for form in ("full", "concise", "json"):
        done = hermes(root, "bundle", *OFFLINE, "--format", form)
        assert done.code == 1
        assert "HB8110" in done.out
        assert secret not in done.out + done.err


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    root = program(tmp_path)
    done = hermes(root, "bundle", *OFFLINE, "-o", "nowhere/x.hermes")
    assert done.code == 2
    assert "nowhere/x.hermes cannot be written: No such file or directory" in done.err


def test_a_bundle_can_be_made_of_a_project_that_nobody_may_write(tmp_path: Path) -> None:
    root = program(tmp_path / "p")
    assert hermes(root, "bundle", *OFFLINE, "-o", str(tmp_path / "one.hermes")).code == 0
    shutil.rmtree(root / ".hermes-build")
    write(root, {".hermes-build": "what a run must remember finds no room here"})
    assert hermes(root, "bundle", *OFFLINE, "-o", str(tmp_path / "two.hermes")).code == 0
    assert (tmp_path / "one.hermes").read_bytes() == (tmp_path / "two.hermes").read_bytes()


KILLED = """
import os, signal, sys
from hermes_build.bundle import placing

name, calls = sys.argv.pop(1), int(sys.argv.pop(1))

def counted(real):
    def stand_in(*args, **more):
        global calls
        calls -= 1
        if calls == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*args, **more)
    return stand_in

if name == "write":
    placing.placed.__call__ = counted(placing.placed.__call__)
else:
    setattr(placing.os, name, counted(getattr(os, name)))
from hermes_build.cli import script
script()
"""


@pytest.mark.skipif(os.name != "posix", reason="needs kill -9")
def test_a_kill_at_any_moment_leaves_a_whole_bundle_and_the_next_run_cleans(tmp_path: Path) -> None:
    root = program(tmp_path / "p")
    place = tmp_path / "out"
    place.mkdir()
    target = place / "x.hermes"
    assert hermes(root, "check").code == 0
    target.write_bytes(b"the old one")
    moments = (("write", 1), ("write", 100), ("fsync", 1), ("replace", 1), ("fsync", 2))
    for moment in moments:
        name, nth = moment
        left = len(os.listdir(place))
        command = [
            sys.executable,
            "-P",
            "-c",
            KILLED,
            name,
            str(nth),
            "bundle",
            *OFFLINE,
            "--force",
            "-o",
            str(target),
        ]
        done = subprocess.run(command, cwd=root, capture_output=True, check=False)
        assert done.returncode == -signal.SIGKILL, moment
        if moment == moments[-1]:  # after the move
            verify(target).close()
            assert len(os.listdir(place)) == 1
        else:
            assert target.read_bytes() == b"the old one"
            assert len(os.listdir(place)) == 2 >= left, "each run cleans what the last one left"
    (place / f".{target.name}.0123456789ab.part").write_bytes(b"")
    (place / ".other.hermes.0123456789ab.part").write_bytes(b"")
    assert hermes(root, "bundle", *OFFLINE, "-o", str(target)).code == 0
    verify(target).close()
    assert sorted(os.listdir(place)) == [".other.hermes.0123456789ab.part", "x.hermes"]


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="needs to mount a small disk")
def test_a_full_disk_leaves_the_old_bundle_and_nothing_else(tmp_path: Path) -> None:
    root = program(tmp_path / "p")
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)], check=False
    )
    if mounted.returncode:
        pytest.skip("nothing can be mounted here")
    try:
        target = disk / "x.hermes"
        target.write_bytes(b"the old one")
        done = hermes(root, "bundle", *OFFLINE, "--force", "-o", str(target))
        assert (done.code, done.out) == (2, "")
        assert f"{target} cannot be written: No space left on device" in done.err
        assert target.read_bytes() == b"the old one"
        assert os.listdir(disk) == ["x.hermes"]
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_two_runs_at_once_write_one_bundle(tmp_path: Path) -> None:
    root = program(tmp_path)
    command = [*PROGRAM, "bundle", *OFFLINE, "-o", "x.hermes"]
    runs = [subprocess.Popen(command, cwd=root, stdout=subprocess.DEVNULL) for _ in range(3)]
    assert [run.wait(120) for run in runs] == [0, 0, 0]
    with verify(root / "x.hermes") as opened:
        assert opened.manifest.name == "agent"
    assert not list(root.glob(".x.hermes*"))


@pytest.mark.parametrize("tool", ["tell", "say"])
def test_a_bundle_runs_by_itself(tmp_path: Path, tool: str) -> None:
    settings = FILES["pyproject.toml"].replace(">=3.12", ">=3.11")
    root = program(tmp_path / "p", {"pyproject.toml": settings})
    assert hermes(root, "bundle", *OFFLINE, "-o", str(tmp_path / "x.hermes")).code == 0
    done = process(
        tmp_path, "call", tool, '{"path": "a"}', program=[sys.executable, "-I", "x.hermes"]
    )
    assert (done.code, done.out) == (0, "a 10\n"), done.err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
def test_a_pipe_or_a_device_is_not_replaced_by_a_file(tmp_path: Path) -> None:
    root = program(tmp_path)
    os.mkfifo(root / "pipe")
    (root / "link").symlink_to("pipe")
    for target in ("pipe", "link"):
        done = hermes(root, "bundle", *OFFLINE, "-o", target)
        assert done.code == 2 and "no regular file" in done.err
    assert stat.S_ISFIFO(os.lstat(root / "pipe").st_mode) and (root / "link").is_symlink()


@pytest.mark.parametrize(
    "path", ["tool_specs/tell.yaml", "handlers/words.py", "generated/registry.py"]
)
def test_a_verdict_stands_for_as_long_as_nothing_is_changed(tmp_path: Path, path: str) -> None:
    root = program(tmp_path)
    time.sleep(0.06)  # a module that was saved a moment ago may be another than was imported
    for _ in range(2):
        judged = verdict(str(root))
        assert (judged.findings, judged.complete, judged.still_stands()) == ((), True, True)
    (root / path).write_bytes((root / path).read_bytes() + b"\n")
    assert not judged.still_stands()
