"""Small projects to make bundles of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from hermes_build.bundle.verifying import Opened, verify
from hermes_build.compiler.bundling.build import Bundle, Judged, make_bundle, write_hermes
from hermes_build.compiler.diagnostics import Findings
from hermes_build.compiler.judge import judge
from hermes_build.compiler.memory import forgetful
from hermes_build.compiler.project import Project, read_project
from tests.command_line import handler, hermes, spec, write

FILES = {
    "pyproject.toml": '[project]\nname = "agent"\nversion = "1"\nrequires-python = ">=3.12"\n'
    "[tool.hermes-build]\n",
    "LICENSE": "Do as you like.\n",
    "handlers/__init__.py": "",
    "tool_specs/count.yaml": spec("count", handler="self"),
    "tool_specs/tell.yaml": spec("tell", "aliases: [say]", handler="self").replace(
        "toolset: file", "toolset: talk"
    ),
    "handlers/count.py": handler("count", "from handlers.words import WORD", "return WORD"),
    "handlers/tell.py": handler("tell"),
    "handlers/words.py": 'WORD = "three"\n',
}
"""Two tools in two toolsets, one of whose handlers needs a module of the project."""


def program(root: Path, files: Mapping[str, str | bytes] | None = None) -> Path:
    """Write a project, compile it, and return its folder; ``files`` replace and add to `FILES`."""
    write(root, {**FILES, **(files or {})})
    done = hermes(root, "compile")
    assert done.code == 0, done.out + done.err
    return root


def made(root: Path, *toolsets: str) -> Bundle:
    """Make a bundle in memory, without importing its handlers."""
    judged = judge(root, forgetful(), imports=False)
    project = read_project(root, Findings())
    return make_bundle(project, toolsets, Judged(judged.findings, judged.files))


def whole(content: Callable[[], Iterable[bytes]]) -> bytes:
    """A content in one piece."""
    return b"".join(content())


def codes(root: Path, *toolsets: str) -> list[str]:
    """The codes of what making a bundle finds."""
    return [one.code for one in made(root, *toolsets).findings]


def written(root: Path, target: Path, *toolsets: str) -> Opened:
    """Make a bundle, write it, and open it verified."""
    bundle = made(root, *toolsets)
    assert bundle.manifest is not None, [one.message for one in bundle.findings]
    write_hermes(bundle, Project(root, "pyproject.toml"), str(target))
    return verify(target)
