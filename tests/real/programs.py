"""A project that is compiled by the command line, as a user would, and opened again."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Program:
    """One project's folder and the name of its generated package."""

    root: Path
    package: str

    def run(self, *arguments: str, expect: int = 0) -> str:
        """Run ``hermes-build`` in the project; its standard output.

        Raises:
            AssertionError: it ended with another status.
        """
        done = subprocess.run(
            [sys.executable, "-m", "hermes_build", *arguments],
            cwd=self.root,
            capture_output=True,
            text=True,
            encoding="utf-8",
            env=self.surroundings(),
        )
        lines = (done.stdout + done.stderr).splitlines()
        tail = "\n".join([one for one in lines if ": warning[" not in one][-40:])
        assert done.returncode == expect, f"{arguments} ended with {done.returncode}:\n{tail}"
        return done.stdout

    def findings(self, *arguments: str, expect: int = 0) -> list[dict[str, Any]]:
        """Run a command and return its findings."""
        report = json.loads(self.run(*arguments, "--format", "json", expect=expect))
        found: list[dict[str, Any]] = report["findings"]
        return found

    def surroundings(self) -> dict[str, str]:
        """The environment of a command, in which a program that is imported sees an empty home."""
        home = str(self.root / "home")
        return {**os.environ, "HOME": home, "HERMES_HOME": home, "PYTHONUTF8": "1"}

    def registry(self) -> Any:
        """The frozen registry, imported into this process."""
        if str(self.root) not in sys.path:
            sys.path.insert(0, str(self.root))
        importlib.invalidate_caches()
        return importlib.import_module(f"{self.package}.registry").registry


def new_program(
    root: Path, package: str, *, models: str = "typed-dict", handlers: str = ""
) -> Program:
    """A project without tools, whose generated package has a name of its own in this process."""
    (root / "home").mkdir(parents=True)
    (root / "hermes-build.toml").write_text(
        f'output = "{package}"\nmodels = "{models}"\nhandlers = [{handlers}]\n', encoding="utf-8"
    )
    return Program(root, package)
