"""What is wrong with a value, in plain words: where, what is demanded, what was there instead.

The validator finds the problems; its own sentences are for people who know JSON Schema, and begin
with the value, which may be a whole file. These are for whoever has to mend the value.
"""

from __future__ import annotations

from functools import cache
from json import JSONEncoder
from json.encoder import encode_basestring

from hermes_build.nearest import nearest
from hermes_build.runtime.pointers import escape, lookup
from hermes_build.runtime.result import utf8

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

_SHOWN = 5
"""How many problems are told at once."""

_VALUE_CHARS = 80
"""How much of an offending value is shown."""

_MESSAGE_CHARS = 300
"""How much of one demand is shown: an enum may list thousands of members."""

_NAME_CHARS = 40
"""How much of an unexpected name is shown."""

_MEMBERS = 20
"""How many members of an enum are listed."""

_encode: Callable[[Any], str] = JSONEncoder(ensure_ascii=False).encode

# What the encoder would say, without the some µs that it takes to set out.
_QUICK: dict[type, Callable[[Any], str]] = {
    str: encode_basestring,
    int: repr,
    bool: lambda value: "true" if value else "false",
    type(None): lambda _: "null",
}

_TYPES = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "an integer",
    "null": "null",
    "number": "a number",
    "object": "an object",
    "string": "text",
}
# Of another kind altogether: a branch of a union that fails by one of these was not meant.
_IDENTITY = ("type", "enum", "const")

# These name the properties that they speak of; the object around them is no help.
_ABOUT_NAMES = frozenset(
    {
        "required",
        "dependentRequired",
        "additionalProperties",
        "unevaluatedProperties",
        "propertyNames",
    }
)


@cache
def _kinds(names: tuple[str, ...]) -> str:
    # The validator names types in an order of its own; null is the afterthought that it is.
    *most, last = [_TYPES[one] for one in sorted(names, key=lambda one: (one == "null", one))]
    return f"{', '.join(most)} or {last}" if most else last


_DEMANDS: dict[str, Callable[[Any], str]] = {
    "type": lambda kind: f"must be {_kinds(tuple(kind.types))}",
    "const": lambda kind: f"must be {shorten(kind.expected_value)}",
    "minimum": lambda kind: f"must be at least {kind.limit}",
    "maximum": lambda kind: f"must be at most {kind.limit}",
    "exclusiveMinimum": lambda kind: f"must be more than {kind.limit}",
    "exclusiveMaximum": lambda kind: f"must be less than {kind.limit}",
    "multipleOf": lambda kind: f"must be a multiple of {kind.multiple_of}",
    "minLength": lambda kind: f"must have at least {_counted(kind.limit, 'character')}",
    "maxLength": lambda kind: f"must have at most {_counted(kind.limit, 'character')}",
    "minItems": lambda kind: f"must have at least {_counted(kind.limit, 'item')}",
    "maxItems": lambda kind: f"must have at most {_counted(kind.limit, 'item')}",
    "minProperties": lambda kind: f"must have at least {_counted(kind.limit, 'property')}",
    "maxProperties": lambda kind: f"must have at most {_counted(kind.limit, 'property')}",
    # The library gives up on a text that a pattern with a look-around would search for ages.
    "pattern": lambda kind: (
        f"must match the pattern {shorten(kind.pattern)}"
        if hasattr(kind, "pattern")
        else "must match its pattern, and takes too long to compare with it"
    ),
    "uniqueItems": lambda _: "must not hold the same item twice",
    "contains": lambda _: "must hold as many items as its `contains` asks for",
    "not": lambda kind: f"must not fit {shorten(kind.schema)}",
    "falseSchema": lambda _: "must not be given",
}


class Teller:
    """What is wrong with values, in words, by one schema.

    What a schema says of its own properties reads the same in each refusal: it is worded once.

    Args:
        schema: what is validated by.
    """

    __slots__ = ("_members", "_only", "_schema")

    def __init__(self, schema: Any) -> None:
        self._schema = schema
        self._members: dict[str | int, str] = {}
        self._only: str | None = None

    def tell(self, problems: Iterable[Any], sent: Any) -> str:
        """The first problems that a validator (masked as ``the value``) found, and how many more.

        Args:
            problems: the validator's errors.
            sent: the value, without the defaults that were filled in before it was validated.
        """
        shown: list[str] = []
        more = 0
        for one in problems:
            if len(shown) > _SHOWN:
                more += 1
            else:
                shown += self._sentences(one, sent)
        if len(shown) > _SHOWN:
            shown[_SHOWN:] = [f"and {more + len(shown) - _SHOWN} more"]
        return utf8("; ".join(shown))

    def _sentences(self, error: Any, sent: Any) -> list[str]:
        """One problem; where a single branch of a union was meant, that branch's problems."""
        kind = error.kind
        name = kind.name
        if name in ("anyOf", "oneOf"):
            meant = [one for one in kind.context if one and _was_meant(one, error)]
            if len(meant) == 1:
                return [sentence for one in meant[0] for sentence in self._sentences(one, sent)]
        demand = self._demand(error, kind, name, sent)
        if len(demand) > _MESSAGE_CHARS and name != "additionalProperties":  # its end is the hint
            demand = shorten_text(demand, _MESSAGE_CHARS)
        if name not in _ABOUT_NAMES:
            demand = f"{demand}, but is {_described(error.instance)}"
        where = place(error.instance_path)
        return [f"{where}: {demand}" if where else demand]

    def _demand(self, error: Any, kind: Any, name: str, sent: Any) -> str:
        if name == "enum":
            return self._enum(error.schema_path, kind)
        words = _DEMANDS.get(name)
        if words is not None:
            return words(kind)
        if name in ("anyOf", "oneOf"):
            return self._union(error, sent)
        if name == "additionalProperties":
            return self._unexpected(error, kind.unexpected, sent)
        if name == "propertyNames":
            inner = kind.error
            demand = self._demand(inner, inner.kind, inner.kind.name, sent)
            return f"the name {shorten(inner.instance)} {demand}"
        return str(error.message)

    def _enum(self, path: list[str | int], kind: Any) -> str:
        if len(path) != 3 or path[0] != "properties":
            return f"must be {_members(kind.options)}"
        words = self._members.get(path[1])
        if words is None:
            words = self._members[path[1]] = f"must be {_members(kind.options)}"
        return words

    def _union(self, error: Any, sent: Any) -> str:
        """What each branch wanted, in one sentence where all of them speak of the value itself."""
        here = list(error.instance_path)
        branches = [one[0] for one in error.kind.context if one]
        if not branches:
            return "must fit one of its alternatives only"
        if all(one.kind.name == "type" and list(one.instance_path) == here for one in branches):
            kinds = dict.fromkeys(kind for one in branches for kind in one.kind.types)
            return f"must be {_kinds(tuple(kinds))}"
        wanted = []
        for one in branches:
            inner = place(list(one.instance_path)[len(here) :])
            demand = self._demand(one, one.kind, one.kind.name, sent)
            wanted.append(f"{inner}: {demand}" if inner else demand)
        return f"must fit one of its alternatives ({'; '.join(dict.fromkeys(wanted))})"

    def _unexpected(self, error: Any, names: list[str], sent: Any) -> str:
        """Which properties there may not be, and which ones they were most likely meant to be."""
        path = error.schema_path[:-1]
        parent = self._schema
        if path:
            parent = lookup(parent, "".join(f"/{escape(str(one))}" for one in path))
        properties = parent.get("properties", {}) if isinstance(parent, dict) else {}
        # A property that is there already was not misspelt.
        there = _at(sent, error.instance_path)
        free = [one for one in properties if one not in there]
        shown = names[:_SHOWN] if free else ()
        meant = [(one, found) for one in shown if (found := nearest(one, free))]
        if meant and len(names) == 1:
            hint = f", did you mean '{meant[0][1]}'?"
        elif meant:
            pairs = " and ".join([f"'{found}' for {_quoted(one)}" for one, found in meant])
            hint = f", did you mean {pairs}?"
        elif path:
            hint = _only(parent)
        else:
            if self._only is None:
                self._only = _only(parent)
            hint = self._only
        verb = "was" if len(names) == 1 else "were"
        return f"Additional properties are not allowed ({_listed(names)} {verb} unexpected{hint})"


def place(path: Sequence[str | int]) -> str:
    """Where a value stands: ``a.b[2]``; empty for the root."""
    if len(path) == 1 and isinstance(path[0], str):  # as nearly always
        return path[0]
    text = ""
    for one in path:
        text += f"[{one}]" if isinstance(one, int) else f".{one}"
    return text.removeprefix(".")


def shorten(value: Any) -> str:
    """A value as JSON, cut to what a message can carry."""
    try:
        text = _QUICK.get(value.__class__, _encode)(value)
    except (TypeError, ValueError, RecursionError):
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= _VALUE_CHARS else shorten_text(text)


def shorten_text(text: Any, limit: int = _VALUE_CHARS) -> str:
    """Text cut in the middle of nothing: its beginning, and how much was left out."""
    whole = str(text)
    if len(whole) <= limit:
        return whole
    return f"{whole[:limit]}… ({len(whole) - limit} more characters)"


def _was_meant(branch: list[Any], error: Any) -> bool:
    here = list(error.instance_path)
    return not any(one.kind.name in _IDENTITY and list(one.instance_path) == here for one in branch)


def _at(sent: Any, path: list[str | int]) -> Any:
    """The object that was sent where a problem is; nothing where it was a default."""
    for one in path:
        try:
            sent = sent[one]
        except (LookupError, TypeError):
            return ()
    return sent


def _only(parent: Any) -> str:
    """Which names there may be, where a schema lists them all."""
    if not isinstance(parent, dict) or "patternProperties" in parent:
        return ""
    properties = parent.get("properties")
    return f"; there are only {_listed([*properties])}" if properties else "; there are none"


def _listed(names: list[str]) -> str:
    shown = ", ".join([_quoted(one) for one in names[:_SHOWN]])
    left = len(names) - _SHOWN
    return shown if left <= 0 else f"{shown} and {left} others"


def _quoted(name: str) -> str:
    return f"'{name}'" if len(name) <= _NAME_CHARS else f"'{shorten_text(name, _NAME_CHARS)}'"


def _members(options: list[Any]) -> str:
    shown: list[str] = []
    room = _MESSAGE_CHARS - 40
    for one in options[:_MEMBERS]:
        text = shorten(one)
        room -= len(text)
        if shown and room < 0:
            break
        shown.append(text)
    left = len(options) - len(shown)
    listed = ", ".join(shown)
    if left:
        return f"one of {listed} or {left} others"
    return listed if len(shown) == 1 else f"one of {listed}"


def _counted(number: int, noun: str) -> str:
    if number == 1:
        return f"1 {noun}"
    return f"{number} {noun[:-1]}ies" if noun.endswith("y") else f"{number} {noun}s"


def _described(value: Any) -> str:
    """A value with its kind before it, where JSON alone leaves room for doubt."""
    if isinstance(value, str):
        return f"the text {shorten(value)}"
    if isinstance(value, dict):
        return f"the object {shorten(value)}"
    return f"the list {shorten(value)}" if isinstance(value, list) else shorten(value)
