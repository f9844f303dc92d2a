"""What one machine remembers of a project's files, so that unchanged ones are not judged again.

Everything is keyed on content, and on a stamp of all that can change a verdict. Forgetting costs
time, never correctness: a memory that is missing, damaged, of another stamp or from another place
is an empty one. Otherwise a commit could bring along what its files are said to declare.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import astuple, dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Any

from hermes_build.compiler.diagnostics import Diagnostic, Span
from hermes_build.compiler.digests import Digests
from hermes_build.compiler.examine import Declared
from hermes_build.compiler.load import Source, Suppression
from hermes_build.compiler.regular import read_regular
from hermes_build.compiler.sources import Sources
from hermes_build.compiler.state import open_state, replace, seat
from hermes_build.ir import Annotations, Deprecated, Guards, Place, Requires, Server, Tool, Toolset

FILE = "memory.json"


@dataclass(frozen=True, slots=True)
class RememberedStub:
    """A generated module that was made before: from what, with which digest and problems."""

    key: str
    module: str
    problems: tuple[str, ...]


@dataclass(slots=True)
class Memory:
    """The remembered verdicts; `recall` and `keep` are its two ends."""

    stamp: str
    path: Path | None
    declared: dict[str, Any] = field(default_factory=dict)
    stubs: dict[str, RememberedStub] = field(default_factory=dict)
    _fresh: dict[str, Any] = field(default_factory=dict)
    _changed: bool = False

    def recall(self, source: Source, kind: str, sources: Sources) -> Declared | None:
        """Return what a file of the same content declared, if its references are the same too."""
        try:
            digest, as_kind, data = self.declared[source.path]
            if digest != source.digest or as_kind != kind:
                return None
            for path, seal in data["refs"]:
                other = sources.get(path)
                if (other.digest if other else "") != seal:
                    return None
            declared = _declared(data)
        except (KeyError, ValueError, TypeError):  # not there, or damaged
            return None
        self._fresh[source.path] = self.declared[source.path]
        return declared

    def keep(self, source: Source, kind: str, declared: Declared) -> None:
        """Remember what a file declares."""
        self._fresh[source.path] = [source.digest, kind, _declared_json(declared)]
        self._changed = True

    def save(self) -> None:
        """Write the memory; a disk that does not take it is no reason to fail."""
        if self.path is None or not (self._changed or len(self._fresh) != len(self.declared)):
            return
        rows = {name: [one.key, one.module, one.problems] for name, one in self.stubs.items()}
        data = {"stamp": self.stamp, "declared": self._fresh, "stubs": rows}
        with suppress(OSError):
            replace(self.path, [json.dumps(data, separators=(",", ":")).encode()])

    def keep_stub(self, name: str, stub: RememberedStub) -> None:
        """Remember a generated module."""
        if self.stubs.get(name) != stub:
            self.stubs[name] = stub
            self._changed = True


def forgetful() -> Memory:
    """Return a memory that remembers nothing and is never written."""
    return Memory("", None)


def open_memory(root: Path, stamp: str) -> Memory:
    """Return the memory of the project at ``root``; empty when it was made under another stamp."""
    try:
        path = Path(open_state(root)) / FILE
        stamp = f"{stamp} {seat(root)}"
    except OSError:
        return forgetful()
    try:
        data = json.loads(read_regular(path))
        if data["stamp"] == stamp:
            stubs = {
                name: RememberedStub(key, module, tuple(problems))
                for name, (key, module, problems) in data["stubs"].items()
            }
            return Memory(stamp, path, data["declared"], stubs)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        pass
    return Memory(stamp, path)


_TOOL_FIELDS = attrgetter(*Tool.__slots__)
_DIGEST_FIELDS = attrgetter(*Digests.__slots__)


def _declared_json(declared: Declared) -> dict[str, Any]:
    return {
        "tools": [_tool_json(tool) for tool in declared.tools],
        "texts": declared.texts,
        "digests": [_DIGEST_FIELDS(one) for one in declared.digests],
        "toolsets": [astuple(one) for one in declared.toolsets],
        "set_texts": declared.set_texts,
        "servers": [astuple(one) for one in declared.servers],
        "suppressions": [astuple(one) for one in declared.suppressions],
        "findings": [one.to_json() for one in declared.findings],
        "refs": declared.refs,
    }


def _tool_json(tool: Tool) -> list[Any]:
    row = list(_TOOL_FIELDS(tool))
    at = Tool.__slots__.index
    for name in ("place", "requires", "annotations"):
        row[at(name)] = astuple(row[at(name)])
    row[at("deprecated")] = tool.deprecated and astuple(tool.deprecated)
    return row


def _declared(data: dict[str, Any]) -> Declared:
    return Declared(
        tools=tuple(_tool(row) for row in data["tools"]),
        texts=tuple(data["texts"]),
        digests=tuple(Digests(*row) for row in data["digests"]),
        toolsets=tuple(_toolset(row) for row in data["toolsets"]),
        set_texts=tuple(data["set_texts"]),
        servers=tuple(_server(row) for row in data["servers"]),
        suppressions=tuple(
            Suppression(line, tuple(codes), reason, Span(*span))
            for line, codes, reason, span in data["suppressions"]
        ),
        findings=tuple(Diagnostic.from_json(one) for one in data["findings"]),
        refs=tuple((path, digest) for path, digest in data["refs"]),
    )


def _tool(row: list[Any]) -> Tool:
    got = dict(zip(Tool.__slots__, row, strict=True))
    env, any_env, python, commands, platforms, check = got["requires"]
    got["place"] = Place(*got["place"])
    got["requires"] = Requires(
        tuple(env), tuple(any_env), tuple(python), tuple(commands), tuple(platforms), check
    )
    got["annotations"] = Annotations(*got["annotations"])
    got["deprecated"] = got["deprecated"] and Deprecated(*got["deprecated"])
    for name in ("tags", "dynamic", "aliases", "examples"):
        got[name] = tuple(got[name])
    return Tool(**got)


def _toolset(row: list[Any]) -> Toolset:
    name, place, description, tools, includes, excludes, guards, aliases, may_be_empty, *_ = row
    forbid_tags, require, max_tools, max_tokens = guards
    return Toolset(
        name=name,
        place=Place(*place),
        description=description,
        tools=None if tools is None else tuple(tools),
        includes=tuple(includes),
        excludes=tuple(excludes),
        guards=Guards(tuple(forbid_tags), require, max_tools, max_tokens),
        aliases=tuple(aliases),
        may_be_empty=may_be_empty,
    )


def _server(row: list[Any]) -> Server:
    name, place, command, args, env, url, headers, timeout = row
    return Server(name, Place(*place), command, tuple(args), env, url, headers, timeout)
