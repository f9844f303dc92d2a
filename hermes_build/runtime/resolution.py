"""From a toolset's name to its tools, over the catalogue and what a running program added to it.

A toolset is the union of the tools that it lists, the run-time tools that were registered into it,
and everything that it includes, minus its excludes. A run-time tool that breaks a promise of a
composition's guards is kept out of that composition, since the compiler could not prove it.

Walks keep their own stacks: a chain of includes may be longer than Python's. What was resolved is
kept with the state of the registry that it was resolved in.
"""

from __future__ import annotations

from hermes_build.layout import EVERY_TOOL, TOOLSET, TOOLSET_ALIAS
from hermes_build.runtime.overlay import Overlay, Registered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from hermes_build.runtime.toolsets import Toolsets

SERVER_PREFIX = "mcp-"
"""What the toolsets of MCP servers begin with; nobody else's may."""


class View:
    """The toolsets of a registry in one of its states."""

    __slots__ = ("_catalogue", "_overlay", "_registry")

    def __init__(self, registry: Toolsets, overlay: Overlay) -> None:
        self._registry = registry
        self._catalogue = registry._catalogue
        self._overlay = overlay

    # Names.

    def canonical(self, name: object) -> str | None:
        """The name of the toolset that a name or an alias means, or None where there is none."""
        if not isinstance(name, str):
            return None
        if self._is_toolset(name):
            return name
        target = self.alias_target(name)
        return target if target is not None and self._is_toolset(target) else None

    def alias_target(self, alias: str) -> str | None:
        """The toolset that an alias stands for, or None."""
        record = self._catalogue.record(f"{TOOLSET_ALIAS}{alias}")
        return record["name"] if record else self._overlay.aliases.get(alias)

    def names(self) -> list[str]:
        """The names of all toolsets, sorted."""
        declared = self._catalogue.names(TOOLSET)
        return sorted({*declared, *self._overlay.toolsets, *self._owned()})

    def _is_toolset(self, name: str) -> bool:
        return (
            TOOLSET + name in self._catalogue
            or name in self._overlay.toolsets
            or name in self._owned()
        )

    # Contents.

    def record(self, name: str) -> dict[str, Any]:
        """A copy of a toolset's record, by its own name: as declared, made, or implied by tools.

        ``tools`` are those it names, without what was registered into it at run time.
        """
        record = self._catalogue.record(TOOLSET + name)
        if record is None:
            made = self._overlay.toolsets.get(name)
            if made is not None:
                record = {key: list(v) if v.__class__ is list else v for key, v in made.items()}
            elif name.startswith(SERVER_PREFIX):
                server = name[len(SERVER_PREFIX) :]
                record = {"name": name, "description": f"The tools of the MCP server {server!r}."}
            else:
                record = {"name": name, "description": f"What plugins registered into {name!r}."}
        return {"description": "", "tools": [], "includes": [], **record}

    def owned(self, name: str) -> list[str]:
        """The names of the run-time tools that were registered into a toolset, sorted."""
        return self._owned().get(name, [])

    def tools(self, name: str) -> list[str]:
        """The tools that a toolset itself names or owns and that are there, sorted."""
        there = self.there()
        return sorted(there.intersection({*self.record(name)["tools"], *self.owned(name)}))

    def members(self, name: str) -> frozenset[str]:
        """The names of the tools that a toolset, by its own name, resolves to."""
        memo = self._overlay.memo
        found: frozenset[str] | None = memo.get(("members", name))
        if found is not None:
            return found
        records: dict[str, dict[str, Any]] = {}
        waiting = [name]
        while waiting:
            one = waiting[-1]
            if ("members", one) in memo:
                waiting.pop()
            elif one in records:  # what it includes is resolved by now
                memo["members", one] = self._expand(records.pop(one))
                waiting.pop()
            else:
                record = self.record(one)
                if "resolved" in record and not self._overlay.changes_tools:
                    memo["members", one] = frozenset(record["resolved"])
                    continue
                records[one] = record
                waiting += [
                    name
                    for name in record["includes"]
                    if name not in EVERY_TOOL and name not in records
                ]
        found = memo["members", name]
        return found

    def held(self, record: dict[str, Any]) -> set[str]:
        """The tools that a toolset would resolve to without its excludes and guards."""
        for one in record["includes"]:
            if one not in EVERY_TOOL:
                self.members(one)
        return self._union(record)

    def _union(self, record: dict[str, Any]) -> set[str]:
        """What a toolset names, owns and includes, of which the included ones are resolved."""
        members = {*record["tools"], *self.owned(record["name"])}
        for one in record["includes"]:
            found = self.there() if one in EVERY_TOOL else self._overlay.memo.get(("members", one))
            members.update(found or ())
        members.intersection_update(self.there())
        return members

    def _expand(self, record: dict[str, Any]) -> frozenset[str]:
        """The tools of a toolset whose includes are resolved."""
        name = record["name"]
        members = self._union(record)
        members.difference_update(record.get("excludes", ()))
        guards = record.get("guards")
        if guards and self._overlay.entries:
            for tool in sorted(members.intersection(self._overlay.entries)):
                broken = breach(guards, self._overlay.entries[tool])
                if broken:
                    members.remove(tool)
                    self._registry._tell_once(name, tool, broken)
        return frozenset(members)

    def _owned(self) -> dict[str, list[str]]:
        owned: dict[str, list[str]] | None = self._overlay.memo.get("owned")
        if owned is None:
            owned = {}
            for name, entry in sorted(self._overlay.entries.items()):
                owned.setdefault(entry.toolset, []).append(name)
            self._overlay.memo["owned"] = owned
        return owned

    def there(self) -> frozenset[str]:
        """The names of all tools that are there."""
        there: frozenset[str] | None = self._overlay.memo.get("there")
        if there is None:
            there = frozenset(self._registry._names(self._overlay))
            self._overlay.memo["there"] = there
        return there

    # Reasons.

    def why(self, tool: str, name: str) -> str:
        """Which rule lets a tool into a toolset, by its own name, or keeps it out of it."""
        if tool not in self.there():
            return f"there is no tool `{tool}`"
        seen = {name: ""}  # each toolset that is reached, and the one that includes it
        kept_out = ""
        order = [name]
        for at in order:
            record = self.record(at)
            if tool in record.get("excludes", ()):
                kept_out = kept_out or f"`{at}` excludes it (excludes are applied last)"
                continue
            entry = self._overlay.entries.get(tool)
            broken = entry and breach(record.get("guards") or {}, entry)
            if broken:
                kept_out = kept_out or f"`{at}` {broken}"
                continue
            how = ""
            if tool in record["tools"]:
                how = "lists it"
            elif tool in self.owned(at):
                how = "owns it"
            elif any(one in EVERY_TOOL for one in record["includes"]):
                how = "includes every tool"
            if how:
                return self._through(name, at, seen, how)
            for one in record["includes"]:
                if one not in seen:
                    seen[one] = at
                    order.append(one)
        return kept_out or f"nothing in `{name}` names it"

    def _through(self, name: str, at: str, seen: dict[str, str], how: str) -> str:
        chain = [at]
        while chain[-1] != name:
            chain.append(seen[chain[-1]])
        if len(chain) == 1:
            return f"`{at}` {how}"
        return f"it comes through {' -> '.join(f'`{one}`' for one in reversed(chain))}, which {how}"


def breach(guards: dict[str, Any], entry: Registered) -> str:
    """What promise of a toolset a run-time tool would break, as a clause; empty for none."""
    for tag in guards.get("forbid_tags", ()):
        if tag in entry.tags:
            return f"forbids the tag `{tag}`, which it has"
    for hint, wanted in guards.get("require", {}).items():
        if entry.annotations.get(hint) is not wanted:
            return f"requires `{hint}: {str(wanted).lower()}`, which it does not say"
    return ""
