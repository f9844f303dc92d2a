"""``hermes-build check``: drift between handlers and specs, and the verdict that it remembers."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path

import pytest

from hermes_build.compiler import drift
from hermes_build.compiler.diagnostics import Findings
from hermes_build.compiler.project import read_project
from tests.command_line import LOCK, ages, contents, handler, hermes, process, spec, write

# Each import of a handler module leaves a line, so that a test knows whether there was one.
SEEN = "import os\nopen(os.environ['SEEN'], 'a').write(__name__ + '\\n')\n"
CLEAN = "Found nothing to report in 3 files.\n"


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A compiled project of two tools with handlers, one of which imports a module beside them."""
    root = write(
        tmp_path_factory.mktemp("compiled"),
        {
            "pyproject.toml": "[tool.hermes-build]\n",
            "tool_specs/read_file.yaml": spec("read_file", handler="self"),
            "tool_specs/write_file.yaml": spec("write_file", handler="self"),
            "toolsets/all.yaml": "name: everything\nincludes: ['*']\n",
            "handlers/__init__.py": "",
            "handlers/read.py": SEEN + "import support.text\n" + handler("read_file"),
            "handlers/write.py": handler("write_file"),
            "support/text.py": "width = 80\n",
        },
    )
    done = hermes(root, "compile", "--strict")
    assert done.code == 0, done
    return root


@pytest.fixture
def root(compiled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SEEN", str(tmp_path / "seen"))
    return shutil.copytree(compiled, tmp_path / "project")


def imports(root: Path) -> int:
    """How often the handlers were imported so far."""
    seen = root.parent / "seen"
    return len(seen.read_text().splitlines()) if seen.exists() else 0


# Handlers that do not import


@pytest.mark.parametrize(
    ("first", "reason"),
    [
        ("raise ValueError('boom')", "ValueError: boom"),
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("import sys; sys.exit(4)", "SystemExit: 4"),
        ("from generated.tools import nothing", "ImportError: cannot import name 'nothing'"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
    ],
)
def test_a_handler_that_does_not_import_is_named_with_the_tools_it_loses(
    root: Path, first: str, reason: str
) -> None:
    write(root, {"handlers/read.py": f"import os\n{first}\n" + handler("read_file")})
    done = hermes(root, "check")
    assert (done.code, done.codes, done.err) == (1, ["HB3008"], "")
    assert f"`handlers.read` fails to import: {reason}" in done.out
    assert "--> handlers/read.py:2" in done.out
    assert "lost with it: `read_file`" in done.out
    assert "write_file" not in done.out


def test_a_handler_that_ends_the_process_is_a_finding(root: Path) -> None:
    text = "import os\nos.write(2, b'good bye\\n')\nos._exit(3)\n" + handler("read_file")
    write(root, {"handlers/read.py": text})
    done = hermes(root, "check")
    assert (done.code, done.codes) == (1, ["HB3008"])
    assert "exit code 3" in done.out
    assert "good bye" in done.out


def test_a_handler_that_hangs_is_given_up(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drift, "PATIENCE", 1.0)
    text = "import time\nprint('waiting', flush=True)\ntime.sleep(60)\n" + handler("read_file")
    write(root, {"handlers/read.py": text})
    done = hermes(root, "check")
    assert (done.code, done.codes) == (1, ["HB3008"])
    assert "took more than 1 second" in done.out
    assert "waiting" in done.out


def test_what_a_handler_prints_does_not_reach_the_report(root: Path) -> None:
    text = "import os\nprint('{}')\nos.write(1, b'noise')\n" + handler("read_file")
    write(root, {"handlers/read.py": text})
    done = hermes(root, "check", "--format", "json")
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out)["findings"] == []


def test_a_program_that_a_handler_leaves_behind_is_ended_and_not_waited_for(root: Path) -> None:
    os.mkfifo(root.parent / "alive")
    alive = os.open(root.parent / "alive", os.O_RDONLY | os.O_NONBLOCK)
    text = (
        "import subprocess, time\n"
        "subprocess.Popen(['sh', '-c', 'exec > ../alive; touch ../begun; sleep 300'])\n"
        "from pathlib import Path\n"
        "while not Path('../begun').exists():\n"
        "    time.sleep(0.01)\n"
    )
    write(root, {"handlers/read.py": text + handler("read_file")})
    before = time.monotonic()
    assert hermes(root, "check").code == 0
    with open(alive, "rb", buffering=0) as pipe:
        while pipe.read(1) is None:  # somebody has it open for writing still
            assert time.monotonic() - before < 60
            time.sleep(0.01)


def test_a_registry_that_cannot_be_imported_is_a_finding(root: Path) -> None:
    write(root, {"hermes-build.toml": 'output = "not_compiled"\n'})
    findings = Findings()
    drift.probe_handlers(read_project(root, findings), findings)
    assert [one.code for one in findings] == ["HB3008"]
    assert "not_compiled" in next(iter(findings)).message


# Handlers that do not fit


def test_a_handler_that_drifted_is_shown_with_both_places(root: Path) -> None:
    write(
        root,
        {
            "handlers/read.py": "from generated.tools import read_file\n\n\n"
            "@read_file.implements\n"
            "def handler(path: str, limit: int = 20, mode: str = 'r') -> str:\n"
            "    return path\n",
            "handlers/write.py": "from generated.tools import write_file\n\n\n"
            "@write_file.implements\n"
            "def handler(*, path: str) -> str:\n"
            "    return path\n",
        },
    )
    done = hermes(root, "check", "--format", "concise")
    assert done.code == 1
    read, written = done.out.splitlines()
    assert read == (
        "handlers/read.py:4:1: error[HB3007] `read_file`: the default of `limit` is 20 in the "
        "handler and 10 in the spec (it may be left out in the handler)"
    )
    assert written == (
        "handlers/write.py:4:1: error[HB3007] `write_file`: the handler has no parameter for the "
        "property `limit`"
    )
    full = hermes(root, "check").out
    assert "--> handlers/read.py:4:1" in full
    assert "help: leave the default out of the handler, or change the spec and compile" in full
    assert "help: add the parameter, or take the property out of the spec and compile" in full
    assert "::: tool_specs/read_file.yaml:1:1" in full


def test_a_handler_of_another_tools_arguments_or_of_a_misspelt_one_is_told_what_to_change(
    root: Path,
) -> None:
    write(
        root,
        {
            "handlers/read.py": "from typing import Any\n\n"
            "from generated.tools import read_file, write_file\n\n\n"
            "@read_file.implements\n"
            "def handler(args: write_file.Args, **context: Any) -> str:\n"
            "    return ''\n",
            "handlers/write.py": "from generated.tools import write_file\n\n\n"
            "@write_file.implements\n"
            "def handler(*, pth: str, limit: int = 10) -> str:\n"
            "    return pth\n",
        },
    )
    done = hermes(root, "check")
    assert set(done.codes) == {"HB3007"}
    assert "help: change the annotation to `read_file.Args`" in done.out
    assert "help: rename the parameter, or the property and compile" in done.out


def test_a_keyword_shaped_handler_cannot_take_a_property_named_like_a_keyword(root: Path) -> None:
    text = spec("read_file", handler="self").replace("limit:", "class:")
    keyword = handler("read_file").replace("args: read_file.Args, **context: Any", "*, path: str")
    write(root, {"tool_specs/read_file.yaml": text, "handlers/read.py": keyword})
    assert hermes(root, "compile").code == 0
    done = hermes(root, "check")
    assert (done.code, done.codes) == (1, ["HB1208"])
    assert "'class'" in done.out
    # It cannot be suppressed, since the import of such a handler fails for everybody.
    write(root, {"tool_specs/read_file.yaml": f"# hermes-build: ignore[HB1208] why not\n{text}"})
    assert hermes(root, "lint").codes == ["HB1293"]
    write(root, {"tool_specs/read_file.yaml": text})
    write(root, {"handlers/read.py": handler("read_file", "return args['path']")})
    assert hermes(root, "check").code == 0


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("", "HB3001", "read_file"),
        (handler("read_file") + handler("write_file"), "HB3003", "handlers/write.py"),
        (
            handler("read_file") + "from generated.registry import registry\n\n"
            "@registry.handler('raed_file')\ndef other(args): return ''\n",
            "HB3002",
            "read_file",
        ),
        (handler("read_file") + "def (\n", "HB3004", "handlers/read.py"),
    ],
    ids=["missing", "duplicate", "surplus", "unreadable"],
)
def test_what_can_be_read_from_source_is_found_without_an_import(
    root: Path, text: str, code: str, said: str
) -> None:
    write(root, {"handlers/read.py": text})
    for command in (["check"], ["check", "--no-import"], ["compile", "--check"], ["compile"]):
        done = hermes(root, *command)
        assert done.code == 1, command
        assert code in done.codes, command
        assert said in done.out, command
    assert imports(root) == 0


def test_handlers_are_judged_only_against_fresh_generated_files(root: Path) -> None:
    write(root, {"handlers/read.py": "raise ValueError('boom')\n" + handler("read_file")})
    (root / "generated/tools/read_file.py").unlink()
    assert hermes(root, "check").codes == ["HB5002"]
    assert hermes(root, "compile").code == 0
    assert hermes(root, "check").codes == ["HB3008"]


def test_without_imports_drift_goes_unnoticed(root: Path) -> None:
    write(root, {"handlers/read.py": "raise ValueError('boom')\n" + handler("read_file")})
    done = hermes(root, "check", "--no-import")
    assert (done.code, done.out) == (0, CLEAN)
    assert hermes(root, "check").code == 1


def test_a_check_writes_no_file_of_the_project(root: Path) -> None:
    before = ages(root)
    assert hermes(root, "check", "--no-cache").code == 0
    assert ages(root) == before


# What is remembered


def _let_files_age() -> None:
    """A module that was saved a moment ago may be another than was imported: it is not trusted."""
    time.sleep(0.06)


def test_a_clean_verdict_is_remembered(root: Path) -> None:
    _let_files_age()
    for _ in range(3):
        done = hermes(root, "check")
        assert (done.code, done.out, done.err) == (0, CLEAN, "")
    assert imports(root) == 1
    assert process(root, "check").out == CLEAN
    assert imports(root) == 1
    assert json.loads(hermes(root, "check", "--format", "json").out)["summary"]["files"] == 3
    assert hermes(root, "check", "-C", str(root)).out == CLEAN
    assert hermes(root, "check", "--format", "concise").out == ""
    assert "\x1b[" in hermes(root, "check", "--color", "always").out
    assert imports(root) == 1


def test_without_the_cache_the_handlers_are_imported_each_time(root: Path) -> None:
    for times in (1, 2):
        assert hermes(root, "check", "--no-cache").code == 0
        assert imports(root) == times


def test_findings_are_remembered_too_in_every_form(root: Path) -> None:
    text = handler("read_file").replace("args: read_file.Args, **context: Any", "*, path: str")
    write(root, {"handlers/read.py": SEEN + text})
    forms = ([], ["--format", "concise"], ["--format", "json"], ["--color", "always"])
    first = [hermes(root, "check", "--no-cache", *form) for form in forms]
    assert hermes(root, "check").code == 1
    before = imports(root)
    assert [hermes(root, "check", *form) for form in forms] == first
    assert imports(root) == before


def test_remembered_warnings_fail_a_strict_check(root: Path) -> None:
    text = spec("read_file", "tags: []", handler="self").replace("toolset: file\n", "")
    write(root, {"tool_specs/read_file.yaml": text})
    (root / "toolsets/all.yaml").unlink()
    assert hermes(root, "compile").code == 0
    _let_files_age()
    for _ in range(2):
        loose, strict = hermes(root, "check"), hermes(root, "check", "--strict")
        assert (loose.code, loose.codes) == (0, ["HB1209"])
        assert (strict.code, strict.codes) == (1, ["HB1209"])
    assert imports(root) == 1


@pytest.mark.parametrize(
    "path",
    [
        "pyproject.toml",
        "tool_specs/read_file.yaml",
        "toolsets/all.yaml",
        "handlers/read.py",
        "handlers/__init__.py",
        "support/text.py",
    ],
)
def test_a_remark_in_any_input_is_judged_again(root: Path, path: str) -> None:
    assert hermes(root, "check").code == 0
    (root / path).write_text((root / path).read_text() + "\n# A remark.\n")
    hermes(root, "compile")
    _let_files_age()
    for _ in range(2):
        assert hermes(root, "check").out == CLEAN
        assert imports(root) == 2


@pytest.mark.parametrize(
    ("path", "text", "code"),
    [
        ("tool_specs/read_file.yaml", "name: 5\n", "HB1002"),
        ("tool_specs/new.yaml", spec("new"), "HB5004"),
        ("toolsets/all.yaml", "name: everything\nincludes: [nobody]\n", "HB2002"),
        ("toolsets/deep/more.yaml", "name: more\nincludes: [nobody]\n", "HB2002"),
        ("handlers/read.py", "", "HB3001"),
        ("handlers/new.py", handler("read_file"), "HB3003"),
        ("support/text.py", "raise ValueError('boom')\n", "HB3008"),
        ("generated/tools/read_file.py", "", "HB5001"),
        ("generated/registry.py", "", "HB5001"),
        ("templates/tool.py.jinja", "{{ name", "HB5007"),
        ("pyproject.toml", "[tool.hermes-build]\nmodel = 1\n", "HB1401"),
        ("hermes-build.toml", "specs = 'nowhere'\n", "HB1007"),
        (LOCK, "", "HB5005"),
    ],
)
def test_no_remembered_verdict_outlives_a_change(
    root: Path, path: str, text: str, code: str
) -> None:
    assert hermes(root, "check").out == CLEAN
    before = contents(root)
    write(root, {path: text})
    done = hermes(root, "check")
    assert done.code == 1
    assert code in done.codes
    if path in before:
        write(root, {path: before[path]})
    else:
        (root / path).unlink()
    assert hermes(root, "check").out == CLEAN


@pytest.mark.parametrize(
    "path",
    ["tool_specs/read_file.yaml", "handlers/read.py", "support/text.py", LOCK, "generated"],
)
def test_no_remembered_verdict_outlives_a_deletion(root: Path, path: str) -> None:
    assert hermes(root, "check").out == CLEAN
    (root / path).rename(root.parent / "away")
    assert hermes(root, "check").code == 1
    (root.parent / "away").rename(root / path)
    assert hermes(root, "check").out == CLEAN


def test_a_failed_import_is_tried_again(root: Path) -> None:
    write(root, {"handlers/read.py": "import later\n" + handler("read_file")})
    assert hermes(root, "check").codes == ["HB3008"]
    write(root, {"later.py": ""})
    assert hermes(root, "check").out == CLEAN


def test_a_copy_of_a_project_is_judged_itself(root: Path, tmp_path: Path) -> None:
    assert hermes(root, "check").code == 0
    copy = shutil.copytree(root, tmp_path / "copy", symlinks=True)
    assert hermes(copy, "check").code == 0
    assert imports(root) == 2


def test_lint_judges_specs_and_toolsets_alone(root: Path) -> None:
    write(root, {"handlers/read.py": "def (\n", "generated/registry.py": ""})
    (root / LOCK).unlink()
    assert (hermes(root, "lint").code, hermes(root, "lint").out) == (0, CLEAN)
    write(root, {"toolsets/all.yaml": "name: everything\nincludes: [nobody]\n"})
    done = hermes(root, "lint")
    assert (done.code, done.codes) == (1, ["HB2002"])
    text = spec("read_file", handler="self", description="Read.")
    write(root, {"tool_specs/read_file.yaml": text, "toolsets/all.yaml": ""})
    loose, strict = hermes(root, "lint"), hermes(root, "lint", "--strict")
    assert (loose.code, strict.code) == (0, 1)
    assert "HB1202" in loose.codes
    report = json.loads(hermes(root, "lint", "--format", "json").out)
    assert report["summary"]["errors"] == 0
