"""The frozen registry: its catalogue file, and the modules around it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hermes_build import layout
from hermes_build.canonical import compact, hexdigest
from hermes_build.compiler.emit.definition import definition
from hermes_build.compiler.emit.render import Renderer
from hermes_build.ir import Catalog, Guards, Tool, Toolset

# The order and names here are the runtime's: see hermes_build/layout.py.


def catalogue(
    catalog: Catalog, modules: Mapping[str, str], digests: Mapping[str, str]
) -> tuple[bytes, str]:
    """Return the catalogue file, with the digest of its records.

    ``modules`` maps a tool to the handler module that registers it, ``digests`` to the digest of
    the schemas that its stub was made from.
    """
    lines = sorted(_records(catalog, modules, digests))
    body = "".join(f"{key}\t{compact(record)}\n" for key, record in lines).encode()
    mark = hexdigest(body)
    header = {
        "format": layout.FORMAT,
        "digest": mark,
        "tools": len(catalog.tools),
        "toolsets": len(catalog.toolsets),
    }
    return f"{layout.HEADER}\t{compact(header)}\n".encode() + body, mark


def registry_module(renderer: Renderer, mark: str) -> str:
    """Return ``registry.py``, which opens the catalogue whose records have the digest ``mark``."""
    values = {
        "catalogue": layout.CATALOGUE,
        "format": layout.FORMAT,
        "digest": mark,
        "needs": layout.SINCE,
    }
    return renderer.render("registry.py.jinja", values)


def package_module(renderer: Renderer, docstring: str) -> str:
    """Return an ``__init__.py`` that holds a docstring alone."""
    return renderer.render("package.py.jinja", {"docstring": docstring})


def _records(
    catalog: Catalog, modules: Mapping[str, str], digests: Mapping[str, str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    by_module: dict[str, list[str]] = {}
    for tool in catalog.tools:
        module = modules.get(tool.name)
        if module is not None:
            by_module.setdefault(module, []).append(tool.name)
        yield layout.TOOL + tool.name, tool_record(tool, module, digests[tool.name])
        for alias in tool.aliases:
            yield layout.TOOL_ALIAS + alias, {"name": tool.name}
    for one in catalog.toolsets:
        yield layout.TOOLSET + one.name, _toolset_record(one)
        for alias in one.aliases:
            yield layout.TOOLSET_ALIAS + alias, {"name": one.name}
    for module, names in by_module.items():
        yield layout.MODULE + module, {"tools": names}


def tool_record(tool: Tool, module: str | None, schema_digest: str) -> dict[str, Any]:
    """Return what the runtime needs of one tool; what the spec does not say is left out."""
    requires = {
        "env": list(tool.requires.env),
        "any_env": list(tool.requires.any_env),
        "python": list(tool.requires.python),
        "commands": list(tool.requires.commands),
        "platforms": list(tool.requires.platforms),
        "check": tool.requires.check,
    }
    hints = tool.annotations
    annotations = {
        "read_only": hints.read_only,
        "destructive": hints.destructive,
        "idempotent": hints.idempotent,
        "open_world": hints.open_world,
    }
    deprecated = tool.deprecated
    record = {
        "name": tool.name,
        "toolset": tool.toolset,
        "title": tool.title,
        "emoji": tool.emoji,
        "schema": definition(tool),
        "output_schema": tool.output_schema,
        "is_async": tool.is_async,
        "requires": {key: value for key, value in requires.items() if value},
        "max_result_chars": tool.max_result_chars,
        "timeout_seconds": tool.timeout_seconds,
        "annotations": {key: value for key, value in annotations.items() if value is not None},
        "tags": list(tool.tags),
        "dynamic": list(tool.dynamic),
        "aliases": list(tool.aliases),
        "deprecated": deprecated
        and {k: v for k, v in (("since", deprecated.since), ("use", deprecated.use)) if v},
        "handler": tool.handler,
        "module": module,
        "source": str(tool.place),
        "digest": schema_digest,
    }
    return {
        key: record[key]
        for key in layout.TOOL_FIELDS
        if record[key] not in (None, [], {}) or (key == "output_schema" and record[key] is not None)
    }


def _toolset_record(one: Toolset) -> dict[str, Any]:
    record = {
        "name": one.name,
        "description": one.description,
        "tools": list(one.tools or ()),
        "includes": list(one.includes),
        "excludes": list(one.excludes),
        "guards": _guards_record(one.guards),
        "aliases": list(one.aliases),
        "resolved": list(one.resolved),
        "source": str(one.place),
    }
    keep = ("name", "resolved", "source")
    return {key: record[key] for key in layout.TOOLSET_FIELDS if record[key] or key in keep}


def _guards_record(guards: Guards) -> dict[str, Any]:
    """Return the promises that a toolset makes: a running program holds what it adds to them."""
    record = {
        "forbid_tags": list(guards.forbid_tags),
        "require": dict(guards.require),
        "max_tools": guards.max_tools,
        "max_tokens": guards.max_tokens,
    }
    return {key: value for key, value in record.items() if value not in (None, [], {})}
