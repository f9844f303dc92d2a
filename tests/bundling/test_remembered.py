"""What one machine remembers of the files of bundles changes what a run costs, and no answer."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from hermes_build.compiler.bundling.build import Bundle, Judged, make_bundle
from hermes_build.compiler.bundling.imports import read_imports
from hermes_build.compiler.bundling.remembered import FILE, Remembered, remembering
from hermes_build.compiler.diagnostics import Findings
from hermes_build.compiler.project import read_project
from hermes_build.compiler.state import STATE
from tests.bundling.programs import FILES, program
from tests.command_line import write

SECRET = "hunter" + "2"
ODD = """\
import a.b, c as d
from . import sibling
from .sibling import *
try:
    from e import f
except ImportError:
    f = None
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    import g
import importlib
importlib.import_module(name())
importlib.import_module("h." + name())
open(__file__)
__all__ = ["x", "y"]
"""


def made(root: Path, stamp: str = "this") -> Bundle:
    """Make a bundle as the next run would, by what the last one remembered."""
    project = read_project(root, Findings())
    return make_bundle(project, (), Judged(), remembering(root, stamp))


def codes(root: Path, stamp: str = "this") -> list[str]:
    return [one.code for one in made(root, stamp).findings]


def imports(root: Path, source: bytes, digest: str, stamp: str = "this") -> object:
    """What a run says that a module of this name imports, remembering what it reads."""
    known = remembering(root, stamp)
    found = known.imports(source, digest, "p/m.py", "p.m", is_package=False)
    known.save()
    return found


@pytest.mark.parametrize("source", [ODD, ODD.replace('["x", "y"]', "[z]"), "", "x = 1\n"])
def test_what_a_module_imports_is_remembered_to_the_last_place(tmp_path: Path, source: str) -> None:
    expected = read_imports(source.encode(), "p/m.py", "p.m", is_package=False)
    assert imports(tmp_path, source.encode(), "1") == expected
    # With the same digest, the source is not even looked at.
    assert imports(tmp_path, b"import another", "1") == expected
    assert imports(tmp_path, b"", "2") == read_imports(b"", "p/m.py", "p.m", is_package=False)


def test_another_stamp_forgets(tmp_path: Path) -> None:
    first = imports(tmp_path, b"import a", "1")
    assert imports(tmp_path, b"import b", "1", "another") != first


def test_the_memory_of_another_place_is_none(tmp_path: Path) -> None:
    first = imports(tmp_path / "one", b"import a", "1")
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    assert imports(tmp_path / "two", b"import b", "1") != first


@pytest.mark.parametrize("cut", [0, 10, -1, -30])
def test_a_damaged_memory_changes_no_answer(tmp_path: Path, cut: int) -> None:
    first = imports(tmp_path, b"import a", "1")
    path = tmp_path / STATE / FILE
    path.write_bytes(path.read_bytes()[:cut] + b"\n")
    assert imports(tmp_path, b"import a", "1") == first


def test_nothing_is_remembered_where_nobody_asked_for_it(tmp_path: Path) -> None:
    known = Remembered()
    known.keep("a", "1", True)
    known.save()
    assert known.recall("a", "1") is None
    assert not any(tmp_path.iterdir())


def test_every_finding_is_made_again_by_a_run_that_remembers(tmp_path: Path) -> None:
    words = f'{FILES["handlers/words.py"]}__import__(WORD + x)\npassword = "{SECRET}"\n'
    more = {
        "handlers/words.py": words,
        "handlers/tell.py": FILES["handlers/tell.py"] + "import surely_not_installed\n",
    }
    root = program(tmp_path, more)
    first = made(root)
    assert [one.code for one in first.findings] == ["HB8104", "HB8101", "HB8110"]
    assert made(root).findings == first.findings


def test_what_changes_is_judged_again(tmp_path: Path) -> None:
    root = program(tmp_path)
    assert codes(root) == codes(root) == []
    write(root, {"handlers/words.py": f'WORD = "three"\npassword = "{SECRET}"\n'})
    assert codes(root) == ["HB8110"]
    write(root, {"handlers/words.py": 'WORD = "three"\nimport surely_not_installed\n'})
    assert codes(root) == ["HB8104"]
    write(root, {"handlers/words.py": 'WORD = "three"\n'})
    assert codes(root) == []


@pytest.mark.skipif(os.name != "posix", reason="needs paths of this kind")
def test_a_project_that_moved_must_not_name_its_new_place(tmp_path: Path) -> None:
    place = tmp_path / "new" / "place"
    words = f'WORD = "three"\nHERE = "{place}/x"\n'
    root = program(tmp_path / "old" / "place", {"handlers/words.py": words})
    assert codes(root) == codes(root) == []
    place.parent.mkdir()
    root.rename(place)
    assert codes(place) == ["HB8109"]
