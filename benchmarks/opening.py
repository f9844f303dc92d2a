"""Open and verify bundles: CPU time against importing from a tree, and against hashing.

Run: python -m benchmarks.opening [--rounds N]

Goals: without verification, whole processes that open a bundle take at most 1.3 times those that
import the registry from a tree. In a process that has imported all it needs, opening with
verification takes at most 1.2 times what hashing the bundle's file in one stream takes, and
verifying at most 1.5 times what hashing the same files takes that lie in a tree, one by one by
`hashlib.file_digest`. A small bundle has no goals: what is done once counts most in it. Runs are
interleaved, so that a slow moment of the machine falls on all; figures are medians.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.processes import Contender, in_turns, table
from hermes_build.bundle.archive import write_archive
from hermes_build.bundle.format import LOCK, MANIFEST, File, Manifest, Runtime, hexdigest, roots_of
from hermes_build.bundle.verifying import verify
from hermes_build.digests import record_digests
from hermes_build.lock import Lock, LockedFile, LockedTool, render
from hermes_build.runtime.bundles import open_bundle

REPOSITORY = Path(__file__).resolve().parent.parent
TOOLS = 40

GOAL_AT_A_GLANCE = 1.3
GOAL_OPENED = 1.2
GOAL_VERIFIED = 1.5
BOTH_GOALS = {"open and verify": GOAL_OPENED, "verify": GOAL_VERIFIED}


def make_files(tools: int, more: Mapping[str, bytes]) -> dict[str, bytes]:
    """All files of a program of so many tools, and the runtime; ``more`` are added."""
    names = [f"tool_{number:04d}" for number in range(tools)]
    files = {
        "program/generated/__init__.py": b"",
        "program/handlers/__init__.py": b"",
        **more,
    }
    records = {}
    locked = []
    for name in names:
        module = f"handlers.{name}"
        text = {"type": "string", "description": f"What {name} works on, at length. " * 3}
        parameters = {
            "type": "object",
            "properties": {f"parameter_{number}": text for number in range(6)},
            "additionalProperties": False,
        }
        description = "Does one thing, and does it well. " * 10
        record: dict[str, Any] = {
            "name": name,
            "toolset": "all",
            "schema": {"name": name, "description": description, "parameters": parameters},
            "handler": "self",
            "module": module,
            "source": f"tool_specs/{name}.yaml:1",
        }
        made = record_digests(record)
        records[f"tool/{name}"] = {**record, "digest": made.schema}
        spec = f"name: {name}\n".encode()
        files[f"specs/tool_specs/{name}.yaml"] = spec
        source = f"sha256:{hexdigest(spec)}"
        handler = f"handlers.{name}"
        lines_of_lock = (source, made.args, made.prompt, made.runtime, made.result, handler)
        locked.append(LockedTool(name, *lines_of_lock))
        records[f"module/{module}"] = {"tools": [name]}
        files[f"program/handlers/{name}.py"] = (
            "from generated.registry import registry\n\n\n"
            f'@registry.handler("{name}")\n'
            "def handler(args, **context):\n"
            '    return "done"\n' + "# What it does, and why.\n" * 60
        ).encode()
    lines = [f"{key}\t{_compact(value)}\n" for key, value in sorted(records.items())]
    body = "".join(lines)
    digest = hexdigest(body.encode())
    header = {"format": 1, "digest": digest, "tools": tools, "toolsets": 0}
    files["program/generated/catalogue.jsonl"] = f"!\t{_compact(header)}\n{body}".encode()
    files["program/generated/registry.py"] = (
        "from hermes_build.runtime.registry import frozen\n\n"
        f"registry = frozen(__file__, 'catalogue.jsonl', format=1, digest={digest!r})\n"
    ).encode()
    for path in (
        *REPOSITORY.glob("hermes_build/runtime/*.py"),
        *REPOSITORY.glob("hermes_build/*.py"),
    ):
        files[f"runtime/{path.relative_to(REPOSITORY).as_posix()}"] = path.read_bytes()
    generated = [path for path in sorted(files) if path.startswith("program/generated/")]
    files[LOCK] = render(
        Lock(
            runtime=1,
            tools=tuple(locked),
            toolsets=(),
            files=tuple(
                LockedFile(path.removeprefix("program/"), f"sha256:{hexdigest(files[path])}")
                for path in generated
            ),
        )
    )
    return files


def write_bundle(target: Path, files: Mapping[str, bytes]) -> None:
    """Write the bundle of these files."""
    catalogue = files["program/generated/catalogue.jsonl"]
    keys = [line.split(b"\t")[0].decode() for line in catalogue.splitlines()]
    version = files["runtime/hermes_build/__init__.py"].decode().split('"')
    manifest = Manifest(
        name="measured",
        package="generated",
        roots=roots_of(files),
        toolsets=(),
        tools=[key[5:] for key in keys if key.startswith("tool/")],
        registry=hexdigest(catalogue.partition(b"\n")[2]),
        runtime=Runtime(format=1, needs="0.1.0", version=version[version.index("0.1.0")]),
        files={path: File(hexdigest(data), len(data)) for path, data in files.items()},
    )
    write_archive({MANIFEST: manifest.to_bytes(), **files}, target)


def _data(count: int, size: int) -> dict[str, bytes]:
    """Data files of a program, by their paths in a bundle."""
    content = (bytes(range(256)) * (size // 256 + 1))[:size]
    return {f"program/handlers/data/{nth // 500}/{nth}.bin": content for nth in range(count)}


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def hash_file(path: Path) -> None:
    with path.open("rb") as file:
        hashlib.file_digest(file, "sha256")


def hash_tree(folder: Path) -> None:
    for top, _, names in os.walk(folder):
        for name in names:
            with open(f"{top}/{name}", "rb") as file:
                hashlib.file_digest(file, "sha256")


def open_verified(path: Path) -> None:
    open_bundle(path).close()


def verify_all(path: Path) -> None:
    verify(path).close()


def cpu_in_turns(
    works: Mapping[str, tuple[Callable[[Path], None], Path]], rounds: int
) -> dict[str, float]:
    """Median CPU milliseconds of each work, in this process."""
    taken: dict[str, list[float]] = {label: [] for label in works}
    for nth in range(rounds + 1):
        for label, (work, path) in works.items():
            start = time.process_time()
            work(path)
            spent = (time.process_time() - start) * 1000
            if nth:
                taken[label].append(spent)
    return {label: statistics.median(times) for label, times in taken.items()}


def main() -> int:
    """Measure, print one row a case, and return 1 when a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=25)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = make_files(TOOLS, {})
        tree = folder / "tree"
        for path, data in files.items():
            if path.startswith("program/"):
                place = tree / path.removeprefix("program/")
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(data)
        small = folder / "small.hermes"
        write_bundle(small, files)

        start = f"import sys; sys.path[:0] = [{str(tree)!r}, {str(REPOSITORY)!r}]; "
        opening = start + "from hermes_build.runtime.bundles import open_bundle; "
        codes = {
            "python -c pass": "pass",
            "import from a tree": start + "from generated.registry import registry",
            "open without verification": f"{opening}open_bundle({str(small)!r}, verify=False)",
            "open and verify": f"{opening}open_bundle({str(small)!r})",
        }
        call = "assert registry.call('tool_0007', {}) == 'done'"
        codes["import from a tree, one call"] = codes["import from a tree"] + f"; {call}"
        codes["open without verification, one call"] = (
            f"{opening}registry = open_bundle({str(small)!r}, verify=False); {call}"
        )
        contenders = {
            label: Contender([sys.executable, "-c", code], folder) for label, code in codes.items()
        }
        sizes = f"{TOOLS} tools, {small.stat().st_size / 1024:.0f} KiB"
        met = table(
            f"whole processes ({sizes})",
            in_turns(contenders, rounds),
            "import from a tree",
            {"open without verification": GOAL_AT_A_GLANCE},
        )
        bundles: dict[str, tuple[dict[str, bytes], dict[str, float]]] = {
            "small": ({}, {}),
            "of 256 files of 64 KiB": (_data(256, 65_536), BOTH_GOALS),
            "of one file of 64 MiB": (_data(1, 64 << 20), BOTH_GOALS),
            "of 5,000 files of 700 bytes": (_data(5_000, 700), {"verify": GOAL_VERIFIED}),
        }
        for nth, (label, (data, goals)) in enumerate(bundles.items()):
            path, tree = folder / f"{nth}.hermes", folder / f"{nth}"
            write_bundle(path, make_files(TOOLS, data))
            shutil.unpack_archive(path, tree, "zip")
            works = {
                "hash the file": (hash_file, path),
                "open and verify": (open_verified, path),
                "hash the files of its tree": (hash_tree, tree),
                "verify": (verify_all, path),
                "verify the tree": (verify_all, tree),
            }
            medians = cpu_in_turns(works, rounds)
            print(f"in one process, a bundle {label} ({path.stat().st_size / 1024**2:.1f} MiB)")
            for floor, rows in [
                ("hash the file", ["open and verify"]),
                ("hash the files of its tree", ["verify", "verify the tree"]),
            ]:
                part = {row: medians[row] for row in (floor, *rows)}
                met = table(f"  against: {floor}", part, floor, goals) and met
    return int(not met)


if __name__ == "__main__":
    raise SystemExit(main())
