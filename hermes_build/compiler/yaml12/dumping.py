"""JSON values as YAML text that people like to read and that no reader misreads."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

_WIDTH = 100
_KEY_WIDTH = 1_000  # Readers look for the `:` of a simple key within 1,024 characters.
_FLOW_DEPTH = 2
_FLOW_KEYS = 12
_MAX_INTEGER = 2**53

_PLAIN = re.compile(r"(?:[^\W\d]|/)[^\n\t:#\\]*(?:(?::(?=\S)|(?<=\S)#)[^\n\t:#\\]*)*")
_FLOW_PLAIN = re.compile(r"(?:[^\W\d]|/)[^\n\t:#\\,?\[\]{}]*")
# What YAML 1.1 or some reader of 1.2 takes for a boolean, a null or a number, in lower case.
_TAKEN = frozenset(
    ("null", "true", "false", "yes", "no", "on", "off", "y", "n", "nan", "inf", "infinity")
)
# Characters that are not printable, or blank, but belong to ordinary text: joiners in emoji and in
# several scripts, and the ideographic space.
_KEPT = frozenset("\u200c\u200d\u3000")


def dump(value: Any, *, comment: str = "") -> str:
    """Return a JSON value as YAML: keys in their order, no aliases, no folded lines, ends in LF.

    ``comment`` becomes the lines at the top. This dialect and a YAML 1.1 reader read it back equal.

    Raises:
        ValueError: The value holds something the dialect refuses: an infinite number, an integer
            beyond ±2^53, a lone surrogate.
    """
    head = "".join(f"# {_visible(line)}".rstrip() + "\n" for line in comment.splitlines())
    if isinstance(value, dict | list) and value:
        return head + "\n".join(_block(value, 0)) + "\n"
    return head + _scalar(value, 0) + "\n"


def _block(value: Any, indent: int) -> Iterator[str]:
    pad = " " * indent
    if isinstance(value, dict):
        for key, one in value.items():
            name = _text(key)
            if len(name) > _KEY_WIDTH:
                yield f"{pad}? {name}"
                name = ""
            yield from _entry(f"{pad}{name}:", one, indent)
    else:
        for one in value:
            yield from _entry(f"{pad}-", one, indent)


def _entry(head: str, value: Any, indent: int) -> Iterator[str]:
    """Yield the lines of a value behind its key or its dash."""
    flow = _flow(value, _FLOW_DEPTH)
    if flow is not None and len(head) + 1 + len(flow) <= _WIDTH:
        yield f"{head} {flow}"
    elif isinstance(value, dict | list) and value:
        lines = _block(value, indent + 2)
        # A collection in a list begins behind the dash, one in a mapping below the key.
        yield head + next(lines)[indent + 1 :] if head.endswith("-") else head
        yield from lines
    else:
        yield f"{head} {_scalar(value, indent)}"


def _flow(value: Any, depth: int) -> str | None:
    """Return a small collection on one line, or ``None`` where a block reads better."""
    if isinstance(value, dict):
        if not value:
            return "{}"
        if len(value) > _FLOW_KEYS:
            return None
        parts = [(_flow_text(key), _flow_part(one, depth)) for key, one in value.items()]
        nested = sum(isinstance(one, dict) and bool(one) for one in value.values())
        if any(one is None for _, one in parts) or nested > 1:
            return None
        return "{" + ", ".join(f"{key}: {one}" for key, one in parts) + "}"
    if isinstance(value, list):
        if not value:
            return "[]"
        if len(value) > _WIDTH:
            return None
        items = [_flow_part(one, depth) for one in value]
        if any(one is None for one in items):
            return None
        return "[" + ", ".join(str(one) for one in items) + "]"
    return None


def _flow_part(value: Any, depth: int) -> str | None:
    if isinstance(value, dict | list):
        return _flow(value, depth - 1) if depth > 1 or not value else None
    if isinstance(value, str):
        return None if "\n" in value else _flow_text(value)
    return _number(value)


def _scalar(value: Any, indent: int) -> str:
    if isinstance(value, str):
        return _literal(value, indent + 2) or _text(value)
    if isinstance(value, dict):
        return "{}"
    if isinstance(value, list):
        return "[]"
    return _number(value)


def _number(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        if not -_MAX_INTEGER <= value <= _MAX_INTEGER:
            raise ValueError(f"{value} is beyond ±2^53, where JSON readers round")
        return str(value)
    if isinstance(value, float):
        if value - value != 0:
            raise ValueError(f"JSON has no {value}")
        text = repr(value)
        # YAML 1.1 wants a point in a number with an exponent.
        return text if "." in text else text.replace("e", ".0e")
    raise ValueError(f"{type(value).__name__} is no JSON value")


def _text(value: str) -> str:
    return value if _PLAIN.fullmatch(value) and _is_tame(value) else _quoted(value)


def _flow_text(value: str) -> str:
    return value if _FLOW_PLAIN.fullmatch(value) and _is_tame(value) else _quoted(value)


def _is_tame(value: str) -> bool:
    return (
        value.lower() not in _TAKEN
        and value[-1] not in " \u3000"
        and all(one.isprintable() or one in _KEPT for one in value)
    )


def _quoted(value: str) -> str:
    if value.isascii() and value.isprintable():
        return json.dumps(value)
    return "".join(map(_escaped, json.dumps(value, ensure_ascii=False)))


def _escaped(one: str) -> str:
    if one.isprintable() or one in _KEPT:
        return one
    code = ord(one)
    if 0xD800 <= code <= 0xDFFF:
        raise ValueError(f"U+{code:04X} is half a character (a surrogate)")
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def _visible(line: str) -> str:
    """Return a comment's line with a mark in place of what must not stand in YAML text."""
    return "".join(one if one.isprintable() or one in _KEPT else "\ufffd" for one in line)


def _literal(value: str, indent: int) -> str | None:
    """Return a text of several lines as a literal block, where that keeps every character."""
    body = value.removesuffix("\n")
    lines = body.split("\n")
    if len(lines) < 2 and body == value:
        return None
    if not lines[0] or lines[0][0] in " \t" or not lines[-1]:
        return None
    for line in lines:
        if line != line.rstrip() or not all(one.isprintable() or one in _KEPT for one in line):
            return None
    pad = "\n" + " " * indent
    head = "|-" if body == value else "|"
    return head + "".join(pad + line if line else "\n" for line in lines)
