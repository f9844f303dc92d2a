"""What a bundle asks of other distributions, in which bounds, and what its own version is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from hermes_build.bundle.format import BundleError

RUNTIME_REQUIRES = ("jsonschema-rs>=0.61.2,<0.62",)
"""What the runtime in a bundle imports, as hermes-build itself requires it."""

_OWN = "hermes-build"
_FILE = "pyproject.toml"


def requirements_of(
    dependencies: Mapping[str, str | None], table: Mapping[str, Any]
) -> tuple[str, ...]:
    """Every requirement of a bundle, sorted: the runtime's, and those of its dependencies.

    ``dependencies`` maps import names to distributions, as the manifest does. A distribution has
    the bounds that ``table``, the ``[project]`` of ``pyproject.toml``, gives it under
    ``dependencies``; else those of all its extras; else none.

    Raises:
        BundleError: ``HB8151``, one is required from a place and not by a version: what stands at a
            place can be another thing tomorrow.
    """
    wanted = {canonicalize_name(one) for one in dependencies.values() if one}
    wanted -= {_OWN, canonicalize_name(_text(table.get("name")))}
    found = {str(Requirement(one)) for one in RUNTIME_REQUIRES}
    fixed = {canonicalize_name(Requirement(one).name) for one in RUNTIME_REQUIRES}
    main, extras = _declared(table)
    for name in sorted(wanted - fixed):
        rows = [one for one in main if canonicalize_name(one.name) == name]
        rows = rows or [one for one in extras if canonicalize_name(one.name) == name]
        for one in rows:
            if one.url:
                raise BundleError(
                    "HB8151",
                    f"`{name}` is required from a place, and not by a version",
                    _FILE,
                    "publish it to a package index, or bring it into the project",
                )
            one.name = name
            found.add(str(one))
        if not rows:
            found.add(name)
    return tuple(sorted(found))


def _declared(table: Mapping[str, Any]) -> tuple[list[Requirement], list[Requirement]]:
    """The requirements under ``dependencies``, and those of all extras."""
    extras = table.get("optional-dependencies")
    lists = extras.values() if isinstance(extras, Mapping) else ()
    return (
        list(_parsed(table.get("dependencies"))),
        [one for rows in lists for one in _parsed(rows)],
    )


def _parsed(rows: object) -> Iterator[Requirement]:
    """The rows that are requirements; no installer takes a project with another one."""
    for row in rows if isinstance(rows, list) else ():
        try:
            yield Requirement(_text(row))
        except InvalidRequirement:
            continue


def version_of(table: Mapping[str, Any], digest: str) -> str:
    """The version of a bundle's wheel, in its normal form.

    It is the project's own. Where that is not written down, because a build backend computes it, it
    is ``0.0.0+b`` and the first digits of the bundle's digest: nobody asks the backend, and nothing
    else tells two such bundles apart.

    Raises:
        BundleError: ``HB8152``, the project's version is none.
    """
    stated = table.get("version")
    if stated is None:
        return f"0.0.0+b{digest[:12]}"
    try:
        return str(Version(_text(stated)))
    except InvalidVersion:
        raise BundleError(
            "HB8152",
            f"the project's version is none that a wheel can have: {stated!r}",
            _FILE,
            "write it as PEP 440 has it, such as `1.4.0`",
        ) from None


def licence_of(table: Mapping[str, Any]) -> str:
    """The project's licence as SPDX expression; empty where it does not state one."""
    try:
        return canonicalize_license_expression(_text(table.get("license")))
    except InvalidLicenseExpression:
        return ""


def least_python(requires_python: str) -> str:
    """The first version of Python, such as ``3.11``, that a specifier lets pass."""
    try:
        allowed = SpecifierSet(requires_python)
    except InvalidSpecifier:
        allowed = SpecifierSet()
    stated = [
        one.version.removesuffix(".*") for one in allowed if one.operator in (">=", "~=", "==")
    ]
    return max(["3.11", *stated], key=Version)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
