"""What a spec requires, and what it says where that is missing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from hermes_build.runtime.availability import Availability
from hermes_build.runtime.requirements import importable, unmet
from tests.availability.tools import SECRET, command, record
from tests.contract.programs import Clock


def test_a_tool_that_requires_nothing_is_available(availability: Availability) -> None:
    assert availability.missing(record(), None) == ()
    assert unmet({}) == ()


def test_every_named_variable_must_be_set_and_not_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    requires = {"env": ["HB_ONE", "HB_TWO", "HB_THREE"]}
    for name in requires["env"]:
        monkeypatch.delenv(name, raising=False)
    assert unmet(requires) == ("set HB_ONE, HB_TWO and HB_THREE",)
    monkeypatch.setenv("HB_ONE", SECRET)
    monkeypatch.setenv("HB_TWO", "")
    assert unmet(requires) == ("set HB_TWO and HB_THREE (HB_TWO is set, and empty)",)
    monkeypatch.setenv("HB_TWO", "0")
    assert unmet(requires) == ("set HB_THREE",)
    monkeypatch.setenv("HB_THREE", "x")
    assert unmet(requires) == ()


def test_one_of_the_alternatives_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    requires = {"any_env": ["HB_TAVILY", "HB_EXA"]}
    monkeypatch.delenv("HB_TAVILY", raising=False)
    monkeypatch.setenv("HB_EXA", "")
    assert unmet(requires) == ("set HB_TAVILY or HB_EXA (HB_EXA is set, and empty)",)
    monkeypatch.setenv("HB_EXA", SECRET)
    assert unmet(requires) == ()


def test_a_variable_is_read_each_time(
    availability: Availability, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HB_KEY", raising=False)
    assert availability.missing(record(env=["HB_KEY"]), None) == ("set HB_KEY",)
    monkeypatch.setenv("HB_KEY", "x")
    assert availability.missing(record(env=["HB_KEY"]), None) == ()
    monkeypatch.delenv("HB_KEY")
    assert availability.missing(record(env=["HB_KEY"]), None) == ("set HB_KEY",)


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the path, with packages whose import fails the test."""
    root = tmp_path / "packages"
    for path in ("hb_outer/__init__.py", "hb_outer/inner.py", "hb_space/leaf.py", "hb_alone.py"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("raise SystemExit('imported')\n")
    monkeypatch.syspath_prepend(root)
    return root


@pytest.mark.parametrize(
    ("module", "there"),
    [
        ("hb_outer", True),
        ("hb_outer.inner", True),
        ("hb_outer.missing", False),
        ("hb_outer.inner.deeper", False),
        ("hb_space.leaf", True),
        ("hb_alone", True),
        ("hb_alone.part", False),
        ("hb_missing", False),
        ("hb_missing.part", False),
        ("sys", True),
        ("os.path", True),
        ("importlib.metadata", True),
    ],
)
def test_a_module_is_found_without_importing_it(packages: Path, module: str, there: bool) -> None:
    before = set(sys.modules)
    assert importable(module) is there
    assert not {one for one in set(sys.modules) - before if one.startswith("hb_")}


def test_a_module_that_python_refuses_to_import_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "json", None)
    assert not importable("json")
    assert not importable("json.decoder_of_nobody")


def test_a_module_that_was_made_by_hand_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    module = type(sys)("hb_by_hand")
    monkeypatch.setitem(sys.modules, "hb_by_hand", module)
    assert module.__spec__ is None
    assert importable("hb_by_hand")
    assert not importable("hb_by_hand.part")


def test_a_missing_module_is_named_with_what_to_do() -> None:
    assert unmet({"python": ["json", "hb_missing"]}) == (
        "install the Python package that provides `hb_missing`",
    )
    assert unmet({"python": ["hb_missing", "hb_lost.part"]}) == (
        "install the Python packages that provide `hb_missing` and `hb_lost.part`",
    )


def test_a_command_must_be_on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command(tmp_path, "hb-one")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert unmet({"commands": ["hb-one"]}) == ()
    assert unmet({"commands": ["hb-one", "hb-two"]}) == ("install `hb-two`, which is not on PATH",)
    monkeypatch.delenv("PATH")
    assert unmet({"commands": ["hb-one", "hb-two"]}) == (
        "install `hb-one` and `hb-two`, which are not on PATH",
    )


@pytest.mark.parametrize(
    ("system", "platforms", "said"),
    [
        ("linux", ["linux"], ()),
        ("darwin", ["linux", "macos"], ()),
        ("win32", ["windows"], ()),
        ("win32", ["linux", "macos"], ("runs on linux and macos, not on windows",)),
        ("darwin", ["linux"], ("runs on linux, not on macos",)),
        ("freebsd14", ["linux"], ("runs on linux, not on freebsd14",)),
    ],
)
def test_a_tool_runs_on_the_platforms_it_names(
    monkeypatch: pytest.MonkeyPatch, system: str, platforms: list[str], said: tuple[str, ...]
) -> None:
    monkeypatch.setattr(sys, "platform", system)
    found = unmet({"platforms": platforms})
    monkeypatch.undo()
    assert found == said


def test_each_kind_of_requirement_has_a_sentence_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("HB_A", "HB_B"):
        monkeypatch.delenv(name, raising=False)
    requires = {
        "commands": ["hb-none"],
        "python": ["hb_none"],
        "any_env": ["HB_B"],
        "env": ["HB_A"],
        "platforms": ["beos"],
        "check": True,
    }
    assert [one.split()[0] for one in unmet(requires)] == [
        "runs", "set", "set", "install", "install",
    ]  # fmt: skip


def test_what_is_installed_is_remembered_for_a_while(
    packages: Path, availability: Availability, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(packages))
    tool = record(python=["hb_later"], commands=["hb-later"])
    lacking = availability.missing(tool, None)
    assert len(lacking) == 2
    (packages / "hb_later").mkdir()
    (packages / "hb_later" / "__init__.py").write_text("")
    command(packages, "hb-later")
    sys.path_importer_cache.pop(str(packages), None)
    clock.now += 29.9
    assert availability.missing(tool, None) == lacking
    clock.now += 0.2
    assert availability.missing(tool, None) == ()
    sys.path.remove(str(packages))
    assert availability.missing(tool, None) == ()
    availability.invalidate()
    assert availability.missing(tool, None) == lacking[:1]


def test_a_changed_path_is_seen_at_once(
    tmp_path: Path, availability: Availability, monkeypatch: pytest.MonkeyPatch
) -> None:
    command(tmp_path / "bin", "hb-tool")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert availability.missing(record(commands=["hb-tool"]), None) != ()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert availability.missing(record(commands=["hb-tool"]), None) == ()
