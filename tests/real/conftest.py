"""Published catalogues, imported and compiled once for all tests that look at them."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.real.bfcl_data import meaning, read_functions
from tests.real.environments import environment, site_packages
from tests.real.programs import Program, new_program

HERMES = "hermes-agent==0.19.0"
BFCL = "bfcl-eval==2026.3.23"


@dataclass(frozen=True, slots=True)
class Catalogue:
    """One compiled catalogue beside its source; ``schemas`` are the source's, by frozen name."""

    program: Program
    imported: list[dict[str, Any]]
    source: Any
    registry: Any
    schemas: dict[str, dict[str, Any]]


@pytest.fixture(scope="session")
def hermes(tmp_path_factory: pytest.TempPathFactory) -> Catalogue:
    python = environment(HERMES)
    program = new_program(tmp_path_factory.mktemp("hermes"), "hermes_compiled")
    reference = Path(__file__).with_name("hermes_reference.py")
    done = subprocess.run(
        [python, reference],
        cwd=program.root,
        env=program.surroundings(),
        stdout=subprocess.PIPE,
        check=True,
    )
    source = json.loads(done.stdout)
    imported = program.findings(
        "import", "python", "tools.registry:registry", "--toolsets", "toolsets:TOOLSETS",
        "--preload", "model_tools", "--python", str(python),
    )  # fmt: skip
    program.run("compile", "--format", "concise")
    schemas = {name: one["parameters"] for name, one in source["schemas"].items()}
    return Catalogue(program, imported, source, program.registry(), schemas)


@pytest.fixture(scope="session")
def bfcl_functions() -> list[dict[str, Any]]:
    python = environment(BFCL, "--no-deps")
    return read_functions(site_packages(python) / "bfcl_eval" / "data")


@pytest.fixture(scope="session")
def bfcl(
    tmp_path_factory: pytest.TempPathFactory, bfcl_functions: list[dict[str, Any]]
) -> Catalogue:
    program = new_program(tmp_path_factory.mktemp("bfcl"), "bfcl_compiled")
    (program.root / "functions.json").write_text(json.dumps(bfcl_functions), encoding="utf-8")
    imported = program.findings("import", "json", "functions.json", "--toolset", "bfcl")
    program.run("compile", "--format", "concise")
    registry = program.registry()
    meant = {
        json.dumps(one): one for one in map(meaning, (f["parameters"] for f in bfcl_functions))
    }
    schemas = {
        name: meant[json.dumps(registry.get_schema(name)["parameters"])]
        for name in registry.get_all_tool_names()
    }
    return Catalogue(program, imported, bfcl_functions, registry, schemas)


@pytest.fixture(scope="session")
def as_pydantic(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A function that compiles a catalogue's specs once more, as pydantic models."""
    made: dict[str, Program] = {}

    def compiled(catalogue: Catalogue) -> Program:
        package = f"{catalogue.program.package}_models"
        if package in made:
            return made[package]
        root = tmp_path_factory.mktemp("pydantic")
        program = made[package] = new_program(root, package, models="pydantic")
        for folder in ("tool_specs", "toolsets"):
            if (catalogue.program.root / folder).is_dir():
                shutil.copytree(catalogue.program.root / folder, root / folder)
        program.run("compile", "--format", "concise")
        return program

    return compiled
