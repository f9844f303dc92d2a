"""Which handler module registers which tool, and whether that meets the specs.

Every tool of ours has one handler, and no other tool has any.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from pathlib import Path

from hermes_build.canonical import digest
from hermes_build.compiler.diagnostics import Findings, Label, Span
from hermes_build.compiler.nearest import did_you_mean
from hermes_build.compiler.project import Project
from hermes_build.compiler.registrations import Binding, read_registrations
from hermes_build.compiler.regular import read_regular
from hermes_build.compiler.schema.judge import Judge
from hermes_build.compiler.sources import Locate
from hermes_build.ir import Tool
from hermes_build.layout import module_name

DEFAULT_HANDLERS = ("handlers",)

_JOINS = ("$ref", "$dynamicRef", "allOf")
"""What can bring properties to a root beside its own."""


@dataclass(frozen=True, slots=True)
class HandlerModule:
    """A module that registers something; ``digest`` is of its source with LF line ends."""

    name: str
    path: str
    digest: str


@dataclass(frozen=True, slots=True)
class Bindings:
    """All registrations, in the order of modules and lines.

    ``ignored`` are those in a package's own ``__init__``, which never count; ``missing`` are the
    handler packages that do not exist, each with the folder that was looked for, and ``strays``
    the registrations with another generated package.
    """

    registered: tuple[Binding, ...] = ()
    modules: tuple[HandlerModule, ...] = ()
    ignored: tuple[Binding, ...] = ()
    missing: tuple[str, ...] = ()
    output: str = "generated"
    strays: tuple[Binding, ...] = ()
    source: str = "."


def find_bindings(
    project: Project, findings: Findings, read: Callable[[Path], bytes] = read_regular
) -> Bindings:
    """Read every module of the project's handler packages, in sorted order.

    A name in ``handlers`` may be a package, a package without ``__init__``, or a single module. The
    generated package's own modules are passed over.
    """
    registered: list[Binding] = []
    ignored: list[Binding] = []
    strays: list[Binding] = []
    modules: list[HandlerModule] = []
    found_modules, missing = _find_modules(project, findings)
    for name, place in found_modules:
        path = Path(os.path.relpath(place, project.root)).as_posix()
        try:
            source = read(place)
        except OSError as error:
            findings.add("HB3004", f"`{path}` cannot be read: {error.strerror}", Span(path))
            continue
        is_init = place.name == "__init__.py"
        package = name if is_init else name.rpartition(".")[0]
        found = read_registrations(source, path, name, package, project.output, findings, strays)
        if is_init:
            ignored += found
        elif found:
            registered += found
            seal = digest(source.replace(b"\r\n", b"\n"))
            modules.append(HandlerModule(name, path, seal))
    return Bindings(
        tuple(registered),
        tuple(modules),
        tuple(ignored),
        tuple(missing),
        project.output,
        tuple(strays),
        project.source,
    )


def check_bindings(
    bindings: Bindings,
    tools: Iterable[Tool],
    locate: Locate,
    findings: Findings,
) -> dict[str, Binding]:
    """Return each tool's registration, by the tool's name; what does not meet is a finding."""
    by_name = {tool.name: tool for tool in tools}
    by_module = {module_name(name): name for name in by_name}
    found: dict[str, Binding] = {}
    for one in bindings.registered:
        name = by_module.get(one.tool) if one.style == "implements" else one.tool
        tool = by_name.get(name) if name is not None else None
        if tool is None:
            _surplus(one, by_module if one.style == "implements" else by_name, findings)
        elif tool.handler == "server":
            findings.add(
                "HB3006",
                f"a handler is registered for `{tool.name}`, which an MCP server provides",
                one.span,
                labels=(Label(locate(tool.place, "handler"), "declared `handler: server` here"),),
                help=("remove the handler, or declare `handler: self`",),
                tool=tool.name,
            )
        elif tool.name in found:
            findings.add(
                "HB3003",
                f"`{tool.name}` has two handlers",
                one.span,
                label="registered again here",
                labels=(Label(found[tool.name].span, "first registered here"),),
                help=("remove one of the two",),
                tool=tool.name,
            )
        else:
            found[tool.name] = one
            _check_kind(one, tool, locate, findings)
            _check_keys(one, tool, locate, findings)
    lacking = [
        tool for tool in by_name.values() if tool.handler == "self" and tool.name not in found
    ]
    _absent(bindings, bool(lacking), findings)
    # A module that could not be parsed may well register what seems to be missing.
    unread = any(one.code == "HB3004" for one in findings)
    if not unread and (bindings.modules or not bindings.missing):
        elsewhere = _elsewhere(bindings, {tool.name for tool in lacking}, by_module, findings)
        for tool in lacking:
            if tool.name not in elsewhere:
                _missing(tool, bindings, locate, findings)
    return found


def _absent(bindings: Bindings, wanted: bool, findings: Findings) -> None:
    """Report missing packages; that of a project without handlers of its own may be missing."""
    for package in bindings.missing:
        if wanted or package not in DEFAULT_HANDLERS:
            prefix = "" if bindings.source == "." else f"{bindings.source}/"
            folder = prefix + package.replace(".", "/")
            findings.add(
                "HB3009",
                f"the handler package `{package}` does not exist",
                help=(
                    f"make the folder `{folder}` for it",
                    "or name the right packages with `handlers` in the settings",
                    *(
                        (f"`source` is `{bindings.source}`, so it was looked for in that folder",)
                        if bindings.source != "."
                        else ()
                    ),
                ),
            )


def _surplus(one: Binding, known: Iterable[str], findings: Findings) -> None:
    what = "generated module" if one.style == "implements" else "tool"
    findings.add(
        "HB3002",
        f"no spec declares the {what} `{one.tool}` that a handler is registered for",
        one.span,
        help=(
            *did_you_mean(one.tool, known),
            f"`hermes-build new {one.tool}` writes a spec for it",
        ),
        tool=one.tool,
    )


def _check_kind(one: Binding, tool: Tool, locate: Locate, findings: Findings) -> None:
    if tool.is_async is None or one.is_async is None or tool.is_async == one.is_async:
        return
    is_now, must = ("sync", "async") if tool.is_async else ("async", "sync")
    mend = "`async def`" if tool.is_async else "`def`"
    findings.add(
        "HB3007",
        f"the handler of `{tool.name}` is {is_now}, its spec says {must}",
        one.span,
        label=f"registers a function that is {is_now}",
        labels=(
            Label(
                locate(tool.place, "is_async"),
                f"declared `is_async: {str(tool.is_async).lower()}` here",
            ),
        ),
        help=(f"write the handler with {mend}, or change `is_async`",),
        tool=tool.name,
    )


def _check_keys(one: Binding, tool: Tool, locate: Locate, findings: Findings) -> None:
    """Report keys that a handler reads, and that no valid call can hold."""
    schema = tool.parameters
    closed = schema.get("additionalProperties") is False
    if one.keys is None or not closed or any(key in schema for key in _JOINS):
        return
    properties = schema.get("properties", {})
    if one.keys.mentioned <= properties.keys():
        return
    patterns = dict.fromkeys(schema.get("patternProperties", {}), True)
    judge = Judge({"patternProperties": patterns, "additionalProperties": False})
    for key, span in one.keys.places():
        if key in properties or (patterns and judge.refusal((), {key: None}) is None):
            continue
        pointer = ("parameters", "properties") if properties else ("parameters",)
        findings.add(
            "HB3010",
            f"the handler of `{tool.name}` reads `{key}`, which is no property of its parameters",
            span,
            label="never among the arguments",
            labels=(Label(locate(tool.place, *pointer, key=True), "the properties are here"),),
            help=did_you_mean(key, properties, findings) or ("declare it, or take it out",),
            tool=tool.name,
        )


def _elsewhere(
    bindings: Bindings, lacking: Set[str], by_module: Mapping[str, str], findings: Findings
) -> set[str]:
    """Report the modules that register with another generated package, and return their tools."""
    modules: dict[tuple[str, str], tuple[Binding, dict[str, None]]] = {}
    for one in bindings.strays:
        name = by_module.get(one.tool) if one.style == "implements" else one.tool
        if name is not None and name in lacking:
            modules.setdefault((one.path, one.package), (one, {}))[1][name] = None
    for (path, package), (first, names) in modules.items():
        findings.add(
            "HB3001",
            f"`{path}:{first.line}` imports `{package}`, but `output` is `{bindings.output}`",
            first.span,
            label="not the package that is compiled",
            notes=(f"registered with it: {', '.join(f'`{name}`' for name in names)}",),
            help=(f"import `{bindings.output}` instead, or name `{package}` as `output`",),
        )
    return {name for _, names in modules.values() for name in names}


def _missing(tool: Tool, bindings: Bindings, locate: Locate, findings: Findings) -> None:
    stub = module_name(tool.name)
    notes = [
        f"{one.path}:{one.line} registers it, but a package's own `__init__` never counts"
        for one in bindings.ignored
        if one.tool == (stub if one.style == "implements" else tool.name)
    ]
    lines = (
        "in a handler module, above the function that does the work, write",
        f"    from {bindings.output}.tools import {stub}",
        f"    @{stub}.implements",
    )
    findings.add(
        "HB3001",
        f"no handler module registers `{tool.name}`",
        locate(tool.place, "name"),
        notes=notes,
        help=("\n".join(lines), "or declare `handler: external` if the host program binds it"),
        tool=tool.name,
    )


_RENAME = ("rename it, or run where the locale has UTF-8",)


def _find_modules(project: Project, findings: Findings) -> tuple[list[tuple[str, Path]], list[str]]:
    """Every module of the packages once, sorted, as dotted name and file; and what is missing."""
    found: dict[str, Path] = {}
    missing = []
    for package in project.handlers:
        folder = project.source_root.joinpath(*package.split("."))
        single = folder.with_name(folder.name + ".py")
        if single.is_file() and not (folder / "__init__.py").is_file():
            found[package] = single  # as an import decides it
        elif folder.is_dir():
            found.update(_walk(folder, package, project, findings))
        else:
            missing.append(package)
    return sorted(found.items()), missing


def _walk(
    folder: Path, package: str, project: Project, findings: Findings
) -> Iterator[tuple[str, Path]]:
    if package == project.output:
        return
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        path = Path(os.path.relpath(folder, project.root)).as_posix()
        findings.add("HB3004", f"`{path}` cannot be read: {error.strerror}", Span(path))
        return
    for entry in entries:
        if entry.name.startswith((".", "__pycache__")):
            continue
        if entry.suffix == ".py" and not _is_text(entry.name):
            path = ascii(Path(os.path.relpath(entry, project.root)).as_posix())[1:-1]
            why = "its name is no text in the encoding that file names have here"
            findings.add("HB3004", f"`{path}` cannot be read: {why}", Span(path), help=_RENAME)
        elif entry.suffix == ".py" and "." not in entry.stem and entry.is_file():
            yield (package if entry.stem == "__init__" else f"{package}.{entry.stem}"), entry
        elif entry.name.isidentifier() and entry.is_dir() and not entry.is_symlink():
            yield from _walk(entry, f"{package}.{entry.name}", project, findings)


def _is_text(name: str) -> bool:
    """Whether a file's name was decoded: each byte that was not is half of a surrogate pair."""
    return not any("\udc80" <= one <= "\udcff" for one in name)
