"""Writes small compiled programs by hand, for tests of the runtime alone."""

from __future__ import annotations

import hashlib
import importlib
import itertools
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hermes_build.runtime.registry import ToolRegistry

_numbers = itertools.count()

READ_FILE = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "minLength": 1},
        "offset": {"type": "integer", "minimum": 1, "default": 1},
        "limit": {"type": "integer", "minimum": 1, "maximum": 2000, "default": 500},
    },
    "required": ["path"],
    "additionalProperties": False,
}


def digest_of(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def tool(name: str, parameters: Any = None, **fields: Any) -> dict[str, Any]:
    """A tool's record; ``fields`` replace or add to the usual ones, None leaves one out."""
    parameters = READ_FILE if parameters is None else parameters
    description = fields.pop("description", f"The tool {name}.")
    hashed = {"parameters": parameters}
    if fields.get("output_schema") is not None:
        hashed["output_schema"] = fields["output_schema"]
    record = {
        "name": name,
        "toolset": "file",
        "schema": {"name": name, "description": description, "parameters": parameters},
        "handler": "self",
        "source": f"tool_specs/{name}.yaml:1",
        "digest": digest_of(hashed),
        **fields,
    }
    return {key: value for key, value in record.items() if value is not None}


def toolset(name: str, resolved: list[str], **fields: Any) -> dict[str, Any]:
    return {"name": name, "tools": resolved, "resolved": resolved, **fields}


def catalogue_text(*records: tuple[str, dict[str, Any]], format: int = 1) -> tuple[str, str]:
    """The text of a catalogue, and its digest."""
    lines = [
        f"{key}\t{json.dumps(value, separators=(',', ':'), ensure_ascii=False)}\n"
        for key, value in sorted(records, key=lambda one: one[0].encode())
    ]
    digest = hashlib.sha256("".join(lines).encode()).hexdigest()
    header = json.dumps(
        {"format": format, "digest": digest, "tools": 0, "toolsets": 0}, separators=(",", ":")
    )
    return f"!\t{header}\n" + "".join(lines), digest


@dataclass
class Program:
    """A program in a folder of its own, whose packages have names of their own."""

    root: Path
    package: str
    handlers: str
    digest: str

    @property
    def catalogue(self) -> Path:
        return self.root / self.package / "catalogue.jsonl"

    @property
    def registry(self) -> ToolRegistry:
        return importlib.import_module(f"{self.package}.registry").registry

    def stub(self, name: str) -> Any:
        return importlib.import_module(f"{self.package}.tools.{name}")


def write_program(
    root: Path,
    tools: list[dict[str, Any]],
    *,
    toolsets: list[dict[str, Any]] | None = None,
    handlers: dict[str, str] | None = None,
    pydantic: bool = False,
) -> Program:
    """Write a program and put it on the path.

    ``handlers`` are sources by module name; ``{generated}`` in one is the generated package. A
    tool's record may name its module by ``module="NAME"`` alone.
    """
    number = next(_numbers)
    package, handler_package = f"generated_{number}", f"handlers_{number}"
    records: list[tuple[str, dict[str, Any]]] = []
    modules: dict[str, list[str]] = {}
    for record in tools:
        name = record["name"]
        if "module" in record:
            record["module"] = f"{handler_package}.{record['module']}"
            modules.setdefault(record["module"], []).append(name)
        records.append((f"tool/{name}", record))
        records += [(f"alias/tool/{one}", {"name": name}) for one in record.get("aliases", ())]
    for record in toolsets or []:
        records.append((f"toolset/{record['name']}", record))
        for one in record.get("aliases", ()):
            records.append((f"alias/toolset/{one}", {"name": record["name"]}))
    records += [(f"module/{name}", {"tools": names}) for name, names in modules.items()]
    text, digest = catalogue_text(*records)
    generated = root / package
    (generated / "tools").mkdir(parents=True)
    (generated / "__init__.py").write_text("")
    (generated / "tools" / "__init__.py").write_text("")
    (generated / "catalogue.jsonl").write_bytes(text.encode())
    (generated / "registry.py").write_text(
        "from hermes_build.runtime.registry import frozen\n"
        f"registry = frozen(__file__, 'catalogue.jsonl', format=1, digest={digest!r})\n"
    )
    for record in tools:
        _write_stub(generated / "tools", record, pydantic)
    (root / handler_package).mkdir()
    (root / handler_package / "__init__.py").write_text("")
    for module, source in (handlers or {}).items():
        source = source.replace("{generated}", package).replace("{handlers}", handler_package)
        (root / handler_package / f"{module}.py").write_text(source)
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    importlib.invalidate_caches()
    return Program(root, package, handler_package, digest)


def _write_stub(folder: Path, record: dict[str, Any], pydantic: bool) -> None:
    kinds = {"string": "str", "integer": "int", "boolean": "bool", "array": "list[Any]"}
    parameters = record["schema"]["parameters"]
    name = "".join(part.title() for part in record["name"].split("_")) + "Args"
    lines = ["from __future__ import annotations", ""]
    lines += ["from typing import Any, TypeAlias, TypedDict", ""]
    lines += ["from pydantic import BaseModel", ""] if pydantic else []
    lines += [f"class {name}({'BaseModel' if pydantic else 'TypedDict'}):"]
    for key, part in parameters.get("properties", {}).items():
        if not key.isidentifier():
            continue
        kind = kinds.get(str(part.get("type")) if isinstance(part, dict) else "", "Any")
        lines.append(f"    {key}: {kind}")
    lines += ["    pass", ""]
    decorator = {True: "AsyncImplements", False: "Implements", None: "EitherImplements"}[
        record.get("is_async")
    ]
    lines += [
        f"from hermes_build.runtime.binding import {decorator}, ToolResult",
        "",
        "from ..registry import registry",
        "",
        f"Args: TypeAlias = {name}",
        f"implements = {decorator}[{name}, ToolResult](",
        f"    {record['name']!r}, Args, {record['digest']!r}, registry",
        ")",
    ]
    (folder / f"{record['name'].replace('-', '_')}.py").write_text("\n".join(lines) + "\n")
