"""The YAML dialect: the 1.2 core schema over PyYAML's parsers, with values that JSON can hold.

PyYAML composes text into nodes; what a plain scalar means is decided here. ``quick`` reads a text
in which nothing is wrong, at the speed of `yaml.load`; ``nodes`` hands out the nodes of any text,
bounded in depth and number, for the reader that has findings to make.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import yaml
from yaml.composer import Composer
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.scanner import Scanner

from hermes_build.compiler.yaml12.dumping import dump

__all__ = [
    "HAS_LIBYAML",
    "MAX_DEPTH",
    "MAX_FILE_NODES",
    "MAX_INTEGER",
    "MAX_NODES",
    "Broken",
    "MappingNode",
    "Node",
    "NotJson",
    "ScalarNode",
    "SequenceNode",
    "Token",
    "dump",
    "nodes",
    "plain",
    "quick",
    "tokens",
]

HAS_LIBYAML: bool = yaml.__with_libyaml__
"""Whether PyYAML was built with libyaml; without it, reading takes ten times as long."""

MAX_DEPTH = 200
"""How many collections may lie in one another."""

MAX_NODES = 200_000
"""How many nodes one document may have: some 100 MB of memory while it is read."""

MAX_FILE_NODES = 500_000
"""How many nodes all documents of a file may have: some five seconds."""

MAX_INTEGER = 2**53
"""Up to here, every JSON reader keeps an integer exact."""

_MAX_NUMBER = 400
_QUICK_LENGTH = 65_536
_QUICK_OPENERS = 1_000

WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_NUMERIC = frozenset("+-.0123456789")
_DECIMAL = r"[-+]?(?:0|[1-9][0-9]*)"
_number = re.compile(
    rf"({_DECIMAL})"
    r"|0o([0-7]+)"
    r"|0x([0-9a-fA-F]+)"
    rf"|((?:{_DECIMAL}(?:\.[0-9]*)?|[-+]?\.[0-9]+)(?:[eE][-+]?[0-9]+)?)"
    r"|([-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))"
).fullmatch

GLUED = re.compile(r"(?<=[ \t])#(?=[^\s#!])")
"""A comment whose first word touches its `#`, as the rest of a text does that it cut."""

_TAG = re.compile(r"(?:^|[\s,\[\]{}:])!")
_FOREIGN = ("\x85", "\u2028", "\u2029", "\ufeff")


class NotJson(ValueError):
    """A plain scalar is a number that JSON has no equal of; the text says why."""


@dataclass(slots=True)
class Broken(Exception):
    """A text cannot be composed any further; indices count characters of the text from 0."""

    kind: Literal["syntax", "depth", "nodes", "file"]
    index: int
    problem: str = ""
    context: str = ""
    context_index: int | None = None


@dataclass(frozen=True, slots=True)
class Token:
    """A scalar of some style (``""`` is plain) or an alias, where it stands."""

    start: int
    end: int
    style: str | None = None
    alias: str | None = None


Documents: TypeAlias = list[tuple[int, Any]]


def plain(text: str) -> Any:
    """Return what a plain scalar means: null, a boolean, a number, or its text.

    Raises:
        NotJson: The number is infinite, not a number, or an integer that JSON readers round.
    """
    if text in WORDS:
        return WORDS[text]
    if text[0] not in _NUMERIC:
        return text
    match = _number(text)
    if match is None:
        return text
    if len(text) > _MAX_NUMBER:
        raise NotJson("the number is too long to be kept exact")
    kind = match.lastindex
    if kind == 4:
        number = float(text)
        if number - number != 0:
            raise NotJson(f"{text} is larger than a JSON reader's numbers go")
        return number
    if kind == 5:
        raise NotJson("JSON has neither infinity nor not-a-number")
    integer = int(match[kind], (10, 8, 16)[kind - 1]) if kind else 0
    if not -MAX_INTEGER <= integer <= MAX_INTEGER:
        raise NotJson("JSON readers round integers beyond ±2^53 (9007199254740992)")
    return integer


# The composer of PyYAML asks a resolver for the tag of every node, and tells it when it enters and
# leaves one. Nobody here reads those tags: an explicit tag is found by its `!`, and a scalar's
# style tells plain from quoted. So the cheapest callables that take the arguments stand in for a
# resolver.
class _Unresolved:
    resolve: Any = slice
    descend_resolver: Any = operator.is_
    ascend_resolver: Any = bool


class _Bounded:
    """The same, counting: for text that may be deep or long enough to do harm."""

    resolve: Any = slice
    depth = 0
    count = 0

    def descend_resolver(self, parent: Node | None, _: object) -> None:
        self.depth += 1
        self.count += 1
        if self.depth > MAX_DEPTH + 1:
            raise Broken("depth", parent.start_mark.index if parent is not None else 0)
        if self.count > MAX_NODES:
            raise Broken("nodes", parent.start_mark.index if parent is not None else 0)

    def ascend_resolver(self) -> None:
        self.depth -= 1


class _Python(_Bounded, Reader, Scanner, Parser, Composer):
    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)
        Composer.__init__(self)


_Quick: Any = None
_Careful: Any = _Python
if HAS_LIBYAML:
    from yaml._yaml import CParser

    class _QuickC(_Unresolved, CParser):
        pass

    class _CarefulC(_Bounded, CParser):
        pass

    _Quick, _Careful = _QuickC, _CarefulC


class _Odd(Exception):
    """Something that only the careful reader can judge."""


def quick(text: str) -> Documents | None:
    """Return the (line, value) of each document, or ``None`` if anything at all is out of the way.

    ``None`` does not mean that something is wrong: aliases, deep text and empty documents are left
    to the careful reader too. Lines count from 1.
    """
    if _Quick is None or len(text) > _QUICK_LENGTH:
        return None
    openers = text.count("[") + text.count("{") + text.count("- ") + text.count("? ")
    if openers > _QUICK_OPENERS or ("*" in text and "&" in text):
        return None
    if "!" in text and _TAG.search(text):
        return None
    if (" #" in text or "\t#" in text) and GLUED.search(text):
        return None
    if "\r" in text or (not text.isascii() and any(mark in text for mark in _FOREIGN)):
        return None
    found: Documents = []
    try:
        composer = _Quick(text)
        while composer.check_node():
            root = composer.get_node()
            if not root.value:
                return None
            found.append((root.start_mark.line + 1, _value(root, 1)))
    except (yaml.YAMLError, UnicodeError, NotJson, _Odd):
        return None
    return found or None


def _value(node: Node, depth: int) -> Any:
    inner = node.value
    if node.__class__ is ScalarNode:
        if node.style or (inner not in WORDS and inner[0] not in _NUMERIC):
            return inner
        return plain(inner)
    if depth > MAX_DEPTH:
        raise _Odd
    depth += 1
    if node.__class__ is SequenceNode:
        return [_value(one, depth) for one in inner]
    result: dict[str, Any] = {}
    for key, one in inner:
        name = key.value
        if key.__class__ is not ScalarNode or (not key.style and _is_odd_key(name)):
            raise _Odd
        value = one.value
        if one.__class__ is ScalarNode and (
            one.style or (value not in WORDS and value[0] not in _NUMERIC)
        ):
            result[name] = value
        else:
            result[name] = _value(one, depth)
    if len(result) != len(inner):
        raise _Odd
    return result


def _is_odd_key(name: str) -> bool:
    return name in WORDS or name[0] in _NUMERIC or name == "<<"


def nodes(text: str, *, libyaml: bool = HAS_LIBYAML) -> Iterator[Node]:
    """Compose one document after the other; the composed nodes belong to the caller.

    Raises:
        Broken: The text is malformed, or passes one of the bounds above, from there on.
    """
    try:
        composer: Any = (_Careful if libyaml else _Python)(text)
        total = 0
        while composer.check_node():
            composer.count = 0
            root = composer.get_node()
            total += composer.count
            if total > MAX_FILE_NODES:
                raise Broken("file", root.start_mark.index)
            yield root
    except yaml.MarkedYAMLError as error:
        raise _broken(error, len(text)) from None
    except (yaml.YAMLError, ValueError) as error:
        # The reader refuses a character, or the pure Python scanner meets an escape past U+10FFFF.
        raise Broken("syntax", 0, str(error)) from None


def _broken(error: yaml.MarkedYAMLError, length: int) -> Broken:
    problem, context = error.problem or "", error.context or ""
    before = error.context_mark
    at = error.problem_mark or before
    kind: Literal["syntax", "depth"] = "depth" if "maximum nesting depth" in problem else "syntax"
    return Broken(
        kind,
        min(at.index, length) if at is not None else 0,
        problem,
        context,
        min(before.index, length) if before is not None else None,
    )


def tokens(text: str, *, libyaml: bool = HAS_LIBYAML) -> Iterator[Token]:
    """Scan a text for its scalars and aliases; the rest of a malformed text is passed over."""
    try:
        scanner = (_Careful if libyaml else _Python)(text)
        while (one := scanner.get_token()) is not None:
            start, end = one.start_mark.index, one.end_mark.index
            if one.__class__ is yaml.ScalarToken:
                yield Token(start, end, style="" if one.plain else one.style)
            elif one.__class__ is yaml.AliasToken:
                yield Token(start, end, alias=one.value)
    except (yaml.YAMLError, ValueError):
        return
