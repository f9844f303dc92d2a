"""Environments of their own for published packages, made once and used again."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import requires
from pathlib import Path

from filelock import FileLock

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(os.environ.get("HERMES_BUILD_REAL_ENVS") or ROOT / ".cache" / "real")
READY = "ready.txt"
RUNTIME = ("jsonschema", "jsonschema-rs", "pluggy")
"""Of the packages that hermes-build depends on, those that its runtime imports."""


def environment(requirement: str, *options: str) -> Path:
    """The interpreter of an environment that holds one requirement, installed when it is not there.

    A file that is written last says that an installation was finished: what a killed run left
    behind is made again from the start.
    """
    place, python = _place(requirement)
    wanted = " ".join((requirement, *options))
    FOLDER.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{place}.lock"):
        ready = place / READY
        if ready.is_file() and ready.read_text() == wanted and python.exists():
            return python
        shutil.rmtree(place, ignore_errors=True)
        print(f"\ninstalling {wanted} into {place}", flush=True)
        _run(sys.executable, "-m", "venv", str(place))
        _run(str(python), "-m", "pip", "install", "--quiet", *options, requirement)
        ready.write_text(wanted)
    return python


def site_packages(python: Path) -> Path:
    """The folder of an environment in which its packages lie."""
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    return Path(_run(str(python), "-c", code).strip())


def installed(requirement: str) -> Path | None:
    """The interpreter of an environment that is there already, or None."""
    place, python = _place(requirement)
    return python if (place / READY).is_file() and python.exists() else None


def _place(requirement: str) -> tuple[Path, Path]:
    """The folder of an environment, and its interpreter."""
    version = f"py{sys.version_info.major}{sys.version_info.minor}"
    place = FOLDER / f"{requirement.replace('==', '-')}-{version}"
    return place, place / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def runtime_packages(python: Path) -> Path:
    """A folder with what a compiled program needs at run time, for an interpreter of this version.

    It goes last on the path of a program that has packages of its own: nothing else of this
    environment is seen there.
    """
    wanted = sorted(one for one in requires("hermes-build") or () if _name(one) in RUNTIME)
    assert len(wanted) == len(RUNTIME)
    place = FOLDER / f"runtime-py{sys.version_info.major}{sys.version_info.minor}"
    with FileLock(f"{place}.lock"):
        ready = place / READY
        if not (ready.is_file() and ready.read_text() == "\n".join(wanted)):
            shutil.rmtree(place, ignore_errors=True)
            _run(str(python), "-m", "pip", "install", "--quiet", "--target", str(place), *wanted)
            ready.write_text("\n".join(wanted))
    return place


def _name(requirement: str) -> str:
    return re.split(r"[^A-Za-z0-9_-]", requirement)[0]


def _run(*command: str) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", stdin=subprocess.DEVNULL
    )
    if done.returncode:
        tail = "\n".join((done.stdout + done.stderr).splitlines()[-20:])
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}:\n{tail}")
    return done.stdout
