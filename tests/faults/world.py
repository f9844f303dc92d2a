"""Compiling a whole project in a test, and importing what was made of it."""

from __future__ import annotations

import importlib
import itertools
import json
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hermes_build.compiler.diagnostics import Diagnostic, Findings
from hermes_build.compiler.memory import forgetful
from hermes_build.compiler.pipeline import Build, build
from hermes_build.compiler.project import read_project
from hermes_build.compiler.yaml12.dumping import dump
from hermes_build.ir import Tool, Toolset
from hermes_build.runtime.registry import ToolRegistry

_numbers = itertools.count()

KINDS = ("typed-dict", "pydantic")


@dataclass(frozen=True)
class World:
    """A project that was compiled in memory, whatever came of it."""

    root: Path
    package: str
    made: Build
    seconds: float

    @property
    def found(self) -> list[tuple[str, str]]:
        """The code and severity of each finding, by place."""
        return [(one.code, one.severity) for one in self.made.findings]

    @property
    def errors(self) -> list[str]:
        return [code for code, severity in self.found if severity == "error"]

    @property
    def codes(self) -> set[str]:
        return {code for code, _ in self.found}

    def finding(self, code: str) -> Diagnostic:
        return next(one for one in self.made.findings if one.code == code)

    @property
    def tools(self) -> dict[str, Tool]:
        assert self.made.catalog is not None, self.made.findings
        return {one.name: one for one in self.made.catalog.tools}

    @property
    def toolsets(self) -> dict[str, Toolset]:
        assert self.made.catalog is not None, self.made.findings
        return {one.name: one for one in self.made.catalog.toolsets}

    def text(self, path: str) -> str:
        """A generated file, by its path in the generated package."""
        assert self.made.tree is not None, self.made.findings
        return self.made.tree[f"{self.package}/{path}"].decode()

    @property
    def modules(self) -> dict[str, str]:
        """The text of every generated Python file, by its path in the project."""
        assert self.made.tree is not None, self.made.findings
        return {
            path: data.decode() for path, data in self.made.tree.items() if path.endswith(".py")
        }

    def module(self, tool: str) -> Any:
        """The generated module of a tool, imported."""
        return importlib.import_module(f"{self.package}.tools.{tool.replace('-', '_')}")

    @property
    def registry(self) -> ToolRegistry:
        return importlib.import_module(f"{self.package}.registry").registry  # type: ignore[no-any-return]

    def call(self, name: str, args: Any = None, **context: Any) -> Any:
        """What a model gets back: a parsed error, a parsed value, or text."""
        result = self.registry.call(name, args, **context)
        try:
            return json.loads(result)
        except (TypeError, ValueError):
            return result


def compiled(
    root: Path,
    specs: Mapping[str, str | bytes] | str,
    toolsets: Mapping[str, str] | str = "",
    handlers: Mapping[str, str] | None = None,
    *,
    models: str = "typed-dict",
    settings: str = "",
) -> World:
    """Compile a project, and write what was made of it where it can be imported.

    ``handlers`` are sources by module name; ``{generated}`` in one is the generated package.
    """
    number = next(_numbers)
    package, handler_package = f"faults_{number}", f"fault_handlers_{number}"
    files: dict[str, str | bytes] = {}
    for name, text in ({"a.yaml": specs} if isinstance(specs, str) else specs).items():
        files[f"tool_specs/{name}"] = text
    for name, text in ({"a.yaml": toolsets} if isinstance(toolsets, str) else toolsets).items():
        if text:
            files[f"toolsets/{name}"] = text
    files[f"{handler_package}/__init__.py"] = ""
    for name, text in (handlers or {}).items():
        files[f"{handler_package}/{name}.py"] = text.replace("{generated}", package)
    files["hermes-build.toml"] = (
        f'output = "{package}"\nhandlers = ["{handler_package}"]\nmodels = "{models}"\n{settings}'
    )
    _write(root, files)
    findings = Findings()
    started = time.process_time()
    made = build(read_project(root, findings), forgetful(), findings)
    seconds = time.process_time() - started
    _write(root, made.tree or {})
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    importlib.invalidate_caches()
    return World(root, package, made, seconds)


def _write(root: Path, files: Mapping[str, str | bytes]) -> None:
    for path, content in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())


def spec(
    parameters: Any = None,
    *,
    name: str = "tool_x",
    description: str = "Does one thing for a test.",
    handler: str | None = "external",
    **fields: Any,
) -> str:
    """A tool spec as YAML text that keeps every value exact."""
    value = {
        "name": name,
        "description": description,
        **({"handler": handler} if handler else {}),
        "parameters": {"type": "object", "properties": {}, "additionalProperties": False}
        if parameters is None
        else parameters,
        **fields,
    }
    return dump(value)


def thing(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "additionalProperties": False}


def yaml(value: Any) -> str:
    return dump(value)


def documents(*texts: str) -> str:
    return "---\n".join(texts)
