"""A template of the project replaces the built-in one, or is reported and writes nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.command_line import (
    contents,
    hermes,
    write,
)


def template(name: str) -> str:
    return (Path(__file__).parents[2] / "templates" / name).read_text()


def test_a_template_of_the_project_replaces_the_built_in_one(root: Path) -> None:
    before = contents(root)
    text = "# Ours since 2024.\n" + template("tool.py.jinja")
    write(root, {"templates/tool.py.jinja": text})
    stale = hermes(root, "compile", "--check")
    assert stale.code == 1
    assert "HB5004" in stale.codes
    assert hermes(root, "compile").code == 0
    assert (root / "generated/tools/read_file.py").read_text().startswith("# Ours since 2024.\n")
    assert hermes(root, "check").code == 0
    (root / "templates/tool.py.jinja").unlink()
    assert hermes(root, "compile").code == 0
    assert contents(root) == before


@pytest.mark.parametrize(
    ("name", "text", "code", "line"),
    [
        ("tool.py.jinja", "{% for x in %}\n", "HB5007", 1),
        ("tool.py.jinja", "# One\n{{ nonsense }}\n", "HB5007", 2),
        ("tool.py.jinja", "\n\n{{ name.__class__.__mro__ }}\n", "HB5007", 3),
        ("registry.py.jinja", b"\xff\xfe", "HB5007", 1),
        ("package.py.jinja", "{{ docstring | docstring }}\n{{ docstring.x }}", "HB5007", 2),
        ("package.py.jinja", "\n{{ docstring.encode('no such') }}", "HB5007", 2),
        ("package.py.jinja", "\n{% include 'package.py.jinja' %}", "HB5007", 2),
        ("tool.py.jinja", "import os\nos.system('true')\n", "HB5006", None),
        ("tool.py.jinja", "def (\n", "HB5006", None),
        ("registry.py.jinja", "registry = eval('1')\n", "HB5006", None),
        ("package.py.jinja", "import os\n", "HB5006", None),
    ],
)
def test_a_broken_template_is_a_finding_and_writes_nothing(
    root: Path, name: str, text: str | bytes, code: str, line: int | None
) -> None:
    write(root, {f"templates/{name}": text})
    before = contents(root)
    done = hermes(root, "compile", "--no-cache", "--format", "concise")
    assert (done.code, done.codes) == (1, [code])
    if line is not None:
        assert done.out.startswith(f"templates/{name}:{line}:")
    assert contents(root) == before


def test_a_template_that_is_no_file_is_a_finding(root: Path) -> None:
    place = root / "templates/tool.py.jinja"
    place.mkdir(parents=True)
    assert hermes(root, "compile").codes == ["HB5007"]
    place.rmdir()
    os.mkfifo(place)
    done = hermes(root, "compile")
    assert (done.code, done.codes) == (1, ["HB5007"])
    assert "it is not a file" in done.out
    assert str(root) not in done.out
