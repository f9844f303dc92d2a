"""Writing a bundle as a wheel, which installers install and package indexes keep.

Nothing is built, and no build backend runs: a wheel holds the tree that every other container
holds, and says what is known of it from the manifest and the project's ``pyproject.toml``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hermes_build.bundle.format import Manifest
from hermes_build.bundle.wheel import About
from hermes_build.compiler.bundling.requirements import licence_of, requirements_of, version_of


def about_wheel(manifest: Manifest, table: Mapping[str, Any]) -> About:
    """What a wheel says of its bundle; ``table`` is the ``[project]`` of ``pyproject.toml``.

    Raises:
        BundleError: ``HB8151`` or ``HB8152``, the project says what no wheel of a bundle can.
    """
    return About(
        version_of(table, manifest.digest),
        requirements_of(manifest.dependencies, table),
        licence_of(table),
    )
