"""Arguments for a schema: some that fit, and neighbours of them that do not.

A validator that is given from outside judges both; what is made here is only a proposal.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from typing import Any

Judge = Callable[[Any], bool]

# Text that looks like something else must arrive as the text that it is.
TEXTS = (
    "plain words", "", "42", "true", "null", "[1, 2]", '{"a": 1}', "a\nb\tc", "C:\\new\\table",
    "zażółć 雪 🙂", "  padded  ", "1e5", "2024-01-01", "no", "'\"`${x}`", "\u200b\u2028",
)  # fmt: skip
ANYTHING: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    1.5,
    "text",
    [],
    [1, "two", None],
    {},
    {"k": {"v": []}},
)
WRONG: tuple[Any, ...] = (None, True, 7, 2.5, "wrong", [], [{}], {}, {"unexpected": [1]})


class Maker:
    """Makes values from a schema; the same seed gives the same values."""

    def __init__(self, root: dict[str, Any], seed: str) -> None:
        self.root = root
        self.random = random.Random(seed)

    def fitting(self, judge: Judge, count: int) -> list[dict[str, Any]]:
        """Up to ``count`` different arguments that the judge lets pass."""
        found: list[dict[str, Any]] = []
        for nth in range(count * 12):
            # The first is complete, so that every parameter is seen at least once.
            value = self.make(self.root, 1.0 if nth == 0 else 0.5)
            if isinstance(value, dict) and value not in found and judge(value):
                found.append(value)
            if len(found) == count:
                break
        return found

    def make(self, schema: Any, fill: float, depth: int = 0) -> Any:
        """One value; optional properties are there with the probability ``fill``."""
        pick = self.random.choice
        if not isinstance(schema, dict):
            return copy.deepcopy(pick(ANYTHING))
        if "const" in schema:
            return copy.deepcopy(schema["const"])
        if schema.get("enum"):
            return copy.deepcopy(pick(schema["enum"]))
        for key in ("anyOf", "oneOf"):
            if schema.get(key):
                rest = {k: v for k, v in schema.items() if k != key}
                return self.make({**rest, **pick(schema[key])}, fill, depth)
        kind = schema.get("type")
        if isinstance(kind, list):
            kind = pick(kind)
        if kind is None:
            kind = "object" if "properties" in schema else "array" if "items" in schema else None
        if kind is None:
            return copy.deepcopy(pick(ANYTHING))
        makers: dict[str, Callable[[dict[str, Any], float, int], Any]] = {
            "object": self._object,
            "array": self._array,
            "integer": lambda s, *_: self._integer(s),
            "number": lambda s, *_: self._number(s),
            "string": lambda s, *_: self._text(s),
            "boolean": lambda *_: pick((True, False)),
            "null": lambda *_: None,
        }
        return makers[kind](schema, fill, depth)

    def _object(self, schema: dict[str, Any], fill: float, depth: int) -> dict[str, Any]:
        required = schema.get("required", [])
        made = {
            name: self.make(one, fill if depth < 6 else 0.0, depth + 1)
            for name, one in schema.get("properties", {}).items()
            if name in required or self.random.random() < fill
        }
        more = schema.get("additionalProperties", True)
        for name in required:  # a schema may require what it does not declare
            if name not in made:
                made[name] = self.make(more, fill, depth + 1)
        if more is not False and not schema.get("properties") and self.random.random() < 0.5:
            made["extra-key"] = self.make(more, fill, depth + 1)
        return made

    def _array(self, schema: dict[str, Any], fill: float, depth: int) -> list[Any]:
        least = schema.get("minItems", 0)
        most = schema.get("maxItems", least + 3)
        first = schema.get("prefixItems", [])
        length = max(self.random.randint(least, max(least, most)), min(len(first), most))
        items = schema.get("items", True)
        return [
            self.make(
                first[nth] if nth < len(first) else items, fill if depth < 6 else 0, depth + 1
            )
            for nth in range(length)
        ]

    def _integer(self, schema: dict[str, Any]) -> int:
        low = schema.get("minimum", schema.get("exclusiveMinimum", -5) + 1)
        high = schema.get("maximum", schema.get("exclusiveMaximum", max(low, 1_000) + 1) - 1)
        return int(self.random.choice((low, high, self.random.randint(int(low), int(high)))))

    def _number(self, schema: dict[str, Any]) -> float:
        whole = self._integer(schema)
        return self.random.choice((whole, float(whole), whole + 0.5, whole - 0.25))

    def _text(self, schema: dict[str, Any]) -> str:
        text = self.random.choice(TEXTS)
        while len(text) < schema.get("minLength", 0):
            text += "x"
        return text[: schema.get("maxLength", len(text))]


def spoiled(arguments: dict[str, Any], schema: dict[str, Any]) -> Iterator[Any]:
    """Arguments of which one thing was changed, at any depth; many of them are wrong."""
    yield from ("text", 7, 2.5, True, [], [arguments])
    for key in schema.get("required", []):
        # A missing value that the runtime fills in is not a mistake.
        if key in arguments and "default" not in _property(schema, key):
            yield {name: one for name, one in arguments.items() if name != key}
    yield {**arguments, "no such parameter": 1}
    for path in _places(arguments):
        for wrong in WRONG:
            yield _replaced(arguments, path, wrong)


def _property(schema: dict[str, Any], key: str) -> dict[str, Any]:
    found = schema.get("properties", {}).get(key)
    return found if isinstance(found, dict) else {}


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    rows = value.items() if isinstance(value, dict) else enumerate(value)
    for key, one in rows:
        yield (*path, key)
        if isinstance(one, dict | list):
            yield from _places(one, (*path, key))


def _replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    out = copy.deepcopy(value)
    node = out
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = copy.deepcopy(new)
    return out


def arrived_unchanged(sent: Any, got: Any, schema: Any) -> bool:
    """Whether ``got`` is ``sent``, but for defaults of its schema that were missing."""
    if type(sent) is not type(got):
        return False
    if isinstance(sent, dict):
        added = [key for key in got if key not in sent]
        properties = schema.get("properties", {}) if isinstance(schema, dict) else {}
        return all("default" in properties.get(key, {}) for key in added) and all(
            key in got and arrived_unchanged(one, got[key], properties.get(key))
            for key, one in sent.items()
        )
    if isinstance(sent, list):
        items = schema.get("items") if isinstance(schema, dict) else None
        return len(sent) == len(got) and all(
            arrived_unchanged(a, b, items) for a, b in zip(sent, got, strict=True)
        )
    return bool(sent == got)
