"""Runs the command line as people do, and writes the small projects that it works on."""

from __future__ import annotations

import gc
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from click.testing import CliRunner

from hermes_build.cli import main

PROGRAM = [sys.executable, "-P", "-c", "from hermes_build.cli import script; script()"]
"""The console script, for a process of its own."""

LOCK = "hermes-build.lock"


@dataclass(frozen=True)
class Done:
    """A run that has ended: ``code`` is its exit code."""

    code: int
    out: str
    err: str

    @property
    def codes(self) -> list[str]:
        """The codes of the findings on standard output, in the full or the concise form."""
        return re.findall(r"(?m)(?:^|: )(?:error|warning|info)\[(HB\d{4})\]", self.out)


def hermes(
    folder: Path,
    *arguments: str,
    input: str | bytes = b"",
    env: Mapping[str, str | None] | None = None,
) -> Done:
    """Run ``hermes-build`` in this process, which saves the import of the generator."""
    with chdir(folder), _untouched_process():
        sys.argv = ["hermes-build", *arguments]
        with CliRunner().isolation(input=input, env=env) as (out, err, _):
            try:
                main()
            except SystemExit as end:
                code = end.code
            sys.stdout.flush()
            sys.stderr.flush()
            assert isinstance(code, int)
            return Done(code, out.getvalue().decode(), err.getvalue().decode())


@contextmanager
def _untouched_process() -> Iterator[None]:
    """Take back what a command does to its process: it expects the process to end with it.

    Programs of other tests that this process has imported are out of the way meanwhile.
    """
    argv, path, threshold = sys.argv, sys.path[:], gc.get_threshold()
    others = _take_programs()
    try:
        yield
    finally:
        sys.argv = argv
        sys.path[:] = path
        gc.set_threshold(*threshold)
        _take_programs()
        sys.modules.update(others)


def _take_programs() -> dict[str, ModuleType]:
    """Take the modules of every program out of this process."""
    names = [n for n in sys.modules if n.partition(".")[0] in ("generated", "handlers", "agent")]
    return {name: sys.modules.pop(name) for name in names}


def process(
    folder: Path,
    *arguments: str,
    input: bytes = b"",
    env: Mapping[str, str] | None = None,
    program: list[str] = PROGRAM,
) -> Done:
    """Run ``hermes-build`` in a process of its own."""
    done = subprocess.run(
        [*program, *arguments],
        cwd=folder,
        input=input,
        env={**os.environ, **(env or {})},
        capture_output=True,
        timeout=120,
        check=False,
    )
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


def spec(name: str, *more: str, handler: str = "external", description: str = "") -> str:
    """A tool spec without a finding; ``more`` are lines to add."""
    lines = [
        f"name: {name}",
        "toolset: file",
        f"description: {description or f'Do what {name} does to a file of the workspace.'}",
        "parameters:",
        "  type: object",
        "  properties:",
        "    path: {type: string, description: Where the file is}",
        "    limit: {type: integer, description: How many lines to read, default: 10}",
        "  required: [path]",
        "  additionalProperties: false",
        f"handler: {handler}",
        *more,
    ]
    return "".join(f"{line}\n" for line in lines)


def handler(name: str, *body: str, output: str = "generated") -> str:
    """A handler module that registers ``name``; ``body`` replaces what it returns."""
    lines = body or ("return f\"{args['path']} {args['limit']}\"",)
    inner = "".join(f"    {line}\n" for line in lines)
    return (
        "from typing import Any\n\n"
        f"from {output}.tools import {name}\n\n\n"
        f"@{name}.implements\n"
        f"def handler(args: {name}.Args, **context: Any) -> str:\n{inner}"
    )


def write(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files below ``root``, and return it."""
    for path, text in files.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode() if isinstance(text, str) else text)
    return root


def project(root: Path, *names: str, settings: str = "", **files: str | bytes) -> Path:
    """Write a project of external tools with the given names."""
    specs = {f"tool_specs/{name}.yaml": spec(name) for name in names}
    return write(root, {"pyproject.toml": f"[tool.hermes-build]\n{settings}", **specs, **files})


def edit(root: Path, path: str, old: str, new: str) -> None:
    """Replace a text that a file of a project holds."""
    text = (root / path).read_text()
    assert old in text
    (root / path).write_text(text.replace(old, new))


def contents(root: Path) -> dict[str, bytes]:
    """Every file of a project, without what one machine remembers."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and not {".hermes-build", "__pycache__"} & set(path.parts)
    }


def ages(root: Path) -> dict[str, int]:
    """The modification time of every file of a project, in nanoseconds."""
    return {path: (root / path).stat().st_mtime_ns for path in contents(root)}
