"""Open a bundle: CPU time against importing the registry from a tree, and against hashing the file.

Run: python -m benchmarks.opening [--rounds N]

Goals: without verification, whole processes take at most 1.3 times those that import the registry
from a tree; with it, at most 1.2 times what hashing the file takes, in a process that has imported
all it needs (the bundle of 16 MiB; a small one is dominated by the size of its manifest). Runs are
interleaved, so that a slow moment of the machine falls on all; figures are medians.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from benchmarks.processes import Contender, in_turns, table
from hermes_build.bundle.archive import write_archive
from hermes_build.bundle.format import LOCK, MANIFEST, File, Manifest, Runtime, hexdigest, roots_of
from hermes_build.lock import Lock, LockedFile, LockedTool, render
from hermes_build.runtime.bundles import open_bundle

REPOSITORY = Path(__file__).resolve().parent.parent
TOOLS = 40

GOAL_AT_A_GLANCE = 1.3
GOAL_VERIFIED = 1.2


def make_files(tools: int, more: Mapping[str, bytes]) -> dict[str, bytes]:
    """All files of a program of so many tools, and the runtime; ``more`` are added."""
    names = [f"tool_{number:04d}" for number in range(tools)]
    files = {
        "program/generated/__init__.py": b"",
        "program/handlers/__init__.py": b"",
        **more,
    }
    records = {}
    for name in names:
        module = f"handlers.{name}"
        text = {"type": "string", "description": f"What {name} works on, at length. " * 3}
        parameters = {
            "type": "object",
            "properties": {f"parameter_{number}": text for number in range(6)},
            "additionalProperties": False,
        }
        description = "Does one thing, and does it well. " * 10
        records[f"tool/{name}"] = {
            "name": name,
            "toolset": "all",
            "schema": {"name": name, "description": description, "parameters": parameters},
            "handler": "self",
            "module": module,
            "source": f"tool_specs/{name}.yaml:1",
            "digest": hexdigest(name.encode()),
        }
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
    blank = f"sha256:{hexdigest(b'')}"
    locked = [path for path in sorted(files) if path.startswith("program/generated/")]
    files[LOCK] = render(
        Lock(
            runtime=1,
            tools=tuple(
                LockedTool(name, *[blank] * 4, handler=f"handlers.{name}") for name in names
            ),
            toolsets=(),
            files=tuple(
                LockedFile(path.removeprefix("program/"), f"sha256:{hexdigest(files[path])}")
                for path in locked
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


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def hash_file(path: Path) -> None:
    with path.open("rb") as file:
        hashlib.file_digest(file, "sha256")


def open_verified(path: Path) -> None:
    open_bundle(path).close()


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
        small, large = folder / "small.hermes", folder / "large.hermes"
        write_bundle(small, files)
        data = {f"program/handlers/data/{n}.bin": bytes(range(256)) * 256 for n in range(256)}
        write_bundle(large, make_files(TOOLS, data))

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
        for label, path, goal in [("small", small, {}), ("large", large, GOAL_VERIFIED)]:
            works = {
                "hash the file": (hash_file, path),
                "open and verify": (open_verified, path),
            }
            mib = path.stat().st_size / 1024**2
            goals = {"open and verify": goal} if isinstance(goal, float) else {}
            title = f"in one process, the {label} bundle ({mib:.1f} MiB)"
            met = table(title, cpu_in_turns(works, rounds), "hash the file", goals) and met
    return int(not met)


if __name__ == "__main__":
    raise SystemExit(main())
