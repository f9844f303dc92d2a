"""Data of packages: what source names is taken in, and runs from the bundle."""

# ruff: noqa: E501 -- programs on a line each

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_build.compiler.bundling.build import write_hermes
from hermes_build.compiler.diagnostics import Findings
from hermes_build.compiler.project import read_project
from hermes_build.runtime.bundles import open_bundle
from tests.bundling.programs import codes, made, program
from tests.command_line import handler, write

DATA = {
    "handlers/data/__init__.py": "",
    "handlers/data/a.txt": "from a",
    "handlers/data/deep/b.txt": "from b",
    "handlers/data/unread.txt": "",
    "handlers/data/program.py": "from handlers.words import WORD\n",
}
HERE = "from importlib import resources\nfrom importlib.resources import files\nimport pkgutil\n"


def reading(*lines: str) -> dict[str, str | bytes]:
    """A program one of whose tools gives what it reads."""
    text = handler("tell", *lines)
    settings = {"pyproject.toml": "[tool.hermes-build]\n"}
    return {**DATA, **settings, "handlers/tell.py": HERE + text}


def taken(root: Path) -> set[str]:
    """The data of the package that is in a bundle."""
    bundle = made(root, "talk")
    assert bundle.manifest is not None, [one.message for one in bundle.findings]
    assert bundle.findings == ()
    prefix = "program/handlers/data/"
    return {one.removeprefix(prefix) for one in bundle.contents.files if one.startswith(prefix)}


@pytest.mark.parametrize(
    ("lines", "data", "result"),
    [
        (("return files('handlers.data').joinpath('a.txt').read_text()",), "a.txt", "from a"),
        (("return (files('handlers.data') / 'deep' / 'b.txt').read_text()",), "deep/b.txt", "from b"),
        (("return files('handlers').joinpath('data', 'a.txt').read_text()",), "a.txt", "from a"),
        (("return files(__package__).joinpath('data/a.txt').read_bytes().decode()",), "a.txt", "from a"),
        (("import handlers.data as data", "return files(data).joinpath('a.txt').read_text()"), "a.txt", "from a"),
        (("from . import data", "return files(data).joinpath('a.txt').read_text()"), "a.txt", "from a"),
        (("return resources.read_text('handlers.data', 'a.txt')",), "a.txt", "from a"),
        (("return pkgutil.get_data('handlers.data', 'deep/b.txt').decode()",), "deep/b.txt", "from b"),
        (("name = 'a.txt'", "return files('handlers.data').joinpath(name).read_text()"), "a.txt", "from a"),
    ],
)  # fmt: skip
def test_data_that_is_named_in_source_is_taken_in_and_read_from_the_bundle(
    tmp_path: Path, lines: tuple[str, ...], data: str, result: str
) -> None:
    root = program(tmp_path / "p", reading(*lines))
    assert taken(root) - {"__init__.py"} == {data}
    bundle = made(root, "talk")
    write_hermes(bundle, read_project(root, Findings()), str(tmp_path / "x.hermes"))
    with open_bundle(str(tmp_path / "x.hermes")) as registry:
        assert registry.call("tell", {"path": "p"}) == result


def test_the_text_of_a_module_that_is_read_brings_the_module_and_what_it_needs(
    tmp_path: Path,
) -> None:
    root = program(
        tmp_path, reading("return files('handlers.data').joinpath('program.py').read_text()")
    )
    assert taken(root) == {"__init__.py", "program.py"}
    assert "program/handlers/words.py" in made(root, "talk").contents.files


@pytest.mark.parametrize(
    "given", ["*('handlers.data', 'a.txt')", "**args", "'handlers.data', *args"]
)
def test_data_whose_arguments_are_unpacked_is_a_finding(tmp_path: Path, given: str) -> None:
    root = program(tmp_path, reading(f"return pkgutil.get_data({given})"))
    assert [one.code for one in made(root, "talk").findings] == ["HB8116"]


@pytest.mark.parametrize(
    "line",
    [
        "return files('handlers.data').joinpath(args['path']).read_text()",
        "return files('handlers.data').joinpath(f\"{args['path']}.txt\").read_text()",
        "return str([one.name for one in files('handlers.data').iterdir()])",
        "where = files('handlers.data')",
        "return str(files('handlers').joinpath('data').is_dir())",
        "return pkgutil.get_data('handlers.data', args['path'])",
        "return str(list(resources.contents('handlers.data')))",
        "return resources.read_text('handlers.data', args['path'])",
    ],
)
def test_data_that_is_computed_is_a_finding_until_it_is_told(tmp_path: Path, line: str) -> None:
    root = program(tmp_path, reading(line))
    (one,) = made(root, "talk").findings
    assert one.code == "HB8116"
    assert '`bundle-data = ["handlers/data/*"]`' in one.help[-1]
    write(root, {"pyproject.toml": '[tool.hermes-build]\nbundle-data = ["handlers/data/*.txt"]\n'})
    assert taken(root) - {"__init__.py"} == {"a.txt", "unread.txt"}


def test_a_package_whose_name_is_computed_is_a_finding(tmp_path: Path) -> None:
    root = program(tmp_path, reading("return files(args['path']).joinpath('a.txt').read_text()"))
    (one,) = made(root, "talk").findings
    assert (one.code, one.label) == ("HB8116", "the package's name is computed")


def test_a_package_without_data_and_data_that_is_elsewhere_are_none(tmp_path: Path) -> None:
    lines = (
        "from importlib import resources",
        "resources.files('click').joinpath(args['path'])",
        "resources.files('handlers.plain').joinpath(args['path'])",
        "resources.files('handlers.plain').joinpath('missing.txt')",
        "return 'done'",
    )
    more = {f"handlers/plain/{name}": "" for name in ("__init__.py", "py.typed", "a.pyi", ".b")}
    assert codes(program(tmp_path, {**more, "handlers/tell.py": handler("tell", *lines)})) == []


def test_data_that_is_named_is_judged_like_all_data(tmp_path: Path) -> None:
    root = program(tmp_path, reading("return files('handlers.data').joinpath('a.txt').read_text()"))
    (root / "handlers/data/a.txt").write_text('password = "hunter' + '2"\n')
    assert codes(root, "talk") == ["HB8110"]
