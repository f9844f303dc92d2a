"""Whether a program that states which Pythons it is for can run on this one.

The statement is a version specifier, as ``requires-python`` of a project has it: ``>=3.11,<4``, or
``!=3.12.*``. A Python that is no release yet counts as the release that it will be, which is how
installers see it.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_OPERATORS = (">=", "<=", "==", "!=", "~=", ">", "<")
_EARLIER = ("a", "b", "rc", ".dev")


def unfit(requires: str, running: Sequence[int] = sys.version_info[:3]) -> str:
    """Why a program that is for these Pythons does not run on one; empty where it does.

    Args:
        requires: a version specifier.
        running: the number of the release that would run it.
    """
    release = tuple(running)
    own = "this is Python " + ".".join(map(str, release))
    try:
        fits = [_admits(one.strip(), release) for one in requires.split(",")]
    except ValueError:
        shown = ascii(requires if len(requires) <= 80 else requires[:77] + "...")
        return f"says in a form that cannot be read which Python it is for: {shown} ({own})"
    return "" if all(fits) else f"is for Python {' '.join(requires.split())}, and {own}"


def is_readable(requires: str) -> bool:
    """Whether a version specifier has the form that `unfit` reads."""
    try:
        return bool([_admits(one.strip(), (0,)) for one in requires.split(",")])
    except ValueError:
        return False


def _admits(clause: str, running: tuple[int, ...]) -> bool:
    """Whether one comparison lets a release pass.

    Raises:
        ValueError: it is no comparison, or one that is no matter of order: ``===``.
    """
    for operator in _OPERATORS:
        if clause.startswith(operator):
            break
    else:
        raise ValueError
    text = clause[len(operator) :].strip()
    if text.endswith(".*") and operator in ("==", "!="):
        return _begins(running, _numbers(text[:-2])) is (operator == "==")
    stated, is_earlier = _release(text)
    # No release is the same as what came before one of the same number: it comes after that.
    order = _compared(running, stated) or int(is_earlier)
    if operator == "~=":
        if len(stated) < 2:
            raise ValueError
        return order >= 0 and _begins(running, stated[:-1])
    return {
        ">=": order >= 0,
        "<=": order <= 0,
        "==": order == 0,
        "!=": order != 0,
        ">": order > 0,
        "<": order < 0,
    }[operator]


def _release(text: str) -> tuple[tuple[int, ...], bool]:
    """A release, and whether what is named only led to it, as ``4.0a1``."""
    for mark in _EARLIER:
        before, found, number = text.partition(mark)
        if found:
            (_,) = _numbers(number)
            return _numbers(before), True
    return _numbers(text), False


def _numbers(text: str) -> tuple[int, ...]:
    parts = text.split(".")
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise ValueError
    return tuple(map(int, parts))


def _compared(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    """Negative, 0 or positive, as a release comes before another, is the same, or comes after."""
    length = max(len(one), len(other))
    first, second = _long(one, length), _long(other, length)
    return (first > second) - (first < second)


def _begins(running: tuple[int, ...], stated: tuple[int, ...]) -> bool:
    return _long(running, len(stated))[: len(stated)] == stated


def _long(release: tuple[int, ...], length: int) -> tuple[int, ...]:
    return release + (0,) * (length - len(release))
