"""Turning one value into another that says the same, and telling afterwards what was turned.

A model that means 42 sometimes sends ``"42"``. The rules here are those by which a value may be
read as one of another kind; where they may be applied is `hermes_build.runtime.repairs`' to say.
They follow the grammar of JSON and are exact: what would lose a digit is not done.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from json import dumps
from math import isinf

from hermes_build.runtime.decoding import DECODER
from hermes_build.runtime.problems import place, shorten
from hermes_build.runtime.result import utf8

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

MOST_TEXT = 10_000_000
"""Characters of a text that is read as JSON."""

_MOST_DIGITS = 400
"""Characters of a text that is read as a number, and the size of its exponent."""

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?(?:[eE]([+-]?[0-9]+))?")
_KINDS = {list: "list", str: "text", bool: "boolean", int: "number", float: "number"}
_SPACE = " \t\n\r"


@dataclass(frozen=True, slots=True)
class Repair:
    """One place of a call's arguments where another value was put.

    Attributes:
        path: where it stands, as ``a.b[2]``; empty for the arguments as a whole.
        kind: ``null``, ``boolean`` and ``number``: text that spelt one. ``json``: text that held a
            list or an object. ``list``: a bare value, now the only element of a list. ``item``: an
            object ``{"item": X}`` that stood for a list.
        before: the value as it was sent, as JSON, shortened.
        after: what the handler gets instead, as JSON, shortened.
    """

    path: str
    kind: str
    before: str
    after: str


def as_boolean(text: str) -> bool | None:
    """What ``true`` and ``false`` say, in any case; None for other text."""
    return {"true": True, "false": False}.get(text.lower()) if len(text) <= 5 else None


def as_number(text: str, *, whole: bool) -> int | float | None:
    """The number that a text spells in JSON's own grammar, or None.

    Args:
        text: nothing but the number: no space around it, no other digits than ASCII's.
        whole: wants an integer, which ``3.0`` and ``1e3`` are and ``3.5`` is not.

    Returns:
        An int of the very same value where there is one and it is wanted, or where no float is
        equal to it; otherwise the nearest float, as everywhere in JSON. None where that would be an
        infinity, or zero by loss.
    """
    match = _NUMBER.fullmatch(text) if len(text) <= _MOST_DIGITS else None
    if match is None:
        return None
    fraction, exponent = match.groups()
    if fraction is None and exponent is None:
        return int(text)
    if exponent is not None and abs(int(exponent)) > _MOST_DIGITS:
        return None
    from decimal import Decimal

    numerator, denominator = Decimal(text).as_integer_ratio()
    if whole:
        return numerator if denominator == 1 else None
    nearest = float(text)
    if isinf(nearest) or (nearest == 0 and numerator):
        return None
    return numerator if denominator == 1 and nearest != numerator else nearest


def as_container(text: str) -> list[Any] | dict[str, Any] | None:
    """The list or object that a text holds as JSON, space around it allowed, or None."""
    if not text.lstrip(_SPACE).startswith(("[", "{")):
        return None
    try:
        value, end = _parse(text)
    except ValueError:
        return None
    return value if end == len(text) and isinstance(value, list | dict) else None


def is_listlike(text: str) -> bool:
    """Whether a text begins as a list does in JSON, well formed or not."""
    return text.lstrip(_SPACE).startswith("[")


def as_arguments(text: str) -> dict[str, Any] | None:
    """The JSON object that a whole call's arguments were sent as; None for ``null``.

    Raises:
        ValueError: for anything else; its message completes "must be a JSON object".
    """
    try:
        value, end = _parse(text)
    except ValueError as error:
        raise ValueError(f"not text that is no JSON ({error})") from None
    if value is not None and not isinstance(value, dict):
        raise ValueError(f"not a {_KINDS[type(value)]}")
    if end == len(text):
        return value
    if text[end] == "{":
        raise ValueError(
            f"and one only: another is glued to it at character {end + 1}, and which was meant is "
            "not guessed"
        )
    raise ValueError(f"and nothing more: other text follows it at character {end + 1}")


def is_collapsed(value: Any) -> bool:
    """Whether a value has the form ``{"item": X}``, by which some write a list."""
    return isinstance(value, dict) and len(value) == 1 and value.get("item") is not None


def differences(before: Any, after: Any, path: tuple[str | int, ...] = ()) -> Iterator[Repair]:
    """Every place where a repaired value is another one, in the order of what was sent.

    Args:
        before: the value as it was sent.
        after: the repaired one, which shares with it whatever was not repaired.
        path: where both stand.
    """
    if before is after:
        return
    if isinstance(before, dict) and isinstance(after, dict):
        for key, old in before.items():
            yield from differences(old, after[key], (*path, key))
    elif isinstance(before, list | tuple) and isinstance(after, list | tuple):
        for index, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from differences(old, new, (*path, index))
    else:
        yield Repair(place(path), _kind(before, after), shorten(before), shorten(after))


def _kind(before: Any, after: Any) -> str:
    if isinstance(after, dict):
        return "json"
    if isinstance(after, list):
        if is_collapsed(before):
            # An element that still has the form was put into a list with it.
            was_kept = not is_collapsed(before["item"]) and len(after) == 1
            return "list" if was_kept and is_collapsed(after[0]) else "item"
        # Text that begins like a list is read as one, and never put into another.
        return "json" if isinstance(before, str) and is_listlike(before) else "list"
    if after is None:
        return "null"
    return "boolean" if isinstance(after, bool) else "number"


def _parse(text: str) -> tuple[Any, int]:
    """The first JSON value of a text, and where what follows it begins.

    Raises:
        ValueError: when there is none, or it is longer or deeper than is looked at.
    """
    if len(text) > MOST_TEXT:
        raise ValueError(f"it is longer than {MOST_TEXT} characters")
    start = len(text) - len(text.lstrip(_SPACE))
    try:
        value, end = DECODER.raw_decode(text, start)
        if "\\u" in text:  # an escape may have spelt half a character, which is not handed on
            value = DECODER.decode(utf8(dumps(value, ensure_ascii=False)))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    rest = text[end:]
    return value, end + len(rest) - len(rest.lstrip(_SPACE))
