"""Glob patterns for paths, with one meaning whichever program lists the files."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Sequence
from dataclasses import dataclass

MOST_CHOICES = 100
"""How many patterns the choices ``{a,b}`` of one pattern may stand for."""

_INNERMOST = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True, slots=True)
class Glob:
    """A pattern, ready to be held against paths.

    ``names`` is set where only the file's name counts: then it holds plain patterns for it.
    """

    names: tuple[str, ...]
    alternatives: tuple[tuple[re.Pattern[str] | None, ...], ...]

    def matches(self, path: str) -> bool:
        """Whether a relative path with forward slashes fits."""
        parts = path.split("/")
        if self.names:
            parts = parts[-1:]
        return any(_fits(alternative, parts) for alternative in self.alternatives)


def compile_glob(pattern: str) -> Glob:
    """Read a pattern.

    ``*`` and ``?`` stay inside one name, ``**`` stands for any number of folders, ``[a-z]`` and
    ``[!a-z]`` are sets, ``{a,b}`` is a choice. A pattern without ``/`` is held against the file's
    name, any other against the whole path; one that ends in ``/`` means everything below.

    Raises:
        ValueError: for braces that do not pair, or that stand for too many patterns.
    """
    plain = _expanded(pattern)
    by_name = all("/" not in one for one in plain)
    split = [[part for part in one.split("/") if part not in ("", ".")] for one in plain]
    for one, parts in zip(plain, split, strict=True):
        if one.endswith("/"):
            parts.append("**")
    alternatives = tuple(
        tuple(None if part == "**" else re.compile(fnmatch.translate(part)) for part in parts)
        for parts in split
    )
    return Glob(tuple(plain) if by_name else (), alternatives)


def _expanded(pattern: str) -> list[str]:
    """The patterns without choices that a pattern stands for, each once."""
    pending, done = [pattern], dict[str, None]()
    while pending:
        one = pending.pop()
        match = _INNERMOST.search(one)
        if match:
            pending += [
                one[: match.start()] + choice + one[match.end() :]
                for choice in reversed(match[1].split(","))
            ]
        elif "{" in one or "}" in one:
            raise ValueError("a brace has no partner")
        else:
            done[one] = None
        if len(pending) + len(done) > MOST_CHOICES:
            raise ValueError(f"the choices in braces stand for more than {MOST_CHOICES} patterns")
    return list(done)


def _fits(pattern: Sequence[re.Pattern[str] | None], parts: Sequence[str]) -> bool:
    """Match part by part; the row of reachable ends keeps many ``**`` from multiplying."""
    reach = {0}
    for one in pattern:
        if one is None:
            reach = set(range(min(reach, default=len(parts) + 1), len(parts) + 1))
        else:
            reach = {at + 1 for at in reach if at < len(parts) and one.match(parts[at])}
        if not reach:
            return False
    return len(parts) in reach
