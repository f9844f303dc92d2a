"""Which distribution a module comes from is told as Python's own metadata tell it."""

from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path

import pytest

from hermes_build.compiler.bundling.distributions import normalised
from hermes_build.compiler.bundling.installed import holders


def test_every_installed_module_has_the_distribution_that_it_comes_from() -> None:
    known = {
        name: {normalised(home) for home in homes}
        for name, homes in metadata.packages_distributions().items()
        if name.isidentifier() and len(set(homes)) == 1
    }
    names = sorted(known)
    assert len(names) > 20
    found = holders((name, ()) for name in names)
    assert {name: {home for _, home in rows} for name, rows in zip(names, found, strict=True)} == {
        name: known[name] for name in names
    }


def test_what_nobody_has_is_of_no_distribution() -> None:
    assert holders([("surely_not_installed", ("x",))]) == [[("surely_not_installed", None)]]


@pytest.mark.parametrize("record", [True, False])
def test_distributions_that_share_a_name_are_told_apart_by_their_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record: bool
) -> None:
    for name in ("one", "two"):
        info = tmp_path / f"shared_{name}-1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: Shared.{name}\nVersion: 1\n")
        rows = [f"shared/{name}/__init__.py,,", f'"shared/{name}/odd,name.py",,', ""]
        (info / "RECORD").write_text("\n".join(rows))
        if not record:
            (info / "top_level.txt").write_text("shared\n")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    assert holders([("shared", ("one", "two", "three")), ("shared.two", ())]) == [
        [("shared.one", "shared-one"), ("shared.two", "shared-two"), ("shared.three", None)],
        [("shared.two", "shared-two")],
    ]
