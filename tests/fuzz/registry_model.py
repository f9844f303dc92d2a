"""What a registry is to answer after any changes: a model of it, far simpler than the real one."""

from __future__ import annotations

from dataclasses import dataclass, field

from hermes_build.runtime import Plugin, Session
from tests.contract.programs import OWNERS

DECLARED: dict[str, tuple[list[str], list[str], list[str]]] = {
    # Tools, includes, excludes.
    "web": (["fetch", "search"], [], []),
    "file": (["read", "write"], [], []),
    "terminal": (["run"], [], []),
    "coding": ([], ["file", "terminal"], []),
    "full": ([], ["coding", "web"], []),
    "safe": ([], ["coding", "web"], ["write"]),
}


@dataclass(frozen=True)
class Tool:
    """What a name stands for; ``owner`` is None for the program itself."""

    answer: str
    toolset: str
    owner: Plugin | None
    tags: frozenset[str] = frozenset()


@dataclass
class Model:
    tools: dict[str, Tool]
    hidden: set[str] = field(default_factory=set)
    customs: dict[str, tuple[list[str], list[str], list[str]]] = field(default_factory=dict)

    def copy(self) -> Model:
        return Model(dict(self.tools), set(self.hidden), dict(self.customs))

    def there(self, name: str) -> Tool | None:
        tool = self.tools.get(name)
        if tool is None and name in OWNERS and name not in self.hidden:
            return Tool(name, OWNERS[name], None)
        return tool

    def names(self) -> list[str]:
        return sorted(name for name in {*OWNERS, *self.tools} if self.there(name))

    def is_toolset(self, name: str) -> bool:
        owned = {one.toolset for one in self.tools.values()}
        return name in DECLARED or name in self.customs or name in owned

    def resolve(self, name: str) -> set[str]:
        tools, includes, excludes = DECLARED.get(name) or self.customs.get(name) or ([], [], [])
        found = {*tools, *(one for one, tool in self.tools.items() if tool.toolset == name)}
        for one in includes:
            found |= self.resolve(one)
        return {one for one in found if self.there(one)} - set(excludes)

    def meant(self, name: str) -> set[str]:
        """The tools that a name in a session's list stands for."""
        if name == "all":
            return set(self.names())
        if name.startswith("tag:"):
            return {one for one, tool in self.tools.items() if name[4:] in tool.tags}
        own = {"net": "web"}.get(name, name)
        if name == "s" and self.is_toolset("mcp-s"):
            own = "mcp-s"
        if self.is_toolset(own):
            return self.resolve(own)
        return {name} if self.there(name) else set()


@dataclass
class Held:
    """A session, and the rules that it was made by."""

    session: Session
    enabled: list[str] | None
    disabled: list[str]
    within: Held | None

    def granted(self, model: Model) -> set[str]:
        names = ["all"] if self.enabled is None else self.enabled
        found = set().union(*map(model.meant, names)) - set().union(
            *map(model.meant, self.disabled)
        )
        return found if self.within is None else found & self.within.granted(model)
