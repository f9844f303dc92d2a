"""Point 22 of the contract: which modules count as those that register tools."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from hermes_build.runtime.discovery import discover, import_discovered

REGISTERS = "from somewhere import registry\n\nregistry.register(name='{name}', toolset='x')\n"

MODULES = {
    "__init__": REGISTERS.format(name="never"),
    "z_last": REGISTERS.format(name="z"),
    "a_first": "@registry.handler('a')\ndef handle(args): ...\n",
    "m_middle": "@m.implements\nasync def handle(args): ...\n",
    "in_a_function": "def register(registry):\n    registry.register(name='no')\n",
    "in_a_condition": "if __name__ == '__main__':\n    registry.register(name='no')\n",
    "in_words": "'''registry.register(name='no')'''\n# registry.register(name='no')\n",
    "another_register": "import atexit\natexit.register(print)\n",
    "nothing": "X = 1\n",
    "broken": "registry.register(name='lost'\n",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package whose modules would leave a trace if they were run."""
    folder = tmp_path / "contract_plugins"
    folder.mkdir()
    for name, source in MODULES.items():
        (folder / f"{name}.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    return folder


def test_22_only_modules_with_a_registration_at_their_top_level_count_in_sorted_order(
    folder: Path,
) -> None:
    assert discover(folder) == ["a_first", "m_middle", "z_last"]


def test_22_modules_are_found_by_reading_and_not_by_running_them(folder: Path) -> None:
    (folder / "loud.py").write_text(
        "raise SystemExit('ran')\n" + REGISTERS.format(name="loud"), encoding="utf-8"
    )
    before = set(sys.modules)
    assert "loud" in discover(folder)
    assert set(sys.modules) == before


def test_22_the_packages_own_init_never_counts(folder: Path) -> None:
    assert "__init__" not in discover(folder)
    for path in folder.glob("*.py"):
        if path.stem != "__init__":
            path.unlink()
    assert discover(folder) == []
    report = import_discovered(folder)
    assert (report.imported, report.failed) == ((), ())
