"""What a file is follows from its content, and its name must not say that it is something else."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_build.bundle.archive import write_archive
from hermes_build.bundle.verifying import verify
from hermes_build.bundle.wheel import ENTRY, About, wheel_entries
from hermes_build.runtime.bundles import open_bundle
from tests.bundle import making
from tests.bundle.refusing import verify_refuses
from tests.command_line import hermes

FILES = {**making.program(), ENTRY: b"registry = None\n"}
TREE = making.whole(FILES)
WHEEL = "hermes_bundle_small-1.0-py3-none-any.whl"


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    """The wheel of a bundle."""
    write_archive(wheel_entries(TREE, About("1.0")), tmp_path / WHEEL)
    return tmp_path / WHEEL


def test_a_wheel_is_known_by_its_content_whatever_it_is_called(wheel: Path) -> None:
    for name in (WHEEL, "download", "small.zip"):
        with verify(wheel.rename(wheel.with_name(name))) as opened:
            assert opened.container.kind == "wheel"
            assert opened.digest == making.manifest(FILES).digest
        wheel = wheel.with_name(name)


def test_a_wheel_that_is_called_a_bundle_is_refused_with_what_it_is(wheel: Path) -> None:
    error = verify_refuses(wheel.rename(wheel.with_name("small.hermes")), "HB8001")
    assert error.message == (
        "the file is a wheel, and its name says that it is an archive of a bundle"
    )
    assert error.help == "rename it: the name of a wheel ends with `.whl`"


def test_a_bundle_that_is_called_a_wheel_is_refused_with_what_it_is(tmp_path: Path) -> None:
    path = making.archive(tmp_path / WHEEL, TREE)
    error = verify_refuses(path, "HB8001")
    assert error.message.startswith("the file is an archive of a bundle, and its name says")
    assert "`.hermes`" in error.help
    done = hermes(tmp_path, "verify", WHEEL)
    assert (done.code, done.codes) == (1, ["HB8001"])
    verify(path.rename(tmp_path / "small")).close()


@pytest.mark.parametrize(
    "name",
    [
        "hermes_bundle_small-1.1-py3-none-any.whl",
        "hermes_bundle_small-1.0.0-py3-none-any.whl",
        "hermes_bundle_large-1.0-py3-none-any.whl",
        "hermes_bundle_small-1.0-cp311-none-any.whl",
        "small.whl",
    ],
)
def test_a_wheel_by_the_name_of_another_is_refused_with_its_own(wheel: Path, name: str) -> None:
    error = verify_refuses(wheel.rename(wheel.with_name(name)), "HB8007")
    assert error.help == f"rename it to {WHEEL}"


def test_what_holds_no_bundle_is_named_by_what_it_is_called(tmp_path: Path) -> None:
    for name, message in (("x.whl", "the wheel holds no bundle"), ("x.hermes", "is no bundle")):
        path = making.archive(tmp_path / name, {"a.py": b""})
        assert message in verify_refuses(path, "HB8001").message


def test_a_program_that_opens_a_bundle_judges_by_content_too(wheel: Path) -> None:
    with open_bundle(wheel.rename(wheel.with_name("download"))) as registry:
        assert registry.bundle.container.kind == "wheel"
