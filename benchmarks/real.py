"""A full compile of published catalogues, beside one bare batch of the generator.

    python -m benchmarks.real [--rounds 5] [--kind typed-dict|pydantic]

The catalogues are those of `make test-real`: hermes-agent's tools and BFCL's functions, imported by
the command line. Both sides are whole processes on one core and take turns: reading YAML, checking,
resolving, stubs, catalogue, lock and writing on one side; on the other, the generator alone over
the same schemas, ready in memory, its texts thrown away. The last table is wall time, one process
against two.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.processes import COMMAND, Contender, in_turns, table

GOAL = 1.25
CHUNK = 128
"""How many schemas the bare side gives the generator at once: the number at which it is fastest."""


def bare(file: Path, kind: Any) -> None:
    """Run the generator over the schemas of a JSON list, with the options that our stubs have.

    Texts are formatted by the cheapest of its formatters: one would not keep them unformatted.
    """
    import warnings

    from datamodel_code_generator import generate

    from benchmarks.generate import plain_options

    schemas = json.loads(file.read_text(encoding="utf-8"))
    warnings.simplefilter("ignore")
    for start in range(0, len(schemas), CHUNK):
        definitions = {
            f"m{number}.ToolArgs": schema  # neither catalogue has a reference to move
            for number, schema in enumerate(schemas[start : start + CHUNK])
        }
        generate({"$defs": definitions}, config=plain_options(kind))


def make_projects(folder: Path, kind: str) -> dict[str, Path]:
    """Import the published catalogues into projects of their own."""
    from tests.real.bfcl_data import read_functions
    from tests.real.conftest import BFCL, HERMES
    from tests.real.environments import environment, site_packages
    from tests.real.programs import new_program

    hermes = new_program(folder / "hermes", "made", models=kind)
    hermes.run(
        "import", "python", "tools.registry:registry", "--toolsets", "toolsets:TOOLSETS",
        "--preload", "model_tools", "--python", str(environment(HERMES)),
    )  # fmt: skip
    bfcl = new_program(folder / "bfcl", "made", models=kind)
    data = site_packages(environment(BFCL, "--no-deps")) / "bfcl_eval" / "data"
    (bfcl.root / "functions.json").write_text(json.dumps(read_functions(data)), encoding="utf-8")
    bfcl.run("import", "json", "functions.json", "--toolset", "bfcl")
    return {"hermes-agent": hermes.root, "BFCL": bfcl.root}


def schemas_of(root: Path) -> list[Any]:
    """Every schema that a compiled project makes a class from."""
    found: list[Any] = []
    for line in (root / "made" / "catalogue.jsonl").read_text(encoding="utf-8").split("\n"):
        key, _, record = line.partition("\t")
        if key.startswith("tool/"):
            tool = json.loads(record)
            sides = (tool["schema"]["parameters"], tool.get("output_schema"))
            found += [one for one in sides if isinstance(one, dict)]
    return found


def forget(root: Path) -> None:
    """Take away everything that a compile wrote or remembers."""
    for name in ("made", ".hermes-build"):
        shutil.rmtree(root / name, ignore_errors=True)
    (root / "hermes-build.lock").unlink(missing_ok=True)


def wall_seconds(root: Path, jobs: int) -> float:
    """How long a full compile takes by the clock."""
    forget(root)
    command = [*COMMAND, "compile", "--format", "concise", "--jobs", str(jobs)]
    started = time.perf_counter()
    subprocess.run(command, cwd=root, check=True, capture_output=True)
    return time.perf_counter() - started


def main() -> int:
    """Measure, print, and return 1 when a goal was missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--kind", choices=("typed-dict", "pydantic"), default="typed-dict")
    parser.add_argument("--bare", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.bare:
        bare(options.bare, options.kind)
        return 0
    met = True
    with tempfile.TemporaryDirectory() as name:
        projects = make_projects(Path(name), options.kind)
        for label, root in projects.items():
            wall_seconds(root, 1)
            schemas = schemas_of(root)
            file = root / "schemas.json"
            file.write_text(json.dumps(schemas), encoding="utf-8")
            measured = in_turns(
                {
                    "bare generator": Contender(
                        [sys.executable, "-m", "benchmarks.real", "--bare", str(file),
                         "--kind", options.kind],
                        Path(__file__).parents[1],
                    ),
                    "full compile": Contender(
                        [*COMMAND, "compile", "--format", "concise", "--jobs", "1"],
                        root,
                        lambda root=root: forget(root),  # type: ignore[misc]
                    ),
                },
                options.rounds,
            )  # fmt: skip
            title = f"{label}: {len(schemas)} schemas, {options.kind}, CPU time"
            met &= table(title, measured, "bare generator", {"full compile": GOAL})
        walls: dict[int, list[float]] = {1: [], 2: []}
        for _ in range(options.rounds):
            for jobs, taken in walls.items():
                taken.append(wall_seconds(projects["BFCL"], jobs))
        one, two = (statistics.median(taken) for taken in walls.values())
        print("BFCL, full compile, wall time")
        print(f"  --jobs 1 {one:8.2f} s")
        print(f"  --jobs 2 {two:8.2f} s  {two / one:5.2f}x  goal below 1x")
        met &= two < one
    return int(not met)


if __name__ == "__main__":
    sys.exit(main())
