"""Type checkers accept the generated modules of all real tools, and handlers that fit them."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from tests.real.arguments import Maker
from tests.real.conftest import Catalogue
from tests.real.programs import Program, new_program

pytestmark = pytest.mark.real

HANDLERS = 1_000
SECONDS = 60.0
"""A limit far above what is measured and printed, so that a slow machine does not fail."""


def mypy(program: Program, *targets: str) -> tuple[list[str], float]:
    """The errors that ``mypy --strict`` reports, and the seconds that it took."""
    return _check(
        program, [sys.executable, "-m", "mypy", "--strict", "--no-incremental",
                  "--no-error-summary", "--no-color-output", *targets],
    )  # fmt: skip


def pyright(program: Program, *targets: str) -> tuple[list[str], float]:
    """The errors that pyright reports in its standard mode, and the seconds that it took."""
    (program.root / "pyrightconfig.json").write_text(json.dumps({"include": list(targets)}))
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--outputjson"]
    lines, seconds = _check(program, command)
    report = json.loads("\n".join(lines))
    assert report["summary"]["filesAnalyzed"] > 0
    return [
        f"{Path(one['file']).relative_to(program.root).as_posix()}:"
        f"{one['range']['start']['line'] + 1}: {one['message']}"
        for one in report["generalDiagnostics"]
        if one["severity"] == "error"
    ], seconds


def _check(program: Program, command: list[str]) -> tuple[list[str], float]:
    started = time.perf_counter()
    done = subprocess.run(
        command,
        cwd=program.root,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout.splitlines(), time.perf_counter() - started


@pytest.mark.parametrize("which", ["hermes", "bfcl"])
@pytest.mark.parametrize("models", ["typed-dict", "pydantic"])
def test_both_type_checkers_accept_every_generated_module(
    which: str, models: str, request: pytest.FixtureRequest, as_pydantic: Any
) -> None:
    catalogue: Catalogue = request.getfixturevalue(which)
    program = catalogue.program if models == "typed-dict" else as_pydantic(catalogue)
    modules = len(list((program.root / program.package).rglob("*.py")))
    assert modules >= len(catalogue.schemas)
    by_mypy, mypy_seconds = mypy(program, "-p", program.package)
    by_pyright, pyright_seconds = pyright(program, program.package)
    print(
        f"\n{which}, {models}: {modules} modules; mypy --strict {len(by_mypy)} errors in "
        f"{mypy_seconds:.1f} s, pyright {len(by_pyright)} errors in {pyright_seconds:.1f} s"
    )
    assert not by_mypy, "\n".join(by_mypy[:20])
    assert not by_pyright, "\n".join(by_pyright[:20])


@pytest.mark.parametrize("which", ["hermes", "bfcl"])
@pytest.mark.parametrize("models", ["typed-dict", "pydantic"])
def test_every_generated_module_can_be_imported(
    which: str, models: str, request: pytest.FixtureRequest, as_pydantic: Any
) -> None:
    catalogue: Catalogue = request.getfixturevalue(which)
    program = catalogue.program if models == "typed-dict" else as_pydantic(catalogue)
    code = (
        "import importlib, pkgutil, sys\n"
        f"import {program.package}.tools as tools\n"
        "names = [one.name for one in pkgutil.iter_modules(tools.__path__)]\n"
        f"for name in names: importlib.import_module('{program.package}.tools.' + name).Args\n"
        "print(len(names), 'pydantic' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=program.root, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-3000:]
    number, with_pydantic = done.stdout.split()
    assert int(number) == len(catalogue.schemas)
    assert with_pydantic == str(models == "pydantic")
    print(f"\n{which}, {models}: {number} modules imported")


@pytest.fixture(scope="module")
def thousand(
    tmp_path_factory: pytest.TempPathFactory, bfcl_functions: list[dict[str, Any]]
) -> Program:
    """A thousand real tools with a handler module each, as the import writes them."""
    program = new_program(tmp_path_factory.mktemp("handlers"), "made", handlers='"handlers"')
    (program.root / "functions.json").write_text(json.dumps(bfcl_functions[: HANDLERS * 2]))
    program.run("import", "json", "functions.json", "--handler", "self", "--format", "concise")
    # A project is held to more in its own specs than in those of others: a default that does not
    # fit is an error there, and a third of these do not. What has one is left out here.
    for one in program.findings("compile", expect=1):
        if one["severity"] == "error":
            _leave_out(program, Path(one["span"]["path"]).stem)
    for path in sorted((program.root / "tool_specs").rglob("*.yaml"))[HANDLERS:]:
        _leave_out(program, path.stem)
    program.run("compile", "--format", "concise")
    return program


def _leave_out(program: Program, tool: str) -> None:
    for path in (f"tool_specs/imported/{tool}.yaml", f"handlers/{tool.replace('-', '_')}.py"):
        (program.root / path).unlink(missing_ok=True)


def test_a_thousand_tools_with_handlers_type_check_in_seconds(thousand: Program) -> None:
    modules = len(list((thousand.root / "handlers").glob("*.py"))) - 1  # its __init__.py
    assert modules == HANDLERS
    by_mypy, mypy_seconds = mypy(thousand, "handlers", "made")
    by_pyright, pyright_seconds = pyright(thousand, "handlers", "made")
    print(
        f"\n{modules} handlers with their tools: mypy --strict {mypy_seconds:.1f} s, "
        f"pyright {pyright_seconds:.1f} s"
    )
    assert not by_mypy, "\n".join(by_mypy[:20])
    assert not by_pyright, "\n".join(by_pyright[:20])
    assert max(mypy_seconds, pyright_seconds) < SECONDS


def test_handlers_written_by_the_import_are_found_and_answer_that_they_are_empty(
    thousand: Program,
) -> None:
    thousand.run("check", "--format", "concise")
    registry = thousand.registry()
    for name in registry.get_all_tool_names()[::300]:
        schema = registry.get_schema(name)["parameters"]
        fits = jsonschema_rs.Draft202012Validator(schema).is_valid
        (arguments,) = Maker(schema, name).fitting(fits, 1)
        answer = thousand.run("call", name, json.dumps(arguments), expect=1)
        assert "NotImplementedError" in answer and f"handlers/{name}.py" in answer


WRONG_HANDLERS = {
    "another argument class": ("read_terminal", "def handler(args: int, **context: Any) -> str:"),
    "no parameter": ("read_terminal", "def handler() -> str:"),
    "one parameter too many": (
        "read_terminal",
        "def handler(args: read_terminal.Args, other: str) -> str:",
    ),
    "sync for async": (
        "vision_analyze",
        "def handler(args: vision_analyze.Args, **context: Any) -> str:",
    ),
}


@pytest.mark.parametrize("kind", WRONG_HANDLERS)
def test_a_handler_that_does_not_fit_is_reported_by_both_at_its_line(
    kind: str, hermes: Catalogue
) -> None:
    name, head = WRONG_HANDLERS[kind]
    program = hermes.program
    text = (
        "from __future__ import annotations\n\nfrom typing import Any\n\n"
        f"from {program.package}.tools import {name}\n\n\n"
        f"@{name}.implements\n{head}\n    return ''\n"
    )
    (program.root / "wrong_handler.py").write_text(text)
    line = text.splitlines().index(f"@{name}.implements") + 1
    for report, _ in (mypy(program, "wrong_handler.py"), pyright(program, "wrong_handler.py")):
        places = {one.split(": ")[0] for one in report}
        assert f"wrong_handler.py:{line}" in places, report
