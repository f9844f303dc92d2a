"""What importing the runtime costs, and what it must not bring along."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import hermes_build
from hermes_build import runtime
from tests.runtime_program import tool, write_program

COMPILER = {
    "click",
    "datamodel_code_generator",
    "hermes_build.cli",
    "hermes_build.compiler",
    "jinja2",
    "jsonschema",
    "mcp",
    "pydantic",
    "yaml",
}
HEAVY = COMPILER | {
    "asyncio",
    "dataclasses",
    "difflib",
    "inspect",
    "jsonschema_rs",
    "logging",
    "pathlib",
    "re",
    "threading",
    "typing",
}


def modules_after(code: str, root: Path, *flags: str) -> set[str]:
    """The modules that are loaded once some code has run, in an interpreter of its own."""
    repository = str(Path(hermes_build.__file__).parent.parent)
    script = (
        f"import sys; sys.path[:0] = [{str(root)!r}, {repository!r}]\n"
        f"{code}\n"
        "print(' '.join(sys.modules))"
    )
    answer = subprocess.run(
        [sys.executable, *flags, "-c", script], capture_output=True, check=True, text=True
    )
    return set(answer.stdout.split())


def test_a_generated_registry_imports_next_to_nothing(tmp_path: Path) -> None:
    program = write_program(tmp_path, [tool("a", handler="external")])
    code = f"import hermes_build.runtime\nfrom {program.package}.registry import registry"
    # -S: what the site folder of a developer imports at start-up is not ours.
    loaded = modules_after(code, tmp_path, "-S")
    assert "hermes_build.runtime.registry" in loaded
    assert loaded.isdisjoint(HEAVY)
    assert "json" not in loaded


def test_a_definition_costs_json_and_no_more(tmp_path: Path) -> None:
    program = write_program(tmp_path, [tool("a", handler="external")])
    code = f"from {program.package}.registry import registry\nassert registry.get_definition('a')"
    loaded = modules_after(code, tmp_path, "-S")
    assert loaded.isdisjoint(set(HEAVY) - {"re"})  # json itself needs re


def test_a_call_imports_nothing_of_the_compiler(tmp_path: Path) -> None:
    source = "from {generated}.tools import a\n@a.implements\ndef f(args): return 'ran'\n"
    program = write_program(tmp_path, [tool("a", module="m")], handlers={"m": source})
    code = (
        f"from {program.package}.registry import registry\n"
        "assert registry.call('a', {'path': 'x'}) == 'ran'\n"
        "registry.load()"
    )
    assert modules_after(code, tmp_path).isdisjoint(COMPILER)


def test_every_public_name_is_there_and_documented() -> None:
    for name in runtime.__all__:
        assert getattr(runtime, name).__doc__
        assert name in dir(runtime)
    with pytest.raises(AttributeError, match="nope"):
        _ = runtime.nope  # type: ignore[attr-defined]


def test_no_public_name_is_that_of_a_module() -> None:
    """The import of a module would put it in the place of what has its name."""
    modules = {path.stem for path in Path(runtime.__file__).parent.glob("*.py")}
    assert modules.isdisjoint(runtime.__all__)
