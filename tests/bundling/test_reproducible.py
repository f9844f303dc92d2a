"""The same sources give the same bundle, wherever and however it is made."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from hermes_build.bundle.verifying import verify
from tests.bundling.programs import FILES, program
from tests.command_line import PROGRAM, spec

TEXT = (".py", ".yaml", ".toml", ".md", ".lock", ".jsonl")


def bundled(root: Path, target: Path, umask: int, env: dict[str, str]) -> bytes:
    """Make a bundle in a process of its own, under other circumstances."""
    done = subprocess.run(
        [*PROGRAM, "bundle", "--no-cache", "--no-deps-lock", "-o", str(target)],
        cwd=root,
        env={**os.environ, **env},
        umask=umask if os.name == "posix" else -1,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return target.read_bytes()


def test_place_time_locale_seed_umask_and_line_ends_change_nothing(tmp_path: Path) -> None:
    more = {
        "pyproject.toml": FILES["pyproject.toml"] + 'bundle-data = ["handlers/*.bin"]\n',
        "handlers/a.bin": b"\r\n\0\n",
        "handlers/tell.py": FILES["handlers/tell.py"] + "import click, jinja2, jsonschema, yaml\n",
        "tool_specs/ünïcode.yaml": spec("other", description="Größe und Länge, über alle Maße."),
        "toolsets/every.yaml": "name: every\ndescription: All of them.\nincludes: ['*']\n",
    }
    one = program(tmp_path / "one", more)
    other = tmp_path / "a longer way" / "to the other"
    shutil.copytree(one, other, ignore=shutil.ignore_patterns(".hermes-build", "__pycache__"))
    changed = 0
    for path in sorted(other.rglob("*"), reverse=True):
        if path.is_file():
            data = path.read_bytes()
            if path.suffix in TEXT or path.name == "LICENSE":
                changed += path.write_bytes(data.replace(b"\n", b"\r\n")) - len(data)
            path.chmod(0o700)
            os.utime(path, (2_000_000_000, 2_000_000_000))
    assert changed > 100
    first = bundled(one, tmp_path / "x.hermes", 0o022, {"PYTHONHASHSEED": "1", "TZ": "UTC"})
    env = {"PYTHONHASHSEED": "77", "TZ": "Pacific/Kiritimati", "LC_ALL": "C"}
    second = bundled(other, tmp_path / "deep.hermes", 0o077, env)
    with verify(tmp_path / "x.hermes") as x, verify(tmp_path / "deep.hermes") as deep:
        differing = [name for name in x.names() if x.read(name) != deep.read(name)]
        assert (x.digest, differing) == (deep.digest, [])
        assert set(x.manifest.dependencies) == {"click", "jinja2", "jsonschema", "yaml"}
    assert first == second
    assert str(tmp_path).encode() not in first
