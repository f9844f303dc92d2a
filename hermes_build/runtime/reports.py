"""Which tools and toolsets can be used here: the reports of a registry.

Their names and shapes are hermes-agent 0.19's. Each is made from one look at the registry and one
at the world (`hermes_build.runtime.availability.Survey`), by the rule that listings go by: a tool
is available when nothing is missing, and a toolset when any of its tools is.

``python -m hermes_build.runtime.reports PACKAGE`` reports on a program as JSON, a line each, in a
process of its own, since check functions are foreign code. Each tool has a line
``{"tool": NAME, "missing": [...]}``; where a program rewrites its schema, ``"dynamic"`` is null, or
says why that fails. Before a check function is asked, or a schema rewritten, ``{"asking": NAME}``
says which tool's, since that may end or block the process. The last line is ``{"done": true}``.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, Protocol

    from hermes_build.runtime.availability import Availability, Survey
    from hermes_build.runtime.telling import Say

    class _Registry(Protocol):
        """What the reports need of a registry; `ToolRegistry` says what each does."""

        @property
        def availability(self) -> Availability: ...
        def check_of(self, record: dict[str, Any]) -> Callable[[], object] | None: ...
        def find(self, name: str) -> dict[str, Any] | None: ...
        def get_all_tool_names(self) -> list[str]: ...
        def get_tool_to_toolset_map(self) -> dict[str, str]: ...
        def get_toolset(self, name: str) -> dict[str, Any] | None: ...
        def get_toolset_alias_target(self, alias: str) -> str | None: ...
        def resolve_toolset(self, name: str) -> list[str]: ...


class Reports:
    """What a registry says about availability: a part of `ToolRegistry`.

    The handler module of a tool is imported where its spec says ``requires.check: true``, and not
    otherwise. Toolsets in a report are those that own tools; what is handed out is a fresh copy.
    """

    # Tools.

    def is_available(self: _Registry, name: str) -> bool:
        """Whether a tool, by its name or an alias, can be used here; an unknown one cannot."""
        record = self.find(name)
        return record is not None and not self.availability.missing(
            record, self.check_of(record), quiet=True
        )

    def why_unavailable(self: _Registry, name: str) -> tuple[str, ...]:
        """Sentences that say what a tool lacks here; empty when it is available."""
        record = self.find(name)
        if record is None:
            from hermes_build.runtime.nearest import did_you_mean

            return (f"there is no tool {name!r}.{did_you_mean(name, self.get_all_tool_names())}",)
        return self.availability.missing(record, self.check_of(record), quiet=True)

    # Toolsets.

    def is_toolset_available(self: _Registry, toolset: str) -> bool:
        """Whether any tool of a toolset can be used here; an unknown toolset has none.

        Its tools are those that it owns. A composition owns none, and has those it resolves to.
        """
        from hermes_build.runtime.errors import UnknownToolset

        target = self.get_toolset_alias_target(toolset) or toolset
        owners = self.get_tool_to_toolset_map()
        names = sorted(name for name, owner in owners.items() if owner == target)
        try:
            names = names or self.resolve_toolset(toolset)
        except UnknownToolset:
            return False
        return _any_available(self, _records(self, names), self.availability.listing())

    def check_toolset_requirements(self: _Registry) -> dict[str, bool]:
        """Whether each toolset can be used here, by its name."""
        listing = self.availability.listing()
        return {
            name: _any_available(self, records, listing) for name, records in _owned(self).items()
        }

    def get_available_toolsets(self: _Registry) -> dict[str, dict[str, Any]]:
        """Every toolset, available or not, as user interfaces show it.

        Returns:
            By the toolset's name: ``available``; ``tools``, the names of all its tools;
            ``description``; and ``requirements``, the environment variables that its tools name.
        """
        listing = self.availability.listing()
        return {
            name: {
                "available": _any_available(self, records, listing),
                "tools": [record["name"] for record in records],
                "description": (self.get_toolset(name) or {}).get("description", ""),
                "requirements": _variables(records),
            }
            for name, records in _owned(self).items()
        }

    def get_toolset_requirements(self: _Registry) -> dict[str, dict[str, Any]]:
        """What every toolset needs, in the shape that set-up programs of hermes-agent read.

        Returns:
            By the toolset's name: ``name``; ``env_vars``, the environment variables that its tools
            name; ``check_fn``, the first check function among its tools', or None; ``setup_url``,
            which is None; and ``tools``, the names of all its tools.
        """
        found = {}
        for name, records in _owned(self).items():
            checks = (self.check_of(record) for record in records)
            found[name] = {
                "name": name,
                "env_vars": _variables(records),
                "check_fn": next((one for one in checks if one is not None), None),
                "setup_url": None,
                "tools": [record["name"] for record in records],
            }
        return found

    def check_tool_availability(
        self: _Registry, quiet: bool = False
    ) -> tuple[list[str], list[dict[str, Any]]]:
        """The toolsets that can be used here, and those that cannot.

        Args:
            quiet: no warning is logged for the tools that are unavailable.

        Returns:
            The names of the available toolsets; and of each other one ``name``, ``env_vars`` (the
            environment variables that its tools name) and ``tools`` (their names).
        """
        listing = self.availability.listing(quiet)
        available, unavailable = [], []
        for name, records in _owned(self).items():
            if _any_available(self, records, listing):
                available.append(name)
            else:
                tools = [record["name"] for record in records]
                unavailable.append({"name": name, "env_vars": _variables(records), "tools": tools})
        return available, unavailable


def _owned(registry: _Registry) -> dict[str, list[dict[str, Any]]]:
    """The records of the tools of each toolset that owns any; toolsets and tools by name."""
    names: dict[str, list[str]] = {}
    for name, owner in sorted(registry.get_tool_to_toolset_map().items()):
        names.setdefault(owner, []).append(name)
    found = {owner: _records(registry, names[owner]) for owner in sorted(names)}
    return {owner: records for owner, records in found.items() if records}


def _records(registry: _Registry, names: Iterable[str]) -> list[dict[str, Any]]:
    """The records of tools; one that was removed since it was named is left out."""
    found = (registry.find(name) for name in names)
    return [record for record in found if record is not None]


def _any_available(registry: _Registry, records: Iterable[dict[str, Any]], listing: Survey) -> bool:
    return any(not listing.missing(record, registry.check_of(record)) for record in records)


def _variables(records: Iterable[dict[str, Any]]) -> list[str]:
    """The environment variables that tools require, or require one of, each once."""
    needs = [record.get("requires", {}) for record in records]
    return list(
        dict.fromkeys(
            name for need in needs for key in ("env", "any_env") for name in need.get(key, ())
        )
    )


def report(package: str, say: Say) -> bool:
    """Say of each tool of ``PACKAGE.registry`` what it lacks here, as the module's text tells.

    Tools without code that is asked come first: nothing that happens later can take their answer.
    """
    from importlib import import_module

    registry = import_module(f"{package}.registry").registry
    listing = registry.availability.listing(quiet=True)
    records = _records(registry, registry.get_all_tool_names())
    for record in sorted(records, key=_is_asked):
        if _is_asked(record):
            say({"asking": record["name"]})
        # Bound first, since a module that fails to import then counts as missing.
        rewrites = bool(record.get("dynamic")) and _rewrites(registry, record["name"])
        missing = listing.missing(record, registry.check_of(record))
        line = {"tool": record["name"], "missing": list(missing)}
        if rewrites and not missing:
            from hermes_build.runtime.dynamic import rewritten
            from hermes_build.runtime.masking import mask

            _, why = rewritten(registry, record)
            line["dynamic"] = mask(why) if why else None
        say(line)
    say({"done": True})
    return True


def _rewrites(registry: Any, name: str) -> bool:
    """Whether the handler of a tool is here, and rewrites its schema."""
    try:
        return registry.binding(name).dynamic_schema_overrides is not None
    except (ImportError, LookupError):
        return False


def _is_asked(record: dict[str, Any]) -> bool:
    return bool(record.get("requires", {}).get("check") or record.get("dynamic"))


if __name__ == "__main__":
    from hermes_build.runtime.telling import tell

    tell("hermes_build.runtime.reports", report)
