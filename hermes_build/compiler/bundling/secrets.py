"""Secrets in a text, recognised by their shape: what must not leave with a bundle.

Keys, tokens and passwords that are written out are found, not all of them: this is a net, and no
proof. What stands for a secret that is elsewhere, or shows the form of one, is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from hermes_build.token_shapes import folded, places, tokens


@dataclass(frozen=True, slots=True)
class Secret:
    """Where a secret stands in a text, as offsets, and what it looks like; never the secret."""

    start: int
    end: int
    what: str


_PEM = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"(?=(?:\s|\\[nr]|[\"'])+(?:[A-Za-z0-9+/=]{16}|[\w-]{1,40}:))"
)
_PEM_END = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")

_WORD = (
    r"(?P<word>pass(?:word|wd|phrase)|pwd|secret|token|credentials?"
    r"|(?:api|access|private|secret|auth|signing|encryption|master)[_-]?key)"
)
_NAMED = re.compile(
    rf"{_WORD}[\"']?\]?[ \t]*(?::[ \t]*\w+[ \t]*=|=|:)[ \t]*"
    r"[rbu]{0,2}(?P<quote>\"|')(?P<value>[^\"'\s\\]{4,200})(?P=quote)",
    re.IGNORECASE | re.ASCII,
)
_BARE = re.compile(
    rf"{_WORD}[ \t]*[:=][ \t]*"
    r"(?P<value>[^\s\"'#{\[$<%*&|>!~][^\s\"'#]{3,200})[ \t]*$",
    re.IGNORECASE | re.ASCII | re.MULTILINE,
)
_LINE_START = re.compile(r"[ \t]*(?:-[ \t]+)?(?:export[ \t]+)?[\w.-]{0,60}", re.ASCII)
"""What may stand on the line before the name of a value without quotes."""

_STANDS_FOR = re.compile(
    r"^[$%<{\[(*.]|example|sample|placeholder|change.?me|dummy|redacted|your|\bmy[_-]|xxx|\.\.\.|…"
    r"|password$|passwd$|secret$|token$|key$|credentials?$"
)
_CONSTANT = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
"""A name in capitals, as those of variables of the environment are."""

_WORDS = frozenset(
    [
        "string",
        "text",
        "true",
        "false",
        "null",
        "none",
        "required",
        "optional",
        "object",
        "array",
        "integer",
        "number",
        "boolean",
        "hidden",
        "empty",
        "default",
        "unset",
        "missing",
        "invalid",
        "basic",
        "bearer",
        "header",
        "query",
        "cookie",
    ]
)
_ALIKE = 6
"""So few different characters are no secret but the form of one."""

_NAMES = ("pass", "pwd", "secret", "token", "credential")
"""How the names of values begin that end otherwise than in ``key``."""

_KEY = re.compile(r"(?:api|access|private|secret|auth|signing|encryption|master)[_-]?\Z")
_LONGEST = len("encryption_")


def find_secrets(text: str, *, code: bool) -> list[Secret]:
    """Every secret in a text, in its order; ``code`` says that values stand in quotes there."""
    lowered = folded(text)
    found: list[Secret] = []
    if "private key" in lowered:
        found += _keys(text)
    found += _tokens(text)
    names = _names(lowered)
    found += _values(_NAMED, text, names)
    if not code:
        found += _values(_BARE, text, names)
    found.sort(key=lambda one: (one.start, -one.end))
    alone: list[Secret] = []
    for one in found:
        if not alone or one.start >= alone[-1].end:
            alone.append(one)
    return alone


def hide_secrets(text: str, *, code: bool) -> str:
    """The text with dots in the place of every secret, so that its lines can be shown."""
    for one in find_secrets(text, code=code):
        dots = re.sub(r"\S", "•", text[one.start : one.end])
        text = text[: one.start] + dots + text[one.end :]
    return text


def _keys(text: str) -> Iterator[Secret]:
    for begin in _PEM.finditer(text):
        end = _PEM_END.search(text, begin.end())
        yield Secret(begin.start(), end.end() if end else begin.end() + 64, "a private key")


def _tokens(text: str) -> Iterator[Secret]:
    for start, end, tag in tokens(text):
        body = text[start:end].removeprefix(tag)
        if not _shows_a_form(body):
            yield Secret(start, end, f"a token, as those are that begin with `{tag}`")


def _names(lowered: str) -> list[int]:
    """Where names begin that secrets may have: a pattern would look at every other place, too."""
    found = set(places(lowered, _NAMES))
    for place in places(lowered, ("key",)):
        name = _KEY.search(lowered, max(place - _LONGEST, 0), place)
        if name is not None:
            found.add(name.start())
    return sorted(found)


def _values(pattern: re.Pattern[str], text: str, names: list[int]) -> Iterator[Secret]:
    end = 0
    for place in names:
        match = pattern.match(text, place) if place >= end else None
        if match is None:
            continue
        end = match.end()
        word, value = match["word"].lower(), match["value"]
        if pattern is _BARE:
            line = text.rfind("\n", 0, match.start()) + 1
            if not _LINE_START.fullmatch(text, line, match.start()):
                continue
        if _shows_a_form(value) or value.lower() in _WORDS:
            continue
        is_password = word.startswith("pass") or word == "pwd"
        odd = any(one.isdigit() for one in value) and any(one.isalpha() for one in value)
        if (is_password and not value.startswith(("/", "~"))) or (odd and len(value) >= 8):
            yield Secret(*match.span("value"), f"a value for `{match['word']}`")


def _shows_a_form(value: str) -> bool:
    """Whether a value only stands for a secret, or shows what one looks like."""
    lowered = value.lower()
    if _CONSTANT.fullmatch(value) or _STANDS_FOR.search(lowered):
        return True
    return len(value) > 8 and len(set(lowered)) < _ALIKE
