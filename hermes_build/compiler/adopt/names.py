"""Names that every provider accepts, for tools that came under other names."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from hermes_build.ir import RESERVED_TOOLSETS, is_name

_LENGTH = 64


@dataclass(frozen=True, slots=True)
class Given:
    """The name that one wanted name became; ``rival`` is the one that it had to give way to."""

    name: str
    rival: str | None = None


def is_valid(name: str) -> bool:
    """Whether a spec may carry the name as it is."""
    return is_name(name) and name not in RESERVED_TOOLSETS


def assign_names(wanted: Sequence[str]) -> list[Given]:
    """Give each wanted name one of its own that every provider accepts, in the same order.

    A name that is fine stays, at its first place; the others are cleaned, and counted up
    (``_2``, ``_3``) where they meet one that is given already. Two names meet when they differ
    in case alone, or in ``-`` and ``_`` alone, as the modules made from them would.
    """
    used: dict[str, str] = {}
    given: dict[int, Given] = {}
    for nth, name in enumerate(wanted):
        if is_valid(name) and _fold(name) not in used:
            used[_fold(name)] = name
            given[nth] = Given(name)
    counts: dict[str, int] = {}
    for nth, name in enumerate(wanted):
        if nth not in given:
            given[nth] = _free(_clean(name), used, counts)
    return [given[nth] for nth in range(len(wanted))]


def _fold(name: str) -> str:
    return name.replace("-", "_").casefold()


def _free(base: str, used: dict[str, str], counts: dict[str, int]) -> Given:
    rival = used.get(_fold(base))
    name = base
    while _fold(name) in used:
        counts[base] = counts.get(base, 1) + 1
        end = f"_{counts[base]}"
        name = base[: _LENGTH - len(end)] + end
    used[_fold(name)] = name
    return Given(name, rival)


def _clean(name: str) -> str:
    """The nearest name of the form that providers accept; too long ones end in a short hash."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    plain = re.sub(r"[^A-Za-z0-9_-]+", "_", plain)
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    if not plain.strip("_-"):
        return f"tool_{digest}"
    if not re.match(r"[A-Za-z_]", plain):
        plain = f"_{plain}"
    if plain in RESERVED_TOOLSETS:
        plain = f"{plain}_tools"
    return plain if len(plain) <= _LENGTH else f"{plain[: _LENGTH - 9]}_{digest}"
