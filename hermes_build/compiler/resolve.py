"""From declared tools and toolsets to a Catalog: every name known, every set proved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from hermes_build.compiler.diagnostics import Findings, Label
from hermes_build.compiler.names import confusable, unique
from hermes_build.compiler.nearest import did_you_mean, is_slip
from hermes_build.compiler.prove import prove
from hermes_build.compiler.sources import Locate
from hermes_build.compiler.why import MEANS_ALL
from hermes_build.ir import Catalog, Server, Tool, Toolset
from hermes_build.nearest import nearest

_MOST_CIRCLES = 20
"""Circles that are reported: toolsets that all include each other have one for each pair."""

_MOST_HOPS = 8
"""Hops of a circle that are shown, beside the one that closes it."""


def resolve(
    tools: Sequence[Tool],
    toolsets: Sequence[Toolset],
    servers: Sequence[Server],
    locate: Locate,
    findings: Findings,
) -> Catalog:
    """Resolve every toolset to its tools; mistakes become findings where they stand.

    A toolset is the union of its own tools (or, where it does not say, of the tools that name it
    as their owner) and of everything that it includes, to any depth, minus its excludes.
    """
    by_name = unique(tools, "HB1005", "tool", locate, findings)
    confusable(by_name.values(), locate, findings)
    _replacements(by_name, locate, findings)
    _servers(servers, locate, findings)
    declared = unique(toolsets, "HB2006", "toolset", locate, findings)
    _owners(by_name.values(), declared.values(), locate, findings)
    complete = _with_owned(by_name, declared)
    _members(complete, by_name, locate, findings)
    order = _in_order(complete, locate, findings)
    resolved: dict[str, Toolset] = {}
    broken: set[str] = set()
    for name in order:
        one = complete[name]
        if _is_broken(one, by_name, resolved, broken):
            broken.add(name)  # one cause is one finding: nothing more is said of what it holds
            resolved[name] = one
        else:
            resolved[name] = _expand(one, resolved, by_name, locate, findings)
            prove(resolved[name], by_name, resolved, locate, findings)
    if not broken:
        _homeless(by_name.values(), resolved, declared, locate, findings)
    return Catalog(
        tools=tuple(by_name[name] for name in sorted(by_name)),
        toolsets=tuple(resolved[name] for name in sorted(resolved)),
        servers=tuple(sorted(servers, key=lambda one: one.name)),
    )


def _servers(servers: Iterable[Server], locate: Locate, findings: Findings) -> None:
    """The tools of two servers must never be minted to one name, or the later ones would win."""
    seen: dict[str, Server] = {}
    for one in servers:
        other = seen.setdefault(one.name.replace("-", "_").casefold(), one)
        if other is one:
            continue
        same = other.name == one.name
        both = f"`{other.name}` and `{one.name}`"
        findings.add(
            "HB1012",
            f"the server `{one.name}` is declared twice"
            if same
            else f"the servers {both} differ only in case or in `-` for `_`",
            locate(one.place, one.name, key=True),
            label="again here" if same else "confusable with the other",
            labels=(Label(locate(other.place, other.name, key=True), "the other is here"),),
            help=("give one of them another name",),
        )


def _replacements(tools: Mapping[str, Tool], locate: Locate, findings: Findings) -> None:
    for tool in tools.values():
        use = tool.deprecated.use if tool.deprecated else None
        if use is not None and (use not in tools or use == tool.name):
            findings.add(
                "HB1009",
                f"`deprecated.use` names `{use}`, which is "
                + ("the tool itself" if use == tool.name else "not declared"),
                locate(tool.place, "deprecated", "use"),
                help=did_you_mean(use, [name for name in tools if name != tool.name], findings),
                tool=tool.name,
            )


def _owners(
    tools: Collection[Tool], toolsets: Collection[Toolset], locate: Locate, findings: Findings
) -> None:
    """A tool names its owner by its name: an alias or a slip would make a second toolset of it."""
    aliases = {alias: one.name for one in toolsets for alias in one.aliases}
    known = {name for one in toolsets for name in (one.name, *one.aliases, *one.includes)}
    named = Counter(tool.toolset for tool in tools if tool.toolset is not None)
    others = known | {name for name, count in named.items() if count > 1}
    for tool in tools:
        if tool.toolset in aliases:
            findings.add(
                "HB2002",
                f"`{tool.toolset}` is an alias of the toolset `{aliases[tool.toolset]}`",
                locate(tool.place, "toolset"),
                help=(f"write `toolset: {aliases[tool.toolset]}`",),
                tool=tool.name,
            )
        elif tool.toolset is not None and tool.toolset not in others:
            meant = nearest(tool.toolset, others)
            if meant is not None and is_slip(tool.toolset, meant):
                findings.add(
                    "HB1211",
                    f"`{tool.toolset}` is named by this tool alone; did you mean `{meant}`?",
                    locate(tool.place, "toolset"),
                    label="makes a toolset of its own",
                    help=(
                        f"write `toolset: {meant}`",
                        f"or declare `{tool.toolset}` in the toolsets folder, if it is meant",
                    ),
                    tool=tool.name,
                )
            # Of two names that one tool each gives, the second may be a slip of the first.
            others.add(tool.toolset)


def _with_owned(tools: Mapping[str, Tool], declared: Mapping[str, Toolset]) -> dict[str, Toolset]:
    """The declared toolsets, and those that only tools name, with their own tools filled in."""
    owned: dict[str, list[Tool]] = {}
    for name in sorted(tools):
        if tools[name].toolset is not None:
            owned.setdefault(str(tools[name].toolset), []).append(tools[name])
    complete = {
        name: one
        if one.tools is not None
        else replace(one, tools=tuple(tool.name for tool in owned.get(name, ())))
        for name, one in declared.items()
    }
    for name, members in owned.items():
        if name not in complete:
            names = tuple(tool.name for tool in members)
            complete[name] = Toolset(name, members[0].place, tools=names, declared=False)
    return complete


def _members(
    toolsets: Mapping[str, Toolset], tools: Mapping[str, Tool], locate: Locate, findings: Findings
) -> None:
    """Report every name in a composition that nothing declares."""
    alias_of_tool = {alias: tool.name for tool in tools.values() for alias in tool.aliases}
    alias_of_set = {alias: one.name for one in toolsets.values() for alias in one.aliases}

    def unknown(
        code: str,
        what: str,
        one: Toolset,
        key: str,
        names: Iterable[str],
        known: Mapping[str, object],
        aliases: Mapping[str, str],
        other: Mapping[str, object],
        instead: str,
    ) -> None:
        for nth, name in enumerate(names):
            if name in known:
                continue
            if name in aliases:
                help_: tuple[str, ...] = (f"`{name}` is an alias: write `{aliases[name]}`",)
            elif name in other:
                help_ = (instead.format(name=name),)
            else:
                help_ = did_you_mean(name, known, findings)
            findings.add(
                code,
                f"toolset `{one.name}` names the unknown {what} `{name}`",
                locate(one.place, key, nth),
                label="not declared",
                help=help_,
            )

    for one in toolsets.values():
        includes = {**toolsets, **dict.fromkeys(MEANS_ALL)}
        unknown("HB2001", "tool", one, "tools", one.tools or (), tools, alias_of_tool, toolsets,
                "`{name}` is a toolset: move it to `includes`")  # fmt: skip
        unknown("HB2002", "toolset", one, "includes", one.includes, includes, alias_of_set, tools,
                "`{name}` is a tool: move it to `tools`")  # fmt: skip
        unknown("HB2001", "tool", one, "excludes", one.excludes, tools, alias_of_tool, toolsets,
                "`{name}` is a toolset: `excludes` takes the names of tools")  # fmt: skip


def _in_order(toolsets: Mapping[str, Toolset], locate: Locate, findings: Findings) -> list[str]:
    """Names with included toolsets before those that include them; a circle is reported once.

    The walk keeps its own stack: a chain of includes may be longer than Python's.
    """
    done: list[str] = []
    state: dict[str, int] = {}  # 1 while on the path, 2 when done
    circles = 0
    for start in sorted(toolsets):
        if state.get(start):
            continue
        path = [start]
        pending = [iter(_includes(toolsets, start))]
        state[start] = 1
        while path:
            name = next(pending[-1], None)
            if name is None:
                state[path[-1]] = 2
                done.append(path.pop())
                pending.pop()
            elif state.get(name) == 1 and circles < _MOST_CIRCLES:
                circles += 1
                _cycle(toolsets, [*path[path.index(name) :], name], locate, findings)
            elif not state.get(name):
                state[name] = 1
                path.append(name)
                pending.append(iter(_includes(toolsets, name)))
    return done


def _includes(toolsets: Mapping[str, Toolset], name: str) -> list[str]:
    return [one for one in toolsets[name].includes if one in toolsets]


def _cycle(
    toolsets: Mapping[str, Toolset], path: list[str], locate: Locate, findings: Findings
) -> None:
    hops = list(pairwise(path))
    spans = {
        (a, b): locate(toolsets[a].place, "includes", toolsets[a].includes.index(b))
        for a, b in {*hops[:_MOST_HOPS], hops[-1]}
    }
    shown = path if len(path) <= 12 else [*path[:6], "…", *path[-5:]]
    findings.add(
        "HB2003",
        f"toolsets include each other: {' -> '.join(shown)}",
        spans[hops[-1]],
        label=f"closes the circle back to `{path[0]}`",
        labels=[Label(spans[a, b], f"`{a}` includes `{b}`") for a, b in hops[:-1][:_MOST_HOPS]],
        help=("take one of these includes out",),
    )


def _is_broken(
    one: Toolset, tools: Mapping[str, Tool], resolved: Mapping[str, Toolset], broken: set[str]
) -> bool:
    """Whether a toolset names what does not exist, is in a circle, or includes such a one."""
    included = [name for name in one.includes if name not in MEANS_ALL]
    return any(name not in tools for name in one.tools or ()) or any(
        name not in resolved or name in broken for name in included
    )


def _expand(
    one: Toolset,
    resolved: Mapping[str, Toolset],
    tools: Mapping[str, Tool],
    locate: Locate,
    findings: Findings,
) -> Toolset:
    members = set(one.tools or ())
    for name in one.includes:
        members.update(tools if name in MEANS_ALL else resolved[name].resolved)
    left = members.difference(one.excludes)
    for nth, name in enumerate(one.excludes):
        if name in tools and name not in members:
            findings.add(
                "HB2005",
                f"toolset `{one.name}` excludes `{name}`, which it does not hold",
                locate(one.place, "excludes", nth),
                label="removes nothing",
                help=("take it out, or include the toolset that brings it",),
            )
    if not left and not one.may_be_empty:
        findings.add(
            "HB2004",
            f"toolset `{one.name}` resolves to no tool",
            locate(one.place, "name"),
            label="everything is excluded" if members else "nothing in it",
            help=(f"add `tools:` or `includes:`, or let a tool say `toolset: {one.name}`",),
        )
    return replace(one, resolved=tuple(sorted(left)))


def _homeless(
    tools: Iterable[Tool],
    by_name: Mapping[str, Toolset],
    declared: Mapping[str, Toolset],
    locate: Locate,
    findings: Findings,
) -> None:
    """Tools that no toolset brings to a model, and owned tools that their owner's list forgets."""
    chosen = [one for one in by_name.values() if not set(MEANS_ALL) & set(one.includes)]
    held = {name for one in chosen for name in one.resolved}
    for tool in tools:
        if tool.handler != "self":
            continue
        if tool.name not in held:
            findings.add(
                "HB1209",
                f"no toolset holds the tool `{tool.name}`",
                locate(tool.place, "name"),
                help=("say `toolset: NAME` here, or list it in a toolset's `tools`",),
                tool=tool.name,
            )
        elif tool.toolset in declared and tool.name not in by_name[str(tool.toolset)].resolved:
            owner = by_name[str(tool.toolset)]
            if tool.name in owner.excludes:
                continue
            findings.add(
                "HB2013",
                f"toolset `{owner.name}` owns `{tool.name}` but does not list it",
                locate(tool.place, "toolset"),
                label="owned by it",
                labels=(Label(locate(owner.place, "tools", key=True), "its own list is here"),),
                help=("list the tool there, or leave `tools:` out to hold all owned tools",),
                tool=tool.name,
            )
