"""What making a bundle costs, beside zipping the same files, and how that grows with the tools.

python -m benchmarks.bundling [--rounds 9] [--sizes 1000 3000 10000]

The reference program is bundled and zipped in one process, in turns, stage by stage: by a run that
remembers what its files say, and by one that remembers nothing. Both follow a `check`, as bundles
do. A zip archive is stored, as a bundle is, or deflated, as `zip` makes it by itself; the goal is
held against stored. Then the same in whole processes. Growth is measured in a process for each
size: CPU time for each tool, and the most memory that was in use.
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

from benchmarks.processes import COMMAND, Contender, in_turns, table
from benchmarks.programs import make_project
from hermes_build.bundle.archive import write_archive
from hermes_build.bundle.format import MANIFEST
from hermes_build.cli.verdicts import verdict
from hermes_build.compiler.bundling.build import (
    Judged,
    find_harm,
    make_bundle,
    make_manifest,
    outside,
)
from hermes_build.compiler.bundling.closure import follow
from hermes_build.compiler.bundling.contents import gather
from hermes_build.compiler.bundling.distributions import find_dependencies
from hermes_build.compiler.bundling.door import Door
from hermes_build.compiler.bundling.narrow import compiled, narrow
from hermes_build.compiler.bundling.remembered import FILE, Remembered, remembering
from hermes_build.compiler.diagnostics import Findings
from hermes_build.compiler.project import read_project
from hermes_build.compiler.state import STATE

ROOT = Path(__file__).parents[1]
ZIP = 3.0
"""How much dearer a bundle may be than a stored zip archive of the same files."""

LINEAR = 1.3
"""How much dearer a tool may be in the largest project than in one of a tenth of its size."""

MEMORY = 4.0
"""How many KiB of memory each further tool may take, with its stub and its spec."""

ZIPPING = """
import os, sys, zipfile
with zipfile.ZipFile(sys.argv[2], "w", getattr(zipfile, sys.argv[3])) as archive:
    for folder, _, names in os.walk(sys.argv[1]):
        for name in names:
            place = os.path.join(folder, name)
            archive.write(place, os.path.relpath(place, sys.argv[1]))
"""

ONE = """
import resource, sys, time
from pathlib import Path
from hermes_build.cli.verdicts import verdict
from hermes_build.compiler.bundling.build import Judged, make_bundle, write_hermes
from hermes_build.compiler.bundling.remembered import remembering
from hermes_build.compiler.diagnostics import Findings
from hermes_build.compiler.project import read_project

project = read_project(Path(sys.argv[1]), Findings())
start = time.process_time()
judged = verdict(sys.argv[1])
known = remembering(project.root, judged.stamp)
made = make_bundle(project, (), Judged(judged.findings, judged.files), known)
judged.still_stands()
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
        _whole_processes(Path(name), options.rounds)
        met = _growth(Path(name), options.sizes) and met
    return int(not met)


def _beside_zip(folder: Path, rounds: int) -> bool:
    verdict(os.fspath(ROOT))  # what a `check` before remembers
    files = _unpack(folder / "tree")
    tree = os.fspath(folder / "tree")
    zipping = {
        "zipfile, stored": lambda: _zip(tree, folder / "x.zip", zipfile.ZIP_STORED),
        "zipfile, deflated": lambda: _zip(tree, folder / "x.zip", zipfile.ZIP_DEFLATED),
    }
    floors = {label: statistics.median(_times(zipped, rounds)) for label, zipped in zipping.items()}
    print(f"the reference program, {files} files (CPU, medians of {rounds})")
    for label, middle in floors.items():
        print(f"  {label:<26} {middle:8.1f} ms")
    stored, deflated = floors.values()
    met = True
    for remembers in (True, False):
        stages = _bundle_in_turns(folder / "x.hermes", rounds, remembers)
        print("  bundling, remembering" if remembers else "  bundling, remembering nothing")
        for label, middle in stages.items():
            print(f"    {label:<24} {middle:8.1f} ms  {middle / stored:6.2f}x stored")
        whole = sum(stages.values())
        goal = f"  goal {ZIP}x" if remembers else "  (most of it is Python's own parser)"
        both = f"{whole / stored:6.2f}x stored, {whole / deflated:.2f}x deflated"
        print(f"    {'all of it':<24} {whole:8.1f} ms  {both}{goal}")
        met = met and (not remembers or whole / stored <= ZIP)
    return met


def _unpack(tree: Path) -> int:
    """Write the files of the bundle as they are, and return how many there are."""
    bundle = make_bundle(read_project(ROOT, Findings()), (), Judged())
    if bundle.manifest is None:
        raise SystemExit("; ".join(one.message for one in bundle.findings))
    for path, content in bundle.contents.files.items():
        place = tree / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(b"".join(content()))
    return len(bundle.contents.files)


def _zip(tree: str, target: Path, how: int) -> None:
    with zipfile.ZipFile(target, "w", how) as archive:
        for folder, _, names in os.walk(tree):
            for name in names:
                place = os.path.join(folder, name)
                archive.write(place, os.path.relpath(place, tree))


def _times(stage: Callable[[], object], rounds: int) -> list[float]:
    taken = []
    for nth in range(rounds + 1):
        start = time.process_time()
        stage()
        if nth:  # the first round warms the disk's cache
            taken.append((time.process_time() - start) * 1000)
    return taken


def _bundle_in_turns(target: Path, rounds: int, remembers: bool) -> dict[str, float]:
    """The median of each stage of making and writing a bundle, in milliseconds."""
    taken: dict[str, list[float]] = {}
    for nth in range(rounds + 1):
        for label, spent in _bundle_once(target, remembers).items():
            if nth:
                taken.setdefault(label, []).append(spent)
    return {label: statistics.median(times) for label, times in taken.items()}


def _bundle_once(target: Path, remembers: bool) -> dict[str, float]:
    """One run's stages, as `make_bundle` has them; what each took, in milliseconds."""
    seen = Findings()
    taken: dict[str, float] = {}
    last = time.process_time()

    def took(label: str) -> None:
        nonlocal last
        now = time.process_time()
        taken[label] = (now - last) * 1000
        last = now

    project = read_project(ROOT, Findings())
    judged = verdict(os.fspath(ROOT))
    known = remembering(ROOT, judged.stamp) if remembers else Remembered()
    took("settings and verdict")
    door = Door(ROOT, seen)
    narrowed = narrow(project, compiled(project))
    took("narrowing")
    closure = follow(project, narrowed.wanted, door, seen, known)
    took("following imports")
    contents = gather(project, narrowed, closure, door, known, seen)
    took("gathering and hashing")
    find_harm(project, contents, known, seen)
    took("secrets and places")
    found = find_dependencies(project, outside(project, narrowed, closure), known, seen)
    took("dependencies")
    known.save()
    manifest = make_manifest(project, (), narrowed, closure, contents, found)
    judged.still_stands()
    took("manifest, last look")
    write_archive({MANIFEST: manifest.to_bytes(), **contents.files}, target)
    took("container")
    return taken


def _whole_processes(folder: Path, rounds: int) -> None:
    """Print what the command costs as people run it; imports are most of it."""
    tree, target = os.fspath(folder / "tree"), os.fspath(folder / "y.zip")
    zipping = [sys.executable, "-c", ZIPPING, tree, target]
    bundling = [*COMMAND, "bundle", "--no-deps-lock", "-o", os.fspath(folder / "y.hermes")]
    contenders = {
        "zipfile, stored": Contender([*zipping, "ZIP_STORED"], folder),
        "zipfile, deflated": Contender([*zipping, "ZIP_DEFLATED"], folder),
        "bundle, remembering": Contender(bundling, ROOT),
        "bundle, remembering nothing": Contender(
            bundling, ROOT, lambda: (ROOT / STATE / FILE).unlink(missing_ok=True)
        ),
    }
    table("whole processes", in_turns(contenders, rounds), "zipfile, stored", {})


def _growth(folder: Path, sizes: list[int]) -> bool:
    print("making and writing a whole bundle, nothing changed since the last one")
    per_tool: dict[int, float] = {}
    peaks: dict[int, float] = {}
    for size in sizes:
        root = folder / f"project{size}"
        make_project(root, size, compiled=False)
        for spec in (root / "tool_specs").glob("tool_*.yaml"):
            # Stubs are made once for each schema: the compile is not what is measured here.
            spec.write_text(re.sub(r"default: \d+", "default: 10", spec.read_text()))
        for command in ("compile", "check"):
            subprocess.run([*COMMAND, command], cwd=root, check=True, capture_output=True)
        command_of = [sys.executable, "-c", ONE, str(root), str(folder / "x.hermes")]
        rows = [subprocess.run(command_of, check=True, capture_output=True) for _ in range(4)][1:]
        numbers = [tuple(map(float, row.stdout.split())) for row in rows]
        spent = statistics.median(row[0] for row in numbers)
        peaks[size] = statistics.median(row[1] for row in numbers)
        per_tool[size] = spent / size
        size_mb = (folder / "x.hermes").stat().st_size / 1e6
        print(
            f"  {size:>6} tools  {spent:9.0f} ms  {per_tool[size]:6.3f} ms a tool"
            f"  {peaks[size]:6.1f} MiB at most  {size_mb:6.1f} MB"
        )
    least, largest = min(per_tool), max(per_tool)
    tenth = min(per_tool, key=lambda size: abs(size - largest / 10))
    ratio = per_tool[largest] / per_tool[tenth]
    print(f"  a tool of {largest} costs {ratio:.2f}x one of {tenth}  goal {LINEAR}x")
    if least == largest:
        return True
    more = (peaks[largest] - peaks[least]) * 1024 / (largest - least)
    print(f"  each further tool takes {more:.1f} KiB of memory  goal {MEMORY} KiB")
    return ratio <= LINEAR and more <= MEMORY


if __name__ == "__main__":
    sys.exit(main())
