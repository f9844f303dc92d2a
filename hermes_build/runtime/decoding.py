"""JSON as its standard has it, which knows no NaN, no infinity, and no name twice in one object."""

from __future__ import annotations

from json import JSONDecoder, detect_encoding
from math import isinf

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

_SHOWN = 40
"""How many characters of what is refused are told."""


def decode(text: str | bytes) -> Any:
    """Read a whole text, or bytes of it in UTF-8, UTF-16 or UTF-32.

    Raises:
        ValueError: it is not JSON, or is nested too deeply.
    """
    if not isinstance(text, str):
        text = text.decode(detect_encoding(text)).removeprefix("\ufeff")
    try:
        return DECODER.decode(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def no_constant(name: str) -> NoReturn:
    """What a decoder is given to refuse NaN and the infinities.

    Raises:
        ValueError: always.
    """
    raise ValueError(f"{name} is no JSON value")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in found if names.count(name) > 1)
        raise ValueError(f"the name {_short(twice)!r} stands twice in one object")
    return found


def _finite(digits: str) -> float:
    number = float(digits)
    if isinf(number):
        raise ValueError(f"{_short(digits)} is larger than any number that a program can hold")
    return number


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


DECODER = JSONDecoder(object_pairs_hook=_unique, parse_float=_finite, parse_constant=no_constant)
"""Reads by these rules, and raises ValueError where they are broken."""
