"""Import a frozen registry and get one definition: CPU time and memory against `python -c pass`.

Run: python benchmarks/registry.py [--rounds N]

Goals, at 10,000 tools: at most 3 times the CPU time of `python -c pass`, and 5 MiB more memory.
Runs are interleaved, so that a slow moment of the machine falls on all; figures are medians.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

SIZES = (100, 1_000, 10_000)


GOAL_RATIO = 3.0
GOAL_MIB = 5.0


def write_package(folder: Path, tools: int) -> None:
    """Write a generated package with ``tools`` synthetic tools of 6 parameters (2 KB each)."""
    lines = []
    for number in range(tools):
        name = f"tool_{number:05d}"
        properties = {
            f"parameter_{index}": {
                "type": ("string", "integer", "boolean")[index % 3],
                "description": f"What parameter {index} of tool {number} is for, at length. " * 3,
            }
            for index in range(6)
        }
        parameters = {
            "type": "object",
            "properties": properties,
            "required": ["parameter_0"],
            "additionalProperties": False,
        }
        record = {
            "name": name,
            "toolset": f"set_{number % 50:02d}",
            "schema": {
                "name": name,
                "description": "Does one thing, and does it well. " * 10,
                "parameters": parameters,
            },
            "handler": "self",
            "module": f"handlers.module_{number % 100:02d}",
            "source": f"tool_specs/{name}.yaml:1",
            "digest": hashlib.sha256(name.encode()).hexdigest(),
        }
        lines.append(f"tool/{name}\t{json.dumps(record, separators=(',', ':'))}\n")
    records = "".join(sorted(lines))
    digest = hashlib.sha256(records.encode()).hexdigest()
    header = {"format": 1, "digest": digest, "tools": tools, "toolsets": 0}
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "catalogue.jsonl").write_text(
        f"!\t{json.dumps(header, separators=(',', ':'))}\n{records}", encoding="utf-8", newline=""
    )
    (folder / "registry.py").write_text(
        "from hermes_build.runtime.registry import frozen\n\n"
        f"registry = frozen(__file__, 'catalogue.jsonl', format=1, digest={digest!r})\n",
        encoding="utf-8",
    )


def cpu_of(code: str, environment: dict[str, str]) -> float:
    """CPU milliseconds of one interpreter."""
    process = os.posix_spawn(sys.executable, [sys.executable, "-c", code], environment)
    _, status, usage = os.wait4(process, 0)
    if status:
        raise SystemExit(f"failed: {code}")
    return (usage.ru_utime + usage.ru_stime) * 1000


def memory_of(code: str, environment: dict[str, str]) -> float:
    """Peak resident MiB of one interpreter, as it sees itself (Linux; NaN elsewhere).

    The parent's view of it would count the parent's own memory, which a spawned child begins with.
    """
    if not Path("/proc/self/status").exists():
        return float("nan")
    code = f"{code}\nprint(open('/proc/self/status').read().split('VmHWM:')[1].split()[0])"
    answer = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, check=True
    )
    return int(answer.stdout) / 1024


def main() -> int:
    """Measure, print one row a case, and return 1 when a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=25)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        for size in SIZES:
            write_package(Path(folder) / f"generated_{size}", size)
        cases = {"python -c pass": "pass", "import json": "import json"}
        for size in SIZES:
            import_line = f"from generated_{size}.registry import registry"
            cases[f"{size:6,} tools, import alone"] = import_line
            cases[f"{size:6,} tools, one definition"] = (
                f"{import_line}; assert registry.get_definition('tool_{size // 3:05d}')"
            )
        repository = str(Path(__file__).resolve().parent.parent)
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONPATH"] = os.pathsep.join([repository, folder])
        for code in cases.values():
            cpu_of(code, environment)
        samples: dict[str, list[float]] = {label: [] for label in cases}
        for _ in range(rounds):
            for label, code in cases.items():
                samples[label].append(cpu_of(code, environment))
        memory = {
            label: statistics.median(memory_of(code, environment) for _ in range(5))
            for label, code in cases.items()
        }
    floor = statistics.median(samples["python -c pass"])
    met = True
    print(f"{'case':32}{'CPU ms':>8}{'ratio':>8}{'RSS MiB':>9}{'more':>8}")
    for label, times in samples.items():
        cpu, rss = statistics.median(times), memory[label]
        more = rss - memory["python -c pass"]
        met = met and cpu <= GOAL_RATIO * floor and more <= GOAL_MIB
        print(f"{label:32}{cpu:8.1f}{cpu / floor:8.2f}{rss:9.1f}{more:+8.1f}")
    print(f"goals: {GOAL_RATIO}x and {GOAL_MIB} MiB more")
    return int(not met)


if __name__ == "__main__":
    raise SystemExit(main())
