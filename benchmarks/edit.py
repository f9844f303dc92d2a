"""What a compile costs after one edit among many tools, beside the generator's command line.

The peer is ``datamodel-codegen`` on the schema of the one tool that was edited.

    python -m benchmarks.edit [--tools 1000] [--rounds 9]
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

import yaml

from benchmarks.processes import COMMAND, Contender, in_turns, table
from benchmarks.programs import SPEC, make_project, write_spec

GOALS = {"hermes-build compile": 1.5}


def main() -> int:
    """Measure, print, and return 1 when a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tools", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        root = Path(name) / "project"
        make_project(root, options.tools)
        schema = Path(name) / "schema.json"
        spec = yaml.safe_load(SPEC.format(n=7, set=0, default=10))
        schema.write_text(json.dumps(spec["parameters"]))
        generator = [
            *(str(Path(sys.executable).with_name("datamodel-codegen")), "--input", str(schema)),
            *("--input-file-type", "jsonschema", "--output", str(Path(name) / "out.py")),
            *("--output-model-type", "typing.TypedDict", "--class-name", "Tool7Args"),
        ]
        turn = iter(range(20, 10_000))
        contenders = {
            "datamodel-codegen, one schema": Contender(generator, Path(name)),
            "hermes-build compile": Contender(
                [*COMMAND, "compile"], root, lambda: write_spec(root, 7, next(turn))
            ),
        }
        medians = in_turns(contenders, options.rounds)
    title = f"one edit among {options.tools} tools"
    return int(not table(title, medians, "datamodel-codegen, one schema", GOALS))


if __name__ == "__main__":
    sys.exit(main())
