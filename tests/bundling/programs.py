"""Small projects to make bundles and wheels of."""

from __future__ import annotations

import os
import subprocess
import zipfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from hermes_build.bundle.verifying import Opened, verify
from hermes_build.compiler.bundling.build import Bundle, Judged, make_bundle, write_hermes
from hermes_build.compiler.diagnostics import Findings
from hermes_build.compiler.judge import judge
from hermes_build.compiler.memory import forgetful
from hermes_build.compiler.project import Project, read_project
from tests.command_line import handler, hermes, spec, write

ROOT = Path(__file__).parents[2]

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
PYPROJECT = str(FILES["pyproject.toml"]).replace("3.12", "3.11")
"""That project, for every Python that bundles are opened in."""
OPTIONS = ("--no-deps-lock", "--format", "wheel")
"""How a wheel is asked for that says itself what it depends on."""


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


def bundled(root: Path, toolset: str, folder: Path) -> Path:
    """Make a wheel in a folder of its own, and return it."""
    folder.mkdir(parents=True)
    done = hermes(root, "bundle", "-t", toolset, *OPTIONS, "-o", str(folder))
    assert done.code == 0, done.out + done.err
    (made,) = folder.iterdir()
    return made


def unpacked(wheel: Path, folder: Path) -> Path:
    """Unpack a wheel as an installer does, and return its package."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder / wheel.name.partition("-")[0]


def run(*command: object) -> str:
    """Run a program elsewhere than here, and return what it prints."""
    ours = ("PIP_", "UV_", "PYTHONPATH", "VIRTUAL_ENV")
    environment = {key: value for key, value in os.environ.items() if not key.startswith(ours)}
    done = subprocess.run(
        [str(one) for one in command],
        cwd=Path(str(command[0])).parent,
        env={**environment, "UV_NO_CONFIG": "1", "PIP_CONFIG_FILE": os.devnull},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return str(done.stdout)
