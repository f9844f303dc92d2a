"""The list of installed bundles: which versions there are of each name, and the current one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from json import dumps, loads

from hermes_build.bundle.format import BundleError, is_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

FORMAT = 1
"""The format of ``installed.json``: it grows when an older reader could misread a newer one."""

_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Installed:
    """One name, and the digests of its versions.

    ``versions`` are in the order in which one goes back: each replaced the one before it. Those
    behind ``current`` were gone back from. Digests are of bundles, in 64 hexadecimal digits.
    """

    name: str
    current: str
    versions: tuple[str, ...]

    @property
    def earlier(self) -> tuple[str, ...]:
        """The versions before the current one, the oldest first."""
        return self.versions[: self.versions.index(self.current)]

    def with_version(self, digest: str) -> Installed:
        """Return what is installed once a version has replaced the current one."""
        if digest == self.current:
            return self
        versions = [one for one in self.versions if one != digest]
        versions.insert(versions.index(self.current) + 1, digest)
        return Installed(self.name, digest, tuple(versions))

    def trimmed(self, keep: int) -> Installed:
        """Return the current version and at most so many before it."""
        earlier = self.earlier
        kept = earlier[max(len(earlier) - keep, 0) :]
        return Installed(self.name, self.current, (*kept, self.current))

    def chosen(self, to: str) -> str:
        """Return the version that ``to`` begins, or, where it is empty, the one before the current.

        Raises:
            BundleError: ``HB8022`` there is none before; ``HB8021`` no version has a digest that
                begins so, or several have.
        """
        if not to:
            if not self.earlier:
                raise BundleError(
                    "HB8022",
                    f"there is no version of `{self.name}` before {self.current[:12]}",
                    "",
                    "`hermes-build install FILE` installs another one",
                )
            return self.earlier[-1]
        start = to.lower().removeprefix("sha256:")
        fitting = [one for one in self.versions if one.startswith(start)]
        if len(fitting) != 1 or not start:
            kept = ", ".join(one[:12] for one in self.versions)
            what = (
                "more than one digest begins" if fitting else "no version has a digest that begins"
            )
            raise BundleError("HB8021", f"{what} with {to}", "", f"these are kept: {kept}")
        return fitting[0]


def digests(installed: Mapping[str, Installed]) -> set[str]:
    """Every version that a list names."""
    return {digest for one in installed.values() for digest in one.versions}


def written(installed: Mapping[str, Installed]) -> bytes:
    """The list as a file: JSON with sorted keys, which people can read."""
    document = {
        "format": FORMAT,
        "bundles": {
            name: {"current": one.current, "versions": one.versions}
            for name, one in installed.items()
        },
    }
    return (dumps(document, indent=2, sort_keys=True) + "\n").encode()


def parsed(data: bytes, path: str) -> dict[str, Installed]:
    """Read what `written` wrote; names are sorted.

    Raises:
        BundleError: ``HB8020``, it is something else, or of a newer format.
    """
    try:
        document: Any = loads(data.decode())
        found = document["format"]
        if type(found) is int and found > FORMAT:
            raise BundleError(
                "HB8020",
                f"{path} is of format {found}, and this hermes-build reads {FORMAT}",
                "",
                "install the hermes-build that wrote it, or a newer one",
            )
        if type(found) is not int or found != FORMAT:
            raise ValueError
        return {
            name: _row(name, one["current"], one["versions"])
            for name, one in sorted(document["bundles"].items())
        }
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise BundleError(
            "HB8020", f"{path} is not as hermes-build writes it", "", "undo what changed it"
        ) from error


def _row(name: str, current: str, versions: Iterable[str]) -> Installed:
    row = Installed(name, current, tuple(versions))
    fits = all(map(_DIGEST.fullmatch, row.versions)) and current in row.versions
    if not is_name(name) or not fits or len(set(row.versions)) != len(row.versions):
        raise ValueError
    return row
