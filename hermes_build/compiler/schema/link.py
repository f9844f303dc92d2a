"""Following the refs of a schema, and bundling what other files hold into it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from hermes_build.compiler.diagnostics import Label
from hermes_build.compiler.schema.part import Part
from hermes_build.compiler.schema.refs import (
    Refusal,
    Target,
    fragment,
    resolve,
    schema_at,
)
from hermes_build.compiler.schema.siblings import Siblings
from hermes_build.ir import JsonObject, Schema
from hermes_build.keywords import IN_PLACE, Pointer, children, rebuild, subschemas


@dataclass(frozen=True, slots=True)
class Linked:
    """A schema whose every ref points into itself.

    ``parts`` are the schema as authored and then each copied one; ``files`` are the paths of the
    files that they came from, sorted. A schema without refs to files is the authored one itself.
    ``refers`` says whether there is any ref at all.
    """

    schema: Schema
    parts: tuple[Part, ...]
    files: tuple[str, ...] = ()
    refers: bool = True


Fits: TypeAlias = Callable[[Any], bool]


@dataclass(frozen=True, slots=True)
class Checked:
    """A schema that validates: as authored, with what other files hold copied into ``$defs``.

    ``refs`` are the paths of those files, sorted: the schema changes when they do. ``fits`` says
    whether a value is valid; ``refers``, whether the schema has any ref.
    """

    schema: Schema
    refs: tuple[str, ...]
    fits: Fits = field(compare=False, repr=False)
    refers: bool = field(compare=False, default=True)


def link(part: Part, siblings: Siblings) -> Linked | None:
    """Resolve every ref of a schema and bundle; None when a ref has no target or never ends.

    A copied schema gets a name in ``$defs`` from its pointer. Names depend on the set of targets
    alone, and a name that is taken gets a number: nothing that the schema defines itself is ever
    replaced or shared, and two files may each have a ``Path``.
    """
    if not any(isinstance(node, dict) and "$ref" in node for _, node in part.nodes):
        return Linked(part.schema, (part,), refers=False)
    links = _Links(part, siblings)
    if not links.sound or links.cyclic():
        return None
    if not links.copies:
        return Linked(part.schema, (part,))
    return links.bundled()


_MOST_REFUSALS = 100
_MOST_RINGS = 20


class _Links:
    """The refs of one schema and of all that it reaches, by part and by text."""

    def __init__(self, main: Part, siblings: Siblings) -> None:
        self.main = main
        self.sound = True
        self.copies: dict[Target, Part] = {}
        self.targets: dict[Target, dict[str, Target]] = {}
        """What each ref in a part points at; the part is named by the target that it is."""
        self._siblings = siblings
        own = Target("", ())
        queue = [own]
        for name in queue:
            self.targets[name] = self._follow(name)
            for target in self.targets[name].values():
                if target.path and target not in self.copies:
                    self.copies[target] = self._copy(target)
                    queue.append(target)

    def _copy(self, target: Target) -> Part:
        document = self._siblings.documents(target.path)[0]
        return Part(
            document,
            target.pointer,
            schema_at(document.value, target.pointer),
            self.main.findings,
            shared=True,
        )

    def part(self, name: Target) -> Part:
        return self.copies[name] if name.path else self.main

    def _follow(self, name: Target) -> dict[str, Target]:
        part = self.part(name)
        found: dict[str, Target] = {}
        refused: dict[str, Refusal] = {}
        for pointer, node in self._nodes(part, found):
            ref = node.get("$ref") if isinstance(node, dict) else None
            if not isinstance(ref, str):
                continue
            if ref not in found and ref not in refused:
                if len(refused) >= _MOST_REFUSALS:
                    continue  # looking for what each was meant to be takes time
                one = resolve(ref, part, self._siblings)
                if isinstance(one, Refusal):
                    refused[ref] = one
                else:
                    found[ref] = self._named(one, part)
            if ref in refused:
                self.sound = False
                why = refused[ref]
                part.report(why.code, why.message, *pointer, "$ref", label=why.label, help=why.help)
        return found

    def _nodes(self, part: Part, found: dict[str, Target]) -> Iterator[tuple[Pointer, Schema]]:
        """The schemas of a part; then those that only a ref makes one, as old documents do."""
        yield from part.nodes
        if part.ours:
            return
        seen = {pointer for pointer, _ in part.nodes}
        for target in list(found.values()):
            if not target.path and target.pointer not in seen:
                for pointer, node in subschemas(
                    schema_at(part.root, target.pointer), target.pointer
                ):
                    seen.add(pointer)
                    yield pointer, node

    def _named(self, target: Target, part: Part) -> Target:
        """Name a target from the main schema's view; its own file of shared schemas is itself."""
        path = target.path or ("" if part is self.main else part.path)
        if self.main.shared and path == self.main.path:
            path = ""
        return Target(path, target.pointer)

    def cyclic(self) -> bool:
        """Report each ring of refs in which no schema judges anything but the same value again."""
        edges = {
            target: list(self._in_place(target))
            for found in self.targets.values()
            for target in found.values()
        }
        finished: set[Target] = set()
        rings: set[tuple[Target, ...]] = set()
        for start in edges:
            path: dict[Target, None] = {}
            stack = [(start, False)]
            while stack:
                here, leaving = stack.pop()
                if leaving:
                    finished.add(path.popitem()[0])
                elif here in path and len(rings) < _MOST_RINGS:
                    ring = list(path)[list(path).index(here) :]
                    first = ring.index(min(ring, key=_place))
                    rings.add((*ring[first:], *ring[:first]))
                elif here not in finished and here not in path:
                    path[here] = None
                    stack.append((here, True))
                    stack += [(after, False) for _, _, after in reversed(edges[here])]
        for one in sorted(rings, key=lambda one: [_place(target) for target in one]):
            self._report_ring(one, edges)
        return bool(rings)

    def _in_place(self, target: Target) -> Iterator[tuple[Part, Pointer, Target]]:
        """The refs that judge the same value as a target: their part, their place, their target."""
        part = self.part(target)
        found = self.targets[target if target.path else Target("", ())]
        start: Pointer = () if target.path else target.pointer
        stack: list[tuple[Pointer, Schema]] = [(start, schema_at(part.schema, start))]
        while stack:
            pointer, node = stack.pop()
            if not isinstance(node, dict):
                continue
            ref = node.get("$ref")
            if isinstance(ref, str) and ref in found:
                yield part, pointer, found[ref]
            inner = [one for one in children(pointer, node) if one[0][len(pointer)] in IN_PLACE]
            stack += reversed(inner)

    def _report_ring(
        self, ring: tuple[Target, ...], edges: dict[Target, list[tuple[Part, Pointer, Target]]]
    ) -> None:
        hops = []
        for here, after in zip(ring, (*ring[1:], ring[0]), strict=True):
            hops.append(next(one for one in edges[here] if one[2] == after))
        part, pointer, _ = hops[0]
        part.report(
            "HB1112",
            "the `$ref` leads back to itself and never to a schema",
            *pointer,
            "$ref",
            label="leads to itself" if len(ring) == 1 else "begins a circle",
            labels=[
                Label(other.span(*place, "$ref"), "and goes on here")
                for other, place, _ in hops[1:]
            ],
            notes=(" -> ".join(f"{one.path}{fragment(one.pointer)}" for one in (*ring, ring[0])),),
            help=("a schema may refer to itself inside `properties` or `items`",),
        )

    def bundled(self) -> Linked:
        """Copy what the refs reach in other files into the schema's ``$defs``."""
        assert isinstance(self.main.schema, dict)  # a boolean has no refs
        own = self.main.schema.get("$defs", {})
        taken = set(own)
        names: dict[Target, str] = {}
        for target in sorted(self.copies, key=_place):
            name = wanted = _name(target.pointer)
            number = 2
            while name in taken:
                name, number = f"{wanted}_{number}", number + 1
            taken.add(name)
            names[target] = name
        parts = [self.main]
        copied: JsonObject = {}
        for target, name in names.items():
            parts.append(replace(self.copies[target], inside=("$defs", name)))
            copied[name] = self._rewritten(target, names)
        schema = self._rewritten(Target("", ()), names)
        assert isinstance(schema, dict)
        schema = {**schema, "$defs": {**schema.get("$defs", {}), **copied}}
        files = sorted({target.path for target in self.copies})
        return Linked(schema, tuple(parts), tuple(files))

    def _rewritten(self, name: Target, names: dict[Target, str]) -> Schema:
        """A part with its refs as they must be in the bundle; anchors of copies would clash."""
        refs = {
            ref: fragment(("$defs", names[target]))
            for ref, target in self.targets[name].items()
            if target.path
        }

        def change(node: JsonObject) -> JsonObject:
            ref = node.get("$ref")
            if isinstance(ref, str) and ref in refs:
                node = {**node, "$ref": refs[ref]}
            if name.path and "$anchor" in node:
                node = {key: value for key, value in node.items() if key != "$anchor"}
            return node

        return rebuild(self.part(name).schema, change)


def _place(target: Target) -> tuple[str, tuple[str, ...]]:
    return target.path, tuple(map(str, target.pointer))


def _name(pointer: Pointer) -> str:
    """A definition's name: its own, with the way to the inner schema that a ref points at."""
    tokens = [
        str(token)
        for nth, token in enumerate(pointer)
        if not (nth % 2 == 0 and token in ("$defs", "properties"))
    ]
    return "_".join(tokens) or "Schema"
