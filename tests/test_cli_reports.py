"""How a command ends and prints: exit codes, forms, colours, pipes, full disks, crashes."""

from __future__ import annotations

import errno
import json
import os
import pty
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hermes_build.cli import showing
from tests.command_line import PROGRAM, handler, hermes, process, project, spec, write

ESCAPE = "\x1b["


@pytest.fixture(scope="module")
def flawed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with one finding, an error."""
    root = project(tmp_path_factory.mktemp("flawed"), "read_file")
    return write(root, {"toolsets/sets.yaml": "name: all_of_it\nincludes: [nobody]\n"})


def on_a_terminal(root: Path, *arguments: str, **env: str) -> str:
    """What ``hermes-build`` prints on a terminal."""
    ours, theirs = pty.openpty()
    clean = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR")}
    with subprocess.Popen(
        [*PROGRAM, *arguments],
        cwd=root,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
        env={**clean, "TERM": "xterm", **env},
    ):
        os.close(theirs)
        pieces = []
        try:
            while piece := os.read(ours, 65536):
                pieces.append(piece)
        except OSError as error:  # so Linux says that the other end has been closed
            assert error.errno == errno.EIO
        os.close(ours)
    return b"".join(pieces).decode()


# Forms and colours


def test_the_three_forms_of_a_report(flawed: Path) -> None:
    full = hermes(flawed, "lint")
    assert full.code == 1
    assert full.out.startswith("error[HB2002]: ")
    assert "  --> toolsets/sets.yaml:2:12\n" in full.out
    assert full.out.endswith("\n\nFound 1 error in 2 files.\n")
    concise = hermes(flawed, "lint", "--format", "concise")
    [line] = concise.out.splitlines()
    assert line.startswith("toolsets/sets.yaml:2:12: error[HB2002] ")
    report = json.loads(hermes(flawed, "lint", "--format", "json").out)
    [finding] = report["findings"]
    assert (finding["code"], finding["span"]["line"]) == ("HB2002", 2)
    assert hermes(flawed, "lint", "--format", "xml").code == 2


@pytest.mark.parametrize(
    ("arguments", "env", "coloured"),
    [
        ([], {}, False),
        ([], {"FORCE_COLOR": "1"}, True),
        ([], {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        (["--color", "always"], {"NO_COLOR": "1"}, True),
        (["--color", "never"], {"FORCE_COLOR": "1"}, False),
        (["--color", "always", "--format", "concise"], {}, True),
        (["--color", "always", "--format", "json"], {}, False),
    ],
)
def test_a_pipe_is_coloured_only_on_request(
    flawed: Path, arguments: list[str], env: dict[str, str], coloured: bool
) -> None:
    unset = {"NO_COLOR": None, "FORCE_COLOR": None}
    done = hermes(flawed, "lint", *arguments, env={**unset, **env})
    assert (ESCAPE in done.out) == coloured
    assert ESCAPE not in done.err


def test_a_terminal_is_coloured_unless_somebody_says_otherwise(flawed: Path) -> None:
    assert ESCAPE in on_a_terminal(flawed, "lint")
    assert ESCAPE not in on_a_terminal(flawed, "lint", NO_COLOR="1")
    assert ESCAPE not in on_a_terminal(flawed, "lint", TERM="dumb")


# Any output device


def test_a_pipe_gets_utf8_whatever_the_locale_says(tmp_path: Path) -> None:
    root = project(tmp_path)
    write(root, {"tool_specs/greet.yaml": spec("greet", description="Grüße 👋 to all of you.")})
    for env in ({"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0"}):
        done = process(root, "show", env={"PYTHONCOERCECLOCALE": "0", **env})
        assert done.code == 0
        assert "Grüße 👋" in done.out
        exported = process(root, "export", "--provider", "openai", env=env)
        assert "👋" in json.loads(exported.out)[0]["function"]["description"]


def test_names_that_are_no_text_are_printed_as_escapes(tmp_path: Path) -> None:
    root = project(tmp_path, "read_file")
    with open(os.fsencode(root) + b"/tool_specs/b\xe9d.yaml", "wb") as file:
        file.write(b"name: 1\n")
    done = process(root, "lint")
    assert done.code == 1
    assert "b\\udce9d.yaml" in done.out
    odd = process(root, "show", os.fsdecode(b"b\xe9d"))
    assert (odd.code, "Traceback" in odd.err) == (2, False)


@pytest.mark.parametrize("arguments", [["rules"], ["check"], ["--help"]])
def test_a_reader_that_has_gone_is_no_crash(flawed: Path, arguments: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [*PROGRAM, *arguments], cwd=flawed, stdout=writing, stderr=subprocess.PIPE, check=False
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (2, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_an_output_that_is_full_is_said(tmp_path: Path) -> None:
    root = project(tmp_path, "read_file")
    assert hermes(root, "compile").code == 0
    for arguments in (["rules"], ["check"], ["check"]):
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                [*PROGRAM, *arguments], cwd=root, stdout=full, stderr=subprocess.PIPE, check=False
            )
        assert done.returncode == 2
        assert done.stderr == b"Error: standard output: No space left on device\n"


def test_without_any_output_the_verdict_still_counts(flawed: Path) -> None:
    for closing in (">&-", "2>&-", ">&- 2>&-"):
        shell = f'"$@" {closing}'
        done = subprocess.run(["sh", "-c", shell, "sh", *PROGRAM, "lint"], cwd=flawed, check=False)
        assert done.returncode == 1, closing


# The end of a run


def test_the_current_folder_may_be_gone(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    shell = 'rmdir "$0" && "$@"'
    there = project(tmp_path / "project", "read_file")
    for command in (["check"], ["check", "--strict"], ["compile"], ["compile", "-C", str(there)]):
        folder.mkdir(exist_ok=True)
        done = process(folder, *command, program=["sh", "-c", shell, str(folder), *PROGRAM])
        assert done.code == 2
        assert done.err == "Error: the current folder is gone: somebody has deleted it\n"


def test_an_interrupt_ends_with_130(tmp_path: Path) -> None:
    body = ("import time", "print('begun', flush=True)", "time.sleep(60)", "return ''")
    root = project(tmp_path)
    write(
        root,
        {
            "tool_specs/wait.yaml": spec("wait", handler="self"),
            "handlers/__init__.py": "",
            "handlers/wait.py": handler("wait", *body),
        },
    )
    assert hermes(root, "compile").code == 0
    with subprocess.Popen(
        [*PROGRAM, "call", "wait", '{"path": "x"}'],
        cwd=root,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as running:
        assert running.stdout
        assert running.stdout.readline() == b"begun\n"
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=30)
    assert running.returncode == 130
    assert b"Traceback" not in errors


def test_a_crash_of_our_own_asks_for_a_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(showing, "CODES", None)
    done = hermes(tmp_path, "rules")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("Traceback (most recent call last):\n")
    assert "AttributeError" in done.err
    assert "fault of hermes-build" in done.err.splitlines()[-1]
    assert "Please report it" in done.err.splitlines()[-1]


def test_what_the_system_refuses_is_no_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", "/somewhere/else")

    monkeypatch.setattr(showing, "page", refuse)
    done = hermes(tmp_path, "explain", "HB1103")
    assert (done.code, done.out) == (2, "")
    assert done.err == "Error: /somewhere/else: Permission denied\n"


def test_the_module_runs_like_the_console_script(flawed: Path) -> None:
    script = shutil.which("hermes-build", path=str(Path(sys.executable).parent))
    programs = [[sys.executable, "-m", "hermes_build"], *([[script]] if script else [])]
    expected = process(flawed, "lint")
    for program in programs:
        assert process(flawed, "lint", program=program) == expected
