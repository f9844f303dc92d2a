"""From a catalog to every generated file of a program."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from hermes_build import layout
from hermes_build.canonical import digest
from hermes_build.compiler.diagnostics import Findings, Span
from hermes_build.compiler.digests import Digests
from hermes_build.compiler.emit.gate import (
    Refused,
    check_module,
    check_package,
    check_registry,
)
from hermes_build.compiler.emit.registry import catalogue, package_module, registry_module
from hermes_build.compiler.emit.render import Renderer, TemplateFailed, builtin_templates
from hermes_build.compiler.emit.stubs import Stub, StubRequest, make_stubs
from hermes_build.compiler.memory import Memory, RememberedStub
from hermes_build.compiler.nearest import did_you_mean
from hermes_build.compiler.project import Project
from hermes_build.compiler.regular import read_regular
from hermes_build.compiler.sources import Locate
from hermes_build.compiler.tree import Tree
from hermes_build.ir import Catalog, Tool
from hermes_build.layout import module_name

_TEMPLATE_ENDS = (".py.jinja", ".py.jinja2", ".py.j2")

PACKAGE_DOCSTRING = "The compiled program: its frozen registry, and one module for each tool."
TOOLS_DOCSTRING = "One module for each tool: its argument types, and the decorator for its handler."


@dataclass(frozen=True, slots=True)
class Emitted:
    """The generated files; ``modules`` maps a tool to its module's path, in the project."""

    tree: Tree
    modules: Mapping[str, str] = field(default_factory=dict)
    templates: Mapping[str, str] = field(default_factory=dict)


class _Barred(Exception):
    """The gate refuses a file that came out of a template."""

    def __init__(self, path: str, template: str, why: Refused) -> None:
        super().__init__(str(why))
        self.path, self.template = path, template


def emit(
    project: Project,
    catalog: Catalog,
    registered: Mapping[str, str],
    marks: Mapping[str, Digests],
    memory: Memory,
    locate: Locate,
    findings: Findings,
    *,
    jobs: int = 1,
) -> Emitted | None:
    """Make every generated file; ``None``, with findings, where a template or the gate refuses.

    ``registered`` maps a tool to the handler module that registers it. A tool whose schemas, and
    everything else that its module is made from, are as remembered keeps the module on the disk.
    """
    templates = read_templates(project, findings)
    renderer = Renderer(templates)
    folder = project.output_folder
    paths = {tool.name: f"{folder}/tools/{module_name(tool.name)}.py" for tool in catalog.tools}
    shared = digest("\0".join([project.models, templates["tool.py.jinja"]]).encode())
    keys = {
        tool.name: f"{tool.name}:{marks[tool.name].authored}:{marks[tool.name].schema}:{shared}"
        for tool in catalog.tools
    }
    tree: Tree = {}
    wanted: list[Tool] = []
    for tool in catalog.tools:
        kept = memory.stubs.get(tool.name)
        standing = _standing(project, paths[tool.name], kept, keys[tool.name])
        if kept is None or standing is None:
            wanted.append(tool)
        else:
            tree[paths[tool.name]] = standing
            _say(tool, kept.problems, locate, findings)
    try:
        made = _modules(project, renderer, wanted, paths, marks, jobs)
        for tool, (data, problems) in zip(wanted, made, strict=True):
            tree[paths[tool.name]] = data
            _say(tool, problems, locate, findings)
            memory.keep_stub(tool.name, RememberedStub(keys[tool.name], digest(data), problems))
        records, mark = catalogue(
            catalog, registered, {name: one.schema for name, one in marks.items()}
        )
        tree[f"{folder}/{layout.CATALOGUE}"] = records
        text = registry_module(renderer, mark)
        tree |= _passed(f"{folder}/registry.py", "registry.py.jinja", text, check_registry)
        for inner, docstring in (("", PACKAGE_DOCSTRING), ("tools/", TOOLS_DOCSTRING)):
            text = package_module(renderer, docstring)
            path = f"{folder}/{inner}__init__.py"
            tree |= _passed(path, "package.py.jinja", text, check_package)
    except TemplateFailed as error:
        path = f"{project.templates}/{error.name}"
        findings.add("HB5007", f"`{error.name}`: {error.message}", Span(path, error.line))
        return None
    except _Barred as error:
        path = f"{project.templates}/{error.template}"
        findings.add(
            "HB5006",
            f"`{error.path}` would hold what is never generated: {error}",
            Span(path) if (project.root / path).is_file() else None,
            help=("a template of the project's own may hold only what the built-in ones do",),
        )
        return None
    memory.stubs = {name: one for name, one in memory.stubs.items() if name in paths}
    used = {name: digest(text.encode()) for name, text in templates.items()}
    return Emitted(tree, paths, used)


def read_templates(project: Project, findings: Findings) -> dict[str, str]:
    """Return the templates: the built-in ones, each replaced by the project's file of its name."""
    templates = builtin_templates()
    for name in templates:
        place = project.root / project.templates / name
        try:
            templates[name] = read_regular(place).decode().replace("\r\n", "\n")
            continue
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            reason = error.strerror or str(error)
        except UnicodeDecodeError as error:
            reason = f"byte {error.start} is not UTF-8 text"
        path = f"{project.templates}/{name}"
        findings.add("HB5007", f"`{name}` cannot be read: {reason}", Span(path))
    _check_names(project, templates, findings)
    return templates


def _check_names(project: Project, templates: Mapping[str, str], findings: Findings) -> None:
    """Report files that look like templates of ours, and are not named like one.

    Other files may lie there: many a program keeps its own templates in a folder of this name.
    """
    try:
        names = sorted(os.listdir(project.root / project.templates))
    except OSError:
        return
    for name in names:
        if name not in templates and name.endswith(_TEMPLATE_ENDS) and not name.startswith("."):
            findings.add(
                "HB5010",
                f"`{name}` is the name of no template: the file is not used",
                Span(f"{project.templates}/{name}"),
                help=did_you_mean(name, templates) or (f"templates are {', '.join(templates)}",),
            )


def _standing(project: Project, path: str, kept: RememberedStub | None, key: str) -> bytes | None:
    """The module on the disk, if it is the one that was made from the same things."""
    if kept is None or kept.key != key:
        return None
    try:
        data = read_regular(project.root / path)
    except OSError:
        return None
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n")
    return data if digest(data) == kept.module else None


def _passed(path: str, template: str, text: str, check: Callable[[str], object]) -> Tree:
    """One file of the tree, past the gate."""
    try:
        check(text)
    except Refused as why:
        raise _Barred(path, template, why) from why
    return {path: text.encode()}


def _modules(
    project: Project,
    renderer: Renderer,
    tools: Sequence[Tool],
    paths: Mapping[str, str],
    marks: Mapping[str, Digests],
    jobs: int,
) -> list[tuple[bytes, tuple[str, ...]]]:
    if not tools:
        return []
    requests = [StubRequest(tool.name, tool.parameters, tool.output_schema) for tool in tools]
    stubs = make_stubs(requests, project.models, jobs)
    made = []
    for tool in tools:
        stub = stubs[tool.name]
        text = _tool_module(renderer, tool, stub, marks[tool.name].schema)
        check = partial(check_module, kind=project.models, tool=tool.name)
        path = paths[tool.name]
        made.append((_passed(path, "tool.py.jinja", text, check)[path], stub.problems))
    return made


def _tool_module(renderer: Renderer, tool: Tool, stub: Stub, schema: str) -> str:
    kind = {None: "EitherImplements", False: "Implements", True: "AsyncImplements"}[tool.is_async]
    values = {
        "name": tool.name,
        "docstring": f"The tool `{tool.name}`.",
        "imports": stub.imports,
        "body": stub.body,
        "args": stub.args,
        "result": stub.result,
        "implements": kind,
        "digest": schema,
    }
    return renderer.render("tool.py.jinja", values)


def _say(tool: Tool, problems: Sequence[str], locate: Locate, findings: Findings) -> None:
    for problem in problems:
        findings.add(
            "HB1120",
            f"the stub of `{tool.name}` is `Any`: {problem}",
            locate(tool.place, "parameters", key=True),
            help=("calls are validated all the same; only the types for the handler are lost",),
            tool=tool.name,
        )
