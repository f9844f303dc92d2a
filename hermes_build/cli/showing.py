"""``hermes-build show``, ``explain`` and ``rules``: to look at a program and at our own words."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from hermes_build.cli.opening import is_bundle, is_installed, run_bundle
from hermes_build.cli.present import Undecided, counted, project_option, say, sound_project
from hermes_build.cli.reading import read_catalog
from hermes_build.cli.trusting import Trust
from hermes_build.compiler.codes import CODES
from hermes_build.compiler.emit.definition import definition
from hermes_build.compiler.emit.registry import tool_record
from hermes_build.compiler.explain import page
from hermes_build.compiler.nearest import did_you_mean
from hermes_build.compiler.report.glyphs import visible
from hermes_build.compiler.root import NoProject, find_root
from hermes_build.compiler.tokens import definition_tokens
from hermes_build.compiler.why import why
from hermes_build.ir import Catalog, Tool, Toolset

if TYPE_CHECKING:
    from hermes_build.cli.doctoring import Asked

_CODE = re.compile(r"HB\d+")


@click.command("show")
@click.argument("names", nargs=-1, metavar="[NAME|BUNDLE]...")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "--probe",
    is_flag=True,
    help="Ask check functions too; handlers are imported for it, in a process of its own.",
)
@project_option
def show_command(names: tuple[str, ...], as_json: bool, probe: bool, start: str) -> int:
    """Show every toolset and tool, or the named ones in full.

    A tool is shown as a model sees it, with what else its spec says; a toolset with its resolved
    tools. What a spec requires is looked for on this machine: `!` marks a tool that cannot be used
    here, `?` one whose check function decides. Token counts are estimates: the definition's JSON in
    UTF-8, by four bytes.

    With BUNDLE, a file that `bundle` made, a folder of one, or the name of an installed one that
    nothing of the project has, it is verified and shown.
    """
    if names and (is_bundle(names[0]) or (not _in_project(start) and is_installed(names[0]))):
        return _show_bundle(names, as_json)
    catalog = read_catalog(start)
    tools = {name: tool for tool in catalog.tools for name in (tool.name, *tool.aliases)}
    toolsets = {name: one for one in catalog.toolsets for name in (one.name, *one.aliases)}
    for name in names:
        if name not in tools and name not in toolsets:
            if is_installed(name):
                return _show_bundle(names, as_json)
            hint = "".join(f"; {one}" for one in did_you_mean(name, [*tools, *toolsets]))
            raise Undecided(f"there is no tool or toolset `{name}`{hint}")
    shown = [tools.get(name) or toolsets[name] for name in names]
    here = _lacking(catalog, _asked(start) if probe else None)
    if as_json:
        picked = shown or [*catalog.toolsets, *catalog.tools]
        click.echo(json.dumps([_json(one, here) for one in picked], ensure_ascii=False, indent=2))
        return 0
    pages = [_overview(catalog, here)] if not shown else []
    for one in shown:
        if isinstance(one, Tool):
            pages.append(_tool_page(one, here))
        else:
            pages.append(_toolset_page(one, catalog, here))
    # Texts of an imported tool are whatever a stranger wrote: they must not act on the terminal.
    click.echo("\n".join(map(visible, "".join(pages).split("\n"))), nl=False)
    return 0


def _in_project(start: str) -> bool:
    try:
        return bool(find_root(start))
    except NoProject:
        return False


def _show_bundle(names: tuple[str, ...], as_json: bool) -> int:
    if len(names) > 1:
        raise click.UsageError("a bundle is shown by itself")
    return run_bundle(names[0], ["show", *(["--json"] if as_json else [])], Trust((), 1, False))


_Lacking: TypeAlias = dict[str, tuple[str, ...] | None]
"""What each tool lacks on this machine, by its name; None where only its check function knows."""


def _asked(start: str) -> Asked:
    """What the compiled program says of its tools.

    Raises:
        Undecided: there is none, or it says nothing.
    """
    from hermes_build.cli.doctoring import ask_program, is_compiled

    project = sound_project(start)
    if not is_compiled(project):
        raise Undecided(f"`{project.output}` is not there yet: run `hermes-build compile`")
    asked = ask_program(project)
    if asked.trouble and not asked.missing:
        raise Undecided(visible(asked.trouble))
    if asked.trouble:
        say(visible(f"{asked.trouble}; those after it were not asked"))
    return asked


def _lacking(catalog: Catalog, asked: Asked | None) -> _Lacking:
    """Compare the specs with this machine; no handler is imported for it."""
    from hermes_build.runtime.availability import Availability

    listing = Availability().listing(quiet=True)
    found: _Lacking = {}
    for tool in catalog.tools:
        missing = listing.missing(tool_record(tool, None, ""), None)
        if missing or not tool.requires.check:
            found[tool.name] = missing
        else:
            found[tool.name] = None if asked is None else asked.missing.get(tool.name)
    return found


def _mark(missing: tuple[str, ...] | None) -> str:
    return "?" if missing is None else "!" if missing else " "


def _unavailable(names: Iterable[str], here: _Lacking) -> str:
    number = sum(bool(here[name]) for name in names)
    return f", {number} unavailable here" if number else ""


def _json(one: Tool | Toolset, here: _Lacking) -> dict[str, Any]:
    if isinstance(one, Tool):
        record = tool_record(one, None, "")
        del record["digest"]
        missing = here[one.name]
        return {
            "kind": "tool",
            **record,
            "tokens": definition_tokens(one),
            "available": None if missing is None else not missing,
            "missing": list(missing or ()),
        }
    return {
        "kind": "toolset",
        "name": one.name,
        "description": one.description,
        "resolved": list(one.resolved),
        "source": str(one.place),
    }


def _overview(catalog: Catalog, here: _Lacking) -> str:
    tokens = {tool.name: definition_tokens(tool) for tool in catalog.tools}
    rows = [counted(len(catalog.toolsets), "toolset")]
    for one in catalog.toolsets:
        total = sum(tokens[name] for name in one.resolved)
        held = counted(len(one.resolved), "tool")
        rows.append(
            f"  {one.name}  ({held}, about {total} tokens{_unavailable(one.resolved, here)})"
        )
        if one.description:
            rows += _wrapped(one.description, "    ")
        rows += _wrapped(", ".join(one.resolved), "    ")
    rows += ["", counted(len(catalog.tools), "tool")]
    width = max((len(tool.name) for tool in catalog.tools), default=0)
    for tool in catalog.tools:
        first = " ".join(tool.description.split())
        line = f"{_mark(here[tool.name])} {tool.name:{width}}  {first}"
        rows.append(line if len(line) <= 100 else line[:99] + "…")
    marks = {_mark(missing) for missing in here.values()}
    rows += [""] if marks - {" "} else []
    if "!" in marks:
        rows.append("! cannot be used here: `hermes-build show TOOL` says what is missing")
    if "?" in marks:
        rows.append("? its check function decides: `hermes-build show --probe` asks it")
    return "\n".join(rows) + "\n"


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(text, 96, initial_indent=indent, subsequent_indent=indent)


def _tool_page(tool: Tool, here: _Lacking) -> str:
    about = [f"{tool.name}  ({tool.place}, about {definition_tokens(tool)} tokens)"]
    record = tool_record(tool, None, "")
    for key in ("name", "schema", "source", "digest", "output_schema"):
        record.pop(key, None)
    about += [f"  {key}: {_plain(value)}" for key, value in record.items()]
    missing = here[tool.name]
    if missing is None:
        about.append("  available here: its check function decides, which `--probe` asks")
    else:
        about.append(f"  available here: {_plain(not missing)}")
        about += [f"    {' '.join(one.split())}" for one in missing]
    about.append("  what a model sees:")
    about.append(
        textwrap.indent(json.dumps(definition(tool), ensure_ascii=False, indent=2), "    ")
    )
    if tool.output_schema is not None:
        about.append("  what it returns:")
        shown = json.dumps(tool.output_schema, ensure_ascii=False, indent=2)
        about.append(textwrap.indent(shown, "    "))
    return "\n".join(about) + "\n"


def _toolset_page(one: Toolset, catalog: Catalog, here: _Lacking) -> str:
    toolsets = {each.name: each for each in catalog.toolsets}
    tokens = sum(definition_tokens(tool) for tool in catalog.tools if tool.name in one.resolved)
    held = counted(len(one.resolved), "tool") + f", about {tokens} tokens"
    rows = [f"{one.name}  ({one.place}, {held}{_unavailable(one.resolved, here)})"]
    if one.description:
        rows += _wrapped(one.description, "  ")
    rows += [f"{_mark(here[name])} {name}: {why(one, name, toolsets)}" for name in one.resolved]
    rows += [f"  without {name}: {why(one, name, toolsets)}" for name in one.excludes]
    return "\n".join(rows) + "\n"


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, dict):
        return ", ".join(f"{key} {_plain(inner)}" for key, inner in value.items())
    return str(value)


@click.command("explain")
@click.argument("what", metavar="CODE|TOOL")
@click.option("--toolset", "-t", help="Say why the tool is, or is not, in this toolset.")
@project_option
def explain_command(what: str, toolset: str | None, start: str) -> int:
    """Explain a code such as HB1103, or which toolsets hold a tool and which rule decided."""
    if what.upper() in CODES and toolset is None:
        click.echo(page(what.upper()), nl=False)
        return 0
    if _CODE.fullmatch(what.upper()) and toolset is None:
        raise Undecided(f"there is no code `{what}`: `hermes-build rules` lists every one")
    catalog = read_catalog(start)
    tools = {name: tool.name for tool in catalog.tools for name in (tool.name, *tool.aliases)}
    if what not in tools:
        hint = "".join(f"; {one}" for one in did_you_mean(what, [*tools, *CODES]))
        raise Undecided(f"there is no code or tool `{what}`{hint}")
    by_name = {one.name: one for one in catalog.toolsets}
    named = {name: one for one in catalog.toolsets for name in (one.name, *one.aliases)}
    if toolset is not None and toolset not in named:
        hint = "".join(f"; {one}" for one in did_you_mean(toolset, named))
        raise Undecided(f"there is no toolset `{toolset}`{hint}")
    tool = tools[what]
    for one in [named[toolset]] if toolset is not None else catalog.toolsets:
        held = "in" if tool in one.resolved else "not in"
        click.echo(f"`{tool}` is {held} `{one.name}`: {why(one, tool, by_name)}")
    return 0


@click.command("rules")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def rules_command(as_json: bool) -> int:
    """List every code: its severity, its name and its purpose."""
    if as_json:
        rows = [
            {"code": c.id, "name": c.name, "severity": c.severity, "purpose": c.purpose}
            for c in CODES.values()
        ]
        click.echo(json.dumps(rows, indent=2))
        return 0
    width = max(len(code.name) for code in CODES.values())
    for code in CODES.values():
        click.echo(f"{code.id}  {code.severity:7}  {code.name:{width}}  {code.purpose}")
    return 0
