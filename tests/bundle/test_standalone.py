"""An archive that Python runs, in processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import hermes_build
from hermes_build.bundle.archive import write_archive
from hermes_build.bundle.format import MANIFEST
from hermes_build.bundle.main import TEXT
from hermes_build.bundle.verifying import verify
from tests.bundle.making import program, unpacked, whole

HOUSE = Path(hermes_build.__file__).parent
HANDLER = """\
import json
import hermes_build
from hermes_build.runtime.result import tool_error
from generated.registry import registry
import handlers.words as words
{more}

@registry.handler("ping")
def handler(args, **context):
    if words.fails:
        return tool_error("it failed")
    return json.dumps([hermes_build.__file__, words.__file__])
"""
FOOL = "raise SystemExit('fooled')\n"


def runtime() -> dict[str, bytes]:
    """The runtime as a bundle carries it."""
    rooms = [*HOUSE.glob("*.py"), *HOUSE.glob("runtime/*.py"), *HOUSE.glob("bundle/*.py")]
    return {
        f"runtime/hermes_build/{path.relative_to(HOUSE).as_posix()}": path.read_bytes()
        for path in rooms
        if path.name != "__main__.py"
    }


def make(folder: Path, *, more: str = "", fails: bool = False, **fields: object) -> Path:
    files = {
        **program(),
        **runtime(),
        "program/handlers/ping.py": HANDLER.format(more=more).encode(),
        "program/handlers/words.py": f"fails = {fails}\n".encode(),
        "__main__.py": TEXT.encode(),
    }
    target = folder / "small.hermes"
    write_archive(whole(files, **fields), target)
    return target


def run(
    cwd: Path, *command: str, text: str = "", path: str = ""
) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, *command],
        cwd=cwd,
        env=environment,
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_call_prints_the_result_and_runs_what_is_in_the_archive(tmp_path: Path) -> None:
    file = make(tmp_path)
    for name in ("handlers", "hermes_build", "generated"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(FOOL)
    done = run(tmp_path, file.name, "call", "ping", "{}", path=str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    house, words = json.loads(done.stdout)
    assert house == str(file / "runtime" / "hermes_build" / "__init__.py")
    assert words == str(file / "program" / "handlers" / "words.py")


def test_a_runtime_that_was_imported_at_start_up_is_not_used(tmp_path: Path) -> None:
    file = make(tmp_path)
    (tmp_path / "sitecustomize.py").write_text("import hermes_build.layout\n")
    path = os.pathsep.join([str(tmp_path), str(HOUSE.parent)])
    done = run(tmp_path, str(file), "call", "ping", path=path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)[0].startswith(str(file))


def test_arguments_come_from_standard_input_too(tmp_path: Path) -> None:
    file = make(tmp_path)
    assert run(tmp_path, str(file), "call", "ping", "-", text="{}").returncode == 0
    refused = run(tmp_path, str(file), "call", "ping", "-", text='{"more": 1}')
    assert refused.returncode == 1
    assert "Invalid arguments for ping" in json.loads(refused.stdout)["error"]


@pytest.mark.parametrize("text", ["{", "[NaN]", "1e999", '{"a": Infinity}'])
def test_arguments_that_are_no_json_call_nothing(tmp_path: Path, text: str) -> None:
    done = run(tmp_path, str(make(tmp_path)), "call", "ping", text)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: the arguments are not JSON")


def test_a_result_that_is_an_error_exits_with_1(tmp_path: Path) -> None:
    done = run(tmp_path, str(make(tmp_path, fails=True)), "call", "ping")
    assert (done.returncode, json.loads(done.stdout)) == (1, {"error": "it failed"})
    unknown = run(tmp_path, str(tmp_path / "small.hermes"), "call", "pong")
    assert unknown.returncode == 1 and "Unknown tool: pong" in unknown.stdout


def test_a_package_that_is_missing_is_named_with_how_to_install_it(tmp_path: Path) -> None:
    more = "import not_there_at_all.deeper"
    file = make(tmp_path, more=more, dependencies={"not_there_at_all": "Not-There"})
    done = run(tmp_path, str(file), "call", "ping")
    assert (done.returncode, done.stdout) == (2, "")
    assert "needs the module `not_there_at_all`" in done.stderr
    assert "-m pip install Not-There`" in done.stderr


def test_a_module_that_the_bundle_lacks_is_an_error_of_the_call(tmp_path: Path) -> None:
    file = make(tmp_path, more="import handlers.nothing")
    done = run(tmp_path, str(file), "call", "ping")
    assert done.returncode == 1
    assert "handlers.nothing" in json.loads(done.stdout)["error"]


def test_without_jsonschema_rs_nothing_is_called(tmp_path: Path) -> None:
    # -S: without the site folder, there are no installed packages.
    done = run(tmp_path, "-S", str(make(tmp_path)), "call", "ping")
    assert (done.returncode, done.stdout) == (2, "")
    assert "needs the module `jsonschema_rs`" in done.stderr
    assert "-m pip install jsonschema-rs`" in done.stderr


def test_show_needs_no_package_at_all(tmp_path: Path) -> None:
    file = make(tmp_path, dependencies={"httpx": "httpx"})
    done = run(tmp_path, "-S", str(file), "show")
    assert done.returncode == 0, done.stderr
    assert "small: ping" in done.stdout and "The tool ping." in done.stdout
    assert "needs httpx" in done.stdout
    as_json = run(tmp_path, "-S", str(file), "show", "--json")
    shown = json.loads(as_json.stdout)
    assert shown["toolsets"] == {"small": ["ping"]}
    assert [one["name"] for one in shown["tools"]] == ["ping"]
    assert shown["digest"].startswith("sha256:") and shown["dependencies"] == {"httpx": "httpx"}


def test_no_text_of_a_bundle_can_act_on_the_terminal(tmp_path: Path) -> None:
    evil = "x\x1b[2J\x9b1m\u202e\x7f\nhint: "
    more = "import not_there_at_all"
    file = make(tmp_path, more=more, dependencies={"not_there_at_all": evil})
    renamed = file.rename(tmp_path / "\x1b[2J.hermes")
    for command in (["show"], ["show", "--json"], ["call", "ping"], ["--help"], ["cal"]):
        done = run(tmp_path, renamed.name, *command)
        assert done.stdout + done.stderr
        for one in "\x1b\x9b\u202e\x7f":
            assert one not in done.stdout + done.stderr, (command, one)
        assert "\nhint: " not in done.stdout + done.stderr
    shown = json.loads(run(tmp_path, renamed.name, "show", "--json").stdout)
    assert shown["dependencies"] == {"not_there_at_all": evil}


def test_an_unpacked_bundle_that_runs_stays_what_it_was(tmp_path: Path) -> None:
    with verify(make(tmp_path)) as opened:
        entries = {MANIFEST: opened.manifest.to_bytes()}
        entries.update((name, opened.read(name)) for name in opened.names())
    folder = unpacked(tmp_path / "small", entries)
    before = sorted(folder.rglob("*"))
    # Python itself writes the byte code of what it imports, unless it is told not to.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PY")}
    done = subprocess.run(
        [sys.executable, str(folder), "call", "ping"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert sorted(folder.rglob("*")) == before
    verify(folder).close()


def test_without_a_command_it_says_how_it_is_used(tmp_path: Path) -> None:
    file = make(tmp_path)
    for command, code in [((), 2), (("--help",), 0), (("-h",), 0)]:
        done = run(tmp_path, str(file), *command)
        assert (done.returncode, done.stderr) == (code, "")
        assert done.stdout.startswith("usage: python small.hermes call TOOL [JSON]")
    wrong = run(tmp_path, str(file), "cal", "ping")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert wrong.stderr.startswith("usage: ")


def test_a_damaged_archive_runs_nothing(tmp_path: Path) -> None:
    file = make(tmp_path)
    file.write_bytes(file.read_bytes().replace(b"fails = False", b"fails = 12345"))
    done = run(tmp_path, str(file), "call", "ping")
    assert (done.returncode, done.stdout) == (2, "")
    assert "HB800" in done.stderr and "hint: " in done.stderr
