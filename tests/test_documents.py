"""The documents say what is true: their files are written, their commands run, their output seen.

In a fenced block, ``yaml PATH`` and ``python PATH`` are files of the tour; in a ``console`` block,
each line after ``$`` is run, and the lines below it are its standard output. Without such lines,
the command must succeed and may print what it likes.
"""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = ["README.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))]
_FENCE = re.compile(r"^```(\w+)(?: ([^\n]+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)#]+)(?:#[^)]*)?\)")


@dataclass
class Tour:
    folder: Path

    def run(self, command: str) -> str:
        if command.startswith("cd "):
            self.folder /= command[3:]
            return ""
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=self.folder,
            env={**os.environ, "PATH": path, "NO_COLOR": "1"},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode in (0, 1), f"{command}: {done.stdout}{done.stderr}"
        return done.stdout


@pytest.mark.parametrize("name", DOCUMENTS)
def test_document_runs_as_it_says(name: str, tmp_path: Path) -> None:
    tour = Tour(tmp_path)
    for language, place, body in _FENCE.findall((ROOT / name).read_text("utf-8")):
        if language in ("yaml", "python", "toml", "json") and place:
            path = tour.folder / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(body, "utf-8")
        elif language == "console":
            for step in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
                command, _, expected = step.partition("\n")
                output = tour.run(command)
                if expected.strip():
                    assert output.strip() == expected.strip(), command


@pytest.mark.parametrize("name", [*DOCUMENTS, "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_of_a_document_lead_somewhere(name: str) -> None:
    folder = (ROOT / name).parent
    targets = _LINK.findall((ROOT / name).read_text("utf-8"))
    missing = [one for one in targets if "://" not in one and not (folder / one).exists()]
    assert not missing


def test_architecture_names_every_module() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    package = ROOT / "hermes_build"
    modules = {path.name for path in package.rglob("*.py")} - {"__init__.py", "__main__.py"}
    missing = {name for name in modules if f"`{name}`" not in text and f"/{name}`" not in text}
    assert not missing
