"""What making a bundle costs, beside zipping the same files, and how that grows with the tools.

python -m benchmarks.bundling [--rounds 9] [--sizes 1000 3000 10000]

The reference program is bundled and zipped in one process, in turns; the stages before that, which
judge the program, are printed apart. Growth is measured in a process for each size: CPU time for
each tool, and the most memory that was in use.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.processes import COMMAND
from benchmarks.programs import make_project
from hermes_build.bundle.archive import write_archive
from hermes_build.bundle.format import MANIFEST
from hermes_build.compiler.bundling.build import Bundle, make_bundle
from hermes_build.compiler.bundling.closure import follow
from hermes_build.compiler.bundling.contents import gather
from hermes_build.compiler.bundling.door import Door
from hermes_build.compiler.bundling.judging import find_in_texts
from hermes_build.compiler.bundling.narrow import make_narrowed
from hermes_build.compiler.diagnostics import Findings
from hermes_build.compiler.memory import forgetful
from hermes_build.compiler.pipeline import build
from hermes_build.compiler.project import read_project

ROOT = Path(__file__).parents[1]
ZIP = 3.0
"""How much dearer a bundle may be than a zip archive of the same files, made ready as both are."""

LINEAR = 1.3
"""How much dearer a tool may be in the largest project than in one of a tenth of its size."""

ONE = """
import resource, sys, time
from pathlib import Path
from hermes_build.compiler.bundling.build import make_bundle, write_hermes
from hermes_build.compiler.diagnostics import Findings
from hermes_build.compiler.memory import open_memory
from hermes_build.compiler.project import read_project
from hermes_build.compiler.verdict import stamp

findings = Findings()
project = read_project(Path(sys.argv[1]), findings)
memory = open_memory(project.root, stamp())
start = time.process_time()
made = make_bundle(project, (), memory, findings, known_clean=True)
write_hermes(made, project, sys.argv[2])
spent = time.process_time() - start
try:  # what `getrusage` says can be the parent's
    status = Path("/proc/self/status").read_text().split("VmHWM:")[1]
    most = int(status.split()[0])
except (OSError, IndexError):
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(spent * 1000, most / 1024)
"""


def main() -> int:
    """Measure, print, and return 1 when a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 3000, 10_000])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        met = _beside_zip(Path(name), options.rounds)
        met = _growth(Path(name), options.sizes) and met
    return int(not met)


def _beside_zip(folder: Path, rounds: int) -> bool:
    findings = Findings()
    project = read_project(ROOT, findings)
    memory = forgetful()
    made = build(project, memory, findings)
    bundle = make_bundle(project, (), memory, findings, known_clean=True)
    if bundle.manifest is None:
        raise SystemExit("; ".join(one.message for one in bundle.findings))
    narrowed = make_narrowed(project, made, (), memory)
    door = Door(ROOT, Findings())
    closure = follow(project, narrowed.wanted, door, Findings())
    tree = folder / "tree"
    _unpack(bundle, tree)

    def contents() -> None:
        gather(project, narrowed, closure, made.sources, Door(ROOT, Findings()), Findings())

    stages: dict[str, Callable[[], object]] = {
        "zipfile, stored": lambda: _zip(tree, folder / "x.zip"),
        "manifest and container": lambda: _write(bundle, folder / "x.hermes"),
        "gathering and hashing": contents,
        "narrowing": lambda: make_narrowed(project, made, (), memory),
        "following imports": lambda: follow(
            project, narrowed.wanted, Door(ROOT, Findings()), Findings()
        ),
        "looking for secrets": lambda: find_in_texts(bundle.contents.texts, Findings()),
    }
    medians = _in_turns(stages, rounds)
    files = len(bundle.contents.files)
    print(f"the reference program, {files} files (CPU, medians of {rounds})")
    floor = medians["zipfile, stored"]
    for label, middle in medians.items():
        print(f"  {label:<26} {middle:8.1f} ms  {middle / floor:6.2f}x")
    made_of = medians["manifest and container"] + medians["gathering and hashing"]
    whole = sum(medians.values()) - floor
    print(f"  files to a bundle: {made_of / floor:.2f}x zipping them  goal {ZIP}x")
    print(f"  with all that judges them: {whole / floor:.2f}x  (half of it is Python's own parser)")
    return made_of / floor <= ZIP


def _unpack(bundle: Bundle, tree: Path) -> None:
    for path, content in bundle.contents.files.items():
        place = tree / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content if isinstance(content, bytes) else b"".join(content()))


def _zip(tree: Path, target: Path) -> None:
    with zipfile.ZipFile(target, "w") as archive:
        for folder, _, names in os.walk(tree):
            for name in names:
                place = os.path.join(folder, name)
                archive.write(place, os.path.relpath(place, tree))


def _write(bundle: Bundle, target: Path) -> None:
    if bundle.manifest is not None:
        entries = {MANIFEST: bundle.manifest.to_bytes(), **bundle.contents.files}
        write_archive(entries, target)


def _in_turns(stages: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    taken: dict[str, list[float]] = {label: [] for label in stages}
    for nth in range(rounds + 1):
        for label, stage in stages.items():
            start = time.process_time()
            stage()
            if nth:  # the first round warms the disk's cache
                taken[label].append((time.process_time() - start) * 1000)
    return {label: statistics.median(times) for label, times in taken.items()}


def _growth(folder: Path, sizes: list[int]) -> bool:
    print("making and writing a whole bundle, nothing changed since the last compile")
    per_tool: dict[int, float] = {}
    for size in sizes:
        root = folder / f"project{size}"
        make_project(root, size, compiled=False)
        for spec in (root / "tool_specs").glob("tool_*.yaml"):
            # Stubs are made once for each schema: the compile is not what is measured here.
            spec.write_text(re.sub(r"default: \d+", "default: 10", spec.read_text()))
        subprocess.run([*COMMAND, "compile"], cwd=root, check=True, capture_output=True)
        command = [sys.executable, "-c", ONE, str(root), str(folder / "x.hermes")]
        rows = [subprocess.run(command, check=True, capture_output=True) for _ in range(3)]
        numbers = [tuple(map(float, row.stdout.split())) for row in rows]
        spent = statistics.median(row[0] for row in numbers)
        memory = statistics.median(row[1] for row in numbers)
        per_tool[size] = spent / size
        size_mb = (folder / "x.hermes").stat().st_size / 1e6
        print(
            f"  {size:>6} tools  {spent:9.0f} ms  {per_tool[size]:6.3f} ms a tool"
            f"  {memory:6.0f} MiB at most  {memory * 1024 / size:6.1f} KiB a tool"
            f"  {size_mb:6.1f} MB"
        )
    largest = max(per_tool)
    tenth = min(per_tool, key=lambda size: abs(size - largest / 10))
    ratio = per_tool[largest] / per_tool[tenth]
    print(f"  a tool of {largest} costs {ratio:.2f}x one of {tenth}  goal {LINEAR}x")
    return ratio <= LINEAR


if __name__ == "__main__":
    sys.exit(main())
