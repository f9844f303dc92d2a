"""The files of a new project and of a new tool, as texts; nothing is written here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from hermes_build import __version__
from hermes_build.compiler.adopt.handlers import PACKAGE, handler_file, package_files
from hermes_build.compiler.check import UNFILLED
from hermes_build.compiler.diagnostics import Findings, Span
from hermes_build.compiler.project import Project
from hermes_build.compiler.publish import schema_text
from hermes_build.ir import RESERVED_TOOLSETS, is_name

Read: TypeAlias = Callable[[str], str | None]
"""Gives the text of a file that is there already, by its path in the project, or ``None``."""

SCHEMAS = ("tool", "toolset")
"""The schemas that a project keeps a copy of, in ``schemas/``, for its editors."""


@dataclass(frozen=True, slots=True)
class Scaffold:
    """Files to write, by path in the project; ``kept`` are there already and stay as they are."""

    files: Mapping[str, str]
    kept: tuple[str, ...] = ()


_SETTINGS = """\
# Every setting has a default: `hermes-build schema config` lists them.
{table}handlers = ["handlers"]
"""

_GREET_SPEC = """\
# yaml-language-server: $schema=../schemas/tool.json
name: greet
toolset: basics
title: Greet
description: Greet somebody by name, in a plain or a cheerful way.
emoji: "👋"
parameters:
  type: object
  properties:
    name: {type: string, description: Whom to greet, minLength: 1}
    style:
      type: string
      description: The tone of the greeting
      enum: [plain, cheerful]
      default: plain
  required: [name]
  additionalProperties: false
annotations: {read_only: true, idempotent: true}
examples:
  - args: {name: Ada, style: cheerful}
"""

_TOOLSET = """\
# yaml-language-server: $schema=../schemas/toolset.json
name: assistant
description: What our assistant may use.
includes: [basics]
guards:
  forbid_tags: [exec]
"""

_GREET_HANDLER = '''\
"""The handler of `greet`."""

from __future__ import annotations

from typing import Any

from generated.tools import greet


@greet.implements
def handler(args: greet.Args, **context: Any) -> str:
    """Return a greeting; the arguments fit the schema, and defaults are filled in."""
    if args.get("style") == "cheerful":
        return f"Hello, {args['name']}! How good to see you!"
    return f"Hello, {args['name']}."
'''

_WORKFLOW = """\
name: tools
on: [push, pull_request]
permissions:
  contents: read
jobs:
  check:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      # The version that wrote hermes-build.lock. Add what your handlers import.
      - run: pip install "hermes-build=={version}"
      - run: hermes-build check
"""

_README = """\
# Tools

- `tool_specs/`: what tools exist. `toolsets/`: how they are composed. `handlers/`: the code.
- `generated/` and `hermes-build.lock` are written by `hermes-build compile`; commit them.

```console
pip install "hermes-build=={version}"
hermes-build new my_tool --toolset basics
hermes-build compile
hermes-build call greet '{{"name": "Ada"}}'
hermes-build check
```

`schemas/` is for editors; `hermes-build schema tool > schemas/tool.json` renews it.
"""

# Lines that these files need; what else they hold is the project's own.
_LINES = {
    ".gitignore": ("__pycache__/", ".hermes-build/"),
    ".gitattributes": (
        "generated/** text eol=lf linguist-generated",
        "hermes-build.lock text eol=lf linguist-generated",
    ),
}


def project_scaffold(read: Read) -> Scaffold:
    """A project that compiles and runs at once, with one tool; nothing that is there is replaced.

    Settings go into a new ``pyproject.toml``, or beside one that is there into
    ``hermes-build.toml``.
    """
    wanted = {
        "tool_specs/greet.yaml": _GREET_SPEC,
        "toolsets/assistant.yaml": _TOOLSET,
        "handlers/__init__.py": PACKAGE,
        "handlers/greet.py": _GREET_HANDLER,
        ".github/workflows/tools.yml": _WORKFLOW.format(version=__version__),
        "README.md": _README.format(version=__version__),
        **{_schema_path(name): schema_text(name) for name in SCHEMAS},
    }
    pyproject = read("pyproject.toml")
    if pyproject is None:
        wanted["pyproject.toml"] = _SETTINGS.format(table="[tool.hermes-build]\n")
    elif "tool.hermes-build" not in pyproject:
        wanted["hermes-build.toml"] = _SETTINGS.format(table="")
    kept = tuple(sorted(path for path in wanted if read(path) is not None))
    files = {path: text for path, text in sorted(wanted.items()) if path not in kept}
    for path, lines in _LINES.items():
        text = read(path) or ""
        missing = [line for line in lines if line not in text.splitlines()]
        if missing:
            gap = "" if not text or text.endswith("\n") else "\n"
            files[path] = text + gap + "".join(f"{line}\n" for line in missing)
    return Scaffold(files, kept)


_TOOL_SPEC = """\
# yaml-language-server: $schema={schema}
name: {name}
{toolset}description: {description}
parameters:
  type: object
  properties:
    text: {{type: string, description: What to work on}}
  required: [text]
  additionalProperties: false
{extra}"""

# Words that some reader of YAML takes for something other than text.
_NOT_TEXT = frozenset(("true", "false", "null", "yes", "no", "on", "off", "y", "n"))


def tool_scaffold(
    project: Project,
    name: str,
    read: Read,
    findings: Findings,
    *,
    toolset: str | None = None,
    is_async: bool = False,
    handler: bool = True,
) -> Scaffold | None:
    """The spec of a new tool, and its handler to fill in unless ``handler`` is false.

    ``None`` with a finding when a name is not valid, or when one of the files is there already.
    """
    fits = _fits(name, "the name of a tool", findings)
    if toolset is not None:
        fits = _fits(toolset, "the name of a toolset", findings, RESERVED_TOOLSETS) and fits
    if not fits:
        return None
    if handler and not project.handlers:
        findings.add(
            "HB1402",
            "`handlers` names no package, so that there is no place for a handler",
            Span(project.file),
            help=("name a package there, or pass `--no-handler`",),
        )
        return None
    spec = f"{project.specs}/{name}.yaml"
    extra = "is_async: true\n" if is_async else ""
    if not handler:
        extra += "handler: external\n"
    wanted = {
        spec: _TOOL_SPEC.format(
            schema="../" * spec.count("/") + _schema_path("tool"),
            name=_scalar(name),
            description=UNFILLED.format(name=_scalar(name)),
            toolset=f"toolset: {_scalar(toolset)}\n" if toolset else "",
            extra=extra,
        )
    }
    companions = {_schema_path("tool"): schema_text("tool")}
    if handler:
        module = handler_file(name, project.handlers[0], project.output, is_async=is_async)
        prefix = "" if project.source == "." else f"{project.source}/"
        wanted[prefix + module.path] = module.text
        packages = package_files(project.handlers[0])
        companions |= {prefix + path: text for path, text in packages.items()}
    taken = [path for path in wanted if read(path) is not None]
    for path in taken:
        findings.add(
            "HB5003",
            f"`{path}` is there already, and stays as it is",
            help=("choose another name, or move the file",),
        )
    if taken:
        return None
    kept = tuple(path for path in companions if read(path) is not None)
    files = {path: text for path, text in companions.items() if path not in kept}
    return Scaffold({**wanted, **files}, kept)


def _fits(name: str, what: str, findings: Findings, reserved: tuple[str, ...] = ()) -> bool:
    if name in reserved:
        findings.add("HB2007", f"`{name}` is a reserved toolset name: it means every tool")
        return False
    if is_name(name):
        return True
    findings.add(
        "HB1004",
        f"`{name}` cannot be {what}",
        help=("letters, digits, `_` and `-`, not starting with a digit or `-`, 64 at most",),
    )
    return False


def _schema_path(name: str) -> str:
    return f"schemas/{name}.json"


def _scalar(name: str) -> str:
    return f'"{name}"' if name.lower() in _NOT_TEXT else name
