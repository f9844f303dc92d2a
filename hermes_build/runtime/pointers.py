"""Following JSON pointers and local references through one schema."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def lookup(root: Any, pointer: str) -> Any:
    """What stands at a JSON pointer (``/properties/a``; empty for the root), or None."""
    node = root
    for token in pointer.split("/")[1:]:
        token = token.replace("~1", "/").replace("~0", "~")
        if isinstance(node, dict):
            node = node.get(token)
        elif isinstance(node, list) and token.isdecimal() and int(token) < len(node):
            node = node[int(token)]
        else:
            return None
    return node


def resolve(root: Any, pointer: str, schema: Any) -> list[tuple[str, dict[str, Any]]]:
    """A subschema, what its ``$ref`` leads to and its ``allOf`` holds, each with its place.

    All of them apply to a value together, so that what any of them says holds.
    """
    found: dict[str, dict[str, Any]] = {}
    waiting = [(pointer, schema)]
    while waiting:
        place, node = waiting.pop(0)
        if place in found or not isinstance(node, dict):
            continue
        found[place] = node
        reference = node.get("$ref")
        if isinstance(reference, str) and (reference == "#" or reference.startswith("#/")):
            target = _unquote(reference[1:])
            waiting.append((target, lookup(root, target)))
        branches = node.get("allOf")
        if isinstance(branches, list):
            waiting.extend((f"{place}/allOf/{index}", one) for index, one in enumerate(branches))
    return list(found.items())


def target(root: Any, reference: str) -> Any:
    """What a local ``$ref`` leads to, by a pointer or by an anchor, or None."""
    if reference == "#" or reference.startswith("#/"):
        return lookup(root, _unquote(reference[1:]))
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            if "#" + str(node.get("$anchor")) == reference:
                return node
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node
    return None


def refers(schema: Any) -> bool:
    """Whether a reference stands anywhere in a schema."""
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            if "$ref" in node or "$dynamicRef" in node:
                return True
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node
    return False


def escape(token: str) -> str:
    """A property's name as a token of a JSON pointer."""
    return token.replace("~", "~0").replace("/", "~1")


def _unquote(fragment: str) -> str:
    """A reference's fragment as a JSON pointer: percent signs encode bytes there."""
    if "%" not in fragment:
        return fragment
    from urllib.parse import unquote

    return unquote(fragment)
