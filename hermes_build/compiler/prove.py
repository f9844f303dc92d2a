"""Whether a resolved toolset keeps the promises of its guards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hermes_build.compiler.diagnostics import Findings, Label
from hermes_build.compiler.sources import Locate
from hermes_build.compiler.tokens import definition_tokens
from hermes_build.compiler.why import why
from hermes_build.ir import Tool, Toolset


def prove(
    one: Toolset,
    tools: Mapping[str, Tool],
    toolsets: Mapping[str, Toolset],
    locate: Locate,
    findings: Findings,
) -> None:
    """Hold a toolset to its guards, over its resolved tools."""
    guards = one.guards
    members = [tools[name] for name in one.resolved]
    for tool in members:
        for nth, tag in enumerate(guards.forbid_tags):
            if tag in tool.tags:
                findings.add(
                    "HB2008",
                    f"toolset `{one.name}` forbids the tag `{tag}` and holds `{tool.name}`",
                    locate(one.place, "guards", "forbid_tags", nth),
                    label=f"`{tool.name}` is in because {why(one, tool.name, toolsets)}",
                    labels=(Label(locate(tool.place, "tags"), f"`{tool.name}` is tagged here"),),
                    help=(f"exclude `{tool.name}`, or give up the guard",),
                )
        for hint, wanted in guards.require.items():
            if getattr(tool.annotations, hint) is not wanted:
                findings.add(
                    "HB2009",
                    f"toolset `{one.name}` requires `{hint}: {str(wanted).lower()}` "
                    f"and holds `{tool.name}`",
                    locate(one.place, "guards", "require", hint),
                    label=f"`{tool.name}` is in because {why(one, tool.name, toolsets)}",
                    labels=(
                        Label(locate(tool.place, "annotations", hint), "it does not say so here"),
                    ),
                    help=(f"exclude `{tool.name}`, or correct its annotations",),
                )
    if guards.max_tools is not None and len(members) > guards.max_tools:
        findings.add(
            "HB2010",
            f"toolset `{one.name}` holds {len(members)} tools, more than {guards.max_tools}",
            locate(one.place, "guards", "max_tools"),
            notes=(_shortened(one.resolved),),
        )
    if guards.max_tokens is not None:
        counts = {tool.name: definition_tokens(tool) for tool in members}
        total = sum(counts.values())
        if total > guards.max_tokens:
            dearest = sorted(counts, key=lambda name: (-counts[name], name))[:3]
            findings.add(
                "HB2011",
                f"the definitions of toolset `{one.name}` take about {total} tokens, "
                f"more than {guards.max_tokens}",
                locate(one.place, "guards", "max_tokens"),
                notes=("dearest: " + ", ".join(f"{name} ({counts[name]})" for name in dearest),),
            )


def _shortened(names: Sequence[str]) -> str:
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    return "tools: " + ", ".join(names[:12]) + more
